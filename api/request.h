/* SPDX-License-Identifier: GPL-2.0 */
/* Checks that several verbs make. */
#ifndef _KDTL_REQUEST_H
#define _KDTL_REQUEST_H

#include <linux/err.h>

#include "../core/session.h"

int kdtl_entries_check(const struct kdtl_session *s, const char *verb);
int kdtl_cpu_refuse(const struct kdtl_session *s, int cpu, const char *verb,
		    unsigned long caller);
int kdtl_session_mask_check(struct kdtl_session *s, u32 mask, u64 min_wait);

/* Is there such a session, and does it have this CPU?  Inline: readers ask often. */
static __always_inline bool kdtl_session_has_cpu(const struct kdtl_session *s, int cpu)
{
	return !IS_ERR_OR_NULL(s) && (unsigned int)cpu < nr_cpu_ids &&
	       cpumask_test_cpu(cpu, s->cpus);
}

#endif /* _KDTL_REQUEST_H */
