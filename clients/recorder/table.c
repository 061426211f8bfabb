// SPDX-License-Identifier: GPL-2.0
/*
 * The newest dispatches of all CPUs as one table in the kernel's log
 *
 * Safe when the kernel is dying: no lock, no allocation, no waiting.  All entries
 * are copied first, so that the table shows one moment.  Rows are then chosen
 * backwards in time, from each CPU's newest entry, and printed forwards.  If the console is
 * slow, a task that prints leaves the CPU to others between rows.
 */
#define pr_fmt(fmt) "kdtl_recorder: " fmt

#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "last.h"
#include "table.h"

/**
 * table_alloc() - allocate a table
 * @t: the table
 * @lines: most rows that it may have
 * @pages: pages per CPU of the session, a power of two; 0: kdtl's default
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM; call table_free() in both cases.
 */
int table_alloc(struct table *t, unsigned int lines, unsigned int pages)
{
	t->lines = lines;
	t->area_size = (size_t)(pages ?: KDTL_DEFAULT_AUX_PAGES) << PAGE_SHIFT;
	t->area = kdtl_snapshot_alloc(t->area_size);
	t->cpus = vcalloc(nr_cpu_ids, sizeof(*t->cpus));
	t->entries = __vcalloc(array_size(nr_cpu_ids, 2 * lines), sizeof(*t->entries),
			       GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	return t->area && t->cpus && t->entries ? 0 : -ENOMEM;
}

/**
 * table_free() - undo table_alloc()
 * @t: the table
 *
 * Context: may sleep.
 */
void table_free(struct table *t)
{
	vfree(t->entries);
	vfree(t->cpus);
	kvfree(t->area);
}

/* In ns since boot, like the time stamps of the kernel's log. */
static u64 table_time(const struct table *t, const struct kdtl_entry *e)
{
	return kdtl_ticks_to_ns(&t->info, kdtl_entry_time(e) - t->info.tb_boot);
}

/* Remove idle times.  Returns the end of the dispatches that are left. */
static struct kdtl_entry *table_drop_idle(struct kdtl_entry *e, const struct kdtl_entry *end)
{
	struct kdtl_entry *to = e;

	for (; e < end; e++) {
		if (!kdtl_entry_is_idle(e))
			*to++ = *e;
	}
	return to;
}

/* Copy the newest dispatches.  Returns the number of CPUs that have any. */
static unsigned int table_take(struct table *t, struct kdtl_session *s, u64 *total)
{
	struct kdtl_entry *to = t->entries;
	unsigned int found = 0;
	struct table_cpu *c;
	unsigned long flags;
	ssize_t len;
	u64 missed;
	int cpu;

	*total = 0;
	/* Nothing comes between the two, which are safe in NMI and while a clock is being set. */
	local_irq_save(flags);
	t->now = local_clock();
	t->real = ktime_get_real_fast_ns() - t->now;
	local_irq_restore(flags);
	kdtl_for_each_cpu(cpu, s) {
		c = &t->cpus[cpu];
		len = kdtl_aux_snapshot(s, cpu, to, 2 * t->lines * sizeof(*to), &missed);
		if (len < 0) {
			pr_warn("CPU %d cannot be read (%zd)\n", cpu, len);
			len = 0;
		}
		*total += len / sizeof(*to) + missed;
		c->start = to;
		c->end = table_drop_idle(to, to + len / sizeof(*to));
		c->from = c->end;
		to += 2 * t->lines;
		found += c->end > c->start;
	}
	return found;
}

/* The CPU whose next older entry is the newest of all, or NULL. */
static struct table_cpu *table_newest(struct table *t)
{
	struct table_cpu *c, *best = NULL;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = &t->cpus[cpu];
		if (c->from > c->start &&
		    (!best || kdtl_entry_time(c->from - 1) > kdtl_entry_time(best->from - 1)))
			best = c;
	}
	return best;
}

/* The CPU whose next entry is the oldest of all, or NULL. */
static struct table_cpu *table_oldest(struct table *t)
{
	struct table_cpu *c, *best = NULL;
	int cpu;

	for_each_possible_cpu(cpu) {
		c = &t->cpus[cpu];
		if (c->from < c->end &&
		    (!best || kdtl_entry_time(c->from) < kdtl_entry_time(best->from)))
			best = c;
	}
	return best;
}

/*
 * Choose the rows to print: the last dispatch of every CPU, however old it is, since
 * a task that hangs was dispatched long ago; then those of @cpu until the task that had
 * it at @from; then all others, back in time until @oldest.  @cpu is -1 for none.
 */
static unsigned int table_choose(struct table *t, unsigned int found, int cpu, u64 from,
				 u64 oldest)
{
	unsigned int rows = 0;
	struct table_cpu *c;
	int each;

	if (found <= t->lines) {
		for_each_possible_cpu(each) {
			c = &t->cpus[each];
			if (c->end > c->start) {
				c->from--;
				rows++;
			}
		}
	}
	if (cpu >= 0) {
		c = &t->cpus[cpu];
		while (rows < t->lines && c->from > c->start &&
		       (c->from == c->end || table_time(t, c->from) > from)) {
			c->from--;
			rows++;
		}
	}
	while (rows < t->lines) {
		c = table_newest(t);
		if (!c || table_time(t, c->from - 1) < oldest)
			break;
		c->from--;
		rows++;
	}
	return rows;
}

/* ------------------------------------------------------------------ rows */

/* A row that takes longer than this shows a slow console; the longest rest after a row. */
#define TABLE_SLOW_US	USEC_PER_MSEC
#define TABLE_REST_US	(100 * USEC_PER_MSEC)

#define TABLE_WHO	80
#define TABLE_WHEN	24
#define TABLE_WAITED	24

/* The time of day, in UTC. */
static void table_when(const struct table *t, char *buf, size_t size, u64 ns)
{
	u64 seconds = ns + t->real;
	const u32 frac = do_div(seconds, NSEC_PER_SEC);
	const u32 of_day = do_div(seconds, 24 * 60 * 60);

	snprintf(buf, size, "%02u:%02u:%02u.%06u", of_day / 3600, of_day / 60 % 60, of_day % 60,
		 frac / (u32)NSEC_PER_USEC);
}

/* Three digits and a unit; a + for "or more". */
static void table_span(char *buf, size_t size, u64 ns, bool saturated)
{
	const char * const unit[] = { "ns", "us", "ms", saturated ? "s+" : "s" };
	unsigned int i = 0, frac = 0;

	while (ns >= 1000 && i < ARRAY_SIZE(unit) - 1) {
		frac = do_div(ns, 1000);
		i++;
	}
	if (i && ns < 10)
		snprintf(buf, size, "%llu.%02u %s", ns, frac / 10, unit[i]);
	else if (i && ns < 100)
		snprintf(buf, size, "%llu.%u %s", ns, frac / 100, unit[i]);
	else
		snprintf(buf, size, "%llu %s", ns, unit[i]);
}

/* A task chooses its name, which must not add a line to the log. */
static void table_task(char *buf, size_t size, const struct kdtl_entry *e)
{
	const char *comm = kdtl_entry_comm(e);

	snprintf(buf, size, "%*pE:%d", (int)strlen(comm), comm, kdtl_entry_pid(e));
}

static void table_before(char *buf, size_t size, const struct table_cpu *c)
{
	const struct kdtl_entry *e = c->from;
	const pid_t pid = kdtl_entry_prev_pid(e);

	/* An entry has the previous task's pid only; its name is in its own entry. */
	if (!pid)
		snprintf(buf, size, "idle");
	else if (e > c->start && kdtl_entry_pid(e - 1) == pid)
		table_task(buf, size, e - 1);
	else
		snprintf(buf, size, ":%d", pid);
}

static void table_row(const struct table *t, const struct table_cpu *c, bool tasks)
{
	const struct kdtl_entry *e = c->from;
	/* For kdtl_vpa, kdtl_entry_cpu() is the hypervisor's processor number. */
	const int cpu = c - t->cpus;
	char who[TABLE_WHO], before[TABLE_WHO], waited[TABLE_WAITED], when[TABLE_WHEN];

	table_when(t, when, sizeof(when), table_time(t, e));
	if (kdtl_entry_has_wait(e))
		table_span(waited, sizeof(waited),
			   kdtl_ticks_to_ns(&t->info, kdtl_entry_wait(e)),
			   kdtl_entry_wait_saturated(e));
	else
		strscpy(waited, "?", sizeof(waited));
	if (!tasks) {
		pr_warn("%s %3d %8s %-24s %s\n", when, cpu, waited,
			kdtl_preempt_reason_name(kdtl_entry_preempt_reason(e)),
			kdtl_dispatch_reason_name(kdtl_entry_dispatch_reason(e)));
		return;
	}
	table_task(who, sizeof(who), e);
	table_before(before, sizeof(before), c);
	pr_warn("%s %3d %8s %-22s %-22s %s\n", when, cpu, waited, who, before,
		kdtl_task_reason_name(kdtl_entry_dispatch_reason(e)));
}

/* ------------------------------------------------------------- who had it */

/*
 * Name the task.  It may have called exec() since its entry, and then has another name than the
 * entry says.
 */
static void table_culprit(struct table *t, const struct kdtl_ran *ran, char *name, size_t size)
{
	struct kdtl_task task;

	if (kdtl_task_at(t->tasks, ran->pid, ran->time, &task)) {
		task = (struct kdtl_task) { .pid = ran->pid };
		strscpy(task.comm, ran->comm, sizeof(task.comm));
	}
	kdtl_task_name(t->tasks, &task, name, size);
}

static int table_add(struct table *t, int at, u64 ticks, const char *who)
{
	char had[TABLE_WAITED];

	table_span(had, sizeof(had), kdtl_ticks_to_ns(&t->info, ticks), false);
	return at + scnprintf(t->line + at, sizeof(t->line) - at, "%s %s %s",
			      at ? "," : "", who, had);
}

/*
 * Say which tasks had the CPU whose entries are in t->area, and that went offline at @went.  @busy:
 * somebody waited for it at @to, or has it, so it was not idle at the end.
 */
static void table_tasks(struct table *t, u64 went, ssize_t len, u64 from, u64 to, bool busy)
{
	char name[KDTL_TASK_NAME];
	struct kdtl_who who = {
		.tasks = t->tasks, .ran = t->ran, .size = ARRAY_SIZE(t->ran), .went = went,
	};
	const struct kdtl_entry *e;
	unsigned int i;
	int at = 0;

	t->line[0] = '\0';
	/* The time base of a source that names tasks is local_clock(). */
	kdtl_who_begin(&who, from, to);
	kdtl_for_each_entry(e, t->area, len)
		kdtl_who_entry(&who, e);
	kdtl_who_end(&who, t->info.idle || busy);
	for (i = 0; i < who.nr; i++) {
		if (i >= TABLE_NAMED) {
			who.others += t->ran[i].ticks;
			continue;
		}
		table_culprit(t, &t->ran[i], name, sizeof(name));
		at = table_add(t, at, t->ran[i].ticks, name);
	}
	if (who.others)
		at = table_add(t, at, who.others, "others");
	if (who.idle)
		at = table_add(t, at, who.idle, "idle");
	if (who.unknown)
		table_add(t, at, who.unknown, "not known");
}

/* Say for how long the hypervisor had the CPU whose entries are in t->area. */
static void table_stolen(struct table *t, ssize_t len, u64 from, u64 to)
{
	const struct kdtl_entry *e;
	char had[TABLE_WAITED];
	bool saturated = false;
	u64 begin, end, ns = 0;

	kdtl_for_each_entry(e, t->area, len) {
		end = table_time(t, e);
		begin = end - min(end, kdtl_ticks_to_ns(&t->info, kdtl_entry_wait(e)));
		begin = max(begin, from);
		end = min(end, to);
		if (begin >= end)
			continue;
		ns += end - begin;
		saturated |= kdtl_entry_wait_saturated(e);
		/* Count nothing twice: the next wait begins after this dispatch. */
		from = end;
	}
	table_span(had, sizeof(had), ns, saturated);
	snprintf(t->line, sizeof(t->line), " the hypervisor %s", had);
}

/* Say in one line who had @cpu from @from to @to.  @busy: see table_tasks(). */
static void table_culprits(struct table *t, struct kdtl_session *s, int cpu, u64 from,
			   u64 to, bool busy)
{
	const ssize_t len = kdtl_aux_snapshot(s, cpu, t->area, t->area_size, NULL);
	char when[TABLE_WHEN], until[TABLE_WHEN];
	struct kdtl_aux_info info = { };

	if (len <= 0)
		return;
	kdtl_aux_info(s, cpu, &info);
	if (t->info.tasks)
		table_tasks(t, info.went, len, from, to, busy);
	else
		table_stolen(t, len, from, to);
	table_when(t, when, sizeof(when), from);
	table_when(t, until, sizeof(until), to);
	pr_warn("CPU %d from %s to %s:%s\n", cpu, when, until, t->line);
}

static void table_title(const struct table *t, const char *why, u64 span, unsigned int found,
			unsigned int rows, u64 total)
{
	const time64_t real = div_u64(t->now + t->real, NSEC_PER_SEC);
	u64 boot = t->now;
	const u32 frac = do_div(boot, NSEC_PER_SEC);

	pr_warn("%s: the last %llu ms of %u CPUs, %u of %llu entries, oldest first\n",
		why, div_u64(span, NSEC_PER_MSEC), found, rows, total);
	pr_warn("%ptTs UTC, %llu.%06u s after boot\n", &real, boot,
		frac / (u32)NSEC_PER_USEC);
}

/**
 * table_rest() - leave the CPU to others for as long as a row has taken
 * @since: local_clock() before the row
 *
 * Printing a row to a serial console takes 10 ms, so a table takes a second.  The printing
 * thread may be a real-time one, such as the watch's, which others could not interrupt.
 *
 * Context: may sleep.
 */
void table_rest(u64 since)
{
	const u64 us = div_u64(local_clock() - since, NSEC_PER_USEC);

	if (us >= TABLE_SLOW_US)
		fsleep(min_t(u64, us, TABLE_REST_US));
}

static void table_rows(struct table *t, const char *what, bool rests)
{
	struct table_cpu *c;
	u64 begun;

	if (t->info.tasks)
		pr_warn("when (UTC)      CPU   waited who                    before                 why\n");
	else
		pr_warn("when (UTC)      CPU   waited preempted by             dispatched by\n");
	while ((c = table_oldest(t))) {
		begun = local_clock();
		table_row(t, c, t->info.tasks);
		c->from++;
		if (rests)
			table_rest(begun);
	}
	pr_warn("%s: end of table\n", what);
}

/**
 * table_print() - print the newest dispatches of all CPUs, oldest first
 * @t: the table; the caller is its only user
 * @s: an overwrite session
 * @ms: how far to go back from now, or from the time of @about
 * @about: why the table is printed; its CPU and time come first
 * @rests: the caller may sleep: after a row that took long, others get the CPU for as long
 *
 * Context: any, including NMI and a panic that has stopped the other CPUs, unless @rests.
 */
void table_print(struct table *t, struct kdtl_session *s, unsigned int ms,
		 const struct kdtl_alarm *about, bool rests)
{
	const u64 margin = (u64)ms * NSEC_PER_MSEC;
	unsigned int found, rows;
	u64 total, from, to;

	if (kdtl_aux_info(s, -1, &t->info))
		return;
	found = table_take(t, s, &total);
	to = about->to ? min(about->to, t->now) : t->now;
	from = about->to ? min(about->from, to) : to - min(margin, to);
	rows = table_choose(t, found, about->to ? about->cpu : -1, from,
			    about->to ? from - min(margin, from) : from);

	table_title(t, about->what, about->to ? t->now - from + margin : margin, found, rows,
		    total);
	if (about->cpu >= 0 && (t->info.tasks || t->info.stolen))
		table_culprits(t, s, about->cpu, from, to, about->to || current->pid);
	table_rows(t, about->what, rests);
}

/**
 * table_print_last() - print what the last boot left, oldest first
 * @l: from last_open()
 * @entries: of each of its CPUs, oldest first
 * @nr: their number
 * @lines: most rows
 * @ms: how far to go back
 *
 * Context: may sleep.
 */
void table_print_last(const struct last *l, const struct kdtl_entry **entries,
		      const unsigned int *nr, unsigned int lines, unsigned int ms)
{
	const u64 margin = (u64)ms * NSEC_PER_MSEC;
	struct table *t = kvzalloc(sizeof(*t), GFP_KERNEL);
	unsigned int cpu, take, found = 0, rows;
	struct kdtl_entry *to, *newest;
	u64 total = 0;

	if (!t)
		return;
	if (table_alloc(t, lines, 1)) {
		pr_warn("no memory for a table of what the last boot left\n");
		goto free;
	}
	t->info.tb_freq = l->head.tb_freq;
	t->info.tb_boot = l->head.tb_boot;
	t->info.tasks = l->head.flags & LAST_TASKS;
	t->now = last_ns(l, l->clock.ticks);
	t->real = l->clock.real - t->now;
	to = t->entries;
	for (cpu = 0; cpu < l->head.nr_cpus; cpu++, to += 2 * lines) {
		take = min(nr[cpu], 2 * lines);
		newest = to + take;
		memcpy(to, entries[cpu] + nr[cpu] - take, take * sizeof(*to));
		if (take)
			t->now = max(t->now, table_time(t, newest - 1));
		t->cpus[cpu].start = to;
		t->cpus[cpu].end = table_drop_idle(to, newest);
		t->cpus[cpu].from = t->cpus[cpu].end;
		found += t->cpus[cpu].end > to;
		total += nr[cpu];
	}
	rows = table_choose(t, found, -1, 0, t->now - min(margin, t->now));
	table_title(t, "last boot", margin, found, rows, total);
	table_rows(t, "last boot", true);
free:
	table_free(t);
	kvfree(t);
}
