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
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/perf_event.h>
#include <linux/printk.h>

#include "counting.h"
#include "session.h"
#include "trace.h"
#include "wake.h"
#include "writer.h"

/**
 * kdtl_aux_room() - number of bytes that may be written
 * @aux: the area
 *
 * Context: on the area's CPU, interrupts off.
 * Return: the area's size less the unread bytes; in overwrite mode the whole area; 0 if
 * there are so many gaps that the last one has to grow.
 */
u64 kdtl_aux_room(struct kdtl_aux *aux)
{
	u64 tail;

	if (aux->overwrite)
		return aux->area.size;

	/* [aux.A] pairs with D in kdtl_area_consume(): the bytes before tail are read. */
	tail = kdtl_u64_acquire(&aux->tail);
	if (kdtl_gaps_full(&aux->gaps, tail, aux->sink.at->head))
		return 0;
	return aux->area.size - (aux->sink.at->head - tail);
}

static noinline u64 kdtl_aux_look(struct kdtl_aux *aux)
{
	aux->room_to = aux->sink.at->head + kdtl_aux_room(aux);
	return aux->room_to;
}

/*
 * Is there room for @size bytes?  The tail is in a cache line of the reader, so it is
 * read again only if the room that was found last does not suffice.
 */
static bool kdtl_aux_fits(struct kdtl_aux *aux, u64 size)
{
	const u64 end = aux->sink.at->head + size;

	return likely((s64)(aux->room_to - end) >= 0) ||
	       (s64)(kdtl_aux_look(aux) - end) >= 0;
}

/**
 * kdtl_aux_set_stop() - decide how far the fast path may go from now on
 * @aux: the area; its head, room_to, next_wake, set or period timer has changed
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_set_stop(struct kdtl_aux *aux)
{
	u64 stop_at = aux->room_to + 1;

	if (!aux->overwrite && (s64)(aux->next_wake - stop_at) < 0)
		stop_at = aux->next_wake;
	/*
	 * Counters and waits are checked at each entry, and the first entry of a period
	 * starts the timer.
	 */
	if (kdtl_aux_watched(aux) || aux->min_wait ||
	    (aux->sink.period && !hrtimer_is_queued(&aux->period_timer)))
		stop_at = aux->sink.at->head;
	aux->sink.at->stop_at = stop_at;
}

/* Wake the reader once per watermark that was crossed since it was woken last. */
static __always_inline void kdtl_aux_check_wake(struct kdtl_aux *aux)
{
	const u64 head = aux->sink.at->head, past = head - aux->next_wake;

	if (aux->overwrite || (s64)past < 0)
		return;
	if (unlikely(past >= aux->watermark))
		aux->next_wake += div64_u64(past, aux->watermark) * aux->watermark;
	aux->next_wake += aux->watermark;
	trace_kdtl_watermark(aux, head);
	irq_work_queue(&aux->wake);
}

/**
 * kdtl_aux_report() - post messages about new data and about gaps that have ended
 * @aux: the area
 * @settled: also about a gap that goes on
 *
 * Context: on the area's CPU with interrupts off, or when no event writes to the area any
 * more; for a raw session under kdtl_raw_aux::lock.
 */
void kdtl_aux_report(struct kdtl_aux *aux, bool settled)
{
	const u64 head = aux->sink.at->head;

	if (head != aux->announced || aux->flags) {
		kdtl_msg_data(aux);
		aux->announced = head;
		aux->flags = 0;
	}
	if (aux->lost != aux->lost_reported && (settled || !aux->lost_run)) {
		kdtl_msg_lost(aux);
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
	if (!aux->lost_run && aux->lost != aux->lost_reported && aux->sink.at->head != aux->gap)
		kdtl_aux_report(aux, false);
	if (!aux->overwrite)
		kdtl_gaps_add(&aux->gaps, kdtl_u64_read(&aux->tail), aux->sink.at->head, nr);
	kdtl_u64_set(&aux->lost, aux->lost + nr);
	kdtl_count_lost(aux, nr);
	if (aux->lost == aux->lost_reported + nr)
		aux->gap = aux->sink.at->head;
	aux->flags |= flag;
	/* The next entry may have to be lost too, see core/gaps.c. */
	aux->room_to = aux->sink.at->head;
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
 * Nothing happens if there is no bound, if there are no new entries, if a wake-up is under way,
 * or if the timer runs already.
 *
 * Context: on the CPU, interrupts off, maybe under the runqueue lock: the scheduler
 * itself starts pinned timers in hard irq there.
 */
void kdtl_aux_period_start(struct kdtl_aux *aux)
{
	if (!aux->sink.period || aux->sink.at->head == aux->announced ||
	    irq_work_is_pending(&aux->wake) || hrtimer_is_queued(&aux->period_timer))
		return;
	hrtimer_start(&aux->period_timer, ns_to_ktime(aux->sink.period),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/*
 * Does the entry tell that the reader was dispatched, or that the CPU became idle after it ran?
 * If such an entry woke the reader, the reader would be dispatched again, and so on for ever.
 */
static bool kdtl_aux_is_readers(const struct kdtl_aux *aux, const struct kdtl_entry *e)
{
	const pid_t reader = READ_ONCE(aux->reader);

	if (!reader || !aux->session->pmu->tasks)
		return false;
	return reader == (kdtl_entry_is_idle(e) ? kdtl_entry_prev_pid(e) : kdtl_entry_pid(e));
}

/* Follow up on a head that has moved. */
static __always_inline void kdtl_aux_written(struct kdtl_aux *aux)
{
	if (aux->lost_run)
		kdtl_aux_lost_end(aux);
	kdtl_aux_check_wake(aux);
}

/**
 * kdtl_aux_write() - write an entry that may need more than to be stored, or lose it
 * @aux: the area
 * @e: the entry
 *
 * Context: on the area's CPU, interrupts off.
 */
void kdtl_aux_write(struct kdtl_aux *aux, const struct kdtl_entry *e)
{
	if (WARN_ON_ONCE(aux->open) || !kdtl_aux_fits(aux, sizeof(*e))) {
		kdtl_aux_lost(aux, 1, PERF_AUX_FLAG_TRUNCATED);
	} else {
		kdtl_ring_store(aux->sink.at, e);
		kdtl_aux_written(aux);
		if (aux->sink.period && !kdtl_aux_is_readers(aux, e))
			kdtl_aux_period_start(aux);
	}
	kdtl_aux_set_stop(aux);
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
	kdtl_u64_release(&aux->sink.at->head, aux->sink.at->head + size);
	if (size) {
		kdtl_aux_written(aux);
		kdtl_aux_period_start(aux);
	}
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

	kdtl_count_wakeup(aux);
	kdtl_aux_report(aux, false);
	kdtl_session_wake_for(aux);
}

/* End the transaction in which a driver has stopped, or the area would never take another one. */
static void kdtl_aux_close(struct kdtl_aux *aux)
{
	if (!aux->open)
		return;
	pr_warn_ratelimited("%s: CPU %d: PMU %s stopped between kdtl_aux_output_begin() and _end(): what it wrote since is lost\n",
			    aux->session->owner, aux->cpu, aux->session->pmu->name);
	/* [aux.E] as in kdtl_aux_output_end() */
	smp_store_release(&aux->open, false);
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
	kdtl_aux_close(aux);
	kdtl_aux_report(aux, true);
	/* No more comes for now, so the rest is worth reading, however little it is. */
	kdtl_session_due(aux);
}
