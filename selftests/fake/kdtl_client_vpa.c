// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_client_vpa - two sessions on kdtl_vpa, and what they saw
 *
 * Driven by selftests/guest/vpa-log.sh, fakehv.sh and perf-vpa.sh through debugfs,
 * kdtl_client_vpa/:
 *
 * ctl, write only; the write fails as the verb does:
 *	open [BYTES]	create two sessions, load them; AUX area per CPU
 *	attr N MASK NS	mask and wake-up period of session N (0 or 1) of the next two
 *	sets N MASK	the first session switches after N entries to a set that logs
 *			MASK
 *	start		start the first, then the second
 *	stop		stop the second, then the first, read what is left
 *	close		close both
 *	hold		do not read until the sessions are stopped
 *	merge		read the first session's CPUs in one order, until it stops
 *	hcalls CPU N	make N hypervisor calls on the CPU, interrupts off: these are
 *			N dispatches in a KVM guest, and no poll comes in between
 *	own CPU		register a log of the test's own, as the kernel's users do
 *	disown		give that log back
 *
 * report: a line of key=value for each CPU's lppaca, one for each session and
 * CPU, one for each CPU that compares what the two sessions saw, and one about
 * the merge.
 *
 * entries: the entries that the first session saw, CPU by CPU, a line for each:
 * CPU, time, dispatch and preempt reason, times queued, ready and slept,
 * processor, srr0.
 */
#define pr_fmt(fmt) "kdtl_client_vpa: " fmt

#include <linux/debugfs.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/vmalloc.h>
#include <asm/dtl.h>
#include <asm/plpar_wrappers.h>

#include "kdtl_fake_hv.h"
#include "line.h"

static char *pmu = "kdtl_vpa";
module_param(pmu, charp, 0444);
MODULE_PARM_DESC(pmu, "name of the source (default kdtl_vpa)");

static bool fake;
module_param(fake, bool, 0444);
MODULE_PARM_DESC(fake, "the entries are made by kdtl_fake_hv, so check their checksums");

/* At most so many entries of each session and CPU are kept for comparisons. */
#define TEST_KEPT	131072

/* The time base is converted with an error of some ticks. */
#define TEST_CLOCK_ERROR	(10 * NSEC_PER_USEC)

/**
 * struct test_cpu - what a session saw of a CPU
 * @entries: number of entries
 * @backwards: entries that are not newer than the one before
 * @bad_reason: entries with a dispatch reason that PAPR does not have
 * @bad_preempt: entries with a preempt reason that PAPR does not have
 * @time_slice: entries with dispatch reason 7
 * @unused: entries with preempt reason 0
 * @bad_sum: entries with a wrong checksum
 * @repeated: entries whose number, by kdtl_fake_hv, is below @next_seq
 * @next_seq: the least number that the next entry may have
 * @outside: entries with a time before the start or after the stop
 * @queued: sum of enqueue_to_dispatch_time
 * @rest: sum of the other two times
 * @last: time of the last entry
 * @pcpu_min: smallest processor_id
 * @pcpu_max: largest processor_id
 * @stolen_min: ns that the kernel counted as stolen while the session ran on all CPUs
 * @stolen_max: ns that the kernel counted as stolen while the session ran on any CPU
 * @kept: the first TEST_KEPT entries
 */
struct test_cpu {
	u64		entries;
	u64		backwards;
	u64		bad_reason;
	u64		bad_preempt;
	u64		time_slice;
	u64		unused;
	u64		bad_sum;
	u64		repeated;
	u64		next_seq;
	u64		outside;
	u64		queued;
	u64		rest;
	u64		last;
	u64		stolen_min;
	u64		stolen_max;
	unsigned int	pcpu_min;
	unsigned int	pcpu_max;
	struct kdtl_entry *kept;
};

/**
 * struct test_session - a session and what it saw
 * @s: the session
 * @started: local_clock() before kdtl_start()
 * @stopped: local_clock() after kdtl_stop()
 * @mask: what it will log; 0: everything
 * @period: ns between its wake-ups
 * @switch_after: entries after which it switches to another set; 0: it has one set
 * @switch_mask: what that set will log
 * @merge: if not NULL, the session is read through it
 * @merged: entries that @merge returned
 * @disordered: entries that @merge returned after a newer one
 * @last: time of the last entry that @merge returned
 * @cpus: what it saw, by CPU
 */
struct test_session {
	struct kdtl_session		*s;
	u64				started;
	u64				stopped;
	u32				mask;
	u64				period;
	u64				switch_after;
	u32				switch_mask;
	struct kdtl_merge		*merge;
	u64				merged;
	u64				disordered;
	u64				last;
	struct test_cpu __percpu	*cpus;
};

static struct test_session sessions[2];
static struct task_struct *reader;
static bool hold;
static struct dtl_entry *own_log;
static int own_cpu = -1;
static DEFINE_MUTEX(test_lock);		/* protects all of the above */
static DEFINE_MUTEX(read_lock);		/* kdtl allows one reader at a time */
static struct dentry *test_dir;

static void test_entry(struct test_session *ts, struct test_cpu *tc,
		       const struct kdtl_aux_info *info, const struct kdtl_entry *e)
{
	const u64 tb = kdtl_entry_time(e);
	const u64 ns = kdtl_ticks_to_ns(info, tb - info->tb_boot);
	const unsigned int pcpu = kdtl_entry_cpu(e);

	if (tc->entries < TEST_KEPT)
		tc->kept[tc->entries] = *e;
	if (!tc->entries || pcpu < tc->pcpu_min)
		tc->pcpu_min = pcpu;
	if (pcpu > tc->pcpu_max)
		tc->pcpu_max = pcpu;
	tc->entries++;
	if (tb <= tc->last)
		tc->backwards++;
	tc->last = tb;
	if (ns + TEST_CLOCK_ERROR < ts->started ||
	    ns > (READ_ONCE(ts->stopped) ?: local_clock()) + TEST_CLOCK_ERROR)
		tc->outside++;
	if (kdtl_entry_dispatch_reason(e) > KDTL_DISPATCH_PRIV_DOORBELL)
		tc->bad_reason++;
	if (kdtl_entry_preempt_reason(e) > KDTL_PREEMPT_HDEC_ADJUNCT)
		tc->bad_preempt++;
	if (kdtl_entry_dispatch_reason(e) == KDTL_DISPATCH_TIME_SLICE)
		tc->time_slice++;
	if (kdtl_entry_preempt_reason(e) == KDTL_PREEMPT_UNUSED)
		tc->unused++;
	if (fake) {
		if (!fakehv_entry_ok(e))
			tc->bad_sum++;
		if (fakehv_entry_seq(e) < tc->next_seq)
			tc->repeated++;
		tc->next_seq = fakehv_entry_seq(e) + 1;
	}
	tc->queued += kdtl_entry_queued(e);
	tc->rest += kdtl_entry_ready(e) + kdtl_entry_slept(e);
}

static void test_read_merged(struct test_session *ts)
{
	const struct kdtl_entry *e;
	struct kdtl_aux_info info;
	int cpu;

	kdtl_merge_sync(ts->merge);
	while ((e = kdtl_merge_next(ts->merge))) {
		cpu = kdtl_merge_cpu(ts->merge);
		ts->merged++;
		if (kdtl_entry_time(e) < ts->last)
			ts->disordered++;
		ts->last = kdtl_entry_time(e);
		if (!kdtl_aux_info(ts->s, cpu, &info))
			test_entry(ts, per_cpu_ptr(ts->cpus, cpu), &info, e);
	}
}

static void test_read_cpus(struct test_session *ts)
{
	const struct kdtl_entry *e;
	struct kdtl_aux_info info;
	const void *span;
	ssize_t len;
	int cpu;

	for_each_possible_cpu(cpu) {
		len = kdtl_aux_peek(ts->s, cpu, &span);
		if (len <= 0 || kdtl_aux_info(ts->s, cpu, &info))
			continue;
		kdtl_for_each_entry(e, span, len)
			test_entry(ts, per_cpu_ptr(ts->cpus, cpu), &info, e);
		kdtl_aux_consume(ts->s, cpu, len);
	}
}

static void test_read(struct test_session *ts)
{
	mutex_lock(&read_lock);
	if (ts->merge)
		test_read_merged(ts);
	else
		test_read_cpus(ts);
	mutex_unlock(&read_lock);
}

static int test_merge(struct test_session *ts)
{
	struct kdtl_merge *m = kdtl_merge_create(ts->s);

	if (IS_ERR(m))
		return PTR_ERR(m);
	mutex_lock(&read_lock);
	ts->merge = m;
	mutex_unlock(&read_lock);
	return 0;
}

/* Entries that the merge has not returned yet are dropped with it. */
static void test_merge_end(struct test_session *ts)
{
	mutex_lock(&read_lock);
	kdtl_merge_destroy(ts->merge);
	ts->merge = NULL;
	mutex_unlock(&read_lock);
}

static int test_reader(void *unused)
{
	while (!kthread_should_stop()) {
		kdtl_wait(sessions[0].s, HZ / 20);
		if (READ_ONCE(hold))
			continue;
		test_read(&sessions[0]);
		test_read(&sessions[1]);
	}
	return 0;
}

static int test_sets(struct test_session *ts)
{
	struct kdtl_evtset sets[] = { { .id = 0, .overflows = 1 }, { .id = 1 } };
	struct kdtl_config config = { .set = 1, .mask = ts->switch_mask };
	struct kdtl_counter_req after = {
		.counter	= KDTL_CTR_ENTRIES,
		.value		= -ts->switch_after,
	};

	if (!ts->switch_after)
		return 0;
	ts->switch_after = 0;
	return kdtl_create_evtsets(ts->s, sets, ARRAY_SIZE(sets)) ?:
	       kdtl_write_config(ts->s, &config, 1) ?:
	       kdtl_write_counters(ts->s, &after, 1);
}

static int test_session_open(struct test_session *ts, unsigned int bytes)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= DIV_ROUND_UP(bytes, PAGE_SIZE),
		.mask		= ts->mask,
		.period		= ts->period,
	};
	int cpu, err;

	ts->mask = 0;
	ts->period = 0;
	ts->started = 0;
	ts->stopped = 0;
	ts->merged = 0;
	ts->disordered = 0;
	ts->last = 0;
	for_each_possible_cpu(cpu) {
		struct test_cpu *tc = per_cpu_ptr(ts->cpus, cpu);

		*tc = (struct test_cpu){ .kept = tc->kept };
	}
	ts->s = kdtl_session_create(&attr);
	if (IS_ERR(ts->s))
		return PTR_ERR(ts->s);
	err = test_sets(ts) ?: kdtl_load(ts->s, NULL);
	if (err)
		kdtl_session_close(ts->s);
	return err;
}

static int test_open(unsigned int bytes)
{
	int err;

	if (reader)
		return -EEXIST;
	err = test_session_open(&sessions[0], bytes);
	if (err)
		return err;
	err = test_session_open(&sessions[1], bytes);
	if (err)
		goto close_first;
	hold = false;
	reader = kthread_run(test_reader, NULL, "kdtl_client_vpa");
	if (!IS_ERR(reader))
		return 0;
	err = PTR_ERR(reader);
	reader = NULL;
	kdtl_session_close(sessions[1].s);
close_first:
	kdtl_session_close(sessions[0].s);
	return err;
}

/* The value that /proc/stat shows. */
static u64 test_stolen(int cpu)
{
	return kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL];
}

static int test_start_one(struct test_session *ts)
{
	int cpu, err;

	if (!ts->started)
		ts->started = local_clock();
	WRITE_ONCE(ts->stopped, 0);
	for_each_possible_cpu(cpu)
		per_cpu_ptr(ts->cpus, cpu)->stolen_max -= test_stolen(cpu);
	err = kdtl_start(ts->s);
	for_each_possible_cpu(cpu)
		per_cpu_ptr(ts->cpus, cpu)->stolen_min -= test_stolen(cpu);
	return err;
}

static int test_stop_one(struct test_session *ts)
{
	int cpu, err;

	for_each_possible_cpu(cpu)
		per_cpu_ptr(ts->cpus, cpu)->stolen_min += test_stolen(cpu);
	err = kdtl_stop(ts->s);
	for_each_possible_cpu(cpu)
		per_cpu_ptr(ts->cpus, cpu)->stolen_max += test_stolen(cpu);
	if (err)
		return err;
	WRITE_ONCE(ts->stopped, local_clock());
	test_read(ts);
	test_merge_end(ts);
	return 0;
}

static int test_start(void)
{
	return test_start_one(&sessions[0]) ?: test_start_one(&sessions[1]);
}

static int test_stop(void)
{
	return test_stop_one(&sessions[1]) ?: test_stop_one(&sessions[0]);
}

static int test_close(void)
{
	kthread_stop(reader);
	reader = NULL;
	test_merge_end(&sessions[0]);
	kdtl_session_close(sessions[1].s);
	kdtl_session_close(sessions[0].s);
	return 0;
}

/* H_PROD changes nothing, because the CPU is not asleep. */
static void test_hcalls(void *nr)
{
	const unsigned int hw = hard_smp_processor_id();
	unsigned long i;

	for (i = 0; i < (unsigned long)nr; i++)
		plpar_hcall_norets(H_PROD, hw);
}

static void test_own_here(void *err)
{
	own_log->enqueue_to_dispatch_time = cpu_to_be32(DISPATCH_LOG_BYTES);
	if (register_dtl(hard_smp_processor_id(), __pa(own_log))) {
		*(int *)err = -EIO;
		return;
	}
	get_lppaca()->dtl_idx = 0;
	virt_wmb();	/* the hypervisor sees the index first */
	get_lppaca()->dtl_enable_mask = DTL_LOG_ALL;
}

static void test_disown_here(void *unused)
{
	get_lppaca()->dtl_enable_mask = 0;
	unregister_dtl(hard_smp_processor_id());
}

static int test_own(int cpu)
{
	int err = 0, ret;

	if (own_cpu >= 0)
		return -EEXIST;
	ret = smp_call_function_single(cpu, test_own_here, &err, 1);
	if (!ret && !err)
		own_cpu = cpu;
	return ret ?: err;
}

static int test_disown(void)
{
	if (own_cpu < 0)
		return -EINVAL;
	smp_call_function_single(own_cpu, test_disown_here, NULL, 1);
	own_cpu = -1;
	return 0;
}

static int test_command(const char *cmd)
{
	unsigned int cpu, nr, mask;
	u64 period;

	if (sysfs_streq(cmd, "open"))
		return test_open(SZ_512K);
	if (sscanf(cmd, "open %u", &nr) == 1)
		return test_open(nr);
	if (sscanf(cmd, "attr %u %u %llu", &nr, &mask, &period) == 3 &&
	    nr < ARRAY_SIZE(sessions)) {
		sessions[nr].mask = mask;
		sessions[nr].period = period;
		return 0;
	}
	if (sscanf(cmd, "sets %u %u", &nr, &mask) == 2) {
		sessions[0].switch_after = nr;
		sessions[0].switch_mask = mask;
		return 0;
	}
	if (sscanf(cmd, "own %u", &cpu) == 1 && cpu < nr_cpu_ids)
		return test_own(cpu);
	if (sysfs_streq(cmd, "disown"))
		return test_disown();
	if (sscanf(cmd, "hcalls %u %u", &cpu, &nr) == 2 && cpu < nr_cpu_ids)
		return smp_call_function_single(cpu, test_hcalls,
						(void *)(unsigned long)nr, 1);
	if (!reader)
		return -EINVAL;
	if (sysfs_streq(cmd, "start"))
		return test_start();
	if (sysfs_streq(cmd, "stop"))
		return test_stop();
	if (sysfs_streq(cmd, "close"))
		return test_close();
	if (sysfs_streq(cmd, "hold")) {
		WRITE_ONCE(hold, true);
		return 0;
	}
	if (sysfs_streq(cmd, "merge"))
		return test_merge(&sessions[0]);
	return -EINVAL;
}

static ssize_t test_ctl_write(struct file *file, const char __user *ubuf,
			      size_t count, loff_t *pos)
{
	char cmd[32];
	int err;

	err = kdtl_fake_line(cmd, sizeof(cmd), ubuf, count);
	if (err)
		return err;
	mutex_lock(&test_lock);
	err = test_command(cmd);
	mutex_unlock(&test_lock);
	return err ?: count;
}

static const struct file_operations test_ctl_fops = {
	.owner	= THIS_MODULE,
	.write	= test_ctl_write,
};

static u64 test_counter(struct kdtl_session *s, int cpu, enum kdtl_counter c)
{
	struct kdtl_counter_req req = { .counter = c, .cpu = cpu };

	return kdtl_read_counters(s, &req, 1) ? U64_MAX : req.value;
}

static void test_show_cpu(struct seq_file *m, int i, int cpu)
{
	struct test_session *ts = &sessions[i];
	struct test_cpu *tc = per_cpu_ptr(ts->cpus, cpu);
	struct kdtl_aux_info info;

	if (kdtl_aux_info(ts->s, cpu, &info))
		return;
	seq_printf(m, "session=%d cpu=%d entries=%llu produced=%llu consumed=%llu lost=%llu unread=%llu",
		   i, cpu, tc->entries, info.produced, info.consumed, info.lost,
		   info.unread);
	seq_printf(m, " backwards=%llu bad_reason=%llu bad_preempt=%llu time_slice=%llu unused=%llu bad_sum=%llu repeated=%llu outside=%llu",
		   tc->backwards, tc->bad_reason, tc->bad_preempt,
		   tc->time_slice, tc->unused, tc->bad_sum, tc->repeated,
		   tc->outside);
	seq_printf(m, " pcpu_min=%u pcpu_max=%u queued=%llu queued_us=%llu stolen_min_us=%llu stolen_max_us=%llu rest=%llu",
		   tc->pcpu_min, tc->pcpu_max, tc->queued,
		   div_u64(kdtl_ticks_to_ns(&info, tc->queued), NSEC_PER_USEC),
		   div_u64(tc->stolen_min, NSEC_PER_USEC),
		   div_u64(tc->stolen_max, NSEC_PER_USEC), tc->rest);
	seq_printf(m, " ctr_entries=%llu ctr_cede=%llu ctr_preempt=%llu ctr_fault=%llu ctr_unknown=%llu ctr_queued=%llu ctr_lost=%llu tb_freq=%llu tb_boot=%llu online=%d\n",
		   test_counter(ts->s, cpu, KDTL_CTR_ENTRIES),
		   test_counter(ts->s, cpu, KDTL_CTR_CEDE),
		   test_counter(ts->s, cpu, KDTL_CTR_PREEMPT),
		   test_counter(ts->s, cpu, KDTL_CTR_FAULT),
		   test_counter(ts->s, cpu, KDTL_CTR_UNKNOWN),
		   test_counter(ts->s, cpu, KDTL_CTR_QUEUED),
		   test_counter(ts->s, cpu, KDTL_CTR_LOST),
		   info.tb_freq, info.tb_boot, info.online);
}

/* The first session saw all that the second did: it started before and stopped after it. */
static void test_show_same(struct seq_file *m, int cpu)
{
	struct test_cpu *a = per_cpu_ptr(sessions[0].cpus, cpu);
	struct test_cpu *b = per_cpu_ptr(sessions[1].cpus, cpu);
	const u64 nr_a = min_t(u64, a->entries, TEST_KEPT);
	const u64 nr_b = min_t(u64, b->entries, TEST_KEPT);
	u64 i = 0, same = 0;

	while (i < nr_a && nr_b && a->kept[i].timebase != b->kept[0].timebase)
		i++;
	while (same < nr_b && i + same < nr_a &&
	       !memcmp(&a->kept[i + same], &b->kept[same], sizeof(*a->kept)))
		same++;
	seq_printf(m, "compare cpu=%d before=%llu same=%llu of=%llu after=%lld\n",
		   cpu, i, same, nr_b, nr_a - i - same);
}

static int test_report_show(struct seq_file *m, void *unused)
{
	int i, cpu;

	mutex_lock(&test_lock);
	for_each_possible_cpu(cpu)
		seq_printf(m, "lppaca cpu=%d mask=%u index=%llu\n", cpu,
			   READ_ONCE(lppaca_of(cpu).dtl_enable_mask),
			   be64_to_cpu(READ_ONCE(lppaca_of(cpu).dtl_idx)));
	if (reader) {
		for_each_possible_cpu(cpu) {
			for (i = 0; i < 2; i++)
				test_show_cpu(m, i, cpu);
			test_show_same(m, cpu);
		}
		seq_printf(m, "merge entries=%llu disordered=%llu\n",
			   sessions[0].merged, sessions[0].disordered);
	}
	mutex_unlock(&test_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(test_report);

static u64 test_kept(int cpu)
{
	return min_t(u64, per_cpu_ptr(sessions[0].cpus, cpu)->entries, TEST_KEPT);
}

/* The entry at @pos, counted over all CPUs. */
static const struct kdtl_entry *test_entry_at(u64 pos, int *at_cpu)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (pos < test_kept(cpu)) {
			*at_cpu = cpu;
			return &per_cpu_ptr(sessions[0].cpus, cpu)->kept[pos];
		}
		pos -= test_kept(cpu);
	}
	return NULL;
}

static void *test_entries_start(struct seq_file *m, loff_t *pos)
{
	int cpu;

	mutex_lock(&test_lock);
	return test_entry_at(*pos, &cpu) ? pos : NULL;
}

static void *test_entries_next(struct seq_file *m, void *v, loff_t *pos)
{
	int cpu;

	++*pos;
	return test_entry_at(*pos, &cpu) ? pos : NULL;
}

static void test_entries_stop(struct seq_file *m, void *v)
{
	mutex_unlock(&test_lock);
}

static int test_entries_show(struct seq_file *m, void *v)
{
	const struct kdtl_entry *e;
	int cpu;

	e = test_entry_at(*(loff_t *)v, &cpu);
	seq_printf(m, "%d %llu %s %s %u %u %u %u %016llx\n", cpu,
		   kdtl_entry_time(e),
		   kdtl_dispatch_reason_name(kdtl_entry_dispatch_reason(e)),
		   kdtl_preempt_reason_name(kdtl_entry_preempt_reason(e)),
		   kdtl_entry_queued(e), kdtl_entry_ready(e),
		   kdtl_entry_slept(e), kdtl_entry_cpu(e),
		   be64_to_cpu(e->srr0));
	return 0;
}

static const struct seq_operations test_entries_sops = {
	.start	= test_entries_start,
	.next	= test_entries_next,
	.stop	= test_entries_stop,
	.show	= test_entries_show,
};
DEFINE_SEQ_ATTRIBUTE(test_entries);

static void test_free(void)
{
	int i, cpu;

	kfree(own_log);
	for (i = 0; i < 2 && sessions[i].cpus; i++) {
		for_each_possible_cpu(cpu)
			vfree(per_cpu_ptr(sessions[i].cpus, cpu)->kept);
		free_percpu(sessions[i].cpus);
	}
}

static int __init test_init(void)
{
	struct test_cpu *tc;
	int i, cpu;

	own_log = kzalloc(DISPATCH_LOG_BYTES, GFP_KERNEL);
	if (!own_log)
		return -ENOMEM;
	for (i = 0; i < 2; i++) {
		sessions[i].cpus = alloc_percpu(struct test_cpu);
		if (!sessions[i].cpus)
			goto free;
		for_each_possible_cpu(cpu) {
			tc = per_cpu_ptr(sessions[i].cpus, cpu);
			tc->kept = vmalloc(array_size(TEST_KEPT, sizeof(*tc->kept)));
			if (!tc->kept)
				goto free;
		}
	}
	test_dir = debugfs_create_dir("kdtl_client_vpa", NULL);
	debugfs_create_file("ctl", 0200, test_dir, NULL, &test_ctl_fops);
	debugfs_create_file("report", 0400, test_dir, NULL, &test_report_fops);
	debugfs_create_file("entries", 0400, test_dir, NULL, &test_entries_fops);
	return 0;

free:
	test_free();
	return -ENOMEM;
}

static void __exit test_exit(void)
{
	debugfs_remove(test_dir);
	test_disown();
	if (reader)
		test_close();
	test_free();
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("Two sessions on the POWER hypervisor's log, for selftests/guest/vpa-log.sh");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
