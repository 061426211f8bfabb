#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount: what a kdtl_waiting() takes, by the numbers of tasks that sleep
# and that wait.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

# waiting TASKS WAITING: measures it.
waiting()
{
	load bench_waiting "tasks=$1" "waiting=$2"
	rmmod bench_waiting
	[ "$(said bench_waiting waited)" -ge "$2" ] || die "not all $2 that wait were told of"
	result "waiting.tasks.$1.$2" "$(said bench_waiting cycles)" instructions
}

mkdir -p "${RESULTS%/*}"
echo 4194304 >/proc/sys/kernel/pid_max
echo 200000 >/proc/sys/kernel/threads-max
load kdtl
load kdtl_sched
waiting 0 0
waiting 1000 0
waiting 1000 300
waiting 10000 0
waiting 100000 0
