// SPDX-License-Identifier: GPL-2.0
/*
 * Messages: each type and its fields, the full queue, and who is woken
 */
#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "test_kapi.h"

#define MESSAGES_SLOTS	(PAGE_SIZE / sizeof(struct kdtl_msg))

static struct kdtl_session *messages_session(struct kunit *test, unsigned int pages,
					     unsigned int watermark,
					     struct completion *done)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_TEST_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.msg_pages	= pages,
		.watermark	= watermark,
		.done		= done,
	};

	return kapi_create(test, &attr);
}

static int messages_go(struct kdtl_session *s)
{
	return kdtl_load(s, NULL) ?: kdtl_start(s);
}

/* Each entry of the kind posts one KDTL_MSG_OVERFLOW. */
static int messages_per_entry(struct kdtl_session *s, enum kdtl_kind kind)
{
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_CEDE + kind,
		.flags		= KDTL_COUNTER_NOTIFY,
		.value		= -1,
		.short_reset	= -1,
	};

	return kdtl_write_counters(s, &req, 1);
}

/* -------------------------------------------------------------------- types */

/* Every byte is announced once, in order, and what is unread at the stop too. */
static void messages_aux(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 4, 20 * KDTL_ENTRY_SIZE, NULL);
	u64 next, time = 0;
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	unsigned int i, nr = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	KUNIT_ASSERT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	next = info.head;
	for (i = 0; i < 300; i++) {
		kapi_emit(0, KDTL_KIND_CEDE, 1 + i % 13);
		if (i == 299)
			KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		kapi_drain(s, 0);
		while (kdtl_read(s, &msg, sizeof(msg), true) > 0) {
			KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_AUX + 0);
			KUNIT_EXPECT_EQ(test, (size_t)msg.size, sizeof(msg));
			KUNIT_EXPECT_EQ(test, msg.cpu, 0);
			KUNIT_EXPECT_EQ(test, msg.set, 0);
			KUNIT_EXPECT_EQ(test, msg.dropped, 0ULL);
			KUNIT_EXPECT_GE(test, msg.time, time);
			KUNIT_EXPECT_EQ(test, msg.aux.offset, next);
			KUNIT_EXPECT_GT(test, msg.aux.size, 0ULL);
			KUNIT_EXPECT_EQ(test, msg.aux.flags, 0ULL);
			time = msg.time;
			next += msg.aux.size;
			nr++;
		}
	}
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.head, next);
	KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
	KUNIT_EXPECT_GE(test, nr, 300 * 7 / 20 / 2U);
}

/* A gap is told once it has ended, where it was and how long. */
static void messages_lost(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 4, 0, NULL);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	u64 told = 0, gap;
	unsigned int round;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	for (round = 1; round <= 5; round++) {
		kapi_emit(0, KDTL_KIND_CEDE, 2 * KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE + round);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_LT(test, info.size - (info.head - info.tail),
				(u64)KDTL_ENTRY_SIZE);
		gap = info.head;
		/* It is full, but the gap goes on: no number yet. */
		KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		kapi_drain(s, 0);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
		KUNIT_EXPECT_EQ(test, msg.cpu, 0);
		KUNIT_EXPECT_EQ(test, msg.lost.offset, gap);
		KUNIT_EXPECT_EQ(test, told + msg.lost.count, info.lost);
		told += msg.lost.count;
		kapi_drain(s, 0);
	}
	/* Of the source's own losses there is nothing to wait for. */
	kdtl_test_lost(0, 7);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
	KUNIT_EXPECT_EQ(test, msg.lost.count, 7ULL);
	KUNIT_EXPECT_EQ(test, msg.lost.offset, gap + KDTL_ENTRY_SIZE);
	told += 7;
	/* A gap that does not end is told at the stop. */
	kapi_emit(0, KDTL_KIND_CEDE, 2 * KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
	told += msg.lost.count;
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, told, info.lost);
	KUNIT_EXPECT_EQ(test, told, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0));
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_LOST), 0U);
}

/* Loss shows in the data's flags as well. */
static void messages_flags(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 4, 0, NULL);
	struct kdtl_msg msg;
	u64 flags = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	kdtl_test_lost(0, 1);
	while (kapi_msg_of(s, KDTL_MSG_AUX, &msg))
		flags |= msg.aux.flags;
	KUNIT_EXPECT_EQ(test, flags, (u64)PERF_AUX_FLAG_PARTIAL);
	kapi_emit(0, KDTL_KIND_CEDE, 2 * KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE);
	flags = 0;
	while (kapi_msg_of(s, KDTL_MSG_AUX, &msg))
		flags |= msg.aux.flags;
	KUNIT_EXPECT_EQ(test, flags, (u64)PERF_AUX_FLAG_TRUNCATED);
}

static void messages_overflow(struct kunit *test)
{
	struct kdtl_evtset set = { .id = 6, .overflows = 1 };
	struct kdtl_evtset zero = { .overflows = 1 };
	struct kdtl_counter_req req[] = {
		{ .set = 0, .counter = KDTL_CTR_FAULT, .flags = KDTL_COUNTER_NOTIFY, .value = -1 },
		{ .set = 6, .counter = KDTL_CTR_PREEMPT, .flags = KDTL_COUNTER_NOTIFY, .value = -1 },
	};
	struct kdtl_session *s = messages_session(test, 4, 0, NULL);
	const int cpu = num_online_cpus() - 1;
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, &set, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, &zero, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, req, 2), 0);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	kapi_emit(cpu, KDTL_KIND_FAULT, 1);
	/* In the order in which it happened. */
	msg = kapi_msg(test, s);
	KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_OVERFLOW + 0);
	KUNIT_EXPECT_EQ(test, (size_t)msg.size, sizeof(msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_EQ(test, msg.set, 0);
	KUNIT_EXPECT_EQ(test, msg.overflow.counters, BIT(KDTL_CTR_FAULT) + 0U);
	msg = kapi_msg(test, s);
	KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_SET_SWITCH + 0);
	KUNIT_EXPECT_EQ(test, (size_t)msg.size, sizeof(msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_EQ(test, msg.set, 6);
	KUNIT_EXPECT_EQ(test, msg.set_switch.from, 0);
	kapi_emit(cpu, KDTL_KIND_PREEMPT, 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	KUNIT_EXPECT_EQ(test, msg.set, 6);
	KUNIT_EXPECT_EQ(test, msg.overflow.counters, BIT(KDTL_CTR_PREEMPT) + 0U);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_SET_SWITCH, &msg));
	KUNIT_EXPECT_EQ(test, msg.set, 0);
	KUNIT_EXPECT_EQ(test, msg.set_switch.from, 6);
}

/* The end comes once, and last. */
static void messages_end(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 4, 0, NULL);
	struct kdtl_msg msg;
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 3);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	msg = kapi_msg(test, s);
	KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_AUX + 0);
	KUNIT_EXPECT_EQ(test, msg.aux.size, 3ULL * KDTL_ENTRY_SIZE);
	msg = kapi_msg(test, s);
	KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_END + 0);
	KUNIT_EXPECT_EQ(test, msg.cpu, -1);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)3 * KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);

	/* What was not read is gone with the next load, and its wake-up too. */
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 3);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

#ifdef CONFIG_HOTPLUG_CPU
/* A CPU goes and comes back: told, and what it left stays. */
static void messages_cpu(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 4, 0, NULL);
	const int cpu = num_online_cpus() - 1;
	struct kdtl_aux_info info;
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 5);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_CPU), 0U);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_EQ(test, (size_t)msg.size, sizeof(msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_FALSE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.online);
	KUNIT_EXPECT_EQ(test, info.unread, 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), 5ULL);

	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_TRUE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_CPU), 0U);
	kapi_emit(cpu, KDTL_KIND_CEDE, 2);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), 7ULL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	KUNIT_EXPECT_EQ(test, info.unread, 7ULL);
}

/* Masked stays masked while it is away, and is restarted there. */
static void messages_cpu_masked(struct kunit *test)
{
	struct kdtl_counter_req req = {
		.counter = KDTL_CTR_CEDE, .flags = KDTL_COUNTER_NOTIFY,
		.value = -1, .long_reset = -10,
	};
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_BLOCK);
	const int cpu = num_online_cpus() - 1;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 1);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EBUSY);
	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), 0ULL);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), (u64)-10);
	KUNIT_ASSERT_EQ(test, add_cpu(cpu), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 3);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), (u64)-7);
}
#endif

/* -------------------------------------------------------------------- queue */

/* First in, first out; when full the newest go, and the next that fits tells. */
static void messages_full(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 0, NULL);
	const unsigned int extra = 20;
	struct kdtl_msg msg;
	unsigned int i, round;
	u64 time = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	for (round = 0; round < 3; round++) {
		kapi_emit(0, KDTL_KIND_CEDE, MESSAGES_SLOTS + extra);
		for (i = 0; i < MESSAGES_SLOTS; i++) {
			msg = kapi_msg(test, s);
			KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_OVERFLOW + 0);
			KUNIT_EXPECT_EQ(test, msg.dropped, 0ULL);
			KUNIT_EXPECT_GE(test, msg.time, time);
			time = msg.time;
		}
		KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true),
				(ssize_t)-EAGAIN);
		/* Those, and the KDTL_MSG_AUX that came after them. */
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		msg = kapi_msg(test, s);
		KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_OVERFLOW + 0);
		KUNIT_EXPECT_EQ(test, msg.dropped, extra + 1ULL);
		msg = kapi_msg(test, s);
		KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_AUX + 0);
		KUNIT_EXPECT_EQ(test, msg.dropped, 0ULL);
		kapi_drain(s, 0);
	}
}

/* Posted = read + dropped, whatever the reader does meanwhile. */
static void messages_add_up(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 0, NULL);
	u64 posted = 0, got = 0, dropped = 0;
	struct kdtl_msg msg;
	unsigned int i, k;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	for (i = 0; i < 500; i++) {
		/* An AUX message for each burst. */
		kapi_emit(0, KDTL_KIND_CEDE, 1 + i % 97);
		posted += 1 + i % 97 + 1;
		for (k = 0; k < i % 61; k++) {
			if (kdtl_read(s, &msg, sizeof(msg), true) < 0)
				break;
			got++;
			dropped += msg.dropped;
		}
		kapi_drain(s, 0);
	}
	while (kdtl_read(s, &msg, sizeof(msg), true) > 0) {
		got++;
		dropped += msg.dropped;
	}
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	posted += 2;
	while (kdtl_read(s, &msg, sizeof(msg), true) > 0) {
		got++;
		dropped += msg.dropped;
	}
	KUNIT_EXPECT_EQ(test, got + dropped, posted);
	KUNIT_EXPECT_GT(test, dropped, 0ULL);
}

static void messages_read_errors(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 0, NULL);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, NULL, sizeof(msg), true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg) - 1, true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg) + 1, false), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, 0, true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	/* A message is the caller's alone: what is not filled in is zero. */
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	memset(&msg, 0xff, sizeof(msg));
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)sizeof(msg));
	KUNIT_EXPECT_EQ(test, msg.aux.offset | msg.aux.size | msg.aux.flags, 0ULL);
}

/* ------------------------------------------------------------------- waiting */

enum messages_verb { MESSAGES_READ, MESSAGES_WAIT };

/* A thread in one blocking verb. */
struct messages_sleeper {
	struct kdtl_session	*s;
	enum messages_verb	verb;
	ssize_t			ret;
	struct kdtl_msg		msg;
	struct completion	ended;
	struct task_struct	*task;
};

static int messages_sleep(void *arg)
{
	struct messages_sleeper *m = arg;

	allow_signal(SIGUSR1);
	if (m->verb == MESSAGES_READ)
		m->ret = kdtl_read(m->s, &m->msg, sizeof(m->msg), false);
	else
		m->ret = kdtl_wait(m->s, MAX_SCHEDULE_TIMEOUT);
	complete(&m->ended);
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/* Returns when it sleeps, or has ended. */
static bool messages_start(struct kunit *test, struct messages_sleeper *m,
			   struct kdtl_session *s, enum messages_verb verb)
{
	struct task_struct *task;

	m->s = s;
	m->verb = verb;
	m->ret = -EBADE;
	init_completion(&m->ended);
	task = kthread_run(messages_sleep, m, "kdtl_sleeper");
	m->task = IS_ERR(task) ? NULL : task;
	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	return m->task && kapi_until(completion_done(&m->ended) ||
				     READ_ONCE(task->__state) == TASK_INTERRUPTIBLE);
}

static bool messages_sleeps(struct messages_sleeper *m)
{
	return !wait_for_completion_timeout(&m->ended, msecs_to_jiffies(50));
}

/* What it returned; -EBADE: it did not return. */
static ssize_t messages_ended(struct messages_sleeper *m)
{
	wait_for_completion_timeout(&m->ended, KAPI_FOREVER);
	kthread_stop(m->task);
	return m->ret;
}

/*
 * It must not be left in the session, or the test's end would hang: what wakes
 * it if all else failed is a signal.
 */
static ssize_t messages_result(struct kunit *test, struct messages_sleeper *m)
{
	const bool slept = messages_sleeps(m);

	KUNIT_EXPECT_FALSE(test, slept);
	if (slept)
		send_sig(SIGUSR1, m->task, 1);
	return messages_ended(m);
}

static void messages_blocking(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 10 * KDTL_ENTRY_SIZE, NULL);
	struct messages_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	KUNIT_ASSERT_TRUE(test, messages_start(test, &m, s, MESSAGES_READ));
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)sizeof(m.msg));
	KUNIT_EXPECT_EQ(test, m.msg.type, KDTL_MSG_AUX + 0);
	KUNIT_EXPECT_EQ(test, m.msg.aux.size, 10ULL * KDTL_ENTRY_SIZE);

	kapi_drain(s, 0);
	KUNIT_ASSERT_TRUE(test, messages_start(test, &m, s, MESSAGES_WAIT));
	KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)1);
}

/* Someone else completes the caller's completion: 0, and only once. */
static void messages_other(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct kdtl_session *s = messages_session(test, 1, 0, &done);
	enum messages_verb verb;
	struct messages_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (verb = MESSAGES_READ; verb <= MESSAGES_WAIT; verb++) {
		KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, verb));
		KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
		complete(&done);
		KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)0);
		/* Before anyone waits: the next one does not. */
		complete(&done);
		KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, verb));
		KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)0);
		KUNIT_EXPECT_FALSE(test, completion_done(&done));
	}
	kapi_close(test);
}

static void messages_signal(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 0, NULL);
	enum messages_verb verb;
	struct messages_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (verb = MESSAGES_READ; verb <= MESSAGES_WAIT; verb++) {
		KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, verb));
		KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
		send_sig(SIGUSR1, m.task, 1);
		KUNIT_EXPECT_EQ(test, messages_ended(&m), (ssize_t)-ERESTARTSYS);
	}
}

static void messages_thread_stop(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 0, NULL);
	enum messages_verb verb;
	struct messages_sleeper m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (verb = MESSAGES_READ; verb <= MESSAGES_WAIT; verb++) {
		KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, verb));
		KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
		kthread_stop(m.task);
		KUNIT_EXPECT_EQ(test, m.ret, (ssize_t)0);
	}
}

/* Close ends all of them, in whatever state. */
static void messages_close(struct kunit *test)
{
	struct messages_sleeper m[6];
	struct kdtl_session *s;
	unsigned int i, loaded;

	for (loaded = 0; loaded < 2; loaded++) {
		s = messages_session(test, 1, 0, NULL);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		for (i = 0; i < ARRAY_SIZE(m); i++)
			KUNIT_EXPECT_TRUE(test, messages_start(test, &m[i], s, i & 1 ?
							       MESSAGES_READ : MESSAGES_WAIT));
		kapi_close(test);
		for (i = 0; i < ARRAY_SIZE(m); i++)
			KUNIT_EXPECT_EQ(test, messages_ended(&m[i]), (ssize_t)-ESHUTDOWN);
	}
}

/* After n messages were read the next read sleeps: no count was left behind. */
static void messages_no_stale(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct kdtl_session *s = messages_session(test, 1, KDTL_ENTRY_SIZE, &done);
	struct messages_sleeper m;
	unsigned int i, nr;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	for (nr = 1; nr <= 10; nr++) {
		for (i = 0; i < nr; i++)
			kapi_emit(i % num_online_cpus(), KDTL_KIND_CEDE, 1);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ(test, kapi_msg(test, s).type, KDTL_MSG_AUX + 0);
		KUNIT_EXPECT_FALSE(test, completion_done(&done));
	}
	KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, MESSAGES_READ));
	KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)sizeof(m.msg));

	/* Nor at a load, of what it drops. */
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, MESSAGES_READ));
	KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)sizeof(m.msg));
	kapi_close(test);
	KUNIT_EXPECT_LE(test, done.done, 1U);
}

/* A message that was dropped has woken all the same: 0 once the queue is read. */
static void messages_dropped_wakes(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 0, NULL);
	struct messages_sleeper m;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, MESSAGES_SLOTS);
	for (i = 0; i < MESSAGES_SLOTS; i++)
		kapi_msg(test, s);
	/* Its AUX message found the queue full. */
	KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, MESSAGES_READ));
	KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)0);
	KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, MESSAGES_READ));
	KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)sizeof(m.msg));
	KUNIT_EXPECT_EQ(test, m.msg.dropped, 1ULL);
}

/* No message pages: never a message, but the wake-ups. */
static void messages_none(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 0, 10 * KDTL_ENTRY_SIZE, NULL);
	struct messages_sleeper m;
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_TRUE(test, messages_start(test, &m, s, MESSAGES_READ));
	KUNIT_EXPECT_TRUE(test, messages_sleeps(&m));
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	KUNIT_EXPECT_EQ(test, messages_result(test, &m), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
}

/* One thread reads messages, another waits for data: both get theirs. */
static void messages_two_waiters(struct kunit *test)
{
	struct kdtl_session *s = messages_session(test, 1, 10 * KDTL_ENTRY_SIZE, NULL);
	struct messages_sleeper m[2];
	unsigned int first;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	for (first = 0; first < 2; first++) {
		KUNIT_EXPECT_TRUE(test, messages_start(test, &m[first], s, first));
		KUNIT_EXPECT_TRUE(test, messages_start(test, &m[!first], s, !first));
		kapi_emit(0, KDTL_KIND_CEDE, 10);
		KUNIT_EXPECT_EQ(test, messages_result(test, &m[MESSAGES_READ]),
				(ssize_t)sizeof(m[0].msg));
		KUNIT_EXPECT_EQ(test, messages_result(test, &m[MESSAGES_WAIT]), (ssize_t)1);
		kapi_drain(s, 0);
		kdtl_wait(s, 0);
	}
}

/* The caller's completion is left alone once close has returned. */
static void messages_done(struct kunit *test)
{
	DECLARE_COMPLETION_ONSTACK(done);
	struct kdtl_session *s = messages_session(test, 1, KDTL_ENTRY_SIZE, &done);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, messages_go(s), 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&done));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	/* Without any verb: what a client's own wait_for_completion() sees. */
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&done, KAPI_FOREVER) > 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&done));
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	kapi_close(test);
	reinit_completion(&done);
	kapi_emit(0, KDTL_KIND_CEDE, 100);
	msleep(20);
	KUNIT_EXPECT_FALSE(test, completion_done(&done));
}

static struct kunit_case messages_cases[] = {
	KUNIT_CASE(messages_aux),
	KUNIT_CASE(messages_lost),
	KUNIT_CASE(messages_flags),
	KUNIT_CASE(messages_overflow),
	KUNIT_CASE(messages_end),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(messages_cpu),
	KUNIT_CASE(messages_cpu_masked),
#endif
	KUNIT_CASE(messages_full),
	KUNIT_CASE(messages_add_up),
	KUNIT_CASE(messages_read_errors),
	KUNIT_CASE(messages_blocking),
	KUNIT_CASE(messages_other),
	KUNIT_CASE(messages_signal),
	KUNIT_CASE(messages_thread_stop),
	KUNIT_CASE(messages_close),
	KUNIT_CASE(messages_no_stale),
	KUNIT_CASE(messages_dropped_wakes),
	KUNIT_CASE(messages_none),
	KUNIT_CASE(messages_two_waiters),
	KUNIT_CASE(messages_done),
	{}
};

struct kunit_suite kdtl_messages_suite = {
	.name		= "kdtl_messages",
	.exit		= kapi_exit,
	.test_cases	= messages_cases,
};
