// SPDX-License-Identifier: GPL-2.0
/*
 * For last.sh: the recorder's code that reads reserved memory after a reset, built as a program
 *
 * last ROUNDS SEED: first the reset comes after each single store of a writer that goes round its
 * area several times.  Then, ROUNDS times, the memory has anything that can be there.  Each piece
 * of memory is allocated in just its size, so that a sanitizer sees each access past its end.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../../../clients/recorder/last.c"
#include "../../../clients/recorder/last_file.c"
#include "../../fake/spoil.h"

#define BEGUN		1000000ULL
#define MOST_PAGES	4
#define MOST_CPUS	4

/* The order of an entry's stores, as core/fanout.h has it: the third word is the last one. */
static const unsigned int order[] = { 0, 1, 3, 4, 5, 2 };

#define WORDS		(sizeof(order) / sizeof(order[0]))

static void fail(const char *what, u64 a, u64 b)
{
	printf("%s: %llu, not %llu\n", what, (unsigned long long)a, (unsigned long long)b);
	exit(1);
}

static void same(const char *what, u64 is, u64 want)
{
	if (is != want)
		fail(what, is, want);
}

static void header(struct last_page *page, unsigned int cpus, unsigned int pages, u32 flags)
{
	unsigned int i;

	memset(page, 0, PAGE_SIZE);
	page->head = (struct last_header){
		.magic = LAST_MAGIC, .version = LAST_VERSION, .size = sizeof(page->head),
		.page_size = PAGE_SIZE, .nr_cpus = cpus, .aux_pages = pages, .flags = flags,
		.tb_freq = NSEC_PER_SEC, .begun = BEGUN, .boot = "this boot",
		.source = "kdtl_sched", .release = "6.1",
	};
	for (i = 0; i < LAST_CLOCKS; i++)
		page->clock[i] = (struct last_clock){
			.seq = i + 1, .ticks = BEGUN + i, .real = 7, .boot = "this boot",
			.host = "here",
		};
	seal(page);
}

static u64 time_of(u64 nr)
{
	return BEGUN + 10 * nr;
}

/* Makes the first @words stores of entry @nr. */
static void store(u8 *area, size_t size, unsigned int cpu, u64 nr, unsigned int words)
{
	struct kdtl_entry e = {
		.dispatch_reason = nr % 3 ? KDTL_DISPATCH_PROD : KDTL_DISPATCH_IDLE,
		.preempt_reason = KDTL_PREEMPT_CEDE,
		.processor_id = htobe16(cpu),
		.timebase = htobe64(time_of(nr)),
		.fault_addr = htobe64((nr + 1) << 32 | nr),
	};
	size_t at;

	snprintf((char *)&e.srr0, 2 * sizeof(e.srr0), "task%llu", (unsigned long long)nr);
	while (words--) {
		at = (nr * sizeof(e) + 8 * order[words]) & (size - 1);
		memcpy(area + at, (u8 *)&e + 8 * order[words], 8);
	}
}

/* After each store of a writer that goes round four times, the newest entries are found. */
static void each_store(unsigned int pages)
{
	const size_t size = pages * PAGE_SIZE;
	const unsigned int most = size / KDTL_ENTRY_SIZE - 1;
	struct last_page *page = aligned_alloc(PAGE_SIZE, PAGE_SIZE + size);
	struct kdtl_entry *found = malloc(most * sizeof(*found));
	u8 *area = (u8 *)page + PAGE_SIZE;
	u64 nr, whole, i;
	unsigned int words, n, tries = 0;
	struct last l;

	header(page, 1, pages, LAST_TASKS);
	memset(area, 0, size);
	if (last_open(&l, page, PAGE_SIZE + size))
		fail("it opens", 0, 1);
	for (nr = 0; nr < 4 * most; nr++) {
		for (words = 1; words <= WORDS; words++, tries++) {
			store(area, size, 0, nr, words);
			n = last_scan(&l, 0, found);
			whole = nr + (words == WORDS);
			same("entries", n, min(whole, most));
			for (i = 0; i < n; i++)
				same("its time", kdtl_entry_time(&found[i]),
				     time_of(whole - n + i));
		}
	}
	printf("%u pages: %u stores\n", pages, tries);
	free(found);
	free(page);
}

/* A recording has the entries that were scanned, and no more than there is room for. */
static void check_file(const struct last *l)
{
	const size_t room = last_file_size(l);
	const struct kdtl_entry *entries[MOST_CPUS];
	unsigned int nr[MOST_CPUS], cpu, i;
	const struct kdtl_chunk *chunk = NULL;
	const struct kdtl_file *head;
	u8 *file = malloc(room);
	u64 all = 0, time;
	size_t size, at;

	size = last_file(l, file, entries, nr);
	if (size > room)
		fail("size of the recording", size, room);
	head = (void *)file;
	for (cpu = 0; cpu < l->head.nr_cpus; cpu++) {
		if (nr[cpu] > last_most(l))
			fail("entries of a CPU", nr[cpu], last_most(l));
		all += nr[cpu];
		for (i = 0; i < nr[cpu]; i++) {
			time = kdtl_entry_time(&entries[cpu][i]);
			if (time < l->head.begun || time > l->until ||
			    (i && time < kdtl_entry_time(&entries[cpu][i - 1])))
				fail("time of an entry", time, l->head.begun);
		}
	}
	same("entries of the head", be64toh(head->entries), all);
	for (at = sizeof(*head); at < size; at += sizeof(*chunk) + be32toh(chunk->size))
		chunk = (void *)(file + at);
	same("the last chunk's end", at, size);
	if (!memchr(head->source, 0, sizeof(head->source)) ||
	    !memchr(head->host, 0, sizeof(head->host)) ||
	    !memchr(head->release, 0, sizeof(head->release)))
		fail("a name ends", 0, 1);
	free(file);
}

/* Spoils a piece of memory, and returns whether it was opened. */
static bool round_of_dice(void)
{
	const unsigned int cpus = 1 + dice(MOST_CPUS), pages = 1 << dice(3);
	const size_t area = pages * PAGE_SIZE;
	/* The memory may be larger, or smaller, than what is in it. */
	const size_t full = PAGE_SIZE + cpus * area;
	const size_t size = dice(8) ? full : PAGE_SIZE * (1 + dice(8));
	struct last_page *made = aligned_alloc(PAGE_SIZE, full);
	struct last_page *page = aligned_alloc(PAGE_SIZE, size);
	unsigned int cpu;
	struct last l;
	bool opened;
	u64 nr, n;

	header(made, cpus, pages, dice(4) ? LAST_TASKS : 0);
	memset((u8 *)made + PAGE_SIZE, 0, full - PAGE_SIZE);
	for (cpu = 0; cpu < cpus; cpu++) {
		n = dice(3 * area / KDTL_ENTRY_SIZE);
		for (nr = 0; nr < n; nr++)
			store((u8 *)made + PAGE_SIZE + cpu * area, area, cpu, nr, WORDS);
		store((u8 *)made + PAGE_SIZE + cpu * area, area, cpu, nr, dice(WORDS + 1));
	}
	memset(page, dice(256), size);
	memcpy(page, made, min(size, full));
	free(made);
	spoil_memory(page, size);
	opened = !last_open(&l, page, size);
	/* reserved_open() refuses more CPUs than the machine has, so skip these here. */
	if (opened && l.head.nr_cpus <= MOST_CPUS)
		check_file(&l);
	free(page);
	return opened;
}

int main(int argc, char **argv)
{
	const unsigned int rounds = argc > 1 ? atoi(argv[1]) : 1000;
	unsigned int i, opened = 0;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	each_store(1);
	if (rounds >= 1000)
		each_store(2);
	for (i = 0; i < rounds; i++)
		opened += round_of_dice();
	printf("%u of %u pieces of memory were opened\n", opened, rounds);
	/* At least half of them are opened, since many are hardly spoiled, but not all. */
	return opened < rounds / 2 || opened == rounds;
}
