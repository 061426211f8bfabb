/* SPDX-License-Identifier: GPL-2.0 */
/* What the trace client adds to an entry. */
#ifndef _KDTL_TRACE_CLIENT_H
#define _KDTL_TRACE_CLIENT_H

#include <linux/kdtl_answers.h>

/**
 * struct traced - an entry, and what else is known about it
 * @entry: the entry
 * @info: the session's time base, and whether entries name tasks
 * @cpu: the CPU that the task got
 * @lost: number of entries of that CPU that are missing before this one
 * @mono: time of the dispatch by CLOCK_MONOTONIC, in ns
 * @task: what the task was then; zeroes if nobody knows
 * @path: of the task's cgroup, or empty
 * @culprit: the task that had the CPU longest while this one waited; its pid is 0 if there
 *	is none, or nobody knows
 * @culprit_cgroup: id of its cgroup then, or 0
 */
struct traced {
	const struct kdtl_entry		*entry;
	const struct kdtl_aux_info	*info;
	int				cpu;
	u64				lost;
	u64				mono;
	struct kdtl_task		task;
	char				path[KDTL_PATH_LEN];
	struct kdtl_ran			culprit;
	u64				culprit_cgroup;
};

/* behind.c */
int kdtl_trace_behind_begin(const char *pmu, unsigned int pages);
void kdtl_trace_behind_end(void);
void kdtl_trace_behind_round(void);
struct kdtl_ran kdtl_trace_behind(struct kdtl_tasks *tasks, int cpu, const struct kdtl_entry *e);

#endif /* _KDTL_TRACE_CLIENT_H */
