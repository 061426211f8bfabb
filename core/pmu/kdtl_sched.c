// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_sched - the scheduler as a source of dispatch trace log entries
 *
 * One entry for each time a task (the idle task is none) is given a CPU, from
 * the sched_switch tracepoint alone.  What the entry says beyond that comes
 * from two places:
 *
 * - task_struct::sched_info, which the scheduler keeps anyway: since when the
 *   task has been in this CPU's queue, and how long it waited in others.
 * - A small table of when and why a task last left a CPU.  It is a cache: one
 *   slot per hash of the pid, the last one wins.  A task whose record was
 *   pushed out looks like one that has never run: how long it slept is 0.
 *   One that has really never run has none: a record of its pid is of a task
 *   that had the pid before.
 *
 * Where a task may be left in its queue when it goes to sleep, and be moved to
 * another (sched_migrate_task), the scheduler takes it for queued from then on.
 * Its record is marked, and says that the time in the queue is not known.
 *
 * Documentation/pmu-sched.rst says what stands in each field.
 */
#define pr_fmt(fmt) "kdtl_sched: " fmt

#include <linux/kdtl_pmu.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>

#include "../compat.h"
#include "../fanout.h"
#include "sched-clock.h"

/**
 * struct kdtl_departure - when and why a task left its CPU
 * @when: time << 2 | enum kdtl_kind
 * @check: @when ^ kdtl_waited_id()
 *
 * A task's own record is ordered by the scheduler, which hands the task from
 * CPU to CPU.  Another task of the same slot may write at the same time: then
 * the two words do not fit each other, the pid comes out wrong, and the record
 * is as good as pushed out.  An empty slot has pid 0, which is nobody's.  On a CPU
 * of 32 bits, which would tear the words, there are no more pids than slots.
 *
 * The mark of a task that was moved asleep is the complement of @check.  That
 * fits nobody: all pids of a slot have the same lower half.
 */
struct kdtl_departure {
	u64	when;
	u64	check;
};

/* srr0 and srr1 hold the name; kdtl_fill() counts on where they are. */
static_assert(TASK_COMM_LEN == 2 * sizeof(__be64));
static_assert(offsetof(struct kdtl_entry, srr0) == 4 * sizeof(__be64));

/* Where times of writers that meet differ, the pid is: in the low bits. */
#define KDTL_PID_BITS		22
#define KDTL_PID_MASK		(BIT(KDTL_PID_BITS) - 1)
static_assert(PID_MAX_LIMIT <= 1 << KDTL_PID_BITS);

/* By the pid's lower half, 1 MiB in all. */
#define KDTL_SLOTS		(U16_MAX + 1UL)
static_assert(IS_ENABLED(CONFIG_64BIT) || PID_MAX_LIMIT <= KDTL_SLOTS);

static struct kdtl_departure *departures __read_mostly;
static struct tracepoint *sched_switch_tp, *sched_migrate_tp;
static struct kdtl_pmu kdtl_sched_pmu;

static __always_inline struct kdtl_departure *kdtl_slot(unsigned long pid)
{
	return &departures[(u16)pid];
}

/* Who, and how long it has waited in its life, modulo 2^42 ns (73 minutes). */
static __always_inline u64 kdtl_waited_id(const struct task_struct *t, unsigned long pid)
{
	return ((u64)t->sched_info.run_delay << KDTL_PID_BITS) + pid;
}

static __always_inline void kdtl_depart(const struct task_struct *t, unsigned long pid,
					u64 now, unsigned long why)
{
	struct kdtl_departure *slot = kdtl_slot(pid);
	const u64 when = now << 2 | why;

	WRITE_ONCE(slot->when, when);
	WRITE_ONCE(slot->check, when ^ kdtl_waited_id(t, pid));
}

/*
 * Is a record with @id = when ^ check the one of @pid, marked?  The empty slot of
 * the largest pid there can be is none.
 */
static bool kdtl_is_marked(u64 when, u64 id, unsigned long pid)
{
	return when && !((~id ^ pid) & KDTL_PID_MASK);
}

/* 32 bits of nanoseconds are 4.29 s: longer ones say so, by their largest. */
static u32 kdtl_saturate(s64 ns)
{
	return clamp_t(s64, ns, 0, U32_MAX);
}

/*
 * On its way off: did it sleep, and where?  A task that is to sleep but has a
 * signal pending stays runnable, and its state says so here.
 */
static __always_inline unsigned long kdtl_why(bool preempt,
					      const struct task_struct *prev)
{
	if (preempt || READ_ONCE(prev->__state) == TASK_RUNNING)
		return KDTL_KIND_PREEMPT;
	return kdtl_task_in_user_fault(prev) ? KDTL_KIND_FAULT : KDTL_KIND_CEDE;
}

/* By kind, where they stand in the entry's first half word. */
static const u32 kdtl_dispatch_codes[] = {
	[KDTL_KIND_CEDE]	= KDTL_DISPATCH_PROD << 24,
	[KDTL_KIND_PREEMPT]	= KDTL_DISPATCH_TIME_SLICE << 24,
	[KDTL_KIND_FAULT]	= KDTL_DISPATCH_PAGE_FAULT << 24,
};

static const u32 kdtl_preempt_codes[] = {
	[KDTL_KIND_CEDE]	= KDTL_PREEMPT_CEDE << 16,
	[KDTL_KIND_PREEMPT]	= KDTL_PREEMPT_TIME_SLICE << 16,
	[KDTL_KIND_FAULT]	= KDTL_PREEMPT_PAGE_FAULT << 16,
};

/* The CPU's number has half a word in the entry. */
static_assert(CONFIG_NR_CPUS <= 1 << 16);

/* Six stores: an entry is made in place, not copied. */
static __always_inline void kdtl_fill(void *to, const struct task_struct *next,
				      __be64 w0, __be64 w1, __be64 w2, __be64 w3)
{
	__be64 *e = to;

	e[0] = w0;
	e[1] = w1;
	e[2] = w2;
	e[3] = w3;
	memcpy(&e[4], next->comm, TASK_COMM_LEN);
}

/* One that does not just take the entry, and those after it. */
static noinline void kdtl_sched_slow(struct kdtl_sink *sink, unsigned long kind,
				     const struct task_struct *next,
				     __be64 w0, __be64 w1, __be64 w2, __be64 w3)
{
	struct kdtl_entry e;

	kdtl_fill(&e, next, w0, w1, w2, w3);
	kdtl_fan_out(sink, &e, kind);
}

static __always_inline void kdtl_sched_dispatch(bool preempt, struct task_struct *prev,
						struct task_struct *next, u64 now)
{
	/* enum kdtl_kind, ready to be an index */
	unsigned long off = KDTL_KIND_CEDE, why = KDTL_KIND_CEDE;
	const unsigned long prev_pid = (u32)prev->pid, next_pid = (u32)next->pid;
	s64 queued, ready = 0, slept = 0;
	u64 when, id, waited, queued_at, head;
	__be64 w0, w1, w2, w3;
	struct kdtl_sink *sink;
	u32 reasons;

	if (prev_pid) {
		off = kdtl_why(preempt, prev);
		kdtl_depart(prev, prev_pid, now, off);
	}
	if (!next_pid)
		return;
	sink = kdtl_pmu_sinks(&kdtl_sched_pmu);
	if (!sink)
		return;

	/* Not queued: it never waited here. The scheduler says so with a 0. */
	queued_at = next->sched_info.last_queued;
	if (unlikely(!queued_at))
		queued_at = now;

	when = READ_ONCE(kdtl_slot(next_pid)->when);
	id = when ^ READ_ONCE(kdtl_slot(next_pid)->check);
	/* Who has never run has none: its id is made another one's. */
	waited = kdtl_waited_id(next, next_pid) + !next->sched_info.pcount - id;
	if (likely(!(waited & KDTL_PID_MASK))) {
		why = when & 3;
		slept = queued_at - (when >> 2);
		ready = why == KDTL_KIND_PREEMPT ? slept : waited >> KDTL_PID_BITS;
		slept -= ready;
	} else if (KDTL_HAVE_DELAYED_DEQUEUE && kdtl_is_marked(when, id, next_pid) &&
		   next->sched_info.pcount) {
		/* It awoke, and was queued: when, is not known. */
		why = when & 3;
		queued_at = now;
		slept = now - (when >> 2);
	}

	sink = kdtl_sink_wanting(sink, why);
	if (!sink)
		return;

	queued = now - queued_at;
	if (unlikely((u64)(queued | ready | slept) > U32_MAX)) {
		queued = kdtl_saturate(queued);
		ready = kdtl_saturate(ready);
		slept = kdtl_saturate(slept);
	}
	reasons = kdtl_dispatch_codes[why] | kdtl_preempt_codes[off] |
		  raw_smp_processor_id();
	w0 = cpu_to_be64((u64)reasons << 32 | queued);
	w1 = cpu_to_be64((u64)ready << 32 | slept);
	w2 = cpu_to_be64(now);
	w3 = cpu_to_be64((u64)next_pid << 32 | prev_pid);

	do {
		head = sink->head;
		if (unlikely(kdtl_sink_is_slow(sink, head))) {
			kdtl_sched_slow(sink, why, next, w0, w1, w2, w3);
			return;
		}
		kdtl_fill(kdtl_sink_slot(sink, head), next, w0, w1, w2, w3);
		kdtl_sink_publish(sink, head);
		kdtl_sink_count(sink->counts, why, queued, ready, slept);
		/* Mostly there is one. */
		sink = sink->next;
		if (likely(!sink))
			return;
		sink = kdtl_sink_wanting(sink, why);
	} while (sink);
}

static noinline void kdtl_sched_anchor(bool preempt, struct task_struct *prev,
				       struct task_struct *next)
{
	kdtl_sched_dispatch(preempt, prev, next, kdtl_clock_anchor());
}

/* Interrupts off, runqueue lock held, on the CPU in question. */
static void kdtl_sched_switch(void *data, bool preempt, struct task_struct *prev,
			      struct task_struct *next, unsigned int prev_state)
{
	u64 now;

	if (likely(kdtl_clock_read(&now)))
		kdtl_sched_dispatch(preempt, prev, next, now);
	else
		kdtl_sched_anchor(preempt, prev, next);
}

/*
 * It sleeps, and the scheduler takes it for queued.  What orders its record is the
 * lock of the queue that it is in.  If it has none any more, it sleeps since now.
 */
static void kdtl_mark(const struct task_struct *t)
{
	const unsigned long pid = (u32)t->pid;
	struct kdtl_departure *slot = kdtl_slot(pid);
	u64 when = READ_ONCE(slot->when);
	const u64 id = when ^ READ_ONCE(slot->check);

	if ((id ^ pid) & KDTL_PID_MASK && !kdtl_is_marked(when, id, pid)) {
		when = local_clock() << 2 | KDTL_KIND_CEDE;
		WRITE_ONCE(slot->when, when);
	}
	WRITE_ONCE(slot->check, ~(when ^ kdtl_waited_id(t, pid)));
}

static void kdtl_sched_migrate(void *data, struct task_struct *t, int cpu)
{
	if (unlikely(kdtl_task_dequeue_delayed(t)))
		kdtl_mark(t);
}

/*
 * Those that were moved before the probe was there.  One that awakes meanwhile may
 * be marked too: then one wait is not known.
 */
static void kdtl_mark_sleepers(void)
{
	struct task_struct *process, *t;

	rcu_read_lock();
	for_each_process_thread(process, t) {
		if (data_race(t->sched_info.last_queued &&
			      (!t->on_rq || kdtl_task_dequeue_delayed(t))))
			kdtl_mark(t);
	}
	rcu_read_unlock();
}

static int kdtl_sched_attach(struct kdtl_pmu *p)
{
	int err;

	/* Records of an earlier use would make sleeps out of our absence. */
	memset(departures, 0, KDTL_SLOTS * sizeof(*departures));
	err = tracepoint_probe_register(sched_switch_tp, kdtl_sched_switch, NULL);
	if (err || !KDTL_HAVE_DELAYED_DEQUEUE)
		return err;
	err = tracepoint_probe_register(sched_migrate_tp, kdtl_sched_migrate, NULL);
	if (err) {
		tracepoint_probe_unregister(sched_switch_tp, kdtl_sched_switch, NULL);
		tracepoint_synchronize_unregister();
		return err;
	}
	kdtl_mark_sleepers();
	return 0;
}

static void kdtl_sched_detach(struct kdtl_pmu *p)
{
	tracepoint_probe_unregister(sched_switch_tp, kdtl_sched_switch, NULL);
	if (KDTL_HAVE_DELAYED_DEQUEUE)
		tracepoint_probe_unregister(sched_migrate_tp, kdtl_sched_migrate, NULL);
	tracepoint_synchronize_unregister();
}

/* With interrupts off here, no switch of this CPU is half way through. */
static u64 kdtl_sched_sync(struct kdtl_pmu *p)
{
	u64 now;

	return likely(kdtl_clock_read(&now)) ? now : kdtl_clock_anchor();
}

static struct kdtl_pmu kdtl_sched_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_sched",
	.rating		= 100,
	.tb_freq	= NSEC_PER_SEC,
	.attach		= kdtl_sched_attach,
	.detach		= kdtl_sched_detach,
	.sync		= kdtl_sched_sync,
};

static void kdtl_find_tracepoint(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "sched_switch"))
		sched_switch_tp = tp;
	else if (!strcmp(tp->name, "sched_migrate_task"))
		sched_migrate_tp = tp;
}

static int __init kdtl_sched_init(void)
{
	int err;

	for_each_kernel_tracepoint(kdtl_find_tracepoint, NULL);
	if (!sched_switch_tp || !sched_migrate_tp) {
		pr_warn("this kernel has no tracepoints sched_switch and sched_migrate_task\n");
		return -ENODEV;
	}

	departures = vzalloc(KDTL_SLOTS * sizeof(*departures));
	if (!departures)
		return -ENOMEM;
	err = kdtl_pmu_register(&kdtl_sched_pmu);
	if (err)
		vfree(departures);
	return err;
}

static void __exit kdtl_sched_exit(void)
{
	kdtl_pmu_unregister(&kdtl_sched_pmu);
	vfree(departures);
}

module_init(kdtl_sched_init);
module_exit(kdtl_sched_exit);

MODULE_DESCRIPTION("Dispatch trace log entries from the Linux scheduler");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
