// SPDX-License-Identifier: GPL-2.0
/* Quantiles of a histogram of waits. */
#include <linux/export.h>
#include <linux/kdtl.h>
#include <linux/kdtl_hist.h>
#include <linux/math64.h>

/* The longest wait that falls into the bucket. */
static u64 kdtl_hist_upper(unsigned int bucket)
{
	unsigned int shift;

	if (bucket < KDTL_HIST_STEPS)
		return bucket;
	shift = bucket / KDTL_HIST_STEPS - 1;
	return ((bucket % KDTL_HIST_STEPS + KDTL_HIST_STEPS + 1ULL) << shift) - 1;
}

/* The shortest wait that falls into the bucket. */
static u64 kdtl_hist_lower(unsigned int bucket)
{
	return bucket ? kdtl_hist_upper(bucket - 1) + 1 : 0;
}

/**
 * kdtl_waits_merge() - add counts of waits to a sum, without a histogram
 * @to: the sum
 * @from: the counts
 *
 * Context: any; the caller keeps other writers out.
 */
void kdtl_waits_merge(struct kdtl_waits *to, const struct kdtl_waits *from)
{
	to->nr += from->nr;
	to->sum += from->sum;
	to->max = max(to->max, from->max);
	to->saturated += from->saturated;
	to->least = min_not_zero(to->least, from->least);
}
EXPORT_SYMBOL_NS_GPL(kdtl_waits_merge, KDTL_NS);

/**
 * kdtl_waits_quantile() - the wait that a given share of waits does not exceed
 * @w: the waits
 * @bucket: number of waits in each of %KDTL_HIST_BUCKETS buckets, without saturated waits
 * @permille: the share; 500 for the median, 1000 for the longest
 * @saturated: set to true if the result is only a lower bound
 *
 * Context: any.
 * Return: ns, at most 6.25 % above the exact value and never above the
 * longest; 0 if there was no wait.  If @saturated, the exact value is this or longer.
 */
u64 kdtl_waits_quantile(const struct kdtl_waits *w, const u64 *bucket,
			unsigned int permille, bool *saturated)
{
	const u64 rank = div_u64(w->nr * permille + 999, 1000);
	u64 seen = 0;
	unsigned int i;

	*saturated = false;
	if (!w->nr)
		return 0;
	/* Saturated waits rank as the longest, but may be as short as w->least. */
	for (i = 0; i < KDTL_HIST_BUCKETS; i++) {
		seen += bucket[i];
		if (seen >= rank && (!w->saturated || kdtl_hist_lower(i) <= w->least))
			return min(kdtl_hist_upper(i), w->max);
	}
	*saturated = true;
	return w->least;
}
EXPORT_SYMBOL_NS_GPL(kdtl_waits_quantile, KDTL_NS);
