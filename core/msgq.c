// SPDX-License-Identifier: GPL-2.0
/*
 * A session's queue of messages
 *
 * All CPUs post messages, and one reader takes them.  A lock is good enough: there
 * is one message per watermark or overflow, not one per entry.
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/vmalloc.h>

#include "msgq.h"

/**
 * kdtl_msgq_init() - initialize a queue
 * @q: the queue
 * @pages: its size; 0: the session has no queue, and messages are thrown away
 * @types: those to post, 1 << &enum kdtl_msg_type, besides KDTL_MSG_END; 0: all
 * @pause: an overflow pauses the CPU
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int kdtl_msgq_init(struct kdtl_msgq *q, unsigned int pages, u32 types, bool pause)
{
	const size_t size = (size_t)pages << PAGE_SHIFT;

	raw_spin_lock_init(&q->lock);
	if (!pages)
		return 0;
	q->nr_slots = size / sizeof(*q->slots);
	q->types = (types ?: KDTL_MSG_TYPES) | BIT(KDTL_MSG_END);
	q->pause = pause;
	q->slots = __vcalloc(q->nr_slots + KDTL_MSGQ_KEPT, sizeof(*q->slots),
			     GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (!q->slots)
		return -ENOMEM;
	return 0;
}
ALLOW_ERROR_INJECTION(kdtl_msgq_init, ERRNO);

/**
 * kdtl_msgq_free() - undo kdtl_msgq_init()
 * @q: the queue, even if kdtl_msgq_init() has failed
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
 * The number of queued messages at which @msg is dropped.
 *
 * One extra slot is enough for the overflows that pause, whatever the number of
 * CPUs.  While it is taken, the newest message is such an overflow, and the
 * kdtl_restart() of the reader that gets it restarts all CPUs.
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
 * @msg: with type, cpu, set and the type's own fields; the rest is filled in
 *
 * Never waits for the reader.
 *
 * Context: any but NMI, also under the runqueue lock.
 */
void kdtl_msgq_put(struct kdtl_msgq *q, struct kdtl_msg *msg)
{
	unsigned long flags;

	if (!q->slots || !(q->types & BIT(msg->type)))
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
 * @last: set to whether the queue is empty now, and no message was dropped since
 *
 * Context: any but NMI.
 * Return: whether there was a message.
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
 * kdtl_msgq_empty() - check for messages
 * @q: the queue
 *
 * Context: any but NMI.
 * Return: whether there is no message.
 */
bool kdtl_msgq_empty(struct kdtl_msgq *q)
{
	return READ_ONCE(q->head) == READ_ONCE(q->tail);
}

/**
 * kdtl_msgq_reset() - throw all messages away
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
