// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that go on, and have taken too long already
 *
 * A task may wait for too long although its CPU dispatches others, or for less time than makes a
 * CPU stuck.  kdtl_waiting() knows that.  It is asked only if some CPU was not idle since the last
 * look, at the pace of struct kdtl_pace.
 */
#include <linux/kdtl_verbs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/percpu.h>

#include "watch.h"

/* Of each CPU the wait that exceeds its threshold most often; the threshold is 0 if none does. */
static DEFINE_PER_CPU(struct watch_going, going_worst);

static struct kdtl_pace going_pace;

/* Keep it if no other wait of its CPU is worse. */
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

/* The time base of a source that knows who waits is in ns. */
static void going_note(const struct kdtl_waiting *is, void *unused)
{
	const u64 wait = is->until - is->since - is->held;

	if (is->held)
		going_compare(is, true, is->held, watch_rule_throttled());
	if (wait)
		going_compare(is, false, wait, watch_threshold_of(is->pid, is->until, is->cpu));
}

/*
 * The CPU may turn out to be stuck, which watch_probe() says, and who waits there.  It does not if
 * that takes longer than it should, or for those who may wait less long.
 */
static bool going_is_for_probe(const struct watch_cpu *w, u64 threshold)
{
	const u64 stuck = watch_threshold(w);

	return w->reported || (w->pending && threshold >= stuck && w->pending <= 2 * stuck);
}

/* A wait is told of once, and again when it is twice as long. */
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

/* Who woke those that have waited for too long, while the log says. */
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
 * watch_going() - report who has waited for too long, and waits still
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
	/* A CPU that does not answer is one for watch_probe(). */
	kdtl_waiting(s, going_note, NULL);
	going_keep_wakers();
	kdtl_pace_set(&going_pace, began, ktime_get_ns());
	for_each_possible_cpu(cpu) {
		worst = per_cpu_ptr(&going_worst, cpu);
		if (worst->threshold)
			going_tell(per_cpu_ptr(&watch_cpus, cpu), worst);
	}
}
