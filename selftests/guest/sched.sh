#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compares kdtl_sched with a second witness, by kdtl_kunit_sched.ko in the kernel.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

have_module kdtl_kunit_sched || skip_all "no module kdtl_kunit_sched"
need kdtl kdtl_sched
kunit kdtl_kunit_sched "${KDTL_CASES:-*}"
