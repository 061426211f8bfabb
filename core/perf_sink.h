/* SPDX-License-Identifier: GPL-2.0 */
/* Sinks of events that perf's users open. */
#ifndef _KDTL_PERF_SINK_H
#define _KDTL_PERF_SINK_H

#include <linux/kdtl_pmu.h>

int kdtl_perf_init(struct perf_event *event);
void kdtl_perf_read(struct perf_event *event);
void *kdtl_perf_setup_aux(void **pages, int nr_pages, bool overwrite);
void kdtl_perf_free_aux(void *priv);

#endif /* _KDTL_PERF_SINK_H */
