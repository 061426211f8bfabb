/* SPDX-License-Identifier: GPL-2.0 */
/* Counts by cgroup, and behind whom the tasks of a cgroup waited. */
#ifndef _KDTL_SAMPLER_CGROUPS_H
#define _KDTL_SAMPLER_CGROUPS_H

#include <linux/list.h>

#include "sampler.h"

/* kdtl_cgroup_path() has at most 239 bytes, each of which may become four. */
#define CGROUP_PATH	960

/**
 * struct sampler_cgroup - a cgroup that is counted separately
 * @hash: by @id
 * @list: in cgroups
 * @id: its id, or that of the latest one with this path
 * @seen: time of its last dispatch, or of the last one that it held up, as struct
 *	sampler_wait has it
 * @behind: for how long its tasks waited while those of other cgroups had the CPU, in ns
 * @culprit: for how long its tasks had a CPU while those of other cgroups waited, in ns
 * @culprit_cpu: the same, but a moment in which several of those waited counts once
 * @order: by which it is sorted
 * @slot: its place in cgroups_by_slot, and in the sums of behind.c
 * @stats: its dispatches since counting began, on all CPUs
 * @windows: its latest dispatches
 * @path: its path, with "\xHH" for what is not printable
 */
struct sampler_cgroup {
	struct hlist_node	hash;
	struct list_head	list;
	u64			id;
	u64			seen;
	u64			behind;
	u64			culprit;
	u64			culprit_cpu;
	u64			order;
	unsigned int		slot;
	struct sampler_stats	stats;
	struct sampler_windows	windows;
	char			path[CGROUP_PATH];
};

/* cgroups.c: the cgroups that are counted separately. Under sampler.lock. */
extern struct list_head cgroups;
extern unsigned int cgroups_max;
extern struct kdtl_tasks *cgroups_tasks;
int cgroups_begin(struct mutex *lock, void (*forget)(unsigned int slot));
void cgroups_end(void);
extern struct sampler_cgroup *cgroups_by_slot[];
unsigned int cgroups_nobody(void);
struct sampler_cgroup *cgroups_find(pid_t pid, u64 ticks, u64 *id);
bool cgroups_are_others(const struct sampler_cgroup *c);
struct sampler_cgroup *cgroups_unknown(void);
struct sampler_cgroup *cgroups_hypervisor(void);
struct sampler_cgroup *cgroups_add(const struct kdtl_entry *e,
				   const struct sampler_wait *wait, u64 *id);
void cgroups_clean(u64 now);
void cgroups_reset(void);

/* behind.c */
void behind_add(const struct kdtl_span *span, const struct kdtl_entry *e,
		struct sampler_cgroup *victim, u64 id);
void behind_lost(int cpu);
void behind_forget(unsigned int slot);
void behind_exit(void);

/* stolen.c */
int stolen_begin(const struct sampler *s, char **pmu, unsigned int pages);
void stolen_end(void);
void stolen_forget(void);
void stolen_tell(struct kdtl_who *who, int cpu, u64 from);

#endif /* _KDTL_SAMPLER_CGROUPS_H */
