// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_wake - the scheduler as a source of who woke whom
 *
 * One entry for each wake-up, with its waker and with the system call in which the task
 * slept; for each move of a task that waits for a CPU; for each new task; for each mutex and
 * rwsem that somebody is about to sleep for; and for each task that leaves its CPU a ms or more
 * after the scheduler told it to, if the kernel has tracepoints for that.  These entries are
 * no dispatches (KDTL_MASK_WAKE).  With the entries of kdtl_sched, which has the same clock,
 * they tell why a task did not run: <linux/kdtl_wake.h> has the rule.
 *
 * The waker is the task that runs on the CPU, so all but the state of the woken task is at
 * hand.  In sched_waking the woken task's lock is held, which nothing here needs.  A keyed
 * hash names a lock, because its address must not be disclosed.
 *
 * Documentation/pmu-wake.rst describes each field of an entry.
 */
#define pr_fmt(fmt) "kdtl_wake: " fmt

#include <linux/kdtl_pmu.h>
#include <linux/kdtl_probes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/rtmutex.h>
#include <linux/rwsem.h>
#include <linux/sched/task_stack.h>
#include <linux/siphash.h>
#include <trace/events/lock.h>
#include <trace/events/sched.h>
#include <uapi/linux/kdtl_wake.h>
#include <asm/syscall.h>
#ifdef CONFIG_SECCOMP
#include <asm/seccomp.h>
#endif

#include "../compat.h"
#include "../fanout.h"
#include "ksoftirqd.h"
#include "sched-clock.h"
#include "sched-entry.h"

/* The layout is that of PAPR's entries: kdtl_fill() relies on it. */
static_assert(sizeof(struct kdtl_wake_entry) == KDTL_ENTRY_SIZE);
static_assert(offsetof(struct kdtl_wake_entry, timebase) == offsetof(struct kdtl_entry, timebase));
static_assert(offsetof(struct kdtl_wake_entry, comm) == offsetof(struct kdtl_entry, srr0));
/* The entry has 16 bits for the CPU's number. */
static_assert(CONFIG_NR_CPUS <= 1 << 16);

/**
 * struct kdtl_wake_cpu - what a wake-up needs of its CPU
 * @clock: see sched-clock.h
 * @fan: the sinks
 */
struct kdtl_wake_cpu {
	struct kdtl_clock	clock;
	struct kdtl_pmu_cpu	fan;
};

static DEFINE_PER_CPU_ALIGNED(struct kdtl_wake_cpu, kdtl_wake_cpus);
static siphash_key_t kdtl_wake_key __read_mostly;
static struct kdtl_pmu kdtl_wake_pmu;

/* ---------------------------------------------------------------- an entry */

/* With interrupts off. */
static __always_inline u64 kdtl_wake_now(struct kdtl_wake_cpu *c)
{
	u64 now;

	return likely(kdtl_clock_read(&c->clock, &now)) ? now : kdtl_clock_anchor(&c->clock);
}

/* With interrupts off, on a CPU that has sinks. */
static __always_inline void kdtl_wake_log(struct kdtl_wake_cpu *c, unsigned int kind,
					  unsigned int flags, unsigned int cpu,
					  const struct task_struct *t, pid_t by,
					  unsigned int state, unsigned int call, u64 arg)
{
	const unsigned int wanted = c->fan.wanted[KDTL_KIND_UNKNOWN];
	const __be64 w0 = cpu_to_be64((u64)(kind << 24 | flags << 16 | (u16)cpu) << 32 |
				      (u32)t->pid);
	const __be64 w1 = cpu_to_be64((u64)(u32)by << 32 | (u16)state << 16 | (u16)call);
	const __be64 w2 = cpu_to_be64(kdtl_wake_now(c));

	kdtl_u64_add(&kdtl_pmu_tally(&c->fan, KDTL_KIND_UNKNOWN)->sum[KDTL_SUM_ENTRIES], 1);
	kdtl_fill_out(&kdtl_wake_pmu, &c->fan, wanted, KDTL_KIND_UNKNOWN, t, w0, w1, w2,
		      cpu_to_be64(arg));
}

/* This CPU's state; NULL: nobody wants its entries. */
static __always_inline struct kdtl_wake_cpu *kdtl_wake_here(void)
{
	return this_cpu_read(kdtl_wake_cpus.fan.mask) ? this_cpu_ptr(&kdtl_wake_cpus) : NULL;
}

/* --------------------------------------- a wake-up's context and system call */

/*
 * Did an interrupt do it, rather than the task that runs?  ksoftirqd is a task like others.  The
 * idle task wakes nobody, except once when its CPU comes online.
 */
static __always_inline unsigned int kdtl_wake_context(void)
{
	if (in_hardirq())
		return KDTL_WAKE_HARDIRQ;
	if (in_serving_softirq() && !kdtl_in_ksoftirqd())
		return KDTL_WAKE_SOFTIRQ;
	return current->pid ? 0 : KDTL_WAKE_HARDIRQ;
}

/*
 * Does an interrupt wake the kernel thread @t at its end, when it no longer counts as one?  Then
 * the task that runs was only interrupted.  Timers are expired by interrupts alone; with PREEMPT_RT
 * nearly all softirqs of ksoftirqd are raised by them.
 */
static noinline bool kdtl_wake_at_irq_exit(const struct task_struct *t)
{
	return kdtl_is_ktimers(t) || (IS_ENABLED(CONFIG_PREEMPT_RT) && kdtl_is_ksoftirqd(t));
}

/*
 * Is @t in its queue, and not asleep there?  A task that is about to sleep on another CPU may
 * leave its queue just now.
 */
static __always_inline bool kdtl_is_queued(const struct task_struct *t)
{
	return data_race(t->on_rq && !kdtl_task_dequeue_delayed(t) && !kdtl_task_is_blocked(t));
}

/* Is @t a compat program?  Numbers of system calls mean something else there. */
static __always_inline bool kdtl_is_foreign(struct task_struct *t)
{
#if defined(CONFIG_COMPAT) && defined(SECCOMP_ARCH_NATIVE)
	return syscall_get_arch(t) != SECCOMP_ARCH_NATIVE;
#else
	return false;
#endif
}

/*
 * The registers of a thread that never was in user mode say nothing of a system call, or are its
 * creator's.
 */
static __always_inline bool kdtl_never_calls(const struct task_struct *t)
{
	return t->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}

/* The system call that @t is in, and its first argument. */
static __always_inline unsigned int kdtl_wake_call(struct task_struct *t, u64 *arg)
{
	unsigned long args[6];
	struct pt_regs *regs;
	unsigned int nr;

	*arg = 0;
	if (kdtl_never_calls(t))
		return KDTL_WAKE_NO_SYSCALL;
	regs = task_pt_regs(t);
	nr = syscall_get_nr(t, regs);
	if (nr >= KDTL_WAKE_NO_SYSCALL || kdtl_is_foreign(t))
		return KDTL_WAKE_NO_SYSCALL;
	syscall_get_arguments(t, regs, args);
	*arg = args[0];
	return nr;
}

/* -------------------------------------------------------------- the probes */

static __always_inline void kdtl_wake_woken(struct task_struct *t)
{
	struct kdtl_wake_cpu *c = kdtl_wake_here();
	unsigned int flags, call;
	u64 arg;

	if (!c)
		return;
	flags = kdtl_wake_context();
	if (kdtl_is_queued(t))
		flags |= KDTL_WAKE_QUEUED;
	if (t->in_iowait)
		flags |= KDTL_WAKE_IOWAIT;
	call = kdtl_wake_call(t, &arg);
	if (kdtl_never_calls(t) && !(flags & KDTL_WAKE_IRQ) && kdtl_wake_at_irq_exit(t))
		flags |= KDTL_WAKE_HARDIRQ;
	kdtl_wake_log(c, KDTL_WAKE_WOKEN, flags, task_cpu(t), t, current->pid,
		      READ_ONCE(t->__state), call, arg);
}

/* Interrupts may be on only when a task that is about to sleep wakes itself. */
static noinline void kdtl_wake_self(struct task_struct *t)
{
	unsigned long flags;

	local_irq_save(flags);
	kdtl_wake_woken(t);
	local_irq_restore(flags);
}

static void kdtl_wake_waking(void *data, struct task_struct *t)
{
	if (unlikely(t == current)) {
		kdtl_wake_self(t);
		return;
	}
	kdtl_wake_woken(t);
}

/* A woken task may also be moved before it is queued, which is not a move while it waits. */
static void kdtl_wake_migrate(void *data, struct task_struct *t, int cpu)
{
	struct kdtl_wake_cpu *c = kdtl_wake_here();

	if (c && kdtl_is_queued(t))
		kdtl_wake_log(c, KDTL_WAKE_MOVED, kdtl_wake_context(), task_cpu(t), t,
			      current->pid, 0, KDTL_WAKE_NO_SYSCALL, cpu);
}

static void kdtl_wake_new(void *data, struct task_struct *t)
{
	struct kdtl_wake_cpu *c = kdtl_wake_here();

	if (c)
		kdtl_wake_log(c, KDTL_WAKE_NEW, kdtl_wake_context(), task_cpu(t), t, current->pid,
			      0, KDTL_WAKE_NO_SYSCALL, 0);
}

static enum kdtl_wake_lock kdtl_lock_kind(unsigned int flags)
{
	if (flags & LCB_F_MUTEX)
		return KDTL_WAKE_LOCK_MUTEX;
	if (flags & LCB_F_READ)
		return KDTL_WAKE_LOCK_READ;
	if (flags & LCB_F_WRITE)
		return KDTL_WAKE_LOCK_WRITE;
	return flags & LCB_F_RT ? KDTL_WAKE_LOCK_RT : KDTL_WAKE_LOCK_OTHER;
}

/* The owner in a lock's word has flags in its low bits; flag @no: the owner is not known. */
static const struct task_struct *kdtl_owner(unsigned long word, unsigned long no)
{
	return word & no ? NULL : (const struct task_struct *)(word & ~7UL);
}

/*
 * Returns the owner of a lock, or NULL if that is not known.  It is not while readers hold a rwsem,
 * whose word may name one that has left.  With PREEMPT_RT a mutex is an rt_mutex, and its flags are
 * LCB_F_RT alone; a rwsem also has LCB_F_READ or LCB_F_WRITE, and its struct names no owner.
 */
static const struct task_struct *kdtl_lock_owner(void *lock, unsigned int flags)
{
	switch (flags) {
#ifndef CONFIG_PREEMPT_RT
	case LCB_F_MUTEX:
		return kdtl_owner(atomic_long_read(&((struct mutex *)lock)->owner), 0);
	case LCB_F_READ:
	case LCB_F_WRITE:
		return kdtl_owner(atomic_long_read(&((struct rw_semaphore *)lock)->owner), 1);
#endif
	case LCB_F_RT:
		return kdtl_owner((unsigned long)READ_ONCE(((struct rt_mutex_base *)lock)->owner),
				  0);
	}
	return NULL;
}

/* If the owner gives the lock back and exits, its task_struct stays until rcu_read_unlock(). */
static pid_t kdtl_lock_owner_pid(void *lock, unsigned int flags)
{
	const struct task_struct *owner;
	pid_t pid;

	rcu_read_lock();
	owner = kdtl_lock_owner(lock, flags);
	pid = owner ? owner->pid : 0;
	rcu_read_unlock();
	return pid;
}

/* A task that spins does not wait: it has a CPU.  Interrupts may be on. */
static void kdtl_wake_contended(void *data, void *lock, unsigned int what)
{
	struct kdtl_wake_cpu *c;
	unsigned long flags;
	unsigned int call;
	u64 arg;

	if (what & LCB_F_SPIN)
		return;
	local_irq_save(flags);
	c = kdtl_wake_here();
	if (c) {
		call = kdtl_wake_call(current, &arg);
		kdtl_wake_log(c, KDTL_WAKE_CONTENDED, 0, raw_smp_processor_id(), current,
			      kdtl_lock_owner_pid(lock, what), kdtl_lock_kind(what), call,
			      siphash_1u64((unsigned long)lock, &kdtl_wake_key));
	}
	local_irq_restore(flags);
}

/* ------------------------------------------------ who could not be preempted */

#define KDTL_WAKE_KEPT_NS	NSEC_PER_MSEC

/* Since when the task that has the CPU should have left it, by local_clock(). */
static DEFINE_PER_CPU(u64, kdtl_wake_since);

/* @t is told to leave @cpu, maybe by another CPU.  TIF_NEED_RESCHED_LAZY does not count. */
static void kdtl_wake_told(void *data, struct task_struct *t, int cpu, int tif)
{
	if (tif == TIF_NEED_RESCHED)
		WRITE_ONCE(per_cpu(kdtl_wake_since, cpu), local_clock());
}

/*
 * The task begins to leave.  kdtl_wake_told() is called each time that the flag is set, so if
 * it is set, kdtl_wake_since is the time of that.  Interrupts may be on.
 */
static void kdtl_wake_leaves(void *data, bool preempt)
{
	struct kdtl_wake_cpu *c;
	unsigned long flags;
	unsigned int call;
	u64 since, arg;
	s64 kept;

	if (likely(!tif_need_resched()))
		return;
	local_irq_save(flags);
	c = kdtl_wake_here();
	since = this_cpu_read(kdtl_wake_since);
	kept = c && since ? local_clock() - since : 0;
	if (kept >= KDTL_WAKE_KEPT_NS) {
		call = kdtl_wake_call(current, &arg);
		kdtl_wake_log(c, KDTL_WAKE_KEPT, 0, raw_smp_processor_id(), current, 0, 0, call,
			      kept);
	}
	local_irq_restore(flags);
}

/* ------------------------------------------------------- switching on and off */

static struct kdtl_probe kdtl_wake_probes[] = {
	{ "sched_waking", kdtl_wake_waking },
	{ "sched_migrate_task", kdtl_wake_migrate },
	{ "sched_wakeup_new", kdtl_wake_new },
	{ "contention_begin", kdtl_wake_contended, .optional = true },
	{ "sched_set_need_resched_tp", kdtl_wake_told, .optional = true },
	{ "sched_entry_tp", kdtl_wake_leaves, .optional = true },
};

static int kdtl_wake_attach(struct kdtl_pmu *pmu)
{
	int cpu;

	/* Nothing is known of what tasks were told while nobody listened. */
	for_each_possible_cpu(cpu)
		per_cpu(kdtl_wake_since, cpu) = 0;
	return kdtl_probes_register(kdtl_wake_probes, ARRAY_SIZE(kdtl_wake_probes));
}

static void kdtl_wake_detach(struct kdtl_pmu *pmu)
{
	kdtl_probes_unregister(kdtl_wake_probes, ARRAY_SIZE(kdtl_wake_probes));
}

/* Interrupts are off, so this CPU is not in the middle of a wake-up. */
static u64 kdtl_wake_sync(struct kdtl_pmu *p)
{
	return kdtl_wake_now(this_cpu_ptr(&kdtl_wake_cpus));
}

static struct kdtl_pmu kdtl_wake_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_wake",
	.mask		= KDTL_MASK_WAKE,
	.tb_freq	= NSEC_PER_SEC,
	.attach		= kdtl_wake_attach,
	.detach		= kdtl_wake_detach,
	.sync		= kdtl_wake_sync,
	.cpu		= &kdtl_wake_cpus.fan,
};

/* -------------------------------------------------------------------- module */

static int __init kdtl_wake_init(void)
{
	const int err = kdtl_probes_find(kdtl_wake_probes, ARRAY_SIZE(kdtl_wake_probes));

	if (err)
		return err;
	get_random_bytes(&kdtl_wake_key, sizeof(kdtl_wake_key));
	return kdtl_pmu_register(&kdtl_wake_pmu);
}

static void __exit kdtl_wake_exit(void)
{
	kdtl_pmu_unregister(&kdtl_wake_pmu);
}

module_init(kdtl_wake_init);
module_exit(kdtl_wake_exit);

MODULE_DESCRIPTION("Who woke whom, as entries beside dispatch trace logs");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kdtl-pmu-kdtl_wake");
MODULE_IMPORT_NS(KDTL_NS);
