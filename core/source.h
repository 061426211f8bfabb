/* SPDX-License-Identifier: GPL-2.0 */
/* The registered sources and their users. */
#ifndef _KDTL_SOURCE_H
#define _KDTL_SOURCE_H

#include <linux/kdtl_pmu.h>
#include <linux/sched/clock.h>

/* The time base, with interrupts off. */
static inline u64 kdtl_source_clock(struct kdtl_pmu *p)
{
	return p->clock ? p->clock(p) : local_clock();
}

bool kdtl_source_name_valid(const char *name);
bool kdtl_source_is_coming(const struct kdtl_pmu *p);
struct kdtl_pmu *kdtl_source_find(const char *name, const struct module *owner);
struct kdtl_pmu *kdtl_source_get(const char *name, const struct module *owner);
struct kdtl_pmu *kdtl_source_of(const struct module *module);
void kdtl_source_put(struct kdtl_pmu *p);
int kdtl_source_attach(struct kdtl_pmu *p);
void kdtl_source_detach(struct kdtl_pmu *p);

int kdtl_source_add(struct kdtl_pmu *p);
int kdtl_source_del(struct kdtl_pmu *p);

#endif /* _KDTL_SOURCE_H */
