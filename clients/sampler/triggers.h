/* SPDX-License-Identifier: GPL-2.0 */
/* Triggers on the waits of cgroups. */
#ifndef _KDTL_SAMPLER_TRIGGERS_H
#define _KDTL_SAMPLER_TRIGGERS_H

struct file_operations;

extern const struct file_operations triggers_fops;
int triggers_begin(void (*look)(void));
void triggers_end(void);
unsigned int triggers_look(void);

#endif /* _KDTL_SAMPLER_TRIGGERS_H */
