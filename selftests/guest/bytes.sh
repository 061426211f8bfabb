#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The recorder prints the bytes of any PMU of perf's. Here they are kdtl_sched's, as perf gives
# them to everybody, so the test knows what they should be.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

# This asks for all dispatches, see KDTL_MASK_ALL.
config=0xf
bytes=960
report=/tmp/kdtl-bytes

too_many()
{
	forget_log
	! load kdtl_recorder pmu=kdtl_sched raw_bytes=65537 2>/dev/null || return
	log | grep 'kdtl_recorder: raw_bytes=65537: must not be above 65536'
}

unknown()
{
	forget_log
	! load kdtl_recorder pmu=kdtl_none raw_bytes=$bytes 2>/dev/null || return
	log | grep 'kdtl_recorder: no session of kdtl_none (-19)'
}

# works CPU: tasks are dispatched there, more than are printed.
works()
{
	# shellcheck disable=SC2016 # the inner shell's
	taskset $((1 << $1)) sh -c 'n=0; while [ $n -lt 30 ]; do sleep 0.001; n=$((n + 1)); done'
}

# reported WHAT: the last report's rows go to $report, as lines "CPU OFFSET BYTE...". An alarm may
# come while another one's report is printed.
reported()
{
	log | sed -n 's/.*kdtl_recorder: //p' | awk -v title="^$1: CPU " -v end="^$1: end of bytes" '
		$0 ~ end && on { last = rows; on = 0 }
		$0 ~ title && !on { rows = ""; on = 1 }
		on && /^CPU [0-9]+: [0-9a-f]+: [0-9a-f ]+$/ {
			sub(/^CPU /, "")
			gsub(/:/, "")
			rows = rows $0 "\n"
		}
		END { printf "%s", last }' >$report
	[ -s $report ]
}

# are_entries CPU...: there are $bytes bytes of each CPU, which are entries of 48 bytes: bytes 2 and
# 3 of an entry are the CPU, and bytes 16 to 23 a time, later than that of the entry before.
are_entries()
{
	awk -v bytes=$bytes -v cpus="$*" '
	{ for (i = 3; i <= NF; i++) all[$1] = all[$1] $i }
	END {
		n = split(cpus, cpu)
		for (i = 1; i <= n; i++) {
			c = cpu[i]
			if (length(all[c]) != 2 * bytes) {
				print "# CPU " c ": " length(all[c]) / 2 " bytes"
				bad++
			}
			last = ""
			for (at = 1; at <= length(all[c]); at += 96) {
				id = substr(all[c], at + 4, 4)
				time = substr(all[c], at + 32, 16)
				if (id != sprintf("%04x", c) || time <= last) {
					print "# CPU " c ", entry " (at - 1) / 96 ": " id ", " time
					bad++
				}
				last = time
			}
			delete all[c]
		}
		for (c in all) {
			print "# CPU " c " has not been asked for"
			bad++
		}
		exit bad
	}' $report
}

all_cpus()
{
	works 0 && works 1 || return
	forget_log
	until_true table_asked && reported 'asked for' && are_entries 0 1
}

goes_on()
{
	cp $report $report.before
	all_cpus && ! cmp -s $report $report.before
}

# An alarm about a CPU has that CPU's bytes only.
alarm()
{
	load kdtl_watch threshold_ms=0 || return
	echo '1 10' >/sys/kernel/debug/kdtl_watch/cpus
	forget_log
	background taskset 2 sh -c 'while :; do :; done'
	background taskset 2 sh -c 'while :; do :; done'
	until_true reported 'CPU 1.* waited .*' && are_entries 1
}

have_module kdtl_kunit_raw || skip_all "this kernel's perf has no perf_event_aux_alloc()"
[ "$(nproc)" -eq 2 ] || skip_all "it takes a machine with two CPUs, no more"
have_module kdtl_recorder && have_module kdtl_watch || skip_all "no kdtl_recorder or kdtl_watch"
need kdtl kdtl_sched

plan 6
taskset -p 1 $$ >/dev/null
ok "too many bytes are refused" too_many
ok "and so is an unknown PMU" unknown
ok "the recorder loads" load kdtl_recorder pmu=kdtl_sched config=$config \
	raw_bytes=$bytes
ok "on request: the newest bytes of all CPUs" all_cpus
ok "the PMU goes on" goes_on
ok "an alarm: those of its CPU" alarm
finish
