// SPDX-License-Identifier: GPL-2.0
/* A thread that reads by itself, and knows where dispatches are missing */
#define pr_fmt(fmt) "kdtl_gaps: " fmt

#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>

static unsigned int pause_ms;
module_param(pause_ms, uint, 0444);
MODULE_PARM_DESC(pause_ms, "time for which the thread does not read after each look, in ms (default 0)");

static struct kdtl_session *session;
static struct task_struct *thread;
static u64 read, lost, gaps;

/* A gap after the last entry may still grow until the session is @stopped. */
static void gaps_read(int cpu, bool stopped)
{
	const void *span;
	u64 missing;
	ssize_t len;
	size_t at;

	while ((len = kdtl_aux_peek(session, cpu, &span)) >= 0) {
		const bool gap = kdtl_aux_gap(session, cpu, &at, &missing) == 1;

		if (gap && !at && (len || stopped)) {
			pr_info_ratelimited("CPU %d: %llu dispatches are missing\n", cpu, missing);
			lost += missing;
			gaps++;
		}
		if (!len)
			return;
		/* Read up to the gap; right after a gap, one entry, as another may follow. */
		if (gap)
			len = at ? min_t(size_t, at, len) : sizeof(struct kdtl_entry);
		read += len / sizeof(struct kdtl_entry);
		kdtl_aux_consume(session, cpu, len);
	}
}

/* Sleep for @pause_ms, but not if the module is being removed. */
static void gaps_sleep(void)
{
	set_current_state(TASK_INTERRUPTIBLE);
	if (!kthread_should_stop())
		schedule_timeout(msecs_to_jiffies(pause_ms));
	__set_current_state(TASK_RUNNING);
}

static int gaps_thread(void *unused)
{
	int cpu;

	while (!kthread_should_stop()) {
		kdtl_wait(session, HZ);
		kdtl_for_each_cpu(cpu, session)
			gaps_read(cpu, false);
		gaps_sleep();
	}
	kdtl_stop(session);
	kdtl_for_each_cpu(cpu, session)
		gaps_read(cpu, true);
	return 0;
}

static int __init gaps_init(void)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_sched", .aux_pages = 1 };
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_load(session, NULL) ?: kdtl_start(session);
	if (!err) {
		thread = kthread_run(gaps_thread, NULL, "kdtl_gaps");
		err = PTR_ERR_OR_ZERO(thread);
	}
	if (err)
		kdtl_session_close(session);
	return err;
}

static void __exit gaps_exit(void)
{
	struct kdtl_aux_info info;

	kthread_stop(thread);
	if (!kdtl_aux_info(session, -1, &info))
		pr_info("%llu dispatches: %llu read, %llu lost in %llu gaps\n", info.produced,
			read, lost, gaps);
	kdtl_session_close(session);
}

late_initcall(gaps_init);
module_exit(gaps_exit);

MODULE_DESCRIPTION("kdtl example: a reader that knows where dispatches are missing");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched");
