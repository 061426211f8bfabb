// SPDX-License-Identifier: GPL-2.0
/*
 * Who had a CPU in a span of time, from the entries of kdtl_sched
 *
 * engine/runs.h finds it out; here it is added up.
 *
 * There may be more tasks than rows.  Which of them have most is found as "filtered space
 * saving" does: a task without a row adds to one common sum, @w->rest, and takes the place
 * of the row with the least once that sum is as much.  A row counts from then on, but is
 * compared with @before on top, the sum at that time, which may all have been the task's.
 * The rows, with @before, and the rest add up to the time of all tasks, and the rest is
 * never more than a row.  So what a task without a row had, or a row does not tell, is at
 * most that time divided by the number of rows plus one.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/build_bug.h>
#include <linux/export.h>
#include <linux/kdtl_answers.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "../../core/compat.h"
#include "engine/runs.h"
#include "tasks.h"

/* Say that a pointer is missing; nothing happens then. */
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

/* The row with the least time, which makes room for a task that has more; or NULL. */
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

/* The current task has no row, and there is none left: it takes another's, or gets NULL. */
static struct kdtl_ran *kdtl_who_replace(struct kdtl_who *w, u64 ticks)
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
	*row = w->task;
	row->before = before;
	return row;
}

/* The current task had the CPU, but for what the hypervisor had: for @ticks. */
static void kdtl_who_add(struct kdtl_who *w, const struct kdtl_run *run, u64 ticks)
{
	struct kdtl_ran *row = kdtl_who_row(w, w->task.pid);

	if (row) {
		/* A program may be called by its name only since then. */
		memcpy(row->comm, w->task.comm, sizeof(row->comm));
	} else if (w->nr < w->size) {
		row = &w->ran[w->nr++];
		*row = w->task;
	} else {
		row = kdtl_who_replace(w, ticks);
		if (!row)
			return;
	}
	row->ticks += ticks;
	if (ticks > row->longest) {
		row->longest = ticks;
		row->time = run->from + (run->to - run->from) / 2;
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

static __always_inline bool kdtl_who_gap(void *who, struct kdtl_gap *gap)
{
	struct kdtl_who *w = who;
	const struct kdtl_entry *e = w->gap;

	if (e == w->gap_end)
		return false;
	w->gap++;
	gap->to = kdtl_ticks_to_ns(w->gap_info, kdtl_entry_time(e) - w->gap_info->tb_boot);
	gap->from = gap->to - kdtl_ticks_to_ns(w->gap_info, kdtl_entry_wait(e));
	return true;
}

static const struct kdtl_runs_ops kdtl_who_ops = {
	.task	= kdtl_who_task,
	.gap	= kdtl_who_gap,
};

/*
 * The current task has called exec(), and left the CPU at @time as @pid, which its process's
 * leader had before: the time since its dispatch belongs to the new program.
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
	const u64 ticks = run->to - run->from - run->stolen;

	w->stolen += run->stolen;
	/* A task that had nothing of it is not one that had the CPU. */
	if (!ticks)
		return;
	if (!run->known)
		w->unknown += ticks;
	else if (!run->pid)
		w->idle += ticks;
	else
		kdtl_who_add(w, run, ticks);
}

/*
 * The current task has the CPU at the end of the span.  If nobody has the pid any more that it got
 * the CPU with, it may have called exec().
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
 * @w: its @ran has room for @size tasks; the rest is filled in.  As with all of these
 *	functions, nothing happens if it is NULL, but a line in the log
 * @from: begin of the span, in ticks
 * @to: end of the span, in ticks, less than 2^63 after @from; if it is not, or is before
 *	@from, nobody had the CPU
 *
 * Then give it the CPU's entries in the order of time, from one before the span on, with
 * kdtl_who_entry(), and end with kdtl_who_end().
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
	w->gap_info = NULL;
	w->gap = NULL;
	w->gap_end = NULL;
	kdtl_runs_begin(kdtl_who_runs(w), w, from, to);
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_begin, KDTL_NS);

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
 * kdtl_entry_time().  That much is taken from the task that seems to have had it then, from
 * the idle time or from the time that is not known, and is in @w->stolen.  An entry whose
 * wait is saturated takes 4.29 s, so then @w->stolen is a lower bound.
 *
 * Both sources are on one clock: kdtl_steal has that of kdtl_sched, and the time base of
 * kdtl_vpa is converted.
 *
 * Context: any.
 */
void kdtl_who_stolen(struct kdtl_who *w, const struct kdtl_aux_info *info,
		     const struct kdtl_entry *e, ssize_t len)
{
	if (!w || (len >= (ssize_t)sizeof(*e) && (!info || !e))) {
		kdtl_who_refuse(__func__, w ? "the entries and what belongs to them" :
				"a place for the answer", _RET_IP_);
		return;
	}
	if (len < (ssize_t)sizeof(*e))
		return;
	w->gap_info = info;
	w->gap = e;
	w->gap_end = e + len / sizeof(*e);
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_stolen, KDTL_NS);

/**
 * kdtl_who_entry() - take the next entry of the CPU into account
 * @w: from kdtl_who_begin()
 * @e: entry of kdtl_sched, from a span, a merge or a snapshot
 *
 * It fills at most one more row.  So a caller that takes the rows and sets @w->nr to 0
 * whenever @w->size is reached gets all tasks, however many there are, and @w->others stays 0.
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
