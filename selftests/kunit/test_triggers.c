// SPDX-License-Identifier: GPL-2.0
/* Triggers: who may count, and who is told.  The test makes up the totals. */
#include <linux/cpumask.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/vmstat.h>

#include "kapi.h"

static u64 triggers_counted[KDTL_PRESSURE_ROWS];
static unsigned int triggers_looks, triggers_hints;

static u64 triggers_total(const char *cgroup, enum kdtl_pressure cause, unsigned int *hint)
{
	triggers_hints += (*hint)++;
	return strcmp(cgroup, "/kdtl") ? 0 : triggers_counted[cause];
}

static unsigned int triggers_count(void);

static void triggers_look(void)
{
	triggers_looks++;
	triggers_count();
}

static const struct kdtl_pressure_counter triggers_counter = {
	.owner	= THIS_MODULE,
	.total	= triggers_total,
	.look	= triggers_look,
};

static unsigned int triggers_count(void)
{
	return kdtl_pressure_look(&triggers_counter);
}

static void triggers_fire(void *data)
{
	(*(unsigned int *)data)++;
}

/* There can be only one counter at a time. */
static void triggers_one_counter(struct kunit *test)
{
	static const struct kdtl_pressure_counter other = {
		.total	= triggers_total,
		.look	= triggers_look,
	};
	unsigned int told = 0;
	const struct kdtl_trigger_attr attr = {
		.cgroup		= "/kdtl",
		.threshold	= 1,
		.window		= NSEC_PER_SEC,
		.fire		= triggers_fire,
		.data		= &told,
	};

	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(&other), -EBUSY);
	/* Another counter cannot end the first one, and nobody is told meanwhile. */
	kdtl_pressure_end(&other);
	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(&other), -EBUSY);
	kdtl_pressure_end(&triggers_counter);
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_trigger_open(&attr)), (long)-ENODEV);
	KUNIT_EXPECT_EQ(test, triggers_count(), UINT_MAX);
	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(&triggers_counter), 0);
	KUNIT_EXPECT_EQ(test, told, 0U);
}

/* A trigger tells once in a window; its window of 10 s does not end before the test does. */
static void triggers_tell(struct kunit *test)
{
	char name[] = "/kdtl";
	unsigned int told = 0, other = 0;
	struct kdtl_trigger_attr attr = {
		.cgroup		= name,
		.cause		= KDTL_PRESSURE_NEIGHBOURS,
		.threshold	= 20 * NSEC_PER_MSEC,
		.window		= 10 * (u64)NSEC_PER_SEC,
		.fire		= triggers_fire,
		.data		= &told,
	};
	struct kdtl_trigger *t, *quick, *slow;

	triggers_counted[KDTL_PRESSURE_NEIGHBOURS] = 30 * NSEC_PER_MSEC;
	triggers_looks = 0;
	triggers_hints = 0;
	t = kdtl_trigger_open(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	/* The trigger's first look comes at once; what was counted before it does not matter. */
	KUNIT_EXPECT_EQ(test, triggers_looks, 1U);
	KUNIT_EXPECT_EQ(test, told, 0U);
	/* The trigger has a copy of the path. */
	name[1] = 'x';
	attr.cgroup = "/another";
	attr.window = 10 * NSEC_PER_MSEC;
	attr.threshold = 1;
	attr.data = &other;
	quick = kdtl_trigger_open(&attr);
	KUNIT_EXPECT_FALSE(test, IS_ERR(quick));
	attr.window = 10 * (u64)NSEC_PER_SEC;
	slow = kdtl_trigger_open(&attr);
	KUNIT_EXPECT_FALSE(test, IS_ERR(slow));
	/* The shortest window determines when to look again. */
	KUNIT_EXPECT_EQ(test, triggers_count(), 1U);
	kdtl_trigger_close(slow);
	kdtl_trigger_close(quick);
	KUNIT_EXPECT_EQ(test, triggers_count(), 1000U);
	triggers_counted[KDTL_PRESSURE_NEIGHBOURS] += 20 * NSEC_PER_MSEC - 1;
	triggers_counted[KDTL_PRESSURE_QUOTA] += NSEC_PER_SEC;
	triggers_count();
	KUNIT_EXPECT_EQ(test, told, 0U);
	triggers_counted[KDTL_PRESSURE_NEIGHBOURS]++;
	triggers_count();
	KUNIT_EXPECT_EQ(test, told, 1U);
	/* The next time that it tells must wait for the window's end. */
	triggers_counted[KDTL_PRESSURE_NEIGHBOURS] += NSEC_PER_SEC;
	triggers_count();
	KUNIT_EXPECT_EQ(test, told, 1U);
	KUNIT_EXPECT_EQ(test, other, 0U);
	/* Each call gets the hint that the call before left: 0, 1, 2, and so on. */
	KUNIT_EXPECT_GE(test, triggers_hints, 1U + 2 + 3 + 4 + 5);
	kdtl_trigger_close(t);
	triggers_counted[KDTL_PRESSURE_NEIGHBOURS] += 100 * (u64)NSEC_PER_SEC;
	KUNIT_EXPECT_EQ(test, triggers_count(), UINT_MAX);
	KUNIT_EXPECT_EQ(test, told, 1U);
}

static struct kdtl_trigger *triggers_fired;
static unsigned int triggers_fires;

static void triggers_fire_again(void *data)
{
	const struct kdtl_trigger_attr *attr = data;

	triggers_fires += kdtl_trigger_open(attr) == ERR_PTR(-EDEADLK);
	kdtl_trigger_close(triggers_fired);
}

/* A trigger's function that opened or closed triggers would wait for itself. */
static void triggers_in_fire(struct kunit *test)
{
	struct kdtl_trigger_attr attr = {
		.cgroup		= "/kdtl",
		.threshold	= 1,
		.window		= NSEC_PER_SEC,
		.fire		= triggers_fire_again,
		.data		= &attr,
	};

	triggers_fires = 0;
	triggers_fired = kdtl_trigger_open(&attr);
	KUNIT_ASSERT_FALSE(test, IS_ERR(triggers_fired));
	triggers_counted[KDTL_PRESSURE_OWN] = NSEC_PER_MSEC;
	/* It is there as before. */
	KUNIT_EXPECT_EQ(test, triggers_count(), 100U);
	KUNIT_EXPECT_EQ(test, triggers_fires, 1U);
	kdtl_trigger_close(triggers_fired);
	KUNIT_EXPECT_EQ(test, triggers_count(), UINT_MAX);
}

/* A second close is a line in the log. */
static void triggers_close_again(struct kunit *test)
{
	const struct kdtl_trigger_attr attr = {
		.cgroup		= "/kdtl",
		.threshold	= 1,
		.window		= NSEC_PER_SEC,
		.fire		= triggers_fire,
	};
	struct kdtl_trigger *t = kdtl_trigger_open(&attr), *other = kdtl_trigger_open(&attr);
	struct kdtl_tasks *tasks = kdtl_tasks_open();

	KUNIT_EXPECT_FALSE(test, IS_ERR(t) || IS_ERR(other) || IS_ERR(tasks));
	kdtl_trigger_close(t);
	kdtl_trigger_close(t);
	KUNIT_EXPECT_EQ(test, triggers_count(), 100U);
	kdtl_trigger_close(other);
	kdtl_tasks_close(tasks);
	kdtl_tasks_close(tasks);
}

static void triggers_expect(struct kunit *test, const struct kdtl_trigger_attr *attr, int err)
{
	struct kdtl_trigger *t = kdtl_trigger_open(attr);

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(t), err);
	kdtl_trigger_close(t);
}

/* Values just beyond each limit are refused, values at the limit are not. */
static void triggers_refused(struct kunit *test)
{
	static const struct kdtl_pressure_counter halves[] = {
		{ .total = triggers_total }, { .look = triggers_look },
	};
	unsigned int told = 0;
	const struct kdtl_trigger_attr good = {
		.cgroup		= "/kdtl",
		.cause		= KDTL_PRESSURE_ROWS - 1,
		.threshold	= 1,
		.window		= KDTL_TRIGGER_MIN_WINDOW,
		.fire		= triggers_fire,
		.data		= &told,
	};
	struct kdtl_trigger_attr attr = good;

	triggers_expect(test, &attr, 0);
	attr.threshold = attr.window * num_possible_cpus();
	triggers_expect(test, &attr, 0);
	attr.threshold++;
	triggers_expect(test, &attr, -EINVAL);
	attr.window = KDTL_TRIGGER_MAX_WINDOW;
	triggers_expect(test, &attr, 0);
	attr.window++;
	triggers_expect(test, &attr, -EINVAL);
	attr.window = KDTL_TRIGGER_MIN_WINDOW - 1;
	attr.threshold = 1;
	triggers_expect(test, &attr, -EINVAL);
	attr = good;
	attr.threshold = 0;
	triggers_expect(test, &attr, -EINVAL);
	attr = good;
	attr.cause = KDTL_PRESSURE_ROWS;
	triggers_expect(test, &attr, -EINVAL);
	attr = good;
	attr.fire = NULL;
	triggers_expect(test, &attr, -EINVAL);
	attr = good;
	attr.cgroup = "kdtl";
	triggers_expect(test, &attr, -EINVAL);
	attr.cgroup = "/web//kdtl";
	triggers_expect(test, &attr, -EINVAL);
	attr.cgroup = NULL;
	triggers_expect(test, &attr, -EINVAL);
	triggers_expect(test, NULL, -EINVAL);
	kdtl_pressure_end(&triggers_counter);
	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(&halves[0]), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(&halves[1]), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_pressure_begin(NULL), -EINVAL);
}

#define TRIGGERS_MANY	200
#define TRIGGERS_PATH	65536

/* Closing a trigger frees its memory.  Its path is the largest part of that. */
static void triggers_freed(struct kunit *test)
{
	struct kdtl_trigger_attr attr = {
		.threshold	= 1,
		.window		= NSEC_PER_SEC,
		.fire		= triggers_fire,
	};
	char *path = kvmalloc(TRIGGERS_PATH, GFP_KERNEL);
	unsigned long pages;
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, path);
	memset(path, 'x', TRIGGERS_PATH - 1);
	path[0] = '/';
	path[TRIGGERS_PATH - 1] = '\0';
	attr.cgroup = path;
	pages = global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B);
	for (i = 0; i < TRIGGERS_MANY; i++)
		triggers_expect(test, &attr, 0);
	pages = global_node_page_state_pages(NR_SLAB_UNRECLAIMABLE_B) - pages;
	kvfree(path);
	KUNIT_EXPECT_LT(test, (long)pages, TRIGGERS_MANY * TRIGGERS_PATH / (long)PAGE_SIZE / 2);
}

static int triggers_init(struct kunit *test)
{
	memset(triggers_counted, 0, sizeof(triggers_counted));
	return kdtl_pressure_begin(&triggers_counter);
}

static void triggers_exit(struct kunit *test)
{
	kdtl_pressure_end(&triggers_counter);
}

static struct kunit_case triggers_cases[] = {
	KUNIT_CASE(triggers_one_counter),
	KUNIT_CASE(triggers_tell),
	KUNIT_CASE(triggers_in_fire),
	KUNIT_CASE(triggers_close_again),
	KUNIT_CASE(triggers_refused),
	KUNIT_CASE(triggers_freed),
	{}
};

struct kunit_suite kdtl_triggers_suite = {
	.name		= "kdtl_triggers",
	.init		= triggers_init,
	.exit		= triggers_exit,
	.test_cases	= triggers_cases,
};
