// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_irq - interrupts and softirqs as a source: for how long each of them had a CPU
 *
 * To the scheduler, an interrupt and what it raises happen to the task that has the CPU.  Here
 * each stretch of time in which a handler or a softirq had the CPU without a break makes an entry
 * that names it.  An interrupt splits the stretch of what it interrupts, so no moment is in two
 * entries of a CPU, and entries are in the order of time.
 *
 * Softirqs that ksoftirqd runs have no entries: this thread waits for its CPU as others do.  With
 * PREEMPT_RT threads run all softirqs.
 *
 * Documentation/pmu-irq.rst describes each field of an entry.
 */
#define pr_fmt(fmt) "kdtl_irq: " fmt

#include <linux/interrupt.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_probes.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

#include "ksoftirqd.h"

/* An interrupt in a softirq makes 2, and the handler that it calls may make one more. */
#define KDTL_IRQ_DEPTH	8

/**
 * struct kdtl_irq - what has a CPU instead of the task
 * @pid: what stands for it, see kdtl_irq_pid()
 * @name: a copy, as its owner may go before a handler that was never seen to end
 */
struct kdtl_irq {
	s32	pid;
	char	name[TASK_COMM_LEN];
};

/**
 * struct kdtl_irq_cpu - what interrupted what on a CPU
 * @since: since when the last of @irq has had the CPU without a break
 * @depth: how many of @irq there are
 * @irq: the first one interrupted a task, and each other one the one before it
 *
 * All of it belongs to the CPU, with interrupts off.
 */
struct kdtl_irq_cpu {
	u64		since;
	unsigned int	depth;
	struct kdtl_irq	irq[KDTL_IRQ_DEPTH];
};

static DEFINE_PER_CPU(struct kdtl_irq_cpu, kdtl_irq_cpus);
static struct kdtl_pmu kdtl_irq_pmu;

/* ---------------------------------------------------------------- an entry */

/* Make the entry of what has had the CPU until @now, when it or another one begins a new one. */
static void kdtl_irq_tell(struct kdtl_irq_cpu *c, u64 now)
{
	const struct kdtl_irq *irq;
	const u64 had = now - c->since;
	struct kdtl_entry e;

	/* Whoever gets to see the entry may call kdtl_irq_sync(). */
	c->since = now;
	if (!c->depth || !had)
		return;
	irq = &c->irq[c->depth - 1];
	e = kdtl_entry_here(KDTL_DISPATCH_EXTERNAL_INTERRUPT, now, had);
	e.fault_addr = cpu_to_be64((u64)(u32)irq->pid << 32 | (u32)current->pid);
	memcpy((char *)&e + offsetof(struct kdtl_entry, srr0), irq->name, sizeof(irq->name));
	kdtl_pmu_output(&kdtl_irq_pmu, &e, KDTL_KIND_UNKNOWN);
}

/* With interrupts off. */
static void kdtl_irq_begin(s32 pid, const char *name)
{
	struct kdtl_irq_cpu *c = this_cpu_ptr(&kdtl_irq_cpus);
	struct kdtl_irq *irq;

	kdtl_irq_tell(c, local_clock());
	/* No kernel nests that deep: better know nothing than something wrong. */
	if (WARN_ON_ONCE(c->depth == KDTL_IRQ_DEPTH))
		c->depth = 0;
	irq = &c->irq[c->depth++];
	irq->pid = pid;
	strscpy_pad(irq->name, name, sizeof(irq->name));
}

/* With interrupts off.  What began before the probes were there is not known. */
static void kdtl_irq_end(s32 pid)
{
	struct kdtl_irq_cpu *c = this_cpu_ptr(&kdtl_irq_cpus);
	unsigned int i = c->depth;

	while (i && c->irq[i - 1].pid != pid)
		i--;
	if (!i)
		return;
	kdtl_irq_tell(c, local_clock());
	c->depth = i - 1;
}

/* -------------------------------------------------------------- the probes */

static void kdtl_irq_handler_begins(void *data, int irq, struct irqaction *action)
{
	kdtl_irq_begin(kdtl_irq_pid(KDTL_IRQ_HARD, irq), action->name ?: "");
}

static void kdtl_irq_handler_ends(void *data, int irq, struct irqaction *action, int ret)
{
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_HARD, irq));
}

static const char *kdtl_softirq_name(unsigned int nr)
{
	static const char *const names[NR_SOFTIRQS] = {
		[HI_SOFTIRQ] = "hi", [TIMER_SOFTIRQ] = "timer", [NET_TX_SOFTIRQ] = "net_tx",
		[NET_RX_SOFTIRQ] = "net_rx", [BLOCK_SOFTIRQ] = "block",
		[IRQ_POLL_SOFTIRQ] = "irq_poll", [TASKLET_SOFTIRQ] = "tasklet",
		[SCHED_SOFTIRQ] = "sched", [HRTIMER_SOFTIRQ] = "hrtimer", [RCU_SOFTIRQ] = "rcu",
	};

	return nr < NR_SOFTIRQS ? names[nr] : "";
}

/* Interrupts are on in softirqs. */
static void kdtl_softirq_begins(void *data, unsigned int nr)
{
	unsigned long flags;

	if (IS_ENABLED(CONFIG_PREEMPT_RT) || kdtl_in_ksoftirqd())
		return;
	local_irq_save(flags);
	kdtl_irq_begin(kdtl_irq_pid(KDTL_IRQ_SOFT, nr), kdtl_softirq_name(nr));
	local_irq_restore(flags);
}

static void kdtl_softirq_ends(void *data, unsigned int nr)
{
	unsigned long flags;

	local_irq_save(flags);
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_SOFT, nr));
	local_irq_restore(flags);
}

/*
 * Interrupts without handlers of their own have tracepoints of their own.  Tools show the names
 * of these tracepoints.
 */
enum {
	KDTL_IRQ_LOCAL_TIMER,
	KDTL_IRQ_CALL,
	KDTL_IRQ_CALL_SINGLE,
	KDTL_IRQ_RESCHEDULE,
	KDTL_IRQ_IRQ_WORK,
	KDTL_IRQ_POWERPC_TIMER,
	KDTL_IRQ_IPI,
};

#define KDTL_IRQ_PROBES(name, type, nr, text)						\
static void kdtl_##name##_begins(void *data, type arg)					\
{											\
	kdtl_irq_begin(kdtl_irq_pid(KDTL_IRQ_OTHER, KDTL_IRQ_##nr), text);		\
}											\
											\
static void kdtl_##name##_ends(void *data, type arg)					\
{											\
	kdtl_irq_end(kdtl_irq_pid(KDTL_IRQ_OTHER, KDTL_IRQ_##nr));			\
}

/* x86's; they get the vector. */
KDTL_IRQ_PROBES(local_timer, int, LOCAL_TIMER, "local_timer")
KDTL_IRQ_PROBES(call, int, CALL, "call_function")
KDTL_IRQ_PROBES(call_single, int, CALL_SINGLE, "call_single")
KDTL_IRQ_PROBES(reschedule, int, RESCHEDULE, "reschedule")
KDTL_IRQ_PROBES(irq_work, int, IRQ_WORK, "irq_work")
/* powerpc's */
KDTL_IRQ_PROBES(timer, struct pt_regs *, POWERPC_TIMER, "timer")
/* arm's and arm64's, which says why it comes */
KDTL_IRQ_PROBES(ipi, const char *, IPI, arg)

/* Ends come first, and go last: what was seen to begin is seen to end. */
static struct kdtl_probe kdtl_irq_probes[] = {
	{ "irq_handler_exit", kdtl_irq_handler_ends },
	{ "softirq_exit", kdtl_softirq_ends },
	{ "local_timer_exit", kdtl_local_timer_ends, .optional = true },
	{ "call_function_exit", kdtl_call_ends, .optional = true },
	{ "call_function_single_exit", kdtl_call_single_ends, .optional = true },
	{ "reschedule_exit", kdtl_reschedule_ends, .optional = true },
	{ "irq_work_exit", kdtl_irq_work_ends, .optional = true },
	{ "timer_interrupt_exit", kdtl_timer_ends, .optional = true },
	{ "ipi_exit", kdtl_ipi_ends, .optional = true },
	{ "irq_handler_entry", kdtl_irq_handler_begins },
	{ "softirq_entry", kdtl_softirq_begins },
	{ "local_timer_entry", kdtl_local_timer_begins, .optional = true },
	{ "call_function_entry", kdtl_call_begins, .optional = true },
	{ "call_function_single_entry", kdtl_call_single_begins, .optional = true },
	{ "reschedule_entry", kdtl_reschedule_begins, .optional = true },
	{ "irq_work_entry", kdtl_irq_work_begins, .optional = true },
	{ "timer_interrupt_entry", kdtl_timer_begins, .optional = true },
	{ "ipi_entry", kdtl_ipi_begins, .optional = true },
};

/* ------------------------------------------------------- switching on and off */

static int kdtl_irq_attach(struct kdtl_pmu *p)
{
	int cpu;

	/* The last users may have gone in the middle of an interrupt. */
	for_each_possible_cpu(cpu)
		per_cpu(kdtl_irq_cpus.depth, cpu) = 0;
	return kdtl_probes_register(kdtl_irq_probes, ARRAY_SIZE(kdtl_irq_probes));
}

static void kdtl_irq_detach(struct kdtl_pmu *p)
{
	kdtl_probes_unregister(kdtl_irq_probes, ARRAY_SIZE(kdtl_irq_probes));
}

/* Make an entry of what is still going on, up to now. */
static u64 kdtl_irq_sync(struct kdtl_pmu *p)
{
	const u64 now = local_clock();

	kdtl_irq_tell(this_cpu_ptr(&kdtl_irq_cpus), now);
	return now;
}

static struct kdtl_pmu kdtl_irq_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_irq",
	.tb_freq	= NSEC_PER_SEC,
	.interrupts	= true,
	.attach		= kdtl_irq_attach,
	.detach		= kdtl_irq_detach,
	.sync		= kdtl_irq_sync,
};

/* -------------------------------------------------------------------- module */

static int __init kdtl_irq_init(void)
{
	const int err = kdtl_probes_find(kdtl_irq_probes, ARRAY_SIZE(kdtl_irq_probes));

	return err ?: kdtl_pmu_register(&kdtl_irq_pmu);
}

static void __exit kdtl_irq_exit(void)
{
	kdtl_pmu_unregister(&kdtl_irq_pmu);
}

module_init(kdtl_irq_init);
module_exit(kdtl_irq_exit);

MODULE_DESCRIPTION("Interrupts and softirqs, as entries beside dispatch trace logs");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kdtl-pmu-kdtl_irq");
MODULE_IMPORT_NS(KDTL_NS);
