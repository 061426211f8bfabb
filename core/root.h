/* SPDX-License-Identifier: GPL-2.0 */
/* The list of sessions, kdtl_root.sessions. */
#ifndef _KDTL_ROOT_H
#define _KDTL_ROOT_H

#include <linux/mutex.h>
#include <linux/types.h>

struct kdtl_session;
struct module;

extern struct mutex kdtl_list_lock;

void kdtl_session_list(struct kdtl_session *s);
bool kdtl_session_unlist(struct kdtl_session *s);
bool kdtl_session_hold_listed(const struct kdtl_session *s);
struct kdtl_session *kdtl_session_hold_of(const struct module *module);

#endif /* _KDTL_ROOT_H */
