// SPDX-License-Identifier: GPL-2.0
/* The module kdtl.ko. */
#include <linux/kdtl_verbs.h>
#include <linux/module.h>

#include "../core/session.h"
#include "session.h"

static int __init kdtl_init(void)
{
	int err = kdtl_cpus_init();

	if (err)
		return err;
	err = register_module_notifier(&kdtl_module_nb);
	if (err) {
		kdtl_cpus_exit();
		return err;
	}
	kdtl_debugfs_init();
	return 0;
}

static void __exit kdtl_exit(void)
{
	kdtl_debugfs_exit();
	kdtl_rcu_await(KBUILD_MODNAME);
	kdtl_rcu_await_end();
	unregister_module_notifier(&kdtl_module_nb);
	kdtl_cpus_exit();
}

/* If built in: before the sources and clients, which are device_initcalls. */
subsys_initcall(kdtl_init);
module_exit(kdtl_exit);

MODULE_DESCRIPTION("Kernel-internal API for dispatch trace logs");
MODULE_LICENSE("GPL");
