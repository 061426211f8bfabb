/* SPDX-License-Identifier: GPL-2.0 */
/* The paths of cgroups by id, also of those that have gone. */
#ifndef _KDTL_CGROUPS_H
#define _KDTL_CGROUPS_H

#include <linux/kdtl_answers.h>
#include <linux/types.h>

struct task_struct;

#ifdef CONFIG_CGROUPS
int kdtl_cgroups_begin(void);
void kdtl_cgroups_end(void);
u64 kdtl_cgroup_of(const struct task_struct *t);
ssize_t kdtl_cgroups_path(u64 id, char *path, size_t size);
#else
static inline int kdtl_cgroups_begin(void) { return 0; }
static inline void kdtl_cgroups_end(void) { }
static inline u64 kdtl_cgroup_of(const struct task_struct *t) { return 0; }
static inline ssize_t kdtl_cgroups_path(u64 id, char *path, size_t size)
{
	return -ENOENT;
}
#endif

#endif /* _KDTL_CGROUPS_H */
