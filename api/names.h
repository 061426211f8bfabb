/* SPDX-License-Identifier: GPL-2.0 */
/* Names of reason codes, for the kernel and for kdtl(1). NULL: the code has none. */
#ifndef _KDTL_NAMES_H
#define _KDTL_NAMES_H

#include <linux/kdtl.h>

/* The names of PAPR, as in the perf tool, and of reasons that PAPR does not have. */
static inline const char *kdtl_dispatch_name(unsigned int code)
{
	static const char * const names[] = {
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

	if (code == KDTL_DISPATCH_THROTTLED)
		return "throttled";
	if (code == KDTL_DISPATCH_IDLE)
		return "idle";
	return code < ARRAY_SIZE(names) ? names[code] : NULL;
}

static inline const char *kdtl_preempt_name(unsigned int code)
{
	static const char * const names[] = {
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

	switch (code) {
	case KDTL_PREEMPT_THROTTLED:
		return "throttled";
	case KDTL_PREEMPT_DISK_SLEEP:
		return "disk_sleep";
	case KDTL_PREEMPT_STOPPED:
		return "stopped";
	case KDTL_PREEMPT_EXITED:
		return "exited";
	}
	return code < ARRAY_SIZE(names) ? names[code] : NULL;
}

/* Names in the words of tasks; PAPR's for other reasons. */
static inline const char *kdtl_task_dispatch_name(unsigned int code)
{
	switch (code) {
	case KDTL_DISPATCH_PROD:
		return "woken";
	case KDTL_DISPATCH_TIME_SLICE:
		return "preempted";
	case KDTL_DISPATCH_PAGE_FAULT:
		return "page_fault";
	}
	return kdtl_dispatch_name(code);
}

static inline const char *kdtl_task_left_name(unsigned int code)
{
	switch (code) {
	case KDTL_PREEMPT_CEDE:
		return "slept";
	case KDTL_PREEMPT_TIME_SLICE:
		return "preempted";
	case KDTL_PREEMPT_PAGE_FAULT:
		return "page_fault";
	}
	return kdtl_preempt_name(code);
}

#endif /* _KDTL_NAMES_H */
