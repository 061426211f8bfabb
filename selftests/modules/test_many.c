// SPDX-License-Identifier: GPL-2.0
/*
 * Many sessions at once on the same CPUs: each gets exactly its own
 *
 * N.2 and N.3: whatever the others ask for, and whenever they start and stop.
 * Entries are numbered by kind, so each reader proves it for itself.
 */
#include <linux/kthread.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "kdtl_test_load.h"
#include "test_aux.h"

#define MANY_NR		8
#define MANY_PERIOD	NSEC_PER_MSEC
#define MANY_BURST	16
#define MANY_PAGES	16
#define MANY_MOST	(MANY_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE - 1)

/* Each mask that there is, and one twice; every other one overwrites. */
static const u32 many_masks[MANY_NR] = { 1, 7, 2, 5, 4, 6, 3, 7 };

/**
 * struct many - one session and its reader
 * @s: the session
 * @mask: what it logs
 * @overwrite: keeps the newest
 * @task: reads
 * @made: what had been made for it when it started, by CPU
 * @seen: what was read, by CPU
 * @buf: for snapshots
 */
struct many {
	struct kdtl_session	*s;
	u32			mask;
	bool			overwrite;
	struct task_struct	*task;
	u64			*made;
	struct kdtl_test_seen	*seen;
	void			*buf;
};

static struct many many[MANY_NR];

static void many_read(struct many *m, int cpu)
{
	const void *span;
	ssize_t len = kdtl_aux_peek(m->s, cpu, &span);

	if (len <= 0)
		return;
	kdtl_test_see(&m->seen[cpu], cpu, m->mask, span, len);
	kdtl_aux_consume(m->s, cpu, len);
}

static void many_snapshot(struct many *m, int cpu)
{
	ssize_t len = kdtl_aux_snapshot(m->s, cpu, m->buf,
					MANY_PAGES * PAGE_SIZE, NULL);

	memset(&m->seen[cpu], 0, sizeof(m->seen[cpu]));
	if (len > 0)
		kdtl_test_see(&m->seen[cpu], cpu, m->mask, m->buf, len);
}

static int many_reader(void *arg)
{
	struct many *m = arg;
	int cpu;

	while (!kthread_should_stop()) {
		if (!m->overwrite)
			kdtl_wait(m->s, HZ / 20);
		else
			usleep_range(2000, 4000);
		for_each_online_cpu(cpu) {
			if (m->overwrite)
				many_snapshot(m, cpu);
			else
				many_read(m, cpu);
		}
	}
	return 0;
}

static int many_create(struct many *m, u32 mask, bool overwrite)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_TEST_PMU,
		.aux_pages	= MANY_PAGES,
		.watermark	= overwrite ? 0 : PAGE_SIZE,
		.mask		= mask,
		.flags		= overwrite ? KDTL_SESSION_OVERWRITE : 0,
	};

	m->mask = mask;
	m->overwrite = overwrite;
	m->made = kcalloc(nr_cpu_ids, sizeof(*m->made), GFP_KERNEL);
	m->seen = kcalloc(nr_cpu_ids, sizeof(*m->seen), GFP_KERNEL);
	m->buf = kvmalloc(MANY_PAGES * PAGE_SIZE, GFP_KERNEL);
	m->s = kdtl_session_create(&attr);
	if (!m->made || !m->seen || !m->buf || IS_ERR(m->s))
		return -ENOMEM;
	return kdtl_load(m->s, NULL);
}

/* Nothing is being made meanwhile: what had been made is exact. */
static int many_start(struct many *m)
{
	int cpu;

	for_each_possible_cpu(cpu)
		m->made[cpu] = kdtl_test_load_made_for(cpu, m->mask);
	m->task = kthread_run(many_reader, m, "kdtl-many");
	if (IS_ERR(m->task)) {
		m->task = NULL;
		return -ENOMEM;
	}
	return kdtl_start(m->s);
}

static void many_end_reading(struct many *m)
{
	if (m->task)
		kthread_stop(m->task);
	m->task = NULL;
}

static void many_destroy(struct many *m)
{
	many_end_reading(m);
	kdtl_session_close(m->s);
	kfree(m->made);
	kfree(m->seen);
	kvfree(m->buf);
	memset(m, 0, sizeof(*m));
}

/* Stopped: what it got on a CPU is what was made there, to the entry. */
static void many_expect_exact(struct kunit *test, struct many *m, int cpu)
{
	const u64 made = kdtl_test_load_made_for(cpu, m->mask) - m->made[cpu];
	struct kdtl_test_seen *seen = &m->seen[cpu];
	struct kdtl_aux_info info = {};
	u64 all;

	if (m->overwrite)
		many_snapshot(m, cpu);
	else
		many_read(m, cpu);
	all = kdtl_test_seen_all(seen);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(m->s, cpu, &info), 0);
	KUNIT_EXPECT_GT(test, made, 0ULL);
	KUNIT_EXPECT_EQ(test, info.produced, made);
	KUNIT_EXPECT_EQ(test, info.produced, info.consumed + info.lost + info.unread);
	KUNIT_EXPECT_EQ(test, kapi_counter(test, m->s, 0, KDTL_CTR_ENTRIES, cpu), made);
	KUNIT_EXPECT_EQ(test, seen->wrong, 0ULL);
	if (m->overwrite) {
		KUNIT_EXPECT_EQ(test, seen->holes, 0ULL);
		KUNIT_EXPECT_EQ(test, all, min_t(u64, made, MANY_MOST));
	} else {
		KUNIT_EXPECT_EQ(test, all, info.consumed);
		KUNIT_EXPECT_EQ(test, all + info.lost, made);
		KUNIT_EXPECT_LE(test, seen->holes, info.lost);
	}
}

/* Each mask gets its kinds, all of them, and no other. */
static void many_masks_exact(struct kunit *test)
{
	int i, cpu;

	for (i = 0; i < MANY_NR; i++)
		KUNIT_ASSERT_EQ(test, many_create(&many[i], many_masks[i], i % 2), 0);
	for (i = 0; i < MANY_NR; i++)
		KUNIT_ASSERT_EQ(test, many_start(&many[i]), 0);
	KUNIT_ASSERT_EQ(test, kdtl_test_load_start(MANY_PERIOD, MANY_BURST), 0);
	/* Until the smallest of the overwriting areas has been lapped. */
	KUNIT_EXPECT_TRUE(test, kapi_until(kdtl_test_load_made_for(0, 1) -
			many[0].made[0] > 4 * MANY_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE));
	kdtl_test_load_stop();
	for (i = 0; i < MANY_NR; i++) {
		many_end_reading(&many[i]);
		KUNIT_EXPECT_EQ(test, kdtl_stop(many[i].s), 0);
		for_each_online_cpu(cpu)
			many_expect_exact(test, &many[i], cpu);
	}
}

/* Counters of one session say of each kind what was made. */
static void many_kinds(struct kunit *test)
{
	u64 made[KDTL_NR_KINDS];
	enum kdtl_kind kind;
	int i;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++)
		made[kind] = kdtl_test_load_made(0, kind);
	for (i = 0; i < MANY_NR; i++) {
		KUNIT_ASSERT_EQ(test, many_create(&many[i], many_masks[i], i % 2), 0);
		KUNIT_ASSERT_EQ(test, many_start(&many[i]), 0);
	}
	KUNIT_ASSERT_EQ(test, kdtl_test_load_start(MANY_PERIOD, MANY_BURST), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(kdtl_test_load_made(0, 0) - made[0] > 1000));
	kdtl_test_load_stop();
	for (i = 0; i < MANY_NR; i++) {
		KUNIT_EXPECT_EQ(test, kdtl_stop(many[i].s), 0);
		for (kind = 0; kind < KDTL_NR_KINDS; kind++)
			KUNIT_EXPECT_EQ(test,
					kapi_counter(test, many[i].s, 0, KDTL_CTR_CEDE + kind, 0),
					kind == KDTL_KIND_UNKNOWN || many[i].mask & BIT(kind) ?
					kdtl_test_load_made(0, kind) - made[kind] : 0ULL);
	}
}

/* What comes and goes beside them, as fast as it can. */
struct many_guest {
	struct many		m;
	u32			mask;
	bool			overwrite;
	struct task_struct	*task;
	unsigned int		rounds;
	u64			wrong;
};

static int many_come_and_go(void *arg)
{
	struct many_guest *g = arg;
	struct many *m = &g->m;
	int cpu;

	while (!kthread_should_stop()) {
		if (many_create(m, g->mask, g->overwrite) || kdtl_start(m->s)) {
			g->wrong++;
		} else {
			usleep_range(500, 2000);
			g->wrong += !!kdtl_stop(m->s);
			usleep_range(100, 500);
			g->wrong += !!kdtl_start(m->s);
			usleep_range(500, 2000);
			g->wrong += !!kdtl_unload(m->s);
		}
		/* It, too, has all from its start to its stop, twice. */
		for_each_online_cpu(cpu) {
			if (m->overwrite)
				many_snapshot(m, cpu);
			else
				many_read(m, cpu);
			g->wrong += m->seen[cpu].wrong;
		}
		many_destroy(m);
		g->rounds++;
	}
	return 0;
}

/* Starting and stopping one never disturbs another: not an entry is missing. */
static void many_undisturbed(struct kunit *test)
{
	static struct many_guest guests[MANY_NR - 2];
	int i, cpu;

	memset(guests, 0, sizeof(guests));
	KUNIT_ASSERT_EQ(test, many_create(&many[0], 7, false), 0);
	KUNIT_ASSERT_EQ(test, many_create(&many[1], 2, true), 0);
	KUNIT_ASSERT_EQ(test, many_start(&many[0]), 0);
	KUNIT_ASSERT_EQ(test, many_start(&many[1]), 0);
	for (i = 0; i < MANY_NR - 2; i++) {
		guests[i].mask = many_masks[i];
		guests[i].overwrite = i % 2;
		guests[i].task = kthread_run(many_come_and_go, &guests[i], "kdtl-guest");
		KUNIT_EXPECT_FALSE(test, IS_ERR(guests[i].task));
	}
	KUNIT_EXPECT_EQ(test, kdtl_test_load_start(MANY_PERIOD, MANY_BURST), 0);
	for (i = 0; i < MANY_NR - 2; i++) {
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(guests[i].rounds) >= 10));
		kthread_stop(guests[i].task);
		KUNIT_EXPECT_EQ(test, guests[i].wrong, 0ULL);
	}
	kdtl_test_load_stop();
	for (i = 0; i < 2; i++) {
		many_end_reading(&many[i]);
		KUNIT_EXPECT_EQ(test, kdtl_stop(many[i].s), 0);
		for_each_online_cpu(cpu)
			many_expect_exact(test, &many[i], cpu);
	}
}

/* ------------------------------------------------------------------------ cost */

#define MANY_COST_NR	500
#define MANY_COST_ROUNDS 100

/* ns for so many entries on this CPU. */
static u64 many_burst(void)
{
	unsigned int i;
	u64 t;

	local_irq_disable();
	t = local_clock();
	for (i = 0; i < MANY_COST_NR; i++)
		kdtl_test_emit_here(KDTL_KIND_CEDE, 0, 0, 0);
	t = local_clock() - t;
	local_irq_enable();
	return t;
}

/* A further session costs what a copy costs, however many there are. */
static void many_cost(struct kunit *test)
{
	/* ns with so many sessions: the best of all rounds is the undisturbed one. */
	s64 best[MANY_NR + 1], first, last;
	unsigned int round;
	int i;

	for (i = 0; i < MANY_NR; i++)
		KUNIT_ASSERT_EQ(test, many_create(&many[i], 7, true), 0);
	for (i = 0; i <= MANY_NR; i++)
		best[i] = S64_MAX;
	for (round = 0; round < MANY_COST_ROUNDS; round++) {
		best[0] = min_t(s64, best[0], many_burst());
		for (i = 0; i < MANY_NR; i++) {
			KUNIT_ASSERT_EQ(test, kdtl_start(many[i].s), 0);
			best[i + 1] = min_t(s64, best[i + 1], many_burst());
		}
		for (i = 0; i < MANY_NR; i++)
			KUNIT_ASSERT_EQ(test, kdtl_stop(many[i].s), 0);
	}
	first = best[MANY_NR / 2] - best[0];
	last = best[MANY_NR] - best[MANY_NR / 2];
	kunit_info(test, "ps per entry: %lld to make it, for a session %lld of the first four, %lld of the next",
		   best[0] * 1000 / MANY_COST_NR, first * 1000 / MANY_COST_NR / 4,
		   last * 1000 / MANY_COST_NR / 4);
	KUNIT_EXPECT_GT(test, first, 0LL);
	KUNIT_EXPECT_LE(test, last, 2 * first);
}

static struct kunit_case many_cases[] = {
	KUNIT_CASE(many_masks_exact),
	KUNIT_CASE(many_kinds),
	KUNIT_CASE(many_undisturbed),
	KUNIT_CASE(many_cost),
	{}
};

static void many_exit(struct kunit *test)
{
	int i;

	kdtl_test_load_stop();
	for (i = 0; i < MANY_NR; i++)
		many_destroy(&many[i]);
}

struct kunit_suite kdtl_many_suite = {
	.name		= "kdtl_many",
	.exit		= many_exit,
	.test_cases	= many_cases,
};
