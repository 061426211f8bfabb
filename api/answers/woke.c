// SPDX-License-Identifier: GPL-2.0
/*
 * Who woke a task, from the entries of kdtl_wake
 *
 * <uapi/linux/kdtl_wake.h> has the rule: between two dispatches of a task, one wake-up ended its
 * sleep, and all others found it in its queue.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kdtl_answers.h>
#include <linux/printk.h>
#include <uapi/linux/kdtl_wake.h>

/* Did @e more likely end the sleep than the wake-up that @w has so far? */
static bool kdtl_woken_better(const struct kdtl_woken *w, const struct kdtl_wake_entry *e)
{
	const bool queued = e->flags & KDTL_WAKE_QUEUED, was = w->flags & KDTL_WAKE_QUEUED;
	const u64 time = kdtl_wake_time(e);

	if (kdtl_wake_pid(e) != w->pid || time <= w->from || time > w->until ||
	    (e->kind != KDTL_WAKE_WOKEN && e->kind != KDTL_WAKE_NEW))
		return false;
	if (!w->time || queued == was)
		return time > w->time;
	return was;
}

/**
 * kdtl_who_woke() - look among a CPU's entries for the wake-up of a task
 * @w: the task and the time, set by the caller; the rest is filled in if it is found
 * @e: entries of kdtl_wake of a CPU, from a span or a snapshot
 * @len: their length in bytes; 0 or an errno: there are none
 *
 * A wake-up is in the log of the waker's CPU.  So call this for the entries of each CPU, in any
 * order, and then look at @w: kdtl_woken::time is 0 if no CPU has the wake-up.  A task that is
 * asleep has left its CPU after kdtl_woken::time.
 *
 * Context: any.
 */
void kdtl_who_woke(struct kdtl_woken *w, const struct kdtl_entry *e, ssize_t len)
{
	const struct kdtl_wake_entry *wake;

	if (!w || (len >= (ssize_t)sizeof(*e) && !e)) {
		pr_warn_ratelimited("%ps: %s() without %s\n", (void *)_RET_IP_, __func__,
				    w ? "entries" : "a place for the answer");
		return;
	}
	for (; len >= (ssize_t)sizeof(*e); len -= sizeof(*e), e++) {
		wake = kdtl_wake_of(e);
		if (!wake || !kdtl_woken_better(w, wake))
			continue;
		w->time = kdtl_wake_time(wake);
		w->by = kdtl_wake_by(wake);
		w->flags = wake->flags;
		w->is_new = wake->kind == KDTL_WAKE_NEW;
		w->state = kdtl_wake_state(wake);
		w->syscall = kdtl_wake_syscall(wake);
	}
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_woke, KDTL_NS);
