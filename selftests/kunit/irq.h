/* SPDX-License-Identifier: GPL-2.0 */
/* driver.h takes module_init() away from test_irq.c, so irq_main.c runs the suite. */
#ifndef _KDTL_KUNIT_IRQ_H
#define _KDTL_KUNIT_IRQ_H

#include "kunit-shim.h"

extern struct kunit_suite kdtl_irq_suite;

#endif /* _KDTL_KUNIT_IRQ_H */
