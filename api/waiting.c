// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks wait for a CPU now
 *
 * An entry tells of a wait when it is over.  Of one that goes on, the task itself tells, but not
 * what its CPU's log has by then.  So each CPU in whose queue a task seems to be is interrupted
 * once: as the source writes with interrupts off, no entry that it has written is newer than the
 * clock there, and none that it has still to write is older.  And no task gets that CPU meanwhile,
 * so what is queued there then waits.
 *
 * The tasks are found by their pids, in a section of their own each, as there may be millions.
 * CPUs in whose queues there are none are left alone.
 */
#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/kdtl_verbs.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "../core/raw.h"
#include "../core/source.h"
#include "request.h"
#include "session.h"

#define KDTL_WAITING_MOST	64

/**
 * struct kdtl_waiting_some - tasks that are asked about at once
 * @pmu: the source
 * @cpus: in whose queues they seem to be
 * @nr: their number
 * @of: their pids, with references, and what is said of them; kdtl_waiting::until is 0 of one that
 *	does not wait
 */
struct kdtl_waiting_some {
	struct kdtl_pmu		*pmu;
	cpumask_var_t		cpus;
	unsigned int		nr;
	struct {
		struct pid		*pid;
		struct kdtl_waiting	is;
	} of[KDTL_WAITING_MOST];
};

static bool kdtl_waiting_maybe(const struct task_struct *t)
{
#ifdef CONFIG_SMP
	if (READ_ONCE(t->on_cpu))
		return false;
#endif
	return task_is_running(t) && READ_ONCE(t->on_rq);
}

/* Runs on each CPU in question, with interrupts off. */
static void kdtl_waiting_cpu(void *arg)
{
	struct kdtl_waiting_some *some = arg;
	const int cpu = smp_processor_id();
	struct kdtl_waiting *is;
	struct task_struct *t;
	unsigned int i;
	u64 now;

	now = some->pmu->sync(some->pmu);
	rcu_read_lock();
	for (i = 0; i < some->nr; i++) {
		is = &some->of[i].is;
		if (is->cpu != cpu)
			continue;
		t = pid_task(some->of[i].pid, PIDTYPE_PID);
		if (!t || task_cpu(t) != cpu || !kdtl_waiting_maybe(t) ||
		    !some->pmu->waits(some->pmu, t, now, &is->since, &is->held))
			continue;
		is->pid = task_pid_nr(t);
		is->running = task_pid_nr(current);
		is->until = now;
		strscpy(is->comm, t->comm, sizeof(is->comm));
	}
	rcu_read_unlock();
}

/* Ask about those that were found, tell of them, and forget them. */
static void kdtl_waiting_tell(struct kdtl_waiting_some *some,
			      void (*fn)(const struct kdtl_waiting *w, void *data), void *data)
{
	unsigned int i;

	on_each_cpu_mask(some->cpus, kdtl_waiting_cpu, some, true);
	for (i = 0; i < some->nr; i++) {
		if (some->of[i].is.until)
			fn(&some->of[i].is, data);
		put_pid(some->of[i].pid);
	}
	cpumask_clear(some->cpus);
	some->nr = 0;
}

/* A task may be in the queue of one of the session's CPUs. */
static void kdtl_waiting_note(struct kdtl_waiting_some *some, const struct kdtl_session *s,
			      struct pid *pid, const struct task_struct *t)
{
	const int cpu = task_cpu(t);

	if (!cpumask_test_cpu(cpu, s->loaded))
		return;
	cpumask_set_cpu(cpu, some->cpus);
	some->of[some->nr].pid = get_pid(pid);
	some->of[some->nr].is = (struct kdtl_waiting) { .cpu = cpu };
	some->nr++;
}

static void kdtl_waiting_walk(struct kdtl_waiting_some *some, const struct kdtl_session *s,
			      void (*fn)(const struct kdtl_waiting *w, void *data), void *data)
{
	const struct task_struct *t;
	struct pid *pid;
	int nr = 1;

	do {
		rcu_read_lock();
		pid = find_ge_pid(nr, &init_pid_ns);
		t = pid ? pid_task(pid, PIDTYPE_PID) : NULL;
		if (t && kdtl_waiting_maybe(t))
			kdtl_waiting_note(some, s, pid, t);
		if (pid)
			nr = pid_nr(pid) + 1;
		rcu_read_unlock();
		if (some->nr == KDTL_WAITING_MOST || (!pid && some->nr))
			kdtl_waiting_tell(some, fn, data);
		cond_resched();
	} while (pid);
}

/**
 * kdtl_waiting() - tell of each task that waits for a CPU now
 * @s: the session, which is started
 * @fn: called for each of them
 * @data: for @fn
 *
 * An entry tells of a wait when it ends; this tells of those that have not ended.  What is said of
 * a task is as its entry would have it, if it got the CPU at kdtl_waiting::until; but for what
 * it waited in the queues of other CPUs before.  That time is also until when the log of that CPU
 * is complete: each entry that is older is in the area, or lost, and each that comes is newer, so
 * that kdtl_waiting::running has had the CPU since the last one.  kdtl_flush() then gives the
 * reader all entries up to it.  The times of one CPU do not go back.
 *
 * Only the session's CPUs are looked at.  A deadline task, and one of which the source does not
 * know whether it waits or sleeps, is not told of.  If a session is not started, there is none.
 *
 * All tasks of the machine are looked at, and each CPU with a queue is interrupted.
 *
 * Context: task, may sleep, also a callback of the session's reader.  So may @fn.
 * Return:
 * * 0
 * * -EINVAL: @s or @fn is NULL
 * * -EOPNOTSUPP: the source does not know tasks, or the session is raw
 * * -ESHUTDOWN: the session is being closed
 * * -ENOMEM: no memory
 */
int kdtl_waiting(struct kdtl_session *s, void (*fn)(const struct kdtl_waiting *w, void *data),
		 void *data)
{
	struct kdtl_waiting_some *some;
	int err;

	if (IS_ERR_OR_NULL(s))
		return kdtl_session_refuse(s, __func__, _RET_IP_);
	if (!fn)
		return kdtl_null_refuse(s, __func__, "fn");
	err = kdtl_may_sleep(s->owner, __func__);
	if (!err)
		err = kdtl_session_hold(s);
	if (err)
		return err;
	if (kdtl_session_raw(s) || !s->pmu->waits) {
		err = -EOPNOTSUPP;
		goto release;
	}
	if (!(READ_ONCE(s->starts) & 1))
		goto release;
	some = kzalloc(sizeof(*some), GFP_KERNEL);
	if (!some || !zalloc_cpumask_var(&some->cpus, GFP_KERNEL)) {
		kfree(some);
		err = -ENOMEM;
		goto release;
	}
	some->pmu = s->pmu;
	kdtl_waiting_walk(some, s, fn, data);
	free_cpumask_var(some->cpus);
	kfree(some);
release:
	kdtl_session_release(s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_waiting, KDTL_NS);
