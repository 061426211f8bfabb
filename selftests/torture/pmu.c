// SPDX-License-Identifier: GPL-2.0
/* kdtl_torture_pmu.ko: a source that is loaded and unloaded while sessions come and go. */
#include <linux/module.h>

#include "torture.h"

static struct torture_source torture_guest;
static const char * const torture_guest_name = "kdtl_torture_pmu";

static int __init torture_pmu_init(void)
{
	return torture_sources_start(&torture_guest, 1, &torture_guest_name,
				     THIS_MODULE, 1, 500);
}

static void __exit torture_pmu_exit(void)
{
	torture_sources_stop();
}

module_init(torture_pmu_init);
module_exit(torture_pmu_exit);

MODULE_DESCRIPTION("Source of dispatch trace log entries that comes and goes, for kdtl_torture");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
