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
 * struct kdtl_counts - the entries that a sink was offered
 * @queued: sum of enqueue_to_dispatch_time
 * @ready: sum of ready_to_enqueue_time of runners that were not throttled
 * @slept: sum of waiting_to_ready_time
 * @entries: by &enum kdtl_kind, including those that were lost
 * @throttled: sum of ready_to_enqueue_time of runners that were throttled
 * @lost: those of @entries that found no room, or that the source itself lost
 * @filtered: those of @entries that were only counted
 * @partial: bytes that are not part of whole entries: a driver that writes by
 *	itself (kdtl_aux_output_end()) may end in the middle of one
 *
 * A dispatch changes the first four, which are within 64 bytes but for unknown kinds.
 */
struct kdtl_counts {
	aligned_u64	queued;
	aligned_u64	ready;
	aligned_u64	slept;
	aligned_u64	entries[KDTL_NR_KINDS];
	aligned_u64	throttled;
	aligned_u64	lost;
	aligned_u64	filtered;
	aligned_u64	partial;
};

struct kdtl_sink;

/**
 * struct kdtl_sink_ops - how a session's sink differs from a perf user's
 * @slow: write the entry and count it, or count it as lost
 * @lost: the source itself has lost @nr entries
 * @link: the sink is about to join the fan-out
 * @unlink: the sink has left the fan-out, or could not join it
 *
 * All are called on the sink's CPU, interrupts off.
 */
struct kdtl_sink_ops {
	void	(*slow)(struct kdtl_sink *sink, const struct kdtl_entry *e,
			enum kdtl_kind kind);
	void	(*lost)(struct kdtl_sink *sink, u64 nr);
	void	(*link)(struct kdtl_sink *sink);
	void	(*unlink)(struct kdtl_sink *sink);
};

/**
 * struct kdtl_sink - one event's place in its CPU's fan-out
 * @next: the CPU's next sink; changed with interrupts off on that CPU
 * @counts: where entries are counted
 * @base: start of a mapping in which an entry may straddle the area's end
 * @pos_mask: turns a position into an offset
 * @head: position of the next entry, published to the reader
 * @stop_at: an entry that would end at this position or beyond takes the slow
 *	path: there is no room, the reader is to be woken, or a counter is watched
 * @wants: by &enum kdtl_kind, from the mask: see kdtl_sink_set_mask()
 * @linked: the sink is in the fan-out
 * @period: see struct kdtl_config
 * @ops: the slow path
 */
struct kdtl_sink {
	struct kdtl_sink	*next;
	struct kdtl_counts	*counts;
	void			*base;
	u64			pos_mask;
	aligned_u64		head;
	u64			stop_at;
	bool			wants[KDTL_NR_KINDS];
	bool			linked;
	u64			period;
	const struct kdtl_sink_ops *ops;
};

/**
 * struct kdtl_pmu_cpu - a source's state on one CPU
 * @sinks: of all active events
 * @leaving: the one of @sinks that is about to go, so the source need no longer
 *	deliver what only this one wants
 * @stale: the source still delivers for sinks that have gone, see
 *	kdtl_fanout_settle()
 */
struct kdtl_pmu_cpu {
	struct kdtl_sink	*sinks;
	struct kdtl_sink	*leaving;
	bool			stale;
};

/* The number of whole entries in @bytes. */
static inline u64 kdtl_entries(u64 bytes)
{
	return div_u64(bytes, KDTL_ENTRY_SIZE);
}

/* The number of entries counted. */
static inline u64 kdtl_counts_entries(const struct kdtl_counts *c)
{
	u64 sum = 0;
	int kind;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++)
		sum += kdtl_u64_read(&c->entries[kind]);
	return sum;
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

/* The first sink, from @sink on, that wants this kind; or NULL. */
static __always_inline struct kdtl_sink *kdtl_sink_wanting(struct kdtl_sink *sink,
							   unsigned long kind)
{
	while (sink && unlikely(!sink->wants[kind]))
		sink = sink->next;
	return sink;
}

/*
 * Count an entry whose runner was not throttled.  Other CPUs may read the counts at
 * any time; they are exact while nothing is logged.
 */
static __always_inline void kdtl_sink_count(struct kdtl_counts *c,
					    unsigned long kind, u64 queued,
					    u64 ready, u64 slept)
{
	kdtl_u64_add(&c->entries[kind], 1);
	kdtl_u64_add(&c->queued, queued);
	kdtl_u64_add(&c->ready, ready);
	kdtl_u64_add(&c->slept, slept);
}

static __always_inline void kdtl_sink_count_entry(struct kdtl_counts *c,
						  const struct kdtl_entry *e,
						  enum kdtl_kind kind)
{
	const u32 throttled = kind == KDTL_KIND_THROTTLE ? kdtl_entry_ready(e) : 0;

	kdtl_sink_count(c, kind, kdtl_entry_queued(e),
			kdtl_entry_ready(e) - throttled, kdtl_entry_slept(e));
	kdtl_u64_add(&c->throttled, throttled);
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

/* Write an entry that has room, and count it. */
static __always_inline void kdtl_sink_store(struct kdtl_sink *sink,
					    const struct kdtl_entry *e,
					    enum kdtl_kind kind)
{
	const u64 head = sink->head;

	memcpy(kdtl_sink_slot(sink, head), e, sizeof(*e));
	kdtl_sink_publish(sink, head);
	kdtl_sink_count_entry(sink->counts, e, kind);
}

/* Hand an entry to every active event of this CPU that asked for its kind. */
static __always_inline void kdtl_fan_out(struct kdtl_sink *sink,
					 const struct kdtl_entry *e,
					 enum kdtl_kind kind)
{
	while ((sink = kdtl_sink_wanting(sink, kind))) {
		if (unlikely(kdtl_sink_is_slow(sink, sink->head)))
			sink->ops->slow(sink, e, kind);
		else
			kdtl_sink_store(sink, e, kind);
		sink = sink->next;
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

static __always_inline struct kdtl_sink *kdtl_pmu_sinks(struct kdtl_pmu *p)
{
	return this_cpu_read(p->cpu->sinks);
}

int kdtl_fanout_update(struct kdtl_pmu *p);
int kdtl_fanout_link(struct kdtl_pmu *p, struct kdtl_sink *sink);
void kdtl_fanout_unlink(struct kdtl_pmu *p, struct kdtl_sink *sink, bool defer);
void kdtl_fanout_settle(struct kdtl_pmu *p);

#endif /* _KDTL_FANOUT_H */
