// SPDX-License-Identifier: GPL-2.0
/*
 * The life of a session's AUX area, and the area as a sink of entries
 */
#include <linux/error-injection.h>
#include <linux/moduleparam.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "aux.h"
#include "compat.h"
#include "counting.h"
#include "session.h"
#include "writer.h"

static unsigned long long aux_start;
module_param(aux_start, ullong, 0444);
MODULE_PARM_DESC(aux_start, "position at which new AUX areas start (for tests: close to 2^64)");

/**
 * kdtl_overflow() - the overflow handler of sessions' events
 * @event: unused
 * @data: unused
 * @regs: unused
 *
 * perf never calls it.  Its address is how kdtl_event_aux() recognizes an event
 * of a session.
 */
void kdtl_overflow(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs)
{
}

/**
 * kdtl_event_aux() - find the area that an event writes to
 * @event: any event of a source
 *
 * Context: any.
 * Return: the area; NULL if the event is not a session's.
 */
struct kdtl_aux *kdtl_event_aux(struct perf_event *event)
{
	return event->overflow_handler == kdtl_overflow ?
		event->overflow_handler_context : NULL;
}

/* Is the entry only counted?  See &struct kdtl_session_attr.min_wait. */
static bool kdtl_aux_filters(const struct kdtl_aux *aux, const struct kdtl_entry *e)
{
	const u32 queued = kdtl_entry_queued(e), ready = kdtl_entry_ready(e);

	if ((u64)queued + ready >= aux->min_wait)
		return false;
	return aux->min_wait == U64_MAX ||
	       (queued != KDTL_TIME_MAX && ready != KDTL_TIME_MAX);
}

static void kdtl_aux_slow(struct kdtl_sink *sink, const struct kdtl_entry *e)
{
	struct kdtl_aux *aux = container_of(sink, struct kdtl_aux, sink);

	if (aux->min_wait && kdtl_aux_filters(aux, e)) {
		kdtl_count_filtered(aux);
		kdtl_u64_add(&aux->filtered, 1);
		kdtl_set_check(aux);
		return;
	}
	kdtl_aux_write(aux, e);
	if (kdtl_aux_watched(aux))
		kdtl_set_check(aux);
}

/* The source has lost the entries, so their kinds are not known. */
static void kdtl_aux_sink_lost(struct kdtl_sink *sink, u64 nr)
{
	struct kdtl_aux *aux = container_of(sink, struct kdtl_aux, sink);

	if (kdtl_aux_paused(aux))
		return;
	/* Whatever number a source reports, the sums that contain it must not wrap. */
	nr = min_t(u64, nr, S64_MAX - aux->lost);
	kdtl_count_unknown(aux, nr);
	kdtl_aux_lost(aux, nr, PERF_AUX_FLAG_PARTIAL);
	kdtl_aux_lost_end(aux);
	kdtl_set_check(aux);
	/* The next entry may have to be lost too, see core/gaps.c. */
	kdtl_aux_set_stop(aux);
}

/* Prepare for an event that becomes active. */
static void kdtl_aux_link(struct kdtl_sink *sink)
{
	struct kdtl_aux *aux = container_of(sink, struct kdtl_aux, sink);

	kdtl_counts_on(aux);
	kdtl_log_apply(aux, kdtl_aux_log(aux));
	kdtl_aux_period_start(aux);
}

/* Stop timers and clocks with the event. */
static void kdtl_aux_unlink(struct kdtl_sink *sink)
{
	struct kdtl_aux *aux = container_of(sink, struct kdtl_aux, sink);

	hrtimer_try_to_cancel(&aux->period_timer);
	kdtl_counts_off(aux);
}

static const struct kdtl_sink_ops kdtl_aux_sink_ops = {
	.slow	= kdtl_aux_slow,
	.lost	= kdtl_aux_sink_lost,
	.link	= kdtl_aux_link,
	.unlink	= kdtl_aux_unlink,
};

/* Wake the reader for entries below the watermark.  The next entry starts the timer again. */
static enum hrtimer_restart kdtl_period_timer(struct hrtimer *timer)
{
	struct kdtl_aux *aux = container_of(timer, struct kdtl_aux, period_timer);

	/* On another CPU, this area must not be touched. */
	if (smp_processor_id() != aux->cpu || !aux->sink.linked)
		return HRTIMER_NORESTART;
	if (aux->sink.at->head != aux->announced)
		kdtl_aux_wake(&aux->wake);
	kdtl_aux_set_stop(aux);
	return HRTIMER_NORESTART;
}

/* Map the pages of the session's caller or, if it has none, allocated ones. */
static int kdtl_aux_map_pages(struct kdtl_aux *aux, int caps)
{
	const struct kdtl_place *place = &aux->session->layout.place;
	int err;

	if (place->pages)
		return kdtl_area_place(&aux->area,
				       &place->pages[(size_t)aux->cpu * aux->nr_pages],
				       aux->nr_pages, place->write_combine);
	aux->pages = kdtl_pages_alloc(aux->nr_pages, aux->cpu, caps, aux->watermark,
				      aux->overwrite);
	if (!aux->pages)
		return -ENOMEM;
	err = kdtl_area_map(&aux->area, aux->pages, aux->nr_pages);
	if (err)
		kdtl_pages_free(aux->pages, aux->nr_pages);
	return err;
}

/**
 * kdtl_aux_init() - prepare an area that has no pages yet
 * @aux: the area, all zeros
 * @s: the session, loaded or about to be
 * @cpu: for which CPU
 * @c: as in kdtl_sink_init()
 *
 * Context: any.
 */
void kdtl_aux_init(struct kdtl_aux *aux, struct kdtl_session *s, int cpu,
		   struct kdtl_pmu_cpu *c)
{
	aux->session = s;
	aux->cpu = cpu;
	aux->nr_pages = s->layout.nr_pages;
	aux->watermark = s->layout.watermark;
	aux->overwrite = s->layout.overwrite;
	aux->wake = IRQ_WORK_INIT_HARD(kdtl_aux_wake);
	raw_spin_lock_init(&aux->gaps.lock);
	INIT_HLIST_NODE(&aux->due);
	hrtimer_setup(&aux->period_timer, kdtl_period_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	kdtl_counts_init(aux);

	kdtl_sink_init(&aux->sink, c);
	aux->tail = aux_start;
	aux->shown = aux_start;
	aux->sink.at->head = aux_start;
	aux->sink.ops = &kdtl_aux_sink_ops;
	aux->sink.batches = !aux->overwrite;
	kdtl_aux_reset(aux);
}

/**
 * kdtl_aux_exit() - undo kdtl_aux_init()
 * @aux: the area, to which no event writes any more
 *
 * Context: may sleep.
 */
void kdtl_aux_exit(struct kdtl_aux *aux)
{
	kdtl_counts_exit(aux);
	hrtimer_cancel(&aux->period_timer);
	irq_work_sync(&aux->wake);
	kdtl_sink_exit(&aux->sink);
}

/**
 * kdtl_aux_alloc() - allocate an AUX area and map it
 * @s: the session, loaded or about to be
 * @cpu: for which CPU
 *
 * Context: may sleep.
 * Return: the area; ERR_PTR(-ENOMEM); or the error of kdtl_area_map().
 */
struct kdtl_aux *kdtl_aux_alloc(struct kdtl_session *s, int cpu)
{
	struct kdtl_aux *aux;
	int err;

	aux = kzalloc_node(sizeof(*aux), GFP_KERNEL, cpu_to_node(cpu));
	if (!aux)
		return ERR_PTR(-ENOMEM);
	kdtl_aux_init(aux, s, cpu, per_cpu_ptr(s->pmu->cpu, cpu));
	/* A session that only counts has no pages. */
	if (!aux->nr_pages)
		return aux;
	err = kdtl_aux_map_pages(aux, s->pmu->pmu.capabilities);
	if (err) {
		kdtl_aux_exit(aux);
		kfree(aux);
		return ERR_PTR(err);
	}
	aux->sink.at->base = aux->area.base;
	aux->sink.at->pos_mask = aux->area.size - 1;
	return aux;
}

/**
 * kdtl_aux_setup() - let the driver prepare itself for the area
 * @aux: the area, which has pages
 * @event: the event that will write to it
 *
 * To be called once in an area's life; kdtl_aux_free() calls free_aux().
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM, the only error that setup_aux() can report.
 */
int kdtl_aux_setup(struct kdtl_aux *aux, struct perf_event *event)
{
	aux->priv = event->pmu->setup_aux(event, aux->pages, aux->nr_pages, aux->overwrite);
	return aux->priv ? 0 : -ENOMEM;
}
ALLOW_ERROR_INJECTION(kdtl_aux_setup, ERRNO);

/**
 * kdtl_aux_free() - free an area
 * @aux: the area, to which no event writes any more
 *
 * Context: may sleep.
 */
void kdtl_aux_free(struct kdtl_aux *aux)
{
	kdtl_aux_exit(aux);
	/* kdtl's own setup_aux() returns the area itself. */
	if (aux->priv && aux->priv != &aux->area)
		aux->session->pmu->pmu.free_aux(aux->priv);
	if (aux->nr_pages) {
		kdtl_area_unmap(&aux->area);
		if (aux->pages)
			kdtl_pages_free(aux->pages, aux->nr_pages);
	}
	kfree(aux);
}

/**
 * kdtl_aux_reset() - drop unread data and counts
 * @aux: the area; no event writes to it
 *
 * Context: any.
 */
void kdtl_aux_reset(struct kdtl_aux *aux)
{
	const u64 head = aux->sink.at->head;

	aux->flags = 0;
	kdtl_u64_set(&aux->lost, 0);
	kdtl_u64_set(&aux->filtered, 0);
	aux->lost_reported = 0;
	aux->lost_run = 0;
	aux->announced = head;
	kdtl_gaps_reset(&aux->gaps);
	kdtl_u64_set(&aux->start, head);
	kdtl_u64_set(&aux->shown, head);
	kdtl_u64_release(&aux->tail, head); /* [aux.D] */
	aux->room_to = head;
	aux->next_wake = head + aux->watermark;
	kdtl_sets_load(aux);
	kdtl_log_apply(aux, kdtl_aux_log(aux));
}
