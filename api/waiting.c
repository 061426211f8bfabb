// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks wait for a CPU now
 *
 * An entry tells of a wait only when the wait is over.  A task's own state shows a wait that goes
 * on, but not what its CPU's log has by then.  So each CPU in whose queue a task seems to be is
 * interrupted once: because the source writes with interrupts off, no entry that it has written is
 * newer than the clock there, and none that it has still to write is older.  And no task gets that
 * CPU during the interrupt, so the tasks in its queue do wait.
 *
 * A CPU that keeps its interrupts off does not answer.  The caller waits for it only for a moment,
 * and then leaves the question behind: the CPU frees it when it answers, and is not asked again
 * before that.
 *
 * Tasks are found by their pids, each in an RCU section of its own, because there may be millions.
 * CPUs with no task in their queues are left alone.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/kdtl_verbs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "request.h"

#define KDTL_WAITING_MOST	64

/* After so many tasks, about a ms, sleep, so that a real-time caller lets others have its CPU. */
#define KDTL_WAITING_REST	4096

/* An interrupt takes a few us, but the CPU of a virtual machine may be away for a while. */
#define KDTL_WAITING_SPIN	(20 * NSEC_PER_USEC)
#define KDTL_WAITING_LIMIT	(50 * NSEC_PER_MSEC)

/* Number of questions that were left behind, and that the CPU has still to answer. */
static DEFINE_PER_CPU(atomic_t, kdtl_waiting_late);

struct kdtl_waiting_some;

/**
 * struct kdtl_waiting_ask - the interrupt of one CPU
 * @csd: the interrupt
 * @some: the tasks that it asks about
 */
struct kdtl_waiting_ask {
	call_single_data_t		csd;
	struct kdtl_waiting_some	*some;
};

/**
 * struct kdtl_waiting_some - tasks that are asked about at once
 * @rcu: for a CPU that frees this
 * @pmu: the source
 * @nr: number of tasks
 * @of: the tasks: pid, the CPU in whose queue each seems to be, and the CPU's answer;
 *	kdtl_waiting::until is 0 if the task does not wait
 * @lock: protects what follows, except @ask
 * @cpus: CPUs in whose queues the tasks seem to be, and that have not answered yet
 * @late: CPUs that had not answered when the caller gave up
 * @users: the caller, and each CPU that was asked and has not answered; the last one frees this
 * @given_up: the caller has gone
 * @ask: by CPU
 */
struct kdtl_waiting_some {
	struct rcu_head		rcu;
	struct kdtl_pmu		*pmu;
	unsigned int		nr;
	struct kdtl_waiting	of[KDTL_WAITING_MOST];
	raw_spinlock_t		lock;
	struct cpumask		cpus;
	struct cpumask		late;
	unsigned int		users;
	bool			given_up;
	struct kdtl_waiting_ask	ask[];
};

/**
 * struct kdtl_waiting_walk - a call of kdtl_waiting()
 * @s: the session
 * @fn: to be called for each task
 * @data: for @fn
 * @some: the tasks that were found, and not asked about yet; NULL: there are none
 * @late: a CPU has not answered
 */
struct kdtl_waiting_walk {
	struct kdtl_session		*s;
	void				(*fn)(const struct kdtl_waiting *w, void *data);
	void				*data;
	struct kdtl_waiting_some	*some;
	bool				late;
};

static bool kdtl_waiting_maybe(const struct task_struct *t)
{
#ifdef CONFIG_SMP
	if (READ_ONCE(t->on_cpu))
		return false;
#endif
	return task_is_running(t) && READ_ONCE(t->on_rq);
}

/* Fill in the answer for this CPU's tasks, which nobody else looks at until it is complete. */
static void kdtl_waiting_look(struct kdtl_waiting_some *some, int cpu)
{
	const u64 now = some->pmu->sync(some->pmu);
	struct kdtl_waiting *is;
	struct task_struct *t;
	unsigned int i;

	for (i = 0; i < some->nr; i++) {
		is = &some->of[i];
		if (is->cpu != cpu)
			continue;
		t = pid_task(find_pid_ns(is->pid, &init_pid_ns), PIDTYPE_PID);
		if (!t || task_cpu(t) != cpu || !kdtl_waiting_maybe(t) ||
		    !some->pmu->waits(some->pmu, t, now, &is->since, &is->held, &is->left))
			continue;
		is->running = task_pid_nr(current);
		is->until = now;
		strscpy(is->comm, t->comm, sizeof(is->comm));
	}
}

/* Runs on each CPU in question.  A source that goes waits for it, because interrupts are off. */
static void kdtl_waiting_cpu(void *arg)
{
	struct kdtl_waiting_ask *ask = arg;
	struct kdtl_waiting_some *some = ask->some;
	const int cpu = smp_processor_id();
	bool last;

	rcu_read_lock();
	if (!READ_ONCE(some->given_up))
		kdtl_waiting_look(some, cpu);
	rcu_read_unlock();
	raw_spin_lock(&some->lock);
	cpumask_clear_cpu(cpu, &some->cpus);
	if (some->given_up)
		atomic_dec(this_cpu_ptr(&kdtl_waiting_late));
	last = !--some->users;
	raw_spin_unlock(&some->lock);
	if (last) {
		kfree_rcu(some, rcu);
		module_put(THIS_MODULE);
	}
}

static struct kdtl_waiting_some *kdtl_waiting_alloc(struct kdtl_pmu *pmu)
{
	struct kdtl_waiting_some *some = kvzalloc(struct_size(some, ask, nr_cpu_ids), GFP_KERNEL);

	if (!some)
		return NULL;
	some->pmu = pmu;
	some->users = 1;
	raw_spin_lock_init(&some->lock);
	/* A CPU that answers late runs code of this module. */
	__module_get(THIS_MODULE);
	return some;
}

static void kdtl_waiting_put(struct kdtl_waiting_some *some)
{
	bool last;

	raw_spin_lock_irq(&some->lock);
	last = !--some->users;
	raw_spin_unlock_irq(&some->lock);
	if (!last)
		return;
	kvfree(some);
	module_put(THIS_MODULE);
}

static void kdtl_waiting_ask(struct kdtl_waiting_some *some, int cpu)
{
	struct kdtl_waiting_ask *ask = &some->ask[cpu];
	bool offline;

	if (atomic_read(per_cpu_ptr(&kdtl_waiting_late, cpu)))
		return;
	ask->some = some;
	INIT_CSD(&ask->csd, kdtl_waiting_cpu, ask);
	raw_spin_lock_irq(&some->lock);
	some->users++;
	raw_spin_unlock_irq(&some->lock);
	offline = smp_call_function_single_async(cpu, &ask->csd);
	if (!offline)
		return;
	/* No task waits on a CPU that is offline. */
	raw_spin_lock_irq(&some->lock);
	cpumask_clear_cpu(cpu, &some->cpus);
	some->users--;
	raw_spin_unlock_irq(&some->lock);
}

static bool kdtl_waiting_answered(struct kdtl_waiting_some *some)
{
	bool answered;

	raw_spin_lock_irq(&some->lock);
	answered = some->users == 1;
	raw_spin_unlock_irq(&some->lock);
	return answered;
}

static void kdtl_waiting_answers(struct kdtl_waiting_some *some)
{
	const u64 began = ktime_get_ns();
	u64 passed = 0;

	while (!kdtl_waiting_answered(some) && passed < KDTL_WAITING_LIMIT) {
		/* No timer that expires in a softirq, because a task may hold that up. */
		if (passed < KDTL_WAITING_SPIN)
			cpu_relax();
		else
			usleep_range(50, 100);
		passed = ktime_get_ns() - began;
	}
}

/* Returns whether a CPU has not answered. */
static bool kdtl_waiting_give_up(struct kdtl_waiting_some *some)
{
	int cpu;

	raw_spin_lock_irq(&some->lock);
	cpumask_copy(&some->late, &some->cpus);
	some->given_up = some->users > 1;
	for_each_cpu(cpu, &some->late) {
		if (some->ask[cpu].some)
			atomic_inc(per_cpu_ptr(&kdtl_waiting_late, cpu));
	}
	raw_spin_unlock_irq(&some->lock);
	return !cpumask_empty(&some->late);
}

/* Ask about the tasks that were found, tell of those that wait, and forget all of them. */
static void kdtl_waiting_tell(struct kdtl_waiting_walk *walk)
{
	struct kdtl_waiting_some *some = walk->some;
	const struct kdtl_waiting *is;
	int cpu;

	for_each_cpu(cpu, &some->cpus)
		kdtl_waiting_ask(some, cpu);
	kdtl_waiting_answers(some);
	walk->late |= kdtl_waiting_give_up(some);
	for (is = some->of; is < some->of + some->nr; is++) {
		if (!cpumask_test_cpu(is->cpu, &some->late) && is->until)
			walk->fn(is, walk->data);
	}
	kdtl_waiting_put(some);
	walk->some = NULL;
}

static int kdtl_waiting_walk(struct kdtl_waiting_walk *walk)
{
	const struct task_struct *t;
	unsigned int looked = 0;
	struct pid *pid;
	int nr = 1, cpu;

	do {
		if (!walk->some)
			walk->some = kdtl_waiting_alloc(walk->s->pmu);
		if (!walk->some)
			return -ENOMEM;
		rcu_read_lock();
		pid = find_ge_pid(nr, &init_pid_ns);
		t = pid ? pid_task(pid, PIDTYPE_PID) : NULL;
		cpu = t ? task_cpu(t) : 0;
		nr = pid ? pid_nr(pid) + 1 : nr;
		if (t && kdtl_waiting_maybe(t) && cpumask_test_cpu(cpu, walk->s->loaded)) {
			cpumask_set_cpu(cpu, &walk->some->cpus);
			walk->some->of[walk->some->nr++] = (struct kdtl_waiting) {
				.pid = pid_nr(pid), .cpu = cpu,
			};
		}
		rcu_read_unlock();
		if (walk->some->nr == KDTL_WAITING_MOST || !pid)
			kdtl_waiting_tell(walk);
		if (++looked % KDTL_WAITING_REST == 0)
			usleep_range(50, 100);
		cond_resched();
	} while (pid);
	return walk->late ? -ETIMEDOUT : 0;
}

/**
 * kdtl_waiting() - tell of each task that waits for a CPU now
 * @s: the session, which is started
 * @fn: called for each of them
 * @data: for @fn
 *
 * An entry tells of a wait when it ends; this tells of waits that have not ended.  A task's wait is
 * what its entry would say if it got the CPU at kdtl_waiting::until, without what it waited in the
 * queues of other CPUs before.  The log of its CPU is complete up to kdtl_waiting::until: each
 * older entry is in the area, or lost, and each one still to come is newer, so that
 * kdtl_waiting::running has had the CPU since the last entry.  kdtl_flush() then gives the reader
 * all entries up to that time.  The times of one CPU do not go back.
 *
 * Only tasks in queues of the session's CPUs are told of, and none if the session is not started.
 * Deadline tasks are left out, and tasks of which the source does not know whether they wait or
 * sleep.
 *
 * It looks at all tasks of the machine, and interrupts each CPU with a queue.  A CPU that has its
 * interrupts off for more than 50 ms has not answered: nothing is said of its queue, and it is
 * not asked again until it has answered.
 *
 * Context: task, may sleep, also a callback of the session's reader.  So may @fn.
 * Return:
 * * 0
 * * -EINVAL: @s or @fn is NULL
 * * -EOPNOTSUPP: the source does not know tasks, or the session is raw
 * * -ESHUTDOWN: the session is being closed
 * * -ETIMEDOUT: a CPU has not answered, all others have
 * * -ENOMEM: no memory, @fn may have been called
 */
int kdtl_waiting(struct kdtl_session *s, void (*fn)(const struct kdtl_waiting *w, void *data),
		 void *data)
{
	struct kdtl_waiting_walk walk = { .s = s, .fn = fn, .data = data };
	int err = kdtl_session_begin(s, __func__, _RET_IP_);

	if (err)
		return err;
	err = kdtl_null_check(s, fn);
	if (err)
		goto release;
	if (!s->pmu->waits) {
		err = -EOPNOTSUPP;
		goto release;
	}
	if (READ_ONCE(s->starts) & 1)
		err = kdtl_waiting_walk(&walk);
release:
	kdtl_session_release(s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_waiting, KDTL_NS);
