// SPDX-License-Identifier: GPL-2.0
/*
 * A source of entries: how long each softirq waited for its CPU
 *
 * Every client that takes a pmu= works with it, for instance
 * modprobe kdtl_sampler pmu=kdtl_softirq.  An entry's @srr0 is the softirq's number.
 */
#include <linux/interrupt.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_probes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>

static DEFINE_PER_CPU(u64 [NR_SOFTIRQS], raised_at);

static u64 softirq_sync(struct kdtl_pmu *p)
{
	return local_clock();
}

static int softirq_attach(struct kdtl_pmu *p);
static void softirq_detach(struct kdtl_pmu *p);

static struct kdtl_pmu softirq_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_softirq",
	.tb_freq	= NSEC_PER_SEC,
	.attach		= softirq_attach,
	.detach		= softirq_detach,
	.sync		= softirq_sync,
};

/* Called with interrupts off. */
static void softirq_raise(void *data, unsigned int nr)
{
	u64 *at = this_cpu_ptr(&raised_at[nr]);

	if (!*at)
		*at = local_clock();
}

static void softirq_output(unsigned int nr, u64 since)
{
	const u64 now = local_clock();
	struct kdtl_entry e = kdtl_entry_here(KDTL_DISPATCH_EXTERNAL_INTERRUPT, now, now - since);

	e.srr0 = cpu_to_be64(nr);
	kdtl_pmu_output(&softirq_pmu, &e, KDTL_KIND_UNKNOWN);
}

/* Called with interrupts on: one that comes now may raise the same softirq. */
static void softirq_entry(void *data, unsigned int nr)
{
	unsigned long flags;
	u64 since;

	local_irq_save(flags);
	since = this_cpu_xchg(raised_at[nr], 0);
	if (since)
		softirq_output(nr, since);
	local_irq_restore(flags);
}

static struct kdtl_probe softirq_probes[] = {
	{ "softirq_raise", softirq_raise },
	{ "softirq_entry", softirq_entry },
};

static int softirq_attach(struct kdtl_pmu *p)
{
	int cpu;

	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&raised_at, cpu), 0, sizeof(raised_at));
	return kdtl_probes_register(softirq_probes, ARRAY_SIZE(softirq_probes));
}

static void softirq_detach(struct kdtl_pmu *p)
{
	kdtl_probes_unregister(softirq_probes, ARRAY_SIZE(softirq_probes));
}

static int __init softirq_source_init(void)
{
	const int err = kdtl_probes_find(softirq_probes, ARRAY_SIZE(softirq_probes));

	return err ?: kdtl_pmu_register(&softirq_pmu);
}

static void __exit softirq_source_exit(void)
{
	kdtl_pmu_unregister(&softirq_pmu);
}

module_init(softirq_source_init);
module_exit(softirq_source_exit);

MODULE_DESCRIPTION("kdtl example: softirqs as a source of entries");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
MODULE_ALIAS("kdtl-pmu-kdtl_softirq");
