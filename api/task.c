// SPDX-License-Identifier: GPL-2.0
/* What the tasks of entries were at the time, from the table of core/tasks.c. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kdtl_pmu.h>
#include <linux/string.h>

#include "../core/cgroups.h"
#include "../core/compat.h"
#include "../core/session.h"
#include "../core/tasks.h"

/**
 * kdtl_task_at() - what a task was at the time of an entry
 * @s: the session
 * @pid: the task, from kdtl_entry_pid() or kdtl_entry_prev_pid(); 0: the idle task of any
 *	CPU, whose name is "idle" here and "swapper/N" in kdtl_entry_comm()
 * @time: the time, from kdtl_entry_time(), in ticks
 * @task: filled in
 *
 * Works for tasks that have exited, and for pids that another task has now.  History
 * is bounded by the module parameter task_records: what was replaced, or exited, the
 * longest time ago is forgotten first.
 *
 * Takes no lock and waits for nothing, so it works in a panic.
 *
 * Context: any, NMI too.
 * Return:
 * * 0
 * * -ENOENT: nobody knows what the task was then
 * * -EOPNOTSUPP: the source's entries name no tasks, see kdtl_aux_info::tasks
 * * -EAGAIN: tasks changed all the time, or in NMI the table is being written
 * * -EINVAL: @s or @task is NULL, or @pid is negative
 */
int kdtl_task_at(struct kdtl_session *s, pid_t pid, u64 time, struct kdtl_task *task)
{
	if (IS_ERR_OR_NULL(s))
		return kdtl_session_refuse(s, __func__, _RET_IP_);
	if (!task)
		return kdtl_null_refuse(s, __func__, "task");
	if (!s->pmu->tasks)
		return -EOPNOTSUPP;
	if (pid < 0) {
		pr_warn_ratelimited("%s: %s(): pid=%d: must be 0 or more\n", s->owner, __func__,
				    pid);
		return -EINVAL;
	}
	if (pid)
		return kdtl_tasks_at(pid, time, task);
	*task = (struct kdtl_task) { .comm = "idle" };
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_task_at, KDTL_NS);

/**
 * kdtl_tasks_read() - read the records of the tasks, in the order of their changes
 * @s: the session
 * @seq: the number of the last record that the caller has; 0: none.  It becomes that of the
 *	last one in @tasks
 * @tasks: filled in
 * @nr: room in @tasks.  At most 64 are read at once
 * @lost: set to the number of records that were forgotten before they were read; those from
 *	before the session do not count
 *
 * For a stream of records beside one of entries.  A caller that begins with 0 gets all
 * tasks first, and then each change.  To have the record of each entry, read the entries
 * first.
 *
 * Context: any but NMI.
 * Return:
 * * number of records; 0: there are no more now
 * * -EOPNOTSUPP: the source's entries name no tasks, see kdtl_aux_info::tasks
 * * -EINVAL: @s, @seq, @lost or @tasks is NULL
 */
int kdtl_tasks_read(struct kdtl_session *s, u64 *seq, struct kdtl_task *tasks,
		    unsigned int nr, u64 *lost)
{
	if (IS_ERR_OR_NULL(s))
		return kdtl_session_refuse(s, __func__, _RET_IP_);
	if (!seq || !lost || !tasks)
		return kdtl_null_refuse(s, __func__, "seq, tasks or lost");
	if (!s->pmu->tasks)
		return -EOPNOTSUPP;
	return kdtl_tasks_after(s->tasks_from, seq, tasks, min(nr, KDTL_TASKS_BATCH), lost);
}
EXPORT_SYMBOL_NS_GPL(kdtl_tasks_read, KDTL_NS);

/**
 * kdtl_cgroup_path() - the path of a cgroup
 * @s: the session
 * @id: its id, from kdtl_task::cgroup
 * @path: filled in, a string from the root of the hierarchy on.  Of a path of 240 bytes or
 *	more it has the end, after "..."
 * @size: of @path in bytes
 *
 * Works for a cgroup that was removed while a session existed, until the memory is needed
 * for others.
 *
 * Context: any, NMI too.
 * Return:
 * * the length of the string
 * * -ENOENT: nobody knows
 * * -E2BIG: the path does not fit, and @path has its beginning
 * * -EOPNOTSUPP: the source's entries name no tasks, see kdtl_aux_info::tasks
 * * -EAGAIN: cgroups changed all the time, or in NMI the table is being written
 * * -EINVAL: @s or @path is NULL
 */
int kdtl_cgroup_path(struct kdtl_session *s, u64 id, char *path, size_t size)
{
	if (IS_ERR_OR_NULL(s))
		return kdtl_session_refuse(s, __func__, _RET_IP_);
	if (!path)
		return kdtl_null_refuse(s, __func__, "path");
	if (!s->pmu->tasks)
		return -EOPNOTSUPP;
	return kdtl_cgroups_path(id, path, size);
}
EXPORT_SYMBOL_NS_GPL(kdtl_cgroup_path, KDTL_NS);
