// SPDX-License-Identifier: GPL-2.0
/*
 * bench_cpus - what an entry costs while all CPUs make some
 *
 * A thread on each CPU writes entries as fast as it can, in short rounds with interrupts off, all
 * at the same time.  The fastest round of a CPU says what an entry costs there: in slower rounds a
 * cache was cold, or an emulator that runs the CPUs in turns has run another one.  Loading the
 * module measures, and logs the result.
 */
#define pr_fmt(fmt) "bench_cpus: " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timex.h>

#define BENCH_ENTRIES	32
#define BENCH_ROUNDS	2000
#define BENCH_PAGES	16

static struct kdtl_pmu bench_source = {
	.pmu.module	= THIS_MODULE,
	.name		= "bench_cpus",
	.tb_freq	= NSEC_PER_SEC,
};

static const struct kdtl_entry bench_entry = {
	.timebase	= cpu_to_be64(1),
};

static DEFINE_PER_CPU(u64, bench_fastest);
static DECLARE_COMPLETION(bench_begin);
static DECLARE_COMPLETION(bench_done);

static int bench_write(void *unused)
{
	u64 *fastest = this_cpu_ptr(&bench_fastest);
	unsigned long flags;
	unsigned int i, round;
	u64 t;

	wait_for_completion(&bench_begin);
	for (round = 0; round < BENCH_ROUNDS; round++) {
		local_irq_save(flags);
		t = get_cycles();
		for (i = 0; i < BENCH_ENTRIES; i++)
			kdtl_pmu_output(&bench_source, &bench_entry, KDTL_KIND_CEDE);
		t = get_cycles() - t;
		local_irq_restore(flags);
		*fastest = min(*fastest, t);
		cond_resched();
	}
	/* The module may go as soon as it has told its result. */
	kthread_complete_and_exit(&bench_done, 0);
	return 0;
}

static int bench_all(void)
{
	struct task_struct *task;
	unsigned int running = 0;
	int cpu, err = 0;

	for_each_online_cpu(cpu) {
		per_cpu(bench_fastest, cpu) = U64_MAX;
		task = kthread_create_on_cpu(bench_write, NULL, cpu, "bench_cpus/%u");
		if (IS_ERR(task)) {
			err = PTR_ERR(task);
			break;
		}
		running++;
		wake_up_process(task);
	}
	/* If a thread could not be created, those that exist end here. */
	complete_all(&bench_begin);
	while (running--)
		wait_for_completion(&bench_done);
	return err;
}

static int bench_cpus_run(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= bench_source.name,
		.aux_pages	= BENCH_PAGES,
		.watermark	= BENCH_PAGES << PAGE_SHIFT,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);
	u64 least = U64_MAX, most = 0;
	int cpu, err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	err = kdtl_load(s, NULL);
	if (!err)
		err = kdtl_start(s);
	if (!err)
		err = bench_all();
	kdtl_session_close(s);
	if (err)
		return err;
	for_each_online_cpu(cpu) {
		least = min(least, per_cpu(bench_fastest, cpu));
		most = max(most, per_cpu(bench_fastest, cpu));
	}
	pr_info("cpus %u ticks of %u entries: least %llu most %llu\n",
		num_online_cpus(), BENCH_ENTRIES, least, most);
	return 0;
}

static int __init bench_cpus_init(void)
{
	int err = kdtl_pmu_register(&bench_source);

	if (err)
		return err;
	err = bench_cpus_run();
	if (err)
		kdtl_pmu_unregister(&bench_source);
	return err;
}

static void __exit bench_cpus_exit(void)
{
	kdtl_pmu_unregister(&bench_source);
}

module_init(bench_cpus_init);
module_exit(bench_cpus_exit);

MODULE_DESCRIPTION("Benchmark: entries on all CPUs at once");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
