// SPDX-License-Identifier: GPL-2.0
/*
 * Reading what the last boot left in reserved memory
 *
 * Nothing in there is trusted: a reset may have come at any moment, firmware may have written
 * to it, and it may be somebody else's.  So nothing here relies on more than the size that the
 * caller knows, and whatever has a CRC is copied before it is checked.
 *
 * The areas have no writer's position.  An entry has 48 bytes and an area 2^n, so entries begin
 * 16 or 32 bytes further on each time round.  Steps of 48 bytes around the area therefore
 * meet each place where an entry may begin, once in three rounds, and meet entries in the order
 * in which they were written: the longest run of them in order of time is the log.  The time of
 * an entry is stored last, so an unfinished entry ends the run: where its time would be, there
 * are other parts of older entries.
 */
#include <linux/crc32.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "last.h"

/* Entries may begin at multiples of this. */
#define LAST_STEP	16

/*
 * The clock is written each second by a work item.  It may have to wait for a CPU while other
 * CPUs log on, but nobody waits this many seconds before a reset.
 */
#define LAST_AFTER_S	3600

/**
 * last_header_crc() - compute the value of last_header::crc
 * @head: the header
 *
 * Context: any.
 * Return: the CRC.
 */
u32 last_header_crc(const struct last_header *head)
{
	const size_t from = offsetofend(struct last_header, crc);

	return crc32_le(~0, (const u8 *)head + from, sizeof(*head) - from);
}

/**
 * last_clock_crc() - compute the value of last_clock::crc
 * @clock: the clock
 *
 * Context: any.
 * Return: the CRC.
 */
u32 last_clock_crc(const struct last_clock *clock)
{
	const size_t from = offsetofend(struct last_clock, crc);

	return crc32_le(~0, (const u8 *)clock + from, sizeof(*clock) - from);
}

static const char *last_check(const struct last_header *h, size_t size)
{
	if (memcmp(h->magic, LAST_MAGIC, sizeof(h->magic)))
		return "its contents are not the recorder's";
	if (h->version != LAST_VERSION)
		return "it was written by another version of the recorder";
	if (h->crc != last_header_crc(h) || h->size != sizeof(*h))
		return "its header is damaged";
	if (h->page_size != PAGE_SIZE)
		return "it was written with another page size";
	if (!h->nr_cpus || !is_power_of_2(h->aux_pages) ||
	    (u64)h->nr_cpus * h->aux_pages > size / PAGE_SIZE - 1 ||
	    !h->tb_freq || h->tb_freq > U32_MAX)
		return "its header has impossible values";
	return NULL;
}

/* The newest clock of the header's boot; false: there is none. */
static bool last_find_clock(struct last *l, const struct last_page *page)
{
	struct last_clock c;
	bool found = false;
	unsigned int i;

	for (i = 0; i < LAST_CLOCKS; i++) {
		c = page->clock[i];
		if (c.crc != last_clock_crc(&c) || memcmp(c.boot, l->head.boot, LAST_BOOT) ||
		    c.ticks < l->head.begun || (found && c.seq < l->clock.seq))
			continue;
		l->clock = c;
		found = true;
	}
	return found;
}

/**
 * last_open() - look for what the last boot left
 * @l: filled in
 * @mem: the memory, which nobody writes to
 * @size: its size in bytes, at least a page
 *
 * Context: any.
 * Return: NULL; or why there is nothing, as the end of a sentence: then @l is not to be used.
 */
const char *last_open(struct last *l, const void *mem, size_t size)
{
	const struct last_page *page = mem;
	const char *why;

	static_assert(sizeof(*page) <= PAGE_SIZE);
	l->head = page->head;
	if (!memchr_inv(&l->head, 0, sizeof(l->head)))
		return "it is empty";
	why = last_check(&l->head, size);
	if (why)
		return why;
	if (!last_find_clock(l, page))
		return "it has no clock reading from the boot in its header";
	l->head.source[sizeof(l->head.source) - 1] = '\0';
	l->head.release[sizeof(l->head.release) - 1] = '\0';
	l->clock.host[sizeof(l->clock.host) - 1] = '\0';
	l->until = l->clock.ticks + LAST_AFTER_S * l->head.tb_freq;
	if (l->until < l->clock.ticks)
		l->until = U64_MAX;
	l->areas = mem + PAGE_SIZE;
	l->area = (size_t)l->head.aux_pages << PAGE_SHIFT;
	return NULL;
}

/* Could the entry have been written for this CPU since the log began? */
static bool last_valid(const struct last *l, unsigned int cpu, const struct kdtl_entry *e)
{
	const u64 time = kdtl_entry_time(e);

	if (time < l->head.begun || time > l->until)
		return false;
	/* Only entries of kdtl_sched have Linux's number of the CPU. */
	if (!(l->head.flags & LAST_TASKS))
		return e->dispatch_reason <= KDTL_DISPATCH_PRIV_DOORBELL;
	if (be16_to_cpu(e->processor_id) != cpu || kdtl_entry_pid(e) < 0 ||
	    !memchr(kdtl_entry_comm(e), '\0', 2 * sizeof(e->srr0)))
		return false;
	switch (e->dispatch_reason) {
	case KDTL_DISPATCH_PROD:
	case KDTL_DISPATCH_TIME_SLICE:
	case KDTL_DISPATCH_PAGE_FAULT:
	case KDTL_DISPATCH_THROTTLED:
	case KDTL_DISPATCH_IDLE:
		return true;
	default:
		return false;
	}
}

/* Copy the entry at step @nr.  It may wrap around, as areas are not mapped twice here. */
static void last_get(const struct last *l, unsigned int cpu, size_t nr, struct kdtl_entry *e)
{
	const void *area = l->areas + cpu * l->area;
	const size_t at = nr * KDTL_ENTRY_SIZE & (l->area - 1);
	const size_t first = min(l->area - at, sizeof(*e));

	memcpy(e, area + at, first);
	memcpy((void *)e + first, area, sizeof(*e) - first);
}

/**
 * struct last_run - entries in a row
 * @end: the step after the last one
 * @nr: number of entries
 * @linked: how many of them say that their CPU was taken from the previous entry's task
 */
struct last_run {
	size_t		end;
	unsigned int	nr;
	unsigned int	linked;
};

/* Is @a better?  Longer is, but entries whose tasks follow each other count twice. */
static bool last_better(const struct last_run *a, const struct last_run *b)
{
	return a->nr + a->linked > b->nr + b->linked;
}

/**
 * last_scan() - find the entries of a CPU
 * @l: from last_open()
 * @cpu: below last_header::nr_cpus
 * @to: room for last_most() entries, for the newest ones in the order of time
 *
 * Context: any; takes about a millisecond for each 64 KiB.
 * Return: their number.
 */
unsigned int last_scan(const struct last *l, unsigned int cpu, struct kdtl_entry *to)
{
	const size_t places = l->area / LAST_STEP;
	struct last_run run = {}, best = {};
	struct kdtl_entry e, before = {};
	unsigned int i;
	size_t at;

	/* A run may begin anywhere, so go around twice. */
	for (at = 0; at < 2 * places; at++) {
		last_get(l, cpu, at, &e);
		if (!last_valid(l, cpu, &e)) {
			run = (struct last_run){};
			continue;
		}
		if (run.nr && kdtl_entry_time(&e) < kdtl_entry_time(&before))
			run = (struct last_run){};
		run.linked += run.nr && kdtl_entry_prev_pid(&e) == kdtl_entry_pid(&before);
		run.nr++;
		run.end = at + 1;
		before = e;
		/* The second time round, the same run is not better. */
		if (last_better(&run, &best))
			best = run;
	}
	best.nr = min(best.nr, last_most(l));
	for (i = 0; i < best.nr; i++)
		last_get(l, cpu, best.end - best.nr + i, &to[i]);
	return best.nr;
}
