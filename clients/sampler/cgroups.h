/* SPDX-License-Identifier: GPL-2.0 */
/* Counts by cgroup. */
#ifndef _KDTL_SAMPLER_CGROUPS_H
#define _KDTL_SAMPLER_CGROUPS_H

#include <linux/list.h>

#include "../../api/answers/engine/pressure.h"
#include "sampler.h"

/* kdtl_cgroup_path() has at most 239 bytes, each of which may become four. */
#define CGROUP_PATH	960

/* Times of a cgroup: one for each enum pressure_cause, and two sums of these. */
enum {
	CAUSES_SOME = PRESSURE_CAUSES,
	CAUSES_FULL,
	CAUSES_ROWS
};

#define CAUSES_AVERAGES	3

/**
 * struct sampler_cgroup - a cgroup that is counted separately
 * @hash: by @id
 * @list: in cgroups
 * @id: its id, or that of the latest one with this path
 * @seen: when a task of it, or of one below it, last waited or had a CPU, like sampler_wait::time
 * @order: for the view that is printed: a sort key, or the longest wait
 * @slot: its place in cgroups_by_slot, and its number in the engine of pressure
 * @parent: the nearest cgroup around it that is counted; NULL: none
 * @counts: its own dispatches since counting began, on all CPUs
 * @hist: histogram of their waits, %KDTL_HIST_STEPS buckets per power of two; NULL: all are 0
 * @windows: its latest dispatches; NULL: there was none lately
 * @shown: ns that tasks in it and below it waited, by cause, as causes_ns() last returned
 * @averaged: these times when the averages were last computed
 * @average: average of each time over 10, 60 and 300 s: per cent of a CPU, times 2048
 * @path: its path, with "\xHH" for what is not printable
 */
struct sampler_cgroup {
	struct hlist_node	hash;
	struct list_head	list;
	u64			id;
	u64			seen;
	u64			order;
	unsigned int		slot;
	struct sampler_cgroup	*parent;
	struct sampler_counts	counts;
	u64			*hist[KDTL_HIST_OCTAVES];
	struct sampler_windows	*windows;
	u64			shown[CAUSES_ROWS];
	u64			averaged[CAUSES_ROWS];
	u64			average[CAUSES_ROWS][CAUSES_AVERAGES];
	char			path[];
};

/**
 * struct cgroups_ops - functions that are called under sampler.lock
 * @begin: called before the others
 * @new: a cgroup begins to be counted
 * @forget: a cgroup is not counted any more; another one may get its slot
 */
struct cgroups_ops {
	int	(*begin)(void);
	void	(*new)(const struct sampler_cgroup *c);
	void	(*forget)(unsigned int slot);
};

/* cgroups.c: the cgroups that are counted separately. Under sampler.lock. */
extern struct list_head cgroups;
extern unsigned int cgroups_max;
extern struct kdtl_tasks *cgroups_tasks;
int cgroups_begin(struct mutex *lock, const struct cgroups_ops *ops);
void cgroups_end(void);
extern struct sampler_cgroup *cgroups_by_slot[];
unsigned int cgroups_slots(void);
struct sampler_cgroup *cgroups_of_path(const char *path);
struct sampler_cgroup *cgroups_find(pid_t pid, u64 ticks, u64 *id);
bool cgroups_is_unknown(const struct sampler_cgroup *c);
struct sampler_cgroup *cgroups_add(const struct kdtl_entry *e,
				   const struct sampler_wait *wait);
void cgroups_stats(const struct sampler_cgroup *c, struct sampler_stats *st);
void cgroups_clean(u64 now);
void cgroups_reset(void);

#endif /* _KDTL_SAMPLER_CGROUPS_H */
