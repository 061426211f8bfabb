/* SPDX-License-Identifier: GPL-2.0 */
/* Who had a CPU from one of its entries to the next; see runs.c. */
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
 * struct kdtl_runs_ops - what the engine asks its user
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
 * @ops: of the user
 * @data: for @ops
 * @at: the runs until then have been told
 * @to: end of the span that is asked about
 * @since: time of the last entry
 * @gap: the hypervisor's time that is not over at @at, if @has_gap
 * @pid: the task of the last entry; 0: the CPU became idle
 * @known: there is a last entry, and none was lost after it
 * @has_gap: there is a @gap
 */
struct kdtl_runs {
	const struct kdtl_runs_ops	*ops;
	void				*data;
	__u64				at;
	__u64				to;
	__u64				since;
	struct kdtl_gap			gap;
	__s32				pid;
	bool				known;
	bool				has_gap;
};

void kdtl_runs_begin(struct kdtl_runs *r, const struct kdtl_runs_ops *ops, void *data,
		     __u64 from, __u64 to);
bool kdtl_runs_next(struct kdtl_runs *r, __u64 time, __s32 prev, __s32 pid,
		    struct kdtl_run *run);
void kdtl_runs_lost(struct kdtl_runs *r);
bool kdtl_runs_had(const struct kdtl_runs *r, __u64 time, __s32 prev);
bool kdtl_runs_end(struct kdtl_runs *r, bool still, struct kdtl_run *run);
bool kdtl_runs_exec(const struct kdtl_runs_ops *ops, void *data, __s32 pid, __u64 since,
		    __s32 now, __u64 time);

#endif /* _KDTL_ENGINE_RUNS_H */
