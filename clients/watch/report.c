// SPDX-License-Identifier: GPL-2.0
/*
 * Reporting waits that took too long
 *
 * Each one is counted and traced. A line in the log, a uevent and an alarm for
 * other clients (the recorder prints its table) come at a limited rate, see limit.c.
 */
#define pr_fmt(fmt) "kdtl_watch: " fmt

#include <linux/kobject.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/sched/clock.h>

#include "watch.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static bool uevent;
module_param(uevent, bool, 0644);
MODULE_PARM_DESC(uevent, "send a uevent as well (default 0)");

static unsigned int pause_s = 10;
module_param(pause_s, uint, 0444);
MODULE_PARM_DESC(pause_s, "shortest time between two uevents or alarms, unless the wait is worse, in s (default 10)");

/* Enough for a line with a task's name, whose bytes may take four characters each. */
#define REPORT_WHAT	128
#define REPORT_BEHIND	320

DEFINE_PER_CPU(struct watch_cpu, watch_cpus);

static struct watch_limit lines = { .name = "lines", .seconds = 5, .burst = 10 };

/* Who had to wait is known only when the wait is over, so that has an alarm of its own. */
static struct watch_limit alarms = { .name = "alarms", .burst = 1 };
static struct watch_limit stuck_alarms = { .name = "alarms of stuck CPUs", .burst = 1 };
static struct platform_device *device;	/* sends the uevents */

static void report_uevent(int cpu, u64 wait, bool saturated, const char *what,
			  const char *behind)
{
	char cpu_var[24], wait_var[40], what_var[REPORT_WHAT + REPORT_BEHIND + 16];
	char *env[] = { cpu_var, wait_var, what_var,
			saturated ? "KDTL_WAIT_SATURATED=1" : NULL, NULL };

	snprintf(cpu_var, sizeof(cpu_var), "KDTL_CPU=%d", cpu);
	snprintf(wait_var, sizeof(wait_var), "KDTL_WAIT_NS=%llu", wait);
	snprintf(what_var, sizeof(what_var), "KDTL_WATCH=%s%s", what, behind);
	kobject_uevent_env(&device->dev.kobj, KOBJ_CHANGE, env);
}

static void report(int cpu, u64 wait, bool saturated, struct watch_limit *limit,
		   const char *what, const char *behind)
{
	struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	const unsigned long ms = div_u64(wait, NSEC_PER_MSEC);

	WRITE_ONCE(w->longest, max(w->longest, ms));
	if (watch_limit_pass(&lines, wait, watch_threshold(w)))
		pr_warn("%s%s\n", what, behind);
	if (!watch_limit_pass(limit, wait, watch_threshold(w)))
		return;
	if (READ_ONCE(uevent))
		report_uevent(cpu, wait, saturated, what, behind);
	kdtl_alarm(&(struct kdtl_alarm){ .what = what, .cpu = cpu });
}

/**
 * watch_report_late() - report a task that was dispatched too late
 * @cpu: where
 * @e: its entry
 * @tasks: the source's entries name their tasks
 * @wait: how long the task waited, in ns
 *
 * Context: the watching thread.
 */
void watch_report_late(int cpu, const struct kdtl_entry *e, bool tasks, u64 wait)
{
	struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	static const char no_comm[TASK_COMM_LEN];
	const char *comm = tasks ? kdtl_entry_comm(e) : no_comm;
	const pid_t pid = tasks ? kdtl_entry_pid(e) : 0;
	const bool saturated = kdtl_entry_wait_saturated(e);
	const char *bound = saturated ? "at least " : "";
	const u64 ms = div_u64(wait, NSEC_PER_MSEC);
	char what[REPORT_WHAT], behind[REPORT_BEHIND];

	WRITE_ONCE(w->late, w->late + 1);
	WRITE_ONCE(w->saturated, w->saturated + saturated);
	trace_kdtl_watch_late(cpu, pid, comm, wait, saturated, watch_threshold(w));
	if (tasks)
		/* A task chooses its name, which must not add a line to the log. */
		snprintf(what, sizeof(what), "CPU %d: %*pE:%d waited %s%llu ms", cpu,
			 (int)strlen(comm), comm, pid, bound, ms);
	else
		snprintf(what, sizeof(what), "CPU %d waited %s%llu ms", cpu, bound,
			 ms);
	watch_behind_entry(cpu, e, behind, sizeof(behind));
	report(cpu, wait, saturated, &alarms, what, behind);
}

/**
 * watch_report_stuck() - report a CPU that dispatches no task
 * @cpu: the CPU
 * @wait: for how long by now, in ns
 *
 * Context: the watching thread.
 */
void watch_report_stuck(int cpu, u64 wait)
{
	struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	char what[REPORT_WHAT], behind[REPORT_BEHIND];
	const u64 now = local_clock();

	if (!w->reported)
		WRITE_ONCE(w->stuck, w->stuck + 1);
	trace_kdtl_watch_stuck(cpu, wait, watch_threshold(w));
	snprintf(what, sizeof(what), "CPU %d: no task dispatched for %llu ms",
		 cpu, div_u64(wait, NSEC_PER_MSEC));
	watch_behind(cpu, now - wait, now, behind, sizeof(behind));
	report(cpu, wait, false, &stuck_alarms, what, behind);
}

/**
 * watch_report_round() - say what was not reported, when its time is over
 *
 * Context: the watching thread.
 */
void watch_report_round(void)
{
	watch_limit_end(&lines);
	watch_limit_end(&alarms);
	watch_limit_end(&stuck_alarms);
}

/**
 * watch_report_init() - make the device that sends uevents
 *
 * Return: 0 or an errno.
 */
int watch_report_init(void)
{
	alarms.seconds = pause_s;
	stuck_alarms.seconds = pause_s;
	device = platform_device_register_simple("kdtl_watch", PLATFORM_DEVID_NONE,
						 NULL, 0);
	/* The platform bus reports a name for which there was no memory as -EINVAL. */
	if (device == ERR_PTR(-EINVAL))
		return -ENOMEM;
	return PTR_ERR_OR_ZERO(device);
}

/**
 * watch_report_exit() - undo watch_report_init(); the thread has ended
 */
void watch_report_exit(void)
{
	watch_limit_exit(&lines);
	watch_limit_exit(&alarms);
	watch_limit_exit(&stuck_alarms);
	platform_device_unregister(device);
}
