/* SPDX-License-Identifier: GPL-2.0 */
/* Clean up what a module has left when it goes. */
#ifndef _KDTL_API_SESSION_H
#define _KDTL_API_SESSION_H

struct module;

int kdtl_modules_init(void);
void kdtl_modules_exit(void);
void kdtl_rcu_await_end(void);
void kdtl_pmu_unregister_left(struct module *module);

#endif /* _KDTL_API_SESSION_H */
