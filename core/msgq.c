// SPDX-License-Identifier: GPL-2.0
/*
 * A session's queue of messages
 *
 * All CPUs post, one reader takes.  A lock is good enough: messages are one
 * per watermark or overflow, not per entry.
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/vmalloc.h>

#include "msgq.h"

/**
 * kdtl_msgq_init() - make a queue
 * @q: the queue
 * @pages: its size; 0: no queue, every message is forgotten
 * @pause: an overflow pauses
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int kdtl_msgq_init(struct kdtl_msgq *q, unsigned int pages, bool pause)
{
	const size_t size = (size_t)pages << PAGE_SHIFT;

	raw_spin_lock_init(&q->lock);
	if (!pages)
		return 0;
	q->nr_slots = size / sizeof(*q->slots);
	q->pause = pause;
	q->slots = vzalloc(array_size(q->nr_slots + KDTL_MSGQ_KEPT, sizeof(*q->slots)));
	if (!q->slots)
		return -ENOMEM;
	return 0;
}
ALLOW_ERROR_INJECTION(kdtl_msgq_init, ERRNO);

/**
 * kdtl_msgq_free() - undo kdtl_msgq_init()
 * @q: the queue, also one that failed to be made
 *
 * Context: may sleep.
 */
void kdtl_msgq_free(struct kdtl_msgq *q)
{
	vfree(q->slots);
	q->slots = NULL;
}

static struct kdtl_msg *kdtl_msgq_slot(struct kdtl_msgq *q, u64 pos)
{
	u32 rest;

	div_u64_rem(pos, q->nr_slots + KDTL_MSGQ_KEPT, &rest);
	return &q->slots[rest];
}

/*
 * So many may be in the queue before this one.
 *
 * One slot is enough for the overflows that mask, of however many CPUs: when it is
 * taken, the newest message is such an overflow, and the kdtl_restart() of who
 * reads it is for all CPUs.
 */
static unsigned int kdtl_msgq_limit(struct kdtl_msgq *q, const struct kdtl_msg *msg)
{
	switch (msg->type) {
	case KDTL_MSG_END:
		return q->nr_slots + KDTL_MSGQ_KEPT;
	case KDTL_MSG_OVERFLOW:
		return q->nr_slots + q->pause;
	default:
		return q->nr_slots;
	}
}

/**
 * kdtl_msgq_put() - post a message, or count that it was dropped
 * @q: the queue
 * @msg: type, cpu, set and what belongs to the type; the rest is filled in
 *
 * Never waits for the reader.
 *
 * Context: any but NMI, also under the runqueue lock.
 */
void kdtl_msgq_put(struct kdtl_msgq *q, struct kdtl_msg *msg)
{
	unsigned long flags;

	if (!q->slots)
		return;
	msg->size = sizeof(*msg);
	msg->time = local_clock();

	raw_spin_lock_irqsave(&q->lock, flags);
	if (q->head - q->tail >= kdtl_msgq_limit(q, msg)) {
		q->dropped++;
	} else {
		msg->dropped = q->dropped;
		q->dropped = 0;
		*kdtl_msgq_slot(q, q->head) = *msg;
		WRITE_ONCE(q->head, q->head + 1);
	}
	raw_spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * kdtl_msgq_get() - take the oldest message
 * @q: the queue
 * @msg: filled in
 * @last: set if it was the last one, and none has been dropped after it
 *
 * Context: any but NMI.
 * Return: whether there was one.
 */
bool kdtl_msgq_get(struct kdtl_msgq *q, struct kdtl_msg *msg, bool *last)
{
	unsigned long flags;
	bool got;

	raw_spin_lock_irqsave(&q->lock, flags);
	got = q->head != q->tail;
	if (got) {
		*msg = *kdtl_msgq_slot(q, q->tail);
		WRITE_ONCE(q->tail, q->tail + 1);
	}
	*last = q->head == q->tail && !q->dropped;
	raw_spin_unlock_irqrestore(&q->lock, flags);
	return got;
}

/**
 * kdtl_msgq_empty() - is there nothing to take?
 * @q: the queue
 *
 * Context: any but NMI.
 * Return: whether there is not.
 */
bool kdtl_msgq_empty(struct kdtl_msgq *q)
{
	return READ_ONCE(q->head) == READ_ONCE(q->tail);
}

/**
 * kdtl_msgq_reset() - forget everything
 * @q: the queue
 *
 * Context: any but NMI.
 */
void kdtl_msgq_reset(struct kdtl_msgq *q)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&q->lock, flags);
	WRITE_ONCE(q->tail, q->head);
	q->dropped = 0;
	raw_spin_unlock_irqrestore(&q->lock, flags);
}
