// SPDX-License-Identifier: GPL-2.0
/*
 * The writer's side of an AUX area
 *
 * An area has one writer (its CPU, with interrupts off) and one reader.
 * Positions are u64 and run freely, also across 2^64, so they are compared by
 * their distance.
 *
 *	writer					reader (api/aux.c)
 *	A: load-acquire tail			C: load-acquire head
 *	   store data				   read data
 *	B: store-release head			D: store-release tail
 *
 * B pairs with C: a reader that sees the new head sees the data before it.
 * D pairs with A: bytes are written again only after they have been read.
 */
#include <linux/perf_event.h>

#include "session.h"
#include "trace.h"
#include "wake.h"
#include "writer.h"

/**
 * kdtl_aux_room() - number of bytes that may be written
 * @aux: the area
 *
 * Context: on the area's CPU, interrupts off.
 * Return: the bytes that are not unread; in overwrite mode the whole area; 0 if there
 * are so many gaps that the last one has to grow.
 */
u64 kdtl_aux_room(struct kdtl_aux *aux)
{
	u64 tail;

	if (aux->overwrite)
		return aux->area.size;

	/* [aux.A] pairs with D in kdtl_area_consume(): the bytes before tail are read. */
	tail = kdtl_u64_acquire(&aux->tail);
	if (kdtl_gaps_full(&aux->gaps, tail, aux->sink.head))
		return 0;
	return aux->area.size - (aux->sink.head - tail);
}

/**
 * kdtl_aux_set_stop() - decide how far the fast path may go from now on
 * @aux: the area; its head, tail, next_wake, set or period timer has changed
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_set_stop(struct kdtl_aux *aux)
{
	const u64 head = aux->sink.head;
	u64 span = kdtl_aux_room(aux) + 1;

	if (!aux->overwrite)
		span = min(span, aux->next_wake - head);
	/*
	 * Counters and waits are checked at each entry; and the first entry of a period
	 * starts it.
	 */
	if (aux->set->watched || aux->min_wait ||
	    (aux->sink.period && !hrtimer_is_queued(&aux->period_timer)))
		span = 0;
	aux->sink.stop_at = head + span;
}

/* Wake the reader once per watermark that was crossed since it was woken last. */
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
 * Post messages about new data and about gaps that have ended; with @settled
 * also about a gap that goes on.  Called on the area's CPU with interrupts off,
 * or when no event writes to the area any more.
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

/**
 * kdtl_aux_lost() - account for entries that did not get into the area
 * @aux: the area
 * @nr: number of entries
 * @flag: PERF_AUX_FLAG_* for the next KDTL_MSG_AUX
 *
 * The first loss of a run wakes the reader.
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_lost(struct kdtl_aux *aux, u64 nr, u64 flag)
{
	/* A message has room for one gap, so post an earlier one that is still due. */
	if (!aux->lost_run && aux->lost != aux->lost_reported && aux->sink.head != aux->gap)
		kdtl_aux_report(aux, false);
	if (!aux->overwrite)
		kdtl_gaps_add(&aux->gaps, kdtl_u64_read(&aux->tail), aux->sink.head, nr);
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

/**
 * kdtl_aux_lost_end() - end a run of losses, so that its number can be reported
 * @aux: the area
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_lost_end(struct kdtl_aux *aux)
{
	if (!aux->lost_run)
		return;
	trace_kdtl_lost(aux, aux->lost_run, true);
	aux->lost_run = 0;
	irq_work_queue(&aux->wake);
}

/**
 * kdtl_aux_period_start() - bound the time until the reader is told of new entries
 * @aux: the CPU's area
 *
 * Nothing happens if there are none, if a wake-up is under way, or if the timer
 * runs already.
 *
 * Context: on the CPU, interrupts off, maybe under the runqueue lock: the scheduler
 * itself starts pinned timers in hard irq there.
 */
void kdtl_aux_period_start(struct kdtl_aux *aux)
{
	if (!aux->sink.period || aux->sink.head == aux->announced ||
	    irq_work_is_pending(&aux->wake) || hrtimer_is_queued(&aux->period_timer))
		return;
	hrtimer_start(&aux->period_timer, ns_to_ktime(aux->sink.period),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * kdtl_aux_written() - follow up on a head that has moved
 * @aux: the area
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_written(struct kdtl_aux *aux)
{
	kdtl_aux_lost_end(aux);
	kdtl_aux_check_wake(aux);
	kdtl_aux_period_start(aux);
}

/**
 * kdtl_aux_advance() - publish bytes that were written or skipped
 * @aux: the area
 * @size: number of bytes, at most kdtl_aux_room()
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_advance(struct kdtl_aux *aux, u64 size)
{
	/* [aux.B] pairs with C in kdtl_area_peek(): publishes the data. */
	kdtl_u64_release(&aux->sink.head, aux->sink.head + size);
	if (size)
		kdtl_aux_written(aux);
	kdtl_aux_set_stop(aux);
}

/**
 * kdtl_aux_wake() - report what is new, and wake the reader
 * @work: kdtl_aux::wake
 *
 * Context: hard irq, on the area's CPU.
 */
void kdtl_aux_wake(struct irq_work *work)
{
	struct kdtl_aux *aux = container_of(work, struct kdtl_aux, wake);
	struct kdtl_set_cpu *sc = kdtl_set_here(aux, aux->set);

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
 * kdtl_aux_settle() - report everything that has not been reported yet
 * @aux: the area; no event writes to it any more
 *
 * Context: may sleep.
 */
void kdtl_aux_settle(struct kdtl_aux *aux)
{
	irq_work_sync(&aux->wake);	/* [wake.S] */
	kdtl_aux_report(aux, true);
}
