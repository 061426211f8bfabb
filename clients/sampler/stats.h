/* SPDX-License-Identifier: GPL-2.0 */
/* What is counted of one CPU: waits as a histogram with a known error. */
#ifndef _KDTL_SAMPLER_STATS_H
#define _KDTL_SAMPLER_STATS_H

#include <linux/types.h>

/*
 * Each power of two has 16 buckets, so a bucket's upper edge is at most 1/16 =
 * 6.25 % above a wait in it.  The last one ends at 2^36 ns (68 s), more than
 * an entry can hold.  A wait that was longer than its entry can say is in none.
 */
#define STATS_STEP_BITS		4
#define STATS_STEPS		(1U << STATS_STEP_BITS)
#define STATS_MAX_BITS		36
#define STATS_BUCKETS		((STATS_MAX_BITS - STATS_STEP_BITS + 1) * STATS_STEPS)

/**
 * struct sampler_wait - what an entry says about a wait
 * @time: of the dispatch, by the session's time base, in ns
 * @known: it is known how long the runner waited
 * @ns: for how long it waited
 * @saturated: it waited that long or longer
 * @throttled: a limit on CPU time held the runner back
 * @held: for how long that did
 * @held_saturated: it was held back that long or longer
 */
struct sampler_wait {
	u64	time;
	bool	known;
	u64	ns;
	bool	saturated;
	bool	throttled;
	u64	held;
	bool	held_saturated;
};

/**
 * struct sampler_counted - the session's counters of one CPU
 * @dispatches: number of dispatches, logged or not
 * @wait: sum of their waits, in ns
 * @logging: time in which dispatches were logged, in ns
 * @counting: time in which they were logged or only counted, in ns
 */
struct sampler_counted {
	u64	dispatches;
	u64	wait;
	u64	logging;
	u64	counting;
};

/**
 * struct sampler_stats - what was counted of one CPU's log
 * @dispatches: number of dispatches
 * @throttles: those whose runners a limit on CPU time had held back
 * @throttled: for how long these were held back, in ns
 * @throttled_saturated: those that were held back for longer than an entry can say:
 *	@throttled is too low
 * @waits: dispatches of which it is known how long the runner waited; after a limit that may
 *	not be known
 * @wait: sum of these waits, in ns
 * @max: longest wait, in ns
 * @saturated: waits that were longer than an entry can say: @wait and @max have the
 *	longest that it can say, so they are too low
 * @least: the shortest that these can have been, in ns; 0 without any
 * @hist: number of waits in each bucket, without @saturated
 * @lost: entries that had been lost when counting began
 * @steal: time that had been stolen when counting began, in ns
 * @counted: the session's counters when counting began
 */
struct sampler_stats {
	u64	dispatches;
	u64	throttles;
	u64	throttled;
	u64	throttled_saturated;
	u64	waits;
	u64	wait;
	u64	max;
	u64	saturated;
	u64	least;
	u64	hist[STATS_BUCKETS];
	u64	lost;
	u64	steal;
	struct sampler_counted	counted;
};

#define WINDOWS		3
#define WINDOW_MINUTE	2	/* index of the last 60 s */
#define WINDOW_PARTS	5

/**
 * struct sampler_part - a part of a window
 * @nr: its number: parts are numbered from time 0 on
 * @stats: what was counted in it
 */
struct sampler_part {
	u64			nr;
	struct sampler_stats	stats;
};

/**
 * struct sampler_windows - counts of the last 1, 10 and 60 s
 * @parts: of each window; one more than its length, as the newest is not complete
 */
struct sampler_windows {
	struct sampler_part	parts[WINDOWS][WINDOW_PARTS + 1];
};

void stats_add(struct sampler_stats *st, const struct sampler_wait *wait);
void stats_merge(struct sampler_stats *to, const struct sampler_stats *from);
u64 stats_quantile(const struct sampler_stats *st, unsigned int permille,
		   bool *saturated);
u64 stats_log2(const struct sampler_stats *st, unsigned int bits);

#endif /* _KDTL_SAMPLER_STATS_H */
