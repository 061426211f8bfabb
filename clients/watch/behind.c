// SPDX-License-Identifier: GPL-2.0
/*
 * Behind whom a task waits
 *
 * A second session keeps each CPU's newest dispatches and idle times, and is not read until
 * there is something to report.  If asked for, others keep when the hypervisor had the CPU,
 * when interrupts had it, and who woke whom.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/err.h>
#include <linux/kdtl_verbs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <uapi/linux/kdtl_wake.h>

#include "watch.h"

/* How many tasks a line names, which is as many as it can hold. */
#define BEHIND_NAMED	3

/* Enough rows to include the tasks that had most: see struct kdtl_who. */
#define BEHIND_TASKS	16

#define BEHIND_MASK	(KDTL_MASK_ALL | KDTL_MASK_IDLE)

static char *steal;
module_param(steal, charp, 0444);
MODULE_PARM_DESC(steal, "source that tells when the hypervisor had a CPU: kdtl_steal or kdtl_vpa (default: none)");

static char *irq;
module_param(irq, charp, 0444);
MODULE_PARM_DESC(irq, "source that tells when interrupts and softirqs had a CPU: kdtl_irq (default: none)");

static char *wake;
module_param(wake, charp, 0444);
MODULE_PARM_DESC(wake, "source that tells who woke whom: kdtl_wake (default: none)");

/**
 * struct behind - the newest entries of a source
 * @session: the session that keeps them; NULL: none does
 * @info: its kdtl_aux_info()
 * @entries: a copy of one CPU's entries
 * @len: their length in bytes
 */
struct behind {
	struct kdtl_session	*session;
	struct kdtl_aux_info	info;
	struct kdtl_entry	*entries;
	ssize_t			len;
};

/* Knows what the tasks of the entries were; NULL: the source knows no tasks. */
struct kdtl_tasks *watch_tasks;

static struct behind past;	/* dispatches; no session if the source knows no tasks */
static u64 past_went;		/* when their CPU last went offline */
static struct behind stolen;
static struct behind interrupts;
static struct behind wakes;

/**
 * struct behind_waker - who woke the task whose wait was a CPU's worst at the last look
 * @woken: the task, until when it waited by then, and what woke it
 * @by: the waker, if it is a task
 * @sought: the log has not been searched yet
 */
struct behind_waker {
	struct kdtl_woken	woken;
	struct kdtl_task	by;
	bool			sought;
};

/* Kept here because the log of wake-ups may be overwritten before the wait is over. */
static DEFINE_PER_CPU(struct behind_waker, behind_wakers);

static int behind_create(struct behind *b, const char *pmu, unsigned int pages, u32 mask)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= pages,
		.mask		= mask,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);

	if (IS_ERR(s))
		return PTR_ERR(s);
	b->session = s;
	return kdtl_aux_info(s, -1, &b->info);
}

static int behind_start(struct behind *b)
{
	const int err = kdtl_load(b->session, NULL);

	if (err)
		return err;
	b->entries = kdtl_snapshot_alloc(b->info.size);
	return b->entries ? kdtl_start(b->session) : -ENOMEM;
}

static void behind_end(struct behind *b)
{
	kdtl_session_close(b->session);
	b->session = NULL;
	kvfree(b->entries);
	b->entries = NULL;
	b->len = 0;
}

static int behind_needs_tasks(const char *name, const char *pmu)
{
	if (past.session)
		return 0;
	pr_err("%s=%s is for waits of tasks: it needs pmu=kdtl_sched\n", name, pmu);
	return -EINVAL;
}

/*
 * Keep when something took the CPU from tasks.  The parameter @name has set the source @pmu, which
 * must be one that logs when @what had a CPU.
 */
static int behind_init_taker(struct behind *b, const char *name, const char *pmu,
			     const bool *tells, const char *what, unsigned int pages)
{
	int err;

	if (!pmu)
		return 0;
	err = behind_needs_tasks(name, pmu);
	if (err)
		return err;
	err = behind_create(b, pmu, pages, BEHIND_MASK);
	if (!err && !*tells) {
		pr_err("%s=%s does not say when %s had a CPU: %s\n", name, pmu, what,
		       b == &stolen ? "kdtl_steal and kdtl_vpa do" : "kdtl_irq does");
		return -EINVAL;
	}
	if (!err)
		err = behind_start(b);
	if (err)
		pr_err("no session of %s (%d)\n", pmu, err);
	return err;
}

static int behind_init_wakes(unsigned int pages)
{
	int err;

	if (!wake)
		return 0;
	err = behind_needs_tasks("wake", wake);
	if (err)
		return err;
	err = behind_create(&wakes, wake, pages, KDTL_MASK_WAKE) ?: behind_start(&wakes);
	if (err)
		pr_err("no session of %s that says who woke whom (%d)\n", wake, err);
	return err;
}

static int behind_init_takers(unsigned int pages)
{
	return behind_init_taker(&stolen, "steal", steal, &stolen.info.stolen, "a hypervisor",
				 pages) ?:
	       behind_init_taker(&interrupts, "irq", irq, &interrupts.info.interrupts,
				 "an interrupt", pages) ?:
	       behind_init_wakes(pages);
}

/* Begin to keep track of tasks before the first entry comes. */
static int behind_init_past(void)
{
	struct kdtl_tasks *t = kdtl_tasks_open();

	if (IS_ERR(t))
		return PTR_ERR(t);
	watch_tasks = t;
	return behind_start(&past);
}

/* Copy the newest entries of @cpu. */
static void behind_look(struct behind *b, int cpu)
{
	b->len = 0;
	if (b->session)
		b->len = kdtl_aux_snapshot(b->session, cpu, b->entries, b->info.size, NULL);
	b->len = max_t(ssize_t, b->len, 0);
}

/**
 * watch_behind_init() - begin to keep the newest dispatches, if they name tasks
 * @pmu: the source
 * @pages: pages per CPU, a power of two; 0: kdtl's default
 *
 * Context: may sleep.
 * Return: 0; or an errno, and a line in the log says why.
 */
int watch_behind_init(const char *pmu, unsigned int pages)
{
	int err = behind_create(&past, pmu, pages, BEHIND_MASK);

	if (!err && past.info.tasks)
		err = behind_init_past();
	else if (!err)
		behind_end(&past);
	if (err)
		pr_err("no session of %s (%d)\n", pmu, err);
	else
		err = behind_init_takers(pages);
	if (err)
		watch_behind_exit();
	return err;
}

/**
 * watch_behind_exit() - undo watch_behind_init()
 *
 * Context: may sleep.
 */
void watch_behind_exit(void)
{
	behind_end(&wakes);
	behind_end(&interrupts);
	behind_end(&stolen);
	behind_end(&past);
	kdtl_tasks_close(watch_tasks);
}

/**
 * watch_task() - what a task was
 * @comm: the name to use if its name at @time is not known
 * @pid: its pid
 * @time: when, by kdtl_sched's time
 * @task: filled in; only pid and name if the rest is not known
 *
 * A task may exec() while it has the CPU, so the name in its entry may not be the one it had then.
 *
 * Context: the watching thread.
 */
void watch_task(const char *comm, pid_t pid, u64 time, struct kdtl_task *task)
{
	if (!kdtl_task_at(watch_tasks, pid, time, task))
		return;
	*task = (struct kdtl_task) { .pid = pid };
	strscpy(task->comm, comm, sizeof(task->comm));
}

/**
 * watch_look_back() - copy the newest entries of a CPU, for watch_behind()
 * @cpu: the CPU
 *
 * Context: the watching thread.
 * Return: the last one, perhaps of idle time, valid until the next call; NULL: there is
 * none.
 */
const struct kdtl_entry *watch_look_back(int cpu)
{
	struct kdtl_aux_info info = { };

	behind_look(&past, cpu);
	if (past.session)
		kdtl_aux_info(past.session, cpu, &info);
	past_went = info.went;
	behind_look(&stolen, cpu);
	behind_look(&interrupts, cpu);
	return past.len ? past.entries + past.len / sizeof(*past.entries) - 1 : NULL;
}

static bool behind_is_normal(const struct kdtl_entry *e)
{
	struct kdtl_task task;

	if (kdtl_entry_is_idle(e))
		return false;
	/* An unknown task counts as normal: rather no report than a wrong one. */
	return kdtl_task_at(watch_tasks, kdtl_entry_pid(e), kdtl_entry_time(e), &task) ||
	       !watch_is_rt(&task);
}

/**
 * watch_dispatched() - find the newest dispatch of a task of normal priority
 * @cpu: the CPU
 * @since: only later ones, by kdtl_sched's time
 *
 * Context: the watching thread.
 * Return: its time; 0: there is none, or nobody knows.
 */
u64 watch_dispatched(int cpu, u64 since)
{
	const struct kdtl_entry *e = watch_look_back(cpu);

	for (; e && e >= past.entries && (s64)(kdtl_entry_time(e) - since) > 0; e--) {
		if (behind_is_normal(e))
			return kdtl_entry_time(e);
	}
	return 0;
}

/* Name the task or interrupt of row @i.  The task of row 0 is the culprit. */
static void behind_name(const struct kdtl_ran *ran, unsigned int i, char *text, size_t size,
			struct watch_blame *blame)
{
	struct kdtl_task task;

	if (ran->pid < 0) {
		snprintf(text, size, "%s %*pE", kdtl_irq_word(ran->pid), (int)strlen(ran->comm),
			 ran->comm);
		return;
	}
	watch_task(ran->comm, ran->pid, ran->time, &task);
	if (!i)
		blame->culprit = task;
	kdtl_task_name(watch_tasks, &task, text, size);
}

/* watch_behind(), but the line begins with @before.  Returns whether it names anybody. */
static bool behind_list(u64 from, u64 to, const char *before, char *text, size_t size,
			struct watch_blame *blame)
{
	static struct kdtl_ran ran[BEHIND_TASKS];
	struct kdtl_who who = {
		.tasks = watch_tasks, .ran = ran, .size = ARRAY_SIZE(ran), .went = past_went,
	};
	const struct kdtl_entry *e;
	char name[KDTL_TASK_NAME];
	unsigned int i;
	int at = 0;

	text[0] = '\0';
	*blame = (struct watch_blame) { };
	kdtl_who_begin(&who, from, to);
	kdtl_who_stolen(&who, &stolen.info, stolen.entries, stolen.len);
	kdtl_who_interrupts(&who, &interrupts.info, interrupts.entries, interrupts.len);
	kdtl_for_each_entry(e, past.entries, past.len)
		kdtl_who_entry(&who, e);
	/* Even if idle times are not logged, it was busy: somebody waited all the time. */
	kdtl_who_end(&who, true);
	if (past.len)
		watch_task(who.task.comm, who.task.pid, to, &blame->now);
	for (i = 0; i < who.nr; i++) {
		if (i >= BEHIND_NAMED ||
		    ((i || who.idle >= NSEC_PER_MSEC) && ran[i].ticks < NSEC_PER_MSEC)) {
			who.others += ran[i].ticks;
			continue;
		}
		behind_name(&ran[i], i, name, sizeof(name), blame);
		at += scnprintf(text + at, size - at, "%s %s %llu ms",
				at ? "," : before, name,
				div_u64(ran[i].ticks, NSEC_PER_MSEC));
	}
	if (who.nr && who.others >= NSEC_PER_MSEC)
		at += scnprintf(text + at, size - at, ", others %llu ms",
				div_u64(who.others, NSEC_PER_MSEC));
	if (who.stolen >= NSEC_PER_MSEC)
		at += scnprintf(text + at, size - at, ", the hypervisor %llu ms",
				div_u64(who.stolen, NSEC_PER_MSEC));
	/* A long interrupt, or a hypervisor that is not asked, kept an idle CPU from its task. */
	if (who.idle >= NSEC_PER_MSEC)
		at += scnprintf(text + at, size - at, ", idle %llu ms",
				div_u64(who.idle, NSEC_PER_MSEC));
	if (who.nr && who.unknown >= NSEC_PER_MSEC)
		scnprintf(text + at, size - at, ", not known %llu ms",
			  div_u64(who.unknown, NSEC_PER_MSEC));
	return who.nr;
}

/**
 * watch_behind() - say in one line who had a CPU in a span of time
 * @from: begin of the span, by kdtl_sched's time
 * @to: its end
 * @text: the line, which begins with a comma; empty if nobody knows
 * @size: of @text
 * @blame: set to the tasks that had it
 *
 * This looks at the dispatches that watch_look_back() has copied.
 *
 * Context: the watching thread.
 */
void watch_behind(u64 from, u64 to, char *text, size_t size, struct watch_blame *blame)
{
	behind_list(from, to, ", behind", text, size, blame);
}

/* The CPU that the task left at @time; -1: nobody knows. */
static int behind_left(pid_t pid, u64 time)
{
	const struct kdtl_entry *e;
	int cpu;

	kdtl_for_each_cpu(cpu, past.session) {
		behind_look(&past, cpu);
		kdtl_for_each_entry(e, past.entries, past.len) {
			if (kdtl_entry_prev_pid(e) == pid && kdtl_entry_time(e) == time)
				return cpu;
		}
		cond_resched();
	}
	return -1;
}

/**
 * watch_before() - say in one line who had the CPU where a task ran last
 * @e: its dispatch, on @cpu
 * @cpu: the CPU
 * @text: the line, which begins with a semicolon; empty if nobody knows
 * @size: of @text
 * @blame: set to the tasks that had it, if there is a line
 *
 * The line is about the time that the task spent in the queue of another CPU.  No entry says which
 * CPU that was, but usually it is the one where the task ran last.
 *
 * Context: the watching thread.
 * Return: the CPU that the line is about; @cpu: there is no line.
 */
int watch_before(const struct kdtl_entry *e, int cpu, char *text, size_t size,
		 struct watch_blame *blame)
{
	struct watch_blame there;
	const u64 to = kdtl_entry_time(e) - kdtl_entry_queued(e);
	const u64 from = to - kdtl_entry_ready(e);
	char before[48];
	int last = -1;

	text[0] = '\0';
	if (past.session)
		last = behind_left(kdtl_entry_pid(e), from - kdtl_entry_slept(e));
	if (last < 0 || last == cpu)
		return cpu;
	watch_look_back(last);
	snprintf(before, sizeof(before), "; CPU %d, where it ran last, had", last);
	if (!behind_list(from, to, before, text, size, &there)) {
		text[0] = '\0';
		return cpu;
	}
	*blame = there;
	return last;
}

/* Look up what the waker was when it woke the task. */
static void behind_note_waker(struct behind_waker *w)
{
	w->sought = false;
	if (w->woken.time && !(w->woken.flags & KDTL_WAKE_IRQ))
		watch_task("?", w->woken.by, w->woken.time, &w->by);
}

/**
 * watch_keep_waker() - note that a waiting task's waker is sought, before its entry is overwritten
 * @is: the worst of the waits that its CPU still has
 *
 * Context: the watching thread.
 * Return: whether to call watch_find_wakers().
 */
bool watch_keep_waker(const struct kdtl_waiting *is)
{
	struct behind_waker *w = per_cpu_ptr(&behind_wakers, is->cpu);
	const bool same = w->woken.pid == is->pid && w->woken.from == is->left;

	if (!wakes.session || is->left == U64_MAX)
		return false;
	if (!same)
		*w = (struct behind_waker) {
			.woken = { .pid = is->pid, .from = is->left }, .sought = true,
		};
	w->woken.until = is->until;
	return w->sought;
}

/**
 * watch_find_wakers() - ask for all wakers that are sought, in one look at each CPU's log
 *
 * Context: the watching thread.
 */
void watch_find_wakers(void)
{
	struct behind_waker *w;
	int cpu, of;

	kdtl_for_each_cpu(cpu, wakes.session) {
		behind_look(&wakes, cpu);
		for_each_possible_cpu(of) {
			w = per_cpu_ptr(&behind_wakers, of);
			if (w->sought)
				kdtl_who_woke(&w->woken, wakes.entries, wakes.len);
		}
		cond_resched();
	}
	for_each_possible_cpu(of) {
		w = per_cpu_ptr(&behind_wakers, of);
		if (w->sought)
			behind_note_waker(w);
	}
}

/* The task's kept waker.  Between leaving a CPU and getting one again, it waits only once. */
static const struct behind_waker *behind_kept_waker(pid_t pid, u64 from, u64 until)
{
	const struct behind_waker *w;
	int cpu;

	for_each_possible_cpu(cpu) {
		w = per_cpu_ptr(&behind_wakers, cpu);
		if (w->woken.pid == pid && w->woken.until >= from && w->woken.until <= until)
			return w;
	}
	return NULL;
}

/* Search the logs of all CPUs. */
static const struct behind_waker *behind_waker(pid_t pid, u64 from, u64 until)
{
	static struct behind_waker waker;
	int cpu;

	waker = (struct behind_waker) { .woken = { .pid = pid, .from = from, .until = until } };
	kdtl_for_each_cpu(cpu, wakes.session) {
		behind_look(&wakes, cpu);
		kdtl_who_woke(&waker.woken, wakes.entries, wakes.len);
		cond_resched();
	}
	behind_note_waker(&waker);
	return &waker;
}

/**
 * watch_woken() - say in one line who woke a task
 * @pid: the task
 * @from: when it left its CPU, by kdtl_sched's time
 * @until: when it got one again, or until when it has not
 * @text: the line, which begins with a comma; empty if nobody knows
 * @size: of @text
 *
 * Context: the watching thread.
 */
void watch_woken(pid_t pid, u64 from, u64 until, char *text, size_t size)
{
	const struct behind_waker *w;
	char name[KDTL_TASK_NAME];

	text[0] = '\0';
	if (!wakes.session)
		return;
	w = behind_kept_waker(pid, from, until) ?: behind_waker(pid, from, until);
	if (!w->woken.time)
		return;
	if (w->woken.flags & KDTL_WAKE_IRQ)
		strscpy(name, w->woken.flags & KDTL_WAKE_HARDIRQ ? "an interrupt" : "a softirq",
			sizeof(name));
	else
		kdtl_task_name(watch_tasks, &w->by, name, sizeof(name));
	snprintf(text, size, ", %s by %s", w->woken.is_new ? "made" : "woken", name);
}
