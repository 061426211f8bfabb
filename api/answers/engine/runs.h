/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who had a CPU from one of its entries to the next
 *
 * An entry says which task got the CPU, and which one had it before.  So if the task of
 * one entry is the one before the next entry, it had the CPU all the time in between.
 * The same holds for the idle task, which has entries if the session asks for them
 * (KDTL_MASK_IDLE).  Otherwise entries are missing, or the CPU was idle and no entry says
 * since when: then that time is not known.
 *
 * A task has one pid but for this: a thread that is not the leader of its process gets the
 * leader's pid with exec().  The user's records of tasks tell that from entries that are
 * missing.
 *
 * If entries were lost, or left out because their tasks waited for too short a time, two
 * entries may begin and end with the same task and others had the CPU in between.  The user
 * says so with kdtl_runs_lost().
 *
 * In a guest a task has a virtual CPU, which the hypervisor may keep from it.  That time
 * belongs to nobody in the guest.
 *
 * This is plain C without a kernel's calls: kdtl_answers.ko and kdtl(1) both have it.  It is
 * compiled into its users, so that their functions are called directly: a call through a pointer
 * costs as much as all the rest of an entry.  Times have any unit, the same everywhere, and are
 * compared by their distance: a span is shorter than 2^63.
 */
#ifndef _KDTL_ENGINE_RUNS_H
#define _KDTL_ENGINE_RUNS_H

#include <linux/types.h>

#ifndef __KERNEL__
#include <stdbool.h>
#endif

/**
 * struct kdtl_gap - a time in which a hypervisor had a CPU
 * @from: when it began
 * @to: when it ended
 */
struct kdtl_gap {
	__u64	from;
	__u64	to;
};

/**
 * struct kdtl_run - a time in which one task had a CPU, or it was idle, or nobody knows
 * @pid: as which the task left the CPU; 0: the CPU was idle
 * @known: it is known that this task had the CPU, or that it was idle
 * @from: when it began
 * @to: when it ended, later than @from
 * @stolen: for how long of that a hypervisor had the CPU
 */
struct kdtl_run {
	__s32	pid;
	bool	known;
	__u64	from;
	__u64	to;
	__u64	stolen;
};

/**
 * struct kdtl_runs_ops - what the engine asks its user, who passes the same constant each time
 * @task: sets @tgid to the pid of the leader of the process of the task that had @pid at @time,
 *	and @since to when that task has become what it was then.  Returns false if nobody knows.
 *	It is only asked about two entries that do not fit together.  NULL: nobody ever knows
 * @gap: sets @gap to the next time in which a hypervisor had the CPU, in their order.  Returns
 *	false if there is none.  NULL: there are none
 */
struct kdtl_runs_ops {
	bool	(*task)(void *data, __s32 pid, __u64 time, __s32 *tgid, __u64 *since);
	bool	(*gap)(void *data, struct kdtl_gap *gap);
};

/**
 * struct kdtl_runs - a look at one CPU's entries in the order of time
 * @data: of the user, for his functions
 * @at: the runs until then have been told
 * @to: end of the span that is asked about
 * @since: time of the last entry
 * @gap: the hypervisor's time that is not over at @at, if @has_gap
 * @pid: the task of the last entry; 0: the CPU became idle
 * @known: there is a last entry, and none was lost after it
 * @has_gap: there is a @gap
 */
struct kdtl_runs {
	void		*data;
	__u64		at;
	__u64		to;
	__u64		since;
	struct kdtl_gap	gap;
	__s32		pid;
	bool		known;
	bool		has_gap;
};

static inline bool runs_before(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0;
}

/**
 * kdtl_runs_begin() - begin to look at a CPU
 * @r: filled in
 * @data: of the user; must stay
 * @from: begin of the span that is asked about
 * @to: its end
 *
 * Then come the CPU's entries in the order of time, from one before the span on, with
 * kdtl_runs_next(), and kdtl_runs_end().  The runs that these tell fill the span without
 * a hole.
 *
 * Context: any.
 */
static inline void kdtl_runs_begin(struct kdtl_runs *r, void *data, __u64 from, __u64 to)
{
	r->data = data;
	r->at = from;
	r->to = to;
	r->pid = 0;
	r->known = false;
	r->has_gap = false;
}

/**
 * kdtl_runs_exec() - whether a task has got another pid by exec()
 * @ops: of the user
 * @data: for @ops
 * @pid: the task, when it got a CPU
 * @since: when that was
 * @now: as which a task left that CPU
 * @time: when that was
 *
 * Context: any.
 * Return: true if @now was the pid of the leader of @pid's process at @since, and that process
 * has changed since then; false if not, or if nobody knows.
 */
static inline bool kdtl_runs_exec(const struct kdtl_runs_ops *ops, void *data, __s32 pid,
				  __u64 since, __s32 now, __u64 time)
{
	__u64 changed;
	__s32 tgid;

	/* Idle, which is what most often was not logged, does not call exec(). */
	return pid > 0 && now > 0 && pid != now && ops->task &&
	       ops->task(data, pid, since, &tgid, &changed) && tgid == now &&
	       ops->task(data, now, time, &tgid, &changed) &&
	       !runs_before(changed, since) && !runs_before(time, changed);
}

/**
 * kdtl_runs_had() - whether the task of the last entry had the CPU since then
 * @r: from kdtl_runs_begin()
 * @ops: of the user
 * @time: until then
 * @prev: as which pid it left the CPU, or has it; 0: idle
 *
 * Context: any.
 * Return: true if so; false if not, or if nobody knows.
 */
static inline bool kdtl_runs_had(const struct kdtl_runs *r, const struct kdtl_runs_ops *ops,
				 __u64 time, __s32 prev)
{
	return r->known && (r->pid == prev ||
			    kdtl_runs_exec(ops, r->data, r->pid, r->since, prev, time));
}

static inline bool runs_next_gap(struct kdtl_runs *r, const struct kdtl_runs_ops *ops)
{
	if (!r->has_gap && ops->gap)
		r->has_gap = ops->gap(r->data, &r->gap);
	return r->has_gap;
}

/* For how long a hypervisor had the CPU from @from until @to. */
static __always_inline __u64 runs_stolen(struct kdtl_runs *r, const struct kdtl_runs_ops *ops,
					 __u64 from, __u64 to)
{
	__u64 begin, end, sum = 0;

	while (runs_next_gap(r, ops)) {
		begin = runs_before(r->gap.from, from) ? from : r->gap.from;
		end = runs_before(to, r->gap.to) ? to : r->gap.to;
		if (runs_before(begin, end)) {
			sum += end - begin;
			/* Gaps that overlap, as clocks may say, count once. */
			from = end;
		}
		/* The next run may have a part of it. */
		if (runs_before(to, r->gap.to))
			break;
		r->has_gap = false;
	}
	return sum;
}

/* Tell the time until @to, if there is any of it. */
static __always_inline bool runs_until(struct kdtl_runs *r, const struct kdtl_runs_ops *ops,
				       __u64 to, __s32 pid, bool known, struct kdtl_run *run)
{
	if (runs_before(r->to, to))
		to = r->to;
	if (!runs_before(r->at, to))
		return false;
	*run = (struct kdtl_run) {
		.pid = pid, .known = known, .from = r->at, .to = to,
		.stolen = runs_stolen(r, ops, r->at, to),
	};
	r->at = to;
	return true;
}

/**
 * kdtl_runs_next() - go on with the CPU's next entry
 * @r: from kdtl_runs_begin()
 * @ops: of the user
 * @time: the entry's time
 * @prev: the task that had the CPU before; 0: it was idle
 * @pid: the task that got the CPU; 0: it became idle
 * @run: filled in, if it returns true
 *
 * Context: any.
 * Return: true if there is a run that ends with this entry, or with the span; false if all of
 * it is outside the span.
 */
static inline bool kdtl_runs_next(struct kdtl_runs *r, const struct kdtl_runs_ops *ops,
				  __u64 time, __s32 prev, __s32 pid, struct kdtl_run *run)
{
	const bool known = kdtl_runs_had(r, ops, time, prev);
	const bool some = runs_until(r, ops, time, prev, known, run);

	r->known = true;
	r->since = time;
	r->pid = pid;
	return some;
}

/**
 * kdtl_runs_lost() - after the last entry there may be others that are missing
 * @r: from kdtl_runs_begin()
 *
 * Context: any.
 */
static inline void kdtl_runs_lost(struct kdtl_runs *r)
{
	r->known = false;
}

/**
 * kdtl_runs_end() - the span ends
 * @r: from kdtl_runs_begin()
 * @ops: of the user
 * @still: the task of the last entry, or idle, has the CPU until then
 * @run: filled in, if it returns true
 *
 * Context: any.
 * Return: true if there is a run that ends with the span.
 */
static inline bool kdtl_runs_end(struct kdtl_runs *r, const struct kdtl_runs_ops *ops, bool still,
				 struct kdtl_run *run)
{
	return runs_until(r, ops, r->to, r->pid, r->known && still, run);
}

#endif /* _KDTL_ENGINE_RUNS_H */
