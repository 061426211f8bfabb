// SPDX-License-Identifier: GPL-2.0
/*
 * Finds what a reader gets next, and gives back to the writer what was read
 *
 * The pages of a chunk are in a pipe, so they must not be written again until
 * the last pipe has dropped them, and also everything that got them from a pipe:
 * a socket holds the pages that it still sends.  It tells nobody when it drops
 * them, so a work item checks.  Chunks go back in the order in which they were logged;
 * entries that are read meanwhile are added to the last chunk.
 */
#include <linux/file.h>
#include <linux/kdtl_verbs.h>
#include <linux/mm.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "../../core/compat.h"
#include "stream.h"

/* How long a socket may have sent a page before its memory is used again. */
#define STREAM_LOOK_AGAIN	msecs_to_jiffies(10)

/**
 * struct stream_chunk - bytes of a CPU that are in a pipe
 * @node: in stream_cpu::chunks
 * @users: pipe buffers, and the maker of the chunk
 * @done: there are no users any more
 * @bytes: number of bytes up to the next chunk
 * @len: those of @bytes that are in pipes; they come first
 * @cpu: the CPU that logged them
 * @file: held until @done, and with it the stream and the module
 */
struct stream_chunk {
	struct list_head	node;
	refcount_t		users;
	bool			done;
	u64			bytes;
	u64			len;
	int			cpu;
	struct file		*file;
};

/**
 * stream_peek() - find the entries of a CPU that have not been read
 * @st: the stream
 * @cpu: the CPU
 * @span: set to the first byte
 *
 * Context: task; stream::session is set.
 * Return: length in bytes, whole entries.
 */
u64 stream_peek(struct stream *st, int cpu, const void **span)
{
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, cpu);
	ssize_t len;
	u64 n = 0;

	*span = NULL;
	/* A chunk that comes back moves both the tail and ahead. */
	spin_lock(&sc->lock);
	len = kdtl_aux_peek(st->session, cpu, span);
	if (len > 0 && (u64)len > sc->ahead) {
		n = len - sc->ahead;
		*span += sc->ahead;
	}
	spin_unlock(&sc->lock);
	return stream_whole(n);
}

/**
 * stream_consume() - give back what stream_peek() showed
 * @st: the stream
 * @cpu: the CPU
 * @bytes: length of what was read
 *
 * Context: under stream::verbs.
 */
void stream_consume(struct stream *st, int cpu, u64 bytes)
{
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, cpu);

	spin_lock(&sc->lock);
	if (list_empty(&sc->chunks)) {
		kdtl_aux_consume(st->session, cpu, bytes);
	} else {
		list_last_entry(&sc->chunks, struct stream_chunk, node)->bytes += bytes;
		sc->ahead += bytes;
	}
	spin_unlock(&sc->lock);
}

/**
 * stream_next_cpu() - go on to the next CPU, so that each gets its turn
 * @st: the stream
 *
 * Context: under stream::verbs.
 */
void stream_next_cpu(struct stream *st)
{
	st->next = cpumask_next(st->next, st->cpus);
	if (st->next >= nr_cpu_ids)
		st->next = cpumask_first(st->cpus);
}

/* ------------------------------------------------------------------ chunks */

/**
 * stream_chunk_add() - consume bytes, but keep them until a pipe has dropped them
 * @file: of /dev/kdtl
 * @cpu: the CPU
 * @bytes: length, from what stream_peek() showed
 *
 * This fails while the area is mapped, because user space then moves the tail, and knows nothing of
 * what is in pipes.  The area may also have been mapped, and read, since stream_peek().
 *
 * Context: under stream::verbs.
 * Return: a chunk with one user, the caller; or ERR_PTR:
 *
 * * -ENOMEM: no memory
 * * -EBUSY: the area is mapped, or was
 */
struct stream_chunk *stream_chunk_add(struct file *file, int cpu, u64 bytes)
{
	struct stream *st = file->private_data;
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, cpu);
	struct stream_chunk *c = kzalloc(sizeof(*c), GFP_KERNEL);
	struct kdtl_aux_info info;
	bool there;

	if (!c)
		return ERR_PTR(-ENOMEM);
	refcount_set(&c->users, 1);
	c->bytes = bytes;
	c->len = bytes;
	c->cpu = cpu;
	spin_lock(&sc->lock);
	kdtl_aux_info(st->session, cpu, &info);
	there = !st->aux_maps && info.head - info.tail >= sc->ahead + bytes;
	if (there) {
		c->file = get_file(file);
		list_add_tail(&c->node, &sc->chunks);
		sc->ahead += bytes;
	}
	spin_unlock(&sc->lock);
	if (there)
		return c;
	kfree(c);
	return ERR_PTR(-EBUSY);
}

/**
 * stream_chunk_get() - add a user
 * @c: the chunk
 *
 * Context: any.
 */
void stream_chunk_get(struct stream_chunk *c)
{
	refcount_inc(&c->users);
}

/* Does anything still hold a page of a CPU's oldest chunk, although no pipe does? */
static bool stream_chunk_held(struct stream *st, const struct stream_chunk *c)
{
	const void *span, *at;

	if (kdtl_aux_peek(st->session, c->cpu, &span) < (ssize_t)c->len)
		return false;
	/* The area has one reference to each page, and is not mapped. */
	for (at = PTR_ALIGN_DOWN(span, PAGE_SIZE); at < span + c->len; at += PAGE_SIZE) {
		if (page_ref_count(vmalloc_to_page(at)) > 1)
			return true;
	}
	return false;
}

/* Give back the chunks that nothing holds any more; false: a socket still holds one. */
static bool stream_chunks_return(struct stream *st, struct stream_cpu *sc)
{
	struct stream_chunk *c, *next;
	bool all = true;

	spin_lock(&sc->lock);
	list_for_each_entry_safe(c, next, &sc->chunks, node) {
		if (!c->done)
			break;
		all = !stream_chunk_held(st, c);
		if (!all)
			break;
		kdtl_aux_consume(st->session, c->cpu, c->bytes);
		sc->ahead -= c->bytes;
		list_del(&c->node);
		kfree(c);
	}
	spin_unlock(&sc->lock);
	return all;
}

/**
 * stream_look_again() - give back what sockets have sent meanwhile
 * @work: stream::look_again
 *
 * Context: work item.
 */
void stream_look_again(struct work_struct *work)
{
	struct stream *st = container_of(work, struct stream, look_again.work);
	bool all = true;
	int cpu;

	for_each_cpu(cpu, st->cpus)
		all &= stream_chunks_return(st, per_cpu_ptr(st->percpu, cpu));
	if (!all)
		queue_delayed_work(system_dfl_wq, &st->look_again, STREAM_LOOK_AGAIN);
}

/**
 * stream_chunk_put() - remove a user; the last one gives the bytes back
 * @c: the chunk
 *
 * Context: task.
 */
void stream_chunk_put(struct stream_chunk *c)
{
	struct file *file = c->file;
	struct stream *st = file->private_data;
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, c->cpu);

	if (!refcount_dec_and_test(&c->users))
		return;
	spin_lock(&sc->lock);
	c->done = true;
	spin_unlock(&sc->lock);
	if (!stream_chunks_return(st, sc))
		queue_delayed_work(system_dfl_wq, &st->look_again, STREAM_LOOK_AGAIN);
	fput(file);
}

/**
 * stream_chunks_free() - forget the chunks that sockets still have
 * @st: the stream; no pipe has any
 *
 * Their pages stay until the sockets have sent them.
 *
 * Context: when the file is released, before its session is closed; may sleep.
 */
void stream_chunks_free(struct stream *st)
{
	struct stream_chunk *c, *next;
	int cpu;

	cancel_delayed_work_sync(&st->look_again);
	for_each_possible_cpu(cpu) {
		list_for_each_entry_safe(c, next, &per_cpu_ptr(st->percpu, cpu)->chunks, node)
			kfree(c);
	}
}

/* ----------------------------------------------------------------- waiting */

/**
 * stream_unread() - the largest number of unread bytes of any CPU
 * @st: the stream
 *
 * This must not peek, as any number of pollers may call it beside the reader.
 *
 * Context: task; stream::session is set.
 * Return: bytes.
 */
u64 stream_unread(struct stream *st)
{
	struct kdtl_aux_info info;
	struct stream_cpu *sc;
	u64 most = 0;
	int cpu;

	kdtl_for_each_cpu(cpu, st->session) {
		sc = per_cpu_ptr(st->percpu, cpu);
		/* A chunk that comes back moves both the tail and ahead. */
		spin_lock(&sc->lock);
		kdtl_aux_info(st->session, cpu, &info);
		if (info.head - info.tail > sc->ahead)
			most = max(most, stream_whole(info.head - info.tail - sc->ahead));
		spin_unlock(&sc->lock);
	}
	return most;
}

/**
 * stream_readable() - is it time to read?
 * @st: the stream
 *
 * Context: task; stream::session is set.
 * Return: true if a CPU has its watermark, or if there are entries and the
 * session has woken the reader since there were none.
 */
bool stream_readable(struct stream *st)
{
	/* Read it before looking at the entries: a later wake-up is about later entries. */
	const unsigned int wakes = atomic_read(&st->wakes);
	const u64 unread = stream_unread(st);

	if (!unread)
		WRITE_ONCE(st->seen, wakes);
	return unread >= st->watermark || (unread && wakes != READ_ONCE(st->seen));
}

/**
 * stream_mapped_readable() - stream_readable() of a file whose area is mapped
 * @st: the stream
 *
 * Only user space knows how far it has read, so each wake-up counts once.
 *
 * Context: task; stream::session is set.
 * Return: true if there was a wake-up, or there is a watermark of entries.
 */
bool stream_mapped_readable(struct stream *st)
{
	const unsigned int wakes = atomic_read(&st->wakes);

	return xchg(&st->seen, wakes) != wakes || stream_unread(st) >= st->watermark;
}

/* Is there something to read?  -EAGAIN: not yet. */
static int stream_ready(struct stream *st, bool noblock)
{
	/* This also marks the wake-ups as seen if there is nothing. */
	const bool readable = stream_readable(st);

	if (readable || (noblock && stream_unread(st)))
		return 1;
	if (st->running)
		return -EAGAIN;
	return stream_unread(st) ? 1 : 0;
}

/**
 * stream_wait() - take stream::verbs when there is something to read
 * @st: the stream; started with the defaults if it was not set up
 * @noblock: do not wait
 *
 * The holder of stream::verbs may wait for user memory, and so for a process that serves it.  So
 * every wait for this mutex ends with a signal.
 *
 * Context: task.
 * Return:
 *
 * * 1: there may be something, and the caller unlocks stream::verbs; it is not held otherwise
 * * 0: it is stopped, and all has been read
 * * -EAGAIN: there is nothing now
 * * -EINVAL: it is in overwrite mode
 * * -EBUSY: the AUX area is mapped
 * * -ERESTARTSYS, -EINTR: a signal
 * * an error of stream_start_default()
 */
int stream_wait(struct stream *st, bool noblock)
{
	bool wait;
	int err;

	do {
		err = mutex_lock_interruptible(&st->verbs);
		if (err)
			return err;
		wait = false;
		err = stream_start_default(st);
		if (!err && st->overwrite)
			err = -EINVAL;
		if (!err && READ_ONCE(st->aux_maps))
			err = -EBUSY;
		if (!err) {
			err = stream_ready(st, noblock);
			wait = err == -EAGAIN && !noblock;
		}
		if (err <= 0)
			mutex_unlock(&st->verbs);
		if (wait)
			err = wait_event_interruptible(st->waitq, stream_readable(st) ||
						       !READ_ONCE(st->running));
	} while (wait && !err);
	return err;
}
