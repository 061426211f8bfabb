// SPDX-License-Identifier: GPL-2.0
/* Probes on tracepoints that are found by their names. */
#include <linux/atomic.h>
#include <linux/kdtl_probes.h>

#include "kapi.h"

#define PROBES_NONE	"kdtl_no_such_tracepoint"

static atomic_t probes_seen;

static void probes_wakeup(void *data, struct task_struct *t)
{
	atomic_inc(&probes_seen);
}

/*
 * If the kernel lacks one of the tracepoints, no probe is registered, unless that one is optional.
 */
static void probes_lacking(struct kunit *test)
{
	struct kdtl_probe probes[] = {
		{ "sched_wakeup", probes_wakeup }, { PROBES_NONE, probes_wakeup },
	};
	int seen;

	KUNIT_EXPECT_EQ(test, kdtl_probes_find(probes, 2), -ENODEV);
	KUNIT_EXPECT_EQ(test, kdtl_probes_register(probes, 2), -ENODEV);
	seen = atomic_read(&probes_seen);
	KUNIT_EXPECT_EQ(test, kdtl_probes_find(probes, 1), 0);
	usleep_range(200, 500);
	KUNIT_EXPECT_EQ(test, atomic_read(&probes_seen), seen);

	probes[1].optional = true;
	KUNIT_EXPECT_EQ(test, kdtl_probes_find(probes, 2), 0);
	KUNIT_ASSERT_EQ(test, kdtl_probes_register(probes, 2), 0);
	KUNIT_EXPECT_TRUE(test, kapi_until(atomic_read(&probes_seen) != seen));
	kdtl_probes_unregister(probes, 2);
	/* A second time nothing happens, where the kernel itself would warn. */
	kdtl_probes_unregister(probes, 2);
	seen = atomic_read(&probes_seen);
	usleep_range(200, 500);
	KUNIT_EXPECT_EQ(test, atomic_read(&probes_seen), seen);
}

static struct kunit_case probes_cases[] = {
	KUNIT_CASE(probes_lacking),
	{ }
};

struct kunit_suite kdtl_probes_suite = {
	.name		= "kdtl_probes",
	.test_cases	= probes_cases,
};
