// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_sampler - dispatches and waits per CPU, counted by the session's reader
 *
 * The example client: copy it.  This file opens the session and reads it; waits.c asks it who waits
 * now, and stolen.c has a second one.  stats.c, windows.c, cgroups.c and causes.c count, show.c,
 * show_pressure.c and metrics.c print, and triggers.c reports waits that are too long.
 */
#define pr_fmt(fmt) "kdtl_sampler: " fmt

#include <linux/debugfs.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "causes.h"
#include "sampler.h"
#include "triggers.h"

static char *pmu;
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source: kdtl_sched, kdtl_steal or kdtl_vpa (default: the best there is)");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU, a power of two (default 64)");

/* Refuse 0: returned by sampler_round(), it would mean the default. */
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

static struct sampler sampler = {
	.lock = __MUTEX_INITIALIZER(sampler.lock),
	.share = 100,
};

static int share_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, 100);
}

static const struct kernel_param_ops share_ops = {
	.set = share_set,
	.get = param_get_uint,
};

module_param_cb(share, &share_ops, &sampler.share, 0444);
MODULE_PARM_DESC(share, "percentage of the time in which dispatches are logged, and not only counted (1 to 100, default 100)");

/* ---------------------------------------------------- from open to close */

/* Count from now on. */
static void sampler_reset(void)
{
	mutex_lock(&sampler.lock);
	stats_reset(&sampler);
	windows_reset();
	cgroups_reset();
	waits_reset();
	told_reset();
	mutex_unlock(&sampler.lock);
}

/* What an entry says about its runner's wait. */
static struct sampler_wait sampler_wait(const struct kdtl_aux_info *info,
					const struct kdtl_entry *e)
{
	const u64 ns = kdtl_ticks_to_ns(info, kdtl_entry_wait(e));

	return (struct sampler_wait) {
		.time		= kdtl_ticks_to_ns(info, kdtl_entry_time(e)),
		.known		= kdtl_entry_has_wait(e),
		.ns		= ns,
		.bucket		= kdtl_hist_bucket(ns),
		.saturated	= kdtl_entry_wait_saturated(e),
		.throttled	= kdtl_entry_is_throttled(e),
		.held		= kdtl_ticks_to_ns(info, kdtl_entry_throttled(e)),
		.held_saturated	= kdtl_entry_throttled(e) == KDTL_TIME_MAX,
	};
}

/* Count a CPU's new entries, in place. */
static void sampler_span(const struct kdtl_span *span, void *unused)
{
	struct sampler_stats *st = per_cpu_ptr(sampler.stats, span->cpu);
	const struct kdtl_entry *e;
	struct sampler_cgroup *cgroup;
	struct sampler_wait wait;

	mutex_lock(&sampler.lock);
	stolen_forget();
	if (span->lost)
		causes_lost(span->cpu, span->lost);
	causes_moved(span->cpu, span->info);
	kdtl_span_for_each_entry(e, span) {
		waits_count(span->cpu, kdtl_entry_time(e));
		if (kdtl_entry_is_idle(e)) {
			causes_add(span, e, NULL);
			continue;
		}
		wait = sampler_wait(span->info, e);
		stats_add(st, &wait);
		windows_add_cpu(span->cpu, &wait);
		cgroup = cgroups_add(e, &wait);
		/* With a share below 100, entries that say who had the CPU are missing. */
		if (cgroup && sampler.share == 100)
			causes_add(span, e, cgroup);
	}
	mutex_unlock(&sampler.lock);
}

/* Once a round: averages may be due, and @period_ms may have been changed. */
static unsigned int sampler_round(struct kdtl_session *s, void *unused)
{
	unsigned int next;

	mutex_lock(&sampler.lock);
	waits_round(s);
	causes_average();
	next = triggers_look();
	mutex_unlock(&sampler.lock);
	return min(next, READ_ONCE(period_ms));
}

/* Count what was logged until now, and the waits that still go on. */
static void sampler_look(void)
{
	waits_want();
	kdtl_flush(sampler.session);
	/* The second round counts the waits that the first one was told of. */
	kdtl_flush(sampler.session);
}

/*
 * Log for a share of each second and only count for the rest: event set 0 logs, event
 * set 1 counts.
 */
static int sampler_share(struct kdtl_session *s)
{
	const u64 logged = sampler.share * (NSEC_PER_SEC / 100);
	struct kdtl_evtset sets[] = {
		{ .id = 0, .timeout = logged },
		{ .id = 1, .timeout = NSEC_PER_SEC - logged },
	};
	struct kdtl_config count = { .set = 1, .min_wait = U64_MAX };
	int err;

	/* Event sets can only be created before the load. */
	err = kdtl_unload(s);
	if (!err)
		err = kdtl_create_evtsets(s, sets, ARRAY_SIZE(sets));
	if (!err)
		err = kdtl_write_config(s, &count, 1);
	if (!err)
		err = kdtl_load(s, NULL);
	if (!err)
		err = kdtl_start(s);
	return err;
}

/* Set up the counts by cgroup, if they are wanted and entries name tasks, and the share. */
static int sampler_choose(struct kdtl_session *s)
{
	static const struct cgroups_ops ops = {
		.begin	= causes_begin,
		.new	= causes_new,
		.forget	= causes_forget,
	};
	struct kdtl_aux_info info;
	int err;

	err = kdtl_aux_info(s, -1, &info);
	if (!err && info.tasks && cgroups_max)
		err = cgroups_begin(&sampler.lock, &ops);
	if (!err && sampler.share < 100)
		err = sampler_share(s);
	return err;
}

static int sampler_begin(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
		/* Idle times too, so that no cgroup is blamed for them. */
		.mask		= KDTL_MASK_ALL |
				  (cgroups_max && sampler.share == 100 ? KDTL_MASK_IDLE : 0),
	};
	const struct kdtl_reader reader = {
		.span		= sampler_span,
		.round		= sampler_round,
		.name		= "kdtl_sampler",
	};
	int err;

	sampler_reset();
	sampler.session = kdtl_session_open(&attr, &reader);
	if (IS_ERR(sampler.session))
		return PTR_ERR(sampler.session);
	err = sampler_choose(sampler.session);
	if (err) {
		kdtl_session_close(sampler.session);
		return err;
	}
	/* Forget what was logged before the session was set up completely. */
	kdtl_flush(sampler.session);
	sampler_reset();
	/* With a share below 100 the causes of waits are not known. */
	if (cgroups_tasks && sampler.share == 100) {
		err = waits_begin(&sampler.lock);
		if (!err)
			err = triggers_begin(sampler_look);
	}
	if (err)
		kdtl_session_close(sampler.session);
	return err;
}

/* ------------------------------------------- what it counts, in debugfs */

static const struct sampler_view {
	const char	*name;
	void		(*show)(struct seq_file *m, struct sampler *s,
				struct sampler_rows *r);
} views[] = {
	{ "table",	show_table },		/* for people */
	{ "windows",	show_windows },
	{ "cgroups",	show_cgroups },
	{ "pressure",	show_pressure },
	{ "lines",	show_lines },		/* for programs */
	{ "histogram",	show_histogram },
	{ "metrics",	show_metrics },		/* for Prometheus */
};

static struct dentry *sampler_dir;
static bool sampler_running = true;

static int view_print(struct seq_file *m,
		      void (*show)(struct seq_file *m, struct sampler *s, struct sampler_rows *r))
{
	struct sampler_rows *rows;

	rows = kvzalloc(sizeof(*rows), GFP_KERNEL);
	if (!rows)
		return -ENOMEM;
	sampler_look();
	mutex_lock(&sampler.lock);
	causes_settle();
	show(m, &sampler, rows);
	mutex_unlock(&sampler.lock);
	kvfree(rows);
	return 0;
}

static int view_show(struct seq_file *m, void *unused)
{
	const struct sampler_view *view = m->private;

	return view_print(m, view->show);
}
DEFINE_SHOW_ATTRIBUTE(view);

/* Reads of the file "trigger"; its other operations are in triggers.c. */
static int trigger_show(struct seq_file *m, void *unused)
{
	return view_print(m, show_pressure);
}

static int reset_set(void *unused, u64 val)
{
	sampler_look();
	sampler_reset();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static int running_get(void *unused, u64 *val)
{
	*val = READ_ONCE(sampler_running);
	return 0;
}

static int running_set(void *unused, u64 val)
{
	/* With two writers at once, sampler_running must still match the session. */
	static DEFINE_MUTEX(running_lock);
	int err;

	mutex_lock(&running_lock);
	err = val ? kdtl_start(sampler.session) : kdtl_stop(sampler.session);
	if (!err)
		WRITE_ONCE(sampler_running, val);
	mutex_unlock(&running_lock);
	return err;
}
DEFINE_DEBUGFS_ATTRIBUTE(running_fops, running_get, running_set, "%llu\n");

static void sampler_debugfs(void)
{
	unsigned int i;

	sampler_dir = debugfs_create_dir("kdtl_sampler", NULL);
	for (i = 0; i < ARRAY_SIZE(views); i++)
		debugfs_create_file(views[i].name, 0400, sampler_dir,
				    (void *)&views[i], &view_fops);
	debugfs_create_file("trigger", 0600, sampler_dir, (void *)trigger_show, &triggers_fops);
	debugfs_create_file("reset", 0200, sampler_dir, NULL, &reset_fops);
	debugfs_create_file("running", 0600, sampler_dir, NULL, &running_fops);
}

/* ------------------------------------------------------------- the module */

static void sampler_free(void)
{
	cgroups_end();
	waits_end();
	causes_end();
	stolen_end();
	windows_reset();
	free_percpu(sampler.stats);
}

static int __init sampler_init(void)
{
	int err;

	sampler.stats = alloc_percpu(struct sampler_stats);
	if (!sampler.stats)
		return -ENOMEM;
	err = stolen_begin(&sampler, &pmu, aux_pages);
	if (err)
		goto err_free;
	err = sampler_begin();
	if (err) {
		pr_err("no session (%d)\n", err);
		goto err_free;
	}
	sampler_debugfs();
	return 0;

err_free:
	sampler_free();
	return err;
}

static void __exit sampler_exit(void)
{
	debugfs_remove(sampler_dir);
	triggers_end();
	kdtl_session_close(sampler.session);
	sampler_free();
}

/* When built in, this must come after the sources, which are device_initcalls. */
late_initcall(sampler_init);
module_exit(sampler_exit);

MODULE_DESCRIPTION("kdtl example client: dispatches and waits per CPU");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched kdtl_vpa kdtl_steal");
