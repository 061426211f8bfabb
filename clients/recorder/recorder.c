// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_recorder - a flight recorder: the last dispatches before a crash
 *
 * An overwrite session keeps each CPU's newest dispatches and idle times.  On an oops, a
 * panic, an alarm of another client or a write to the trigger file, they are
 * printed to the kernel's log as one table.  They are not read at any other
 * time, so the recorder has no thread.
 *
 * panic() runs its notifiers after the other CPUs have been stopped and before
 * kmsg_dump(), so what they print reaches both the console and pstore; an oops
 * also calls the die notifiers before it dumps.  Documentation/client-recorder.rst
 * has the exceptions (kdump).  In reserved memory (reserved.c) entries may survive a reset
 * without a panic.
 */
#define pr_fmt(fmt) "kdtl_recorder: " fmt

#include <linux/debugfs.h>
#include <linux/kdebug.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/sched/clock.h>

#include "bytes.h"
#include "reserved.h"
#include "table.h"

#define RECORDER_MAX_LINES	10000
#define RECORDER_MAX_BYTES	65536

static char *pmu = "kdtl_sched";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "source: kdtl_sched (default, names tasks), kdtl_steal or kdtl_vpa");

static unsigned int aux_pages = 16;
module_param(aux_pages, uint, 0444);
MODULE_PARM_DESC(aux_pages, "pages per CPU, a power of two (default 16)");

static unsigned int ms = 100;
module_param(ms, uint, 0644);
MODULE_PARM_DESC(ms, "how far back a table goes, from now or from the wait that it is about, in ms (default 100)");

static unsigned int lines = 80;
module_param(lines, uint, 0444);
MODULE_PARM_DESC(lines, "maximum number of rows in a table (default 80, which fit into pstore's usual 10 KiB)");

static unsigned int raw_bytes;
module_param(raw_bytes, uint, 0444);
MODULE_PARM_DESC(raw_bytes, "print this many bytes of each CPU instead of a table, from any of perf's PMUs with an AUX area (default 0: pmu names a source of kdtl)");

static unsigned long long config;
module_param(config, ullong, 0444);
MODULE_PARM_DESC(config, "with raw_bytes: perf_event_attr::config of the PMU's event (default 0)");

/* panic() has a table of its own: a stopped CPU may have been using the other. */
static struct table live_table, panic_table;
static struct bytes live_bytes, panic_bytes;
static struct kdtl_session *session;
static struct kdtl_tasks *tasks;	/* NULL: the source names none */
static struct dentry *debug_dir;

/* Set while live_table or live_bytes is in use.  Not a lock: nothing waits for it. */
static atomic_t live_busy;

/* local_clock() at the last oops' table; 0: none. */
static u64 oops_at;

/* @task: the caller may sleep. */
static void recorder_print(struct bytes *b, struct table *t, const struct kdtl_alarm *about,
			   bool task)
{
	if (raw_bytes)
		bytes_print(b, about, task);
	else
		table_print(t, session, READ_ONCE(ms), about, task);
}

static int recorder_print_live(const struct kdtl_alarm *about, bool task)
{
	if (atomic_cmpxchg_acquire(&live_busy, 0, 1))
		return -EBUSY;
	recorder_print(&live_bytes, &live_table, about, task);
	atomic_set_release(&live_busy, 0);
	return 0;
}

/* ---------------------------------------------------------------- triggers */

/* Perhaps in NMI or inside the scheduler; the other CPUs keep running. */
static int recorder_die(struct notifier_block *nb, unsigned long val, void *data)
{
	const struct kdtl_alarm oops = { .what = "oops", .cpu = raw_smp_processor_id() };

	if (val == DIE_OOPS && !recorder_print_live(&oops, false))
		WRITE_ONCE(oops_at, local_clock());
	return NOTIFY_DONE;
}

/* Interrupts off, perhaps in NMI; the other CPUs have been stopped. */
static int recorder_panic(struct notifier_block *nb, unsigned long val, void *data)
{
	const struct kdtl_alarm panic = { .what = "panic", .cpu = raw_smp_processor_id() };
	const u64 oops = READ_ONCE(oops_at);
	static bool done;

	/* Print no second table after a panic in here, or after an oops that has printed one. */
	if (done)
		return NOTIFY_DONE;
	done = true;
	if (oops && local_clock() - oops < NSEC_PER_SEC)
		pr_emerg("see the table of the oops above\n");
	else
		recorder_print(&panic_bytes, &panic_table, &panic, false);
	return NOTIFY_DONE;
}

static int recorder_alarm(struct notifier_block *nb, unsigned long val, void *data)
{
	recorder_print_live(data, true);
	return NOTIFY_DONE;
}

static struct notifier_block die_nb = { .notifier_call = recorder_die };
static struct notifier_block alarm_nb = { .notifier_call = recorder_alarm };

/* Run early, because the notifiers of some platforms halt or reset the machine. */
static struct notifier_block panic_nb = {
	.notifier_call	= recorder_panic,
	.priority	= INT_MAX - 1,
};

static int trigger_set(void *unused, u64 val)
{
	const struct kdtl_alarm asked = { .what = "asked for", .cpu = -1 };

	return recorder_print_live(&asked, true);
}
DEFINE_DEBUGFS_ATTRIBUTE(trigger_fops, NULL, trigger_set, "%llu\n");

/* A notifier can be refused only if it is registered already. */
static void recorder_hook(void)
{
	register_die_notifier(&die_nb);
	atomic_notifier_chain_register(&panic_notifier_list, &panic_nb);
	kdtl_alarm_register(&alarm_nb);
	debug_dir = debugfs_create_dir("kdtl_recorder", NULL);
	debugfs_create_file_unsafe("trigger", 0200, debug_dir, NULL, &trigger_fops);
}

static void recorder_unhook(void)
{
	debugfs_remove(debug_dir);
	kdtl_alarm_unregister(&alarm_nb);
	kdtl_rcu_await(KBUILD_MODNAME);
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_nb);
	unregister_die_notifier(&die_nb);
}

/* ---------------------------------------------------- from create to close */

/* Begin to keep track of tasks before the first entry, if the source's entries name tasks. */
static int recorder_keep_tasks(void)
{
	struct kdtl_aux_info info;
	int err = kdtl_aux_info(session, -1, &info);

	if (err || !info.tasks)
		return err;
	tasks = kdtl_tasks_open();
	if (IS_ERR(tasks))
		return PTR_ERR(tasks);
	live_table.tasks = tasks;
	panic_table.tasks = tasks;
	return 0;
}

static int recorder_alloc(void)
{
	if (raw_bytes)
		return bytes_alloc(&live_bytes, session, raw_bytes) ?:
		       bytes_alloc(&panic_bytes, session, raw_bytes);
	return table_alloc(&live_table, lines, aux_pages) ?:
	       table_alloc(&panic_table, lines, aux_pages);
}

static void recorder_end(void)
{
	reserved_end();
	kdtl_session_close(session);
	kdtl_tasks_close(tasks);
	bytes_free(&panic_bytes);
	bytes_free(&live_bytes);
	table_free(&panic_table);
	table_free(&live_table);
}

static int recorder_begin(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.place		= reserved_place(),
		.aux_pages	= aux_pages,
		.mask		= raw_bytes ? 0 : KDTL_MASK_ALL | KDTL_MASK_IDLE,
		.config		= config,
		.flags		= KDTL_SESSION_OVERWRITE | (raw_bytes ? KDTL_SESSION_RAW : 0),
	};
	int err;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	err = recorder_keep_tasks();
	if (!err)
		err = kdtl_load(session, NULL);
	if (!err)
		err = recorder_alloc();
	/* This overwrites what the last boot left, so what is likely to fail comes before it. */
	if (!err)
		err = reserved_begin(session);
	if (!err)
		err = kdtl_start(session);
	if (err)
		recorder_end();
	return err;
}

static int __init recorder_init(void)
{
	int err;

	if (!lines || lines > RECORDER_MAX_LINES) {
		pr_warn("lines=%u: must be from 1 to %u\n", lines, RECORDER_MAX_LINES);
		return -EINVAL;
	}
	if (raw_bytes > RECORDER_MAX_BYTES) {
		pr_warn("raw_bytes=%u: must not be above %u\n", raw_bytes, RECORDER_MAX_BYTES);
		return -EINVAL;
	}
	err = reserved_open(aux_pages ?: KDTL_DEFAULT_AUX_PAGES);
	if (err)
		goto close;
	err = recorder_begin();
	if (err) {
		pr_err("no session of %s (%d)\n", pmu, err);
		goto close;
	}
	recorder_hook();
	reserved_show(debug_dir, lines, ms);
	return 0;

close:
	reserved_close();
	return err;
}

static void __exit recorder_exit(void)
{
	recorder_unhook();
	recorder_end();
	reserved_close();
}

/* When built in, this must come after the sources, which are device_initcalls. */
late_initcall(recorder_init);
module_exit(recorder_exit);

MODULE_DESCRIPTION("kdtl flight recorder: the last dispatches of all CPUs when the kernel dies");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_INFO(weakdep, "kdtl_sched kdtl_vpa kdtl_steal");
