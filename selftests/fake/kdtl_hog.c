// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_hog - occupy a CPU for a while
 *
 * By default a thread called kdtl_hog occupies it.  With inline_softirq=1 a softirq that interrupts
 * the thread does, and with irq=1 an interrupt of the idle CPU that has woken the thread.  With
 * work=1 a work item keeps only the CPU's other work items waiting.
 */
#define pr_fmt(fmt) "kdtl_hog: " fmt

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/task.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

static unsigned int cpu;
module_param(cpu, uint, 0444);
MODULE_PARM_DESC(cpu, "CPU that is held (default 0)");

static unsigned int ms = 1000;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "time in ms for which it is held (default 1000)");

static bool irq;
module_param(irq, bool, 0444);
MODULE_PARM_DESC(irq, "hold it in an interrupt of the idle CPU, before the module's init ends (default 0)");

static bool softirq;
module_param(softirq, bool, 0444);
MODULE_PARM_DESC(softirq, "let only real-time tasks take the CPU away, and leave a softirq to ksoftirqd; before v6.4 all softirqs wait for that (default 0)");

static bool inline_softirq;
module_param(inline_softirq, bool, 0444);
MODULE_PARM_DESC(inline_softirq, "hold it in a tasklet that interrupts the thread (default 0)");

static bool work;
module_param(work, bool, 0444);
MODULE_PARM_DESC(work, "hold it in a work item of normal priority; before v6.5 the CPU's other work items have to wait for it (default 0)");

static bool done;
module_param(done, bool, 0444);
MODULE_PARM_DESC(done, "shows whether the CPU is free again");

static unsigned int own_ms;
module_param(own_ms, uint, 0444);
MODULE_PARM_DESC(own_ms, "shows for how long irq or inline_softirq held the CPU, by the CPU's own clock");

static struct task_struct *thread;
static bool stop;

static void hog_spin(void)
{
	const ktime_t end = ktime_add_ms(ktime_get(), ms);

	while (ktime_before(ktime_get(), end) && !READ_ONCE(stop)) {
		if (softirq || work)
			cond_resched();
		cpu_relax();
	}
}

static void hog_nothing(struct tasklet_struct *unused)
{
}

static DECLARE_TASKLET(tasklet, hog_nothing);

static void hog_tell(u64 from)
{
	own_ms = div_u64(local_clock() - from, NSEC_PER_MSEC);
}

static bool spun;

/* If ksoftirqd runs this, the thread is not interrupted. */
static void hog_in_softirq(struct tasklet_struct *unused)
{
	if (current != thread)
		return;
	hog_spin();
	spun = true;
}

static DECLARE_TASKLET(spinning, hog_in_softirq);

/*
 * The clock is read outside of the softirq: if the host stops the machine as the softirq begins or
 * ends, that time is in @own_ms, too, and no source may tell of more.
 */
static void hog_interrupted(void)
{
	u64 from;

	while (!READ_ONCE(spun) && !READ_ONCE(stop)) {
		from = local_clock();
		local_bh_disable();
		tasklet_schedule(&spinning);
		local_bh_enable();
		hog_tell(from);
		cond_resched();
	}
}

static void hog_over(void)
{
	pr_info("CPU %u: %u ms are over\n", cpu, ms);
	WRITE_ONCE(done, true);
}

static void hog_as_work(struct work_struct *unused)
{
	hog_spin();
	hog_over();
}

static DECLARE_WORK(hog_work, hog_as_work);

static int hog(void *unused)
{
	if (softirq) {
		sched_set_fifo_low(current);
		tasklet_schedule(&tasklet);
	} else {
		sched_set_fifo(current);
	}
	if (inline_softirq)
		hog_interrupted();
	else if (!irq)
		hog_spin();
	hog_over();
	sched_set_normal(current, 0);
	return 0;
}

/* The thread is in the queue of an idle CPU, but does not get the CPU before this returns. */
static void hog_irq(void *was_idle)
{
	u64 from;

	if (!is_idle_task(current))
		return;
	*(bool *)was_idle = true;
	wake_up_process(thread);
	from = local_clock();
	hog_spin();
	hog_tell(from);
}

/* The CPU may be busy when the interrupt comes, but it becomes idle again. */
static void hog_when_idle(void)
{
	bool was_idle = false;

	while (!was_idle) {
		smp_call_function_single(cpu, hog_irq, &was_idle, true);
		usleep_range(1000, 2000);
	}
}

static int __init hog_init(void)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu)) {
		pr_err("cpu=%u: must be online\n", cpu);
		return -EINVAL;
	}
	if (work) {
		schedule_work_on(cpu, &hog_work);
		return 0;
	}
	thread = kthread_create(hog, NULL, "kdtl_hog");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	/* The thread ends when it has had the CPU, but kthread_stop() still needs its task. */
	get_task_struct(thread);
	kthread_bind(thread, cpu);
	if (irq)
		hog_when_idle();
	else
		wake_up_process(thread);
	return 0;
}

static void __exit hog_exit(void)
{
	WRITE_ONCE(stop, true);
	cancel_work_sync(&hog_work);
	if (thread) {
		kthread_stop(thread);
		put_task_struct(thread);
	}
	tasklet_kill(&tasklet);
	tasklet_kill(&spinning);
}

module_init(hog_init);
module_exit(hog_exit);

MODULE_DESCRIPTION("kdtl test: starve a CPU");
MODULE_LICENSE("GPL");
