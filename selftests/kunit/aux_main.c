// SPDX-License-Identifier: GPL-2.0
/* kdtl_kunit_aux.ko: the tests of AUX areas, from both sides. */
#include <linux/module.h>

#include "aux_suites.h"

kunit_test_suites(&kdtl_output_suite, &kdtl_alloc_suite, &kdtl_snapshot_suite,
		  &kdtl_gaps_suite, &kdtl_many_suite, &kdtl_merge_suite,
		  &kdtl_merge_cost_suite, &kdtl_place_suite, &kdtl_last_suite);

MODULE_DESCRIPTION("Tests of kdtl's AUX areas");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
