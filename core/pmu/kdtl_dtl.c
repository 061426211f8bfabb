// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_dtl - the entries of Linux's own PMU vpa_dtl as a source
 *
 * vpa_dtl is perf's driver for the POWER hypervisor's log.  It writes a header and then
 * the hypervisor's entries to the AUX area of an event on a CPU.  Where perf gives
 * such an area to the kernel, this source reads it through a raw session, and hands each
 * entry to all sinks that want its kind.  So verbs that need entries work, and a session that
 * names vpa_dtl gets this source.
 *
 * The raw session wakes us on the CPU that has new entries.  A start, a stop or a merge
 * needs all entries until now: for these, kdtl_aux_peek() has vpa_dtl copy them at once.
 *
 * vpa_dtl polls once a millisecond, or more often while its log fills fast.  If the
 * hypervisor has lapped it, perf's flags say that something is missing, but not how much.
 * This source then counts one lost entry; kdtl_vpa, which has a log of its own, counts all.
 */
#define pr_fmt(fmt) "kdtl_dtl: " fmt

#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <asm/dtl.h>
#include <asm/time.h>

#include "../compat.h"
#include "papr.h"

#define KDTL_DTL_OF	"vpa_dtl"
/* Size of a CPU's AUX area, from which each entry is handed on at once. */
#define KDTL_DTL_BYTES	SZ_64K

static_assert(sizeof(struct kdtl_entry) == sizeof(struct dtl_entry));

/**
 * struct kdtl_dtl_header - what vpa_dtl writes in front of an area's entries
 * @boot: time base at boot
 * @freq: ticks per second
 * @zero: 0, where an entry has its time
 * @padding: to the size of an entry
 *
 * In the CPU's byte order, unlike the entries.
 */
struct kdtl_dtl_header {
	u64	boot;
	u64	freq;
	u64	zero;
	u64	padding[3];
};

static_assert(sizeof(struct kdtl_dtl_header) == KDTL_ENTRY_SIZE);

/**
 * struct kdtl_dtl_cpu - a CPU's entries
 * @work: hands the entries out
 * @busy: entries are being handed out, which may call kdtl_dtl_source()
 * @wanted: somebody wants entries; vpa_dtl logs also while nobody does
 * @isolated: the CPU was isolated at attach(), so vpa_dtl does not log it, whatever came later
 * @gaps: how often vpa_dtl has missed entries, as far as the sinks know
 * @last_tb: time up to which entries were handed out
 */
struct kdtl_dtl_cpu {
	struct irq_work	work;
	bool		busy;
	bool		wanted;
	bool		isolated;
	u64		gaps;
	u64		last_tb;
};

static DEFINE_PER_CPU(struct kdtl_dtl_cpu, kdtl_dtl_cpus);
/* From attach() to detach(). */
static struct kdtl_session *kdtl_dtl_session;
static struct kdtl_pmu kdtl_dtl_pmu;

static bool kdtl_dtl_is_header(const struct kdtl_entry *e)
{
	const struct kdtl_dtl_header *h = (const void *)e;

	/* No entry has time 0. */
	return !h->zero && h->freq == tb_ticks_per_sec;
}

static void kdtl_dtl_entry(struct kdtl_dtl_cpu *c, const struct kdtl_entry *e)
{
	const u64 tb = kdtl_entry_time(e);

	if (unlikely(!c->wanted || kdtl_dtl_is_header(e)))
		return;
	/* The hypervisor has counted the entry, but not written it, or not all of it. */
	if (unlikely((s64)(tb - c->last_tb) <= 0 || tb > get_tb())) {
		kdtl_pmu_lost(&kdtl_dtl_pmu, 1);
		return;
	}
	c->last_tb = tb;
	kdtl_pmu_output(&kdtl_dtl_pmu, e, kdtl_papr_kind(e));
}

/* Hand out this CPU's entries up to now.  Interrupts are off. */
static void kdtl_dtl_hand_out(struct kdtl_dtl_cpu *c)
{
	struct kdtl_session *s = READ_ONCE(kdtl_dtl_session);
	const int cpu = smp_processor_id();
	struct kdtl_aux_info info;
	const void *span;
	ssize_t len, at;

	if (!s || c->busy)
		return;
	c->busy = true;
	len = kdtl_aux_peek(s, cpu, &span);
	kdtl_aux_info(s, cpu, &info);
	if (unlikely(info.lost != c->gaps)) {
		c->gaps = info.lost;
		kdtl_pmu_lost(&kdtl_dtl_pmu, c->wanted);
	}
	for (at = 0; at + KDTL_ENTRY_SIZE <= len; at += KDTL_ENTRY_SIZE)
		kdtl_dtl_entry(c, span + at);
	if (at)
		kdtl_aux_consume(s, cpu, at);
	c->busy = false;
}

static void kdtl_dtl_work(struct irq_work *work)
{
	kdtl_dtl_hand_out(this_cpu_ptr(&kdtl_dtl_cpus));
}

/* On the CPU that has new entries, with a lock held. */
static void kdtl_dtl_wake(void *unused)
{
	irq_work_queue(this_cpu_ptr(&kdtl_dtl_cpus.work));
}

static int kdtl_dtl_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	struct kdtl_dtl_cpu *c = this_cpu_ptr(&kdtl_dtl_cpus);

	if (mask && c->isolated)
		return -EOPNOTSUPP;
	/* Entries that are there already belong to the events as they were, or to nobody. */
	kdtl_dtl_hand_out(c);
	c->wanted = mask;
	return 0;
}

/* An entry is counted before its virtual processor runs, so all up to now are there. */
static u64 kdtl_dtl_sync(struct kdtl_pmu *p)
{
	struct kdtl_dtl_cpu *c = this_cpu_ptr(&kdtl_dtl_cpus);
	const u64 now = get_tb();

	if (c->busy)
		return c->last_tb;
	kdtl_dtl_hand_out(c);
	/* This is a promise: what is older and comes later counts as lost. */
	if ((s64)(now - c->last_tb) > 0)
		c->last_tb = now;
	return now;
}

/* Close the session once no CPU looks at it any more. */
static void kdtl_dtl_close(void)
{
	struct kdtl_session *s = kdtl_dtl_session;
	int cpu;

	WRITE_ONCE(kdtl_dtl_session, NULL);
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(kdtl_dtl_cpus, cpu).work);
	kdtl_session_close(s);
}

static struct kdtl_session *kdtl_dtl_open(void)
{
	static const struct kdtl_session_attr attr = {
		.pmu		= KDTL_DTL_OF,
		.flags		= KDTL_SESSION_RAW,
		.config		= DTL_LOG_ALL,
		.period		= NSEC_PER_MSEC,
		.aux_pages	= DIV_ROUND_UP(KDTL_DTL_BYTES, PAGE_SIZE),
		.watermark	= KDTL_ENTRY_SIZE,
		.wake		= kdtl_dtl_wake,
	};

	return kdtl_session_create(&attr);
}

/* Load the session on all CPUs but those that are isolated now: these are to be left alone. */
static int kdtl_dtl_load(struct kdtl_session *s)
{
	cpumask_var_t cpus;
	int cpu, err;

	if (!zalloc_cpumask_var(&cpus, GFP_KERNEL))
		return -ENOMEM;
	kdtl_isolated_cpus(cpus);
	for_each_possible_cpu(cpu)
		per_cpu(kdtl_dtl_cpus, cpu).isolated = cpumask_test_cpu(cpu, cpus);
	cpumask_andnot(cpus, cpu_possible_mask, cpus);
	err = kdtl_load(s, cpus);
	free_cpumask_var(cpus);
	return err;
}

static int kdtl_dtl_attach(struct kdtl_pmu *p)
{
	struct kdtl_session *s = kdtl_dtl_open();
	struct kdtl_dtl_cpu *c;
	int cpu, err;

	if (IS_ERR(s))
		return PTR_ERR(s);
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&kdtl_dtl_cpus, cpu);
		c->last_tb = 0;
		c->wanted = false;
		c->gaps = 0;
	}
	WRITE_ONCE(kdtl_dtl_session, s);
	err = kdtl_dtl_load(s) ?: kdtl_start(s);
	if (err)
		kdtl_dtl_close();
	return err;
}

static void kdtl_dtl_detach(struct kdtl_pmu *p)
{
	kdtl_dtl_close();
}

static struct kdtl_pmu kdtl_dtl_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_dtl",
	.of		= KDTL_DTL_OF,
	.rating		= 150,
	.stolen		= true,
	.attach		= kdtl_dtl_attach,
	.detach		= kdtl_dtl_detach,
	.source		= kdtl_dtl_source,
	.sync		= kdtl_dtl_sync,
	.clock		= kdtl_papr_clock,
};

static int __init kdtl_dtl_init(void)
{
	struct kdtl_session *s;
	int cpu;

	for_each_possible_cpu(cpu)
		per_cpu(kdtl_dtl_cpus, cpu).work = IRQ_WORK_INIT_HARD(kdtl_dtl_work);
	/* Without vpa_dtl there is no source, and others are found instead. */
	s = kdtl_dtl_open();
	if (IS_ERR(s))
		return PTR_ERR(s);
	kdtl_session_close(s);

	kdtl_dtl_pmu.tb_freq = tb_ticks_per_sec;
	kdtl_dtl_pmu.tb_boot = kdtl_papr_boot_tb();
	return kdtl_pmu_register(&kdtl_dtl_pmu);
}

static void __exit kdtl_dtl_exit(void)
{
	int cpu;

	kdtl_pmu_unregister(&kdtl_dtl_pmu);
	/* The session's last wake-ups came when it was gone. */
	for_each_possible_cpu(cpu)
		irq_work_sync(&per_cpu(kdtl_dtl_cpus, cpu).work);
}

module_init(kdtl_dtl_init);
module_exit(kdtl_dtl_exit);

MODULE_DESCRIPTION("Dispatch trace log entries of Linux's own vpa_dtl");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kdtl-pmu");
MODULE_ALIAS("kdtl-pmu-kdtl_dtl");
MODULE_ALIAS("kdtl-pmu-" KDTL_DTL_OF);
MODULE_IMPORT_NS(KDTL_NS);
