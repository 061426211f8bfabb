// SPDX-License-Identifier: GPL-2.0
/*
 * AUX areas are allocated as perf does it (promise P.12)
 *
 * A driver's setup_aux() is shown the pages and what perf tells about them: the order of a chunk is
 * in the private field of its first page.
 */
#include <linux/gfp.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/notifier.h>
#include <linux/oom.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../core/compat.h"
#include "../../core/session.h"
#include "../fake/raw.h"
#include "aux_suites.h"

#define ALLOC_PMU	"kdtl_fake_alloc"
#define ALLOC_MAX_ORDER	ilog2(KMALLOC_MAX_SIZE >> PAGE_SHIFT)

static struct kdtl_raw alloc_raw;

/**
 * struct alloc_seen - what setup_aux() saw, over all CPUs
 * @areas: how many areas it was called for
 * @chunks: how many chunks of each order
 * @misfits: chunks that are not contiguous, or reach beyond the area's end
 * @remote: pages on another node than that of their CPU
 * @dirty: pages that are not zeroed
 * @first: order of the last area's first chunk
 */
struct alloc_seen {
	unsigned int	areas;
	unsigned int	chunks[32];
	unsigned int	misfits;
	unsigned int	remote;
	unsigned int	dirty;
	unsigned int	first;
};

static struct alloc_seen alloc_seen;

static unsigned int alloc_order(struct page *page)
{
	return PagePrivate(page) ? page_private(page) : 0;
}

static void alloc_look(struct kdtl_raw_area *area)
{
	const int node = cpu_to_node(area->cpu);
	unsigned int order;
	struct page *page;
	int i, k;

	alloc_seen.areas++;
	alloc_seen.first = alloc_order(virt_to_page(area->pages[0]));
	for (i = 0; i < area->nr_pages; i += 1 << order) {
		page = virt_to_page(area->pages[i]);
		order = alloc_order(page);
		alloc_seen.chunks[min(order, 31U)]++;
		if (order > 30 || i + (1 << order) > area->nr_pages) {
			alloc_seen.misfits++;
			return;
		}
		for (k = 0; k < 1 << order; k++) {
			alloc_seen.misfits += area->pages[i + k] != area->pages[i] + k * PAGE_SIZE;
			alloc_seen.misfits += k && PagePrivate(page + k);
			alloc_seen.remote += page_to_nid(page + k) != node;
			alloc_seen.dirty += !!memchr_inv(area->pages[i + k], 0, PAGE_SIZE);
		}
	}
}

static void alloc_register(struct kunit *test, int caps)
{
	memset(&alloc_raw, 0, sizeof(alloc_raw));
	memset(&alloc_seen, 0, sizeof(alloc_seen));
	alloc_raw.on_setup = alloc_look;
	KUNIT_EXPECT_EQ(test, kdtl_raw_register(&alloc_raw, ALLOC_PMU, caps, true), 0);
}

static struct kdtl_session *alloc_create(struct kunit *test, unsigned int pages,
					 unsigned int watermark, u32 flags)
{
	const struct kdtl_session_attr attr = {
		.pmu		= ALLOC_PMU,
		.aux_pages	= pages,
		.watermark	= watermark,
		.flags		= flags,
	};

	memset(&alloc_seen, 0, sizeof(alloc_seen));
	return kapi_create(test, &attr);
}

/* Load a session.  Afterwards alloc_seen says what setup_aux() saw. */
static int alloc_load(struct kunit *test, unsigned int pages,
		      unsigned int watermark, u32 flags)
{
	struct kdtl_session *s = alloc_create(test, pages, watermark, flags);
	int err;

	if (!s)
		return -EINVAL;
	err = kdtl_load(s, NULL);
	kapi_close(test);
	KUNIT_EXPECT_EQ(test, alloc_seen.misfits, 0U);
	KUNIT_EXPECT_EQ(test, alloc_seen.remote, 0U);
	KUNIT_EXPECT_EQ(test, alloc_seen.dirty, 0U);
	return err;
}

static void alloc_expect_freed(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.frees), atomic_read(&alloc_raw.setups));
	KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.bad_frees), 0);
}

/* --------------------------------------------------------------------- orders */

/* A PMU that asks for nothing gets single, zeroed pages on the node of its CPU. */
static void alloc_single(struct kunit *test)
{
	unsigned int pages;

	alloc_register(test, 0);
	for (pages = 1; pages <= 256; pages *= 4) {
		KUNIT_EXPECT_EQ(test, alloc_load(test, pages, 0, 0), 0);
		KUNIT_EXPECT_EQ(test, alloc_seen.areas, num_online_cpus());
		KUNIT_EXPECT_EQ(test, alloc_seen.chunks[0], pages * num_online_cpus());
		KUNIT_EXPECT_EQ(test, alloc_load(test, pages, 0, KDTL_SESSION_OVERWRITE), 0);
		KUNIT_EXPECT_EQ(test, alloc_seen.chunks[0], pages * num_online_cpus());
	}
	alloc_expect_freed(test);
}

/* A PMU that wants contiguous pages gets chunks of the watermark's size. */
static void alloc_rows(struct kunit *test, int caps)
{
	static const struct {
		unsigned int pages, watermark, order;
	} want[] = {
		{ 1, 0, 0 },
		{ 2, 0, 0 },
		{ 8, 0, 2 },			/* without a watermark: half the area */
		{ 64, 0, 5 },
		{ 64, PAGE_SIZE, 0 },
		{ 64, PAGE_SIZE + 1, 1 },
		{ 64, 8 * PAGE_SIZE, 3 },
		{ 64, 64 * PAGE_SIZE, 6 },
		{ 64, 48 * PAGE_SIZE, 6 },
	};
	unsigned int i;

	alloc_register(test, caps);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		KUNIT_EXPECT_EQ(test, alloc_load(test, want[i].pages, want[i].watermark, 0), 0);
		KUNIT_EXPECT_EQ(test, alloc_seen.first, want[i].order);
		KUNIT_EXPECT_EQ(test, alloc_seen.chunks[want[i].order],
				num_online_cpus() * want[i].pages >> want[i].order);
	}
	/* In overwrite mode nobody reads, so there is no watermark: the area is one piece. */
	KUNIT_EXPECT_EQ(test, alloc_load(test, 64, PAGE_SIZE, KDTL_SESSION_OVERWRITE), 0);
	KUNIT_EXPECT_EQ(test, alloc_seen.chunks[6], num_online_cpus());
	alloc_expect_freed(test);
}

static void alloc_no_sg(struct kunit *test)
{
	alloc_rows(test, PERF_PMU_CAP_AUX_NO_SG);
}

/* Kernels that do not know the flag are compiled with 0 for it, which asks for nothing. */
static void alloc_prefer_large(struct kunit *test)
{
	if (PERF_PMU_CAP_AUX_PREFER_LARGE)
		alloc_rows(test, PERF_PMU_CAP_AUX_PREFER_LARGE);
	else
		alloc_single(test);
}

/*
 * An area larger than the largest chunk is in pieces; in overwrite mode with NO_SG it is refused.
 */
static void alloc_too_large(struct kunit *test)
{
	const unsigned int pages = 2U << ALLOC_MAX_ORDER;

	if ((u64)pages << PAGE_SHIFT >= SZ_1G)
		kunit_skip(test, "with pages of this size a CPU's area has 1 GiB");
	alloc_register(test, PERF_PMU_CAP_AUX_NO_SG);
	KUNIT_EXPECT_EQ(test, alloc_load(test, pages, 0, KDTL_SESSION_OVERWRITE), -ENOMEM);
	KUNIT_EXPECT_EQ(test, alloc_seen.areas, 0U);
	KUNIT_EXPECT_EQ(test, alloc_load(test, pages, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, alloc_seen.areas, num_online_cpus());
	KUNIT_EXPECT_LE(test, alloc_seen.first, (unsigned int)ALLOC_MAX_ORDER);
	alloc_expect_freed(test);
	kdtl_raw_unregister(&alloc_raw);

	/* A PMU that only prefers large pieces is content with smaller ones. */
	alloc_register(test, PERF_PMU_CAP_AUX_PREFER_LARGE);
	KUNIT_EXPECT_EQ(test, alloc_load(test, pages, 0, KDTL_SESSION_OVERWRITE), 0);
	alloc_expect_freed(test);
}

/* ------------------------------------------------------------------- fallback */

#define ALLOC_TRIES	20U
#define ALLOC_SCARCE	(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY)

/**
 * struct alloc_hog - memory that is taken, so that no two free pages are adjacent
 * @pages: single pages, linked by page->lru
 * @rows: larger free blocks, linked by page->lru; their order is in page->private
 * @oom: before the kernel kills tasks, gives @spare to others that need contiguous pages, for
 *	example for a stack
 * @spare: blocks to give away
 * @nr_spare: how many of them are left
 */
struct alloc_hog {
	struct list_head	pages;
	struct list_head	rows;
	struct notifier_block	oom;
	struct page		*spare[64];
	unsigned int		nr_spare;
};

#define ALLOC_SPARE_ORDER	3

static int alloc_hog_oom(struct notifier_block *nb, unsigned long unused, void *freed)
{
	struct alloc_hog *hog = container_of(nb, struct alloc_hog, oom);

	if (hog->nr_spare) {
		__free_pages(hog->spare[--hog->nr_spare], ALLOC_SPARE_ORDER);
		*(unsigned long *)freed += 1 << ALLOC_SPARE_ORDER;
	}
	return NOTIFY_OK;
}

static void alloc_hog_free(struct alloc_hog *hog)
{
	struct page *page, *next;
	unsigned int order;

	unregister_oom_notifier(&hog->oom);
	while (hog->nr_spare)
		__free_pages(hog->spare[--hog->nr_spare], ALLOC_SPARE_ORDER);
	list_for_each_entry_safe(page, next, &hog->pages, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
	list_for_each_entry_safe(page, next, &hog->rows, lru) {
		list_del(&page->lru);
		order = page_private(page);
		set_page_private(page, 0);
		__free_pages(page, order);
	}
}

/* Take the free blocks of order @down_to and above that are left, the largest first. */
static void alloc_hog_rows(struct alloc_hog *hog, unsigned int down_to)
{
	struct page *page;
	int order;

	for (order = ALLOC_MAX_ORDER; order >= (int)down_to; order--) {
		while ((page = alloc_pages(ALLOC_SCARCE, order))) {
			set_page_private(page, order);
			list_add(&page->lru, &hog->rows);
		}
	}
}

/* Take all but a little memory, and give every other page back. */
static void alloc_hog_fill(struct alloc_hog *hog)
{
	struct page *page, *next;

	INIT_LIST_HEAD(&hog->pages);
	INIT_LIST_HEAD(&hog->rows);
	hog->nr_spare = 0;
	while (hog->nr_spare < ARRAY_SIZE(hog->spare)) {
		page = alloc_pages(GFP_KERNEL, ALLOC_SPARE_ORDER);
		if (!page)
			break;
		hog->spare[hog->nr_spare++] = page;
	}
	hog->oom = (struct notifier_block) { .notifier_call = alloc_hog_oom };
	register_oom_notifier(&hog->oom);
	while ((page = alloc_page(ALLOC_SCARCE))) {
		list_add(&page->lru, &hog->pages);
		if (si_mem_available() < (32 << 20) >> PAGE_SHIFT)
			break;
	}
	list_for_each_entry_safe(page, next, &hog->pages, lru) {
		if (page_to_pfn(page) & 1)
			continue;
		list_del(&page->lru);
		__free_page(page);
	}
	alloc_hog_rows(hog, 1);
}

/*
 * Without contiguous memory an area is made of smaller and smaller chunks or, if it must be one
 * piece, the load fails with -ENOMEM.  Others free memory meanwhile, so it may take more than one
 * try.
 */
static void alloc_fallback(struct kunit *test)
{
	const unsigned int nr = num_online_cpus();
	unsigned int i, order, pages;
	struct alloc_hog hog;
	int err = 0;

	alloc_register(test, PERF_PMU_CAP_AUX_NO_SG);
	alloc_hog_fill(&hog);

	/* Without a watermark a chunk is half an area of 64 pages: order 5, if there are any. */
	for (i = 0; i < ALLOC_TRIES; i++) {
		KUNIT_EXPECT_EQ(test, alloc_load(test, 64, 0, 0), 0);
		KUNIT_EXPECT_EQ(test, alloc_seen.areas, nr);
		pages = 0;
		for (order = 0; order <= 5; order++)
			pages += alloc_seen.chunks[order] << order;
		KUNIT_EXPECT_EQ(test, pages, nr * 64);
		if (alloc_seen.chunks[0] && alloc_seen.chunks[5] < nr * 2)
			break;
		alloc_hog_rows(&hog, 1);
	}
	kunit_info(test, "%u single pages of %u", alloc_seen.chunks[0], nr * 64);
	KUNIT_EXPECT_GT(test, ALLOC_TRIES, i);

	/* In overwrite mode the area is one piece, or the load fails. */
	for (i = 0; i < ALLOC_TRIES && !err; i++) {
		alloc_hog_rows(&hog, 2);
		err = alloc_load(test, 64, 0, KDTL_SESSION_OVERWRITE);
		KUNIT_EXPECT_TRUE(test, !err || err == -ENOMEM);
		KUNIT_EXPECT_EQ(test, alloc_seen.chunks[6], alloc_seen.areas);
	}
	KUNIT_EXPECT_EQ(test, err, -ENOMEM);

	alloc_hog_free(&hog);
	KUNIT_EXPECT_EQ(test, alloc_load(test, 64, 0, 0), 0);
	KUNIT_EXPECT_EQ(test, alloc_seen.chunks[5], nr * 2);
	alloc_expect_freed(test);
}

/* ------------------------------------------------------------------- failures */

/*
 * Let setup_aux() fail on each CPU in turn.  The load ends there, and the next load uses the areas
 * that were allocated.
 */
static void alloc_setup_fails(struct kunit *test)
{
	struct kdtl_session *s;
	struct kdtl_aux_info info;
	unsigned int i;
	int cpu, setups;
	s64 mem;

	alloc_register(test, 0);
	for (i = 0; i < num_online_cpus(); i++) {
		s = alloc_create(test, 16, 0, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		mem = atomic64_read(&s->mem);
		setups = atomic_read(&alloc_raw.setups);
		alloc_raw.fail_setup = i;
		KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), -ENOMEM);
		KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.setups) - setups, (int)i);
		KUNIT_EXPECT_EQ(test, (s64)atomic64_read(&s->mem),
				mem + (i + 1) * (s64)kdtl_aux_mem(16));
		KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.frees), setups);
		for_each_online_cpu(cpu) {
			KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
			KUNIT_EXPECT_FALSE(test, info.online);
		}
		KUNIT_EXPECT_EQ(test, kdtl_start(s), -EINVAL);
		/* The load can be repeated. */
		alloc_raw.fail_setup = -1;
		KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
		KUNIT_EXPECT_EQ(test, (s64)atomic64_read(&s->mem),
				mem + num_online_cpus() * (s64)kdtl_aux_mem(16));
		kapi_close(test);
		KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.setups) - setups,
				(int)num_online_cpus());
		alloc_expect_freed(test);
	}
}

/* A load that fails keeps the areas of an earlier load, because readers may have found them. */
static void alloc_earlier_stays(struct kunit *test)
{
	struct kdtl_session *s;

	KUNIT_ASSERT_GT(test, num_online_cpus(), 1U);
	alloc_register(test, 0);
	s = alloc_create(test, 16, 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, cpumask_of(0)), 0);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	alloc_raw.fail_setup = 0;
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), -ENOMEM);
	KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.setups), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.frees), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&alloc_raw.setups), (int)num_online_cpus());
	kapi_close(test);
	alloc_expect_freed(test);
}

/* The session already has all memory up to the cap but that of one CPU, or one byte more. */
static void alloc_cap(struct kunit *test)
{
	const s64 cap = 1024LL << 20; /* the default of max_session_mb */
	struct kdtl_session *s;
	s64 mem;
	int more;

	alloc_register(test, 0);
	for (more = 0; more < 2; more++) {
		s = alloc_create(test, 16, 0, 0);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		mem = atomic64_read(&s->mem);
		atomic64_set(&s->mem, cap - (s64)kdtl_aux_mem(16) + more);
		KUNIT_EXPECT_EQ(test, kdtl_load(s, cpumask_of(0)), more ? -ENOMEM : 0);
		atomic64_set(&s->mem, mem);
		kapi_close(test);
		alloc_expect_freed(test);
	}
}

#if defined(CONFIG_KRETPROBES) && defined(CONFIG_HAVE_FUNCTION_ERROR_INJECTION)
static int alloc_says_yes(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	regs_set_return_value(regs, true);
	return 0;
}

/*
 * Where the data cache aliases, areas are refused.  No such machine is tested, so a kprobe changes
 * what this machine's check returns.
 */
static void alloc_aliases(struct kunit *test)
{
	struct kretprobe probe = {
		.kp.symbol_name	= "kdtl_area_aliases",
		.handler	= alloc_says_yes,
	};
	struct kdtl_session *s;

	alloc_register(test, 0);
	s = alloc_create(test, 16, 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_EQ(test, register_kretprobe(&probe), 0);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), -EOPNOTSUPP);
	unregister_kretprobe(&probe);
	KUNIT_EXPECT_EQ(test, alloc_seen.areas, 0U);
	KUNIT_EXPECT_EQ(test, kdtl_load(s, NULL), 0);
	kapi_close(test);
	alloc_expect_freed(test);
}
#endif

static struct kunit_case alloc_cases[] = {
	KUNIT_CASE(alloc_single),
	KUNIT_CASE(alloc_no_sg),
	KUNIT_CASE(alloc_prefer_large),
	KUNIT_CASE(alloc_too_large),
	KUNIT_CASE(alloc_fallback),
	KUNIT_CASE(alloc_setup_fails),
	KUNIT_CASE(alloc_earlier_stays),
	KUNIT_CASE(alloc_cap),
#if defined(CONFIG_KRETPROBES) && defined(CONFIG_HAVE_FUNCTION_ERROR_INJECTION)
	KUNIT_CASE(alloc_aliases),
#endif
	{}
};

static void alloc_exit(struct kunit *test)
{
	kapi_exit(test);
	if (alloc_raw.p.name)
		kdtl_raw_unregister(&alloc_raw);
	alloc_raw.p.name = NULL;
}

struct kunit_suite kdtl_alloc_suite = {
	.name		= "kdtl_alloc",
	.exit		= alloc_exit,
	.test_cases	= alloc_cases,
};
