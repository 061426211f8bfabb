// SPDX-License-Identifier: GPL-2.0
/* Losses are told in band: between which entries, and how many. */
#include <linux/cpu.h>
#include <linux/prandom.h>

#include "aux_suites.h"

#define GAPS_FITS	((unsigned int)(PAGE_SIZE / KDTL_ENTRY_SIZE))

/* What a reader of CPU 0 has seen: the test source numbers its entries. */
struct gaps_reader {
	struct kdtl_session	*s;
	u64			next;	/* number of the next entry if none is lost */
	u64			lost;	/* told so far */
	u64			read;
};

static struct kdtl_session *gaps_session(struct kunit *test, u32 flags)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.flags		= flags,
	};

	return kapi_started(test, &attr);
}

/* Read one entry, which tells the number of the next one. */
static void gaps_begin(struct kunit *test, struct gaps_reader *r)
{
	const void *span = NULL;

	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_ASSERT_EQ(test, kdtl_aux_peek(r->s, 0, &span), (ssize_t)KDTL_ENTRY_SIZE);
	r->next = kdtl_fake_entry_seq(span) + 1;
	r->read = 1;
	KUNIT_ASSERT_EQ(test, kdtl_aux_consume(r->s, 0, KDTL_ENTRY_SIZE), 0);
}

/* Read @most entries; each has the next number, but for the entries that were told to be lost. */
static void gaps_read(struct kunit *test, struct gaps_reader *r, unsigned int most)
{
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;
	size_t at;
	u64 lost;
	int gap;

	while (most--) {
		len = kdtl_aux_peek(r->s, 0, &span);
		if (len <= 0)
			return;
		e = span;
		gap = kdtl_aux_gap(r->s, 0, &at, &lost);
		KUNIT_ASSERT_GE(test, gap, 0);
		if (gap) {
			KUNIT_ASSERT_LE(test, at, (size_t)len);
			KUNIT_ASSERT_GT(test, lost, 0ULL);
		}
		if (gap && !at) {
			r->next += lost;
			r->lost += lost;
		}
		KUNIT_ASSERT_EQ(test, kdtl_fake_entry_seq(e), r->next);
		r->next++;
		r->read++;
		KUNIT_ASSERT_EQ(test, kdtl_aux_consume(r->s, 0, KDTL_ENTRY_SIZE), 0);
	}
}

static void gaps_expect(struct kunit *test, struct kdtl_session *s, size_t entries, u64 count)
{
	size_t at = ~0UL;
	u64 lost = 0;

	KUNIT_ASSERT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), 1);
	KUNIT_EXPECT_EQ(test, at, entries * KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, lost, count);
}

static void gaps_none(struct kunit *test, struct kdtl_session *s)
{
	size_t at;
	u64 lost;

	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), 0);
}

static void gaps_places(struct kunit *test)
{
	struct gaps_reader r = { .s = gaps_session(test, 0) };

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r.s);
	gaps_begin(test, &r);
	gaps_none(test, r.s);
	kapi_emit(0, KDTL_KIND_CEDE, GAPS_FITS);
	gaps_none(test, r.s);
	/* The gap is at the end of the span, and grows. */
	kapi_emit(0, KDTL_KIND_CEDE, 3);
	gaps_expect(test, r.s, GAPS_FITS, 3);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	gaps_expect(test, r.s, GAPS_FITS, 4);
	gaps_read(test, &r, 2);
	gaps_expect(test, r.s, GAPS_FITS - 2, 4);
	/* That gap has ended; another one begins behind it. */
	kapi_emit(0, KDTL_KIND_CEDE, 2);
	kapi_emit(0, KDTL_KIND_CEDE, 5);
	gaps_expect(test, r.s, GAPS_FITS - 2, 4);
	gaps_read(test, &r, GAPS_FITS - 2);
	gaps_expect(test, r.s, 0, 4);
	gaps_read(test, &r, 1);
	gaps_expect(test, r.s, 1, 5);
	gaps_read(test, &r, 1);
	/* All entries have been read, but none has come since the loss. */
	gaps_expect(test, r.s, 0, 5);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	gaps_expect(test, r.s, 0, 5);
	gaps_read(test, &r, 1);
	gaps_none(test, r.s);
	KUNIT_EXPECT_EQ(test, r.lost, 9ULL);
}

/* The source itself has lost entries, and these have no numbers. */
static void gaps_of_source(struct kunit *test)
{
	struct kdtl_session *s = gaps_session(test, 0);
	const void *span;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	kdtl_fake_lost(0, 2);
	gaps_expect(test, s, 0, 2);
	kdtl_fake_lost(0, 3);
	gaps_expect(test, s, 0, 5);
	kapi_emit(0, KDTL_KIND_CEDE, 4);
	kdtl_fake_lost(0, 7);
	gaps_expect(test, s, 0, 5);
	KUNIT_ASSERT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)(4 * KDTL_ENTRY_SIZE));
	KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
	gaps_expect(test, s, 3, 7);
	/* The next load forgets the gaps. */
	KUNIT_ASSERT_EQ(test, kdtl_unload(s), 0);
	gaps_expect(test, s, 3, 7);
	KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
	gaps_none(test, s);
}

/*
 * A reader takes one entry at a time while the area stays full.  There are more gaps than can be
 * noted, and each of them is exact all the same.
 */
static void gaps_many(struct kunit *test)
{
	struct gaps_reader r = { .s = gaps_session(test, 0) };
	struct kdtl_aux_info info;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r.s);
	gaps_begin(test, &r);
	kapi_emit(0, KDTL_KIND_CEDE, 2 * GAPS_FITS);
	for (i = 0; i < 1000; i++) {
		gaps_read(test, &r, 1);
		kapi_emit(0, KDTL_KIND_CEDE, 3);
	}
	/* The reader always found an entry. */
	KUNIT_EXPECT_EQ(test, r.read, 1001ULL);
	gaps_read(test, &r, U32_MAX);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	gaps_read(test, &r, U32_MAX);
	KUNIT_ASSERT_EQ(test, kdtl_aux_info(r.s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, r.lost);
	KUNIT_EXPECT_EQ(test, info.produced, r.read + r.lost);
	KUNIT_EXPECT_EQ(test, info.produced, 2 + 2ULL * GAPS_FITS + 3 * 1000);
	gaps_none(test, r.s);
}

/* The source reports so many gaps that entries that would find room are lost with them. */
static void gaps_of_source_many(struct kunit *test)
{
	struct kdtl_session *s = gaps_session(test, 0);
	struct kdtl_aux_info info;
	u64 lost, sum = 0, made = 0;
	const void *span;
	unsigned int i;
	size_t at;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 1; i <= GAPS_FITS - 1; i++) {
		kdtl_fake_lost(0, i);
		kapi_emit(0, KDTL_KIND_CEDE, 1);
		made += i + 1;
	}
	KUNIT_ASSERT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.produced, made);
	KUNIT_EXPECT_LT(test, info.unread, (u64)GAPS_FITS - 1);
	for (i = 1; kdtl_aux_peek(s, 0, &span) > 0; i++) {
		KUNIT_ASSERT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), 1);
		KUNIT_ASSERT_EQ(test, at, (size_t)0);
		KUNIT_ASSERT_EQ(test, lost, (u64)i);
		sum += lost;
		KUNIT_ASSERT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
	}
	/* The last gap has grown by all that was lost after it. */
	KUNIT_ASSERT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), 1);
	KUNIT_EXPECT_EQ(test, sum + lost, info.lost);
	/* There is room again. */
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)KDTL_ENTRY_SIZE);
	gaps_expect(test, s, 0, lost);
}

/* Random numbers of entries come and are read. */
static void gaps_random(struct kunit *test)
{
	struct gaps_reader r = { .s = gaps_session(test, 0) };
	struct kdtl_aux_info info;
	struct rnd_state rnd;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, r.s);
	prandom_seed_state(&rnd, 16);
	gaps_begin(test, &r);
	for (i = 0; i < 2000; i++) {
		kapi_emit(0, KDTL_KIND_CEDE, prandom_u32_state(&rnd) % GAPS_FITS);
		gaps_read(test, &r, prandom_u32_state(&rnd) % GAPS_FITS);
	}
	gaps_read(test, &r, U32_MAX);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	gaps_read(test, &r, 1);
	KUNIT_ASSERT_EQ(test, kdtl_aux_info(r.s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, r.lost);
	KUNIT_EXPECT_GT(test, info.lost, 1000ULL);
	KUNIT_EXPECT_EQ(test, info.produced, r.read + r.lost);
}

static void gaps_merged(struct kunit *test)
{
	struct kdtl_session *s = gaps_session(test, 0);
	struct gaps_reader r = { .s = s };
	const struct kdtl_entry *e;
	struct kdtl_aux_info info;
	u64 next = 0, told = 0;
	struct kdtl_merge *m;
	unsigned int round;
	u64 lost;
	size_t at;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	KUNIT_EXPECT_EQ(test, kdtl_merge_lost(m), 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), -EBUSY);
	/*
	 * The machine's own clock may stand still while a tick is late, so the test moves the
	 * source's.
	 */
	kdtl_fake_stop(true);
	for (round = 0; round < 10; round++) {
		/*
		 * The entries of the previous round are still in the area; the sync below gives
		 * them back.
		 */
		kapi_emit(0, KDTL_KIND_CEDE, round < 9 ? GAPS_FITS + round : 1);
		kdtl_fake_later(1);
		KUNIT_ASSERT_EQ(test, kdtl_merge_sync(m), 0);
		kapi_emit(0, KDTL_KIND_CEDE, round);
		while ((e = kdtl_merge_next(m))) {
			lost = kdtl_merge_lost(m);
			KUNIT_EXPECT_EQ(test, lost, kdtl_merge_lost(m));
			if (next)
				KUNIT_ASSERT_EQ(test, kdtl_fake_entry_seq(e), next + lost);
			next = kdtl_fake_entry_seq(e) + 1;
			told += lost;
		}
		KUNIT_EXPECT_EQ(test, kdtl_merge_lost(m), 0ULL);
	}
	kdtl_fake_stop(false);
	/* Entries that the merge has not returned are left for another reader, with their gaps. */
	kapi_emit(0, KDTL_KIND_CEDE, 2 * GAPS_FITS);
	kdtl_merge_destroy(m);
	r.next = next;
	gaps_read(test, &r, U32_MAX);
	kapi_emit(0, KDTL_KIND_CEDE, 1);
	gaps_read(test, &r, 1);
	KUNIT_ASSERT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, told + r.lost);
	KUNIT_EXPECT_GT(test, told, 0ULL);
	KUNIT_EXPECT_GT(test, r.lost, 0ULL);
}

static void gaps_refused(struct kunit *test)
{
	struct kdtl_session *s = gaps_session(test, KDTL_SESSION_OVERWRITE);
	size_t at;
	u64 lost;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), -EINVAL);
	kdtl_fake_lost(0, 1);
	kapi_close(test);
	s = kapi_session(test, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, -1, &at, &lost), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, nr_cpu_ids, &at, &lost), -EINVAL);
	/* Nor is there a gap before the first load. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_gap(s, 0, &at, &lost), 0);
}

static struct kunit_case gaps_cases[] = {
	KUNIT_CASE(gaps_places),
	KUNIT_CASE(gaps_of_source),
	KUNIT_CASE(gaps_many),
	KUNIT_CASE(gaps_of_source_many),
	KUNIT_CASE(gaps_random),
	KUNIT_CASE(gaps_merged),
	KUNIT_CASE(gaps_refused),
	{}
};

struct kunit_suite kdtl_gaps_suite = {
	.name		= "kdtl_gaps",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= gaps_cases,
};
