// SPDX-License-Identifier: GPL-2.0
/*
 * Reading AUX areas in place: the reader's side of core/writer.c
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kdtl_verbs.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "../core/compat.h"
#include "reader.h"
#include "request.h"

/*
 * Log why a session refuses a reader.  kdtl_aux_peek() and kdtl_aux_consume() look at no_reader
 * without a lock: the client must not create a merge while it calls them anyway, and
 * kdtl_session_open() returns only when the session has its reader.
 */
noinline int kdtl_reader_refuse(const struct kdtl_session *s, const char *what)
{
	if (!s->layout.nr_pages) {
		pr_warn_ratelimited("%s: %s: a session with KDTL_SESSION_NO_AUX only counts\n",
				    s->owner, what);
		return -EINVAL;
	}
	if (!s->layout.overwrite) {
		pr_warn_ratelimited("%s: %s: %s is the session's reader, and there is only one\n",
				    s->owner, what,
				    s->runner ? "that of kdtl_session_open()" : "a merge");
		return -EBUSY;
	}
	pr_warn_ratelimited("%s: %s: an overwrite session keeps nothing for a reader, use kdtl_aux_snapshot()\n",
			    s->owner, what);
	return -EINVAL;
}

/*
 * Peek into a raw session, whose areas are perf's, or refuse.  One test of
 * no_reader leads to both, so that other sessions do not pay for them.
 */
static noinline ssize_t kdtl_peek_else(struct kdtl_session *s, int cpu, const void **span)
{
	struct kdtl_aux *aux = kdtl_session_aux(s, cpu);

	if (!s->ops->peek || s->layout.overwrite)
		return kdtl_reader_refuse(s, "peek");
	if (!span)
		return kdtl_null_refuse(s, "kdtl_aux_peek", "span");
	return aux ? s->ops->peek(aux, span) : 0;
}

static __always_inline ssize_t kdtl_area_peek(struct kdtl_aux *aux, const void **span)
{
	u64 head, tail;

	if (unlikely(!aux))
		return 0;

	/* [aux.C] pairs with B in kdtl_ring_publish(): who sees head sees the data. */
	head = kdtl_u64_acquire(&aux->sink.at->head);
	tail = kdtl_u64_read(&aux->tail);
	*span = aux->area.base + (tail & aux->sink.at->pos_mask);
	kdtl_u64_set(&aux->shown, head);
	return head - tail;
}

static noinline int kdtl_consume_refuse(struct kdtl_aux *aux, size_t bytes)
{
	pr_warn_ratelimited("%s: CPU %d: consume of %zu bytes, but only %llu of the last span are left: is there a second reader?\n",
			    aux->session->owner, aux->cpu, bytes,
			    kdtl_u64_read(&aux->shown) - kdtl_u64_read(&aux->tail));
	return -EINVAL;
}

/*
 * If part of an entry were given back, all later spans would begin inside an entry.  Only bytes
 * up to the span's end may be given back, in case a driver has written something else than entries.
 */
static noinline int kdtl_consume_part(struct kdtl_session *s, struct kdtl_aux *aux,
				      int cpu, size_t bytes)
{
	if (aux && bytes == kdtl_u64_read(&aux->shown) - kdtl_u64_read(&aux->tail))
		return 0;
	pr_warn_ratelimited("%s: CPU %d: consume of %zu bytes: must be whole entries of %d bytes\n",
			    s->owner, cpu, bytes, KDTL_ENTRY_SIZE);
	return -EINVAL;
}

/* Consume from a raw session, or refuse, see kdtl_peek_else(). */
static noinline int kdtl_consume_else(struct kdtl_session *s, int cpu, size_t bytes)
{
	struct kdtl_aux *aux = kdtl_session_aux(s, cpu);

	if (!s->ops->consume || s->layout.overwrite)
		return kdtl_reader_refuse(s, "consume");
	if (!aux)
		return bytes ? -EINVAL : 0;
	return s->ops->consume(aux, bytes) ? kdtl_consume_refuse(aux, bytes) : 0;
}

static __always_inline int kdtl_area_consume(struct kdtl_aux *aux, size_t bytes)
{
	u64 tail;

	if (!aux)
		return bytes ? -EINVAL : 0;

	tail = kdtl_u64_read(&aux->tail);
	/* Nobody can have read what was not shown.  This also finds a second reader. */
	if (unlikely(bytes > kdtl_u64_read(&aux->shown) - tail))
		return kdtl_consume_refuse(aux, bytes);
	/* [aux.D] pairs with A in kdtl_aux_room(): the bytes are read before reuse. */
	if (unlikely(kdtl_u64_cmpxchg_release(&aux->tail, tail, tail + bytes) != tail))
		return kdtl_consume_refuse(aux, bytes);
	WRITE_ONCE(aux->reader, current->pid);
	return 0;
}

/* kdtl_aux_peek() for the reader that has claimed the session; @cpu is one of the session's. */
ssize_t kdtl_reader_peek(struct kdtl_session *s, int cpu, const void **span)
{
	return kdtl_area_peek(kdtl_session_aux(s, cpu), span);
}

/*
 * Count the entries that a CPU has lost between two places in its span, both included.
 * For the merge.
 */
u64 kdtl_reader_lost(struct kdtl_session *s, int cpu, size_t from, size_t to)
{
	struct kdtl_aux *aux = kdtl_session_aux(s, cpu);
	const u64 tail = kdtl_u64_read(&aux->tail);

	return kdtl_gaps_sum(&aux->gaps, tail + from, tail + to);
}

/* kdtl_aux_consume() for the reader that has claimed the session; @cpu is one of the session's. */
int kdtl_reader_consume(struct kdtl_session *s, int cpu, size_t bytes)
{
	return kdtl_area_consume(kdtl_session_aux(s, cpu), bytes);
}

/**
 * kdtl_aux_peek() - get a CPU's unread entries, in place
 * @s: the session
 * @cpu: the CPU
 * @span: set to the first unread byte
 *
 * The span is contiguous, also across the area's end.  It stays valid and
 * unchanged until kdtl_aux_consume() gives it back, or the session is loaded
 * again or closed.  Each CPU may have one reader at a time; others call kdtl_aux_info() to
 * find out how much is unread.
 *
 * In overwrite mode the writer does not wait for a reader, so there is no span.
 *
 * Context: any, but with KDTL_SESSION_RAW not in NMI.  Orders like an acquire: reads of
 * the span come after it.
 * Return:
 * * the length in bytes; 0 if there is nothing to read
 * * -EINVAL: @cpu is not one of the session's, the session is in overwrite mode or
 *   only counts, or @s or @span is NULL
 * * -EBUSY: a merge, or that of kdtl_session_open(), is the session's only reader
 */
ssize_t kdtl_aux_peek(struct kdtl_session *s, int cpu, const void **span)
{
	if (!kdtl_session_has_cpu(s, cpu))
		return kdtl_cpu_refuse(s, cpu, __func__, _RET_IP_);
	if (data_race(s->no_reader))
		return kdtl_peek_else(s, cpu, span);
	if (unlikely(!span))
		return kdtl_null_refuse(s, __func__, "span");
	return kdtl_area_peek(kdtl_session_aux(s, cpu), span);
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_peek, KDTL_NS);

/**
 * kdtl_aux_consume() - give bytes back to the writer
 * @s: the session
 * @cpu: the CPU
 * @bytes: number of bytes, from the beginning of the span
 *
 * The bytes are all of the span, or the entries that were read of it, from its beginning:
 * only whole entries can be given back.  (A driver may write something else than entries;
 * that can be given back up to the end of the span.)  With KDTL_SESSION_RAW any bytes can.
 *
 * Only what the last kdtl_aux_peek() on this CPU has shown can be given back.  So if two
 * readers share a CPU, sooner or later one of them is refused, because the other has given
 * the span back.
 *
 * Context: any, but with KDTL_SESSION_RAW not in NMI.  Orders like a release: reads of
 * the span come before it.
 * Return:
 * * 0; in case of an error nothing changes
 * * -EINVAL: @bytes is more than what is left of the last span, or ends inside an entry,
 *   @cpu is not one of the session's, the session is in overwrite mode or only counts, or
 *   @s is NULL
 * * -EBUSY: a merge, or that of kdtl_session_open(), is the session's only reader
 */
int kdtl_aux_consume(struct kdtl_session *s, int cpu, size_t bytes)
{
	struct kdtl_aux *aux;
	int err;

	if (!kdtl_session_has_cpu(s, cpu))
		return kdtl_cpu_refuse(s, cpu, __func__, _RET_IP_);
	if (data_race(s->no_reader))
		return kdtl_consume_else(s, cpu, bytes);
	aux = kdtl_session_aux(s, cpu);
	if (unlikely(bytes % KDTL_ENTRY_SIZE)) {
		err = kdtl_consume_part(s, aux, cpu, bytes);
		if (err)
			return err;
	}
	return kdtl_area_consume(aux, bytes);
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_consume, KDTL_NS);

/**
 * kdtl_aux_gap() - find the first gap among a CPU's unread entries
 * @s: the session
 * @cpu: the CPU
 * @at: set to the offset of the gap, in bytes from the beginning of kdtl_aux_peek()'s span
 * @lost: set to the number of entries that were lost there
 *
 * Call it after kdtl_aux_peek(): it knows all gaps in that span.  A gap at the span's
 * end may still grow; once entries have followed, it is found again, at 0.  To find the next
 * gap, consume the entries before this one and the entry after it.
 *
 * Context: any but NMI.
 * Return:
 * * 1: there is a gap; 0: there is none
 * * -EINVAL: @cpu is not one of the session's, the session is in overwrite mode or
 *   only counts, or @s, @at or @lost is NULL
 * * -EBUSY: a merge, or that of kdtl_session_open(), is the session's only reader: see
 *   kdtl_merge_lost() and kdtl_span::lost
 * * -EOPNOTSUPP: the session has KDTL_SESSION_RAW
 */
int kdtl_aux_gap(struct kdtl_session *s, int cpu, size_t *at, u64 *lost)
{
	struct kdtl_aux *aux;
	struct kdtl_gap gap;
	u64 tail;
	int err;

	if (!kdtl_session_has_cpu(s, cpu))
		return kdtl_cpu_refuse(s, cpu, __func__, _RET_IP_);
	err = kdtl_entries_check(s, __func__);
	if (err)
		return err;
	if (data_race(s->no_reader))
		return kdtl_reader_refuse(s, "gap");
	err = kdtl_null_check(s, at) ?: kdtl_null_check(s, lost);
	if (err)
		return err;
	aux = kdtl_session_aux(s, cpu);
	if (!aux)
		return 0;
	tail = kdtl_u64_read(&aux->tail);
	if (!kdtl_gaps_next(&aux->gaps, tail, &gap))
		return 0;
	*at = gap.pos - tail;
	*lost = gap.lost;
	return 1;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_gap, KDTL_NS);

/* The bytes of the newest entries that stay whole while the writer writes the next entry. */
static u64 kdtl_snapshot_max(struct kdtl_aux *aux)
{
	return (kdtl_entries(aux->area.size) - 1) * KDTL_ENTRY_SIZE;
}

/*
 * Copy the newest bytes, then find out how many the writer has overwritten
 * meanwhile.  Returns the number of bytes that are left, moved to the beginning of
 * @buf; -EAGAIN if the writer has overwritten everything.
 */
static ssize_t kdtl_snapshot_try(struct kdtl_aux *aux, void *buf, u64 len, u64 *from)
{
	u64 head, stale;

	/* [aux.C] pairs with B in kdtl_ring_publish(): who sees head sees the data. */
	head = kdtl_u64_acquire(&aux->sink.at->head);
	len = min(len, head - kdtl_u64_read(&aux->start));
	*from = head - len;
	/* The writer may overwrite bytes during the copy; the torn ones are dropped below. */
	data_race(memcpy(buf, aux->area.base + (*from & aux->sink.at->pos_mask), len));
	/*
	 * [aux.S] pairs with O in kdtl_ring_slot() and kdtl_aux_output_begin(): who
	 * copied bytes of a newer entry sees a head that says so.
	 */
	smp_rmb();
	/* [aux.F] pairs with E in kdtl_aux_output_end(): the head below is not older. */
	if (smp_load_acquire(&aux->open))
		return -EAGAIN;
	/* The writer may be writing the entry at head. */
	head = kdtl_u64_read(&aux->sink.at->head) + KDTL_ENTRY_SIZE - aux->area.size;
	if ((s64)(head - *from) <= 0)
		return len;
	stale = kdtl_entries(head - *from + KDTL_ENTRY_SIZE - 1) * KDTL_ENTRY_SIZE;
	if (stale >= len)
		return -EAGAIN;
	memmove(buf, buf + stale, len - stale);
	*from += stale;
	return len - stale;
}

/**
 * kdtl_snapshot_alloc() - allocate a buffer for kdtl_aux_snapshot()
 * @size: its size in bytes: for all of a CPU's entries kdtl_aux_info::size
 *
 * People choose the size of areas.  For want of memory the kernel kills tasks, so a buffer is
 * refused if there is not so much.
 *
 * Context: may sleep.
 * Return: the buffer, for kvfree(); NULL: there is no memory for it.
 */
void *kdtl_snapshot_alloc(size_t size)
{
	might_sleep();
	if (!size || size >> PAGE_SHIFT > si_mem_available())
		return NULL;
	return __vmalloc(size, GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL);
}
EXPORT_SYMBOL_NS_GPL(kdtl_snapshot_alloc, KDTL_NS);

/* If the writer laps the copy this often, it always will: give up. */
#define KDTL_SNAPSHOT_TRIES	16

/**
 * kdtl_aux_snapshot() - copy the newest entries of an overwrite area
 * @s: the session, created with KDTL_SESSION_OVERWRITE
 * @cpu: the CPU
 * @buf: the buffer to copy to
 * @len: size of @buf in bytes
 * @missed: set to the number of entries that were written since kdtl_load() and are not
 *	in @buf; may be NULL.  Only kdtl_aux_info::lost counts what the source itself lost
 *
 * Copies whole entries in order, the newest last.  All of them are valid although
 * the writer may go on meanwhile.  Takes no lock and waits for nothing, so it works
 * while other CPUs are stopped, for instance from a panic notifier, whatever locks
 * the caller holds.
 *
 * A session with KDTL_SESSION_RAW has bytes instead of entries, and @missed is 0.  While it
 * is started, a CPU's area can be copied only on that CPU, and not in an NMI: perf stops the
 * PMU for the copy, because the PMU tells its position only then.  The copy needs a lock,
 * and soon gives up if the lock's holder does not go on, as in a panic.
 * After the CPU was offline, the copy has only the bytes since it came back.
 *
 * Context: any, NMI too; with CONFIG_GENERIC_ATOMIC64 (some 32-bit CPUs) not in NMI,
 * because there a read of 64 bits takes a lock.
 * Return:
 * * the number of bytes
 * * -EINVAL: @cpu is not one of the session's, the session is not in overwrite mode,
 *   or @s or @buf is NULL
 * * -EAGAIN: the writer overwrote everything during each of several copies
 * * -EBUSY: a KDTL_SESSION_RAW session is started, and this is another CPU than @cpu, an
 *   NMI, or inside a verb for that CPU; or a CPU that has stopped is inside one
 */
ssize_t kdtl_aux_snapshot(struct kdtl_session *s, int cpu, void *buf, size_t len,
			  u64 *missed)
{
	unsigned int tries = KDTL_SNAPSHOT_TRIES;
	struct kdtl_aux *aux;
	ssize_t got;
	u64 from;

	if (missed)
		*missed = 0;
	if (!kdtl_session_has_cpu(s, cpu))
		return kdtl_cpu_refuse(s, cpu, __func__, _RET_IP_);
	if (!s->layout.overwrite) {
		pr_warn_ratelimited("%s: snapshot: needs KDTL_SESSION_OVERWRITE; without it use kdtl_aux_peek()\n",
				    s->owner);
		return -EINVAL;
	}
	if (!buf && len)
		return kdtl_null_refuse(s, __func__, "buf");
	aux = kdtl_session_aux(s, cpu);
	if (!aux)
		return 0;
	if (s->ops->snapshot)
		return s->ops->snapshot(aux, buf, len);

	len = min_t(u64, kdtl_entries(len) * KDTL_ENTRY_SIZE, kdtl_snapshot_max(aux));
	do {
		got = kdtl_snapshot_try(aux, buf, len, &from);
	} while (got == -EAGAIN && --tries);
	if (missed && got >= 0)
		*missed = kdtl_entries(max_t(s64, from - kdtl_u64_read(&aux->start), 0));
	return got;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_snapshot, KDTL_NS);

/* Fill in the numbers of an area.  If @aux is NULL, only those that all areas share. */
static void kdtl_area_info(struct kdtl_session *s, struct kdtl_aux *aux,
			   struct kdtl_aux_info *info)
{
	u64 start;

	memset(info, 0, sizeof(*info));
	info->source = s->pmu->name;
	info->size = (u64)s->layout.nr_pages << PAGE_SHIFT;
	info->watermark = s->layout.watermark;
	info->tb_freq = s->ops->entries ? s->pmu->tb_freq : 0;
	info->tb_boot = s->pmu->tb_boot;
	info->tasks = s->pmu->tasks;
	info->stolen = s->pmu->stolen;
	info->interrupts = s->pmu->interrupts;
	info->idle = kdtl_pmu_tells_idle(s->pmu);
	if (!aux)
		return;

	/* [aux.T] Read tail, then head, so that this head is not before this tail. */
	info->tail = kdtl_u64_acquire(&aux->tail);
	info->head = kdtl_u64_read(&aux->sink.at->head);
	info->lost = kdtl_u64_read(&aux->lost);
	info->filtered = kdtl_u64_read(&aux->filtered);
	/* kdtl_load() moves start up to head, and then tail; neither may seem older. */
	start = kdtl_u64_read(&aux->start);
	if ((s64)(info->tail - start) < 0)
		info->tail = start;
	if ((s64)(info->head - start) < 0)
		info->head = start;
	info->online = READ_ONCE(aux->event) && !READ_ONCE(aux->error);
	info->moves = kdtl_u64_read(&aux->moves);
	info->went = kdtl_u64_read(&aux->went);
	info->came = kdtl_u64_read(&aux->came);
	if (!s->ops->entries)
		return;
	info->consumed = kdtl_entries(info->tail - start);
	/* An entry that a driver wrote in part and a reader consumed in part counts as unread. */
	info->unread = kdtl_entries(info->head - start) - info->consumed;
	info->produced = info->consumed + info->lost + info->unread;
	if (aux->overwrite) {
		info->unread = min(info->unread, kdtl_entries(kdtl_snapshot_max(aux)));
		info->lost = info->produced - info->consumed - info->unread;
	}
}

/* The sums over all areas. */
static void kdtl_session_info(struct kdtl_session *s, struct kdtl_aux_info *sum)
{
	struct kdtl_aux_info info;
	int cpu;

	kdtl_area_info(s, NULL, sum);
	for_each_cpu(cpu, s->cpus) {
		kdtl_area_info(s, kdtl_session_aux(s, cpu), &info);
		sum->head += info.head;
		sum->tail += info.tail;
		sum->produced += info.produced;
		sum->consumed += info.consumed;
		sum->lost += info.lost;
		sum->unread += info.unread;
		sum->filtered += info.filtered;
		sum->online |= info.online;
		sum->moves += info.moves;
		sum->went = max(sum->went, info.went);
		sum->came = max(sum->came, info.came);
	}
}

/**
 * kdtl_aux_info() - read the positions and the numbers of a CPU's AUX area
 * @s: the session
 * @cpu: the CPU; -1: the sums over the session's CPUs
 * @info: filled in
 *
 * kdtl_aux_info::produced is computed as consumed + lost + unread; the tests compare it with
 * what the sources themselves have counted.  Once the session is stopped, only reading
 * changes the numbers.
 *
 * Context: as kdtl_aux_snapshot().
 * Return: 0, or -EINVAL: @cpu is not one of the session's, or @s or @info is NULL.
 */
int kdtl_aux_info(struct kdtl_session *s, int cpu, struct kdtl_aux_info *info)
{
	if (cpu == -1 ? IS_ERR_OR_NULL(s) : !kdtl_session_has_cpu(s, cpu))
		return kdtl_cpu_refuse(s, cpu, __func__, _RET_IP_);
	if (!info)
		return kdtl_null_refuse(s, __func__, "info");
	if (cpu == -1)
		kdtl_session_info(s, info);
	else
		kdtl_area_info(s, kdtl_session_aux(s, cpu), info);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_info, KDTL_NS);

/**
 * kdtl_mmap_flags() - make a mapping like one of a perf event
 * @vma: from a file's mmap()
 *
 * Sets VM_DONTCOPY, VM_DONTEXPAND and VM_DONTDUMP.  kdtl_aux_mmap() does this
 * itself; a client calls it for its other mappings, such as a page of positions.
 *
 * Context: in an mmap() callback, which holds the mmap lock.
 */
void kdtl_mmap_flags(struct vm_area_struct *vma)
{
	vm_flags_set(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP);
}
EXPORT_SYMBOL_NS_GPL(kdtl_mmap_flags, KDTL_NS);

/**
 * kdtl_aux_mmap() - map a CPU's AUX area into user space
 * @s: the session
 * @cpu: the CPU
 * @vma: from a file's mmap(), as large as the area
 *
 * The pages stay until the last mapping has gone, even if the session is closed
 * before that.  They do not contain positions: the caller passes on
 * kdtl_aux_info::head to user space, and what user space has read to
 * kdtl_aux_consume(), after a kdtl_aux_peek() that covers it.  A read-only mapping
 * of an overwrite session cannot be made writable later.
 *
 * Context: in an mmap() callback, which holds the mmap lock.
 * Return:
 * * 0
 * * -EINVAL: @cpu is not one of the session's, or not loaded, or @vma is not
 *   as large as the area, or there is no area (KDTL_SESSION_NO_AUX), or @s or @vma is NULL
 * * -ENOMEM: no memory for page tables
 * * -EOPNOTSUPP: the session has KDTL_SESSION_RAW, or the areas are the caller's memory
 *   (kdtl_session_attr::place)
 */
int kdtl_aux_mmap(struct kdtl_session *s, int cpu, struct vm_area_struct *vma)
{
	struct kdtl_aux *aux;
	unsigned long addr;
	unsigned int i;
	int err;

	if (!kdtl_session_has_cpu(s, cpu))
		return kdtl_cpu_refuse(s, cpu, __func__, _RET_IP_);
	err = kdtl_null_check(s, vma) ?: kdtl_entries_check(s, __func__);
	if (err)
		return err;
	aux = kdtl_session_aux(s, cpu);
	if (!aux || !aux->nr_pages || vma_pages(vma) != aux->nr_pages)
		return -EINVAL;
	if (!aux->pages)
		return -EOPNOTSUPP;

	kdtl_mmap_flags(vma);
	/* Otherwise mprotect() would make it writable. */
	if (aux->overwrite && !(vma->vm_flags & VM_WRITE))
		vm_flags_clear(vma, VM_MAYWRITE);
	addr = vma->vm_start;
	for (i = 0; i < aux->nr_pages && !err; i++, addr += PAGE_SIZE)
		err = vm_insert_page(vma, addr, virt_to_page(aux->pages[i]));
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_aux_mmap, KDTL_NS);
