// SPDX-License-Identifier: GPL-2.0
/* What forgotten.cocci finds, BAD, and what it must not. */
#include <linux/err.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>

static struct kdtl_session *never, *early, *made, *opened;
static struct kdtl_session *good, *shared, *threads;

static struct {
	struct kdtl_session *bad;
	struct kdtl_session *good;
} state;

static struct task_struct *thread;
static struct notifier_block bad_nb, good_nb;
static struct kdtl_pmu bad_pmu, good_pmu;

static const struct kdtl_session_attr attr = { .aux_pages = 1 };

static struct kdtl_session *make(void)
{
	struct kdtl_session *s = kdtl_session_create(&attr);

	if (IS_ERR(s))
		pr_err("no session\n");
	return s;
}

/* The session is in a variable of the file, and nothing closes it. */
static int bad_never(void)
{
	never = kdtl_session_create(&attr); /* BAD */
	return PTR_ERR_OR_ZERO(never);
}

/* The session is only closed if init fails. */
static int bad_early(void)
{
	int err;

	early = kdtl_session_create(&attr); /* BAD */
	if (IS_ERR(early))
		return PTR_ERR(early);
	err = kdtl_load(early, NULL);
	if (err)
		kdtl_session_close(early);
	return err;
}

static int bad_others(void)
{
	int err;

	made = make(); /* BAD */
	opened = kdtl_session_open(&attr, NULL); /* BAD */
	state.bad = kdtl_session_create(&attr); /* BAD */
	err = kdtl_alarm_register(&bad_nb); /* BAD */
	if (err)
		return err;
	err = kdtl_pmu_register(&bad_pmu); /* BAD */
	if (err)
		kdtl_alarm_unregister(&bad_nb);
	return err;
}

/* A thread closes its session at its end. */
static int good_thread(void *unused)
{
	threads = kdtl_session_create(&attr);
	if (IS_ERR(threads))
		return PTR_ERR(threads);
	while (!kthread_should_stop())
		kdtl_wait(threads, HZ);
	kdtl_session_close(threads);
	return 0;
}

/* Init closes what it has created for itself. */
static int good_local(void)
{
	struct kdtl_session *s = kdtl_session_create(&attr);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	err = kdtl_load(s, NULL);
	kdtl_session_close(s);
	return err;
}

/* Both exit and an init that fails call this. */
static void good_end(void)
{
	kdtl_session_close(shared);
	kdtl_session_close(state.good);
	kdtl_pmu_unregister(&good_pmu);
}

static int __init sample_init(void)
{
	int err;

	err = bad_never() ?: bad_early() ?: bad_others() ?: good_local();
	if (err)
		return err;
	good = kdtl_session_create(&attr);
	if (IS_ERR(good))
		return PTR_ERR(good);
	shared = kdtl_session_open(&attr, NULL);
	state.good = kdtl_session_create(&attr);
	err = kdtl_pmu_register(&good_pmu);
	if (!err)
		err = kdtl_alarm_register(&good_nb);
	if (err) {
		good_end();
		kdtl_session_close(good);
		return err;
	}
	thread = kthread_run(good_thread, NULL, "sample");
	return 0;
}

static void __exit sample_exit(void)
{
	kthread_stop(thread);
	kdtl_alarm_unregister(&good_nb);
	good_end();
	kdtl_session_close(good);
}

module_init(sample_init);
module_exit(sample_exit);
