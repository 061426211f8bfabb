// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_clock.ko: core/pmu/sched-clock.h, on a counter that the test controls
 *
 * A hypervisor takes the CPU away where it likes, and firmware may write the counter; no test can
 * make a real one do that at the instruction where it matters.  The last case uses the machine's
 * own counter and local_clock().
 */
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>

#include "../../core/pmu/sched-cycles.h"
#include "kunit-shim.h"

#define HZ_HERE		2500000000ULL
#define READING		20		/* cycles that reading the counter takes */

/* If set, the clocks are the machine's own. */
static bool real;
static u64 counter, stolen;
static s64 ns_ahead;
static bool distrusted;

#ifdef KDTL_CYCLES_REACH

static u64 real_cycles(void)
{
	return kdtl_cycles();
}

static u64 real_hz(void)
{
	return kdtl_cycles_hz();
}

#else

/* kdtl_sched has no counter on this machine, but sched-clock.h can be tested all the same. */
#define KDTL_CYCLES_REACH	BIT_ULL(24)

static u64 real_cycles(void)
{
	return 0;
}

static u64 real_hz(void)
{
	return 0;
}

#endif

static u64 real_local_clock(void)
{
	return local_clock();
}

static u64 test_cycles(void)
{
	return real ? real_cycles() : (counter += READING);
}

static u64 test_hz(void)
{
	if (real)
		return real_hz();
	return distrusted ? 0 : HZ_HERE;
}

static u64 counter_ns(void)
{
	return counter * 2 / 5 + ns_ahead;
}

/* In the middle of the call the CPU is away for @stolen cycles, once. */
static u64 test_local_clock(void)
{
	if (real)
		return real_local_clock();
	counter += READING + stolen;
	stolen = 0;
	return counter_ns();
}

#define kdtl_cycles()		test_cycles()
#define kdtl_cycles_hz()	test_hz()
#define local_clock()		test_local_clock()

#include "../../core/pmu/sched-clock.h"

static struct kdtl_clock anchor;

#define REACH		KDTL_CYCLES_REACH
/* How far off a time may be: by the two readings, and the bits that the shift drops. */
#define NEAR_NS		(4LL * READING)

/* Read the clock as kdtl_sched does.  Returns whether the time was derived from the anchor. */
static bool clock_now(u64 *now)
{
	if (kdtl_clock_read(&anchor, now))
		return true;
	*now = kdtl_clock_anchor(&anchor);
	return false;
}

/* Begin a case on one CPU, without an anchor. */
static void clock_begin(void)
{
	real = false;
	counter = 10 * REACH;
	stolen = 0;
	ns_ahead = 10 * (s64)NSEC_PER_SEC;
	distrusted = false;
	migrate_disable();
	memset(&anchor, 0, sizeof(anchor));
}

static void clock_end(void)
{
	migrate_enable();
}

static void expect_near(struct kunit *test, u64 now)
{
	const s64 off = now - counter_ns();

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
		counter += REACH / 10;
		KUNIT_EXPECT_TRUE(test, clock_now(&now));
		KUNIT_EXPECT_GT(test, now, before);
		expect_near(test, now);
	}
	counter += REACH / 10;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	clock_end();
}

/*
 * The CPU is away between reading the counter and reading local_clock(), so the two do not match.
 */
static void clock_taken_away(struct kunit *test)
{
	u64 now;

	clock_begin();
	stolen = REACH / 2;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	counter += 1000;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	counter += 1000;
	KUNIT_EXPECT_TRUE(test, clock_now(&now));
	expect_near(test, now);
	clock_end();
}

/* No time is before an earlier one, whatever the rates of the two clocks are. */
static void clock_never_back(struct kunit *test)
{
	u64 now, before;

	clock_begin();
	clock_now(&now);
	counter += REACH - 1000;
	KUNIT_EXPECT_TRUE(test, clock_now(&now));
	before = now;
	counter -= 2 * REACH;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	KUNIT_EXPECT_GE(test, now, before);
	before = now;
	counter += REACH / 2;
	ns_ahead -= NSEC_PER_SEC;
	clock_now(&now);
	KUNIT_EXPECT_GE(test, now, before);
	before = now;
	counter += 2 * REACH;
	clock_now(&now);
	KUNIT_EXPECT_GE(test, now, before);
	/* Times grow again once local_clock() has caught up. */
	ns_ahead += 2 * (s64)NSEC_PER_SEC;
	counter += REACH;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	clock_end();
}

/*
 * The counter went on while local_clock() stood still, as in a suspend.  Later times are too late
 * by that much, until the anchor is out of reach and local_clock() has caught up.
 */
static void clock_stood_still(struct kunit *test)
{
	u64 now, before;
	int i;

	clock_begin();
	clock_now(&now);
	counter += REACH / 2;
	ns_ahead -= REACH / 2 * 2 / 5;
	KUNIT_EXPECT_TRUE(test, clock_now(&now));
	for (i = 0; i < 200; i++) {
		before = now;
		counter += REACH / 100;
		clock_now(&now);
		KUNIT_EXPECT_GE(test, now, before);
	}
	expect_near(test, now);
	clock_end();
}

static void clock_untrusted(struct kunit *test)
{
	u64 now;
	int i;

	clock_begin();
	distrusted = true;
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, clock_now(&now));
		KUNIT_EXPECT_EQ(test, now, counter_ns());
	}
	clock_end();
}

/* By how much this machine's counter may be off: one part in 2^13, about 0.01 %. */
#define RATE_SHIFT	13

/**
 * struct seen - times derived from an anchor, each taken between two readings of local_clock()
 * @nr: how many
 * @bad: how many were too early or too late, or before the previous one
 * @until: how long after the anchor the last one was, in ns
 */
struct seen {
	unsigned int	nr;
	unsigned int	bad;
	u64		until;
};

/* Take times until the anchor is out of reach, or longer, if the CPU was away meanwhile. */
static void clock_follow(struct seen *seen)
{
	u64 before, now, after, last = 0, slack;
	unsigned long flags;
	bool anchored;

	memset(seen, 0, sizeof(*seen));
	do {
		local_irq_save(flags);
		before = local_clock();
		anchored = kdtl_clock_read(&anchor, &now);
		after = local_clock();
		local_irq_restore(flags);
		if (!anchored)
			break;
		seen->nr++;
		seen->until = now - anchor.ns;
		slack = KDTL_CLOCK_GAP_NS + (seen->until >> RATE_SHIFT);
		if (now + slack < before || now > after + slack || now < last)
			seen->bad++;
		last = now;
	} while (1);
}

/* The machine's own counter has the rate that kdtl_cycles_hz() says, and is converted correctly. */
static void clock_of_machine(struct kunit *test)
{
	unsigned long flags;
	struct seen seen;
	u64 reach;

	clock_begin();
	real = true;
	if (!kdtl_cycles_hz()) {
		clock_end();
		kunit_skip(test, "no counter to be trusted");
	}
	reach = div64_u64(REACH * NSEC_PER_SEC, kdtl_cycles_hz());
	/* Repeat until it works: on an emulator not every anchor is taken quickly enough. */
	do {
		local_irq_save(flags);
		kdtl_clock_anchor(&anchor);
		local_irq_restore(flags);
		clock_follow(&seen);
		KUNIT_EXPECT_EQ(test, seen.bad, 0);
		cond_resched();
	} while (!seen.bad && seen.until < reach / 2);
	kunit_info(test, "%u times, the last %llu us after the anchor", seen.nr,
		   div_u64(seen.until, NSEC_PER_USEC));
	clock_end();
}

static struct kunit_case clock_cases[] = {
	KUNIT_CASE(clock_between),
	KUNIT_CASE(clock_taken_away),
	KUNIT_CASE(clock_never_back),
	KUNIT_CASE(clock_stood_still),
	KUNIT_CASE(clock_untrusted),
	KUNIT_CASE(clock_of_machine),
	{ }
};

static struct kunit_suite clock_suite = {
	.name		= "kdtl_clock",
	.test_cases	= clock_cases,
};

kunit_test_suites(&clock_suite);

MODULE_DESCRIPTION("Tests of kdtl_sched's clock");
MODULE_LICENSE("GPL");
