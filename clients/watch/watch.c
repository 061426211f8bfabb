// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_watch - a watchdog over the time that dispatches wait
 *
 * A thread reads every dispatch and looks how long it had waited; probe.c finds
 * those that still wait.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "watch.h"

static char *pmu = "kdtl_sched";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source: kdtl_sched (default, tells the tasks) or kdtl_vpa");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU, a power of two (default 64)");

static unsigned int threshold_ms = 500;
module_param(threshold_ms, uint, 0444);
MODULE_PARM_DESC(threshold_ms, "longest wait that is all right, in ms, 0: any (default 500; by CPU in debugfs)");

static unsigned int period_ms = 100;
module_param(period_ms, uint, 0644);
MODULE_PARM_DESC(period_ms, "longest time between two looks, in ms (default 100)");

struct kdtl_session *watch_session;
DEFINE_PER_CPU(struct watch_cpu, watch_cpus);
static struct task_struct *thread;

static void watch_read(int cpu, const struct kdtl_aux_info *info)
{
	const struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	const u64 threshold = watch_threshold(w) ?: U64_MAX;
	const bool tasks = !strcmp(pmu, "kdtl_sched");
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;
	u64 wait;

	len = kdtl_aux_peek(watch_session, cpu, &span);
	if (len <= 0)
		return;
	kdtl_for_each_entry(e, span, len) {
		wait = kdtl_ticks_to_ns(info, kdtl_entry_wait(e));
		if (wait > threshold)
			watch_report_late(cpu, e, tasks, wait);
	}
	kdtl_aux_consume(watch_session, cpu, len);
}

static int watch_thread(void *unused)
{
	struct kdtl_aux_info info;
	int cpu;

	/* Who watches the starving must not starve. */
	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		kdtl_wait(watch_session, msecs_to_jiffies(READ_ONCE(period_ms)) ?: 1);
		for_each_possible_cpu(cpu) {
			if (!kdtl_aux_info(watch_session, cpu, &info))
				watch_read(cpu, &info);
			watch_probe(cpu);
		}
	}
	return 0;
}

/* -------------------------------------------------- from create to close */

static int watch_begin(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
	};
	int err;

	watch_session = kdtl_session_create(&attr);
	if (IS_ERR(watch_session))
		return PTR_ERR(watch_session);
	err = kdtl_load(watch_session, NULL);
	if (!err)
		err = kdtl_start(watch_session);
	if (err)
		goto close;
	thread = kthread_run(watch_thread, NULL, "kdtl_watch");
	if (IS_ERR(thread)) {
		err = PTR_ERR(thread);
		goto close;
	}
	return 0;

close:
	kdtl_session_close(watch_session);
	return err;
}

static void watch_end(void)
{
	kthread_stop(thread);
	kdtl_session_close(watch_session);
}

/* ------------------------------------------------------------------------ */

static int __init watch_init(void)
{
	int cpu, err;

	for_each_possible_cpu(cpu)
		per_cpu_ptr(&watch_cpus, cpu)->threshold_ms = threshold_ms;
	watch_probe_init();
	err = watch_report_init();
	if (err)
		return err;
	err = watch_begin();
	if (err) {
		pr_err("no session of %s (%d)\n", pmu, err);
		watch_report_exit();
		return err;
	}
	watch_show_init();
	return 0;
}

static void __exit watch_exit(void)
{
	watch_show_exit();
	watch_end();
	watch_probe_exit();
	watch_report_exit();
}

/* After the sources, when built in: they are device_initcalls. */
late_initcall(watch_init);
module_exit(watch_exit);

MODULE_DESCRIPTION("kdtl watchdog: says when a dispatch waits too long");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_SOFTDEP("pre: kdtl_sched kdtl_vpa");
