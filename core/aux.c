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
#include <linux/error-injection.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "aux.h"
#include "compat.h"
#include "pmu.h"
#include "session.h"
#include "trace.h"

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

	/* [aux.A] pairs with D in kdtl_aux_consume(): the bytes before tail are read. */
	tail = kdtl_u64_acquire(&aux->tail);
	return aux->area.size - (aux->sink.head - tail);
}

/**
 * kdtl_aux_set_stop() - how far the fast path may go from now on
 * @aux: the area; head, tail, next_wake or the set has changed
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_set_stop(struct kdtl_aux *aux)
{
	const u64 head = aux->sink.head;
	u64 span = kdtl_aux_room(aux) + 1;

	if (!aux->overwrite)
		span = min(span, aux->next_wake - head);
	if (aux->set->watched)
		span = 0;
	aux->sink.stop_at = head + span;
}

/* Crossing the watermark wakes the reader once; the next is a multiple on. */
static void kdtl_aux_check_wake(struct kdtl_aux *aux)
{
	const u64 past = aux->sink.head - aux->next_wake;
	u64 rest;

	if (aux->overwrite || (s64)past < 0)
		return;
	div64_u64_rem(past, aux->watermark, &rest);
	aux->next_wake += past - rest + aux->watermark;
	trace_kdtl_watermark(aux, aux->sink.head,
			     aux->sink.head - kdtl_u64_read(&aux->tail));
	irq_work_queue(&aux->wake);
}

/*
 * Post what is new: data, and gaps that have ended. From the irq_work, from the
 * writer, interrupts off on the area's CPU, or after all of them.
 */
static void kdtl_aux_report(struct kdtl_aux *aux, bool settled)
{
	const u64 head = aux->sink.head;
	struct kdtl_msg msg = { .cpu = aux->cpu, .set = aux->set->id };

	if (head != aux->announced || aux->flags) {
		msg.type = KDTL_MSG_AUX;
		msg.aux.offset = aux->announced;
		msg.aux.size = head - aux->announced;
		msg.aux.flags = aux->flags;
		if (aux->overwrite)
			msg.aux.flags |= PERF_AUX_FLAG_OVERWRITE;
		kdtl_msgq_put(&aux->session->msgs, &msg);
		aux->announced = head;
		aux->flags = 0;
	}
	if (aux->lost != aux->lost_reported && (settled || !aux->lost_run)) {
		msg.type = KDTL_MSG_LOST;
		msg.lost.count = aux->lost - aux->lost_reported;
		msg.lost.offset = aux->gap;
		kdtl_msgq_put(&aux->session->msgs, &msg);
		aux->lost_reported = aux->lost;
	}
}

/*
 * Account for entries that did not get into the area.  The first of a run wakes
 * the reader: there is no room, or there was a gap.
 */
static void kdtl_aux_lost(struct kdtl_aux *aux, u64 nr, u64 flag)
{
	/* The wake-up that tells of the last gap has not come yet, and here is another. */
	if (!aux->lost_run && aux->lost != aux->lost_reported && aux->sink.head != aux->gap)
		kdtl_aux_report(aux, false);
	kdtl_u64_set(&aux->lost, aux->lost + nr);
	kdtl_u64_add(&aux->sink.counts->lost, nr);
	if (aux->lost == aux->lost_reported + nr)
		aux->gap = aux->sink.head;
	aux->flags |= flag;
	if (!aux->lost_run) {
		trace_kdtl_lost(aux, nr, false);
		irq_work_queue(&aux->wake);
	}
	aux->lost_run += nr;
}

/* There is room again: the reader can be told how much was lost. */
static void kdtl_aux_lost_end(struct kdtl_aux *aux)
{
	if (!aux->lost_run)
		return;
	trace_kdtl_lost(aux, aux->lost_run, true);
	aux->lost_run = 0;
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
	/* [aux.B] pairs with C in kdtl_aux_peek(): publishes the data. */
	kdtl_u64_release(&aux->sink.head, aux->sink.head + size);
	if (size)
		kdtl_aux_lost_end(aux);
	kdtl_aux_check_wake(aux);
	kdtl_aux_set_stop(aux);
}

static void kdtl_aux_slow(struct kdtl_sink *sink, const struct kdtl_entry *e,
			  enum kdtl_kind kind)
{
	struct kdtl_aux *aux = container_of(sink, struct kdtl_aux, sink);

	if (WARN_ON_ONCE(aux->open) || kdtl_aux_room(aux) < sizeof(*e)) {
		kdtl_sink_count(sink->counts, kind, kdtl_entry_queued(e),
				kdtl_entry_ready(e), kdtl_entry_slept(e));
		kdtl_aux_lost(aux, 1, PERF_AUX_FLAG_TRUNCATED);
	} else {
		kdtl_sink_store(sink, e, kind);
		kdtl_aux_lost_end(aux);
		kdtl_aux_check_wake(aux);
	}
	kdtl_set_check(aux);
	kdtl_aux_set_stop(aux);
}

/* Lost before it came here: of no known kind. */
static void kdtl_aux_sink_lost(struct kdtl_sink *sink, u64 nr)
{
	struct kdtl_aux *aux = container_of(sink, struct kdtl_aux, sink);

	if (aux->paused)
		return;
	kdtl_u64_add(&sink->counts->entries[KDTL_KIND_UNKNOWN], nr);
	kdtl_aux_lost(aux, nr, PERF_AUX_FLAG_PARTIAL);
	kdtl_aux_lost_end(aux);
	kdtl_set_check(aux);
}

static void kdtl_aux_link(struct kdtl_sink *sink)
{
	kdtl_set_on(container_of(sink, struct kdtl_aux, sink));
}

static void kdtl_aux_unlink(struct kdtl_sink *sink)
{
	kdtl_set_off(container_of(sink, struct kdtl_aux, sink));
}

static const struct kdtl_sink_ops kdtl_aux_sink_ops = {
	.slow	= kdtl_aux_slow,
	.lost	= kdtl_aux_sink_lost,
	.link	= kdtl_aux_link,
	.unlink	= kdtl_aux_unlink,
};

/* Hard irq, on the area's CPU. */
static void kdtl_aux_wake(struct irq_work *work)
{
	struct kdtl_aux *aux = container_of(work, struct kdtl_aux, wake);
	struct kdtl_set_cpu *sc = per_cpu_ptr(aux->set->cpu, aux->cpu);

	kdtl_u64_set(&sc->wakeups, sc->wakeups + 1);
	kdtl_aux_report(aux, false);
	kdtl_session_wake(aux->session);
}

/**
 * kdtl_aux_post() - post a message on a CPU's behalf, and wake the reader
 * @aux: the CPU's area
 * @msg: see kdtl_msgq_put()
 *
 * Context: any but NMI, also under the runqueue lock.
 */
void kdtl_aux_post(struct kdtl_aux *aux, struct kdtl_msg *msg)
{
	kdtl_msgq_put(&aux->session->msgs, msg);
	irq_work_queue(&aux->wake);
}

/**
 * kdtl_aux_settle() - no event is active any more: report what is left
 * @aux: the area
 *
 * Context: may sleep.
 */
void kdtl_aux_settle(struct kdtl_aux *aux)
{
	irq_work_sync(&aux->wake);	/* [wake.S] */
	kdtl_aux_report(aux, true);
}

static enum hrtimer_restart kdtl_set_timeout(struct hrtimer *timer)
{
	struct kdtl_aux *aux = container_of(timer, struct kdtl_aux, set_timer);

	/* Elsewhere, the rest is not ours to look at. */
	if (smp_processor_id() == aux->cpu && aux->sink.linked)
		WARN_ON_ONCE(kdtl_set_switch(aux));
	/* The next set has started the timer again, if it has a timeout. */
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart kdtl_period_timeout(struct hrtimer *timer)
{
	struct kdtl_aux *aux = container_of(timer, struct kdtl_aux, period_timer);

	if (smp_processor_id() != aux->cpu || !aux->sink.linked || !aux->sink.period)
		return HRTIMER_NORESTART;
	if (aux->sink.head != aux->announced)
		kdtl_aux_wake(&aux->wake);
	hrtimer_forward_now(timer, ns_to_ktime(aux->sink.period));
	return HRTIMER_RESTART;
}

/**
 * kdtl_aux_alloc() - allocate an AUX area and map it
 * @s: the session, loaded or about to be
 * @cpu: for which CPU
 *
 * Context: may sleep.
 * Return: the area, or NULL if there is no memory.
 */
struct kdtl_aux *kdtl_aux_alloc(struct kdtl_session *s, int cpu)
{
	struct kdtl_aux *aux;

	aux = kzalloc_node(sizeof(*aux), GFP_KERNEL, cpu_to_node(cpu));
	if (!aux)
		return NULL;

	aux->session = s;
	aux->cpu = cpu;
	aux->nr_pages = s->layout.nr_pages;
	aux->watermark = s->layout.watermark;
	aux->overwrite = s->layout.overwrite;
	prandom_seed_state(&aux->random, local_clock() + cpu);
	aux->wake = IRQ_WORK_INIT_HARD(kdtl_aux_wake);
	seqcount_init(&aux->seq);
	hrtimer_setup(&aux->set_timer, kdtl_set_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_setup(&aux->period_timer, kdtl_period_timeout, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);

	aux->pages = kdtl_pages_alloc(aux->nr_pages, cpu,
				      s->pmu->pmu.capabilities, aux->watermark,
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
	aux->sink.ops = &kdtl_aux_sink_ops;
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
ALLOW_ERROR_INJECTION(kdtl_aux_setup, ERRNO);

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
	hrtimer_cancel(&aux->set_timer);
	hrtimer_cancel(&aux->period_timer);
	irq_work_sync(&aux->wake);
	if (aux->priv)
		aux->free_aux(aux->priv);
	kdtl_area_unmap(&aux->area);
	kdtl_pages_free(aux->pages, aux->nr_pages);
	kfree(aux);
}

/**
 * kdtl_aux_reset() - forget unread data and counts, begin with the first set
 * @aux: no event writes to it
 *
 * Context: any.
 */
void kdtl_aux_reset(struct kdtl_aux *aux)
{
	const u64 head = aux->sink.head;

	aux->flags = 0;
	kdtl_u64_set(&aux->lost, 0);
	aux->lost_reported = 0;
	aux->lost_run = 0;
	aux->announced = head;
	kdtl_u64_set(&aux->start, head);
	kdtl_u64_release(&aux->tail, head); /* [aux.D] */
	aux->next_wake = head + aux->watermark;
	kdtl_sets_load(aux);
}
