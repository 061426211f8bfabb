#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kdtl record: a recording ends when it should, and says how it ended.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

export TZ=UTC

# entries FILE: how many there are.
entries()
{
	kdtl print "$1" 2>/dev/null | grep -c -v '^#'
}

kdtl()
{
	"$dir/kdtl" "$@"
}

# Somebody waits, and a real-time task has the CPU.
busy()
{
	while :; do
		usleep 1000
	done
}

why_now()
{
	kdtl why -d 0.5 -n 3 >"$work/why" 2>&1 &&
		grep -q '^live: the longest 3 of ' "$work/why" &&
		grep -q '^ *behind ' "$work/why" &&
		[ "$(grep -c '^[0-9][0-9:.]* ' "$work/why")" -eq 3 ] && return
	cat "$work/why"
	return 1
}

# Ctrl-C ends only the wait.
why_until_interrupted()
{
	"$dir/kdtl" why -d 1000 >"$work/why" 2>&1 &
	set -- $!
	until_true grep -q '^kdtl_stream [0-9]* [1-9]' /proc/modules
	usleep 300000
	kill -INT "$1"
	wait "$1" && grep -q '^live: the longest ' "$work/why" && return
	cat "$work/why"
	return 1
}

work=/tmp/kdtl-record
rm -rf $work
mkdir -p $work
need kdtl kdtl_sched kdtl_stream
cd $work || exit
plan 2
background busy
ok "kdtl why -d says what happens now" why_now
ok "Ctrl-C ends it early, and it says what it knows" why_until_interrupted
finish
