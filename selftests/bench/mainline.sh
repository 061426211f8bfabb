# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Linux's own users of the hypervisor's log, the vpa_dtl PMU and debugfs
# powerpc/dtl, built as a module for the kernel that is measured, because
# Debian's kernel has neither. The sources are those of 7.2, unchanged. Needs
# common.sh and $top.

_mainline_build()
{
	local src=$1 kdir=$2 dir=$3

	cp -- "$top"/selftests/bench/mainline/* "$top/core/compat.h" "$dir/" &&
		cp -- "$src/arch/powerpc/perf/vpa-dtl.c" \
			"$src/arch/powerpc/platforms/pseries/dtl.c" "$dir/" &&
		make -C "$kdir" M="$dir" ARCH=powerpc \
			CROSS_COMPILE=powerpc64le-linux-gnu- modules
}

# mainline_dtl TARGET DIR: builds mainline_dtl.ko in DIR. Fails if it cannot be
# had.
mainline_dtl()
{
	local src

	# The sources are the same for all targets of 7.2.
	capture "$top/scripts/kernel" ppc64le-7.2 source
	src=$captured
	capture "$top/scripts/kernel" "$1" kdir
	rm -rf -- "${2:?}"
	mkdir -p -- "$2"
	step "build Linux's own users of the log" \
		_mainline_build "$src" "$captured" "$2"
}
