#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loads and tools that others wrote: cyclictest, hackbench, pi_stress, stress-ng and sysbench run
# while kdtl(1) and perf record at the same time. kdtl must have each dispatch and each wake-up that
# perf has, and the waits must be those of perf sched timehist, the kernel's run_delay and cyclictest
# itself, but for differences that Documentation/why-not.rst explains.
#
#	selftests/deep/witnesses.sh [LOAD...]
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$here/../host/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/kdtl.sh
. "$here/../host/lib/kdtl.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/libraries.sh
. "$here/../host/lib/libraries.sh"

target=x86_64-6.1
programs='cyclictest hackbench pi_stress stress-ng sysbench perf'
[ $# -gt 0 ] || set -- cyclictest hackbench pi_stress stress-ng sysbench

runs()
{
	"$top/selftests/run/vm" $target --quiet --cpus 4 --mem 4G --timeout 1800 \
		--log "$work/console" --out "$work/out" --modules "$captured" \
		--add "$work/root:/" --add "$work/tool/kdtl:/bin/" \
		--add "$here/lib/witnesses-guest.sh:/" -- sh /witnesses-guest.sh "$@"
}

says()
{
	python3 "$here/lib/witnesses.py" "$1" "$work/out/$2"
}

"$top/scripts/install-deps" witnesses tool
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-witnesses.XXXXXX")
partial "$work"
capture "$top/scripts/build" $target
builds >/dev/null
mkdir -p -- "$work/root"
for program in $programs; do
	with_libraries "$work/root" "/usr/bin/$program" || die "no $program"
done

plan $((1 + 4 * $#))
ok "loads of others, recorded" runs "$@"
for load; do
	ok "$load: perf and kdtl have the same dispatches" says switches "$load"
	ok "$load: and the same wake-ups" says wakes "$load"
	ok "$load: perf sched timehist has the same waits" says timehist "$load"
	if [ "$load" = cyclictest ]; then
		ok "$load: its threads were late by no less than they waited" says cyclictest "$load"
	else
		ok "$load: run_delay and pcount of its tasks are the waits and their number" \
			says schedstat "$load"
	fi
done
finish
