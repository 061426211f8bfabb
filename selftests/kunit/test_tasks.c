// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_kunit_tasks.ko: what the table says that tasks were, at which time
 *
 * Tasks of all kinds change while the table is kept: kernel threads, and a shell that the test
 * runs.  The test knows what it made them do, and in which order.
 */
#include <linux/atomic.h>
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/hash.h>
#include <linux/idr.h>
#include <linux/kmod.h>
#include <linux/kthread.h>
#include <linux/log2.h>
#include <linux/pid_namespace.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/umh.h>
#include <uapi/linux/sched/types.h>

#include "kapi.h"

static void tasks_left_rcu(void);

/*
 * The functions of the paths of cgroups once more, in which the end of each RCU reader is told.
 * Their names are others, because with kdtl built in there is the original, too.
 */
#undef pr_fmt
#define kdtl_cgroups_begin	tasks_cgroups_begin
#define kdtl_cgroups_end	tasks_cgroups_end
#define kdtl_cgroups_path	tasks_cgroups_path
#define kdtl_cgroup_of		tasks_cgroup_of
#define kdtl_tables		tasks_tables
#define rcu_read_unlock()	do { tasks_left_rcu(); rcu_read_unlock(); } while (0)
#include "../../api/answers/cgroups.c"
#undef rcu_read_unlock
#undef pr_fmt
#define pr_fmt(fmt) fmt

struct kdtl_tables kdtl_tables;

static char *cgroup = "/sys/fs/cgroup";
module_param(cgroup, charp, 0444);
MODULE_PARM_DESC(cgroup, "mount point of the hierarchy with the cpu controller");

static unsigned int records;
module_param(records, uint, 0444);
MODULE_PARM_DESC(records, "task_records of kdtl_answers.ko; 0: its default");

#define TASKS_MOST	20000
#define TASKS_PATH	64

static struct kdtl_tasks *tasks_open(struct kunit *test)
{
	struct kdtl_tasks *table = kdtl_tasks_open();

	KUNIT_EXPECT_FALSE(test, IS_ERR_OR_NULL(table));
	test->priv = IS_ERR(table) ? NULL : table;
	return test->priv;
}

static void tasks_exit(struct kunit *test)
{
	kdtl_tasks_close(test->priv);
}

static int tasks_thread(void *unused)
{
	while (!kthread_should_stop())
		schedule_timeout_idle(1);
	return 0;
}

/* A thread that ends by itself after a millisecond. */
static int tasks_short_thread(void *data)
{
	const u64 end = local_clock() + NSEC_PER_MSEC;
	struct completion *done = data;

	while (local_clock() < end)
		cpu_relax();
	complete(done);
	return 0;
}

/* Read all records, in the order of their numbers. */
static unsigned int tasks_all(struct kunit *test, struct kdtl_tasks *table,
			      struct kdtl_task *all, u64 *lost)
{
	unsigned int nr = 0;
	u64 seq = 0, more;
	int got;

	*lost = 0;
	do {
		got = kdtl_tasks_read(table, &seq, all + nr, TASKS_MOST - nr, &more);
		KUNIT_ASSERT_GE(test, got, 0);
		*lost += more;
		nr += got;
	} while (got);
	return nr;
}

/* At @time, the task @pid must have been called @comm; NULL: nobody may know it. */
static void tasks_expect(struct kunit *test, struct kdtl_tasks *table, pid_t pid, u64 time,
			 const char *comm)
{
	struct kdtl_task task = {};
	const int err = kdtl_task_at(table, pid, time, &task);

	if (!comm) {
		KUNIT_EXPECT_EQ(test, err, -ENOENT);
		return;
	}
	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_EQ_MSG(test, strcmp(task.comm, comm), 0, "%.16s, not %s", task.comm, comm);
	KUNIT_EXPECT_EQ(test, task.pid, (u32)pid);
}

/* A task that was there before the table is known; one that never existed is not. */
static void tasks_before(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	struct kdtl_task task = {};

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, current->pid, local_clock(), &task), 0);
	KUNIT_EXPECT_EQ(test, strncmp(task.comm, current->comm, TASK_COMM_LEN), 0);
	KUNIT_EXPECT_EQ(test, task.tgid, (u32)current->tgid);
	KUNIT_EXPECT_EQ(test, task.policy, (u32)current->policy);
	KUNIT_EXPECT_EQ(test, task.nice, task_nice(current));
	KUNIT_EXPECT_EQ(test, task.since, 0ULL);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, 0, local_clock(), &task), 0);
	KUNIT_EXPECT_EQ(test, strcmp(task.comm, "idle"), 0);
	tasks_expect(test, table, PID_MAX_LIMIT - 1, local_clock(), NULL);
}

/* Close the table, and open it again.  Returns whether the task is not known any more. */
static bool tasks_forgets(struct kunit *test, pid_t pid, u64 time)
{
	struct kdtl_task task;

	kdtl_tasks_close(test->priv);
	return kdtl_task_at(tasks_open(test), pid, time, &task) == -ENOENT;
}

/*
 * A task that lives for a millisecond is known after it has gone, but not for the time before it
 * came.
 */
static void tasks_short(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	const u64 before = local_clock() - NSEC_PER_SEC;
	DECLARE_COMPLETION_ONSTACK(done);
	struct task_struct *t;
	u64 during;
	pid_t pid;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	t = kthread_create(tasks_short_thread, &done, "kdtl_short");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	pid = t->pid;
	wake_up_process(t);
	wait_for_completion(&done);
	during = local_clock();
	msleep(50);
	tasks_expect(test, table, pid, during, "kdtl_short");
	tasks_expect(test, table, pid, local_clock(), "kdtl_short");
	tasks_expect(test, table, pid, before, NULL);
	/* The next one who opens the table only knows of tasks that are there. */
	KUNIT_EXPECT_TRUE(test, kapi_until(tasks_forgets(test, pid, during)));
}

/* If two tasks had the same pid, it is each one's in its own time. */
static void tasks_pid_again(struct kunit *test)
{
	const unsigned long end = jiffies + KAPI_FOREVER;
	struct kdtl_tasks *table = tasks_open(test);
	struct task_struct *t;
	pid_t pid, got;
	u64 first;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	t = kthread_run(tasks_thread, NULL, "kdtl_first");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	pid = t->pid;
	first = local_clock();
	kthread_stop(t);
	/* The pid becomes free a while later, and then another task may get it first. */
	do {
		msleep(20);
		idr_set_cursor(&init_pid_ns.idr, pid);
		t = kthread_run(tasks_thread, NULL, "kdtl_second");
		KUNIT_ASSERT_FALSE(test, IS_ERR(t));
		got = t->pid;
		if (got == pid) {
			tasks_expect(test, table, pid, local_clock(), "kdtl_second");
			tasks_expect(test, table, pid, first, "kdtl_first");
		}
		kthread_stop(t);
	} while (got != pid && time_before(jiffies, end));
	KUNIT_EXPECT_EQ(test, got, pid);
}

/* The table knows nice values and policies, and since when a task had them. */
static void tasks_policy(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	struct kdtl_task task = {};
	struct task_struct *t;
	u64 time[5];

	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "without kretprobes nobody tells of policies and nice values");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	t = kthread_run(tasks_thread, NULL, "kdtl_policy");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	time[0] = local_clock();
	set_user_nice(t, 7);
	time[1] = local_clock();
	sched_set_fifo(t);
	time[2] = local_clock();
	sched_set_normal(t, -3);
	time[3] = local_clock();
	/* Only the priority changes from the first call to the second one. */
	sched_set_fifo(t);
	sched_set_fifo_low(t);
	time[4] = local_clock();

	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, t->pid, time[0], &task), 0);
	KUNIT_EXPECT_EQ(test, task.nice, 0);
	KUNIT_EXPECT_EQ(test, task.policy, (u32)SCHED_NORMAL);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, t->pid, time[1], &task), 0);
	KUNIT_EXPECT_EQ(test, task.nice, 7);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, t->pid, time[2], &task), 0);
	KUNIT_EXPECT_EQ(test, task.policy, (u32)SCHED_FIFO);
	KUNIT_EXPECT_EQ(test, task.rt_priority, (u32)MAX_RT_PRIO / 2);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, t->pid, time[3], &task), 0);
	KUNIT_EXPECT_EQ(test, task.policy, (u32)SCHED_NORMAL);
	KUNIT_EXPECT_EQ(test, task.nice, -3);
	KUNIT_EXPECT_EQ(test, task.rt_priority, 0U);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, t->pid, time[4], &task), 0);
	KUNIT_EXPECT_EQ(test, task.rt_priority, 1U);
	kthread_stop(t);
}

/* Run a script until it ends.  Returns what call_usermodehelper() returns. */
static int tasks_sh(char *script)
{
	char *argv[] = { "/bin/sh", "-c", script, NULL };
	char *envp[] = { "PATH=/bin:/sbin:/usr/bin:/usr/sbin", NULL };

	return call_usermodehelper(argv[0], argv, envp, UMH_WAIT_PROC);
}

static struct tracepoint *tasks_rename_tp;
static pid_t tasks_rename_pid;

static void tasks_find_rename(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "task_rename"))
		tasks_rename_tp = tp;
}

/* Called when kdtl knows the new name, while the task still has its old one. */
static void tasks_rename(void *unused, struct task_struct *t, const char *comm)
{
	if (strcmp(comm, "kdtl_renamed"))
		return;
	tasks_rename_pid = t->pid;
	set_user_nice(t, 5);
}

static int tasks_run_rename(void)
{
	int err;

	/* Run after kdtl's own probe. */
	err = tracepoint_probe_register_prio(tasks_rename_tp, tasks_rename, NULL,
					     TRACEPOINT_DEFAULT_PRIO - 1);
	if (err)
		return err;
	err = tasks_sh("printf kdtl_renamed >/proc/$$/comm");
	tracepoint_probe_unregister(tasks_rename_tp, tasks_rename, NULL);
	tracepoint_synchronize_unregister();
	return err;
}

/* Something else of a task changes just while it gets a new name: both changes are kept. */
static void tasks_renamed(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	struct kdtl_task *all, last = {};
	unsigned int i, nr;
	u64 lost;

	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "without kretprobes nobody tells of nice values");
	if (system_state < SYSTEM_RUNNING)
		kunit_skip(test, "built in, it runs before there is user space");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	for_each_kernel_tracepoint(tasks_find_rename, NULL);
	KUNIT_ASSERT_TRUE(test, !!tasks_rename_tp);
	all = kvcalloc(TASKS_MOST, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, all);
	tasks_rename_pid = 0;
	KUNIT_EXPECT_EQ(test, tasks_run_rename(), 0);
	nr = tasks_all(test, table, all, &lost);
	for (i = 0; i < nr; i++) {
		if (all[i].pid == (u32)tasks_rename_pid)
			last = all[i];
	}
	kvfree(all);
	KUNIT_EXPECT_TRUE_MSG(test, !strcmp(last.comm, "kdtl_renamed") && last.nice == 5,
			      "%.16s, nice %d", last.comm, last.nice);
}

/*
 * A cgroup is within itself and within those above it, but not within one whose path only begins
 * alike.
 */
static void tasks_within(struct kunit *test, struct kdtl_tasks *table, u64 id, char *path)
{
	const bool root = !path[1];
	char more[TASKS_PATH + 2], *end;

	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, id, "/"), 1);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, id, path), 1);
	snprintf(more, sizeof(more), "%s/", path);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, id, more), root ? -ENOENT : 1);
	snprintf(more, sizeof(more), "%sx", path);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, id, more), 0);
	snprintf(more, sizeof(more), "%s/x", path);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, id, more), root ? -ENOENT : 0);
	if (strlen(path) > 2) {
		path[strlen(path) - 1] = '\0';
		KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, id, path), 0);
	}
	end = strrchr(path, '/');
	if (end) {
		*end = '\0';
		KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, id, *path ? path : "/"), 1);
	}
}

/* The path of the cgroup of @task must end with @end. */
static void tasks_in(struct kunit *test, struct kdtl_tasks *table, const struct kdtl_task *task,
		     const char *end)
{
	char path[TASKS_PATH] = "";
	const ssize_t len = kdtl_cgroup_path(table, task->cgroup, path, sizeof(path));

	KUNIT_EXPECT_EQ(test, len, (ssize_t)strlen(path));
	KUNIT_EXPECT_TRUE_MSG(test, len >= (ssize_t)strlen(end) &&
			      !strcmp(path + len - strlen(end), end),
			      "cgroup %llu of %.16s: \"%s\" (%zd), not \"%s\"", task->cgroup,
			      task->comm, path, len, end);
	tasks_within(test, table, task->cgroup, path);
}

/* Cgroups that are seen in one RCU reader, the most of them, and all. */
static unsigned int tasks_in_rcu, tasks_most_in_rcu, tasks_seen;

static void tasks_left_rcu(void)
{
	tasks_most_in_rcu = max(tasks_most_in_rcu, tasks_in_rcu);
	tasks_in_rcu = 0;
}

static void tasks_see(u64 id, const char *path)
{
	tasks_in_rcu++;
	tasks_seen++;
}

#define TASKS_CGROUPS	"200"

/* On most kernels no other task runs on the CPU during an RCU reader. */
static void tasks_rcu(struct kunit *test)
{
	char *path, *make, *remove;

	if (system_state < SYSTEM_RUNNING)
		kunit_skip(test, "built in, it runs before there is user space");
	path = kmalloc(PATH_MAX, GFP_KERNEL);
	make = kasprintf(GFP_KERNEL, "cd %s; while [ $# -lt " TASKS_CGROUPS " ]; do\n"
			 "set -- \"$@\" kdtl_of_many$#; done\n"
			 "rmdir \"$@\" 2>/dev/null; mkdir \"$@\"", cgroup);
	remove = kasprintf(GFP_KERNEL, "rmdir %s/kdtl_of_many*", cgroup);
	KUNIT_ASSERT_TRUE(test, path && make && remove);
	KUNIT_EXPECT_EQ(test, tasks_sh(make), 0);
	tasks_in_rcu = 0;
	tasks_most_in_rcu = 0;
	tasks_seen = 0;
	kdtl_cgroups_walk(tasks_see, path);
	KUNIT_EXPECT_EQ(test, tasks_sh(remove), 0);
	kfree(remove);
	kfree(make);
	kfree(path);
	kunit_info(test, "%u cgroups, at most %u in one RCU reader", tasks_seen, tasks_most_in_rcu);
	KUNIT_EXPECT_GT(test, tasks_seen, 200U);
	KUNIT_EXPECT_LE(test, tasks_most_in_rcu, 64U);
}

/* The copy's table has, of these ids, all but those from @from to @to. */
static void tasks_paths(struct kunit *test, u64 last, u64 from, u64 to)
{
	char path[KDTL_PATH_LEN], want[32];
	unsigned int wrong = 0;
	ssize_t len;
	u64 id;

	for (id = 1; id <= last; id++) {
		len = kdtl_cgroups_path(id, path, sizeof(path));
		snprintf(want, sizeof(want), "/%llu", id);
		wrong += id >= from && id <= to ? len != -ENOENT : len < 0 || strcmp(path, want);
	}
	KUNIT_EXPECT_EQ_MSG(test, wrong, 0U, "of %llu paths, without %llu to %llu", last, from, to);
}

/* Adds cgroups to the copy's table up to this one, and returns its id. */
static u64 tasks_add(u64 from, u64 to)
{
	char path[32];
	u64 id;

	for (id = from; id <= to; id++) {
		snprintf(path, sizeof(path), "/%llu", id);
		kdtl_cgroup_add(id, path);
	}
	return to;
}

/*
 * The path of a cgroup that has gone stays until there is no other room, and those that went first
 * are dropped first.
 */
static void tasks_cgroups(struct kunit *test)
{
	char path[2 * KDTL_PATH_LEN], got[KDTL_PATH_LEN];
	u64 id, last, first;

	if (kdtl_cgroups_alloc()) {
		kdtl_cgroups_free();
		KUNIT_FAIL(test, "no memory");
		return;
	}
	last = tasks_add(1, cgroups.nr);
	tasks_paths(test, last, 0, 0);
	/* These are before older ones in most chains, which must stay. */
	first = cgroups.nr - 20;
	/* Twice, because the second time the list of those that have gone was empty before. */
	for (id = first; id < first + 10; id += 5) {
		kdtl_cgroup_gone(id);
		kdtl_cgroup_gone(id + 1);
		kdtl_cgroup_gone(id + 2);
		tasks_paths(test, last, first, id - 1);
		last = tasks_add(last + 1, last + 1);
		tasks_paths(test, last, first, id);
		last = tasks_add(last + 1, last + 2);
		tasks_paths(test, last, first, id + 2);
		kdtl_cgroup_gone(id + 3);
		kdtl_cgroup_gone(id + 4);
		last = tasks_add(last + 1, last + 2);
		tasks_paths(test, last, first, id + 4);
	}
	KUNIT_EXPECT_EQ(test, cgroups.dropped, 0ULL);
	kdtl_cgroup_add(last + 1, "/new");
	KUNIT_EXPECT_EQ(test, cgroups.dropped, 1ULL);
	KUNIT_EXPECT_EQ(test, kdtl_cgroups_path(last + 1, got, sizeof(got)), -ENOENT);

	/* A cgroup that is renamed keeps its place; of a path that is too long the end is kept. */
	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	kdtl_cgroup_add(last, path + KDTL_PATH_LEN);
	KUNIT_EXPECT_EQ(test, kdtl_cgroups_path(last, got, sizeof(got)), KDTL_PATH_LEN - 1);
	KUNIT_EXPECT_EQ(test, strcmp(got, path + KDTL_PATH_LEN), 0);
	path[sizeof(path) - 2] = 'y';
	kdtl_cgroup_add(last, path + KDTL_PATH_LEN - 1);
	KUNIT_EXPECT_EQ(test, kdtl_cgroups_path(last, got, sizeof(got)), KDTL_PATH_LEN - 1);
	KUNIT_EXPECT_EQ(test, strncmp(got, "...x", 4), 0);
	KUNIT_EXPECT_EQ(test, got[KDTL_PATH_LEN - 2], 'y');
	KUNIT_EXPECT_EQ(test, cgroups.dropped, 1ULL);
	kdtl_cgroups_free();
}

/* Cgroups of other hierarchies have the same ids. */
static void tasks_hierarchies(struct kunit *test)
{
	struct cgroup *cgrp = kzalloc(sizeof(*cgrp), GFP_KERNEL);
	struct kernfs_node kn = { .id = 7 };
	char path[32] = "";
	u64 last;

	if (!cgrp || kdtl_cgroups_alloc()) {
		kdtl_cgroups_free();
		kfree(cgrp);
		KUNIT_FAIL(test, "no memory");
		return;
	}
	cgrp->kn = &kn;
	last = tasks_add(1, cgroups.nr);
	kdtl_cgroup_made(NULL, cgrp, "/other");
	kdtl_cgroup_removed(NULL, cgrp, "/other");
	kdtl_cgroup_add(last + 1, "/new");
	tasks_paths(test, last, 0, 0);
	KUNIT_EXPECT_EQ(test, cgroups.dropped, 1ULL);

	cgrp->root = kdtl_cgroup_root();
	kdtl_cgroup_made(NULL, cgrp, "/ours");
	KUNIT_EXPECT_EQ(test, kdtl_cgroups_path(kn.id, path, sizeof(path)), 5);
	KUNIT_EXPECT_EQ(test, strcmp(path, "/ours"), 0);
	kdtl_cgroup_removed(NULL, cgrp, "/ours");
	tasks_add(last + 1, last + 1);
	tasks_paths(test, last + 1, kn.id, kn.id);
	KUNIT_EXPECT_EQ(test, cgroups.dropped, 1ULL);
	kdtl_cgroups_free();
	kfree(cgrp);
}

/* The cgroups may be left from an earlier run. */
static const char tasks_script[] =
	"rmdir %s/kdtl_there %s/kdtl_else 2>/dev/null\n"
	"set -e\n"
	"printf kdtl_here >/proc/$$/comm\n"
	"mkdir %s/kdtl_there %s/kdtl_else\n"
	"echo $$ >%s/kdtl_there/cgroup.procs\n"
	"printf kdtl_moved >/proc/$$/comm\n"
	"renice -n 5 -p $$\n"
	"printf kdtl_nice >/proc/$$/comm\n"
	"echo $$ >%s/kdtl_else/cgroup.procs\n"
	"rmdir %s/kdtl_there\n"
	"exec /bin/sleep 0.01";

/* A shell names itself, moves to a cgroup, becomes nice, moves on, and ends as another program. */
static void tasks_shell(struct kunit *test)
{
	static const struct {
		const char	*comm;
		const char	*cgroup;
		int		nice;
	} expected[] = {
		{ "sh", "", 0 }, { "kdtl_here", "", 0 }, { "kdtl_here", "/kdtl_there", 0 },
		{ "kdtl_moved", "/kdtl_there", 0 }, { "kdtl_moved", "/kdtl_there", 5 },
		{ "kdtl_nice", "/kdtl_there", 5 }, { "kdtl_nice", "/kdtl_else", 5 },
		{ "sleep", "/kdtl_else", 5 },
	};
	struct kdtl_tasks *table = tasks_open(test);
	struct kdtl_task *all, at = {};
	unsigned int nr, i, k = 0;
	char *script;
	u32 pid = 0;
	u64 lost;

	if (system_state < SYSTEM_RUNNING)
		kunit_skip(test, "built in, it runs before there is user space");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	all = kvcalloc(TASKS_MOST, sizeof(*all), GFP_KERNEL);
	script = kasprintf(GFP_KERNEL, tasks_script, cgroup, cgroup, cgroup, cgroup, cgroup,
			   cgroup, cgroup);
	KUNIT_ASSERT_TRUE(test, all && script);
	KUNIT_EXPECT_EQ(test, tasks_sh(script), 0);
	kfree(script);
	nr = tasks_all(test, table, all, &lost);
	KUNIT_EXPECT_EQ(test, lost, 0ULL);

	for (i = 0; i < nr && !pid; i++) {
		if (!strcmp(all[i].comm, "kdtl_here"))
			pid = all[i].pid;
	}
	for (i = 0; i < nr; i++) {
		if (all[i].pid != pid || (!k && strcmp(all[i].comm, expected[0].comm)))
			continue;
		KUNIT_EXPECT_TRUE_MSG(test, k < ARRAY_SIZE(expected) &&
				      !strcmp(all[i].comm, expected[k].comm) &&
				      all[i].nice == expected[k].nice,
				      "record %u: %.16s, nice %d", k, all[i].comm, all[i].nice);
		KUNIT_EXPECT_EQ(test, all[i].tgid, pid);
		if (k < ARRAY_SIZE(expected))
			tasks_in(test, table, &all[i], expected[k].cgroup);
		k++;
		/* The same record is found by its time. */
		KUNIT_EXPECT_EQ(test, kdtl_task_at(table, pid, all[i].since, &at), 0);
		KUNIT_EXPECT_EQ(test, at.seq, all[i].seq);
		KUNIT_EXPECT_EQ(test, kdtl_task_at(table, pid, all[i].since - 1, &at), 0);
		KUNIT_EXPECT_TRUE(test, at.seq < all[i].seq);
	}
	KUNIT_EXPECT_EQ(test, k, (unsigned int)ARRAY_SIZE(expected));
	kvfree(all);
}

/* The cgroups may be left from an earlier run. */
static const char tasks_names_script[] =
	"cd %s; a='kdtl_b,c' d=kdtl_%0100d\n"
	"rmdir $a $d 2>/dev/null\n"
	"set -e\n"
	"mkdir $a $d\n"
	"echo $$ >$a/cgroup.procs\n"
	"printf 'kdtl_a,\\nb' >/proc/$$/comm\n"
	"echo $$ >$d/cgroup.procs\n"
	"rmdir $a\n"
	"exec /bin/sleep 0.01";

/* What a user chose is escaped, and of a long path the end is kept. */
static void tasks_names(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	char name[KDTL_TASK_NAME], want[KDTL_TASK_NAME], *script;
	struct kdtl_task *all, task;
	unsigned int nr, i, found = 0;
	size_t size;
	u64 lost;
	int at;

	if (system_state < SYSTEM_RUNNING)
		kunit_skip(test, "built in, it runs before there is user space");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	all = kvcalloc(TASKS_MOST, sizeof(*all), GFP_KERNEL);
	script = kasprintf(GFP_KERNEL, tasks_names_script, cgroup, 0);
	KUNIT_ASSERT_TRUE(test, all && script);
	KUNIT_EXPECT_EQ(test, tasks_sh(script), 0);
	kfree(script);
	nr = tasks_all(test, table, all, &lost);
	for (i = 0; i < nr; i++) {
		/* A program that it runs is a task of this name, too, until it calls exec(). */
		if (strcmp(all[i].comm, "kdtl_a,\nb") || (found && all[i].pid != task.pid))
			continue;
		task = all[i];
		at = snprintf(want, sizeof(want), "kdtl_a\\054\\nb:%u", task.pid);
		KUNIT_EXPECT_GT(test, kdtl_task_name(table, &task, name, sizeof(name)), at);
		if (found)
			snprintf(want + at, sizeof(want) - at, " (...%096d)", 0);
		else
			KUNIT_EXPECT_EQ(test, strcmp(strrchr(name, '/') ?: "", "/kdtl_b\\054c)"),
					0);
		KUNIT_EXPECT_EQ(test, strncmp(name, want, strlen(want)), 0);
		found++;

		/* With less room it is cut off. */
		for (size = 1; size < strlen(want); size++) {
			at = kdtl_task_name(table, &task, name, size);
			KUNIT_EXPECT_EQ(test, at, (int)size - 1);
			KUNIT_EXPECT_EQ(test, at, (int)strlen(name));
			KUNIT_EXPECT_EQ(test, strncmp(name, want, at), 0);
		}
	}
	kvfree(all);
	KUNIT_ASSERT_EQ(test, found, 2U);

	/* Neither a cgroup that is not known nor the root is named. */
	task = (struct kdtl_task) { .pid = 7, .comm = "short", .cgroup = U64_MAX };
	KUNIT_EXPECT_EQ(test, kdtl_task_name(table, &task, name, sizeof(name)), 7);
	KUNIT_EXPECT_EQ(test, strcmp(name, "short:7"), 0);
	task.cgroup = 1;
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_path(table, task.cgroup, want, sizeof(want)), 1);
	KUNIT_EXPECT_EQ(test, kdtl_task_name(table, &task, name, sizeof(name)), 7);
	KUNIT_EXPECT_EQ(test, kdtl_task_name(NULL, &task, name, sizeof(name)), 7);
	KUNIT_EXPECT_EQ(test, strcmp(name, "short:7"), 0);
}

/* Start so many short threads that old records are dropped; tasks that live stay known. */
static void tasks_bounded(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	struct kdtl_task *all, task = {};
	unsigned int i, nr, newer = 0;
	struct task_struct *t;
	u64 from, lost, first;
	pid_t pid = 0;

	if (!records)
		kunit_skip(test, "only with task_records");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	all = kvcalloc(TASKS_MOST, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, all);
	nr = tasks_all(test, table, all, &lost);
	KUNIT_ASSERT_GT(test, nr, 0U);
	from = all[nr - 1].seq;
	for (i = 0; i < 2 * records; i++) {
		t = kthread_run(tasks_thread, NULL, "kdtl_%u", i);
		if (IS_ERR(t))
			break;
		if (!i) {
			pid = t->pid;
			first = local_clock();
			tasks_expect(test, table, pid, first, "kdtl_0");
		}
		kthread_stop(t);
	}
	KUNIT_EXPECT_EQ(test, i, 2 * records);
	tasks_expect(test, table, pid, first, NULL);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, 1, local_clock(), &task), 0);
	nr = tasks_all(test, table, all, &lost);
	KUNIT_EXPECT_LE(test, nr, records);
	KUNIT_EXPECT_GT(test, lost, 0ULL);
	/* Each thread makes a record when it begins, and one when it gets its name. */
	KUNIT_EXPECT_GE(test, nr + lost, 2ULL * records);
	for (i = 0; i < nr; i++)
		newer += all[i].seq > from;
	KUNIT_EXPECT_LE(test, all[nr - 1].seq - from, newer + lost);
	kvfree(all);
}

#define TASKS_FEW	16	/* changes in a row that a busy host does not interrupt */

/*
 * Change a task until so many eighths of the table are full.  Returns how many ns a change took, at
 * the least.
 */
static u64 tasks_change_ns(unsigned int eighths)
{
	unsigned int left = records / 8 * eighths, i;
	u64 start, least = U64_MAX;

	for (; left >= TASKS_FEW; left -= TASKS_FEW) {
		start = local_clock();
		for (i = 0; i < TASKS_FEW; i++)
			set_user_nice(current, 1 + i % 2);
		least = min(least, div_u64(local_clock() - start, TASKS_FEW));
	}
	set_user_nice(current, 0);
	return least;
}

#define TASKS_TRIES	10	/* to see whether something is as quick as it was */

#define TASKS_CHANGES	5000

static atomic_t tasks_changed;

static int tasks_changer(void *unused)
{
	unsigned int i;

	for (i = 0; i < TASKS_CHANGES; i++)
		set_user_nice(current, 1 + i % 2);
	atomic_inc(&tasks_changed);
	return tasks_thread(NULL);
}

/* Returns the number of the last change. */
static u64 tasks_last(struct kdtl_tasks *table)
{
	struct kdtl_task few[16];
	u64 seq = 0, lost;

	while (kdtl_tasks_read(table, &seq, few, ARRAY_SIZE(few), &lost))
		;
	return seq;
}

/* Tasks change on all CPUs at once, and no change goes without a number. */
static void tasks_at_once(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	struct task_struct *t[4];
	unsigned int nr = 0, i;
	u64 before;
	int cpu;

	if (!IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "without kretprobes nobody tells of nice values");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	atomic_set(&tasks_changed, 0);
	before = tasks_last(table);
	for_each_online_cpu(cpu) {
		if (nr == ARRAY_SIZE(t))
			break;
		t[nr] = kthread_create(tasks_changer, NULL, "kdtl_change");
		if (IS_ERR(t[nr]))
			break;
		kthread_bind(t[nr], cpu);
		wake_up_process(t[nr++]);
	}
	KUNIT_EXPECT_TRUE(test, kapi_until(atomic_read(&tasks_changed) == nr));
	KUNIT_EXPECT_GE(test, tasks_last(table) - before, nr * (u64)TASKS_CHANGES);
	for (i = 0; i < nr; i++)
		kthread_stop(t[i]);
}

/* Returns the next pid above @pid that has the same hash as @pid, or another one. */
static pid_t tasks_other(pid_t pid, bool same)
{
	const u32 hash = hash_32(pid, ilog2(records));

	do {
		pid++;
	} while ((hash_32(pid, ilog2(records)) == hash) != same);
	return pid;
}

/* Returns how long it takes to look for @pid, at the least, in ns. */
static u64 tasks_look_ns(struct kdtl_tasks *table, pid_t pid)
{
	u64 start, least = U64_MAX;
	struct kdtl_task task;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		start = local_clock();
		kdtl_task_at(table, pid, start, &task);
		least = min(least, local_clock() - start);
	}
	return least;
}

/*
 * A task that changes all the time fills the table with its records.  Each change then replaces the
 * oldest record as quickly as it would take a free one.  To look for a pid with the same hash must
 * not mean to look at all of these records: interrupts are off meanwhile.
 */
static void tasks_full(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	u64 before, after = U64_MAX, same = U64_MAX, other;
	unsigned int i;

	if (!records || !IS_ENABLED(CONFIG_KRETPROBES))
		kunit_skip(test, "only with task_records, and kretprobes to tell of changes");
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	before = tasks_change_ns(5);
	tasks_change_ns(4);
	/* A CPU that shares a core with others may be half as fast as before, for a while. */
	for (i = 0; i < TASKS_TRIES && after > 2 * before; i++)
		after = min(after, tasks_change_ns(8));
	kunit_info(test, "a change: %llu ns, %llu ns when the table is full", before, after);
	KUNIT_EXPECT_LE(test, after, 2 * before);
	other = tasks_look_ns(table, tasks_other(current->pid, false));
	for (i = 0; i < TASKS_TRIES && same > 4 * other; i++)
		same = min(same, tasks_look_ns(table, tasks_other(current->pid, true)));
	kunit_info(test, "to look for a pid: %llu ns, %llu ns with the hash of that task", other,
		   same);
	KUNIT_EXPECT_LE(test, same, 4 * other);
}

/* A reader may go on from any number, even where it has to search in several steps. */
static void tasks_anywhere(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test);
	struct kdtl_task *all, next;
	unsigned int i, nr, same = 0;
	struct task_struct *t;
	u64 lost, seq;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	all = kvcalloc(TASKS_MOST, sizeof(*all), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, all);
	for (i = 0; i < (records ?: 1000); i++) {
		t = kthread_run(tasks_thread, NULL, "kdtl_%u", i);
		if (IS_ERR(t))
			break;
		kthread_stop(t);
	}
	nr = tasks_all(test, table, all, &lost);
	for (i = 0; i + 1 < nr; i++) {
		/* Go to and fro, so that no search begins where the last one ended. */
		const unsigned int at = i % 2 ? i : nr - 2 - i;

		seq = all[at].seq;
		if (kdtl_tasks_read(table, &seq, &next, 1, &lost) != 1)
			continue;
		KUNIT_EXPECT_EQ(test, seq, next.seq);
		KUNIT_EXPECT_GE(test, next.seq, all[at + 1].seq);
		same += next.seq == all[at + 1].seq;
	}
	/* A change that comes meanwhile may replace a record. */
	KUNIT_EXPECT_GE(test, same, nr / 2);
	kvfree(all);
}

/* Each of two readers goes on where it was, and is told of its own losses. */
static void tasks_two_readers(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test), *late;
	struct kdtl_task a, b;
	u64 seq[2] = {}, lost[2];
	struct task_struct *t;
	unsigned int nr = 0;
	pid_t pid;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	t = kthread_run(tasks_thread, NULL, "kdtl_between");
	KUNIT_ASSERT_FALSE(test, IS_ERR(t));
	pid = t->pid;
	late = kdtl_tasks_open();
	KUNIT_ASSERT_FALSE(test, IS_ERR_OR_NULL(late));
	while (kdtl_tasks_read(table, &seq[0], &a, 1, &lost[0]) == 1 &&
	       kdtl_tasks_read(late, &seq[1], &b, 1, &lost[1]) == 1) {
		KUNIT_EXPECT_EQ(test, seq[0], seq[1]);
		KUNIT_EXPECT_EQ(test, a.pid, b.pid);
		KUNIT_EXPECT_EQ(test, lost[0], 0ULL);
		KUNIT_EXPECT_EQ(test, lost[1], 0ULL);
		nr++;
	}
	kthread_stop(t);
	KUNIT_EXPECT_GT(test, nr, 1U);
	/* The first reader still keeps the table. */
	kdtl_tasks_close(late);
	tasks_expect(test, table, pid, local_clock(), "kdtl_between");
}

/* Calls without a table, and with numbers and ids that nothing has, are refused. */
static void tasks_refused(struct kunit *test)
{
	struct kdtl_tasks *table = tasks_open(test), *none[] = { NULL, ERR_PTR(-ENOMEM) };
	struct kdtl_task task;
	u64 seq = 0, lost = 1;
	char path[256];
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, table);
	for (i = 0; i < ARRAY_SIZE(none); i++) {
		KUNIT_EXPECT_EQ(test, kdtl_task_at(none[i], 1, 0, &task), -ENOENT);
		KUNIT_EXPECT_EQ(test, kdtl_tasks_read(none[i], &seq, &task, 1, &lost), 0);
		KUNIT_EXPECT_EQ(test, lost, 0ULL);
		KUNIT_EXPECT_EQ(test, kdtl_cgroup_path(none[i], 1, path, sizeof(path)), -ENOENT);
		KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(none[i], 1, "/"), -ENOENT);
		kdtl_tasks_close(none[i]);
	}
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, -1, 0, &task), -EINVAL);
	KUNIT_EXPECT_EQ(test, kdtl_tasks_read(table, &seq, &task, 0, &lost), 0);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_path(table, U64_MAX, path, sizeof(path)), -ENOENT);
	KUNIT_EXPECT_EQ(test, kdtl_task_at(table, 1, local_clock(), &task), 0);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, task.cgroup, "/"), 1);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, task.cgroup, ""), -ENOENT);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, task.cgroup, "//"), -ENOENT);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, task.cgroup, NULL), -ENOENT);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_within(table, U64_MAX, "/"), -ENOENT);
	KUNIT_EXPECT_EQ(test, kdtl_cgroup_path(table, task.cgroup, path, 1), -E2BIG);
	KUNIT_EXPECT_GT(test, kdtl_cgroup_path(table, task.cgroup, path, SIZE_MAX), 0);
}

static struct kunit_case tasks_cases[] = {
	KUNIT_CASE(tasks_before),
	KUNIT_CASE(tasks_short),
	KUNIT_CASE(tasks_pid_again),
	KUNIT_CASE(tasks_policy),
	KUNIT_CASE(tasks_renamed),
	KUNIT_CASE(tasks_shell),
	KUNIT_CASE(tasks_rcu),
	KUNIT_CASE(tasks_cgroups),
	KUNIT_CASE(tasks_hierarchies),
	KUNIT_CASE(tasks_names),
	KUNIT_CASE(tasks_bounded),
	KUNIT_CASE(tasks_anywhere),
	KUNIT_CASE(tasks_full),
	KUNIT_CASE(tasks_at_once),
	KUNIT_CASE(tasks_two_readers),
	KUNIT_CASE(tasks_refused),
	{ }
};

static struct kunit_suite tasks_suite = {
	.name		= "kdtl_tasks",
	.exit		= tasks_exit,
	.test_cases	= tasks_cases,
};

kunit_test_suites(&tasks_suite);

MODULE_DESCRIPTION("Tests of kdtl's table of tasks");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
