// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that go on, and have taken too long already
 *
 * A task may wait for too long although its CPU dispatches others, or for less time than makes a
 * CPU stuck.  kdtl_waiting() reports such waits.  It is called only if some CPU was not idle since
 * the last look, at the pace of struct kdtl_pace.
 */
#include <linux/kdtl_verbs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/percpu.h>

#include "watch.h"

/* Each CPU's worst wait, relative to its threshold; @threshold is 0 if no wait exceeds its own. */
static DEFINE_PER_CPU(struct watch_going, going_worst);

static struct kdtl_pace going_pace;

/* Keep the wait if it is the worst of its CPU so far. */
static void going_compare(const struct kdtl_waiting *is, bool throttled, u64 wait, u64 threshold)
{
	struct watch_going *worst = per_cpu_ptr(&going_worst, is->cpu);

	if (!threshold || wait <= threshold)
		return;
	if (worst->threshold &&
	    div64_u64(100 * wait, threshold) <= div64_u64(100 * worst->wait, worst->threshold))
		return;
	*worst = (struct watch_going) {
		.is = *is, .throttled = throttled, .wait = wait, .threshold = threshold,
	};
}

/* Nothing is converted: a source that knows who waits has a time base in ns. */
static void going_note(const struct kdtl_waiting *is, void *unused)
{
	const u64 wait = is->until - is->since - is->held;

	if (is->held)
		going_compare(is, true, is->held, watch_rule_throttled());
	if (wait)
		going_compare(is, false, wait, watch_threshold_of(is->pid, is->until, is->cpu));
}

/*
 * Is this wait left to watch_probe(), which reports a stuck CPU and who waits there?  Not if the
 * probe takes longer than it should, or if the task's threshold is below the CPU's.
 */
static bool going_is_for_probe(const struct watch_cpu *w, u64 threshold)
{
	const u64 stuck = watch_threshold(w);

	return w->reported || (w->pending && threshold >= stuck && w->pending <= 2 * stuck);
}

/* Report a wait once, and again when it is twice as long. */
static void going_tell(struct watch_cpu *w, const struct watch_going *worst)
{
	const bool again = worst->is.pid == w->told_pid && worst->is.since == w->told_since;

	if (going_is_for_probe(w, worst->threshold) || (again && worst->wait <= 2 * w->told))
		return;
	w->told_pid = worst->is.pid;
	w->told_since = worst->is.since;
	w->told = worst->wait;
	watch_report_going(worst);
}

/* Find out who woke the tasks that wait for too long, while the log still has it. */
static void going_keep_wakers(void)
{
	const struct watch_going *worst;
	bool sought = false;
	int cpu;

	for_each_possible_cpu(cpu) {
		worst = per_cpu_ptr(&going_worst, cpu);
		if (worst->threshold)
			sought |= watch_keep_waker(&worst->is);
	}
	if (sought)
		watch_find_wakers();
}

/**
 * watch_going() - report tasks that have waited for too long and still wait
 * @s: the session
 * @busy: some CPU was not idle since the last look
 *
 * Context: the watching thread, which has just probed all CPUs.
 */
void watch_going(struct kdtl_session *s, bool busy)
{
	const u64 began = ktime_get_ns();
	struct watch_going *worst;
	int cpu;

	if (!busy || began < going_pace.next || watch_rules_config().min_wait == U64_MAX)
		return;
	for_each_possible_cpu(cpu)
		per_cpu_ptr(&going_worst, cpu)->threshold = 0;
	/* A CPU that does not answer is left to watch_probe(). */
	kdtl_waiting(s, going_note, NULL);
	going_keep_wakers();
	kdtl_pace_set(&going_pace, began, ktime_get_ns());
	for_each_possible_cpu(cpu) {
		worst = per_cpu_ptr(&going_worst, cpu);
		if (worst->threshold)
			going_tell(per_cpu_ptr(&watch_cpus, cpu), worst);
	}
}
