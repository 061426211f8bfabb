#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests raw sessions by kdtl_kunit_raw.ko in the kernel: they log any of perf's PMUs that
# has an AUX area, if this kernel's perf gives one to kernel events.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
have_module kdtl_kunit_raw || skip_all "this kernel's perf has no perf_event_aux_alloc()"
need kdtl kdtl_sched kdtl_fake_pmu

kunit kdtl_kunit_raw "${KDTL_CASES:-*}" || exit
[ -n "$KDTL_CASES" ] ||
	log | grep 'CPU 0: another part of the kernel has an event of opaque'
