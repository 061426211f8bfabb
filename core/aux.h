/* SPDX-License-Identifier: GPL-2.0 */
/* An AUX area of a session. */
#ifndef _KDTL_AUX_H
#define _KDTL_AUX_H

#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kdtl_verbs.h>

#include "area.h"
#include "fanout.h"
#include "gaps.h"
#include "log.h"
#ifdef CONFIG_KDTL_COUNTERS
#include <linux/prandom.h>
#include <linux/seqlock.h>

#include "counters/set.h"
#endif

struct kdtl_session;

/**
 * struct kdtl_aux - a session's AUX area on one CPU
 * @sink: the sink of the CPU's event; the head in its ring is published to the reader
 * @counts: counts of the active set
 * @set: the active event set
 * @room_to: end of the room when the writer last looked at @tail; there may be more now
 * @next_wake: position at which the reader is woken next; waiters look at it, too
 * @announced: position up to which KDTL_MSG_AUX has been posted
 * @flags: PERF_AUX_FLAG_* for the next KDTL_MSG_AUX
 * @lost: entries lost since kdtl_load(), in all sets
 * @lost_reported: how many of @lost a KDTL_MSG_LOST has reported
 * @lost_run: entries lost since the last one that found room
 * @gap: position of the losses that are not reported yet
 * @open: between kdtl_aux_output_begin() and _end()
 * @min_wait: kdtl_log::min_wait in ticks; U64_MAX: entries are only counted
 * @filtered: entries that were only counted since kdtl_load(), in all sets
 * @error: why the driver refused the event; 0: it is logged, or was not started
 * @seq: lets other CPUs read @clock to @paused, and the sets' bases, clocks and counts: to
 *	these counts kdtl_clocks_begin() adds the source's, and kdtl_clocks_end() subtracts them
 * @clock: local_clock() when the clocks were updated last
 * @enabled: ns that the event was active since kdtl_load()
 * @ticking: the event is active, so the clocks go on from @clock
 * @paused: nothing is logged until kdtl_restart()
 * @switch_due: kdtl_restart() has to switch to the next set
 * @reset_due: counters for which kdtl_restart() has to load the long reset
 * @random: state of the random lengthening of resets
 * @set_timer: the active set's timeout
 * @set_until: expiry of @set_timer in ns of CLOCK_MONOTONIC; 0 if it is not running
 * @period_timer: bounds the time until the reader is woken for new entries; runs
 *	from the first of them on
 * @wake: wakes the reader, because the source's context must not
 * @tail: position of the reader
 * @start: @tail at kdtl_load()
 * @shown: end of the span that the reader got last; it cannot consume beyond that
 * @reader: pid of the task that has consumed last; 0: none has
 * @gaps: where entries are missing among the unread ones; not in overwrite mode
 * @due: in the list kdtl_session::due, under the lock of that list
 * @area: the mapping of the pages
 * @pages: addresses of the pages, as the driver's setup_aux() got them; NULL: the session's
 *	caller has them, see struct kdtl_place
 * @nr_pages: number of pages; 0: the session only counts
 * @watermark: unread bytes at which the reader is woken
 * @overwrite: unread entries may be overwritten
 * @cpu: the CPU that writes
 * @priv: what the driver's setup_aux() returned, for its free_aux()
 * @session: the session of the area
 * @event: the CPU's perf event while it is loaded and online
 * @moves: how often the CPU went offline, or came online, while the session was loaded on it
 * @went: when it last did the one, on the source's time base; 0: it has not
 * @came: when it last did the other
 *
 * The CPU owns the fields up to @wake (interrupts off), and the reader owns @tail to
 * @reader.  Locks protect @gaps and @due.  @moves to @came are CPU hotplug's.  The other
 * fields do not change while there is a writer.
 */
struct kdtl_aux {
	struct kdtl_sink	sink ____cacheline_aligned_in_smp;
#ifdef CONFIG_KDTL_COUNTERS
	struct kdtl_counts	*counts;
	struct kdtl_set		*set;
#endif
	u64			room_to;
	u64			next_wake;
	u64			announced;
	u64			flags;
	aligned_u64		lost;
	u64			lost_reported;
	u64			lost_run;
	u64			gap;
	bool			open;

	u64			min_wait;
	aligned_u64		filtered;
	int			error;

#ifdef CONFIG_KDTL_COUNTERS
	seqcount_t		seq;
	u64			clock;
	u64			enabled;
	bool			ticking;
	bool			paused;
	bool			switch_due;
	u32			reset_due;
	struct rnd_state	random;
	struct hrtimer		set_timer;
	aligned_u64		set_until;
#endif

	struct hrtimer		period_timer;
	struct irq_work		wake;

	aligned_u64		tail ____cacheline_aligned_in_smp;
	aligned_u64		start;
	aligned_u64		shown;
	pid_t			reader;
	struct kdtl_gaps	gaps;
	struct hlist_node	due;

	struct kdtl_area	area;
	void			**pages;
	unsigned int		nr_pages;
	u64			watermark;
	bool			overwrite;
	int			cpu;
	void			*priv;
	struct kdtl_session	*session;
	struct perf_event	*event;

	aligned_u64		moves;
	aligned_u64		went;
	aligned_u64		came;
};

/* The properties that the areas of all CPUs of a session share. */
struct kdtl_aux_layout {
	unsigned int	nr_pages;	/* 0: entries are only counted */
	u64		watermark;
	bool		overwrite;
	struct kdtl_place place;	/* none if its pages are NULL */
};

void kdtl_aux_init(struct kdtl_aux *aux, struct kdtl_session *s, int cpu,
		   struct kdtl_pmu_cpu *c);
void kdtl_aux_exit(struct kdtl_aux *aux);
struct kdtl_aux *kdtl_aux_alloc(struct kdtl_session *s, int cpu);
void kdtl_aux_free(struct kdtl_aux *aux);
int kdtl_aux_setup(struct kdtl_aux *aux, struct perf_event *event);
void kdtl_aux_reset(struct kdtl_aux *aux);

/* The memory that an area of @nr_pages takes, for the limit of a session. */
static inline u64 kdtl_aux_mem(u64 nr_pages)
{
	return (nr_pages << PAGE_SHIFT) + sizeof(struct kdtl_aux);
}

struct kdtl_aux *kdtl_event_aux(struct perf_event *event);
void kdtl_overflow(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs);

#endif /* _KDTL_AUX_H */
