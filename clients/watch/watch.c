// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_watch - a watchdog over the time that tasks wait for a CPU
 *
 * A thread reads how long each dispatched task had waited; probe.c finds out
 * where tasks are still waiting.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "watch.h"

static char *pmu = "kdtl_sched";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source: kdtl_sched (default, names tasks) or kdtl_vpa");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU, a power of two (default 64)");

static unsigned int threshold_ms = 500;
module_param(threshold_ms, uint, 0444);
MODULE_PARM_DESC(threshold_ms, "longest wait that is not reported, in ms, 0: report none (default 500; by CPU in debugfs)");

static unsigned int period_ms = 100;
module_param(period_ms, uint, 0644);
MODULE_PARM_DESC(period_ms, "longest time between two looks, in ms (default 100)");

static struct kdtl_session *session;
static struct task_struct *thread;

static void watch_read(int cpu, const struct kdtl_aux_info *info)
{
	const struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	const u64 threshold = watch_threshold(w);
	const bool tasks = !strcmp(pmu, "kdtl_sched");
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;
	u64 wait;

	len = kdtl_aux_peek(session, cpu, &span);
	if (len <= 0)
		return;
	kdtl_for_each_entry(e, span, len) {
		wait = kdtl_ticks_to_ns(info, kdtl_entry_wait(e));
		/* A saturated wait may have been longer than any threshold. */
		if (threshold && (wait > threshold || kdtl_entry_wait_saturated(e)))
			watch_report_late(cpu, e, tasks, wait);
	}
	kdtl_aux_consume(session, cpu, len);
}

static int watch_thread(void *unused)
{
	struct kdtl_aux_info info;
	int cpu;

	/* A thread that watches for starvation must not starve itself. */
	sched_set_fifo(current);
	while (!kthread_should_stop()) {
		kdtl_wait(session, msecs_to_jiffies(READ_ONCE(period_ms)) ?: 1);
		for_each_possible_cpu(cpu) {
			if (kdtl_aux_info(session, cpu, &info))
				continue;
			watch_read(cpu, &info);
			/* Isolated CPUs are not in the session, and must not be disturbed. */
			if (info.online)
				watch_probe(cpu);
		}
	}
	return 0;
}

/* ---------------------------------------------------- from create to close */

static int watch_begin(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
	};
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_load(session, NULL);
	if (!err)
		err = kdtl_start(session);
	if (err)
		goto close;
	thread = kthread_run(watch_thread, NULL, "kdtl_watch");
	if (IS_ERR(thread)) {
		err = PTR_ERR(thread);
		goto close;
	}
	return 0;

close:
	kdtl_session_close(session);
	return err;
}

static void watch_end(void)
{
	kthread_stop(thread);
	kdtl_session_close(session);
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
	watch_show_init(session);
	return 0;
}

static void __exit watch_exit(void)
{
	watch_show_exit();
	watch_end();
	watch_probe_exit();
	watch_report_exit();
}

/* When built in, after the sources: those are device_initcalls. */
late_initcall(watch_init);
module_exit(watch_exit);

MODULE_DESCRIPTION("kdtl watchdog: reports tasks that wait too long for a CPU");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_SOFTDEP("pre: kdtl_sched kdtl_vpa");
