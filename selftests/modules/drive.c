// SPDX-License-Identifier: GPL-2.0
/* kdtl_test_drive.ko: entries at any rate, and a third party's driver. */
#include <linux/module.h>

#include "kdtl_test_load.h"

static void __exit drive_exit(void)
{
	kdtl_test_load_stop();
}

static int __init drive_init(void)
{
	return 0;
}

module_init(drive_init);
module_exit(drive_exit);

MODULE_DESCRIPTION("Drives kdtl's test source, and writes as a third party's driver");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
