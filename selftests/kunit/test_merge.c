// SPDX-License-Identifier: GPL-2.0
/*
 * Merging in order of time: kdtl_merge_*(), promise N.4
 *
 * The tests set a source's clock on each CPU, so they know exactly which entry must come when.  At
 * the end there is the test source under load.
 */
#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "../../core/session.h"
#include "../fake/load.h"
#include "aux_suites.h"
#include "cpus.h"

#define MERGE_PMU	"kdtl_fake_merge"
#define MERGE_CPUS	4

/* ------------------------------------------------------- a source with set clocks */

static u64 merge_clock[MERGE_CPUS];
static unsigned int merge_syncs[MERGE_CPUS];

/* Called once, on CPU 0, while its clock is read. */
static void (*merge_meanwhile)(void);
/* If it is not 0, a clock that all CPUs share, which replaces those above. */
static atomic64_t merge_shared;

static u64 merge_sync(struct kdtl_pmu *p)
{
	const int cpu = min(raw_smp_processor_id(), MERGE_CPUS - 1);
	void (*meanwhile)(void) = cpu ? NULL : xchg(&merge_meanwhile, NULL);

	merge_syncs[cpu]++;
	if (meanwhile)
		meanwhile();
	return atomic64_read(&merge_shared) ? atomic64_inc_return(&merge_shared) :
		merge_clock[cpu];
}

static struct kdtl_pmu merge_pmu;

static void merge_output(void *arg)
{
	struct kdtl_entry e = {
		.processor_id	= cpu_to_be16(raw_smp_processor_id()),
		.timebase	= cpu_to_be64(*(u64 *)arg),
	};

	kdtl_pmu_output(&merge_pmu, &e, KDTL_KIND_CEDE);
}

/* Set a CPU's clock, and make an entry of that time there. */
static void merge_make(int cpu, u64 time)
{
	merge_clock[cpu] = time;
	smp_call_function_single(cpu, merge_output, &time, 1);
}

static void merge_lose_here(void *arg)
{
	kdtl_pmu_lost(&merge_pmu, *(u64 *)arg);
}

/* Make the source lose @nr entries before its next one on that CPU. */
static void merge_lose(int cpu, u64 nr)
{
	smp_call_function_single(cpu, merge_lose_here, &nr, 1);
}

static void merge_clocks(u64 time)
{
	int cpu;

	for (cpu = 0; cpu < MERGE_CPUS; cpu++)
		merge_clock[cpu] = time;
}

static struct kdtl_session *merge_session(struct kunit *test, const char *pmu,
					  unsigned int pages)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= pages,
	};

	return kapi_started(test, &attr);
}

/* The next entry must be of this CPU and time; if @time is 0, there must be none. */
static void merge_expect(struct kunit *test, struct kdtl_merge *m, int cpu, u64 time)
{
	const struct kdtl_entry *e = kdtl_merge_next(m);

	KUNIT_EXPECT_EQ(test, e ? kdtl_entry_time(e) : 0, time);
	if (e && time)
		KUNIT_EXPECT_EQ(test, (int)kdtl_entry_cpu(e), cpu);
	KUNIT_EXPECT_EQ(test, kdtl_merge_cpu(m), e ? cpu : -EINVAL);
}

/* The entries of CPUs are interleaved, come in runs, or come from one CPU only. */
static void merge_order(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 4);
	struct kdtl_merge *m;
	struct kdtl_aux_info info;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GE(test, num_online_cpus(), 2U);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), (long)-EBUSY);
	merge_expect(test, m, 0, 0);
	merge_make(0, 10);
	merge_make(1, 11);
	merge_make(0, 12);
	merge_make(1, 13);
	merge_make(1, 14);
	merge_make(0, 15);
	merge_make(0, 16);
	merge_clocks(17);
	/* Nothing is returned before a sync. */
	merge_expect(test, m, 0, 0);
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 10);
	merge_expect(test, m, 1, 11);
	merge_expect(test, m, 0, 12);
	merge_expect(test, m, 1, 13);
	merge_expect(test, m, 1, 14);
	merge_expect(test, m, 0, 15);
	/* An entry that comes after the sync waits for the next one. */
	merge_make(1, 20);
	merge_expect(test, m, 0, 16);
	merge_expect(test, m, 0, 0);
	merge_expect(test, m, 0, 0);
	/* That sync gave back the entries that had been returned before it, and no others. */
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 4ULL);
	merge_clocks(21);
	kdtl_merge_sync(m);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
	KUNIT_EXPECT_EQ(test, info.consumed, 4ULL);
	merge_expect(test, m, 1, 20);
	/* kdtl_merge_destroy() gives back the entries that were returned, and leaves the rest. */
	merge_make(0, 22);
	merge_make(0, 23);
	merge_clocks(24);
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 22);
	kdtl_merge_destroy(m);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 1ULL);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 23);
	merge_expect(test, m, 0, 0);
	kdtl_merge_destroy(m);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
	}
}

/*
 * The clock of a CPU is ahead.  Its entries are held back until the clocks of the other CPUs have
 * passed them, and no longer, so an entry that comes later, from another CPU, is returned first.
 */
static void merge_skew(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 4);
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GE(test, num_online_cpus(), 2U);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	merge_clocks(100);
	merge_make(1, 1000);
	merge_make(0, 50);
	kdtl_merge_sync(m);
	/* CPU 0's clock is at 50: it may make more entries of time 50. */
	merge_expect(test, m, 0, 0);
	merge_clock[0] = 100;
	merge_clock[1] = 1050;
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 50);
	merge_expect(test, m, 0, 0);
	/* This entry comes later than the one of time 1000, but its time is earlier. */
	merge_make(0, 999);
	merge_clocks(1000);
	merge_clock[1] = 2000;
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 999);
	/* An entry whose time equals the horizon is not before it. */
	merge_expect(test, m, 0, 0);
	merge_clocks(1001);
	merge_clock[1] = 2001;
	kdtl_merge_sync(m);
	merge_expect(test, m, 1, 1000);
	merge_expect(test, m, 0, 0);
	kdtl_merge_destroy(m);
}

/*
 * An entry is returned after the second sync that follows it at the latest; or after the first, if
 * all clocks were past the entry's time when that sync began.
 */
static void merge_bound(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 16);
	const struct kdtl_entry *e;
	struct rnd_state rnd;
	struct kdtl_merge *m;
	u64 now = 1000, made = 0, got = 0, made_before, last = 0, backwards = 0;
	unsigned int round, i;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	prandom_seed_state(&rnd, 7);
	for (round = 0; round < 300; round++) {
		made_before = made;
		for (i = prandom_u32_state(&rnd) % 50; i; i--) {
			cpu = prandom_u32_state(&rnd) % min_t(int, num_online_cpus(), MERGE_CPUS);
			now += prandom_u32_state(&rnd) % 3;
			/* The clocks of CPUs differ by up to 20; none goes back. */
			merge_make(cpu, max(merge_clock[cpu], now + prandom_u32_state(&rnd) % 20));
			made++;
		}
		/* Between two syncs each clock passes the entries that were made before. */
		for (cpu = 0; cpu < MERGE_CPUS; cpu++)
			merge_clock[cpu] = max(merge_clock[cpu], now);
		now += 21;
		kdtl_merge_sync(m);
		while ((e = kdtl_merge_next(m))) {
			backwards += kdtl_entry_time(e) < last;
			last = kdtl_entry_time(e);
			got++;
		}
		KUNIT_ASSERT_GE(test, got, made_before);
	}
	KUNIT_EXPECT_EQ(test, backwards, 0ULL);
	/* All clocks are past the last entry: the first sync is enough for all entries. */
	merge_clocks(now + 100);
	kdtl_merge_sync(m);
	while (kdtl_merge_next(m))
		got++;
	KUNIT_EXPECT_EQ(test, got, made);
	kdtl_merge_destroy(m);
}

/* A sync interrupts only CPUs whose entries may still come: loaded and started ones. */
static void merge_interrupts(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= MERGE_PMU,
		.aux_pages	= 1,
	};
	struct kdtl_session *s = kapi_create(test, &attr);
	const int other = kapi_other_cpu(0);
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_TRUE(test, other > 0 && other < MERGE_CPUS);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	KUNIT_EXPECT_EQ(test, kdtl_load(s, cpumask_of(0)), 0);
	kdtl_merge_sync(m);
	KUNIT_EXPECT_EQ(test, merge_syncs[0], 0U);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	merge_make(0, 10);
	/* A CPU that is not loaded holds nothing back. */
	merge_clock[0] = 20;
	kdtl_merge_sync(m);
	KUNIT_EXPECT_EQ(test, merge_syncs[0], 1U);
	KUNIT_EXPECT_EQ(test, merge_syncs[other], 0U);
	merge_expect(test, m, 0, 10);
	/* Once the session is stopped, no entries can come, and all are returned. */
	merge_make(0, 30);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	kdtl_merge_sync(m);
	KUNIT_EXPECT_EQ(test, merge_syncs[0], 1U);
	merge_expect(test, m, 0, 30);
	merge_expect(test, m, 0, 0);
	kdtl_merge_destroy(m);
}

static void merge_errors(struct kunit *test)
{
	static struct kdtl_pmu no_sync;
	struct kdtl_session_attr attr = {
		.pmu		= MERGE_PMU,
		.aux_pages	= 1,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s;

	s = kapi_create(test, &attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), -EINVAL + 0L);
	kapi_close(test);

	memset(&no_sync, 0, sizeof(no_sync));
	no_sync.name = "kdtl_fake_no_sync";
	no_sync.pmu.module = THIS_MODULE;
	no_sync.tb_freq = 1;
	KUNIT_ASSERT_EQ(test, kdtl_pmu_register(&no_sync), 0);
	attr.pmu = no_sync.name;
	attr.flags = 0;
	s = kapi_create(test, &attr);
	if (s)
		KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), -EOPNOTSUPP + 0L);
	kapi_close(test);
	kdtl_pmu_unregister(&no_sync);
	kdtl_merge_destroy(NULL);
	kdtl_merge_destroy(ERR_PTR(-EINVAL));
}

/* While a merge exists, nobody else can read; before and after, everybody can. */
static void merge_is_the_reader(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 1);
	const void *span;
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	merge_make(0, 10);
	merge_make(0, 11);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), 2 * (ssize_t)KDTL_ENTRY_SIZE);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)-EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), -EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, 0), -EBUSY);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_merge_create(s)), (long)-EBUSY);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, nr_cpu_ids, &span), (ssize_t)-EINVAL);
	merge_clocks(12);
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 10);
	kdtl_merge_destroy(m);
	KUNIT_EXPECT_EQ(test, kdtl_aux_peek(s, 0, &span), (ssize_t)KDTL_ENTRY_SIZE);
	KUNIT_EXPECT_EQ(test, kdtl_aux_consume(s, 0, KDTL_ENTRY_SIZE), 0);
	kapi_close(test);
}

/* The memory of an entry that was returned is not written again before the next sync. */
static void merge_valid_until_sync(struct kunit *test)
{
	const u64 room = PAGE_SIZE / KDTL_ENTRY_SIZE;
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 1);
	const struct kdtl_entry *first;
	struct kdtl_aux_info info;
	struct kdtl_merge *m;
	u64 i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	for (i = 1; i <= room; i++)
		merge_make(0, i);
	merge_clocks(room + 1);
	kdtl_merge_sync(m);
	first = kdtl_merge_next(m);
	KUNIT_ASSERT_TRUE(test, first);
	for (i = 2; i <= room; i++)
		merge_expect(test, m, 0, i);
	merge_expect(test, m, 0, 0);
	merge_make(0, room + 2);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.lost, 1ULL);
	KUNIT_EXPECT_EQ(test, kdtl_entry_time(first), 1ULL);
	kdtl_merge_sync(m);
	merge_make(0, room + 3);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 1ULL);
	kdtl_merge_destroy(m);
	kapi_close(test);
}

/* The functions of a merge that outlives its session return errors. */
static void merge_closed(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 1);
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	merge_make(0, 10);
	merge_make(0, 11);
	merge_clocks(12);
	KUNIT_EXPECT_EQ(test, kdtl_merge_sync(m), 0);
	merge_expect(test, m, 0, 10);
	kapi_close(test);
	merge_expect(test, m, 0, 0);
	KUNIT_EXPECT_EQ(test, kdtl_merge_sync(m), -ESHUTDOWN);
	merge_expect(test, m, 0, 0);
	KUNIT_EXPECT_EQ(test, kdtl_merge_late(m), 0ULL);
	kdtl_merge_destroy(m);
}

#ifdef CONFIG_HOTPLUG_CPU
/* The entries of a CPU that is offline are merged, too, and the CPU holds nothing back. */
static void merge_offline(struct kunit *test)
{
	const int cpu = cpumask_last(cpu_online_mask);
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 4);
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_GT(test, MERGE_CPUS, cpu);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	merge_clocks(100);
	merge_make(cpu, 110);
	merge_make(0, 120);
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	merge_clocks(200);
	merge_clock[cpu] = 0;
	kdtl_merge_sync(m);
	merge_expect(test, m, cpu, 110);
	merge_expect(test, m, 0, 120);
	merge_clock[cpu] = 200;
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	merge_make(cpu, 210);
	merge_clocks(300);
	kdtl_merge_sync(m);
	merge_expect(test, m, cpu, 210);
	merge_expect(test, m, 0, 0);
	kdtl_merge_destroy(m);
}

struct merge_sum {
	u64	got;
	u64	last;
	u64	backwards;
};

static void merge_drain(struct kdtl_merge *m, struct merge_sum *sum)
{
	const struct kdtl_entry *e;

	kdtl_merge_sync(m);
	while ((e = kdtl_merge_next(m))) {
		sum->backwards += kdtl_entry_time(e) < sum->last;
		sum->last = kdtl_entry_time(e);
		sum->got++;
	}
}

/* A CPU comes online whose clock is behind entries that have been returned. */
static void merge_behind(struct kunit *test)
{
	const int cpu = cpumask_last(cpu_online_mask);
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 4);
	struct kdtl_aux_info info;
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_GT(test, MERGE_CPUS, cpu);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	merge_make(0, 190);
	merge_clocks(200);
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 190);
	KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
	merge_make(cpu, 180);
	merge_make(cpu, 189);
	/* These are behind the horizon, but not behind the last entry that was returned. */
	merge_make(cpu, 190);
	merge_make(cpu, 195);
	merge_make(0, 210);
	merge_clocks(220);
	KUNIT_EXPECT_EQ(test, kdtl_merge_late(m), 0ULL);
	kdtl_merge_sync(m);
	KUNIT_EXPECT_EQ(test, kdtl_merge_late(m), 2ULL);
	merge_expect(test, m, cpu, 190);
	merge_expect(test, m, cpu, 195);
	merge_expect(test, m, 0, 210);
	merge_expect(test, m, 0, 0);
	/* Entries that came too late have been consumed, as have those that were returned. */
	kdtl_merge_destroy(m);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
	KUNIT_EXPECT_EQ(test, info.consumed, 4ULL);
	KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
}

/* Losses before entries that came too late are told with the CPU's next entry that is returned. */
static void merge_behind_losses(struct kunit *test)
{
	const int cpu = cpumask_last(cpu_online_mask);
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 4);
	struct kdtl_merge *m;
	unsigned int round;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, cpu, 0);
	KUNIT_ASSERT_GT(test, MERGE_CPUS, cpu);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	for (round = 0; round < 2; round++) {
		KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
		merge_make(0, 190 + 1000 * round);
		merge_clocks(200 + 1000 * round);
		kdtl_merge_sync(m);
		merge_expect(test, m, 0, 190 + 1000 * round);
		KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
		merge_lose(cpu, 3);
		merge_make(cpu, 180 + 1000 * round);
		merge_lose(cpu, 2);
		merge_make(cpu, 195 + 1000 * round);
		merge_clocks(220 + 1000 * round);
		kdtl_merge_sync(m);
		KUNIT_EXPECT_EQ(test, kdtl_merge_late(m), round + 1ULL);
		if (!round) {
			merge_expect(test, m, cpu, 195);
			KUNIT_EXPECT_EQ(test, kdtl_merge_lost(m), 5ULL);
		}
	}
	/* If the session is loaded again meanwhile, they are not told. */
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	merge_make(cpu, 1300);
	merge_clocks(1400);
	kdtl_merge_sync(m);
	merge_expect(test, m, cpu, 1300);
	KUNIT_EXPECT_EQ(test, kdtl_merge_lost(m), 0ULL);
	kdtl_merge_destroy(m);
}

/*
 * CPUs come and go, and their clocks differ: each entry is returned in order, or counted as late.
 */
static void merge_comes_and_goes(struct kunit *test)
{
	const int last_cpu = min_t(int, num_online_cpus(), MERGE_CPUS) - 1;
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 16);
	struct merge_sum sum = {};
	u64 now = 1000, made = 0;
	unsigned int round, i;
	struct rnd_state rnd;
	struct kdtl_merge *m;
	int cpu, gone = 0;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GT(test, last_cpu, 0);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	prandom_seed_state(&rnd, 15);
	for (round = 0; round < 60; round++) {
		if (gone)
			KUNIT_ASSERT_EQ(test, cpus_bring_back(gone), 0);
		gone = round % 3 ? 0 : 1 + prandom_u32_state(&rnd) % last_cpu;
		if (gone)
			KUNIT_ASSERT_EQ(test, remove_cpu(gone), 0);
		for (i = 0; i < 50; i++) {
			cpu = prandom_u32_state(&rnd) % (last_cpu + 1);
			now += prandom_u32_state(&rnd) % 3;
			if (cpu == gone)
				continue;
			/* The higher the CPU's number, the further its clock is behind. */
			merge_make(cpu, now - 40 * cpu);
			made++;
		}
		merge_drain(m, &sum);
	}
	if (gone)
		KUNIT_ASSERT_EQ(test, cpus_bring_back(gone), 0);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	merge_drain(m, &sum);
	kunit_info(test, "%llu entries in order, %llu late", sum.got, kdtl_merge_late(m));
	KUNIT_EXPECT_EQ(test, sum.backwards, 0ULL);
	KUNIT_EXPECT_GT(test, kdtl_merge_late(m), 0ULL);
	KUNIT_EXPECT_EQ(test, sum.got + kdtl_merge_late(m), made);
	kdtl_merge_destroy(m);
}

/*
 * The scheduler's entries are merged while CPUs come and go.  Where the kernel does not trust the
 * TSC, the clocks of the CPUs differ.
 */
static void merge_sched(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, "kdtl_sched", 64);
	struct merge_sum sum = {};
	struct kdtl_aux_info info;
	u64 produced = 0, lost = 0;
	struct kdtl_merge *m;
	struct cpumask all;
	int round, cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	cpumask_copy(&all, cpu_online_mask);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	for (round = 0; round < 5; round++) {
		for_each_cpu(cpu, &all) {
			if (cpu == cpumask_first(&all))
				continue;
			KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
			merge_drain(m, &sum);
			KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
			merge_drain(m, &sum);
		}
	}
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	merge_drain(m, &sum);
	kunit_info(test, "%llu entries in order, %llu late", sum.got, kdtl_merge_late(m));
	KUNIT_EXPECT_EQ(test, sum.backwards, 0ULL);
	for_each_cpu(cpu, &all) {
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		produced += info.produced;
		lost += info.lost;
	}
	KUNIT_EXPECT_GT(test, sum.got, 0ULL);
	KUNIT_EXPECT_EQ(test, sum.got + kdtl_merge_late(m) + lost, produced);
	kdtl_merge_destroy(m);
}
#endif

/*
 * When the session is loaded again, no entry of the earlier load is returned, and no new entry is
 * given back in its place.
 */
static void merge_reload(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 1);
	struct kdtl_aux_info info;
	struct kdtl_merge *m;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	for (i = 0; i < 4; i++)
		merge_make(0, 10 + i);
	merge_clocks(20);
	kdtl_merge_sync(m);
	merge_expect(test, m, 0, 10);
	merge_expect(test, m, 0, 11);
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	/* Unread entries stay until the session is loaded again. */
	merge_expect(test, m, 0, 12);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	merge_expect(test, m, 0, 0);
	for (i = 0; i < 4; i++)
		merge_make(0, 30 + i);
	merge_clocks(40);
	kdtl_merge_sync(m);
	for (i = 0; i < 4; i++)
		merge_expect(test, m, 0, 30 + i);
	merge_expect(test, m, 0, 0);
	/* The session is loaded again, and then the merge only gives back. */
	KUNIT_EXPECT_EQ(test, kdtl_unload(s), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	merge_make(0, 50);
	kdtl_merge_destroy(m);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 1ULL);
}

/* ------------------------------------------------------------------ beside verbs */

struct merge_beside {
	struct kdtl_session	*s;
	struct kdtl_merge	*m;
	int			err;
	struct completion	done;
};

static int merge_syncer(void *arg)
{
	struct merge_beside *b = arg;

	b->err = kdtl_merge_sync(b->m);
	complete(&b->done);
	return 0;
}

static int merge_loader(void *arg)
{
	struct merge_beside *b = arg;

	b->err = kdtl_unload(b->s) ?: kdtl_load(b->s, NULL);
	complete(&b->done);
	return 0;
}

static bool merge_asleep(const struct task_struct *task)
{
	return READ_ONCE(task->__state) == TASK_UNINTERRUPTIBLE;
}

/* Run a verb in a thread.  Returns the thread, with a reference, or NULL. */
static struct task_struct *merge_run(struct kunit *test, struct merge_beside *b,
				     int (*verb)(void *arg))
{
	struct task_struct *task = kthread_create(verb, b, "merge_beside");

	KUNIT_EXPECT_FALSE(test, IS_ERR(task));
	if (IS_ERR(task))
		return NULL;
	get_task_struct(task);
	wake_up_process(task);
	return task;
}

/* Begin with a session that has a merge and one entry to take in. */
static void merge_beside_begin(struct kunit *test, struct merge_beside *b)
{
	b->s = merge_session(test, MERGE_PMU, 1);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, b->s);
	b->m = kdtl_merge_create(b->s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(b->m));
	merge_make(0, 10);
	merge_clocks(20);
	init_completion(&b->done);
}

/* The verb ends, and has succeeded. */
static void merge_beside_end(struct kunit *test, struct merge_beside *b, struct task_struct *task)
{
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, task);
	KUNIT_EXPECT_TRUE(test, wait_for_completion_timeout(&b->done, KAPI_FOREVER));
	put_task_struct(task);
	KUNIT_EXPECT_EQ(test, b->err, 0);
}

/* A sync does not wait for a task that is inside a verb, which may not get a CPU for long. */
static void merge_beside_verbs(struct kunit *test)
{
	struct task_struct *task;
	struct merge_beside b;

	merge_beside_begin(test, &b);
	mutex_lock(&b.s->lock);
	task = merge_run(test, &b, merge_syncer);
	if (task)
		KUNIT_EXPECT_TRUE(test, kapi_until(completion_done(&b.done) ||
						   merge_asleep(task)));
	KUNIT_EXPECT_TRUE(test, completion_done(&b.done));
	mutex_unlock(&b.s->lock);
	merge_beside_end(test, &b, task);
	merge_expect(test, b.m, 0, 10);
	kdtl_merge_destroy(b.m);
}

/* A load does not drop what a sync is taking in, and a sync beside a load takes in nothing. */
static void merge_beside_load(struct kunit *test)
{
	struct task_struct *task;
	struct merge_beside b;
	struct kdtl_aux_info info;

	merge_beside_begin(test, &b);
	mutex_lock(&b.s->reading);
	task = merge_run(test, &b, merge_loader);
	if (task)
		KUNIT_EXPECT_TRUE(test, kapi_until(completion_done(&b.done) ||
						   (READ_ONCE(b.s->state) == KDTL_CREATED &&
						    merge_asleep(task))));
	KUNIT_EXPECT_FALSE(test, completion_done(&b.done));
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(b.s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 1ULL);
	KUNIT_EXPECT_EQ(test, kdtl_merge_sync(b.m), 0);
	merge_expect(test, b.m, 0, 0);
	mutex_unlock(&b.s->reading);
	merge_beside_end(test, &b, task);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(b.s, 0, &info), 0);
	KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
	kdtl_merge_destroy(b.m);
}

static struct kdtl_session *merge_starting;

/* As when CPU 0 comes online: this entry is behind the clock that is about to be read. */
static void merge_start_meanwhile(void)
{
	u64 time = 15;

	WRITE_ONCE(merge_starting->starts, merge_starting->starts + 2);
	merge_output(&time);
}

/* If a CPU starts to be logged while the clocks are read, they are read again. */
static void merge_looks_again(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 1);
	struct kdtl_merge *m;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	merge_clocks(20);
	merge_starting = s;
	merge_meanwhile = merge_start_meanwhile;
	kdtl_merge_sync(m);
	KUNIT_EXPECT_EQ(test, merge_syncs[0], 2U);
	merge_expect(test, m, 0, 15);
	merge_expect(test, m, 0, 0);
	kdtl_merge_destroy(m);
}

/* Makes entries without a pause, with times of the clock that all CPUs share. */
static int merge_writer(void *unused)
{
	u64 time;

	while (!kthread_should_stop()) {
		local_irq_disable();
		time = atomic64_inc_return(&merge_shared);
		merge_output(&time);
		local_irq_enable();
		cond_resched();
	}
	return 0;
}

static unsigned int merge_starts;

static int merge_starter(void *s)
{
	while (!kthread_should_stop()) {
		kdtl_stop(s);
		kdtl_start(s);
		WRITE_ONCE(merge_starts, merge_starts + 1);
		cond_resched();
	}
	return 0;
}

static struct task_struct *merge_on(int cpu, int (*fn)(void *arg), void *arg)
{
	struct task_struct *task = kthread_create(fn, arg, "merge_on");

	if (IS_ERR(task))
		return NULL;
	kthread_bind(task, cpu);
	wake_up_process(task);
	return task;
}

/* A thread stops and starts the session all the time: as the clocks agree, no entry is late. */
static void merge_beside_starts(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, MERGE_PMU, 64);
	struct task_struct *tasks[3] = { };
	u64 got = 0, last = 0, backwards = 0;
	const struct kdtl_entry *e;
	struct kdtl_merge *m;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_ASSERT_GE(test, num_online_cpus(), 2U);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	atomic64_set(&merge_shared, 1);
	merge_starts = 0;
	tasks[0] = merge_on(cpumask_first(cpu_online_mask), merge_writer, NULL);
	tasks[1] = merge_on(cpumask_last(cpu_online_mask), merge_writer, NULL);
	tasks[2] = merge_on(cpumask_first(cpu_online_mask), merge_starter, s);
	while (tasks[2] && READ_ONCE(merge_starts) < 100) {
		kdtl_merge_sync(m);
		while ((e = kdtl_merge_next(m))) {
			backwards += kdtl_entry_time(e) < last;
			last = kdtl_entry_time(e);
			got++;
		}
		cond_resched();
	}
	for (i = 0; i < ARRAY_SIZE(tasks); i++) {
		KUNIT_EXPECT_TRUE(test, tasks[i]);
		if (tasks[i])
			kthread_stop(tasks[i]);
	}
	kunit_info(test, "%llu entries in order", got);
	KUNIT_EXPECT_GT(test, got, 0ULL);
	KUNIT_EXPECT_EQ(test, backwards, 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_merge_late(m), 0ULL);
	kdtl_merge_destroy(m);
	atomic64_set(&merge_shared, 0);
}

/* ------------------------------------------------------------------------ load */

/* While all CPUs make entries, they are returned in order, and none is missing. */
static void merge_load(struct kunit *test)
{
	struct kdtl_session *s = merge_session(test, KDTL_FAKE_PMU, 64);
	u64 made = 0, got = 0, lost = 0, backwards = 0, last = 0, wrong = 0, syncs = 0;
	struct kdtl_fake_seen *seen;
	struct kdtl_aux_info info;
	const struct kdtl_entry *e;
	struct kdtl_merge *m;
	bool running = true;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	seen = kcalloc(nr_cpu_ids, sizeof(*seen), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, seen);
	for_each_online_cpu(cpu)
		made -= kdtl_fake_load_made_for(cpu, KDTL_MASK_ALL);
	m = kdtl_merge_create(s);
	KUNIT_ASSERT_FALSE(test, IS_ERR(m));
	KUNIT_EXPECT_EQ(test, kdtl_fake_load_start(NSEC_PER_MSEC, 16), 0);
	for (;;) {
		kdtl_merge_sync(m);
		syncs++;
		while ((e = kdtl_merge_next(m))) {
			cpu = kdtl_entry_cpu(e);
			backwards += kdtl_entry_time(e) < last;
			last = kdtl_entry_time(e);
			if (cpu < nr_cpu_ids)
				kdtl_fake_see(&seen[cpu], cpu, KDTL_MASK_ALL, e, sizeof(*e));
			else
				wrong++;
			got++;
		}
		if (!running)
			break;
		if (got > 100000) {
			kdtl_fake_load_stop();
			running = false;
		}
		usleep_range(500, 1000);
	}
	kdtl_merge_destroy(m);
	for_each_online_cpu(cpu) {
		made += kdtl_fake_load_made_for(cpu, KDTL_MASK_ALL);
		wrong += seen[cpu].wrong;
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.unread, 0ULL);
		KUNIT_EXPECT_LE(test, seen[cpu].holes, info.lost);
		lost += info.lost;
	}
	kunit_info(test, "%llu entries in order, %llu syncs, %llu lost", got, syncs, lost);
	KUNIT_EXPECT_EQ(test, backwards, 0ULL);
	KUNIT_EXPECT_EQ(test, wrong, 0ULL);
	KUNIT_EXPECT_EQ(test, got + lost, made);
	kfree(seen);
}

static struct kunit_case merge_cases[] = {
	KUNIT_CASE(merge_order),
	KUNIT_CASE(merge_skew),
	KUNIT_CASE(merge_bound),
	KUNIT_CASE(merge_interrupts),
	KUNIT_CASE(merge_errors),
	KUNIT_CASE(merge_is_the_reader),
	KUNIT_CASE(merge_valid_until_sync),
	KUNIT_CASE(merge_closed),
	KUNIT_CASE(merge_reload),
	KUNIT_CASE(merge_beside_verbs),
	KUNIT_CASE(merge_beside_load),
	KUNIT_CASE(merge_looks_again),
	KUNIT_CASE(merge_beside_starts),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(merge_offline),
	KUNIT_CASE(merge_behind),
	KUNIT_CASE(merge_behind_losses),
	KUNIT_CASE(merge_comes_and_goes),
	KUNIT_CASE(merge_sched),
#endif
	KUNIT_CASE(merge_load),
	{}
};

static int merge_init(struct kunit *test)
{
	memset(&merge_pmu, 0, sizeof(merge_pmu));
	merge_pmu.pmu.module = THIS_MODULE;
	merge_pmu.name = MERGE_PMU;
	merge_pmu.tb_freq = NSEC_PER_SEC;
	merge_pmu.sync = merge_sync;
	merge_clocks(1);
	memset(merge_syncs, 0, sizeof(merge_syncs));
	atomic64_set(&merge_shared, 0);
	return kdtl_pmu_register(&merge_pmu);
}

static void merge_exit(struct kunit *test)
{
	kdtl_fake_load_stop();
	kapi_exit(test);
	kdtl_pmu_unregister(&merge_pmu);
}

struct kunit_suite kdtl_merge_suite = {
	.name		= "kdtl_merge",
	.init		= merge_init,
	.exit		= merge_exit,
	.test_cases	= merge_cases,
};
