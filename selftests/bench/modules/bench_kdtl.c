// SPDX-License-Identifier: GPL-2.0
/*
 * bench_kdtl - so many sessions, without a reader
 *
 * Loading it creates and starts them, unloading closes them; both say in the
 * log what it cost, and unloading what was lost.
 */
#define pr_fmt(fmt) "bench_kdtl: " fmt

#include <linux/kdtl.h>
#include <linux/ktime.h>
#include <linux/module.h>

#define BENCH_MAX_SESSIONS	32

static unsigned int sessions = 1;
module_param(sessions, uint, 0444);
MODULE_PARM_DESC(sessions, "how many (default 1)");

static unsigned int aux_pages = 1024;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "per CPU and session, a power of two (default 1024)");

static char *pmu = "kdtl_sched";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "the source (default kdtl_sched)");

static unsigned long period;
module_param(period, ulong, 0444);
MODULE_PARM_DESC(period, "in ns, see struct kdtl_config (default 0)");

static bool overwrite;
module_param(overwrite, bool, 0444);
MODULE_PARM_DESC(overwrite, "sessions keep the newest entries");

static struct kdtl_session *bench_sessions[BENCH_MAX_SESSIONS];

static void bench_close(void)
{
	while (sessions--)
		kdtl_session_close(bench_sessions[sessions]);
}

/* Its own watermark is never reached: no wake-up is part of the figures. */
static struct kdtl_session *bench_open(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
		.watermark	= aux_pages << PAGE_SHIFT,
		.period		= period,
		.flags		= overwrite ? KDTL_SESSION_OVERWRITE : 0,
	};
	struct kdtl_session *s;
	int err;

	s = kdtl_session_create(&attr);
	if (IS_ERR(s))
		return s;
	err = kdtl_load(s, NULL);
	if (!err)
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
	return 0;
}

static void __exit bench_kdtl_exit(void)
{
	struct kdtl_aux_info info;
	u64 produced = 0, lost = 0, before, took;
	unsigned int i, nr = sessions;
	int cpu;

	/* A source that is polled hands out the rest. */
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
