// SPDX-License-Identifier: GPL-2.0
/*
 * bench_waiting - what a kdtl_waiting() costs, by the numbers of tasks that sleep and that wait
 *
 * Under -icount there is one CPU, which a real-time task has meanwhile, so tasks that are woken
 * wait until this is over.
 */
#define pr_fmt(fmt) "bench_waiting: " fmt

#include <linux/err.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/timex.h>

#define BENCH_CALLS	5

static unsigned int tasks;
module_param(tasks, uint, 0444);
MODULE_PARM_DESC(tasks, "number of tasks to add (default 0)");

static unsigned int waiting;
module_param(waiting, uint, 0444);
MODULE_PARM_DESC(waiting, "number of added tasks that wait (default 0)");

static struct task_struct **bench_tasks;
static unsigned int bench_nr;

static int bench_thread(void *unused)
{
	return 0;
}

static void bench_told(const struct kdtl_waiting *w, void *told)
{
	++*(unsigned int *)told;
}

/* A thread that was never woken counts as asleep. */
static int bench_make(void)
{
	struct task_struct *t;

	bench_tasks = kvcalloc(tasks, sizeof(*bench_tasks), GFP_KERNEL);
	if (!bench_tasks)
		return -ENOMEM;
	for (; bench_nr < tasks; bench_nr++) {
		t = kthread_create(bench_thread, NULL, "bench_waiting");
		if (IS_ERR(t))
			return PTR_ERR(t);
		bench_tasks[bench_nr] = get_task_struct(t);
	}
	return 0;
}

static void bench_unmake(void)
{
	while (bench_nr) {
		kthread_stop(bench_tasks[--bench_nr]);
		put_task_struct(bench_tasks[bench_nr]);
	}
	kvfree(bench_tasks);
}

static int bench_measure(struct kdtl_session *s)
{
	u64 least = U64_MAX, t;
	unsigned int i, told;
	int err = 0;

	sched_set_fifo(current);
	for (i = 0; i < waiting && i < tasks; i++)
		wake_up_process(bench_tasks[i]);
	for (i = 0; i < BENCH_CALLS && !err; i++) {
		told = 0;
		t = get_cycles();
		err = kdtl_waiting(s, bench_told, &told);
		least = min(least, get_cycles() - t);
	}
	sched_set_normal(current, 0);
	if (!err)
		pr_info("waited %u, cycles %llu\n", told, least);
	return err;
}

static int __init bench_init(void)
{
	const struct kdtl_session_attr attr = {
		.pmu = "kdtl_sched", .flags = KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kdtl_session_open(&attr, NULL);
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	err = bench_make() ?: bench_measure(s);
	bench_unmake();
	kdtl_session_close(s);
	return err;
}

static void __exit bench_exit(void)
{
}

module_init(bench_init);
module_exit(bench_exit);

MODULE_DESCRIPTION("kdtl benchmark: who waits");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
