// SPDX-License-Identifier: GPL-2.0
/* Entries that are counted but not stored: with min_wait, and in sessions without an area. */
#include <linux/cpu.h>
#include <linux/mm_types.h>
#include <linux/slab.h>

#include "kapi.h"

#define FILTER_WAIT	1000

static struct kdtl_session *filter_session(struct kunit *test, u32 flags, u64 min_wait)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.flags		= flags,
		.min_wait	= min_wait,
	};

	return kapi_started(test, &attr);
}

/* The unread entries must have these waits (queued and ready), in this order. */
static void filter_expect(struct kunit *test, struct kdtl_session *s, const u64 *waits,
			  unsigned int nr)
{
	const struct kdtl_entry *e;
	unsigned int i = 0;
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(s, 0, &span);
	KUNIT_ASSERT_EQ(test, len, (ssize_t)nr * KDTL_ENTRY_SIZE);
	kdtl_for_each_entry(e, span, len) {
		KUNIT_EXPECT_EQ(test, (u64)kdtl_entry_queued(e) + kdtl_entry_ready(e),
				waits[i]);
		i++;
	}
}

static struct kdtl_aux_info filter_info(struct kunit *test, struct kdtl_session *s)
{
	struct kdtl_aux_info info = {};

	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.produced, info.consumed + info.lost + info.unread);
	return info;
}

static void filter_short(struct kunit *test)
{
	static const u64 stored[] = {
		FILTER_WAIT, FILTER_WAIT, FILTER_WAIT + 1, FILTER_WAIT, KDTL_TIME_MAX,
	};
	struct kdtl_session *s = filter_session(test, 0, FILTER_WAIT);
	struct kdtl_aux_info info;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 3, 0, 0, 5000);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, FILTER_WAIT, 0, 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, FILTER_WAIT - 1, 0, 0);
	kdtl_fake_emit(0, KDTL_KIND_PREEMPT, 1, 1, FILTER_WAIT - 1, 0);
	kdtl_fake_emit(0, KDTL_KIND_PREEMPT, 1, 1, FILTER_WAIT, 0);
	/* For a throttled runner, min_wait is compared with the time that it was held back. */
	kdtl_fake_emit(0, KDTL_KIND_THROTTLE, 1, 0, FILTER_WAIT, 0);
	kdtl_fake_emit(0, KDTL_KIND_THROTTLE, 1, 0, FILTER_WAIT - 1, 0);
	kdtl_fake_emit(0, KDTL_KIND_UNKNOWN, 1, KDTL_TIME_MAX, 0, 0);
	filter_expect(test, s, stored, ARRAY_SIZE(stored));

	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	info = filter_info(test, s);
	KUNIT_EXPECT_EQ(test, info.filtered, 5ULL);
	KUNIT_EXPECT_EQ(test, info.lost, 0ULL);
	KUNIT_EXPECT_EQ(test, info.unread, (u64)ARRAY_SIZE(stored));
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FILTERED, 0), 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 10ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE, 0), 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_THROTTLE, 0), 2ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_THROTTLED, 0),
			2ULL * FILTER_WAIT - 1);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_SLEPT, 0), 15000ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_BYTES, 0),
			ARRAY_SIZE(stored) * (u64)KDTL_ENTRY_SIZE);
	/* The next load begins at 0. */
	KUNIT_ASSERT_EQ(test, kdtl_unload(s), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, filter_info(test, s).filtered, 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FILTERED, 0), 0ULL);
}

/*
 * A CPU that becomes idle has waited for nothing: with a min_wait such an entry is counted, not
 * stored.
 */
static void filter_idle(struct kunit *test)
{
	struct kdtl_config config = { .mask = KDTL_MASK_ALL | KDTL_MASK_IDLE, .min_wait = 1 };
	static const u64 stored[] = { 1 }, all[] = { 0, 0, 1 };
	struct kdtl_session *s = filter_session(test, 0, 0);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, kdtl_unload(s), 0);
		KUNIT_ASSERT_EQ(test, kdtl_write_config(s, &config, 1), 0);
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		kdtl_fake_emit(0, KDTL_KIND_IDLE, 2, 0, 0, 0);
		kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, 1, 0, 0);
		filter_expect(test, s, i ? all : stored, i ? 3 : 1);
		KUNIT_EXPECT_EQ(test, filter_info(test, s).filtered, i ? 0ULL : 2ULL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_IDLE, 0), 2ULL);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 3ULL);
		config.min_wait = 0;
	}
}

/* An entry that is filtered is not lost, even if the area is full. */
static void filter_full(struct kunit *test)
{
	const unsigned int fits = KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE;
	struct kdtl_session *s = filter_session(test, 0, FILTER_WAIT);
	struct kdtl_aux_info info;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, fits + 3, FILTER_WAIT, 0, 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 7, 0, 0, 0);
	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	info = filter_info(test, s);
	KUNIT_EXPECT_EQ(test, info.unread, (u64)fits);
	KUNIT_EXPECT_EQ(test, info.lost, 3ULL);
	KUNIT_EXPECT_EQ(test, info.filtered, 7ULL);
	kapi_drain(s, 0);
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 7, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, filter_info(test, s).unread, 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), 1);	/* the loss */
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
}

/* A min_wait that only saturated waits may reach, one that no wait reaches, and none at all. */
static void filter_extremes(struct kunit *test)
{
	static const u64 saturated[] = { KDTL_TIME_MAX, (u64)KDTL_TIME_MAX + 5 };
	struct kdtl_config req = { .min_wait = 10ULL * NSEC_PER_SEC };
	struct kdtl_session *s = filter_session(test, 0, 0);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &req, 1), -EBUSY);
	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_config(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, KDTL_TIME_MAX - 1, KDTL_TIME_MAX - 1, 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, KDTL_TIME_MAX, 0, 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, 5, KDTL_TIME_MAX, 0);
	filter_expect(test, s, saturated, ARRAY_SIZE(saturated));
	kapi_drain(s, 0);

	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	req.min_wait = U64_MAX;
	KUNIT_ASSERT_EQ(test, kdtl_write_config(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, KDTL_TIME_MAX, KDTL_TIME_MAX, 0);
	filter_expect(test, s, NULL, 0);
	KUNIT_EXPECT_EQ(test, filter_info(test, s).filtered, 2ULL);

	/* Without min_wait everything is stored again. */
	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	req.min_wait = 0;
	KUNIT_ASSERT_EQ(test, kdtl_write_config(s, &req, 1), 0);
	KUNIT_ASSERT_EQ(test, kdtl_start(s), 0);
	kapi_emit(0, KDTL_KIND_CEDE, 4);
	KUNIT_EXPECT_EQ(test, filter_info(test, s).unread, 4ULL);
	KUNIT_EXPECT_EQ(test, filter_info(test, s).filtered, 2ULL);
}

/* Each set has its own min_wait; these sets switch at every third entry, stored or not. */
static void filter_sets(struct kunit *test)
{
	struct kdtl_evtset sets[] = { { .id = 0, .overflows = 1 }, { .id = 1, .overflows = 1 } };
	struct kdtl_config config[] = {
		{ .set = 0, .min_wait = FILTER_WAIT },
		{ .set = 1, .min_wait = U64_MAX },
	};
	struct kdtl_counter_req req[] = {
		{ .set = 0, .counter = KDTL_CTR_ENTRIES, .value = -3, .short_reset = -3 },
		{ .set = 1, .counter = KDTL_CTR_ENTRIES, .value = -3, .short_reset = -3 },
	};
	static const u64 stored[] = { FILTER_WAIT, FILTER_WAIT };
	struct kdtl_session *s = filter_session(test, 0, 0);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kdtl_unload(s), 0);
	KUNIT_ASSERT_EQ(test, kdtl_create_evtsets(s, sets, 2), 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_config(s, config, 2), 0);
	KUNIT_ASSERT_EQ(test, kdtl_write_counters(s, req, 2), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	for (i = 0; i < 4; i++) {
		kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, FILTER_WAIT, 0, 0);
		kdtl_fake_emit(0, KDTL_KIND_CEDE, 2, 1, 0, 0);
	}
	filter_expect(test, s, stored, ARRAY_SIZE(stored));
	KUNIT_EXPECT_EQ(test, filter_info(test, s).filtered, 10ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FILTERED, 0), 4ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 1, KDTL_CTR_FILTERED, 0), 6ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 1, KDTL_CTR_BYTES, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kapi_info(test, s, 0, 0).runs, 3ULL);
}

/*
 * In overwrite mode the area keeps the newest long waits; short ones in between push none of them
 * out.
 */
static void filter_overwrite(struct kunit *test)
{
	const unsigned int fits = KAPI_AUX_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE;
	struct kdtl_session *s = filter_session(test, KDTL_SESSION_OVERWRITE, FILTER_WAIT);
	struct kdtl_entry e[3];
	u64 missed;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 2, FILTER_WAIT, 0, 0);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 2 * fits, 0, 0, 0);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, e, sizeof(e), &missed),
			(ssize_t)(2 * sizeof(*e)));
	KUNIT_EXPECT_EQ(test, missed, 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e[1]), (u32)FILTER_WAIT);
	KUNIT_EXPECT_EQ(test, filter_info(test, s).filtered, 2ULL * fits);
	KUNIT_EXPECT_EQ(test, filter_info(test, s).lost, 0ULL);
}

static void filter_merge(struct kunit *test)
{
	struct kdtl_session *s = filter_session(test, 0, FILTER_WAIT);
	unsigned int nr = 0, cpus = 0;
	const struct kdtl_entry *e;
	struct kdtl_merge *m;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	for_each_online_cpu(cpu) {
		kdtl_fake_emit(cpu, KDTL_KIND_CEDE, 3, 0, 0, 0);
		kdtl_fake_emit(cpu, KDTL_KIND_CEDE, 2, FILTER_WAIT, 0, 0);
		cpus++;
	}
	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_merge_sync(m), 0);
	while ((e = kdtl_merge_next(m))) {
		KUNIT_EXPECT_EQ(test, kdtl_entry_queued(e), (u32)FILTER_WAIT);
		nr++;
	}
	kdtl_merge_destroy(m);
	KUNIT_EXPECT_EQ(test, nr, 2 * cpus);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_FILTERED, -1), 3ULL * cpus);
}

/* The filter of one session does not affect another session. */
static void filter_side_by_side(struct kunit *test)
{
	struct kdtl_session *all = filter_session(test, 0, 0), *s;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, all);
	s = filter_session(test, 0, FILTER_WAIT);
	if (s) {
		kdtl_fake_emit(0, KDTL_KIND_CEDE, 3, 0, 0, 0);
		kdtl_fake_emit(0, KDTL_KIND_CEDE, 2, FILTER_WAIT, 0, 0);
		KUNIT_EXPECT_EQ(test, filter_info(test, s).unread, 2ULL);
		KUNIT_EXPECT_EQ(test, filter_info(test, all).unread, 5ULL);
		KUNIT_EXPECT_EQ(test, filter_info(test, all).filtered, 0ULL);
	}
	kdtl_session_close(all);
}

/* ------------------------------------------------ a time base that is not 1 GHz */

static struct kdtl_pmu filter_pmus[] = {
	{ .name = "kdtl_fake_1",	.tb_freq = 1 },
	{ .name = "kdtl_fake_512",	.tb_freq = 512000000 },
	{ .name = "kdtl_fake_max",	.tb_freq = U32_MAX },
};

struct filter_out {
	struct kdtl_pmu	*pmu;
	u32		ticks;
	u32		ready;
};

static void filter_output(void *arg)
{
	const struct filter_out *out = arg;
	const struct kdtl_entry e = {
		.enqueue_to_dispatch_time = cpu_to_be32(out->ticks),
		.ready_to_enqueue_time = cpu_to_be32(out->ready),
	};

	kdtl_pmu_output(out->pmu, &e, KDTL_KIND_CEDE);
}

static void filter_ticks_of(struct kunit *test, struct kdtl_pmu *p, u64 min_wait, u32 ticks)
{
	const struct kdtl_session_attr attr = { .pmu = p->name, .min_wait = min_wait };
	struct kdtl_session *s = kapi_started(test, &attr);
	struct filter_out out = { .pmu = p };

	if (!s)
		return;
	for (out.ticks = ticks - 1; out.ticks <= ticks; out.ticks++)
		smp_call_function_single(0, filter_output, &out, 1);
	KUNIT_EXPECT_EQ_MSG(test, filter_info(test, s).filtered, 1ULL, "%s: %llu", p->name,
			    min_wait);
	KUNIT_EXPECT_EQ_MSG(test, filter_info(test, s).unread, 1ULL, "%s: %llu", p->name,
			    min_wait);
	kapi_close(test);
}

/* No wait is as long as this min_wait, unless it is saturated. */
static void filter_ticks_never(struct kunit *test, struct kdtl_pmu *p)
{
	const struct kdtl_session_attr attr = { .pmu = p->name, .min_wait = U64_MAX - 1 };
	struct filter_out out = { p, KDTL_TIME_MAX - 1, KDTL_TIME_MAX - 1 };
	struct kdtl_session *s = kapi_started(test, &attr);

	if (!s)
		return;
	smp_call_function_single(0, filter_output, &out, 1);
	KUNIT_EXPECT_EQ_MSG(test, filter_info(test, s).filtered, 1ULL, "%s", p->name);
	out.ready = KDTL_TIME_MAX;
	smp_call_function_single(0, filter_output, &out, 1);
	KUNIT_EXPECT_EQ_MSG(test, filter_info(test, s).unread, 1ULL, "%s", p->name);
	kapi_close(test);
}

/* The longest min_wait logs nothing, whatever the time base, not even what is saturated. */
static void filter_ticks_nothing(struct kunit *test, struct kdtl_pmu *p)
{
	const struct kdtl_session_attr attr = { .pmu = p->name, .min_wait = U64_MAX };
	struct filter_out out = { p, KDTL_TIME_MAX, KDTL_TIME_MAX };
	struct kdtl_session *s = kapi_started(test, &attr);

	if (!s)
		return;
	smp_call_function_single(0, filter_output, &out, 1);
	KUNIT_EXPECT_EQ_MSG(test, filter_info(test, s).filtered, 1ULL, "%s", p->name);
	KUNIT_EXPECT_EQ_MSG(test, filter_info(test, s).unread, 0ULL, "%s", p->name);
	kapi_close(test);
}

static void filter_ticks(struct kunit *test)
{
	static const struct {
		unsigned int	pmu;
		u64		min_wait;	/* ns */
		u32		ticks;		/* the fewest that are not less than min_wait */
	} cases[] = {
		{ 0, 1, 1 }, { 0, NSEC_PER_SEC, 1 }, { 0, NSEC_PER_SEC + 1, 2 },
		{ 0, 4000000000ULL * NSEC_PER_SEC, 4000000000U },
		{ 1, 1, 1 }, { 1, 3, 2 }, { 1, 1000, 512 }, { 1, 1001, 513 },
		{ 1, NSEC_PER_SEC, 512000000 },
		{ 2, 1, 5 }, { 2, 10, 43 }, { 2, NSEC_PER_SEC - 1, U32_MAX - 4 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(filter_pmus); i++) {
		filter_pmus[i].pmu.module = THIS_MODULE;
		KUNIT_ASSERT_EQ(test, kdtl_pmu_register(&filter_pmus[i]), 0);
	}
	for (i = 0; i < ARRAY_SIZE(cases); i++)
		filter_ticks_of(test, &filter_pmus[cases[i].pmu], cases[i].min_wait,
				cases[i].ticks);
	/* On the slowest time base the longest min_wait is still only some 2^34 ticks. */
	for (i = 0; i < ARRAY_SIZE(filter_pmus); i++) {
		filter_ticks_never(test, &filter_pmus[i]);
		filter_ticks_nothing(test, &filter_pmus[i]);
	}
	for (i = 0; i < ARRAY_SIZE(filter_pmus); i++)
		kdtl_pmu_unregister(&filter_pmus[i]);
}

/* ------------------------------------------------------------ without an area */

static struct kdtl_session *filter_counting(struct kunit *test, unsigned int msg_pages)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.msg_pages	= msg_pages,
		.flags		= KDTL_SESSION_NO_AUX,
	};

	return kapi_create(test, &attr);
}

static void filter_no_aux(struct kunit *test)
{
	/* The vma has no size, and neither has the area. */
	static struct vm_area_struct nothing;
	struct kdtl_session *s = filter_counting(test, 1);
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	const void *span;
	char buf[100];

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, kapi_per_entry(s, KDTL_KIND_FAULT), 0);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1000000, 3, 2, 1);
	KUNIT_EXPECT_EQ(test, kdtl_wait(s, 0), -ETIMEDOUT);
	/* An overflow is told of, and so is what the source lost. */
	kapi_emit(0, KDTL_KIND_FAULT, 1);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_OVERFLOW, &msg));
	KUNIT_EXPECT_EQ(test, msg.overflow.counters, 1U << KDTL_CTR_FAULT);
	kdtl_fake_lost(0, 5);
	KUNIT_ASSERT_TRUE(test, kapi_msg_of(s, KDTL_MSG_LOST, &msg));
	KUNIT_EXPECT_EQ(test, msg.lost.count, 5ULL);

	KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, 0), 1000006ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_QUEUED, 0), 3000000ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_READY, 0), 2000000ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, 0), 5ULL);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_BYTES, 0), 0ULL);
	info = filter_info(test, s);
	KUNIT_EXPECT_EQ(test, info.size, 0ULL);
	KUNIT_EXPECT_EQ(test, info.watermark, 0ULL);
	KUNIT_EXPECT_EQ(test, info.filtered, 1000001ULL);
	KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
	KUNIT_EXPECT_EQ(test, info.lost, 5ULL);
	KUNIT_EXPECT_EQ(test, info.head, info.tail);

	/* There is nothing to read. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, buf, sizeof(buf), NULL),
			(ssize_t)-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), (long)-EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_mmap(s, 0, &nothing), -EINVAL);
}

/* A session without an area can be loaded again and again. */
static void filter_no_aux_again(struct kunit *test)
{
	struct kdtl_session *s = filter_counting(test, 0);
	int round, cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (round = 0; round < 3; round++) {
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		for_each_online_cpu(cpu)
			kapi_emit(cpu, KDTL_KIND_PREEMPT, 10);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_PREEMPT, -1),
				10ULL * num_online_cpus());
		KUNIT_ASSERT_EQ(test, kdtl_unload(s), 0);
	}
}

static void filter_refused(struct kunit *test)
{
	const struct kdtl_session_attr attrs[] = {
		{ .flags = KDTL_SESSION_NO_AUX, .aux_pages = 1 },
		{ .flags = KDTL_SESSION_NO_AUX | KDTL_SESSION_OVERWRITE },
		{ .flags = KDTL_SESSION_NO_AUX, .watermark = 48 },
		{ .flags = KDTL_SESSION_NO_AUX, .min_wait = 1 },
		{ .msg_types = 1 },
		{ .msg_types = 1 << KDTL_NR_MSG_TYPES },
	};
	struct kdtl_config req = { .min_wait = 1 };
	struct kdtl_session *s;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(kdtl_session_create(&attrs[i])),
				    (long)-EINVAL, "attribute %u", i);
	s = filter_counting(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &req, 1), -EINVAL);
	KUNIT_EXPECT_EQ(test, req.error, -EINVAL);
}

static struct kunit_case filter_cases[] = {
	KUNIT_CASE(filter_short),
	KUNIT_CASE(filter_idle),
	KUNIT_CASE(filter_full),
	KUNIT_CASE(filter_extremes),
	KUNIT_CASE(filter_sets),
	KUNIT_CASE(filter_overwrite),
	KUNIT_CASE(filter_merge),
	KUNIT_CASE(filter_side_by_side),
	KUNIT_CASE(filter_ticks),
	KUNIT_CASE(filter_no_aux),
	KUNIT_CASE(filter_no_aux_again),
	KUNIT_CASE(filter_refused),
	{}
};

struct kunit_suite kdtl_filter_suite = {
	.name		= "kdtl_filter",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= filter_cases,
};
