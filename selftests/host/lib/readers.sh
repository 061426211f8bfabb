# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs kdtl(1) of other architectures by QEMU, without a kernel. Needs $top and kernels.sh.
#
# shellcheck disable=SC2154 # set by the script

# reader_build ARCH DIR: builds kdtl(1) for ARCH, as scripts/kernels calls it, in DIR/ARCH.
reader_build()
{
	make -s -C "$top/clients/stream/tool" OUTPUT="$2/$1" CROSS_COMPILE="$(kernel_cross "$1-")"
}

# reader_of ARCH DIR: sets ${reader[@]} to the command that runs it.
reader_of()
{
	case $1 in
	armhf) reader=(qemu-arm) ;;
	arm64) reader=(qemu-aarch64) ;;
	*) reader=("qemu-$1") ;;
	esac
	reader+=("$2/$1/kdtl")
}
