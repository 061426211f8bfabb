#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests AUX areas from both sides by kdtl_kunit_aux.ko in the kernel: drivers that write
# to them, allocation, snapshots, many sessions, time order.
#
# KDTL_CASES  run only the cases that match, for instance 'kdtl_many.*'

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive
have_module kdtl_kunit_aux || skip_all "no module kdtl_kunit_aux"

kunit kdtl_kunit_aux "${KDTL_CASES:-*}"
