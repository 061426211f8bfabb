#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The patch by which perf's kernel events may own an AUX area
# (selftests/run/configs/aux.patch): its KUnit test, in a kernel with KASAN and lockdep.
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
patch=$tests/run/configs/aux.patch
logs=${KDTL_LOGS:-$KDTL_CACHE}/any-aux

# The names of the test's cases, from the patch: one that does not run is missed.
cases()
{
	sed -n 's/^+	KUNIT_CASE(\(.*\)),$/\1/p' "$patch"
}

boot()
{
	run_group "$tests/run/vm" "$target" --cpus 2 --quiet --timeout 1800 \
		--log "$logs/console" --out "$logs" -- sh -c 'dmesg >/out/dmesg' >&2 &&
		[ -s "$logs/dmesg" ]
}

passed()
{
	grep -E "(not )?ok [0-9]+ $1( |\$)|# $1: " "$logs/dmesg"
	grep -q -E "[^t] ok [0-9]+ $1\$" "$logs/dmesg" &&
		! grep -q -E "not ok [0-9]+ $1( |\$)" "$logs/dmesg"
}

# checkpatch takes a patch that git tracks for a source file.
clean()
{
	cp -- "$patch" "$logs/" && "$top/scripts/checkpatch" --patches "$logs/${patch##*/}"
}

no_report()
{
	awk -v races=kdtl -f "$here/lib/reports.awk" "$logs/console" "$logs/dmesg" \
		>"$logs/reports"
	cat -- "$logs/reports"
	[ ! -s "$logs/reports" ]
}

rm -rf -- "$logs"
mkdir -p -- "$logs"
mapfile -t names < <(cases)
[ "${#names[@]}" -gt 0 ] || bail_out "no cases in $patch"
plan $((${#names[@]} + 3))
ok "checkpatch --strict finds nothing in the patch" clean
ok "a kernel with it builds and boots" boot
for name in "${names[@]}"; do
	ok "perf_aux: $name" passed "$name"
done
ok "no report of KASAN, lockdep or others" no_report
finish
