// SPDX-License-Identifier: GPL-2.0
/*
 * Reporting waits that took too long
 *
 * Each one is counted and traced.  A line in the log, a uevent and an alarm for
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
MODULE_PARM_DESC(uevent, "also send a uevent (default 0)");

static unsigned int pause_s = 10;
module_param(pause_s, uint, 0444);
MODULE_PARM_DESC(pause_s, "shortest time between two uevents or alarms, unless the wait is worse, in s (default 10)");

/* The log cuts lines of more than about 970 characters. */
#define REPORT_WHAT	240
#define REPORT_DETAIL	640

/* How to report. */
#define REPORT_LINE	0x1
#define REPORT_ALARM	0x2

DEFINE_PER_CPU(struct watch_cpu, watch_cpus);

static struct watch_limit lines = { .name = "lines", .seconds = 5, .burst = 10 };

/* A late task is known only when its wait is over, so stuck CPUs have a limit of their own. */
static struct watch_limit alarms = { .name = "alarms", .burst = 1 };
static struct watch_limit stuck_alarms = { .name = "alarms of stuck CPUs", .burst = 1 };
static struct platform_device *device;	/* sends the uevents */

/* Only the watching thread uses them. */
static char what[REPORT_WHAT], detail[REPORT_DETAIL];
static struct kdtl_task victim;		/* its pid is 0 if none is known */
static struct watch_blame blame;

static void report_uevent_task(struct kobj_uevent_env *env, const char *whose,
			       const struct kdtl_task *task)
{
	if (task->pid)
		add_uevent_var(env, "KDTL_%sPID=%u", whose, task->pid);
	if (task->cgroup)
		add_uevent_var(env, "KDTL_%sCGROUP_ID=%llu", whose, task->cgroup);
}

static void report_uevent(int cpu, u64 wait, bool saturated)
{
	static struct kobj_uevent_env env;

	env = (struct kobj_uevent_env) { };
	add_uevent_var(&env, "KDTL_CPU=%d", cpu);
	add_uevent_var(&env, "KDTL_WAIT_NS=%llu", wait);
	if (saturated)
		add_uevent_var(&env, "KDTL_WAIT_SATURATED=1");
	report_uevent_task(&env, "", &victim);
	report_uevent_task(&env, "BEHIND_", &blame.culprit);
	add_uevent_var(&env, "KDTL_WATCH=%s%s", what, detail);
	kobject_uevent_env(&device->dev.kobj, KOBJ_CHANGE, env.envp);
}

/* Keep the longest time for which a task, or every task, had to do without the CPU. */
static void report_longest(struct watch_cpu *w, u64 wait)
{
	WRITE_ONCE(w->longest, max_t(u64, w->longest, div_u64(wait, NSEC_PER_MSEC)));
}

/* Returns REPORT_*. */
static unsigned int report_wanted(u64 wait, u64 threshold, struct watch_limit *alarm)
{
	unsigned int how = 0;

	if (watch_limit_pass(&lines, wait, threshold))
		how |= REPORT_LINE;
	if (watch_limit_pass(alarm, wait, threshold))
		how |= REPORT_ALARM;
	return how;
}

/*
 * Report what @what and @detail say, about a wait for @cpu that ended at @to, in ns.  @behind: the
 * CPU of the tasks that are to blame; -1: none are.
 */
static void report(unsigned int how, int cpu, int behind, u64 wait, u64 to, bool saturated)
{
	const struct kdtl_alarm alarm = {
		.what	= what,
		.cpu	= behind,
		.from	= to - min(wait, to),
		.to	= to,
		.task	= victim.pid ? &victim : NULL,
		.culprit = blame.culprit.pid ? &blame.culprit : NULL,
	};

	if (how & REPORT_LINE)
		pr_warn("%s%s\n", what, detail);
	if (!(how & REPORT_ALARM))
		return;
	if (READ_ONCE(uevent))
		report_uevent(cpu, wait, saturated);
	kdtl_alarm(&alarm);
}

static void report_late_what(const struct kdtl_span *span, const struct kdtl_entry *e,
			     bool throttled, u64 wait, bool saturated)
{
	const char *verb = throttled ? "was throttled for" : "waited";
	const char *bound = saturated ? "at least " : "";
	const u64 ms = div_u64(wait, NSEC_PER_MSEC);
	char name[KDTL_TASK_NAME];

	victim = (struct kdtl_task) { };
	if (span->info->tasks) {
		watch_task(kdtl_entry_comm(e), kdtl_entry_pid(e), kdtl_entry_time(e), &victim);
		kdtl_task_name(watch_tasks, &victim, name, sizeof(name));
		scnprintf(what, sizeof(what), "CPU %d: %s %s %s%llu ms", span->cpu, name, verb,
			  bound, ms);
	} else {
		scnprintf(what, sizeof(what), "CPU %d %s %s%llu ms", span->cpu, verb, bound, ms);
	}
}

/* Returns the CPU of the tasks that are to blame for most of the wait; -1: none are. */
static int report_late_detail(const struct kdtl_span *span, const struct kdtl_entry *e,
			      bool throttled)
{
	const u64 queued = kdtl_entry_queued(e), ready = kdtl_entry_wait(e) - queued;
	struct watch_blame there = { };
	int at, cpu;

	detail[0] = '\0';
	blame = (struct watch_blame) { };
	/* A limit held the task back, whoever had the CPU. */
	if (throttled)
		return -1;
	if (span->info->stolen)
		strscpy(detail, ", the hypervisor had the CPU", sizeof(detail));
	if (!span->info->tasks)
		return span->cpu;
	/* The time base of a source that names tasks is in ns. */
	if ((queued >= NSEC_PER_MSEC || ready < NSEC_PER_MSEC) && watch_look_back(span->cpu))
		watch_behind(kdtl_entry_time(e) - queued, kdtl_entry_time(e), detail,
			     sizeof(detail), &blame);
	if (ready < NSEC_PER_MSEC)
		return span->cpu;
	at = strlen(detail);
	at += scnprintf(detail + at, sizeof(detail) - at,
			", in the queue of another CPU %llu ms", div_u64(ready, NSEC_PER_MSEC));
	cpu = watch_before(e, span->cpu, detail + at, sizeof(detail) - at, &there);
	if (ready <= queued)
		return span->cpu;
	if (there.culprit.pid)
		blame = there;
	return cpu;
}

/* Add who woke the task, which left its CPU at @from. */
static void report_woken(pid_t pid, u64 from, u64 until)
{
	const int at = strlen(detail);

	watch_woken(pid, from, until, detail + at, sizeof(detail) - at);
}

/* A task that slept before it waited was woken by somebody. */
static void report_late_woken(const struct kdtl_entry *e)
{
	const u64 until = kdtl_entry_time(e), off = kdtl_entry_wait(e) + kdtl_entry_slept(e);

	if (!kdtl_entry_is_throttled(e) && kdtl_entry_slept(e))
		report_woken(kdtl_entry_pid(e), until - min(until, off), until);
}

/**
 * watch_report_late() - report a task that was dispatched too late
 * @span: the span that has the entry
 * @e: its entry
 * @throttled: a limit on CPU time held it back; otherwise it waited
 * @wait: for how long, in ns
 * @threshold: the longest wait that is not reported, in ns
 *
 * Context: the watching thread.
 */
void watch_report_late(const struct kdtl_span *span, const struct kdtl_entry *e,
		       bool throttled, u64 wait, u64 threshold)
{
	struct watch_cpu *w = per_cpu_ptr(&watch_cpus, span->cpu);
	const bool saturated = watch_is_saturated(e, throttled), tasks = span->info->tasks;
	static const char no_comm[TASK_COMM_LEN];
	unsigned int how;
	int behind;

	if (throttled) {
		WRITE_ONCE(w->throttled, w->throttled + 1);
	} else {
		WRITE_ONCE(w->late, w->late + 1);
		WRITE_ONCE(w->saturated, w->saturated + saturated);
		report_longest(w, wait);
	}
	trace_kdtl_watch_late(span->cpu, tasks ? kdtl_entry_pid(e) : 0,
			      tasks ? kdtl_entry_comm(e) : no_comm, wait, saturated, threshold,
			      throttled);
	how = report_wanted(wait, threshold, &alarms);
	if (!how)
		return;
	report_late_what(span, e, throttled, wait, saturated);
	behind = report_late_detail(span, e, throttled);
	if (tasks)
		report_late_woken(e);
	report(how, span->cpu, behind, wait,
	       kdtl_ticks_to_ns(span->info, kdtl_entry_time(e) - span->info->tb_boot), saturated);
}

/* Add who waits.  @e: the entry since which the CPU is idle, or blame.now has it. */
static void report_stuck_detail(int cpu, u64 now, const struct kdtl_entry *e, int at)
{
	struct watch_waiting longest;
	const unsigned int waiting = watch_waiting(cpu, &longest);
	/* The CPU's clock may be ahead of this one's. */
	const u64 since = e ? now - min(now, kdtl_entry_time(e)) : 0;
	char name[KDTL_TASK_NAME];

	if (e && kdtl_entry_is_idle(e)) {
		at += scnprintf(detail + at, sizeof(detail) - at, "; idle for %llu ms",
				div_u64(since, NSEC_PER_MSEC));
	} else if (e) {
		kdtl_task_name(watch_tasks, &blame.now, name, sizeof(name));
		at += scnprintf(detail + at, sizeof(detail) - at, "; %s has had it for %llu ms",
				name, div_u64(since, NSEC_PER_MSEC));
	}
	victim = (struct kdtl_task) { };
	if (waiting) {
		watch_task(longest.comm, longest.pid, now, &victim);
		kdtl_task_name(watch_tasks, &victim, name, sizeof(name));
		at += scnprintf(detail + at, sizeof(detail) - at, "; %s has waited for %llu ms",
				name, div_u64(now - min(now, longest.since), NSEC_PER_MSEC));
	}
	if (waiting > 1)
		scnprintf(detail + at, sizeof(detail) - at, ", %u others less", waiting - 1);
}

/* Print where in the kernel the task is that has the CPU. */
static void report_stuck_stack(int cpu)
{
	char name[KDTL_TASK_NAME];

	kdtl_task_name(watch_tasks, &blame.now, name, sizeof(name));
	watch_stack(cpu, blame.now.pid, name);
}

/**
 * watch_report_stuck() - report a CPU that dispatches no task of normal priority
 * @cpu: the CPU
 * @wait: for how long by now, in ns
 * @threshold: the longest time that is not reported, in ns
 *
 * Context: the watching thread.
 */
void watch_report_stuck(int cpu, u64 wait, u64 threshold)
{
	struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	const struct kdtl_entry *e = watch_look_back(cpu);
	const u64 now = local_clock();
	unsigned int how;

	detail[0] = '\0';
	blame = (struct watch_blame) { };
	if (e)
		watch_behind(now - wait, now, detail, sizeof(detail), &blame);
	if (!w->reported)
		WRITE_ONCE(w->stuck, w->stuck + 1);
	trace_kdtl_watch_stuck(cpu, wait, threshold, blame.now.pid, blame.now.comm);
	report_longest(w, wait);
	how = report_wanted(wait, threshold, &stuck_alarms);
	if (!how)
		return;
	scnprintf(what, sizeof(what), "CPU %d: no %s dispatched for %llu ms", cpu,
		  watch_tasks ? "task of normal priority" : "kworker",
		  div_u64(wait, NSEC_PER_MSEC));
	report_stuck_detail(cpu, now, e, strlen(detail));
	report(how, cpu, cpu, wait, now, false);
	if (how & REPORT_ALARM && blame.now.pid)
		report_stuck_stack(cpu);
}

/* Say behind whom the task waits, and since when the CPU's present task has it. */
static void report_going_detail(const struct watch_going *g)
{
	const struct kdtl_entry *e = g->throttled ? NULL : watch_look_back(g->is.cpu);
	const u64 to = g->is.until;
	char name[KDTL_TASK_NAME];
	int at;

	detail[0] = '\0';
	blame = (struct watch_blame) { };
	if (!e)
		return;
	watch_behind(to - g->wait, to, detail, sizeof(detail), &blame);
	if (kdtl_entry_is_idle(e))
		return;
	at = strlen(detail);
	kdtl_task_name(watch_tasks, &blame.now, name, sizeof(name));
	scnprintf(detail + at, sizeof(detail) - at, "; %s has had it for %llu ms", name,
		  div_u64(to - min(to, kdtl_entry_time(e)), NSEC_PER_MSEC));
}

/**
 * watch_report_going() - report a task that has waited for too long and still waits
 * @g: its wait
 *
 * The wait is counted when it is over.
 *
 * Context: the watching thread.
 */
void watch_report_going(const struct watch_going *g)
{
	const struct kdtl_waiting *is = &g->is;
	char name[KDTL_TASK_NAME];
	unsigned int how;

	trace_kdtl_watch_going(is->cpu, is->pid, is->comm, g->wait, g->threshold, g->throttled);
	how = report_wanted(g->wait, g->threshold, &alarms);
	if (!how)
		return;
	watch_task(is->comm, is->pid, is->until, &victim);
	kdtl_task_name(watch_tasks, &victim, name, sizeof(name));
	scnprintf(what, sizeof(what), "CPU %d: %s has %s for %llu ms", is->cpu, name,
		  g->throttled ? "been throttled" : "waited", div_u64(g->wait, NSEC_PER_MSEC));
	report_going_detail(g);
	report_woken(is->pid, is->left, is->until);
	report(how, is->cpu, g->throttled ? -1 : is->cpu, g->wait, is->until, false);
}

/**
 * watch_report_round() - say how many reports were withheld, if a limit's time is over
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
