// SPDX-License-Identifier: GPL-2.0
/*
 * Reading what a reset left of the recorder's areas: the areas are filled by the writer's rules,
 * and then damaged in each way that is reported, and at random
 */
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#include "aux_suites.h"

/* These files are compiled once more here, because the recorder exports nothing. */
#include "../../clients/recorder/last.c"
#include "../../clients/recorder/last_file.c"

#define LAST_CPUS	2
#define LAST_PAGES	2
#define LAST_AREA	(LAST_PAGES * PAGE_SIZE)
#define LAST_SIZE	(PAGE_SIZE + LAST_CPUS * LAST_AREA)
#define LAST_BEGUN	1000000ULL

static struct last_test {
	struct last		last;
	struct last_page	*page;
	struct kdtl_entry	*found;
	const struct kdtl_entry	*entries[LAST_CPUS * LAST_PAGES];
	unsigned int		nr[LAST_CPUS * LAST_PAGES];
} last_test;

static void last_seal(struct last_page *page)
{
	unsigned int i;

	page->head.crc = last_header_crc(&page->head);
	for (i = 0; i < LAST_CLOCKS; i++)
		page->clock[i].crc = last_clock_crc(&page->clock[i]);
}

/* Fill the header and the clocks as the recorder does. */
static void last_make(struct last_page *page)
{
	unsigned int i;

	memset(page, 0, LAST_SIZE);
	page->head = (struct last_header){
		.magic		= LAST_MAGIC,
		.version	= LAST_VERSION,
		.size		= sizeof(page->head),
		.page_size	= PAGE_SIZE,
		.nr_cpus	= LAST_CPUS,
		.aux_pages	= LAST_PAGES,
		.flags		= LAST_TASKS,
		.tb_freq	= NSEC_PER_SEC,
		.begun		= LAST_BEGUN,
		.boot		= "this boot",
		.source		= "kdtl_sched",
		.release	= "6.1",
	};
	for (i = 0; i < LAST_CLOCKS; i++) {
		page->clock[i] = (struct last_clock){
			.seq	= i + 1,
			.ticks	= LAST_BEGUN + i,
			.real	= 7,
			.boot	= "this boot",
			.host	= "here",
		};
	}
	last_seal(page);
}

static u64 last_time(u64 nr)
{
	return LAST_BEGUN + 10 * nr;
}

/* Store entry @nr of a CPU; without its time if the writer was reset before it stored that. */
static void last_store(struct last_page *page, unsigned int cpu, u64 nr, bool whole)
{
	u8 *area = (u8 *)page + PAGE_SIZE + cpu * LAST_AREA;
	const struct kdtl_entry e = {
		.dispatch_reason	= KDTL_DISPATCH_PROD,
		.preempt_reason		= KDTL_PREEMPT_CEDE,
		.processor_id		= cpu_to_be16(cpu),
		.timebase		= cpu_to_be64(last_time(nr)),
		.fault_addr		= cpu_to_be64((nr + 1) << 32 | nr),
		.srr0			= cpu_to_be64(0x7461736b00000000ULL),
	};
	const u8 *from = (const u8 *)&e;
	unsigned int i;

	for (i = 0; i < sizeof(e); i++) {
		if (!whole && i >= offsetof(struct kdtl_entry, timebase) &&
		    i < offsetof(struct kdtl_entry, fault_addr))
			continue;
		area[(nr * sizeof(e) + i) & (LAST_AREA - 1)] = from[i];
	}
}

static int last_init(struct kunit *test)
{
	struct last_test *t = &last_test;

	/* With vzalloc() a read beyond the end is caught. */
	t->page = vzalloc(LAST_SIZE);
	t->found = vzalloc(LAST_AREA);
	return t->page && t->found ? 0 : -ENOMEM;
}

static void last_exit(struct kunit *test)
{
	struct last_test *t = &last_test;

	vfree(t->found);
	vfree(t->page);
}

/* All whole entries are found, up to the newest, wherever in the area the writer was. */
static void last_finds(struct kunit *test)
{
	static const unsigned int rounds[] = { 0, 1, 2, 3, 10 };
	struct last_test *t = &last_test;
	const unsigned int most = LAST_AREA / KDTL_ENTRY_SIZE - 1;
	unsigned int i, n, wrong = 0;
	u64 nr, written;
	bool torn;

	for (i = 0; i < 2 * ARRAY_SIZE(rounds); i++) {
		torn = i & 1;
		last_make(t->page);
		written = rounds[i / 2] * most + i;
		for (nr = 0; nr < written; nr++)
			last_store(t->page, 1, nr, true);
		if (torn)
			last_store(t->page, 1, nr, false);
		KUNIT_ASSERT_TRUE(test, !last_open(&t->last, t->page, LAST_SIZE));
		KUNIT_EXPECT_EQ(test, last_scan(&t->last, 0, t->found), 0U);
		n = last_scan(&t->last, 1, t->found);
		KUNIT_EXPECT_EQ_MSG(test, (u64)n, min_t(u64, written, most), "of %llu", written);
		for (nr = 0; nr < n; nr++)
			wrong += kdtl_entry_time(&t->found[nr]) != last_time(written - n + nr);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
}

/* Memory that is not from the last boot's recorder is refused, with a message that says why. */
#define LAST_REFUSED(_why, _change) do {						\
	const char *_said;								\
											\
	last_make(t->page);								\
	{ _change; }									\
	_said = last_open(&t->last, t->page, LAST_SIZE);				\
	KUNIT_EXPECT_TRUE_MSG(test, !strcmp(_said ?: "nothing", _why), "%s", _said);	\
} while (0)

#define LAST_SENSELESS(_change)	\
	LAST_REFUSED("its header has impossible values", _change; last_seal(t->page))

static void last_refuses(struct kunit *test)
{
	struct last_test *t = &last_test;
	struct last_page *page = t->page;
	const char *why;

	LAST_REFUSED("nothing", );
	LAST_REFUSED("it is empty", memset(page, 0, sizeof(*page)));
	LAST_REFUSED("its contents are not the recorder's", page->head.magic[7]++);
	LAST_REFUSED("it was written by another version of the recorder", page->head.version++);
	LAST_REFUSED("its header is damaged", page->head.tb_boot++);
	LAST_REFUSED("its header is damaged", page->head.size++; last_seal(page));
	LAST_REFUSED("it was written with another page size",
		     page->head.page_size *= 2; last_seal(page));
	LAST_SENSELESS(page->head.nr_cpus = 0);
	LAST_SENSELESS(page->head.nr_cpus++);
	LAST_SENSELESS(page->head.nr_cpus = U32_MAX);
	LAST_SENSELESS(page->head.aux_pages = 0);
	LAST_SENSELESS(page->head.aux_pages = 3);
	LAST_SENSELESS(page->head.aux_pages = 1U << 31);
	LAST_SENSELESS(page->head.tb_freq = 0);
	LAST_SENSELESS(page->head.tb_freq = 1ULL << 32);
	/* Without its last page the region is too small for what the header says. */
	last_make(page);
	why = last_open(&t->last, page, LAST_SIZE - PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, !strcmp(why ?: "nothing", "its header has impossible values"));
	LAST_REFUSED("it has no clock reading from the boot in its header",
		     page->head.boot[0]++; last_seal(page));
	LAST_REFUSED("it has no clock reading from the boot in its header",
		     page->head.begun = LAST_BEGUN + LAST_CLOCKS; last_seal(page));

	/* The clock that was written last counts, in either place. */
	LAST_REFUSED("nothing", page->clock[1].seq = LAST_CLOCKS + 1; last_seal(page));
	KUNIT_EXPECT_EQ(test, t->last.clock.seq, LAST_CLOCKS + 1ULL);
	LAST_REFUSED("nothing", page->clock[0].seq = LAST_CLOCKS + 1; last_seal(page));
	KUNIT_EXPECT_EQ(test, t->last.clock.seq, LAST_CLOCKS + 1ULL);

	/* A reset while one clock was being written leaves that one wrong; the other one counts. */
	LAST_REFUSED("nothing", page->clock[1].real++);
	KUNIT_EXPECT_EQ(test, t->last.clock.seq, 1ULL);
	LAST_REFUSED("nothing", page->clock[0].real++);
	KUNIT_EXPECT_EQ(test, t->last.clock.seq, 2ULL);
}

/* Names that fill their fields are cut so that they end there. */
static void last_names(struct kunit *test)
{
	struct last_test *t = &last_test;
	struct last_header *head = &t->page->head;
	unsigned int i;

	last_make(t->page);
	memset(head->source, 'x', sizeof(head->source));
	memset(head->release, 'y', sizeof(head->release));
	for (i = 0; i < LAST_CLOCKS; i++)
		memset(t->page->clock[i].host, 'z', sizeof(t->page->clock[i].host));
	last_seal(t->page);
	KUNIT_ASSERT_TRUE(test, !last_open(&t->last, t->page, LAST_SIZE));
	head = &t->last.head;
	KUNIT_EXPECT_EQ(test, strnlen(head->source, sizeof(head->source)),
			sizeof(head->source) - 1);
	KUNIT_EXPECT_EQ(test, strnlen(head->release, sizeof(head->release)),
			sizeof(head->release) - 1);
	KUNIT_EXPECT_EQ(test, strnlen(t->last.clock.host, sizeof(t->last.clock.host)),
			sizeof(t->last.clock.host) - 1);
}

/* The file's size, head and entries are right; selftests/host/last.sh reads the whole file. */
static void last_records(struct kunit *test)
{
	struct last_test *t = &last_test;
	const struct kdtl_file *head;
	void *file;
	u64 nr;

	last_make(t->page);
	for (nr = 0; nr < 5; nr++)
		last_store(t->page, 1, nr, true);
	KUNIT_ASSERT_TRUE(test, !last_open(&t->last, t->page, LAST_SIZE));
	file = vzalloc(last_file_size(&t->last));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
	head = file;
	KUNIT_EXPECT_LE(test, last_file(&t->last, file, t->entries, t->nr),
			last_file_size(&t->last));
	KUNIT_EXPECT_EQ(test, t->nr[0], 0U);
	KUNIT_EXPECT_EQ(test, t->nr[1], 5U);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(head->entries), 5ULL);
	KUNIT_EXPECT_EQ(test, kdtl_entry_time(&t->entries[1][4]), last_time(4));
	KUNIT_EXPECT_TRUE(test, !strcmp(head->host, "here"));
	KUNIT_EXPECT_TRUE(test, !strcmp(head->release, "6.1"));
	vfree(file);
}

/*
 * If some entries each name the task of the entry before them, they are the log, even if there are
 * more entries that do not.
 */
static void last_prefers_linked(struct kunit *test)
{
	struct last_test *t = &last_test;
	const unsigned int others = 10, linked = 6, from = 20;
	u8 *area = (u8 *)t->page + PAGE_SIZE;
	struct kdtl_entry e;
	u64 nr;

	last_make(t->page);
	for (nr = 0; nr < others; nr++) {
		last_store(t->page, 0, nr, true);
		memcpy(&e, area + nr * sizeof(e), sizeof(e));
		e.fault_addr = cpu_to_be64((nr + 1) << 32);
		memcpy(area + nr * sizeof(e), &e, sizeof(e));
	}
	for (nr = from; nr < from + linked; nr++)
		last_store(t->page, 0, nr, true);
	KUNIT_ASSERT_TRUE(test, !last_open(&t->last, t->page, LAST_SIZE));
	KUNIT_ASSERT_EQ(test, last_scan(&t->last, 0, t->found), linked);
	KUNIT_EXPECT_EQ(test, kdtl_entry_time(&t->found[0]), last_time(from));
}

/*
 * Whatever the memory holds, the entries that are found are in order, within bounds, and not too
 * many.
 */
static void last_survives(struct kunit *test)
{
	struct last_test *t = &last_test;
	unsigned int i, k, cpu, n, opened = 0, wrong = 0;
	struct rnd_state rnd;
	void *file;
	u64 nr;

	prandom_seed_state(&rnd, 39);
	for (i = 0; i < 200; i++) {
		last_make(t->page);
		for (nr = 0; nr < 400; nr++)
			last_store(t->page, nr & 1, nr, true);
		/* Damage the first page, and then any place behind it. */
		for (k = prandom_u32_state(&rnd) % 4; k; k--)
			((u8 *)t->page)[prandom_u32_state(&rnd) % sizeof(*t->page)] ^=
				1 << (prandom_u32_state(&rnd) & 7);
		for (k = prandom_u32_state(&rnd) % 64; k; k--)
			((u8 *)t->page)[PAGE_SIZE + prandom_u32_state(&rnd) %
					(LAST_SIZE - PAGE_SIZE)] = prandom_u32_state(&rnd);
		if (i & 1)
			last_seal(t->page);
		if (last_open(&t->last, t->page, LAST_SIZE))
			continue;
		opened++;
		for (cpu = 0; cpu < t->last.head.nr_cpus; cpu++) {
			n = last_scan(&t->last, cpu, t->found);
			wrong += n > last_most(&t->last);
			for (k = 0; k < n; k++) {
				nr = kdtl_entry_time(&t->found[k]);
				wrong += nr < t->last.head.begun || nr > t->last.until ||
					 (k && nr < kdtl_entry_time(&t->found[k - 1]));
			}
		}
		file = vzalloc(last_file_size(&t->last));
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, file);
		wrong += last_file(&t->last, file, t->entries, t->nr) > last_file_size(&t->last);
		vfree(file);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	KUNIT_EXPECT_GT(test, opened, 50U);
	KUNIT_EXPECT_LT(test, opened, 200U);
}

static struct kunit_case last_cases[] = {
	KUNIT_CASE(last_finds),
	KUNIT_CASE(last_refuses),
	KUNIT_CASE(last_names),
	KUNIT_CASE(last_records),
	KUNIT_CASE(last_prefers_linked),
	KUNIT_CASE(last_survives),
	{}
};

struct kunit_suite kdtl_last_suite = {
	.name		= "kdtl_last",
	.init		= last_init,
	.exit		= last_exit,
	.test_cases	= last_cases,
};
