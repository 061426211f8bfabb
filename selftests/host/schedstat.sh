#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares what kdtl_sched and the scheduler's own run_delay say about the same waits with
# what is true. The machine's one CPU counts instructions as nanoseconds, so the figures are
# the same everywhere. Documentation/pmu-sched.rst states them.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

target=x86_64-6.1

measure()
{
	"$top/selftests/run/vm" "$target" --quiet --icount --out "$work" \
		--modules "$captured" --add "$top/selftests:/selftests" -- \
		env KDTL_CASES='*_schedstat' sh /selftests/run/tests sched
}

# total TASK CONDITION: each line about the task meets CONDITION, in awk's words: nr
# dispatches waited and had a run_delay in sum; least is the time from when they had been
# woken, and most from when waking began, until they ran.
total()
{
	awk -v task="$1" '
		index($0, "schedstat: " task) {
			gsub(/[^0-9 ]/, "")
			$0 = $0
			nr = $1; waited = $2; run_delay = $3; least = $4; most = $5
			per = (waited - run_delay) / nr
			print task ": " per " ns a dispatch more than run_delay"
			lines++
			bad += !('"$2"')
		}
		END { exit !lines || bad }' "$work/sched.ktap"
}

"$top/scripts/install-deps" demo
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-schedstat.XXXXXX")
partial "$work"
capture "$top/scripts/build" "$target"

plan 5
ok "waits are measured, and dispatches counted alike" measure
ok "a woken task's wait is as long as it was" \
	total woken 'least <= waited && waited <= most'
ok "its run_delay is shorter than that" total woken 'run_delay < least'
ok "by 2 to 4 us a dispatch" total woken 'per > 2000 && per < 4000'
ok "a preempted task's run_delay is longer by less than 2 us" \
	total busy 'per > -2000 && per <= 0'
finish
