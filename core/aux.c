// SPDX-License-Identifier: GPL-2.0
/*
 * One AUX area of a session: its writer's side and its life
 *
 * One writer (the CPU, interrupts off), one reader.  Positions are u64 and run
 * freely, also across 2^64; they are compared by their distance.
 *
 *	writer					reader (api/aux.c)
 *	A: load-acquire tail			C: load-acquire head
 *	   store data				   read data
 *	B: store-release head			D: store-release tail
 *
 * B pairs with C: who sees the new head sees the data before it.
 * D pairs with A: bytes are written again only after they have been read.
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#include "aux.h"
#include "compat.h"

static unsigned long long aux_start;
module_param(aux_start, ullong, 0444);
MODULE_PARM_DESC(aux_start, "where the positions of new AUX areas start (for tests: close to 2^64)");

/* Never called: the address tells a session's events from all others. */
void kdtl_overflow(struct perf_event *event, struct perf_sample_data *data,
		   struct pt_regs *regs)
{
}

struct kdtl_aux *kdtl_event_aux(struct perf_event *event)
{
	return event->overflow_handler == kdtl_overflow ?
		event->overflow_handler_context : NULL;
}

/**
 * kdtl_aux_room() - how many bytes may be written
 * @aux: the area
 *
 * Context: on the area's CPU, interrupts off.
 * Return: what the reader has given back; the whole area in overwrite mode.
 */
u64 kdtl_aux_room(struct kdtl_aux *aux)
{
	u64 tail;

	if (aux->overwrite)
		return aux->area.size;

	/* A, pairs with D in kdtl_aux_consume(): the bytes before tail are read. */
	tail = smp_load_acquire(&aux->tail);
	return aux->area.size - (aux->sink.head - tail);
}

/* After head, tail or next_wake moved: how far the fast path may go now. */
static void kdtl_aux_set_stop(struct kdtl_aux *aux)
{
	const u64 head = aux->sink.head;
	u64 span = kdtl_aux_room(aux) + 1;

	if (!aux->overwrite)
		span = min(span, aux->next_wake - head);
	aux->sink.stop_at = head + span;
}

/* Crossing the watermark wakes the reader once; the next is a multiple on. */
static void kdtl_aux_check_wake(struct kdtl_aux *aux)
{
	u64 past = aux->sink.head - aux->next_wake;

	if (aux->overwrite || (s64)past < 0)
		return;
	aux->next_wake += past - do_div(past, aux->watermark) + aux->watermark;
	irq_work_queue(&aux->wake);
}

/**
 * kdtl_aux_advance() - publish bytes that are written, or skipped
 * @aux: the area
 * @size: how many, at most kdtl_aux_room()
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_advance(struct kdtl_aux *aux, u64 size)
{
	/* B, pairs with C in kdtl_aux_peek(): publishes the data. */
	smp_store_release(&aux->sink.head, aux->sink.head + size);
	if (size)
		aux->lost_run = 0;
	kdtl_aux_check_wake(aux);
	kdtl_aux_set_stop(aux);
}

/**
 * kdtl_aux_lost() - account for entries that did not get into the area
 * @aux: the area
 * @nr: how many
 *
 * The first of a run wakes the reader: there is no room, or there was a gap.
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_lost(struct kdtl_aux *aux, u64 nr)
{
	WRITE_ONCE(aux->counts.lost, aux->counts.lost + nr);
	if (!aux->lost_run)
		irq_work_queue(&aux->wake);
	aux->lost_run += nr;
}

static void kdtl_aux_slow(struct kdtl_sink *sink, const struct kdtl_entry *e,
			  enum kdtl_kind kind)
{
	struct kdtl_aux *aux = container_of(sink, struct kdtl_aux, sink);

	kdtl_sink_count(sink->counts, e, kind);
	if (WARN_ON_ONCE(aux->open) || kdtl_aux_room(aux) < sizeof(*e)) {
		kdtl_aux_lost(aux, 1);
		return;
	}
	kdtl_sink_store(sink, e);
	aux->lost_run = 0;
	kdtl_aux_check_wake(aux);
	kdtl_aux_set_stop(aux);
}

static void kdtl_aux_sink_lost(struct kdtl_sink *sink, u64 nr)
{
	kdtl_aux_lost(container_of(sink, struct kdtl_aux, sink), nr);
}

static const struct kdtl_sink_ops kdtl_aux_sink_ops = {
	.slow	= kdtl_aux_slow,
	.lost	= kdtl_aux_sink_lost,
};

static void kdtl_aux_wake(struct irq_work *work)
{
	struct kdtl_aux *aux = container_of(work, struct kdtl_aux, wake);

	aux->wake_fn(aux);
}

/**
 * kdtl_aux_alloc() - allocate an AUX area and map it
 * @cpu: for which CPU
 * @caps: the PMU's capabilities
 * @layout: how it is to be
 *
 * Context: may sleep.
 * Return: the area, or NULL if there is no memory.
 */
struct kdtl_aux *kdtl_aux_alloc(int cpu, int caps,
				const struct kdtl_aux_layout *layout)
{
	struct kdtl_aux *aux;

	aux = kzalloc_node(sizeof(*aux), GFP_KERNEL, cpu_to_node(cpu));
	if (!aux)
		return NULL;

	aux->cpu = cpu;
	aux->nr_pages = layout->nr_pages;
	aux->watermark = layout->watermark;
	aux->overwrite = layout->overwrite;
	aux->wake_fn = layout->wake_fn;
	aux->wake = IRQ_WORK_INIT_HARD(kdtl_aux_wake);

	aux->pages = kdtl_pages_alloc(aux->nr_pages, cpu, caps, aux->watermark,
				      aux->overwrite);
	if (!aux->pages)
		goto free_aux;
	if (kdtl_area_map(&aux->area, aux->pages, aux->nr_pages))
		goto free_pages;

	aux->area.borrowed = true;
	aux->tail = aux_start;
	aux->sink.head = aux_start;
	aux->sink.base = aux->area.base;
	aux->sink.pos_mask = aux->area.size - 1;
	aux->sink.counts = &aux->counts;
	aux->sink.ops = &kdtl_aux_sink_ops;
	aux->sink.period = layout->period;
	kdtl_aux_reset(aux);
	return aux;

free_pages:
	kdtl_pages_free(aux->pages, aux->nr_pages);
free_aux:
	kfree(aux);
	return NULL;
}

/**
 * kdtl_aux_setup() - let the driver prepare itself for the area
 * @aux: the area
 * @event: the event that will write to it
 *
 * Called once in an area's life; kdtl_aux_free() calls free_aux().
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM, which is all that perf lets a driver say.
 */
int kdtl_aux_setup(struct kdtl_aux *aux, struct perf_event *event)
{
	struct pmu *pmu = event->pmu;

	aux->priv = pmu->setup_aux(event, aux->pages, aux->nr_pages,
				   aux->overwrite);
	if (!aux->priv)
		return -ENOMEM;
	aux->free_aux = pmu->free_aux;
	return 0;
}

/**
 * kdtl_aux_free() - free an area
 * @aux: no event writes to it any more; NULL is fine
 *
 * Context: may sleep.
 */
void kdtl_aux_free(struct kdtl_aux *aux)
{
	if (!aux)
		return;
	irq_work_sync(&aux->wake);
	if (aux->priv)
		aux->free_aux(aux->priv);
	kdtl_area_unmap(&aux->area);
	kdtl_pages_free(aux->pages, aux->nr_pages);
	kfree(aux);
}

/**
 * kdtl_aux_reset() - forget unread data and counts
 * @aux: no event writes to it
 *
 * Context: any.
 */
void kdtl_aux_reset(struct kdtl_aux *aux)
{
	const u64 head = aux->sink.head;

	memset(&aux->counts, 0, sizeof(aux->counts));
	aux->lost_run = 0;
	aux->start = head;
	smp_store_release(&aux->tail, head); /* D */
	aux->next_wake = head + aux->watermark;
	kdtl_aux_set_stop(aux);
}
