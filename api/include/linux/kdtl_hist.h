/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_hist - waits as a histogram with a known error, and its quantiles
 *
 * An entry has room for waits of up to 4.29 s.  A longer wait is only known to have been that
 * long or longer, so a quantile says whether it is such a lower bound::
 *
 *	kdtl_hist_add(&hist, kdtl_ticks_to_ns(info, kdtl_entry_wait(e)),
 *		      kdtl_entry_wait_saturated(e));
 *	...
 *	p99 = kdtl_hist_quantile(&hist, 990, &or_longer);
 */
#ifndef _LINUX_KDTL_HIST_H
#define _LINUX_KDTL_HIST_H

#include <linux/bitops.h>
#include <linux/minmax.h>
#include <linux/types.h>

/*
 * Each power of two has 16 buckets, so a bucket's upper edge is at most 1/16 =
 * 6.25 % above a wait in it.  The last one ends at 2^36 ns (68 s), more than
 * an entry can hold.  A wait that was longer than its entry can say is in no bucket.
 */
#define KDTL_HIST_STEP_BITS	4
#define KDTL_HIST_STEPS		(1U << KDTL_HIST_STEP_BITS)
#define KDTL_HIST_MAX_BITS	36
#define KDTL_HIST_OCTAVES	(KDTL_HIST_MAX_BITS - KDTL_HIST_STEP_BITS + 1)
#define KDTL_HIST_BUCKETS	(KDTL_HIST_OCTAVES * KDTL_HIST_STEPS)

/**
 * struct kdtl_waits - what is known of some waits, without their histogram
 * @nr: number of waits
 * @sum: of all waits, in ns
 * @max: the longest wait, in ns
 * @saturated: number of waits that were longer than their entry can say: @sum and @max
 *	have the longest that it can say, so they are too low
 * @least: the shortest that any saturated wait can have been, in ns; 0: there is none
 */
struct kdtl_waits {
	u64	nr;
	u64	sum;
	u64	max;
	u64	saturated;
	u64	least;
};

/**
 * struct kdtl_hist - waits as a histogram; zeroes are an empty one
 * @waits: what is known of all of them
 * @bucket: number of waits in each bucket, without those that are saturated
 */
struct kdtl_hist {
	struct kdtl_waits	waits;
	u64			bucket[KDTL_HIST_BUCKETS];
};

/**
 * kdtl_hist_bucket() - find the bucket of a wait
 * @ns: how long it was
 *
 * Context: any.
 * Return: the bucket's index.
 */
static inline unsigned int kdtl_hist_bucket(u64 ns)
{
	unsigned int shift;

	if (ns < KDTL_HIST_STEPS)
		return ns;
	ns = min_t(u64, ns, (1ULL << KDTL_HIST_MAX_BITS) - 1);
	shift = fls64(ns) - 1 - KDTL_HIST_STEP_BITS;
	return (shift + 1) * KDTL_HIST_STEPS + (ns >> shift) - KDTL_HIST_STEPS;
}

/**
 * kdtl_waits_add() - count a wait, but not in a histogram
 * @w: the waits
 * @ns: how long it was
 * @saturated: it was that long or longer
 *
 * Context: any; the caller keeps other writers out.
 */
static inline void kdtl_waits_add(struct kdtl_waits *w, u64 ns, bool saturated)
{
	w->nr++;
	w->sum += ns;
	w->max = max(w->max, ns);
	if (saturated) {
		w->saturated++;
		w->least = min_not_zero(w->least, ns);
	}
}

/**
 * kdtl_hist_add() - count a wait
 * @h: the histogram
 * @ns: how long it was
 * @saturated: it was that long or longer
 *
 * Context: any; the caller keeps other writers out.
 */
static inline void kdtl_hist_add(struct kdtl_hist *h, u64 ns, bool saturated)
{
	kdtl_waits_add(&h->waits, ns, saturated);
	if (!saturated)
		h->bucket[kdtl_hist_bucket(ns)]++;
}

void kdtl_waits_merge(struct kdtl_waits *to, const struct kdtl_waits *from);
u64 kdtl_waits_quantile(const struct kdtl_waits *w, const u64 *bucket,
			unsigned int permille, bool *saturated);

/**
 * kdtl_hist_quantile() - the wait that a given share of waits does not exceed
 * @h: the histogram
 * @permille: the share; 500 for the median
 * @saturated: set to true if the result is only a lower bound
 *
 * Context: any.
 * Return: as kdtl_waits_quantile().
 */
static inline u64 kdtl_hist_quantile(const struct kdtl_hist *h, unsigned int permille,
				     bool *saturated)
{
	return kdtl_waits_quantile(&h->waits, h->bucket, permille, saturated);
}

#endif /* _LINUX_KDTL_HIST_H */
