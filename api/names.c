// SPDX-License-Identifier: GPL-2.0
/* Names of reason codes. */
#include <linux/export.h>
#include <linux/kdtl.h>

#include "../core/compat.h"

static const char * const kdtl_dispatch_names[] = {
	[KDTL_DISPATCH_EXTERNAL_INTERRUPT]	= "external_interrupt",
	[KDTL_DISPATCH_FIRMWARE]		= "firmware_internal_event",
	[KDTL_DISPATCH_PROD]			= "H_PROD",
	[KDTL_DISPATCH_DECREMENTER]		= "decrementer_interrupt",
	[KDTL_DISPATCH_SYSTEM_RESET]		= "system_reset",
	[KDTL_DISPATCH_FIRMWARE_2]		= "firmware_internal_event",
	[KDTL_DISPATCH_CONFERRED]		= "conferred_cycles",
	[KDTL_DISPATCH_TIME_SLICE]		= "time_slice",
	[KDTL_DISPATCH_PAGE_FAULT]		= "virtual_memory_page_fault",
	[KDTL_DISPATCH_EXPROPRIATED]		= "expropriated_adjunct",
	[KDTL_DISPATCH_PRIV_DOORBELL]		= "priv_doorbell",
};

static const char * const kdtl_preempt_names[] = {
	[KDTL_PREEMPT_UNUSED]			= "unused",
	[KDTL_PREEMPT_FIRMWARE]			= "firmware_internal_event",
	[KDTL_PREEMPT_CEDE]			= "H_CEDE",
	[KDTL_PREEMPT_CONFER]			= "H_CONFER",
	[KDTL_PREEMPT_TIME_SLICE]		= "time_slice",
	[KDTL_PREEMPT_MIGRATION]		= "migration_hibernation_page_fault",
	[KDTL_PREEMPT_PAGE_FAULT]		= "virtual_memory_page_fault",
	[KDTL_PREEMPT_CONFER_ADJUNCT]		= "H_CONFER_ADJUNCT",
	[KDTL_PREEMPT_HCALL_ADJUNCT]		= "hcall_adjunct",
	[KDTL_PREEMPT_HDEC_ADJUNCT]		= "HDEC_adjunct",
};

/**
 * kdtl_dispatch_reason_name() - name a dispatch reason
 * @reason: from kdtl_entry_dispatch_reason()
 *
 * The names are those of PAPR and of the perf tool, "throttled" and "idle".
 *
 * Context: any.
 * Return: a constant string; "unknown" for a code that neither PAPR nor kdtl
 * defines.
 */
const char *kdtl_dispatch_reason_name(unsigned int reason)
{
	if (reason == KDTL_DISPATCH_THROTTLED)
		return "throttled";
	if (reason == KDTL_DISPATCH_IDLE)
		return "idle";
	return reason < ARRAY_SIZE(kdtl_dispatch_names) ?
		kdtl_dispatch_names[reason] : "unknown";
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
	switch (reason) {
	case KDTL_DISPATCH_PROD:
		return "woken";
	case KDTL_DISPATCH_TIME_SLICE:
		return "preempted";
	case KDTL_DISPATCH_PAGE_FAULT:
		return "page_fault";
	}
	return kdtl_dispatch_reason_name(reason);
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
	switch (reason) {
	case KDTL_PREEMPT_THROTTLED:
		return "throttled";
	case KDTL_PREEMPT_DISK_SLEEP:
		return "disk_sleep";
	case KDTL_PREEMPT_STOPPED:
		return "stopped";
	case KDTL_PREEMPT_EXITED:
		return "exited";
	}
	return reason < ARRAY_SIZE(kdtl_preempt_names) ?
		kdtl_preempt_names[reason] : "unknown";
}
EXPORT_SYMBOL_NS_GPL(kdtl_preempt_reason_name, KDTL_NS);

/**
 * kdtl_task_preempt_name() - name a preempt reason of kdtl_sched in the words of tasks
 * @reason: from kdtl_entry_preempt_reason()
 *
 * "slept": the CPU's previous task went to sleep; "disk_sleep": no signal interrupts that;
 * "page_fault": it waits for a page; "stopped" and "exited": it was, or has; "preempted": it
 * could have gone on; "throttled": it could have, but a limit on CPU time took effect.
 *
 * Context: any.
 * Return: a constant string; kdtl_preempt_reason_name() for a reason that kdtl_sched
 * does not give.
 */
const char *kdtl_task_preempt_name(unsigned int reason)
{
	switch (reason) {
	case KDTL_PREEMPT_CEDE:
		return "slept";
	case KDTL_PREEMPT_TIME_SLICE:
		return "preempted";
	case KDTL_PREEMPT_PAGE_FAULT:
		return "page_fault";
	}
	return kdtl_preempt_reason_name(reason);
}
EXPORT_SYMBOL_NS_GPL(kdtl_task_preempt_name, KDTL_NS);
