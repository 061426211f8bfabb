/* SPDX-License-Identifier: GPL-2.0 */
/* Raw sessions: the AUX data of any PMU, through perf. */
#ifndef _KDTL_RAW_H
#define _KDTL_RAW_H

#include "session.h"

#ifdef KDTL_PERF_AUX
int kdtl_raw_get(struct kdtl_session *s, const struct kdtl_session_attr *attr);
#else
/* Raw sessions need perf_event_aux_alloc(), for which Kbuild looks. */
static inline int kdtl_raw_get(struct kdtl_session *s, const struct kdtl_session_attr *attr)
{
	pr_warn_ratelimited("%s: %*pE: kdtl was built without raw sessions, which need perf_event_aux_alloc()\n",
			    s->owner, (int)strlen(attr->pmu), attr->pmu);
	return -EOPNOTSUPP;
}
#endif

#endif /* _KDTL_RAW_H */
