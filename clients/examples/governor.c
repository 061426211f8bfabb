// SPDX-License-Identifier: GPL-2.0
/*
 * A governor: the cpu.weight of a cgroup follows how long its tasks wait for a CPU
 *
 * Once a second it takes the 99th percentile of the waits in the cgroup and its descendants.  Above
 * the target it doubles the weight; below half the target it halves the weight, but never below the
 * initial weight, which it restores on unload.
 */
#define pr_fmt(fmt) "kdtl_governor: " fmt

#include <linux/fs.h>
#include <linux/kdtl_answers.h>
#include <linux/kdtl_hist.h>
#include <linux/ktime.h>
#include <linux/module.h>

static char *cgroup = "/";
module_param(cgroup, charp, 0444);
MODULE_PARM_DESC(cgroup, "path of the cgroup in the hierarchy, beginning at its root");

static char *mount = "/sys/fs/cgroup";
module_param(mount, charp, 0444);
MODULE_PARM_DESC(mount, "where the hierarchy is mounted (default /sys/fs/cgroup)");

static unsigned int target_us = 5000;
module_param(target_us, uint, 0644);
MODULE_PARM_DESC(target_us, "desired 99th percentile of waits, in us (default 5000)");

#define GOVERNOR_MAX	10000
#define GOVERNOR_PERIOD	NSEC_PER_SEC

static struct kdtl_session *session;
static struct kdtl_tasks *tasks;

/* While there is a session, only the reader's thread writes these. */
static struct kdtl_hist hist;
static unsigned int weight, weight_before;
static u64 since;

/* The cgroup's cpu.weight: init opens it, because kernel threads see no files since Linux 7.3. */
static struct file *file;

static int governor_read(unsigned int *value)
{
	char text[16] = "";
	loff_t pos = 0;
	ssize_t ret = kernel_read(file, text, sizeof(text) - 1, &pos);

	return ret < 0 ? ret : kstrtouint(strim(text), 10, value);
}

static int governor_write(unsigned int value)
{
	char text[16];
	const int len = snprintf(text, sizeof(text), "%u\n", value);
	loff_t pos = 0;
	const ssize_t ret = kernel_write(file, text, len, &pos);

	return min_t(ssize_t, ret, 0);
}

static int governor_find(void)
{
	char *path = kasprintf(GFP_KERNEL, "%s%s/cpu.weight", mount, cgroup);
	int err;

	file = path ? filp_open(path, O_RDWR, 0) : ERR_PTR(-ENOMEM);
	kfree(path);
	if (IS_ERR(file))
		return PTR_ERR(file);
	err = governor_read(&weight_before) ?: governor_write(weight_before);
	if (err)
		filp_close(file, NULL);
	return err;
}

static void governor_span(const struct kdtl_span *span, void *unused)
{
	const struct kdtl_entry *e;
	struct kdtl_task task;

	kdtl_span_for_each_entry(e, span)
		if (!kdtl_task_at(tasks, kdtl_entry_pid(e), kdtl_entry_time(e), &task) &&
		    kdtl_cgroup_within(tasks, task.cgroup, cgroup) == 1)
			kdtl_hist_add(&hist, kdtl_ticks_to_ns(span->info, kdtl_entry_wait(e)),
				      kdtl_entry_wait_saturated(e));
}

static unsigned int governor_round(struct kdtl_session *s, void *unused)
{
	const u64 now = ktime_get_ns(), target = (u64)target_us * NSEC_PER_USEC;
	unsigned int want = weight;
	bool or_longer;
	u64 p99;
	int err;

	if (now - since < GOVERNOR_PERIOD)
		return 0;
	p99 = kdtl_hist_quantile(&hist, 990, &or_longer);
	if (p99 > target)
		want = min(2 * weight, GOVERNOR_MAX);
	else if (p99 < target / 2)
		want = max(weight / 2, weight_before);
	if (want != weight) {
		err = governor_write(want);
		if (err)
			pr_warn_ratelimited("the weight of %s cannot be set: %d\n", cgroup, err);
		else
			pr_info("%s: of %llu waits p99 is %llu us: weight %u\n", cgroup,
				hist.waits.nr, div_u64(p99, NSEC_PER_USEC), want);
		weight = err ? weight : want;
	}
	hist = (struct kdtl_hist) { };
	since = now;
	return 0;
}

static int __init governor_init(void)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_sched" };
	const struct kdtl_reader reader = {
		.span = governor_span, .round = governor_round, .name = "kdtl_governor",
	};
	int err;

	if (!kdtl_path_valid(cgroup)) {
		pr_err("cgroup=%s: must be a path such as / or /web\n", cgroup);
		return -EINVAL;
	}
	err = governor_find();
	if (err) {
		pr_err("%s%s has no cpu.weight that can be set\n", mount, cgroup);
		return err;
	}
	weight = weight_before;
	tasks = kdtl_tasks_open();
	err = PTR_ERR_OR_ZERO(tasks);
	if (err)
		goto err_file;
	session = kdtl_session_open(&attr, &reader);
	err = PTR_ERR_OR_ZERO(session);
	if (err)
		goto err_tasks;
	return 0;

err_tasks:
	kdtl_tasks_close(tasks);
err_file:
	filp_close(file, NULL);
	return err;
}

static void __exit governor_exit(void)
{
	kdtl_session_close(session);
	kdtl_tasks_close(tasks);
	governor_write(weight_before);
	filp_close(file, NULL);
}

late_initcall(governor_init);
module_exit(governor_exit);

MODULE_DESCRIPTION("kdtl example: a cgroup's weight follows the waits of its tasks");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched");
