#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs kdtl_torture.ko for a while: many sessions, random verbs by threads on random
# CPUs, CPUs and sources that come and go, readers that sleep and die.
#
# TORTURE_SECONDS  how long (20)
# TORTURE_PARAMS   parameters of kdtl_torture.ko; seed=... repeats what a run did
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

seconds=${TORTURE_SECONDS:-20}
report=/sys/kernel/debug/kdtl_torture/report
loads=0

over()
{
	! grep -q running "$report"
}

# come_and_go SOURCE: it is gone for a moment, if no session is on it.
come_and_go()
{
	rmmod "$1" 2>/dev/null || return
	sleep 0.1
	eval "$(loading "$1")" && loads=$((loads + 1))
}

# torture: waits until it ends, which is late on a busy machine.
torture()
{
	limit=$((seconds * 2 + 120))
	until over; do
		come_and_go kdtl_torture_pmu
		come_and_go kdtl_sched
		sleep 0.3
		read -r up _ </proc/uptime
		[ "${up%.*}" -lt $((start + limit)) ] || return
	done
}

value()
{
	tr ' ' '\n' <"$report" | sed -n "s/^$1=//p"
}

at_least()
{
	[ "$(value "$1" | sed 's,/.*,,')" -ge "$2" ] && return
	note "$1: only $(value "$1")"
	return 1
}

need kdtl
load kdtl_sched || bail_out "kdtl_sched does not load"
have_module kdtl_torture || skip_all "no module kdtl_torture"
load kdtl_torture_pmu || bail_out "kdtl_torture_pmu does not load"
read -r start _ </proc/uptime
start=${start%.*}
forget_log
# shellcheck disable=SC2086 # several words
load kdtl_torture seconds="$seconds" $TORTURE_PARAMS ||
	bail_out "kdtl_torture does not load"

plan 4
ok "it ends" torture
over || bail_out "it is still running"
note "$(cat "$report") loads=$loads"
log | sed -n 's/.*kdtl_torture: /# /p'
ok "no error" is "$(value errors)" 0
ok "there were entries, all but the rarest verbs, and losses" eval '
	at_least entries 1000 && at_least lost 1 && at_least start 10 &&
	at_least load 2 && at_least read_aux 100 && at_least sessions 1'
if [ "$(grep -c '^processor' /proc/cpuinfo)" -gt 1 ] || [ "$(value hotplugs)" -gt 0 ]; then
	ok "CPUs came and went" at_least hotplugs 2
else
	skip "CPUs came and went" "one CPU only"
fi
finish
