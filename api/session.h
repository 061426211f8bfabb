/* SPDX-License-Identifier: GPL-2.0 */
/* A session's attributes, what begins and ends with kdtl.ko, and what cleans up after a module. */
#ifndef _KDTL_API_SESSION_H
#define _KDTL_API_SESSION_H

struct kdtl_session_attr;
struct module;

/* attr.c */
unsigned int kdtl_attr_aux_pages(const struct kdtl_session_attr *attr);
int kdtl_attr_check(const char *owner, const struct kdtl_session_attr *attr);

extern struct notifier_block kdtl_module_nb;

void kdtl_debugfs_init(void);
void kdtl_debugfs_exit(void);
void kdtl_rcu_await_end(void);
void kdtl_pmu_unregister_left(struct module *module);

#endif /* _KDTL_API_SESSION_H */
