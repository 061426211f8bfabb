/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_answers - from entries to answers: who the tasks were, who had a CPU, alarms
 *
 * The module kdtl_answers.ko has what not every client of kdtl asks for.  It is loaded by
 * clients that use these functions, and sees entries as they do.  As long as somebody keeps
 * the table of tasks, it notes each fork, exec, exit, new name, new cgroup and new priority
 * of the machine; whoever does not ask for the table does not pay for it.
 *
 *	t = kdtl_tasks_open();			keep the table, before the session begins
 *	s = kdtl_session_open(&attr, &reader);
 *	...					kdtl_task_at(t, kdtl_entry_pid(e), ...)
 *	kdtl_session_close(s);
 *	kdtl_tasks_close(t);
 */
#ifndef _LINUX_KDTL_ANSWERS_H
#define _LINUX_KDTL_ANSWERS_H

#include <linux/kdtl.h>
#include <linux/notifier.h>

/* ------------------------------------------------------------------ tasks */

struct kdtl_tasks;	/* opaque: somebody who keeps the table of tasks */

struct kdtl_tasks *__kdtl_tasks_open(struct module *owner);

/**
 * kdtl_tasks_open() - keep the table of tasks
 *
 * Entries have pids and names.  The table says what the tasks were at a time.  It begins with
 * the tasks that there are, and follows all their changes until the last one who keeps it
 * calls kdtl_tasks_close().  Open it before the session begins, so that it has the tasks of
 * the first entries.
 *
 * It belongs to the module that calls this, and must be closed before the module goes.  kdtl
 * closes one that was forgotten, and says so in the log.
 *
 * Only the entries of some sources name tasks, see kdtl_aux_info::tasks.
 *
 * Context: task, may sleep.  Not under the CPU hotplug lock.
 * Return:
 * * the table, or ERR_PTR
 * * -ENOMEM: there is no memory for it (a line in the log)
 * * -ENODEV: the kernel lacks a tracepoint (a line in the log)
 * * -EOPNOTSUPP: the kernel has no tracepoints
 */
static __always_inline struct kdtl_tasks *kdtl_tasks_open(void)
{
	return __kdtl_tasks_open(THIS_MODULE);
}

void kdtl_tasks_close(struct kdtl_tasks *t);
int kdtl_task_at(struct kdtl_tasks *t, pid_t pid, u64 time, struct kdtl_task *task);
bool kdtl_task_exec(struct kdtl_tasks *t, pid_t pid, u64 since, pid_t now, u64 time);
int kdtl_tasks_read(struct kdtl_tasks *t, u64 *seq, struct kdtl_task *tasks,
		    unsigned int nr, u64 *lost);
int kdtl_cgroup_path(struct kdtl_tasks *t, u64 id, char *path, size_t size);

/* ------------------------------------------------------- who had a CPU */

/**
 * struct kdtl_ran - how long a task had a CPU
 * @pid: its pid in the initial namespace
 * @comm: its name when it got the CPU last
 * @time: the middle of the longest time that it had the CPU without a break, in ticks.
 *	kdtl_task_at() says what the task was then: a program may have begun, or have been
 *	moved to another cgroup, while its task had the CPU
 * @ticks: for how long it had the CPU, in ticks.  If kdtl_who::others is not 0, it may
 *	have had more: others then has the rest
 */
struct kdtl_ran {
	pid_t	pid;
	char	comm[TASK_COMM_LEN];
	u64	time;
	u64	ticks;
	/* private: */
	u64	before;
	u64	longest;
};

/**
 * struct kdtl_who - who had a CPU in a span of time; kdtl_sched only
 * @tasks: the caller's, from kdtl_tasks_open(); NULL: then nobody knows who had the CPU while
 *	a thread called exec() that was not the leader of its process
 * @ran: the caller's array of tasks; after kdtl_who_end() the longest comes first
 * @size: number of tasks for which @ran has room
 * @nr: number of tasks in @ran
 * @others: ticks of tasks for which @ran had no room
 * @idle: ticks in which the CPU was idle; needs entries of KDTL_MASK_IDLE
 * @unknown: ticks in which nobody knows who had the CPU, or since when it was idle
 * @stolen: ticks in which a hypervisor had the CPU; needs kdtl_who_stolen()
 * @task: pid and name of who got the CPU with the last entry, and if it is told to have it
 *	still at the end, what they are then; the rest is private
 *
 * If no more than @size tasks had the CPU, @others is 0, and @ran has all of them.  Of more
 * tasks it has each one that had the CPU for longer than the time of all tasks divided by
 * @size + 1, and its ticks are short by no more than that.  So give room for more tasks
 * than you name: with 16, what is named is right to 6 % of the span.
 *
 * The ticks of @ran, @others, @idle, @unknown and @stolen add up to the span::
 *
 *	kdtl_who_begin(&who, kdtl_entry_time(e) - kdtl_entry_wait(e), kdtl_entry_time(e));
 *	kdtl_for_each_entry(each, span, len)
 *		kdtl_who_entry(&who, each);
 *	kdtl_who_end(&who, false);
 */
struct kdtl_who {
	struct kdtl_tasks *tasks;
	struct kdtl_ran	*ran;
	unsigned int	size;
	unsigned int	nr;
	u64		others;
	u64		idle;
	u64		unknown;
	u64		stolen;
	struct kdtl_ran	task;
	/* private: */
	u64		rest;
	u64		runs[7];
	const struct kdtl_aux_info	*gap_info;
	const struct kdtl_entry		*gap;
	const struct kdtl_entry		*gap_end;
};

void kdtl_who_begin(struct kdtl_who *w, u64 from, u64 to);
void kdtl_who_stolen(struct kdtl_who *w, const struct kdtl_aux_info *info,
		     const struct kdtl_entry *e, ssize_t len);
void kdtl_who_entry(struct kdtl_who *w, const struct kdtl_entry *e);
void kdtl_who_end(struct kdtl_who *w, bool still);

/* ------------------------------------------------------------------ alarms */

/* A client that notices a problem notifies other clients. */

/**
 * struct kdtl_alarm - a problem that a client has noticed
 * @what: describes it in one short line, without an end of line
 * @cpu: the CPU that it is about; -1: no particular one
 * @from: when it began, by local_clock(), in ns
 * @to: when it ended, or until when it is known to last; 0, and @from 0 as well: no time is
 *	known
 * @task: what the task was that it happened to; NULL: none is known
 * @culprit: what the task was that had the CPU longest meanwhile; NULL: none is known
 *
 * Of @task and @culprit, pid and name are always known, and the rest if kdtl_task::seq is not 0.
 */
struct kdtl_alarm {
	const char	*what;
	int		cpu;
	u64		from;
	u64		to;
	const struct kdtl_task	*task;
	const struct kdtl_task	*culprit;
};

int kdtl_alarm_register(struct notifier_block *nb);
int kdtl_alarm_unregister(struct notifier_block *nb);
int kdtl_alarm(const struct kdtl_alarm *alarm);

#endif /* _LINUX_KDTL_ANSWERS_H */
