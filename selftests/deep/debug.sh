#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs all tests and all clients in kernels with checkers, which must report nothing. Before that,
# each kernel must find mistakes that are made on purpose.
#
#	selftests/deep/debug.sh [debug|kcsan|rt]...
#
# TORTURE_SECONDS  for how long selftests/guest/torture.sh runs in each kernel (60)
# PROGRAMS         how many programs of each kind selftests/guest/fuzz.sh runs (40)
# KDTL_HOURS       how many hours all tests in a kernel may take (5)

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=../run/lib/guest.sh
. "$tests/run/lib/guest.sh"

# It takes an hour on two idle CPUs; this limit ends a test that waits for ever.
hours=${KDTL_HOURS:-5}
kernels=${*:-debug kcsan rt}
logs=${KDTL_LOGS:-$KDTL_CACHE}/debug

# The mistakes of kdtl_wrong.ko, and how each is reported. Those that lockdep finds come first,
# because the reports of other checkers switch lockdep off.
declare -A mistakes=(
	[debug]='deadlock:WARNING: possible circular locking dependency
uaf:BUG: KASAN: slab-use-after-free in .*kdtl_wrong
bounds:BUG: KASAN: vmalloc-out-of-bounds in .*kdtl_wrong
shift:UBSAN: shift-out-of-bounds in .*kdtl_wrong
list:list_del corruption
warn:WARNING: .*kdtl_wrong
sleep:BUG: sleeping function called from invalid context
leak:unreferenced object .*size 1
schedule:BUG: scheduling while atomic: insmod'
	[kcsan]='race:BUG: KCSAN: data-race in .*kdtl_wrong
list:list_del corruption
warn:WARNING: .*kdtl_wrong'
	[rt]='warn:WARNING: .*kdtl_wrong
schedule:BUG: scheduling while atomic: insmod'
)

# reports CONSOLE: prints the checkers' reports, but data races only if kdtl is involved.
reports()
{
	awk -v races=kdtl -f "$here/lib/reports.awk" "$1"
}

# boot KERNEL NAME OPTION... -- COMMAND...: boots it; what it says is in $logs/KERNEL/NAME.
#
# Each two CPUs are one core, so that core scheduling has something to do.
#
# Stalls of CPUs are not checked, because on a starved host lost time looks like one.
boot()
{
	local target out=$logs/$1

	target=$(kernel_variant "$1") || return
	shift
	run_group "$tests/run/vm" "$target" --cpus 4,threads=2 --quiet \
		--log "$out/$1" --modules "$modules" \
		--append "rcupdate.rcu_cpu_stall_suppress=1 nosoftlockup memmap=1M\$0x30000000" \
		"${@:2}" >&2
}

# finds KERNEL: each mistake is made there, and its report is found.
finds()
{
	local kernel=$1 out=$logs/$1 what how rc=0

	# shellcheck disable=SC2046 # several words
	boot "$kernel" wrong.console --timeout 1800 --survive-oops \
		--add "$here/lib/wrong-guest.sh:/" -- \
		sh /wrong-guest.sh $(cut -d : -f 1 <<<"${mistakes[$kernel]}") || return
	reports "$out/wrong.console" >"$out/wrong.reports"
	while IFS=: read -r what how; do
		grep -q -e "$how" "$out/wrong.reports" && continue
		echo "$what is not reported: $how"
		rc=1
	done <<<"${mistakes[$kernel]}"
	return $rc
}

# run KERNEL NAME...: runs these tests in one boot.
run()
{
	local kernel=$1 out=$logs/$1 panic=1 append=' panic_on_warn=1'

	shift
	mkdir -p -- "$out/programs"
	step "build test programs" make -s -C "$tests" OUTPUT="$out/programs" || return
	# A data race elsewhere in the kernel must not end the run.
	[ "$kernel" != kcsan ] || panic=0 append=
	boot "$kernel" console --timeout $((hours * 3600)) --out "$out" \
		--append "$append" \
		--add "$tests:/selftests" --add "$out/programs:/selftests/guest" -- \
		env ROUNDS=100 KDTL_RACE_MS=30000 KDTL_PANIC_ON_WARN=$panic \
		TORTURE_SECONDS="${TORTURE_SECONDS:-60}" PROGRAMS="${PROGRAMS:-40}" \
		sh /selftests/run/tests "$@"
}

# result KERNEL NAME: prints a test's KTAP as a subtest.
result()
{
	local out=$logs/$1 status=1

	ktap_nr=$((ktap_nr + 1))
	echo "# Subtest: $1.$2"
	if [ -e "$out/$2.status" ]; then
		read -r status <"$out/$2.status"
	else
		echo "Bail out! the machine did not get that far" >"$out/$2.ktap"
	fi
	sed 's/^/    /' "$out/$2.ktap"
	case $status in
	0) echo "ok $ktap_nr $1.$2" ;;
	4) echo "ok $ktap_nr $1.$2 # SKIP $(sed -n 's/^1\.\.0 # SKIP //p' "$out/$2.ktap")" ;;
	*)
		echo "not ok $ktap_nr $1.$2"
		ktap_failed=$((ktap_failed + 1))
		;;
	esac
}

no_report()
{
	reports "$logs/$1/console" >"$logs/$1/reports"
	cat -- "$logs/$1/reports"
	[ ! -s "$logs/$1/reports" ]
}

"$top/scripts/install-deps" demo
mapfile -t names < <(guest_tests)
# shellcheck disable=SC2086 # several words
set -- $kernels
plan $(($# * (${#names[@]} + 2)))
for kernel; do
	[ -n "${mistakes[$kernel]:-}" ] || bail_out "no such kernel: $kernel"
	rm -rf -- "${logs:?}/$kernel"
	mkdir -p -- "$logs/$kernel"
	capture "$top/scripts/build" "$(kernel_variant "$kernel")"
	# shellcheck disable=SC2154 # set by capture
	modules=$captured
	ok "$kernel: finds mistakes that are there" finds "$kernel"
	start=$SECONDS
	run "$kernel" "${names[@]}" || note "what the machine said: $logs/$kernel/console"
	for name in "${names[@]}"; do
		result "$kernel" "$name"
	done
	ok "$kernel: no report" no_report "$kernel"
	note_ktap "$kernel took $((SECONDS - start)) s"
done
finish
