// SPDX-License-Identifier: GPL-2.0
/* kdtl_kunit_irq.ko: the driver and its suite. */
#include <linux/kdtl.h>
#include <linux/module.h>

#include "irq.h"

kunit_test_suites(&kdtl_irq_suite);

MODULE_DESCRIPTION("Tests of kdtl_irq");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
