#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests each kernel of scripts/kernels but those of debug.sh. Modules build for it without a
# warning, by gcc with sparse and by clang. It is booted, and all scripts of selftests/guest run
# there, in their quick form. For kernels that cannot be booted, modules are only built. `make
# check-matrix` runs this.
#
#   KDTL_TARGETS  test only these

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=../run/lib/guest.sh
. "$top/selftests/run/lib/guest.sh"

tests=$(guest_tests | tr '\n' ' ')
logs=${KDTL_LOGS:-$KDTL_CACHE/matrix}

# quiet LOG COMMAND...: fails if COMMAND does, or if the compiler or modpost warns. Where there is
# no kernel to link against, modpost's unknown symbols are no warnings.
quiet()
{
	local log=$1 rc=0 known='compiler differs from|  (The kernel was built|You are using)'

	shift
	"$@" >"$log" 2>&1 || rc=$?
	[[ $target != ppc64-* ]] ||
		known+='|modpost: ".*undefined!|suppressed .* unresolved symbol'
	! grep -E -A 3 'warning|error:|WARNING|ERROR' "$log" | grep -v -E "$known" |
		grep -E 'warning|error:|WARNING|ERROR' && [ "$rc" -eq 0 ]
}

# copy DIR: copies the sources without what other builds left, so that each warning is seen.
copy()
{
	rm -rf -- "$1" && mkdir -p -- "$1" &&
		(cd -- "$top" && git ls-files -z --cached --others --exclude-standard |
			xargs -0 sh -c 'for f; do [ ! -f "$f" ] || printf "%s\0" "$f"; done' -) |
		tar -C "$top" --null -T - -cf - | tar -C "$1" -xf -
}

build()
{
	local undefined=()

	[[ $target != ppc64-* ]] || undefined=(KBUILD_MODPOST_WARN=1)
	# shellcheck disable=SC2154 # set by kernel_make_args
	make -C "$work/src" KDIR="$kdir" -j"$(nproc)" CONFIG_KDTL_SELFTESTS=m \
		CONFIG_KDTL_EXAMPLES=m W=1 \
		"${make_args[@]}" "${undefined[@]}" "$@" modules
}

with_gcc()
{
	copy "$work/src" && quiet "$logs/$target.gcc" build C=1 CF=-D__CHECK_ENDIAN__
}

# Debian's kernels are built by gcc: drop the options that only gcc has. A later CC= overrides.
with_clang()
{
	copy "$work/src" && quiet "$logs/$target.clang" build CC=clang-19 \
		CONFIG_CC_IS_GCC= CONFIG_CC_IS_CLANG=y CC_FLAGS_FTRACE= \
		CONFIG_CC_IMPLICIT_FALLTHROUGH=-Wimplicit-fallthrough \
		CONFIG_UBSAN_BOUNDS_STRICT= CONFIG_UBSAN_ARRAY_BOUNDS=y \
		KCFLAGS="-Wno-unknown-warning-option -Wno-duplicate-decl-specifier"
}

programs()
{
	# The programs of the last machine may be more than this one has.
	rm -rf -- "$work/programs"
	make -s -C "$top/selftests" OUTPUT="$work/programs" \
		CROSS_COMPILE="$(kernel_cross "$target")" CC32="$(kernel_cc32 "$target")"
}

# boot: runs the scripts; the KTAP of each is kept in $logs/TARGET.
boot()
{
	local test status rc=0 bad=0 params='' cpus=2

	# Positions that wrap past 2^64 at once; perf has the lower half of them.
	[[ $target != @(armhf|i386)-* ]] || params=aux_start=18446744073709547520
	# On other machines each CPU is a thread of the emulator, so no more CPUs than this host
	# has.
	[[ $target != x86_64-* ]] || cpus=4
	rm -rf -- "$work/modules" && mkdir -- "$work/modules" &&
		find "$work/src" -name '*.ko' -exec cp {} "$work/modules" \; &&
		programs || return
	"$top/selftests/run/vm" "$target" --cpus $cpus --timeout 7200 --quiet \
		--log "$logs/$target.console" --out "$logs/$target" \
		--modules "$work/modules" --add "$top/selftests:/selftests" \
		--add "$work/programs:/selftests/guest" -- \
		env KDTL_QUICK=1 KDTL_RACE_MS=3000 KDTL_PARAMS="$params" sh /selftests/run/tests $tests || rc=$?
	for test in $tests; do
		read -r status 2>/dev/null <"$logs/$target/$test.status" || status=none
		case $status in
		0 | 4) ;;
		*)
			echo "$test: status $status"
			grep -s '^ *not ok' "$logs/$target/$test.ktap"
			bad=1
			;;
		esac
	done
	[ $rc -eq 0 ] && [ $bad -eq 0 ]
}

# Say which tests were skipped there as a whole, and why.
say_skipped()
{
	local test

	for test in $tests; do
		sed -n "s/^1\.\.0 # SKIP/# $target: $test skipped:/p" \
			"$logs/$target/$test.ktap" 2>/dev/null || :
	done
}

# kernel_of TARGET: gets the kernel, and sets $kdir.
kernel_of()
{
	capture "$top/scripts/kernel" "$1" kdir && kdir=$captured
}

# cell NAME COMMAND...: runs a test, and adds its result to the row of the table.
cell()
{
	local failed=$ktap_failed start=$SECONDS

	ok "$target: $1" "${@:2}"
	if [ "$failed" -eq "$ktap_failed" ]; then
		row+=$(printf ' %14s' "$((SECONDS - start)) s")
	else
		row+=$(printf ' %14s' FAILED)
	fi
}

no_cell()
{
	skip "$target: $1" "$2"
	row+=$(printf ' %14s' -)
}

# For other kernels more of gcc's options would have to be dropped.
clang_fits()
{
	[[ $target == x86_64-* ]]
}

"$top/scripts/install-deps" test matrix
mkdir -p -- "$logs"
mapfile -t targets < <(kernel_targets stock prepared)
targets+=(x86_64-7.2-proxy arm64-7.2-64k)
[ -z "${KDTL_TARGETS:-}" ] || read -r -a targets <<<"$KDTL_TARGETS"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-matrix.XXXXXX")
partial "$work"
plan $((4 * ${#targets[@]}))
table=$(printf '%-16s %14s %14s %14s %14s' kernel get 'clang W=1' 'gcc, sparse' 'boot, tests')
for target in "${targets[@]}"; do
	read -r how _ < <(kernel_target "$target") || die "no such target: $target"
	row=$(printf '%-16s' "$target")
	kernel_make_args "$target"
	# This is not in a subshell, which could not set $kdir.
	start=$SECONDS
	ktap_nr=$((ktap_nr + 1))
	if kernel_of "$target"; then
		echo "ok $ktap_nr $target: get it"
		row+=$(printf ' %14s' "$((SECONDS - start)) s")
	else
		echo "not ok $ktap_nr $target: get it"
		ktap_failed=$((ktap_failed + 1))
		row+=$(printf ' %14s' FAILED)
		for what in gcc clang boot; do
			no_cell "$what" "no kernel"
		done
		table+=$'\n'$row
		continue
	fi
	if clang_fits; then
		# gcc comes first, because its modules are booted.
		cell "clang builds without a warning (W=1)" with_clang
	else
		no_cell "clang builds without a warning (W=1)" \
			"gcc's options for this kernel are not clang's"
	fi
	cell "gcc builds without a warning (W=1, sparse)" with_gcc
	if [[ $how == s* ]]; then
		cell "boots, and the tests pass" boot
		say_skipped
	else
		no_cell "boots, and the tests pass" "to build for only"
	fi
	table+=$'\n'$row
done
echo "# ${table//$'\n'/$'\n'# }"
note_ktap "took $SECONDS s; logs: $logs"
finish
