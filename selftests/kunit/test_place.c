// SPDX-License-Identifier: GPL-2.0
/*
 * Areas in memory of the caller's (kdtl_session_attr::place).  A caller that later has nothing but
 * this memory relies on the time of each entry being stored last.
 */
#include <linux/gfp.h>
#include <linux/hw_breakpoint.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "../../core/session.h"
#include "../fake/raw.h"
#include "aux_suites.h"

#define PLACE_PMU	"kdtl_fake_place"
#define PLACE_PAGES	2

/* Allocate pages for all CPUs, filled with a pattern.  place_pages_free() frees them. */
static struct page **place_pages(struct kunit *test, unsigned int nr)
{
	struct page **pages = kcalloc(nr, sizeof(*pages), GFP_KERNEL);
	struct page *all;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, pages);
	all = alloc_pages(GFP_KERNEL, get_order(nr * PAGE_SIZE));
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, all);
	for (i = 0; i < nr; i++) {
		pages[i] = all + i;
		memset(page_address(pages[i]), 0x5a, PAGE_SIZE);
	}
	return pages;
}

static void place_pages_free(struct page **pages, unsigned int nr)
{
	__free_pages(pages[0], get_order(nr * PAGE_SIZE));
	kfree(pages);
}

/* What such a session cannot have is refused, and nothing is left of it. */
static void place_refused(struct kunit *test)
{
	const unsigned int nr = nr_cpu_ids * PLACE_PAGES;
	struct page **pages = place_pages(test, nr);
	struct page **hole = kcalloc(nr, sizeof(*hole), GFP_KERNEL);
	const struct kdtl_place good = { pages, nr }, few = { pages, nr - 1 };
	const struct kdtl_place none = { NULL, nr }, holed = { hole, nr };
	const struct {
		const char			*what;
		struct kdtl_session_attr	attr;
	} bad[] = {
		{ "no overwriting", { .place = &good } },
		{ "only counts", { .place = &good, .flags = KDTL_SESSION_NO_AUX } },
		{ "raw", { .place = &good, .flags = KDTL_SESSION_OVERWRITE | KDTL_SESSION_RAW } },
		{ "too few", { .place = &few, .flags = KDTL_SESSION_OVERWRITE } },
		{ "no pages", { .place = &none, .flags = KDTL_SESSION_OVERWRITE } },
		{ "a hole", { .place = &holed, .flags = KDTL_SESSION_OVERWRITE } },
	};
	struct kdtl_session_attr attr;
	struct kdtl_session *s;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, hole);
	memcpy(hole, pages, (nr - 1) * sizeof(*hole));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		attr = bad[i].attr;
		attr.pmu = KDTL_FAKE_PMU;
		attr.aux_pages = attr.flags & KDTL_SESSION_NO_AUX ? 0 : PLACE_PAGES;
		s = kdtl_session_create(&attr);
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(s), (long)-EINVAL, "%s", bad[i].what);
		kdtl_session_close(s);
	}
	kfree(hole);
	place_pages_free(pages, nr);
}

static struct kdtl_raw place_raw;

/* A driver with its own setup_aux() might rely on perf's marks, which such pages do not have. */
static void place_own_setup(struct kunit *test)
{
	const unsigned int nr = nr_cpu_ids;
	struct page **pages = place_pages(test, nr);
	const struct kdtl_place place = { pages, nr };
	const struct kdtl_session_attr attr = {
		.pmu		= PLACE_PMU,
		.aux_pages	= 1,
		.flags		= KDTL_SESSION_OVERWRITE,
		.place		= &place,
	};
	struct kdtl_session *s;

	KUNIT_EXPECT_EQ(test, kdtl_raw_register(&place_raw, PLACE_PMU, 0, true), 0);
	s = kdtl_session_create(&attr);
	KUNIT_EXPECT_EQ(test, PTR_ERR(s), (long)-EINVAL);
	kdtl_session_close(s);
	kdtl_raw_unregister(&place_raw);
	KUNIT_EXPECT_EQ(test, atomic_read(&place_raw.setups), 0);
	place_pages_free(pages, nr);
}

/*
 * Entries are written to these pages and nowhere else, and stay there after the session is closed.
 */
static void place_in_place(struct kunit *test, bool write_combine)
{
	const unsigned int nr = nr_cpu_ids * PLACE_PAGES;
	struct page **pages = place_pages(test, nr);
	struct kdtl_place place = { pages, nr, write_combine };
	struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= PLACE_PAGES,
		.flags		= KDTL_SESSION_OVERWRITE,
		.place		= &place,
	};
	struct vm_area_struct vma = { .vm_end = PLACE_PAGES * PAGE_SIZE };
	struct kdtl_session *s = kapi_started(test, &attr);
	const int refs = page_count(pages[0]);
	const u8 *area = page_address(pages[0]);
	unsigned int i, wrong = 0;
	struct kdtl_aux_info info;
	struct kdtl_entry want[3];
	u8 byte;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	/* The session has its own copy of the struct that says where its memory is. */
	memset(&place, 0, sizeof(place));
	KUNIT_EXPECT_EQ(test, kdtl_aux_mmap(s, 0, &vma), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	kapi_emit(0, KDTL_KIND_CEDE, ARRAY_SIZE(want));
	KUNIT_EXPECT_EQ(test, kdtl_aux_snapshot(s, 0, want, sizeof(want), NULL),
			(ssize_t)sizeof(want));
	kapi_close(test);
	for (i = 0; i < PLACE_PAGES * PAGE_SIZE; i++) {
		byte = area[(info.head + i) & (PLACE_PAGES * PAGE_SIZE - 1)];
		wrong += byte != (i < sizeof(want) ? ((const u8 *)want)[i] : 0x5a);
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	for (i = PLACE_PAGES; i < nr; i++)
		KUNIT_EXPECT_TRUE(test, !memchr_inv(page_address(pages[i]), 0x5a, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, page_count(pages[0]), refs);
	place_pages_free(pages, nr);
}

static void place_cached(struct kunit *test)
{
	place_in_place(test, false);
}

static void place_write_combined(struct kunit *test)
{
	place_in_place(test, true);
}

/* ------------------------------------------------------------- the time is last */

#ifdef CONFIG_HAVE_HW_BREAKPOINT

/**
 * struct place_watch - a place for an entry; a breakpoint tells when the entry's time is stored
 * @slot: the place
 * @then: the bytes that the place had when the time was stored first
 * @hits: how often a time was stored there
 */
struct place_watch {
	const struct kdtl_entry	*slot;
	struct kdtl_entry	then;
	unsigned int		hits;
};

/* This may run inside the scheduler. */
static void place_hit(struct perf_event *event, struct perf_sample_data *data,
		      struct pt_regs *regs)
{
	struct place_watch *w = event->overflow_handler_context;

	if (!w->hits)
		w->then = *w->slot;
	WRITE_ONCE(w->hits, w->hits + 1);
}

/* Watch the place of the entry that comes @ahead entries after the next one. */
static void place_watch(struct kunit *test, const char *pmu, unsigned int ahead,
			void (*log)(void))
{
	const struct kdtl_session_attr session = {
		.pmu		= pmu,
		.aux_pages	= KAPI_AUX_PAGES,
		.mask		= KDTL_MASK_ALL,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kapi_started(test, &session);
	struct perf_event_attr attr;
	struct place_watch w = {};
	struct perf_event *event;
	struct kdtl_aux *aux;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	aux = kdtl_session_aux(s, 0);
	w.slot = aux->area.base + ((aux->sink.at->head + ahead * KDTL_ENTRY_SIZE) &
				   aux->sink.at->pos_mask);
	hw_breakpoint_init(&attr);
	attr.bp_addr = (unsigned long)&w.slot->timebase;
	attr.bp_len = HW_BREAKPOINT_LEN_8;
	attr.bp_type = HW_BREAKPOINT_W;
	event = perf_event_create_kernel_counter(&attr, 0, NULL, place_hit, &w);
	if (IS_ERR(event)) {
		kapi_close(test);
		kunit_skip(test, "no breakpoint for data (%pe)", event);
	}
	KUNIT_EXPECT_TRUE(test, __kapi_until(READ_ONCE(w.hits), log()));
	perf_event_release_kernel(event);
	KUNIT_EXPECT_EQ(test, memcmp(&w.then, w.slot, offsetof(struct kdtl_entry, timebase)), 0);
	KUNIT_EXPECT_EQ(test, memcmp((void *)&w.then + offsetofend(struct kdtl_entry, timebase),
				     (void *)w.slot + offsetofend(struct kdtl_entry, timebase),
				     sizeof(w.then) - offsetofend(struct kdtl_entry, timebase)),
			0);
	KUNIT_EXPECT_NE(test, kdtl_entry_time(w.slot), 0ULL);
	kapi_close(test);
}

static void place_emit(void)
{
	kdtl_fake_emit(0, KDTL_KIND_CEDE, 1, 1, 2, 3);
}

static void place_sleep(void)
{
	usleep_range(50, 100);
}

/* Entries of most sources are stored by kdtl_ring_store(). */
static void place_time_last(struct kunit *test)
{
	place_watch(test, KDTL_FAKE_PMU, 0, place_emit);
}

/*
 * kdtl_sched stores its entries itself.  Other tasks are dispatched before the breakpoint is set,
 * so the place watched is 20 entries ahead.
 */
static void place_time_last_sched(struct kunit *test)
{
	place_watch(test, "kdtl_sched", 20, place_sleep);
}

#else

static void place_time_last(struct kunit *test)
{
	kunit_skip(test, "no breakpoints");
}

static void place_time_last_sched(struct kunit *test)
{
	kunit_skip(test, "no breakpoints");
}

#endif /* CONFIG_HAVE_HW_BREAKPOINT */

static struct kunit_case place_cases[] = {
	KUNIT_CASE(place_refused),
	KUNIT_CASE(place_own_setup),
	KUNIT_CASE(place_cached),
	KUNIT_CASE(place_write_combined),
	KUNIT_CASE(place_time_last),
	KUNIT_CASE(place_time_last_sched),
	{}
};

struct kunit_suite kdtl_place_suite = {
	.name		= "kdtl_place",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= place_cases,
};
