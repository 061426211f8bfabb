// SPDX-License-Identifier: GPL-2.0
/*
 * Times of entries by the kernel's clocks
 *
 * The source's clock does not run at the rate that its tb_freq says, like a clock that adjtimex()
 * slews, only more so.
 */
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "kapi.h"

#define TIMEBASE_ROUNDS	5
#define TIMEBASE_NR	20
#define TIMEBASE_NS	(3 * NSEC_PER_MSEC)	/* between two entries */
#define TIMEBASE_NEAR	NSEC_PER_USEC		/* the promised precision */

static u64 timebase_clock(struct kdtl_pmu *p)
{
	return ktime_get_ns() / 5 * 2 + 1000000007;
}

static struct kdtl_pmu timebase_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_fake_timebase",
	.clock		= timebase_clock,
};

/* An entry, and what the clocks said before and after it. */
struct timebase_entry {
	struct kdtl_entry	e;
	u64			mono[2];
	u64			boot[2];
	u64			real[2];
};

static void timebase_make(struct timebase_entry *t)
{
	t->mono[0] = ktime_get_ns();
	t->boot[0] = ktime_get_boottime_ns();
	t->real[0] = ktime_get_real_ns();
	t->e.timebase = cpu_to_be64(timebase_clock(NULL));
	t->mono[1] = ktime_get_ns();
	t->boot[1] = ktime_get_boottime_ns();
	t->real[1] = ktime_get_real_ns();
}

static bool timebase_between(u64 ns, const u64 *range, s64 near)
{
	return (s64)(ns - range[0]) >= -near && (s64)(ns - range[1]) <= near;
}

static void timebase_check(struct kunit *test, const struct timebase_entry *t,
			   const struct kdtl_timebase *tb)
{
	const u64 ns = kdtl_entry_mono_ns(&t->e, tb);
	const s64 near = TIMEBASE_NEAR + tb->error;

	KUNIT_EXPECT_TRUE_MSG(test, timebase_between(ns, t->mono, near),
			      "%lld ns after, %lld ns before, error %llu", ns - t->mono[0],
			      t->mono[1] - ns, tb->error);
	KUNIT_EXPECT_TRUE(test, timebase_between(kdtl_entry_boot_ns(&t->e, tb), t->boot, near));
	KUNIT_EXPECT_TRUE(test, timebase_between(kdtl_entry_real_ns(&t->e, tb), t->real, near));
}

/* Between two calls, times are right to a microsecond, although the rate is 20 % off tb_freq. */
static void timebase_slewed(struct kunit *test)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_fake_timebase", .aux_pages = 1 };
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_timebase tb = {};
	struct timebase_entry *t;
	unsigned int round, i;
	u64 until;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	t = kcalloc(TIMEBASE_NR, sizeof(*t), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, t);
	KUNIT_EXPECT_EQ(test, kdtl_timebase_sync(s, &tb), 0);
	for (round = 0; round < TIMEBASE_ROUNDS; round++) {
		for (i = 0; i < TIMEBASE_NR; i++) {
			timebase_make(&t[i]);
			until = ktime_get_ns() + TIMEBASE_NS;
			while (ktime_get_ns() < until)
				cond_resched();
		}
		KUNIT_EXPECT_EQ(test, kdtl_timebase_sync(s, &tb), 0);
		for (i = 0; i < TIMEBASE_NR; i++)
			timebase_check(test, &t[i], &tb);
	}
	kfree(t);
}

/* A source without a clock of its own uses local_clock(), which may differ between CPUs. */
static void timebase_local(struct kunit *test)
{
	struct kdtl_session *s = kapi_session(test, 0);
	struct kdtl_timebase tb = {};
	u64 ticks, mono;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	migrate_disable();
	for (i = 0; i < 10; i++) {
		ticks = local_clock();
		mono = ktime_get_ns();
		KUNIT_EXPECT_EQ(test, kdtl_timebase_sync(s, &tb), 0);
		KUNIT_EXPECT_GE(test, tb.ticks, ticks);
		KUNIT_EXPECT_GE(test, tb.mono, mono);
		KUNIT_EXPECT_LE(test, tb.ticks, local_clock());
		KUNIT_EXPECT_LE(test, tb.mono, ktime_get_ns());
	}
	migrate_enable();
	KUNIT_EXPECT_EQ(test, kdtl_timebase_sync(NULL, &tb), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_timebase_sync(s, NULL), -EINVAL);
}

/* If the clock stands still or goes back, the times are of little use, but nothing divides by 0. */
static u64 timebase_still_at;

static u64 timebase_still(struct kdtl_pmu *p)
{
	return timebase_still_at;
}

static void timebase_broken(struct kunit *test)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_fake_timebase", .aux_pages = 1 };
	struct kdtl_session *s = kapi_create(test, &attr);
	struct kdtl_timebase tb = {};
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	timebase_pmu.clock = timebase_still;
	for (i = 0; i < 3; i++) {
		timebase_still_at = 1000 - i;
		KUNIT_EXPECT_EQ(test, kdtl_timebase_sync(s, &tb), 0);
		KUNIT_EXPECT_EQ(test, tb.ticks, timebase_still_at);
		/* Pretend that the last call was long ago. */
		tb.from.mono -= 1000 * (u64)NSEC_PER_SEC;
	}
	timebase_pmu.clock = timebase_clock;
}

/* No number of ticks makes the division trap; in a raw session all times are 0. */
static void timebase_ticks(struct kunit *test)
{
	struct kdtl_aux_info info = { .tb_freq = 512000000 };

	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, 0), 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, 512), 1000ULL);
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, 511999999), 999999998ULL);
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, 1ULL << 62), 9007199254740992000ULL);
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, U64_MAX), U64_MAX);
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, (u64)-1000), U64_MAX);
	info.tb_freq = 1;
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, 18446744072ULL), 18446744072000000000ULL);
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, 1ULL << 40), U64_MAX);
	info.tb_freq = U32_MAX;
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, U64_MAX), 4294967297000000000ULL);
	info.tb_freq = 0;
	KUNIT_EXPECT_EQ(test, kdtl_ticks_to_ns(&info, 5), 0ULL);
}

/* A single look of two seconds delays the next look by no more than two usual looks would. */
static void timebase_pace(struct kunit *test)
{
	const u64 look = 20 * NSEC_PER_USEC, rest = KDTL_PACE_REST;
	struct kdtl_pace pace = {};
	u64 now = NSEC_PER_SEC;

	kdtl_pace_set(&pace, now, now + 2ULL * NSEC_PER_SEC);
	now += 2ULL * NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, pace.next, now + rest * 2 * NSEC_PER_MSEC);
	kdtl_pace_set(&pace, now, now + look);
	now += look;
	KUNIT_EXPECT_EQ(test, pace.next, now + rest * look);
	kdtl_pace_set(&pace, now, now + 2ULL * NSEC_PER_SEC);
	now += 2ULL * NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, pace.next, now + rest * 2 * look);
	/* If all looks take long, the pace adapts. */
	kdtl_pace_set(&pace, now, now + 2ULL * NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, pace.cost, 4 * look);
}

static struct kunit_case timebase_cases[] = {
	KUNIT_CASE(timebase_ticks),
	KUNIT_CASE(timebase_slewed),
	KUNIT_CASE(timebase_local),
	KUNIT_CASE(timebase_broken),
	KUNIT_CASE(timebase_pace),
	{}
};

static int timebase_init(struct kunit *test)
{
	timebase_pmu.tb_freq = 500000000;
	return kapi_init(test) ?: kdtl_pmu_register(&timebase_pmu);
}

static void timebase_exit(struct kunit *test)
{
	kapi_exit(test);
	kdtl_pmu_unregister(&timebase_pmu);
}

struct kunit_suite kdtl_timebase_suite = {
	.name		= "kdtl_timebase",
	.init		= timebase_init,
	.exit		= timebase_exit,
	.test_cases	= timebase_cases,
};
