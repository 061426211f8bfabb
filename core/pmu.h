/* SPDX-License-Identifier: GPL-2.0 */
/* The registered sources, and what kdtl does for them as a perf PMU. */
#ifndef _KDTL_PMU_H
#define _KDTL_PMU_H

#include "sink.h"

struct kdtl_pmu *kdtl_pmu_get(const char *name);
void kdtl_pmu_put(struct kdtl_pmu *p);
int kdtl_pmu_attach(struct kdtl_pmu *p);
void kdtl_pmu_detach(struct kdtl_pmu *p);

static inline struct kdtl_pmu *to_kdtl_pmu(struct pmu *pmu)
{
	return container_of(pmu, struct kdtl_pmu, pmu);
}

int kdtl_sink_update(struct kdtl_pmu *p);
int kdtl_pmu_add(struct kdtl_pmu *p);
void kdtl_pmu_del(struct kdtl_pmu *p);

/* core/perf_sink.c: events of perf's users */
int kdtl_perf_init(struct kdtl_pmu *p, struct perf_event *event);
void *kdtl_perf_setup_aux(void **pages, int nr_pages, bool overwrite);
void kdtl_perf_free_aux(void *priv);

#endif /* _KDTL_PMU_H */
