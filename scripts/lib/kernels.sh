# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Read scripts/kernels, and say how to build for a target. Needs common.sh.

_kernels=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/../kernels

# kernel_targets [HOW]...: print all targets, or those of these kinds.
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

# kernel_newest: print the target that is the newest kernel, for x86-64.
kernel_newest()
{
	awk '$1 == "range" { print "x86_64-" $3 }' "$_kernels"
}

# kernel_variant VARIANT: print the target that is this variant of a kernel for x86-64.
kernel_variant()
{
	kernel_targets stock source | grep -x "x86_64-[^-]*-$1"
}

# kernel_of MACHINE: print the target whose kernel it boots. A guest of Linux's own hypervisor boots
# its host's kernel.
kernel_of()
{
	case $1 in
	ppc64le-nested) echo ppc64le-6.1 ;;
	ppc64le-nested-7.2) echo ppc64le-7.2 ;;
	kvm-x86) echo x86_64-6.1 ;;
	kvm-arm64) echo arm64-6.1 ;;
	*) echo "$1" ;;
	esac
}

# kernel_series TARGET: print the series, for instance 7.3 for x86_64-7.3-debug.
kernel_series()
{
	cut -d - -f 2 <<<"$1"
}

# kernel_deb_arch TARGET: print Debian's name of its architecture.
kernel_deb_arch()
{
	case $1 in
	x86_64-*) echo amd64 ;;
	ppc64le-*) echo ppc64el ;;
	*) echo "${1%%-*}" ;;
	esac
}

# kernel_arch TARGET: print kbuild's name of its architecture.
kernel_arch()
{
	case $1 in
	ppc64*) echo powerpc ;;
	s390x-*) echo s390 ;;
	riscv64-*) echo riscv ;;
	armhf-*) echo arm ;;
	*) echo "${1%%-*}" ;;
	esac
}

# kernel_cross TARGET: print the prefix of its compiler's name; nothing for this machine's compiler.
kernel_cross()
{
	case $1 in
	ppc64*) echo powerpc64le-linux-gnu- ;;
	arm64-*) echo aarch64-linux-gnu- ;;
	armhf-*) echo arm-linux-gnueabihf- ;;
	i386-*) echo i686-linux-gnu- ;;
	s390x-* | riscv64-*) echo "${1%%-*}-linux-gnu-" ;;
	esac
}

# kernel_cc32 TARGET: print the compiler for programs of 32 bits if its kernel, of 64 bits, runs
# them; nothing if it does not, or if Debian has no such compiler.
kernel_cc32()
{
	case $1 in
	x86_64-*-aux | x86_64-*-debug | x86_64-*-kcsan | x86_64-*-proxy | *-64k) ;;
	x86_64-*) echo i686-linux-gnu-gcc ;;
	arm64-*) echo arm-linux-gnueabihf-gcc ;;
	s390x-6.1) echo s390x-linux-gnu-gcc -m31 ;;	# 7.2 runs none any more
	esac
}

# kernel_deps TARGET: print the name by which scripts/install-deps knows the packages to build for
# the target and to boot it.
kernel_deps()
{
	case $1 in
	x86_64-*) echo demo ;;
	um-*) echo build ;;
	ppc64*) echo ppc64le ;;
	*) echo "${1%%-*}" ;;
	esac
}

# kernel_make_args TARGET: set ${make_args[@]} to make's arguments to build for the target. The
# compiler is gcc-12, even if Debian built the kernel with another one.
kernel_make_args()
{
	local cross

	cross=$(kernel_cross "$1")
	make_args=(ARCH="$(kernel_arch "$1")" ${cross:+"CROSS_COMPILE=$cross"}
		CC="${cross}gcc-12")
	# Before version 13 gcc lacks an option with which newer kernels on POWER trace
	# functions, so functions of these modules cannot be traced.
	[[ $1 != ppc64le-* || $1 == *-6.1 ]] || make_args+=(CC_FLAGS_FTRACE=)
	# Newer kernels on s390 lie more than 2 GiB above their modules, and Debian 12's QEMU
	# computes addresses at that distance wrong (larl). With this option modules load the
	# addresses of per-CPU variables from memory.
	[[ $1 != s390x-* || $1 == *-6.1 ]] ||
		make_args+=(KCFLAGS=-DCONFIG_DEBUG_FORCE_WEAK_PER_CPU)
}
