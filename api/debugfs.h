/* SPDX-License-Identifier: GPL-2.0 */
/* The list of sessions, in debugfs. */
#ifndef _KDTL_DEBUGFS_H
#define _KDTL_DEBUGFS_H

#include <linux/types.h>

struct kdtl_session;
struct module;

void kdtl_session_list(struct kdtl_session *s);
void kdtl_session_unlist(struct kdtl_session *s);
bool kdtl_session_shares(const struct kdtl_session *s);
struct kdtl_session *kdtl_session_hold_of(const struct module *module);

void kdtl_debugfs_init(void);
void kdtl_debugfs_exit(void);

#endif /* _KDTL_DEBUGFS_H */
