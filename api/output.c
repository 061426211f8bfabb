// SPDX-License-Identifier: GPL-2.0
/*
 * Writing to AUX areas, for PMU drivers: perf's transactions by perf's names
 *
 * For an event of a session these functions write to the session's area, for
 * any other event to perf's.  So one write path in the driver serves both.
 */
#include <linux/export.h>
#include <linux/perf_event.h>

#include "../core/counting.h"
#include "../core/writer.h"

/**
 * kdtl_aux_output_begin() - begin to write to an event's AUX area
 * @handle: filled in: size is the room in bytes, head the position
 * @event: the event
 *
 * As with perf_aux_output_begin(), unread bytes are not part of the room.  Nested calls,
 * calls on another CPU, and calls without a handle or an event are refused, with one
 * warning.
 *
 * Context: on the event's CPU, interrupts off.
 * Return: the value that the driver's setup_aux() returned, or a struct kdtl_area
 * if the driver leaves setup_aux() to kdtl; NULL if the event has no area, the
 * area is full, or an overflow has paused the CPU.
 */
void *kdtl_aux_output_begin(struct perf_output_handle *handle,
			    struct perf_event *event)
{
	struct kdtl_aux *aux;
	u64 room;

	if (WARN_ON_ONCE(!handle || !event)) {
		if (handle)
			handle->event = NULL;
		return NULL;
	}
	aux = kdtl_event_aux(event);
	if (!aux)
		return perf_aux_output_begin(handle, event);

	lockdep_assert_irqs_disabled();
	handle->event = NULL;
	handle->aux_flags = 0;
	if (WARN_ON_ONCE(aux->open))
		return NULL;
	/* Two CPUs would write over each other's bytes. */
	if (WARN_ON_ONCE(event->cpu != smp_processor_id()))
		return NULL;
	/* The area is not set up yet (the CPU is coming up), or the CPU is paused. */
	if (!READ_ONCE(aux->priv) || kdtl_aux_paused(aux))
		return NULL;
	room = kdtl_aux_room(aux);
	if (!room) {
		irq_work_queue(&aux->wake);
		return NULL;
	}

	WRITE_ONCE(aux->open, true);
	/* [aux.O] as in kdtl_ring_slot(): open is seen before old bytes change. */
	smp_wmb();
	handle->event = event;
	handle->rb = NULL;
	handle->size = aux->overwrite ? 0 : room;
	handle->head = aux->sink.at->head;
	return aux->priv;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_output_begin, KDTL_NS);

/*
 * Count entries by position, as kdtl_aux_info() does, because a driver need not
 * write whole entries.
 */
static void kdtl_output_count(struct kdtl_aux *aux, u64 size)
{
	const u64 from = aux->sink.at->head - kdtl_u64_read(&aux->start);
	const u64 nr = kdtl_entries(from + size) - kdtl_entries(from);

	kdtl_count_unknown(aux, nr);
	kdtl_count_bytes(aux, size);
}

/**
 * kdtl_aux_output_end() - publish what was written
 * @handle: from kdtl_aux_output_begin()
 * @size: number of bytes, at most the room
 *
 * As with perf_aux_output_end(), a reader that sees the new head sees all stores
 * before it, on every architecture.  Outside of a transaction, as when
 * kdtl_aux_output_begin() has returned NULL, it does nothing but warn once.  A driver
 * that is stopped has to end its transaction; otherwise kdtl ends it, with a line in the
 * log, and publishes nothing of it.
 *
 * Context: as kdtl_aux_output_begin(), same CPU.
 */
void kdtl_aux_output_end(struct perf_output_handle *handle, unsigned long size)
{
	struct kdtl_aux *aux;

	if (WARN_ON_ONCE(!handle || !handle->event))
		return;
	aux = kdtl_event_aux(handle->event);
	if (!aux) {
		/*
		 * [user.U] Orders the data before the new head, which perf stores
		 * with WRITE_ONCE() only.  Pairs with the read barrier that the ABI
		 * asks of user space.
		 */
		smp_wmb();
		perf_aux_output_end(handle, size);
		return;
	}
	/* The session was stopped meanwhile, see kdtl_aux_close(). */
	if (WARN_ON_ONCE(!aux->open))
		return;
	/* In overwrite mode the driver moves handle->head, as with perf. */
	if (aux->overwrite)
		size = handle->head - (unsigned long)aux->sink.at->head;
	if (WARN_ON_ONCE(size > kdtl_aux_room(aux)))
		size = 0;
	kdtl_output_count(aux, size);
	aux->flags |= handle->aux_flags;
	if (aux->flags & PERF_AUX_FLAG_TRUNCATED)
		irq_work_queue(&aux->wake);
	kdtl_aux_advance(aux, size);
	kdtl_set_check(aux);
	/* [aux.E] pairs with F in kdtl_snapshot_try(): not open, so the head is the new one. */
	smp_store_release(&aux->open, false);
	handle->event = NULL;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_output_end, KDTL_NS);

/**
 * kdtl_aux_output_skip() - skip bytes, for alignment
 * @handle: from kdtl_aux_output_begin()
 * @size: number of bytes
 *
 * As with perf_aux_output_skip(), the reader sees these bytes with their old
 * contents.
 *
 * Context: as kdtl_aux_output_begin(), same CPU.
 * Return: 0; -ENOSPC: there is less room than @size, or no transaction (one warning).
 */
int kdtl_aux_output_skip(struct perf_output_handle *handle, unsigned long size)
{
	struct kdtl_aux *aux;

	if (WARN_ON_ONCE(!handle || !handle->event))
		return -ENOSPC;
	aux = kdtl_event_aux(handle->event);
	if (!aux)
		return perf_aux_output_skip(handle, size);
	if (size > handle->size)
		return -ENOSPC;
	kdtl_output_count(aux, size);
	kdtl_aux_advance(aux, size);
	handle->head = aux->sink.at->head;
	handle->size -= size;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_output_skip, KDTL_NS);

/**
 * kdtl_aux_output_flag() - set flags for the reader
 * @handle: from kdtl_aux_output_begin()
 * @flags: PERF_AUX_FLAG_TRUNCATED, _PARTIAL or _COLLISION.  Only kdtl itself sets
 *	PERF_AUX_FLAG_OVERWRITE
 *
 * As perf_aux_output_flag(), it may be called after kdtl_aux_output_begin() has
 * failed, but then the flags reach nobody.
 *
 * Context: as kdtl_aux_output_begin(), same CPU.
 */
void kdtl_aux_output_flag(struct perf_output_handle *handle, u64 flags)
{
	if (WARN_ON_ONCE(!handle || flags & PERF_AUX_FLAG_OVERWRITE))
		return;
	if (!handle->event || kdtl_event_aux(handle->event))
		handle->aux_flags |= flags;
	else
		perf_aux_output_flag(handle, flags);
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_output_flag, KDTL_NS);
