/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For the test programs that need a task on one CPU.
 */
#ifndef _KDTL_PIN_H
#define _KDTL_PIN_H

#include <sched.h>

#include "must.h"

/* From now on the task @pid, or with 0 the one that calls, runs on @cpu only. */
static inline void pin(pid_t pid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(!sched_setaffinity(pid, sizeof(set), &set));
}

#endif /* _KDTL_PIN_H */
