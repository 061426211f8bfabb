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

# A table that a test can fill, at least four times as large as what is there, and large enough
# for a search through all of it to take time.
records=4096
while [ "$records" -lt $((4 * $(ls -d /proc/[0-9]*/task/* | wc -l))) ]; do
	records=$((2 * records))
done

need kdtl kdtl_sched kdtl_fake_pmu
load kdtl_answers task_records="$records" || bail_out "kdtl_answers does not load"
kunit kdtl_kunit_tasks "${KDTL_CASES:-*}" "cgroup=$cgroup" "records=$records" || exit
[ -z "$KDTL_CASES" ] || exit 0
unload kdtl_kunit_tasks

# dropped: changes for which there was no room.
dropped()
{
	awk 'NR == 2 { print $4 }' /sys/kernel/debug/kdtl_answers/tasks
}

# Each leaves a record of a pid with which nobody exits. None of them holds.
load kdtl_sampler || exit
"$(dirname "$0")/exec_fail" "$records" || exit
if [ "$(dropped)" -ne 0 ]; then
	echo "Bail out! Threads whose exec() fails take all records:"
	cat /sys/kernel/debug/kdtl_answers/tasks
	exit 1
fi
