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
 *
 * Documentation/pmu-sched.rst says what stands in each field.
 */
#define pr_fmt(fmt) "kdtl_sched: " fmt

#include <linux/kdtl.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/tracepoint.h>
#include <linux/vmalloc.h>
#include <trace/events/sched.h>

#include "../compat.h"
#include "../sink.h"

static unsigned int slots = 65536;
module_param(slots, uint, 0444);
MODULE_PARM_DESC(slots, "tasks whose last departure is remembered, a power of two (default 65536, 16 bytes each)");

/**
 * struct kdtl_departure - when and why a task left its CPU
 * @when: local_clock() << 2 | enum kdtl_kind
 * @check: @when ^ (pid << 42 | waited)
 *
 * waited is the task's run_delay at that time, modulo 2^42 ns (73 minutes).
 *
 * A task's own record is ordered by the scheduler, which hands the task from
 * CPU to CPU.  Another task of the same slot may write at the same time: then
 * the two words do not fit each other, the pid comes out wrong, and the record
 * is as good as pushed out.  An empty slot has pid 0, which is nobody's.
 */
struct kdtl_departure {
	u64	when;
	u64	check;
};

/* srr0 and srr1 hold the name; kdtl_fill() counts on where they are. */
static_assert(TASK_COMM_LEN == 2 * sizeof(__be64));
static_assert(offsetof(struct kdtl_entry, srr0) == 4 * sizeof(__be64));

#define KDTL_PID_SHIFT		42
#define KDTL_WAITED_MASK	((1ULL << KDTL_PID_SHIFT) - 1)

static struct kdtl_departure *departures __read_mostly;
static unsigned int slot_mask __read_mostly;
static struct tracepoint *sched_switch_tp;
static struct kdtl_pmu kdtl_sched_pmu;

static __always_inline struct kdtl_departure *kdtl_slot(const struct task_struct *t)
{
	return &departures[t->pid & slot_mask];
}

static __always_inline void kdtl_depart(const struct task_struct *t, u64 now,
					enum kdtl_kind why)
{
	struct kdtl_departure *slot = kdtl_slot(t);
	const u64 when = now << 2 | why;
	const u64 id = (u64)t->pid << KDTL_PID_SHIFT |
		       (t->sched_info.run_delay & KDTL_WAITED_MASK);

	WRITE_ONCE(slot->when, when);
	WRITE_ONCE(slot->check, when ^ id);
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
static __always_inline enum kdtl_kind kdtl_why(bool preempt,
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

/**
 * struct kdtl_words - an entry's words, for the registers: not an array
 * @w0: reasons, CPU, enqueue_to_dispatch_time
 * @w1: ready_to_enqueue_time, waiting_to_ready_time
 * @w2: when
 * @w3: both pids
 * @next: whose name it gets
 */
struct kdtl_words {
	__be64				w0;
	__be64				w1;
	__be64				w2;
	__be64				w3;
	const struct task_struct	*next;
};

/* Six stores: an entry is made in place, not copied. */
static __always_inline void kdtl_fill(void *to, const struct kdtl_words *d)
{
	__be64 *e = to;

	e[0] = d->w0;
	e[1] = d->w1;
	e[2] = d->w2;
	e[3] = d->w3;
	memcpy(&e[4], d->next->comm, TASK_COMM_LEN);
}

static noinline void kdtl_sched_slow(struct kdtl_sink *sink, struct kdtl_words d,
				     enum kdtl_kind kind)
{
	struct kdtl_entry e;

	kdtl_fill(&e, &d);
	sink->ops->slow(sink, &e, kind);
}

/* Interrupts off, runqueue lock held, on the CPU in question. */
static void kdtl_sched_switch(void *data, bool preempt, struct task_struct *prev,
			      struct task_struct *next, unsigned int prev_state)
{
	enum kdtl_kind off = KDTL_KIND_CEDE, why = KDTL_KIND_CEDE;
	struct kdtl_words d = { .next = next };
	const pid_t prev_pid = prev->pid;
	const u64 now = local_clock();
	s64 queued, ready = 0, slept = 0;
	struct kdtl_sink *sink;
	u64 when, id, queued_at, head;
	u32 reasons;

	if (prev_pid) {
		off = kdtl_why(preempt, prev);
		kdtl_depart(prev, now, off);
	}
	if (!next->pid)
		return;
	sink = kdtl_pmu_sinks(&kdtl_sched_pmu);
	if (!sink)
		return;

	/* Not queued: it never waited here. The scheduler says so with a 0. */
	queued_at = next->sched_info.last_queued ?: now;

	when = READ_ONCE(kdtl_slot(next)->when);
	id = when ^ READ_ONCE(kdtl_slot(next)->check);
	if (likely((pid_t)(id >> KDTL_PID_SHIFT) == next->pid)) {
		why = when & 3;
		slept = queued_at - (when >> 2);
		if (why == KDTL_KIND_PREEMPT)
			ready = slept;
		else
			ready = (next->sched_info.run_delay - id) & KDTL_WAITED_MASK;
		slept -= ready;
	}

	queued = now - queued_at;
	if (unlikely((u64)(queued | ready | slept) > U32_MAX)) {
		queued = kdtl_saturate(queued);
		ready = kdtl_saturate(ready);
		slept = kdtl_saturate(slept);
	}
	reasons = kdtl_dispatch_codes[why] | kdtl_preempt_codes[off] |
		  (u16)raw_smp_processor_id();
	d.w0 = cpu_to_be64((u64)reasons << 32 | queued);
	d.w1 = cpu_to_be64((u64)ready << 32 | slept);
	d.w2 = cpu_to_be64(now);
	d.w3 = cpu_to_be64((u64)next->pid << 32 | (u32)prev_pid);

	for (; sink; sink = sink->next) {
		if (!(sink->mask >> why & 1))
			continue;
		head = sink->head;
		if (unlikely(kdtl_sink_is_slow(sink, head))) {
			kdtl_sched_slow(sink, d, why);
			continue;
		}
		kdtl_fill(kdtl_sink_slot(sink, head), &d);
		kdtl_sink_publish(sink, head);
		kdtl_sink_count(sink->counts, why, queued, ready, slept);
	}
}

static int kdtl_sched_attach(struct kdtl_pmu *p)
{
	/* Records of an earlier use would make sleeps out of our absence. */
	memset(departures, 0, array_size(slots, sizeof(*departures)));
	return tracepoint_probe_register(sched_switch_tp, kdtl_sched_switch, NULL);
}

static void kdtl_sched_detach(struct kdtl_pmu *p)
{
	tracepoint_probe_unregister(sched_switch_tp, kdtl_sched_switch, NULL);
	tracepoint_synchronize_unregister();
}

/* With interrupts off here, no switch of this CPU is half way through. */
static u64 kdtl_sched_sync(struct kdtl_pmu *p)
{
	return local_clock();
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

static void kdtl_find_sched_switch(struct tracepoint *tp, void *priv)
{
	if (!strcmp(tp->name, "sched_switch"))
		sched_switch_tp = tp;
}

static int __init kdtl_sched_init(void)
{
	int err;

	if (!is_power_of_2(slots) || slots > PID_MAX_LIMIT) {
		pr_warn("slots=%u: must be a power of two up to %u\n", slots,
			(unsigned int)PID_MAX_LIMIT);
		return -EINVAL;
	}
	for_each_kernel_tracepoint(kdtl_find_sched_switch, NULL);
	if (!sched_switch_tp) {
		pr_warn("this kernel has no sched_switch tracepoint\n");
		return -ENODEV;
	}

	slot_mask = slots - 1;
	departures = vzalloc(array_size(slots, sizeof(*departures)));
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
