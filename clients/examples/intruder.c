// SPDX-License-Identifier: GPL-2.0
/*
 * An alarm when another task runs on an isolated CPU
 *
 * A CPU is isolated so that one program has it alone.  This module reports which other tasks ran
 * there, and for how long.  It reports kernel threads only on request: every CPU has some.
 */
#define pr_fmt(fmt) "kdtl_intruder: " fmt

#include <linux/kdtl_answers.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/pid_namespace.h>
#include <linux/ratelimit.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

static char *owner = "";
module_param(owner, charp, 0444);
MODULE_PARM_DESC(owner, "name of the tasks to which the isolated CPUs belong");

static bool kthreads;
module_param(kthreads, bool, 0444);
MODULE_PARM_DESC(kthreads, "also report kernel threads (default N)");

/* A task that does not leave is reported once after this time. */
#define INTRUDER_STAYS	NSEC_PER_SEC

struct intruder {
	struct kdtl_task	task;	/* pid and name; pid 0: no intruder */
	u64			since;
	bool			told;
};

static DEFINE_PER_CPU(struct intruder, intruders);
static DEFINE_PER_CPU(struct ratelimit_state, intruder_limits);
static struct kdtl_session *session;
static cpumask_var_t isolated;

/* Report that @i had the CPU until @to or, if @stays, still has it. */
static void intruder_alarm(struct intruder *i, int cpu, u64 to, bool stays)
{
	char what[80];

	snprintf(what, sizeof(what), "%*pE:%d %s isolated CPU %d for %llu us",
		 (int)strnlen(i->task.comm, sizeof(i->task.comm)), i->task.comm, i->task.pid,
		 stays ? "is on" : "was on", cpu, div_u64(to - i->since, NSEC_PER_USEC));
	if (__ratelimit(per_cpu_ptr(&intruder_limits, cpu)))
		pr_warn("%s\n", what);
	kdtl_alarm(&(struct kdtl_alarm) {
		.what = what, .cpu = cpu, .from = i->since, .to = to, .culprit = &i->task,
	});
}

/* Nothing is known of a task that has gone. */
static bool intruder_is_kthread(pid_t pid)
{
	const struct task_struct *t;
	bool is;

	rcu_read_lock();
	t = pid_task(find_pid_ns(pid, &init_pid_ns), PIDTYPE_PID);
	is = t && t->flags & PF_KTHREAD;
	rcu_read_unlock();
	return is;
}

static bool intruder_is(const struct kdtl_entry *e)
{
	return !kdtl_entry_is_idle(e) && strcmp(kdtl_entry_comm(e), owner) &&
	       (kthreads || !intruder_is_kthread(kdtl_entry_pid(e)));
}

static void intruder_span(const struct kdtl_span *span, void *unused)
{
	struct intruder *i = per_cpu_ptr(&intruders, span->cpu);
	const struct kdtl_entry *e;

	/* Entries were lost: nobody knows when the last intruder left, or who came after it. */
	if (span->lost)
		*i = (struct intruder) { };
	kdtl_span_for_each_entry(e, span) {
		if (i->task.pid)
			intruder_alarm(i, span->cpu, kdtl_entry_time(e), false);
		*i = (struct intruder) { .since = kdtl_entry_time(e) };
		if (!intruder_is(e))
			continue;
		i->task.pid = kdtl_entry_pid(e);
		strscpy(i->task.comm, kdtl_entry_comm(e), sizeof(i->task.comm));
	}
}

static unsigned int intruder_round(struct kdtl_session *s, void *unused)
{
	/* The time of kdtl_sched. */
	const u64 now = local_clock();
	struct intruder *i;
	int cpu;

	kdtl_for_each_cpu(cpu, s) {
		i = per_cpu_ptr(&intruders, cpu);
		if (!i->task.pid || i->told || (s64)(now - i->since) < (s64)INTRUDER_STAYS)
			continue;
		i->told = true;
		intruder_alarm(i, cpu, now, true);
	}
	return 0;
}

static int __init intruder_init(void)
{
	const struct kdtl_reader reader = { .span = intruder_span, .round = intruder_round };
	struct kdtl_session_attr attr = {
		.pmu	= "kdtl_sched",
		.mask	= KDTL_MASK_ALL | KDTL_MASK_IDLE,
	};
	int cpu, err = -ENODEV;

	if (!zalloc_cpumask_var(&isolated, GFP_KERNEL))
		return -ENOMEM;
	kdtl_isolated_cpus(isolated);
	if (cpumask_empty(isolated)) {
		pr_err("no CPU is isolated, by isolcpus=, nohz_full= or a cpuset\n");
		goto free;
	}
	for_each_cpu(cpu, isolated)
		ratelimit_state_init(per_cpu_ptr(&intruder_limits, cpu), DEFAULT_RATELIMIT_INTERVAL,
				     DEFAULT_RATELIMIT_BURST);
	attr.cpus = isolated;
	session = kdtl_session_open(&attr, &reader);
	if (!IS_ERR(session))
		return 0;
	err = PTR_ERR(session);
free:
	free_cpumask_var(isolated);
	return err;
}

static void __exit intruder_exit(void)
{
	kdtl_session_close(session);
	free_cpumask_var(isolated);
}

late_initcall(intruder_init);
module_exit(intruder_exit);

MODULE_DESCRIPTION("kdtl example: who else runs on isolated CPUs");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched");
