/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Who had a CPU from one of its entries to the next
 *
 * An entry says which task got the CPU, and which task had it before.  So if the task that
 * got the CPU with one entry is the task that had it before the next entry, it had the CPU
 * all the time in between.  The same holds for the idle task, which has entries if the
 * session asks for them (KDTL_MASK_IDLE).  Otherwise it is not known who had the CPU: entries
 * are missing, or the CPU was idle and no entry says since when.
 *
 * A task's pid changes in one case only: a thread that is not the leader of its process gets
 * the leader's pid with exec().  The user's records of tasks tell this case from missing
 * entries.
 *
 * If entries were lost, or left out because their tasks waited for too short a time, other
 * tasks may have had the CPU between two entries that begin and end with the same task.  The
 * user reports this with kdtl_runs_lost().
 *
 * In a guest a task has a virtual CPU, which the hypervisor may take away.  That time belongs
 * to no task in the guest.  Nor does the time of an interrupt belong to the task that it
 * interrupts.  If the hypervisor takes the CPU during an interrupt, the time is the
 * hypervisor's.
 *
 * This is plain C without kernel calls, for both kdtl_answers.ko and kdtl(1).  It is compiled
 * into its users, so that their functions are called directly: a call through a pointer costs
 * as much as all the rest of an entry.  Times may have any unit, but the same everywhere; they
 * are compared by their distance, so a span must be shorter than 2^63.
 */
#ifndef _KDTL_ENGINE_RUNS_H
#define _KDTL_ENGINE_RUNS_H

#include <linux/types.h>

#ifndef __KERNEL__
#include <stdbool.h>
#include <stddef.h>
#endif

/**
 * enum kdtl_taker - who had a CPU instead of the task or the idle task
 * @KDTL_TAKER_HYPERVISOR: the hypervisor
 * @KDTL_TAKER_INTERRUPT: an interrupt or a softirq
 * @KDTL_NR_TAKERS: number of takers; if two overlap in time, the first in this list had the CPU
 */
enum kdtl_taker {
	KDTL_TAKER_HYPERVISOR,
	KDTL_TAKER_INTERRUPT,
	KDTL_NR_TAKERS,
};

/**
 * struct kdtl_gap - a time in which a taker had a CPU
 * @from: when it began
 * @to: when it ended
 */
struct kdtl_gap {
	__u64	from;
	__u64	to;
};

/**
 * struct kdtl_run - a time in which one task had a CPU, or it was idle, or it is not known
 * @pid: pid with which the task left the CPU; 0: the CPU was idle
 * @known: it is known that this task had the CPU, or that the CPU was idle
 * @from: when it began
 * @to: when it ended, later than @from
 * @taken: how long takers had the CPU meanwhile
 */
struct kdtl_run {
	__s32	pid;
	bool	known;
	__u64	from;
	__u64	to;
	__u64	taken;
};

/**
 * struct kdtl_runs_ops - functions of the engine's user, who passes the same constant each time
 * @task: finds the task that had pid at time, and sets tgid to the pid of the leader of its
 *	process, and since to when the task became what it was then.  Returns false if that is
 *	not known.  Called only for two entries that do not fit together.  NULL: it is never known
 * @gap: sets gap to the next time in which the taker by had the CPU, in the order of time.
 *	Returns false if there is none.  NULL: there are no takers
 * @took: the taker by had the CPU for part of the run that is told next: all or a part of what
 *	@gap has last set for it.  Not NULL if @gap is not
 */
struct kdtl_runs_ops {
	bool	(*task)(void *data, __s32 pid, __u64 time, __s32 *tgid, __u64 *since);
	bool	(*gap)(void *data, enum kdtl_taker by, struct kdtl_gap *gap);
	void	(*took)(void *data, enum kdtl_taker by, const struct kdtl_gap *part);
};

/**
 * struct kdtl_runs - a look at one CPU's entries in the order of time
 * @data: the user's, for the functions of struct kdtl_runs_ops
 * @at: time until which runs have been told
 * @to: end of the span that is asked about
 * @since: time of the last entry
 * @gap: for each taker, the time that is not over at @at, if there is one
 * @pid: the task of the last entry; 0: the CPU became idle
 * @known: there is a last entry, and none was lost after it
 * @has_gap: a bit for each taker, by enum kdtl_taker, that has a @gap
 * @may_gap: a bit for each taker that has a @gap, or may get one
 */
struct kdtl_runs {
	void		*data;
	__u64		at;
	__u64		to;
	__u64		since;
	struct kdtl_gap	gap[KDTL_NR_TAKERS];
	__s32		pid;
	bool		known;
	__u8		has_gap;
	__u8		may_gap;
};

static inline bool runs_before(__u64 a, __u64 b)
{
	return (__s64)(a - b) < 0;
}

/**
 * kdtl_runs_begin() - begin to look at a CPU
 * @r: filled in
 * @data: the user's; must stay
 * @from: begin of the span that is asked about
 * @to: its end
 *
 * Then call kdtl_runs_next() for the CPU's entries in the order of time, beginning with an entry
 * from before the span, and kdtl_runs_end().  The runs that these tell fill the span without a
 * hole.
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
	r->has_gap = 0;
	r->may_gap = (1 << KDTL_NR_TAKERS) - 1;
}

/**
 * kdtl_runs_exec() - has a task got another pid by exec()?
 * @ops: the user's functions
 * @data: for @ops
 * @pid: the task, when it got a CPU
 * @since: when it got the CPU
 * @now: pid with which a task left that CPU
 * @time: when it left the CPU
 *
 * Context: any.
 * Return: true if @now was the pid of the leader of @pid's process at @since, and that process
 * has changed since then; false if not, or if it is not known.
 */
static inline bool kdtl_runs_exec(const struct kdtl_runs_ops *ops, void *data, __s32 pid,
				  __u64 since, __s32 now, __u64 time)
{
	__u64 changed;
	__s32 tgid;

	/* The idle task, whose entries are missing most often, does not call exec(). */
	return pid > 0 && now > 0 && pid != now && ops->task &&
	       ops->task(data, pid, since, &tgid, &changed) && tgid == now &&
	       ops->task(data, now, time, &tgid, &changed) &&
	       !runs_before(changed, since) && !runs_before(time, changed);
}

/**
 * kdtl_runs_had() - did the task of the last entry have the CPU from then until @time?
 * @r: from kdtl_runs_begin()
 * @ops: the user's functions
 * @time: the time
 * @prev: pid with which it left the CPU at @time, or has it; 0: idle
 *
 * Context: any.
 * Return: true if so; false if not, or if it is not known.
 */
static inline bool kdtl_runs_had(const struct kdtl_runs *r, const struct kdtl_runs_ops *ops,
				 __u64 time, __s32 prev)
{
	return r->known && (r->pid == prev ||
			    kdtl_runs_exec(ops, r->data, r->pid, r->since, prev, time));
}

/* The taker's time that is not over at @at; NULL: none. */
static __always_inline const struct kdtl_gap *runs_gap(struct kdtl_runs *r,
						       const struct kdtl_runs_ops *ops,
						       enum kdtl_taker by, __u64 at)
{
	const __u8 bit = 1 << by;

	if (r->has_gap & bit && runs_before(at, r->gap[by].to))
		return &r->gap[by];
	r->has_gap &= ~bit;
	while (r->may_gap & bit) {
		if (!ops->gap(r->data, by, &r->gap[by])) {
			r->may_gap &= ~bit;
		} else if (runs_before(at, r->gap[by].to)) {
			r->has_gap |= bit;
			return &r->gap[by];
		}
	}
	return NULL;
}

/* Who has the CPU at @at; KDTL_NR_TAKERS: the task.  Lowers @to to when that ends. */
static __always_inline enum kdtl_taker runs_taker(struct kdtl_runs *r,
						  const struct kdtl_runs_ops *ops,
						  __u64 at, __u64 *to)
{
	const struct kdtl_gap *gap;
	unsigned int by;

	for (by = 0; by < KDTL_NR_TAKERS; by++) {
		gap = runs_gap(r, ops, by, at);
		if (!gap)
			continue;
		if (runs_before(at, gap->from)) {
			if (runs_before(gap->from, *to))
				*to = gap->from;
			continue;
		}
		if (runs_before(gap->to, *to))
			*to = gap->to;
		break;
	}
	return by;
}

/* How long takers had the CPU between @from and @to.  Times that overlap count once. */
static __always_inline __u64 runs_taken(struct kdtl_runs *r, const struct kdtl_runs_ops *ops,
					__u64 from, __u64 to)
{
	struct kdtl_gap part = { .from = from };
	enum kdtl_taker by;
	__u64 sum = 0;

	if (!ops->gap)
		return 0;
	while (r->may_gap | r->has_gap && runs_before(part.from, to)) {
		part.to = to;
		by = runs_taker(r, ops, part.from, &part.to);
		if (by != KDTL_NR_TAKERS) {
			sum += part.to - part.from;
			ops->took(r->data, by, &part);
		}
		part.from = part.to;
	}
	return sum;
}

/* Tell a run until @to, or until the end of the span; false if no time is left for it. */
static __always_inline bool runs_until(struct kdtl_runs *r, const struct kdtl_runs_ops *ops,
				       __u64 to, __s32 pid, bool known, struct kdtl_run *run)
{
	if (runs_before(r->to, to))
		to = r->to;
	if (!runs_before(r->at, to))
		return false;
	*run = (struct kdtl_run) {
		.pid = pid, .known = known, .from = r->at, .to = to,
		.taken = runs_taken(r, ops, r->at, to),
	};
	r->at = to;
	return true;
}

/**
 * kdtl_runs_next() - go on with the CPU's next entry
 * @r: from kdtl_runs_begin()
 * @ops: the user's functions
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
 * kdtl_runs_lost() - say that entries may be missing after the last one
 * @r: from kdtl_runs_begin()
 *
 * Context: any.
 */
static inline void kdtl_runs_lost(struct kdtl_runs *r)
{
	r->known = false;
}

/**
 * kdtl_runs_end() - tell the last run, which ends with the span
 * @r: from kdtl_runs_begin()
 * @ops: the user's functions
 * @still: the task of the last entry, or idle, has the CPU until the end of the span
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
