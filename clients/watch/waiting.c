// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for a CPU that dispatches nobody
 *
 * A task that still waits is in no log.  So this looks at all tasks, which is slow, but
 * only done to report a CPU that is stuck.  The stuck CPU is not asked, as it may have its
 * interrupts off.
 */
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/string.h>

#include "watch.h"

/* A limit on CPU time has taken the task, or a group above it, off its queue. */
static bool waiting_is_throttled(const struct task_struct *t)
{
	const struct sched_entity *se = &t->se;

	if (t->prio < MAX_RT_PRIO)
		return false;
#ifdef CONFIG_FAIR_GROUP_SCHED
	for (; se->parent; se = se->parent) {
		if (!se->on_rq)
			return true;
	}
#endif
	return !se->on_rq;
}

/* When the task was queued; 0: it has a CPU, or sleeps. */
static u64 waiting_since(const struct task_struct *t)
{
#ifdef CONFIG_SCHED_INFO
	return t->sched_info.last_queued;
#else
	return 0;
#endif
}

/* Is the task in the queue of @cpu?  It may have left it when this returns. */
static bool waiting_is_queued(const struct task_struct *t, int cpu)
{
	return task_is_running(t) && task_cpu(t) == cpu && waiting_since(t) &&
	       !waiting_is_throttled(t);
}

/**
 * watch_waiting() - find the task that has waited longest in the queue of a CPU
 * @cpu: the CPU
 * @longest: the task's pid, name and since when it waits, by local_clock()
 *
 * Context: the watching thread.
 * Return: the number of tasks that wait there; 0: @longest is not set.
 */
unsigned int watch_waiting(int cpu, struct watch_waiting *longest)
{
	const struct task_struct *t;
	unsigned int found = 0;
	struct pid *pid;
	int nr = 1;
	u64 since;

	/* There may be millions of tasks, so there is an RCU section for each. */
	do {
		rcu_read_lock();
		pid = find_ge_pid(nr, &init_pid_ns);
		t = pid ? pid_task(pid, PIDTYPE_PID) : NULL;
		if (t && data_race(waiting_is_queued(t, cpu))) {
			since = data_race(waiting_since(t));
			if (!found++ || since < longest->since) {
				longest->pid = t->pid;
				longest->since = since;
				strscpy(longest->comm, t->comm, sizeof(longest->comm));
			}
		}
		if (pid)
			nr = pid_nr(pid) + 1;
		rcu_read_unlock();
		cond_resched();
	} while (pid);
	return found;
}
