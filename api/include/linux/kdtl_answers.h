/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_answers - from entries to answers: who the tasks were, who had a CPU, alarms
 *
 * The module kdtl_answers.ko has what not every client of kdtl needs.  It is loaded by
 * clients that use these functions, and sees entries as they do.  As long as somebody keeps
 * the table of tasks, it notes each fork, exec, exit, new name, new cgroup and new priority
 * of the machine; while nobody keeps the table, it costs nothing.
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
#include <linux/string.h>

/* ------------------------------------------------------------------ tasks */

struct kdtl_tasks;	/* opaque: one user of the table of tasks */

struct kdtl_tasks *__kdtl_tasks_open(struct module *owner);

/**
 * kdtl_tasks_open() - keep the table of tasks
 *
 * Entries have only pids and names; the table says what a task was at a given time.  It begins
 * with the tasks that exist, and follows all their changes until its last user calls
 * kdtl_tasks_close().  Open it before the session begins, so that it has the tasks of the
 * first entries.
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
 * * -EDEADLK: nobody may sleep here (a line in the log)
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

/* A longer path of a cgroup is cut to its end. */
#define KDTL_PATH_LEN	240

/* Bytes that kdtl_task_name() needs at most, with the NUL, unless it escapes bytes of a path. */
#define KDTL_TASK_NAME	176

int kdtl_task_name(struct kdtl_tasks *t, const struct kdtl_task *task, char *name, size_t size);

/**
 * kdtl_path_valid() - may this be the path of a cgroup?
 * @path: may be NULL
 *
 * A path like "//web" is that of a file, too, but no cgroup's path from kdtl_cgroup_path() is ever
 * equal to it.  So whoever takes a path from a user should refuse it.
 *
 * Context: any.
 * Return: true if it begins with a slash, and has no two of them side by side.
 */
static inline bool kdtl_path_valid(const char *path)
{
	return path && path[0] == '/' && !strstr(path, "//");
}

/**
 * kdtl_path_within() - is a cgroup the one at a path, or below it?
 * @own: the cgroup's path, from kdtl_cgroup_path()
 * @path: a path that begins at the root of the hierarchy: "/web"; "/" has all cgroups.  See
 *	kdtl_path_valid()
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool kdtl_path_within(const char *own, const char *path)
{
	size_t len = strlen(path);

	if (len && path[len - 1] == '/')
		len--;
	return !len || (!strncmp(own, path, len) && (!own[len] || own[len] == '/'));
}

/**
 * kdtl_cgroup_within() - is a cgroup, which is known by its id, the one at a path, or below it?
 * @t: from kdtl_tasks_open(); of NULL and of an error nothing is known
 * @id: the cgroup's id, from kdtl_task::cgroup
 * @path: as for kdtl_path_within()
 *
 * For a client that wants the entries of some cgroups only.
 *
 * Context: any, NMI too.
 * Return:
 * * 1, or 0: it is not
 * * -ENOENT: it is not known, or @path is not valid
 * * -E2BIG: the cgroup's path has 240 bytes or more, and its beginning is not kept
 * * -EAGAIN: as kdtl_cgroup_path()
 */
static inline int kdtl_cgroup_within(struct kdtl_tasks *t, u64 id, const char *path)
{
	char own[KDTL_PATH_LEN];
	const int known = kdtl_cgroup_path(t, id, own, sizeof(own));

	if (known < 0)
		return known;
	if (!kdtl_path_valid(path))
		return -ENOENT;
	return own[0] == '/' ? kdtl_path_within(own, path) : -E2BIG;
}

/* ------------------------------------------------------- who had a CPU */

/**
 * struct kdtl_ran - how long a task had a CPU
 * @pid: its pid in the initial namespace; below 0: an interrupt or a softirq, see
 *	kdtl_irq_pid(); these need kdtl_who_interrupts()
 * @comm: its name when it last got the CPU
 * @time: the middle of the longest time that it had the CPU without a break, in ticks.
 *	Ask kdtl_task_at() about this time, because a task may have called exec(), or have
 *	been moved to another cgroup, while it had the CPU
 * @ticks: how long it had the CPU, in ticks.  If kdtl_who::others is not 0, the task may
 *	have had more, which others then includes
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
 * @tasks: the caller's table, from kdtl_tasks_open(); NULL: it is then not known who had the
 *	CPU while a thread that was not the leader of its process called exec()
 * @ran: the caller's array of tasks; after kdtl_who_end() the longest comes first
 * @size: number of tasks for which @ran has room
 * @went: kdtl_aux_info::went of the CPU, read after its entries: the task that takes a CPU offline
 *	seems to have it until it is back, but that time is then @unknown.  0: it has not been
 *	offline.  Of earlier such times nothing is known
 * @nr: number of tasks in @ran
 * @others: ticks of tasks for which @ran had no room
 * @idle: ticks in which the CPU was idle; needs entries of KDTL_MASK_IDLE
 * @unknown: ticks in which it is not known who had the CPU, or since when it was idle
 * @stolen: ticks in which a hypervisor had the CPU; needs kdtl_who_stolen()
 * @task: pid and name of the task that got the CPU with the last entry, or, if
 *	kdtl_who_end() is told that it still had the CPU, those at the end of the span; the
 *	other fields are private
 *
 * If no more than @size tasks had the CPU, @others is 0, and @ran holds all of them.
 * Otherwise @ran holds every task that had more than total / (@size + 1), where total is the
 * time of all tasks, and each row is low by at most that.  So give room for more tasks than
 * you report: with 16, each row is right to 6 % of the span.
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
	u64		went;
	u64		others;
	u64		idle;
	u64		unknown;
	u64		stolen;
	struct kdtl_ran	task;
	/* private: */
	u64		rest;
	u64		runs[9];
	/* Entries of kdtl_who_stolen() and kdtl_who_interrupts() that are not read yet. */
	struct {
		const struct kdtl_aux_info	*info;
		const struct kdtl_entry		*next;
		const struct kdtl_entry		*end;
	} gaps[2];
};

void kdtl_who_begin(struct kdtl_who *w, u64 from, u64 to);
void kdtl_who_stolen(struct kdtl_who *w, const struct kdtl_aux_info *info,
		     const struct kdtl_entry *e, ssize_t len);
void kdtl_who_interrupts(struct kdtl_who *w, const struct kdtl_aux_info *info,
			 const struct kdtl_entry *e, ssize_t len);
void kdtl_who_entry(struct kdtl_who *w, const struct kdtl_entry *e);
void kdtl_who_end(struct kdtl_who *w, bool still);

/**
 * struct kdtl_woken - who woke a task; kdtl_wake only
 * @pid: set by the caller: the task, in the initial namespace
 * @from: set by the caller: only wake-ups after this time count, in ticks: when the task left
 *	its CPU, or 0
 * @until: set by the caller: only wake-ups up to this time count, in ticks: the task's next
 *	dispatch, or now
 * @time: when it was woken; 0: no entry says so
 * @by: pid of the task that woke it, in the initial namespace; 0: the idle task.  With
 *	KDTL_WAKE_IRQ in @flags an interrupt woke it, and @by is the task that was interrupted
 * @flags: KDTL_WAKE_*
 * @state: how it slept, see kdtl_wake_entry::state
 * @syscall: the system call in which it slept, or KDTL_WAKE_NO_SYSCALL
 * @is_new: it had not slept: @by had just created it
 *
 * What the caller does not set must be 0.  The time is that of kdtl_sched, so kdtl_task_at() says
 * what @by was.
 */
struct kdtl_woken {
	pid_t		pid;
	u64		from;
	u64		until;
	u64		time;
	pid_t		by;
	unsigned int	flags;
	unsigned int	state;
	unsigned int	syscall;
	bool		is_new;
};

void kdtl_who_woke(struct kdtl_woken *w, const struct kdtl_entry *e, ssize_t len);

/* ------------------------------------------------------------------ alarms */

/* A client that notices a problem notifies other clients. */

/**
 * struct kdtl_alarm - a problem that a client has noticed
 * @what: describes it in one short line, without an end of line
 * @cpu: the CPU that it is about; -1: no particular one
 * @from: when it began, by local_clock(), in ns
 * @to: when it ended, or the last time at which it is known to have lasted.  If no time is
 *	known, @from and @to are 0
 * @task: the task that it happened to, as it was then; NULL: not known
 * @culprit: the task that had the CPU longest meanwhile, as it was then; NULL: not known
 *
 * Both @task and @culprit always have pid and name, and the rest if kdtl_task::seq is not 0.
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

/* ---------------------------------------------------------------- triggers */

/* One client counts how long the tasks of cgroups wait; others are told when that is too long. */

#define KDTL_TRIGGER_MIN_WINDOW	(10ULL * 1000 * 1000)
#define KDTL_TRIGGER_MAX_WINDOW	(10ULL * 1000 * 1000 * 1000)

/**
 * enum kdtl_pressure - why tasks of a cgroup, or of cgroups in it, waited
 * @KDTL_PRESSURE_OWN: other tasks of the cgroup had the CPU
 * @KDTL_PRESSURE_NEIGHBOURS: tasks of other cgroups had the CPU
 * @KDTL_PRESSURE_HYPERVISOR: the hypervisor had the CPU
 * @KDTL_PRESSURE_NOBODY: the CPU was idle
 * @KDTL_PRESSURE_UNKNOWN: the log does not tell who had the CPU
 * @KDTL_PRESSURE_ELSEWHERE: the task was in the queue of another CPU
 * @KDTL_PRESSURE_QUOTA: a limit on CPU time held the task back
 * @KDTL_PRESSURE_SOME: all of these
 * @KDTL_PRESSURE_FULL: all but %KDTL_PRESSURE_OWN
 * @KDTL_PRESSURE_ROWS: number of rows
 */
enum kdtl_pressure {
	KDTL_PRESSURE_OWN,
	KDTL_PRESSURE_NEIGHBOURS,
	KDTL_PRESSURE_HYPERVISOR,
	KDTL_PRESSURE_NOBODY,
	KDTL_PRESSURE_UNKNOWN,
	KDTL_PRESSURE_ELSEWHERE,
	KDTL_PRESSURE_QUOTA,
	KDTL_PRESSURE_SOME,
	KDTL_PRESSURE_FULL,
	KDTL_PRESSURE_ROWS
};

struct kdtl_trigger;	/* opaque: one client that is told */

/**
 * struct kdtl_trigger_attr - when to tell a client of waits
 * @cgroup: the cgroup's path, as the sampler shows it; "/": all tasks.  The cgroup may be made
 *	later
 * @cause: which waits count
 * @threshold: how long the waits in a window must be for an event, in ns.  The waits on all CPUs
 *	are added up, so it may be up to @window times the number of CPUs
 * @window: length of the window, in ns: 10 ms to 10 s
 * @fire: called with @data for each event, in a task that may sleep.  It cannot open or close
 *	a trigger, and must not use the client that counts
 * @data: for @fire
 */
struct kdtl_trigger_attr {
	const char		*cgroup;
	enum kdtl_pressure	cause;
	u64			threshold;
	u64			window;
	void			(*fire)(void *data);
	void			*data;
};

struct kdtl_trigger *__kdtl_trigger_open(struct module *owner,
					 const struct kdtl_trigger_attr *attr);

/**
 * kdtl_trigger_open() - be told when the tasks of a cgroup wait for too long
 * @attr: when to tell; copied, with the path
 *
 * An event comes when the waits in a window reach the threshold.  No event is missed, and the
 * time that an event is about is at most a sixteenth longer than the window.  A wait counts when
 * the client that counts sees it: that client looks ten times in a window, but may look less
 * often at waits that go on.  There is at most one event in the time of a window; an event that
 * comes earlier is put off.  Waits that were part of an event do not count for the next one.
 *
 * The trigger belongs to the module that calls this, and must be closed before the module goes.
 * kdtl closes one that was forgotten, and says so in the log.  The client that counts, which is
 * kdtl_sampler, cannot be unloaded meanwhile.
 *
 * Context: task, may sleep.
 * Return:
 * * the trigger, or ERR_PTR
 * * -EINVAL: @attr is not valid (a line in the log)
 * * -EDEADLK: called by kdtl_trigger_attr::fire, or where nobody may sleep (a line in the log)
 * * -ENODEV: nobody counts
 * * -ENOMEM
 */
static __always_inline struct kdtl_trigger *
kdtl_trigger_open(const struct kdtl_trigger_attr *attr)
{
	return __kdtl_trigger_open(THIS_MODULE, attr);
}

void kdtl_trigger_close(struct kdtl_trigger *t);

/**
 * struct kdtl_pressure_counter - a client that counts how long the tasks of cgroups waited
 * @owner: its module, which each trigger holds
 * @total: called by kdtl_pressure_look(): returns how long the tasks of a cgroup have waited until
 *	now, in ns; 0: it is not counted.  Each trigger keeps the number at hint, which begins as 0,
 *	from one call to the next
 * @look: called when a trigger was opened: have kdtl_pressure_look() called now instead of when
 *	the next look is due.  It may sleep
 */
struct kdtl_pressure_counter {
	struct module	*owner;
	u64		(*total)(const char *cgroup, enum kdtl_pressure cause, unsigned int *hint);
	void		(*look)(void);
};

int kdtl_pressure_begin(const struct kdtl_pressure_counter *counter);
void kdtl_pressure_end(const struct kdtl_pressure_counter *counter);
unsigned int kdtl_pressure_look(const struct kdtl_pressure_counter *counter);

#endif /* _LINUX_KDTL_ANSWERS_H */
