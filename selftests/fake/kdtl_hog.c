// SPDX-License-Identifier: GPL-2.0
/* kdtl_hog - occupy a CPU for a while, in a thread called kdtl_hog. */
#define pr_fmt(fmt) "kdtl_hog: " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/sched.h>

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "which (default 0)");

static unsigned int ms = 1000;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "how long (default 1000)");

static bool done;
module_param(done, bool, 0444);
MODULE_PARM_DESC(done, "shown: the CPU is everyone's again");

static struct task_struct *thread;

static int hog(void *unused)
{
	const ktime_t end = ktime_add_ms(ktime_get(), ms);

	sched_set_fifo(current);
	while (ktime_before(ktime_get(), end) && !kthread_should_stop())
		cpu_relax();
	pr_info("CPU %u: %u ms are over\n", cpu, ms);
	sched_set_normal(current, 0);
	WRITE_ONCE(done, true);
	while (!kthread_should_stop())
		msleep(20);
	return 0;
}

static int __init hog_init(void)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu)) {
		pr_err("cpu=%u: must be online\n", cpu);
		return -EINVAL;
	}
	thread = kthread_create(hog, NULL, "kdtl_hog");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	kthread_bind(thread, cpu);
	wake_up_process(thread);
	return 0;
}

static void __exit hog_exit(void)
{
	kthread_stop(thread);
}

module_init(hog_init);
module_exit(hog_exit);

MODULE_DESCRIPTION("kdtl test: starve a CPU");
MODULE_LICENSE("GPL");
