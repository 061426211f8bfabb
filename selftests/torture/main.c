// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_torture: threads, CPU hotplug, the report
 *
 * This is modelled on the kernel's torture tests (kernel/torture.c), but has threads of its own,
 * because CONFIG_TORTURE_TEST is off in the kernels that people run.
 *
 * For a chosen time, threads do random things to sessions that they share: they call verbs, read,
 * close, make bursts of entries, and open events as perf users do, on CPUs that come and go.
 * selftests/guest/torture.sh loads and unloads sources meanwhile.  Afterwards debugfs
 * kdtl_torture/report has one line, and the log has the errors.
 */
#define pr_fmt(fmt) "kdtl_torture: " fmt

#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "torture.h"

static unsigned int seconds = 20;
module_param(seconds, uint, 0444);
MODULE_PARM_DESC(seconds, "duration of the test in seconds (default 20)");

static unsigned int seed;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "seed of all random numbers (default 0: a different one each time)");

static unsigned int threads;
module_param(threads, uint, 0444);
MODULE_PARM_DESC(threads, "number of threads that call verbs at random (default 0: two for each CPU)");

static unsigned int sessions = 16;
module_param(sessions, uint, 0444);
MODULE_PARM_DESC(sessions, "maximum number of sessions at a time (default 16: two of each kind)");

static unsigned int onoff_ms = 300;
module_param(onoff_ms, uint, 0444);
MODULE_PARM_DESC(onoff_ms, "average time in ms after which a CPU goes offline or comes back (default 300; 0: none does)");

static unsigned int period_us = 500;
module_param(period_us, uint, 0444);
MODULE_PARM_DESC(period_us, "time in us between two bursts of a CPU's timer (default 500)");

static char *until = "";
module_param(until, charp, 0444);
MODULE_PARM_DESC(until, "kinds of errors that end the test when the first one occurs, for instance torn,order (default: none)");

/* The first and the last source have many sessions; each of the others has only one. */
static const char * const torture_names[] = {
	"kdtl_torture", "kdtl_torture1", "kdtl_torture2", "kdtl_torture3",
	"kdtl_torture_calm",
};

#define TORTURE_SOURCES		ARRAY_SIZE(torture_names)

static const char * const torture_errors[] = {
	[TORTURE_TORN]		= "torn",
	[TORTURE_ORDER]		= "order",
	[TORTURE_GAP]		= "gap",
	[TORTURE_BALANCE]	= "balance",
	[TORTURE_WAKEUP]	= "wakeup",
	[TORTURE_SNAPSHOT]	= "snapshot",
	[TORTURE_MESSAGE]	= "message",
	[TORTURE_VERB]		= "verb",
};

/* These are assigned in turn.  At most three slots have a source of their own. */
static const unsigned int torture_kinds[] = {
	TORTURE_STEADY,
	TORTURE_EXACT,
	TORTURE_STEADY | TORTURE_OVERWRITE,
	0,
	TORTURE_STEADY | TORTURE_SCHED,
	TORTURE_STEADY | TORTURE_GUEST,
	TORTURE_STEADY | TORTURE_ROOMY,
	TORTURE_OVERWRITE | TORTURE_SCHED,
};

static struct torture_source torture_sources_here[TORTURE_SOURCES];
static struct torture_slot *slots;
static struct torture_thread *workers;
static unsigned int nr_workers;		/* including the sleepers, which come last */
static struct task_struct *torture_main_task, *torture_onoff_task;
static struct dentry *torture_dir;
static bool ending, done;
static u64 began, took;

static atomic64_t torture_entries, torture_lost_sum;
static atomic_long_t torture_error_nr[TORTURE_NR_ERRORS];
static atomic_long_t torture_opened, torture_closed, torture_perf, torture_deaths;
static atomic_long_t torture_hotplugs;
static unsigned long torture_until;	/* bits 1 << enum torture_error */
static atomic_t torture_first;
static enum torture_error first_error;
static u64 first_entries, first_ns;

bool torture_ending(void)
{
	return READ_ONCE(ending);
}

struct torture_thread *torture_thread_at(unsigned int i)
{
	return &workers[i];
}

unsigned int torture_nr_threads(void)
{
	return nr_workers;
}

void torture_count(u64 entries, u64 lost)
{
	atomic64_add(entries, &torture_entries);
	atomic64_add(lost, &torture_lost_sum);
}

/**
 * torture_err() - report an error
 * @what: its kind
 * @fmt: a line for the log, which is printed for the first errors of each kind
 */
void torture_err(enum torture_error what, const char *fmt, ...)
{
	struct va_format vaf = { .fmt = fmt };
	va_list args;

	if (torture_until & BIT(what) && !atomic_xchg(&torture_first, 1)) {
		first_error = what;
		first_entries = atomic64_read(&torture_entries);
		first_ns = local_clock() - began;
		if (*until)
			WRITE_ONCE(ending, true);
	}
	if (atomic_long_inc_return(&torture_error_nr[what]) > 5)
		return;
	va_start(args, fmt);
	vaf.va = &args;
	pr_err("%s: %pV\n", torture_errors[what], &vaf);
	va_end(args);
}

/* ------------------------------------------------------------------ what threads do */

/* An event like that of a perf user, without an area: it only counts. */
static void torture_perf_user(struct torture_thread *t)
{
	struct perf_event_attr attr = {
		.type	= torture_sources_here[0].p.pmu.type,
		.size	= sizeof(attr),
		.config	= 1 + torture_random(t, TORTURE_MASKS),
	};
	const int cpu = cpumask_any(cpu_online_mask);
	struct perf_event *event;
	u64 enabled, running;

	event = perf_event_create_kernel_counter(&attr, (cpu + torture_random(t, nr_cpu_ids)) %
						 nr_cpu_ids, NULL, NULL, NULL);
	/* The CPU may be offline. */
	if (IS_ERR(event))
		return;
	usleep_range(100, 5000);
	perf_event_read_value(event, &enabled, &running);
	perf_event_release_kernel(event);
	atomic_long_inc(&torture_perf);
}

/* Mostly makes a few entries, sometimes more than the smallest area holds. */
static void torture_worker_burst(struct torture_thread *t)
{
	const unsigned int lap = PAGE_SIZE / KDTL_ENTRY_SIZE;

	torture_burst(torture_random(t, 32) ? torture_random(t, 16) :
					     lap / 2 + torture_random(t, lap));
}

static int torture_worker(void *arg)
{
	struct torture_thread *t = arg;
	struct torture_slot *slot;

	t->self = current;
	while (!kthread_should_stop()) {
		slot = &slots[torture_random(t, sessions)];
		switch (torture_random(t, 64)) {
		case 0:
			/* If this CPU is offline, the scheduler chooses another one. */
			set_cpus_allowed_ptr(current, torture_random(t, 4) ?
					     cpumask_of(torture_random(t, nr_cpu_ids)) :
					     cpu_possible_mask);
			break;
		case 1:
			torture_perf_user(t);
			break;
		case 2:
			if (!torture_random(t, slot->flags & TORTURE_GUEST ? 2 : 8)) {
				torture_close(t, slot);
				atomic_long_inc(&torture_closed);
			}
			break;
		case 3 ... 6:
			torture_worker_burst(t);
			break;
		case 7:
			msleep(torture_random(t, 10));
			break;
		default:
			if (READ_ONCE(slot->s))
				torture_op(t, slot);
			else if (!slot->sleeper && !torture_random(t, 8) &&
				 !torture_open(t, slot))
				atomic_long_inc(&torture_opened);
		}
		cond_resched();
	}
	return 0;
}

static int torture_onoff(void *arg)
{
	struct rnd_state rnd;
	unsigned int cpu;
	int err;

	prandom_seed_state(&rnd, seed + 1000003);
	while (!kthread_should_stop()) {
		msleep_interruptible(1 + prandom_u32_state(&rnd) % (2 * onoff_ms));
		cpu = prandom_u32_state(&rnd) % nr_cpu_ids;
		if (!cpu || !cpu_possible(cpu) || !get_cpu_device(cpu))
			continue;
		err = cpu_online(cpu) ? remove_cpu(cpu) : add_cpu(cpu);
		if (!err)
			atomic_long_inc(&torture_hotplugs);
	}
	for_each_present_cpu(cpu) {
		if (!cpu_online(cpu))
			add_cpu(cpu);
	}
	return 0;
}

/* ----------------------------------------------------------------------- threads */

static struct task_struct *torture_run(int (*fn)(void *), void *arg, const char *name)
{
	struct task_struct *task = kthread_create(fn, arg, "kdtl_torture/%s", name);

	if (IS_ERR(task))
		return NULL;
	/* The thread may end by itself. */
	get_task_struct(task);
	wake_up_process(task);
	return task;
}

static void torture_stop(struct task_struct *task)
{
	if (!task)
		return;
	kthread_stop(task);
	put_task_struct(task);
}

/* Starts another sleeper after one that has ended. */
static void torture_rebirth(struct torture_thread *t)
{
	struct task_struct *old = t->task;

	if (!old || !READ_ONCE(old->exit_state))
		return;
	t->task = torture_run(torture_sleeper, t, "sleeper") ?: old;
	if (t->task != old)
		torture_stop(old);
	atomic_long_inc(&torture_deaths);
}

static void torture_start(struct torture_thread *t, unsigned int i)
{
	prandom_seed_state(&t->rnd, seed + 7919 * (u64)i);
	if (t->slot)
		t->task = torture_run(torture_sleeper, t, "sleeper");
	else if (i)
		t->task = torture_run(torture_worker, t, "worker");
}

/* ------------------------------------------------------------------------ report */

static int torture_report_show(struct seq_file *m, void *unused)
{
	char ops[768];
	long errors = 0;
	int i;

	/* Pairs with the release in torture_main(): the numbers are complete. */
	if (!smp_load_acquire(&done)) {
		seq_puts(m, "running\n");
		return 0;
	}
	torture_ops_show(ops, sizeof(ops));
	for (i = 0; i < TORTURE_NR_ERRORS; i++)
		errors += atomic_long_read(&torture_error_nr[i]);
	seq_printf(m, "seed=%u cpus=%u seconds=%llu sessions=%ld entries=%lld lost=%lld hotplugs=%ld perf_users=%ld deaths=%ld%s errors=%ld",
		   seed, num_possible_cpus(), div_u64(took, NSEC_PER_SEC),
		   atomic_long_read(&torture_opened), atomic64_read(&torture_entries),
		   atomic64_read(&torture_lost_sum), atomic_long_read(&torture_hotplugs),
		   atomic_long_read(&torture_perf), atomic_long_read(&torture_deaths),
		   ops, errors);
	for (i = 0; i < TORTURE_NR_ERRORS; i++) {
		if (atomic_long_read(&torture_error_nr[i]))
			seq_printf(m, " %s=%ld", torture_errors[i],
				   atomic_long_read(&torture_error_nr[i]));
	}
	if (atomic_read(&torture_first))
		seq_printf(m, " first=%s first_entries=%llu first_ms=%llu",
			   torture_errors[first_error], first_entries,
			   div_u64(first_ns, NSEC_PER_MSEC));
	seq_putc(m, '\n');
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(torture_report);

/* -------------------------------------------------------------------- from end to end */

/* The sleepers notice the end when their sessions are closed. */
static void torture_end(struct torture_thread *me)
{
	unsigned int i;

	WRITE_ONCE(ending, true);
	torture_stop(torture_onoff_task);
	for (i = 0; i < sessions; i++) {
		while (READ_ONCE(slots[i].s))
			torture_close(me, &slots[i]);
	}
	for (i = 1; i < nr_workers; i++)
		torture_stop(workers[i].task);
}

/* The first worker does nothing random: it runs the test. */
static int torture_main(void *arg)
{
	const unsigned long end = jiffies + seconds * HZ;
	struct torture_thread *me = arg;
	unsigned int i;

	me->self = current;
	while (!kthread_should_stop() && !torture_ending() && time_before(jiffies, end)) {
		msleep_interruptible(50);
		for (i = 0; i < nr_workers; i++) {
			if (!workers[i].slot)
				continue;
			torture_rebirth(&workers[i]);
			torture_watch(me, &workers[i]);
		}
	}
	torture_end(me);
	took = local_clock() - began;
	/* Pairs with the acquire in torture_report_show(). */
	smp_store_release(&done, true);
	return 0;
}

static void torture_free(void)
{
	unsigned int i;

	for (i = 0; i < nr_workers; i++) {
		kvfree(workers[i].buf);
		kfree(workers[i].heads);
	}
	kvfree(workers);
	for (i = 0; slots && i < sessions && slots[i].readers; i++)
		torture_slot_exit(&slots[i]);
	kvfree(slots);
}

static int torture_slots_init(void)
{
	struct torture_slot *slot;
	unsigned int i, sleepers = 0, alone = 0;
	int err;

	slots = kvcalloc(sessions, sizeof(*slots), GFP_KERNEL);
	if (!slots)
		return -ENOMEM;
	for (i = 0; i < sessions; i++) {
		slot = &slots[i];
		slot->id = i;
		slot->flags = torture_kinds[i % ARRAY_SIZE(torture_kinds)];
		if (slot->flags & TORTURE_EXACT && alone == TORTURE_SOURCES - 2)
			slot->flags &= ~TORTURE_EXACT;
		if (slot->flags & TORTURE_SCHED) {
			slot->pmu = "kdtl_sched";
		} else if (slot->flags & TORTURE_GUEST) {
			slot->pmu = "kdtl_torture_pmu";
		} else {
			slot->source = &torture_sources_here[0];
			if (slot->flags & TORTURE_ROOMY)
				slot->source = &torture_sources_here[TORTURE_SOURCES - 1];
			else if (slot->flags & TORTURE_EXACT)
				slot->source = &torture_sources_here[++alone];
			slot->pmu = slot->source->p.name;
		}
		err = torture_slot_init(slot);
		if (err)
			return err;
		sleepers += (slot->flags & (TORTURE_STEADY | TORTURE_OVERWRITE)) == TORTURE_STEADY;
	}
	nr_workers = 1 + (threads ?: 2 * num_possible_cpus()) + sleepers;
	return 0;
}

static int torture_workers_init(void)
{
	unsigned int i, sleeper;
	struct torture_slot *slot;
	struct torture_thread *t;

	workers = kvcalloc(nr_workers, sizeof(*workers), GFP_KERNEL);
	if (!workers)
		return -ENOMEM;
	for (i = 0; i < nr_workers; i++) {
		t = &workers[i];
		t->buf = kvmalloc(TORTURE_PAGES * PAGE_SIZE, GFP_KERNEL);
		t->heads = kcalloc(nr_cpu_ids, sizeof(*t->heads), GFP_KERNEL);
		if (!t->buf || !t->heads)
			return -ENOMEM;
	}
	sleeper = nr_workers;
	for (i = 0; i < sessions; i++) {
		slot = &slots[i];
		if ((slot->flags & (TORTURE_STEADY | TORTURE_OVERWRITE)) != TORTURE_STEADY)
			continue;
		slot->sleeper = &workers[--sleeper];
		slot->sleeper->slot = slot;
	}
	return 0;
}

/* Kinds of errors, by name.  If none is named, all count. */
static int __init torture_parse_until(void)
{
	char *words = kstrdup(until, GFP_KERNEL), *rest = words, *word;
	int i, err = words ? 0 : -ENOMEM;

	while (!err && (word = strsep(&rest, ","))) {
		if (!*word)
			continue;
		i = match_string(torture_errors, TORTURE_NR_ERRORS, word);
		if (i < 0)
			err = i;
		else
			torture_until |= BIT(i);
	}
	kfree(words);
	if (!torture_until)
		torture_until = BIT(TORTURE_NR_ERRORS) - 1;
	return err;
}

static int __init torture_init(void)
{
	unsigned int i;
	int err;

	err = torture_parse_until();
	if (err || !sessions || !seconds)
		return err ?: -EINVAL;
	while (!seed)
		seed = get_random_u32();
	err = torture_sources_start(torture_sources_here, TORTURE_SOURCES, torture_names,
				    THIS_MODULE, seed, period_us);
	if (err)
		return err;
	err = torture_slots_init();
	if (!err)
		err = torture_workers_init();
	if (err)
		goto free;

	pr_info("seed=%u seconds=%u sessions=%u threads=%u\n", seed, seconds,
		sessions, nr_workers);
	began = local_clock();
	for (i = 1; i < nr_workers; i++)
		torture_start(&workers[i], i);
	if (onoff_ms)
		torture_onoff_task = torture_run(torture_onoff, NULL, "onoff");
	torture_start(&workers[0], 0);
	workers[0].task = torture_run(torture_main, &workers[0], "main");
	torture_main_task = workers[0].task;
	if (!torture_main_task)
		torture_end(&workers[0]);
	torture_dir = debugfs_create_dir("kdtl_torture", NULL);
	debugfs_create_file("report", 0400, torture_dir, NULL, &torture_report_fops);
	return 0;

free:
	torture_free();
	torture_sources_stop();
	return err;
}

static void __exit torture_exit(void)
{
	debugfs_remove(torture_dir);
	torture_stop(torture_main_task);
	torture_free();
	torture_sources_stop();
}

module_init(torture_init);
module_exit(torture_exit);

MODULE_DESCRIPTION("Tortures kdtl: sessions, verbs and CPUs at random, entries that prove themselves");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
