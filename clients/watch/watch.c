// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_watch - a watchdog over the time that tasks wait for a CPU
 *
 * The session's reader looks how long each dispatched task had waited; probe.c finds
 * out where tasks are still waiting.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/module.h>

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

static void watch_span(const struct kdtl_span *span, void *unused)
{
	const struct watch_cpu *w = per_cpu_ptr(&watch_cpus, span->cpu);
	const u64 threshold = watch_threshold(w);
	const struct kdtl_entry *e;
	u64 wait;

	kdtl_span_for_each_entry(e, span) {
		wait = kdtl_ticks_to_ns(span->info, kdtl_entry_wait(e));
		/* A saturated wait may have been longer than any threshold. */
		if (threshold && (wait > threshold || kdtl_entry_wait_saturated(e)))
			watch_report_late(span, e, wait, threshold);
	}
}

static unsigned int watch_round(struct kdtl_session *s, void *unused)
{
	struct kdtl_aux_info info;
	int cpu;

	kdtl_for_each_cpu(cpu, s) {
		/* Isolated CPUs are not logged, and must not be disturbed. */
		if (!kdtl_aux_info(s, cpu, &info) && info.online)
			watch_probe(cpu);
	}
	watch_report_round();
	return READ_ONCE(period_ms);
}

/* Each dispatch that is logged is late on some CPU, so it wakes the reader. */
static struct kdtl_session *watch_open(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
		.min_wait	= watch_min_wait(),
		.watermark	= sizeof(struct kdtl_entry),
	};
	const struct kdtl_reader reader = {
		.span		= watch_span,
		.round		= watch_round,
		.name		= "kdtl_watch",
		/* A thread that watches for starvation must not starve itself. */
		.fifo		= true,
	};

	return kdtl_session_open(&attr, &reader);
}

static struct kdtl_session *session;

static int __init watch_init(void)
{
	int cpu, err;

	for_each_possible_cpu(cpu)
		per_cpu_ptr(&watch_cpus, cpu)->threshold_ms = threshold_ms;
	watch_probe_init();
	err = watch_report_init();
	if (err)
		return err;
	/* Before the thread, which asks for what it keeps. */
	err = watch_behind_init(pmu, aux_pages);
	if (!err) {
		session = watch_open();
		err = PTR_ERR_OR_ZERO(session);
	}
	if (err) {
		pr_err("no session of %s (%d)\n", pmu, err);
		watch_behind_exit();
		watch_report_exit();
		return err;
	}
	watch_show_init(session);
	return 0;
}

static void __exit watch_exit(void)
{
	watch_show_exit();
	kdtl_session_close(session);
	watch_behind_exit();
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
