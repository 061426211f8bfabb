# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Stock Debian kernels, image and headers, unpacked side by side in the cache.
# Needs common.sh and apt.sh.

# debian_kernel TARGET ARCH IMAGE: IMAGE is the meta-package that names the
# present version.
debian_kernel()
{
	local target=$1 arch=$2 meta=$3 image version release final kbuild
	local headers common

	need_tool vm busybox xz
	apt_state bookworm "$arch"
	image=$(apt_dependency "$meta" 'linux-image-[0-9].*') ||
		die "the mirror has no $meta for $arch"
	version=$(apt_version "$image")
	release=${image#linux-image-}
	final=$KDTL_CACHE/kernel/$target@$version
	if [ ! -d "$final" ]; then
		headers=linux-headers-$release
		common=$(apt_dependency "$headers" 'linux-headers-.*-common') ||
			die "the mirror has no $headers for $arch:" \
				"half-synced? try again later"
		kbuild=$(apt_dependency "$headers" 'linux-kbuild-.*')
		new_dir "$final"
		# shellcheck disable=SC2154 # set by new_dir
		step "get $image" apt_unpack "$new_dir/root" "$image"
		step "get $headers" \
			apt_unpack "$new_dir/root" "$headers" "$common"
		# The build tools run here, whatever the target. The same
		# version if it can be had.
		apt_state bookworm "$(dpkg --print-architecture)"
		! apt_has "$kbuild=$version" || kbuild=$kbuild=$version
		step "get $kbuild" apt_unpack "$new_dir/root" "$kbuild"
		step "link headers, index modules" \
			_debian_arrange "$new_dir" "$release"
		install_dir "$new_dir" "$final"
	fi
	ln -sfn -- "${final##*/}" "$KDTL_CACHE/kernel/$target"
}

# _debian_arrange DIR RELEASE: DIR/{vmlinuz,kdir,modules,version} out of
# DIR/root.
_debian_arrange()
{
	local dir=$1 release=$2 image kdir top

	for image in "$dir"/root/boot/vmlinu[xz]-"$release"; do
		[ -e "$image" ] || continue
		ln -s "root/boot/${image##*/}" "$dir/vmlinuz" || return
	done
	[ -e "$dir/vmlinuz" ] || return

	# Debian's headers name their other half by an absolute path.
	kdir=$dir/root/usr/src/linux-headers-$release
	sed -i 's|^include /usr/src/|include ../|' "$kdir/Makefile" || return
	ln -s "root/usr/src/${kdir##*/}" "$dir/kdir" || return

	top=$dir/root
	[ -d "$top/lib/modules" ] || top=$dir/root/usr
	ln -s "${top#"$dir"/}" "$dir/modules" || return
	rm -f -- "$top/lib/modules/$release/"{build,source} || return
	# insmod in the guests wants them uncompressed.
	find "$top/lib/modules" -name '*.ko.xz' -exec xz -d {} + || return
	busybox depmod -b "$top" "$release" || return

	echo "$release" >"$dir/version"
}
