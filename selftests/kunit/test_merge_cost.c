// SPDX-License-Identifier: GPL-2.0
/*
 * What merging costs: O(log CPUs) looks at an entry's time, which are counted here
 *
 * No test machine has a thousand CPUs, so api/merge.c is compiled once more in this file, between a
 * fake session and fake CPUs.
 */
#include <linux/export.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/rbtree.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "../../api/request.h"
#include "../../core/session.h"
#include "aux_suites.h"

#define COST_PER_CPU	64

static unsigned int cost_cpus;
static u64 cost_looks;
static struct kdtl_entry *cost_entries;	/* COST_PER_CPU for each CPU */

static u64 cost_time(const struct kdtl_entry *e)
{
	cost_looks++;
	return be64_to_cpu(e->timebase);
}

static ssize_t cost_peek(struct kdtl_session *s, int cpu, const void **span)
{
	*span = cost_entries + cpu * COST_PER_CPU;
	return COST_PER_CPU * sizeof(*cost_entries);
}

static int cost_consume(struct kdtl_session *s, int cpu, size_t bytes)
{
	return 0;
}

static u64 cost_lost(struct kdtl_session *s, int cpu, size_t from, size_t to)
{
	return 0;
}

static int cost_refuse(const struct kdtl_session *s, const char *what)
{
	return -EBUSY;
}

struct kdtl_merge *cost_merge_create(struct kdtl_session *s);
void cost_merge_destroy(struct kdtl_merge *m);
void cost_merge_detach(struct kdtl_merge *m);
int cost_merge_sync(struct kdtl_merge *m);
const struct kdtl_entry *cost_merge_next(struct kdtl_merge *m);
int cost_merge_cpu(const struct kdtl_merge *m);
u64 cost_merge_late(const struct kdtl_merge *m);
u64 cost_merge_lost(const struct kdtl_merge *m);

static bool (*cost_cursor_less)(struct rb_node *a, const struct rb_node *b);

/* A comparison of two CPUs looks twice: each CPU has a copy of the time of its next entry. */
static bool cost_less(struct rb_node *a, const struct rb_node *b)
{
	cost_looks += 2;
	return cost_cursor_less(a, b);
}

#define rb_add_cached(node, tree, less)						\
	(cost_cursor_less = (less), rb_add_cached(node, tree, cost_less))
#define kdtl_merge_create	cost_merge_create
#define kdtl_merge_destroy	cost_merge_destroy
#define kdtl_merge_sync		cost_merge_sync
#define kdtl_merge_next		cost_merge_next
#define kdtl_merge_cpu		cost_merge_cpu
#define kdtl_merge_late		cost_merge_late
#define kdtl_merge_lost		cost_merge_lost
#define kdtl_entry_time		cost_time
#define kdtl_merge_detach	cost_merge_detach
#define kdtl_reader_peek	cost_peek
#define kdtl_reader_consume	cost_consume
#define kdtl_reader_lost	cost_lost
#define kdtl_reader_refuse	cost_refuse
#define kdtl_entries_check(...)	(0)
#define kdtl_session_enter(s, verb, caller)	(mutex_lock(&(s)->lock), 0)
#define kdtl_session_leave(s)	mutex_unlock(&(s)->lock)
#define kdtl_may_sleep(owner, verb)	(0)
#define kdtl_session_hold(s)	(0)
#define kdtl_session_release(s)	((void)(s))
#undef nr_cpu_ids
#define nr_cpu_ids		cost_cpus
#undef for_each_cpu
#define for_each_cpu(cpu, mask)	for ((cpu) = 0, (void)(mask); (cpu) < cost_cpus; (cpu)++)
/* There is nothing to ask for: each clock is far ahead. */
#undef on_each_cpu_mask
#define on_each_cpu_mask(mask, fn, arg, wait)	((void)(mask), (void)(fn))
#undef EXPORT_SYMBOL_NS_GPL
#define EXPORT_SYMBOL_NS_GPL(symbol, ns)	static_assert(true)

#undef pr_fmt
#include "../../api/merge.c"
#undef pr_fmt
#define pr_fmt(fmt)		fmt

static u64 cost_sync(struct kdtl_pmu *p)
{
	return U64_MAX;
}

/* How many looks it takes to merge all entries of @cpus CPUs, after the sync. */
static u64 cost_of(struct kunit *test, unsigned int cpus)
{
	struct kdtl_pmu pmu = { .sync = cost_sync };
	struct kdtl_session *s = kzalloc(sizeof(*s), GFP_KERNEL);
	u64 last = 0, now, got = 0, backwards = 0;
	const struct kdtl_entry *e;
	struct kdtl_merge *m;
	struct rnd_state rnd;
	unsigned int i;

	cost_cpus = cpus;
	cost_entries = kvcalloc(cpus, COST_PER_CPU * sizeof(*cost_entries), GFP_KERNEL);
	KUNIT_ASSERT_TRUE(test, s && cost_entries);
	prandom_seed_state(&rnd, cpus);
	for (i = 0; i < cpus * COST_PER_CPU; i++) {
		now = i % COST_PER_CPU ? now + prandom_u32_state(&rnd) % 1000 : 1;
		cost_entries[i].timebase = cpu_to_be64(now);
	}
	mutex_init(&s->lock);
	mutex_init(&s->reading);
	s->starts = 1;
	s->pmu = &pmu;
	s->layout.nr_pages = 1;
	m = cost_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	cost_merge_sync(m);
	cost_looks = 0;
	while ((e = cost_merge_next(m))) {
		backwards += be64_to_cpu(e->timebase) < last;
		last = be64_to_cpu(e->timebase);
		got++;
	}
	cost_merge_destroy(m);
	kvfree(cost_entries);
	kfree(s);
	KUNIT_EXPECT_EQ(test, backwards, 0ULL);
	KUNIT_EXPECT_EQ(test, got, (u64)cpus * COST_PER_CPU);
	return cost_looks;
}

/*
 * An entry is compared with one CPU's on each level of a tree, two times in each comparison.  A
 * red-black tree has at most twice as many levels as a full one.  The entry is compared with the
 * horizon once.
 */
static void cost_log(struct kunit *test)
{
	unsigned int cpus;
	u64 looks, most, whole;
	u32 part;

	for (cpus = 1; cpus <= 1024; cpus *= 4) {
		looks = cost_of(test, cpus);
		most = (u64)cpus * COST_PER_CPU * (4 * ilog2(cpus) + 1);
		whole = div_u64_rem(div_u64(looks * 100, cpus * COST_PER_CPU), 100, &part);
		kunit_info(test, "%u CPUs: %llu.%02u looks at an entry's time per entry", cpus,
			   whole, part);
		KUNIT_EXPECT_LE(test, looks, most);
	}
}

static struct kunit_case cost_cases[] = {
	KUNIT_CASE(cost_log),
	{}
};

struct kunit_suite kdtl_merge_cost_suite = {
	.name		= "kdtl_merge_cost",
	.test_cases	= cost_cases,
};
