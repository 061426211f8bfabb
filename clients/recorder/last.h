/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the last boot left in reserved memory: its layout, and how to read it
 *
 * A page with a header and two clocks, then the areas of all CPUs, each of
 * kdtl_session_attr::aux_pages pages.  No writer's position is stored: the entries themselves show
 * which one is the newest.
 */
#ifndef _KDTL_RECORDER_LAST_H
#define _KDTL_RECORDER_LAST_H

#include <linux/kdtl_verbs.h>

#define LAST_MAGIC	"KDTLLAST"

/* Increase it if anything in here, or the meaning of entries, changes. */
#define LAST_VERSION	2

/* last_header::flags */
#define LAST_TASKS	0x1	/* kdtl_aux_info::tasks */

#define LAST_BOOT	16

/**
 * struct last_header - the beginning of the memory
 * @magic: LAST_MAGIC
 * @version: LAST_VERSION
 * @crc: of all that follows
 * @size: of this structure
 * @page_size: of the machine
 * @nr_cpus: number of areas
 * @aux_pages: of each of them
 * @flags: LAST_*
 * @unused: 0
 * @tb_freq: see struct kdtl_aux_info
 * @tb_boot: see struct kdtl_aux_info
 * @begun: ticks before the first entry
 * @boot: random, to tell clocks of this boot from those of another
 * @source: name of the source
 * @release: of the kernel
 */
struct last_header {
	char	magic[8];
	u32	version;
	u32	crc;
	u32	size;
	u32	page_size;
	u32	nr_cpus;
	u32	aux_pages;
	u32	flags;
	u32	unused;
	u64	tb_freq;
	u64	tb_boot;
	u64	begun;
	u8	boot[LAST_BOOT];
	char	source[KDTL_SOURCE_LEN];
	char	release[64];
};

/**
 * struct last_clock - the time base and the time of day at one moment
 * @crc: of all that follows; wrong while the clock is being written
 * @unused: 0
 * @seq: the higher one was written later
 * @ticks: the time base
 * @real: the time of day then, in ns since 1970
 * @boot: last_header::boot
 * @host: name of the machine, which may be set long after the header
 */
struct last_clock {
	u32	crc;
	u32	unused;
	u64	seq;
	u64	ticks;
	u64	real;
	u8	boot[LAST_BOOT];
	char	host[64];
};

/* They are written in turns, so that one is always whole. */
#define LAST_CLOCKS	2

/**
 * struct last_page - the first page
 * @head: the header
 * @clock: the clocks
 */
struct last_page {
	struct last_header	head;
	struct last_clock	clock[LAST_CLOCKS] __aligned(512);
};

/**
 * struct last - what was found, checked
 * @head: a copy of the header
 * @clock: a copy of the newest clock
 * @until: no entry is later than this, in ticks
 * @areas: the areas
 * @area: size of each, in bytes
 */
struct last {
	struct last_header	head;
	struct last_clock	clock;
	u64			until;
	const void		*areas;
	size_t			area;
};

u32 last_header_crc(const struct last_header *head);
u32 last_clock_crc(const struct last_clock *clock);
const char *last_open(struct last *l, const void *mem, size_t size);
unsigned int last_scan(const struct last *l, unsigned int cpu, struct kdtl_entry *to);
size_t last_file_size(const struct last *l);
size_t last_file(const struct last *l, void *file, const struct kdtl_entry **entries,
		 unsigned int *nr);

/* The most entries that last_scan() finds: one fewer than fit, as one may be incomplete. */
static inline unsigned int last_most(const struct last *l)
{
	return l->area / KDTL_ENTRY_SIZE - 1;
}

/* Convert to ns since that boot, like the time stamps of the kernel's log. */
static inline u64 last_ns(const struct last *l, u64 ticks)
{
	const struct kdtl_aux_info info = { .tb_freq = l->head.tb_freq };

	return kdtl_ticks_to_ns(&info, ticks - l->head.tb_boot);
}

#endif /* _KDTL_RECORDER_LAST_H */
