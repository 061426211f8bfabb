// SPDX-License-Identifier: GPL-2.0
/*
 * The pages that are mapped at offset 0: positions, and a ring of records
 *
 * The layout is that of a perf event.
 */
#define pr_fmt(fmt) "kdtl_stream: " fmt

#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "stream.h"

struct stream_rec_aux {
	struct perf_event_header	header;
	u64				offset;
	u64				size;
	u64				flags;
};

struct stream_rec_lost {
	struct perf_event_header	header;
	u64				id;
	u64				lost;
};

struct stream_rec_lost_samples {
	struct perf_event_header	header;
	u64				lost;
};

/*
 * Positions that user space reads and writes at the same time.  They have 64 bits
 * even on 32-bit CPUs, where only the 64-bit atomics access them whole.
 */
static u64 stream_pos_acquire(const u64 *pos)
{
	return atomic64_read_acquire((const atomic64_t *)pos);
}

static void stream_pos_release(u64 *pos, u64 value)
{
	atomic64_set_release((atomic64_t *)pos, value);
}

/**
 * stream_ring_alloc() - allocate what will be mapped at offset 0
 * @pages: one, and a power of two or none for records
 *
 * Context: task, may sleep.
 * Return: the ring, or NULL: no memory.
 */
struct stream_ring *stream_ring_alloc(unsigned long pages)
{
	struct stream_ring *ring;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return NULL;
	/*
	 * The caller chooses the size, so a failure is no bug, and no reason to kill a task.
	 * Others would be killed if this took all memory before it failed.
	 */
	if (pages <= si_mem_available())
		ring->page = __vmalloc(pages << PAGE_SHIFT, GFP_KERNEL | __GFP_ZERO |
				       __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
	if (!ring->page) {
		pr_warn_ratelimited("no memory for %lu pages of records\n", pages - 1);
		kfree(ring);
		return NULL;
	}
	ring->pages = pages;
	ring->size = (pages - 1) << PAGE_SHIFT;
	ring->data = (void *)ring->page + PAGE_SIZE;
	ring->page->size = offsetof(struct perf_event_mmap_page, __reserved);
	ring->page->data_offset = PAGE_SIZE;
	ring->page->data_size = ring->size;
	return ring;
}

/**
 * stream_ring_free() - undo stream_ring_alloc()
 * @ring: the ring; nothing maps it any more
 *
 * Context: task, may sleep.
 */
void stream_ring_free(struct stream_ring *ring)
{
	vfree(ring->page);
	kfree(ring);
}

/**
 * stream_ring_map() - map what stream_ring_alloc() returned
 * @ring: the ring
 * @vma: where to, as large as the ring
 *
 * Context: in an mmap() callback, which holds the mmap lock.
 * Return: 0, or -ENOMEM: no memory for page tables.
 */
int stream_ring_map(struct stream_ring *ring, struct vm_area_struct *vma)
{
	unsigned long i;
	int err = 0;

	for (i = 0; i < ring->pages && !err; i++)
		err = vm_insert_page(vma, vma->vm_start + (i << PAGE_SHIFT),
				     vmalloc_to_page((void *)ring->page + (i << PAGE_SHIFT)));
	return err;
}

/**
 * stream_ring_start_aux() - say where the reader of a mapped AUX area begins
 * @ring: the ring
 * @tail: position of the area's first unread byte
 *
 * Context: before the first mapping of the area counts in stream::aux_maps.
 */
void stream_ring_start_aux(struct stream_ring *ring, u64 tail)
{
	stream_pos_release(&ring->page->aux_tail, tail);
}

static bool stream_ring_put(struct stream_ring *ring, const void *rec, u16 size)
{
	const u64 at = ring->head & (ring->size - 1);
	const u64 first = min_t(u64, size, ring->size - at);
	/* Pairs with user space's release, after it has read up to there. */
	const u64 tail = stream_pos_acquire(&ring->page->data_tail);

	/* An impossible tail makes no room. */
	if (ring->keep && (ring->head - tail > ring->size ||
			   ring->size - (ring->head - tail) < size))
		return false;
	memcpy(ring->data + at, rec, first);
	memcpy(ring->data, rec + first, size - first);
	ring->head += size;
	/* Pairs with user space's acquire: a reader that sees the head sees the record. */
	stream_pos_release(&ring->page->data_head, ring->head);
	return true;
}

static void stream_ring_record(struct stream_ring *ring, const void *rec, u16 size)
{
	struct stream_rec_lost lost = {
		.header = { .type = PERF_RECORD_LOST, .size = sizeof(lost) },
		.lost = ring->lost,
	};

	if (!ring->size)
		return;
	if (ring->lost && stream_ring_put(ring, &lost, sizeof(lost)))
		ring->lost = 0;
	if (ring->lost || !stream_ring_put(ring, rec, size))
		ring->lost++;
}

static void stream_ring_msg(struct stream_ring *ring, const struct kdtl_msg *msg)
{
	struct stream_rec_aux aux = {
		.header = { .type = PERF_RECORD_AUX, .size = sizeof(aux) },
		.offset = msg->aux.offset,
		.size = msg->aux.size,
		.flags = msg->aux.flags,
	};
	struct stream_rec_lost_samples lost = {
		.header = { .type = PERF_RECORD_LOST_SAMPLES, .size = sizeof(lost) },
		.lost = msg->lost.count,
	};

	ring->lost += msg->dropped;
	if (msg->type == KDTL_MSG_AUX)
		stream_ring_record(ring, &aux, sizeof(aux));
	else if (msg->type == KDTL_MSG_LOST)
		stream_ring_record(ring, &lost, sizeof(lost));
}

/* Give back what user space has read. An impossible tail is ignored. */
static void stream_ring_take_tail(struct stream *st, const struct kdtl_aux_info *info)
{
	/* Pairs with user space's release, after it has read up to there. */
	const u64 n = stream_pos_acquire(&st->ring->page->aux_tail) - info->tail;
	const void *span;

	/* Consuming needs a peek, which user space could not do: do it here. */
	if (n <= info->head - info->tail &&
	    kdtl_aux_peek(st->session, st->cpu, &span) >= (ssize_t)n)
		kdtl_aux_consume(st->session, st->cpu, stream_whole(n));
}

/**
 * stream_publish() - bring what is mapped up to date, and take aux_tail from it
 * @st: the stream
 *
 * Context: any but NMI.
 */
void stream_publish(struct stream *st)
{
	struct kdtl_aux_info info;
	struct kdtl_session *s;
	struct kdtl_msg msg;
	unsigned long flags;

	spin_lock_irqsave(&st->ring_lock, flags);
	s = stream_session(st);
	/* Without a ring, read and drop the messages, or their queue would fill up. */
	while (s && kdtl_read(s, &msg, sizeof(msg), true) > 0) {
		if (st->ring)
			stream_ring_msg(st->ring, &msg);
	}
	if (s && st->aux_maps && !kdtl_aux_info(s, st->cpu, &info)) {
		if (!st->overwrite)
			stream_ring_take_tail(st, &info);
		/* Pairs with user space's acquire: a reader that sees the head sees the data. */
		stream_pos_release(&st->ring->page->aux_head, info.head);
	}
	spin_unlock_irqrestore(&st->ring_lock, flags);
}
