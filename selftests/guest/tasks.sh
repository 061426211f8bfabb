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
KDTL_PARAMS="$KDTL_PARAMS task_records=$records"

need kdtl kdtl_sched kdtl_fake_pmu
kunit kdtl_kunit_tasks "${KDTL_CASES:-*}" "cgroup=$cgroup" "records=$records"
