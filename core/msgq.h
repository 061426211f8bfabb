/* SPDX-License-Identifier: GPL-2.0 */
/* A session's queue of messages. */
#ifndef _KDTL_MSGQ_H
#define _KDTL_MSGQ_H

#include <linux/kdtl.h>
#include <linux/spinlock.h>

/* All types, 1 << &enum kdtl_msg_type. */
#define KDTL_MSG_TYPES	(BIT(KDTL_NR_MSG_TYPES) - BIT(KDTL_MSG_AUX))

/* Extra slots: one for a KDTL_MSG_OVERFLOW that pauses, one for KDTL_MSG_END. */
#define KDTL_MSGQ_KEPT	2

/**
 * struct kdtl_msgq - a FIFO that drops new messages when it is full
 * @lock: protects the rest.  No other lock is taken inside; taken under the
 *	runqueue lock
 * @slots: the messages; NULL if the session has no queue
 * @nr_slots: slots for messages of any type; there are KDTL_MSGQ_KEPT more
 * @types: those that are posted, 1 << &enum kdtl_msg_type; others are thrown away
 * @pause: an overflow pauses the CPU, so a reader without its message would wait
 *	for ever
 * @head: number of messages ever put in
 * @tail: number of messages ever taken out
 * @dropped: messages dropped since the last one that was put in
 */
struct kdtl_msgq {
	raw_spinlock_t	lock;
	struct kdtl_msg	*slots;
	unsigned int	nr_slots;
	u32		types;
	bool		pause;
	u64		head;
	u64		tail;
	u64		dropped;
};

/* Is there a message, or was one dropped, for every wake-up? */
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
