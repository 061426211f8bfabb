/* SPDX-License-Identifier: GPL-2.0 */
/* One AUX area of a session: its writer's side and its life. */
#ifndef _KDTL_AUX_H
#define _KDTL_AUX_H

#include <linux/cache.h>
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/prandom.h>
#include <linux/seqlock.h>

#include "area.h"
#include "set.h"
#include "sink.h"

struct kdtl_session;

/**
 * struct kdtl_aux - a session's AUX area on one CPU
 * @sink: where entries are written; @sink.head is published to the reader
 * @next_wake: position at which the reader is woken next
 * @announced: position up to which KDTL_MSG_AUX has been posted
 * @flags: PERF_AUX_FLAG_* for the next one
 * @lost: entries lost since kdtl_load(), in all sets
 * @lost_reported: of these, told by KDTL_MSG_LOST
 * @lost_run: entries lost since the last one that found room
 * @gap: position of the gap that is not told
 * @open: between kdtl_aux_output_begin() and _end()
 * @set: the active event set
 * @seq: guards @clock to @paused, the sets' bases and clocks for other CPUs
 * @clock: when the clocks were looked at last, local_clock()
 * @enabled: ns that the event was active since kdtl_load()
 * @ticking: the event is active: the clocks go on from @clock
 * @paused: nothing is logged until kdtl_restart()
 * @switch_due: a set switch waits for it
 * @reset_due: and these counters' long resets
 * @random: state of the resets' randomness
 * @error: why the source could not be switched on, for kdtl_start() and
 *	kdtl_restart()
 * @set_timer: the active set's timeout
 * @set_until: when that is, in ns of CLOCK_MONOTONIC; 0: it does not run
 * @period_timer: bounds the time that entries lie unseen
 * @wake: wakes the reader, out of the source's context
 * @tail: where the reader is
 * @start: @tail at kdtl_load()
 * @area: the pages' mapping
 * @pages: the pages, as the driver's setup_aux() saw them
 * @nr_pages: how many
 * @watermark: in bytes
 * @overwrite: nobody waits for the reader
 * @cpu: whose
 * @priv: the driver's, from setup_aux()
 * @free_aux: gives @priv back
 * @session: whose
 * @event: the CPU's perf event while it is loaded and online
 *
 * The first part belongs to the CPU (interrupts off), @tail and @start to the
 * reader, the rest does not change while there is a writer.
 */
struct kdtl_aux {
	struct kdtl_sink	sink ____cacheline_aligned_in_smp;
	u64			next_wake;
	u64			announced;
	u64			flags;
	aligned_u64		lost;
	u64			lost_reported;
	u64			lost_run;
	u64			gap;
	bool			open;

	struct kdtl_set		*set;
	seqcount_t		seq;
	u64			clock;
	u64			enabled;
	bool			ticking;
	bool			paused;
	bool			switch_due;
	u32			reset_due;
	struct rnd_state	random;

	int			error;
	struct hrtimer		set_timer;
	aligned_u64		set_until;
	struct hrtimer		period_timer;
	struct irq_work		wake;

	aligned_u64		tail ____cacheline_aligned_in_smp;
	aligned_u64		start;

	struct kdtl_area	area;
	void			**pages;
	unsigned int		nr_pages;
	u64			watermark;
	bool			overwrite;
	int			cpu;
	void			*priv;
	void			(*free_aux)(void *priv);
	struct kdtl_session	*session;
	struct perf_event	*event;
};

/* How an area is to be; the same for every CPU of a session. */
struct kdtl_aux_layout {
	unsigned int	nr_pages;
	u64		watermark;
	bool		overwrite;
};

struct kdtl_aux *kdtl_aux_alloc(struct kdtl_session *s, int cpu);
void kdtl_aux_free(struct kdtl_aux *aux);
int kdtl_aux_setup(struct kdtl_aux *aux, struct perf_event *event);
void kdtl_aux_reset(struct kdtl_aux *aux);
u64 kdtl_aux_room(struct kdtl_aux *aux);
void kdtl_aux_advance(struct kdtl_aux *aux, u64 size);
void kdtl_aux_set_stop(struct kdtl_aux *aux);
void kdtl_aux_post(struct kdtl_aux *aux, struct kdtl_msg *msg);
void kdtl_aux_settle(struct kdtl_aux *aux);

/* The memory that an area of @nr_pages takes, for the cap. */
static inline u64 kdtl_aux_mem(u64 nr_pages)
{
	return (nr_pages << PAGE_SHIFT) + sizeof(struct kdtl_aux);
}

/* The area of a session's event; NULL for any other event. */
struct kdtl_aux *kdtl_event_aux(struct perf_event *event);
void kdtl_overflow(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs);

#endif /* _KDTL_AUX_H */
