/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When a limit on CPU time ended: until then a task was held back, since then it waited
 *
 * - The scheduler gives a group that was throttled its quota back in unthrottle_cfs_rq().  No
 *   tracepoint says so, but a kprobe may be there, from the first throttled task on.  It notes
 *   the time in a small table, as any CPU may give the quota back.
 * - A deadline task gets runtime together with a deadline, which is dl.dl_deadline later.
 * - The limit on real-time tasks has ended when one of them gets the CPU, see sched-throttle.h.
 */
#ifndef _KDTL_SCHED_LIFT_H
#define _KDTL_SCHED_LIFT_H

#include <linux/hash.h>
#include <linux/kprobes.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>

#include "../compat.h"

/*
 * When @t got the runtime that it has, by local_clock(), which is the scheduler's clock.  That
 * is later than now if another task lent @t its deadline.
 */
static u64 kdtl_dl_lifted(const struct task_struct *t)
{
	return t->dl.deadline - t->dl.dl_deadline;
}

#if KDTL_HAVE_KRETPROBES && defined(CONFIG_CFS_BANDWIDTH)

#define KDTL_LIFT_BITS	12

/**
 * struct kdtl_lift - a group got quota, on a CPU
 * @when: time
 * @check: @when ^ the address of the group's queue there
 *
 * As in struct kdtl_departure, the words need not match if two CPUs write at once.
 */
struct kdtl_lift {
	u64	when;
	u64	check;
};

/* One for each value of the hash; a new one may replace another group's. */
static struct kdtl_lift kdtl_lifts[BIT(KDTL_LIFT_BITS)];

static struct kdtl_lift *kdtl_lift_slot(unsigned long queue)
{
	return &kdtl_lifts[hash_long(queue, KDTL_LIFT_BITS)];
}

/* unthrottle_cfs_rq(queue), under the lock of the queue's CPU */
static int kdtl_lift_note(struct kprobe *probe, struct pt_regs *regs)
{
	const unsigned long queue = kdtl_regs_first(regs);
	struct kdtl_lift *l = kdtl_lift_slot(queue);
	const u64 now = local_clock();

	WRITE_ONCE(l->when, now);
	WRITE_ONCE(l->check, now ^ queue);
	return 0;
}

static struct kprobe kdtl_lift_probe;
static bool kdtl_lift_probed;

/* When a group of @t, a queued task, last got quota; 0: not known. */
static u64 kdtl_quota_lifted(const struct task_struct *t)
{
	const struct sched_entity *se;
	const struct kdtl_lift *l;
	u64 last = 0, when;

	for (se = &t->se; se; se = se->parent) {
		l = kdtl_lift_slot((unsigned long)se->cfs_rq);
		when = READ_ONCE(l->when);
		if ((when ^ READ_ONCE(l->check)) == (unsigned long)se->cfs_rq)
			last = max(last, when);
	}
	return last;
}

static void kdtl_lift_attach(void)
{
	int err;

	/* The kernel leaves its own marks in a probe that was registered before. */
	kdtl_lift_probe = (struct kprobe) {
		.symbol_name	= "unthrottle_cfs_rq",
		.pre_handler	= kdtl_lift_note,
	};
	err = register_kprobe(&kdtl_lift_probe);
	kdtl_lift_probed = !err;
	if (err)
		pr_info("no probe of unthrottle_cfs_rq (%d): a throttled task's wait for a CPU afterwards counts as throttled\n",
			err);
}

/* Nothing asks any more. */
static void kdtl_lift_detach(void)
{
	if (kdtl_lift_probed)
		unregister_kprobe(&kdtl_lift_probe);
	kdtl_lift_probed = false;
}

#else

static inline u64 kdtl_quota_lifted(const struct task_struct *t)
{
	return 0;
}

static inline void kdtl_lift_attach(void)
{
}

static inline void kdtl_lift_detach(void)
{
}

#endif

#endif /* _KDTL_SCHED_LIFT_H */
