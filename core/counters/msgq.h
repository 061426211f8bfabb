/* SPDX-License-Identifier: GPL-2.0 */
/* A session's queue of messages. */
#ifndef _KDTL_MSGQ_H
#define _KDTL_MSGQ_H

#include <linux/atomic.h>
#include <linux/kdtl_counters.h>
#include <linux/spinlock.h>

/* All types, 1 << &enum kdtl_msg_type. */
#define KDTL_MSG_TYPES	(BIT(KDTL_NR_MSG_TYPES) - BIT(KDTL_MSG_AUX))

/* Extra slots: one for a KDTL_MSG_OVERFLOW that pauses, one for KDTL_MSG_END. */
#define KDTL_MSGQ_KEPT	2

/**
 * struct kdtl_msgq - a FIFO that drops new messages when it is full
 * @slots: the messages; an empty slot has a size of 0; NULL if the session has no queue
 * @nr_slots: slots for messages of any type; there are KDTL_MSGQ_KEPT more
 * @types: types that are posted, 1 << &enum kdtl_msg_type; others are thrown away
 * @pause: an overflow that notifies pauses the CPU, so a reader that missed its message would wait
 *	for ever
 * @head: number of slots ever taken by CPUs that post a message
 * @dropped: number of messages ever dropped
 * @tail: number of messages ever taken out; written under @lock
 * @told: how many of @dropped a reader knows of; under @lock
 * @lock: serialises readers.  No other lock is taken inside
 */
struct kdtl_msgq {
	struct kdtl_msg	*slots;
	unsigned int	nr_slots;
	u32		types;
	bool		pause;
	atomic64_t	head;
	atomic64_t	dropped;
	aligned_u64	tail;
	u64		told;
	raw_spinlock_t	lock;
};

/* Are messages of this type posted? */
static inline bool kdtl_msgq_posts(const struct kdtl_msgq *q, enum kdtl_msg_type type)
{
	return q->types & BIT(type);
}

/*
 * Is each wake-up for the readers of messages?  It is if all types are posted: then there is a
 * message for it, or one was dropped.  It is also without a queue, where kdtl_read() returns 0 for
 * each wake-up.  But if the client chose some types, it may be for data, of which no message tells.
 */
static inline bool kdtl_msgq_takes_all(const struct kdtl_msgq *q)
{
	return !q->slots || q->types == KDTL_MSG_TYPES;
}

int kdtl_msgq_init(struct kdtl_msgq *q, unsigned int pages, u32 types, bool pause);
void kdtl_msgq_free(struct kdtl_msgq *q);
void kdtl_msgq_put(struct kdtl_msgq *q, struct kdtl_msg *msg);
bool kdtl_msgq_get(struct kdtl_msgq *q, struct kdtl_msg *msg, bool *last);
bool kdtl_msgq_empty(struct kdtl_msgq *q);
void kdtl_msgq_reset(struct kdtl_msgq *q);

#endif /* _KDTL_MSGQ_H */
