// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_fake_drive.ko: entries at any rate, a third party's driver, and faults on
 * demand, for shell scripts and programs
 *
 * In debugfs, below kdtl_fake:
 *
 *	load	"NS BURST": BURST entries every NS ns on every CPU; "0": stop
 *	made	entries made so far, by CPU and kind
 *	do	"burst CPU N"	N entries at once
 *		"wait CPU N"	one entry of a runner that waited for N s
 *		"throttle CPU N" one entry of a runner that was throttled for N s
 *		"starve CPU N"	one of a runner that was throttled for 1 s and then waited for N s
 *		"steal CPU N"	a hypervisor has the CPU for N ms, and writes an entry of that
 *		"lost CPU N"	N entries that the source had and lost
 *		"task CPU PID PREV MS" one entry of PID, after PREV, that waited for MS
 *		"held CPU PID PREV MS" one entry of PID, after PREV, that was throttled for MS
 *		"idle CPU PREV"	the CPU becomes idle after PREV
 *		"later CPU N"	the source's clock moves on by N s, on all CPUs
 *		"soon CPU N"	it moves on by N us
 *		"stop CPU N"	the source's clock stands still if N is 1, and runs if N is 0
 *		"stall CPU N"	delay the load's next N bursts, then make them at once
 *		"torn CPU N"	N entries with a wrong hash
 *		"raw CPU N"	N entries by kdtl_fake_raw, as far as there is room
 *		"short CPU N"	a transaction of kdtl_fake_raw that publishes N bytes
 *	stolen	"PID NS": the task that the last "steal" took the CPU from, and for how long
 */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/sched/clock.h>

#include "line.h"
#include "load.h"
#include "raw.h"

static struct kdtl_raw drive_raw;
static struct dentry *drive_dir;

/* Whom the last "steal" robbed, and of how many ns. Scripts steal one at a time. */
static pid_t drive_robbed;
static u64 drive_stolen;

static ssize_t drive_load_write(struct file *file, const char __user *from,
				size_t len, loff_t *pos)
{
	unsigned int burst = 0;
	unsigned long long ns;
	char line[64];
	int err, n;

	err = kdtl_fake_line(line, sizeof(line), from, len);
	if (err)
		return err;
	n = sscanf(line, "%llu %u", &ns, &burst);
	if (n < 1 || (ns && n < 2) || (ns && ns < NSEC_PER_USEC))
		return -EINVAL;
	kdtl_fake_load_stop();
	err = ns ? kdtl_fake_load_start(ns, burst) : 0;
	return err ?: len;
}

static const struct file_operations drive_load_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= drive_load_write,
};

static int drive_made_show(struct seq_file *m, void *unused)
{
	enum kdtl_kind kind;
	int cpu;

	for_each_possible_cpu(cpu) {
		seq_printf(m, "%d", cpu);
		for (kind = 0; kind < KDTL_NR_KINDS; kind++)
			seq_printf(m, " %llu", kdtl_fake_load_made(cpu, kind));
		seq_putc(m, '\n');
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(drive_made);

static int drive_stolen_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%d %llu\n", drive_robbed, drive_stolen);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(drive_stolen);

/* Writes up to @arg entries, only whole ones and as far as there is room, in one transaction. */
static void drive_raw_entries(struct perf_event *event, void *arg)
{
	const unsigned int nr = *(unsigned int *)arg;
	struct perf_output_handle handle;
	struct kdtl_area *area;
	unsigned long len = 0;
	struct kdtl_entry e;

	area = kdtl_aux_output_begin(&handle, event);
	if (!area)
		return;
	while (len < nr * sizeof(e) && handle.size - len >= sizeof(e)) {
		kdtl_fake_entry_fill(&e, KDTL_KIND_UNKNOWN, 0, 0, 0);
		memcpy(area->base + ((handle.head + len) & (area->size - 1)), &e, sizeof(e));
		len += sizeof(e);
	}
	if (len < nr * sizeof(e))
		kdtl_aux_output_flag(&handle, PERF_AUX_FLAG_TRUNCATED);
	kdtl_aux_output_end(&handle, len);
}

static void drive_raw_short(struct perf_event *event, void *arg)
{
	const unsigned long len = *(unsigned int *)arg;
	struct perf_output_handle handle;

	if (!kdtl_aux_output_begin(&handle, event))
		return;
	kdtl_aux_output_flag(&handle, PERF_AUX_FLAG_PARTIAL);
	kdtl_aux_output_end(&handle, min(len, handle.size));
}

static ssize_t drive_do_write(struct file *file, const char __user *from,
			      size_t len, loff_t *pos)
{
	unsigned int cpu, nr, prev = 0, ms = 0;
	char line[64], what[16];
	int err;

	err = kdtl_fake_line(line, sizeof(line), from, len);
	if (err)
		return err;
	if (sscanf(line, "%15s %u %u %u %u", what, &cpu, &nr, &prev, &ms) < 3 ||
	    cpu >= nr_cpu_ids || !cpu_online(cpu))
		return -EINVAL;

	if (!strcmp(what, "burst"))
		err = kdtl_fake_emit(cpu, KDTL_KIND_CEDE, nr, 0, 0, 0);
	else if (!strcmp(what, "wait"))
		err = kdtl_fake_emit(cpu, KDTL_KIND_CEDE, 1,
				     min_t(u64, (u64)nr * NSEC_PER_SEC, KDTL_TIME_MAX), 0, 0);
	else if (!strcmp(what, "throttle"))
		err = kdtl_fake_emit(cpu, KDTL_KIND_THROTTLE, 1, 0,
				     min_t(u64, (u64)nr * NSEC_PER_SEC, KDTL_TIME_MAX), 0);
	else if (!strcmp(what, "starve"))
		err = kdtl_fake_emit(cpu, KDTL_KIND_THROTTLE, 1,
				     min_t(u64, (u64)nr * NSEC_PER_SEC, KDTL_TIME_MAX),
				     NSEC_PER_SEC, 0);
	else if (!strcmp(what, "task"))
		err = kdtl_fake_emit_task(cpu, KDTL_KIND_CEDE, nr, prev,
					  ms * NSEC_PER_MSEC);
	else if (!strcmp(what, "held"))
		err = kdtl_fake_emit_task(cpu, KDTL_KIND_THROTTLE, nr, prev,
					  ms * NSEC_PER_MSEC);
	else if (!strcmp(what, "idle"))
		err = kdtl_fake_emit_task(cpu, KDTL_KIND_IDLE, 0, nr, 0);
	else if (!strcmp(what, "later"))
		kdtl_fake_later((u64)nr * NSEC_PER_SEC);
	else if (!strcmp(what, "soon"))
		kdtl_fake_later((u64)nr * NSEC_PER_USEC);
	else if (!strcmp(what, "stop"))
		kdtl_fake_stop(nr);
	else if (!strcmp(what, "steal"))
		err = kdtl_fake_steal(cpu, nr, &drive_robbed, &drive_stolen);
	else if (!strcmp(what, "lost"))
		err = kdtl_fake_lost(cpu, nr);
	else if (!strcmp(what, "torn"))
		err = kdtl_fake_emit_torn(cpu, nr);
	else if (!strcmp(what, "stall"))
		kdtl_fake_load_stall(cpu, nr);
	else if (!strcmp(what, "raw"))
		err = kdtl_raw_on(&drive_raw, cpu, drive_raw_entries, &nr);
	else if (!strcmp(what, "short"))
		err = kdtl_raw_on(&drive_raw, cpu, drive_raw_short, &nr);
	else
		err = -EINVAL;
	return err ?: len;
}

static const struct file_operations drive_do_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.write	= drive_do_write,
};

static int __init drive_init(void)
{
	int err = kdtl_raw_register(&drive_raw, "kdtl_fake_raw", 0, false);

	if (err)
		return err;
	drive_dir = debugfs_create_dir("kdtl_fake", NULL);
	debugfs_create_file("load", 0200, drive_dir, NULL, &drive_load_fops);
	debugfs_create_file("made", 0400, drive_dir, NULL, &drive_made_fops);
	debugfs_create_file("stolen", 0400, drive_dir, NULL, &drive_stolen_fops);
	debugfs_create_file("do", 0200, drive_dir, NULL, &drive_do_fops);
	return 0;
}

static void __exit drive_exit(void)
{
	debugfs_remove_recursive(drive_dir);
	kdtl_fake_load_stop();
	kdtl_raw_unregister(&drive_raw);
}

module_init(drive_init);
module_exit(drive_exit);

MODULE_DESCRIPTION("Drives kdtl's test source, and writes as a third party's driver");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
