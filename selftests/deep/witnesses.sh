#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Loads and tools that others wrote: cyclictest, hackbench, pi_stress, stress-ng and sysbench run
# while kdtl(1) and perf record at the same time, and once more while kdtl(1) and LTTng do. kdtl must
# have each dispatch and each wake-up that these have, and the waits must be those of perf sched
# timehist, the kernel's run_delay and cyclictest itself, but for differences that
# Documentation/why-not.rst explains.
#
#	selftests/deep/witnesses.sh [LOAD...]
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/apt.sh
. "$top/scripts/lib/apt.sh"
# shellcheck source-path=SCRIPTDIR source=../run/lib/initramfs.sh
. "$here/../run/lib/initramfs.sh"
# shellcheck source-path=SCRIPTDIR source=../run/lib/lttng.sh
. "$here/../run/lib/lttng.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$here/../host/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/kdtl.sh
. "$here/../host/lib/kdtl.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/libraries.sh
. "$here/../host/lib/libraries.sh"

target=x86_64-6.1
programs='chrt cyclictest hackbench pi_stress stress-ng sysbench perf lttng lttng-sessiond'
[ $# -gt 0 ] || set -- cyclictest hackbench pi_stress stress-ng sysbench

runs()
{
	"$top/selftests/run/vm" "$target" --quiet --cpus 4 --mem 4G --timeout 1800 \
		--log "$work/console" --out "$work/out" --modules "$modules" \
		--add "$work/root:/" --add "$lttng:/" --add "$work/tool/kdtl:/bin/" \
		--add "$here/lib/witnesses-guest.sh:/" -- sh /witnesses-guest.sh "$@"
}

# texts LOAD: what was recorded, as text. That is faster here than in the machine.
texts()
{
	local recording=$work/out/$1 by

	for by in perf lttng; do
		kdtl export --format csv -o "$recording.$by.csv" "$recording.$by.data" &&
			kdtl export --format csv -o "$recording.$by.wakes.csv" \
				"$recording.$by.data.wake" || return
	done
	for by in switches wakes; do
		perf script -i "$recording.perf.$by.data" --ns -F tid,cpu,time,event,trace \
			>"$recording.perf.$by.events" || return
	done
	perf sched timehist -i "$recording.perf.switches.data" --state >"$recording.perf.timehist"
}

says()
{
	python3 "$here/lib/witnesses.py" "$1" "$work/out/$2.$3" >"$work/said" 2>&1
}

# compared TEXT VERB LOAD WITNESS: a test, and its figures.
compared()
{
	ok "$3: $1" says "${@:2}"
	sed '/^$/d; s/^/# /' "$work/said"
}

"$top/scripts/install-deps" witnesses tool
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-witnesses.XXXXXX")
partial "$work"
capture "$top/scripts/build" $target
modules=$captured
builds >/dev/null
mkdir -p -- "$work/root"
for program in $programs; do
	with_libraries "$work/root" "/usr/bin/$program" || die "no $program"
done
# LTTng's daemon starts the other one by its full name, which has the architecture, and ends without
# the schema of sessions that it could load.
with_libraries "$work/root" "$(dpkg -L lttng-tools | grep '/lttng-consumerd$')" ||
	die "no lttng-consumerd"
mkdir -p -- "$work/root/usr/share/xml"
cp -a -- /usr/share/xml/lttng "$work/root/usr/share/xml/"
lttng_modules $target || die "no modules of LTTng"

plan $((1 + 8 * $#))
ok "loads of others, recorded" runs "$@"
for load; do
	ok "$load: the recordings, as text" texts "$load"
	compared "perf and kdtl have the same dispatches" switches "$load" perf
	compared "and the same wake-ups" wakes "$load" perf
	compared "perf sched timehist has the same waits" timehist "$load" perf
	if [ "$load" = cyclictest ]; then
		compared "its threads were late by no less than they waited" cyclictest "$load" perf
	else
		compared "run_delay and pcount of its tasks are the waits and their number" \
			schedstat "$load" perf
	fi
	compared "LTTng and kdtl have the same dispatches" switches "$load" lttng
	compared "and the same wake-ups as well" wakes "$load" lttng
	compared "and its events make the same waits" waits "$load" lttng
done
finish
