// SPDX-License-Identifier: GPL-2.0
/* Histograms of waits: each quantile is compared with the waits themselves. */
#include <linux/kdtl_hist.h>
#include <linux/prandom.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "kapi.h"

#define HIST_WAITS	1000

struct hist_case {
	struct kdtl_hist	hist;
	struct kdtl_hist	half[2];
	u64			wait[HIST_WAITS];
	unsigned int		nr;
};

static struct hist_case hist_only;

static struct hist_case *hist_begin(void)
{
	memset(&hist_only, 0, sizeof(hist_only));
	return &hist_only;
}

static int hist_compare(const void *a, const void *b)
{
	const u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static void hist_add(struct hist_case *c, u64 ns)
{
	kdtl_hist_add(&c->hist, ns, false);
	kdtl_hist_add(&c->half[c->nr % 2], ns, false);
	c->wait[c->nr++] = ns;
}

static void hist_check(struct kunit *test, struct hist_case *c, unsigned int permille)
{
	const u64 exact = c->wait[max(DIV_ROUND_UP(c->nr * permille, 1000), 1U) - 1];
	bool saturated = true;
	u64 ns = kdtl_hist_quantile(&c->hist, permille, &saturated);

	KUNIT_EXPECT_FALSE(test, saturated);
	KUNIT_EXPECT_GE_MSG(test, ns, exact, "%u permille of %u", permille, c->nr);
	KUNIT_EXPECT_LE_MSG(test, ns, exact + exact / 16, "%u permille of %u", permille, c->nr);
	KUNIT_EXPECT_LE(test, ns, c->wait[c->nr - 1]);
}

/* With waits of all lengths, a quantile is between the exact value and 6.25 % above it. */
static void hist_quantiles(struct kunit *test)
{
	struct hist_case *c = hist_begin();
	struct rnd_state rnd;
	unsigned int i;
	u64 sum = 0;

	prandom_seed_state(&rnd, 34);
	for (i = 0; i < HIST_WAITS; i++) {
		hist_add(c, prandom_u32_state(&rnd) >> (prandom_u32_state(&rnd) % 32));
		sum += c->wait[i];
	}
	sort(c->wait, c->nr, sizeof(*c->wait), hist_compare, NULL);
	for (i = 1; i <= 1000; i += 37)
		hist_check(test, c, i);
	hist_check(test, c, 1000);
	KUNIT_EXPECT_EQ(test, c->hist.waits.nr, (u64)HIST_WAITS);
	KUNIT_EXPECT_EQ(test, c->hist.waits.sum, sum);
	KUNIT_EXPECT_EQ(test, c->hist.waits.max, c->wait[HIST_WAITS - 1]);
	kdtl_waits_merge(&c->half[0].waits, &c->half[1].waits);
	KUNIT_EXPECT_EQ(test, memcmp(&c->half[0].waits, &c->hist.waits, sizeof(c->hist.waits)), 0);
}

/* Each bucket begins where the one before it ends. */
static void hist_edges(struct kunit *test)
{
	struct hist_case *c = hist_begin();
	unsigned int bit, step;
	bool saturated;
	u64 ns;

	KUNIT_EXPECT_EQ(test, kdtl_hist_quantile(&c->hist, 500, &saturated), 0ULL);
	KUNIT_EXPECT_FALSE(test, saturated);
	for (ns = 0; ns < KDTL_HIST_STEPS; ns++)
		KUNIT_EXPECT_EQ(test, kdtl_hist_bucket(ns), (unsigned int)ns);
	for (bit = KDTL_HIST_STEP_BITS; bit < KDTL_HIST_MAX_BITS; bit++) {
		for (step = 0; step < KDTL_HIST_STEPS; step++) {
			ns = (u64)(KDTL_HIST_STEPS + step) << (bit - KDTL_HIST_STEP_BITS);
			KUNIT_EXPECT_EQ(test, kdtl_hist_bucket(ns - 1) + 1, kdtl_hist_bucket(ns));
		}
	}
	KUNIT_EXPECT_EQ(test, kdtl_hist_bucket(U64_MAX), KDTL_HIST_BUCKETS - 1U);
}

/*
 * If waits were longer than their entries say, the shortest of them bounds what a quantile can say.
 */
static void hist_saturated(struct kunit *test)
{
	struct hist_case *c = hist_begin();
	bool saturated;
	unsigned int i;

	for (i = 0; i < 90; i++)
		kdtl_hist_add(&c->hist, 1, false);
	for (i = 0; i < 10; i++)
		kdtl_hist_add(&c->hist, 1000 + i, true);
	KUNIT_EXPECT_EQ(test, kdtl_hist_quantile(&c->hist, 900, &saturated), 1ULL);
	KUNIT_EXPECT_FALSE(test, saturated);
	KUNIT_EXPECT_EQ(test, kdtl_hist_quantile(&c->hist, 901, &saturated), 1000ULL);
	KUNIT_EXPECT_TRUE(test, saturated);
	/*
	 * A longer wait that is known exactly does not help: the others may have been longer still.
	 */
	kdtl_hist_add(&c->hist, 5000, false);
	KUNIT_EXPECT_EQ(test, kdtl_hist_quantile(&c->hist, 1000, &saturated), 1000ULL);
	KUNIT_EXPECT_TRUE(test, saturated);
	KUNIT_EXPECT_EQ(test, c->hist.waits.saturated, 10ULL);
	KUNIT_EXPECT_EQ(test, c->hist.waits.least, 1000ULL);
}

/* Is the median of 10 waits of @edge said exactly, beside one that was @least or longer? */
static bool hist_says(u64 edge, u64 least)
{
	struct hist_case *c = hist_begin();
	bool saturated;
	unsigned int i;

	for (i = 0; i < 10; i++)
		kdtl_hist_add(&c->hist, edge, false);
	kdtl_hist_add(&c->hist, least, true);
	return kdtl_hist_quantile(&c->hist, 500, &saturated) == edge && !saturated;
}

/* A wait that may be as short as the shortest of a bucket, but no shorter, ranks after it. */
static void hist_bound(struct kunit *test)
{
	const u64 edge = KDTL_HIST_STEPS << 6;

	KUNIT_ASSERT_EQ(test, kdtl_hist_bucket(edge - 1) + 1, kdtl_hist_bucket(edge));
	KUNIT_EXPECT_TRUE(test, hist_says(edge, edge));
	KUNIT_EXPECT_FALSE(test, hist_says(edge, edge - 1));
}

static void hist_add_to(struct hist_case *c, unsigned int half, u64 ns, bool saturated)
{
	kdtl_hist_add(&c->hist, ns, saturated);
	kdtl_hist_add(&c->half[half], ns, saturated);
}

/*
 * Sums are added in either order.  One has the shortest wait that was too long for its entry, the
 * other one the longest that was not, and at times no other.
 */
static void hist_merged(struct kunit *test)
{
	struct hist_case *c;
	struct kdtl_waits sum;
	unsigned int round, i;

	for (round = 0; round < 2; round++) {
		c = hist_begin();
		hist_add_to(c, 0, 1, false);
		hist_add_to(c, 0, 1000, true);
		hist_add_to(c, 1, 5000, false);
		if (round)
			hist_add_to(c, 1, 2000, true);
		for (i = 0; i < 2; i++) {
			sum = c->half[i].waits;
			kdtl_waits_merge(&sum, &c->half[!i].waits);
			KUNIT_EXPECT_EQ(test, memcmp(&sum, &c->hist.waits, sizeof(sum)), 0);
		}
	}
}

static struct kunit_case hist_cases[] = {
	KUNIT_CASE(hist_quantiles),
	KUNIT_CASE(hist_edges),
	KUNIT_CASE(hist_saturated),
	KUNIT_CASE(hist_bound),
	KUNIT_CASE(hist_merged),
	{}
};

struct kunit_suite kdtl_hist_suite = {
	.name		= "kdtl_hist",
	.test_cases	= hist_cases,
};
