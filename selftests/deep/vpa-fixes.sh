#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests the patches of scripts/upstream/vpa-dtl, which mend Linux's own vpa_dtl, and then give it
# what kdtl_vpa does better. Each one applies to the newest kernel, passes checkpatch and builds,
# and for each one a program shows, in a POWER machine with kdtl_fake_hv, what goes wrong without
# it, and that nothing goes wrong with all of them. The patch for guests of KVM is tested in a guest
# of KVM-HV.
#
# A case that kills the kernel has a machine of its own, which does nothing else.
#
# "Without" is the PMU of Debian's kernel, which has the driver as it is in Linux. "With" is the
# patched driver, built as a module that registers its PMU beside that one. Failures without memory,
# or in atomic context, can be seen in a module only, so for these two the unpatched driver is built
# as a module, too. For the patches that add something, "without" is the driver with all patches
# before that one.
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

target=ppc64le-7.2
logs=${KDTL_LOGS:-$KDTL_CACHE}/vpa-fixes
driver=arch/powerpc/perf/vpa-dtl.c

# Each case of vpa_fixes, the patch that mends it, whether the kernel dies without it, and what is
# seen then.
cases='
task     1 dies NIP .* vpa_dtl_event_init
period   2 dies BUG: Unable to handle kernel instruction fetch
killed   2 dies BUG: Unable to handle kernel instruction fetch
reenable 3 dies NIP .* vpa_dtl_event_add
second   3 goes_wrong wrong: (after a second event|entry 10 is not)
memory   4 goes_wrong wrong: after an event without memory: Device or resource busy
atomic   5 goes_wrong vpa_dtl_stock: an allocation that may sleep, in atomic context
full     6 goes_wrong wrong: what nobody has read was overwritten
wrap     6 goes_wrong wrong: (entry|a piece|round the area|[0-9]+ bytes are said)
lapped   8 goes_wrong wrong: [0-9]+ entries are missing, and no AUX record says so
last     9 goes_wrong wrong: 0 entries after read
guest   10 lacks insmod: .*No such device
burst   11 lacks wrong: 84 entries of 800
kept    11 lacks wrong: the log that was not given back: .*someone else wrote
faster  12 lacks wrong: entry [0-9]+ is the hypervisor.s
several 13 lacks wrong: a second event: Device or resource busy
'

# --- on this machine ----------------------------------------------------------------

# series DIR: puts the driver with 0, 1, ... patches into DIR/0, DIR/1, ...
series()
{
	local n=0 patch

	mkdir -p -- "$1/0" &&
		(cd -- "$src" && sed -n 's|^+++ b/||p' "${patches[@]}" | sort -u |
			xargs cp --parents -t "$1/0") || return
	for patch in "${patches[@]}"; do
		cp -r -- "$1/$n" "$1/$((n + 1))" &&
			patch -p1 -s --fuzz=0 -d "$1/$((n + 1))" <"$patch" || return
		n=$((n + 1))
	done
}

# kmake DIR ARGUMENT...: builds modules in DIR, silently.
kmake()
{
	local dir=$1

	shift
	nice make -s -C "$kdir" M="$dir" "${make_args[@]}" "$@" modules >"$dir/log" 2>&1 || {
		cat -- "$dir/log"
		return 1
	}
}

# hypervisor: builds kdtl_fake_hv only, because the patches are tested without kdtl.
hypervisor()
{
	local dir=$work/hypervisor

	mkdir -p -- "$dir/core" "$dir/api" "$dir/selftests/fake" "$work/ko" &&
		cp -- "$top/core/compat.h" "$dir/core/" &&
		cp -r -- "$top/api/include" "$dir/api/" &&
		cp -- "$tests"/fake/{kdtl_fake_hv.[ch],line.h} "$dir/selftests/fake/" || return
	echo 'obj-m := selftests/fake/' >"$dir/Kbuild"
	# shellcheck disable=SC2016 # make's
	printf '%s\n' 'obj-m := kdtl_fake_hv.o' 'ccflags-y := -I$(src)/../../api/include' \
		>"$dir/selftests/fake/Kbuild"
	kmake "$dir" && cp -- "$dir/selftests/fake/kdtl_fake_hv.ko" "$work/ko/"
}

# build N NAME: builds the driver with N patches as the module NAME.
build()
{
	local dir=$work/modules/$1

	mkdir -p -- "$dir" &&
		cp -- "$here"/vpa-fixes/* "$work/series/$1/$driver" "$dir/" &&
		kmake "$dir" VPA_DTL="$2" W=1 && cp -- "$dir/$2.ko" "$work/ko/"
}

# No patch brings a warning that was not there without patches.
builds()
{
	local n

	for n in $(seq 1 ${#patches[@]}); do
		build "$n" "vpa_dtl_$n" || return
		! diff <(warnings 0) <(warnings "$n") | grep '^>' || return
	done
}

warnings()
{
	grep -h 'warning:' "$work/modules/$1/log" | sed 's/:[0-9]*:[0-9]*:/:/' | sort -u
}

# barrier N: the entries are ordered before perf's head: there is an lwsync before the call, and
# nothing but moves between registers after it.
barrier()
{
	powerpc64le-linux-gnu-objdump -dr "$work/modules/$1/vpa-dtl.o" | awk '
		/lwsync/ { at = NR }
		/R_PPC64_REL24.*perf_aux_output_end/ {
			ends++
			if (!at || NR - at > 8)
				bare++
		}
		/\t(stb|sth|stw|std|stvx|stxv)|R_PPC64_REL24.*memcpy/ { at = 0 }
		END {
			print ends + 0, "ends,", bare + 0, "without a barrier"
			exit !ends || bare
		}'
}

# --- in the machine -----------------------------------------------------------------

# boot LOG MACHINE PMU CASE... [PMU CASE...]...: runs these cases.
boot()
{
	local log=$1 machine=$2 status=0

	shift 2
	nice "$tests/run/vm" "$machine" --cpus 2 --timeout 1800 --quiet --survive-oops \
		--log "$logs/$log" --modules "$work/ko" --add "$work/vpa_fixes:/bin/" \
		--add "$here/lib/vpa-fixes-guest.sh:/" -- \
		sh /vpa-fixes-guest.sh "$@" >&2 || status=$?
	echo "the machine: exit status $status" >>"$logs/$log"
}

# dies CASE WORDS: without patches, the kernel says WORDS after the case has begun.
dies()
{
	boot "dies.$1" $target vpa_dtl "$1"
	sed -n "/^begin vpa_dtl $1\$/,\$p" "$logs/dies.$1" >"$work/dies"
	grep -a -E -e "$2" "$work/dies" && return
	tail -n 5 -- "$logs/dies.$1"
	return 1
}

# goes_wrong CASE WORDS: without patches this was seen, in the machines that ran all cases that do
# not kill the kernel.
goes_wrong()
{
	local pmu=vpa_dtl name=$1

	case $1 in
	memory) pmu=vpa_dtl_stock ;;
	atomic) pmu=vpa_dtl_stock name=second ;;
	esac
	grep -a -h -E "^(said|end) $pmu $name " "$logs/stock" "$logs/module"
	grep -a -h -q -E "^said $pmu $name $2" "$logs/stock" "$logs/module"
}

# lacks CASE WORDS: this was seen with the patches before this one.
lacks()
{
	local pmu=vpa_dtl_$((patch - 1))

	grep -a -h -E "^(said|end) $pmu $1 " "$logs/before" "$logs/guest"
	grep -a -h -q -E "^said $pmu $1 $2" "$logs/before" "$logs/guest"
}

# mended CASE: all is well with all patches, in the machine that ran all cases, or in KVM's.
mended()
{
	local name=$1

	[ "$1" != atomic ] || name=second
	grep -a -h -E "^(said|end) $mended $name " "$logs/mended" "$logs/guest"
	grep -a -h -q "^end $mended $name 0\$" "$logs/mended" "$logs/guest" &&
		! grep -a -h "^said $mended $name " "$logs/mended" "$logs/guest" |
			grep -q -v " $name note: "
}

all_well()
{
	tail -n 3 -- "$logs/mended"
	grep -a -q '^the machine: exit status 0$' "$logs/mended" &&
		[ "$(grep -a '^complaint ' "$logs/mended")" = 'complaint none' ]
}

"$top/scripts/install-deps" ppc64le || skip_all "no cross-compiler or QEMU"
rm -rf -- "$logs"
mkdir -p -- "$logs"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-vpa-fixes.XXXXXX")
partial "$work"
capture "$top/scripts/kernel" $target source
src=$captured
capture "$top/scripts/kernel" $target kdir
kdir=$captured
kernel_make_args $target
patches=("$top"/scripts/upstream/vpa-dtl/*.patch)
mended=vpa_dtl_${#patches[@]}
step "build vpa_fixes" powerpc64le-linux-gnu-gcc -O2 -Wall -Wextra -std=gnu11 -static \
	-o "$work/vpa_fixes" "$here/lib/vpa_fixes.c" || bail_out "vpa_fixes does not build"
step "apply the patches" series "$work/series" || bail_out "the patches do not apply"
step "build kdtl_fake_hv" hypervisor || bail_out "kdtl_fake_hv does not build"
step "build the driver without patches" build 0 vpa_dtl_stock ||
	bail_out "the driver does not build"

names=$(awk 'NF { print $1 }' <<<"$cases")
plan $((2 * $(wc -w <<<"$names") + 5))
without_barrier()
{
	! barrier 6
}

ok "checkpatch --strict finds nothing" "$top/scripts/checkpatch" --patches "${patches[@]}"
ok "each patch builds, without new warnings (W=1)" builds
ok "7 without: no barrier before perf's head" without_barrier
ok "7: a barrier before perf's head" barrier ${#patches[@]}
# shellcheck disable=SC2046,SC2086 # several words
boot mended $target "$mended" $(grep -v -x -e atomic -e guest <<<"$names")
boot stock $target vpa_dtl second full wrap lapped last
# After "memory" nobody can get the lock any more.
boot module $target vpa_dtl_stock second memory
boot before $target vpa_dtl_10 burst kept vpa_dtl_11 faster vpa_dtl_12 several
boot guest ppc64le-nested-7.2 vpa_dtl_9 guest "$mended" guest
while read -r name patch how words; do
	[ -n "$name" ] || continue
	ok "$patch without: $name" "$how" "$name" "$words" </dev/null
	ok "$patch: $name" mended "$name"
done <<<"$cases"
ok "the machine with the patches ends well" all_well
rm -rf -- "$work"
finished "$work"
finish
