// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_clock.ko: core/pmu/sched-clock.h, on a TSC that the test controls
 *
 * A hypervisor takes the CPU away where it likes, and firmware writes the TSC; no
 * test can make a real one do that at the instruction where it matters.
 */
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>

#include <asm/tsc.h>

#include "kunit-shim.h"

#define TSC_KHZ		2500000U
#define READING		20		/* cycles that it takes */

static u64 tsc, stolen;
static s64 ns_ahead;
static bool tsc_bad;

static u64 fake_rdtsc(void)
{
	return tsc += READING;
}

static u64 tsc_ns(void)
{
	return tsc * 2 / 5 + ns_ahead;
}

/* The CPU is away for @stolen cycles in the middle of it, once. */
static u64 fake_local_clock(void)
{
	tsc += READING + stolen;
	stolen = 0;
	return tsc_ns();
}

#define rdtsc()			fake_rdtsc()
#define local_clock()		fake_local_clock()
#define check_tsc_unstable()	tsc_bad
#define tsc_khz			TSC_KHZ

#include "../../core/pmu/sched-clock.h"

static struct kdtl_clock anchor;

#define REACH		KDTL_CLOCK_REACH
/*
 * How far off a time may be: the two readings, and the bits that the shift
 * drops.
 */
#define NEAR_NS		(4LL * READING)

/* As kdtl_sched does; returns whether the time comes from the anchor. */
static bool clock_now(u64 *now)
{
	if (kdtl_clock_read(&anchor, now))
		return true;
	*now = kdtl_clock_anchor(&anchor);
	return false;
}

/* On one CPU, whose anchor is gone. */
static void clock_begin(void)
{
	tsc = 10 * REACH;
	stolen = 0;
	ns_ahead = 10 * (s64)NSEC_PER_SEC;
	tsc_bad = false;
	migrate_disable();
	memset(&anchor, 0, sizeof(anchor));
}

static void clock_end(void)
{
	migrate_enable();
}

static void expect_near(struct kunit *test, u64 now)
{
	const s64 off = now - tsc_ns();

	KUNIT_EXPECT_LE(test, off, NEAR_NS);
	KUNIT_EXPECT_GE(test, off, -NEAR_NS);
}

static void clock_between(struct kunit *test)
{
	u64 now, before;
	int i;

	clock_begin();
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	for (i = 1; i < 10; i++) {
		before = now;
		tsc += REACH / 10;
		KUNIT_EXPECT_TRUE(test, clock_now(&now));
		KUNIT_EXPECT_GT(test, now, before);
		expect_near(test, now);
	}
	tsc += REACH / 10;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	clock_end();
}

/*
 * The CPU is away between the readings of the TSC and of local_clock(): they do
 * not match.
 */
static void clock_taken_away(struct kunit *test)
{
	u64 now;

	clock_begin();
	stolen = REACH / 2;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	tsc += 1000;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	tsc += 1000;
	KUNIT_EXPECT_TRUE(test, clock_now(&now));
	expect_near(test, now);
	clock_end();
}

/* No time is before an earlier one, however the two clocks run. */
static void clock_never_back(struct kunit *test)
{
	u64 now, before;

	clock_begin();
	clock_now(&now);
	tsc += REACH - 1000;
	KUNIT_EXPECT_TRUE(test, clock_now(&now));
	before = now;
	tsc -= 2 * REACH;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	KUNIT_EXPECT_GE(test, now, before);
	before = now;
	tsc += REACH / 2;
	ns_ahead -= NSEC_PER_SEC;
	clock_now(&now);
	KUNIT_EXPECT_GE(test, now, before);
	before = now;
	tsc += 2 * REACH;
	clock_now(&now);
	KUNIT_EXPECT_GE(test, now, before);
	/* And it goes on when local_clock() has caught up. */
	ns_ahead += 2 * (s64)NSEC_PER_SEC;
	tsc += REACH;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	clock_end();
}

static void clock_untrusted(struct kunit *test)
{
	u64 now;
	int i;

	clock_begin();
	tsc_bad = true;
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, clock_now(&now));
		KUNIT_EXPECT_EQ(test, now, tsc_ns());
	}
	clock_end();
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(clock_between),
	KUNIT_CASE(clock_taken_away),
	KUNIT_CASE(clock_never_back),
	KUNIT_CASE(clock_untrusted),
	{ }
};

static struct kunit_suite clock_suite = {
	.name		= "kdtl_clock",
	.test_cases	= clock_cases,
};

kunit_test_suites(&clock_suite);

MODULE_DESCRIPTION("Tests of kdtl_sched's clock");
MODULE_LICENSE("GPL");
