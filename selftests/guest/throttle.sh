#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A task that a quota holds back does not wait for a CPU (throttle_test.c).
#
# KDTL_CASES  run only these, for instance 'queued woken'
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

title()
{
	case $1 in
	only) echo "a log of nothing but tasks that were throttled" ;;
	alone) echo "cpu.max: as long as cpu.stat says, and no wait" ;;
	queued) echo "a task that was queued when the quota ran out" ;;
	busy) echo "and on a CPU that others keep busy" ;;
	woken) echo "a task that wakes up in a throttled group" ;;
	sleepers) echo "the quota runs out when a task goes to sleep" ;;
	elsewhere) echo "the quota is used up on another CPU" ;;
	nested) echo "the quota of the group above" ;;
	contention) echo "without quota nobody is throttled" ;;
	beside) echo "a task beside a throttled group is not throttled" ;;
	real_time) echo "real-time tasks that are throttled, and who waits for them" ;;
	stopper) echo "the stopper is never held back, real-time tasks it passes are" ;;
	asleep) echo "the limit on real-time tasks takes effect when one goes to sleep" ;;
	successor) echo "a real-time task that is the first one after the limit was held back until then" ;;
	starved) echo "what a task waits after it was throttled is a wait" ;;
	deadline) echo "a deadline task that wakes up before its next period is held back" ;;
	yield) echo "a deadline task that yields sleeps until its next period" ;;
	again) echo "and again, after kdtl_sched had ceased to look for throttled tasks" ;;
	new) echo "a new task that is moved before its first run has waited" ;;
	apart) echo "tasks that may not share a core wait for each other while a CPU is idle" ;;
	room) echo "a real-time task that has to make room for another one of its core waits" ;;
	*) echo "$1" ;;
	esac
}

# The sampler, which ran meanwhile, does not blame CPU 1 for the quota: tasks there were throttled
# for at least as long as the test says, and that time is in no wait, so the sum of the waits is
# less. How much less depends on what else runs, and on the host.
# If the host stops the machine for so long that an entry cannot say it (the last column), the
# sampler has less.
sampled()
{
	cat /sys/kernel/debug/kdtl_sampler/lines
	cat /sys/kernel/debug/kdtl_sampler/table
	awk -v ms="$(sed -n 's/^# the group was throttled for \([0-9]*\) ms$/\1/p' "$said")" \
		'$1 == 1 { exit !(ms && $14 && ($NF || $15 > ms * 900000) && $15 > $7) }' \
		/sys/kernel/debug/kdtl_sampler/lines &&
		grep -q '^not in the waits: how long tasks were throttled before [0-9]* dispatches' \
			/sys/kernel/debug/kdtl_sampler/table
}

# This probe of kdtl_sched comes and goes with those that follow throttled tasks.
is_looking()
{
	grep -q '\<unthrottle_cfs_rq\>' /sys/kernel/debug/kprobes/list
}

looks_no_more()
{
	! is_looking
}

# again: exits like throttle_test. The sampler would keep kdtl_sched looking.
again()
{
	! is_loaded kdtl_sampler || unload kdtl_sampler || return
	"$dir/throttle_test" only && is_looking || return 4
	until_true looks_no_more && "$dir/throttle_test" starved
}

[ -x "$dir/throttle_test" ] || skip_all "no throttle_test: make -C selftests"
tests=${KDTL_CASES:-"$("$dir/throttle_test") again"} || bail_out "throttle_test does not run"
[ -d /sys/kernel/debug/tracing ] || mount -t debugfs none /sys/kernel/debug 2>/dev/null
have_module kdtl_stream || skip_all "no module kdtl_stream"
[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
grep -q '^cpu\>' /proc/cgroups || skip_all "no cgroups with the controller cpu"
need kdtl kdtl_sched kdtl_stream
# shellcheck disable=SC2086 # several words
set -- $tests
nr=$#
for t; do
	[ "$t" != alone ] || nr=$((nr + 1))
done
plan $nr
said=$(mktemp) || bail_out "no file"
for t; do
	[ "$t" != alone ] || load kdtl_sampler || bail_out "kdtl_sampler does not load"
	status=0
	if [ "$t" = again ]; then
		again >"$said" || status=$?
	else
		"$dir/throttle_test" "$t" >"$said" || status=$?
	fi
	cat "$said"
	if [ $status -eq 4 ] && [ "$t" = again ]; then
		skip "$(title "$t")" "no kprobe of unthrottle_cfs_rq"
	elif [ $status -eq 4 ]; then
		skip "$(title "$t")" "no core scheduling, or no two CPUs of a core"
	else
		ok "$(title "$t")" [ $status -eq 0 ]
	fi
	[ "$t" != alone ] || ok "and the sampler says so" sampled
done
rm "$said"
finish
