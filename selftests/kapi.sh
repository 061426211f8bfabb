#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The session verbs, by kdtl_test.ko in the kernel: each in every state, what it
# refuses, counters, event sets, messages, waiting. Its KTAP becomes ours.
#
# KDTL_CASES  run only what matches, for instance 'kdtl_wait.*'

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

need kdtl kdtl_test_pmu
have_module kdtl_test || skip_all "no module kdtl_test"

# Debug kernels may have KUnit itself, which has the parameter.
glob=${KDTL_CASES:-*}
if [ -d /sys/module/kunit ] || modprobe kunit 2>/dev/null; then
	echo "$glob" >/sys/module/kunit/parameters/filter_glob 2>/dev/null
	set --
else
	set -- "filter_glob=$glob"
fi

dmesg -c >/dev/null
load kdtl_test "$@" || bail_out "kdtl_test does not load"
log=$(mktemp)
dmesg | sed -n -e 's/^\[ *[0-9.]*\] //' -e 's/^kdtl_test: //' \
	-e '/^ *KTAP version/p' -e '/^ *1\.\.[0-9]/p' -e '/^ *# /p' \
	-e '/^ *\(not \)\{0,1\}ok [0-9]/p' >"$log"
cat "$log"

# The log's beginning may have been overwritten: then the plan is missing.
grep -q '^1\.\.' "$log" && ! grep -q '^ *not ok ' "$log"
status=$?
rm -f "$log"
exit $status
