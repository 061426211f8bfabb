// SPDX-License-Identifier: GPL-2.0
/*
 * The suite of kdtl_kunit_wake.ko, into which core/pmu/kdtl_wake.c is compiled, too
 *
 * It tests what a program cannot: threads that hold locks of the kernel's, wake-ups from an
 * interrupt at a given moment, and what a wake-up costs.  guest/wake.sh compares the entries with
 * what programs write down.
 */
#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/irq_work.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/timex.h>

#include "../../core/compat.h"
#include "kapi.h"
#include "wake.h"

#include "driver.h"
#include "../../core/pmu/kdtl_wake.c"

#define PAGES	256

static struct kdtl_session *wake_session(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_wake",
		.aux_pages	= PAGES,
		.mask		= KDTL_MASK_WAKE,
	};

	return kapi_started(test, &attr);
}

/* Read until there is an entry of this kind about @pid; entries before it are dropped. */
static bool wake_find(struct kdtl_session *s, enum kdtl_wake_kind kind, pid_t pid,
		      struct kdtl_wake_entry *found)
{
	const struct kdtl_wake_entry *w;
	const void *span;
	ssize_t len, at;
	int cpu;

	for_each_online_cpu(cpu) {
		while ((len = kdtl_aux_peek(s, cpu, &span)) > 0) {
			for (at = 0; at < len; at += sizeof(*w)) {
				w = span + at;
				if (w->kind != kind || kdtl_wake_pid(w) != pid)
					continue;
				*found = *w;
				kdtl_aux_consume(s, cpu, at + sizeof(*w));
				return true;
			}
			kdtl_aux_consume(s, cpu, len);
		}
	}
	return false;
}

/* -------------------------------------------------------------------- cases */

/* A session gets this source's entries only if its mask asks for them. */
static void wake_refused(struct kunit *test)
{
	struct kdtl_session_attr attr = { .pmu = "kdtl_wake" };
	struct kdtl_session *s;

	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EOPNOTSUPP);
	attr.mask = KDTL_MASK_ALL | KDTL_MASK_IDLE;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EOPNOTSUPP);
	attr.mask = KDTL_MASK_WAKE;
	attr.min_wait = 1;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EINVAL);
	attr.min_wait = 0;
	s = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(s));
	kdtl_session_close(s);
}

/* Returns how many of the source's probes are on their tracepoints. */
static unsigned int wake_probed(void)
{
	const struct kdtl_probe *p = kdtl_wake_probes;
	const struct tracepoint_func *f;
	unsigned int nr = 0;

	rcu_read_lock();
	for (; p < kdtl_wake_probes + ARRAY_SIZE(kdtl_wake_probes); p++) {
		f = p->tp ? rcu_dereference_raw(p->tp->funcs) : NULL;
		for (; f && f->func; f++)
			nr += f->func == p->probe;
	}
	rcu_read_unlock();
	return nr;
}

/*
 * Without a session of this source there are no probes; with several sessions there is one of each.
 */
static void wake_probes(struct kunit *test)
{
	const struct kdtl_session_attr sched = { .pmu = "kdtl_sched" };
	unsigned int nr = 0, i;
	struct kdtl_session *s;

	for (i = 0; i < ARRAY_SIZE(kdtl_wake_probes); i++)
		nr += !!kdtl_wake_probes[i].tp;
	KUNIT_EXPECT_GE(test, nr, 3U);
	KUNIT_EXPECT_EQ(test, wake_probed(), 0U);
	kapi_started(test, &sched);
	KUNIT_EXPECT_EQ(test, wake_probed(), 0U);
	kapi_close(test);
	s = wake_session(test);
	KUNIT_EXPECT_EQ(test, wake_probed(), nr);
	wake_session(test);
	KUNIT_EXPECT_EQ(test, wake_probed(), nr);
	kdtl_session_close(s);
	KUNIT_EXPECT_EQ(test, wake_probed(), nr);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, wake_probed(), 0U);
}

/* A source makes either dispatches or wake-ups, not both. */
static void wake_mixed(struct kunit *test)
{
	struct kdtl_pmu p = {
		.pmu.module = THIS_MODULE, .name = "kdtl_mixed", .tb_freq = NSEC_PER_SEC,
		.mask = KDTL_MASK_WAKE | KDTL_MASK_CEDE,
	};

	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EINVAL);
	p.mask = KDTL_MASK_WAKE;
	p.tasks = true;
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&p), -EINVAL);
}

/*
 * Nothing wakes it up after that but kthread_stop(): a timer's wake-up could be taken for @data's.
 */
static int sleeper(void *data)
{
	wait_for_completion_interruptible(data);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* A task that is preempted on its way to sleep also has the state, but stays in its queue. */
static bool sleeps(struct task_struct *t)
{
	return READ_ONCE(t->__state) & TASK_NORMAL && !READ_ONCE(t->on_cpu) && !kdtl_is_queued(t);
}

static int until_stopped(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static void complete_it(void *data)
{
	complete(data);
}

static struct completion *irq_completes;

static void irq_work_completes(struct irq_work *unused)
{
	complete(irq_completes);
}

/* An interrupt of this task completes @c. */
static void complete_in_irq(struct completion *c)
{
	struct irq_work work = IRQ_WORK_INIT_HARD(irq_work_completes);

	irq_completes = c;
	irq_work_queue(&work);
	irq_work_sync(&work);
}

static struct completion *tasklet_ends;
static pid_t tasklet_pid;

/* A tasklet that comes again and again is soon left to ksoftirqd. */
static void tasklet_completes(struct tasklet_struct *tasklet)
{
	if (!kdtl_in_ksoftirqd()) {
		tasklet_schedule(tasklet);
		return;
	}
	tasklet_pid = current->pid;
	complete(tasklet_ends);
}

/* Returns the pid of a thread that runs softirqs, which has completed @c. */
static pid_t complete_in_ksoftirqd(struct completion *c)
{
	struct tasklet_struct tasklet;

	tasklet_setup(&tasklet, tasklet_completes);
	tasklet_ends = c;
	tasklet_pid = 0;
	tasklet_schedule(&tasklet);
	kapi_until(READ_ONCE(tasklet_pid));
	tasklet_kill(&tasklet);
	return tasklet_pid;
}

enum wake_from { FROM_TASK, FROM_IRQ_HERE, FROM_IRQ, FROM_KSOFTIRQD };

/*
 * A thread is woken by a task, by an interrupt of that task, by one on another CPU, which may
 * be idle, or, if there is none, on this one, and by a softirq that a thread runs.  What wakes a
 * thread that runs softirqs is an interrupt at its end, by the thread's name.
 */
static void wake_by(struct kunit *test)
{
	static const struct {
		const char *name;
		enum wake_from from;
		unsigned int flags;
	} threads[] = {
		{ "kdtl_sleeper", FROM_TASK, 0 },
		{ "kdtl_sleeper", FROM_IRQ_HERE, KDTL_WAKE_HARDIRQ },
		{ "kdtl_sleeper", FROM_IRQ, KDTL_WAKE_HARDIRQ },
		{ "kdtl_sleeper", FROM_KSOFTIRQD, 0 },
		{ "ktimers/kdtl", FROM_TASK, KDTL_WAKE_HARDIRQ },
		{ "ksoftirqd/kdtl", FROM_TASK,
		  IS_ENABLED(CONFIG_PREEMPT_RT) ? KDTL_WAKE_HARDIRQ : 0 },
		{ "kdtl/ktimers/", FROM_TASK, 0 },
	};
	struct kdtl_session *s = wake_session(test);
	struct kdtl_wake_entry w = {};
	struct completion c;
	struct task_struct *t;
	unsigned int i;
	u64 before;
	pid_t by;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		by = current->pid;
		init_completion(&c);
		t = kthread_run(sleeper, &c, "%s", threads[i].name);
		KUNIT_ASSERT_FALSE(test, IS_ERR(t));
		KUNIT_EXPECT_TRUE(test, wake_find(s, KDTL_WAKE_NEW, t->pid, &w));
		KUNIT_EXPECT_TRUE(test, kapi_until(sleeps(t)));
		before = local_clock();
		if (threads[i].from == FROM_IRQ_HERE)
			complete_in_irq(&c);
		else if (threads[i].from == FROM_IRQ)
			smp_call_function_single(cpumask_last(cpu_online_mask), complete_it, &c, 1);
		else if (threads[i].from == FROM_KSOFTIRQD)
			by = complete_in_ksoftirqd(&c);
		else
			complete(&c);
		KUNIT_EXPECT_TRUE(test, wake_find(s, KDTL_WAKE_WOKEN, t->pid, &w));
		/* kthread_run() woke the thread before that. */
		while (kdtl_wake_time(&w) + NSEC_PER_USEC < before &&
		       wake_find(s, KDTL_WAKE_WOKEN, t->pid, &w))
			;
		KUNIT_EXPECT_EQ(test, kdtl_wake_state(&w), (unsigned int)TASK_INTERRUPTIBLE);
		KUNIT_EXPECT_EQ(test, kdtl_wake_syscall(&w), (unsigned int)KDTL_WAKE_NO_SYSCALL);
		KUNIT_EXPECT_EQ(test, kdtl_wake_arg(&w), 0ULL);
		KUNIT_EXPECT_EQ(test, strcmp(kdtl_wake_comm(&w), threads[i].name), 0);
		KUNIT_EXPECT_FALSE(test, w.flags & KDTL_WAKE_QUEUED);
		if (threads[i].from != FROM_IRQ)
			KUNIT_EXPECT_EQ(test, kdtl_wake_by(&w), by);
		if (threads[i].from != FROM_IRQ || num_online_cpus() > 1)
			KUNIT_EXPECT_EQ(test, (unsigned int)w.flags, threads[i].flags);
		kthread_stop(t);
	}
}

/* The newest task that was queued on another CPU than it was made on: its pid << 32 | that CPU. */
static u64 new_elsewhere;

static void notes_new(void *data, struct task_struct *t)
{
	if (task_cpu(t) != raw_smp_processor_id())
		WRITE_ONCE(new_elsewhere, (u64)t->pid << 32 | task_cpu(t));
}

/* The scheduler likes to queue a new task on an idle CPU, not on that of the one that made it. */
static void wake_first(struct kunit *test)
{
	struct kdtl_probe probe = { "sched_wakeup_new", notes_new };
	struct kdtl_session *s = wake_session(test);
	struct kdtl_wake_entry w = {};
	struct task_struct *t;
	unsigned int tries;
	bool found = false;
	u64 noted;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	KUNIT_ASSERT_EQ(test, kdtl_probes_register(&probe, 1), 0);
	for (tries = 0; tries < 1000 && !found; tries++) {
		t = kthread_create(until_stopped, NULL, "kdtl_new");
		if (IS_ERR(t))
			break;
		noted = READ_ONCE(new_elsewhere);
		found = noted >> 32 == t->pid;
		if (found) {
			KUNIT_EXPECT_TRUE(test, wake_find(s, KDTL_WAKE_NEW, t->pid, &w));
			KUNIT_EXPECT_EQ(test, (u32)kdtl_wake_cpu(&w), (u32)noted);
		}
		kthread_stop(t);
	}
	kdtl_probes_unregister(&probe, 1);
	if (!found)
		kunit_skip(test, "each new task was queued where it was made");
}

/* A task that wakes up on another CPU than it slept on was not moved while it waited. */
static void wake_elsewhere(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(c);
	struct kdtl_wake_entry w = {};
	struct kdtl_session *s;
	struct task_struct *t;
	int other;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	t = kthread_run(sleeper, &c, "kdtl_sleeper");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	KUNIT_EXPECT_TRUE(test, kapi_until(sleeps(t)));
	other = kapi_other_cpu(task_cpu(t));
	KUNIT_EXPECT_EQ(test, set_cpus_allowed_ptr(t, cpumask_of(other)), 0);
	s = wake_session(test);
	complete(&c);
	KUNIT_EXPECT_TRUE(test, kapi_until(task_cpu(t) == other));
	KUNIT_EXPECT_TRUE(test, s && wake_find(s, KDTL_WAKE_WOKEN, t->pid, &w));
	KUNIT_EXPECT_EQ(test, kdtl_wake_by(&w), current->pid);
	KUNIT_EXPECT_FALSE(test, s && wake_find(s, KDTL_WAKE_MOVED, t->pid, &w));
	kthread_stop(t);
}

/* Only this wake-up comes with interrupts on. */
static void wake_itself(struct kunit *test)
{
	struct kdtl_session *s = wake_session(test);
	struct kdtl_wake_entry w = {};

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	set_current_state(TASK_UNINTERRUPTIBLE);
	wake_up_process(current);
	__set_current_state(TASK_RUNNING);
	KUNIT_ASSERT_TRUE(test, wake_find(s, KDTL_WAKE_WOKEN, current->pid, &w));
	while (kdtl_wake_by(&w) != current->pid &&
	       wake_find(s, KDTL_WAKE_WOKEN, current->pid, &w))
		;
	KUNIT_EXPECT_EQ(test, kdtl_wake_by(&w), current->pid);
	KUNIT_EXPECT_TRUE(test, w.flags & KDTL_WAKE_QUEUED);
	KUNIT_EXPECT_EQ(test, kdtl_wake_state(&w), (unsigned int)TASK_UNINTERRUPTIBLE);
}

static DEFINE_MUTEX(test_mutex);
static DECLARE_RWSEM(test_rwsem);
/* How many threads have not had their lock yet. */
static atomic_t waiters;

static int waits_for_mutex(void *unused)
{
	mutex_lock(&test_mutex);
	mutex_unlock(&test_mutex);
	atomic_dec(&waiters);
	return 0;
}

static int waits_to_write(void *unused)
{
	down_write(&test_rwsem);
	up_write(&test_rwsem);
	atomic_dec(&waiters);
	return 0;
}

static int waits_to_read(void *unused)
{
	down_read(&test_rwsem);
	up_read(&test_rwsem);
	atomic_dec(&waiters);
	return 0;
}

/*
 * @fn waits for a lock that this thread holds.  It sleeps instead of spinning, because this thread
 * is not running: it sleeps in kapi_until().
 */
static void wake_contended(struct kunit *test, struct kdtl_session *s, int (*fn)(void *),
			   enum kdtl_wake_lock kind, pid_t by, u64 *arg)
{
	struct kdtl_wake_entry w = {};
	struct task_struct *t;

	atomic_inc(&waiters);
	t = kthread_run(fn, NULL, "kdtl_waiter");
	if (IS_ERR(t)) {
		atomic_dec(&waiters);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	KUNIT_EXPECT_TRUE(test, kapi_until(wake_find(s, KDTL_WAKE_CONTENDED, t->pid, &w)));
	KUNIT_EXPECT_EQ(test, kdtl_wake_by(&w), by);
	KUNIT_EXPECT_EQ(test, kdtl_wake_state(&w), (unsigned int)kind);
	KUNIT_EXPECT_EQ(test, strcmp(kdtl_wake_comm(&w), "kdtl_waiter"), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wake_syscall(&w), (unsigned int)KDTL_WAKE_NO_SYSCALL);
	KUNIT_EXPECT_NE(test, kdtl_wake_arg(&w), (u64)(unsigned long)&test_mutex);
	*arg = kdtl_wake_arg(&w);
}

static void wake_locks(struct kunit *test)
{
	const bool rt = IS_ENABLED(CONFIG_PREEMPT_RT);
	struct kdtl_session *s = wake_session(test);
	u64 mutex[2] = {}, rwsem = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	mutex_lock(&test_mutex);
	wake_contended(test, s, waits_for_mutex, rt ? KDTL_WAKE_LOCK_RT : KDTL_WAKE_LOCK_MUTEX,
		       current->pid, &mutex[0]);
	wake_contended(test, s, waits_for_mutex, rt ? KDTL_WAKE_LOCK_RT : KDTL_WAKE_LOCK_MUTEX,
		       current->pid, &mutex[1]);
	mutex_unlock(&test_mutex);
	KUNIT_EXPECT_EQ(test, mutex[0], mutex[1]);
	down_write(&test_rwsem);
	/* With PREEMPT_RT writers first take a lock that is inside the rwsem. */
	wake_contended(test, s, waits_to_write, rt ? KDTL_WAKE_LOCK_RT : KDTL_WAKE_LOCK_WRITE,
		       current->pid, &rwsem);
	wake_contended(test, s, waits_to_read, KDTL_WAKE_LOCK_READ, rt ? 0 : current->pid,
		       &rwsem);
	up_write(&test_rwsem);
	KUNIT_EXPECT_NE(test, mutex[0], rwsem);
	KUNIT_EXPECT_TRUE(test, kapi_until(!atomic_read(&waiters)));
	/* If readers hold the lock, nobody knows which of them are left. */
	down_read(&test_rwsem);
	wake_contended(test, s, waits_to_write, KDTL_WAKE_LOCK_WRITE, 0, &rwsem);
	up_read(&test_rwsem);
}

#if defined(CONFIG_QUEUED_RWLOCKS) && !defined(CONFIG_PREEMPT_RT)
static DEFINE_RWLOCK(test_rwlock);
static bool spins;

static void notes_spin(void *data, void *lock, unsigned int what)
{
	if (lock == &test_rwlock.raw_lock)
		WRITE_ONCE(spins, true);
}

static int spins_to_read(void *ended)
{
	read_lock(&test_rwlock);
	read_unlock(&test_rwlock);
	complete(ended);
	return 0;
}

/* A thread that spins for a lock does not sleep for it. */
static void wake_spins(struct kunit *test)
{
	struct kdtl_probe probe = { "contention_begin", notes_spin, .optional = true };
	const int other = kapi_other_cpu(raw_smp_processor_id());
	const unsigned long end = jiffies + 10 * HZ;
	struct kdtl_session *s = wake_session(test);
	DECLARE_COMPLETION_ONSTACK(ended);
	struct kdtl_wake_entry w = {};
	struct task_struct *t;
	pid_t pid;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	if (other < 0)
		kunit_skip(test, "needs two CPUs");
	spins = false;
	KUNIT_ASSERT_EQ(test, kdtl_probes_register(&probe, 1), 0);
	t = kthread_create_on_cpu(spins_to_read, &ended, other, "kdtl_spins/%u");
	if (!IS_ERR(t) && probe.tp) {
		pid = t->pid;
		write_lock(&test_rwlock);
		wake_up_process(t);
		while (!READ_ONCE(spins) && time_before(jiffies, end))
			cpu_relax();
		write_unlock(&test_rwlock);
		wait_for_completion(&ended);
		KUNIT_EXPECT_TRUE(test, spins);
		KUNIT_EXPECT_FALSE(test, wake_find(s, KDTL_WAKE_CONTENDED, pid, &w));
	} else if (!IS_ERR(t)) {
		kthread_stop(t);
	}
	kdtl_probes_unregister(&probe, 1);
	KUNIT_EXPECT_FALSE(test, IS_ERR(t));
}
#else
static void wake_spins(struct kunit *test)
{
	kunit_skip(test, "no lock that tells who spins");
}
#endif

#define STAY_NS		(5 * NSEC_PER_MSEC)

/**
 * struct stay - a thread that keeps its CPU
 * @other: the real-time thread that wants the CPU
 * @woken: when @other had been woken
 * @to: when the thread could be preempted again
 * @over: set when it has been
 */
struct stay {
	struct task_struct	*other;
	u64			woken;
	u64			to;
	bool			over;
};

/* With voluntary preemption only cond_resched() gives the CPU away. */
static int stays(void *data)
{
	struct stay *s = data;

	preempt_disable();
	wake_up_process(s->other);
	s->woken = local_clock();
	while (local_clock() - s->woken < STAY_NS)
		cpu_relax();
	s->to = local_clock();
	preempt_enable();
	cond_resched();
	WRITE_ONCE(s->over, true);
	return until_stopped(NULL);
}

static bool tells_kept(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kdtl_wake_probes); i++) {
		if (kdtl_wake_probes[i].probe == kdtl_wake_told)
			return kdtl_wake_probes[i].tp;
	}
	return false;
}

/* A thread has preemption disabled while a real-time thread wants its CPU. */
static void wake_kept(struct kunit *test)
{
	const int cpu = cpumask_last(cpu_online_mask);
	struct kdtl_session *s = wake_session(test);
	struct kdtl_wake_entry w = {};
	struct task_struct *t;
	struct stay stay = {};

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	if (!tells_kept())
		kunit_skip(test, "no tracepoint before Linux 7.2");
	stay.other = kthread_create(until_stopped, NULL, "kdtl_wants");
	KUNIT_ASSERT_FALSE(test, IS_ERR(stay.other));
	kthread_bind(stay.other, cpu);
	sched_set_fifo(stay.other);
	t = kthread_create(stays, &stay, "kdtl_stays");
	if (!IS_ERR(t)) {
		kthread_bind(t, cpu);
		wake_up_process(t);
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(stay.over)));
		KUNIT_EXPECT_TRUE(test, wake_find(s, KDTL_WAKE_KEPT, t->pid, &w));
		KUNIT_EXPECT_GE(test, kdtl_wake_arg(&w), stay.to - stay.woken);
		KUNIT_EXPECT_GE(test, kdtl_wake_time(&w) + NSEC_PER_MSEC, stay.to);
		KUNIT_EXPECT_EQ(test, (int)kdtl_wake_cpu(&w), cpu);
		KUNIT_EXPECT_EQ(test, kdtl_wake_syscall(&w), (unsigned int)KDTL_WAKE_NO_SYSCALL);
		kthread_stop(t);
	}
	kthread_stop(stay.other);
	KUNIT_EXPECT_FALSE(test, IS_ERR(t));
}

/*
 * What a wake-up costs that a program causes in a system call.  The probe is called through a
 * pointer, as tracepoints do.  Only an emulator whose clock counts instructions can tell;
 * host/cost.sh looks at it.
 */
#define WAKES		1000

static void wake_cost(struct kunit *test)
{
	void (*probe)(void *data, struct task_struct *t) = kdtl_wake_waking;
	struct kdtl_session *s = wake_session(test);
	struct task_struct *t;
	unsigned long flags;
	u64 empty, wakes;
	struct pid *init;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	init = find_get_pid(1);
	t = get_pid_task(init, PIDTYPE_PID);
	put_pid(init);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t);
	OPTIMIZER_HIDE_VAR(probe);
	local_irq_save(flags);
	probe(NULL, t);
	empty = get_cycles();
	for (i = 0; i < WAKES; i++)
		barrier();
	empty = get_cycles() - empty;
	wakes = get_cycles();
	for (i = 0; i < WAKES; i++)
		probe(NULL, t);
	wakes = get_cycles() - wakes;
	local_irq_restore(flags);
	put_task_struct(t);
	kunit_info(test, "woken cycles=%lld", div_s64(wakes - empty, WAKES));
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_UNKNOWN, -1) > WAKES, true);
}

static int wake_suite_init(struct kunit_suite *suite)
{
	return kdtl_wake_init();
}

static void wake_suite_exit(struct kunit_suite *suite)
{
	kdtl_wake_exit();
}

static struct kunit_case wake_cases[] = {
	KUNIT_CASE(wake_refused),
	KUNIT_CASE(wake_probes),
	KUNIT_CASE(wake_mixed),
	KUNIT_CASE(wake_by),
	KUNIT_CASE(wake_first),
	KUNIT_CASE(wake_elsewhere),
	KUNIT_CASE(wake_itself),
	KUNIT_CASE(wake_locks),
	KUNIT_CASE(wake_spins),
	KUNIT_CASE(wake_kept),
	KUNIT_CASE(wake_cost),
	{ }
};

struct kunit_suite kdtl_wake_suite = {
	.name		= "kdtl_wake",
	.suite_init	= wake_suite_init,
	.suite_exit	= wake_suite_exit,
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= wake_cases,
};
