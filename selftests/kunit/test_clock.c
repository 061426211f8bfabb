// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_clock.ko: core/pmu/sched-clock.h, on a counter that the test controls
 *
 * A hypervisor takes the CPU away where it likes, and firmware writes the counter; no
 * test can make a real one do that at the instruction where it matters.  The last case
 * has the machine's own counter and local_clock().
 */
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>

#include "../../core/pmu/sched-cycles.h"
#include "kunit-shim.h"

#define HZ_HERE		2500000000ULL
#define READING		20		/* cycles that it takes */

/* By the machine's clocks. */
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

/* What kdtl_sched does without a counter needs no test, but this one can be had. */
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

/* The CPU is away for @stolen cycles in the middle of it, once. */
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
 * The CPU is away between the readings of the counter and of local_clock(): they do
 * not match.
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

/* No time is before an earlier one, however the two clocks run. */
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
	/* And it goes on when local_clock() has caught up. */
	ns_ahead += 2 * (s64)NSEC_PER_SEC;
	counter += REACH;
	KUNIT_EXPECT_FALSE(test, clock_now(&now));
	expect_near(test, now);
	clock_end();
}

/*
 * The counter went on while local_clock() stood still, as in a suspend: later times are too
 * late by that, until an anchor's reach is over and local_clock() has come up.
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

/* How much time this machine's counter may be off, of 2^13: 0.01 %. */
#define RATE_SHIFT	13

/**
 * struct seen - times from an anchor, between two readings of local_clock()
 * @nr: how many
 * @bad: how many were too early or too late, or before the last one
 * @until: how long after the anchor the last one was, in ns
 */
struct seen {
	unsigned int	nr;
	unsigned int	bad;
	u64		until;
};

/* Until the anchor is out of reach, or for longer: the CPU may have been away. */
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

/* The machine's own counter has the rate that kdtl_cycles_hz() gives, and is read right. */
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
	/* As often as it takes: an emulator does not get every anchor in time. */
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
