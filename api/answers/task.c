// SPDX-License-Identifier: GPL-2.0
/* The users of the table of tasks, and lookups in it: what the task of an entry was at a time. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/kdtl_answers.h>
#include <linux/kdtl_verbs.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/string_helpers.h>
#include <linux/workqueue.h>

#include "../../core/compat.h"
#include "cgroups.h"
#include "engine/runs.h"
#include "left.h"
#include "tasks.h"

/* The most records that are copied under the table's lock. */
#define KDTL_TASKS_BATCH	64u

/* The most characters of a cgroup's path in a name: a container's id and what is around it. */
#define KDTL_TASK_NAME_PATH	96

/**
 * struct kdtl_tasks - one user of the table, who keeps it
 * @node: in kdtl_keepers
 * @owner: the user's module; NULL: the kernel itself
 * @cursor: where kdtl_tasks_read() goes on
 */
struct kdtl_tasks {
	struct list_head		node;
	struct module			*owner;
	struct kdtl_tasks_cursor	cursor;
};

/*
 * Protects kdtl_keepers.  Taken when any module goes, so nobody may wait for RCU with it held.
 * Taken inside kdtl_table_lock.
 */
static DEFINE_MUTEX(kdtl_keepers_lock);
static LIST_HEAD(kdtl_keepers);

/* Held while the table begins and ends, and while a keeper is added. */
static DEFINE_MUTEX(kdtl_table_lock);
static bool kdtl_table_kept;

static bool kdtl_table_is_unused(void)
{
	bool unused;

	mutex_lock(&kdtl_keepers_lock);
	unused = list_empty(&kdtl_keepers);
	mutex_unlock(&kdtl_keepers_lock);
	return unused;
}

static void kdtl_table_end_unused(void)
{
	mutex_lock(&kdtl_table_lock);
	if (kdtl_table_kept && kdtl_table_is_unused()) {
		kdtl_table_end();
		kdtl_table_kept = false;
	}
	mutex_unlock(&kdtl_table_lock);
}

/*
 * Removing a probe takes an RCU grace period, and so does adding it again.  No grace period may
 * end as long as a real-time task holds a CPU, see kdtl_sched.c.  So the table stays for a while
 * after its last keeper, and until a grace period shows that RCU makes progress.  Removing a probe
 * also takes locks of the whole kernel, so the work is not bound to a CPU: a real-time task could
 * keep it from running with these locks held.
 */
#define KDTL_TABLE_DELAY	(5 * HZ)

static void kdtl_table_end_work(struct work_struct *work)
{
	synchronize_rcu();
	kdtl_table_end_unused();
}

static DECLARE_DELAYED_WORK(kdtl_end_work, kdtl_table_end_work);

/*
 * Beginning and ending the table waits for RCU, and for the separate RCU of tracepoints.  This is
 * logged if kdtl.ko is loaded, on which this module must not depend: without kdtl.ko, nobody asks
 * for answers.
 */
static void kdtl_table_late_begin(struct kdtl_late *late, const char *owner)
{
	void (*begin)(struct kdtl_late *late, const char *owner, const char *what);

	late->owner = NULL;
	begin = symbol_get(kdtl_late_begin);
	if (begin)
		begin(late, owner, "waits for RCU, which waits for each CPU");
}

static void kdtl_table_late_end(struct kdtl_late *late)
{
	void (*end)(struct kdtl_late *late);

	if (!late->owner)
		return;
	/* kdtl.ko has not gone, because its other function is held. */
	end = symbol_get(kdtl_late_end);
	end(late);
	symbol_put(kdtl_late_end);
	symbol_put(kdtl_late_begin);
}

/**
 * __kdtl_tasks_open() - kdtl_tasks_open() on behalf of a module
 * @owner: the module; NULL: the kernel itself
 *
 * Context: task, may sleep.  Not under the CPU hotplug lock.
 * Return: as kdtl_tasks_open().
 */
struct kdtl_tasks *__kdtl_tasks_open(struct module *owner)
{
	int err = kdtl_answers_may_sleep("kdtl_tasks_open", _RET_IP_);
	struct kdtl_late late;
	struct kdtl_tasks *t;

	if (err)
		return ERR_PTR(err);
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return ERR_PTR(-ENOMEM);
	t->owner = owner;
	cancel_delayed_work(&kdtl_end_work);
	kdtl_table_late_begin(&late, module_name(owner));
	mutex_lock(&kdtl_table_lock);
	if (!kdtl_table_kept)
		err = kdtl_table_begin();
	else if (kdtl_table_is_unused())
		kdtl_table_renew();
	kdtl_table_kept = !err;
	if (!err) {
		kdtl_table_cursor(&t->cursor);
		mutex_lock(&kdtl_keepers_lock);
		list_add(&t->node, &kdtl_keepers);
		mutex_unlock(&kdtl_keepers_lock);
	}
	mutex_unlock(&kdtl_table_lock);
	kdtl_table_late_end(&late);
	if (err) {
		kfree(t);
		return ERR_PTR(err);
	}
	return t;
}
EXPORT_SYMBOL_NS_GPL(__kdtl_tasks_open, KDTL_NS);

static void kdtl_keeper_remove(struct kdtl_tasks *t)
{
	lockdep_assert_held(&kdtl_keepers_lock);
	list_del(&t->node);
	if (list_empty(&kdtl_keepers))
		queue_delayed_work(system_dfl_wq, &kdtl_end_work, KDTL_TABLE_DELAY);
	kfree(t);
}

/**
 * kdtl_tasks_close() - undo kdtl_tasks_open()
 * @t: from kdtl_tasks_open(), which nobody uses any more; NULL or its error: nothing happens.
 *	If it is closed already, and no new user has its memory, there is only a line in the log
 *
 * Context: task, may sleep.  Not under the CPU hotplug lock.
 */
void kdtl_tasks_close(struct kdtl_tasks *t)
{
	bool found;

	if (kdtl_answers_may_sleep(__func__, _RET_IP_) || IS_ERR_OR_NULL(t))
		return;
	mutex_lock(&kdtl_keepers_lock);
	found = kdtl_list_has(&kdtl_keepers, &t->node);
	if (found)
		kdtl_keeper_remove(t);
	mutex_unlock(&kdtl_keepers_lock);
	if (!found)
		pr_warn_ratelimited("%ps: %s(): the table is closed already\n", (void *)_RET_IP_,
				    __func__);
}
EXPORT_SYMBOL_NS_GPL(kdtl_tasks_close, KDTL_NS);

/**
 * kdtl_tasks_close_left() - close what a module has left open
 * @module: the module, which goes
 *
 * Context: task, may sleep.
 */
void kdtl_tasks_close_left(struct module *module)
{
	struct kdtl_tasks *t, *next;

	mutex_lock(&kdtl_keepers_lock);
	list_for_each_entry_safe(t, next, &kdtl_keepers, node) {
		if (t->owner != module)
			continue;
		pr_warn("module %s leaves the table of tasks open: kdtl closes it\n",
			module_name(module));
		kdtl_keeper_remove(t);
	}
	mutex_unlock(&kdtl_keepers_lock);
}

/**
 * kdtl_tasks_exit() - end the table, before the module goes
 *
 * Context: may sleep; nobody keeps the table any more.
 */
void kdtl_tasks_exit(void)
{
	struct kdtl_late late;

	kdtl_table_late_begin(&late, KBUILD_MODNAME);
	cancel_delayed_work_sync(&kdtl_end_work);
	kdtl_table_end_unused();
	kdtl_table_late_end(&late);
}

/**
 * kdtl_answers_rcu_await() - call kdtl_rcu_await(), if kdtl.ko is loaded
 *
 * Context: task, may sleep.
 */
void kdtl_answers_rcu_await(void)
{
	void (*await)(const char *owner) = symbol_get(kdtl_rcu_await);

	if (await) {
		await(KBUILD_MODNAME);
		symbol_put(kdtl_rcu_await);
	}
}

/* Out of line, because clients ask for each entry. */
static noinline int kdtl_task_refuse(const char *verb, const char *what, unsigned long caller)
{
	pr_warn_ratelimited("%ps: %s() without %s\n", (void *)caller, verb, what);
	return -EINVAL;
}

/**
 * kdtl_task_at() - what a task was at the time of an entry
 * @t: from kdtl_tasks_open(); of NULL and of an error nothing is known
 * @pid: the task, from kdtl_entry_pid() or kdtl_entry_prev_pid(); 0: the idle task of any
 *	CPU, whose name is "idle" here and "swapper/N" in kdtl_entry_comm()
 * @time: the time, from kdtl_entry_time(), in ticks
 * @task: filled in
 *
 * Works for tasks that have exited, and for pids that another task has now.  The module
 * parameter task_records bounds the history: the record that was replaced, or whose task
 * exited, the longest time ago is forgotten first.
 *
 * Takes no lock and waits for nothing, so it works in a panic.
 *
 * Context: any, NMI too.
 * Return:
 * * 0
 * * -ENOENT: it is not known what the task was then
 * * -EAGAIN: tasks changed all the time, or in NMI the table is being written
 * * -EINVAL: @pid is negative, or @task is NULL
 */
int kdtl_task_at(struct kdtl_tasks *t, pid_t pid, u64 time, struct kdtl_task *task)
{
	if (unlikely(!task))
		return kdtl_task_refuse(__func__, "a place for the answer", _RET_IP_);
	if (IS_ERR_OR_NULL(t))
		return -ENOENT;
	if (pid < 0) {
		pr_warn_ratelimited("%s(): pid=%d: must be 0 or more\n", __func__, pid);
		return -EINVAL;
	}
	if (pid)
		return kdtl_table_at(pid, time, task);
	*task = (struct kdtl_task) { .comm = "idle" };
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_task_at, KDTL_NS);

/**
 * kdtl_task_was() - answer the engine's question about a task, see struct kdtl_runs_ops
 * @tasks: from kdtl_tasks_open(); of NULL and of an error nothing is known
 * @pid: the task
 * @time: when it had this pid, in ticks
 * @tgid: set to the pid of its process's leader
 * @since: set to when it became what it was at @time
 *
 * Context: any, NMI too.
 * Return: true; false if it is not known.
 */
bool kdtl_task_was(void *tasks, s32 pid, u64 time, s32 *tgid, u64 *since)
{
	struct kdtl_task task;

	if (kdtl_task_at(tasks, pid, time, &task))
		return false;
	*tgid = task.tgid;
	*since = task.since;
	return true;
}

/**
 * kdtl_task_exec() - has a task got another pid by exec()?
 * @t: from kdtl_tasks_open(); of NULL and of an error nothing is known
 * @pid: the task, when it got a CPU
 * @since: when that was, in ticks
 * @now: a pid, such as kdtl_entry_prev_pid() of that CPU's next entry
 * @time: when @now was the pid of the task that had the CPU, in ticks
 *
 * A task's pid changes in one case only: a thread that is not the leader of its process gets
 * the leader's pid with exec().
 *
 * Context: any, NMI too.
 * Return: true if @now was the pid of the leader of @pid's process at @since, and that
 * process has changed since then; false if not, or if it is not known.
 */
bool kdtl_task_exec(struct kdtl_tasks *t, pid_t pid, u64 since, pid_t now, u64 time)
{
	static const struct kdtl_runs_ops ops = { .task = kdtl_task_was };

	return kdtl_runs_exec(&ops, t, pid, since, now, time);
}
EXPORT_SYMBOL_NS_GPL(kdtl_task_exec, KDTL_NS);

/**
 * kdtl_tasks_read() - read the records of the tasks, in the order of their changes
 * @t: from kdtl_tasks_open(); NULL and an error have no records
 * @seq: the number of the last record that the caller has; 0: none.  Becomes the number of
 *	the last record in @tasks
 * @tasks: filled in
 * @nr: room in @tasks.  At most 64 are read at once
 * @lost: set to the number of records that were forgotten before they were read; those from
 *	before kdtl_tasks_open() do not count
 *
 * For a stream of records beside a stream of entries.  A caller that begins with 0 gets all
 * tasks first, and then each change.  To get every record that entries need, read the entries
 * first.
 *
 * Context: any but NMI.
 * Return: the number of records; 0: there are no more now; -EINVAL: @seq, @tasks or @lost is
 * NULL.
 */
int kdtl_tasks_read(struct kdtl_tasks *t, u64 *seq, struct kdtl_task *tasks,
		    unsigned int nr, u64 *lost)
{
	if (!seq || !tasks || !lost)
		return kdtl_task_refuse(__func__, "a place for the answer", _RET_IP_);
	*lost = 0;
	if (IS_ERR_OR_NULL(t))
		return 0;
	return kdtl_table_after(&t->cursor, seq, tasks, min(nr, KDTL_TASKS_BATCH), lost);
}
EXPORT_SYMBOL_NS_GPL(kdtl_tasks_read, KDTL_NS);

/**
 * kdtl_cgroup_path() - the path of a cgroup
 * @t: from kdtl_tasks_open(); of NULL and of an error nothing is known
 * @id: its id, from kdtl_task::cgroup
 * @path: filled in, a string that begins at the root of the hierarchy.  A path of 240 bytes
 *	or more is cut to its end, after "..."
 * @size: of @path in bytes
 *
 * Also works for a cgroup that was removed while the table was kept, until its memory is
 * needed for other cgroups.
 *
 * Context: any, NMI too.
 * Return:
 * * the length of the string
 * * -ENOENT: it is not known
 * * -E2BIG: the path does not fit, and @path has its beginning
 * * -EAGAIN: cgroups changed all the time, or in NMI the table is being written
 * * -EINVAL: @path is NULL, and @size is not 0
 */
int kdtl_cgroup_path(struct kdtl_tasks *t, u64 id, char *path, size_t size)
{
	if (unlikely(!path && size))
		return kdtl_task_refuse(__func__, "a place for the path", _RET_IP_);
	return IS_ERR_OR_NULL(t) ? -ENOENT : kdtl_cgroups_path(id, path, size);
}
EXPORT_SYMBOL_NS_GPL(kdtl_cgroup_path, KDTL_NS);

/* Write what somebody chose, with neither a new line nor a comma, which is between tasks. */
static size_t kdtl_task_escape(char *name, size_t size, const char *from, size_t len)
{
	len = string_escape_mem(from, len, name, size - 1, ESCAPE_ANY_NP | ESCAPE_APPEND, ",");
	len = min(len, size - 1);
	name[len] = '\0';
	return len;
}

/**
 * kdtl_task_name() - say for a line of the log which task it is
 * @t: from kdtl_tasks_open(); of NULL and of an error no cgroup is known
 * @task: from kdtl_task_at().  If that knows nothing, only &kdtl_task.pid and &kdtl_task.comm
 *	of an entry, with 0 for the rest
 * @name: filled in, a string: "comm:pid (cgroup)".  Without the cgroup if that is not known, or
 *	the root.  A path of more than 96 bytes is cut to its end, after "...", because a
 *	container's own name is there
 * @size: of @name in bytes, usually KDTL_TASK_NAME.  What does not fit is cut off
 *
 * Users choose the names of tasks and of cgroups.  What may begin a line in the log, or look like
 * another task in a list of them, is escaped: a byte that cannot be printed, a backslash and
 * a comma.
 *
 * Context: any, NMI too.
 * Return: the length of the string; -EINVAL: @task or @name is NULL, or @size is 0.
 */
int kdtl_task_name(struct kdtl_tasks *t, const struct kdtl_task *task, char *name, size_t size)
{
	char path[KDTL_PATH_LEN];
	const char *from = path;
	size_t at;
	int len;

	if (!task || !name || !size)
		return kdtl_task_refuse(__func__, "a task, or a place for the name", _RET_IP_);
	at = kdtl_task_escape(name, size, task->comm, strnlen(task->comm, sizeof(task->comm)));
	at += scnprintf(name + at, size - at, ":%u", task->pid);
	len = kdtl_cgroup_path(t, task->cgroup, path, sizeof(path));
	if (len <= 1)
		return at;
	if (len > KDTL_TASK_NAME_PATH)
		from += len - KDTL_TASK_NAME_PATH;
	at += scnprintf(name + at, size - at, " (%s", from == path ? "" : "...");
	at += kdtl_task_escape(name + at, size - at, from, path + len - from);
	at += scnprintf(name + at, size - at, ")");
	return at;
}
EXPORT_SYMBOL_NS_GPL(kdtl_task_name, KDTL_NS);
