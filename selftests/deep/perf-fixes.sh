#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the fixes among the patches of scripts/upstream/perf: each one passes checkpatch, and for
# each one a program shows what goes wrong in a kernel without it, and that nothing goes wrong with
# all of them.
#
# "Without" is the debug kernel, "with" is the variant aux, which is the same kernel with the
# patches. aux_gone.ko has a PMU whose device can be unbound.
#
# A case that kills the kernel has a machine of its own, which does nothing else.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"

without=$(kernel_variant debug)
with=$(kernel_variant aux)
logs=${KDTL_LOGS:-$KDTL_CACHE}/perf-fixes

# Each case of perf_fixes, the patch that mends it, whether the kernel dies without it, and what is
# seen then.
cases='
leak   1 goes_wrong (# .*rb_alloc_aux|wrong: something of an AUX area has leaked)
unbind 2 goes_wrong BUG: KASAN: slab-use-after-free in gone_free_aux
other  2 goes_wrong BUG: KASAN: slab-use-after-free in gone_free_aux
rmmod  2 dies BUG: unable to handle page fault for address
'

# build TARGET: builds aux_gone.ko in $work/TARGET.
build()
{
	local make_args dir=$work/$1

	cp -r -- "$here/perf-fixes" "$dir" || return
	kernel_make_args "$1"
	if ! nice make -s -C "$(cat -- "$work/kdir.$1")" M="$dir" "${make_args[@]}" W=1 \
		modules >"$dir/log" 2>&1 || grep -q 'warning:' "$dir/log"; then
		cat -- "$dir/log"
		return 1
	fi
}

# boot LOG TARGET CASE...: runs these cases.
boot()
{
	local log=$1 target=$2 status=0

	shift 2
	run_group "$tests/run/vm" "$target" --cpus 2 --timeout 1800 --quiet \
		--log "$logs/$log" --modules "$work/$target" \
		--add "$work/perf_fixes:/bin/" --add "$here/lib/perf-fixes-guest.sh:/" -- \
		sh /perf-fixes-guest.sh "$@" >&2 || status=$?
	echo "the machine: exit status $status" >>"$logs/$log"
}

# dies CASE WORDS: without patches, the kernel says WORDS after the case has begun, and panics.
dies()
{
	boot "dies.$1" "$without" "$1"
	sed -n "/^begin $1\$/,\$p" "$logs/dies.$1" >"$work/dies"
	if ! grep -a -E -e "$2" "$work/dies" ||
		! grep -q '^the machine: exit status 99$' "$work/dies"; then
		tail -n 5 -- "$logs/dies.$1"
		return 1
	fi
}

goes_wrong()
{
	grep -a -E "^(said|end) $1 " "$logs/without"
	grep -a -q -E "^said $1 $2" "$logs/without"
}

# mended CASE: the kernel has freed the area with the PMU, and has reported nothing.
mended()
{
	grep -a -E "^(said|end) $1 " "$logs/with"
	grep -a -q "^end $1 0\$" "$logs/with" &&
		! grep -a "^said $1 " "$logs/with" | grep -v ' aux_gone aux_gone: 0 areas left$'
}

all_well()
{
	tail -n 3 -- "$logs/with"
	grep -a -q '^the machine: exit status 0$' "$logs/with"
}

rm -rf -- "$logs"
mkdir -p -- "$logs"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-perf-fixes.XXXXXX")
partial "$work"
patches=("$top"/scripts/upstream/perf/*.patch)
names=$(awk 'NF { print $1 }' <<<"$cases")
plan $((2 * $(wc -w <<<"$names") + 2))
for target in $without $with; do
	capture "$top/scripts/kernel" "$target" kdir || bail_out "no kernel $target"
	echo "$captured" >"$work/kdir.$target"
	step "build aux_gone for $target" build "$target" || bail_out "aux_gone does not build"
done
step "build perf_fixes" gcc -O2 -Wall -Wextra -std=gnu11 -static \
	-o "$work/perf_fixes" "$here/lib/perf_fixes.c" || bail_out "perf_fixes does not build"

ok "checkpatch --strict finds nothing" "$top/scripts/checkpatch" --patches "${patches[@]}"
# shellcheck disable=SC2086 # several words
boot with $with $names
boot without $without leak unbind other
while read -r name patch how words; do
	[ -n "$name" ] || continue
	ok "$patch without: $name" "$how" "$name" "$words" </dev/null
	ok "$patch: $name" mended "$name"
done <<<"$cases"
ok "the machine with the patches ends well" all_well
rm -rf -- "$work"
finished "$work"
finish
