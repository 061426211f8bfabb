# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# LTTng's modules, built from Debian's source package for the kernel that is measured; nothing is
# installed. Needs common.sh, apt.sh, initramfs.sh and $top.

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

# lttng_modules TARGET: sets $lttng to the directory of the modules, which has a file "order" with
# the order of loading. Fails if they cannot be had.
lttng_modules()
{
	local target=$1 kdir release src

	capture "$top/scripts/kernel" "$target" kdir
	kdir=$captured
	capture "$top/scripts/kernel" "$target" version
	release=$captured
	with_lock "lttng-$release"
	deb_tree lttng-modules-dkms amd64
	lttng=$(readlink -f -- "$deb_tree")-$release
	[ ! -e "$lttng/order" ] || return 0

	new_dir "$lttng"
	cp -a -- "$deb_tree"/usr/src/lttng-modules-*/. "$new_dir" || return
	src=$new_dir
	step "build LTTng's modules" _lttng_build "$src" "$kdir" || return
	find "$src/src" -name '*.ko' -exec mv -t "$src" {} + || return
	rm -rf -- "${src:?}/src" "$src/include" || return
	_lttng_order "$src" >"$src/order" || return
	install_dir "$src" "$lttng"
}

# Prints what has to be loaded for sched_switch, dependencies first.
_lttng_order()
{
	local dir=$1 m

	_lttng_seen=' '
	for m in lttng-ring-buffer-client-mmap-discard lttng-tracer \
		lttng-probe-sched; do
		_lttng_load "$dir" "$m" || return
	done
}

_lttng_load()
{
	local dir=$1 name=$2 dep

	[[ $_lttng_seen != *" $name "* ]] || return 0
	_lttng_seen+="$name "
	[ -e "$dir/$name.ko" ] || return 0	# the kernel's own
	for dep in $(objcopy -O binary -j .modinfo "$dir/$name.ko" /dev/stdout |
		tr '\0' '\n' | sed -n 's/^depends=//p' | tr ',' ' '); do
		_lttng_load "$dir" "$dep" || return
	done
	echo "$name"
}
