/* SPDX-License-Identifier: GPL-2.0 */
/* Waiting times as a histogram with a known error. */
#ifndef _KDTL_SAMPLER_STATS_H
#define _KDTL_SAMPLER_STATS_H

#include <linux/types.h>

/*
 * Buckets: each power of two in 16 steps, so a value read from a bucket's
 * upper edge is at most 1/16 = 6.25 % too high.  Up to 2^36 ns (68 s), more
 * than an entry's waits can be.
 */
#define STATS_STEP_BITS		4
#define STATS_STEPS		(1U << STATS_STEP_BITS)
#define STATS_MAX_BITS		36
#define STATS_BUCKETS		((STATS_MAX_BITS - STATS_STEP_BITS + 1) * STATS_STEPS)

/**
 * struct sampler_stats - what was seen of one CPU
 * @dispatches: how many
 * @wait: their waiting times, sum in ns
 * @max: the longest, in ns
 * @hist: how many waits fell into each bucket
 * @lost: entries that found no room, when counting began
 * @steal: stolen time in ns, when counting began
 */
struct sampler_stats {
	u64	dispatches;
	u64	wait;
	u64	max;
	u64	hist[STATS_BUCKETS];
	u64	lost;
	u64	steal;
};

void stats_add(struct sampler_stats *st, u64 ns);
void stats_merge(struct sampler_stats *to, const struct sampler_stats *from);
u64 stats_quantile(const struct sampler_stats *st, unsigned int permille);
u64 stats_log2(const struct sampler_stats *st, unsigned int bits);

#endif /* _KDTL_SAMPLER_STATS_H */
