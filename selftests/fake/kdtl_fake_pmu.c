// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_fake: a source of entries that tests make and can check
 *
 * srr0 of an entry numbers the entries of its CPU, and srr1 is a hash of all the
 * words before it: a torn, stale or misplaced entry does not pass for a good one.
 */
#include <linux/atomic.h>
#include <linux/irq_work.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>
#include <linux/workqueue.h>

#include "hash.h"
#include "kdtl_fake_pmu.h"

/* How far the source's clock is ahead of local_clock(), in ns. */
static atomic64_t kdtl_fake_ahead = ATOMIC64_INIT(0);

/* What local_clock() said when the source's clock was stopped; 0: it runs. */
static atomic64_t kdtl_fake_stopped = ATOMIC64_INIT(0);

static u64 kdtl_fake_clock(struct kdtl_pmu *p)
{
	const u64 stopped = atomic64_read(&kdtl_fake_stopped);

	return (stopped ?: local_clock()) + atomic64_read(&kdtl_fake_ahead);
}

static bool tasks;
module_param(tasks, bool, 0444);
MODULE_PARM_DESC(tasks, "the entries name tasks, see kdtl_fake_emit_task()");

static bool stolen = true;
module_param(stolen, bool, 0444);
MODULE_PARM_DESC(stolen, "the entries' waits are a hypervisor's, if the entries name no tasks");

static bool idle = true;
module_param(idle, bool, 0444);
MODULE_PARM_DESC(idle, "the source tells when a CPU becomes idle");

static struct kdtl_pmu kdtl_fake_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= KDTL_FAKE_PMU,
	.mask		= KDTL_MASK_ALL | KDTL_MASK_IDLE,
	.tb_freq	= NSEC_PER_SEC,
	.sync		= kdtl_fake_clock,
	.clock		= kdtl_fake_clock,
};

/* The number of the CPU's last entry. The first entry has number 1. */
static DEFINE_PER_CPU(u64, kdtl_fake_seq);

/**
 * kdtl_fake_entry_fill() - make the next entry of this CPU
 * @e: filled in
 * @kind: what kind
 * @queued: its enqueue_to_dispatch_time
 * @ready: its ready_to_enqueue_time
 * @slept: its waiting_to_ready_time
 *
 * For drivers that hand the entry out themselves.
 *
 * Context: interrupts off, also under the runqueue lock.
 */
void kdtl_fake_entry_fill(struct kdtl_entry *e, enum kdtl_kind kind,
			  u32 queued, u32 ready, u32 slept)
{
	*e = (struct kdtl_entry) {
		.dispatch_reason	= kind == KDTL_KIND_THROTTLE ? KDTL_DISPATCH_THROTTLED :
					  kind == KDTL_KIND_IDLE ? KDTL_DISPATCH_IDLE : kind,
		.processor_id		= cpu_to_be16(raw_smp_processor_id()),
		.enqueue_to_dispatch_time = cpu_to_be32(queued),
		.ready_to_enqueue_time	= cpu_to_be32(ready),
		.waiting_to_ready_time	= cpu_to_be32(slept),
		.timebase		= cpu_to_be64(kdtl_fake_clock(NULL)),
		.srr0			= cpu_to_be64(this_cpu_inc_return(kdtl_fake_seq)),
	};
	e->srr1 = cpu_to_be64(kdtl_fake_hash(e));
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_entry_fill, KDTL_NS);

/**
 * kdtl_fake_emit_here() - one entry, on this CPU
 * @kind: what kind
 * @queued: its enqueue_to_dispatch_time
 * @ready: its ready_to_enqueue_time
 * @slept: its waiting_to_ready_time
 *
 * Context: interrupts off, also under the runqueue lock.
 */
void kdtl_fake_emit_here(enum kdtl_kind kind, u32 queued, u32 ready, u32 slept)
{
	struct kdtl_entry e;

	kdtl_fake_entry_fill(&e, kind, queued, ready, slept);
	kdtl_pmu_output(&kdtl_fake_pmu, &e, kind);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_emit_here, KDTL_NS);

struct kdtl_fake_job {
	enum kdtl_kind	kind;
	unsigned int	nr;
	u32		queued;
	u32		ready;
	u32		slept;
	u64		lost;
	unsigned int	torn;
	u64		pids;
};

static void kdtl_fake_nothing(struct irq_work *work)
{
}

/*
 * Does nothing and returns false if this code does not run on @cpu.  When it
 * returns true, the irq_work that the entries raised has run: one interrupt runs
 * all queued irq_work, and ours is queued last.
 */
static bool kdtl_fake_do(int cpu, const struct kdtl_fake_job *job)
{
	struct irq_work last = IRQ_WORK_INIT_HARD(kdtl_fake_nothing);
	struct kdtl_entry e;
	unsigned int i;

	local_irq_disable();
	if (smp_processor_id() != cpu) {
		local_irq_enable();
		return false;
	}
	for (i = 0; i < job->nr; i++)
		kdtl_fake_emit_here(job->kind, job->queued, job->ready, job->slept);
	if (job->pids) {
		kdtl_fake_entry_fill(&e, job->kind, job->queued, job->ready, 0);
		e.fault_addr = cpu_to_be64(job->pids);
		e.srr1 = cpu_to_be64(kdtl_fake_hash(&e));
		kdtl_pmu_output(&kdtl_fake_pmu, &e, job->kind);
	}
	if (job->lost)
		kdtl_pmu_lost(&kdtl_fake_pmu, job->lost);
	for (i = 0; i < job->torn; i++) {
		kdtl_fake_entry_fill(&e, KDTL_KIND_UNKNOWN, 0, 0, 0);
		e.timebase = ~e.timebase;
		kdtl_pmu_output(&kdtl_fake_pmu, &e, KDTL_KIND_UNKNOWN);
	}
	irq_work_queue(&last);
	local_irq_enable();
	irq_work_sync(&last);
	return true;
}

static long kdtl_fake_work(void *arg)
{
	return kdtl_fake_do(raw_smp_processor_id(), arg) ? 0 : -EXDEV;
}

/* Does the job directly if it already runs on @cpu: a worker would take longer. */
static int kdtl_fake_on(int cpu, struct kdtl_fake_job *job)
{
	if (kdtl_fake_do(cpu, job))
		return 0;
	return kdtl_fake_work_on(cpu, kdtl_fake_work, job);
}

/**
 * kdtl_fake_emit() - make entries on any CPU
 * @cpu: on which
 * @kind: what kind
 * @nr: how many, in one go with interrupts off
 * @queued: enqueue_to_dispatch_time of each
 * @ready: ready_to_enqueue_time of each
 * @slept: waiting_to_ready_time of each
 *
 * When it returns, the entries have been written, or lost, and the reader has been woken.
 *
 * Context: may sleep.
 * Return: 0, or -ENODEV: the CPU is offline.
 */
int kdtl_fake_emit(int cpu, enum kdtl_kind kind, unsigned int nr,
		   u32 queued, u32 ready, u32 slept)
{
	struct kdtl_fake_job job = {
		.kind	= kind,
		.nr	= nr,
		.queued	= queued,
		.ready	= ready,
		.slept	= slept,
	};

	return kdtl_fake_on(cpu, &job);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_emit, KDTL_NS);

/**
 * kdtl_fake_emit_task() - make one entry of a task, on any CPU
 * @cpu: on which
 * @kind: what kind
 * @pid: the task
 * @prev: the task before it; 0: the CPU was idle
 * @wait: for how long it was throttled, if @kind is KDTL_KIND_THROTTLE; else queued
 *
 * Context: may sleep.
 * Return: 0, or -ENODEV: the CPU is offline.
 */
int kdtl_fake_emit_task(int cpu, enum kdtl_kind kind, u32 pid, u32 prev, u32 wait)
{
	struct kdtl_fake_job job = {
		.kind	= kind,
		.pids	= (u64)pid << 32 | prev,
		.queued	= kind == KDTL_KIND_THROTTLE ? 0 : wait,
		.ready	= kind == KDTL_KIND_THROTTLE ? wait : 0,
	};

	return kdtl_fake_on(cpu, &job);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_emit_task, KDTL_NS);

struct kdtl_fake_theft {
	unsigned int	ms;
	pid_t		robbed;
	u64		ns;
};

/* Interrupts are off here: a CPU that a hypervisor has taken away gets none either. */
static void kdtl_fake_steal_here(void *data)
{
	struct kdtl_fake_theft *theft = data;
	const u64 begin = kdtl_fake_clock(NULL);
	struct kdtl_entry e;

	while (kdtl_fake_clock(NULL) - begin < (u64)theft->ms * NSEC_PER_MSEC)
		cpu_relax();
	kdtl_fake_entry_fill(&e, KDTL_KIND_UNKNOWN, 0, 0, 0);
	theft->ns = kdtl_entry_time(&e) - begin;
	theft->robbed = current->pid;
	e.enqueue_to_dispatch_time = cpu_to_be32(theft->ns);
	e.srr1 = cpu_to_be64(kdtl_fake_hash(&e));
	kdtl_pmu_output(&kdtl_fake_pmu, &e, KDTL_KIND_UNKNOWN);
}

/**
 * kdtl_fake_steal() - take a CPU away as a hypervisor does, and make an entry of that
 * @cpu: which
 * @ms: for how long, at least
 * @robbed: set to the task that had the CPU; 0: it was idle
 * @ns: set to how long that took, which is also the entry's enqueue_to_dispatch_time
 *
 * Context: may sleep.
 * Return: 0, or -ENXIO: the CPU is offline.
 */
int kdtl_fake_steal(int cpu, unsigned int ms, pid_t *robbed, u64 *ns)
{
	struct kdtl_fake_theft theft = { .ms = ms };
	int err = smp_call_function_single(cpu, kdtl_fake_steal_here, &theft, true);

	if (err)
		return err;
	*robbed = theft.robbed;
	*ns = theft.ns;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_steal, KDTL_NS);

/**
 * kdtl_fake_lost() - let the source itself lose entries
 * @cpu: on which
 * @nr: how many
 *
 * Context: may sleep.
 * Return: 0, or -ENODEV: the CPU is offline.
 */
int kdtl_fake_lost(int cpu, u64 nr)
{
	struct kdtl_fake_job job = { .lost = nr };

	return kdtl_fake_on(cpu, &job);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_lost, KDTL_NS);

/**
 * kdtl_fake_later() - let time pass by the source's clock
 * @ns: how much
 *
 * Context: any.
 */
void kdtl_fake_later(u64 ns)
{
	atomic64_add(ns, &kdtl_fake_ahead);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_later, KDTL_NS);

/**
 * kdtl_fake_stop() - stop the source's clock, or let it run
 * @stop: stop it
 *
 * While the clock stands still, only kdtl_fake_later() moves it: then no result of a test
 * depends on how fast the machine is.
 *
 * Context: any.
 */
void kdtl_fake_stop(bool stop)
{
	atomic64_set(&kdtl_fake_stopped, stop ? local_clock() : 0);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_stop, KDTL_NS);

/**
 * kdtl_fake_emit_torn() - make entries that kdtl_fake_entry_seq() must reject
 * @cpu: on which
 * @nr: how many
 *
 * Context: may sleep.
 * Return: 0, or -ENODEV: the CPU is offline.
 */
int kdtl_fake_emit_torn(int cpu, unsigned int nr)
{
	struct kdtl_fake_job job = { .torn = nr };

	return kdtl_fake_on(cpu, &job);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_emit_torn, KDTL_NS);

/**
 * kdtl_fake_entry_seq() - check an entry
 * @e: the entry
 *
 * Context: any.
 * Return: its number; 0: the entry is not what was written.
 */
u64 kdtl_fake_entry_seq(const struct kdtl_entry *e)
{
	return be64_to_cpu(e->srr1) == kdtl_fake_hash(e) ? be64_to_cpu(e->srr0) : 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_entry_seq, KDTL_NS);

static int __init kdtl_fake_pmu_init(void)
{
	kdtl_fake_pmu.tasks = tasks;
	kdtl_fake_pmu.stolen = stolen && !tasks;
	if (!idle)
		kdtl_fake_pmu.mask = KDTL_MASK_ALL;
	return kdtl_pmu_register(&kdtl_fake_pmu);
}

static void __exit kdtl_fake_pmu_exit(void)
{
	kdtl_pmu_unregister(&kdtl_fake_pmu);
}

module_init(kdtl_fake_pmu_init);
module_exit(kdtl_fake_pmu_exit);

MODULE_DESCRIPTION("Source of dispatch trace log entries for kdtl's tests");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
