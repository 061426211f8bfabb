#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the session verbs by kdtl_kunit_kapi.ko in the kernel: each in every state, what it
# refuses, counters, event sets, messages, waiting. The module's KTAP becomes this script's.
#
# KDTL_RACE_MS  how long each race runs at least, unless its rounds are done (3000; 500 in the
#               quick run); 0 skips the races
# KDTL_CASES    run only the cases that match, for instance 'kdtl_wait.*'

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

need kdtl kdtl_fake_pmu
have_module kdtl_kunit_kapi || skip_all "no module kdtl_kunit_kapi"

[ "${KDTL_QUICK:-0}" = 0 ] || : "${KDTL_RACE_MS:=500}"
# shellcheck disable=SC2086 # a word, or none
kunit kdtl_kunit_kapi "${KDTL_CASES:-*}" ${KDTL_RACE_MS:+race_ms=$KDTL_RACE_MS}
