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
static inline bool kdtl_in_ksoftirqd(void)
{
	return current->flags & PF_KTHREAD && (!strncmp(current->comm, "ksoftirqd/", 10) ||
					       !strncmp(current->comm, "ktimers/", 8));
}

#endif /* _KDTL_KSOFTIRQD_H */
