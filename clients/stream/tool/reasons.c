// SPDX-License-Identifier: GPL-2.0
/* Names of the reason codes: for a hypervisor's log PAPR's, as in the perf tool, else a task's. */
#include "kdtl.h"

static const char *const dispatch_names[] = {
	"external_interrupt", "firmware_internal_event", "H_PROD",
	"decrementer_interrupt", "system_reset", "firmware_internal_event",
	"conferred_cycles", "time_slice", "virtual_memory_page_fault",
	"expropriated_adjunct", "priv_doorbell",
};

static const char *const preempt_names[] = {
	"unused", "firmware_internal_event", "H_CEDE", "H_CONFER", "time_slice",
	"migration_hibernation_page_fault", "virtual_memory_page_fault",
	"H_CONFER_ADJUNCT", "hcall_adjunct", "HDEC_adjunct",
};

/* Why it was dispatched; NULL: the code has no name. */
const char *dispatch_name(const struct recording *r, unsigned int code)
{
	switch (r->sched ? code : UINT32_MAX) {
	case KDTL_DISPATCH_PROD:
		return "woken";
	case KDTL_DISPATCH_TIME_SLICE:
		return "preempted";
	case KDTL_DISPATCH_PAGE_FAULT:
		return "page_fault";
	}
	if (code == KDTL_DISPATCH_THROTTLED)
		return "throttled";
	if (code == KDTL_DISPATCH_IDLE)
		return "idle";
	return code < ARRAY_SIZE(dispatch_names) ? dispatch_names[code] : NULL;
}

/* Why the runner before it left; NULL: the code has no name. */
const char *preempt_name(const struct recording *r, unsigned int code)
{
	switch (r->sched ? code : UINT32_MAX) {
	case KDTL_PREEMPT_CEDE:
		return "slept";
	case KDTL_PREEMPT_TIME_SLICE:
		return "preempted";
	case KDTL_PREEMPT_PAGE_FAULT:
		return "page_fault";
	}
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
	return code < ARRAY_SIZE(preempt_names) ? preempt_names[code] : NULL;
}
