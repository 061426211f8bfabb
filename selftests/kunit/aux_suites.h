/* SPDX-License-Identifier: GPL-2.0 */
/* kdtl_kunit_aux.ko: the suites that aux_main.c runs. */
#ifndef _KDTL_AUX_SUITES_H
#define _KDTL_AUX_SUITES_H

#include "kapi.h"

extern struct kunit_suite kdtl_alloc_suite;
extern struct kunit_suite kdtl_gaps_suite;
extern struct kunit_suite kdtl_last_suite;
extern struct kunit_suite kdtl_many_suite;
extern struct kunit_suite kdtl_merge_suite;
extern struct kunit_suite kdtl_merge_cost_suite;
extern struct kunit_suite kdtl_output_suite;
extern struct kunit_suite kdtl_place_suite;
extern struct kunit_suite kdtl_snapshot_suite;

#endif /* _KDTL_AUX_SUITES_H */
