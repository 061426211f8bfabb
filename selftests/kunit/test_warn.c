// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_warn.ko: things that a PMU driver must not do are refused, with a warning
 *
 * Each case makes the kernel warn once.  This is a module of its own, so that it need not be loaded
 * where a warning is a panic.
 */
#include <linux/module.h>
#include <linux/smp.h>

#include "../fake/raw.h"
#include "kapi.h"

static struct kdtl_raw warn_raw;

/* A started session with an area of one page and a wake-up at each entry. */
static struct kdtl_session *warn_session(struct kunit *test, u32 flags)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_fake_warn",
		.aux_pages	= 1,
		.msg_pages	= 1,
		.watermark	= KDTL_ENTRY_SIZE,
		.flags		= flags,
	};

	return kapi_started(test, &attr);
}

static u64 warn_unread(struct kdtl_session *s)
{
	struct kdtl_aux_info info = {};

	kdtl_aux_info(s, 0, &info);
	return info.head - info.tail;
}

struct warn_nested {
	void	*outer;
	void	*inner;
};

static void warn_nest(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle, inner;
	struct warn_nested *n = arg;
	struct kdtl_area *area;

	area = kdtl_aux_output_begin(&handle, event);
	n->outer = area;
	if (!area)
		return;
	n->inner = kdtl_aux_output_begin(&inner, event);
	memset(area->base + (handle.head & (area->size - 1)), 0x11, KDTL_ENTRY_SIZE);
	kdtl_aux_output_end(&handle, KDTL_ENTRY_SIZE);
}

/* P.3: a nested transaction is refused; the outer one and the next one are not affected. */
static void warn_nested(struct kunit *test)
{
	struct kdtl_session *s = warn_session(test, 0);
	struct warn_nested n = {};
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 1; i <= 3; i++) {
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_nest, &n), 0);
		KUNIT_EXPECT_TRUE(test, n.outer);
		KUNIT_EXPECT_TRUE(test, !n.inner);
		KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)i * KDTL_ENTRY_SIZE);
	}
}

struct warn_far {
	struct perf_event	*event;
	void			*area;
};

static void warn_keep(struct perf_event *event, void *arg)
{
	((struct warn_far *)arg)->event = event;
}

static void warn_begin(void *arg)
{
	struct perf_output_handle handle;
	struct warn_far *far = arg;

	far->area = kdtl_aux_output_begin(&handle, far->event);
	if (far->area)
		kdtl_aux_output_end(&handle, KDTL_ENTRY_SIZE);
}

/* Only the CPU of an event may write to the event's area. */
static void warn_elsewhere(struct kunit *test)
{
	struct kdtl_session *s;
	struct warn_far far = {};
	int i;

	if (num_online_cpus() < 2)
		kunit_skip(test, "needs two CPUs");
	s = warn_session(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_keep, &far), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, smp_call_function_single(1, warn_begin, &far, true), 0);
		KUNIT_EXPECT_TRUE(test, !far.area);
		KUNIT_EXPECT_EQ(test, warn_unread(s), 0ULL);
	}
	KUNIT_EXPECT_EQ(test, smp_call_function_single(0, warn_begin, &far, true), 0);
	KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)KDTL_ENTRY_SIZE);
}

static void warn_end_far(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;

	if (!kdtl_aux_output_begin(&handle, event))
		return;
	kdtl_aux_output_end(&handle, handle.size + *(long *)arg);
}

/*
 * If a driver says that it wrote more than there is room for, nothing is published, so that the
 * reader gets no old bytes.
 */
static void warn_too_much(struct kunit *test)
{
	static const long sizes[] = { 1, PAGE_SIZE, LONG_MAX, -(long)PAGE_SIZE - 1 };
	struct kdtl_session *s = warn_session(test, 0);
	long more = -(long)PAGE_SIZE + 480;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_far, &more), 0);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		more = sizes[i];
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_far, &more), 0);
		KUNIT_EXPECT_EQ(test, warn_unread(s), 480ULL);
	}
	kapi_drain(s, 0);
	more = 0;
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_far, &more), 0);
	KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)PAGE_SIZE);
}

static void warn_move_head(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;

	if (!kdtl_aux_output_begin(&handle, event))
		return;
	handle.head += *(long *)arg;
	kdtl_aux_output_end(&handle, 0);
}

/* A torn index: in overwrite mode the driver sets the head, and sets it too far back or forward. */
static void warn_torn_index(struct kunit *test)
{
	static const long moves[] = { -48, PAGE_SIZE + 1, LONG_MIN, LONG_MAX };
	struct kdtl_session *s = warn_session(test, KDTL_SESSION_OVERWRITE);
	struct kdtl_aux_info before, after;
	long move = 480;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_move_head, &move), 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &before), 0);
	KUNIT_EXPECT_EQ(test, before.unread, 10ULL);
	for (i = 0; i < ARRAY_SIZE(moves); i++) {
		move = moves[i];
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_move_head, &move), 0);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &after), 0);
		KUNIT_EXPECT_EQ(test, memcmp(&before, &after, sizeof(after)), 0);
	}
}

static void warn_flag(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;

	if (!kdtl_aux_output_begin(&handle, event))
		return;
	kdtl_aux_output_flag(&handle, *(u64 *)arg);
	kdtl_aux_output_end(&handle, KDTL_ENTRY_SIZE);
}

/* P.7: only the core may set the flag OVERWRITE. */
static void warn_flag_overwrite(struct kunit *test)
{
	u64 flags = PERF_AUX_FLAG_OVERWRITE | PERF_AUX_FLAG_PARTIAL;
	struct kdtl_session *s = warn_session(test, 0);
	struct kdtl_msg msg;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_flag, &flags), 0);
	KUNIT_EXPECT_TRUE(test, kapi_msg_of(s, KDTL_MSG_AUX, &msg));
	KUNIT_EXPECT_EQ(test, msg.aux.flags, 0ULL);
}

static void warn_end_none(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle;
	int *skipped = arg;

	/*
	 * The area is full, so begin fails; the driver does not check that, and then it ends twice.
	 */
	kdtl_aux_output_begin(&handle, event);
	*skipped = kdtl_aux_output_skip(&handle, KDTL_ENTRY_SIZE);
	kdtl_aux_output_end(&handle, KDTL_ENTRY_SIZE);
	kdtl_aux_output_end(&handle, KDTL_ENTRY_SIZE);
}

/* Calls that need a transaction do nothing outside of one. */
static void warn_no_transaction(struct kunit *test)
{
	struct kdtl_session *s = warn_session(test, 0);
	long all = 0;
	int skipped = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_far, &all), 0);
	KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_none, &skipped), 0);
	KUNIT_EXPECT_EQ(test, skipped, -ENOSPC);
	KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)PAGE_SIZE);
	kapi_drain(s, 0);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_far, &all), 0);
	KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)PAGE_SIZE);
}

struct warn_open {
	struct perf_output_handle	handle;
	void				*area;
};

static void warn_begin_only(struct perf_event *event, void *arg)
{
	struct warn_open *open = arg;

	open->area = kdtl_aux_output_begin(&open->handle, event);
}

static void warn_end_late(struct perf_event *event, void *arg)
{
	struct warn_open *open = arg;

	kdtl_aux_output_end(&open->handle, KDTL_ENTRY_SIZE);
}

/* A transaction that the driver has left open is ended by the stop, and writes nothing. */
static void warn_left_open(struct kunit *test)
{
	struct kdtl_session *s = warn_session(test, 0);
	struct warn_open open = {};
	long all = 0;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_begin_only, &open), 0);
		KUNIT_EXPECT_TRUE(test, open.area);
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_late, &open), 0);
		KUNIT_EXPECT_EQ(test, warn_unread(s), 0ULL);
	}
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_end_far, &all), 0);
	KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)PAGE_SIZE);
}

static void warn_null_calls(struct perf_event *event, void *arg)
{
	struct perf_output_handle handle = { .event = event };
	unsigned int *wrong = arg;

	*wrong += !!kdtl_aux_output_begin(NULL, event);
	*wrong += !!kdtl_aux_output_begin(NULL, NULL);
	*wrong += !!kdtl_aux_output_begin(&handle, NULL);
	/* As after any begin that fails, there is no transaction. */
	*wrong += !!handle.event;
	*wrong += kdtl_aux_output_skip(NULL, 0) != -ENOSPC;
	kdtl_aux_output_flag(NULL, 0);
	kdtl_aux_output_end(NULL, KDTL_ENTRY_SIZE);
}

/* Without a handle or an event nothing is written, and the next transaction is not affected. */
static void warn_null(struct kunit *test)
{
	struct kdtl_session *s = warn_session(test, 0);
	struct warn_nested n = {};
	unsigned int wrong = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_null_calls, &wrong), 0);
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	KUNIT_EXPECT_EQ(test, warn_unread(s), 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_raw_on(&warn_raw, 0, warn_nest, &n), 0);
	KUNIT_EXPECT_EQ(test, warn_unread(s), (u64)KDTL_ENTRY_SIZE);
}

static struct kunit_case warn_cases[] = {
	KUNIT_CASE(warn_nested),
	KUNIT_CASE(warn_elsewhere),
	KUNIT_CASE(warn_too_much),
	KUNIT_CASE(warn_no_transaction),
	KUNIT_CASE(warn_left_open),
	KUNIT_CASE(warn_torn_index),
	KUNIT_CASE(warn_flag_overwrite),
	KUNIT_CASE(warn_null),
	{}
};

static int warn_init(struct kunit *test)
{
	memset(&warn_raw, 0, sizeof(warn_raw));
	return kdtl_raw_register(&warn_raw, "kdtl_fake_warn", 0, false);
}

static void warn_exit(struct kunit *test)
{
	kapi_exit(test);
	kdtl_raw_unregister(&warn_raw);
}

static struct kunit_suite kdtl_warn_suite = {
	.name		= "kdtl_warn",
	.init		= warn_init,
	.exit		= warn_exit,
	.test_cases	= warn_cases,
};

kunit_test_suites(&kdtl_warn_suite);

MODULE_DESCRIPTION("Tests of what kdtl warns about");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
