// SPDX-License-Identifier: GPL-2.0
/*
 * Many sessions at once on the same CPUs (promises N.2 and N.3): each gets exactly its own entries,
 * whatever the others ask for, and whenever they start and stop
 *
 * The test source numbers the entries of each kind separately, so each reader can check them on its
 * own.
 */
#include <linux/kthread.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>

#include "aux_suites.h"
#include "sessions.h"

static struct many many[MANY_NR];

/* A session gets all entries of the kinds in its mask, and no others. */
static void many_masks_exact(struct kunit *test)
{
	int i, cpu;

	for (i = 0; i < MANY_NR; i++)
		KUNIT_ASSERT_EQ(test, many_create(&many[i], many_masks[i], i % 2), 0);
	for (i = 0; i < MANY_NR; i++)
		KUNIT_ASSERT_EQ(test, many_start(&many[i]), 0);
	KUNIT_ASSERT_EQ(test, kdtl_fake_load_start(MANY_PERIOD, MANY_BURST), 0);
	/* Wait until even the overwriting area that fills most slowly has been lapped. */
	KUNIT_EXPECT_TRUE(test, kapi_until(kdtl_fake_load_made_for(0, 1) -
			many[0].made[0] > 4 * MANY_PAGES * PAGE_SIZE / KDTL_ENTRY_SIZE));
	kdtl_fake_load_stop();
	for (i = 0; i < MANY_NR; i++) {
		many_end_reading(&many[i]);
		KUNIT_EXPECT_EQ(test, kdtl_stop(many[i].s), 0);
		for_each_online_cpu(cpu)
			many_expect_exact(test, &many[i], cpu);
	}
}

/* Each session's counters say how many entries of each kind of its mask were made. */
static void many_kinds(struct kunit *test)
{
	u64 made[KDTL_NR_KINDS];
	enum kdtl_kind kind;
	int i;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++)
		made[kind] = kdtl_fake_load_made(0, kind);
	for (i = 0; i < MANY_NR; i++) {
		KUNIT_ASSERT_EQ(test, many_create(&many[i], many_masks[i], i % 2), 0);
		KUNIT_ASSERT_EQ(test, many_start(&many[i]), 0);
	}
	KUNIT_ASSERT_EQ(test, kdtl_fake_load_start(MANY_PERIOD, MANY_BURST), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(kdtl_fake_load_made(0, 0) - made[0] > 1000));
	kdtl_fake_load_stop();
	for (i = 0; i < MANY_NR; i++) {
		KUNIT_EXPECT_EQ(test, kdtl_stop(many[i].s), 0);
		for (kind = 0; kind < KDTL_NR_KINDS; kind++)
			KUNIT_EXPECT_EQ(test,
					kapi_counter(test, many[i].s, 0, KDTL_CTR_CEDE + kind, 0),
					kind == KDTL_KIND_UNKNOWN || many[i].mask & BIT(kind) ?
					kdtl_fake_load_made(0, kind) - made[kind] : 0ULL);
	}
}

/* A thread that opens and closes sessions as fast as it can, beside those that stay. */
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
		/*
		 * This session, too, has all entries from its start to its stop, and of the second
		 * time as well.
		 */
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

/*
 * Starting and stopping sessions never disturbs another session: not one of its entries is missing.
 */
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
	KUNIT_EXPECT_EQ(test, kdtl_fake_load_start(MANY_PERIOD, MANY_BURST), 0);
	for (i = 0; i < MANY_NR - 2; i++) {
		KUNIT_EXPECT_TRUE(test, kapi_until(READ_ONCE(guests[i].rounds) >= 10));
		kthread_stop(guests[i].task);
		KUNIT_EXPECT_EQ(test, guests[i].wrong, 0ULL);
	}
	kdtl_fake_load_stop();
	for (i = 0; i < 2; i++) {
		many_end_reading(&many[i]);
		KUNIT_EXPECT_EQ(test, kdtl_stop(many[i].s), 0);
		for_each_online_cpu(cpu)
			many_expect_exact(test, &many[i], cpu);
	}
}

static struct kunit_case many_cases[] = {
	KUNIT_CASE(many_masks_exact),
	KUNIT_CASE(many_kinds),
	KUNIT_CASE(many_undisturbed),
	{}
};

static void many_exit(struct kunit *test)
{
	int i;

	kdtl_fake_load_stop();
	for (i = 0; i < MANY_NR; i++)
		many_destroy(&many[i]);
}

struct kunit_suite kdtl_many_suite = {
	.name		= "kdtl_many",
	.exit		= many_exit,
	.test_cases	= many_cases,
};
