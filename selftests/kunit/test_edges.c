// SPDX-License-Identifier: GPL-2.0
/*
 * Every size, count, distance and time that a caller passes, at the limits of 31, 32, 63 and 64
 * bits
 *
 * A value that is refused leaves everything as it was; a value that is accepted is not truncated on
 * its way.  Positions close to 2^64 are tested with kdtl.aux_start (selftests/check, wrap).
 */
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/mm.h>

#include "kapi.h"

/* Sizes that are too large for any call. */
static const size_t huge[] = {
	INT_MAX, BIT(31), UINT_MAX, LONG_MAX, (size_t)LONG_MAX + 1,
	SIZE_MAX - PAGE_SIZE, SIZE_MAX - KDTL_ENTRY_SIZE + 1, SIZE_MAX,
#ifdef CONFIG_64BIT
	BIT(32), BIT(32) + KDTL_ENTRY_SIZE,
#endif
};

/* Times so long that no kernel timer takes all of them as they are. */
static const u64 ages[] = {
	KTIME_MAX / 2, KTIME_MAX / 2 + 1, KTIME_MAX - 1, KTIME_MAX,
	(u64)KTIME_MAX + 1, U64_MAX - NSEC_PER_SEC, U64_MAX,
};

static struct kdtl_session *edges_session(struct kunit *test, u32 flags, u64 period)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.msg_pages	= 1,
		.flags		= flags,
		.period		= period,
	};

	return kapi_create(test, &attr);
}

static long edges_create(unsigned int aux_pages, unsigned int msg_pages,
			 unsigned int watermark)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= aux_pages,
		.msg_pages	= msg_pages,
		.watermark	= watermark,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);

	if (IS_ERR(s))
		return PTR_ERR(s);
	kdtl_session_close(s);
	return 0;
}

/* Numbers of pages that are no power of two, or whose size in bytes overflows an int or a long. */
static void edges_pages(struct kunit *test)
{
	static const unsigned int bad[] = {
		3, BIT(20) - 1, BIT(20) + 1, BIT(21), BIT(30), INT_MAX, BIT(31),
		BIT(31) + 1, UINT_MAX,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		KUNIT_EXPECT_EQ_MSG(test, edges_create(bad[i], 0, 0), (long)-EINVAL,
				    "%u aux_pages", bad[i]);
		KUNIT_EXPECT_EQ_MSG(test, edges_create(1, bad[i], 0), (long)-EINVAL,
				    "%u msg_pages", bad[i]);
	}
	/* 4 GiB and more exceed the cap; the sizes must not wrap around to small ones. */
	KUNIT_EXPECT_EQ(test, edges_create(BIT(20), 0, 0), (long)-ENOMEM);
	KUNIT_EXPECT_EQ(test, edges_create(1, BIT(20), 0), (long)-ENOMEM);
	KUNIT_EXPECT_EQ(test, edges_create(BIT(20), BIT(20), UINT_MAX), (long)-ENOMEM);
}

static void edges_watermark(struct kunit *test)
{
	static const unsigned int good[] = { 1, KDTL_ENTRY_SIZE, PAGE_SIZE - 1, PAGE_SIZE };
	static const unsigned int bad[] = { PAGE_SIZE + 1, INT_MAX, BIT(31), UINT_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_EQ_MSG(test, edges_create(1, 0, good[i]), 0L, "%u", good[i]);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, edges_create(1, 0, bad[i]), (long)-EINVAL,
				    "%u", bad[i]);
}

/* A period that is too long for a timer must not expire at once. */
static void edges_period(struct kunit *test)
{
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ages); i++) {
		s = edges_session(test, 0, ages[i]);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
		KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 1), 0);
		usleep_range(2000, 3000);
		KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, s, 0, KDTL_CTR_WAKEUPS, 0), 0ULL,
				    "%llu ns", ages[i]);
		KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 1ULL);
		kapi_close(test);
	}
}

/* Nor must the timeout of an event set. */
static void edges_timeout(struct kunit *test)
{
	struct kdtl_evtset sets[2];
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ages); i++) {
		s = edges_session(test, 0, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		sets[0] = (struct kdtl_evtset){ .id = 0, .timeout = ages[i] };
		sets[1] = (struct kdtl_evtset){ .id = U16_MAX, .timeout = ages[i] };
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, sets, 2), 0);
		KUNIT_EXPECT_GE(test, sets[0].timeout, (u64)KTIME_MAX / 2);
		KUNIT_EXPECT_LE(test, sets[0].timeout, (u64)KTIME_MAX);
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
		usleep_range(2000, 3000);
		KUNIT_EXPECT_TRUE(test, kapi_info(test, s, 0, 0).active_now);
		KUNIT_EXPECT_EQ_MSG(test, kapi_info(test, s, 0, 0).runs, 1ULL,
				    "%llu ns", ages[i]);
		KUNIT_EXPECT_LE(test, kapi_info(test, s, 0, 0).remaining, sets[0].timeout);
		kapi_close(test);
	}
}

/* Give back more than is unread: by one byte, or by as much as a size_t can hold. */
static void edges_consume(struct kunit *test)
{
	const size_t unread = 2 * KDTL_ENTRY_SIZE;
	struct kdtl_session *s = edges_session(test, 0, 0);
	const void *span;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, unread + 1), -EINVAL);
	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		KUNIT_EXPECT_EQ_MSG(test, kdtl_aux_consume(s, 0, huge[i]), -EINVAL,
				    "%zu bytes", huge[i]);
		KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)unread);
	}
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, unread), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 1), -EINVAL);
	kapi_conserved(test, s);
}

/* A buffer of the largest size gets what there is; a buffer that is too small gets nothing. */
static void edges_snapshot(struct kunit *test)
{
	struct kdtl_session *s = edges_session(test, KDTL_SESSION_OVERWRITE, 0);
	void *buf = (void *)get_zeroed_page(GFP_KERNEL);
	unsigned int i;
	u64 missed;

	KUNIT_EXPECT_TRUE(test, buf);
	if (!s || !buf || kapi_go(s)) {
		KUNIT_EXPECT_TRUE(test, false);
		goto free;
	}
	KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 3), 0);
	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		KUNIT_EXPECT_EQ_MSG(test, kdtl_aux_snapshot(s, 0, buf, huge[i], &missed),
				    (ssize_t)(3 * KDTL_ENTRY_SIZE), "%zu bytes", huge[i]);
		KUNIT_EXPECT_EQ(test, missed, 0ULL);
	}
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, buf, KDTL_ENTRY_SIZE - 1, &missed),
			(ssize_t)0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, buf, 0, &missed), (ssize_t)0);
	KUNIT_EXPECT_EQ(test, missed, 3ULL);
free:
	free_page((unsigned long)buf);
}

static void edges_message(struct kunit *test)
{
	struct kdtl_session *s = edges_session(test, 0, 0);
	struct kdtl_msg msg;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, 0, true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg) - 1, true), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg) + 1, true), (ssize_t)-EINVAL);
	for (i = 0; i < ARRAY_SIZE(huge); i++)
		KUNIT_EXPECT_EQ_MSG(test, kdtl_read(s, &msg, huge[i], true),
				    (ssize_t)-EINVAL, "%zu bytes", huge[i]);
	KUNIT_EXPECT_EQ(test, kdtl_read(s, &msg, sizeof(msg), true), (ssize_t)-EAGAIN);
}

/* A threshold has all 64 bits. */
static void edges_threshold(struct kunit *test)
{
	static const u64 far[] = {
		3, INT_MAX, BIT(31), UINT_MAX, BIT_ULL(32), BIT_ULL(32) + 1, S64_MAX,
		BIT_ULL(63), BIT_ULL(63) + 1, U64_MAX,
	};
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_ENTRIES,
		.flags		= KDTL_COUNTER_NOTIFY,
	};
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(far); i++) {
		s = edges_session(test, 0, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		req.value = -far[i];
		req.short_reset = -far[i];
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, &req, 1), 0);
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
		KUNIT_EXPECT_EQ(test, kapi_emit(0, KDTL_KIND_CEDE, 2), 0);
		KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0),
				    2 - far[i], "%llu", far[i]);
		KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).overflowed, 0U);
		KUNIT_EXPECT_EQ_MSG(test, kapi_msgs_of(s, KDTL_MSG_OVERFLOW), 0U,
				    "%llu", far[i]);
		kapi_close(test);
	}
}

/* With so many elements that their size in bytes would overflow, none is looked at. */
static void edges_vectors(struct kunit *test)
{
	static const unsigned int many[] = {
		KDTL_MAX_REQUESTS + 1, U16_MAX + 1, UINT_MAX / sizeof(struct kdtl_counter_req) + 2,
		INT_MAX, BIT(31), UINT_MAX,
	};
	struct kdtl_session *s = edges_session(test, 0, 0);
	struct kdtl_counter_req counter = {};
	struct kdtl_evtset_info info = {};
	struct kdtl_evtset set = { .id = 1 };
	struct kdtl_config config = {};
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(many); i++) {
		KUNIT_EXPECT_EQ(test, kdtl_write_counters(s, &counter, many[i]), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_read_counters(s, &counter, many[i]), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &config, many[i]), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &set, many[i]), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_delete_evtsets(s, &set, many[i]), -E2BIG);
		KUNIT_EXPECT_EQ(test, kdtl_getinfo_evtsets(s, &info, many[i]), -E2BIG);
	}
	/* There is no set 1: the first element had no effect either. */
	KUNIT_EXPECT_EQ(test, kdtl_create_evtsets(s, &set, 1), 0);
}

/* A wait is a lower bound if and only if one of the two times that make it up is at its maximum. */
static void edges_saturated(struct kunit *test)
{
	static const u32 times[] = { 0, 1, KDTL_TIME_MAX - 1, KDTL_TIME_MAX };
	struct kdtl_entry e = {};
	unsigned int i, j, k;

	for (i = 0; i < 64; i++) {
		j = i % 4;
		k = i / 4 % 4;
		e.enqueue_to_dispatch_time = cpu_to_be32(times[j]);
		e.ready_to_enqueue_time = cpu_to_be32(times[k]);
		e.waiting_to_ready_time = cpu_to_be32(times[i / 16]);
		KUNIT_EXPECT_EQ(test, kdtl_entry_wait(&e), (u64)times[j] + times[k]);
		KUNIT_EXPECT_EQ(test, kdtl_entry_wait_saturated(&e), j == 3 || k == 3);
	}
	/*
	 * The time that a throttled runner was held back is no wait; the time that it was queued
	 * afterwards is.
	 */
	e.dispatch_reason = KDTL_DISPATCH_THROTTLED;
	KUNIT_EXPECT_TRUE(test, kdtl_entry_wait_saturated(&e));
	e.enqueue_to_dispatch_time = cpu_to_be32(5);
	KUNIT_EXPECT_EQ(test, kdtl_entry_wait(&e), 5ULL);
	KUNIT_EXPECT_EQ(test, kdtl_entry_throttled(&e), KDTL_TIME_MAX);
	KUNIT_EXPECT_FALSE(test, kdtl_entry_wait_saturated(&e));
}

/* Reasons that apply to tasks are told in the words of tasks; the others keep PAPR's names. */
static void edges_task_reasons(struct kunit *test)
{
	static const struct {
		unsigned int	reason;
		const char	*name;
	} reasons[] = {
		{ KDTL_DISPATCH_PROD, "woken" },
		{ KDTL_DISPATCH_TIME_SLICE, "preempted" },
		{ KDTL_DISPATCH_PAGE_FAULT, "page_fault" },
		{ KDTL_DISPATCH_THROTTLED, "throttled" },
		{ KDTL_DISPATCH_CONFERRED, "conferred_cycles" },
		{ 127, "unknown" },
		{ UINT_MAX, "unknown" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		KUNIT_EXPECT_TRUE_MSG(test, !strcmp(kdtl_task_reason_name(reasons[i].reason),
						    reasons[i].name), "%s", reasons[i].name);
}

static void edges_task_preempts(struct kunit *test)
{
	static const struct {
		unsigned int	reason;
		const char	*name;
	} reasons[] = {
		{ KDTL_PREEMPT_CEDE, "slept" },
		{ KDTL_PREEMPT_TIME_SLICE, "preempted" },
		{ KDTL_PREEMPT_PAGE_FAULT, "page_fault" },
		{ KDTL_PREEMPT_THROTTLED, "throttled" },
		{ KDTL_PREEMPT_CONFER, "H_CONFER" },
		{ 127, "unknown" },
		{ UINT_MAX, "unknown" },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		KUNIT_EXPECT_TRUE_MSG(test, !strcmp(kdtl_task_preempt_name(reasons[i].reason),
						    reasons[i].name), "%s", reasons[i].name);
}

static struct kunit_case edges_cases[] = {
	KUNIT_CASE(edges_pages),
	KUNIT_CASE(edges_watermark),
	KUNIT_CASE(edges_period),
	KUNIT_CASE(edges_timeout),
	KUNIT_CASE(edges_consume),
	KUNIT_CASE(edges_snapshot),
	KUNIT_CASE(edges_message),
	KUNIT_CASE(edges_threshold),
	KUNIT_CASE(edges_vectors),
	KUNIT_CASE(edges_saturated),
	KUNIT_CASE(edges_task_reasons),
	KUNIT_CASE(edges_task_preempts),
	{}
};

struct kunit_suite kdtl_edges_suite = {
	.name		= "kdtl_edges",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= edges_cases,
};
