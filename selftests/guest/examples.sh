#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The modules of clients/examples: what they say is what other parts of the kernel say.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

debug=/sys/kernel/debug

stopped()
{
	grep -q '^State:.T' "/proc/$1/status"
}

# --- top --------------------------------------------------------------------------

# top PID: its dispatches and its waits, in ns.
top()
{
	awk -v pid="$1" '$1 == pid { print $2, $3 }' $debug/kdtl_top
}

# Two tasks share a CPU, from their first dispatch until they stop. Their waits are
# those of schedstat, but for a few us a dispatch; on an emulated machine it is more.
top_agrees()
{
	pids=
	for n in 1 2; do
		taskset 2 sh -c 'n=0; while [ $n -lt 40000 ]; do n=$((n + 1)); done; kill -STOP $$' &
		pids="$pids $!"
	done
	for pid in $pids; do
		until_true stopped "$pid" || return
	done
	status=0
	for pid in $pids; do
		read -r _ delay nr <"/proc/$pid/schedstat"
		# shellcheck disable=SC2046 # two words
		set -- $(top "$pid")
		is "$1" "$nr" || status=1
		awk -v top="$2" -v delay="$delay" -v nr="$nr" 'BEGIN {
			differ = top - delay
			print "# " top " ns of " nr " waits, run_delay " delay " ns"
			exit differ < -nr * 100000 || differ > nr * 100000 || delay < 100000000
		}' || status=1
	done
	# shellcheck disable=SC2086 # several words
	kill -KILL $pids
	# shellcheck disable=SC2086 # several words
	wait $pids 2>/dev/null
	return $status
}

# The rows are sorted by the waits.
top_is_sorted()
{
	awk 'NR > 1 { print $3 }' $debug/kdtl_top >/tmp/waits
	[ -s /tmp/waits ] && sort -c -n -r /tmp/waits
}

[ -e /sys/devices/system/cpu/cpu1 ] || skip_all "needs two CPUs"
need kdtl kdtl_sched
have_module kdtl_top || skip_all "no examples: CONFIG_KDTL_EXAMPLES"

plan 4
ok "top: it loads" load kdtl_top
ok "top: dispatches and waits are those of schedstat" top_agrees
ok "top: the longest waits first" top_is_sorted
ok "top: it unloads" unload kdtl_top
finish
