/* SPDX-License-Identifier: GPL-2.0 */
/* Areas in reserved memory, which may survive a reset. */
#ifndef _KDTL_RECORDER_RESERVED_H
#define _KDTL_RECORDER_RESERVED_H

#include <linux/kdtl_verbs.h>

struct dentry;

int reserved_open(unsigned int aux_pages);
const struct kdtl_place *reserved_place(void);
int reserved_begin(struct kdtl_session *s);
void reserved_show(struct dentry *dir, unsigned int lines, unsigned int ms);
void reserved_end(void);
void reserved_close(void);

#endif /* _KDTL_RECORDER_RESERVED_H */
