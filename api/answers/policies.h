/* SPDX-License-Identifier: GPL-2.0 */
/* Tells of each task that gets a new policy or nice value. */
#ifndef _KDTL_POLICIES_H
#define _KDTL_POLICIES_H

#include <linux/types.h>

struct task_struct;

void kdtl_policies_begin(void (*changed)(struct task_struct *t));
void kdtl_policies_end(void);
u64 kdtl_policies_missed(void);

#endif /* _KDTL_POLICIES_H */
