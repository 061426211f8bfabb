/* SPDX-License-Identifier: GPL-2.0 */
/* driver.h takes module_init() away from test_steal.c, so steal_main.c runs the suite. */
#ifndef _KDTL_KUNIT_STEAL_H
#define _KDTL_KUNIT_STEAL_H

#include "kunit-shim.h"

extern struct kunit_suite kdtl_steal_suite;

#endif /* _KDTL_KUNIT_STEAL_H */
