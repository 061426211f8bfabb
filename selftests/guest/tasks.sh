#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests by kdtl_kunit_tasks.ko in the kernel what is known of tasks, at which time.
#
# KDTL_CASES  run only the cases that match, for instance 'kdtl_tasks.tasks_shell'

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

have_module kdtl_kunit_tasks || skip_all "no module kdtl_kunit_tasks"

# This hierarchy has the cpu controller.
cgroup=$(mktemp -d)
mount -t cgroup2 cgroup "$cgroup" || skip_all "no cgroups"

# A test fills these tables, and each has room for at least four times the tasks that are there. The
# larger one is so large that a search through all of it takes time.
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

# number N: the table's number N; 3: records that were forgotten, 4: changes that found no room.
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

# Each of these threads leaves a record of a pid with which no task exits. No record may stay held.
unload kdtl_answers && load kdtl_answers task_records="$few" && load kdtl_sampler || exit
"$(dirname "$0")/exec_fail" "$few" || exit
if [ "$(number 4)" -ne 0 ]; then
	echo "Bail out! Threads whose exec() fails take all records:"
	cat /sys/kernel/debug/kdtl_answers/tasks
	exit 1
fi

# is_counted CGROUP: the sampler counts at least 20 dispatches in the cgroup.
is_counted()
{
	awk -v name="kdtl_cgroup_wait_seconds_count{cgroup=\"/$1\"}" '$1 == name { n = $2 }
		END { exit n < 20 }' /sys/kernel/debug/kdtl_sampler/metrics
}

# All threads of a process are moved at once, also one that is not its leader.
"$(dirname "$0")/exec_fail" &
ktap_pids="$ktap_pids $!"
mkdir -p "$cgroup/kdtl_both" && echo $! >"$cgroup/kdtl_both/cgroup.procs" || exit
if ! until_true is_counted kdtl_both; then
	echo "Bail out! A thread of a process that was moved has not been:"
	grep 'wait_seconds_count' /sys/kernel/debug/kdtl_sampler/metrics
	exit 1
fi

# A thread that is freed late takes nothing from the process that has its pid by then. That one
# does not change, so its only record must stay when all others are needed.
mkdir -p "$cgroup/kdtl_again"
"$(dirname "$0")/pid_again" "$cgroup/kdtl_again" $((2 * few)) &
ktap_pids="$ktap_pids $!"
if ! until_true is_counted kdtl_again; then
	echo "Bail out! A process with the pid of a thread that has exited is not known:"
	grep 'wait_seconds_count' /sys/kernel/debug/kdtl_sampler/metrics
	exit 1
fi

# available: the memory that can be had, in MiB.
available()
{
	awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo
}

# A table for which there is too little memory is refused before it takes all of it, or the kernel
# would kill other tasks. The largest one needs more than 400 MiB. A large machine's memory is not
# filled for this.
[ "$(available)" -lt 4000 ] || exit 0
unload kdtl_sampler && unload kdtl_answers && load kdtl_answers task_records=4194304 || exit
if [ "$(available)" -gt 250 ]; then
	# dd writes when it has read all.
	rm -f /tmp/kdtl_filled
	dd if=/dev/zero bs="$(($(available) - 200))M" count=1 2>/dev/null |
		{ head -c 1 >/tmp/kdtl_filled; exec sleep 1000; } &
	ktap_pids="$ktap_pids $!"
	until_true [ -s /tmp/kdtl_filled ]
fi
before=$(memory_taken)
forget_log
if load kdtl_sampler || ! log | grep -q 'no memory for 4194304 records' ||
	[ $(($(memory_taken) - before)) -gt 100 ]; then
	echo "Bail out! A table of 4194304 records took $(($(memory_taken) - before)) MiB, of $(available) left"
	exit 1
fi
