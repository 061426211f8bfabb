#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Raw sessions, by kdtl_kunit_raw.ko in the kernel: any of perf's PMUs with an AUX area,
# where perf gives one to kernel events.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
have_module kdtl_kunit_raw || skip_all "this kernel's perf has no perf_event_aux_alloc()"
need kdtl kdtl_sched kdtl_fake_pmu

kunit kdtl_kunit_raw "${KDTL_CASES:-*}" || exit
[ -n "$KDTL_CASES" ] ||
	log | grep 'CPU 0: another part of the kernel has an event of opaque'
