// SPDX-License-Identifier: GPL-2.0
/* kdtl_kunit_steal.ko: the driver, with a hypervisor that the suite plays. */
#include <linux/kdtl.h>
#include <linux/module.h>

#include "steal.h"

kunit_test_suites(&kdtl_steal_suite);

MODULE_DESCRIPTION("Tests of kdtl_steal");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
