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
 * belongs to nobody in the guest.  Nor is that of an interrupt the time of the task which it
 * interrupts.  What the hypervisor had of an interrupt's time is the hypervisor's.
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
#include <stddef.h>
#endif

/**
 * enum kdtl_taker - who had a CPU instead of the task or the idle task
 * @KDTL_TAKER_HYPERVISOR: the hypervisor
 * @KDTL_TAKER_INTERRUPT: an interrupt or a softirq
 * @KDTL_NR_TAKERS: number of these; of two at one time, the first one had the CPU
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
 * struct kdtl_run - a time in which one task had a CPU, or it was idle, or nobody knows
 * @pid: as which the task left the CPU; 0: the CPU was idle
 * @known: it is known that this task had the CPU, or that it was idle
 * @from: when it began
 * @to: when it ended, later than @from
 * @taken: for how long of that takers had the CPU
 */
struct kdtl_run {
	__s32	pid;
	bool	known;
	__u64	from;
	__u64	to;
	__u64	taken;
};

/**
 * struct kdtl_runs_ops - what the engine asks its user, who passes the same constant each time
 * @task: sets @tgid to the pid of the leader of the process of the task that had @pid at @time,
 *	and @since to when that task has become what it was then.  Returns false if nobody knows.
 *	It is only asked about two entries that do not fit together.  NULL: nobody ever knows
 * @gap: sets @gap to the next time in which @by had the CPU, in their order.  Returns false if
 *	there is none.  NULL: there are none
 * @took: @by had the CPU for @part of the run that is told next.  It is a part of what @gap has
 *	set last for this @by, or all of it.  There if @gap is
 */
struct kdtl_runs_ops {
	bool	(*task)(void *data, __s32 pid, __u64 time, __s32 *tgid, __u64 *since);
	bool	(*gap)(void *data, enum kdtl_taker by, struct kdtl_gap *gap);
	void	(*took)(void *data, enum kdtl_taker by, const struct kdtl_gap *part);
};

/**
 * struct kdtl_runs - a look at one CPU's entries in the order of time
 * @data: of the user, for his functions
 * @at: the runs until then have been told
 * @to: end of the span that is asked about
 * @since: time of the last entry
 * @gap: of each taker the time that is not over at @at, if there is one
 * @pid: the task of the last entry; 0: the CPU became idle
 * @known: there is a last entry, and none was lost after it
 * @has_gap: by enum kdtl_taker, a bit for each that has a @gap
 * @may_gap: a bit for each that has or may get one
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
	r->has_gap = 0;
	r->may_gap = (1 << KDTL_NR_TAKERS) - 1;
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

/* Who has the CPU at @at; KDTL_NR_TAKERS: the task.  If that ends before @to, sets @to. */
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

/* For how long takers had the CPU from @from until @to.  Times that overlap count once. */
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
		.taken = runs_taken(r, ops, r->at, to),
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
