#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The patch by which perf's kernel events may own an AUX area, the last one of
# scripts/upstream/perf: its KUnit test, and the raw sessions of kdtl that use it, in two
# kernels: x86-64 with KASAN and lockdep, and ppc64le with lockdep and with the fixes for
# Linux's own vpa_dtl. There dtl.sh compares sessions on vpa_dtl with those on kdtl_vpa.
#
#	selftests/deep/any-aux.sh
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"

machines=(x86_64-7.2-aux ppc64le-7.2-aux)
patch=("$top"/scripts/upstream/perf/*-perf-Let-kernel-events-own-an-AUX-area.patch)
logs=${KDTL_LOGS:-$KDTL_CACHE}/any-aux

# The names of the test's cases, from the patch: one that does not run is missed.
cases()
{
	sed -n 's/^+	KUNIT_CASE(\(.*\)),$/\1/p' "${patch[0]}"
}

# boot TARGET: its logs come into $logs/TARGET.
boot()
{
	local modules out=$logs/$1 more=() command

	mkdir -p -- "$out"
	modules=$(run_group "$top/scripts/build" "$1") || return
	# The scripts clear the kernel's log.
	command='dmesg >/out/dmesg; sh /selftests/guest/raw.sh >/out/raw && echo all well >>/out/raw
		dmesg >/out/dmesg.raw'
	if [[ $1 == ppc64le-* ]]; then
		more=(--add "$perf:/")
		command+='; dmesg -c >/dev/null
			sh /selftests/guest/dtl.sh >/out/dtl; dmesg >/out/dmesg.dtl'
	fi
	run_group "$tests/run/vm" "$1" --cpus 2 --mem 2G --quiet --timeout 1800 \
		--modules "$modules" --add "$tests/guest:/selftests/guest" "${more[@]}" \
		--log "$out/console" --out "$out" -- \
		"$command; grep debug_locks /proc/lockdep_stats >/out/lockdep" >&2 &&
		[ -s "$out/dmesg" ]
}

# passed TARGET CASE
passed()
{
	grep -E "(not )?ok [0-9]+ $2( |\$)|# $2: " "$logs/$1/dmesg"
	grep -q -E "[^t] ok [0-9]+ $2\$" "$logs/$1/dmesg" &&
		! grep -q -E "not ok [0-9]+ $2( |\$)" "$logs/$1/dmesg"
}

raw_sessions()
{
	local log=$logs/$1/raw

	cat -- "$log"
	grep -q '^ok 1 kdtl_raw' "$log" && ! grep -q 'not ok' "$log" &&
		grep -q '^all well$' "$log"
}

# No test was skipped: perf and kdtl_vpa are there.
on_vpa_dtl()
{
	local log=$logs/$1/dtl

	cat -- "$log"
	[ "$(grep -c '^ok ' "$log")" -eq "$(sed -n 's/^1\.\.\([1-9][0-9]*\)$/\1/p' "$log")" ] &&
		! grep -q -E '^not ok|# SKIP' "$log"
}

# lockdep gives up at its first report; KUnit runs before there is an init.
checked()
{
	cat -- "$logs/$1/lockdep"
	grep -q 'debug_locks: *1' "$logs/$1/lockdep"
}

# A machine that never came up has reported nothing either.
no_report()
{
	local out=$logs/$1

	[ -s "$out/dmesg.raw" ] || { echo "the machine has left no log"; return 1; }
	awk -v races=kdtl -f "$here/lib/reports.awk" "$out/console" "$out"/dmesg* >"$out/reports"
	cat -- "$out/reports"
	[ ! -s "$out/reports" ]
}

# machine TARGET: its tests.
machine()
{
	local name

	ok "$1: a kernel with it builds and boots" boot "$1"
	for name in "${names[@]}"; do
		ok "$1: perf_aux: $name" passed "$1" "$name"
	done
	ok "$1: raw sessions of kdtl (kdtl_kunit_raw)" raw_sessions "$1"
	[[ $1 != ppc64le-* ]] ||
		ok "$1: sessions on vpa_dtl see what those on kdtl_vpa do" on_vpa_dtl "$1"
	ok "$1: no report of KASAN, lockdep or others" no_report "$1"
	ok "$1: lockdep was on until the end" checked "$1"
}

rm -rf -- "$logs"
mkdir -p -- "$logs"
mapfile -t names < <(cases)
[ "${#names[@]}" -gt 0 ] || bail_out "no cases in ${patch[0]}"
plan $((1 + ${#machines[@]} * (${#names[@]} + 4) + 1))
ok "checkpatch --strict finds nothing in the patch" \
	"$top/scripts/checkpatch" --patches "${patch[0]}"
capture "$tests/run/perf-files"
perf=$captured
for target in "${machines[@]}"; do
	machine "$target"
done
finish
