/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A sequence lock whose readers give up
 *
 * The kernel's own readers wait until the writer has finished.  A reader in NMI, or in a
 * panic that has stopped the writer's CPU, would wait for ever.
 */
#ifndef _KDTL_SEQTRY_H
#define _KDTL_SEQTRY_H

#include <linux/processor.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>

#define KDTL_SEQ_TRIES	10000

/**
 * struct kdtl_seqtry - a lock for data that are seldom written
 * @lock: serialises writers, taken with interrupts off
 * @seq: odd while somebody writes
 */
struct kdtl_seqtry {
	raw_spinlock_t			lock;
	seqcount_raw_spinlock_t		seq;
};

#define KDTL_SEQTRY_INIT(name)	{						\
	.lock = __RAW_SPIN_LOCK_UNLOCKED((name).lock),				\
	.seq = SEQCNT_RAW_SPINLOCK_ZERO((name).seq, &(name).lock),		\
}

static inline void kdtl_seqtry_write(struct kdtl_seqtry *l, unsigned long *flags)
	__acquires(&l->lock)
{
	raw_spin_lock_irqsave(&l->lock, *flags);
	write_seqcount_begin(&l->seq);
}

static inline void kdtl_seqtry_written(struct kdtl_seqtry *l, unsigned long flags)
	__releases(&l->lock)
{
	write_seqcount_end(&l->seq);
	raw_spin_unlock_irqrestore(&l->lock, flags);
}

/**
 * kdtl_seqtry_begin() - begin to read data that may change meanwhile
 * @l: the lock
 * @tries: KDTL_SEQ_TRIES at first
 * @seq: for read_seqcount_retry(), which says whether to begin again
 *
 * Context: any.
 * Return: true, or false to give up.
 */
static inline bool kdtl_seqtry_begin(const struct kdtl_seqtry *l, unsigned int *tries,
				     unsigned int *seq)
{
	while (*tries) {
		--*tries;
		*seq = raw_read_seqcount(&l->seq);
		if (!(*seq & 1))
			return true;
		cpu_relax();
	}
	return false;
}

#endif /* _KDTL_SEQTRY_H */
