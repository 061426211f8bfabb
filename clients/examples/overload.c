// SPDX-License-Identifier: GPL-2.0
/*
 * An alarm for overloaded CPUs, raised when a counter of waiting times overflows
 *
 * The session only counts.  A CPU that overflows is paused, so it raises at most one
 * alarm in each pause_ms.
 */
#define pr_fmt(fmt) "kdtl_overload: " fmt

#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

static unsigned int wait_ms = 1000;
module_param(wait_ms, uint, 0444);
MODULE_PARM_DESC(wait_ms, "sum of all waits for a CPU after which there is an alarm, in ms (default 1000)");

static unsigned int pause_ms = 1000;
module_param(pause_ms, uint, 0644);
MODULE_PARM_DESC(pause_ms, "time after an alarm in which nothing is counted, in ms (default 1000)");

static struct kdtl_session *session;
static struct task_struct *thread;
static DEFINE_PER_CPU(u64, counts_since);

/* Sleep for @ms, but not if the module is being removed. */
static void overload_sleep(unsigned int ms)
{
	set_current_state(TASK_INTERRUPTIBLE);
	if (!kthread_should_stop())
		schedule_timeout(msecs_to_jiffies(ms));
	__set_current_state(TASK_RUNNING);
}

static int overload_thread(void *unused)
{
	u64 restarted = local_clock();
	struct kdtl_msg msg;
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(counts_since, cpu) = restarted;
	while (!kthread_should_stop()) {
		if (kdtl_read(session, &msg, sizeof(msg), false) <= 0 ||
		    msg.type != KDTL_MSG_OVERFLOW)
			continue;
		pr_warn("CPU %d: tasks waited for %u ms in %llu ms\n", msg.cpu, wait_ms,
			div_u64(msg.time - per_cpu(counts_since, msg.cpu), NSEC_PER_MSEC));
		/* If it is older than the last restart, that has restarted this CPU already. */
		if ((s64)(msg.time - restarted) >= 0) {
			overload_sleep(READ_ONCE(pause_ms));
			restarted = local_clock();
			kdtl_restart(session);
		}
		per_cpu(counts_since, msg.cpu) = restarted;
	}
	return 0;
}

static int overload_begin(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_sched",
		.msg_pages	= 1,
		.msg_types	= 1 << KDTL_MSG_OVERFLOW,
		.flags		= KDTL_SESSION_NO_AUX | KDTL_SESSION_PAUSE,
	};
	const u64 threshold = -(u64)wait_ms * NSEC_PER_MSEC;
	struct kdtl_counter_req req = {
		.counter	= KDTL_CTR_QUEUED,	/* kdtl_sched's ticks are ns */
		.value		= threshold,
		.long_reset	= threshold,
		.flags		= KDTL_COUNTER_NOTIFY,
	};
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = kdtl_write_counters(session, &req, 1);
	if (!err)
		err = kdtl_load(session, NULL);
	if (!err)
		err = kdtl_start(session);
	if (err)
		kdtl_session_close(session);
	return err;
}

static int __init overload_init(void)
{
	int err;

	if (!wait_ms) {
		pr_err("wait_ms=0: must be above 0\n");
		return -EINVAL;
	}
	err = overload_begin();
	if (err)
		return err;
	thread = kthread_run(overload_thread, NULL, "kdtl_overload");
	if (IS_ERR(thread))
		kdtl_session_close(session);
	return PTR_ERR_OR_ZERO(thread);
}

static void __exit overload_exit(void)
{
	kthread_stop(thread);
	kdtl_session_close(session);
}

late_initcall(overload_init);
module_exit(overload_exit);

MODULE_DESCRIPTION("kdtl example: an alarm when tasks wait too much for a CPU");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched");
