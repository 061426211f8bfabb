// SPDX-License-Identifier: GPL-2.0
/*
 * mmap(): the layout and the rules of a perf event's
 *
 * At offset 0 a struct perf_event_mmap_page and 2^n pages of records, or none;
 * at aux_offset the AUX area.  See perf_mmap() in kernel/events/core.c.
 */
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../../core/compat.h"
#include "../../core/u64.h"
#include "stream.h"

/**
 * struct stream_ring - what is mapped at offset 0
 * @page: the first page; the user writes to it as well
 * @data: the records
 * @size: of @data in bytes, a power of two or 0
 * @head: where the next record goes
 * @lost: records that found no room
 * @keep: the user honours data_tail: nothing unread is overwritten
 * @pages: how many, in all
 * @maps: mappings, of the AUX area too
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

/* ----------------------------------------------------------------- records */

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

static bool stream_ring_put(struct stream_ring *ring, const void *rec, u16 size)
{
	const u64 at = ring->head & (ring->size - 1);
	const u64 first = min_t(u64, size, ring->size - at);
	/* Pairs with the user's release, after it has read up to there. */
	const u64 tail = kdtl_u64_acquire(&ring->page->data_tail);

	/* A tail that cannot be makes no room. */
	if (ring->keep && (ring->head - tail > ring->size ||
			   ring->size - (ring->head - tail) < size))
		return false;
	memcpy(ring->data + at, rec, first);
	memcpy(ring->data, rec + first, size - first);
	ring->head += size;
	/* Pairs with the user's acquire: who sees the head sees the record. */
	kdtl_u64_release(&ring->page->data_head, ring->head);
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

/* Give back what the user has read; what cannot be is not looked at. */
static void stream_ring_take_tail(struct stream *st, const struct kdtl_aux_info *info)
{
	/* Pairs with the user's release, after it has read up to there. */
	u64 n = kdtl_u64_acquire(&st->ring->page->aux_tail) - info->tail;

	if (n <= info->head - info->tail)
		kdtl_aux_consume(st->session, st->cpu, stream_whole(n));
}

/**
 * stream_publish() - bring what is mapped up to date, and take the user's tail
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
	/* Messages that nobody has mapped records for are forgotten. */
	while (s && kdtl_read(s, &msg, sizeof(msg), true) > 0) {
		if (st->ring)
			stream_ring_msg(st->ring, &msg);
	}
	if (s && st->aux_maps && !kdtl_aux_info(s, st->cpu, &info)) {
		if (!st->overwrite)
			stream_ring_take_tail(st, &info);
		/* Pairs with the user's acquire: who sees the head sees the data. */
		kdtl_u64_release(&st->ring->page->aux_head, info.head);
	}
	spin_unlock_irqrestore(&st->ring_lock, flags);
}

/* ---------------------------------------------------------------- mappings */

static struct stream_ring *stream_ring_alloc(unsigned long pages)
{
	struct stream_ring *ring;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring->page = vmalloc_user(pages << PAGE_SHIFT);
	if (!ring->page) {
		kfree(ring);
		return ERR_PTR(-ENOMEM);
	}
	ring->pages = pages;
	ring->size = (pages - 1) << PAGE_SHIFT;
	ring->data = (void *)ring->page + PAGE_SIZE;
	ring->page->size = offsetof(struct perf_event_mmap_page, __reserved);
	ring->page->data_offset = PAGE_SIZE;
	ring->page->data_size = ring->size;
	return ring;
}

static void stream_ring_set(struct stream *st, struct stream_ring *ring)
{
	unsigned long flags;

	spin_lock_irqsave(&st->ring_lock, flags);
	st->ring = ring;
	spin_unlock_irqrestore(&st->ring_lock, flags);
}

static void stream_aux_maps(struct stream *st, int more)
{
	unsigned long flags;

	spin_lock_irqsave(&st->ring_lock, flags);
	WRITE_ONCE(st->aux_maps, st->aux_maps + more);
	spin_unlock_irqrestore(&st->ring_lock, flags);
}

/* The last mapping has gone: another size may follow. */
static void stream_ring_unmap(struct stream *st)
{
	struct stream_ring *ring = st->ring;

	if (--ring->maps)
		return;
	stream_ring_set(st, NULL);
	vfree(ring->page);
	stream_uncharge(st->mm, ring->pages);
	kfree(ring);
}

static int stream_map_ring(struct stream *st, struct vm_area_struct *vma)
{
	const unsigned long pages = vma_pages(vma);
	struct stream_ring *ring = st->ring;
	int err;

	if (pages != 1 && !is_power_of_2(pages - 1))
		return -EINVAL;
	if (ring) {
		if (ring->pages != pages)
			return -EINVAL;
	} else {
		err = stream_charge(st->mm, pages);
		if (err)
			return err;
		ring = stream_ring_alloc(pages);
		if (IS_ERR(ring)) {
			stream_uncharge(st->mm, pages);
			return PTR_ERR(ring);
		}
		ring->keep = vma->vm_flags & VM_WRITE;
		stream_ring_set(st, ring);
	}
	ring->maps++;
	err = remap_vmalloc_range(vma, ring->page, 0);
	if (err)
		stream_ring_unmap(st);
	return err;
}

static int stream_map_aux(struct stream *st, struct vm_area_struct *vma)
{
	const unsigned long pages = vma_pages(vma);
	struct stream_ring *ring = st->ring;
	struct kdtl_aux_info info;
	u64 offset, size;
	int err;

	if (!ring)
		return -EINVAL;
	offset = READ_ONCE(ring->page->aux_offset);
	size = READ_ONCE(ring->page->aux_size);
	if (offset < ring->size + PAGE_SIZE || offset != (u64)vma->vm_pgoff << PAGE_SHIFT)
		return -EINVAL;
	if (st->aux_maps && ring->aux_pgoff != vma->vm_pgoff)
		return -EINVAL;
	err = kdtl_aux_info(st->session, st->cpu, &info);
	if (err)
		return err;
	if (size != (u64)pages << PAGE_SHIFT || size != info.size)
		return -EINVAL;
	/* perf would make it so; here the session has been made before. */
	if (!(vma->vm_flags & VM_WRITE) != st->overwrite)
		return -EINVAL;

	err = kdtl_aux_mmap(st->session, st->cpu, vma);
	if (err)
		return err;
	if (!st->aux_maps) {
		ring->aux_pgoff = vma->vm_pgoff;
		kdtl_u64_release(&ring->page->aux_tail, info.tail);
	}
	ring->maps++;
	stream_aux_maps(st, 1);
	return 0;
}

/* A copy of the mapping at another address: mremap(). */
static void stream_vm_open(struct vm_area_struct *vma)
{
	struct stream *st = vma->vm_private_data;

	mutex_lock(&st->maps);
	st->ring->maps++;
	if (vma->vm_pgoff)
		stream_aux_maps(st, 1);
	mutex_unlock(&st->maps);
}

static void stream_vm_close(struct vm_area_struct *vma)
{
	struct stream *st = vma->vm_private_data;

	mutex_lock(&st->maps);
	if (vma->vm_pgoff)
		stream_aux_maps(st, -1);
	stream_ring_unmap(st);
	mutex_unlock(&st->maps);
}

/* A part of it is of no use. */
static int stream_vm_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

static const struct vm_operations_struct stream_vm_ops = {
	.open		= stream_vm_open,
	.close		= stream_vm_close,
	.may_split	= stream_vm_may_split,
};

/**
 * stream_mmap() - map a file of one CPU
 * @file: of /dev/kdtl, set up
 * @vma: what is to be mapped
 *
 * Return: 0, or
 *
 * * -EINVAL: private; not set up, or for several CPUs; not 1 + 2^n pages; not
 *   where and as large as aux_offset and aux_size say, or not as large as the
 *   area; not as an earlier mapping that is still there; writable in overwrite
 *   mode, or read-only if not
 * * -EPERM: over RLIMIT_MEMLOCK
 * * -ENOMEM
 */
int stream_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct stream *st = file->private_data;
	int err;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (!stream_session(st) || st->cpu < 0)
		return -EINVAL;

	mutex_lock(&st->maps);
	err = vma->vm_pgoff ? stream_map_aux(st, vma) : stream_map_ring(st, vma);
	if (!err) {
		/* A child has no business here: its parent is charged. */
		vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
		vma->vm_ops = &stream_vm_ops;
		vma->vm_private_data = st;
	}
	mutex_unlock(&st->maps);
	if (!err)
		stream_publish(st);
	return err;
}
