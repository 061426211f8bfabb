// SPDX-License-Identifier: GPL-2.0
/*
 * What perf does with the events of a source, beside adding and deleting them; and sources that
 * refuse an event
 */
#include <linux/kthread.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "kapi.h"

/* ------------------------------------------------------------------- source */

static int events_attach_error, events_source_error, events_init_error;
static u32 events_mask;		/* the kinds last requested from the source on CPU 0 */
static struct completion events_entered, events_go;

static int events_attach(struct kdtl_pmu *p)
{
	return events_attach_error;
}

static int events_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	if (mask && events_source_error)
		return events_source_error;
	if (!raw_smp_processor_id())
		events_mask = mask;
	return 0;
}

static struct kdtl_pmu events_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_events",
	.mask		= KDTL_MASK_ALL,
	.tb_freq	= NSEC_PER_SEC,
	.attach		= events_attach,
	.source		= events_source,
};

/* Takes a while, during which kdtl_load() holds the session's lock, and then refuses. */
static int events_slow_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	complete(&events_entered);
	wait_for_completion(&events_go);
	return events_init_error;
}

static struct kdtl_pmu events_slow_pmu = {
	.pmu.module	= THIS_MODULE,
	.pmu.event_init	= events_slow_init,
	.name		= "kdtl_events_slow",
	.tb_freq	= NSEC_PER_SEC,
};

static struct {
	unsigned int	calls;
	int		result;
	bool		destroys;
} events_own_init_does;

static void events_own_destroy(struct perf_event *event)
{
}

static int events_own_init(struct perf_event *event)
{
	events_own_init_does.calls++;
	if (events_own_init_does.destroys)
		event->destroy = events_own_destroy;
	return events_own_init_does.result;
}

static struct kdtl_pmu events_own_pmu = {
	.pmu.module	= THIS_MODULE,
	.pmu.event_init	= events_own_init,
	.name		= "kdtl_events_own",
	.tb_freq	= NSEC_PER_SEC,
};

static void events_emit_here(void *arg)
{
	const struct kdtl_entry e = {};
	unsigned int nr = *(unsigned int *)arg;

	while (nr--)
		kdtl_pmu_output(&events_pmu, &e, KDTL_KIND_CEDE);
}

static void events_lose_here(void *unused)
{
	kdtl_pmu_lost(&events_pmu, 5);
}

static void events_emit(unsigned int nr)
{
	smp_call_function_single(0, events_emit_here, &nr, 1);
}

/* ------------------------------------------------------------------- events */

static void events_overflow(struct perf_event *event, struct perf_sample_data *data,
			    struct pt_regs *regs)
{
}

/* Create an event on CPU 0 like that of a perf user, but without an AUX area. */
static struct perf_event *events_create_on(const struct kdtl_pmu *p, u32 mask)
{
	struct perf_event_attr attr = {
		.type		= p->pmu.type,
		.size		= sizeof(attr),
		.config		= mask,
		.sample_period	= 1,
	};

	return perf_event_create_kernel_counter(&attr, 0, NULL, events_overflow, NULL);
}

static struct perf_event *events_create(u32 mask)
{
	return events_create_on(&events_pmu, mask);
}

/* How many entries the event has counted. */
static u64 events_count(struct perf_event *event)
{
	u64 enabled, running;

	return perf_event_read_value(event, &enabled, &running);
}

/* To change its period, perf stops an event and starts it again; other events go on. */
static void events_restarted(struct kunit *test)
{
	struct perf_event *a = events_create(KDTL_MASK_CEDE);
	struct perf_event *b = events_create(KDTL_MASK_FAULT);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, b);
	KUNIT_EXPECT_EQ(test, events_mask, (u32)(KDTL_MASK_CEDE | KDTL_MASK_FAULT));
	events_emit(3);
	KUNIT_EXPECT_EQ(test, events_count(a), 3ULL);
	KUNIT_EXPECT_EQ(test, perf_event_period(a, 2), 0);
	KUNIT_EXPECT_EQ(test, events_mask, (u32)(KDTL_MASK_CEDE | KDTL_MASK_FAULT));
	KUNIT_EXPECT_EQ(test, events_count(a), 3ULL);
	events_emit(4);
	perf_event_disable(a);
	KUNIT_EXPECT_EQ(test, events_mask, (u32)KDTL_MASK_FAULT);
	KUNIT_EXPECT_EQ(test, events_count(a), 7ULL);
	KUNIT_EXPECT_EQ(test, events_count(b), 0ULL);
	perf_event_release_kernel(b);
	perf_event_release_kernel(a);
	KUNIT_EXPECT_EQ(test, events_mask, 0U);
}

/*
 * If the source refuses when the event is to start again, there are no entries until the source
 * accepts.
 */
static void events_not_restarted(struct kunit *test)
{
	struct perf_event *a = events_create(KDTL_MASK_ALL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	events_source_error = -EXDEV;
	KUNIT_EXPECT_EQ(test, perf_event_period(a, 2), 0);
	KUNIT_EXPECT_EQ(test, events_mask, 0U);
	events_emit(3);
	events_source_error = 0;
	KUNIT_EXPECT_EQ(test, perf_event_period(a, 3), 0);
	KUNIT_EXPECT_EQ(test, events_mask, (u32)KDTL_MASK_ALL);
	events_emit(2);
	perf_event_disable(a);
	KUNIT_EXPECT_EQ(test, events_count(a), 2ULL);
	perf_event_release_kernel(a);
}

/* No event counts entries that the source lost. */
static void events_lost(struct kunit *test)
{
	struct perf_event *a = events_create(KDTL_MASK_ALL);

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	events_emit(1);
	smp_call_function_single(0, events_lose_here, NULL, 1);
	perf_event_disable(a);
	KUNIT_EXPECT_EQ(test, events_count(a), 1ULL);
	perf_event_release_kernel(a);
}

/* An error of the driver is what perf returns. */
static void events_attach_fails(struct kunit *test)
{
	struct perf_event *a;

	events_attach_error = -EXDEV;
	a = events_create(KDTL_MASK_ALL);
	events_attach_error = 0;
	KUNIT_EXPECT_PTR_EQ(test, a, (struct perf_event *)ERR_PTR(-EXDEV));
}

/* If a driver returns a positive number, it must not pass for a pointer, or for success. */
static void events_positive(struct kunit *test)
{
	struct perf_event *a;

	events_attach_error = 1;
	a = events_create(KDTL_MASK_ALL);
	events_attach_error = 0;
	KUNIT_EXPECT_PTR_EQ(test, a, (struct perf_event *)ERR_PTR(-EINVAL));

	a = events_create(KDTL_MASK_ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	perf_event_disable(a);
	events_source_error = 1;
	perf_event_enable(a);
	events_source_error = 0;
	KUNIT_EXPECT_EQ(test, events_mask, 0U);
	events_emit(1);
	KUNIT_EXPECT_EQ(test, events_count(a), 0ULL);
	perf_event_release_kernel(a);
}

/* ------------------------------------------------------- verbs in a row for one lock */

struct events_caller {
	struct kdtl_session	*s;
	int			(*call)(struct kdtl_session *s);
	bool			calls;
	int			ret;
	struct task_struct	*task;
};

static int events_load(struct kdtl_session *s)
{
	return kdtl_load(s, NULL);
}

static int events_close(struct kdtl_session *s)
{
	kdtl_session_close(s);
	return 0;
}

static int events_caller(void *arg)
{
	struct events_caller *c = arg;

	WRITE_ONCE(c->calls, true);
	c->ret = c->call(c->s);
	WRITE_ONCE(c->calls, false);
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static bool events_call(struct events_caller *c)
{
	struct task_struct *task = kthread_run(events_caller, c, "events");

	c->task = IS_ERR(task) ? NULL : task;
	return c->task;
}

/* Is the caller asleep in its verb? */
static bool events_sleeps(struct events_caller *c)
{
	return READ_ONCE(c->calls) && READ_ONCE(c->task->__state) & TASK_UNINTERRUPTIBLE;
}

/*
 * A load holds the session's lock; a close waits for it, and then an unload.  Whichever of the two
 * gets it first, the unload must not run into a session that is gone, and the load returns the
 * driver's error.
 */
static void events_in_a_row(struct kunit *test)
{
	const struct kdtl_session_attr attr = {
		.pmu		= events_slow_pmu.name,
		.cpus		= cpumask_of(0),
		.aux_pages	= 1,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);
	struct events_caller load = { s, events_load };
	struct events_caller close = { s, events_close };
	struct events_caller unload = { s, kdtl_unload };
	struct events_caller *all[] = { &load, &close, &unload };
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	init_completion(&events_entered);
	init_completion(&events_go);
	events_init_error = -EXDEV;
	if (events_call(&load)) {
		wait_for_completion(&events_entered);
		if (events_call(&close) && kapi_until(events_sleeps(&close)) &&
		    events_call(&unload))
			KUNIT_EXPECT_TRUE(test, kapi_until(events_sleeps(&unload)));
	}
	complete_all(&events_go);
	for (i = 0; i < ARRAY_SIZE(all); i++) {
		KUNIT_EXPECT_TRUE(test, !!all[i]->task);
		if (!all[i]->task)
			continue;
		KUNIT_EXPECT_TRUE(test, kapi_until(!READ_ONCE(all[i]->calls)));
		kthread_stop(all[i]->task);
	}
	KUNIT_EXPECT_EQ(test, load.ret, -EXDEV);
	KUNIT_EXPECT_TRUE(test, unload.ret == -ESHUTDOWN || !unload.ret);
}

static int events_suite_init(struct kunit_suite *suite)
{
	int err = kdtl_pmu_register(&events_pmu);

	if (err)
		return err;
	err = kdtl_pmu_register(&events_slow_pmu);
	if (err)
		kdtl_pmu_unregister(&events_pmu);
	return err;
}

static void events_suite_exit(struct kunit_suite *suite)
{
	kdtl_pmu_unregister(&events_slow_pmu);
	kdtl_pmu_unregister(&events_pmu);
}

/*
 * A source is never asked for a kind that it does not tell apart, and a mask of such kinds only is
 * refused.
 */
static void events_unknown_kinds(struct kunit *test)
{
	struct kdtl_session_attr attr = {
		.pmu		= events_pmu.name,
		.aux_pages	= 1,
		.mask		= KDTL_MASK_THROTTLE,
	};
	struct kdtl_config req = { .mask = KDTL_MASK_THROTTLE };
	struct kdtl_session *s;
	struct perf_event *a;

	events_pmu.mask = 0;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(events_create(KDTL_MASK_THROTTLE)),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(kdtl_session_create(&attr)), -EOPNOTSUPP);
	a = events_create(KDTL_MASK_ALL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, a);
	KUNIT_EXPECT_EQ(test, events_mask, (u32)(KDTL_MASK_ALL & ~KDTL_MASK_THROTTLE));
	perf_event_release_kernel(a);
	attr.mask = KDTL_MASK_THROTTLE | KDTL_MASK_CEDE;
	s = kdtl_session_create(&attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &req, 1), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, req.error, -EOPNOTSUPP);
	kdtl_session_close(s);
	events_pmu.mask = KDTL_MASK_ALL;
}

/*
 * If a perf user asks for idle time and the source has none, that is refused, even if the mask has
 * other kinds.  A session gets the other kinds, and its info says whether it gets idle times.
 */
static void events_idle(struct kunit *test)
{
	static const u32 masks[] = {
		KDTL_MASK_IDLE, KDTL_MASK_IDLE | KDTL_MASK_CEDE, KDTL_MASK_IDLE | KDTL_MASK_ALL,
	};
	struct kdtl_session_attr attr = { .pmu = events_pmu.name, .aux_pages = 1 };
	struct kdtl_config req = {};
	struct kdtl_aux_info info;
	struct kdtl_session *s;
	struct perf_event *a;
	unsigned int i;

	s = kdtl_session_create(&attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(events_create(masks[i])), -EOPNOTSUPP);
		req.mask = masks[i];
		KUNIT_EXPECT_EQ(test, kdtl_write_config(s, &req, 1), i ? 0 : -EOPNOTSUPP);
	}
	events_mask = 0;
	KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	KUNIT_EXPECT_EQ(test, events_mask, (u32)KDTL_MASK_ALL);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, -1, &info), 0);
	KUNIT_EXPECT_FALSE(test, info.idle);
	kdtl_session_close(s);
	attr.mask = KDTL_MASK_IDLE;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(kdtl_session_create(&attr)), -EOPNOTSUPP);

	events_pmu.mask |= KDTL_MASK_IDLE;
	s = kdtl_session_create(&attr);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_aux_info(s, -1, &info), 0);
	KUNIT_EXPECT_TRUE(test, info.idle);
	kdtl_session_close(s);
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		a = events_create(masks[i]);
		KUNIT_EXPECT_FALSE(test, IS_ERR(a));
		if (IS_ERR(a))
			continue;
		KUNIT_EXPECT_EQ(test, events_mask, masks[i]);
		perf_event_release_kernel(a);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(events_create(KDTL_MASK_IDLE << 1)), -EINVAL);
	events_pmu.mask = KDTL_MASK_ALL;
}

/*
 * A driver's own event_init() runs after kdtl's and may refuse the event; then nothing is left of
 * it.
 */
static void events_own(struct kunit *test)
{
	const struct kdtl_session_attr attr = { .pmu = events_own_pmu.name, .aux_pages = 1 };
	struct perf_event *a;

	KUNIT_ASSERT_EQ(test, kdtl_pmu_register(&events_own_pmu), 0);
	KUNIT_EXPECT_EQ(test, kapi_go(kapi_create(test, &attr)), 0);
	KUNIT_EXPECT_GT(test, events_own_init_does.calls, 0U);
	kapi_close(test);

	a = events_create_on(&events_own_pmu, KDTL_MASK_ALL);
	KUNIT_EXPECT_FALSE(test, IS_ERR(a));
	if (!IS_ERR(a)) {
		/* The event is a user of the driver. */
		kdtl_pmu_unregister(&events_own_pmu);
		KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&events_own_pmu), -EEXIST);
		perf_event_release_kernel(a);
	}
	events_own_init_does.result = -EXDEV;
	a = events_create_on(&events_own_pmu, KDTL_MASK_ALL);
	KUNIT_EXPECT_PTR_EQ(test, a, (struct perf_event *)ERR_PTR(-EXDEV));
	events_own_init_does.result = 0;
	events_own_init_does.destroys = true;
	a = events_create_on(&events_own_pmu, KDTL_MASK_ALL);
	KUNIT_EXPECT_PTR_EQ(test, a, (struct perf_event *)ERR_PTR(-EINVAL));
	events_own_init_does.destroys = false;

	kdtl_pmu_unregister(&events_own_pmu);
	/* It can be registered again: nobody uses it any more. */
	KUNIT_EXPECT_EQ(test, kdtl_pmu_register(&events_own_pmu), 0);
	a = events_create_on(&events_own_pmu, KDTL_MASK_ALL);
	KUNIT_EXPECT_FALSE(test, IS_ERR(a));
	if (!IS_ERR(a))
		perf_event_release_kernel(a);
	kdtl_pmu_unregister(&events_own_pmu);
}

static struct kunit_case events_cases[] = {
	KUNIT_CASE(events_restarted),
	KUNIT_CASE(events_not_restarted),
	KUNIT_CASE(events_lost),
	KUNIT_CASE(events_attach_fails),
	KUNIT_CASE(events_positive),
	KUNIT_CASE(events_in_a_row),
	KUNIT_CASE(events_unknown_kinds),
	KUNIT_CASE(events_idle),
	KUNIT_CASE(events_own),
	{}
};

struct kunit_suite kdtl_events_suite = {
	.name		= "kdtl_events",
	.suite_init	= events_suite_init,
	.suite_exit	= events_suite_exit,
	.init		= kapi_init,
	.test_cases	= events_cases,
};
