#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the last patch of scripts/upstream/perf, by which perf's kernel events may own an AUX area:
# its KUnit test, and kdtl's raw sessions, which use it. They run in two kernels: x86-64 with KASAN
# and lockdep, and ppc64le with the patches for Linux's own vpa_dtl, where dtl.sh also compares
# sessions on vpa_dtl with those on kdtl_vpa. AUX areas of user space must work as before: perf.sh
# passes in both kernels, and in the first one so do all of perf's own tests that pass in Debian's
# kernel.
#
#	selftests/deep/any-aux.sh
#
# shellcheck disable=SC2016,SC2317 # the guest's words; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"

machines=("$(kernel_variant aux)" ppc64le-7.2-aux)
patch=("$top"/scripts/upstream/perf/*-perf-Let-kernel-events-own-an-AUX-area.patch)
logs=${KDTL_LOGS:-$KDTL_CACHE}/any-aux

# Prints the names of the patch's test cases, so that one that does not run is missed.
cases()
{
	sed -n 's/^+	KUNIT_CASE(\(.*\)),$/\1/p' "${patch[0]}"
}

# All of perf's own tests run one after the other, except those of event lists, which take long and
# ask the kernel nothing.
lists='s/^ *\([0-9]*\): PMU JSON event tests$/\1/p'
perf_test='perf test -S -s "$(perf test list 2>&1 | sed -n "'$lists'")" >>/out/perf-test 2>&1'

# boot TARGET: boots it; its logs are in $logs/TARGET.
boot()
{
	local modules out=$logs/$1 perf command

	mkdir -p -- "$out/programs"
	modules=$(run_group "$top/scripts/build" "$1") || return
	perf=$(run_group "$tests/run/perf-files" "${1%%-*}") || return
	make -s -C "$tests" OUTPUT="$out/programs" CROSS_COMPILE="$(kernel_cross "$1")" || return
	# The scripts clear the kernel's log, so it is saved after each of them.
	command='dmesg >/out/dmesg; sh /selftests/guest/raw.sh >/out/raw && echo all well >>/out/raw
		dmesg >/out/dmesg.raw; dmesg -c >/dev/null
		sh /selftests/guest/bytes.sh >/out/bytes; dmesg >/out/dmesg.bytes; dmesg -c >/dev/null
		sh /selftests/guest/perf.sh >/out/perf; dmesg >/out/dmesg.perf; dmesg -c >/dev/null'
	if [[ $1 == ppc64le-* ]]; then
		command+='; sh /selftests/guest/dtl.sh >/out/dtl; dmesg >/out/dmesg.dtl
			for on in 1 0; do
				sh -c "echo $on >/proc/powerpc/vcpudispatch_stats" && echo $on
			done >/out/stats; dmesg >/out/dmesg.stats'
	else
		# Run perf's tests twice: perf gives up reading a process's maps after 500 ms, which
		# may be too short with KASAN on a busy machine.
		command+="; $perf_test; $perf_test; dmesg >/out/dmesg.perf-test
			grep debug_locks /proc/lockdep_stats >/out/lockdep 2>&1"
	fi
	run_group "$tests/run/vm" "$1" --cpus 2 --mem 2G --quiet --timeout 3600 \
		--modules "$modules" --add "$tests/guest:/selftests/guest" \
		--add "$out/programs:/selftests/guest" --add "$perf:/" \
		--log "$out/console" --out "$out" -- \
		"$command" >&2 &&
		[ -s "$out/dmesg" ]
}

# When a CPU panics, the recorder prints its newest bytes.
crash()
{
	local modules out=$logs/$1/crash

	mkdir -p -- "$out"
	modules=$(run_group "$top/scripts/build" "$1") || return
	run_group "$tests/run/vm" "$1" --cpus 2 --expect-panic --quiet --timeout 600 \
		--modules "$modules" --log "$out/console" --out "$out" -- '
		cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko &&
			insmod kdtl_recorder.ko pmu=kdtl_sched config=0xf raw_bytes=480 && usleep 1000000 &&
			taskset 2 sh -c "echo c >/proc/sysrq-trigger"' >&2 || return
	tr -d '\r' <"$out/console" |
		sed -n '/kdtl_recorder: panic: CPU 1: the last 480 bytes/,/panic: end of bytes/p' \
			>"$out/bytes"
	cat -- "$out/bytes"
	[ "$(grep -c 'kdtl_recorder: CPU 1: [0-9a-f]*:\( [0-9a-f][0-9a-f]\)\{32\}$' "$out/bytes")" = 15 ] &&
		grep -q 'panic: end of bytes' "$out/bytes"
}

# passed TARGET CASE: the KUnit case has passed there.
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

# all_pass FILE: all tests of its plan have passed, and none was skipped.
all_pass()
{
	local log=$1

	cat -- "$log"
	[ "$(grep -c '^ok ' "$log")" -eq "$(sed -n 's/^1\.\.\([1-9][0-9]*\)$/\1/p' "$log")" ] &&
		! grep -q -E '^not ok|# SKIP' "$log"
}

# passing TARGET: prints the names of perf's tests that pass there.
passing()
{
	sed -n 's/^ *[0-9.]*: \(.*[^ ]\) *: Ok$/\1/p' "$logs/$1/perf-test" | sort -u
}

# perfs_own TARGET STOCK: perf's tests that pass in STOCK, a kernel without the patch, pass in
# TARGET.
perfs_own()
{
	local perf

	mkdir -p -- "$logs/$2"
	perf=$(run_group "$tests/run/perf-files" "${2%%-*}") || return
	run_group "$tests/run/vm" "$2" --cpus 2 --mem 2G --quiet --timeout 1800 --add "$perf:/" \
		--log "$logs/$2/console" --out "$logs/$2" -- "$perf_test" >&2 || return
	echo "$(passing "$2" | wc -l) pass in $2, $(passing "$1" | wc -l) in $1"
	! comm -23 <(passing "$2") <(passing "$1") | grep . && [ -n "$(passing "$2")" ]
}

# If something is wrong, the kernel reports it: see no_report().
switched()
{
	[ "$(tr '\n' ' ' <"$logs/$1/stats")" = '1 0 ' ]
}

# lockdep was on to the end: it gives up at its first report. KUnit runs before there is an init.
checked()
{
	cat -- "$logs/$1/lockdep"
	grep -q 'debug_locks: *1' "$logs/$1/lockdep"
}

# The machine came up, and the kernel has reported nothing.
no_report()
{
	local out=$logs/$1

	[ -s "$out/dmesg.raw" ] || { echo "the machine has left no log"; return 1; }
	awk -v races=kdtl -f "$here/lib/reports.awk" "$out/console" "$out"/dmesg* >"$out/reports"
	cat -- "$out/reports"
	[ ! -s "$out/reports" ]
}

# machine TARGET: runs all tests of one machine.
machine()
{
	local name

	ok "$1: a kernel with it builds and boots" boot "$1"
	for name in "${names[@]}"; do
		ok "$1: perf_aux: $name" passed "$1" "$name"
	done
	ok "$1: raw sessions of kdtl (kdtl_kunit_raw)" raw_sessions "$1"
	ok "$1: the recorder over a PMU of perf's (bytes.sh)" all_pass "$logs/$1/bytes"
	ok "$1: and in a panic" crash "$1"
	ok "$1: perf's mmap of an AUX area (perf.sh)" all_pass "$logs/$1/perf"
	if [[ $1 == ppc64le-* ]]; then
		ok "$1: sessions on vpa_dtl see what those on kdtl_vpa do" \
			all_pass "$logs/$1/dtl"
		ok "$1: two tasks switch vcpudispatch_stats on and off" switched "$1"
	else
		ok "$1: perf's own tests pass as in Debian's kernel" perfs_own "$1" "${1%-aux}"
		ok "$1: lockdep was on until the end" checked "$1"
	fi
	ok "$1: the kernel reports nothing" no_report "$1"
}

rm -rf -- "$logs"
mkdir -p -- "$logs"
mapfile -t names < <(cases)
[ "${#names[@]}" -gt 0 ] || bail_out "no cases in ${patch[0]}"
plan $((1 + ${#machines[@]} * (${#names[@]} + 8)))
ok "checkpatch --strict finds nothing in the patch" \
	"$top/scripts/checkpatch" --patches "${patch[0]}"
for target in "${machines[@]}"; do
	machine "$target"
done
finish
