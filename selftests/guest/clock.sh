#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the clock of kdtl_sched by kdtl_kunit_clock.ko in the kernel.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

kunit kdtl_kunit_clock
