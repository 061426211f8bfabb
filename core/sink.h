/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a source's entries go: one sink for each active event of a CPU.
 *
 * This is the path of an entry.  Everything here runs on the sink's own CPU
 * with interrupts off, maybe under the runqueue lock: no lock, no allocation,
 * no wake-up, no call through a pointer unless the entry needs special care.
 */
#ifndef _KDTL_SINK_H
#define _KDTL_SINK_H

#include <linux/kdtl.h>
#include <linux/percpu.h>

#include "u64.h"

/**
 * struct kdtl_counts - what a sink saw, by kind and phase of waiting
 * @entries: by &enum kdtl_kind, the lost ones too
 * @queued: sum of enqueue_to_dispatch_time
 * @ready: sum of ready_to_enqueue_time
 * @slept: sum of waiting_to_ready_time
 * @lost: of @entries, and those that the source itself lost
 * @partial: bytes beside those of @entries, of a driver that writes by itself
 */
struct kdtl_counts {
	aligned_u64	entries[KDTL_NR_KINDS];
	aligned_u64	queued;
	aligned_u64	ready;
	aligned_u64	slept;
	aligned_u64	lost;
	aligned_u64	partial;
};

struct kdtl_sink;

/**
 * struct kdtl_sink_ops - what tells a session's sink from a perf user's
 * @slow: write the entry, or count it lost; keeps the counts too
 * @lost: the source itself lost @nr entries
 * @link: the sink is about to join the fan-out
 * @unlink: it has left, or could not join
 *
 * All on the sink's CPU, interrupts off.
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
 * @next: the CPU's next one; changed with interrupts off on that CPU
 * @counts: where entries are counted
 * @base: of a mapping that lets an entry straddle the end
 * @pos_mask: position to offset
 * @head: position of the next entry, published to the reader
 * @stop_at: positions from here on take the slow path: the room is at its end, the
 *	reader is to be woken, or a counter is watched
 * @wants: by &enum kdtl_kind, from its mask: see kdtl_sink_set_mask()
 * @linked: in the fan-out
 * @period: see struct kdtl_session_attr
 * @ops: what is not on the path of every entry
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
 * @sinks: all active events
 * @leaving: of these, the one that is about to go: what it wants counts no more
 * @stale: the source still delivers what events wanted that have gone
 */
struct kdtl_pmu_cpu {
	struct kdtl_sink	*sinks;
	struct kdtl_sink	*leaving;
	bool			stale;
};

/* Whole entries in so many bytes. */
static inline u64 kdtl_entries(u64 bytes)
{
	return div_u64(bytes, KDTL_ENTRY_SIZE);
}

/* KDTL_MASK_*.  Whoever wants anything wants what is of no known kind. */
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

/* The first of them that wants this kind, if any. */
static __always_inline struct kdtl_sink *kdtl_sink_wanting(struct kdtl_sink *sink,
							   unsigned long kind)
{
	while (sink && unlikely(!sink->wants[kind]))
		sink = sink->next;
	return sink;
}

/* Other CPUs may read them at any time: exact when nothing is logged. */
static __always_inline void kdtl_sink_count(struct kdtl_counts *c,
					    unsigned long kind, u64 queued,
					    u64 ready, u64 slept)
{
	kdtl_u64_add(&c->entries[kind], 1);
	kdtl_u64_add(&c->queued, queued);
	kdtl_u64_add(&c->ready, ready);
	kdtl_u64_add(&c->slept, slept);
}

/* Is there more to do for the next entry than to store it? */
static __always_inline bool kdtl_sink_is_slow(const struct kdtl_sink *sink, u64 head)
{
	return (s64)(head + KDTL_ENTRY_SIZE - sink->stop_at) >= 0;
}

/* Where the entry at @head goes. */
static __always_inline void *kdtl_sink_slot(const struct kdtl_sink *sink, u64 head)
{
	/*
	 * [aux.O] The last head is seen before this entry's bytes take the place of
	 * older ones.  Pairs with the read barrier in kdtl_aux_snapshot() (S).
	 */
	smp_wmb();
	return sink->base + (head & sink->pos_mask);
}

static __always_inline void kdtl_sink_publish(struct kdtl_sink *sink, u64 head)
{
	/*
	 * [aux.B] Publishes the entry at @head.  Pairs with C, the acquire of head in
	 * kdtl_aux_peek() and kdtl_aux_snapshot().
	 */
	kdtl_u64_release(&sink->head, head + KDTL_ENTRY_SIZE);
}

/* Both of the above, and count. */
static __always_inline void kdtl_sink_store(struct kdtl_sink *sink,
					    const struct kdtl_entry *e,
					    enum kdtl_kind kind)
{
	const u64 head = sink->head;

	memcpy(kdtl_sink_slot(sink, head), e, sizeof(*e));
	kdtl_sink_publish(sink, head);
	kdtl_sink_count(sink->counts, kind, kdtl_entry_queued(e),
			kdtl_entry_ready(e), kdtl_entry_slept(e));
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

static __always_inline struct kdtl_sink *kdtl_pmu_sinks(struct kdtl_pmu *p)
{
	return this_cpu_read(p->cpu->sinks);
}

#endif /* _KDTL_SINK_H */
