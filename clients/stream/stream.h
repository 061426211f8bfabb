/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A file of /dev/kdtl
 *
 * Its code is in layers; a file calls only those below it:
 *
 *	stream.c			the device: open, ioctl, release
 *	read.c, splice.c, mmap.c	the ways to get at the entries
 *	tasks.c				what the tasks of the entries are, and which wait
 *	reader.c			which entries are next, and giving them back
 *	session.c			the kdtl session of the file
 *	budget.c			how many sessions users may have
 *	ring.c				the records and positions that are mapped
 */
#ifndef _KDTL_STREAM_H
#define _KDTL_STREAM_H

#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/kdtl_answers.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

/**
 * struct stream_ring - what is mapped at offset 0
 * @page: the first page; user space writes to it as well
 * @data: the records
 * @size: bytes of @data, a power of two or 0
 * @head: where the next record goes
 * @lost: records that found no room
 * @keep: user space moves data_tail, so unread records are not overwritten
 * @pages: pages in all
 * @maps: mappings of the ring and of the AUX area
 * @aux_pgoff: where the AUX area is mapped, in pages
 */
struct stream_ring {
	struct perf_event_mmap_page	*page;
	void				*data;
	u64				size;
	u64				head;
	u64				lost;
	bool				keep;
	unsigned long			pages;
	unsigned int			maps;
	unsigned long			aux_pgoff;
};

/**
 * struct stream_cpu - entries of a CPU that were read, but not yet given back
 * @lock: protects the other fields
 * @chunks: chunks that pipes, or others that got pages from a pipe, still hold, oldest first
 * @ahead: bytes that were read beyond the area's tail
 */
struct stream_cpu {
	spinlock_t		lock;
	struct list_head	chunks;
	u64			ahead;
};

/**
 * struct stream - a file of /dev/kdtl
 * @verbs: serialises setup, start, stop and readers; protects the fields that
 *	they set. Held while user memory is accessed, so never taken under the
 *	mmap lock
 * @session: set once; cleared by release, under @ring_lock
 * @tasks: what the tasks of the entries are, set before @session; NULL: the source names none
 * @cpus: CPUs of the session; constant once @session is set
 * @cpu: the CPU, if there is only one, or -1
 * @overwrite: set up with KDTL_STREAM_OVERWRITE
 * @watermark: in bytes
 * @running: started, and not stopped since
 * @start_again: the next reader starts it, because it has the defaults and was neither started
 *	nor stopped, or because a reader could not start it
 * @next: the CPU to read first
 * @percpu: struct stream_cpu of each CPU
 * @look_again: gives back what sockets have sent
 * @waitq: where readers and pollers wait
 * @wake: wakes them, outside the session's own context
 * @wakes: number of wake-ups
 * @seen: value of @wakes when a reader last found nothing to read
 * @budgeted: counted among the sessions of users without CAP_SYS_ADMIN
 * @asked: when such a user asked last who waits, CLOCK_MONOTONIC in ns; 0: never
 * @mm: memory of the process that opened the file; charged for the stream's memory
 * @charged: pages charged for the session
 * @maps: protects the mappings. Taken under the mmap lock
 * @ring_lock: protects @ring and its content from @wake; taken in hard irq
 * @ring: what is mapped at offset 0; changed under both locks
 * @aux_maps: mappings of the AUX area; changed under both locks, and the first one is made
 *	under stream_cpu::lock, while no entries are in pipes
 */
struct stream {
	struct mutex			verbs;
	struct kdtl_session		*session;
	struct kdtl_tasks		*tasks;
	cpumask_var_t			cpus;
	int				cpu;
	bool				overwrite;
	u64				watermark;
	bool				running;
	bool				start_again;
	int				next;
	struct stream_cpu __percpu	*percpu;
	struct delayed_work		look_again;

	wait_queue_head_t		waitq;
	struct irq_work			wake;
	atomic_t			wakes;
	unsigned int			seen;

	bool				budgeted;
	u64				asked;
	struct mm_struct		*mm;
	unsigned long			charged;

	struct mutex			maps;
	spinlock_t			ring_lock;
	struct stream_ring		*ring;
	unsigned int			aux_maps;
};

/* Round down to whole entries. 32-bit CPUs have no % of 64 bits. */
static inline u64 stream_whole(u64 bytes)
{
	u32 rest;

	div_u64_rem(bytes, KDTL_ENTRY_SIZE, &rest);
	return bytes - rest;
}

/* Once this returns a session, all that setup wrote can be read without a lock. */
static inline struct kdtl_session *stream_session(struct stream *st)
{
	/* Pairs with the release in stream_setup(). */
	return smp_load_acquire(&st->session);
}

/* ring.c */
struct stream_ring *stream_ring_alloc(unsigned long pages);
void stream_ring_free(struct stream_ring *ring);
int stream_ring_map(struct stream_ring *ring, struct vm_area_struct *vma);
void stream_ring_start_aux(struct stream_ring *ring, u64 tail);
void stream_publish(struct stream *st);

/* budget.c */
int stream_budget_take(struct stream *st, struct kdtl_session_attr *sa);
void stream_budget_give(struct stream *st);
int stream_budget_ask(struct stream *st);

/* session.c */
bool stream_defaults_valid(void);
int stream_charge(struct mm_struct *mm, unsigned long pages);
void stream_uncharge(struct mm_struct *mm, unsigned long pages);
void stream_session_init(struct stream *st);
int stream_setup(struct stream *st, const struct kdtl_stream_attr *attr);
int stream_setup_default(struct stream *st);
int stream_start(struct stream *st);
int stream_start_default(struct stream *st);
int stream_stop(struct stream *st);
int stream_info(struct stream *st, struct kdtl_stream_info *info);
int stream_clock(struct stream *st, struct kdtl_stream_clock *clock);
void stream_session_close(struct stream *st);

/* reader.c */
struct stream_chunk;

u64 stream_peek(struct stream *st, int cpu, const void **span);
void stream_consume(struct stream *st, int cpu, u64 bytes);
void stream_next_cpu(struct stream *st);
u64 stream_unread(struct stream *st);
bool stream_readable(struct stream *st);
bool stream_mapped_readable(struct stream *st);
int stream_wait(struct stream *st, bool noblock);
struct stream_chunk *stream_chunk_add(struct file *file, int cpu, u64 bytes);
void stream_chunk_get(struct stream_chunk *c);
void stream_chunk_put(struct stream_chunk *c);
void stream_chunks_free(struct stream *st);
void stream_look_again(struct work_struct *work);

/* read.c */
ssize_t stream_read(struct file *file, char __user *buf, size_t count, loff_t *pos);
__poll_t stream_poll(struct file *file, struct poll_table_struct *pt);

/* splice.c */
ssize_t stream_splice(struct file *file, loff_t *pos, struct pipe_inode_info *pipe,
		      size_t len, unsigned int flags);

/* tasks.c */
int stream_tasks(struct stream *st, struct kdtl_stream_tasks *req);
int stream_cgroup(struct stream *st, struct kdtl_stream_cgroup *req);
int stream_waits(struct stream *st, struct kdtl_stream_waits *req);

/* mmap.c */
int stream_mmap(struct file *file, struct vm_area_struct *vma);

#endif /* _KDTL_STREAM_H */
