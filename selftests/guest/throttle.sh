#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A task that a quota holds back does not wait for a CPU (throttle_test.c).
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

title()
{
	case $1 in
	alone) echo "cpu.max: as long as cpu.stat says, and no wait" ;;
	queued) echo "a task that was queued when the quota ran out" ;;
	woken) echo "a task that wakes up in a throttled group" ;;
	sleepers) echo "the quota runs out when a task goes to sleep" ;;
	elsewhere) echo "the quota is used up on another CPU" ;;
	nested) echo "the quota of the group above" ;;
	contention) echo "without quota nobody is throttled" ;;
	beside) echo "who shares the CPU with a throttled group is not" ;;
	real_time) echo "real-time tasks that are throttled, and who waits for them" ;;
	*) echo "$1" ;;
	esac
}

tests=$("$dir/throttle_test") || skip_all "no throttle_test"
have_module kdtl_stream || skip_all "no module kdtl_stream"
[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
grep -q '^cpu\>' /proc/cgroups || skip_all "no cgroups with the controller cpu"
need kdtl kdtl_sched kdtl_stream
# shellcheck disable=SC2086 # several words
set -- $tests
plan $#
for t; do
	ok "$(title "$t")" "$dir/throttle_test" "$t"
done
finish
