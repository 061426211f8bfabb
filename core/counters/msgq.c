// SPDX-License-Identifier: GPL-2.0
/*
 * A session's queue of messages
 *
 * All CPUs post messages, also under the runqueue lock, where no CPU may wait for another
 * one.  So a CPU takes the next slot by moving head, fills it, and then sets the
 * message's size.  Readers take turns with a lock.  A reader that finds a slot taken but
 * not filled yet waits until it is: the other CPU fills it with interrupts off.
 *
 *	CPU that posts				reader
 *	A: load-acquire tail			C: load-acquire size
 *	   move head, store message		   read message, size = 0
 *	B: store-release size			D: store-release tail
 *
 * B pairs with C: a reader that sees the size sees the message.
 * D pairs with A: a slot is filled again only after it has been read.
 *
 * A message carries the number of messages ever dropped, read before its slot was taken.
 * The reader is told by how much that number has grown.  So a CPU's message covers what this
 * CPU dropped before, whatever other CPUs post meanwhile, and nothing that it dropped later:
 *
 *	CPU whose message is dropped		CPU that posts
 *	   move head, for an earlier message	   read dropped
 *	E: increment-release dropped		F: move-release head
 */
#include <linux/error-injection.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/vmalloc.h>

#include "msgq.h"
#include "../u64.h"

/**
 * kdtl_msgq_init() - initialize a queue
 * @q: the queue
 * @pages: its size; 0: the session has no queue, and messages are thrown away
 * @types: types to post, 1 << &enum kdtl_msg_type, besides KDTL_MSG_END; 0: all
 * @pause: an overflow pauses the CPU
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int kdtl_msgq_init(struct kdtl_msgq *q, unsigned int pages, u32 types, bool pause)
{
	raw_spin_lock_init(&q->lock);
	q->pause = pause;
	if (!pages)
		return 0;
	/* Or other tasks would be killed for want of memory before a page is refused here. */
	if (pages > si_mem_available())
		return -ENOMEM;
	/* On a 32-bit machine the number of bytes may not fit in a size_t. */
	q->nr_slots = div_u64((u64)pages << PAGE_SHIFT, sizeof(*q->slots));
	q->types = (types ?: KDTL_MSG_TYPES) | BIT(KDTL_MSG_END);
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
 * CPUs.  While it is taken, the newest message is such an overflow.  The reader
 * that gets it calls kdtl_restart(), which restarts all CPUs.
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

/*
 * Take the slot at head and set @pos to its position, unless @limit slots are taken.  Sets
 * @dropped to the number of messages dropped before.
 */
static bool kdtl_msgq_take_slot(struct kdtl_msgq *q, unsigned int limit, s64 *pos,
				u64 *dropped)
{
	s64 tail;

	do {
		*dropped = atomic64_read(&q->dropped);
		/*
		 * [msg.A] The slot at head has been read.  Pairs with D in kdtl_msgq_get().
		 * The head below is not before this tail.
		 */
		tail = kdtl_u64_acquire(&q->tail);
		*pos = atomic64_read(&q->head);
		if (*pos - tail >= limit)
			return false;
		/*
		 * [msg.F] pairs with E in kdtl_msgq_put(): what a CPU dropped after it had
		 * moved head further is not in the number above.
		 */
	} while (!atomic64_try_cmpxchg_release(&q->head, pos, *pos + 1));
	return true;
}

static void kdtl_msgq_fill(struct kdtl_msgq *q, struct kdtl_msg *slot, struct kdtl_msg *msg)
{
	msg->size = 0;
	/* A reader may look at the size, which is 0 before and after. */
	data_race(*slot = *msg);
	/* [msg.B] The message is there.  Pairs with C in kdtl_msgq_get(). */
	smp_store_release(&slot->size, sizeof(*msg));
}

/**
 * kdtl_msgq_put() - post a message, or count that it was dropped
 * @q: the queue
 * @msg: with type, cpu, set and the type's own fields; the rest is filled in
 *
 * Waits for nobody.
 *
 * Context: any but NMI, also under the runqueue lock.
 */
void kdtl_msgq_put(struct kdtl_msgq *q, struct kdtl_msg *msg)
{
	unsigned long flags;
	s64 pos;

	if (!kdtl_msgq_posts(q, msg->type))
		return;
	msg->time = local_clock();

	local_irq_save(flags);
	if (kdtl_msgq_take_slot(q, kdtl_msgq_limit(q, msg), &pos, &msg->dropped))
		kdtl_msgq_fill(q, kdtl_msgq_slot(q, pos), msg);
	else
		/* [msg.E] pairs with F in kdtl_msgq_take_slot(): earlier messages have slots. */
		atomic64_fetch_inc_release(&q->dropped);
	local_irq_restore(flags);
}

/* Of @dropped messages in all, the number that no reader has been told of before. */
static u64 kdtl_msgq_tell(struct kdtl_msgq *q, u64 dropped)
{
	const u64 told = q->told;

	lockdep_assert_held(&q->lock);
	if (dropped <= told)
		return 0;
	q->told = dropped;
	return dropped - told;
}

/**
 * kdtl_msgq_get() - take the oldest message
 * @q: the queue
 * @msg: filled in
 * @last: set to whether the queue is empty now, and readers know of all dropped messages
 *
 * Context: any but NMI.
 * Return: whether there was a message.
 */
bool kdtl_msgq_get(struct kdtl_msgq *q, struct kdtl_msg *msg, bool *last)
{
	struct kdtl_msg *slot;
	unsigned long flags;
	u64 tail;
	bool got;

	raw_spin_lock_irqsave(&q->lock, flags);
	tail = q->tail;
	got = atomic64_read(&q->head) != tail;
	if (got) {
		slot = kdtl_msgq_slot(q, tail);
		/* [msg.C] pairs with B in kdtl_msgq_fill(): the message is there or about to be. */
		smp_cond_load_acquire(&slot->size, VAL);
		*msg = *slot;
		msg->dropped = kdtl_msgq_tell(q, msg->dropped);
		WRITE_ONCE(slot->size, 0);
		/* [msg.D] pairs with A in kdtl_msgq_take_slot(): the slot is free again. */
		kdtl_u64_release(&q->tail, ++tail);
	}
	*last = atomic64_read(&q->head) == tail && atomic64_read(&q->dropped) == q->told;
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
	return atomic64_read(&q->head) == kdtl_u64_read(&q->tail);
}

/**
 * kdtl_msgq_reset() - throw all messages away
 * @q: the queue
 *
 * Context: any but NMI.
 */
void kdtl_msgq_reset(struct kdtl_msgq *q)
{
	struct kdtl_msg msg;
	unsigned long flags;
	bool last;

	while (kdtl_msgq_get(q, &msg, &last))
		;
	raw_spin_lock_irqsave(&q->lock, flags);
	q->told = atomic64_read(&q->dropped);
	raw_spin_unlock_irqrestore(&q->lock, flags);
}
