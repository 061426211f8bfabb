// SPDX-License-Identifier: GPL-2.0
/*
 * bench_kdtl - a number of sessions, without a reader or with one
 *
 * Loading the module creates and starts them, unloading it closes them; both log what that cost,
 * and unloading also logs what was lost.
 */
#define pr_fmt(fmt) "bench_kdtl: " fmt

#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>

#define BENCH_MAX_SESSIONS	32

static unsigned int sessions = 1;
module_param(sessions, uint, 0444);
MODULE_PARM_DESC(sessions, "number of sessions (default 1)");

static unsigned int aux_pages = 1024;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "AUX pages of each CPU and session, a power of two (default 1024)");

static char *pmu = "kdtl_sched";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "name of the source (default kdtl_sched)");

static unsigned int mask;
module_param(mask, uint, 0444);
MODULE_PARM_DESC(mask, "mask of the sessions, KDTL_MASK_* (default 0: all)");

static bool stopped;
module_param(stopped, bool, 0444);
MODULE_PARM_DESC(stopped, "load the sessions, but do not start them");

static bool reading;
module_param(reading, bool, 0444);
MODULE_PARM_DESC(reading, "read the first session whenever it has reached its watermark");

static bool overwrite;
module_param(overwrite, bool, 0444);
MODULE_PARM_DESC(overwrite, "let the sessions overwrite old entries");

static struct kdtl_session *bench_sessions[BENCH_MAX_SESSIONS];

static struct task_struct *bench_reader;
static u64 bench_sum;	/* makes use of what is read */

static void bench_read(struct kdtl_session *s)
{
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;
	int cpu;

	for_each_online_cpu(cpu) {
		while ((len = kdtl_aux_peek(s, cpu, &span)) > 0) {
			kdtl_for_each_entry(e, span, len)
				bench_sum += kdtl_entry_time(e) + kdtl_entry_wait(e) +
					     kdtl_entry_pid(e) + be64_to_cpu(e->srr0) +
					     be64_to_cpu(e->srr1);
			kdtl_aux_consume(s, cpu, len);
		}
	}
}

/* kdtl_stop() and a close wake this thread. */
static int bench_reader_fn(void *arg)
{
	while (!kthread_should_stop()) {
		kdtl_wait(arg, HZ);
		bench_read(arg);
	}
	return 0;
}

static int bench_reader_start(void)
{
	struct task_struct *task;

	task = kthread_run(bench_reader_fn, bench_sessions[0], "bench_kdtl");
	if (IS_ERR(task))
		return PTR_ERR(task);
	bench_reader = task;
	return 0;
}

static void bench_close(void)
{
	while (sessions--)
		kdtl_session_close(bench_sessions[sessions]);
}

/* Without a reader the watermark is never reached, so no wake-up is in the figures. */
static struct kdtl_session *bench_open(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
		.mask		= mask,
		.watermark	= reading ? 0 : aux_pages << PAGE_SHIFT,
		.flags		= overwrite ? KDTL_SESSION_OVERWRITE : 0,
	};
	struct kdtl_session *s;
	int err;

	s = kdtl_session_create(&attr);
	if (IS_ERR(s))
		return s;
	err = kdtl_load(s, NULL);
	if (!err && !stopped)
		err = kdtl_start(s);
	if (!err)
		return s;
	kdtl_session_close(s);
	return ERR_PTR(err);
}

static int __init bench_kdtl_init(void)
{
	const unsigned int wanted = sessions;
	const u64 before = ktime_get_ns();
	struct kdtl_session *s;
	int err;

	if (!sessions || sessions > BENCH_MAX_SESSIONS) {
		pr_err("sessions=%u: must be 1 to %d\n", sessions, BENCH_MAX_SESSIONS);
		return -EINVAL;
	}
	for (sessions = 0; sessions < wanted; sessions++) {
		s = bench_open();
		if (IS_ERR(s)) {
			pr_err("session %u: %pe\n", sessions, s);
			bench_close();
			return PTR_ERR(s);
		}
		bench_sessions[sessions] = s;
	}
	pr_info("open_ns %llu\n", div_u64(ktime_get_ns() - before, wanted));
	err = reading ? bench_reader_start() : 0;
	if (err)
		bench_close();
	return err;
}

static void __exit bench_kdtl_exit(void)
{
	struct kdtl_aux_info info;
	u64 produced = 0, lost = 0, before, took;
	unsigned int i, nr = sessions;
	int cpu;

	if (bench_reader)
		kthread_stop(bench_reader);
	/* A source that is polled hands out the rest here. */
	before = ktime_get_ns();
	for (i = 0; i < nr; i++)
		kdtl_stop(bench_sessions[i]);
	took = ktime_get_ns() - before;
	for (i = 0; i < nr; i++) {
		for_each_possible_cpu(cpu) {
			if (kdtl_aux_info(bench_sessions[i], cpu, &info))
				continue;
			produced += info.produced;
			lost += info.lost;
		}
	}
	before = ktime_get_ns();
	bench_close();
	took += ktime_get_ns() - before;
	pr_info("close_ns %llu\n", div_u64(took, nr));
	pr_info("produced %llu lost %llu\n", produced, lost);
}

module_init(bench_kdtl_init);
module_exit(bench_kdtl_exit);

MODULE_DESCRIPTION("Benchmark: sessions of kdtl without a reader");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
