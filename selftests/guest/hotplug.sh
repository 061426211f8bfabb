#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# CPUs go and come back, and the machine is suspended, while eight sessions of
# kdtl_kunit_hotplug.ko, the sampler and two users of perf log.
#
# ROUNDS  how many sessions end beside a CPU that comes up (15)
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
[ -w /sys/devices/system/cpu/cpu1/online ] || skip_all "CPUs do not come and go here"
[ -x "$here/perf_mmap" ] || skip_all "no perf_mmap: make -C selftests"
need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive kdtl_sampler
have_module kdtl_kunit_hotplug || skip_all "no module kdtl_kunit_hotplug"

rounds=${ROUNDS:-15}

# Starts a user of each source that reads all the time.
users_start()
{
	for pmu in kdtl_sched kdtl_fake; do
		"$here/perf_mmap" follow $pmu >/tmp/follow.$pmu &
		eval "user_$pmu=$!"
		until_true grep -q following /tmp/follow.$pmu || return
	done
}

# users_end WHOLE: the users had entries to the end, none of them wrong, and all entries of WHOLE or
# more CPUs.
users_end()
{
	status=0
	for pmu in kdtl_sched kdtl_fake; do
		eval "user=\${user_$pmu:?}"
		kill "${user:?}"
		wait "$user" || status=1
		sed "s/^# /# a user of $pmu: /" /tmp/follow.$pmu
		whole=$(sed -n 's/.*, \([0-9]*\) CPUs whole/\1/p' /tmp/follow.$pmu)
		[ "${whole:-0}" -ge "$1" ] || status=1
	done
	return $status
}

# suites GLOB WHOLE: the suites' cases are subtests, and users_end WHOLE must be true.
suites()
{
	users_start || return
	kunit kdtl_kunit_hotplug "$1" >/tmp/suites
	suites=$?
	sed 's/^/    /' /tmp/suites
	unload kdtl_kunit_hotplug
	users_end "$2" && [ $suites -eq 0 ]
}

# The kernel's own checkers reported nothing. Except for KCSAN, which reports races in all
# of the kernel: deep/debug.sh finds out which are kdtl's.
quiet()
{
	! log | grep -v 'BUG: KCSAN: ' | grep -E 'WARNING|BUG|is not logged|leak'
}

all_have_some()
{
	awk '/^[0-9]/ { n++; if (!$2) bad++ } END { exit !n || bad }' \
		/sys/kernel/debug/kdtl_sampler/lines
}

# sampler_goes_on: it has dispatches of every CPU, also since the CPUs came back.
sampler_goes_on()
{
	echo 1 >/sys/kernel/debug/kdtl_sampler/reset
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		taskset "$((1 << ${cpu##*cpu}))" true
	done
	until_true all_have_some && return
	cat /sys/kernel/debug/kdtl_sampler/lines
	return 1
}

# A CPU that comes up may find no memory. The log says that, and does not blame the
# source; the next time the CPU comes up, it is logged.
no_memory()
{
	cap=/sys/module/kdtl/parameters/max_session_mb
	online=/sys/devices/system/cpu/cpu1/online
	had=$(cat $cap)
	unload kdtl_sampler && echo 0 >$online && load kdtl_sampler &&
		echo 0 >$cap && bring_back 1 && echo 0 >$online &&
		echo "$had" >$cap && bring_back 1 || return
	is "$(log | grep 'CPU 1 is not logged' | sed 's/.*kdtl_sched: //')" \
		"over max_session_mb (-12)" &&
		sampler_goes_on
}

# Sessions end while a CPU comes up. Then the CPU has neither an event that nobody releases, nor an
# area that nobody frees.
ends_beside()
{
	online=/sys/devices/system/cpu/cpu1/online
	unload kdtl_sampler || return
	areas=$(areas)
	while :; do
		echo 0 >$online
		bring_back 1
	done &
	toggles=$!
	for i in $(seq "$rounds"); do
		load kdtl_sampler && unload kdtl_sampler || break
	done
	kill "$toggles"
	wait "$toggles" 2>/dev/null
	bring_back 1
	is "$i" "$rounds" && until_true areas_are "$areas" && load kdtl_sampler && sampler_goes_on
}

plan 8
before=$(areas)
ok "every CPU goes and comes back" suites 'kdtl_hotplug.*' "$(nproc)"
ok "the sampler goes on" sampler_goes_on
ok "the kernel reported nothing" quiet

# Suspend as far as that works without anybody to wake the machine. If the firmware cannot suspend
# to memory, "mem" in /sys/power/state means s2idle, which takes no CPU down.
test_level=
if grep -q mem /sys/power/state 2>/dev/null && grep -q deep /sys/power/mem_sleep; then
	for level in core processors; do
		grep -q $level /sys/power/pm_test 2>/dev/null || continue
		test_level=$level
		break
	done
fi
if [ -n "$test_level" ]; then
	echo $test_level >/sys/power/pm_test
	echo 1 >/sys/module/suspend/parameters/pm_test_delay 2>/dev/null
	ok "suspended, as far as pm_test=$test_level goes" \
		suites 'kdtl_suspend.*' 0
	echo none >/sys/power/pm_test
	ok "the kernel reported nothing then" quiet
else
	skip "suspended" "no /sys/power/pm_test, or no deep in /sys/power/mem_sleep"
	skip "the kernel reported nothing then" "not suspended"
fi
ok "no memory for a CPU that comes" no_memory
ok "sessions end beside a CPU that comes up" ends_beside
ok "nothing is left of it" until_true areas_are "$before"
finish
