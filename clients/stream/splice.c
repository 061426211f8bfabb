// SPDX-License-Identifier: GPL-2.0
/*
 * splice(): the log's own pages in a pipe
 *
 * What is in a pipe must not be written again, so it is given back to the
 * writer when the last pipe has let go of it, in the order in which it was
 * logged.  Until then it is a chunk of the CPU, and what is read meanwhile is
 * added to the last chunk.
 */
#include <linux/file.h>
#include <linux/mm.h>
#include <linux/pipe_fs_i.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/splice.h>
#include <linux/vmalloc.h>

#include "stream.h"

/**
 * struct stream_chunk - bytes of a CPU that are in a pipe
 * @node: in stream_cpu::chunks
 * @users: pipe buffers, and who makes it
 * @done: there are none any more
 * @bytes: up to the next chunk
 * @cpu: whose
 * @file: held, and with it the stream and the module
 */
struct stream_chunk {
	struct list_head	node;
	refcount_t		users;
	bool			done;
	u64			bytes;
	int			cpu;
	struct file		*file;
};

/**
 * stream_consume() - give back what stream_peek() showed
 * @st: the stream
 * @cpu: whose
 * @bytes: how many
 *
 * Context: under st->verbs.
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

static struct stream_chunk *stream_chunk_add(struct file *file, int cpu, u64 bytes)
{
	struct stream *st = file->private_data;
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, cpu);
	struct stream_chunk *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return NULL;
	refcount_set(&c->users, 1);
	c->bytes = bytes;
	c->cpu = cpu;
	c->file = get_file(file);
	spin_lock(&sc->lock);
	list_add_tail(&c->node, &sc->chunks);
	sc->ahead += bytes;
	spin_unlock(&sc->lock);
	return c;
}

/* It did not get into the pipe: it has not been read. */
static void stream_chunk_cancel(struct stream *st, struct stream_chunk *c)
{
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, c->cpu);

	spin_lock(&sc->lock);
	sc->ahead -= c->bytes;
	c->bytes = 0;
	spin_unlock(&sc->lock);
}

static void stream_chunk_put(struct stream_chunk *c)
{
	struct stream *st = c->file->private_data;
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, c->cpu);
	struct stream_chunk *next;
	LIST_HEAD(gone);

	if (!refcount_dec_and_test(&c->users))
		return;
	spin_lock(&sc->lock);
	c->done = true;
	list_for_each_entry_safe(c, next, &sc->chunks, node) {
		if (!c->done)
			break;
		kdtl_aux_consume(st->session, c->cpu, c->bytes);
		sc->ahead -= c->bytes;
		list_move_tail(&c->node, &gone);
	}
	spin_unlock(&sc->lock);

	list_for_each_entry_safe(c, next, &gone, node) {
		fput(c->file);
		kfree(c);
	}
}

static void stream_pipe_release(struct pipe_inode_info *pipe, struct pipe_buffer *buf)
{
	stream_chunk_put((struct stream_chunk *)buf->private);
}

static bool stream_pipe_get(struct pipe_inode_info *pipe, struct pipe_buffer *buf)
{
	refcount_inc(&((struct stream_chunk *)buf->private)->users);
	return true;
}

static const struct pipe_buf_operations stream_pipe_ops = {
	.release	= stream_pipe_release,
	.get		= stream_pipe_get,
};

static void stream_spd_release(struct splice_pipe_desc *spd, unsigned int i)
{
	stream_chunk_put((struct stream_chunk *)spd->partial[i].private);
}

/* How much of a span fits into so many pages, in whole entries. */
static u64 stream_fit(const void *span, u64 len, unsigned int slots)
{
	len = min_t(u64, len, ((u64)slots << PAGE_SHIFT) - offset_in_page(span));
	return stream_whole(len);
}

/* One CPU's span into the pipe. */
static ssize_t stream_splice_span(struct file *file, struct pipe_inode_info *pipe,
				  int cpu, const void *span, u64 len)
{
	struct page *pages[PIPE_DEF_BUFFERS];
	struct partial_page partial[PIPE_DEF_BUFFERS];
	struct splice_pipe_desc spd = {
		.pages		= pages,
		.partial	= partial,
		.nr_pages_max	= PIPE_DEF_BUFFERS,
		.ops		= &stream_pipe_ops,
		.spd_release	= stream_spd_release,
	};
	struct stream_chunk *c;
	ssize_t ret;

	c = stream_chunk_add(file, cpu, len);
	if (!c)
		return -ENOMEM;
	while (len) {
		const unsigned int offset = offset_in_page(span);
		const unsigned int n = min_t(u64, len, PAGE_SIZE - offset);

		pages[spd.nr_pages] = vmalloc_to_page(span);
		partial[spd.nr_pages].offset = offset;
		partial[spd.nr_pages].len = n;
		partial[spd.nr_pages].private = (unsigned long)c;
		refcount_inc(&c->users);
		spd.nr_pages++;
		span += n;
		len -= n;
	}
	ret = splice_to_pipe(pipe, &spd);
	/* There was room for all of it, so it is all or nothing. */
	if (ret < 0)
		stream_chunk_cancel(file->private_data, c);
	stream_chunk_put(c);
	return ret;
}

/* The first CPU that has something, after the one that was served last. */
static ssize_t stream_splice_next(struct file *file, struct pipe_inode_info *pipe, u64 len)
{
	const unsigned int used = pipe_occupancy(pipe->head, pipe->tail);
	struct stream *st = file->private_data;
	unsigned int slots, nr = cpumask_weight(st->cpus);
	const void *span;
	u64 n;

	if (used >= pipe->max_usage)
		return -EAGAIN;
	slots = min_t(unsigned int, pipe->max_usage - used, PIPE_DEF_BUFFERS);
	while (nr--) {
		const int cpu = st->next;

		n = min(len, stream_peek(st, cpu, &span));
		st->next = cpumask_next(cpu, st->cpus);
		if (st->next >= nr_cpu_ids)
			st->next = cpumask_first(st->cpus);
		n = stream_fit(span, n, slots);
		if (n)
			return stream_splice_span(file, pipe, cpu, span, n);
	}
	return -EAGAIN;
}

/**
 * stream_splice() - move whole entries into a pipe, without copying them
 * @file: of /dev/kdtl
 * @pos: not used
 * @pipe: where to
 * @len: how much
 * @flags: SPLICE_F_*
 *
 * Does not wait for the writer as long as there is something in the pipe: it
 * may be what fills the log, and its reader waits for the pipe's lock.
 *
 * Return: as stream_read().
 */
ssize_t stream_splice(struct file *file, loff_t *pos, struct pipe_inode_info *pipe,
		      size_t len, unsigned int flags)
{
	const bool noblock = file->f_flags & O_NONBLOCK || flags & SPLICE_F_NONBLOCK ||
		!pipe_empty(pipe->head, pipe->tail);
	struct stream *st = file->private_data;
	ssize_t ret;

	if (len < KDTL_ENTRY_SIZE)
		return -EINVAL;
	ret = mutex_lock_interruptible(&st->verbs);
	if (ret)
		return ret;
	ret = stream_begin(st);
	if (!ret)
		ret = stream_wait(st, noblock);
	if (ret > 0)
		ret = stream_splice_next(file, pipe, len);
	mutex_unlock(&st->verbs);
	return ret;
}
