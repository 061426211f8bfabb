// SPDX-License-Identifier: GPL-2.0
/*
 * mmap(): with the layout and the rules of a perf event
 *
 * At offset 0 a struct perf_event_mmap_page and 2^n pages of records, or none;
 * at aux_offset the AUX area. See perf_mmap() in kernel/events/core.c.
 */
#include <linux/kdtl_verbs.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/perf_event.h>

#include "stream.h"

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

/* Free the ring after its last mapping: the next ring may have another size. */
static void stream_ring_unmap(struct stream *st)
{
	struct stream_ring *ring = st->ring;

	if (--ring->maps)
		return;
	stream_ring_set(st, NULL);
	stream_uncharge(st->mm, ring->pages);
	stream_ring_free(ring);
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
		if (!ring) {
			stream_uncharge(st->mm, pages);
			return -ENOMEM;
		}
		ring->keep = vma->vm_flags & VM_WRITE;
		stream_ring_set(st, ring);
	}
	ring->maps++;
	kdtl_mmap_flags(vma);
	err = stream_ring_map(ring, vma);
	if (err)
		stream_ring_unmap(st);
	return err;
}

static int stream_map_aux(struct stream *st, struct vm_area_struct *vma)
{
	struct stream_cpu *sc = per_cpu_ptr(st->percpu, st->cpu);
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
	/* perf takes the mode from the mapping; this session already has its mode. */
	if (!(vma->vm_flags & VM_WRITE) != st->overwrite)
		return -EINVAL;

	err = kdtl_aux_mmap(st->session, st->cpu, vma);
	if (err)
		return err;
	/* From here on no entry gets into a pipe, see stream_chunk_add(). */
	spin_lock(&sc->lock);
	if (!list_empty(&sc->chunks)) {
		spin_unlock(&sc->lock);
		return -EBUSY;
	}
	if (!st->aux_maps) {
		kdtl_aux_info(st->session, st->cpu, &info);
		ring->aux_pgoff = vma->vm_pgoff;
		stream_ring_start_aux(ring, info.tail);
	}
	stream_aux_maps(st, 1);
	spin_unlock(&sc->lock);
	ring->maps++;
	return 0;
}

/* mremap() has copied the mapping, or fork() after madvise(MADV_DOFORK). */
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

/* Nobody can use a part of the ring or of the area. */
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
 * @vma: where to
 *
 * Context: system call, under the mmap lock.
 * Return: 0, or
 *
 * * -EINVAL: the mapping is private; the file is not set up, or is for several
 *   CPUs; there are not 1 + 2^n pages; offset or size of the area differ from
 *   aux_offset and aux_size, from the area itself, or from a mapping that is
 *   still there; the area is mapped writable in overwrite mode, or read-only
 *   in any other
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
		vma->vm_ops = &stream_vm_ops;
		vma->vm_private_data = st;
	}
	mutex_unlock(&st->maps);
	if (!err)
		stream_publish(st);
	return err;
}
