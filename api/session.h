/* SPDX-License-Identifier: GPL-2.0 */
/* What begins and ends with kdtl.ko, and what cleans up when another module goes. */
#ifndef _KDTL_API_SESSION_H
#define _KDTL_API_SESSION_H

struct module;

extern struct notifier_block kdtl_module_nb;

void kdtl_debugfs_init(void);
void kdtl_debugfs_exit(void);
void kdtl_rcu_await_end(void);
void kdtl_pmu_unregister_left(struct module *module);

#endif /* _KDTL_API_SESSION_H */
