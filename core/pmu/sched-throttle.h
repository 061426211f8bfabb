/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tasks that a limit on CPU time holds back, as opposed to other tasks
 *
 * A task that leaves its CPU although it could run is throttled, not preempted, if
 *
 * - the quota of its cgroup (cpu.max) is used up;
 * - it is a real-time task, and the next task is of a lower class: the kernel's
 *   limit on real-time tasks took effect (sched_rt_runtime_us, from 6.12 on the
 *   fair server);
 * - it is a deadline task whose runtime is used up.
 *
 * Since 6.18, the scheduler throttles a task when it returns to user mode, and
 * task_struct::throttled says so.  Tasks that are in the queue when the quota runs
 * out, or that wake up later, get a CPU first, so they wait for one.
 *
 * Before 6.18, the scheduler throttles a group: it takes the group's sched_entity
 * off its queue, but leaves the group's tasks in the group's own queue.  These
 * tasks did not leave a CPU because of the quota, and neither do tasks that wake
 * up in the group later.  From the first throttled task on, three more probes find
 * both.  A machine without limits does not have these probes.
 *
 * All of this finds throttling that has begun.  Nothing that a module may read
 * says when it ends.
 */
#ifndef _KDTL_SCHED_THROTTLE_H
#define _KDTL_SCHED_THROTTLE_H

#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/deadline.h>
#include <linux/sched/rt.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include "../compat.h"

static void __maybe_unused kdtl_mark_throttled(const struct task_struct *t);

/* Core scheduling may run a task of a lower class because of its cookie. */
static bool kdtl_same_cookie(const struct task_struct *a, const struct task_struct *b)
{
#ifdef CONFIG_SCHED_CORE
	return a->core_cookie == b->core_cookie;
#else
	return true;
#endif
}

/*
 * Is @t, which is queued, among the tasks that the limit on real-time tasks holds back?  Only
 * these are in that class's queue: a deadline task and the stopper have a real-time priority,
 * too, but neither is held back by that limit.
 */
static __always_inline bool kdtl_is_rt(const struct task_struct *t)
{
	return t->rt.on_rq;
}

/* @prev has the priority of a real-time or deadline task, and could run. */
static bool kdtl_rt_throttled(const struct task_struct *prev,
			      const struct task_struct *next)
{
	if (dl_prio(prev->prio))
		return prev->dl.dl_throttled;
	return kdtl_is_rt(prev) && next->prio >= MAX_RT_PRIO && kdtl_same_cookie(prev, next);
}

#if !KDTL_HAVE_GROUP_THROTTLE

/* @prev leaves its CPU and could run.  Is a closer look due? */
static __always_inline bool kdtl_may_be_throttled(const struct task_struct *prev)
{
	return unlikely(prev->prio < MAX_RT_PRIO || kdtl_task_throttled(prev));
}

/* Is it throttled? */
static inline bool kdtl_is_throttled(const struct task_struct *prev,
				     const struct task_struct *next, u64 now)
{
	return prev->prio >= MAX_RT_PRIO || kdtl_rt_throttled(prev, next);
}

/* Was the task not queued at all, or may it have been throttled since then? */
static __always_inline bool kdtl_throttle_doubt(const struct kdtl_sched_cpu *c,
						u64 queued_at)
{
	return !queued_at;
}

static inline void kdtl_throttle_check(const struct task_struct *next, u64 queued_at)
{
}

static inline void kdtl_throttle_attach(void)
{
}

static inline void kdtl_throttle_detach(void)
{
}

static inline void kdtl_throttle_find(struct tracepoint *tp)
{
}

#else

#define KDTL_HELD_BITS	5

/**
 * struct kdtl_held - a throttled group
 * @group: its sched_entity, or &kdtl_rt_group for the real-time tasks of this CPU
 * @seen: when it was last seen to be throttled
 */
struct kdtl_held {
	const void	*group;
	u64		seen;
};

/*
 * A cache of the groups that were last seen to be throttled on this CPU.  It belongs to
 * the CPU, interrupts off, as kdtl_sched_cpu::held_seen does.
 */
static DEFINE_PER_CPU(struct kdtl_held [BIT(KDTL_HELD_BITS)], kdtl_held_groups);

/* Only its address is used. */
static const char kdtl_rt_group;

/* Are real-time tasks held back on this CPU?  Under the lock of its runqueue. */
static DEFINE_PER_CPU(bool, kdtl_held_rt);

static bool kdtl_throttle_asked, kdtl_throttle_followed;

static struct kdtl_held *kdtl_held_slot(const void *group)
{
	return this_cpu_ptr(&kdtl_held_groups[hash_ptr(group, KDTL_HELD_BITS)]);
}

/* The group of @se, at any level, that was taken off its queue. */
static __always_inline const struct sched_entity *
kdtl_dequeued_group(const struct sched_entity *se)
{
	for (se = se->parent; se; se = se->parent) {
		if (unlikely(!se->on_rq))
			break;
	}
	return se;
}

static void kdtl_throttle_follow(struct work_struct *unused);
static DECLARE_WORK(kdtl_throttle_work, kdtl_throttle_follow);

static void kdtl_throttle_queue_work(struct irq_work *unused)
{
	schedule_work(&kdtl_throttle_work);
}

static DEFINE_IRQ_WORK(kdtl_throttle_irq_work, kdtl_throttle_queue_work);

/* Only a task may register probes, and the scheduler's lock forbids to wake one. */
static void kdtl_held_note(const void *group, u64 now)
{
	struct kdtl_held *h = kdtl_held_slot(group);

	h->group = group;
	h->seen = now;
	__this_cpu_write(kdtl_sched_cpu.held_seen, now);
	if (!READ_ONCE(kdtl_throttle_asked)) {
		WRITE_ONCE(kdtl_throttle_asked, true);
		irq_work_queue(&kdtl_throttle_irq_work);
	}
}

/* @prev leaves its CPU and could run.  Is a closer look due? */
static __always_inline bool kdtl_may_be_throttled(const struct task_struct *prev)
{
	return unlikely(prev->prio < MAX_RT_PRIO || kdtl_dequeued_group(&prev->se));
}

/* Is it throttled? */
static bool kdtl_is_throttled(const struct task_struct *prev,
			      const struct task_struct *next, u64 now)
{
	const void *group = kdtl_dequeued_group(&prev->se);

	if (prev->prio < MAX_RT_PRIO) {
		if (!kdtl_rt_throttled(prev, next))
			return false;
		if (dl_prio(prev->prio))
			return true;
		__this_cpu_write(kdtl_held_rt, READ_ONCE(kdtl_throttle_followed));
		group = &kdtl_rt_group;
	} else if (!prev->se.on_rq) {
		/* A task of sched_ext is in none of the groups' queues. */
		return false;
	}
	kdtl_held_note(group, now);
	return true;
}

/* Was the task not queued at all, or may it have been throttled since then? */
static __always_inline bool kdtl_throttle_doubt(const struct kdtl_sched_cpu *c,
						u64 queued_at)
{
	return queued_at <= c->held_seen;
}

static bool kdtl_is_held(const void *group, u64 queued_at)
{
	const struct kdtl_held *h = kdtl_held_slot(group);

	return h->group == group && h->seen >= queued_at;
}

/* Has a group of @next been throttled since @next was queued? */
static void kdtl_throttle_check(const struct task_struct *next, u64 queued_at)
{
	const struct sched_entity *se = &next->se;
	bool held = false;

	if (kdtl_is_rt(next))
		held = kdtl_is_held(&kdtl_rt_group, queued_at);
	else if (se->on_rq)
		while (!held && (se = se->parent))
			held = kdtl_is_held(se, queued_at);
	if (held)
		kdtl_mark_throttled(next);
}

/*
 * The quota may run out just when a task goes to sleep.  A group that is off its
 * queue because it is empty has the weight 0.
 */
static void kdtl_throttle_switch(void *data, bool preempt, struct task_struct *prev,
				 struct task_struct *next, unsigned int prev_state)
{
	const struct sched_entity *group;

	if (unlikely(kdtl_is_rt(next)))
		__this_cpu_write(kdtl_held_rt, false);
	if (prev->se.on_rq)
		return;
	group = kdtl_dequeued_group(&prev->se);
	if (unlikely(group && group->runnable_weight))
		kdtl_held_note(group, local_clock());
}

/* The lock of the queue that @t has been put into is held. */
static void kdtl_throttle_wakeup(void *data, struct task_struct *t)
{
	if (kdtl_is_rt(t) ? per_cpu(kdtl_held_rt, task_cpu(t)) :
		t->se.on_rq && kdtl_dequeued_group(&t->se))
		kdtl_mark_throttled(t);
}

static struct {
	const char		*name;
	void			*probe;
	struct tracepoint	*tp;
} kdtl_throttle_probes[] = {
	{ "sched_switch", kdtl_throttle_switch },
	{ "sched_wakeup", kdtl_throttle_wakeup },
	{ "sched_wakeup_new", kdtl_throttle_wakeup },
};

static void kdtl_throttle_find(struct tracepoint *tp)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdtl_throttle_probes); i++) {
		if (!strcmp(tp->name, kdtl_throttle_probes[i].name))
			kdtl_throttle_probes[i].tp = tp;
	}
}

/* Unregister the first @nr probes. */
static void kdtl_throttle_unfollow(unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(kdtl_throttle_probes[nr].tp,
					    kdtl_throttle_probes[nr].probe, NULL);
	tracepoint_synchronize_unregister();
}

static void kdtl_throttle_follow(struct work_struct *unused)
{
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(kdtl_throttle_probes); i++) {
		err = tracepoint_probe_register(kdtl_throttle_probes[i].tp,
						kdtl_throttle_probes[i].probe, NULL);
		if (err) {
			kdtl_throttle_unfollow(i);
			pr_warn("cannot follow throttled tasks (%d): those that wake up look as if they waited for a CPU\n",
				err);
			return;
		}
	}
	WRITE_ONCE(kdtl_throttle_followed, true);
}

static void kdtl_throttle_attach(void)
{
	int cpu;

	kdtl_throttle_asked = false;
	for_each_possible_cpu(cpu) {
		per_cpu(kdtl_sched_cpu, cpu).held_seen = 0;
		per_cpu(kdtl_held_rt, cpu) = false;
		memset(per_cpu_ptr(kdtl_held_groups, cpu), 0, sizeof(kdtl_held_groups));
	}
}

/* After the probes of kdtl_sched have gone, so nothing asks any more. */
static void kdtl_throttle_detach(void)
{
	irq_work_sync(&kdtl_throttle_irq_work);
	cancel_work_sync(&kdtl_throttle_work);
	if (kdtl_throttle_followed)
		kdtl_throttle_unfollow(ARRAY_SIZE(kdtl_throttle_probes));
	kdtl_throttle_followed = false;
}

#endif /* KDTL_HAVE_GROUP_THROTTLE */

#endif /* _KDTL_SCHED_THROTTLE_H */
