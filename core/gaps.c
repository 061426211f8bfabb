// SPDX-License-Identifier: GPL-2.0
/*
 * Where entries are missing among the unread ones of a CPU
 *
 * With these, a reader is told of each loss between the two entries where it happened.
 * The number of gaps is bounded.  When they are used up, the last gap grows: new
 * entries are lost too until the reader has passed the oldest gap.  So the places and
 * numbers are always exact.  It happens only to a reader that reads a few entries at a
 * time while its area stays full; the area then holds fewer entries, but never none.
 *
 * A gap stays until the reader has passed it, that is, has consumed the entry behind it.
 */
#include "gaps.h"

static struct kdtl_gap *kdtl_gap_at(struct kdtl_gaps *g, unsigned int i)
{
	return &g->gap[(g->first + i) % KDTL_NR_GAPS];
}

/* The gap that no entry has ended yet, because it is at @head; or NULL. */
static struct kdtl_gap *kdtl_gap_open(struct kdtl_gaps *g, u64 head)
{
	struct kdtl_gap *last;

	if (!g->nr)
		return NULL;
	last = kdtl_gap_at(g, g->nr - 1);
	return last->pos == head ? last : NULL;
}

/* Forget the gaps that the reader has passed. */
static void kdtl_gaps_drop(struct kdtl_gaps *g, u64 tail)
{
	while (g->nr && (s64)(kdtl_gap_at(g, 0)->pos - tail) < 0) {
		g->first++;
		WRITE_ONCE(g->nr, g->nr - 1);
	}
}

/**
 * kdtl_gaps_reset() - forget all gaps
 * @g: the gaps
 *
 * Context: any but NMI.
 */
void kdtl_gaps_reset(struct kdtl_gaps *g)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&g->lock, flags);
	WRITE_ONCE(g->nr, 0);
	raw_spin_unlock_irqrestore(&g->lock, flags);
}

/**
 * kdtl_gaps_add() - note a loss
 * @g: the gaps
 * @tail: position of the reader
 * @head: position of the writer
 * @lost: number of entries
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_gaps_add(struct kdtl_gaps *g, u64 tail, u64 head, u64 lost)
{
	struct kdtl_gap *gap;

	raw_spin_lock(&g->lock);
	gap = kdtl_gap_open(g, head);
	if (!gap) {
		kdtl_gaps_drop(g, tail);
		/*
		 * kdtl_aux_room() keeps a gap free, unless a driver reports a loss between
		 * kdtl_aux_output_begin() and _end(); then the last gap is inexact.
		 */
		if (g->nr < KDTL_NR_GAPS) {
			WRITE_ONCE(g->nr, g->nr + 1);
			*kdtl_gap_at(g, g->nr - 1) = (struct kdtl_gap) { .pos = head };
		}
		gap = kdtl_gap_at(g, g->nr - 1);
	}
	gap->lost += lost;
	raw_spin_unlock(&g->lock);
}

/**
 * kdtl_gaps_full() - must an open gap grow, because there is no room for another one?
 * @g: the gaps
 * @tail: position of the reader
 * @head: position of the writer
 *
 * Context: on the area's CPU, interrupts off.
 * Return: true if so.
 */
bool kdtl_gaps_full(struct kdtl_gaps *g, u64 tail, u64 head)
{
	bool full;

	/* Only this CPU adds gaps. */
	if (likely(READ_ONCE(g->nr) < KDTL_NR_GAPS))
		return false;
	raw_spin_lock(&g->lock);
	kdtl_gaps_drop(g, tail);
	full = g->nr == KDTL_NR_GAPS && kdtl_gap_open(g, head);
	raw_spin_unlock(&g->lock);
	return full;
}

/**
 * kdtl_gaps_next() - find the oldest gap that the reader has not passed
 * @g: the gaps
 * @tail: position of the reader
 * @gap: filled in
 *
 * Context: any but NMI.
 * Return: whether there is one.
 */
bool kdtl_gaps_next(struct kdtl_gaps *g, u64 tail, struct kdtl_gap *gap)
{
	unsigned long flags;
	bool found;

	if (!READ_ONCE(g->nr))
		return false;
	raw_spin_lock_irqsave(&g->lock, flags);
	kdtl_gaps_drop(g, tail);
	found = g->nr;
	if (found)
		*gap = *kdtl_gap_at(g, 0);
	raw_spin_unlock_irqrestore(&g->lock, flags);
	return found;
}

/**
 * kdtl_gaps_sum() - count the entries that are missing in a range
 * @g: the gaps
 * @from: first position
 * @to: last position
 *
 * Context: any but NMI.
 * Return: the number.
 */
u64 kdtl_gaps_sum(struct kdtl_gaps *g, u64 from, u64 to)
{
	unsigned long flags;
	unsigned int i;
	u64 sum = 0;

	if (!READ_ONCE(g->nr))
		return 0;
	raw_spin_lock_irqsave(&g->lock, flags);
	for (i = 0; i < g->nr; i++) {
		if (kdtl_gap_at(g, i)->pos - from <= to - from)
			sum += kdtl_gap_at(g, i)->lost;
	}
	raw_spin_unlock_irqrestore(&g->lock, flags);
	return sum;
}
