#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# What tasks were, at which time, by kdtl_kunit_tasks.ko in the kernel.
#
# KDTL_CASES  run only what matches, for instance 'kdtl_tasks.tasks_shell'

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

have_module kdtl_kunit_tasks || skip_all "no module kdtl_kunit_tasks"

# The hierarchy that has the cpu controller.
cgroup=$(mktemp -d)
mount -t cgroup2 cgroup "$cgroup" || skip_all "no cgroups"

# Tables that a test can fill, at least four times as large as what is there, and one of them large
# enough for a search through all of it to take time.
few=512
while [ "$few" -lt $((4 * $(ls -d /proc/[0-9]*/task/* | wc -l))) ]; do
	few=$((2 * few))
done
records=$((8 * few))

need kdtl kdtl_sched kdtl_fake_pmu
load kdtl_answers task_records="$records" || bail_out "kdtl_answers does not load"
kunit kdtl_kunit_tasks "${KDTL_CASES:-*}" "cgroup=$cgroup" "records=$records" || exit
[ -z "$KDTL_CASES" ] || exit 0
unload kdtl_kunit_tasks

# number N: of the table, 3: records that were forgotten, 4: changes for which there was no room.
number()
{
	awk -v n="$1" 'NR == 2 { print $n }' /sys/kernel/debug/kdtl_answers/tasks
}

# The suite has made more records than there is room for.
if [ "$(number 3)" -eq 0 ]; then
	echo "Bail out! No record was forgotten:"
	cat /sys/kernel/debug/kdtl_answers/tasks
	exit 1
fi

# Each leaves a record of a pid with which nobody exits. None of them holds.
unload kdtl_answers && load kdtl_answers task_records="$few" && load kdtl_sampler || exit
"$(dirname "$0")/exec_fail" "$few" || exit
if [ "$(number 4)" -ne 0 ]; then
	echo "Bail out! Threads whose exec() fails take all records:"
	cat /sys/kernel/debug/kdtl_answers/tasks
	exit 1
fi

# thread_moved: the sampler counts the thread's dispatches in the cgroup.
thread_moved()
{
	awk '$1 == "kdtl_cgroup_wait_seconds_count{cgroup=\"/kdtl_both\"}" { n = $2 }
		END { exit n < 20 }' /sys/kernel/debug/kdtl_sampler/metrics
}

# All threads of a process are moved at once, also one that is not its leader.
"$(dirname "$0")/exec_fail" &
ktap_pids="$ktap_pids $!"
mkdir -p "$cgroup/kdtl_both" && echo $! >"$cgroup/kdtl_both/cgroup.procs" || exit
if ! until_true thread_moved; then
	echo "Bail out! A thread of a process that was moved has not been:"
	grep 'wait_seconds_count' /sys/kernel/debug/kdtl_sampler/metrics
	exit 1
fi
