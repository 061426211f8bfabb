#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The patch by which perf's kernel events may own an AUX area, the last one of
# scripts/upstream/perf: its KUnit test, and the raw sessions of kdtl that use it, in a
# kernel with KASAN and lockdep.
#
#	selftests/deep/any-aux.sh
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"

target=x86_64-7.2-aux
patch=("$top"/scripts/upstream/perf/*-perf-Let-kernel-events-own-an-AUX-area.patch)
logs=${KDTL_LOGS:-$KDTL_CACHE}/any-aux

# The names of the test's cases, from the patch: one that does not run is missed.
cases()
{
	sed -n 's/^+	KUNIT_CASE(\(.*\)),$/\1/p' "${patch[0]}"
}

boot()
{
	local modules

	modules=$(run_group "$top/scripts/build" "$target") || return
	# raw.sh clears the kernel's log.
	run_group "$tests/run/vm" "$target" --cpus 2 --quiet --timeout 1800 \
		--modules "$modules" --add "$tests/guest:/selftests/guest" \
		--log "$logs/console" --out "$logs" -- \
		'dmesg >/out/dmesg; sh /selftests/guest/raw.sh >/out/raw; dmesg >/out/dmesg.raw
		grep debug_locks /proc/lockdep_stats >/out/lockdep' >&2 &&
		[ -s "$logs/dmesg" ]
}

passed()
{
	grep -E "(not )?ok [0-9]+ $1( |\$)|# $1: " "$logs/dmesg"
	grep -q -E "[^t] ok [0-9]+ $1\$" "$logs/dmesg" &&
		! grep -q -E "not ok [0-9]+ $1( |\$)" "$logs/dmesg"
}

raw_sessions()
{
	cat -- "$logs/raw"
	grep -q '^ok 1 kdtl_raw' "$logs/raw" && ! grep -q 'not ok' "$logs/raw"
}

# lockdep gives up at its first report; KUnit runs before there is an init.
checked()
{
	cat -- "$logs/lockdep"
	grep -q 'debug_locks: *1' "$logs/lockdep"
}

# A machine that never came up has reported nothing either.
no_report()
{
	[ -s "$logs/dmesg.raw" ] || { echo "the machine has left no log"; return 1; }
	awk -v races=kdtl -f "$here/lib/reports.awk" "$logs/console" "$logs/dmesg" \
		"$logs/dmesg.raw" >"$logs/reports"
	cat -- "$logs/reports"
	[ ! -s "$logs/reports" ]
}

rm -rf -- "$logs"
mkdir -p -- "$logs"
mapfile -t names < <(cases)
[ "${#names[@]}" -gt 0 ] || bail_out "no cases in ${patch[0]}"
plan $((${#names[@]} + 5))
ok "checkpatch --strict finds nothing in the patch" \
	"$top/scripts/checkpatch" --patches "${patch[0]}"
ok "a kernel with it builds and boots" boot
for name in "${names[@]}"; do
	ok "perf_aux: $name" passed "$name"
done
ok "raw sessions of kdtl (kdtl_kunit_raw)" raw_sessions
ok "no report of KASAN, lockdep or others" no_report
ok "lockdep was on until the end" checked
finish
