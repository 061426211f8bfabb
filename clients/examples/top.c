// SPDX-License-Identifier: GPL-2.0
/*
 * Which tasks have waited longest for a CPU, in total: debugfs/kdtl_top
 *
 * Tasks come and go for as long as the machine runs, so the number of rows is limited: when the
 * table is full, all tasks but those that would be shown are merged into "(others)".
 *
 * A wait is logged only when it is over, which may take long.  So each read of the file also asks
 * which tasks are waiting now, and since when.
 */
#include <linux/debugfs.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/xarray.h>

#define TOP_ROWS	20
#define TOP_TASKS	1024

struct task_waits {
	char	comm[TASK_COMM_LEN];
	pid_t	pid;
	u64	dispatches;
	u64	wait;
	u64	longest;
	bool	saturated;	/* wait and longest are lower bounds */
	u64	now;		/* length of the current wait, which is not logged yet */
	u64	until;		/* when @now was measured, in ticks */
};

static struct kdtl_session *session;
static struct dentry *file;

static DEFINE_MUTEX(lock);	/* protects what follows */
static DEFINE_XARRAY(tasks);	/* by pid */
static unsigned int nr_tasks;
static u64 lost;
static struct task_waits others = { .comm = "(others)" };

static void top_add(struct task_waits *t, u64 dispatches, u64 wait, u64 longest, bool saturated)
{
	t->dispatches += dispatches;
	t->wait += wait;
	t->longest = max(t->longest, longest);
	t->saturated |= saturated;
}

/* Fill @rank with the tasks that waited longest; rows to spare stay NULL. */
static void top_rank(struct task_waits **rank)
{
	struct task_waits *t, *each;
	unsigned long pid;
	int i;

	xa_for_each(&tasks, pid, each) {
		t = each;
		for (i = 0; t && i < TOP_ROWS; i++) {
			if (!rank[i] || t->wait + t->now > rank[i]->wait + rank[i]->now)
				swap(rank[i], t);
		}
	}
}

static void top_make_room(void)
{
	struct task_waits *rank[TOP_ROWS] = {}, *t;
	unsigned long pid;
	int i;

	top_rank(rank);
	xa_for_each(&tasks, pid, t) {
		for (i = 0; i < TOP_ROWS && rank[i] != t; i++)
			;
		if (i < TOP_ROWS)
			continue;
		top_add(&others, t->dispatches, t->wait, t->longest, t->saturated);
		xa_erase(&tasks, pid);
		kfree(t);
		nr_tasks--;
	}
}

static struct task_waits *top_find(pid_t pid)
{
	struct task_waits *t = xa_load(&tasks, pid);

	if (t)
		return t;
	if (nr_tasks == TOP_TASKS)
		top_make_room();
	t = kzalloc(sizeof(*t), GFP_KERNEL);
	if (!t)
		return &others;
	t->pid = pid;
	if (xa_err(xa_store(&tasks, pid, t, GFP_KERNEL))) {
		kfree(t);
		return &others;
	}
	nr_tasks++;
	return t;
}

static void top_count(const struct kdtl_entry *e, const struct kdtl_aux_info *info)
{
	const u64 wait = kdtl_ticks_to_ns(info, kdtl_entry_wait(e));
	struct task_waits *t = top_find(kdtl_entry_pid(e));

	if (t != &others)
		strscpy(t->comm, kdtl_entry_comm(e), sizeof(t->comm));
	top_add(t, 1, wait, wait, kdtl_entry_wait_saturated(e));
	/* This entry ends the wait that was going on, and includes it. */
	if ((s64)(kdtl_entry_time(e) - t->until) > 0)
		t->now = 0;
}

static void top_span(const struct kdtl_span *span, void *unused)
{
	const struct kdtl_entry *e;

	mutex_lock(&lock);
	lost += span->lost;
	kdtl_span_for_each_entry(e, span)
		top_count(e, span->info);
	mutex_unlock(&lock);
}

static void top_wait(const struct kdtl_waiting *w, void *unused)
{
	struct kdtl_aux_info info;
	struct task_waits *t;

	if (kdtl_aux_info(session, w->cpu, &info))
		return;
	mutex_lock(&lock);
	t = top_find(w->pid);
	if (t != &others) {
		strscpy(t->comm, w->comm, sizeof(t->comm));
		/* The time for which a limit on CPU time held the task back is no wait. */
		t->now = kdtl_ticks_to_ns(&info, w->until - w->since - w->held);
		t->until = w->until;
	}
	mutex_unlock(&lock);
}

/* Flush first: entries older than what kdtl_waiting() reports must have been counted. */
static void top_ask(void)
{
	struct task_waits *t;
	unsigned long pid;

	kdtl_flush(session);
	mutex_lock(&lock);
	xa_for_each(&tasks, pid, t)
		t->now = 0;
	mutex_unlock(&lock);
	kdtl_waiting(session, top_wait, NULL);
}

static int top_show(struct seq_file *m, void *unused)
{
	struct task_waits *rank[TOP_ROWS] = {}, *t;
	int i;

	top_ask();
	mutex_lock(&lock);
	top_rank(rank);
	seq_puts(m, "    pid  dispatches         wait ns      longest ns    command\n");
	for (i = 0; i <= TOP_ROWS; i++) {
		t = i < TOP_ROWS ? rank[i] : &others;
		if (t && (t->dispatches || t->now))
			seq_printf(m, "%7d %11llu %15llu %15llu %c  %*pE\n", t->pid,
				   t->dispatches, t->wait + t->now, max(t->longest, t->now),
				   t->saturated ? '+' : ' ', (int)strlen(t->comm), t->comm);
	}
	seq_printf(m, "   lost %11llu\n", lost);
	mutex_unlock(&lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(top);

static int __init top_init(void)
{
	const struct kdtl_session_attr attr = { .pmu = "kdtl_sched" };
	const struct kdtl_reader reader = { .span = top_span };

	session = kdtl_session_open(&attr, &reader);
	if (IS_ERR(session))
		return PTR_ERR(session);
	file = debugfs_create_file("kdtl_top", 0400, NULL, NULL, &top_fops);
	return 0;
}

static void __exit top_exit(void)
{
	struct task_waits *t;
	unsigned long pid;

	debugfs_remove(file);
	kdtl_session_close(session);
	xa_for_each(&tasks, pid, t)
		kfree(t);
	xa_destroy(&tasks);
}

late_initcall(top_init);
module_exit(top_exit);

MODULE_DESCRIPTION("kdtl example: the tasks that waited longest for a CPU");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched");
