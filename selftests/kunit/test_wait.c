// SPDX-License-Identifier: GPL-2.0
/* Waiting: who is woken, by what and with what result, and that no wake-up is lost */
#include <linux/irq_work.h>
#include <linux/kdtl_probes.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>

#include "../../core/session.h"
#include "kapi.h"

/* --------------------------------------------------------------- one sleeper */

/* The caller's own completion.  It is static, because the session may outlive a case that fails. */
static struct completion wait_done;

static struct kdtl_session *wait_session(struct kunit *test, unsigned int watermark)
{
	init_completion(&wait_done);
	return kapi_session_of(test, 1, watermark, &wait_done);
}

enum wait_verb { WAIT_READ, WAIT_WAIT, WAIT_LATE, WAIT_OWN };

/* WAIT_LATE is kdtl_wait() with a timeout, called by this task; see wait_late(). */
static struct task_struct *wait_late_task;

/* A thread that sleeps in one verb. */
struct wait_sleeper {
	struct kdtl_session	*s;
	enum wait_verb		verb;
	ssize_t			ret;
	struct kdtl_msg		msg;
	struct completion	ended;
	struct task_struct	*task;
};

static int wait_sleep(void *arg)
{
	struct wait_sleeper *m = arg;

	allow_signal(SIGUSR1);
	switch (m->verb) {
	case WAIT_READ:
		m->ret = kdtl_read(m->s, &m->msg, sizeof(m->msg), false);
		break;
	case WAIT_WAIT:
		m->ret = kdtl_wait(m->s, MAX_SCHEDULE_TIMEOUT);
		break;
	case WAIT_LATE:
		WRITE_ONCE(wait_late_task, current);
		m->ret = kdtl_wait(m->s, msecs_to_jiffies(300));
		break;
	case WAIT_OWN:
		m->ret = wait_for_completion_interruptible(&wait_done);
		break;
	}
	complete_all(&m->ended);
	while (!kthread_should_stop()) {
		if (kthread_should_park())
			kthread_parkme();
		schedule_timeout_idle(1);
	}
	return 0;
}

/* Create the thread; wait_begin() lets it begin. */
static void wait_create(struct kunit *test, struct wait_sleeper *m,
			struct kdtl_session *s, enum wait_verb verb)
{
	struct task_struct *task;

	m->s = s;
	m->verb = verb;
	m->ret = -EBADE;
	init_completion(&m->ended);
	task = kthread_create(wait_sleep, m, "kdtl_sleeper");
	m->task = IS_ERR(task) ? NULL : task;
	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
}

/* Returns when the thread sleeps, or has returned from its verb. */
static bool wait_begin(struct wait_sleeper *m)
{
	if (!m->task)
		return false;
	wake_up_process(m->task);
	return kapi_until(completion_done(&m->ended) ||
			  READ_ONCE(m->task->__state) == TASK_INTERRUPTIBLE);
}

static bool wait_start(struct kunit *test, struct wait_sleeper *m,
		       struct kdtl_session *s, enum wait_verb verb)
{
	wait_create(test, m, s, verb);
	return wait_begin(m);
}

static bool wait_sleeps(struct wait_sleeper *m)
{
	return !wait_for_completion_timeout(&m->ended, msecs_to_jiffies(50));
}

/* Returns what the verb returned, or -EBADE if it did not return. */
static ssize_t wait_ended(struct wait_sleeper *m)
{
	wait_for_completion_timeout(&m->ended, KAPI_FOREVER);
	kthread_stop(m->task);
	return m->ret;
}

/*
 * A thread that is left in the session would hang the end of the test.  If nothing else woke it, a
 * signal does.
 */
static ssize_t wait_result(struct kunit *test, struct wait_sleeper *m)
{
	const bool woken = wait_for_completion_timeout(&m->ended, KAPI_FOREVER);

	KUNIT_EXPECT_TRUE(test, woken);
	if (!woken)
		send_sig(SIGUSR1, m->task, 1);
	return wait_ended(m);
}

static bool wait_start_on(struct kunit *test, struct wait_sleeper *m, struct kdtl_session *s,
			  enum wait_verb verb, int cpu)
{
	wait_create(test, m, s, verb);
	if (m->task)
		kthread_bind(m->task, cpu);
	return wait_begin(m);
}

static int wait_holder(void *held)
{
	const unsigned long end = jiffies + 10 * HZ;

	preempt_disable();
	WRITE_ONCE(*(bool *)held, true);
	while (!kthread_should_stop() && time_before(jiffies, end))
		cpu_relax();
	preempt_enable();
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/*
 * Have a task take CPU 1 until kthread_stop(), but not so long that a watchdog bites.  It is a
 * real-time task, to get the CPU at once, and not preempted, because the limit on real-time tasks
 * takes effect if a host stops the machine for a second.
 */
static struct task_struct *wait_hold(struct kunit *test)
{
	static bool held;
	struct task_struct *holder;

	held = false;
	holder = kthread_create_on_cpu(wait_holder, &held, 1, "kdtl_holder/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(holder));
	sched_set_fifo(holder);
	wake_up_process(holder);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(held)));
	return holder;
}

/* A reader that wants overflows only is not woken for data, but it is for a stop. */
static void wait_chosen(struct kunit *test)
{
	struct kdtl_session *s = kapi_overflows_only(test);
	struct wait_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)sizeof(m.msg));
	KUNIT_EXPECT_EQ(test, m.msg.type, KDTL_MSG_OVERFLOW + 0);

	KUNIT_ASSERT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), 0L);
}

static void wait_blocking(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 10 * KDTL_ENTRY_SIZE, NULL);
	struct wait_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_ASSERT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)sizeof(m.msg));
	KUNIT_EXPECT_EQ(test, m.msg.type, KDTL_MSG_AUX + 0);
	KUNIT_EXPECT_EQ(test, m.msg.aux.size, 10ULL * KDTL_ENTRY_SIZE);

	kapi_drain(s, 0);
	KUNIT_ASSERT_TRUE(test, wait_start(test, &m, s, WAIT_WAIT));
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)1);
}

/* If someone else completes the caller's completion, a verb returns 0, and only once. */
static void wait_other(struct kunit *test)
{
	struct kdtl_session *s = wait_session(test, 0);
	enum wait_verb verb;
	struct wait_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (verb = WAIT_READ; verb <= WAIT_WAIT; verb++) {
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, verb));
		KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
		complete(&wait_done);
		KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
		/* If nobody waits then, the next one that would wait does not. */
		complete(&wait_done);
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, verb));
		KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
		KUNIT_EXPECT_FALSE(test, completion_done(&wait_done));
	}
	kapi_close(test);
}

static void wait_signal(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	enum wait_verb verb;
	struct wait_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (verb = WAIT_READ; verb <= WAIT_WAIT; verb++) {
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, verb));
		KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
		send_sig(SIGUSR1, m.task, 1);
		KUNIT_EXPECT_EQ(test, wait_ended(&m), (ssize_t)-ERESTARTSYS);
	}
}

static void wait_thread_stop(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	enum wait_verb verb;
	struct wait_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (verb = WAIT_READ; verb <= WAIT_WAIT; verb++) {
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, verb));
		KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
		kthread_stop(m.task);
		KUNIT_EXPECT_EQ(test, m.ret, (ssize_t)0);
	}
}

static struct task_struct *wait_parked;

static void wait_park_timeout(struct work_struct *work)
{
	send_sig(SIGUSR1, wait_parked, 1);
}

/* When a CPU goes, its threads are parked, and whoever parks a thread waits until it is parked. */
static void wait_thread_park(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	struct delayed_work timeout;
	struct wait_sleeper m;
	enum wait_verb verb;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	INIT_DELAYED_WORK_ONSTACK(&timeout, wait_park_timeout);
	for (verb = WAIT_READ; verb <= WAIT_WAIT; verb++) {
		if (!wait_start(test, &m, s, verb))
			break;
		KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
		wait_parked = m.task;
		schedule_delayed_work(&timeout, KAPI_FOREVER);
		KUNIT_EXPECT_EQ(test, kthread_park(m.task), 0);
		cancel_delayed_work_sync(&timeout);
		kthread_unpark(m.task);
		KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
	}
	destroy_delayed_work_on_stack(&timeout);
}

/*
 * A close ends all waits, also in a session that it has to stop and unload first, and leaves no
 * count.
 */
static void wait_close(struct kunit *test)
{
	struct wait_sleeper m[6];
	struct kdtl_session *s;
	unsigned int i, started;

	for (started = 0; started < 2; started++) {
		s = wait_session(test, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		if (started)
			KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		for (i = 0; i < ARRAY_SIZE(m); i++)
			KUNIT_EXPECT_TRUE(test, wait_start(test, &m[i], s, i & 1 ?
							       WAIT_READ : WAIT_WAIT));
		kapi_close(test);
		for (i = 0; i < ARRAY_SIZE(m); i++)
			KUNIT_EXPECT_EQ(test, wait_result(test, &m[i]), (ssize_t)-ESHUTDOWN);
		KUNIT_EXPECT_EQ(test, wait_done.done, 0U);
	}
}

/*
 * A client that sleeps in the completion itself, and came first, takes the wake-up of a close; the
 * close still ends the waits in verbs.
 */
static void wait_close_beside(struct kunit *test)
{
	struct wait_sleeper own, m;
	struct kdtl_session *s;
	unsigned int started;

	for (started = 0; started < 2; started++) {
		s = wait_session(test, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		if (started)
			KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		KUNIT_EXPECT_TRUE(test, wait_start(test, &own, s, WAIT_OWN));
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_WAIT));
		kapi_close(test);
		KUNIT_EXPECT_EQ(test, wait_ended(&own), (ssize_t)0);
		KUNIT_EXPECT_EQ(test, wait_ended(&m), (ssize_t)-ESHUTDOWN);
	}
}

/* After all messages have been read, the next read sleeps: no count is left in the completion. */
static void wait_no_stale(struct kunit *test)
{
	struct kdtl_session *s = wait_session(test, KDTL_ENTRY_SIZE);
	struct wait_sleeper m;
	unsigned int i, nr;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (nr = 1; nr <= 10; nr++) {
		for (i = 0; i < nr; i++)
			kapi_emit(i % num_online_cpus(), KDTL_KIND_CEDE, 1);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ(test, kapi_msg(test, s).type, KDTL_MSG_AUX + 0);
		KUNIT_EXPECT_FALSE(test, completion_done(&wait_done));
	}
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)sizeof(m.msg));

	/* A load leaves no count of messages that it drops. */
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)sizeof(m.msg));
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, wait_done.done, 0U);
}

/* A dropped message wakes as well: once the queue is read, a read returns 0. */
static void wait_dropped_wakes(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	struct wait_sleeper m;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, KAPI_MSG_SLOTS);
	for (i = 0; i < KAPI_MSG_SLOTS; i++)
		kapi_msg(test, s);
	/* The AUX message of these entries found the queue full. */
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)sizeof(m.msg));
	KUNIT_EXPECT_EQ(test, m.msg.dropped, 1ULL);
}

/*
 * If the client has completed the completion for all, for good, no wake-up takes a count from it.
 */
static void wait_completed_for_all(struct kunit *test)
{
	struct kdtl_session *s = wait_session(test, KDTL_ENTRY_SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	complete_all(&wait_done);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, wait_done.done, UINT_MAX);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, wait_done.done, UINT_MAX);
}

/* A reader of messages that has no use for a wake-up leaves it to others. */
static void wait_passes_on(struct kunit *test)
{
	struct kdtl_session *s = kapi_overflows_only(test);
	struct wait_sleeper m[2];

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_TRUE(test, wait_start(test, &m[0], s, WAIT_READ));
	KUNIT_ASSERT_TRUE(test, wait_start(test, &m[1], s, WAIT_WAIT));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[1]), (ssize_t)1);
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m[0]));
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[0]), 0L);
}

/*
 * The same holds for wake-ups without a watermark of data, after which the data alone would not end
 * a wait: a period is over, or the first entry is lost.
 */
static void wait_passes_on_all(struct kunit *test)
{
	const struct {
		const char	*what;
		u64		period;		/* ns */
		unsigned int	emit;
	} cases[] = {
		{ "period", 10 * NSEC_PER_MSEC, 1 },
		{ "loss", 0, PAGE_SIZE / KDTL_ENTRY_SIZE + 1 },
	};
	struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.watermark	= PAGE_SIZE,
		.msg_pages	= 1,
		.msg_types	= 1 << KDTL_MSG_OVERFLOW,
	};
	struct wait_sleeper m[2], reader[2];
	struct kdtl_session *s;
	unsigned int i, round;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		kunit_info(test, "%s", cases[i].what);
		attr.period = cases[i].period;
		s = kapi_started(test, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		KUNIT_ASSERT_TRUE(test, wait_start(test, &m[0], s, WAIT_READ));
		for (round = 0; round < 3; round++) {
			KUNIT_EXPECT_TRUE(test, wait_start(test, &m[1], s, WAIT_WAIT));
			kapi_emit(0, KDTL_KIND_CEDE, cases[i].emit);
			KUNIT_EXPECT_EQ(test, wait_result(test, &m[1]), (ssize_t)1);
			kapi_drain(s, 0);
		}
		/* The wake-up is passed on by each of several readers. */
		KUNIT_EXPECT_TRUE(test, wait_start(test, &reader[0], s, WAIT_READ));
		KUNIT_EXPECT_TRUE(test, wait_start(test, &reader[1], s, WAIT_READ));
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[1], s, WAIT_WAIT));
		kapi_emit(0, KDTL_KIND_CEDE, cases[i].emit);
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[1]), (ssize_t)1);
		KUNIT_EXPECT_TRUE(test, wait_sleeps(&reader[0]));
		KUNIT_EXPECT_TRUE(test, wait_sleeps(&reader[1]));
		kapi_drain(s, 0);
		/* Data that has been read meanwhile is no reason to return. */
		kapi_emit(0, KDTL_KIND_CEDE, cases[i].emit);
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(s->pending) == KDTL_PENDING_DATA));
		kapi_drain(s, 0);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		/* A waiter that was busy when the wake-up came finds it later. */
		kapi_emit(0, KDTL_KIND_CEDE, cases[i].emit);
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(s->pending) == KDTL_PENDING_DATA));
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		KUNIT_EXPECT_TRUE(test, wait_sleeps(&m[0]));
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[0]), 0L);
		KUNIT_EXPECT_EQ(test, wait_result(test, &reader[0]), 0L);
		KUNIT_EXPECT_EQ(test, wait_result(test, &reader[1]), 0L);
		kapi_close(test);
	}
}

/* The wake-up is also passed on if the last message that was read took it along. */
static void wait_passes_on_last(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.msg_pages	= 1,
		.msg_types	= 1 << KDTL_MSG_OVERFLOW,
	};
	struct kdtl_session *s = kapi_create(test, &attr);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_FAULT), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(s->pending)));
	KUNIT_EXPECT_EQ(test, kapi_msg(test, s).type, KDTL_MSG_OVERFLOW + 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	kapi_drain(s, 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

/* It is passed on, too, if that message was for another reader, which has not run yet. */
static void wait_passes_on_taken(struct kunit *test)
{
	struct task_struct *holder;
	struct wait_sleeper m[2];
	struct kdtl_session *s;

	if (!cpu_online(1))
		kunit_skip(test, "CPU 1 is not there");
	s = kapi_overflows_only(test);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_TRUE(test, wait_start_on(test, &m[0], s, WAIT_READ, 1));
	holder = wait_hold(test);
	KUNIT_EXPECT_TRUE(test, wait_start_on(test, &m[1], s, WAIT_WAIT, 0));
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(s->pending)));
	KUNIT_EXPECT_EQ(test, kapi_msg(test, s).type, KDTL_MSG_OVERFLOW + 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[1]), (ssize_t)1);
	kthread_stop(holder);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[0]), 0L);
}

/* A client may call this in a wait condition of its own: it does not change the task's state. */
static void wait_looks_only(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, KDTL_ENTRY_SIZE, NULL);
	unsigned int entries, state;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (entries = 0; entries < 2; entries++) {
		kapi_emit(0, KDTL_KIND_CEDE, entries);
		set_current_state(TASK_INTERRUPTIBLE);
		kdtl_wait(s, 0);
		state = READ_ONCE(current->__state);
		__set_current_state(TASK_RUNNING);
		KUNIT_EXPECT_EQ(test, state, (unsigned int)TASK_INTERRUPTIBLE);
	}
}

/* Without message pages there is never a message, but there are wake-ups. */
static void wait_none(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 0, 10 * KDTL_ENTRY_SIZE, NULL);
	struct wait_sleeper m;
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_READ));
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
}

/* One thread reads messages and another one waits for data: each gets what it waits for. */
static void wait_two_waiters(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 10 * KDTL_ENTRY_SIZE, NULL);
	struct wait_sleeper m[2];
	unsigned int first;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (first = 0; first < 2; first++) {
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[first], s, first));
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[!first], s, !first));
		kapi_emit(0, KDTL_KIND_CEDE, 10);
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[WAIT_READ]),
				(ssize_t)sizeof(m[0].msg));
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[WAIT_WAIT]), (ssize_t)1);
		kapi_drain(s, 0);
		kdtl_wait(s, 0);
	}
}

/*
 * A third thread also reads messages, and gets none: it must not keep the wake-up for data from the
 * one that waits for data.
 */
static void wait_three_waiters(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 10 * KDTL_ENTRY_SIZE, NULL);
	struct wait_sleeper m[3];
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[i], s, i < 2 ? WAIT_READ : WAIT_WAIT));
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[2]), (ssize_t)1);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[0]), (ssize_t)sizeof(m[0].msg));
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m[1]));
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[1]), (ssize_t)0);
}

#ifdef CONFIG_KPROBES
static bool wait_late_held, wait_late_go;

/* Called where the waiter is to be late: it goes on when the wake-up has come. */
static int wait_late_hold(struct kprobe *kp, struct pt_regs *regs)
{
	unsigned long left = 1UL << 30;

	if (current != READ_ONCE(wait_late_task))
		return 0;
	WRITE_ONCE(wait_late_held, true);
	while (!READ_ONCE(wait_late_go) && left--)
		cpu_relax();
	return 0;
}

/* Start a session, and have the waiter be late where it calls the function of the probe. */
static struct kdtl_session *wait_late_begin(struct kunit *test, struct kprobe *probe)
{
	struct kdtl_session *s;
	int err;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	s = kapi_session_of(test, 0, KDTL_ENTRY_SIZE, NULL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	wait_late_task = NULL;
	wait_late_held = false;
	wait_late_go = false;
	probe->pre_handler = wait_late_hold;
	err = register_kprobe(probe);
	KUNIT_EXPECT_NE(test, err, -ENOENT);	/* the function has another name now */
	if (err)
		kunit_skip(test, "no kprobe: %d", err);
	return s;
}

/* The wake-up comes, which @other may take at once, and then the waiter goes on. */
static void wait_late_wake(struct kunit *test, struct kdtl_session *s, struct wait_sleeper *other)
{
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(wait_late_held)));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(s->pending) ||
					   (other && completion_done(&other->ended))));
	WRITE_ONCE(wait_late_go, true);
}

/*
 * A wake-up that comes while a waiter is giving up ends that wait, or the wait of another: until
 * the waiter has left the queue, the wake-up can still find it there.
 */
static void wait_late(struct kunit *test)
{
	struct kprobe probe = { .symbol_name = "finish_swait" };
	struct kdtl_session *s = wait_late_begin(test, &probe);
	struct wait_sleeper m[2];
	int i;

	/*
	 * The waiter that is to be late is the first in the queue.  It may be late before the other
	 * one comes, and then takes all of its CPU, so the two are on different CPUs.
	 */
	for (i = 0; i < 2; i++) {
		wait_create(test, &m[i], s, i ? WAIT_WAIT : WAIT_LATE);
		if (m[i].task)
			kthread_bind(m[i].task, !i);
	}
	/* If a host stops the machine for its timeout, it is late before it is seen asleep. */
	if (m[0].task) {
		wake_up_process(m[0].task);
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(wait_late_held) ||
						   READ_ONCE(m[0].task->__state) ==
						   TASK_INTERRUPTIBLE));
	}
	KUNIT_EXPECT_TRUE(test, wait_begin(&m[1]));
	wait_late_wake(test, s, &m[1]);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[1]), (ssize_t)1);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m[0]), (ssize_t)1);
	wait_late_task = NULL;
	unregister_kprobe(&probe);
}

/* Nor is a wake-up a count of others if it comes when the waiter is about to look for these. */
static void wait_late_own(struct kunit *test)
{
	struct kprobe probe = { .symbol_name = "kdtl_session_take_foreign" };
	struct kdtl_session *s = wait_late_begin(test, &probe);
	struct wait_sleeper m;

	wait_create(test, &m, s, WAIT_LATE);
	if (m.task) {
		kthread_bind(m.task, 1);
		wake_up_process(m.task);
		wait_late_wake(test, s, NULL);
		KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)1);
	}
	wait_late_task = NULL;
	unregister_kprobe(&probe);
}
#else
static void wait_late(struct kunit *test)
{
	kunit_skip(test, "no kprobes");
}

static void wait_late_own(struct kunit *test)
{
	kunit_skip(test, "no kprobes");
}
#endif

/**
 * struct wait_steps - wake-ups of waiters by one of them
 * @irq: an interrupt, which comes as soon as the CPU may be interrupted
 * @m: the waiters
 * @nr: how many were woken by a task
 * @since: how many of these since the last @irq
 * @most: the highest number of @since
 */
static struct wait_steps {
	struct irq_work		irq;
	struct wait_sleeper	m[8];
	unsigned int		nr;
	unsigned int		since;
	unsigned int		most;
} wait_steps;

static void wait_steps_irq(struct irq_work *irq)
{
	wait_steps.since = 0;
}

/* All waiters are on one CPU, and interrupts are off here. */
static void wait_steps_woken(void *data, struct task_struct *t)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wait_steps.m) && wait_steps.m[i].task != t; i++)
		;
	if (i == ARRAY_SIZE(wait_steps.m) || !in_task())
		return;
	wait_steps.nr++;
	wait_steps.most = max(wait_steps.most, ++wait_steps.since);
	irq_work_queue(&wait_steps.irq);
}

/*
 * A waiter that wakes all others lets interrupts in between one and the next: if it did not, they
 * would be off for as long as there are waiters.
 */
static void wait_one_by_one(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 0, 10 * KDTL_ENTRY_SIZE, NULL);
	struct kdtl_probe probe = { "sched_waking", wait_steps_woken };
	struct wait_steps *steps = &wait_steps;
	unsigned int i;

	/*
	 * POWER's is the decrementer's, which an emulator may serve too late to be seen here.
	 * 32-bit Arm looks at a variable that modules cannot see.
	 */
	if (IS_ENABLED(CONFIG_PPC) || IS_ENABLED(CONFIG_ARM) || !arch_irq_work_has_interrupt())
		kunit_skip(test, "no interrupt that a CPU can send to itself at once");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	memset(steps, 0, sizeof(*steps));
	steps->irq = IRQ_WORK_INIT_HARD(wait_steps_irq);
	for (i = 0; i < ARRAY_SIZE(steps->m); i++) {
		wait_create(test, &steps->m[i], s, WAIT_WAIT);
		if (steps->m[i].task)
			kthread_bind(steps->m[i].task, cpumask_last(cpu_online_mask));
		KUNIT_EXPECT_TRUE(test, wait_begin(&steps->m[i]));
	}
	KUNIT_EXPECT_EQ(test, kdtl_probes_register(&probe, 1), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	for (i = 0; i < ARRAY_SIZE(steps->m); i++)
		wait_for_completion_timeout(&steps->m[i].ended, KAPI_FOREVER);
	kdtl_probes_unregister(&probe, 1);
	irq_work_sync(&steps->irq);
	for (i = 0; i < ARRAY_SIZE(steps->m); i++)
		KUNIT_EXPECT_EQ(test, wait_result(test, &steps->m[i]), (ssize_t)1);
	kunit_info(test, "%u were woken by a task, at most %u without an interrupt between",
		   steps->nr, steps->most);
	KUNIT_EXPECT_GE(test, steps->nr, (unsigned int)ARRAY_SIZE(steps->m) - 1);
	/* An interrupt controller may take a moment. */
	KUNIT_EXPECT_LE(test, steps->most, 2U);
}

/* After a close has returned, the caller's completion is left alone. */
static void wait_after_close(struct kunit *test)
{
	struct kdtl_session *s = wait_session(test, KDTL_ENTRY_SIZE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&wait_done));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	/* No verb is used here: this is what a client's own wait_for_completion() sees. */
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&wait_done, KAPI_FOREVER) > 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&wait_done));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	kapi_close(test);
	KUNIT_EXPECT_FALSE(test, completion_done(&wait_done));
	kapi_emit(0, KDTL_KIND_CEDE, 100);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, completion_done(&wait_done));
}

/* Nor does a session leave a count for the next one, which would take it for someone else's. */
static void wait_cycles(struct kunit *test)
{
	struct kdtl_session *s;
	unsigned int i, others = 0;

	init_completion(&wait_done);
	for (i = 0; i < 10; i++) {
		s = kapi_session_of(test, i & 1, KDTL_ENTRY_SIZE, &wait_done);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		if (i != 2) {
			KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
			others += kdtl_wait(s, 0) == 0;
			kapi_emit(0, KDTL_KIND_CEDE, i % 3);
		}
		kapi_close(test);
	}
	KUNIT_EXPECT_EQ(test, others, 0U);
	KUNIT_EXPECT_EQ(test, wait_done.done, 0U);

	/* A count that is someone else's stays. */
	s = kapi_session_of(test, 0, KDTL_ENTRY_SIZE, &wait_done);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	complete(&wait_done);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, wait_done.done, 1U);
}

/* A client that sleeps in its own wait_for_completion() is woken by a close, too. */
static void wait_close_own(struct kunit *test)
{
	struct kdtl_session *s = wait_session(test, 0);
	struct wait_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_OWN));
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
	/* The unload and the close each wake; one of these wake-ups may be left. */
	KUNIT_EXPECT_LE(test, wait_done.done, 1U);
}

/* That client cannot run before the close is over: its wake-up is still there then. */
static void wait_close_own_late(struct kunit *test)
{
	struct task_struct *holder;
	struct wait_sleeper m;
	struct kdtl_session *s;

	if (!cpu_online(1))
		kunit_skip(test, "CPU 1 is not there");
	s = wait_session(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_TRUE(test, wait_start_on(test, &m, s, WAIT_OWN, 1));
	holder = wait_hold(test);
	kapi_close(test);
	kthread_stop(holder);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
}

/* The same holds if the wake-up that reached it first is taken by another, with its count. */
static void wait_close_own_taken(struct kunit *test)
{
	struct task_struct *holder;
	struct wait_sleeper m;
	struct kdtl_session *s;

	if (!cpu_online(1))
		kunit_skip(test, "CPU 1 is not there");
	s = wait_session(test, KDTL_ENTRY_SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_TRUE(test, wait_start_on(test, &m, s, WAIT_OWN, 1));
	holder = wait_hold(test);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(s->pending)));
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, wait_done.done, 0U);
	kapi_close(test);
	kthread_stop(holder);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
}

/**
 * struct wait_closing - a close beside a verb that has been woken and runs late
 * @s: the session
 * @closed: the close has returned
 * @closer: its thread
 */
struct wait_closing {
	struct kdtl_session	*s;
	bool			closed;
	struct task_struct	*closer;
};

static int wait_closer(void *arg)
{
	struct wait_closing *c = arg;

	kdtl_session_close(c->s);
	WRITE_ONCE(c->closed, true);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/* Wait in a verb, then let nobody of normal priority have the CPU before the close is over. */
static int wait_before_close(void *arg)
{
	struct wait_closing *c = arg;
	const unsigned long end = jiffies + 20 * HZ;
	int ret = kdtl_wait(c->s, MAX_SCHEDULE_TIMEOUT);

	while (!READ_ONCE(c->closed) && time_before(jiffies, end))
		cpu_relax();
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return ret;
}

/*
 * A client that sleeps in the completion itself is late, and so was a verb, which had been woken
 * before it: the close takes no count from the client.
 */
static void wait_close_own_behind(struct kunit *test)
{
	struct task_struct *holder, *verb;
	struct wait_closing c = {};
	struct wait_sleeper m;

	if (!cpu_online(1))
		kunit_skip(test, "CPU 1 is not there");
	c.s = wait_session(test, KDTL_ENTRY_SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, c.s);
	KUNIT_EXPECT_EQ(test, kapi_go(c.s), 0);
	verb = kthread_create_on_cpu(wait_before_close, &c, 1, "kdtl_verb/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(verb));
	c.closer = kthread_create_on_cpu(wait_closer, &c, 0, "kdtl_closer/%u");
	if (IS_ERR(c.closer)) {
		kthread_stop(verb);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	sched_set_fifo_low(verb);
	wake_up_process(verb);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(verb->__state) == TASK_INTERRUPTIBLE));
	KUNIT_EXPECT_TRUE(test, wait_start_on(test, &m, c.s, WAIT_OWN, 1));
	holder = wait_hold(test);
	/* This wakes the verb, and the close the client, but both are behind the holder. */
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(c.s->pending)));
	test->priv = NULL;
	wake_up_process(c.closer);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(c.s->closing) &&
					   READ_ONCE(c.closer->__state) == TASK_UNINTERRUPTIBLE));
	kthread_stop(holder);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(c.closed)));
	KUNIT_EXPECT_EQ(test, kthread_stop(verb), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)0);
	kthread_stop(c.closer);
}

/* A timeout is over no earlier than asked for; with timeout 0 there is no sleep. */
static void wait_timeout(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 10 * KDTL_ENTRY_SIZE, NULL);
	const unsigned long timeout = msecs_to_jiffies(30);
	unsigned long before;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, -1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, LONG_MIN), -EINVAL);
	/*
	 * This compares jiffies, in which the timeout is counted: a virtual CPU that was away makes
	 * up for its ticks at once, and then they pass faster than ktime.
	 */
	before = jiffies;
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, timeout), -ETIMEDOUT);
	KUNIT_EXPECT_GE(test, jiffies - before, timeout);
	/* Less data than the watermark does not end a wait. */
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 1), -ETIMEDOUT);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	/* It is found without a sleep, too, and as long as it is not read. */
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_AUX), 1U);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, MAX_SCHEDULE_TIMEOUT), 1);
	kapi_drain(s, 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

static void wait_consume(struct kunit *test, struct kdtl_session *s, int cpu,
			 unsigned int nr)
{
	const void *span;

	KUNIT_EXPECT_GE(test, kdtl_aux_peek(s, cpu, &span), (ssize_t)nr * KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, cpu, nr * KDTL_ENTRY_SIZE), 0);
}

/* Unread data counts, even if a reader leaves a part of it. */
static void wait_partly_read(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 0, 10 * KDTL_ENTRY_SIZE, NULL);
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for_each_online_cpu(cpu) {
		kapi_emit(cpu, KDTL_KIND_CEDE, 10);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		wait_consume(test, s, cpu, 5);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		/*
		 * Unread data has reached the watermark again, although the writer has not crossed
		 * the next one.
		 */
		kapi_emit(cpu, KDTL_KIND_CEDE, 5);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		wait_consume(test, s, cpu, 8);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		/* The writer has crossed it. */
		kapi_emit(cpu, KDTL_KIND_CEDE, 5);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		kapi_emit(cpu, KDTL_KIND_CEDE, 3);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		wait_consume(test, s, cpu, 3);
	}
	/* Seven entries are left on each CPU.  While the session is stopped, that is enough. */
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		wait_consume(test, s, cpu, 7);
	}
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

/* Two sessions share a completion: to take a wake-up of one leaves that of the other. */
static void wait_shared(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.watermark	= 10 * KDTL_ENTRY_SIZE,
		.done		= &wait_done,
	};
	struct kdtl_session *a, *b;
	unsigned int i;

	init_completion(&wait_done);
	a = kapi_create(test, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	b = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b));
	KUNIT_EXPECT_EQ(test, kapi_go(a), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(b), 0);
	/*
	 * Each session has crossed a watermark; to cross another one adds nothing to the
	 * completion.
	 */
	for (i = 0; i < 2; i++)
		kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_EQ(test, wait_done.done, 2U);
	KUNIT_EXPECT_EQ(test, kdtl_wait(a, 0), 1);
	kapi_drain(a, 0);
	KUNIT_EXPECT_TRUE(test, completion_done(&wait_done));
	/* To session a, the wake-up of b is someone else's. */
	KUNIT_EXPECT_EQ(test, kdtl_wait(a, HZ), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(b, 0), 1);
	kapi_drain(b, 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(a, 0), -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, kdtl_wait(b, 0), -ETIMEDOUT);
	KUNIT_EXPECT_FALSE(test, completion_done(&wait_done));
	kdtl_session_close(b);
}

/*
 * If nobody waits by verbs, a count may be from either session: to close one leaves a count for the
 * other.
 */
static void wait_shared_own(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.watermark	= 10 * KDTL_ENTRY_SIZE,
		.done		= &wait_done,
	};
	struct kdtl_session *a, *b;

	init_completion(&wait_done);
	a = kapi_started(test, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	b = kdtl_session_create(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b));
	KUNIT_EXPECT_EQ(test, kapi_go(b), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(wait_done.done) == 2));
	KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&wait_done));
	kdtl_session_close(b);
	KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&wait_done));
}

/* Its thread reads nothing, so kdtl_wait() never sleeps; it goes on until @other is set. */
struct wait_hog {
	struct kdtl_session	*s;
	struct rcu_head		rcu;
	unsigned long		limit;	/* jiffies after which it gives up */
	bool			other;
	bool			gave_way;
	struct completion	ended;
};

static int wait_hog(void *arg)
{
	struct wait_hog *h = arg;
	const unsigned long end = jiffies + h->limit;

	while (!READ_ONCE(h->other) && time_before(jiffies, end))
		kdtl_wait(h->s, HZ);
	h->gave_way = READ_ONCE(h->other);
	complete(&h->ended);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/*
 * Create the thread, but do not wake it yet.  Nobody reads the entry, so each kdtl_wait() finds it.
 */
static struct task_struct *wait_hog_create(struct kunit *test, struct wait_hog *h)
{
	struct task_struct *hog;

	h->s = wait_session(test, KDTL_ENTRY_SIZE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, h->s);
	KUNIT_ASSERT_EQ(test, kapi_go(h->s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	init_completion(&h->ended);
	hog = kthread_create(wait_hog, h, "kdtl_hog");
	KUNIT_ASSERT_FALSE(test, IS_ERR(hog));
	return hog;
}

static int wait_other_thread(void *arg)
{
	struct wait_hog *h = arg;

	WRITE_ONCE(h->other, true);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/* A reader that cannot keep up does not keep the CPU from others. */
static void wait_gives_way(struct kunit *test)
{
	struct wait_hog h = { .limit = 10 * HZ };
	struct task_struct *hog = wait_hog_create(test, &h), *other;

	kthread_bind(hog, 0);
	other = kthread_create(wait_other_thread, &h, "kdtl_other");
	if (IS_ERR(other)) {
		kthread_stop(hog);
		KUNIT_FAIL(test, "no thread");
		return;
	}
	kthread_bind(other, 0);
	/* Both wait for this CPU.  The one that gets it first has to let it go again. */
	preempt_disable();
	wake_up_process(hog);
	wake_up_process(other);
	preempt_enable();
	wait_for_completion(&h.ended);
	KUNIT_EXPECT_TRUE(test, h.gave_way);
	kthread_stop(other);
	kthread_stop(hog);
}

static void wait_rcu_ended(struct rcu_head *rcu)
{
	WRITE_ONCE(container_of(rcu, struct wait_hog, rcu)->other, true);
}

/*
 * Nor does it hold up Tasks RCU, which waits until each task has slept or said that it could have.
 * kprobes and ftrace depend on that.
 */
static void wait_lets_tasks_rcu_end(struct kunit *test)
{
	struct wait_hog h = { .limit = KAPI_FOREVER };
	struct task_struct *hog = wait_hog_create(test, &h);

	wake_up_process(hog);
	init_rcu_head_on_stack(&h.rcu);
	call_rcu_tasks(&h.rcu, wait_rcu_ended);
	wait_for_completion(&h.ended);
	KUNIT_EXPECT_TRUE(test, h.gave_way);
	kthread_stop(hog);
	KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(h.other)));
	destroy_rcu_head_on_stack(&h.rcu);
}

/* The data is less than a watermark, so it is the stop that wakes the reader. */
static void wait_stop(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 0, 0, NULL);
	struct wait_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_WAIT));
	KUNIT_EXPECT_TRUE(test, wait_sleeps(&m));
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 1ULL);
}

/* A stop also ends a wait in a verb behind a client that sleeps in the completion itself. */
static void wait_stop_behind(struct kunit *test)
{
	struct kdtl_session *s = wait_session(test, 0);
	struct wait_sleeper own, m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_TRUE(test, wait_start(test, &own, s, WAIT_OWN));
	KUNIT_EXPECT_TRUE(test, wait_start(test, &m, s, WAIT_WAIT));
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, wait_result(test, &m), (ssize_t)1);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, wait_result(test, &own), (ssize_t)0);
}

/* If one waits for data and another one for a message, a stop wakes both, in either order. */
static void wait_stop_two(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	struct wait_sleeper m[2];
	unsigned int first;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	for (first = 0; first < 4; first++) {
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[first % 2], s, first % 2));
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[!(first % 2)], s, !(first % 2)));
		/* In the second half there is data left. */
		if (first >= 2)
			kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[WAIT_READ]),
				(ssize_t)(first < 2 ? 0 : sizeof(m[0].msg)));
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[WAIT_WAIT]), (ssize_t)1);
	}
	/* No more data will come, so what is left is worth reading. */
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	kapi_drain(s, 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

/* A message is for one reader: as many reads return as there are messages. */
static void wait_many(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	struct wait_sleeper m[8];
	unsigned int i, nr = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[i], s, WAIT_READ));
	/* Each entry posts an overflow, and all of them one KDTL_MSG_AUX. */
	kapi_emit(0, KDTL_KIND_CEDE, ARRAY_SIZE(m) - 1);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[i]), (ssize_t)sizeof(m[i].msg));
		nr += m[i].msg.type == KDTL_MSG_OVERFLOW;
	}
	KUNIT_EXPECT_EQ(test, nr, (unsigned int)ARRAY_SIZE(m) - 1);

	/* Data ends all waits for it. */
	for (i = 0; i < ARRAY_SIZE(m); i++)
		KUNIT_EXPECT_TRUE(test, wait_start(test, &m[i], s, WAIT_WAIT));
	kapi_emit(0, KDTL_KIND_PREEMPT, KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE);
	for (i = 0; i < ARRAY_SIZE(m); i++)
		KUNIT_EXPECT_EQ(test, wait_result(test, &m[i]), (ssize_t)1);
}

/* -------------------------------------------------------- no lost wake-up */

enum wait_way { WAIT_BY_WAIT, WAIT_BY_READ, WAIT_BY_COMPLETION };

/*
 * Consumer and producer go in step, one entry a round.  The producer writes the entry some time
 * after the consumer has said that it is about to wait, or the consumer waits some time after it
 * has said so.  If the entry found the consumer asleep, the next one comes earlier, otherwise
 * later, so that all of them come when it is just about to sleep.  The steps grow until that
 * changes, because two emulated CPUs may take turns of milliseconds.  If a wake-up is lost, the
 * round does not end.
 */
struct wait_race {
	struct kdtl_session	*s;
	enum wait_way		way;
	int			cpu;
	unsigned int		waiting;	/* rounds that the consumer began */
	unsigned int		slept;		/* rounds whose entry found it asleep */
	unsigned int		others;		/* waits that returned 0: woken by others */
	int			delay;		/* the producer's; negative: the consumer's */
	struct task_struct	*consumer;
};

#define WAIT_ROUNDS	10000

#define WAIT_DELAY_STEP	16
#define WAIT_DELAY_MAX	10000000

static void wait_race_spin(int loops)
{
	for (; loops > 0; loops--)
		barrier();
}

static int wait_race_produce(void *arg)
{
	struct wait_race *r = arg;
	unsigned int round = 0;
	struct rnd_state rnd;
	bool asleep, was = false;
	int delay = 0, step = WAIT_DELAY_STEP;

	prandom_seed_state(&rnd, 11);
	while (!kthread_should_stop()) {
		/* Pairs with the release in wait_race_round(). */
		if (smp_load_acquire(&r->waiting) == round) {
			cond_resched();
			cpu_relax();
			continue;
		}
		round++;
		wait_race_spin(delay + prandom_u32_state(&rnd) % (8 * WAIT_DELAY_STEP));
		asleep = READ_ONCE(r->consumer->__state) == TASK_INTERRUPTIBLE;
		step = asleep == was ? min(2 * step, WAIT_DELAY_MAX) : WAIT_DELAY_STEP;
		was = asleep;
		delay += asleep ? -step : step;
		delay = clamp(delay, -WAIT_DELAY_MAX, WAIT_DELAY_MAX);
		WRITE_ONCE(r->slept, r->slept + asleep);
		WRITE_ONCE(r->delay, delay);
		local_irq_disable();
		kdtl_fake_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
		local_irq_enable();
	}
	return 0;
}

static ssize_t wait_race_wait_once(struct wait_race *r)
{
	struct kdtl_msg msg;

	switch (r->way) {
	case WAIT_BY_WAIT:
		return kdtl_wait(r->s, MAX_SCHEDULE_TIMEOUT);
	case WAIT_BY_READ:
		return kdtl_read(r->s, &msg, sizeof(msg), false);
	default:
		return wait_for_completion_interruptible(&wait_done);
	}
}

/* Returns false if a signal had to end the round. */
static bool wait_race_round(struct wait_race *r)
{
	const int delay = READ_ONCE(r->delay);
	const void *span;
	ssize_t len, ret;

	/* Pairs with the acquire in wait_race_produce(). */
	smp_store_release(&r->waiting, r->waiting + 1);
	wait_race_spin(-delay);
	/* The wake-up of the last round may come only now, when its entry has been read. */
	do {
		ret = wait_race_wait_once(r);
		if (ret < 0)
			return false;
		r->others += !ret;
		len = kdtl_aux_peek(r->s, r->cpu, &span);
	} while (len <= 0);
	return !kdtl_aux_consume(r->s, r->cpu, len);
}

/* Were there enough rounds of each kind?  Asked by the consumer; the test expects a little less. */
static bool wait_race_was_run(const struct wait_race *r, unsigned int rounds)
{
	const unsigned int slept = READ_ONCE(r->slept);

	return rounds >= 500 && slept > rounds / 10 && slept + rounds / 500 + 10 < rounds;
}

static int wait_race_consume(void *arg)
{
	struct wait_race *r = arg;
	unsigned long enough = jiffies + msecs_to_jiffies(kapi_race_ms);
	unsigned long end = jiffies + KAPI_FOREVER;
	unsigned int round;

	allow_signal(SIGUSR1);
	for (round = 0; round < WAIT_ROUNDS && time_before(jiffies, end); round++) {
		if (time_after(jiffies, enough) && wait_race_was_run(r, round))
			break;
		if (!wait_race_round(r))
			break;
	}
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return round;
}

/* If no round ends for so long, a wake-up was lost. */
static bool wait_race_stuck(struct wait_race *r)
{
	unsigned long since = jiffies;
	unsigned int last = 0, now;

	while (READ_ONCE(r->consumer->__state) != TASK_IDLE) {
		msleep(20);
		now = READ_ONCE(r->waiting);
		if (now != last)
			since = jiffies;
		else if (time_after(jiffies, since + KAPI_FOREVER / 2))
			return READ_ONCE(r->consumer->__state) != TASK_IDLE;
		last = now;
	}
	return false;
}

static void wait_race_way(struct kunit *test, enum wait_way way)
{
	const int cpu = num_online_cpus() - 1;
	struct wait_race r = { .way = way, .cpu = cpu };
	struct task_struct *producer;
	unsigned int rounds;
	bool stuck;

	kapi_need_races(test);
	KUNIT_ASSERT_GT(test, cpu, 0);
	/*
	 * There are no messages except for reads: one that nobody reads would end every
	 * kdtl_wait().
	 */
	init_completion(&wait_done);
	r.s = kapi_session_of(test, way == WAIT_BY_READ, KDTL_ENTRY_SIZE, &wait_done);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r.s);
	KUNIT_ASSERT_EQ(test, kapi_go(r.s), 0);
	r.consumer = kthread_create_on_cpu(wait_race_consume, &r, cpu - 1, "kdtl_consume/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(r.consumer));
	producer = kthread_create_on_cpu(wait_race_produce, &r, cpu, "kdtl_produce/%u");
	if (IS_ERR(producer)) {
		kthread_stop(r.consumer);
		KUNIT_FAIL(test, "no producer");
		return;
	}
	wake_up_process(producer);
	wake_up_process(r.consumer);
	stuck = wait_race_stuck(&r);
	KUNIT_EXPECT_FALSE_MSG(test, stuck, "in round %u", r.waiting);
	if (stuck)
		send_sig(SIGUSR1, r.consumer, 1);
	rounds = kthread_stop(r.consumer);
	kthread_stop(producer);

	KUNIT_EXPECT_EQ(test, rounds, r.waiting);
	/* Nobody else completes the completion, and kdtl_wait() would tell. */
	if (way == WAIT_BY_WAIT)
		KUNIT_EXPECT_EQ(test, r.others, 0U);
	KUNIT_EXPECT_GE(test, rounds, 300U);
	/* Entries must have come on both sides of the moment at which the consumer falls asleep. */
	KUNIT_EXPECT_GT(test, r.slept, rounds / 20);
	KUNIT_EXPECT_LT(test, r.slept, rounds - rounds / 1000);
	kunit_info(test, "%u rounds, none lost: in %u it was asleep, in %u about to be", rounds,
		   r.slept, rounds - r.slept);
	kapi_close(test);
}

static void wait_race_wait(struct kunit *test)
{
	wait_race_way(test, WAIT_BY_WAIT);
}

static void wait_race_read(struct kunit *test)
{
	wait_race_way(test, WAIT_BY_READ);
}

static void wait_race_completion(struct kunit *test)
{
	wait_race_way(test, WAIT_BY_COMPLETION);
}

/* A period longer than any timer's counts as none; it must not count as always over. */
static void wait_long_period(struct kunit *test)
{
	static const u64 periods[] = { KTIME_MAX - 1, KTIME_MAX, (u64)KTIME_MAX + 1, U64_MAX };
	struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
	};
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		attr.period = periods[i];
		s = kapi_create(test, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ_MSG(test, kdtl_wait(s, msecs_to_jiffies(10)), -ETIMEDOUT,
				    "period %llu", periods[i]);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, -1), 0);
		kapi_close(test);
	}
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(wait_blocking),
	KUNIT_CASE(wait_chosen),
	KUNIT_CASE(wait_other),
	KUNIT_CASE(wait_signal),
	KUNIT_CASE(wait_thread_stop),
	KUNIT_CASE(wait_thread_park),
	KUNIT_CASE(wait_close),
	KUNIT_CASE(wait_close_beside),
	KUNIT_CASE(wait_no_stale),
	KUNIT_CASE(wait_dropped_wakes),
	KUNIT_CASE(wait_completed_for_all),
	KUNIT_CASE(wait_passes_on),
	KUNIT_CASE(wait_passes_on_all),
	KUNIT_CASE(wait_passes_on_last),
	KUNIT_CASE(wait_passes_on_taken),
	KUNIT_CASE(wait_looks_only),
	KUNIT_CASE(wait_none),
	KUNIT_CASE(wait_two_waiters),
	KUNIT_CASE(wait_three_waiters),
	KUNIT_CASE(wait_late),
	KUNIT_CASE(wait_late_own),
	KUNIT_CASE(wait_one_by_one),
	KUNIT_CASE(wait_after_close),
	KUNIT_CASE(wait_cycles),
	KUNIT_CASE(wait_close_own),
	KUNIT_CASE(wait_close_own_late),
	KUNIT_CASE(wait_close_own_taken),
	KUNIT_CASE(wait_close_own_behind),
	KUNIT_CASE(wait_timeout),
	KUNIT_CASE(wait_partly_read),
	KUNIT_CASE(wait_long_period),
	KUNIT_CASE(wait_shared),
	KUNIT_CASE(wait_shared_own),
	KUNIT_CASE(wait_gives_way),
	KUNIT_CASE(wait_lets_tasks_rcu_end),
	KUNIT_CASE(wait_stop),
	KUNIT_CASE(wait_stop_behind),
	KUNIT_CASE(wait_stop_two),
	KUNIT_CASE(wait_many),
	KUNIT_CASE(wait_race_wait),
	KUNIT_CASE(wait_race_read),
	KUNIT_CASE(wait_race_completion),
	{}
};

struct kunit_suite kdtl_wait_suite = {
	.name		= "kdtl_wait",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= wait_cases,
};
