#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs random programs of kdtl's verbs (fuzz/), and of system calls on /dev/kdtl
# (fuzz_dev.c): no call leaves anything behind, and every answer is a documented one.
# These are a few programs of a fixed seed; deep/fuzz.sh runs more.
#
#   SEED      decides everything (1)
#   PROGRAMS  how many of each (40)
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

SEED=${SEED:-1}
PROGRAMS=${PROGRAMS:-40}
[ "${KDTL_QUICK:-0}" = 0 ] || PROGRAMS=20

# fuzz PROGRAMS SEED: prints what it called, whatever the result.
fuzz()
{
	forget_log
	load kdtl_fuzz "programs=$1" "seed=$2"
	set -- $?
	log | sed -n 's/^\[[ 0-9.]*\] kdtl_fuzz: /# /p'
	return "$1"
}

# All sessions are closed, so only the heading is there.
no_sessions()
{
	is "$(wc -l </sys/kernel/debug/kdtl/sessions)" 1
}

nobody_holds()
{
	is "$(awk -v name="$1" '$1 == name { print $3 }' /proc/modules)" "$2"
}

need kdtl kdtl_sched kdtl_fake_pmu
have_module kdtl_fuzz || skip_all "no module kdtl_fuzz"
[ -e /sys/kernel/debug/kdtl ] || skip_all "no debugfs"

# Thousands of calls with bad arguments each say in the log what is wrong, not on the console.
read -r level _ </proc/sys/kernel/printk
echo 4 >/proc/sys/kernel/printk

plan 9
ok "programs of verbs, seed $SEED" fuzz "$PROGRAMS" "$SEED"
ok "no session is left" no_sessions
ok "nobody holds the source" until_true nobody_holds kdtl_fuzz 0
ok "nor the scheduler's" until_true nobody_holds kdtl_sched 0
if have_module kdtl_stream && load kdtl_stream; then
	"$dir/fuzz_dev" "$SEED" 1 >/dev/null
	before=$(areas)
	ok "programs of system calls, seed $SEED" "$dir/fuzz_dev" "$SEED" "$PROGRAMS"
	ok "nothing is left of them" until_true areas_are "$before"
	ok "no session either" until_true no_sessions
	ok "nobody holds the device" until_true nobody_holds kdtl_stream 0
	ok "nor the scheduler's source" until_true nobody_holds kdtl_sched 0
else
	for what in "programs of system calls" "nothing is left" "no session" \
		"the device" "its source"; do
		skip "$what" "no module kdtl_stream"
	done
fi
echo "$level" >/proc/sys/kernel/printk
finish
