#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Whatever pid a task has, and however often it runs, kdtl_sched never takes its record for another
# task's. forge.c does all that a user can do. Once, its victim "waited 4.29 s or more".
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

[ -x "$here/forge" ] || skip_all "no program forge: make -C selftests"
[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
[ -e /proc/sys/kernel/ns_last_pid ] || skip_all "this kernel lets nobody choose a pid"
need kdtl kdtl_sched kdtl_stream

data=$(mktemp)

forged()
{
	"$here/kdtl" record -q -m 256 -o "$data" "$here/forge" >"$data.pid" &&
		[ -s "$data.pid" ] && return
	cat "$data.pid"
	return 1
}

# Whether the victim waited, or was throttled, for no longer than an entry can say.
not_long()
{
	"$here/kdtl" export --format csv "$data" | awk -F , -v pid="$(cat "$data.pid")" '
	NR == 1 {
		for (i = 1; i <= NF; i++)
			column[$i] = i
		next
	}
	$column["pid"] == pid {
		n++
		longest = $column["waited_ns"] > longest ? $column["waited_ns"] : longest
		longest = $column["throttled_ns"] > longest ? $column["throttled_ns"] : longest
	}
	END {
		print "# " n " dispatches, the longest wait " longest / 1e6 " ms"
		# The limit is what fits into an entry; a host may stop the machine for a second.
		exit !(n > 1 && longest < 4294967295)
	}'
}

plan 2
highest=$(cat /proc/sys/kernel/pid_max)
ok "a task gets the pid and the number of runs that fit" forged
echo "$highest" >/proc/sys/kernel/pid_max
ok "the victim has its own wait" not_long
finish
