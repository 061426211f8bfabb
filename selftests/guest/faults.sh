#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Every allocation, and every function of kdtl that can be made to fail, fails once: in
# the verbs, by kdtl_kunit_faults.ko in the kernel; in each module's init; in /dev/kdtl
# and perf events, by fault_test.c. Nothing may be left behind.
#
# This needs a kernel with fault injection: selftests/deep/debug.sh.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

debug=/sys/kernel/debug
functions=$debug/fail_function
nth=/sys/module/kdtl_fail_nth/parameters

# Faults hit only the tasks that ask for them by fail-nth, and print nothing.
prepare()
{
	for attr in failslab fail_page_alloc fail_function; do
		[ -d $debug/$attr ] || continue
		echo 0 >$debug/$attr/verbose
		echo 0 >$debug/$attr/probability
		for file in ignore-gfp-wait ignore-gfp-highmem; do
			[ ! -e $debug/$attr/$file ] || echo N >$debug/$attr/$file
		done
	done
	[ ! -e $debug/fail_page_alloc/min-order ] || echo 0 >$debug/fail_page_alloc/min-order
}

# kdtl's functions that can be made to fail return -EIO, or NULL.
calls_on()
{
	for f in $(awk '$2 == "[kdtl]" { print $1 }' $debug/error_injection/list 2>/dev/null); do
		echo "$f" >$functions/inject 2>/dev/null || continue
		grep -q "^$f.*NULL" $debug/error_injection/list ||
			printf '%#x' -5 >"$functions/$f/retval"
	done
	injected=$(awk '{ print $1 }' $functions/inject | tr '\n' ' ')
}

calls_off()
{
	echo >$functions/inject
}

held()
{
	awk '/^kdtl/ { printf "%s %s,", $1, $3 }' /proc/modules
	ls -d $debug/kdtl* /sys/bus/event_source/devices/kdtl* 2>/dev/null | tr '\n' ' '
	[ ! -e $debug/kdtl/sessions ] || wc -l <$debug/kdtl/sessions
}

# walk_init MODULE: its init fails at its 1st allocation, then at its 2nd, and so on.
walk_init()
{
	walked=$1
	had=$(held)
	n=0
	errors=0
	while [ $n -lt 3000 ]; do
		n=$((n + 1))
		echo $n >$nth/nth
		if said=$("$dir/fault_test" load "$KTAP_MODULES/$walked.ko"); then
			met=$(cat $nth/met)
			rmmod "$walked" || return
			[ "$met" = Y ] || break
		else
			errors=$((errors + 1))
			[ "$(cat $nth/met)" = Y ] || {
				note "$walked: fault $n: $said, but there was none"
				return 1
			}
			[ "$said" = "Cannot allocate memory" ] || {
				note "$walked: allocation $n: $said"
				return 1
			}
		fi
		is "$(held)" "$had" || return
		# With KASAN and lockdep, in an emulator, a walk takes minutes.
		[ $((n % 25)) -ne 0 ] || note "$walked: $n allocations so far"
	done
	note "$walked: $((n - 1)) allocations failed, $errors errors"
	[ $n -gt 1 ]
}

# walk_calls MODULE: its init fails at the 1st call of an injected function, then at the 2nd ...
walk_calls()
{
	walked=$1
	had=$(held)
	n=0
	errors=0
	while [ $n -lt 500 ]; do
		n=$((n + 1))
		echo 100 >$functions/probability
		echo $n >$functions/space
		echo 1 >$functions/times
		said=$("$dir/fault_test" load "$KTAP_MODULES/$walked.ko")
		status=$?
		left=$(cat $functions/times)
		echo 0 >$functions/probability
		echo 0 >$functions/space
		[ $status -ne 0 ] || rmmod "$walked" || return
		[ "$left" = 0 ] || break
		case $said in
		'') ;;
		'Cannot allocate memory' | 'Input/output error' | 'No such device')
			errors=$((errors + 1))
			;;
		*)
			note "$walked: function $n: $said"
			return 1
			;;
		esac
		is "$(held)" "$had" || return
	done
	[ $status -eq 0 ] || {
		note "$walked: without a fault: $said"
		return 1
	}
	note "$walked: $((n - 1)) functions failed, $errors errors"
	[ $errors -gt 0 ]
}

# The suite's cases are subtests of one test.
verbs()
{
	kunit kdtl_kunit_faults >/tmp/verbs
	status=$?
	sed 's/^/    /' /tmp/verbs
	unload kdtl_kunit_faults && return $status
}

[ -d $debug/failslab ] || skip_all "no fault injection: CONFIG_FAILSLAB, CONFIG_FAULT_INJECTION_DEBUG_FS"
for m in kdtl kdtl_sched kdtl_irq kdtl_wake kdtl_kunit_faults kdtl_fail_nth; do
	have_module $m || skip_all "no module $m"
done
[ -x "$dir/fault_test" ] || skip_all "no fault_test: make -C selftests"

tests=$("$dir/fault_test")
clients='kdtl_sampler kdtl_trace kdtl_watch kdtl_recorder kdtl_stream'
# shellcheck disable=SC2086 # several words
set -- $tests
plan $((4 + 5 + 4 + 2 * $# + 2))
prepare
load kdtl_fail_nth || bail_out "kdtl_fail_nth does not load"

load kdtl && load kdtl_sched && load kdtl_wake && unload kdtl_wake && unload kdtl_sched ||
	bail_out "kdtl does not load"
before=$(areas)
load kdtl_sched || bail_out "kdtl_sched does not load"
ok "the verbs" verbs
load kdtl_stream || bail_out "kdtl_stream does not load"
for t; do
	ok "$t: memory" "$dir/fault_test" "$t"
done
calls_on
note "functions that fail: $injected"
for t; do
	ok "$t: functions" "$dir/fault_test" "$t" calls
done
unload kdtl_stream
for m in $clients; do
	[ "$m" = kdtl_stream ] || ok "$m: functions in its init" walk_calls "$m"
done
calls_off
for m in $clients; do
	ok "$m: memory in its init" walk_init "$m"
done
unload kdtl_sched
for m in kdtl_sched kdtl_irq kdtl_wake; do
	ok "$m: memory in its init" walk_init "$m"
done
ok "nothing is left" until_true areas_are "$before"
unload kdtl
ok "kdtl: memory in its init" walk_init kdtl
finish
