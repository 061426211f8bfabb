// SPDX-License-Identifier: GPL-2.0
/*
 * The table of tasks: what each task was, and since when
 *
 * An entry has a pid and a name.  The table adds the task's thread group, cgroup and
 * scheduling at the time.  It is updated by the events that change these (fork, exec, exit,
 * a new name, a move to another cgroup, a new policy or nice value), so that a dispatch
 * costs nothing more.
 *
 * Each change makes a new record, and older records are kept as history.  Memory is
 * bounded: when all records are used, the record that was replaced, or whose task exited,
 * the longest time ago is reused.  The current record of a live task stays, so a new task
 * for which there is no room is not known.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/hash.h>
#include <linux/kdtl_probes.h>
#include <linux/kdtl_root.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/vmalloc.h>

#include "../../core/compat.h"
#include "cgroups.h"
#include "policies.h"
#include "seqtry.h"
#include "tasks.h"

static unsigned int task_records;
module_param(task_records, uint, 0444);
MODULE_PARM_DESC(task_records, "number of records in the table of tasks, which is kept while a client asks for it (default 0: four for each task, at least 16384)");

#define KDTL_MIN_RECORDS	16384
#define KDTL_MAX_RECORDS	BIT(22)
#define KDTL_NO_RECORD		U32_MAX

/* The user may ask for too many records: kdtl logs that itself, so the allocator need not. */
#define KDTL_TASKS_GFP		(GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN)

/* Most records that a reader looks at in one go, with interrupts off. */
#define KDTL_TASKS_STEPS	256

/* A task's first dispatch may seem older than its fork, if the clocks of CPUs differ. */
#define KDTL_TASK_SKEW		(20 * NSEC_PER_MSEC)

/**
 * struct kdtl_record - what a task was, from a moment on
 * @task: the task
 * @start: task_struct::start_time, which tells tasks of the same pid apart
 * @before: the next older record of the same pid
 * @after: the next newer record of the same pid; the newest has none, and only it is in a bucket
 * @chain: the next record in the bucket, the newest record of another pid
 * @chain_prev: the previous record in the bucket
 * @older: the record with the next lower number
 * @newer: the record with the next higher number
 * @next: the next free record, or the next one that was retired
 * @retired: the task has exited, or has a newer record
 * @first: the task began with this record, which was made when it forked
 */
struct kdtl_record {
	struct kdtl_task	task;
	u64			start;
	u32			before;
	u32			after;
	u32			chain;
	u32			chain_prev;
	u32			older;
	u32			newer;
	u32			next;
	bool			retired;
	bool			first;
};

/**
 * struct kdtl_table - the table of tasks
 * @lock: protects the rest
 * @nr: number of @all, and of @heads, a power of two
 * @all: the records
 * @heads: the first record in the bucket of each hash of a pid
 * @seq: number of the last change, whether there was a record for it or not
 * @forgotten: number of records that went to make room
 * @dropped: number of changes for which there was no room, because no record was retired
 * @oldest: the record with the lowest number
 * @newest: the record with the highest number
 * @free: the first free record
 * @retired_first: the record that was retired first
 * @retired_last: the record that was retired last
 */
struct kdtl_table {
	struct kdtl_seqtry	lock;
	u32			nr;
	struct kdtl_record	*all;
	u32			*heads;
	u64			seq;
	u64			forgotten;
	u64			dropped;
	u32			oldest;
	u32			newest;
	u32			free;
	u32			retired_first;
	u32			retired_last;
};

static struct kdtl_table table = { .lock = KDTL_SEQTRY_INIT(table.lock) };

/* ------------------------------------------------------------------ records */

static u32 *kdtl_record_head(u32 pid)
{
	return &table.heads[hash_32(pid, ilog2(table.nr))];
}

/* NULL for KDTL_NO_RECORD, and for a wild index that a reader may see while somebody writes. */
static struct kdtl_record *kdtl_record(u32 i)
{
	return i < table.nr ? &table.all[i] : NULL;
}

static u32 kdtl_record_index(const struct kdtl_record *r)
{
	return r - table.all;
}

/*
 * A bucket has only the newest record of each pid, however often a task changes, because forks
 * and exits search it with interrupts off.
 */
static struct kdtl_record *kdtl_record_newest(u32 pid)
{
	u32 i = READ_ONCE(*kdtl_record_head(pid)), steps = table.nr;
	struct kdtl_record *r;

	while ((r = kdtl_record(i)) && READ_ONCE(r->task.pid) != pid) {
		/* A reader may go in circles while somebody writes. */
		if (!steps--)
			return NULL;
		i = READ_ONCE(r->chain);
	}
	return r;
}

static void kdtl_record_retire(struct kdtl_record *r)
{
	struct kdtl_record *last;

	lockdep_assert_held(&table.lock.lock);
	if (!r || r->retired)
		return;
	r->retired = true;
	r->next = KDTL_NO_RECORD;
	last = kdtl_record(table.retired_last);
	if (last)
		last->next = kdtl_record_index(r);
	else
		table.retired_first = kdtl_record_index(r);
	table.retired_last = kdtl_record_index(r);
}

/* Put @r into the bucket in place of @old; if @r is NULL, only take @old out. */
static void kdtl_record_replace(struct kdtl_record *old, struct kdtl_record *r)
{
	struct kdtl_record *prev = kdtl_record(old->chain_prev), *next = kdtl_record(old->chain);

	if (r) {
		r->chain_prev = old->chain_prev;
		WRITE_ONCE(r->chain, old->chain);
	}
	if (next)
		next->chain_prev = r ? kdtl_record_index(r) : old->chain_prev;
	WRITE_ONCE(*(prev ? &prev->chain : kdtl_record_head(old->task.pid)),
		   r ? kdtl_record_index(r) : old->chain);
}

/* Unlink a record from the records of its pid, and from the order of numbers. */
static void kdtl_record_unlink(struct kdtl_record *r)
{
	struct kdtl_record *older = kdtl_record(r->older), *newer = kdtl_record(r->newer);
	struct kdtl_record *before = kdtl_record(r->before), *after = kdtl_record(r->after);

	if (before)
		before->after = r->after;
	if (after)
		WRITE_ONCE(after->before, r->before);
	else
		kdtl_record_replace(r, before);
	if (older)
		older->newer = r->newer;
	else
		table.oldest = r->newer;
	if (newer)
		newer->older = r->older;
	else
		table.newest = r->older;
}

/* Take the record that was retired first out of the table; NULL: none is retired. */
static struct kdtl_record *kdtl_record_forget(void)
{
	struct kdtl_record *r = kdtl_record(table.retired_first);

	if (!r)
		return NULL;
	table.retired_first = r->next;
	if (r->next == KDTL_NO_RECORD)
		table.retired_last = KDTL_NO_RECORD;
	kdtl_record_unlink(r);
	return r;
}

/* Take a free record, or else the record that was retired first; or NULL. */
static struct kdtl_record *kdtl_record_take(void)
{
	struct kdtl_record *r = kdtl_record(table.free);

	if (r) {
		table.free = r->next;
		return r;
	}
	r = kdtl_record_forget();
	if (r)
		table.forgotten++;
	return r;
}

/* Add a record to the records of its pid, as the newest. */
static void kdtl_record_chain(struct kdtl_record *r)
{
	struct kdtl_record *before = kdtl_record_newest(r->task.pid), *next;
	u32 *head = kdtl_record_head(r->task.pid);
	const u32 i = kdtl_record_index(r);

	r->after = KDTL_NO_RECORD;
	WRITE_ONCE(r->before, before ? kdtl_record_index(before) : KDTL_NO_RECORD);
	if (before) {
		before->after = i;
		kdtl_record_replace(before, r);
		return;
	}
	next = kdtl_record(*head);
	if (next)
		next->chain_prev = i;
	r->chain_prev = KDTL_NO_RECORD;
	WRITE_ONCE(r->chain, *head);
	WRITE_ONCE(*head, i);
}

/* Link a record whose @task is filled in. */
static void kdtl_record_link(struct kdtl_record *r)
{
	struct kdtl_record *newest = kdtl_record(table.newest);
	const u32 i = kdtl_record_index(r);

	r->older = table.newest;
	r->newer = KDTL_NO_RECORD;
	if (newest)
		newest->newer = i;
	else
		table.oldest = i;
	table.newest = i;
	kdtl_record_chain(r);
}

/* ---------------------------------------------------------------- changes */

/* A task's pid in its innermost namespace; 0 if it has been reaped.  Call it in an RCU reader. */
static u32 kdtl_ns_pid(struct task_struct *t)
{
	const struct pid *pid = task_pid(t);

	return pid ? pid->numbers[pid->level].nr : 0;
}

/* Fill in what @t is now, with the name @comm. */
static void kdtl_task_describe(struct task_struct *t, const char *comm,
			       struct kdtl_task *task)
{
	rcu_read_lock();
	*task = (struct kdtl_task) {
		.cgroup		= kdtl_cgroup_of(t),
		.pid		= t->pid,
		.tgid		= t->tgid,
		.policy		= t->policy,
		.nice		= task_nice(t),
		.rt_priority	= t->rt_priority,
		.ns_pid		= kdtl_ns_pid(t),
	};
	rcu_read_unlock();
	static_assert(sizeof(task->comm) == TASK_COMM_LEN);
	strscpy(task->comm, comm, sizeof(task->comm));
}

static bool kdtl_task_same(const struct kdtl_task *a, const struct kdtl_task *b)
{
	return a->cgroup == b->cgroup && a->tgid == b->tgid && a->policy == b->policy &&
	       a->nice == b->nice && a->rt_priority == b->rt_priority &&
	       !strncmp(a->comm, b->comm, sizeof(a->comm));
}

enum kdtl_note {
	KDTL_NOTE_BASE,		/* the task was there when the table was begun */
	KDTL_NOTE_FORK,
	KDTL_NOTE_CHANGE,
};

/*
 * Called under the lock, so that the newest record is what the task is: a task has its new
 * cgroup, policy or nice value before this is noted, so the last caller sees all of them.  But a
 * task gets a new name only after this is noted, so keep the name of its last record, unless that
 * is from the walk (since is 0): then no name has been noted yet.
 */
static void kdtl_task_add(struct task_struct *t, const char *comm, enum kdtl_note why)
{
	struct kdtl_record *last = kdtl_record_newest(t->pid), *r;
	const bool live = last && last->start == t->start_time && !last->retired;
	struct kdtl_task task;

	lockdep_assert_held(&table.lock.lock);
	/* A record that is there already is newer than what the walk has seen. */
	if (last && why == KDTL_NOTE_BASE)
		return;
	kdtl_task_describe(t, comm ?: live && last->task.since ? last->task.comm : t->comm,
			   &task);
	if (live && kdtl_task_same(&last->task, &task))
		return;
	table.seq++;
	/* Retire it first: if there is no other record to take, this one makes room. */
	kdtl_record_retire(last);
	r = kdtl_record_take();
	if (!r) {
		table.dropped++;
		return;
	}
	r->task = task;
	r->task.seq = table.seq;
	r->task.since = why == KDTL_NOTE_BASE ? 0 : local_clock();
	r->start = t->start_time;
	r->retired = false;
	r->first = why != KDTL_NOTE_CHANGE;
	kdtl_record_link(r);
	/* If @t is not exiting yet, kdtl_task_exited() gets the lock later, and retires it. */
	if (t->flags & PF_EXITING)
		kdtl_record_retire(r);
}

/* Make a record if anything has changed.  @comm: the name that @t is about to get, or NULL. */
static void kdtl_task_note(struct task_struct *t, const char *comm, enum kdtl_note why)
{
	unsigned long flags;

	kdtl_seqtry_write(&table.lock, &flags);
	kdtl_task_add(t, comm, why);
	kdtl_seqtry_written(&table.lock, flags);
}

static void kdtl_task_forked(void *data, struct task_struct *t, kdtl_clone_flags_t clone_flags)
{
	kdtl_task_note(t, NULL, KDTL_NOTE_FORK);
}

static void kdtl_task_renamed(void *data, struct task_struct *t, const char *comm)
{
	kdtl_task_note(t, comm, KDTL_NOTE_CHANGE);
}

/* @t does not have its pid any more. */
static void kdtl_task_gone(const struct task_struct *t)
{
	struct kdtl_record *r;
	unsigned long flags;

	kdtl_seqtry_write(&table.lock, &flags);
	r = kdtl_record_newest(t->pid);
	/* By now a task of another thread group may have the pid. */
	if (r && r->task.tgid == t->tgid)
		kdtl_record_retire(r);
	kdtl_seqtry_written(&table.lock, flags);
}

static void kdtl_task_execed(void *data, struct task_struct *t, pid_t old_pid,
			     struct linux_binprm *bprm)
{
	kdtl_task_note(t, NULL, KDTL_NOTE_CHANGE);
}

/*
 * A thread that calls exec() exchanges its pid for that of its group's leader, so no task exits
 * with the thread's pid.  But the leader is freed with that pid, whether exec() succeeds or not.
 */
static void kdtl_task_freed(void *data, struct task_struct *t)
{
	if (t->pid != t->tgid)
		kdtl_task_gone(t);
}

static void kdtl_task_exited(void *data, struct task_struct *t KDTL_EXIT_GROUP_DEAD)
{
	kdtl_task_gone(t);
}

#ifdef CONFIG_CGROUPS
static void kdtl_task_moved(void *data, struct cgroup *to, const char *path,
			    struct task_struct *leader, bool threadgroup)
{
	struct task_struct *t;

	if (!threadgroup) {
		kdtl_task_note(leader, NULL, KDTL_NOTE_CHANGE);
		return;
	}
	rcu_read_lock();
	for_each_thread(leader, t)
		kdtl_task_note(t, NULL, KDTL_NOTE_CHANGE);
	rcu_read_unlock();
}
#endif

/* @t has a new policy or nice value. */
static void kdtl_task_set(struct task_struct *t)
{
	kdtl_task_note(t, NULL, KDTL_NOTE_CHANGE);
}

static struct kdtl_probe kdtl_task_probes[] = {
	{ "task_newtask", kdtl_task_forked },
	{ "task_rename", kdtl_task_renamed },
	{ "sched_process_exec", kdtl_task_execed },
	{ "sched_process_exit", kdtl_task_exited },
	{ "sched_process_free", kdtl_task_freed },
#ifdef CONFIG_CGROUPS
	{ "cgroup_attach_task", kdtl_task_moved },
	{ "cgroup_transfer_tasks", kdtl_task_moved },
#endif
};

/* ------------------------------------------------------------ begin and end */

/* Call @each, unless it is NULL, for each task that exists.  Returns the number of tasks. */
static u32 kdtl_tasks_walk(void (*each)(struct task_struct *t))
{
	struct task_struct *t;
	struct pid *pid;
	int nr = 1;
	u32 sum = 0;

	/* There may be millions of tasks, so each has an RCU section of its own. */
	do {
		rcu_read_lock();
		pid = find_ge_pid(nr, &init_pid_ns);
		if (pid) {
			nr = pid_nr(pid) + 1;
			t = pid_task(pid, PIDTYPE_PID);
			sum += !!t;
			if (t && each)
				each(t);
		}
		rcu_read_unlock();
		cond_resched();
	} while (pid);
	return sum;
}

static void kdtl_task_base(struct task_struct *t)
{
	kdtl_task_note(t, NULL, KDTL_NOTE_BASE);
}

/* Is there memory for the table?  If not, others would be killed before a page is refused. */
static bool kdtl_tasks_fit(void)
{
	const u64 size = (u64)table.nr * (sizeof(*table.all) + sizeof(*table.heads));

	return size >> PAGE_SHIFT <= si_mem_available();
}

static int kdtl_tasks_alloc(void)
{
	u32 nr = task_records ?: max_t(u32, KDTL_MIN_RECORDS, 4 * kdtl_tasks_walk(NULL)), i;

	table.nr = roundup_pow_of_two(clamp_t(u32, nr, 2, KDTL_MAX_RECORDS));
	if (kdtl_tasks_fit()) {
		table.all = __vcalloc(table.nr, sizeof(*table.all), KDTL_TASKS_GFP);
		table.heads = __vcalloc(table.nr, sizeof(*table.heads), KDTL_TASKS_GFP);
	}
	if (!table.all || !table.heads) {
		pr_warn("no memory for %u records of tasks: see task_records\n", table.nr);
		return -ENOMEM;
	}
	for (i = 0; i < table.nr; i++) {
		table.heads[i] = KDTL_NO_RECORD;
		table.all[i].next = i + 1;
	}
	table.free = 0;
	table.oldest = KDTL_NO_RECORD;
	table.newest = KDTL_NO_RECORD;
	table.retired_first = KDTL_NO_RECORD;
	table.retired_last = KDTL_NO_RECORD;
	return 0;
}

static void kdtl_tasks_free(void)
{
	vfree(table.heads);
	vfree(table.all);
	table.heads = NULL;
	table.all = NULL;
}

/**
 * kdtl_table_begin() - begin to keep the table
 *
 * Context: may sleep; not under the CPU hotplug lock.  The caller keeps others from
 * beginning or ending the table meanwhile.
 * Return: 0, -ENOMEM, or the error of registering a probe.
 */
int kdtl_table_begin(void)
{
	int err;

	err = kdtl_cgroups_begin();
	if (err)
		return err;
	err = kdtl_tasks_alloc();
	if (!err)
		err = kdtl_probes_register(kdtl_task_probes, ARRAY_SIZE(kdtl_task_probes));
	if (err) {
		kdtl_tasks_free();
		kdtl_cgroups_end();
		return err;
	}
	kdtl_policies_begin(kdtl_task_set);
	/* From here on, changes make records by themselves; the walk adds the other tasks. */
	kdtl_tasks_walk(kdtl_task_base);
	kdtl_tables.tasks = (struct kdtl_root_table) {
		.first		= table.all,
		.nr		= table.nr,
		.size		= sizeof(*table.all),
		.text		= offsetof(struct kdtl_record, task.comm),
		.text_len	= sizeof(table.all->task.comm),
	};
	return 0;
}

/* Forget some records that were retired.  Returns false if there are no more. */
static bool kdtl_records_drop(unsigned int nr)
{
	struct kdtl_record *r;
	unsigned long flags;

	kdtl_seqtry_write(&table.lock, &flags);
	while (nr-- && (r = kdtl_record_forget())) {
		r->next = table.free;
		table.free = kdtl_record_index(r);
	}
	r = kdtl_record(table.retired_first);
	kdtl_seqtry_written(&table.lock, flags);
	return r;
}

/**
 * kdtl_table_renew() - forget what tasks were before, as if the table had begun now
 *
 * Context: as kdtl_table_begin(); nobody reads the table.
 */
void kdtl_table_renew(void)
{
	while (kdtl_records_drop(KDTL_TASKS_STEPS))
		cond_resched();
}

/**
 * kdtl_table_end() - undo kdtl_table_begin()
 *
 * Context: as kdtl_table_begin().
 */
void kdtl_table_end(void)
{
	kdtl_tables.tasks.first = NULL;
	kdtl_policies_end();
	kdtl_probes_unregister(kdtl_task_probes, ARRAY_SIZE(kdtl_task_probes));
	kdtl_tasks_free();
	kdtl_cgroups_end();
}

/* ------------------------------------------------------------------ readers */

/**
 * kdtl_tasks_show() - print the numbers of the table
 * @m: a file of debugfs
 *
 * Context: may sleep.
 */
void kdtl_tasks_show(struct seq_file *m)
{
	u64 changes, forgotten, dropped;
	unsigned long flags;
	u32 nr;

	raw_spin_lock_irqsave(&table.lock.lock, flags);
	nr = table.all ? table.nr : 0;
	changes = table.seq;
	forgotten = table.forgotten;
	dropped = table.dropped;
	raw_spin_unlock_irqrestore(&table.lock.lock, flags);
	seq_puts(m, "records    changes  forgotten    dropped     missed\n");
	seq_printf(m, "%7u %10llu %10llu %10llu %10llu\n", nr, changes,
		   forgotten, dropped, kdtl_policies_missed());
}

/**
 * kdtl_table_cursor() - begin to read the records
 * @c: its cursor, filled in
 *
 * Context: any but NMI, between kdtl_table_begin() and kdtl_table_end().
 */
void kdtl_table_cursor(struct kdtl_tasks_cursor *c)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&table.lock.lock, flags);
	c->from = table.seq;
	raw_spin_unlock_irqrestore(&table.lock.lock, flags);
	c->at = KDTL_NO_RECORD;
}

static int kdtl_tasks_look(u32 pid, u64 time, struct kdtl_task *task)
{
	struct kdtl_record *r = kdtl_record_newest(pid), *first = NULL;
	u32 steps = table.nr;

	while (r && (s64)(time - r->task.since) < 0) {
		first = r;
		/* A reader may go in circles while somebody writes. */
		r = steps-- ? kdtl_record(READ_ONCE(r->before)) : NULL;
	}
	if (!r && first && first->first && first->task.since - time < KDTL_TASK_SKEW)
		r = first;
	if (!r)
		return -ENOENT;
	*task = r->task;
	return 0;
}

/**
 * kdtl_table_at() - what a task was at a time
 * @pid: its pid in the initial namespace, not 0
 * @time: local_clock() at that time
 * @task: filled in
 *
 * Context: any, between kdtl_table_begin() and kdtl_table_end().
 * Return: 0, -ENOENT or -EAGAIN, see kdtl_task_at().
 */
int kdtl_table_at(pid_t pid, u64 time, struct kdtl_task *task)
{
	unsigned int tries = KDTL_SEQ_TRIES, seq;
	int err;

	do {
		if (!kdtl_seqtry_begin(&table.lock, &tries, &seq))
			return -EAGAIN;
		err = kdtl_tasks_look(pid, time, task);
	} while (read_seqcount_retry(&table.lock.seq, seq));
	return err;
}

/**
 * kdtl_table_gone() - does no task have a pid any more?
 * @pid: the pid, which a task had
 *
 * Context: any, NMI too.
 * Return: true if the pid's last task has exited, or got another pid by exec(); false if it may
 * still have the pid.
 */
bool kdtl_table_gone(pid_t pid)
{
	unsigned int tries = KDTL_SEQ_TRIES, seq;
	const struct kdtl_record *r;
	bool gone;

	do {
		if (!kdtl_seqtry_begin(&table.lock, &tries, &seq))
			return false;
		r = kdtl_record_newest(pid);
		gone = r && r->retired;
	} while (read_seqcount_retry(&table.lock.seq, seq));
	return gone;
}

/*
 * Where to begin the search for the records after @seq: where the reader was, or else at the
 * end that seems nearer.  NULL: there are no records.
 */
static struct kdtl_record *kdtl_record_near(const struct kdtl_tasks_cursor *c, u64 seq)
{
	struct kdtl_record *r = kdtl_record(c->at);

	if (r && r->task.seq == seq)
		return r;
	r = kdtl_record(table.oldest);
	if (r && seq > r->task.seq && seq - r->task.seq >= table.seq - seq)
		r = kdtl_record(table.newest);
	return r;
}

/*
 * Go on from @r to the first record with a number above @seq, or to NULL if there is none.
 * Returns false if that takes more steps than are allowed in one go.
 */
static bool kdtl_record_seek(u64 seq, struct kdtl_record **r)
{
	unsigned int steps = KDTL_TASKS_STEPS;
	struct kdtl_record *older;

	while (steps--) {
		if ((*r)->task.seq <= seq) {
			*r = kdtl_record((*r)->newer);
			if (!*r || (*r)->task.seq > seq)
				return true;
		} else {
			older = kdtl_record((*r)->older);
			if (!older || older->task.seq <= seq)
				return true;
			*r = older;
		}
	}
	return false;
}

/*
 * The first record with a number above @seq; or NULL.  The search may be long, because the
 * caller may ask for any number, so it drops the lock and enables interrupts now and then.
 */
static struct kdtl_record *kdtl_record_after(const struct kdtl_tasks_cursor *c, u64 seq,
					     unsigned long *flags)
	__must_hold(&table.lock.lock)
{
	struct kdtl_record *r = kdtl_record_near(c, seq);
	u64 at;

	while (r && !kdtl_record_seek(seq, &r)) {
		at = r->task.seq;
		raw_spin_unlock_irqrestore(&table.lock.lock, *flags);
		cpu_relax();
		raw_spin_lock_irqsave(&table.lock.lock, *flags);
		/* If the record was reused meanwhile, its number has changed: start again. */
		if (r->task.seq != at)
			r = kdtl_record_near(c, seq);
	}
	return r;
}

/* Count the numbers between @seq and @next, above @from: their records are gone. */
static u64 kdtl_record_gap(u64 from, u64 seq, u64 next)
{
	seq = max(seq, from);
	return next > seq ? next - seq - 1 : 0;
}

/**
 * kdtl_table_after() - read the records in the order of their numbers
 * @c: the reader's cursor; changed
 * @seq: the last number that was read; changed
 * @to: filled in
 * @nr: room in @to, a few
 * @lost: set to the number of records that are missing
 *
 * Context: any but NMI, between kdtl_table_begin() and kdtl_table_end().
 * Return: number of records.
 */
unsigned int kdtl_table_after(struct kdtl_tasks_cursor *c, u64 *seq, struct kdtl_task *to,
			      unsigned int nr, u64 *lost)
{
	struct kdtl_record *r;
	unsigned long flags;
	unsigned int n = 0;

	*lost = 0;
	raw_spin_lock_irqsave(&table.lock.lock, flags);
	for (r = kdtl_record_after(c, *seq, &flags); r && n < nr; r = kdtl_record(r->newer)) {
		*lost += kdtl_record_gap(c->from, *seq, r->task.seq);
		*seq = r->task.seq;
		to[n++] = r->task;
		c->at = kdtl_record_index(r);
	}
	if (!r) {
		*lost += kdtl_record_gap(c->from, *seq, table.seq + 1);
		*seq = max(*seq, table.seq);
	}
	raw_spin_unlock_irqrestore(&table.lock.lock, flags);
	return n;
}
