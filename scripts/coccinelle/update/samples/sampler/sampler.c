// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_sampler - dispatches and waits per CPU, by a kernel thread
 *
 * The example client: copy it.  All that it takes to be one stands between
 * the two rulers; the rest is counting (stats.c) and showing (show.c).
 */
#define pr_fmt(fmt) "kdtl_sampler: " fmt

#include <linux/cpu.h>
#include <linux/jiffies.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/timekeeping.h>

#include "sampler.h"

static char *pmu;
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source: kdtl_sched or kdtl_vpa (default: the best there is)");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU, a power of two (default 64)");

/* Not 0: the thread would only look and never sleep. */
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

struct sampler sampler = {
	.lock = __MUTEX_INITIALIZER(sampler.lock),
};

/* -------------------------------------------------- from create to close */

static struct task_struct *thread;
static DECLARE_COMPLETION(wake);

/* Read what is new of one CPU, in place, and give it back. */
static void sampler_drain_cpu(int cpu, const struct kdtl_aux_info *info)
{
	struct sampler_stats *st = per_cpu_ptr(sampler.stats, cpu);
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;

	len = kdtl_aux_peek(sampler.session, cpu, &span);
	if (len <= 0)
		return;
	kdtl_for_each_entry(e, span, len)
		stats_add(st, kdtl_ticks_to_ns(info, kdtl_entry_wait(e)));
	kdtl_aux_consume(sampler.session, cpu, len);
}

static int sampler_thread(void *unused)
{
	while (!kthread_should_stop()) {
		kdtl_wait(sampler.session, msecs_to_jiffies(READ_ONCE(period_ms)));
		sampler_drain();
	}
	return 0;
}

static int sampler_begin(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
		.done		= &wake,
	};
	int err;

	sampler.session = kdtl_session_create(&attr);
	if (IS_ERR(sampler.session))
		return PTR_ERR(sampler.session);

	err = kdtl_load(sampler.session, NULL);
	if (!err)
		err = kdtl_start(sampler.session);
	if (err)
		goto close;

	thread = kthread_run(sampler_thread, NULL, "kdtl_sampler");
	if (IS_ERR(thread)) {
		err = PTR_ERR(thread);
		goto close;
	}
	return 0;

close:
	kdtl_session_close(sampler.session);
	return err;
}

static void sampler_end(void)
{
	kthread_stop(thread);
	kdtl_session_close(sampler.session);
}

/* ------------------------------------------------------------------------ */

/**
 * sampler_drain() - count what is new on every CPU
 */
void sampler_drain(void)
{
	struct kdtl_aux_info info;
	int cpu;

	mutex_lock(&sampler.lock);
	for_each_cpu(cpu, sampler.cpus) {
		if (!kdtl_aux_info(sampler.session, cpu, &info) && info.unread)
			sampler_drain_cpu(cpu, &info);
	}
	mutex_unlock(&sampler.lock);
}

/**
 * sampler_look() - everything about one CPU at this moment
 * @cpu: whose
 * @row: filled in
 *
 * Context: under sampler.lock.
 * Return: false if the CPU is offline and always was.
 */
bool sampler_look(int cpu, struct sampler_row *row)
{
	lockdep_assert_held(&sampler.lock);
	row->stats = *per_cpu_ptr(sampler.stats, cpu);
	kdtl_aux_info(sampler.session, cpu, &row->info);
	row->stats.lost = row->info.lost - row->stats.lost;
	row->stats.steal = kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL] - row->stats.steal;
	return row->info.online || row->info.produced;
}

static void sampler_zero(int cpu, u64 lost)
{
	struct sampler_stats *st = per_cpu_ptr(sampler.stats, cpu);

	memset(st, 0, sizeof(*st));
	st->steal = kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL];
	st->lost = lost;
}

/**
 * sampler_reset() - count from now on
 */
void sampler_reset(void)
{
	struct kdtl_aux_info info;
	int cpu;

	sampler_drain();
	mutex_lock(&sampler.lock);
	for_each_cpu(cpu, sampler.cpus) {
		if (!kdtl_aux_info(sampler.session, cpu, &info))
			sampler_zero(cpu, info.lost);
	}
	sampler.since = ktime_get_boottime_ns();
	mutex_unlock(&sampler.lock);
}

/**
 * sampler_set_running() - stop, or go on
 * @on: which
 *
 * Return: 0 or an errno. Stopped, everything that was logged is counted.
 */
int sampler_set_running(bool on)
{
	/* Of two who ask at once, the session and the file say the same. */
	static DEFINE_MUTEX(lock);
	int err;

	mutex_lock(&lock);
	err = on ? kdtl_start(sampler.session) : kdtl_stop(sampler.session);
	if (!err) {
		sampler_drain();
		WRITE_ONCE(sampler.running, on);
	}
	mutex_unlock(&lock);
	return err;
}

static int __init sampler_init(void)
{
	int cpu, err;

	sampler.cpus = cpu_possible_mask;
	sampler.stats = alloc_percpu(struct sampler_stats);
	if (!sampler.stats)
		return -ENOMEM;
	for_each_cpu(cpu, sampler.cpus)
		sampler_zero(cpu, 0);
	sampler.since = ktime_get_boottime_ns();

	err = sampler_begin();
	if (err) {
		pr_err("no session (%d)\n", err);
		free_percpu(sampler.stats);
		return err;
	}
	sampler.running = true;
	sampler_show_init();
	return 0;
}

static void __exit sampler_exit(void)
{
	sampler_show_exit();
	sampler_end();
	free_percpu(sampler.stats);
}

/* After the sources, when built in: they are device_initcalls. */
late_initcall(sampler_init);
module_exit(sampler_exit);

MODULE_DESCRIPTION("kdtl example client: dispatches and waits per CPU");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_SOFTDEP("pre: kdtl_sched kdtl_vpa");
