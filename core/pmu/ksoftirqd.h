/* SPDX-License-Identifier: GPL-2.0 */
/* Softirqs that a thread runs are that thread's: it has a CPU, and waits for one, as others do. */
#ifndef _KDTL_KSOFTIRQD_H
#define _KDTL_KSOFTIRQD_H

#include <linux/sched.h>
#include <linux/string.h>

/*
 * With PREEMPT_RT or threadirqs, ktimers runs the softirqs of timers.  The kernel does not export
 * which threads these are.
 */
static inline bool kdtl_is_ktimers(const struct task_struct *t)
{
	return t->flags & PF_KTHREAD && !strncmp(t->comm, "ktimers/", 8);
}

static inline bool kdtl_is_ksoftirqd(const struct task_struct *t)
{
	return t->flags & PF_KTHREAD && !strncmp(t->comm, "ksoftirqd/", 10);
}

static inline bool kdtl_in_ksoftirqd(void)
{
	return kdtl_is_ksoftirqd(current) || kdtl_is_ktimers(current);
}

#endif /* _KDTL_KSOFTIRQD_H */
