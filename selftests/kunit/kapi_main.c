// SPDX-License-Identifier: GPL-2.0
/* kdtl_kunit_kapi.ko: the tests of the session verbs. */
#include <linux/module.h>

#include "kapi.h"

/*
 * Emulated CPUs take turns, so 10,000 rounds take half a minute; only the deep runs wait for that.
 */
unsigned int kapi_race_ms = 3000;
module_param_named(race_ms, kapi_race_ms, uint, 0444);
MODULE_PARM_DESC(race_ms, "shortest time in ms for which a race runs, unless its rounds are done; 0: run none");

kunit_test_suites(&kdtl_session_suite, &kdtl_states_suite, &kdtl_aux_suite,
		  &kdtl_masks_suite, &kdtl_counters_suite, &kdtl_evtsets_suite,
		  &kdtl_events_suite, &kdtl_messages_suite, &kdtl_wait_suite,
		  &kdtl_open_suite, &kdtl_edges_suite, &kdtl_filter_suite, &kdtl_hist_suite,
		  &kdtl_misuse_suite, &kdtl_probes_suite, &kdtl_timebase_suite,
		  &kdtl_triggers_suite, &kdtl_who_suite, &kdtl_hammer_suite);

MODULE_DESCRIPTION("Tests of kdtl's session verbs");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
