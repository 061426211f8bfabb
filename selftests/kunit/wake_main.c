// SPDX-License-Identifier: GPL-2.0
/* kdtl_kunit_wake.ko: the driver and its suite. */
#include <linux/kdtl.h>
#include <linux/module.h>

#include "wake.h"

kunit_test_suites(&kdtl_wake_suite);

MODULE_DESCRIPTION("Tests of kdtl_wake");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
