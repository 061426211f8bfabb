// SPDX-License-Identifier: GPL-2.0
/* Names of reason codes: PAPR's for a hypervisor's log, as in the perf tool; otherwise tasks'. */
#include "kdtl.h"
#include "names.h"

/* Why it was dispatched; NULL: the code has no name. */
const char *dispatch_name(const struct recording *r, unsigned int code)
{
	return r->sched ? kdtl_task_dispatch_name(code) : kdtl_dispatch_name(code);
}

/* Why the runner before it left; NULL: the code has no name. */
const char *preempt_name(const struct recording *r, unsigned int code)
{
	return r->sched ? kdtl_task_left_name(code) : kdtl_preempt_name(code);
}
