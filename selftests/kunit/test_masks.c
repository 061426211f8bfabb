// SPDX-License-Identifier: GPL-2.0
/* Masks select the kinds of entries that a session gets, alone and beside other sessions. */
#include <linux/module.h>

#include "kapi.h"

#define MASKS_KNOWN	(KDTL_MASK_ALL | KDTL_MASK_IDLE)

static struct kdtl_session *masks_session(struct kunit *test, u32 mask)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= KAPI_AUX_PAGES,
		.mask		= mask,
	};

	return kapi_create(test, &attr);
}

/* Make entries of each kind, of each kind another number. */
static void masks_emit(int cpu)
{
	enum kdtl_kind kind;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++)
		kapi_emit(cpu, kind, 3 + 2 * kind);
}

/* How many of them a session with this mask gets.  Entries of unknown kind match every mask. */
static unsigned int masks_wanted(u32 mask, enum kdtl_kind kind)
{
	static const u32 bit[KDTL_NR_KINDS] = {
		[KDTL_KIND_CEDE]	= KDTL_MASK_CEDE,
		[KDTL_KIND_PREEMPT]	= KDTL_MASK_PREEMPT,
		[KDTL_KIND_FAULT]	= KDTL_MASK_FAULT,
		[KDTL_KIND_THROTTLE]	= KDTL_MASK_THROTTLE,
		[KDTL_KIND_IDLE]	= KDTL_MASK_IDLE,
		[KDTL_KIND_UNKNOWN]	= MASKS_KNOWN,
	};

	/*
	 * Mask 0 stands for all dispatches, without the entries that say that the CPU became idle.
	 */
	return (mask ?: KDTL_MASK_ALL) & bit[kind] ? 3 + 2 * kind : 0;
}

/* After masks_emit(), exactly these kinds must have been counted and stored. */
static void masks_check(struct kunit *test, struct kdtl_session *s, int cpu, u32 mask,
			unsigned int times)
{
	unsigned int got[KDTL_NR_KINDS] = {};
	const struct kdtl_entry *e;
	enum kdtl_kind kind;
	const void *span;
	ssize_t len;
	u64 sum = 0;

	len = kdtl_aux_peek(s, cpu, &span);
	kdtl_for_each_entry(e, span, len) {
		KUNIT_EXPECT_NE(test, kdtl_fake_entry_seq(e), 0ULL);
		kind = kdtl_entry_is_throttled(e) ? KDTL_KIND_THROTTLE :
		       kdtl_entry_is_idle(e) ? KDTL_KIND_IDLE : kdtl_entry_dispatch_reason(e);
		KUNIT_ASSERT_TRUE(test, kind < KDTL_NR_KINDS);
		got[kind]++;
	}
	for (kind = 0; kind < KDTL_NR_KINDS; kind++) {
		const unsigned int want = times * masks_wanted(mask, kind);

		KUNIT_EXPECT_EQ_MSG(test, got[kind], want, "mask %#x, kind %u", mask, kind);
		KUNIT_EXPECT_EQ_MSG(test, kapi_counter(test, s, 0, KDTL_CTR_CEDE + kind, cpu),
				    (u64)want, "mask %#x, kind %u", mask, kind);
		sum += want;
	}
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_ENTRIES, cpu), sum);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, s, 0, KDTL_CTR_LOST, cpu), 0ULL);
}

static void masks_each(struct kunit *test)
{
	struct kdtl_session *s;
	u32 mask;
	int cpu;

	for (mask = 0; mask <= MASKS_KNOWN; mask++) {
		s = masks_session(test, mask);
		KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		for_each_online_cpu(cpu)
			masks_emit(cpu);
		for_each_online_cpu(cpu)
			masks_check(test, s, cpu, mask, 1);
		kapi_close(test);
	}
}

/* Sessions with all masks run at once on the same CPUs: each gets its own entries. */
static void masks_side_by_side(struct kunit *test)
{
	struct kdtl_session *s[MASKS_KNOWN + 1] = {};
	u32 mask;

	for (mask = 0; mask <= MASKS_KNOWN; mask++) {
		s[mask] = masks_session(test, mask);
		KUNIT_EXPECT_EQ(test, s[mask] ? kapi_go(s[mask]) : -ENOMEM, 0);
		/* test->priv has room for one session only. */
		test->priv = NULL;
	}
	masks_emit(0);
	/* When one session is closed, the others go on as before. */
	kdtl_session_close(s[KDTL_MASK_PREEMPT]);
	s[KDTL_MASK_PREEMPT] = NULL;
	masks_emit(0);
	for (mask = 0; mask <= MASKS_KNOWN; mask++) {
		if (s[mask])
			masks_check(test, s[mask], 0, mask, 2);
		kdtl_session_close(s[mask]);
	}
}

/* A mask that is written between stop and start applies from the start on. */
static void masks_rewritten(struct kunit *test)
{
	struct kdtl_session *s = masks_session(test, KDTL_MASK_FAULT);
	struct kdtl_config req = {};
	u32 mask;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (mask = MASKS_KNOWN + 1; mask--; ) {
		req.mask = mask;
		KUNIT_ASSERT_EQ(test, kdtl_write_config(s, &req, 1), 0);
		KUNIT_ASSERT_EQ(test, kapi_go(s), 0);
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &req, 1), -EBUSY);
		masks_emit(0);
		masks_check(test, s, 0, mask, 1);
		/* While it is stopped, the session gets no entries. */
		KUNIT_ASSERT_EQ(test, kdtl_stop(s), 0);
		masks_emit(0);
		masks_check(test, s, 0, mask, 1);
		KUNIT_ASSERT_EQ(test, kdtl_unload(s), 0);
	}
}

static struct kunit_case masks_cases[] = {
	KUNIT_CASE(masks_each),
	KUNIT_CASE(masks_side_by_side),
	KUNIT_CASE(masks_rewritten),
	{}
};

struct kunit_suite kdtl_masks_suite = {
	.name		= "kdtl_masks",
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= masks_cases,
};
