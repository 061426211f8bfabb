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
 * A CPU that keeps its interrupts off does not answer.  Nobody waits longer than a moment for that:
 * the question is left behind, the CPU frees it when it answers, and is not asked again before.
 *
 * The tasks are found by their pids, in a section of their own each, as there may be millions.
 * CPUs in whose queues there are none are left alone.
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

#include "../core/source.h"
#include "request.h"
#include "session.h"

#define KDTL_WAITING_MOST	64

/* After so many tasks, which takes about a ms, a real-time caller lets others have its CPU. */
#define KDTL_WAITING_REST	4096

/* An interrupt takes a few us, but the CPU of a virtual machine may be away for a while. */
#define KDTL_WAITING_SPIN	(20 * NSEC_PER_USEC)
#define KDTL_WAITING_LIMIT	(50 * NSEC_PER_MSEC)

/* How many questions that were left behind the CPU has still to answer. */
static DEFINE_PER_CPU(atomic_t, kdtl_waiting_late);

struct kdtl_waiting_some;

/**
 * struct kdtl_waiting_ask - the interrupt of one CPU
 * @csd: the interrupt
 * @some: about whom
 */
struct kdtl_waiting_ask {
	call_single_data_t		csd;
	struct kdtl_waiting_some	*some;
};

/**
 * struct kdtl_waiting_some - tasks that are asked about at once
 * @rcu: for a CPU that frees it
 * @pmu: the source
 * @nr: their number
 * @of: their pids, in whose queue they seem to be, and what is said of them;
 *	kdtl_waiting::until is 0 of one that does not wait
 * @lock: protects what follows, but for @ask
 * @cpus: in whose queues they seem to be; of these, who has not answered yet
 * @late: who had not when the caller gave up
 * @users: the caller, and each CPU that was asked and has not answered; the last one frees it
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

/* Until the CPU has answered, nobody else looks at what is said of its tasks. */
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

/* Runs on each CPU in question, with interrupts off: a source that goes waits for that. */
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
	/* Who answers late does so by code of this module. */
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
	/* Nobody waits there. */
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
		/* Not by a timer that ends in a softirq, which a task may hold up. */
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

/* Ask about those that were found, tell of them, and forget them. */
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
 * All tasks of the machine are looked at, and each CPU with a queue is interrupted.  If one has its
 * interrupts off for more than 50 ms, it has not answered: nothing is said of its queue, and it is
 * not asked again until it has.
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
