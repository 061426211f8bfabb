// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_hotplug.ko: CPUs go and come back, and the machine is suspended, while MANY_NR
 * sessions log (promise N.3)
 *
 * The same sources may have other users at the same time.  For the suite kdtl_suspend, set
 * /sys/power/pm_test, or something else must wake the machine.
 */
#include <linux/cpu.h>
#include <linux/module.h>
#include <linux/suspend.h>

#include "../../core/session.h"
#include "cpus.h"
#include "sessions.h"

static unsigned int rounds = 3;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "number of times that each CPU but the first goes offline (default 3)");

static struct many hotplug[MANY_NR];

static void hotplug_begin(struct kunit *test)
{
	int i;

	for (i = 0; i < MANY_NR; i++) {
		KUNIT_EXPECT_EQ(test, many_create(&hotplug[i], many_masks[i], i % 2), 0);
		KUNIT_EXPECT_EQ(test, many_start(&hotplug[i]), 0);
	}
	KUNIT_EXPECT_EQ(test, kdtl_fake_load_start(MANY_PERIOD, MANY_BURST), 0);
}

/* Wait until entries are made on that CPU. */
static bool hotplug_runs(int cpu)
{
	const u64 made = kdtl_fake_load_made_for(cpu, KDTL_MASK_ALL);

	return kapi_until(kdtl_fake_load_made_for(cpu, KDTL_MASK_ALL) > made + 100);
}

/*
 * Each session has all entries that were made while their CPU was online, and messages say that the
 * CPU went and came, as its area does.
 */
static void hotplug_end(struct kunit *test, unsigned int times)
{
	const int first = cpumask_first(cpu_online_mask);
	struct kdtl_aux_info info;
	struct many *m;
	int i, cpu;

	kdtl_fake_load_stop();
	for (i = 0; i < MANY_NR; i++) {
		m = &hotplug[i];
		many_end_reading(m);
		KUNIT_EXPECT_EQ(test, kdtl_stop(m->s), 0);
		for_each_online_cpu(cpu) {
			many_expect_exact(test, m, cpu);
			KUNIT_EXPECT_EQ(test, m->went[cpu], (cpu == first ? 0 : times));
			KUNIT_EXPECT_EQ(test, m->came[cpu], (cpu == first ? 0 : times));
			KUNIT_ASSERT_EQ(test, kdtl_aux_info(m->s, cpu, &info), 0);
			KUNIT_EXPECT_EQ(test, info.moves, (cpu == first ? 0 : 2 * times));
			KUNIT_EXPECT_EQ(test, info.went < info.came, cpu != first);
		}
	}
}

static void hotplug_close(struct kunit *test)
{
	int i;

	kdtl_fake_load_stop();
	for (i = 0; i < MANY_NR; i++)
		many_destroy(&hotplug[i]);
}

#ifdef CONFIG_HOTPLUG_CPU
/* Each CPU but the first goes and comes back, one after the other, several times. */
static void hotplug_each(struct kunit *test)
{
	const int first = cpumask_first(cpu_online_mask);
	struct cpumask all;
	unsigned int round;
	u64 made;
	int cpu;

	KUNIT_ASSERT_GE(test, num_online_cpus(), 2U);
	cpumask_copy(&all, cpu_online_mask);
	hotplug_begin(test);
	for (round = 0; round < rounds; round++) {
		for_each_cpu(cpu, &all) {
			if (cpu == first)
				continue;
			KUNIT_EXPECT_TRUE(test, hotplug_runs(cpu));
			KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
			/* The other CPUs go on logging, and this one does not. */
			made = kdtl_fake_load_made_for(cpu, KDTL_MASK_ALL);
			KUNIT_EXPECT_TRUE(test, hotplug_runs(first));
			KUNIT_EXPECT_EQ(test, kdtl_fake_load_made_for(cpu, KDTL_MASK_ALL), made);
			KUNIT_ASSERT_EQ(test, cpus_bring_back(cpu), 0);
			KUNIT_EXPECT_TRUE(test, hotplug_runs(cpu));
		}
	}
	hotplug_end(test, rounds);
}

/*
 * All CPUs but the first are away at once.  Two sessions are opened while they are, one of them on
 * the first CPU only.
 */
static void hotplug_alone(struct kunit *test)
{
	const int first = cpumask_first(cpu_online_mask);
	struct kdtl_session *s, *one;
	struct kdtl_aux_info info;
	struct cpumask all;
	int cpu;

	KUNIT_ASSERT_GE(test, num_online_cpus(), 2U);
	cpumask_copy(&all, cpu_online_mask);
	hotplug_begin(test);
	for_each_cpu(cpu, &all) {
		KUNIT_EXPECT_TRUE(test, hotplug_runs(cpu));
		if (cpu != first)
			KUNIT_ASSERT_EQ(test, remove_cpu(cpu), 0);
	}
	one = kapi_session(test, 0);
	if (one)
		KUNIT_EXPECT_EQ(test, kdtl_load(one, cpumask_of(first)) ?: kdtl_start(one), 0);
	/* A session that starts now takes in each CPU as it comes. */
	s = kapi_session(test, 0);
	if (s)
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	for_each_cpu(cpu, &all) {
		if (cpu != first)
			KUNIT_EXPECT_EQ(test, cpus_bring_back(cpu), 0);
		KUNIT_EXPECT_TRUE(test, hotplug_runs(cpu));
		/* Each merge, and kdtl_waiting(), know by an odd number that it is started. */
		KUNIT_EXPECT_EQ(test, s ? READ_ONCE(s->starts) % 2 : 1, 1U);
	}
	hotplug_end(test, 1);
	for_each_cpu(cpu, &all) {
		if (!s || !one)
			break;
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, cpu, &info), 0);
		KUNIT_EXPECT_TRUE(test, info.online);
		KUNIT_EXPECT_GT(test, info.produced, 0ULL);
		KUNIT_EXPECT_EQ(test, kdtl_aux_info(one, cpu, &info), 0);
		KUNIT_EXPECT_EQ(test, info.online, cpu == first);
	}
	if (one)
		KUNIT_EXPECT_EQ(test, kapi_msgs_of(one, KDTL_MSG_CPU), 0U);
	kdtl_session_close(one);
	kapi_close(test);
}
#endif

#ifdef CONFIG_SUSPEND
/* The task that loads the module waits for the end of the test and cannot be frozen. */
static int suspend_suite_init(struct kunit_suite *suite)
{
	current->flags |= PF_NOFREEZE;
	return 0;
}

static void suspend_suite_exit(struct kunit_suite *suite)
{
	current->flags &= ~PF_NOFREEZE;
}

/* All CPUs but one go; the load stops on them, and goes on when they come back. */
static void suspend_twice(struct kunit *test)
{
	int i, cpu;

	hotplug_begin(test);
	for (i = 0; i < 2; i++) {
		for_each_online_cpu(cpu)
			KUNIT_EXPECT_TRUE(test, hotplug_runs(cpu));
		KUNIT_EXPECT_EQ(test, pm_suspend(PM_SUSPEND_MEM), 0);
	}
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_TRUE(test, hotplug_runs(cpu));
	hotplug_end(test, 2);
}
#endif

static struct kunit_case hotplug_cases[] = {
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(hotplug_each),
	KUNIT_CASE(hotplug_alone),
#endif
	{}
};

static struct kunit_case suspend_cases[] = {
#ifdef CONFIG_SUSPEND
	KUNIT_CASE(suspend_twice),
#endif
	{}
};

static struct kunit_suite kdtl_hotplug_suite = {
	.name		= "kdtl_hotplug",
	.exit		= hotplug_close,
	.test_cases	= hotplug_cases,
};

static struct kunit_suite kdtl_suspend_suite = {
	.name		= "kdtl_suspend",
#ifdef CONFIG_SUSPEND
	.suite_init	= suspend_suite_init,
	.suite_exit	= suspend_suite_exit,
#endif
	.exit		= hotplug_close,
	.test_cases	= suspend_cases,
};

kunit_test_suites(&kdtl_hotplug_suite, &kdtl_suspend_suite);

MODULE_DESCRIPTION("Tests of kdtl's sessions while CPUs come and go");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
