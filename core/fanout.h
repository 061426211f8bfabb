/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The path of an entry: from its source to a sink for each active event of a CPU
 *
 * Everything here runs on the sink's own CPU with interrupts off, maybe under
 * the runqueue lock.  So it takes no lock, allocates nothing and wakes nobody,
 * and it calls through a pointer only if an entry needs special care.
 *
 * This is the one header of core/ that a PMU driver of core/pmu/ includes.
 */
#ifndef _KDTL_FANOUT_H
#define _KDTL_FANOUT_H

#include <linux/kdtl_pmu.h>
#include <linux/percpu.h>

#include "u64.h"

/**
 * enum kdtl_sum - what is counted of the entries of a kind
 * @KDTL_SUM_ENTRIES: their number
 * @KDTL_SUM_QUEUED: sum of enqueue_to_dispatch_time
 * @KDTL_SUM_READY: sum of ready_to_enqueue_time
 * @KDTL_SUM_SLEPT: sum of waiting_to_ready_time
 * @KDTL_NR_SUMS: number of these
 */
enum kdtl_sum {
	KDTL_SUM_ENTRIES,
	KDTL_SUM_QUEUED,
	KDTL_SUM_READY,
	KDTL_SUM_SLEPT,
	KDTL_NR_SUMS,
};

/* The counts of one kind.  Those of the two usual kinds share a cache line. */
struct kdtl_tally {
	aligned_u64	sum[KDTL_NR_SUMS];
};

struct kdtl_sink;

/**
 * struct kdtl_sink_ops - how a session's sink differs from a perf user's
 * @slow: write the entry, or count it as lost
 * @lost: the source itself has lost @nr entries
 * @link: the sink is about to join the fan-out
 * @unlink: the sink has left the fan-out, or could not join it
 *
 * All are called on the sink's CPU, interrupts off.
 */
struct kdtl_sink_ops {
	void	(*slow)(struct kdtl_sink *sink, const struct kdtl_entry *e);
	void	(*lost)(struct kdtl_sink *sink, u64 nr);
	void	(*link)(struct kdtl_sink *sink);
	void	(*unlink)(struct kdtl_sink *sink);
};

/**
 * struct kdtl_sink - one event's place in its CPU's fan-out
 * @next: the CPU's next sink, in the list kdtl_pmu_cpu::far
 * @base: start of a mapping in which an entry may straddle the area's end
 * @pos_mask: turns a position into an offset
 * @head: position of the next entry, published to the reader
 * @stop_at: an entry that would end at this position or beyond takes the slow
 *	path: there is no room, the reader is to be woken, or a counter is watched
 * @wants: by &enum kdtl_kind, from the mask: see kdtl_sink_set_mask()
 * @linked: the sink is in the fan-out
 * @batches: several entries may be written before @head moves; not in overwrite mode,
 *	where a reader expects just one unfinished entry at @head
 * @period: see struct kdtl_config
 * @ops: the slow path
 */
struct kdtl_sink {
	struct kdtl_sink	*next;
	void			*base;
	u64			pos_mask;
	aligned_u64		head;
	u64			stop_at;
	bool			wants[KDTL_NR_KINDS];
	bool			linked;
	bool			batches;
	u64			period;
	const struct kdtl_sink_ops *ops;
};

#define KDTL_NEAR_SINKS	8

/**
 * struct kdtl_pmu_cpu - a source's state on one CPU
 * @mask: KDTL_MASK_*, what @sinks want between them; as long as @stale maybe more
 * @stale: the source still delivers for sinks that have gone, see
 *	kdtl_fanout_settle()
 * @crowded: there are sinks in @far, whose cache line few need
 * @sinks: those of the first active events, and NULL: an array, so that the CPU need not
 *	fetch a sink to know where the next is.  Changed with interrupts off on the CPU
 * @far: list of the sinks that @sinks has no room for
 * @tally: by &enum kdtl_kind, all entries so far, whoever wanted them
 * @leaving: the sink that is about to go, so the source need no longer deliver what only
 *	this one wants
 *
 * Entries are counted here once, rather than in each sink.  A sink's own counts are the
 * growth of @tally while the sink was linked, of the kinds that the sink wanted.
 */
struct kdtl_pmu_cpu {
	u32			mask;
	bool			stale;
	bool			crowded;
	struct kdtl_sink	*sinks[KDTL_NEAR_SINKS + 1];
	struct kdtl_sink	*far;
	struct kdtl_tally	tally[KDTL_NR_KINDS];
	struct kdtl_sink	*leaving;
};

/* Where the sink after that at @at is. */
static inline struct kdtl_sink **kdtl_sinks_next(struct kdtl_pmu_cpu *c,
						 struct kdtl_sink **at)
{
	const unsigned long i = ((unsigned long)at - (unsigned long)c->sinks) / sizeof(*at);

	if (i >= KDTL_NEAR_SINKS)
		return &(*at)->next;
	return i == KDTL_NEAR_SINKS - 1 ? &c->far : at + 1;
}

#define kdtl_for_each_sink(sink, at, c)				\
	for (at = (c)->sinks; (sink = *at); at = kdtl_sinks_next(c, at))

/* The number of whole entries in @bytes. */
static inline u64 kdtl_entries(u64 bytes)
{
	return div_u64(bytes, KDTL_ENTRY_SIZE);
}

/*
 * @mask: KDTL_MASK_*.  An entry of unknown kind might be any of them, so a sink
 * that wants any kind wants it.
 */
static inline void kdtl_sink_set_mask(struct kdtl_sink *sink, u32 mask)
{
	unsigned int kind;

	for (kind = 0; kind < KDTL_KIND_UNKNOWN; kind++)
		sink->wants[kind] = mask >> kind & 1;
	sink->wants[KDTL_KIND_UNKNOWN] = mask;
}

static inline u32 kdtl_sink_mask(const struct kdtl_sink *sink)
{
	unsigned int kind;
	u32 mask = 0;

	for (kind = 0; kind < KDTL_KIND_UNKNOWN; kind++)
		mask |= sink->wants[kind] << kind;
	return mask;
}

/*
 * Count an entry, before it is handed out: a sink may look at its counters then.  Other
 * CPUs may read the counts at any time; they are exact while nothing is logged.
 */
static __always_inline void kdtl_pmu_count(struct kdtl_pmu_cpu *c, unsigned long kind,
					   u64 queued, u64 ready, u64 slept)
{
	struct kdtl_tally *t = &c->tally[kind];

	kdtl_u64_add(&t->sum[KDTL_SUM_ENTRIES], 1);
	kdtl_u64_add(&t->sum[KDTL_SUM_QUEUED], queued);
	kdtl_u64_add(&t->sum[KDTL_SUM_READY], ready);
	kdtl_u64_add(&t->sum[KDTL_SUM_SLEPT], slept);
}

/* Does the entry at @head need more than to be stored? */
static __always_inline bool kdtl_sink_is_slow(const struct kdtl_sink *sink, u64 head)
{
	return (s64)(head + KDTL_ENTRY_SIZE - sink->stop_at) >= 0;
}

/* The memory for the entry at @head. */
static __always_inline void *kdtl_sink_slot(const struct kdtl_sink *sink, u64 head)
{
	/*
	 * [aux.O] Orders the store of the last head before this entry's bytes, which
	 * replace older ones.  Pairs with S in kdtl_snapshot_try().
	 */
	smp_wmb();
	return sink->base + (head & sink->pos_mask);
}

static __always_inline void kdtl_sink_publish(struct kdtl_sink *sink, u64 head)
{
	/*
	 * [aux.B] Publishes the entry at @head.  Pairs with C, the load-acquire of head
	 * in kdtl_area_peek() and in kdtl_snapshot_try().
	 */
	kdtl_u64_release(&sink->head, head + KDTL_ENTRY_SIZE);
}

/* Write an entry that has room. */
static __always_inline void kdtl_sink_store(struct kdtl_sink *sink,
					    const struct kdtl_entry *e)
{
	const u64 head = sink->head;

	memcpy(kdtl_sink_slot(sink, head), e, sizeof(*e));
	kdtl_sink_publish(sink, head);
}

/* Hand an entry that has been counted to those sinks, from @at on, that want its kind. */
static __always_inline void kdtl_hand_out(struct kdtl_pmu_cpu *c, struct kdtl_sink **at,
					  const struct kdtl_entry *e,
					  enum kdtl_kind kind)
{
	struct kdtl_sink *sink;

	for (; (sink = *at); at = kdtl_sinks_next(c, at)) {
		if (unlikely(!sink->wants[kind]))
			continue;
		if (unlikely(kdtl_sink_is_slow(sink, sink->head)))
			sink->ops->slow(sink, e);
		else
			kdtl_sink_store(sink, e);
	}
}

/* Count an entry, and hand it to every active event of this CPU that asked for its kind. */
static __always_inline void kdtl_fan_out(struct kdtl_pmu_cpu *c,
					 const struct kdtl_entry *e,
					 enum kdtl_kind kind)
{
	kdtl_pmu_count(c, kind, kdtl_entry_queued(e), kdtl_entry_ready(e),
		       kdtl_entry_slept(e));
	kdtl_hand_out(c, c->sinks, e, kind);
}

/* Need all sinks no more than to store @nr entries of any kind in @mask? */
static inline bool kdtl_sinks_take(struct kdtl_pmu_cpu *c, u32 mask, unsigned int nr)
{
	const u64 last = (nr - 1) * KDTL_ENTRY_SIZE;
	struct kdtl_sink **at, *sink;

	kdtl_for_each_sink(sink, at, c) {
		if (!sink->batches || kdtl_sink_is_slow(sink, sink->head + last) ||
		    mask & ~kdtl_sink_mask(sink))
			return false;
	}
	return true;
}

/* Write entries that have been counted, and that all sinks take. */
static inline void kdtl_sinks_store(struct kdtl_pmu_cpu *c, const struct kdtl_entry *e,
				    unsigned int nr)
{
	const u64 last = (nr - 1) * KDTL_ENTRY_SIZE;
	struct kdtl_sink **at, *sink;
	u64 head;

	kdtl_for_each_sink(sink, at, c) {
		head = sink->head;
		memcpy(kdtl_sink_slot(sink, head), e, last + KDTL_ENTRY_SIZE);
		kdtl_sink_publish(sink, head + last);
	}
}

/* All bits that a mask may have. */
#define KDTL_MASK_KNOWN		(KDTL_MASK_ALL | KDTL_MASK_IDLE)

/* The kinds that a source distinguishes. */
static inline u32 kdtl_pmu_mask(const struct kdtl_pmu *p)
{
	return p->mask ?: KDTL_MASK_CEDE | KDTL_MASK_PREEMPT | KDTL_MASK_FAULT;
}

/*
 * Does the source have what @mask asks for?  A source may lack kinds of dispatches: it
 * then calls them by another kind.  But nothing stands for idle time.
 */
static inline bool kdtl_pmu_has(const struct kdtl_pmu *p, u32 mask)
{
	const u32 known = kdtl_pmu_mask(p);

	return mask & known && !(mask & ~known & KDTL_MASK_IDLE);
}

/* This CPU's state.  With interrupts off. */
static __always_inline struct kdtl_pmu_cpu *kdtl_pmu_here(struct kdtl_pmu *p)
{
	return this_cpu_ptr(p->cpu);
}

int kdtl_fanout_update(struct kdtl_pmu *p);
int kdtl_fanout_link(struct kdtl_pmu *p, struct kdtl_sink *sink);
void kdtl_fanout_unlink(struct kdtl_pmu *p, struct kdtl_sink *sink, bool defer);
void kdtl_fanout_settle(struct kdtl_pmu *p);

#endif /* _KDTL_FANOUT_H */
