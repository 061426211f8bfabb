// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_sched.ko: kdtl_sched against a second witness
 *
 * The test has a probe of its own on the same tracepoint.  It is registered before kdtl_sched's and
 * so runs just before it at each switch, and notes the tasks and the time.  An entry belongs to the
 * last note before its own time.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/idr.h>
#include <linux/kdtl_answers.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>

#include "../../core/compat.h"
#include "kunit-shim.h"
#include "pass.h"

/* How many notes there are for each CPU; no case makes that many dispatches. */
#define WITNESS_NOTES	65536
#define WITNESS_PIDS	8192

/* How many AUX pages hold all entries of a case. */
#define PAGES_FOR_ALL	roundup_pow_of_two(DIV_ROUND_UP(WITNESS_NOTES * KDTL_ENTRY_SIZE, \
							PAGE_SIZE))
#define PAGE_ROOM	(PAGE_SIZE / KDTL_ENTRY_SIZE)

#define TEST_TIMEOUT	(60 * HZ)

/**
 * struct note - what the witness saw of a dispatch
 * @time: local_clock()
 * @next: the task that was dispatched
 * @prev: the task that left
 * @prev_code: why @prev left, in the code of an entry
 * @next_slept: whether @next had last left the CPU to sleep; -1: the witness does not know
 * @next_cpu: the CPU that @next had left then
 * @next_nr: how many notes of that CPU there were then
 */
struct note {
	u64		time;
	pid_t		next;
	pid_t		prev;
	u8		prev_code;
	s8		next_slept;
	u16		next_cpu;
	unsigned int	next_nr;
};

struct witness {
	struct note	*notes;
	unsigned int	nr;
};

/*
 * How each task last left its CPU: the number of that CPU's notes, the CPU, and pid << 1 | slept.
 * If two tasks share a slot, only the one that left last is known.
 */
static u64 departed[WITNESS_PIDS];
static DEFINE_PER_CPU(struct witness, witnesses);
static struct tracepoint *switch_tp;

/* The code of an entry for why a task left with @state. */
static u8 departure_code(bool slept, unsigned int state)
{
	if (!slept)
		return KDTL_PREEMPT_TIME_SLICE;
	switch (state & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE | __TASK_STOPPED |
			 __TASK_TRACED | TASK_DEAD | TASK_NOLOAD)) {
	case TASK_UNINTERRUPTIBLE:
		return KDTL_PREEMPT_DISK_SLEEP;
	case __TASK_STOPPED:
	case __TASK_TRACED:
		return KDTL_PREEMPT_STOPPED;
	case TASK_DEAD:
		return KDTL_PREEMPT_EXITED;
	default:
		return KDTL_PREEMPT_CEDE;
	}
}

static void witness_switch(void *data, bool preempt, struct task_struct *prev,
			   struct task_struct *next, unsigned int prev_state)
{
	const bool slept = !preempt && READ_ONCE(prev->__state) != TASK_RUNNING;
	struct witness *w = this_cpu_ptr(&witnesses);
	struct note *n;
	u64 last;

	if (prev->pid)
		WRITE_ONCE(departed[prev->pid % WITNESS_PIDS],
			   (u64)w->nr << 40 | (u64)smp_processor_id() << 24 |
			   prev->pid << 1 | slept);
	if (!next->pid || w->nr == WITNESS_NOTES)
		return;
	last = READ_ONCE(departed[next->pid % WITNESS_PIDS]);
	n = &w->notes[w->nr];
	n->time = local_clock();
	n->next = next->pid;
	n->prev = prev->pid;
	n->prev_code = departure_code(slept, prev_state);
	n->next_slept = (last >> 1 & 0x7fffff) == next->pid ? (last & 1) : -1;
	n->next_cpu = last >> 24;
	n->next_nr = last >> 40;
	/* Pairs with the acquire in notes_nr(): the note is complete. */
	smp_store_release(&w->nr, w->nr + 1);
}

static unsigned int notes_nr(int cpu)
{
	/* Pairs with the release in witness_switch(). */
	return smp_load_acquire(&per_cpu(witnesses, cpu).nr);
}

/* -------------------------------------------------------------------- load */

/**
 * struct pair - each CPU has two tasks that wake each other up, and one that only computes
 * @turn: completed when it is this task's turn
 * @quota: how many notes they make; afterwards they mostly sleep
 */
struct pair {
	struct completion	turn[2];
	unsigned int		quota;
};

static DEFINE_PER_CPU(struct pair, pairs);
static struct task_struct **tasks;
static unsigned int nr_tasks;

static int ping_thread(void *data)
{
	struct completion *mine = data;
	struct pair *p = per_cpu_ptr(&pairs, raw_smp_processor_id());
	struct completion *other = mine == &p->turn[0] ? &p->turn[1] : &p->turn[0];

	while (!kthread_should_stop()) {
		if (notes_nr(raw_smp_processor_id()) >= READ_ONCE(p->quota))
			schedule_timeout_interruptible(HZ / 20);
		complete(other);
		wait_for_completion_interruptible_timeout(mine, 1);
	}
	return 0;
}

/*
 * This task only computes.  It must not hold up Tasks RCU, which a new user of a tracepoint waits
 * for.
 */
static int compute_thread(void *data)
{
	while (!kthread_should_stop()) {
		if (notes_nr(raw_smp_processor_id()) >=
		    READ_ONCE(per_cpu_ptr(&pairs, raw_smp_processor_id())->quota))
			schedule_timeout_interruptible(HZ / 20);
		udelay(20);	/* busy, not asleep */
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

static int start_task(int (*fn)(void *), void *data, int cpu)
{
	struct task_struct *t = kthread_create_on_node(fn, data, cpu_to_node(cpu),
						       "kdtl_load/%d", cpu);

	if (IS_ERR(t))
		return PTR_ERR(t);
	kthread_bind(t, cpu);
	tasks[nr_tasks++] = t;
	wake_up_process(t);
	return 0;
}

static void stop_load(void)
{
	while (nr_tasks)
		kthread_stop(tasks[--nr_tasks]);
}

static int start_load(void)
{
	struct pair *p;
	int cpu, err;

	for_each_online_cpu(cpu) {
		p = per_cpu_ptr(&pairs, cpu);
		init_completion(&p->turn[0]);
		init_completion(&p->turn[1]);
		p->quota = 0;
		err = start_task(ping_thread, &p->turn[0], cpu) ?:
		      start_task(ping_thread, &p->turn[1], cpu) ?:
		      start_task(compute_thread, NULL, cpu);
		if (err)
			return err;
	}
	return 0;
}

/* ---------------------------------------------------------------- sessions */

#define NR_CAPTURES	3
#define NR_MSGS		4096

/**
 * struct seen - what a session's reader got from a CPU
 * @entries: copies of its entries
 * @nr: how many
 * @at: the index of the first entry's note
 * @before: how many notes there were before the session was started
 * @started: how many there were after that
 * @stopping: how many there were before it was stopped
 * @stopped: how many there were after that
 */
struct seen {
	struct kdtl_entry	*entries;
	unsigned int		nr;
	unsigned int		at;
	unsigned int		before;
	unsigned int		started;
	unsigned int		stopping;
	unsigned int		stopped;
};

static struct kdtl_session *sessions[NR_CAPTURES];
static struct kdtl_msg *msgs;
static DEFINE_PER_CPU(struct seen, seens[NR_CAPTURES]);

static struct seen *seen_of(int id, int cpu)
{
	return per_cpu_ptr(&seens[id], cpu);
}

static int capture_start(int id, unsigned int pages, u32 mask)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_sched",
		.aux_pages	= pages,
		.msg_pages	= 16,
		.mask		= mask,
	};
	struct kdtl_session *s;
	int cpu, err;

	s = kdtl_session_create(&attr);
	if (IS_ERR(s))
		return PTR_ERR(s);
	sessions[id] = s;
	err = kdtl_load(s, NULL);
	if (err)
		return err;
	for_each_online_cpu(cpu)
		seen_of(id, cpu)->before = notes_nr(cpu);
	err = kdtl_start(s);
	for_each_online_cpu(cpu)
		seen_of(id, cpu)->started = notes_nr(cpu);
	return err;
}

static int capture_stop(int id)
{
	int cpu, err;

	for_each_online_cpu(cpu)
		seen_of(id, cpu)->stopping = notes_nr(cpu);
	err = kdtl_stop(sessions[id]);
	for_each_online_cpu(cpu)
		seen_of(id, cpu)->stopped = notes_nr(cpu);
	return err;
}

static void capture_read(int id)
{
	const struct kdtl_entry *e;
	const void *span;
	struct seen *seen;
	ssize_t len;
	int cpu;

	for_each_online_cpu(cpu) {
		seen = seen_of(id, cpu);
		len = kdtl_aux_peek(sessions[id], cpu, &span);
		if (len <= 0)
			continue;
		kdtl_for_each_entry(e, span, len) {
			if (seen->nr < WITNESS_NOTES)
				seen->entries[seen->nr++] = *e;
		}
		kdtl_aux_consume(sessions[id], cpu, len);
	}
}

/* Close it, so that the next session can have this @id. */
static void capture_close(int id)
{
	int cpu;

	kdtl_session_close(sessions[id]);
	sessions[id] = NULL;
	for_each_possible_cpu(cpu)
		seen_of(id, cpu)->nr = 0;
}

/*
 * Wait until each CPU has made @nr dispatches since session @id was started; read meanwhile, if
 * @reading.  Returns false if that takes too long.
 */
static bool wait_for_notes(int id, unsigned int nr, bool reading)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;
	int cpu;

	for_each_online_cpu(cpu)
		WRITE_ONCE(per_cpu(pairs, cpu).quota, seen_of(id, cpu)->started + nr);
	for_each_online_cpu(cpu) {
		while (notes_nr(cpu) - seen_of(id, cpu)->started < nr) {
			if (time_after(jiffies, end))
				return false;
			if (reading)
				capture_read(id);
			usleep_range(500, 1000);
		}
	}
	return true;
}

/*
 * Since session @id was started, has a task that computes been preempted and dispatched again?
 */
static bool seen_preempted(int id)
{
	const struct note *n;
	unsigned int i, nr;
	int cpu;

	for_each_online_cpu(cpu) {
		nr = notes_nr(cpu);
		for (i = seen_of(id, cpu)->started; i < nr; i++) {
			n = &per_cpu(witnesses, cpu).notes[i];
			if (n->next == tasks[3 * cpu + 2]->pid && !n->next_slept &&
			    n->next_nr > seen_of(id, cpu)->started)
				return true;
		}
	}
	return false;
}

/*
 * As above, and until a task was preempted: those that wake each other up can make @nr dispatches
 * while the one that computes still sleeps.
 */
static bool wait_for_preempted(int id, unsigned int nr, bool reading)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;
	unsigned int more = nr;

	while (wait_for_notes(id, more, reading)) {
		if (seen_preempted(id))
			return true;
		if (time_after(jiffies, end))
			break;
		more += nr;
	}
	return false;
}

/*
 * Does the entry agree with the note?  An unstable clock stands still between two ticks, so times
 * can be equal.  How a task left before the session was started is not always known.
 */
static bool entry_fits(const struct kdtl_entry *e, int id, int cpu, unsigned int at)
{
	const struct note *n = &per_cpu(witnesses, cpu).notes[at];
	const unsigned int nr = notes_nr(cpu);
	const unsigned int on = kdtl_entry_dispatch_reason(e);

	if (at >= nr || n->time > kdtl_entry_time(e) ||
	    (at + 1 < nr && n[1].time < kdtl_entry_time(e)))
		return false;
	if (kdtl_entry_cpu(e) != cpu || kdtl_entry_pid(e) != n->next ||
	    kdtl_entry_prev_pid(e) != n->prev)
		return false;
	/* What the idle task left for does not matter. */
	if (n->prev && kdtl_entry_preempt_reason(e) != n->prev_code &&
	    kdtl_entry_preempt_reason(e) != KDTL_PREEMPT_PAGE_FAULT)
		return false;
	if (n->next_slept < 0)
		return true;
	if (n->next_nr <= seen_of(id, n->next_cpu)->started && on == KDTL_DISPATCH_PROD &&
	    !kdtl_entry_ready(e) && !kdtl_entry_slept(e))
		return true;
	return (on == KDTL_DISPATCH_TIME_SLICE) == !n->next_slept;
}

/*
 * How many entries disagree with their notes, if the first one belongs to note @at?  LOST messages
 * say where entries are missing.
 */
static unsigned int nr_misfits(int id, int cpu, unsigned int at,
			       u64 head, const struct kdtl_msg *m,
			       const struct kdtl_msg *end)
{
	const struct seen *seen = seen_of(id, cpu);
	unsigned int i, bad = 0;
	u64 pos;

	for (i = 0; i < seen->nr; i++) {
		pos = head - (u64)(seen->nr - i) * KDTL_ENTRY_SIZE;
		for (; m < end; m++) {
			if (m->type != KDTL_MSG_LOST || m->cpu != cpu)
				continue;
			if ((s64)(m->lost.offset - pos) > 0)
				break;
			at += m->lost.count;
		}
		bad += !entry_fits(&seen->entries[i], id, cpu, at + i);
	}
	return bad;
}

/* Report the first entry that does not agree with its note. */
static void tell_misfit(struct kunit *test, int id, int cpu, unsigned int at)
{
	const struct note *n = per_cpu(witnesses, cpu).notes + at;
	const struct seen *seen = seen_of(id, cpu);
	const struct kdtl_entry *e = seen->entries;
	unsigned int i = 0;

	while (i < seen->nr && entry_fits(&e[i], id, cpu, at + i))
		i++;
	if (i == seen->nr || at + i + 1 >= notes_nr(cpu))
		return;
	kunit_info(test, "entry %u: %llu %d after %d, reasons %u %u", i,
		   kdtl_entry_time(&e[i]), kdtl_entry_pid(&e[i]), kdtl_entry_prev_pid(&e[i]),
		   kdtl_entry_dispatch_reason(&e[i]), kdtl_entry_preempt_reason(&e[i]));
	kunit_info(test, "note  %u: %llu %d after %d, slept %d, left with %d; the next at %llu",
		   at + i, n[i].time, n[i].next, n[i].prev, n[i].next_slept, n[i].prev_code,
		   n[i + 1].time);
}

/* Each entry must be the next dispatch, unless a gap before it was reported. */
static void expect_all(struct kunit *test, int id, const struct kdtl_msg *msgs,
		       unsigned int nr_msgs)
{
	unsigned int bad, least, best;
	struct kdtl_aux_info info;
	struct seen *seen;
	int cpu;

	for_each_online_cpu(cpu) {
		seen = seen_of(id, cpu);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(sessions[id], cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.consumed, (u64)seen->nr);
		KUNIT_EXPECT_EQ(test, info.produced, info.consumed + info.lost);

		/*
		 * The first entry is of a dispatch that happened while the session was being
		 * started.
		 */
		least = UINT_MAX;
		best = seen->before;
		for (seen->at = seen->before; ; seen->at++) {
			bad = nr_misfits(id, cpu, seen->at, info.head, msgs,
					 msgs + nr_msgs);
			if (bad < least)
				best = seen->at;
			least = min(least, bad);
			if (!bad || seen->at >= seen->started)
				break;
		}
		if (least)
			tell_misfit(test, id, cpu, best);
		KUNIT_EXPECT_EQ_MSG(test, least, 0U, "of %u entries of CPU %d",
				    seen->nr, cpu);
		KUNIT_EXPECT_GE(test, seen->at + info.produced, (u64)seen->stopping);
		KUNIT_EXPECT_LE(test, seen->at + info.produced, (u64)seen->stopped);
	}
}

/* A reader that keeps up gets an entry for each dispatch, with all of it right. */
static void kdtl_sched_every_dispatch(struct kunit *test)
{
	struct kdtl_aux_info info;
	u64 entries = 0;
	int cpu;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_for_notes(0, 1500, true));
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);
	expect_all(test, 0, NULL, 0);

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(sessions[0], cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
		entries += info.produced;
	}
	kunit_info(test, "%llu dispatches", entries);
}

/*
 * The reader sleeps and reads in turns.  The entries that it gets and those that are reported as
 * lost are all dispatches, and each gap is where it is reported.
 */
static void kdtl_sched_exact_loss(struct kunit *test)
{
	unsigned int round, nr_msgs = 0;
	u64 entries = 0, lost = 0;
	struct kdtl_aux_info info;
	struct kdtl_msg *m;
	int cpu;

	KUNIT_ASSERT_EQ(test, capture_start(0, 1, 0), 0);
	for (round = 1; round <= 5; round++) {
		KUNIT_EXPECT_TRUE(test, wait_for_notes(0, 3 * PAGE_ROOM * round, false));
		if (round < 5)
			capture_read(0);
	}
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);
	for (m = msgs; m < msgs + NR_MSGS; m++) {
		if (kdtl_read(sessions[0], m, sizeof(*m), true) <= 0)
			break;
		KUNIT_EXPECT_EQ(test, m->dropped, 0ULL);
		nr_msgs++;
	}
	expect_all(test, 0, msgs, nr_msgs);

	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(sessions[0], cpu, &info), 0);
		KUNIT_EXPECT_GE(test, info.consumed, (u64)PAGE_ROOM);
		KUNIT_EXPECT_GE(test, info.lost, (u64)PAGE_ROOM);
		entries += info.consumed;
		lost += info.lost;
	}
	kunit_info(test, "%llu entries, %llu lost", entries, lost);
}

/*
 * One session logs all dispatches, one those after sleep, one those after preemption.  While all
 * three run, the last two together get exactly what the first one gets.
 */
static void kdtl_sched_sessions_share(struct kunit *test)
{
	unsigned int i, k, from, to, missing, took[2] = { };
	struct seen *seen, *s;
	unsigned int next[2];
	bool in_window[2];
	int cpu;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, KDTL_MASK_ALL), 0);
	KUNIT_ASSERT_EQ(test, capture_start(1, PAGES_FOR_ALL,
					    KDTL_MASK_CEDE | KDTL_MASK_FAULT), 0);
	KUNIT_ASSERT_EQ(test, capture_start(2, PAGES_FOR_ALL, KDTL_MASK_PREEMPT), 0);
	KUNIT_EXPECT_TRUE(test, wait_for_preempted(2, 1000, false));
	for (i = NR_CAPTURES; i--; ) {
		KUNIT_EXPECT_EQ(test, capture_stop(i), 0);
		capture_read(i);
	}
	expect_all(test, 0, NULL, 0);

	for_each_online_cpu(cpu) {
		seen = seen_of(0, cpu);
		from = seen_of(2, cpu)->started - seen->at;
		to = seen_of(2, cpu)->stopping - seen->at;
		memset(next, 0, sizeof(next));
		memset(in_window, 0, sizeof(in_window));
		missing = 0;
		for (i = from; i < to && i < seen->nr; i++) {
			const struct kdtl_entry *e = &seen->entries[i];

			k = kdtl_entry_dispatch_reason(e) == KDTL_DISPATCH_TIME_SLICE;
			s = seen_of(1 + k, cpu);
			/* Skip entries from before that time; none may be skipped later. */
			while (!in_window[k] && next[k] < s->nr &&
			       memcmp(&s->entries[next[k]], e, sizeof(*e)))
				next[k]++;
			in_window[k] = true;
			if (next[k] == s->nr ||
			    memcmp(&s->entries[next[k]], e, sizeof(*e))) {
				missing++;
			} else {
				took[k]++;
				next[k]++;
			}
		}
		KUNIT_EXPECT_EQ_MSG(test, missing, 0U, "entries of CPU %d", cpu);
		for (k = 0; k < 2; k++) {
			s = seen_of(1 + k, cpu);
			for (i = 0, missing = 0; i < s->nr; i++)
				missing += k != (kdtl_entry_dispatch_reason(&s->entries[i]) ==
						 KDTL_DISPATCH_TIME_SLICE);
			KUNIT_EXPECT_EQ_MSG(test, missing, 0U, "of mask %u", k);
		}
	}
	KUNIT_EXPECT_GT(test, took[0], 0U);
	KUNIT_EXPECT_GT(test, took[1], 0U);
	kunit_info(test, "%u after sleep, %u after preemption", took[0], took[1]);
}

/* ------------------------------------------------------------------- idle time */

#define NAPS		10
#define NAP_MS		40

/**
 * struct napper - a task that computes half of the time, and sleeps the other half
 * @task: the task
 * @done: completed when it has finished
 * @from: when it began, by local_clock()
 * @until: when it ended
 * @idle_us: for how long its CPU was idle meanwhile, as the kernel says
 * @slept: for how long it slept, by local_clock(): from before it gave the CPU up until it
 *         ran again
 */
struct napper {
	struct task_struct	*task;
	struct completion	done;
	u64			from;
	u64			until;
	u64			idle_us;
	u64			slept;
};

static DEFINE_PER_CPU(struct napper, nappers);

/* A kernel whose tick never stops counts idle time for /proc/stat only. */
static u64 kernel_idle_us(void)
{
	if (!IS_ENABLED(CONFIG_NO_HZ_COMMON))
		return div_u64(kcpustat_this_cpu->cpustat[CPUTIME_IDLE], NSEC_PER_USEC);
	return get_cpu_idle_time_us(smp_processor_id(), NULL);
}

static void napper_now(u64 *time, u64 *idle_us)
{
	local_irq_disable();
	*time = local_clock();
	*idle_us = kernel_idle_us();
	local_irq_enable();
}

static int napper_thread(void *data)
{
	struct napper *n = data;
	u64 idle_us, begin;
	int i;

	n->slept = 0;
	napper_now(&n->from, &idle_us);
	for (i = 0; i < NAPS; i++) {
		begin = local_clock();
		while (local_clock() - begin < NAP_MS * NSEC_PER_MSEC)
			cond_resched();
		begin = local_clock();
		/* See pass_ms() for why this is a loop. */
		do {
			if (i % 2)
				schedule_timeout_uninterruptible(msecs_to_jiffies(NAP_MS));
			else
				schedule_timeout_idle(msecs_to_jiffies(NAP_MS));
		} while (local_clock() - begin < NAP_MS * NSEC_PER_MSEC);
		n->slept += local_clock() - begin;
	}
	napper_now(&n->until, &n->idle_us);
	n->idle_us -= idle_us;
	complete(&n->done);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/* From each entry to the next one the CPU has the task that the entry names, or is idle. */
static void expect_chain(struct kunit *test, int id, int cpu)
{
	const struct seen *seen = seen_of(id, cpu);
	unsigned int i, idle = 0, broken = 0, wrong = 0, disk = 0, cede = 0;
	const struct kdtl_entry *e;
	struct kdtl_counter_req req[] = {
		{ .counter = KDTL_CTR_IDLE, .cpu = cpu },
		{ .counter = KDTL_CTR_ENTRIES, .cpu = cpu },
	};
	char name[TASK_COMM_LEN];

	snprintf(name, sizeof(name), "swapper/%d", cpu);
	for (i = 0; i < seen->nr; i++) {
		e = &seen->entries[i];
		broken += i && kdtl_entry_prev_pid(e) != kdtl_entry_pid(e - 1);
		wrong += kdtl_entry_is_idle(e) == !!kdtl_entry_pid(e);
		if (!kdtl_entry_is_idle(e))
			continue;
		idle++;
		disk += kdtl_entry_preempt_reason(e) == KDTL_PREEMPT_DISK_SLEEP;
		cede += kdtl_entry_preempt_reason(e) == KDTL_PREEMPT_CEDE;
		wrong += kdtl_entry_queued(e) || kdtl_entry_ready(e) || kdtl_entry_slept(e) ||
			 kdtl_entry_cpu(e) != cpu || strcmp(kdtl_entry_comm(e), name);
	}
	KUNIT_EXPECT_EQ(test, broken, 0U);
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	KUNIT_EXPECT_GE(test, idle, (unsigned int)NAPS);
	/* The napper sleeps in two ways in turn, and mostly no other task runs after it. */
	KUNIT_EXPECT_GT(test, disk, 0U);
	KUNIT_EXPECT_GT(test, cede, 0U);
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(sessions[id], req, ARRAY_SIZE(req)), 0);
	KUNIT_EXPECT_EQ(test, req[0].value, (u64)idle);
	KUNIT_EXPECT_EQ(test, req[1].value, (u64)seen->nr);
}

/* Compare what the log says about a span of time with what the kernel says. */
static void expect_who(struct kunit *test, int id, int cpu, const struct napper *n)
{
	const struct seen *seen = seen_of(id, cpu);
	const u64 span = n->until - n->from;
	const u64 kernel = n->idle_us * NSEC_PER_USEC;
	const u64 late = n->slept - min_t(u64, n->slept, NAPS * NAP_MS * NSEC_PER_MSEC);
	u64 sum;
	struct kdtl_ran ran[8];
	struct kdtl_who who = { .ran = ran, .size = ARRAY_SIZE(ran) };
	const struct kdtl_ran *napper = NULL;
	unsigned int i;

	kdtl_who_begin(&who, n->from, n->until);
	for (i = 0; i < seen->nr; i++)
		kdtl_who_entry(&who, &seen->entries[i]);
	kdtl_who_end(&who, false);
	sum = who.others + who.idle + who.unknown;
	for (i = 0; i < who.nr; i++) {
		sum += ran[i].ticks;
		/*
		 * It is not always the first: a host may halt the machine while another task runs.
		 */
		if (ran[i].pid == n->task->pid)
			napper = &ran[i];
	}
	KUNIT_EXPECT_EQ(test, sum, span);
	KUNIT_EXPECT_EQ(test, who.unknown, 0ULL);
	/*
	 * The napper is bound to the CPU, so the CPU is not idle while the napper can run.  The
	 * clock of the entries differs from local_clock() by a microsecond or so.
	 */
	KUNIT_EXPECT_LE(test, who.idle, n->slept + div_u64(span, 100));
	/*
	 * The kernel's idle time does not include interrupts.  If a host halts the machine in one
	 * of them, the naps take longer by as much.
	 */
	KUNIT_EXPECT_LE(test, kernel, who.idle + div_u64(span, 4));
	/*
	 * If the tick never stops, the kernel's idle time is the number of ticks that found the CPU
	 * idle.  Several ticks that come late count as one, so any part of the time can be missing.
	 */
	if (IS_ENABLED(CONFIG_NO_HZ_COMMON))
		KUNIT_EXPECT_LE(test, who.idle, kernel + late + div_u64(span, 4));
	KUNIT_EXPECT_GE(test, who.idle, (u64)NAPS * NAP_MS * NSEC_PER_MSEC / 4);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, napper);
	KUNIT_EXPECT_GE(test, napper->ticks, (u64)NAPS * NAP_MS * NSEC_PER_MSEC / 2);
	KUNIT_EXPECT_GT(test, napper->time, n->from);
	KUNIT_EXPECT_LT(test, napper->time, n->until);
	kunit_info(test, "CPU %d: %llu us, idle %llu, the kernel says %llu; slept %llu, ran %llu",
		   cpu, div_u64(span, NSEC_PER_USEC), div_u64(who.idle, NSEC_PER_USEC),
		   n->idle_us, div_u64(n->slept, NSEC_PER_USEC),
		   div_u64(napper->ticks, NSEC_PER_USEC));
}

/* A session without KDTL_MASK_IDLE has the same dispatches, and nothing else. */
static void expect_no_idle(struct kunit *test, int id, int with, int cpu)
{
	const struct seen *seen = seen_of(id, cpu), *all = seen_of(with, cpu);
	unsigned int i, k = 0, idle = 0, missing = 0;

	for (i = 0; i < seen->nr; i++) {
		idle += !kdtl_entry_pid(&seen->entries[i]);
		while (k < all->nr && (kdtl_entry_is_idle(&all->entries[k]) || !i) &&
		       memcmp(&all->entries[k], &seen->entries[i], sizeof(*all->entries)))
			k++;
		missing += k == all->nr ||
			   memcmp(&all->entries[k], &seen->entries[i], sizeof(*all->entries));
		k++;
	}
	KUNIT_EXPECT_GT(test, seen->nr, 0U);
	KUNIT_EXPECT_EQ(test, idle, 0U);
	KUNIT_EXPECT_EQ(test, missing, 0U);
}

static void kdtl_sched_idle_time(struct kunit *test)
{
	struct napper *n;
	int cpu;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, KDTL_MASK_ALL | KDTL_MASK_IDLE), 0);
	KUNIT_ASSERT_EQ(test, capture_start(1, PAGES_FOR_ALL, 0), 0);
	for_each_online_cpu(cpu) {
		n = per_cpu_ptr(&nappers, cpu);
		init_completion(&n->done);
		n->task = kthread_create(napper_thread, n, "kdtl_napper/%d", cpu);
		KUNIT_ASSERT_FALSE(test, IS_ERR(n->task));
		kthread_bind(n->task, cpu);
		wake_up_process(n->task);
	}
	for_each_online_cpu(cpu)
		wait_for_completion(&per_cpu(nappers, cpu).done);
	KUNIT_EXPECT_EQ(test, capture_stop(1), 0);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);
	capture_read(1);
	for_each_online_cpu(cpu) {
		n = per_cpu_ptr(&nappers, cpu);
		expect_chain(test, 0, cpu);
		expect_who(test, 0, cpu, n);
		expect_no_idle(test, 1, 0, cpu);
		kthread_stop(n->task);
	}
}

/* A session may want idle times, but no task that had slept.  The load sleeps most of the time. */
static void kdtl_sched_idle_seldom(struct kunit *test)
{
	struct kdtl_counter_req idle = {
		.counter = KDTL_CTR_IDLE, .cpu = cpumask_first(cpu_online_mask),
	};
	const unsigned long end = jiffies + TEST_TIMEOUT;
	const u32 mask = KDTL_MASK_PREEMPT | KDTL_MASK_IDLE;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, mask), 0);
	do {
		usleep_range(500, 1000);
		KUNIT_ASSERT_EQ(test, kdtl_read_counters(sessions[0], &idle, 1), 0);
	} while (!idle.value && time_before(jiffies, end));
	KUNIT_EXPECT_GT(test, idle.value, 0ULL);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
}

static int sleep_thread(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/* Returns the first dispatch of @pid at or after @since, on any CPU. */
static const struct kdtl_entry *first_of(pid_t pid, u64 since)
{
	const struct kdtl_entry *e, *first = NULL;
	struct seen *seen;
	unsigned int i;
	int cpu;

	for_each_online_cpu(cpu) {
		seen = seen_of(0, cpu);
		for (i = 0; i < seen->nr; i++) {
			e = &seen->entries[i];
			if (kdtl_entry_pid(e) == pid && kdtl_entry_time(e) >= since &&
			    (!first || kdtl_entry_time(e) < kdtl_entry_time(first)))
				first = e;
		}
	}
	return first;
}

/* The clocks of two CPUs may differ by this much, which is more than two ticks. */
#define CLOCKS_MS	21

/*
 * A new task must not inherit the record of the task that had its pid before.  It may have waited
 * in the queue of another CPU, but not since before it was made, as the record would say.
 */
static void kdtl_sched_pid_again(struct kunit *test)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;
	const struct kdtl_entry *e;
	struct task_struct *t;
	pid_t pid, got;
	u64 since;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	t = kthread_run(sleep_thread, NULL, "kdtl_first");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	pid = t->pid;
	msleep(50);
	kthread_stop(t);
	/* The pid becomes free a while later, and then another task may get it first. */
	do {
		pass_ms(5 * CLOCKS_MS);
		idr_set_cursor(&init_pid_ns.idr, pid);
		since = local_clock();
		t = kthread_run(sleep_thread, NULL, "kdtl_second");
		KUNIT_ASSERT_FALSE(test, IS_ERR(t));
		got = t->pid;
		msleep(20);
		kthread_stop(t);
	} while (got != pid && time_before(jiffies, end));
	KUNIT_EXPECT_EQ(test, got, pid);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);

	since -= CLOCKS_MS * NSEC_PER_MSEC;
	e = first_of(pid, since);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	KUNIT_EXPECT_LE(test, (u64)kdtl_entry_queued(e) + kdtl_entry_ready(e),
			kdtl_entry_time(e) - since);
	KUNIT_EXPECT_EQ(test, kdtl_entry_slept(e), 0U);
}

/**
 * struct leaver - a task that sleeps in each of three ways, and exits
 * @task: the task
 * @woken: how many of its sleeps the test has seen and then ended
 */
struct leaver {
	struct task_struct	*task;
	unsigned int		woken;
};

static const unsigned int leaver_states[] = {
	TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE, TASK_IDLE,
};

static int leaver_thread(void *data)
{
	struct leaver *l = data;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(leaver_states); i++) {
		for (;;) {
			set_current_state(leaver_states[i]);
			if (READ_ONCE(l->woken) > i)
				break;
			schedule();
		}
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

/* A task that is preempted on its way to sleep also has the state, but stays in its queue. */
static bool left_asleep(const struct task_struct *t, unsigned int state)
{
	if (READ_ONCE(t->__state) != state || READ_ONCE(t->on_cpu))
		return false;
#if KDTL_HAVE_DELAYED_DEQUEUE
	if (READ_ONCE(t->se.sched_delayed))
		return true;
#endif
	return !READ_ONCE(t->on_rq);
}

static bool wait_left_asleep(const struct task_struct *t, unsigned int state)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;

	while (!left_asleep(t, state)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

/* How often the task left its CPU for this reason. */
static unsigned int nr_left(pid_t pid, unsigned int reason)
{
	unsigned int i, nr = 0;
	int cpu;

	for_each_online_cpu(cpu) {
		const struct seen *seen = seen_of(0, cpu);

		for (i = 0; i < seen->nr; i++)
			nr += kdtl_entry_prev_pid(&seen->entries[i]) == pid &&
			      kdtl_entry_preempt_reason(&seen->entries[i]) == reason;
	}
	return nr;
}

/*
 * The next entry of its CPU says in which way a task went to sleep, and that a task has exited.
 * The test wakes it up itself: if a host stops the CPU for long enough, a timer would end a sleep
 * before it begins.
 */
static void kdtl_sched_left(struct kunit *test)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;
	struct leaver l = { };
	unsigned int i;
	pid_t pid;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, KDTL_MASK_ALL | KDTL_MASK_IDLE), 0);
	l.task = kthread_create(leaver_thread, &l, "kdtl_leaver");
	KUNIT_ASSERT_FALSE(test, IS_ERR(l.task));
	get_task_struct(l.task);
	pid = l.task->pid;
	/* kthread_create() leaves it sleeping uninterruptibly, too. */
	KUNIT_EXPECT_TRUE(test, wait_left_asleep(l.task, TASK_UNINTERRUPTIBLE));
	wake_up_process(l.task);
	for (i = 0; i < ARRAY_SIZE(leaver_states); i++) {
		KUNIT_EXPECT_TRUE(test, wait_left_asleep(l.task, leaver_states[i]));
		WRITE_ONCE(l.woken, i + 1);
		wake_up_process(l.task);
	}
	/* Once this holds, the task has left its CPU for the last time. */
	while ((READ_ONCE(l.task->__state) != TASK_DEAD || READ_ONCE(l.task->on_cpu)) &&
	       time_before(jiffies, end))
		msleep(20);
	put_task_struct(l.task);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);
	KUNIT_EXPECT_EQ(test, nr_left(pid, KDTL_PREEMPT_CEDE), 2U);
	KUNIT_EXPECT_GE(test, nr_left(pid, KDTL_PREEMPT_DISK_SLEEP), 2U);
	KUNIT_EXPECT_EQ(test, nr_left(pid, KDTL_PREEMPT_EXITED), 1U);
}

/* ---------------------------------------------------- waits that go on */

/**
 * struct keeper - a task that keeps a CPU from all others
 * @pid: the task
 * @has: completed when it has the CPU
 * @enough: set when it may give the CPU up
 * @kept: a task of that CPU, which it wakes up; NULL for none
 */
struct keeper {
	pid_t			pid;
	struct completion	has;
	bool			enough;
	struct task_struct	*kept;
};

/* This is less than the kernel takes for a lockup. */
#define DEAF_NS		(5 * NSEC_PER_SEC)

static int keeper_thread(void *data)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;
	struct keeper *k = data;

	k->pid = current->pid;
	preempt_disable();
	complete(&k->has);
	while (!READ_ONCE(k->enough) && time_before(jiffies, end))
		cpu_relax();
	preempt_enable();
	return 0;
}

static int kept_thread(void *data)
{
	complete(data);
	return 0;
}

/**
 * struct told - what kdtl_waiting() says about a task
 * @pid: the task
 * @nr: how many times it was told of
 * @is: what was said last
 */
struct told {
	pid_t			pid;
	unsigned int		nr;
	struct kdtl_waiting	is;
};

static void told_of(const struct kdtl_waiting *w, void *data)
{
	struct told *told = data;

	if (w->pid != told->pid)
		return;
	told->nr++;
	told->is = *w;
}

/*
 * Ask kdtl_waiting().  If a host stops a CPU for long enough, that CPU does not answer; then ask
 * again.
 */
static int told_now(struct told *told)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;
	int err;

	do {
		cond_resched();
		told->nr = 0;
		err = kdtl_waiting(sessions[0], told_of, told);
	} while (err == -ETIMEDOUT && time_before(jiffies, end));
	return err;
}

/* Ask until the task is told to wait, with an end after @until; or, if !@waits, not to wait. */
static bool wait_told(struct told *told, bool waits, u64 until)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;

	while (!told_now(told) && time_before(jiffies, end)) {
		if (waits ? told->nr && told->is.until > until : !told->nr)
			return true;
	}
	return false;
}

/* The caller is on another CPU than @cpu, and stays there. */
static void expect_told(struct kunit *test, struct keeper *k, int cpu)
{
	DECLARE_COMPLETION_ONSTACK(ran);
	struct kdtl_waiting first;
	const struct kdtl_entry *e;
	struct task_struct *t;
	struct told told = { };
	u64 woken;

	t = kthread_create_on_cpu(kept_thread, &ran, cpu, "kdtl_kept/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	told.pid = t->pid;
	/* The task sleeps, so it is not told of. */
	KUNIT_EXPECT_EQ(test, told_now(&told), 0);
	KUNIT_EXPECT_EQ(test, told.nr, 0U);
	woken = local_clock();
	wake_up_process(t);
	KUNIT_EXPECT_TRUE(test, wait_told(&told, true, 0));
	KUNIT_EXPECT_EQ(test, told.nr, 1U);
	first = told.is;
	KUNIT_EXPECT_EQ(test, first.cpu, cpu);
	KUNIT_EXPECT_EQ(test, first.running, k->pid);
	KUNIT_EXPECT_EQ(test, strcmp(first.comm, t->comm), 0);
	KUNIT_EXPECT_EQ(test, first.held, 0ULL);
	/* An unstable clock stands still if a tick is late. */
	KUNIT_EXPECT_LE(test, first.since, first.until);
	KUNIT_EXPECT_TRUE(test, wait_told(&told, true, first.until));
	KUNIT_EXPECT_EQ(test, told.is.since, first.since);
	WRITE_ONCE(k->enough, true);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&ran, TEST_TIMEOUT), 0UL);
	/* Others may have the CPU before the task has exited. */
	KUNIT_EXPECT_TRUE(test, wait_told(&told, false, 0));
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);
	/* The entry says the same about the whole wait. */
	e = first_of(told.pid, first.until);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	if (kdtl_entry_queued(e) < U32_MAX)
		KUNIT_EXPECT_EQ(test, kdtl_entry_time(e) - kdtl_entry_queued(e), first.since);
	if (kdtl_entry_slept(e) && kdtl_entry_slept(e) < U32_MAX)
		KUNIT_EXPECT_EQ(test, first.since - kdtl_entry_ready(e) - kdtl_entry_slept(e),
				first.left);
	kunit_info(test, "woken at %llu, queued at %llu, told at %llu, dispatched at %llu\n", woken,
		   first.since, first.until, kdtl_entry_time(e));
}

/* The session does not look at this CPU's queue. */
static void expect_untold(struct kunit *test, struct keeper *k, int cpu)
{
	DECLARE_COMPLETION_ONSTACK(ran);
	struct told told = { };
	struct task_struct *t;

	t = kthread_create_on_cpu(kept_thread, &ran, cpu, "kdtl_kept/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	told.pid = t->pid;
	wake_up_process(t);
	KUNIT_EXPECT_EQ(test, told_now(&told), 0);
	KUNIT_EXPECT_EQ(test, told.nr, 0U);
	WRITE_ONCE(k->enough, true);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&ran, TEST_TIMEOUT), 0UL);
}

/* Run @expect on another CPU than @cpu, which has a task that does not leave it. */
static void while_kept(struct kunit *test, int cpu,
		       void (*expect)(struct kunit *test, struct keeper *k, int cpu))
{
	struct keeper k = { .has = COMPLETION_INITIALIZER_ONSTACK(k.has) };
	struct task_struct *t;

	t = kthread_create_on_cpu(keeper_thread, &k, cpu, "kdtl_keeper/%u");
	KUNIT_EXPECT_FALSE(test, IS_ERR(t));
	if (IS_ERR(t))
		return;
	get_task_struct(t);
	wake_up_process(t);
	wait_for_completion(&k.has);
	expect(test, &k, cpu);
	WRITE_ONCE(k.enough, true);
	kthread_stop(t);
	put_task_struct(t);
}

/* A wait is told of before the task has a CPU, and as the task's entry has it afterwards. */
static void kdtl_sched_waits_on(struct kunit *test)
{
	const int here = cpumask_first(cpu_online_mask);
	const int cpu = cpumask_next(here, cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	/*
	 * The test stays on another CPU: on its own, the keeper would keep it from ever ending
	 * this.
	 */
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(here)), 0);
	while_kept(test, cpu, expect_told);
	/* It is stopped now.  Then it is started again, but without that CPU. */
	while_kept(test, cpu, expect_untold);
	KUNIT_EXPECT_EQ(test, kdtl_unload(sessions[0]), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(sessions[0], cpumask_of(here)), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(sessions[0]), 0);
	while_kept(test, cpu, expect_untold);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, kdtl_waiting(sessions[0], NULL, NULL), -EINVAL);
}

/*
 * No tick may count on this CPU, so the thread ends by its own clock unless the test ends it
 * before.  It wakes up the other task itself: another CPU might have to ask this one to put that
 * task into its queue.
 */
static int deaf_thread(void *data)
{
	struct keeper *k = data;
	u64 end;

	k->pid = current->pid;
	local_irq_disable();
	wake_up_process(k->kept);
	end = local_clock() + DEAF_NS;
	complete(&k->has);
	while (!READ_ONCE(k->enough) && local_clock() < end)
		cpu_relax();
	WRITE_ONCE(k->enough, true);
	local_irq_enable();
	return 0;
}

/* The caller is on another CPU. */
static void expect_no_answer(struct kunit *test, struct keeper *k, struct completion *ran)
{
	struct told told = { .pid = k->kept->pid };
	int i, err;

	for (i = 0; i < 3; i++) {
		err = kdtl_waiting(sessions[0], told_of, &told);
		/* A host stopped this CPU for so long that the other one listens again. */
		if (READ_ONCE(k->enough))
			break;
		KUNIT_EXPECT_EQ(test, err, -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, told.nr, 0U);
	}
	WRITE_ONCE(k->enough, true);
	KUNIT_EXPECT_GT(test, wait_for_completion_timeout(ran, TEST_TIMEOUT), 0UL);
	KUNIT_EXPECT_EQ(test, told_now(&told), 0);
}

/* A CPU with interrupts off does not answer, and holds nobody up. */
static void kdtl_sched_waits_deaf(struct kunit *test)
{
	const int here = cpumask_first(cpu_online_mask);
	const int cpu = cpumask_next(here, cpu_online_mask);
	struct keeper k = { .has = COMPLETION_INITIALIZER_ONSTACK(k.has) };
	DECLARE_COMPLETION_ONSTACK(ran);
	struct task_struct *t;

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(here)), 0);
	k.kept = kthread_create_on_cpu(kept_thread, &ran, cpu, "kdtl_kept/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(k.kept));
	t = kthread_create_on_cpu(deaf_thread, &k, cpu, "kdtl_deaf/%u");
	KUNIT_EXPECT_FALSE(test, IS_ERR(t));
	if (!IS_ERR(t)) {
		get_task_struct(t);
		wake_up_process(t);
		wait_for_completion(&k.has);
		expect_no_answer(test, &k, &ran);
		WRITE_ONCE(k.enough, true);
		kthread_stop(t);
		put_task_struct(t);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
}

/* Never sleeps, so it waits only because it was preempted. */
static int rival_thread(void *runs)
{
	if (runs)
		complete(runs);
	while (!kthread_should_stop()) {
		udelay(20);
		cond_resched_tasks_rcu_qs();
	}
	return 0;
}

/* Nobody has woken a task that was preempted, so nothing is said of when it left to sleep. */
static void kdtl_sched_waits_preempted(struct kunit *test)
{
	const int here = cpumask_first(cpu_online_mask);
	const int cpu = cpumask_next(here, cpu_online_mask);
	DECLARE_COMPLETION_ONSTACK(runs);
	struct task_struct *t[2];
	struct told told = { };
	unsigned int nr;

	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	KUNIT_ASSERT_EQ(test, set_cpus_allowed_ptr(current, cpumask_of(here)), 0);
	for (nr = 0; nr < ARRAY_SIZE(t); nr++) {
		t[nr] = kthread_create_on_cpu(rival_thread, nr ? NULL : &runs, cpu,
					      "kdtl_rival/%u");
		if (IS_ERR(t[nr]))
			break;
		wake_up_process(t[nr]);
	}
	KUNIT_EXPECT_EQ(test, nr, 2U);
	if (nr == 2) {
		told.pid = t[0]->pid;
		KUNIT_EXPECT_GT(test, wait_for_completion_timeout(&runs, TEST_TIMEOUT), 0UL);
		KUNIT_EXPECT_TRUE(test, wait_told(&told, true, 0));
		KUNIT_EXPECT_EQ(test, told.is.left, U64_MAX);
	}
	while (nr)
		kthread_stop(t[--nr]);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
}

/* --------------------------------------------------- moved while it sleeps */

/**
 * struct sleeper - a task that computes for longer than its share, and then sleeps
 * @task: the task
 * @cpu: the CPU that it shares with @rival
 * @rival: a task that never sleeps
 * @rounds: how often it has woken up
 */
struct sleeper {
	struct task_struct	*task;
	struct task_struct	*rival;
	int			cpu;
	unsigned int		rounds;
};

#define SLEEPER_MS	300

static int sleeper_thread(void *data)
{
	struct sleeper *s = data;

	while (!kthread_should_stop()) {
		mdelay(10);
		set_current_state(TASK_IDLE);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
		WRITE_ONCE(s->rounds, s->rounds + 1);
	}
	return 0;
}

static bool sleeper_asleep(const struct sleeper *s)
{
	return READ_ONCE(s->task->__state) == TASK_IDLE && !READ_ONCE(s->task->on_cpu);
}

static bool sleeper_in_round(const struct sleeper *s, unsigned int round)
{
	return READ_ONCE(s->rounds) == round && sleeper_asleep(s);
}

static bool wait_for_sleeper(const struct sleeper *s, unsigned int round)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;

	while (!sleeper_in_round(s, round)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

/*
 * Bind the sleeping task to the CPU @to.  It is moved at once if the scheduler has kept it in its
 * queue, and otherwise when it wakes up.  Returns true if it was moved at once.
 */
static bool move_sleeper(struct sleeper *s, int to)
{
	const u64 moves = s->task->se.nr_migrations;

	return !set_cpus_allowed_ptr(s->task, cpumask_of(to)) && sleeper_asleep(s) &&
	       s->task->se.nr_migrations != moves;
}

/* Repeat until it was moved while it slept, or was not, where the scheduler cannot do that. */
static bool sleep_and_move(struct sleeper *s, int to)
{
	const bool can = KDTL_HAVE_DELAYED_DEQUEUE && to != s->cpu;
	const unsigned long end = jiffies + TEST_TIMEOUT;
	unsigned int round = READ_ONCE(s->rounds);

	while (wait_for_sleeper(s, round) && time_before(jiffies, end)) {
		if (move_sleeper(s, to) == can)
			return true;
		set_cpus_allowed_ptr(s->task, cpumask_of(s->cpu));
		wake_up_process(s->task);
		round++;
	}
	return false;
}

static struct task_struct *thread_on(int (*fn)(void *), void *data, int cpu)
{
	struct task_struct *t = kthread_create(fn, data, "kdtl_sleeper");

	if (!IS_ERR(t)) {
		/* Without this, new kernels let the thread run anywhere once it runs. */
		kthread_bind(t, cpu);
		wake_up_process(t);
	}
	return t;
}

static int start_sleeper(struct sleeper *s)
{
	s->cpu = cpumask_first(cpu_online_mask);
	s->rival = thread_on(rival_thread, NULL, s->cpu);
	if (IS_ERR(s->rival))
		return PTR_ERR(s->rival);
	s->task = thread_on(sleeper_thread, s, s->cpu);
	if (!IS_ERR(s->task))
		return 0;
	kthread_stop(s->rival);
	return PTR_ERR(s->task);
}

/* Its sleep must not count as a wait, whether or not the session saw it leave and move. */
static void expect_sleep_is_no_wait(struct kunit *test, bool session_first)
{
	const struct kdtl_entry *e;
	struct sleeper s = { };
	unsigned int round;
	u64 since, waited;
	pid_t pid;
	int to;

	KUNIT_ASSERT_EQ(test, start_sleeper(&s), 0);
	to = cpumask_next(s.cpu, cpu_online_mask);
	if (to >= nr_cpu_ids)
		to = s.cpu;
	pid = s.task->pid;
	if (session_first) {
		/* Its first sleep may have begun before the session did, so it sleeps once more. */
		KUNIT_EXPECT_TRUE(test, wait_for_sleeper(&s, 0));
		KUNIT_EXPECT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
		wake_up_process(s.task);
		KUNIT_EXPECT_TRUE(test, wait_for_sleeper(&s, 1));
	}
	KUNIT_EXPECT_TRUE(test, sleep_and_move(&s, to));
	if (!session_first)
		KUNIT_EXPECT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	pass_ms(SLEEPER_MS);
	round = s.rounds + 1;
	since = local_clock();
	wake_up_process(s.task);
	KUNIT_EXPECT_TRUE(test, wait_for_sleeper(&s, round));
	kthread_stop(s.rival);
	kthread_stop(s.task);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);

	/* The clocks of two CPUs may differ by a tick or two. */
	since -= SLEEPER_MS / 2 * NSEC_PER_MSEC;
	e = first_of(pid, since);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	waited = kdtl_entry_wait(e);
	KUNIT_EXPECT_LE(test, waited, kdtl_entry_time(e) - since);
	if (session_first)
		KUNIT_EXPECT_GE(test, waited + kdtl_entry_slept(e),
				SLEEPER_MS * NSEC_PER_MSEC / 2);
}

static void kdtl_sched_moved_asleep(struct kunit *test)
{
	expect_sleep_is_no_wait(test, true);
}

static void kdtl_sched_moved_before(struct kunit *test)
{
	expect_sleep_is_no_wait(test, false);
}

/* ------------------------------------------------ runs that nobody looked at */

/**
 * struct stepper - a task that runs for a moment each time that it is woken
 * @task: the task
 * @steps: how often it has gone to sleep
 */
struct stepper {
	struct task_struct	*task;
	unsigned int		steps;
};

#define STEP_MS		200

static int stepper_thread(void *data)
{
	struct stepper *s = data;

	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		WRITE_ONCE(s->steps, s->steps + 1);
		if (!kthread_should_stop())
			schedule();
		__set_current_state(TASK_RUNNING);
	}
	return 0;
}

static bool stepper_waits(const struct stepper *s, unsigned int steps)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;

	while (READ_ONCE(s->steps) != steps || !left_asleep(s->task, TASK_IDLE)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

static void expect_step(struct kunit *test, struct stepper *s)
{
	const unsigned int steps = READ_ONCE(s->steps);

	wake_up_process(s->task);
	KUNIT_EXPECT_TRUE(test, stepper_waits(s, steps + 1));
}

/* Make a step; it begins at @woken or a little later.  Returns its entry. */
static const struct kdtl_entry *stepper_entry(struct kunit *test, struct stepper *s, u64 *woken)
{
	pass_ms(STEP_MS);
	*woken = local_clock();
	expect_step(test, s);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);
	return first_of(s->task->pid, *woken - STEP_MS / 2 * NSEC_PER_MSEC);
}

/*
 * The stepper makes a step and sleeps for STEP_MS.  Then, if @unseen, it makes a step that the
 * session does not see, and sleeps for STEP_MS again.  All of that may take longer on a busy host.
 */
static void expect_stepper(struct kunit *test, bool unseen, bool elsewhere)
{
	const int home = cpumask_first(cpu_online_mask);
	const int away = elsewhere ? cpumask_next(home, cpu_online_mask) : home;
	const u64 slack = STEP_MS / 2 * NSEC_PER_MSEC;	/* clocks may differ */
	const struct kdtl_entry *e;
	struct stepper s = { };
	u64 asleep, last, woken;

	if (away >= nr_cpu_ids)
		return;
	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	if (elsewhere) {
		KUNIT_ASSERT_EQ(test, kdtl_unload(sessions[0]), 0);
		KUNIT_ASSERT_EQ(test, kdtl_load(sessions[0], cpumask_of(home)), 0);
		KUNIT_ASSERT_EQ(test, kdtl_start(sessions[0]), 0);
	}
	s.task = thread_on(stepper_thread, &s, home);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s.task));
	KUNIT_EXPECT_TRUE(test, stepper_waits(&s, 1));
	expect_step(test, &s);
	asleep = local_clock();
	if (!elsewhere)
		KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	pass_ms(STEP_MS);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(s.task, cpumask_of(away)), 0);
	last = local_clock();
	if (unseen)
		expect_step(test, &s);
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(s.task, cpumask_of(home)), 0);
	if (!elsewhere)
		KUNIT_EXPECT_EQ(test, kdtl_start(sessions[0]), 0);
	e = stepper_entry(test, &s, &woken);
	kthread_stop(s.task);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	if (unseen)
		KUNIT_EXPECT_LT(test, kdtl_entry_slept(e), kdtl_entry_time(e) - last + slack);
	else
		KUNIT_EXPECT_GT(test, kdtl_entry_slept(e) + slack,
				min_t(u64, woken - asleep, U32_MAX));
}

/* The time that a task ran while the session was stopped must not count as sleep. */
static void kdtl_sched_ran_stopped(struct kunit *test)
{
	expect_stepper(test, true, false);
}

static void kdtl_sched_slept_stopped(struct kunit *test)
{
	expect_stepper(test, false, false);
}

/* Nor must the time that it ran on a CPU where the session is not loaded. */
static void kdtl_sched_ran_elsewhere(struct kunit *test)
{
	expect_stepper(test, true, true);
}

#define LONG_MS		(U32_MAX / (u32)NSEC_PER_MSEC + 100)

/*
 * For a sleep that is too long for an entry, the entry has the maximum, and the counter all of it.
 * The sleep has begun when the test begins to count: a timer that the task starts before would end
 * the sleep too early, if a host stops the CPU in between.
 */
static void kdtl_sched_slept_long(struct kunit *test)
{
	const int home = cpumask_first(cpu_online_mask);
	struct kdtl_counter_req slept = { .counter = KDTL_CTR_SLEPT, .cpu = home };
	const struct seen *seen = seen_of(0, home);
	struct stepper s = { };
	unsigned int i, nr = 0;
	pid_t pid;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, KDTL_MASK_CEDE), 0);
	s.task = thread_on(stepper_thread, &s, home);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s.task));
	pid = s.task->pid;
	KUNIT_EXPECT_TRUE(test, stepper_waits(&s, 1));
	pass_ms(LONG_MS);
	expect_step(test, &s);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	kthread_stop(s.task);
	capture_read(0);
	for (i = 0; i < seen->nr; i++)
		nr += kdtl_entry_pid(&seen->entries[i]) == pid &&
		      kdtl_entry_slept(&seen->entries[i]) == U32_MAX;
	KUNIT_EXPECT_EQ(test, nr, 1U);
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(sessions[0], &slept, 1), 0);
	KUNIT_EXPECT_GT(test, slept.value, (u64)U32_MAX);
}

/* This task is preempted on its way to sleep, over and over. */
static int dozer_thread(void *data)
{
	struct stepper *peer = data;

	while (!kthread_should_stop()) {
		set_current_state(TASK_IDLE);
		/*
		 * The peer is a real-time task: it takes the CPU here, or in the next line at the
		 * latest.
		 */
		wake_up_process(peer->task);
		cond_resched();
		schedule_timeout(msecs_to_jiffies(STEP_MS));
	}
	return 0;
}

static bool wait_for_steps(const struct stepper *s, unsigned int steps)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;

	while (READ_ONCE(s->steps) < steps && time_before(jiffies, end))
		msleep(20);
	return READ_ONCE(s->steps) >= steps;
}

/* Returns how many of a dozer's waits are as long as a sleep. */
static unsigned int dozer_sleeps(struct kunit *test)
{
	const int home = cpumask_first(cpu_online_mask);
	const struct seen *seen = seen_of(0, home);
	struct stepper peer = { };
	struct task_struct *dozer;
	unsigned int i, nr = 0, sleeps = 0;
	pid_t pid = 0;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, KDTL_MASK_PREEMPT), 0);
	peer.task = thread_on(stepper_thread, &peer, home);
	KUNIT_ASSERT_FALSE(test, IS_ERR(peer.task));
	sched_set_fifo(peer.task);
	dozer = thread_on(dozer_thread, &peer, home);
	if (!IS_ERR(dozer)) {
		pid = dozer->pid;
		/* The peer goes to sleep once before the dozer first wakes it up. */
		KUNIT_EXPECT_TRUE(test, wait_for_steps(&peer, 6));
		KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
		kthread_stop(dozer);
	}
	kthread_stop(peer.task);
	KUNIT_ASSERT_GT(test, pid, 0);
	capture_read(0);
	for (i = 0; i < seen->nr; i++) {
		if (kdtl_entry_pid(&seen->entries[i]) != pid)
			continue;
		sleeps += kdtl_entry_wait(&seen->entries[i]) >= STEP_MS / 2 * NSEC_PER_MSEC;
		nr++;
	}
	KUNIT_EXPECT_GT(test, nr, 2U);
	capture_close(0);
	return sleeps;
}

/*
 * The scheduler counts no run between the two waits of such a task, of which the second was a
 * sleep.  An emulated CPU may stand still for as long as that once, and rarely more often.
 */
static void kdtl_sched_preempted_asleep(struct kunit *test)
{
	unsigned int tries = 5;

	while (dozer_sleeps(test) > 1 && --tries)
		;
	KUNIT_EXPECT_GT(test, tries, 0U);
}

/* ------------------------------------------------------ blocked by a mutex */

/**
 * struct hold - one task holds a mutex, another one waits for it
 * @mutex: the mutex
 * @owner: a task that holds @mutex, and computes meanwhile, or sleeps
 * @waiter: a task on the CPU @home
 * @home: the waiter's CPU
 * @away: another CPU, if there is one
 * @held: completed when the owner has @mutex
 * @sleep: tells the owner to sleep
 * @wake: completed to end its sleep
 * @unlock: tells the owner to unlock @mutex
 * @unlocking: when it did
 */
struct hold {
	struct mutex		mutex;
	struct task_struct	*owner;
	struct task_struct	*waiter;
	int			home;
	int			away;
	struct completion	held;
	bool			sleep;
	struct completion	wake;
	bool			unlock;
	u64			unlocking;
};

#define HOLD_MS		200

/*
 * After the owner has unlocked the mutex, it keeps its CPU for a while, and nothing can preempt it.
 */
static int owner_thread(void *data)
{
	struct hold *h = data;

	mutex_lock(&h->mutex);
	complete(&h->held);
	while (!READ_ONCE(h->unlock)) {
		if (READ_ONCE(h->sleep))
			wait_for_completion(&h->wake);
		udelay(20);
		cond_resched_tasks_rcu_qs();
	}
	sched_set_fifo(current);
	h->unlocking = local_clock();
	mutex_unlock(&h->mutex);
	mdelay(HOLD_MS);
	sched_set_normal(current, 0);
	return sleep_thread(NULL);
}

static int waiter_thread(void *data)
{
	struct hold *h = data;

	mutex_lock(&h->mutex);
	mutex_unlock(&h->mutex);
	return sleep_thread(NULL);
}

/* The waiter is not queued any more or, with proxy execution, is in the queue of @cpu. */
static bool waiter_blocked(const struct hold *h, int cpu)
{
	const struct task_struct *t = h->waiter;

	return READ_ONCE(t->__state) == TASK_UNINTERRUPTIBLE && !READ_ONCE(t->on_cpu) &&
	       (!READ_ONCE(t->on_rq) || kdtl_task_dequeue_delayed(t) || task_cpu(t) == cpu);
}

static bool wait_for_waiter(const struct hold *h, int cpu)
{
	const unsigned long end = jiffies + TEST_TIMEOUT;

	while (!waiter_blocked(h, cpu)) {
		if (time_after(jiffies, end))
			return false;
		usleep_range(100, 200);
	}
	return true;
}

static int start_hold(struct hold *h, int cpu)
{
	mutex_init(&h->mutex);
	init_completion(&h->held);
	init_completion(&h->wake);
	h->home = cpumask_first(cpu_online_mask);
	h->away = cpumask_next(h->home, cpu_online_mask);
	if (h->away >= nr_cpu_ids)
		h->away = h->home;
	h->owner = thread_on(owner_thread, h, cpu ? h->away : h->home);
	if (IS_ERR(h->owner))
		return PTR_ERR(h->owner);
	wait_for_completion(&h->held);
	h->waiter = thread_on(waiter_thread, h, h->home);
	if (!IS_ERR(h->waiter))
		return 0;
	WRITE_ONCE(h->unlock, true);
	kthread_stop(h->owner);
	return PTR_ERR(h->waiter);
}

/* Where the owner is, and what it does, while the waiter waits for the mutex. */
enum hold_how {
	HOLD_HERE,		/* it runs on the waiter's CPU */
	HOLD_THERE,		/* it runs on another CPU */
	HOLD_THERE_AND_BACK,	/* on the other one first, then on the waiter's */
	HOLD_ASLEEP,		/* on the other one, and goes to sleep */
};

static void hold(struct kunit *test, struct hold *h, enum hold_how how)
{
	KUNIT_EXPECT_TRUE(test, wait_for_waiter(h, how == HOLD_HERE ? h->home : h->away));
	if (how == HOLD_THERE_AND_BACK) {
		KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(h->owner, cpumask_of(h->home)), 0);
		KUNIT_EXPECT_TRUE(test, wait_for_waiter(h, h->home));
	}
	if (how == HOLD_ASLEEP)
		WRITE_ONCE(h->sleep, true);
	pass_ms(HOLD_MS);
}

/* The time until the mutex is unlocked is sleep; from then on the waiter waits for its CPU. */
static void expect_block_is_no_wait(struct kunit *test, enum hold_how how,
				    bool session_first)
{
	const bool ends_here = how == HOLD_HERE || how == HOLD_THERE_AND_BACK;
	const struct kdtl_entry *e;
	struct hold h = { };
	pid_t pid;
	u64 since;

	if (session_first)
		KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	KUNIT_ASSERT_EQ(test, start_hold(&h, how != HOLD_HERE), 0);
	pid = h.waiter->pid;
	hold(test, &h, how);
	if (!session_first) {
		KUNIT_EXPECT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
		pass_ms(HOLD_MS);
	}
	WRITE_ONCE(h.unlock, true);
	WRITE_ONCE(h.sleep, false);
	complete(&h.wake);
	kthread_stop(h.owner);
	kthread_stop(h.waiter);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);

	/* The clocks of two CPUs may differ by a tick or two. */
	since = h.unlocking;
	if (!ends_here)
		since -= HOLD_MS / 2 * NSEC_PER_MSEC;
	e = first_of(pid, since);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, e);
	kunit_info(test, "queued %u, ready %u, slept %u; unlocked %llu before",
		   kdtl_entry_queued(e), kdtl_entry_ready(e), kdtl_entry_slept(e),
		   kdtl_entry_time(e) - h.unlocking);
	KUNIT_EXPECT_LE(test, kdtl_entry_wait(e), kdtl_entry_time(e) - since);
	if (ends_here)
		KUNIT_EXPECT_GE(test, kdtl_entry_wait(e), HOLD_MS / 2 * NSEC_PER_MSEC);
	/* Without a record of when the task left, its sleep is not known. */
	if (session_first || kdtl_entry_slept(e))
		KUNIT_EXPECT_GE(test, kdtl_entry_slept(e), HOLD_MS / 2 * NSEC_PER_MSEC);
}

static void kdtl_sched_mutex_here(struct kunit *test)
{
	expect_block_is_no_wait(test, HOLD_HERE, true);
}

static void kdtl_sched_mutex_there(struct kunit *test)
{
	expect_block_is_no_wait(test, HOLD_THERE, true);
}

static void kdtl_sched_mutex_back(struct kunit *test)
{
	expect_block_is_no_wait(test, HOLD_THERE_AND_BACK, true);
}

static void kdtl_sched_mutex_asleep(struct kunit *test)
{
	expect_block_is_no_wait(test, HOLD_ASLEEP, true);
}

static void kdtl_sched_mutex_before(struct kunit *test)
{
	expect_block_is_no_wait(test, HOLD_THERE_AND_BACK, false);
}

/* ---------------------------------------------------- against other clocks */

/* The first entry on @cpu for the task @pid after @after; NULL if it is after @until. */
static const struct kdtl_entry *entry_between(int cpu, pid_t pid, u64 after, u64 until)
{
	const struct seen *seen = seen_of(0, cpu);
	const struct kdtl_entry *e;

	for (e = seen->entries; e < seen->entries + seen->nr; e++) {
		if (kdtl_entry_pid(e) == pid && kdtl_entry_time(e) > after)
			return kdtl_entry_time(e) <= until ? e : NULL;
	}
	return NULL;
}

/*
 * The next entry of the CPU says when a task left.  The times in the task's own next entry must add
 * up to the time since then.
 */
static void kdtl_sched_times_add_up(struct kunit *test)
{
	unsigned int i, k, checked[2] = { }, bad = 0;
	const struct kdtl_entry *left, *back;
	const struct seen *seen;
	u64 sum, since;
	int cpu;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	KUNIT_EXPECT_TRUE(test, wait_for_preempted(0, 1000, true));
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);

	for_each_online_cpu(cpu) {
		seen = seen_of(0, cpu);
		for (i = 1; i < seen->nr; i++) {
			left = &seen->entries[i];
			for (k = 0; k < 3; k++) {
				if (kdtl_entry_prev_pid(left) == tasks[3 * cpu + k]->pid)
					break;
			}
			if (k == 3)
				continue;
			/* Look at the order only, because an unstable clock may stand still. */
			for (back = left + 1; back < seen->entries + seen->nr; back++) {
				if (kdtl_entry_pid(back) == tasks[3 * cpu + k]->pid)
					break;
			}
			if (back == seen->entries + seen->nr)
				continue;
			sum = kdtl_entry_wait(back) + kdtl_entry_slept(back);
			since = kdtl_entry_time(back) - kdtl_entry_time(left);
			checked[kdtl_entry_dispatch_reason(back) == KDTL_DISPATCH_TIME_SLICE]++;
			if (sum == since)
				continue;
			if (!bad++)
				kunit_info(test, "left %llu ago; queued %u, ready %u, slept %u",
					   since, kdtl_entry_queued(back),
					   kdtl_entry_ready(back), kdtl_entry_slept(back));
		}
	}
	KUNIT_EXPECT_EQ(test, bad, 0U);
	KUNIT_EXPECT_GT(test, checked[0], 0U);
	KUNIT_EXPECT_GT(test, checked[1], 0U);
	kunit_info(test, "%u after sleep, %u after preemption", checked[0], checked[1]);
}

#define DOZES	200

/**
 * struct doze - a task and the timer that wakes it up, on one CPU
 * @timer: the timer
 * @task: the task
 * @cpu: the CPU
 * @done: completed when the task has finished
 * @round: the number of the present round
 * @rounds: for each round: when, by local_clock(), the timer began to wake up the task, and
 *	when it had done so; when the task ran again; by how much its sched_info grew; and
 *	how often it left the CPU by itself, and was preempted
 */
struct doze {
	struct hrtimer		timer;
	struct task_struct	*task;
	int			cpu;
	struct completion	done;
	unsigned int		round;
	struct {
		u64		waking;
		u64		woken;
		u64		ran;
		u64		run_delay;
		unsigned long	pcount;
		unsigned long	nvcsw;
		unsigned long	nivcsw;
	} rounds[DOZES];
};

static enum hrtimer_restart doze_ends(struct hrtimer *timer)
{
	struct doze *a = container_of(timer, struct doze, timer);

	a->rounds[a->round].waking = local_clock();
	wake_up_process(a->task);
	a->rounds[a->round].woken = local_clock();
	return HRTIMER_NORESTART;
}

/* Did the task sleep once, before its timer went off, and was it never preempted? */
static bool doze_counts(const struct doze *a, unsigned int round)
{
	return a->rounds[round].pcount == 1 && a->rounds[round].nvcsw == 1 &&
	       !a->rounds[round].nivcsw;
}

/*
 * A round that does not count is repeated, unless that takes too long; the new one overwrites it.
 */
static int doze_thread(void *data)
{
	const struct sched_info *info = &current->sched_info;
	const unsigned long end = jiffies + TEST_TIMEOUT / 3;
	struct doze *a = data;

	for (a->round = 0; a->round < DOZES; a->round++) {
		a->rounds[a->round].pcount = info->pcount;
		a->rounds[a->round].run_delay = info->run_delay;
		a->rounds[a->round].nvcsw = current->nvcsw;
		a->rounds[a->round].nivcsw = current->nivcsw;
		set_current_state(TASK_IDLE);
		hrtimer_start(&a->timer, ns_to_ktime(NSEC_PER_MSEC), HRTIMER_MODE_REL_PINNED_HARD);
		while (!READ_ONCE(a->rounds[a->round].woken)) {
			schedule();
			set_current_state(TASK_IDLE);
		}
		__set_current_state(TASK_RUNNING);
		a->rounds[a->round].ran = local_clock();
		a->rounds[a->round].pcount = info->pcount - a->rounds[a->round].pcount;
		a->rounds[a->round].run_delay = info->run_delay - a->rounds[a->round].run_delay;
		a->rounds[a->round].nvcsw = current->nvcsw - a->rounds[a->round].nvcsw;
		a->rounds[a->round].nivcsw = current->nivcsw - a->rounds[a->round].nivcsw;
		if (!doze_counts(a, a->round) && time_before(jiffies, end)) {
			a->rounds[a->round].woken = 0;
			a->round--;
		}
	}
	complete(&a->done);
	return sleep_thread(NULL);
}

/**
 * struct busy - a task that never sleeps
 * @done: completed when it has finished
 * @from: when it began, by local_clock()
 * @until: when it ended
 * @pcount: by how much pcount in its sched_info grew meanwhile
 * @run_delay: by how much run_delay grew
 */
struct busy {
	struct completion	done;
	u64			from;
	u64			until;
	unsigned long		pcount;
	u64			run_delay;
};

#define BUSY_MS		400

static int busy_thread(void *data)
{
	const struct sched_info *info = &current->sched_info;
	struct busy *b = data;

	preempt_disable();
	b->from = local_clock();
	b->pcount = info->pcount;
	b->run_delay = info->run_delay;
	preempt_enable();
	while (local_clock() - b->from < BUSY_MS * NSEC_PER_MSEC)
		cond_resched();
	preempt_disable();
	b->until = local_clock();
	b->pcount = info->pcount - b->pcount;
	b->run_delay = info->run_delay - b->run_delay;
	preempt_enable();
	complete(&b->done);
	return sleep_thread(NULL);
}

/*
 * By how much an entry's time may differ from local_clock().  kdtl_sched converts cycles itself,
 * from two readings between which 1.5 us may have passed, and do pass on an emulated CPU.
 */
#define CLOCK_ERROR	1510

/*
 * A wait begins while the timer wakes up the task, and ends before the task runs.  In
 * /proc/PID/schedstat it ends when __schedule() reads the clock, or as early as the wake-up, if the
 * clock is not read after that.
 */
static void expect_dozes(struct kunit *test, const struct doze *a, const char *what)
{
	u64 wait, waited = 0, run_delay = 0, least = 0, most = 0;
	unsigned int i, nr = 0, missing = 0, wrong = 0;
	const struct kdtl_entry *e;

	for (i = 0; i < DOZES; i++) {
		if (!doze_counts(a, i))
			continue;
		e = entry_between(a->cpu, a->task->pid, a->rounds[i].woken - 1,
				  a->rounds[i].ran + CLOCK_ERROR);
		if (!e) {
			missing++;
			continue;
		}
		wait = kdtl_entry_wait(e);
		wrong += wait + CLOCK_ERROR < kdtl_entry_time(e) - a->rounds[i].woken ||
			 wait > a->rounds[i].ran - a->rounds[i].waking + CLOCK_ERROR ||
			 wait + CLOCK_ERROR < a->rounds[i].run_delay;
		waited += wait;
		run_delay += a->rounds[i].run_delay;
		least += a->rounds[i].ran - a->rounds[i].woken;
		most += a->rounds[i].ran - a->rounds[i].waking;
		nr++;
	}
	kunit_info(test, "%s: %u dispatches, waited %llu, run_delay %llu, ran %llu to %llu after",
		   what, nr, waited, run_delay, least, most);
	KUNIT_EXPECT_EQ(test, missing, 0U);
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	KUNIT_EXPECT_GT(test, nr, DOZES / 2U);
}

/*
 * Returns how many entries of the task have a time after @after, up to @until.  @waited is the sum
 * of their waits.
 */
static unsigned long entries_between(int cpu, pid_t pid, u64 after, u64 until, u64 *waited)
{
	const struct seen *seen = seen_of(0, cpu);
	const struct kdtl_entry *e;
	unsigned long nr = 0;

	*waited = 0;
	for (e = seen->entries; e < seen->entries + seen->nr; e++) {
		if (kdtl_entry_pid(e) != pid || kdtl_entry_time(e) <= after ||
		    kdtl_entry_time(e) > until)
			continue;
		*waited += kdtl_entry_wait(e);
		nr++;
	}
	return nr;
}

/*
 * The time of a dispatch just before the task began or ended may be on the other side of that
 * moment.
 */
static void expect_busy(struct kunit *test, const struct busy *b, int cpu, pid_t pid)
{
	unsigned long least, most;
	u64 waited;

	least = entries_between(cpu, pid, b->from + CLOCK_ERROR, b->until - CLOCK_ERROR, &waited);
	most = entries_between(cpu, pid, b->from - CLOCK_ERROR, b->until + CLOCK_ERROR, &waited);
	kunit_info(test, "busy: %lu dispatches, waited %llu, run_delay %llu", most, waited,
		   b->run_delay);
	KUNIT_EXPECT_LE(test, least, b->pcount);
	KUNIT_EXPECT_GE(test, most, b->pcount);
	/* The two ends of the span, and the first dispatch. */
	KUNIT_EXPECT_LE(test, most - least, 3UL);
}

static void kdtl_sched_schedstat(struct kunit *test)
{
	static struct doze dozes[2];
	static struct busy busy[2];
	struct task_struct *t[2];
	struct doze *a;
	int i, cpu = 0;

	KUNIT_ASSERT_EQ(test, capture_start(0, PAGES_FOR_ALL, 0), 0);
	memset(dozes, 0, sizeof(dozes));
	for (i = 0; i < 2; i++)
		init_completion(&busy[i].done);
	/* The second doze shares its CPU with two tasks that compute. */
	for (a = dozes; a < dozes + 2; a++) {
		init_completion(&a->done);
		a->cpu = cpu;
		hrtimer_setup(&a->timer, doze_ends, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
		for (i = 0; i < 2 && a != dozes; i++)
			t[i] = thread_on(busy_thread, &busy[i], cpu);
		a->task = kthread_create(doze_thread, a, "kdtl_doze");
		kthread_bind(a->task, cpu);
		wake_up_process(a->task);
		wait_for_completion(&a->done);
	}
	for (i = 0; i < 2; i++)
		wait_for_completion(&busy[i].done);
	KUNIT_EXPECT_EQ(test, capture_stop(0), 0);
	capture_read(0);
	expect_dozes(test, &dozes[0], "woken, idle");
	expect_dozes(test, &dozes[1], "woken, busy");
	for (i = 0; i < 2; i++)
		expect_busy(test, &busy[i], cpu, t[i]->pid);
	for (i = 0; i < 2; i++) {
		kthread_stop(dozes[i].task);
		kthread_stop(t[i]);
	}
}

/* ------------------------------------------------------------------------ */

static int sched_case_init(struct kunit *test)
{
	int cpu, i;

	for_each_possible_cpu(cpu) {
		for (i = 0; i < NR_CAPTURES; i++)
			seen_of(i, cpu)->nr = 0;
	}
	return start_load();
}

static void sched_case_exit(struct kunit *test)
{
	int cpu, i;

	stop_load();
	for (i = 0; i < NR_CAPTURES; i++) {
		if (sessions[i])
			kdtl_session_close(sessions[i]);
		sessions[i] = NULL;
	}
	/*
	 * With the sessions closed, kdtl_sched's probe is off the tracepoint; the next one will be
	 * registered behind the test's.
	 */
	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu(witnesses, cpu).nr, 0);
}

static void sched_suite_exit(struct kunit_suite *suite)
{
	int cpu, i;

	if (switch_tp)
		tracepoint_probe_unregister(switch_tp, witness_switch, NULL);
	tracepoint_synchronize_unregister();
	for_each_possible_cpu(cpu) {
		vfree(per_cpu(witnesses, cpu).notes);
		for (i = 0; i < NR_CAPTURES; i++)
			vfree(seen_of(i, cpu)->entries);
	}
	vfree(msgs);
	kfree(tasks);
}

static void find_switch(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "sched_switch"))
		switch_tp = tp;
}

static int sched_suite_init(struct kunit_suite *suite)
{
	struct seen *seen;
	int cpu, i, err;

	tasks = kcalloc(3 * nr_cpu_ids, sizeof(*tasks), GFP_KERNEL);
	msgs = vmalloc(array_size(NR_MSGS, sizeof(*msgs)));
	if (!tasks || !msgs)
		goto nomem;
	for_each_possible_cpu(cpu) {
		struct witness *w = &per_cpu(witnesses, cpu);

		w->notes = vmalloc(array_size(WITNESS_NOTES, sizeof(*w->notes)));
		if (!w->notes)
			goto nomem;
		for (i = 0; i < NR_CAPTURES; i++) {
			seen = seen_of(i, cpu);
			seen->entries = vmalloc(array_size(WITNESS_NOTES,
							   sizeof(*seen->entries)));
			if (!seen->entries)
				goto nomem;
		}
	}
	for_each_kernel_tracepoint(find_switch, NULL);
	err = switch_tp ? tracepoint_probe_register(switch_tp, witness_switch, NULL) :
			  -ENODEV;
	if (!err)
		return 0;
	switch_tp = NULL;
	sched_suite_exit(suite);
	return err;

nomem:
	sched_suite_exit(suite);
	return -ENOMEM;
}

static struct kunit_case sched_cases[] = {
	KUNIT_CASE(kdtl_sched_every_dispatch),
	KUNIT_CASE(kdtl_sched_exact_loss),
	KUNIT_CASE(kdtl_sched_sessions_share),
	KUNIT_CASE(kdtl_sched_idle_time),
	KUNIT_CASE(kdtl_sched_idle_seldom),
	KUNIT_CASE(kdtl_sched_pid_again),
	KUNIT_CASE(kdtl_sched_left),
	KUNIT_CASE(kdtl_sched_waits_on),
	KUNIT_CASE(kdtl_sched_waits_deaf),
	KUNIT_CASE(kdtl_sched_waits_preempted),
	KUNIT_CASE(kdtl_sched_times_add_up),
	KUNIT_CASE(kdtl_sched_schedstat),
	KUNIT_CASE(kdtl_sched_ran_stopped),
	KUNIT_CASE(kdtl_sched_slept_stopped),
	KUNIT_CASE(kdtl_sched_slept_long),
	KUNIT_CASE(kdtl_sched_ran_elsewhere),
	KUNIT_CASE(kdtl_sched_preempted_asleep),
	KUNIT_CASE(kdtl_sched_moved_asleep),
	KUNIT_CASE(kdtl_sched_moved_before),
	KUNIT_CASE(kdtl_sched_mutex_here),
	KUNIT_CASE(kdtl_sched_mutex_there),
	KUNIT_CASE(kdtl_sched_mutex_back),
	KUNIT_CASE(kdtl_sched_mutex_asleep),
	KUNIT_CASE(kdtl_sched_mutex_before),
	{ }
};

static struct kunit_suite kdtl_sched_suite = {
	.name		= "kdtl_sched",
	.suite_init	= sched_suite_init,
	.suite_exit	= sched_suite_exit,
	.init		= sched_case_init,
	.exit		= sched_case_exit,
	.test_cases	= sched_cases,
};

kunit_test_suites(&kdtl_sched_suite);

MODULE_DESCRIPTION("Tests of kdtl_sched");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
