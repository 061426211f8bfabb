/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * kdtl_wake - the entries of the source kdtl_wake: who woke whom
 *
 * They are as long as dispatches, are also big-endian, and have their time in the same
 * place, so that sessions, /dev/kdtl and files carry them as they are.  But they are no
 * dispatches: of the accessors in <linux/kdtl.h> only kdtl_entry_time() applies to them.
 *
 * An entry lies in the log of the CPU on which it happened: the waker's CPU.
 *
 * A sleep is ended by the last wake-up before the task's next dispatch.  A task that is
 * woken before it has left its queue does not sleep, or is woken again; a task that was
 * woken cannot be woken again until it runs.  So go by the order of the entries, and do not
 * compare times.  The wake-up that ended the sleep lacks KDTL_WAKE_QUEUED, unless it began
 * just before the task left its queue; all others between the two dispatches have it.
 */
#ifndef _UAPI_LINUX_KDTL_WAKE_H
#define _UAPI_LINUX_KDTL_WAKE_H

#include <linux/kdtl.h>

/**
 * enum kdtl_wake_kind - what happened; no dispatch_reason has these values
 * @KDTL_WAKE_WOKEN: a task is woken (sched_waking)
 * @KDTL_WAKE_MOVED: a task that waits for a CPU is moved to another one's queue
 * @KDTL_WAKE_CONTENDED: a task is about to sleep because of a lock that another one holds
 * @KDTL_WAKE_NEW: a new task is queued for the first time, by who made it
 * @KDTL_WAKE_KEPT: a task, or the idle one, leaves its CPU a ms or more after it was told to,
 *	because it could not be preempted before; from Linux 7.2 on
 */
enum kdtl_wake_kind {
	KDTL_WAKE_WOKEN		= 192,
	KDTL_WAKE_MOVED		= 193,
	KDTL_WAKE_CONTENDED	= 194,
	KDTL_WAKE_NEW		= 195,
	KDTL_WAKE_KEPT		= 196,
};

/* kdtl_wake_entry::flags */
#define KDTL_WAKE_QUEUED	0x01	/* it had not left its queue, or its CPU */
#define KDTL_WAKE_HARDIRQ	0x02	/* by an interrupt: kdtl_wake_by() is a bystander */
#define KDTL_WAKE_SOFTIRQ	0x04	/* by a softirq, but not in ksoftirqd or ktimers */
#define KDTL_WAKE_IOWAIT	0x08	/* it waited for a disk */

/* An interrupt did it, and no task. */
#define KDTL_WAKE_IRQ		(KDTL_WAKE_HARDIRQ | KDTL_WAKE_SOFTIRQ)

/* kdtl_wake_entry::syscall: the task is in none, like all kernel threads, or it is not known */
#define KDTL_WAKE_NO_SYSCALL	0xffff

/**
 * enum kdtl_wake_lock - kinds of locks, in kdtl_wake_entry::state of CONTENDED
 * @KDTL_WAKE_LOCK_OTHER: a semaphore, or a kind that later kernels add
 * @KDTL_WAKE_LOCK_MUTEX: a mutex
 * @KDTL_WAKE_LOCK_READ: a rwsem or percpu rwsem, to read
 * @KDTL_WAKE_LOCK_WRITE: a rwsem or percpu rwsem, to write
 * @KDTL_WAKE_LOCK_RT: a lock with priority inheritance, which with PREEMPT_RT includes
 *	mutexes and spinlocks
 */
enum kdtl_wake_lock {
	KDTL_WAKE_LOCK_OTHER	= 0,
	KDTL_WAKE_LOCK_MUTEX	= 1,
	KDTL_WAKE_LOCK_READ	= 2,
	KDTL_WAKE_LOCK_WRITE	= 3,
	KDTL_WAKE_LOCK_RT	= 4,
};

/**
 * struct kdtl_wake_entry - one wake-up, move, or contended lock (48 bytes, big-endian)
 * @kind: &enum kdtl_wake_kind
 * @flags: KDTL_WAKE_QUEUED and so on
 * @cpu: WOKEN: the CPU where the task last ran; MOVED: the CPU whose queue it left;
 *	CONTENDED, KEPT: the CPU where it runs; NEW: the CPU where it is queued
 * @pid: the task: woken, moved, about to sleep, new, or about to leave its CPU
 * @by: WOKEN, MOVED, NEW: the task that ran here, which did it unless an interrupt did;
 *	0: the idle task. CONTENDED: who holds the lock; 0: not known
 * @state: WOKEN: how it slept, in the kernel's own bits, as in prev_state of
 *	sched_switch: 1 interruptible, 2 not, 4 stopped, 8 traced, ... CONTENDED: &enum
 *	kdtl_wake_lock. Otherwise 0
 * @syscall: WOKEN, CONTENDED, KEPT: the number of the system call that the task is in, or
 *	KDTL_WAKE_NO_SYSCALL. Otherwise KDTL_WAKE_NO_SYSCALL
 * @timebase: when it happened, in ticks, in the same place as in dispatches
 * @arg: WOKEN: the first argument of that system call, as the program gave it: a file
 *	descriptor, a futex's address, ...; 0 without one. MOVED: the CPU whose queue it
 *	joined. CONTENDED: a number that tells locks apart, but is no address. KEPT: ns since
 *	it was told to leave. Otherwise 0
 * @comm: the name of the task @pid
 */
struct kdtl_wake_entry {
	__u8	kind;
	__u8	flags;
	__be16	cpu;
	__be32	pid;
	__be32	by;
	__be16	state;
	__be16	syscall;
	__be64	timebase;
	__be64	arg;
	char	comm[16];
};

/**
 * kdtl_wake_of() - get an entry as one of kdtl_wake's
 * @e: entry
 *
 * Context: any.
 * Return: @e; NULL if it is not an entry of kdtl_wake.
 */
static inline const struct kdtl_wake_entry *kdtl_wake_of(const struct kdtl_entry *e)
{
	return e->dispatch_reason >= KDTL_WAKE_WOKEN ?
	       (const struct kdtl_wake_entry *)e : (void *)0;
}

/**
 * kdtl_wake_cpu() - the CPU that the task left, or on which it is
 * @w: entry
 *
 * Context: any.
 * Return: the CPU, see kdtl_wake_entry::cpu.
 */
static inline unsigned int kdtl_wake_cpu(const struct kdtl_wake_entry *w)
{
	return __be16_to_cpu(w->cpu);
}

/**
 * kdtl_wake_pid() - the task that was woken or moved, is about to sleep, or is new
 * @w: entry
 *
 * Context: any.
 * Return: its pid in the initial namespace.
 */
static inline __s32 kdtl_wake_pid(const struct kdtl_wake_entry *w)
{
	return (__s32)__be32_to_cpu(w->pid);
}

/**
 * kdtl_wake_by() - who woke or moved it, made it, or holds the lock
 * @w: entry
 *
 * Context: any.
 * Return: a pid in the initial namespace; 0: the idle task, or it is not known who holds
 * the lock. With KDTL_WAKE_IRQ in kdtl_wake_entry::flags it was not that task's doing.
 */
static inline __s32 kdtl_wake_by(const struct kdtl_wake_entry *w)
{
	return (__s32)__be32_to_cpu(w->by);
}

/**
 * kdtl_wake_state() - how a woken task slept, or the kind of lock
 * @w: entry
 *
 * Context: any.
 * Return: see kdtl_wake_entry::state.
 */
static inline unsigned int kdtl_wake_state(const struct kdtl_wake_entry *w)
{
	return __be16_to_cpu(w->state);
}

/**
 * kdtl_wake_syscall() - the system call in which the task slept, or is about to
 * @w: entry
 *
 * Context: any.
 * Return: its number on this architecture, or KDTL_WAKE_NO_SYSCALL.
 */
static inline unsigned int kdtl_wake_syscall(const struct kdtl_wake_entry *w)
{
	return __be16_to_cpu(w->syscall);
}

/**
 * kdtl_wake_time() - when it happened
 * @w: entry
 *
 * Context: any.
 * Return: ticks of the time base, which is that of kdtl_sched.
 */
static inline __u64 kdtl_wake_time(const struct kdtl_wake_entry *w)
{
	return __be64_to_cpu(w->timebase);
}

/**
 * kdtl_wake_arg() - the call's first argument, the new CPU, or which lock
 * @w: entry
 *
 * Context: any.
 * Return: see kdtl_wake_entry::arg.
 */
static inline __u64 kdtl_wake_arg(const struct kdtl_wake_entry *w)
{
	return __be64_to_cpu(w->arg);
}

/**
 * kdtl_wake_comm() - the name of the task
 * @w: entry
 *
 * Context: any.
 * Return: a string inside @w, of at most TASK_COMM_LEN bytes, always terminated.
 */
static inline const char *kdtl_wake_comm(const struct kdtl_wake_entry *w)
{
	return w->comm;
}

#endif /* _UAPI_LINUX_KDTL_WAKE_H */
