// SPDX-License-Identifier: GPL-2.0
/*
 * Who had a CPU in a span of time, from the entries of kdtl_sched
 *
 * engine/runs.h finds out who had the CPU; this file adds up the times.
 *
 * There may be more tasks than rows.  "Filtered space saving" finds the tasks that had most:
 * a task without a row adds to one common sum, w->rest, and takes the place of the least row
 * once that sum is as much as the row.  The new row counts from then on, but is compared with
 * @before on top: the sum at that time, which may all have been the task's.  The rows, with
 * @before, and the rest add up to the time of all tasks, and the rest is never more than a
 * row.  So the time of a task without a row, and the time that a row lacks, is at most the
 * time of all tasks divided by the number of rows plus one.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/build_bug.h>
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/kdtl_answers.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "engine/runs.h"
#include "tasks.h"

/* Log that a pointer is missing; the verb then does nothing. */
static noinline void kdtl_who_refuse(const char *verb, const char *what, unsigned long caller)
{
	pr_warn_ratelimited("%ps: %s() without %s\n", (void *)caller, verb, what);
}

/* The row of a task; NULL: it has none. */
static struct kdtl_ran *kdtl_who_row(struct kdtl_who *w, pid_t pid)
{
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		if (w->ran[i].pid == pid)
			return &w->ran[i];
	}
	return NULL;
}

static u64 kdtl_who_rank(const struct kdtl_ran *row)
{
	return row->ticks + row->before;
}

/* The row with the least time, to make room for a task that has more; or NULL. */
static struct kdtl_ran *kdtl_who_least(struct kdtl_who *w)
{
	struct kdtl_ran *least = NULL;
	unsigned int i;

	for (i = 0; i < w->nr; i++) {
		if (!least || kdtl_who_rank(&w->ran[i]) < kdtl_who_rank(least))
			least = &w->ran[i];
	}
	return least;
}

/* @who has no row, and no row is free: take another task's row, or return NULL. */
static struct kdtl_ran *kdtl_who_replace(struct kdtl_who *w, const struct kdtl_ran *who, u64 ticks)
{
	struct kdtl_ran *row = kdtl_who_least(w);
	u64 before = w->rest;

	if (!row || before + ticks < kdtl_who_rank(row)) {
		w->rest += ticks;
		w->others += ticks;
		return NULL;
	}
	w->rest = kdtl_who_rank(row);
	w->others += row->ticks;
	*row = *who;
	row->before = before;
	return row;
}

/* @who had the CPU for @ticks of the time from @from to @to; takers had the rest. */
static void kdtl_who_add(struct kdtl_who *w, const struct kdtl_ran *who, u64 from, u64 to,
			 u64 ticks)
{
	struct kdtl_ran *row = kdtl_who_row(w, who->pid);

	if (row) {
		/* The task may have got a new name since it got the row. */
		memcpy(row->comm, who->comm, sizeof(row->comm));
	} else if (w->nr < w->size) {
		row = &w->ran[w->nr++];
		*row = *who;
	} else {
		row = kdtl_who_replace(w, who, ticks);
		if (!row)
			return;
	}
	row->ticks += ticks;
	if (ticks > row->longest) {
		row->longest = ticks;
		row->time = from + (to - from) / 2;
	}
}

/* Clients embed struct kdtl_who, and need not know the engine. */
static struct kdtl_runs *kdtl_who_runs(struct kdtl_who *w)
{
	BUILD_BUG_ON(sizeof(struct kdtl_runs) > sizeof(w->runs));
	return (struct kdtl_runs *)w->runs;
}

static bool kdtl_who_task(void *who, s32 pid, u64 time, s32 *tgid, u64 *since)
{
	const struct kdtl_who *w = who;

	return kdtl_task_was(w->tasks, pid, time, tgid, since);
}

static __always_inline bool kdtl_who_gap(void *who, enum kdtl_taker by, struct kdtl_gap *gap)
{
	struct kdtl_who *w = who;
	const struct kdtl_aux_info *info = w->gaps[by].info;
	const struct kdtl_entry *e = w->gaps[by].next;

	if (e == w->gaps[by].end)
		return false;
	w->gaps[by].next++;
	gap->to = kdtl_ticks_to_ns(info, kdtl_entry_time(e) - info->tb_boot);
	gap->from = gap->to - kdtl_ticks_to_ns(info, kdtl_entry_wait(e));
	return true;
}

/* Out of line, because most clients ask for no takers. */
static noinline void kdtl_who_took(void *who, enum kdtl_taker by, const struct kdtl_gap *part)
{
	struct kdtl_who *w = who;
	const struct kdtl_entry *e = w->gaps[by].next - 1;
	struct kdtl_ran irq = { };

	if (by == KDTL_TAKER_HYPERVISOR) {
		w->stolen += part->to - part->from;
		return;
	}
	irq.pid = kdtl_entry_pid(e);
	memcpy(irq.comm, kdtl_entry_comm(e), sizeof(irq.comm));
	kdtl_who_add(w, &irq, part->from, part->to, part->to - part->from);
}

static const struct kdtl_runs_ops kdtl_who_ops = {
	.task	= kdtl_who_task,
	.gap	= kdtl_who_gap,
	.took	= kdtl_who_took,
};

/*
 * The current task has called exec(), and left the CPU at @time with @pid, the pid that the leader
 * of its process had before: the time since its dispatch belongs to the new program.
 */
static void kdtl_who_exec(struct kdtl_who *w, pid_t pid, u64 time)
{
	struct kdtl_task now;

	if (kdtl_task_at(w->tasks, pid, time, &now))
		return;
	w->task.pid = pid;
	memcpy(w->task.comm, now.comm, sizeof(w->task.comm));
}

static void kdtl_who_add_run(struct kdtl_who *w, const struct kdtl_run *run)
{
	const u64 ticks = run->to - run->from - run->taken;

	/* If takers had all of the run, the task did not have the CPU. */
	if (!ticks)
		return;
	if (!run->known)
		w->unknown += ticks;
	else if (!run->pid)
		w->idle += ticks;
	else
		kdtl_who_add(w, &w->task, run->from, run->to, ticks);
}

/* If the CPU went offline after the last entry and before @time, the current task lost it then. */
static void kdtl_who_offline(struct kdtl_who *w, u64 time)
{
	struct kdtl_runs *r = kdtl_who_runs(w);

	if (w->went && r->known && !runs_before(w->went, r->since) && runs_before(w->went, time))
		kdtl_runs_lost(r);
}

/*
 * The current task has the CPU at the end of the span.  If no task has the pid any more with which
 * it got the CPU, it may have called exec().
 */
static void kdtl_who_still(struct kdtl_who *w)
{
	struct kdtl_runs *r = kdtl_who_runs(w);
	struct kdtl_task thread;

	if (r->known && r->pid && !kdtl_task_at(w->tasks, r->pid, r->since, &thread) &&
	    kdtl_table_gone(r->pid) &&
	    kdtl_runs_exec(&kdtl_who_ops, w, r->pid, r->since, thread.tgid, r->to)) {
		r->pid = thread.tgid;
		kdtl_who_exec(w, thread.tgid, r->to);
	}
}

/**
 * kdtl_who_begin() - begin to find out who had a CPU
 * @w: its @ran has room for @size tasks; the rest is filled in.  If it is NULL, this
 *	function, like the others that take it, only logs a line
 * @from: begin of the span, in ticks
 * @to: end of the span, in ticks, less than 2^63 after @from; if it is not, or is before
 *	@from, nobody had the CPU
 *
 * Then call kdtl_who_entry() for the CPU's entries in the order of time, beginning with an
 * entry from before the span, and end with kdtl_who_end().
 *
 * Context: any.
 */
void kdtl_who_begin(struct kdtl_who *w, u64 from, u64 to)
{
	if (!w) {
		kdtl_who_refuse(__func__, "a place for the answer", _RET_IP_);
		return;
	}
	/* Without rows, all tasks are others. */
	if (w->size && !w->ran) {
		kdtl_who_refuse(__func__, "rows, but with a number of them", _RET_IP_);
		w->size = 0;
	}
	w->nr = 0;
	w->others = 0;
	w->idle = 0;
	w->unknown = 0;
	w->stolen = 0;
	w->rest = 0;
	w->task = (struct kdtl_ran) { };
	BUILD_BUG_ON(ARRAY_SIZE(w->gaps) != KDTL_NR_TAKERS);
	memset(w->gaps, 0, sizeof(w->gaps));
	kdtl_runs_begin(kdtl_who_runs(w), w, from, to);
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_begin, KDTL_NS);

static void kdtl_who_gaps(struct kdtl_who *w, enum kdtl_taker by, const struct kdtl_aux_info *info,
			  const struct kdtl_entry *e, ssize_t len, const char *verb,
			  unsigned long caller)
{
	if (!w || (len >= (ssize_t)sizeof(*e) && (!info || !e))) {
		kdtl_who_refuse(verb, w ? "the entries and what belongs to them" :
				"a place for the answer", caller);
		return;
	}
	if (len < (ssize_t)sizeof(*e))
		return;
	w->gaps[by].info = info;
	w->gaps[by].next = e;
	w->gaps[by].end = e + len / sizeof(*e);
}

/**
 * kdtl_who_stolen() - tell when a hypervisor had the CPU
 * @w: from kdtl_who_begin(), before the first kdtl_who_entry()
 * @info: from kdtl_aux_info() of the session of kdtl_steal or kdtl_vpa; must stay until
 *	kdtl_who_end()
 * @e: that session's entries of the same CPU in the order of time, from a span or a
 *	snapshot; must stay until kdtl_who_end()
 * @len: their length in bytes; 0 or an errno: there are none
 *
 * Each entry says that the hypervisor had the CPU for kdtl_entry_wait() until
 * kdtl_entry_time().  That time is taken from the task that seems to have had the CPU, from
 * an interrupt, from @w->idle or from @w->unknown, and added to @w->stolen.  An entry whose
 * wait is saturated takes 4.29 s, so that @w->stolen is then a lower bound.
 *
 * The times of both sources can be compared: kdtl_steal has the clock of kdtl_sched, and the
 * time base of kdtl_vpa is converted.
 *
 * Context: any.
 */
void kdtl_who_stolen(struct kdtl_who *w, const struct kdtl_aux_info *info,
		     const struct kdtl_entry *e, ssize_t len)
{
	kdtl_who_gaps(w, KDTL_TAKER_HYPERVISOR, info, e, len, __func__, _RET_IP_);
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_stolen, KDTL_NS);

/**
 * kdtl_who_interrupts() - tell when interrupts and softirqs had the CPU
 * @w: from kdtl_who_begin(), before the first kdtl_who_entry()
 * @info: from kdtl_aux_info() of the session of kdtl_irq; must stay until kdtl_who_end()
 * @e: that session's entries of the same CPU, as for kdtl_who_stolen()
 * @len: their length in bytes; 0 or an errno: there are none
 *
 * Each interrupt and each softirq gets a row of its own, as a task does.  Its kdtl_ran::pid is
 * below 0, see kdtl_irq_pid(), and its kdtl_ran::comm is its name.  Its time is taken from the
 * task that it interrupted, from @w->idle or from @w->unknown.  With interrupts,
 * kdtl_who_entry() may fill more than one row.
 *
 * Context: any.
 */
void kdtl_who_interrupts(struct kdtl_who *w, const struct kdtl_aux_info *info,
			 const struct kdtl_entry *e, ssize_t len)
{
	kdtl_who_gaps(w, KDTL_TAKER_INTERRUPT, info, e, len, __func__, _RET_IP_);
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_interrupts, KDTL_NS);

/**
 * kdtl_who_entry() - take the next entry of the CPU into account
 * @w: from kdtl_who_begin()
 * @e: entry of kdtl_sched, from a span, a merge or a snapshot
 *
 * It fills at most one more row, unless kdtl_who_interrupts() was called.  So a caller that takes
 * the rows and sets @w->nr to 0 whenever @w->nr reaches @w->size gets all tasks, however many
 * there are, and @w->others stays 0.
 *
 * Context: any.
 */
void kdtl_who_entry(struct kdtl_who *w, const struct kdtl_entry *e)
{
	struct kdtl_run run;
	pid_t prev;
	u64 time;

	if (unlikely(!w || !e)) {
		kdtl_who_refuse(__func__, w ? "an entry" : "a place for the answer", _RET_IP_);
		return;
	}
	prev = kdtl_entry_prev_pid(e);
	time = kdtl_entry_time(e);
	kdtl_who_offline(w, time);
	if (kdtl_runs_next(kdtl_who_runs(w), &kdtl_who_ops, time, prev, kdtl_entry_pid(e), &run)) {
		if (run.known && prev != w->task.pid)
			kdtl_who_exec(w, prev, time);
		kdtl_who_add_run(w, &run);
	}
	w->task.pid = kdtl_entry_pid(e);
	memcpy(w->task.comm, kdtl_entry_comm(e), sizeof(w->task.comm));
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_entry, KDTL_NS);

/**
 * kdtl_who_end() - account for the time after the last entry, and sort
 * @w: from kdtl_who_begin()
 * @still: the task of the last entry, or idle, still had the CPU at the end of the span.
 *	The caller knows that if the entries end later than the span and include those
 *	of KDTL_MASK_IDLE, or if the CPU was not idle.  Otherwise the time after the last
 *	entry is not known
 *
 * The ticks of all rows, @w->others, @w->idle, @w->unknown and @w->stolen add up to the
 * span, exactly.
 *
 * Context: any.
 */
void kdtl_who_end(struct kdtl_who *w, bool still)
{
	struct kdtl_run run;
	unsigned int i, k;

	if (!w) {
		kdtl_who_refuse(__func__, "a place for the answer", _RET_IP_);
		return;
	}
	kdtl_who_offline(w, kdtl_who_runs(w)->to);
	if (still)
		kdtl_who_still(w);
	if (kdtl_runs_end(kdtl_who_runs(w), &kdtl_who_ops, still, &run))
		kdtl_who_add_run(w, &run);
	for (i = 1; i < w->nr; i++) {
		for (k = i; k && w->ran[k - 1].ticks < w->ran[k].ticks; k--)
			swap(w->ran[k - 1], w->ran[k]);
	}
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_end, KDTL_NS);
