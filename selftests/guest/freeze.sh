#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A freezable kernel thread that sleeps in kdtl_wait() or kdtl_read() does not keep the machine from
# suspending. /sys/power/pm_test, the kernel's own test of its freezer, is enough to see that.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

power=/sys/power
delay=/sys/module/suspend/parameters/pm_test_delay

grep -qs freezer $power/pm_test || skip_all "a kernel without CONFIG_PM_DEBUG"
grep -qs freeze $power/state || skip_all "a kernel that does not suspend"
need kdtl kdtl_fake_pmu
have_module kdtl_freezable || skip_all "no module kdtl_freezable"

# suspends: all tasks are frozen, and go on.
suspends()
{
	echo freeze >$power/state || {
		log | grep -A 3 "refusing to freeze"
		return 1
	}
}

plan 4
forget_log
[ ! -e $delay ] || echo 1 >$delay
# The freezer may take 10 s, not 20 s.
timeout=$(cat $power/pm_freeze_timeout)
echo 10000 >$power/pm_freeze_timeout
echo freezer >$power/pm_test
ok "the machine suspends" suspends
load kdtl_freezable
ok "while threads that it has to freeze are in kdtl_wait() and kdtl_read()" suspends
ok "and again" suspends
ok "they go on" unload kdtl_freezable
echo none >$power/pm_test
echo "$timeout" >$power/pm_freeze_timeout
finish
