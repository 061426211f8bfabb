/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that differs between the supported kernels
 *
 * The rest of the project is written for the newest kernel.  Each shim names the
 * version and the change that it stands in for, and goes when the oldest supported
 * kernel has that change.
 */
#ifndef _KDTL_COMPAT_H
#define _KDTL_COMPAT_H

#include <linux/kconfig.h>
#include <linux/version.h>

#ifndef CONFIG_PERF_EVENTS
#error "kdtl needs a kernel with CONFIG_PERF_EVENTS"
#endif

#include <linux/perf_event.h>
#ifndef PERF_PMU_CAP_AUX_PREFER_LARGE
/*
 * v6.16, "perf/aux: Allocate non-contiguous AUX pages by default": single pages
 * unless the PMU asks for large ones.  Stable kernels have it too.
 */
#define PERF_PMU_CAP_AUX_PREFER_LARGE	0
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* v6.13, "hrtimers: Introduce hrtimer_setup() to replace hrtimer_init()" */
#include <linux/hrtimer.h>
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock_id, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock_id, mode);
	timer->function = function;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
/* v6.3, "mm: introduce vma->vm_flags wrapper functions" */
#include <linux/mm.h>
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)
/* v6.9, "Introduce cpu_dcache_is_aliasing() across all architectures" */
#if defined(CONFIG_ARM)
#include <asm/cachetype.h>
#define cpu_dcache_is_aliasing()	(cache_is_vivt() || cache_is_vipt_aliasing())
#elif defined(CONFIG_MIPS)
#include <asm/cpu-features.h>
#define cpu_dcache_is_aliasing()	cpu_has_dc_aliases
#elif defined(CONFIG_CSKY) || defined(CONFIG_M68K) || defined(CONFIG_NIOS2) ||	\
	defined(CONFIG_PARISC) || defined(CONFIG_SPARC) || defined(CONFIG_SUPERH) || \
	defined(CONFIG_XTENSA)
/* Only some of their CPUs alias, but nobody has tried the others. */
#define cpu_dcache_is_aliasing()	true
#else
#define cpu_dcache_is_aliasing()	false
#endif
#else
#include <linux/cacheinfo.h>
#endif
/*
 * Is the CPU in isolcpus=, nohz_full= or an isolated cpuset?  v6.8, "cgroup/cpuset:
 * Include isolated cpuset CPUs in cpu_is_isolated() check"; newer kernels leave
 * nohz_full= out of cpu_is_isolated().  Call this in an RCU reader.
 */
#include <linux/sched/isolation.h>
static inline bool kdtl_cpu_is_isolated(int cpu)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
	return !housekeeping_cpu(cpu, HK_TYPE_DOMAIN) || !housekeeping_cpu(cpu, HK_TYPE_TICK);
#else
	return cpu_is_isolated(cpu) || !housekeeping_cpu(cpu, HK_TYPE_TICK);
#endif
}

#include <linux/mm.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
/* v6.12, "mm/memblock: Add "reserve_mem" to reserved named memory at boot up" */
static inline int kdtl_reserve_mem_find(const char *name, phys_addr_t *start, phys_addr_t *size)
{
	return -EOPNOTSUPP;
}
#else
/* Returns 0 or -ENOENT. */
static inline int kdtl_reserve_mem_find(const char *name, phys_addr_t *start, phys_addr_t *size)
{
	return reserve_mem_find_by_name(name, start, size) ? 0 : -ENOENT;
}
#endif

/*
 * Is the task inside a page fault from user mode?  The memory controller marks it.  v6.11, "mm:
 * memcg: put struct task_struct::in_user_fault under CONFIG_MEMCG_V1"
 */
#if defined(CONFIG_MEMCG_V1)
#define kdtl_task_in_user_fault(t)	((t)->in_user_fault)
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0) && defined(CONFIG_MEMCG)
#define kdtl_task_in_user_fault(t)	((t)->in_user_fault)
#else
#define kdtl_task_in_user_fault(t)	false
#endif

/*
 * v6.12, "sched/fair: Implement delayed dequeue": a task that sleeps may stay in its
 * queue, and may even be moved to another one.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define KDTL_HAVE_DELAYED_DEQUEUE	0
#define kdtl_task_dequeue_delayed(t)	false
#else
#define KDTL_HAVE_DELAYED_DEQUEUE	1
#define kdtl_task_dequeue_delayed(t)	((t)->se.sched_delayed)
#endif

/*
 * v6.17, "sched: Add CONFIG_SCHED_PROXY_EXEC & boot argument to enable/disable": a task
 * that waits for a mutex may stay in a queue, so that the owner runs in its place.
 */
#define KDTL_HAVE_PROXY_EXEC		IS_ENABLED(CONFIG_SCHED_PROXY_EXEC)

/* Is the task one of these?  Though it is in a queue, it sleeps. */
#ifndef CONFIG_SCHED_PROXY_EXEC
#define kdtl_task_is_blocked(t)		false
#elif LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define kdtl_task_is_blocked(t)		((t)->blocked_on)
#else
#define kdtl_task_is_blocked(t)		((t)->is_blocked)
#endif

/*
 * v6.4, "fork: Make IO worker options flag based": before, io_uring's were the only threads of
 * user tasks that never were in user mode.
 */
#ifndef PF_USER_WORKER
#define PF_USER_WORKER		PF_IO_WORKER
#endif

/*
 * May the task be such an owner, and run in another one's place?  It has a field for
 * that since v7.2; before, any task may be one.
 */
#ifndef CONFIG_SCHED_PROXY_EXEC
#define kdtl_task_is_proxy(t)		false
#elif LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
#define kdtl_task_is_proxy(t)		true
#else
#define kdtl_task_is_proxy(t)		((t)->blocked_donor)
#endif

/*
 * v6.12, "sched/rt: Remove default bandwidth control": the fair server takes the place of the
 * limit on real-time tasks, unless these are in groups.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define KDTL_HAVE_RT_LIMIT		1
#else
#define KDTL_HAVE_RT_LIMIT		IS_ENABLED(CONFIG_RT_GROUP_SCHED)
#endif

/*
 * v6.18, "sched/fair: Switch to task based throttle model": a throttled task is
 * marked.  Before, only its group was.
 */
#ifndef CONFIG_CFS_BANDWIDTH
#define KDTL_HAVE_GROUP_THROTTLE	0
#define kdtl_task_throttled(t)		false
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define KDTL_HAVE_GROUP_THROTTLE	1
#else
#define KDTL_HAVE_GROUP_THROTTLE	0
#define kdtl_task_throttled(t)		((t)->throttled)
#endif

/* The arguments of tracepoints that api/answers/tasks.c probes. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
/* v6.16, "exit: move and extend sched_process_exit() tracepoint" */
#define KDTL_EXIT_GROUP_DEAD
#else
#define KDTL_EXIT_GROUP_DEAD	, bool group_dead
#endif
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
/* v6.18, "copy_process: pass clone_flags as u64 across calltree" */
typedef unsigned long kdtl_clone_flags_t;
#else
typedef u64 kdtl_clone_flags_t;
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
/* v6.16, "x86/msr: Rename 'rdmsrl_safe()' to 'rdmsrq_safe()'" */
#define rdmsrq_safe(msr, p)	rdmsrl_safe(msr, p)
#endif

/*
 * The first argument of a probed function.  Some architectures lack the kernel's function
 * for it, and modules cannot call s390's on kernels where it is not fully inline.
 */
#if !defined(CONFIG_KRETPROBES)
#define KDTL_HAVE_KRETPROBES	0
#elif defined(CONFIG_S390)
#define KDTL_HAVE_KRETPROBES	1
#define kdtl_regs_first(regs)	((regs)->gprs[2])
#elif defined(CONFIG_ARM)
#define KDTL_HAVE_KRETPROBES	1
#define kdtl_regs_first(regs)	((regs)->ARM_r0)
#elif defined(CONFIG_HAVE_FUNCTION_ARG_ACCESS_API)
#define KDTL_HAVE_KRETPROBES	1
#define kdtl_regs_first(regs)	regs_get_kernel_argument(regs, 0)
#elif defined(CONFIG_PPC64)
#define KDTL_HAVE_KRETPROBES	1
#define kdtl_regs_first(regs)	((regs)->gpr[3])
#else
#define KDTL_HAVE_KRETPROBES	0
#endif

#include <linux/timer.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
/* v6.2, "timers: Rename del_timer_sync() to timer_delete_sync()" */
#define timer_delete_sync(timer)	del_timer_sync(timer)
#endif

#include <linux/kthread.h>
#ifndef kthread_run_worker
/* v6.14, "kthread: Unify kthread_create_on_cpu() and kthread_create_worker_on_cpu()" */
#define kthread_run_worker(flags, ...)	kthread_create_worker(flags, __VA_ARGS__)
#endif

#include <linux/workqueue.h>
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
/* v6.17, "workqueue: Add system_percpu_wq and system_dfl_wq" */
#define system_dfl_wq	system_unbound_wq
#endif

#include <linux/irqflags.h>
#include <linux/preempt.h>
/*
 * May nobody sleep here?  A kernel without CONFIG_PREEMPT_COUNT does not see spinlocks, and one
 * with PREEMPT_RT does not count softirqs with them.
 */
static inline bool kdtl_is_atomic(void)
{
	return irqs_disabled() || preempt_count() ||
	       (IS_ENABLED(CONFIG_PREEMPT_RT) && in_softirq());
}

#include <linux/list.h>
/* Is @node in the list?  What it was part of may have gone, so it is not looked at. */
static inline bool kdtl_list_has(const struct list_head *list, const struct list_head *node)
{
	const struct list_head *each;

	list_for_each(each, list) {
		if (each == node)
			return true;
	}
	return false;
}

#endif /* _KDTL_COMPAT_H */
