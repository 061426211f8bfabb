/* SPDX-License-Identifier: GPL-2.0 */
/* Why the tasks of a cgroup waited. */
#ifndef _KDTL_SAMPLER_CAUSES_H
#define _KDTL_SAMPLER_CAUSES_H

#include <linux/kdtl_verbs.h>

#include "cgroups.h"

/* 1 % in sampler_cgroup::average, which is fixed point with 11 fractional bits, as in PSI. */
#define CAUSES_ONE	2048

/* show_pressure.c */
extern const char * const causes_names[CAUSES_ROWS];

/* causes.c: under sampler.lock. */
int causes_begin(void);
void causes_end(void);
void causes_new(const struct sampler_cgroup *c);
void causes_forget(unsigned int slot);
void causes_settle(void);
void causes_lost(int cpu, u64 nr);
void causes_moved(int cpu, const struct kdtl_aux_info *info);
void causes_add(const struct kdtl_span *span, const struct kdtl_entry *e,
		struct sampler_cgroup *c);
void causes_waits(const struct kdtl_waiting *w, u64 lost);
const struct pressure_group *causes_of(const struct sampler_cgroup *c);
u64 causes_ns(struct sampler_cgroup *c, unsigned int row);
void causes_average(void);

/* told.c: under sampler.lock. */
void told_note(const struct kdtl_waiting *w);
u64 told_take(pid_t pid, int cpu);
void told_reset(void);

/* waits.c: under sampler.lock, except waits_want(). */
int waits_begin(struct mutex *lock);
void waits_end(void);
void waits_reset(void);
void waits_want(void);
void waits_count(int cpu, u64 time);
void waits_round(struct kdtl_session *s);

/* stolen.c */
int stolen_begin(const struct sampler *s, char **pmu, unsigned int pages);
void stolen_end(void);
void stolen_forget(void);
bool stolen_next(int cpu, u64 from, u64 to, u64 *begin, u64 *end);

#endif /* _KDTL_SAMPLER_CAUSES_H */
