/* SPDX-License-Identifier: GPL-2.0 */
/* Where entries are missing among the unread ones of a CPU. */
#ifndef _KDTL_GAPS_H
#define _KDTL_GAPS_H

#include <linux/spinlock.h>
#include <linux/types.h>

/* Gaps of a CPU that the reader has not passed. */
#define KDTL_NR_GAPS	64

/**
 * struct kdtl_gap - entries that were lost in a row
 * @pos: the position at which they are missing
 * @lost: their number
 */
struct kdtl_gap {
	u64	pos;
	u64	lost;
};

/**
 * struct kdtl_gaps - the gaps of a CPU that the reader has not passed, and maybe older ones
 * @lock: protects the rest.  No other lock is taken inside; taken under the runqueue
 *	lock.  Gaps are rare, so the path of an entry that finds room does not take it
 * @first: index of the oldest gap; indices run freely
 * @nr: number of gaps
 * @gap: by index modulo KDTL_NR_GAPS, in the order of positions
 */
struct kdtl_gaps {
	raw_spinlock_t	lock;
	unsigned int	first;
	unsigned int	nr;
	struct kdtl_gap	gap[KDTL_NR_GAPS];
};

void kdtl_gaps_reset(struct kdtl_gaps *g);
void kdtl_gaps_add(struct kdtl_gaps *g, u64 tail, u64 head, u64 lost);
bool kdtl_gaps_full(struct kdtl_gaps *g, u64 tail, u64 head);
bool kdtl_gaps_next(struct kdtl_gaps *g, u64 tail, struct kdtl_gap *gap);
u64 kdtl_gaps_sum(struct kdtl_gaps *g, u64 from, u64 to);

#endif /* _KDTL_GAPS_H */
