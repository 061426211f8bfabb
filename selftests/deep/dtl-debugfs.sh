#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The patch of scripts/upstream/pseries-dtl makes the kernel's own files of POWER's log a user of
# kdtl. It must pass checkpatch and apply after the patches of vpa-dtl, and the files must do what
# they did before, in a POWER machine with kdtl_fake_hv. The new file is built as a module for a
# kernel that has no such files (CONFIG_DTL), with kdtl_vpa as its source.
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

target=ppc64le-6.1
logs=${KDTL_LOGS:-$KDTL_CACHE}/dtl-debugfs
file=arch/powerpc/platforms/pseries/dtl-debugfs.c

# applies: it applies after the patches of vpa-dtl, and code that it makes superfluous is gone.
applies()
{
	local patches=("$top"/scripts/upstream/vpa-dtl/*.patch "$patch") all=$work/linux

	mkdir -- "$all" &&
		(cd -- "$src" && sed -n 's|^+++ b/||p' "${patches[@]}" | sort -u |
			while read -r f; do [ ! -f "$f" ] || cp --parents -t "$all" "$f"; done) &&
		cat -- "${patches[@]}" | patch -p1 -s --fuzz=0 -d "$all" &&
		! grep -r -E 'dtl_users_(add|remove)\(|dtl_consumer|struct dtl_ring' "$all"
}

# build BUILT: builds the new file against the kdtl in that folder.
build()
{
	local dir=$work/module

	mkdir -- "$dir" && cp -r -- "$1"/api/include "$dir/" &&
		sed "s/\"vpa_dtl\"/\"kdtl_vpa\"/" "$work/linux/$file" >"$dir/dtl-debugfs.c" || return
	# shellcheck disable=SC2016 # make's
	printf '%s\n' 'obj-m := dtl-debugfs.o' 'ccflags-y := -I$(src)/include' >"$dir/Kbuild"
	nice make -s -C "$kdir" M="$dir" KBUILD_EXTRA_SYMBOLS="$1/Module.symvers" W=1 \
		"${make_args[@]}" modules >"$logs/build" 2>&1 && ! grep -i warning "$logs/build" &&
		return
	cat -- "$logs/build"
	return 1
}

# modules BUILT: collects the machine's modules.
modules()
{
	mkdir -- "$work/ko" && cp -- "$work/module/dtl-debugfs.ko" "$1/kdtl.ko" \
		"$1/core/pmu/kdtl_vpa.ko" "$1/selftests/fake/kdtl_fake_hv.ko" "$work/ko/"
}

boot()
{
	nice "$tests/run/vm" $target --cpus 2 --timeout 900 --quiet --log "$logs/console" \
		--modules "$work/ko" --add "$tests/guest:/selftests/guest" \
		--add "$here/lib/dtl-debugfs-guest.sh:/selftests/guest/" -- \
		sh /selftests/guest/dtl-debugfs-guest.sh >&2
	tr -d '\r' <"$logs/console" | grep -a -E '^(not )?ok |^# '
	[ "$(tr -d '\r' <"$logs/console" | grep -a -c '^ok ')" = 9 ] &&
		! grep -a -q -E '^not ok|BUG:|WARNING:' "$logs/console"
}

"$top/scripts/install-deps" ppc64le || skip_all "no cross-compiler or QEMU"
rm -rf -- "$logs"
mkdir -p -- "$logs"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-dtl-debugfs.XXXXXX")
partial "$work"
capture "$top/scripts/kernel" ppc64le-7.2 source
src=$captured
capture "$top/scripts/kernel" $target kdir
kdir=$captured
kernel_make_args $target
capture "$top/scripts/build" $target
built=$captured
patch=$(echo "$top"/scripts/upstream/pseries-dtl/0001-*.patch)
plan 5
ok "checkpatch --strict finds nothing" "$top/scripts/checkpatch" --patches "$patch"
ok "it applies after the patches of vpa-dtl, and leaves nothing behind" applies
ok "it builds without a warning" build "$built"
ok "the modules are there" modules "$built"
ok "in a machine: programs share a CPU's log, and each has all entries" boot
rm -rf -- "$work"
finished "$work"
finish
