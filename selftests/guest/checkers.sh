#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Asks those of the kernel's own checkers that have to be asked what they have found so far.
# This is the last test in a debug kernel (selftests/deep/debug.sh).
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

leaks=/sys/kernel/debug/kmemleak
locks=/proc/lockdep_stats

# Prints the reports; true if there are any but one of perf's own: perf forgets an array
# that rb_alloc_aux() allocated if there is not one page of memory for the area (seen in
# 7.2), which faults.sh makes happen.
leaked()
{
	awk '
		function print_report() {
			if (perfs)
				print "# of perf, in rb_alloc_aux(): " first
			else
				printf "%s", text
			bad += text && !perfs
			text = ""
			perfs = traced = 0
		}
		/^unreferenced object / { print_report(); first = $0 }
		{ text = text "# " $0 "\n" }
		/^  backtrace/ { traced = 1; next }
		# This is the first function that is not of the allocator.
		traced && $1 !~ /^_*k[a-z]*alloc/ {
			perfs = $1 ~ /^rb_alloc_aux\+/
			traced = 0
		}
		END { print_report(); exit !bad }' $leaks
}

# kmemleak ignores objects that are younger than 5 s, or change between two scans.
no_leak()
{
	sleep 6
	echo scan >$leaks || return
	sleep 6
	echo scan >$leaks || return
	! leaked
}

# lockdep gives up at its first report, and when its tables are full.
lockdep_on()
{
	grep -q 'debug_locks: *1' $locks && return
	dmesg | grep -A 5 -e 'possible ' -e 'lockdep'
	return 1
}

plan 2
if [ -e $leaks ]; then
	ok "kmemleak: nothing is leaked" no_leak
else
	skip "kmemleak: nothing is leaked" "no CONFIG_DEBUG_KMEMLEAK"
fi
if [ -e $locks ]; then
	ok "lockdep was on until the end" lockdep_on
else
	skip "lockdep was on until the end" "no CONFIG_LOCKDEP"
fi
finish
