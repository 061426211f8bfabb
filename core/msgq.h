/* SPDX-License-Identifier: GPL-2.0 */
/* A session's queue of messages. */
#ifndef _KDTL_MSGQ_H
#define _KDTL_MSGQ_H

#include <linux/kdtl.h>
#include <linux/spinlock.h>

/* For a KDTL_MSG_OVERFLOW that pauses, and for KDTL_MSG_END. */
#define KDTL_MSGQ_KEPT	2

/**
 * struct kdtl_msgq - first in, first out; the newest are dropped when full
 * @lock: protects the rest.  A leaf: taken under the runqueue lock
 * @slots: the messages; NULL: there is no queue
 * @nr_slots: how many fit, of any type; KDTL_MSGQ_KEPT more are kept for some
 * @pause: an overflow pauses, so a reader that is not told would wait for ever
 * @head: messages put in, ever
 * @tail: messages taken out, ever
 * @dropped: since the last one that fit
 */
struct kdtl_msgq {
	raw_spinlock_t	lock;
	struct kdtl_msg	*slots;
	unsigned int	nr_slots;
	bool		pause;
	u64		head;
	u64		tail;
	u64		dropped;
};

int kdtl_msgq_init(struct kdtl_msgq *q, unsigned int pages, bool pause);
void kdtl_msgq_free(struct kdtl_msgq *q);
void kdtl_msgq_put(struct kdtl_msgq *q, struct kdtl_msg *msg);
bool kdtl_msgq_get(struct kdtl_msgq *q, struct kdtl_msg *msg, bool *last);
bool kdtl_msgq_empty(struct kdtl_msgq *q);
void kdtl_msgq_reset(struct kdtl_msgq *q);

#endif /* _KDTL_MSGQ_H */
