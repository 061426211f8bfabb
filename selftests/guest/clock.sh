#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The clock of kdtl_sched, by kdtl_kunit_clock.ko in the kernel.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

have_module kdtl_kunit_clock || skip_all "only x86 has a clock of kdtl_sched's own"
kunit kdtl_kunit_clock
