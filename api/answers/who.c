// SPDX-License-Identifier: GPL-2.0
/*
 * Who had a CPU in a span of time, from the entries of kdtl_sched
 *
 * An entry says which task got the CPU, and which one had it before.  So if the task of
 * one entry is the one before the next entry, it had the CPU all the time in between.
 * The same holds for the idle task, which has entries if the session asks for them
 * (KDTL_MASK_IDLE).  Otherwise entries are missing, or the CPU was idle and no entry says
 * since when: then that time is not known.
 *
 * A task has one pid but for this: a thread that is not the leader of its process gets the
 * leader's pid with exec().  The table of tasks tells that from entries that are missing.
 *
 * There may be more tasks than rows.  Which of them have most is found as "filtered space
 * saving" does: a task without a row adds to one common sum, @w->rest, and takes the place
 * of the row with the least once that sum is as much.  A row counts from then on, but is
 * compared with @before on top, the sum at that time, which may all have been the task's.
 * The rows, with @before, and the rest add up to the time of all tasks, and the rest is
 * never more than a row.  So what a task without a row had, or a row does not tell, is at
 * most that time divided by the number of rows plus one.
 *
 * In a guest a task has a virtual CPU, which the hypervisor may keep from it.  The entries
 * of kdtl_steal or kdtl_vpa say when, and that time belongs to nobody in the guest.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kdtl_answers.h>
#include <linux/printk.h>
#include <linux/string.h>

#include "../../core/compat.h"
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

/* The current task had the CPU from @from until @to, but for what the hypervisor had: @ticks. */
static void kdtl_who_add(struct kdtl_who *w, u64 from, u64 to, u64 ticks)
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
		row->time = from + (to - from) / 2;
	}
}

/* When a hypervisor gave the CPU back, by local_clock(). */
static u64 kdtl_gap_end(const struct kdtl_who *w, const struct kdtl_entry *gap)
{
	return kdtl_ticks_to_ns(w->gap_info, kdtl_entry_time(gap) - w->gap_info->tb_boot);
}

/* For how long the hypervisor had the CPU from @from until @to. */
static u64 kdtl_who_gaps(struct kdtl_who *w, u64 from, u64 to)
{
	u64 begin, end, left, ns = 0;

	for (; w->gap < w->gap_end; w->gap++) {
		end = kdtl_gap_end(w, w->gap);
		begin = end - kdtl_ticks_to_ns(w->gap_info, kdtl_entry_wait(w->gap));
		left = end - to;
		if ((s64)left > 0)
			end = to;
		if ((s64)(begin - from) < 0)
			begin = from;
		if ((s64)(end - begin) > 0) {
			ns += end - begin;
			/* Gaps that overlap, as clocks may say, count once. */
			from = end;
		}
		/* The next task, or the next entry, may have a part of it. */
		if ((s64)left > 0)
			break;
	}
	return ns;
}

/*
 * The current task has called exec(), and left the CPU at @time as @pid, which its process's
 * leader had before: that time belongs to the new program.
 */
static bool kdtl_who_exec(struct kdtl_who *w, pid_t pid, u64 time)
{
	struct kdtl_task now;

	if (!kdtl_task_exec(w->tasks, w->task.pid, w->since, pid, time) ||
	    kdtl_task_at(w->tasks, pid, time, &now))
		return false;
	w->task.pid = pid;
	memcpy(w->task.comm, now.comm, sizeof(w->task.comm));
	return true;
}

/* The same, if it has the CPU at the end of the span, but not the pid that it got it with. */
static void kdtl_who_still(struct kdtl_who *w)
{
	struct kdtl_task thread;

	if (w->task.pid && !kdtl_task_at(w->tasks, w->task.pid, w->since, &thread) &&
	    kdtl_table_gone(w->task.pid))
		kdtl_who_exec(w, thread.tgid, w->to);
}

/* Account for the time from @w->at until @to. */
static void kdtl_who_until(struct kdtl_who *w, u64 to, bool known)
{
	const u64 from = w->at;
	u64 ticks, stolen;

	/* Times are compared by their distance, as positions are. */
	if ((s64)(to - w->to) > 0)
		to = w->to;
	if ((s64)(to - from) <= 0)
		return;
	stolen = kdtl_who_gaps(w, from, to);
	w->stolen += stolen;
	ticks = to - from - stolen;
	w->at = to;
	/* A task that had nothing of it is not one that had the CPU. */
	if (!ticks)
		return;
	if (!known)
		w->unknown += ticks;
	else if (!w->task.pid)
		w->idle += ticks;
	else
		kdtl_who_add(w, from, to, ticks);
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
	w->at = from;
	w->to = to;
	w->known = false;
	w->since = from;
	w->task = (struct kdtl_ran) { };
	w->gap_info = NULL;
	w->gap = NULL;
	w->gap_end = NULL;
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
	pid_t prev;
	u64 time;

	if (unlikely(!w || !e)) {
		kdtl_who_refuse(__func__, w ? "an entry" : "a place for the answer", _RET_IP_);
		return;
	}
	prev = kdtl_entry_prev_pid(e);
	time = kdtl_entry_time(e);
	kdtl_who_until(w, time, w->known && (prev == w->task.pid || kdtl_who_exec(w, prev, time)));
	w->known = true;
	w->since = time;
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
	unsigned int i, k;

	if (!w) {
		kdtl_who_refuse(__func__, "a place for the answer", _RET_IP_);
		return;
	}
	still = still && w->known;
	if (still)
		kdtl_who_still(w);
	kdtl_who_until(w, w->to, still);
	for (i = 1; i < w->nr; i++) {
		for (k = i; k && w->ran[k - 1].ticks < w->ran[k].ticks; k--)
			swap(w->ran[k - 1], w->ran[k]);
	}
}
EXPORT_SYMBOL_NS_GPL(kdtl_who_end, KDTL_NS);
