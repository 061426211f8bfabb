#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kdtl record works while the machine's clock is set back. Do not run this on a machine that others
# use.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(cd -- "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

export TZ=UTC

# seconds_off NAME: the time of day at which the task NAME waited according to kdtl, minus the
# time that the task wrote down itself.
seconds_off()
{
	set -- "$1" "$("$dir/kdtl" why --brief -n 1000 --comm "$1" clock.data 2>/dev/null |
		sed -n '1s/.* time=\([^ .]*\).*/\1/p' | tr T ' ')"
	[ -n "$2" ] && echo $(($(date -d "$2" +%s) - $(cat "$1")))
}

noticed_the_clock()
{
	[ -e clock.set ] && "$dir/kdtl" print clock.data 2>&1 >/dev/null | grep -q 'the clock was set'
}

# The clock is set back by an hour. Times of day are by the clock as it was at the entry's time.
# Nothing tells when the clock was set, so the old one holds until kdtl has noticed, which takes a
# while on a busy machine.
# shellcheck disable=SC2016 # for the shell that is recorded
clock_set()
{
	echo 'printf %s "$1" >/proc/$$/comm
		date +%s >"$1"
		sleep 0.001
		sleep 0.001
		:' >named
	# Without an RTC it is 1970, and Linux refuses a time before that.
	[ "$(date +%s)" -gt 86400 ] || date -s @1700000000 >/dev/null || return
	"$dir/kdtl" record -q -i -o clock.data sh -c '
		sh named BEFORE
		date -s "@$(($(date +%s) - 3600))"
		touch clock.set
		until [ -e clock.go ]; do sleep 0.01; done
		sh named AFTER' >/dev/null &
	until_true noticed_the_clock
	touch clock.go
	wait $!
	# Give the scripts after this one the right time again.
	date -s "@$(($(date +%s) + 3600))" >/dev/null || return
	for i in BEFORE AFTER; do
		set -- "$(seconds_off "$i")"
		note "$i: $1 s"
		[ "$1" -ge 0 ] && [ "$1" -le 60 ] || return
	done
	# date(1) takes some time, and drops fractions of a second.
	"$dir/kdtl" print clock.data 2>&1 >/dev/null | tee clock.err |
		grep -q 'the clock was set by -3[56][0-9][0-9][.].* s, or the machine slept, before ' && return
	cat clock.err
	return 1
}

need kdtl kdtl_sched kdtl_stream
work=$(mktemp -d)
cd -- "$work" || exit
plan 1
ok "a clock that is set moves no time of day" clock_set
finish
