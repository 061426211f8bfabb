/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Pressure by cause: how long the tasks of a group waited on a CPU, and because of whom
 *
 * Plain C: no kernel function is called, and nothing is allocated.
 *
 * A group is a cgroup with all cgroups below it.  On one CPU, let R be the times in which its
 * tasks had the CPU, and W the times in which at least one of its tasks could not run although it
 * was ready: it was in this CPU's queue, or in the queue of another CPU before it was moved here,
 * or a limit on CPU time held it back.  Then
 *
 *	some = |W|, own = |W and R|, full = |W without R|
 *
 * and each moment of full has one cause.  If a task was in this CPU's queue at that moment, the
 * cause is who had the CPU: a neighbour, the hypervisor, nobody, or not known.  Otherwise, if a
 * task was in another queue, the cause is that queue, and the rest is the group's own limit.
 *
 * A CPU's log tells of a wait when the wait ends, so each wait that is told ends now.  The times in
 * which a group waited are therefore a stack: a wait replaces those that began after it.  A wait
 * that goes on may be told as if it ended now, and again later: only its new part counts.
 */
#ifndef _KDTL_ENGINE_PRESSURE_H
#define _KDTL_ENGINE_PRESSURE_H

#include <linux/types.h>

/* Each must be a power of two. */
#ifndef PRESSURE_RUNS
#define PRESSURE_RUNS	1024	/* who had the CPU lately */
#define PRESSURE_STEP	64	/* after so many runs the sums are saved */
#define PRESSURE_HELD	512	/* times in which groups waited, of all groups */
#endif
#define PRESSURE_SAVED	(PRESSURE_RUNS / PRESSURE_STEP)

#define PRESSURE_BY	4	/* neighbours of a group that are named */

/* Who had a CPU, if it was no task of a group. */
enum {
	PRESSURE_NOBODY		= -1,	/* the CPU was idle */
	PRESSURE_HYPERVISOR	= -2,
	PRESSURE_UNKNOWN	= -3,
	PRESSURE_GONE		= -4,	/* a group that has ended */
};

/* Why a group's tasks waited.  All add up to "some", all but the first to "full". */
enum pressure_cause {
	PRESSURE_BY_OWN,	/* other tasks of the group had the CPU */
	PRESSURE_BY_NEIGHBOURS,	/* tasks of other groups had the CPU */
	PRESSURE_BY_HYPERVISOR,
	PRESSURE_BY_NOBODY,	/* the CPU was idle */
	PRESSURE_BY_UNKNOWN,	/* the log does not tell who had the CPU */
	PRESSURE_BY_ELSEWHERE,	/* in the queue of another CPU, whose log tells who had it */
	PRESSURE_BY_QUOTA,	/* a limit on CPU time of the group, or of one above or below it */
	PRESSURE_CAUSES
};

/* Times in which a group had to wait.  Each level contains the times of the levels before it. */
enum pressure_level {
	PRESSURE_QUEUED,	/* in the queue of the CPU */
	PRESSURE_READY,		/* or in the queue of another CPU */
	PRESSURE_ALL,		/* or held back by a limit */
	PRESSURE_LEVELS
};

/**
 * struct pressure_sum - ticks of a time, by who had the CPU
 * @all: all ticks
 * @own: ticks of the group's own tasks
 * @nobody: ticks in which the CPU was idle
 * @hypervisor: ticks of the hypervisor
 * @unknown: ticks in which it is not known who had the CPU; the rest of @all is of other groups
 */
struct pressure_sum {
	__u64	all;
	__u64	own;
	__u64	nobody;
	__u64	hypervisor;
	__u64	unknown;
};

/**
 * struct pressure_by - a neighbour
 * @group: its number, or %PRESSURE_GONE
 * @ticks: how long it had a CPU for which the group waited
 */
struct pressure_by {
	__s32	group;
	__u64	ticks;
};

/**
 * struct pressure_group - a group, on all CPUs
 * @parent: number of the group that contains it; -1: none that is counted
 * @depth: how many groups contained it when it began; more than the depth of any of them
 * @sum: ticks of the union of its waits, by enum pressure_level
 * @tasks: sums of its tasks' waits by cause, in which each waiting task counts; only of waits
 *	that are over.  A task that was held back while another task of its own group had the CPU
 *	counts as waiting for that task
 * @culprit: how long it had CPUs for which others waited, once for each cgroup whose own tasks
 *	waited
 * @by: the neighbours that it waited for most.  If there were more than %PRESSURE_BY, each
 *	may have had less than its row says, by no more than the least row.  Call
 *	pressure_settle() for each CPU before you look at this or at @culprit
 */
struct pressure_group {
	__s32			parent;
	__s32			depth;
	struct pressure_sum	sum[PRESSURE_LEVELS];
	__u64			tasks[PRESSURE_CAUSES];
	__u64			culprit;
	struct pressure_by	by[PRESSURE_BY];
};

/**
 * struct pressure - all groups
 * @nr: number of elements of @groups
 * @groups: the groups
 */
struct pressure {
	__s32			nr;
	struct pressure_group	*groups;
};

struct pressure_cpu;	/* opaque: what was on a CPU lately */

void pressure_group_begin(struct pressure *p, __s32 group, __s32 parent);
void pressure_group_end(struct pressure *p, __s32 group);
__u64 pressure_some(const struct pressure_group *g);
__u64 pressure_full(const struct pressure_group *g);
__u64 pressure_cause(const struct pressure_group *g, enum pressure_cause cause);

__u64 pressure_cpu_size(__s32 nr);
void pressure_cpu_begin(struct pressure_cpu *c, __s32 nr);
void pressure_cpu_forget(struct pressure *p, struct pressure_cpu *c, __s32 group);
void pressure_settle(struct pressure *p, struct pressure_cpu *c);
void pressure_run(struct pressure *p, struct pressure_cpu *c, __u64 until, __s32 who);
void pressure_wait(struct pressure *p, struct pressure_cpu *c, __s32 group, __u64 queued,
		   __u64 elsewhere, __u64 held, __u64 told);
void pressure_waits(struct pressure *p, struct pressure_cpu *c, __s32 group, __u64 queued,
		    __u64 held);

#endif /* _KDTL_ENGINE_PRESSURE_H */
