/* SPDX-License-Identifier: GPL-2.0 */
/* The driver is in one file with its suite, and has its own module_init() there. */
#ifndef _KDTL_KUNIT_IRQ_H
#define _KDTL_KUNIT_IRQ_H

#include "kunit-shim.h"

extern struct kunit_suite kdtl_irq_suite;

#endif /* _KDTL_KUNIT_IRQ_H */
