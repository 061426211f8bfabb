// SPDX-License-Identifier: GPL-2.0
/*
 * Limits what users can take of a CPU's time by opening sessions
 *
 * Each session adds a store to every dispatch of its CPUs, and wakes its reader from there:
 * whoever has the CPU pays.  So users who do not administer the machine share a limited number
 * of sessions on each CPU, and their sessions wake readers neither for each entry nor at once.
 * perf limits the rate of samples for the same reason.
 */
#define pr_fmt(fmt) "kdtl_stream: " fmt

#include <linux/capability.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/time64.h>

#include "stream.h"

static unsigned int max_sessions = 16;
module_param(max_sessions, uint, 0644);
MODULE_PARM_DESC(max_sessions, "maximum number of sessions on each CPU of all users without CAP_SYS_ADMIN (default 16)");

/* The least that such users get. 2 KiB is half of the smallest log, and 42 entries. */
#define BUDGET_PERIOD		(10 * NSEC_PER_MSEC)
#define BUDGET_WATERMARK	2048

static DEFINE_SPINLOCK(budget_lock);
static DEFINE_PER_CPU(unsigned int, budget_used);	/* protected by it */

/* The first CPU that has no room for one more session; nr_cpu_ids: all have room. */
static unsigned int budget_full(const struct cpumask *cpus)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus) {
		if (per_cpu(budget_used, cpu) >= READ_ONCE(max_sessions))
			break;
	}
	return cpu;
}

static void budget_add(const struct cpumask *cpus, int nr)
{
	unsigned int cpu;

	for_each_cpu(cpu, cpus)
		per_cpu(budget_used, cpu) += nr;
}

/**
 * stream_budget_take() - may the caller have one more session?
 * @st: the stream; its CPUs are known
 * @sa: what it asks for; its period and watermark are raised to what it gets
 *
 * Context: under stream::verbs.
 * Return: 0, or -EUSERS and a line in the log: a CPU has as many sessions as it may have.
 */
int stream_budget_take(struct stream *st, struct kdtl_session_attr *sa)
{
	unsigned int full;

	if (ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN))
		return 0;
	spin_lock(&budget_lock);
	full = budget_full(st->cpus);
	st->budgeted = full >= nr_cpu_ids;
	if (st->budgeted)
		budget_add(st->cpus, 1);
	spin_unlock(&budget_lock);
	if (!st->budgeted) {
		pr_warn_ratelimited("CPU %u has %u sessions of users without CAP_SYS_ADMIN, and max_sessions allows no more\n",
				    full, READ_ONCE(max_sessions));
		return -EUSERS;
	}
	if (sa->period < BUDGET_PERIOD || (sa->watermark && sa->watermark < BUDGET_WATERMARK))
		pr_warn_ratelimited("a period below 10 ms and a watermark below 2 KiB need CAP_SYS_ADMIN: a session of a user without it gets these\n");
	sa->period = max_t(u64, sa->period, BUDGET_PERIOD);
	if (sa->watermark)
		sa->watermark = max_t(u64, sa->watermark, BUDGET_WATERMARK);
	return 0;
}

/**
 * stream_budget_give() - undo stream_budget_take()
 * @st: the stream
 *
 * Context: under stream::verbs, or when the file is released.
 */
void stream_budget_give(struct stream *st)
{
	if (!st->budgeted)
		return;
	spin_lock(&budget_lock);
	budget_add(st->cpus, -1);
	spin_unlock(&budget_lock);
	st->budgeted = false;
}

/**
 * stream_budget_ask() - may the caller interrupt CPUs to ask who waits?
 * @st: the stream
 *
 * Context: under stream::verbs.
 * Return: 0, or -EAGAIN: a user without CAP_SYS_ADMIN did so less than 10 ms ago.
 */
int stream_budget_ask(struct stream *st)
{
	const u64 now = ktime_get_ns();

	if (!st->budgeted)
		return 0;
	if (st->asked && now - st->asked < BUDGET_PERIOD)
		return -EAGAIN;
	st->asked = now;
	return 0;
}
