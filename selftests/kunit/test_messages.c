// SPDX-License-Identifier: GPL-2.0
/* Messages: each type with its fields, and the full queue */
#include <linux/cpu.h>

#include "cpus.h"
#include "kapi.h"

/* -------------------------------------------------------------------- types */

/* Each byte is announced once, in order, and at the stop, too, if it is unread then. */
static void messages_aux(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 4, 20 * KDTL_ENTRY_SIZE, NULL);
	u64 next, time = 0;
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	unsigned int i, nr = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
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

/* A gap is reported once it has ended, with its place and its length. */
static void messages_lost(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 4, 0, NULL);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	u64 reported = 0, gap;
	unsigned int round;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (round = 1; round <= 5; round++) {
		kapi_emit(0, KDTL_KIND_CEDE,
			  2 * KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE + round);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
		KUNIT_EXPECT_LT(test, info.size - (info.head - info.tail),
				(u64)KDTL_ENTRY_SIZE);
		gap = info.head;
		/* The area is full, but the gap goes on: its length is not known yet. */
		KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
		KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
		kapi_drain(s, 0);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
		KUNIT_EXPECT_EQ(test, msg.cpu, 0);
		KUNIT_EXPECT_EQ(test, msg.lost.offset, gap);
		KUNIT_EXPECT_EQ(test, reported + msg.lost.count, info.lost);
		reported += msg.lost.count;
		kapi_drain(s, 0);
	}
	/* Losses of the source itself are reported at once. */
	kdtl_fake_lost(0, 7);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
	KUNIT_EXPECT_EQ(test, msg.lost.count, 7ULL);
	KUNIT_EXPECT_EQ(test, msg.lost.offset, gap + KDTL_ENTRY_SIZE);
	reported += 7;
	/* A gap that has not ended is reported at the stop. */
	kapi_emit(0, KDTL_KIND_CEDE, 2 * KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
	reported += msg.lost.count;
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, reported, info.lost);
	KUNIT_EXPECT_EQ(test, reported, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0));
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_LOST), 0U);
}

#define MESSAGES_GAPS	3

/* Fill the area again and again, without a wake-up in between. */
static long messages_fill(void *arg)
{
	struct kdtl_session *s = arg;
	unsigned int gap, nr = KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE;
	const void *span;
	ssize_t len = 0;
	unsigned int i;

	local_irq_disable();
	for (gap = 1; gap <= MESSAGES_GAPS; gap++) {
		for (i = 0; i < nr + gap; i++)
			kdtl_fake_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
		len = kdtl_aux_peek(s, 0, &span);
		if (len > 0)
			kdtl_aux_consume(s, 0, len);
	}
	kdtl_fake_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
	local_irq_enable();
	return len;
}

/* Gaps that could not be reported in time are still reported one by one. */
static void messages_lost_late(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 4, 0, NULL);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	unsigned int gap;
	long len;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_ASSERT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	len = kdtl_fake_work_on(0, messages_fill, s);
	KUNIT_ASSERT_GT(test, len, 0L);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, KAPI_FOREVER), 1);
	for (gap = 1; gap <= MESSAGES_GAPS; gap++) {
		/*
		 * kdtl_wait() may return for the loss before the irq_work has posted it, which is
		 * late on POWER.
		 */
		KUNIT_ASSERT_TRUE(test, kapi_until(kapi_msg_of(s, KDTL_MSG_LOST, &msg)));
		KUNIT_EXPECT_EQ(test, msg.lost.count, (u64)gap);
		KUNIT_EXPECT_EQ(test, msg.lost.offset, info.head + (u64)gap * len);
	}
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_LOST), 0U);
}

/* A loss shows in the flags of the data, too. */
static void messages_flags(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 4, 0, NULL);
	struct kdtl_msg msg;
	u64 flags = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kdtl_fake_lost(0, 1);
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
		{ .set = 0, .counter = KDTL_CTR_FAULT, .value = -1,
		  .flags = KDTL_COUNTER_NOTIFY },
		{ .set = 6, .counter = KDTL_CTR_PREEMPT, .value = -1,
		  .flags = KDTL_COUNTER_NOTIFY },
	};
	struct kdtl_session *s = kapi_session_of(test, 4, 0, NULL);
	const int cpu = num_online_cpus() - 1;
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, &set, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, &zero, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, req, 2), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(cpu, KDTL_KIND_FAULT, 1);
	/* The messages come in the order of the events. */
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

/* The message about the end comes once, and last. */
static void messages_end(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 4, 0, NULL);
	struct kdtl_msg msg;
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
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

	/* The next load drops unread messages, and their wake-up, too. */
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 3);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

#ifdef CONFIG_HOTPLUG_CPU
/* If a CPU goes and comes back, messages say so, and its entries and its active set stay. */
static void messages_cpu(struct kunit *test)
{
	struct kdtl_evtset sets[] = { { .overflows = 1 }, { .id = 6 } };
	static struct completion done;
	const int cpu = num_online_cpus() - 1;
	struct kdtl_aux_info info;
	struct kdtl_session *s;
	struct kdtl_msg msg;
	u64 told;

	init_completion(&done);
	s = kapi_session_of(test, 4, 0, &done);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, sets, ARRAY_SIZE(sets)), 0);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_PREEMPT), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	/* The first entry switches the CPU to set 6. */
	kapi_emit(cpu, KDTL_KIND_PREEMPT, 1);
	kapi_emit(cpu, KDTL_KIND_CEDE, 4);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_CPU), 0U);
	KUNIT_EXPECT_FALSE(test, completion_done(&done));
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	/* A waiter is woken: it need not look just then. */
	KUNIT_EXPECT_TRUE(test, completion_done(&done));
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	/* What the CPU has written and no message has told of, is told of first. */
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_AUX, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	told = msg.aux.offset + msg.aux.size;
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_EQ(test, (size_t)msg.size, sizeof(msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_EQ(test, msg.set, 6);
	KUNIT_EXPECT_FALSE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.online);
	KUNIT_EXPECT_EQ(test, told, info.head);
	KUNIT_EXPECT_EQ(test, info.unread, 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 6, KDTL_CTR_CEDE, cpu), 4ULL);

	KUNIT_EXPECT_FALSE(test, completion_done(&done));
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	KUNIT_EXPECT_TRUE(test, completion_done(&done));
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_CPU, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, cpu);
	KUNIT_EXPECT_EQ(test, msg.set, 6);
	KUNIT_EXPECT_TRUE(test, msg.cpu_state.online);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_CPU), 0U);
	kapi_emit(cpu, KDTL_KIND_CEDE, 2);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 6, KDTL_CTR_CEDE, cpu), 6ULL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.online);
	KUNIT_EXPECT_EQ(test, info.unread, 7ULL);
}

/* A paused CPU stays paused while it is offline; a restart applies to it, too. */
static void messages_cpu_paused(struct kunit *test)
{
	struct kdtl_counter_req req = {
		.counter = KDTL_CTR_CEDE, .flags = KDTL_COUNTER_NOTIFY,
		.value = -1, .long_reset = -10,
	};
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_PAUSE);
	const int cpu = num_online_cpus() - 1;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 1);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EBUSY);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), 0ULL);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), (u64)-10);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	kapi_emit(cpu, KDTL_KIND_CEDE, 3);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), (u64)-7);
}
#endif

/* -------------------------------------------------------------------- queue */

/*
 * Messages are read in the order in which they were posted.  A full queue drops the newest ones,
 * and the next message that fits says how many.
 */
static void messages_full(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	const unsigned int extra = 20;
	struct kdtl_msg msg;
	unsigned int i, round;
	u64 time = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (round = 0; round < 3; round++) {
		kapi_emit(0, KDTL_KIND_CEDE, KAPI_MSG_SLOTS + extra);
		for (i = 0; i < KAPI_MSG_SLOTS; i++) {
			msg = kapi_msg(test, s);
			KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_OVERFLOW + 0);
			KUNIT_EXPECT_EQ(test, msg.dropped, 0ULL);
			KUNIT_EXPECT_GE(test, msg.time, time);
			time = msg.time;
		}
		KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true),
				(ssize_t)-EAGAIN);
		/* That many overflow messages were dropped, and the KDTL_MSG_AUX after them. */
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

/* A load throws messages away, and also the count of dropped ones that nobody was told of. */
static void messages_load(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, KAPI_MSG_SLOTS + 20);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	msg = kapi_msg(test, s);
	KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_OVERFLOW + 0);
	KUNIT_EXPECT_EQ(test, msg.dropped, 0ULL);
}

/* Read all messages and add up what they say.  Returns the last one. */
static struct kdtl_msg messages_read_all(struct kdtl_session *s, u64 *nr, u64 *dropped)
{
	struct kdtl_msg msg, last = {};

	while (kdtl_read(s, &msg, sizeof(msg), true) > 0) {
		*dropped += msg.dropped;
		++*nr;
		last = msg;
	}
	return last;
}

/*
 * Even if the queue is full, the reader gets a message if a CPU is paused, and one about the end.
 */
static void messages_full_kept(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.msg_pages	= 1,
		.watermark	= KDTL_ENTRY_SIZE,
		.flags		= KDTL_SESSION_PAUSE,
	};
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_PREEMPT,
		.flags		= KDTL_COUNTER_NOTIFY,
		.value		= -1,
		.long_reset	= -1,
	};
	struct kdtl_session *s = kapi_create(test, &attr);
	const int cpu = num_online_cpus() - 1;
	unsigned int i, round;
	struct kdtl_msg last;
	u64 nr, dropped;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < KAPI_MSG_SLOTS + 3; i++)
			kapi_emit(0, KDTL_KIND_CEDE, 1);
		kapi_emit(0, KDTL_KIND_PREEMPT, 1);
		kapi_emit(cpu, KDTL_KIND_PREEMPT, 1);
		/* Both CPUs are paused, and one message suffices for that. */
		nr = 0;
		dropped = 0;
		last = messages_read_all(s, &nr, &dropped);
		KUNIT_EXPECT_EQ(test, nr, (u64)KAPI_MSG_SLOTS + 1);
		KUNIT_EXPECT_EQ(test, last.type, KDTL_MSG_OVERFLOW + 0);
		KUNIT_EXPECT_EQ(test, last.dropped, 3ULL);
		KUNIT_EXPECT_EQ(test, dropped, round ? 6ULL : 3ULL);
		KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EBUSY);
		kapi_drain(s, 0);
		kapi_drain(s, cpu);
	}

	for (i = 0; i < KAPI_MSG_SLOTS + 3; i++)
		kapi_emit(0, KDTL_KIND_CEDE, 1);
	kapi_emit(0, KDTL_KIND_PREEMPT, 1);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	nr = 0;
	dropped = 0;
	last = messages_read_all(s, &nr, &dropped);
	KUNIT_EXPECT_EQ(test, nr, (u64)KAPI_MSG_SLOTS + 2);
	KUNIT_EXPECT_EQ(test, last.type, KDTL_MSG_END + 0);
	KUNIT_EXPECT_GT(test, dropped, 3ULL);
}

/*
 * All messages that were posted are read or counted as dropped, whatever the reader does meanwhile.
 */
static void messages_add_up(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	u64 posted = 0, got = 0, dropped = 0;
	struct kdtl_msg msg;
	unsigned int i, k;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_CEDE), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (i = 0; i < 500; i++) {
		/* Each burst also posts one AUX message. */
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
	messages_read_all(s, &got, &dropped);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	posted += 2;
	messages_read_all(s, &got, &dropped);
	KUNIT_EXPECT_EQ(test, got + dropped, posted);
	KUNIT_EXPECT_GT(test, dropped, 0ULL);
}

#define MESSAGES_BURST	3000

static void messages_burst(void *unused)
{
	unsigned int i;

	for (i = 0; i < MESSAGES_BURST; i++)
		kdtl_fake_emit_here(KDTL_KIND_FAULT, 0, 0, 0);
}

/* All CPUs post at once: the messages of each keep their order, and each is read or counted. */
static void messages_all_cpus(struct kunit *test)
{
	struct kdtl_session *s = kapi_overflows_only(test);
	const u64 posted = (u64)num_online_cpus() * MESSAGES_BURST;
	const unsigned long end = jiffies + KAPI_FOREVER;
	u64 nr = 0, dropped = 0, late = 0;
	struct kdtl_msg msg;
	u64 *last;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	last = kcalloc(nr_cpu_ids, sizeof(*last), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, last);
	on_each_cpu(messages_burst, NULL, false);
	while (kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, -1) < posted &&
	       time_before(jiffies, end)) {
		while (kdtl_read(s, &msg, sizeof(msg), true) > 0) {
			nr++;
			dropped += msg.dropped;
			late += msg.time < last[msg.cpu];
			last[msg.cpu] = msg.time;
		}
	}
	/* Read the rest, and one more message, which tells of those that were dropped last. */
	messages_read_all(s, &nr, &dropped);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	messages_read_all(s, &nr, &dropped);
	KUNIT_EXPECT_EQ(test, nr + dropped, posted + 1);
	KUNIT_EXPECT_EQ(test, late, 0ULL);
	kunit_info(test, "%llu messages, %llu dropped", nr, dropped);
	kfree(last);
}

/* Only the chosen types are posted, and the message about the end. */
static void messages_chosen(struct kunit *test)
{
	struct kdtl_session *s = kapi_overflows_only(test);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	kapi_emit(0, KDTL_KIND_CEDE, 2 * KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE);
	kdtl_fake_lost(0, 5);
	/* Data that came still makes kdtl_wait() return. */
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_EXPECT_EQ(test, kapi_msg(test, s).type, KDTL_MSG_OVERFLOW + 0);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	msg = kapi_msg(test, s);
	KUNIT_EXPECT_EQ(test, msg.type, KDTL_MSG_END + 0);
	KUNIT_EXPECT_EQ(test, msg.dropped, 0ULL);
}

static void messages_read_errors(struct kunit *test)
{
	struct kdtl_session *s = kapi_session_of(test, 1, 0, NULL);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, NULL, sizeof(msg), true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg) - 1, true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg) + 1, false), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, 0, true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
	/* A message holds nothing but its fields; the rest of it is zero. */
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	memset(&msg, 0xff, sizeof(msg));
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)sizeof(msg));
	KUNIT_EXPECT_EQ(test, msg.aux.offset | msg.aux.size | msg.aux.flags, 0ULL);
}

static struct kunit_case messages_cases[] = {
	KUNIT_CASE(messages_aux),
	KUNIT_CASE(messages_lost),
	KUNIT_CASE(messages_lost_late),
	KUNIT_CASE(messages_flags),
	KUNIT_CASE(messages_overflow),
	KUNIT_CASE(messages_end),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(messages_cpu),
	KUNIT_CASE(messages_cpu_paused),
#endif
	KUNIT_CASE(messages_full),
	KUNIT_CASE(messages_load),
	KUNIT_CASE(messages_full_kept),
	KUNIT_CASE(messages_add_up),
	KUNIT_CASE(messages_all_cpus),
	KUNIT_CASE(messages_chosen),
	KUNIT_CASE(messages_read_errors),
	{}
};

struct kunit_suite kdtl_messages_suite = {
	.name		= "kdtl_messages",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= messages_cases,
};
