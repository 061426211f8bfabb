/* SPDX-License-Identifier: GPL-2.0 */
/* The perf callbacks that kdtl provides for a source's events. */
#ifndef _KDTL_EVENT_H
#define _KDTL_EVENT_H

#include <linux/perf_event.h>

bool kdtl_event_sets_up(const struct pmu *pmu);
void kdtl_event_callbacks(struct pmu *pmu);

#endif /* _KDTL_EVENT_H */
