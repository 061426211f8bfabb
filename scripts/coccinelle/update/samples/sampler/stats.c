// SPDX-License-Identifier: GPL-2.0
/* Waiting times as a histogram with a known error. */
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "stats.h"

static unsigned int stats_bucket(u64 ns)
{
	unsigned int shift;

	if (ns < STATS_STEPS)
		return ns;
	ns = min(ns, (1ULL << STATS_MAX_BITS) - 1);
	shift = fls64(ns) - 1 - STATS_STEP_BITS;
	return (shift + 1) * STATS_STEPS + (ns >> shift) - STATS_STEPS;
}

/* The largest value that falls into the bucket. */
static u64 stats_upper(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < STATS_STEPS)
		return bucket;
	shift = bucket / STATS_STEPS - 1;
	return ((bucket % STATS_STEPS + STATS_STEPS + 1ULL) << shift) - 1;
}

/**
 * stats_add() - count one wait
 * @st: where
 * @ns: how long
 */
void stats_add(struct sampler_stats *st, u64 ns)
{
	st->dispatches++;
	st->wait += ns;
	st->max = max(st->max, ns);
	st->hist[stats_bucket(ns)]++;
}

/**
 * stats_merge() - add one CPU's numbers to another's
 * @to: is added to
 * @from: is not changed
 */
void stats_merge(struct sampler_stats *to, const struct sampler_stats *from)
{
	unsigned int i;

	to->dispatches += from->dispatches;
	to->wait += from->wait;
	to->max = max(to->max, from->max);
	to->lost += from->lost;
	to->steal += from->steal;
	for (i = 0; i < STATS_BUCKETS; i++)
		to->hist[i] += from->hist[i];
}

/**
 * stats_quantile() - the wait that so many stay below
 * @st: whose
 * @permille: 500 for the median
 *
 * Return: ns, at most 6.25 % above the exact value and never above the
 * longest; 0 if nothing was counted.
 */
u64 stats_quantile(const struct sampler_stats *st, unsigned int permille)
{
	const u64 rank = div_u64(st->dispatches * permille + 999, 1000);
	u64 seen = 0;
	unsigned int i;

	for (i = 0; i < STATS_BUCKETS && st->dispatches; i++) {
		seen += st->hist[i];
		if (seen >= rank)
			return min(stats_upper(i), st->max);
	}
	return st->max;
}

/**
 * stats_log2() - how many waits had that many bits
 * @st: whose
 * @bits: 0: the wait was 0; n: from 2^(n-1) up to but not 2^n ns
 *
 * Return: how many.
 */
u64 stats_log2(const struct sampler_stats *st, unsigned int bits)
{
	unsigned int i, first, last;
	u64 sum = 0;

	if (!bits)
		return st->hist[0];
	first = stats_bucket(1ULL << (bits - 1));
	last = stats_bucket((1ULL << bits) - 1);
	for (i = first; i <= last; i++)
		sum += st->hist[i];
	return sum;
}
