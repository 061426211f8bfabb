# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# LTTng's modules, built from Debian's source package for a kernel; nothing is installed. Needs
# common.sh, apt.sh, initramfs.sh and $top.

# Build only what traces the scheduler, so that another probe, whose tracepoint a stable kernel has
# changed since, cannot keep the rest from being built.
_lttng_build()
{
	local src=$1 kdir=$2

	sed -i 's/^\( *\)\(obj-.*lttng-probe-\)/\1# \2/
		s/^\( *\)# \(obj-.*lttng-probe-sched\.o\)/\1\2/' \
		"$src/src/probes/Kbuild" &&
		make -C "$src" -j"$(nproc)" KERNELDIR="$kdir" modules
}

_lttng_install()
{
	local kdir=$1 release=$2 src modules

	new_dir "$lttng"
	src=$new_dir/src
	modules=$new_dir/lib/modules/$release
	mkdir -p -- "$modules" &&
		cp -a -- "$deb_tree"/usr/src/lttng-modules-* "$src" || return
	step "build LTTng's modules" _lttng_build "$src" "$kdir" || return
	find "$src" -name '*.ko' -exec strip -g {} + -exec mv -t "$modules" {} + || return
	rm -rf -- "${src:?}" || return
	# Without these two depmod writes indexes that libkmod does not take.
	touch -- "$modules/modules.order" "$modules/modules.builtin" &&
		PATH=$PATH:/usr/sbin:/sbin depmod -b "$new_dir" "$release" || return
	install_dir "$new_dir" "$lttng"
}

# lttng_modules TARGET: sets $lttng to a directory that has the modules, without their debug
# information, and the indexes of depmod in lib/modules/RELEASE. Fails if they cannot be had.
lttng_modules()
{
	local target=$1 kdir release status=0

	capture "$top/scripts/kernel" "$target" kdir
	kdir=$captured
	capture "$top/scripts/kernel" "$target" version
	release=$captured
	with_lock "lttng-$release"
	deb_tree lttng-modules-dkms amd64
	lttng=$(readlink -f -- "$deb_tree")-$release
	[ -d "$lttng/lib" ] || _lttng_install "$kdir" "$release" || status=$?
	unlock
	return "$status"
}
