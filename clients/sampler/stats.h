/* SPDX-License-Identifier: GPL-2.0 */
/* What is counted of one CPU: waits as a histogram with a known error. */
#ifndef _KDTL_SAMPLER_STATS_H
#define _KDTL_SAMPLER_STATS_H

#include <linux/kdtl_hist.h>
#include <linux/math.h>
#include <linux/types.h>

/**
 * struct sampler_wait - what an entry says about a wait
 * @time: time of the dispatch, by the session's time base, in ns
 * @known: it is known how long the runner waited
 * @ns: for how long it waited
 * @saturated: it waited that long or longer
 * @bucket: its bucket in a histogram
 * @throttled: a limit on CPU time held the runner back
 * @held: for how long the limit did, in ns
 * @held_saturated: it was held back that long or longer
 */
struct sampler_wait {
	u64	time;
	bool	known;
	u64	ns;
	bool	saturated;
	u32	bucket;
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
 * struct sampler_counts - counts of some dispatches, without the histogram
 * @dispatches: number of dispatches
 * @throttles: number of those whose runners a limit on CPU time had held back
 * @throttled: for how long these runners were held back, in ns
 * @throttled_saturated: how many of them were held back for longer than an entry can say:
 *	@throttled is too low then
 * @waits: waits whose length is known; for a runner that was held back it may be unknown
 */
struct sampler_counts {
	u64			dispatches;
	u64			throttles;
	u64			throttled;
	u64			throttled_saturated;
	struct kdtl_waits	waits;
};

/**
 * struct sampler_stats - counts of one CPU's log
 * @counts: counts of its dispatches
 * @hist: number of waits in each bucket, without those that are saturated
 * @lost: entries that had been lost when counting began
 * @steal: time that had been stolen when counting began, in ns
 * @counted: the session's counters when counting began
 */
struct sampler_stats {
	struct sampler_counts	counts;
	u64			hist[KDTL_HIST_BUCKETS];
	u64			lost;
	u64			steal;
	struct sampler_counted	counted;
};

#define WINDOWS		3
#define WINDOW_MINUTE	2	/* index of the last 60 s */
#define WINDOW_PARTS	5

/**
 * struct sampler_part - a part of a window
 * @nr: its number: parts are numbered from time 0 on
 * @counts: what was counted in it
 * @octave: for each power of two, the number of the row with its counts; 0: there was no wait
 */
struct sampler_part {
	u64			nr;
	struct sampler_counts	counts;
	u16			octave[KDTL_HIST_OCTAVES];
};

#define WINDOWS_PARTS	(WINDOWS * (WINDOW_PARTS + 1))
#define WINDOWS_CHUNK	16	/* rows that are allocated at once */
#define WINDOWS_CHUNKS	DIV_ROUND_UP(WINDOWS_PARTS * KDTL_HIST_OCTAVES, WINDOWS_CHUNK)

/* Counts of the buckets of one power of two.  No part has so many dispatches that u32 wraps. */
struct sampler_octave {
	u32	hist[KDTL_HIST_STEPS];
};

/**
 * struct sampler_windows - counts of the last 1, 10 and 60 s
 * @parts: parts of each window; one more than its length, as the newest is not complete
 * @at: index of the part of each window in which the last dispatch was
 * @node: the NUMA node on which @chunks are allocated
 * @rows: how many rows there are; they are numbered from 1
 * @free: the first free row; the first count of a free row is the number of the next one
 * @chunks: the rows
 *
 * Rows are allocated when used: a task's waits lie in a few powers of two, so most would be empty.
 */
struct sampler_windows {
	struct sampler_part	parts[WINDOWS][WINDOW_PARTS + 1];
	u32			at[WINDOWS];
	int			node;
	unsigned int		rows;
	unsigned int		free;
	struct sampler_octave	*chunks[WINDOWS_CHUNKS];
};

/* True if the entry says exactly how long its runner waited. */
static inline bool stats_in_hist(const struct sampler_wait *wait)
{
	return wait->known && !wait->saturated;
}

void stats_count(struct sampler_counts *c, const struct sampler_wait *wait);
void stats_add(struct sampler_stats *st, const struct sampler_wait *wait);
void stats_merge_counts(struct sampler_counts *to, const struct sampler_counts *from);
void stats_merge(struct sampler_stats *to, const struct sampler_stats *from);
u64 stats_log2(const struct sampler_stats *st, unsigned int bits);

static inline u64 stats_quantile(const struct sampler_stats *st, unsigned int permille,
				 bool *saturated)
{
	return kdtl_waits_quantile(&st->counts.waits, st->hist, permille, saturated);
}

#endif /* _KDTL_SAMPLER_STATS_H */
