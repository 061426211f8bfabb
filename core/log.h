/* SPDX-License-Identifier: GPL-2.0 */
/* What a session logs, at each moment. */
#ifndef _KDTL_LOG_H
#define _KDTL_LOG_H

#include <linux/types.h>

struct kdtl_aux;

/**
 * struct kdtl_log - what is logged: by a session or, with counters, by each of its event sets
 * @mask: KDTL_MASK_*
 * @period: see &struct kdtl_session_attr.period
 * @min_wait: see &struct kdtl_session_attr.min_wait
 *
 * Changed under kdtl_session::lock, and only while the session is not started.
 */
struct kdtl_log {
	u32	mask;
	u64	period;
	u64	min_wait;
};

void kdtl_log_config(struct kdtl_log *log, u32 mask, u64 period, u64 min_wait);
void kdtl_log_apply(struct kdtl_aux *aux, const struct kdtl_log *log);

#endif /* _KDTL_LOG_H */
