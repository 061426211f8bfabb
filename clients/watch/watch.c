// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_watch - a watchdog over the time that tasks wait for a CPU
 *
 * The session's reader checks how long each dispatched task had waited; probe.c finds
 * out where tasks are still waiting.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/kdtl_counters.h>
#include <linux/module.h>

#include "watch.h"

static char *pmu = "kdtl_sched";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source: kdtl_sched (default, names tasks), kdtl_steal or kdtl_vpa");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU, a power of two (default 64)");

static unsigned int threshold_ms = 500;
module_param(threshold_ms, uint, 0444);
MODULE_PARM_DESC(threshold_ms, "a wait that is longer than this is reported, in ms; 0: report none (default 500; by CPU, cgroup and priority in debugfs)");

/* Refuse 0, which would mean the default, and the largest numbers, which would mean forever. */
static int period_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, 3600 * MSEC_PER_SEC);
}

static const struct kernel_param_ops period_ops = {
	.set = period_set,
	.get = param_get_uint,
};

static unsigned int period_ms = 100;
module_param_cb(period_ms, &period_ops, &period_ms, 0644);
MODULE_PARM_DESC(period_ms, "longest time between two looks, in ms (1 to 3600000, default 100)");

/* A saturated wait may have been longer than any threshold. */
static void watch_late(const struct kdtl_span *span, const struct kdtl_entry *e, bool throttled,
		       u64 threshold)
{
	const u64 wait = kdtl_ticks_to_ns(span->info, throttled ? kdtl_entry_throttled(e) :
						      kdtl_entry_wait(e));

	if (threshold && (wait > threshold || watch_is_saturated(e, throttled)))
		watch_report_late(span, e, throttled, wait, threshold);
}

/*
 * A task that a limit held back may have waited for a CPU after that, for at least
 * kdtl_entry_wait().
 */
static void watch_span(const struct kdtl_span *span, void *unused)
{
	const struct kdtl_entry *e;

	kdtl_span_for_each_entry(e, span) {
		if (kdtl_entry_is_throttled(e))
			watch_late(span, e, true, watch_rule_throttled());
		if (kdtl_entry_wait(e))
			watch_late(span, e, false, watch_threshold_of(kdtl_entry_pid(e),
								      kdtl_entry_time(e),
								      span->cpu));
	}
}

static unsigned int watch_round(struct kdtl_session *s, void *unused)
{
	struct kdtl_aux_info info;
	bool busy = false;
	int cpu;

	kdtl_for_each_cpu(cpu, s) {
		/* Isolated CPUs are not logged, and must not be disturbed. */
		if (!kdtl_aux_info(s, cpu, &info) && info.online)
			busy |= watch_probe(cpu);
	}
	watch_going(s, busy);
	watch_report_round();
	return READ_ONCE(period_ms);
}

/* Each logged dispatch exceeds some threshold, so each one wakes the reader. */
static struct kdtl_session *watch_open(void)
{
	const struct kdtl_config config = watch_rules_config();
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
		.mask		= config.mask,
		.min_wait	= config.min_wait,
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
	watch_stack_init();
	err = watch_report_init();
	if (err)
		return err;
	/* Before the session, whose reader asks for what this keeps. */
	err = watch_behind_init(pmu, aux_pages);
	if (err)
		goto err_report;
	session = watch_open();
	if (IS_ERR(session)) {
		err = PTR_ERR(session);
		pr_err("no session of %s (%d)\n", pmu, err);
		goto err_behind;
	}
	watch_show_init(session);
	return 0;

err_behind:
	watch_behind_exit();
err_report:
	watch_report_exit();
	return err;
}

static void __exit watch_exit(void)
{
	watch_show_exit();
	kdtl_session_close(session);
	watch_stack_exit();
	watch_behind_exit();
	watch_probe_exit();
	watch_report_exit();
	watch_rules_exit();
}

/* When built in, this must come after the sources, which are device_initcalls. */
late_initcall(watch_init);
module_exit(watch_exit);

MODULE_DESCRIPTION("kdtl watchdog: reports tasks that wait too long for a CPU");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched kdtl_vpa kdtl_steal kdtl_irq kdtl_wake");
