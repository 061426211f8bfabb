#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kdtl_sched against a second witness, by kdtl_sched_test.ko in the kernel.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

have_module kdtl_sched_test || skip_all "no module kdtl_sched_test"
need kdtl kdtl_sched
kunit kdtl_sched_test "${KDTL_CASES:-*}"
