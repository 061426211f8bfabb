// SPDX-License-Identifier: GPL-2.0
/* splice(): the log's own pages go into a pipe. */
#include <linux/mm.h>
#include <linux/pipe_fs_i.h>
#include <linux/splice.h>
#include <linux/vmalloc.h>

#include "stream.h"

static void stream_pipe_release(struct pipe_inode_info *pipe, struct pipe_buffer *buf)
{
	stream_chunk_put((struct stream_chunk *)buf->private);
}

static bool stream_pipe_get(struct pipe_inode_info *pipe, struct pipe_buffer *buf)
{
	stream_chunk_get((struct stream_chunk *)buf->private);
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

/* The part of a span that fits into the free slots of a pipe, in whole entries. */
static u64 stream_fit(const void *span, u64 len, unsigned int slots)
{
	len = min_t(u64, len, ((u64)slots << PAGE_SHIFT) - offset_in_page(span));
	return stream_whole(len);
}

/* Move a CPU's span into the pipe. */
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
	if (IS_ERR(c))
		return PTR_ERR(c);
	while (len) {
		const unsigned int offset = offset_in_page(span);
		const unsigned int n = min_t(u64, len, PAGE_SIZE - offset);

		pages[spd.nr_pages] = vmalloc_to_page(span);
		partial[spd.nr_pages].offset = offset;
		partial[spd.nr_pages].len = n;
		partial[spd.nr_pages].private = (unsigned long)c;
		stream_chunk_get(c);
		spd.nr_pages++;
		span += n;
		len -= n;
	}
	/*
	 * This takes all of it: splice() has looked for a reader, and stream_splice_next() for
	 * room, and the pipe has been locked since.
	 */
	ret = splice_to_pipe(pipe, &spd);
	stream_chunk_put(c);
	return ret;
}

/* Move entries of the first CPU that has any, searching from stream::next on. */
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
		stream_next_cpu(st);
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
 * @len: how many bytes at most
 * @flags: SPLICE_F_*
 *
 * While the pipe holds something, this does not wait for entries: the pipe is
 * locked, so its reader could not go on, and what is in it may be the reason why
 * the log is full.
 *
 * Context: system call, under the pipe's lock.
 * Return: as stream_read(); also -EINVAL: the pipe has room for one page only.
 */
ssize_t stream_splice(struct file *file, loff_t *pos, struct pipe_inode_info *pipe,
		      size_t len, unsigned int flags)
{
	const bool noblock = file->f_flags & O_NONBLOCK || flags & SPLICE_F_NONBLOCK ||
		!pipe_empty(pipe->head, pipe->tail);
	struct stream *st = file->private_data;
	ssize_t ret;

	/* An entry may begin in one page and end in the next, and then takes two slots. */
	if (len < KDTL_ENTRY_SIZE || pipe->max_usage < 2)
		return -EINVAL;
	ret = stream_wait(st, noblock);
	if (ret <= 0)
		return ret;
	ret = stream_splice_next(file, pipe, len);
	mutex_unlock(&st->verbs);
	return ret;
}
