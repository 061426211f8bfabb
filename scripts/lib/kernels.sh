# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Read scripts/kernels, and build for a target. Needs common.sh.

_kernels=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../kernels

# kernel_targets [HOW]...: all targets, or those of these kinds.
kernel_targets()
{
	awk -v how=" $* " '!/^#/ && NF == 4 && (how == "  " || index(how, " " $2 " ")) {
		print $1 }' "$_kernels"
}

# kernel_target TARGET: print its how, suite and package; fail if there is none.
kernel_target()
{
	awk -v target="$1" '!/^#/ && NF == 4 && $1 == target { print $2, $3, $4; n++ }
		END { exit !n }' "$_kernels"
}

# kernel_series TARGET: for instance 7.2 for x86_64-7.2-debug.
kernel_series()
{
	cut -d - -f 2 <<<"$1"
}

# kernel_deb_arch TARGET: Debian's name of its architecture.
kernel_deb_arch()
{
	case $1 in
	x86_64-*) echo amd64 ;;
	ppc64le-*) echo ppc64el ;;
	*) echo "${1%%-*}" ;;
	esac
}

# kernel_make_args TARGET: set ${make_args[@]} to make's arguments to build for it. The
# compiler is this machine's, whichever one Debian used.
kernel_make_args()
{
	case $1 in
	x86_64-*) make_args=(ARCH=x86_64 CC=gcc-12) ;;
	i386-*) make_args=(ARCH=i386 CC=gcc-12) ;;
	ppc64*)
		make_args=(ARCH=powerpc CROSS_COMPILE=powerpc64le-linux-gnu-
			CC=powerpc64le-linux-gnu-gcc-12)
		;;
	*) return 1 ;;
	esac
	# Before 13 it cannot lay out what newer kernels on POWER trace functions
	# with: then functions of these modules cannot be traced.
	[[ $1 != ppc64le-* || $1 == *-6.1 ]] || make_args+=(CC_FLAGS_FTRACE=)
}
