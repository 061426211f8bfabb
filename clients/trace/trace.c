// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_trace - every entry as a trace event, kdtl:kdtl_dispatch
 *
 * A thread reads all CPUs in the order of time, so ftrace, perf and BPF programs get
 * the entries outside the scheduler's path, with what a program in that path could not
 * know: the cgroup of the task, and behind whom it waited.  While nobody uses the event
 * there is no session, and the thread sleeps.
 */
#define pr_fmt(fmt) "kdtl_trace: " fmt

#include <linux/completion.h>
#include <linux/jiffies.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/wait.h>

#include "client.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static char *pmu = "kdtl_sched";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source: kdtl_sched (default, names tasks), kdtl_steal or kdtl_vpa");

static unsigned int aux_pages = 64;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU, a power of two (default 64)");

static unsigned int min_wait_us;
module_param(min_wait_us, uint, 0644);
MODULE_PARM_DESC(min_wait_us, "shortest wait that is traced, in us, from the next session on (default 0: every entry)");

/* With 0 the thread would run all the time, and with the largest numbers never. */
static int period_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 1, 3600 * MSEC_PER_SEC);
}

static const struct kernel_param_ops period_ops = {
	.set = period_set,
	.get = param_get_uint,
};

static unsigned int period_ms = 100;
module_param_cb(period_ms, &period_ops, &period_ms, 0644);
MODULE_PARM_DESC(period_ms, "longest time until an entry is traced, in ms (1 to 3600000, default 100)");

static struct task_struct *thread;
static DECLARE_WAIT_QUEUE_HEAD(wake);
static DECLARE_COMPLETION(done);	/* wakes the thread while it reads */
static unsigned int turn;	/* odd while somebody uses the event */

static bool listened(void)
{
	return READ_ONCE(turn) & 1;
}

/*
 * Called when the event's first user comes, and when the last one goes.  The callers hold
 * tracepoints_mutex, which kdtl_sched takes to attach, so only the thread opens and closes the
 * session.  kdtl_trace_unlisten() may run even after kdtl_trace_exit(), when the kernel removes
 * the event.
 */
int kdtl_trace_listen(void)
{
	WRITE_ONCE(turn, turn + 1);
	wake_up(&wake);
	return 0;
}

void kdtl_trace_unlisten(void)
{
	WRITE_ONCE(turn, turn + 1);
	complete(&done);
}

/* Fill in the task that the entry is about, and behind whom it waited. */
static void traced_task(struct kdtl_tasks *tasks, struct traced *t)
{
	const struct kdtl_entry *e = t->entry;
	struct kdtl_task task;

	if (!kdtl_task_at(tasks, kdtl_entry_pid(e), kdtl_entry_time(e), &task))
		t->task = task;
	if (!t->task.cgroup ||
	    kdtl_cgroup_path(tasks, t->task.cgroup, t->path, sizeof(t->path)) < 0)
		t->path[0] = '\0';
	t->culprit = kdtl_trace_behind(tasks, t->cpu, e);
	if (t->culprit.pid && !kdtl_task_at(tasks, t->culprit.pid, t->culprit.time, &task)) {
		t->culprit_cgroup = task.cgroup;
		/* It may have called exec() since its entry, and then has another name. */
		strscpy(t->culprit.comm, task.comm, sizeof(t->culprit.comm));
	}
}

static void reader_round(struct kdtl_tasks *tasks, struct kdtl_merge *m,
			 const struct kdtl_aux_info *info, const struct kdtl_timebase *tb)
{
	const struct kdtl_entry *e;

	while ((e = kdtl_merge_next(m))) {
		struct traced t = {
			.entry	= e,
			.info	= info,
			.cpu	= kdtl_merge_cpu(m),
			.lost	= kdtl_merge_lost(m),
			.mono	= kdtl_entry_mono_ns(e, tb),
		};

		if (tasks)
			traced_task(tasks, &t);
		trace_kdtl_dispatch(&t);
		cond_resched();
	}
}

static void reader_loop(struct kdtl_session *s, struct kdtl_tasks *tasks,
			struct kdtl_merge *m, const struct kdtl_aux_info *info,
			unsigned int mine)
{
	struct kdtl_timebase tb = { };

	kdtl_timebase_sync(s, &tb);
	/* End with this user: the next one gets a new session, with the parameters of then. */
	while (READ_ONCE(turn) == mine && !kthread_should_stop()) {
		kdtl_wait(s, msecs_to_jiffies(READ_ONCE(period_ms)));
		kdtl_merge_sync(m);
		kdtl_timebase_sync(s, &tb);
		kdtl_trace_behind_round();
		reader_round(tasks, m, info, &tb);
	}
}

static struct kdtl_session *reader_create(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= aux_pages,
		.min_wait	= (u64)READ_ONCE(min_wait_us) * NSEC_PER_USEC,
		.done		= &done,
	};

	return kdtl_session_create(&attr);
}

/* Run one session for as long as the turn is @mine, so that somebody uses the event. */
static int reader_run(unsigned int mine)
{
	struct kdtl_session *s = reader_create();
	struct kdtl_tasks *tasks = NULL;
	struct kdtl_aux_info info;
	struct kdtl_merge *m;
	int err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	m = kdtl_merge_create(s);
	err = PTR_ERR_OR_ZERO(m) ?: kdtl_aux_info(s, -1, &info);
	/* Begin these first: they must know what was before the first entry that is traced. */
	if (!err && info.tasks) {
		tasks = kdtl_tasks_open();
		err = PTR_ERR_OR_ZERO(tasks) ?: kdtl_trace_behind_begin(pmu, aux_pages);
	}
	if (!err)
		err = kdtl_load(s, NULL);
	if (!err)
		err = kdtl_start(s);
	if (!err)
		reader_loop(s, tasks, m, &info, mine);
	/* Late entries come from CPUs whose clocks were behind when they came online. */
	if (kdtl_merge_late(m))
		pr_warn("%llu dispatches were not traced: they came too late to be in order\n",
			kdtl_merge_late(m));
	kdtl_merge_destroy(m);
	kdtl_session_close(s);
	kdtl_trace_behind_end();
	kdtl_tasks_close(tasks);
	return err;
}

static int reader_thread(void *unused)
{
	unsigned int mine;
	int err;

	for (;;) {
		wait_event_idle(wake, listened() || kthread_should_stop());
		if (kthread_should_stop())
			return 0;
		mine = READ_ONCE(turn);
		/* If that user has just gone, reader_loop() ends at once. */
		err = reader_run(mine);
		if (!err)
			continue;
		pr_err("no session of %s (%d)\n", pmu, err);
		/* Try again for the next user, not for this one. */
		wait_event_idle(wake, READ_ONCE(turn) != mine || kthread_should_stop());
	}
}

static int __init kdtl_trace_init(void)
{
	struct kdtl_session *s;
	int err;

	/* Refuse wrong parameters now, and not when somebody uses the event. */
	s = reader_create();
	if (IS_ERR(s)) {
		err = PTR_ERR(s);
		pr_err("no session of %s (%d)\n", pmu, err);
		return err;
	}
	kdtl_session_close(s);
	thread = kthread_run(reader_thread, NULL, "kdtl_trace");
	return PTR_ERR_OR_ZERO(thread);
}

static void __exit kdtl_trace_exit(void)
{
	kthread_stop(thread);
	/* kdtl_session_close() would do this too, but often there is no session. */
	kdtl_rcu_await(KBUILD_MODNAME);
}

/* When built in, this must come after the sources, which are device_initcalls. */
late_initcall(kdtl_trace_init);
module_exit(kdtl_trace_exit);

MODULE_DESCRIPTION("kdtl's entries as a trace event, in the order of time");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched kdtl_vpa kdtl_steal");
