// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_forget - a client that does not close its session, nor unregister anything
 *
 *	insmod kdtl_forget.ko				leaves nothing
 *	insmod kdtl_forget.ko leave=done
 *	insmod kdtl_forget.ko leave=merge fail=1	its init fails
 *
 * The session logs CPU 0 of the test source.  At its end, init raises an alarm.
 */
#define pr_fmt(fmt) "kdtl_forget: " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kdtl_answers.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include "kdtl_fake_pmu.h"

static char *leave = "";
module_param(leave, charp, 0444);
MODULE_PARM_DESC(leave, "what the module leaves behind: a session with done, wake, wait, merge, open or work; alarm; pmu; tasks; trigger");

static bool fail;
module_param(fail, bool, 0444);
MODULE_PARM_DESC(fail, "the module's init fails");

static struct kdtl_session *session;
static struct kdtl_merge *merge;
static DECLARE_COMPLETION(forget_done);
static unsigned int forget_wakes;

static void forget_wake(void *data)
{
	(*(unsigned int *)data)++;
}

static const struct kdtl_trigger_attr forget_trigger = {
	.cgroup		= "/",
	.cause		= KDTL_PRESSURE_SOME,
	.threshold	= 1,
	.window		= KDTL_TRIGGER_MIN_WINDOW,
	.fire		= forget_wake,
	.data		= &forget_wakes,
};

static int forget_reader(void *unused)
{
	while (kdtl_wait(session, MAX_SCHEDULE_TIMEOUT) >= 0)
		;
	/* The thread stays in the module's code for a while, without sleeping. */
	mdelay(300);
	return 0;
}

/* Starts a thread. When this returns, the thread sleeps in kdtl_wait(). */
static int forget_wait(void)
{
	struct task_struct *t = kthread_run(forget_reader, NULL, "kdtl_forget");

	if (IS_ERR(t))
		return PTR_ERR(t);
	while (READ_ONCE(t->__state) != TASK_INTERRUPTIBLE)
		msleep(20);
	return 0;
}

/* Makes a merge that has just returned an entry. */
static int forget_merge(void)
{
	int err;

	merge = kdtl_merge_create(session);
	if (IS_ERR(merge))
		return PTR_ERR(merge);
	err = kdtl_fake_emit(0, KDTL_KIND_CEDE, 2, 0, 0, 0);
	if (err)
		return err;
	kdtl_merge_sync(merge);
	return kdtl_merge_next(merge) ? 0 : -ENODATA;
}

/* The callback of a reader that kdtl runs. */
static void forget_span(const struct kdtl_span *span, void *data)
{
	(*(unsigned int *)data)++;
}

static __always_inline
struct kdtl_session *forget_open(const struct kdtl_session_attr *attr, bool work)
{
	const struct kdtl_reader reader = {
		.span		= forget_span,
		.data		= &forget_wakes,
		.interval_ms	= 1,
		.name		= work ? NULL : "kdtl_forget",
		.wq		= work ? system_long_wq : NULL,
	};

	return kdtl_session_open(attr, &reader);
}

/* The log names this function if the alarm is left. */
static int forget_alarm(struct notifier_block *nb, unsigned long unused, void *data)
{
	const struct kdtl_alarm *alarm = data;

	pr_info("alarm: %s\n", alarm->what);
	return NOTIFY_OK;
}

static struct notifier_block forget_nb = {
	.notifier_call = forget_alarm,
};

static struct kdtl_pmu forget_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_forget",
	.tb_freq	= NSEC_PER_SEC,
};

/* The log names this function if the session is left. */
static noinline struct kdtl_session *forget_create(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.cpus		= cpumask_of(0),
		.aux_pages	= 1,
		.watermark	= 10 * KDTL_ENTRY_SIZE,
		.done		= !strcmp(leave, "done") ? &forget_done : NULL,
		.wake		= !strcmp(leave, "wake") ? forget_wake : NULL,
		.wake_data	= &forget_wakes,
	};
	struct kdtl_session *s;

	if (!strcmp(leave, "open") || !strcmp(leave, "work"))
		s = forget_open(&attr, !strcmp(leave, "work"));
	else
		s = kdtl_session_create(&attr);
	/* Without this, the call would be a tail call, and the log would name the caller. */
	barrier();
	return s;
}

static int forget_session(void)
{
	int err;

	session = forget_create();
	if (IS_ERR(session))
		return PTR_ERR(session);
	/* A session that was opened is loaded already. */
	err = kdtl_load(session, NULL);
	if (!err || err == -EBUSY)
		err = kdtl_start(session);
	if (!err && !strcmp(leave, "wait"))
		err = forget_wait();
	if (!err && !strcmp(leave, "merge"))
		err = forget_merge();
	return err;
}

/* As init may still fail, nobody else may hold the source before it ends: neither a session ... */
static int forget_found(void)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_forget" };
	struct kdtl_session *s = __kdtl_session_create(&attr, NULL);

	if (IS_ERR(s))
		return 0;
	pr_err("somebody else's session holds the source before init has ended\n");
	kdtl_session_close(s);
	return -EEXIST;
}

/* ... nor a perf event. */
static int forget_opened(void)
{
	struct perf_event_attr attr = {
		.type	= forget_pmu.pmu.type,
		.size	= sizeof(attr),
		.config	= KDTL_MASK_CEDE,
	};
	struct perf_event *event = perf_event_create_kernel_counter(&attr, 0, NULL, NULL, NULL);

	if (PTR_ERR_OR_ZERO(event) == -ENODEV)
		return 0;
	pr_err("perf opens an event on the source before init has ended (%d)\n",
	       PTR_ERR_OR_ZERO(event));
	if (!IS_ERR(event))
		perf_event_release_kernel(event);
	return -EEXIST;
}

static int __init forget_init(void)
{
	int err = 0;

	if (!*leave || !strcmp(leave, "alarm"))
		err = kdtl_alarm_register(&forget_nb);
	if (!err && (!*leave || !strcmp(leave, "pmu")))
		err = kdtl_pmu_register(&forget_pmu) ?: forget_found() ?: forget_opened();
	if (!err && !strcmp(leave, "tasks"))
		err = PTR_ERR_OR_ZERO(kdtl_tasks_open());
	else if (!err && !strcmp(leave, "trigger"))
		err = PTR_ERR_OR_ZERO(kdtl_trigger_open(&forget_trigger));
	else if (!err && strcmp(leave, "alarm") && strcmp(leave, "pmu"))
		err = forget_session();
	kdtl_alarm(&(struct kdtl_alarm){ .what = "forget", .cpu = -1 });
	if (err)
		pr_err("cannot be set up (%d)\n", err);
	/* -ECANCELED tells the script that init failed here, as it was asked to. */
	return err ?: fail ? -ECANCELED : 0;
}

static void __exit forget_exit(void)
{
	if (*leave)
		return;
	kdtl_session_close(session);
	kdtl_pmu_unregister(&forget_pmu);
	kdtl_alarm_unregister(&forget_nb);
}

module_init(forget_init);
module_exit(forget_exit);

MODULE_DESCRIPTION("kdtl test: a client that leaves something behind");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
