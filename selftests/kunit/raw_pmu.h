/* SPDX-License-Identifier: GPL-2.0 */
/* A PMU with AUX areas that does not know kdtl. */
#ifndef _KDTL_KUNIT_RAW_PMU_H
#define _KDTL_KUNIT_RAW_PMU_H

#include <linux/types.h>

#define RAW_PMU		"opaque"
/* perf_event_attr::config */
#define RAW_PMU_REFUSES	1	/* add() fails */

int raw_pmu_register(int caps);
void raw_pmu_unregister(void);
void raw_pmu_on_stop(void (*hook)(void *data), void *data);
int raw_pmu_type(void);
unsigned int raw_pmu_areas(void);
unsigned long raw_pmu_write(int cpu, unsigned long bytes);
bool raw_pmu_is_whole(int cpu);
u8 raw_pmu_next(int cpu);
bool raw_pmu_is_on(int cpu);

#endif /* _KDTL_KUNIT_RAW_PMU_H */
