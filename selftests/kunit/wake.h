/* SPDX-License-Identifier: GPL-2.0 */
/* driver.h takes module_init() away from test_wake.c, so wake_main.c runs the suite. */
#ifndef _KDTL_KUNIT_WAKE_H
#define _KDTL_KUNIT_WAKE_H

#include "kunit-shim.h"

extern struct kunit_suite kdtl_wake_suite;

#endif /* _KDTL_KUNIT_WAKE_H */
