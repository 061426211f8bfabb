/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How tasks that a limit on CPU time holds back are told from other tasks
 *
 * A task that leaves its CPU although it could run is throttled, not preempted, if
 *
 * - the quota of its cgroup (cpu.max) is used up;
 * - it is a real-time task, and the next task is of a lower class: the kernel's
 *   limit on real-time tasks took effect (sched_rt_runtime_us, from 6.12 on the
 *   fair server);
 * - it is a deadline task whose runtime is used up.  A deadline task that yields sleeps until
 *   its next period.
 *
 * Since 6.18, the scheduler throttles a task when it returns to user mode, and
 * task_struct::throttled says so.  Tasks that are in the queue when the quota runs
 * out, or that wake up later, get a CPU first, so until then they wait for a CPU.
 *
 * Before 6.18, the scheduler throttles a group: it takes the group's sched_entity
 * off its queue, but leaves the group's tasks in the group's own queue.  These
 * tasks did not leave a CPU because of the quota, and neither do tasks that wake
 * up in the group later.  The same holds for real-time tasks, on every kernel.  From the first
 * throttled task on, more probes find tasks of both kinds.  A machine without limits does not
 * have these probes.
 *
 * A deadline task that wakes up between its deadline and its next period is held back until
 * that period.  When such a task has waited for a while, its deadline tells whether it was.
 *
 * sched-lift.h finds out when a limit ended.
 */
#ifndef _KDTL_SCHED_THROTTLE_H
#define _KDTL_SCHED_THROTTLE_H

#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/kdtl_probes.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/deadline.h>
#include <linux/sched/rt.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "sched-lift.h"

static void kdtl_mark_throttled(const struct task_struct *t);

/*
 * A task that waited less is not looked at: so short a wait does no harm, and this spares most
 * dispatches the look.
 */
#define KDTL_LOOK_NS	(100 * NSEC_PER_USEC)

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

/**
 * struct kdtl_rt_held - the real-time tasks of a CPU.  Under the lock of its runqueue.
 * @queued: a real-time task in the queue: it left its CPU or woke up, and was neither
 *	dispatched nor moved since, so it still exists.  NULL: none is known
 * @lifted: when the limit that last held them back was seen to have ended; 0: it has not
 * @held: are they held back?
 */
struct kdtl_rt_held {
	const struct task_struct	*queued;
	u64				lifted;
	bool				held;
};

static DEFINE_PER_CPU(struct kdtl_rt_held, kdtl_rt_held);

static bool kdtl_throttle_asked, kdtl_throttle_followed;

static struct kdtl_held *kdtl_held_slot(const void *group)
{
	return this_cpu_ptr(&kdtl_held_groups[hash_ptr(group, KDTL_HELD_BITS)]);
}

static void kdtl_throttle_follow(struct work_struct *unused);
static DECLARE_WORK(kdtl_throttle_work, kdtl_throttle_follow);

static void kdtl_throttle_queue_work(struct irq_work *unused)
{
	queue_work(system_dfl_wq, &kdtl_throttle_work);
}

static DEFINE_IRQ_WORK(kdtl_throttle_irq_work, kdtl_throttle_queue_work);

/* Only a task may register probes, and none may be woken under the scheduler's lock. */
static void kdtl_throttle_ask(void)
{
	if (!READ_ONCE(kdtl_throttle_asked)) {
		WRITE_ONCE(kdtl_throttle_asked, true);
		irq_work_queue(&kdtl_throttle_irq_work);
	}
}

static void kdtl_held_note(const void *group, u64 now)
{
	struct kdtl_held *h = kdtl_held_slot(group);

	h->group = group;
	h->seen = now;
	__this_cpu_write(kdtl_sched_cpu.held_seen, now);
	kdtl_throttle_ask();
}

static bool kdtl_is_held(const void *group, u64 queued_at)
{
	const struct kdtl_held *h = kdtl_held_slot(group);

	return h->group == group && h->seen >= queued_at;
}

/* ---------------------------------------------------------- real-time tasks */

#ifdef CONFIG_SCHED_CORE

/* Are there, or were there, tasks that may not share a core with others? */
static bool kdtl_cookies;

/*
 * Core scheduling may run a task of a lower class, or none, because of cookies.  The idle task
 * has no cookie, so it tells nothing: a task without a cookie may have had to make room as well.
 */
static bool kdtl_same_cookie(const struct task_struct *t, const struct task_struct *next)
{
	if (t->core_cookie || next->core_cookie)
		WRITE_ONCE(kdtl_cookies, true);
	return is_idle_task(next) ? !READ_ONCE(kdtl_cookies) :
				    t->core_cookie == next->core_cookie;
}

static void kdtl_find_cookie(struct task_struct *t)
{
	if (data_race(t->core_cookie))
		WRITE_ONCE(kdtl_cookies, true);
}

static void kdtl_find_cookies(void)
{
	kdtl_each_task(kdtl_find_cookie);
}

#else

static bool kdtl_same_cookie(const struct task_struct *t, const struct task_struct *next)
{
	return true;
}

static void kdtl_find_cookies(void)
{
}

#endif /* CONFIG_SCHED_CORE */

/*
 * Is @t, which is queued, among the tasks that the limit on real-time tasks holds back?  Only
 * these are in that class's queue: a deadline task and the stopper have a real-time priority,
 * too, but neither is held back by that limit.
 */
static __always_inline bool kdtl_is_rt(const struct task_struct *t)
{
	return t->rt.on_rq;
}

/*
 * The scheduler chose @next although the real-time task @t could run: because of the limit on
 * real-time tasks?  The fair server never chooses the idle task, and an owner of a mutex runs
 * in the place of a task that waits for the mutex (proxy execution).
 */
static bool kdtl_rt_passed(const struct task_struct *t, const struct task_struct *next)
{
	if (next->prio < MAX_RT_PRIO || kdtl_task_is_proxy(next))
		return false;
	if (!KDTL_HAVE_RT_LIMIT && is_idle_task(next))
		return false;
	return kdtl_same_cookie(t, next);
}

/* Note that the real-time tasks of this CPU are held back. */
static void kdtl_rt_note(u64 now)
{
	struct kdtl_rt_held *h = this_cpu_ptr(&kdtl_rt_held);

	/* Only the further probes find out when that ends. */
	h->held = READ_ONCE(kdtl_throttle_followed);
	h->lifted = 0;
	kdtl_held_note(&kdtl_rt_group, now);
}

/* @prev has the priority of a real-time or deadline task, and could run.  Is it throttled? */
static bool kdtl_rt_throttled(const struct task_struct *prev,
			      const struct task_struct *next, u64 now)
{
	if (dl_prio(prev->prio)) {
		if (!prev->dl.dl_throttled || prev->dl.dl_yielded)
			return false;
		return true;
	}
	if (!kdtl_is_rt(prev) || !kdtl_rt_passed(prev, next))
		return false;
	kdtl_rt_note(now);
	return true;
}

/* Is @prev a deadline task that gave up the rest of its runtime until its next period? */
static bool kdtl_dl_yielded(const struct task_struct *prev)
{
	return dl_prio(prev->prio) && prev->dl.dl_throttled && prev->dl.dl_yielded;
}

/* The limit may take effect just when a task goes to sleep: then another one is held back. */
static void kdtl_rt_switch(const struct task_struct *prev, const struct task_struct *next)
{
	struct kdtl_rt_held *h = this_cpu_ptr(&kdtl_rt_held);

	if (unlikely(kdtl_is_rt(next))) {
		if (h->held)
			h->lifted = local_clock();
		h->held = false;
	}
	if (unlikely(h->queued == next))
		h->queued = NULL;
	/* With proxy execution a task that sleeps may still be in the queue. */
	if (unlikely(kdtl_is_rt(prev)) && !h->queued &&
	    (!KDTL_HAVE_PROXY_EXEC || READ_ONCE(prev->__state) == TASK_RUNNING))
		h->queued = prev;
	if (unlikely(h->queued) && !h->held && kdtl_is_rt(h->queued) &&
	    kdtl_rt_passed(h->queued, next))
		kdtl_rt_note(local_clock());
}

/* @t, a real-time task, is put into a queue, whose lock is held.  Is it held back there? */
static bool kdtl_rt_wakeup(const struct task_struct *t)
{
	struct kdtl_rt_held *h = per_cpu_ptr(&kdtl_rt_held, task_cpu(t));

	if (!h->queued)
		h->queued = t;
	return h->held;
}

/* @t leaves the queue of its CPU, whose lock is held if @t is in that queue. */
static void kdtl_throttle_migrate(void *data, struct task_struct *t, int cpu)
{
	struct kdtl_rt_held *h = per_cpu_ptr(&kdtl_rt_held, task_cpu(t));

	if (READ_ONCE(h->queued) == t)
		WRITE_ONCE(h->queued, NULL);
}

/* ------------------------------------------------------------------- quotas */

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
	if (prev->prio < MAX_RT_PRIO)
		return kdtl_rt_throttled(prev, next, now);
	kdtl_throttle_ask();
	return true;
}

static inline bool kdtl_fair_held(const struct task_struct *next, u64 queued_at)
{
	return false;
}

static inline void kdtl_fair_switch(const struct task_struct *prev)
{
}

static inline bool kdtl_fair_holds(const struct task_struct *t)
{
	return kdtl_task_throttled(t);
}

static inline bool kdtl_fair_wakeup(const struct task_struct *t)
{
	return false;
}

#else

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

/* @prev leaves its CPU and could run.  Is a closer look due? */
static __always_inline bool kdtl_may_be_throttled(const struct task_struct *prev)
{
	return unlikely(prev->prio < MAX_RT_PRIO || kdtl_dequeued_group(&prev->se));
}

/* Is it throttled? */
static bool kdtl_is_throttled(const struct task_struct *prev,
			      const struct task_struct *next, u64 now)
{
	if (prev->prio < MAX_RT_PRIO)
		return kdtl_rt_throttled(prev, next, now);
	/* A task of sched_ext is in none of the groups' queues. */
	if (!prev->se.on_rq)
		return false;
	kdtl_held_note(kdtl_dequeued_group(&prev->se), now);
	return true;
}

/* Has a group of @next been throttled since @next was queued? */
static bool kdtl_fair_held(const struct task_struct *next, u64 queued_at)
{
	const struct sched_entity *se = &next->se;
	bool held = false;

	if (se->on_rq)
		while (!held && (se = se->parent))
			held = kdtl_is_held(se, queued_at);
	return held;
}

/*
 * The quota may run out just when a task goes to sleep.  A group that is off its
 * queue because it is empty has the weight 0.
 */
static void kdtl_fair_switch(const struct task_struct *prev)
{
	const struct sched_entity *group;

	if (prev->se.on_rq)
		return;
	group = kdtl_dequeued_group(&prev->se);
	if (unlikely(group && group->runnable_weight))
		kdtl_held_note(group, local_clock());
}

/* Does a quota hold back @t, which is queued? */
static bool kdtl_fair_holds(const struct task_struct *t)
{
	return t->se.on_rq && kdtl_dequeued_group(&t->se);
}

static bool kdtl_fair_wakeup(const struct task_struct *t)
{
	return kdtl_fair_holds(t);
}

#endif /* KDTL_HAVE_GROUP_THROTTLE */

/* ------------------------------------------------------------- any of these */

/* Was the task not queued at all, or may a limit have held it back? */
static __always_inline bool kdtl_throttle_doubt(u64 queued_at, u64 now)
{
	return (s64)(now - queued_at) > KDTL_LOOK_NS;
}

/* Has a limit other than a deadline held @next back since it was queued? */
static bool kdtl_was_held(const struct kdtl_sched_cpu *c, const struct task_struct *next,
			  u64 queued_at)
{
	if (likely(queued_at > c->held_seen))
		return false;
	return kdtl_is_rt(next) ? kdtl_is_held(&kdtl_rt_group, queued_at) :
				  kdtl_fair_held(next, queued_at);
}

/* Does a limit other than a deadline hold back @t, which is queued on this CPU? */
static bool kdtl_holds(const struct task_struct *t)
{
	return kdtl_is_rt(t) ? __this_cpu_read(kdtl_rt_held.held) : kdtl_fair_holds(t);
}

/*
 * When the limit ended that held @next back at @since or later; @now if that is not known.
 */
static u64 kdtl_lifted_at(const struct task_struct *next, u64 since, u64 now)
{
	u64 lifted;

	if (dl_prio(next->prio))
		lifted = kdtl_dl_lifted(next);
	else if (kdtl_is_rt(next))
		lifted = __this_cpu_read(kdtl_rt_held.lifted);
	else
		lifted = kdtl_quota_lifted(next);
	return lifted > since && lifted < now ? lifted : now;
}

static void kdtl_throttle_switch(void *data, bool preempt, struct task_struct *prev,
				 struct task_struct *next, unsigned int prev_state)
{
	kdtl_rt_switch(prev, next);
	kdtl_fair_switch(prev);
}

/* The lock of the queue that @t has been put into is held. */
static void kdtl_throttle_wakeup(void *data, struct task_struct *t)
{
	if (kdtl_is_rt(t) ? kdtl_rt_wakeup(t) : kdtl_fair_wakeup(t))
		kdtl_mark_throttled(t);
}

/*
 * A task that was moved may exit, and no queue tells of that.  So the first probe, which makes
 * kdtl_rt_held::queued forget the task, is there as long as any.
 */
static struct kdtl_probe kdtl_throttle_probes[] = {
	{ "sched_migrate_task", kdtl_throttle_migrate },
	{ "sched_switch", kdtl_throttle_switch },
	{ "sched_wakeup", kdtl_throttle_wakeup },
	{ "sched_wakeup_new", kdtl_throttle_wakeup },
};

static void kdtl_throttle_follow(struct work_struct *unused)
{
	int err;

	kdtl_find_cookies();
	kdtl_lift_attach();
	err = kdtl_probes_register(kdtl_throttle_probes, ARRAY_SIZE(kdtl_throttle_probes));
	if (err)
		pr_warn("cannot follow throttled tasks (%d): those that wake up look as if they waited for a CPU\n",
			err);
	else
		WRITE_ONCE(kdtl_throttle_followed, true);
}

static void kdtl_throttle_attach(void)
{
	int cpu;

	kdtl_throttle_asked = false;
	for_each_possible_cpu(cpu) {
		per_cpu(kdtl_sched_cpu, cpu).held_seen = 0;
		memset(per_cpu_ptr(&kdtl_rt_held, cpu), 0, sizeof(kdtl_rt_held));
		memset(per_cpu_ptr(kdtl_held_groups, cpu), 0, sizeof(kdtl_held_groups));
	}
}

/* The probes of kdtl_sched have gone, so nothing calls kdtl_throttle_ask() any more. */
static void kdtl_throttle_detach(void)
{
	irq_work_sync(&kdtl_throttle_irq_work);
	cancel_work_sync(&kdtl_throttle_work);
	if (kdtl_throttle_followed)
		kdtl_probes_unregister(kdtl_throttle_probes, ARRAY_SIZE(kdtl_throttle_probes));
	kdtl_throttle_followed = false;
	kdtl_lift_detach();
}

#endif /* _KDTL_SCHED_THROTTLE_H */
