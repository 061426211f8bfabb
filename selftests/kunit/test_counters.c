// SPDX-License-Identifier: GPL-2.0
/*
 * Counters: values, thresholds, resets, pausing, and vectors of requests
 *
 * The test source produces a known number of entries, so every value has one
 * right answer.
 */
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "kapi.h"

/* Write one counter of a set. */
static int counters_write(struct kdtl_session *s, u16 set, enum kdtl_counter counter,
			  u32 flags, u64 value, u64 short_reset, u64 long_reset)
{
	struct kdtl_counter_req req = {
		.set		= set,
		.counter	= counter,
		.flags		= flags,
		.value		= value,
		.short_reset	= short_reset,
		.long_reset	= long_reset,
	};

	return kdtl_write_counters(s, &req, 1);
}

/* ------------------------------------------------------------------- values */

/* What the source produces on one CPU. */
static const struct counters_burst {
	enum kdtl_kind	kind;
	unsigned int	nr;
	u32		queued;
	u32		ready;
	u32		slept;
} counters_bursts[] = {
	{ KDTL_KIND_CEDE, 11, 7, 100, 1000 },
	{ KDTL_KIND_PREEMPT, 5, U32_MAX, 0, 3 },
	{ KDTL_KIND_FAULT, 3, 0, U32_MAX, 1 },
	{ KDTL_KIND_THROTTLE, 4, 9, 77, 5 },
	{ KDTL_KIND_IDLE, 6, 0, 0, 0 },
	{ KDTL_KIND_UNKNOWN, 2, 1, 1, U32_MAX },
};

static void counters_produce(u64 *want, int cpu)
{
	const struct counters_burst *b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(counters_bursts); i++) {
		b = &counters_bursts[i];
		kdtl_fake_emit(cpu, b->kind, b->nr, b->queued, b->ready, b->slept);
		want[KDTL_CTR_ENTRIES] += b->nr;
		want[KDTL_CTR_CEDE + b->kind] += b->nr;
		want[KDTL_CTR_QUEUED] += (u64)b->nr * b->queued;
		want[b->kind == KDTL_KIND_THROTTLE ? KDTL_CTR_THROTTLED : KDTL_CTR_READY] +=
			(u64)b->nr * b->ready;
		want[KDTL_CTR_SLEPT] += (u64)b->nr * b->slept;
		want[KDTL_CTR_BYTES] += b->nr * KDTL_ENTRY_SIZE;
	}
}

static void counters_values(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_config config = { .mask = KDTL_MASK_ALL | KDTL_MASK_IDLE };
	u64 want[KDTL_NR_COUNTERS], sum[KDTL_NR_COUNTERS] = {};
	int c, cpu, round;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_write_config(s, &config, 1), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for_each_online_cpu(cpu) {
		memset(want, 0, sizeof(want));
		for (round = 0; round <= cpu; round++)
			counters_produce(want, cpu);
		/* Entries that the source itself lost are of unknown kind. */
		kdtl_fake_lost(cpu, 17);
		want[KDTL_CTR_ENTRIES] += 17;
		want[KDTL_CTR_UNKNOWN] += 17;
		want[KDTL_CTR_LOST] += 17;
		for (c = 0; c <= KDTL_CTR_LOST; c++) {
			sum[c] += want[c];
			KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, s, 0, c, cpu),
					    want[c], "counter %d on CPU %d", c, cpu);
		}
		/* A wake-up for the loss, and another one when the loss is over. */
		KUNIT_EXPECT_GE(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, cpu), 1ULL);
	}
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	for (c = 0; c <= KDTL_CTR_LOST; c++)
		KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, s, 0, c, -1), sum[c],
				    "counter %d, all CPUs", c);
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), sum[KDTL_CTR_ENTRIES]);

	/* While the session is stopped, nothing is counted. */
	for_each_online_cpu(cpu)
		counters_produce(want, cpu);
	for (c = 0; c <= KDTL_CTR_LOST; c++)
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, c, -1), sum[c]);

	/* Once it is started again, counting goes on. */
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, -1),
			sum[KDTL_CTR_FAULT] + 1);

	/* Unload keeps the counts; the next load drops them. */
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, -1),
			sum[KDTL_CTR_ENTRIES] + 1);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	for (c = 0; c < KDTL_NR_COUNTERS; c++)
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, c, -1), 0ULL);
}

/* Entries that found no room are counted, but not in BYTES. */
static void counters_full(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	const unsigned int fits = KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, fits + 100, 2, 0, 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0),
			(u64)fits + 100);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0),
			(u64)fits + 100);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_QUEUED, 0),
			2 * ((u64)fits + 100));
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0), 100ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_BYTES, 0),
			(u64)fits * KDTL_ENTRY_SIZE);
	kapi_drain(s, 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0), 100ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_BYTES, 0),
			(u64)(fits + 1) * KDTL_ENTRY_SIZE);
}

/* Only entries that cross the watermark count as wake-ups, one each. */
static void counters_wakeups(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.watermark	= 10 * KDTL_ENTRY_SIZE + 8,
	};
	struct kdtl_session *s = kapi_create(test, &attr);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (i = 1; i <= 1000; i++) {
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_ASSERT_EQ_MSG(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0),
				    div_u64((u64)i * KDTL_ENTRY_SIZE, attr.watermark),
				    "after %u entries", i);
	}
}

/*
 * ENABLED runs while the session is started, RUNNING unless it is paused; both stay within the
 * times that are measured around them.
 */
static void counters_times(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_PAUSE);
	u64 before, after, inner, outer, enabled, running, was;
	unsigned int nr_cpus = num_online_cpus();

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, counters_write(s, 0, KDTL_CTR_CEDE, KDTL_COUNTER_NOTIFY,
					     -1, 0, 0), 0);
	KUNIT_ASSERT_EQ(test, kdtl_load(s, NULL), 0);
	before = ktime_get_ns();
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	inner = ktime_get_ns();
	pass_ms(50);
	enabled = kapi_counter(test, s, 0, KDTL_CTR_ENABLED, -1);
	KUNIT_EXPECT_GE(test, enabled, 40 * NSEC_PER_MSEC * nr_cpus);
	inner = ktime_get_ns() - inner;
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	after = ktime_get_ns();
	outer = after - before;

	/* local_clock() and ktime may differ by 2 % and a tick. */
	enabled = kapi_counter(test, s, 0, KDTL_CTR_ENABLED, -1);
	running = kapi_counter(test, s, 0, KDTL_CTR_RUNNING, -1);
	KUNIT_EXPECT_EQ(test, enabled, running);
	KUNIT_EXPECT_GE(test, enabled + div_u64(enabled, 50) + TICK_NSEC * nr_cpus,
			inner * nr_cpus);
	KUNIT_EXPECT_LE(test, enabled, (outer + div_u64(outer, 50) + TICK_NSEC) * nr_cpus);

	/* While the session is stopped, both stand still. */
	pass_ms(20);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENABLED, -1), enabled);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_RUNNING, -1), running);

	/* While it is paused, only ENABLED runs. */
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	was = kapi_counter(test, s, 0, KDTL_CTR_ENABLED, 0);
	running = kapi_counter(test, s, 0, KDTL_CTR_RUNNING, 0);
	pass_ms(20);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_RUNNING, 0), running);
	KUNIT_EXPECT_GE(test, kapi_counter(test, s, 0, KDTL_CTR_ENABLED, 0),
			was + 15 * NSEC_PER_MSEC);
	before = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	was = kapi_counter(test, s, 0, KDTL_CTR_RUNNING, 0);
	outer = ktime_get_ns() - before;
	KUNIT_EXPECT_LE(test, was, running + outer + div_u64(outer, 50) + TICK_NSEC);
	pass_ms(20);
	KUNIT_EXPECT_GE(test, kapi_counter(test, s, 0, KDTL_CTR_RUNNING, 0),
			running + 15 * NSEC_PER_MSEC);
}

/* Before the load a counter is zero, or has the value that was written. */
static void counters_created(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	int c;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (c = 0; c < KDTL_NR_COUNTERS; c++)
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, c, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, counters_write(s, 0, KDTL_CTR_FAULT, 0, 0x123456789abcdef0,
					     0, 0), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, 0),
			0x123456789abcdef0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, 0),
			0x123456789abcdef0ULL);
	/* A write to a loaded session takes effect at once, and is kept for the next load. */
	KUNIT_EXPECT_EQ(test, counters_write(s, 0, KDTL_CTR_FAULT, 0, 5, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	kapi_emit(0, KDTL_KIND_FAULT, 3);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, 0), 8ULL);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, 0), 8ULL);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, 0), 5ULL);
}

/* ----------------------------------------------------------------- overflow */

/*
 * The counter overflows when it wraps past 2^64, and not before; then it starts from its short
 * reset, again and again.
 */
static void counters_threshold(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_msg msg;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, counters_write(s, 0, KDTL_CTR_ENTRIES, KDTL_COUNTER_NOTIFY,
					     -10, -3, -100), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), (u64)-1);
	KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	for (i = 0; i < 5; i++) {
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
		KUNIT_EXPECT_EQ(test, msg.overflow.counters, BIT(KDTL_CTR_ENTRIES) + 0U);
		KUNIT_EXPECT_EQ(test, msg.set, 0);
		KUNIT_EXPECT_EQ(test, msg.cpu, 0);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), (u64)-3);
		kapi_emit(0, KDTL_KIND_CEDE, 2);
		KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	}
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).overflowed,
			BIT(KDTL_CTR_ENTRIES) + 0U);
	/* Nothing is paused, so there is nothing to restart. */
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EBUSY);
	/* Every entry is in the area. */
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 9 + 5 * 3ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 9 + 5 * 3ULL);
}

/* Every counter that the source moves can overflow, each after steps of its own size. */
static void counters_each_overflows(struct kunit *test)
{
	struct kdtl_config config = { .mask = KDTL_MASK_ALL | KDTL_MASK_IDLE };
	struct kdtl_session *s;
	struct kdtl_msg msg;
	int c, left;
	u64 began;

	for (c = 0; c < KDTL_NR_COUNTERS; c++) {
		s = kapi_session(test, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		config.min_wait = c == KDTL_CTR_FILTERED ? 10 : 0;
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &config, 1), 0);
		KUNIT_EXPECT_EQ(test, counters_write(s, 0, c, KDTL_COUNTER_NOTIFY,
						     -1, 0, 0), 0);
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		/*
		 * Overflows of the clocks are noticed at the next entry.  Time has to pass for
		 * them, and local_clock() may stand still for a tick.
		 */
		began = local_clock();
		KUNIT_EXPECT_TRUE(test, kapi_until_busy(local_clock() != began));
		for (left = 3; left; left--) {
			kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, 1, 1, 1);
			kdtl_fake_emit(0, KDTL_KIND_PREEMPT, 1, 1, 1, 1);
			kdtl_fake_emit(0, KDTL_KIND_FAULT, 1, 1, 1, 1);
			kdtl_fake_emit(0, KDTL_KIND_THROTTLE, 1, 1, 1, 1);
			kdtl_fake_emit(0, KDTL_KIND_IDLE, 1, 0, 0, 0);
			kdtl_fake_lost(0, 1);
		}
		KUNIT_EXPECT_TRUE_MSG(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg),
				      "counter %d", c);
		KUNIT_EXPECT_EQ(test, msg.overflow.counters, BIT(c) + 0U);
		/* The short reset is 0, so the counter does not overflow again. */
		KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 0U);
		kapi_close(test);
	}
}

/* Without KDTL_COUNTER_NOTIFY a counter that overflows is reset, but there is no message. */
static void counters_quiet(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_PAUSE);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, counters_write(s, 0, KDTL_CTR_CEDE, 0, -4, -7, -100), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 4 + 3 * 7);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), (u64)-7);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EBUSY);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).overflowed, BIT(KDTL_CTR_CEDE) + 0U);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 0U);
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 25ULL);
}

/* Once a counter is written without KDTL_COUNTER_NOTIFY, the flag of an earlier write is gone. */
static void counters_notify_no_more(struct kunit *test)
{
	struct kdtl_counter_req req = {
		.counter = KDTL_CTR_CEDE, .value = -1, .flags = KDTL_COUNTER_NOTIFY,
	};
	struct kdtl_session *s = kapi_session_of(test, 4, 0, NULL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	req.flags = 0;
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 0U);
}

/* A counter without a threshold goes on counting past the overflows of other counters. */
static void counters_resets(struct kunit *test)
{
	struct kdtl_counter_req req[] = {
		{ .counter = KDTL_CTR_ENTRIES, .value = -6, .short_reset = -6,
		  .resets = BIT(KDTL_CTR_CEDE) | BIT(KDTL_CTR_QUEUED) },
		{ .counter = KDTL_CTR_CEDE, .value = 1000, .short_reset = 2000 },
		{ .counter = KDTL_CTR_PREEMPT, .value = 3000, .short_reset = 4000 },
	};
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, req, ARRAY_SIZE(req)), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 2, 5, 6, 7);
	kdtl_fake_emit(0, KDTL_KIND_PREEMPT, 3, 5, 6, 7);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 1002ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_QUEUED, 0), 25ULL);
	kdtl_fake_emit(0, KDTL_KIND_PREEMPT, 1, 5, 6, 7);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), (u64)-6);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 2000ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_QUEUED, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_PREEMPT, 0), 3004ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_READY, 0), 36ULL);
	/* Only the counter that overflowed is reported, not those that it reset. */
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).overflowed,
			BIT(KDTL_CTR_ENTRIES) + 0U);
}

/* The period is random: never shorter than the reset says, and longer by at most the mask. */
static void counters_random(struct kunit *test)
{
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_ENTRIES,
		.flags		= KDTL_COUNTER_NOTIFY | KDTL_COUNTER_RANDOM,
		.value		= -5,
		.short_reset	= -5,
		.random_mask	= 7,
	};
	struct kdtl_session *s = kapi_session(test, 0);
	unsigned int seen = 0, round;
	u64 value;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	/* The first period is not random, but as written. */
	value = -5;
	for (round = 0; round < 500; round++) {
		kapi_emit(0, KDTL_KIND_CEDE, -value - 1);
		KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 0U);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 1U);
		value = kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0);
		KUNIT_ASSERT_TRUE(test, -value >= 5 && -value <= 5 + 7);
		seen |= 1 << (-value - 5);
		kapi_drain(s, 0);
	}
	/* In 500 throws of an eight-sided die, each side comes up. */
	KUNIT_EXPECT_EQ(test, seen, 0xffU);
}

/* If several counters overflow at the same entry, there is one message for all of them. */
static void counters_together(struct kunit *test)
{
	struct kdtl_counter_req req[] = {
		{ .counter = KDTL_CTR_ENTRIES, .flags = KDTL_COUNTER_NOTIFY,
		  .value = -4, .short_reset = -4 },
		{ .counter = KDTL_CTR_CEDE, .value = -4, .short_reset = -8 },
		{ .counter = KDTL_CTR_SLEPT, .flags = KDTL_COUNTER_NOTIFY,
		  .value = -40, .short_reset = -4000 },
		{ .counter = KDTL_CTR_READY, .flags = KDTL_COUNTER_NOTIFY,
		  .value = -41, .short_reset = -4000 },
	};
	const u32 all = BIT(KDTL_CTR_ENTRIES) | BIT(KDTL_CTR_CEDE) | BIT(KDTL_CTR_SLEPT);
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, req, ARRAY_SIZE(req)), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 4, 0, 10, 10);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	KUNIT_EXPECT_EQ(test, msg.overflow.counters, all);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 0U);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, 0, 1, 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	KUNIT_EXPECT_EQ(test, msg.overflow.counters, BIT(KDTL_CTR_READY) + 0U);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), (u64)-7);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_SLEPT, 0), (u64)-3999);
}

/* Each CPU's counter overflows on its own. */
static void counters_per_cpu(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	const int other = kapi_other_cpu(0);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, other, 0);
	KUNIT_ASSERT_EQ(test, counters_write(s, 0, KDTL_CTR_CEDE, KDTL_COUNTER_NOTIFY,
					     -10, -10, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 9);
	kapi_emit(other, KDTL_KIND_CEDE, 9);
	KUNIT_EXPECT_FALSE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	kapi_emit(other, KDTL_KIND_CEDE, 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, other);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), (u64)-1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, other), (u64)-10);
}

/* ------------------------------------------------------------------ pausing */

static void counters_mask(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_PAUSE);
	const int other = kapi_other_cpu(0);
	const struct kdtl_entry *e;
	struct kdtl_msg msg;
	const void *span;
	unsigned int nr = 0;
	ssize_t len;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, other, 0);
	KUNIT_ASSERT_EQ(test, counters_write(s, 0, KDTL_CTR_CEDE, KDTL_COUNTER_NOTIFY,
					     -10, -20, -30), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_PREEMPT, 3);
	kapi_emit(0, KDTL_KIND_CEDE, 25);
	kapi_emit(other, KDTL_KIND_CEDE, 9);

	/* CPU 0 has stopped at the overflow; the other CPU goes on. */
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 13ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, other), (u64)-1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	KUNIT_EXPECT_EQ(test, msg.cpu, 0);
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 0U);

	/* What the source loses while the CPU is paused is not counted either. */
	kdtl_fake_lost(0, 5);
	kdtl_fake_lost(other, 5);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, other), 5ULL);

	/* Unread entries can be read and given back while the CPU is paused. */
	len = kdtl_aux_peek(s, 0, &span);
	KUNIT_EXPECT_EQ(test, len, (ssize_t)13 * KDTL_ENTRY_SIZE);
	kdtl_for_each_entry(e, span, len)
		nr += kdtl_entry_cpu(e) == 0;
	KUNIT_EXPECT_EQ(test, nr, 13U);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, len), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 5);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)0);

	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EBUSY);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), (u64)-30);
	/* The restart has not touched the other CPU. */
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, other), (u64)-1);
	kapi_emit(0, KDTL_KIND_CEDE, 29);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)29 * KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 13 + 29 + 9 + 5ULL);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), -EBUSY);
}

/* If both CPUs are paused, one restart resumes both; an overflow without notify pauses nothing. */
static void counters_mask_all(struct kunit *test)
{
	struct kdtl_counter_req req[] = {
		{ .counter = KDTL_CTR_CEDE, .flags = KDTL_COUNTER_NOTIFY, .value = -1,
		  .short_reset = -2, .long_reset = -3, .resets = BIT(KDTL_CTR_FAULT) },
		{ .counter = KDTL_CTR_PREEMPT, .value = -1, .short_reset = -5,
		  .long_reset = -7 },
		{ .counter = KDTL_CTR_FAULT, .value = 50, .short_reset = 60,
		  .long_reset = 70 },
	};
	struct kdtl_session *s = kapi_session(test, KDTL_SESSION_PAUSE);
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, req, ARRAY_SIZE(req)), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for_each_online_cpu(cpu) {
		kapi_emit(cpu, KDTL_KIND_PREEMPT, 1);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_PREEMPT, cpu),
				(u64)-5);
		kapi_emit(cpu, KDTL_KIND_CEDE, 1);
		kapi_emit(cpu, KDTL_KIND_FAULT, 1);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, cpu), 50ULL);
	}
	KUNIT_EXPECT_EQ(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), num_online_cpus());

	/*
	 * A CPU that is paused when the session is stopped stays paused, and kdtl_restart() does
	 * not start the session.
	 */
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), (u64)-3);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, cpu), 70ULL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_PREEMPT, cpu), (u64)-5);
		kapi_emit(cpu, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), (u64)-3);
	}
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	for_each_online_cpu(cpu) {
		kapi_emit(cpu, KDTL_KIND_CEDE, 1);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, cpu), (u64)-2);
	}
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 3ULL * num_online_cpus());
}

/* A paused session and one that runs beside it do not affect each other. */
static void counters_mask_alone(struct kunit *test)
{
	struct kdtl_session *s, *free;

	free = kapi_session(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, free);
	s = kapi_session(test, KDTL_SESSION_PAUSE);
	if (!s) {
		kdtl_session_close(free);
		return;
	}
	KUNIT_EXPECT_EQ(test, counters_write(s, 0, KDTL_CTR_CEDE, KDTL_COUNTER_NOTIFY,
					     -1, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(free), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 100);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 1ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, free, 0, KDTL_CTR_ENTRIES, 0), 100ULL);
	KUNIT_EXPECT_EQ(test, kdtl_restart(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 100);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 101ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, free, 0, KDTL_CTR_ENTRIES, 0), 200ULL);
	kdtl_session_close(free);
}

/* ------------------------------------------------------------------ vectors */

#define COUNTERS_SENTINEL	(-12345)

/* The second of three elements is bad: that one is marked, and none of them changes anything. */
static void counters_vector(struct kunit *test)
{
	static const struct {
		const char		*what;
		bool			write_only;
		struct kdtl_counter_req	req;
	} bad[] = {
		{ "set", false, { .set = 1, .counter = KDTL_CTR_CEDE } },
		{ "counter", false, { .counter = KDTL_NR_COUNTERS } },
		{ "flags", true, { .flags = 0x4 } },
		{ "resets", true, { .resets = BIT(KDTL_NR_COUNTERS) } },
	};
	struct kdtl_session *s = kapi_session(test, 0);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct kdtl_counter_req req[3] = {
			{ .counter = KDTL_CTR_CEDE, .value = 77, .error = COUNTERS_SENTINEL },
			bad[i].req,
			{ .counter = KDTL_CTR_FAULT, .value = 78, .error = COUNTERS_SENTINEL },
		};

		KUNIT_EXPECT_EQ_MSG(test, kdtl_write_counters(s, req, 3), -EINVAL,
				    "%s", bad[i].what);
		KUNIT_EXPECT_EQ(test, req[0].error, 0);
		KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);
		KUNIT_EXPECT_EQ(test, req[2].error, COUNTERS_SENTINEL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, -1), 0ULL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, -1), 0ULL);
		if (bad[i].write_only)
			continue;
		req[1].error = 0;
		KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, 3), -EINVAL);
		KUNIT_EXPECT_EQ(test, req[0].error, 0);
		KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);
		KUNIT_EXPECT_EQ(test, req[0].value, 77ULL);
		KUNIT_EXPECT_EQ(test, req[2].value, 78ULL);
	}
}

static void counters_vector_cpu(struct kunit *test)
{
	struct kdtl_counter_req req[2] = { { .cpu = -1 }, { .cpu = -2, .value = 5 } };
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);
	KUNIT_EXPECT_EQ(test, req[1].value, 5ULL);
	req[1].cpu = nr_cpu_ids;
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, 2), -EINVAL);
	req[1].cpu = INT_MAX;
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, 2), -EINVAL);
	req[1].cpu = 0;
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, 2), 0);
	KUNIT_EXPECT_EQ(test, req[1].error, 0);
	KUNIT_EXPECT_EQ(test, req[1].value, 0ULL);
}

static void counters_vector_size(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_counter_req *req;
	struct kdtl_config *config;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, NULL, 0), 0);
	KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, NULL, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, NULL, 1), -EINVAL);

	req = kcalloc(KDTL_MAX_REQUESTS + 1, sizeof(*req), GFP_KERNEL);
	config = kcalloc(KDTL_MAX_REQUESTS + 1, sizeof(*config), GFP_KERNEL);
	KUNIT_EXPECT_TRUE(test, req && config);
	if (req && config) {
		for (i = 0; i <= KDTL_MAX_REQUESTS; i++) {
			req[i].counter = i % KDTL_NR_COUNTERS;
			req[i].cpu = -1;
		}
		KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, KDTL_MAX_REQUESTS), 0);
		KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, KDTL_MAX_REQUESTS + 1), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, req, KDTL_MAX_REQUESTS), 0);
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, req, KDTL_MAX_REQUESTS + 1), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, config, KDTL_MAX_REQUESTS), 0);
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, config, KDTL_MAX_REQUESTS + 1), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, req, UINT_MAX), -E2BIG);
	}
	kfree(config);
	kfree(req);
}

static void counters_config(struct kunit *test)
{
	struct kdtl_config req[3] = {
		{ .mask = KDTL_MASK_FAULT, .error = COUNTERS_SENTINEL },
		{ .mask = 32, .error = COUNTERS_SENTINEL },
		{ .mask = KDTL_MASK_CEDE, .error = COUNTERS_SENTINEL },
	};
	struct kdtl_session *s = kapi_session(test, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, req, 3), -EINVAL);
	KUNIT_EXPECT_EQ(test, req[0].error, 0);
	KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);
	KUNIT_EXPECT_EQ(test, req[2].error, COUNTERS_SENTINEL);
	req[1].mask = KDTL_MASK_ALL;
	req[1].set = 9;
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, req, 2), -EINVAL);
	KUNIT_EXPECT_EQ(test, req[1].error, -EINVAL);

	/* Nothing has changed: all kinds are still logged. */
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 2ULL);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);

	/*
	 * In a loaded session the mask takes effect with the next start.  Entries of kind UNKNOWN
	 * match every mask.
	 */
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, req, 1), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 10);
	kapi_emit(0, KDTL_KIND_PREEMPT, 10);
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	kapi_emit(0, KDTL_KIND_UNKNOWN, 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 1ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_PREEMPT, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FAULT, 0), 2ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_UNKNOWN, 0), 1ULL);
}

/* ------------------------------------------------------------- while it runs */

#define COUNTERS_ROUNDS		20000
#define COUNTERS_ROUNDS_MIN	1000

/* Is there to be another round?  A race may go on until @enough. */
static bool counters_race_goes_on(unsigned int round, unsigned long enough)
{
	return round < COUNTERS_ROUNDS_MIN ||
	       (round < COUNTERS_ROUNDS && time_before(jiffies, enough));
}

struct counters_reader {
	struct kunit		*test;
	struct kdtl_session	*s;
	bool			clocks;		/* same CPU, same clock */
	u64			(*last)[KDTL_NR_COUNTERS];	/* read last, of both sets */
	unsigned long		reads;
	struct task_struct	*task;
};

/*
 * Values never go back, except for FAULT, which is reset at each entry, and for the clocks if this
 * reader is on another CPU, whose own clock may be behind.
 */
static int counters_read_all(void *arg)
{
	struct counters_reader *r = arg;
	struct kdtl_counter_req req[KDTL_NR_COUNTERS] = {};
	unsigned int i, set = 0;
	u64 was;

	while (!kthread_should_stop()) {
		for (i = 0; i < ARRAY_SIZE(req); i++) {
			req[i].set = set;
			req[i].counter = i;
		}
		KUNIT_EXPECT_EQ(r->test, kdtl_read_counters(r->s, req, ARRAY_SIZE(req)), 0);
		for (i = 0; i < ARRAY_SIZE(req); i++) {
			was = r->last[set][i];
			if (req[i].value < was && i != KDTL_CTR_FAULT &&
			    (r->clocks || i < KDTL_CTR_ENABLED))
				KUNIT_FAIL(r->test, "set %u counter %u went back: %llu, %llu",
					   set, i, was, req[i].value);
			r->last[set][i] = req[i].value;
		}
		set = !set;
		WRITE_ONCE(r->reads, r->reads + 1);
		cond_resched();
	}
	return 0;
}

/* Two sets take turns at each entry, while their counters are read all the time. */
static void counters_while_running(struct kunit *test)
{
	struct kdtl_evtset sets[] = { { .id = 0, .overflows = 1 }, { .id = 1, .overflows = 1 } };
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
	};
	struct kdtl_session *s = kapi_create(test, &attr);
	/* These are too large for the stack of a 32-bit kernel. */
	static u64 last[2][2][KDTL_NR_COUNTERS];
	struct counters_reader r[] = {
		{ .test = test, .s = s, .clocks = true },
		{ .test = test, .s = s },
	};
	unsigned long enough;
	unsigned int i;
	u64 sum = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, sets, 2), 0);
	/*
	 * FAULT overflows at each entry, so that the sets switch there; no other counter goes back.
	 */
	KUNIT_ASSERT_EQ(test, counters_write(s, 0, KDTL_CTR_FAULT, 0, -1, -1, 0), 0);
	KUNIT_ASSERT_EQ(test, counters_write(s, 1, KDTL_CTR_FAULT, 0, -1, -1, 0), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	memset(last, 0, sizeof(last));
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		r[i].last = last[i];
		r[i].task = kthread_create_on_cpu(counters_read_all, &r[i],
						  i ? kapi_other_cpu(0) : 0, "kdtl_read/%u");
		KUNIT_ASSERT_FALSE(test, IS_ERR(r[i].task));
		wake_up_process(r[i].task);
	}
	enough = jiffies + msecs_to_jiffies(kapi_race_ms);
	for (i = 0; counters_race_goes_on(i, enough); i++) {
		kdtl_fake_emit(0, KDTL_KIND_FAULT, 1 + i % 7, 0, 1, 2);
		sum += 1 + i % 7;
		if (i % 64 == 0)
			kapi_drain(s, 0);
	}
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	for (i = 0; i < ARRAY_SIZE(r); i++) {
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(r[i].reads) > 10));
		kthread_stop(r[i].task);
	}
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0) +
			      kapi_counter(test, s, 1, KDTL_CTR_ENTRIES, 0), sum);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_READY, 0) +
			      kapi_counter(test, s, 1, KDTL_CTR_READY, 0), sum);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_SLEPT, 0) +
			      kapi_counter(test, s, 1, KDTL_CTR_SLEPT, 0), 2 * sum);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, -1), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), sum);
	kunit_info(test, "%lu and %lu reads", r[0].reads, r[1].reads);
}

struct counters_bytes {
	struct kdtl_session	*s;
	u64			last, back, reads;
	struct task_struct	*task;
};

static int counters_read_bytes(void *arg)
{
	struct counters_bytes *r = arg;
	struct kdtl_counter_req req = { .counter = KDTL_CTR_BYTES };

	while (!kthread_should_stop()) {
		if (kdtl_read_counters(r->s, &req, 1) || req.value < r->last)
			r->back++;
		r->last = req.value;
		r->reads++;
		cond_resched();
	}
	return 0;
}

/* BYTES never goes back and never counts bytes that are not stored, while another CPU reads it. */
static void counters_bytes_while_running(struct kunit *test)
{
	static const struct {
		const char	*what;
		u32		flags;
		u64		min_wait;
		unsigned int	stored;		/* entries in the area */
	} cases[] = {
		{ "no area", KDTL_SESSION_NO_AUX, 0, 0 },
		{ "all are too short", 0, U64_MAX, 0 },
		{ "full area", 0, 0, PAGE_SIZE / KDTL_ENTRY_SIZE },
	};
	struct kdtl_session_attr attr = { .pmu = KDTL_FAKE_PMU };
	unsigned int i, round;
	unsigned long enough;
	u64 reads;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct counters_bytes r = {};

		kunit_info(test, "%s", cases[i].what);
		attr.flags = cases[i].flags;
		attr.min_wait = cases[i].min_wait;
		attr.aux_pages = !attr.flags;
		r.s = kapi_started(test, &attr);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r.s);
		r.task = kthread_create_on_cpu(counters_read_bytes, &r, kapi_other_cpu(0),
					       "kdtl_bytes/%u");
		KUNIT_ASSERT_FALSE(test, IS_ERR(r.task));
		wake_up_process(r.task);
		enough = jiffies + msecs_to_jiffies(kapi_race_ms);
		for (round = 0; counters_race_goes_on(round, enough); round++)
			kapi_emit(0, KDTL_KIND_CEDE, 1 + round % 7);
		/*
		 * After so many more reads, the last ones began when no entry was being made any
		 * more.
		 */
		reads = READ_ONCE(r.reads);
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(r.reads) > reads + 10));
		kthread_stop(r.task);
		KUNIT_EXPECT_EQ(test, r.back, 0ULL);
		KUNIT_EXPECT_EQ(test, r.last, (u64)cases[i].stored * KDTL_ENTRY_SIZE);
		kapi_close(test);
	}
}

/* Where emulated CPUs take turns, a restart takes two turns, which is 20 ms. */
#define COUNTERS_RESTARTS	2000
#define COUNTERS_RESTARTS_MIN	100

struct counters_source {
	int			cpu;
	unsigned int		restarts;
	struct task_struct	*task;
};

/* Make one entry after each restart. */
static int counters_emit(void *arg)
{
	struct counters_source *source = arg;
	unsigned int made = 0;

	while (!kthread_should_stop()) {
		if (made <= READ_ONCE(source->restarts)) {
			kapi_emit(source->cpu, KDTL_KIND_FAULT, 1);
			made++;
		}
		cond_resched();
	}
	return 0;
}

/* Whoever has read the message about a pause can end the pause, however soon after the message. */
static void counters_restart_at_once(struct kunit *test)
{
	struct counters_source source = { .cpu = kapi_other_cpu(0) };
	unsigned long enough = jiffies + msecs_to_jiffies(kapi_race_ms);
	struct kdtl_session *s;
	unsigned int early = 0;
	struct kdtl_msg msg;
	int err;

	kapi_need_races(test);
	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	s = kapi_session(test, KDTL_SESSION_PAUSE);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, counters_write(s, 0, KDTL_CTR_FAULT, KDTL_COUNTER_NOTIFY,
					     -1, -1, -1), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	source.task = kthread_create_on_cpu(counters_emit, &source, source.cpu,
					    "kdtl_emit/%u");
	KUNIT_ASSERT_FALSE(test, IS_ERR(source.task));
	wake_up_process(source.task);
	while (source.restarts < COUNTERS_RESTARTS &&
	       (source.restarts < COUNTERS_RESTARTS_MIN || time_before(jiffies, enough))) {
		if (!kapi_until_busy(kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg)))
			break;
		do {
			err = kdtl_restart(s);
			early += err == -EBUSY;
		} while (err == -EBUSY && early < COUNTERS_RESTARTS);
		KUNIT_EXPECT_EQ(test, err, 0);
		kapi_drain(s, source.cpu);
		WRITE_ONCE(source.restarts, source.restarts + 1);
	}
	kthread_stop(source.task);
	KUNIT_EXPECT_GE(test, source.restarts, (unsigned int)COUNTERS_RESTARTS_MIN);
	KUNIT_EXPECT_EQ(test, early, 0U);
}

static struct kunit_case counters_cases[] = {
	KUNIT_CASE(counters_values),
	KUNIT_CASE(counters_full),
	KUNIT_CASE(counters_wakeups),
	KUNIT_CASE(counters_times),
	KUNIT_CASE(counters_created),
	KUNIT_CASE(counters_threshold),
	KUNIT_CASE(counters_each_overflows),
	KUNIT_CASE(counters_quiet),
	KUNIT_CASE(counters_notify_no_more),
	KUNIT_CASE(counters_resets),
	KUNIT_CASE(counters_random),
	KUNIT_CASE(counters_together),
	KUNIT_CASE(counters_per_cpu),
	KUNIT_CASE(counters_mask),
	KUNIT_CASE(counters_mask_all),
	KUNIT_CASE(counters_mask_alone),
	KUNIT_CASE(counters_vector),
	KUNIT_CASE(counters_vector_cpu),
	KUNIT_CASE(counters_vector_size),
	KUNIT_CASE(counters_config),
	KUNIT_CASE(counters_while_running),
	KUNIT_CASE(counters_bytes_while_running),
	KUNIT_CASE(counters_restart_at_once),
	{}
};

struct kunit_suite kdtl_counters_suite = {
	.name		= "kdtl_counters",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= counters_cases,
};
