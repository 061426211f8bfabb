/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between the supported kernels, and nothing else does.
 *
 * The rest of the project is written for the newest of them.  Each shim names
 * the version and the change that it stands in for: it goes when the oldest
 * supported kernel has that.
 */
#ifndef _KDTL_COMPAT_H
#define _KDTL_COMPAT_H

#include <linux/kconfig.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "kdtl supports Linux 6.1 and newer: set KDIR to such a kernel's build tree"
#endif

#ifndef CONFIG_PERF_EVENTS
#error "kdtl needs a kernel with CONFIG_PERF_EVENTS"
#endif

/* v6.16 (18049c8cff9d): perf asks for single pages unless the PMU does this. */
#include <linux/perf_event.h>
#ifndef PERF_PMU_CAP_AUX_PREFER_LARGE
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0
#endif

/* v6.13 (908a1d775422): hrtimer_setup() takes the callback. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#include <linux/hrtimer.h>
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

/*
 * Is the task inside a page fault from user mode?  The memory controller's
 * mark; v6.11 (e93d4166b40a) moved it from CONFIG_MEMCG to CONFIG_MEMCG_V1.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define KDTL_HAVE_USER_FAULT	IS_ENABLED(CONFIG_MEMCG_V1)
#else
#define KDTL_HAVE_USER_FAULT	IS_ENABLED(CONFIG_MEMCG)
#endif
#if KDTL_HAVE_USER_FAULT
#define kdtl_task_in_user_fault(t)	((t)->in_user_fault)
#else
#define kdtl_task_in_user_fault(t)	false
#endif

#endif /* _KDTL_COMPAT_H */
