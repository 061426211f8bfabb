// SPDX-License-Identifier: GPL-2.0
/* Names of reason codes. */
#include <linux/export.h>
#include <linux/kdtl.h>

#include "names.h"

/**
 * kdtl_dispatch_reason_name() - name a dispatch reason
 * @reason: from kdtl_entry_dispatch_reason()
 *
 * The names are those of PAPR and of the perf tool, and "throttled" and "idle".
 *
 * Context: any.
 * Return: a constant string; "unknown" for a code that neither PAPR nor kdtl
 * defines.
 */
const char *kdtl_dispatch_reason_name(unsigned int reason)
{
	return kdtl_dispatch_name(reason) ?: "unknown";
}
EXPORT_SYMBOL_NS_GPL(kdtl_dispatch_reason_name, KDTL_NS);

/**
 * kdtl_task_reason_name() - name a dispatch reason of kdtl_sched in the words of tasks
 * @reason: from kdtl_entry_dispatch_reason()
 *
 * "woken": the task had slept, or is new; "preempted": it had been preempted; "page_fault": it
 * had waited for a page; "throttled": a limit on CPU time had held it back; "idle": the CPU
 * became idle.
 *
 * Context: any.
 * Return: a constant string; kdtl_dispatch_reason_name() for a reason that kdtl_sched
 * does not give.
 */
const char *kdtl_task_reason_name(unsigned int reason)
{
	return kdtl_task_dispatch_name(reason) ?: "unknown";
}
EXPORT_SYMBOL_NS_GPL(kdtl_task_reason_name, KDTL_NS);

/**
 * kdtl_preempt_reason_name() - name a preempt reason
 * @reason: from kdtl_entry_preempt_reason()
 *
 * Context: any.
 * Return: a constant string; "unknown" for a code that neither PAPR nor kdtl
 * defines.
 */
const char *kdtl_preempt_reason_name(unsigned int reason)
{
	return kdtl_preempt_name(reason) ?: "unknown";
}
EXPORT_SYMBOL_NS_GPL(kdtl_preempt_reason_name, KDTL_NS);

/**
 * kdtl_task_preempt_name() - name a preempt reason of kdtl_sched in the words of tasks
 * @reason: from kdtl_entry_preempt_reason()
 *
 * "slept": the CPU's previous task went to sleep; "disk_sleep": it sleeps uninterruptibly;
 * "page_fault": it waits for a page; "stopped": it was stopped; "exited": it has exited;
 * "preempted": it could have gone on; "throttled": a limit on CPU time took effect.
 *
 * Context: any.
 * Return: a constant string; kdtl_preempt_reason_name() for a reason that kdtl_sched
 * does not give.
 */
const char *kdtl_task_preempt_name(unsigned int reason)
{
	return kdtl_task_left_name(reason) ?: "unknown";
}
EXPORT_SYMBOL_NS_GPL(kdtl_task_preempt_name, KDTL_NS);
