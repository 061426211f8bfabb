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
 * struct kdtl_ring - where a sink writes its entries: all that a usual entry needs of a sink
 * @base: start of a mapping in which an entry may straddle the area's end
 * @pos_mask: turns a position into an offset
 * @head: position of the next entry, published to the reader
 * @stop_at: an entry that would end at this position or beyond takes the slow
 *	path: there is no room, the reader is to be woken, or a counter is watched
 */
struct kdtl_ring {
	void			*base;
	u64			pos_mask;
	aligned_u64		head;
	u64			stop_at;
};

/**
 * struct kdtl_sink - one event's place in its CPU's fan-out
 * @at: its ring, as long as the sink lives: in kdtl_pmu_cpu::near, or @own
 * @own: the ring of a sink that found no place there
 * @near: the CPU's state if the sink has a place in kdtl_pmu_cpu::near; otherwise NULL
 * @next: the CPU's next sink, in the list kdtl_pmu_cpu::far
 * @kinds: kinds that the sink wants, 1 << &enum kdtl_kind, see kdtl_sink_set_mask()
 * @linked: the sink is in the fan-out
 * @batches: several entries may be written before the head moves; not in overwrite mode,
 *	where a reader expects just one unfinished entry at the head
 * @period: see struct kdtl_config
 * @ops: the slow path
 */
struct kdtl_sink {
	struct kdtl_ring	*at;
	struct kdtl_ring	own;
	struct kdtl_pmu_cpu	*near;
	struct kdtl_sink	*next;
	u32			kinds;
	bool			linked;
	bool			batches;
	u64			period;
	const struct kdtl_sink_ops *ops;
};

#define KDTL_NEAR_SINKS	16

/**
 * struct kdtl_pmu_cpu - a source's state on one CPU
 * @mask: KDTL_MASK_*, what the linked sinks want between them; maybe more while @stale
 * @wanted: by &enum kdtl_kind, a bit for each place of @near whose sink is linked and wants
 *	the kind
 * @far: list of the linked sinks that have no place in @near; empty on most CPUs
 * @leaving: the sink that is about to go: the source need no longer deliver what only
 *	this sink wants
 * @taken: a bit for each place of @near that has a sink, linked or not
 * @linked: a bit for each place of @near whose sink is linked
 * @stale: the source still delivers for sinks that have gone, see
 *	kdtl_fanout_settle()
 * @sinks: by place of @near, the sink there once it was linked
 * @unused: makes the ring at the first place share a cache line with the tally of
 *	KDTL_KIND_CEDE: in kdtl_sched this struct begins 40 bytes after a line
 * @tally: all entries so far, whoever wanted them; the last one is of kind 0, see
 *	kdtl_pmu_tally()
 * @near: rings, here rather than in each sink so that a CPU can compute their addresses:
 *	it can fetch them all at once, before it knows where the sinks are
 *
 * Entries are counted here once, rather than in each sink.  A sink's own counts are the
 * growth of @tally while the sink was linked, of the kinds that the sink wanted.
 *
 * All but @taken belongs to the CPU, interrupts off.  A ring belongs to its sink.
 */
struct kdtl_pmu_cpu {
	u32			mask;
	u16			wanted[KDTL_NR_KINDS];
	struct kdtl_sink	*far;
	struct kdtl_sink	*leaving;
	unsigned long		taken;
	u16			linked;
	bool			stale;
	struct kdtl_sink	*sinks[KDTL_NEAR_SINKS];
	u64			unused;
	struct kdtl_tally	tally[KDTL_NR_KINDS];
	struct kdtl_ring	near[KDTL_NEAR_SINKS];
};

static_assert(KDTL_NEAR_SINKS <= 16);

static __always_inline struct kdtl_tally *kdtl_pmu_tally(struct kdtl_pmu_cpu *c,
							 unsigned long kind)
{
	return &c->tally[KDTL_NR_KINDS - 1 - kind];
}

/* The place in kdtl_pmu_cpu::near of a sink that has one. */
static inline unsigned int kdtl_sink_place(const struct kdtl_sink *sink)
{
	return sink->at - sink->near->near;
}

/* The first linked sink whose place is @place or beyond; NULL if there is none. */
static inline struct kdtl_sink *kdtl_sinks_from(struct kdtl_pmu_cpu *c, unsigned int place)
{
	const unsigned long rest = c->linked >> place;

	return rest ? c->sinks[place + __ffs(rest)] : c->far;
}

static inline struct kdtl_sink *kdtl_sinks_after(struct kdtl_pmu_cpu *c,
						 const struct kdtl_sink *sink)
{
	return sink->near ? kdtl_sinks_from(c, kdtl_sink_place(sink) + 1) : sink->next;
}

#define kdtl_for_each_sink(sink, c)				\
	for (sink = kdtl_sinks_from(c, 0); sink; sink = kdtl_sinks_after(c, sink))

/* The number of whole entries in @bytes. */
static inline u64 kdtl_entries(u64 bytes)
{
	return div_u64(bytes, KDTL_ENTRY_SIZE);
}

static inline bool kdtl_sink_wants(const struct kdtl_sink *sink, unsigned int kind)
{
	return sink->kinds >> kind & 1;
}

/*
 * Count an entry before it is handed out, when a sink may look at its counters.  Other
 * CPUs may read the counts at any time; they are exact while nothing is logged.
 */
static __always_inline void kdtl_pmu_count(struct kdtl_pmu_cpu *c, unsigned long kind,
					   u64 queued, u64 ready, u64 slept)
{
	struct kdtl_tally *t = kdtl_pmu_tally(c, kind);

	kdtl_u64_add(&t->sum[KDTL_SUM_ENTRIES], 1);
	kdtl_u64_add(&t->sum[KDTL_SUM_QUEUED], queued);
	kdtl_u64_add(&t->sum[KDTL_SUM_READY], ready);
	kdtl_u64_add(&t->sum[KDTL_SUM_SLEPT], slept);
}

/* Does the entry at @head need more than to be stored? */
static __always_inline bool kdtl_ring_is_slow(const struct kdtl_ring *at, u64 head)
{
	return (s64)(head + KDTL_ENTRY_SIZE - at->stop_at) >= 0;
}

/* The memory for the entry at @head. */
static __always_inline void *kdtl_ring_slot(const struct kdtl_ring *at, u64 head)
{
	/*
	 * [aux.O] Orders the store of the last head before this entry's bytes, which
	 * replace older ones.  Pairs with S in kdtl_snapshot_try().
	 */
	smp_wmb();
	return at->base + (head & at->pos_mask);
}

static __always_inline void kdtl_ring_publish(struct kdtl_ring *at, u64 head)
{
	/*
	 * [aux.B] Publishes the entry at @head.  Pairs with C, the load-acquire of head
	 * in kdtl_area_peek() and in kdtl_snapshot_try().
	 */
	kdtl_u64_release(&at->head, head + KDTL_ENTRY_SIZE);
}

/*
 * Store the time of the entry at @to, all of whose other bytes are stored.  It comes last, so
 * that whoever has the area's memory but not its head can tell that the newest entry is whole.
 */
static __always_inline void kdtl_ring_time(void *to, __be64 timebase)
{
	struct kdtl_entry *e = to;

	/*
	 * [aux.N] Orders the entry's other bytes before its time.  The partner is a reset of the
	 * machine, after which the next boot reads the memory: last_scan() of kdtl_recorder.
	 */
	smp_wmb();
	WRITE_ONCE(e->timebase, timebase);
}

/* Write an entry that has room. */
static __always_inline void kdtl_ring_store(struct kdtl_ring *at, const struct kdtl_entry *e)
{
	const u64 head = at->head;
	struct kdtl_entry *to = kdtl_ring_slot(at, head);

	memcpy(to, e, offsetof(struct kdtl_entry, timebase));
	to->fault_addr = e->fault_addr;
	to->srr0 = e->srr0;
	to->srr1 = e->srr1;
	kdtl_ring_time(to, e->timebase);
	kdtl_ring_publish(at, head);
}

/*
 * Hand an entry that has been counted to those sinks that want its kind: the ones at
 * @place and beyond, and those that have no place.
 */
static __always_inline void kdtl_hand_out(struct kdtl_pmu_cpu *c, unsigned int place,
					  const struct kdtl_entry *e, enum kdtl_kind kind)
{
	unsigned int wanted = c->wanted[kind] >> place;
	struct kdtl_ring *at = &c->near[place];
	struct kdtl_sink *sink;

	for (; wanted; wanted >>= 1, at++) {
		if (!(wanted & 1))
			continue;
		if (unlikely(kdtl_ring_is_slow(at, at->head))) {
			sink = c->sinks[at - c->near];
			sink->ops->slow(sink, e);
		} else {
			kdtl_ring_store(at, e);
		}
	}
	for (sink = c->far; unlikely(sink); sink = sink->next) {
		if (!kdtl_sink_wants(sink, kind))
			continue;
		if (kdtl_ring_is_slow(sink->at, sink->at->head))
			sink->ops->slow(sink, e);
		else
			kdtl_ring_store(sink->at, e);
	}
}

/* Count an entry, and hand it to every active event of this CPU that asked for its kind. */
static __always_inline void kdtl_fan_out(struct kdtl_pmu_cpu *c,
					 const struct kdtl_entry *e,
					 enum kdtl_kind kind)
{
	kdtl_pmu_count(c, kind, kdtl_entry_queued(e), kdtl_entry_ready(e),
		       kdtl_entry_slept(e));
	kdtl_hand_out(c, 0, e, kind);
}

/* Can all sinks just store @nr entries of any kind in @mask, and do nothing else? */
static inline bool kdtl_sinks_take(struct kdtl_pmu_cpu *c, u32 mask, unsigned int nr)
{
	const u64 last = (nr - 1) * KDTL_ENTRY_SIZE;
	struct kdtl_sink *sink;

	kdtl_for_each_sink(sink, c) {
		if (!sink->batches || kdtl_ring_is_slow(sink->at, sink->at->head + last) ||
		    mask & ~sink->kinds)
			return false;
	}
	return true;
}

/*
 * Write entries that have been counted, and that all sinks take.  None of these sinks is in
 * overwrite mode, so nobody reads their areas without the head: no kdtl_ring_time() is needed.
 */
static inline void kdtl_sinks_store(struct kdtl_pmu_cpu *c, const struct kdtl_entry *e,
				    unsigned int nr)
{
	const u64 last = (nr - 1) * KDTL_ENTRY_SIZE;
	struct kdtl_sink *sink;
	u64 head;

	kdtl_for_each_sink(sink, c) {
		head = sink->at->head;
		memcpy(kdtl_ring_slot(sink->at, head), e, last + KDTL_ENTRY_SIZE);
		kdtl_ring_publish(sink->at, head + last);
	}
}

/* All bits that a mask may have. */
#define KDTL_MASK_KNOWN		(KDTL_MASK_ALL | KDTL_MASK_IDLE | KDTL_MASK_WAKE)

/* The kinds that a source distinguishes. */
static inline u32 kdtl_pmu_mask(const struct kdtl_pmu *p)
{
	return p->mask ?: KDTL_MASK_CEDE | KDTL_MASK_PREEMPT | KDTL_MASK_FAULT;
}

/*
 * Does the source have anything that @mask asks for?  A source that lacks a kind of dispatch
 * gives such entries another kind.
 */
static inline bool kdtl_pmu_has(const struct kdtl_pmu *p, u32 mask)
{
	return mask & kdtl_pmu_mask(p);
}

/* Does the source tell of wake-ups, not of dispatches?  Its entries then have no waits. */
static inline bool kdtl_pmu_tells_wakes(const struct kdtl_pmu *p)
{
	return kdtl_pmu_mask(p) & KDTL_MASK_WAKE;
}

/* Does the source tell when a CPU becomes idle?  No other kind could stand for that. */
static inline bool kdtl_pmu_tells_idle(const struct kdtl_pmu *p)
{
	return kdtl_pmu_mask(p) & KDTL_MASK_IDLE;
}

void kdtl_sink_init(struct kdtl_sink *sink, struct kdtl_pmu_cpu *c);
void kdtl_sink_exit(struct kdtl_sink *sink);
void kdtl_sink_set_mask(struct kdtl_sink *sink, u32 mask);

int kdtl_fanout_update(struct kdtl_pmu *p);
int kdtl_fanout_link(struct kdtl_pmu *p, struct kdtl_sink *sink);
void kdtl_fanout_unlink(struct kdtl_pmu *p, struct kdtl_sink *sink, bool defer);
void kdtl_fanout_settle(struct kdtl_pmu *p);

#endif /* _KDTL_FANOUT_H */
