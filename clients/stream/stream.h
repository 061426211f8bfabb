/* SPDX-License-Identifier: GPL-2.0 */
/* What a file of /dev/kdtl is. */
#ifndef _KDTL_STREAM_H
#define _KDTL_STREAM_H

#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/math64.h>
#include <linux/kdtl.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

struct stream_ring;

/**
 * struct stream_cpu - what was read of a CPU, but not yet given back
 * @lock: protects the rest
 * @chunks: in pipes, oldest first
 * @ahead: their bytes: what was read beyond the tail
 */
struct stream_cpu {
	spinlock_t		lock;
	struct list_head	chunks;
	u64			ahead;
};

/**
 * struct stream - a file of /dev/kdtl
 * @verbs: serialises setting up, start, stop and readers; protects what is set
 *	by them. Held while user memory is accessed, so never taken under the
 *	mmap lock
 * @session: set once; cleared by release, under @ring_lock
 * @cpus: the session's; does not change once @session is set
 * @cpu: the only one, or -1
 * @overwrite: see KDTL_STREAM_OVERWRITE
 * @watermark: in bytes
 * @running: started, not stopped
 * @begins: set up by a reader for whom it could not be started
 * @next: the CPU to be read first
 * @percpu: by CPU, struct stream_cpu
 * @waitq: where readers and pollers wait
 * @wake: wakes them, out of the session's context
 * @wakes: how many wake-ups there were
 * @seen: of these, when nothing more was found to read
 * @mm: of who opened it, charged with the memory
 * @charged: pages of the session
 * @maps: protects the mappings. Taken under the mmap lock
 * @ring_lock: protects @ring and its content from @wake; taken in hard irq
 * @ring: what is mapped at offset 0; changed under both locks
 * @aux_maps: mappings of the AUX area
 */
struct stream {
	struct mutex			verbs;
	struct kdtl_session		*session;
	cpumask_var_t			cpus;
	int				cpu;
	bool				overwrite;
	u64				watermark;
	bool				running;
	bool				begins;
	int				next;
	struct stream_cpu __percpu	*percpu;

	wait_queue_head_t		waitq;
	struct irq_work			wake;
	atomic_t			wakes;
	unsigned int			seen;

	struct mm_struct		*mm;
	unsigned long			charged;

	struct mutex			maps;
	spinlock_t			ring_lock;
	struct stream_ring		*ring;
	unsigned int			aux_maps;
};

/* So many of these bytes are whole entries; 32 bits have no % of 64. */
static inline u64 stream_whole(u64 bytes)
{
	u32 rest;

	div_u64_rem(bytes, KDTL_ENTRY_SIZE, &rest);
	return bytes - rest;
}

/* The session if there is one: then all that does not change can be read. */
static inline struct kdtl_session *stream_session(struct stream *st)
{
	/* Pairs with the release in stream_setup(). */
	return smp_load_acquire(&st->session);
}

/* stream.c */
int stream_charge(struct mm_struct *mm, unsigned long pages);
void stream_uncharge(struct mm_struct *mm, unsigned long pages);
int stream_begin(struct stream *st);

/* read.c */
u64 stream_peek(struct stream *st, int cpu, const void **span);
int stream_wait(struct stream *st, bool noblock);
ssize_t stream_read(struct file *file, char __user *buf, size_t count, loff_t *pos);
__poll_t stream_poll(struct file *file, struct poll_table_struct *pt);

/* splice.c */
void stream_consume(struct stream *st, int cpu, u64 bytes);
ssize_t stream_splice(struct file *file, loff_t *pos, struct pipe_inode_info *pipe,
		      size_t len, unsigned int flags);

/* mmap.c */
int stream_mmap(struct file *file, struct vm_area_struct *vma);
void stream_publish(struct stream *st);

#endif /* _KDTL_STREAM_H */
