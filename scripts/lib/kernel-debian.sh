# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Stock Debian kernels, image and headers, unpacked side by side in the cache.
# Needs common.sh, apt.sh, kernels.sh and kernel-source.sh.

# This release has this machine's compiler, and its build tools run here.
_debian_here=bookworm

# debian_kernel TARGET SUITE META: get the kernel's present version, on which the meta-package META
# depends.
debian_kernel()
{
	local target=$1 suite=$2 meta=$3 arch package version release final
	local headers common kbuild parts=()

	need_tool vm busybox xz
	arch=$(kernel_deb_arch "$target")
	apt_state "$suite" "$arch"
	package=$(apt_dependency "$meta" 'linux-image-[0-9].*') ||
		die "the mirror has no $meta for $arch"
	version=$(apt_version "$package")
	release=${package#linux-image-}
	final=$KDTL_CACHE/kernel/$target@$version
	if [ ! -e "$final/version" ]; then
		headers=linux-headers-$release
		common=$(apt_dependency "$headers" 'linux-headers-.*-common') ||
			die "the mirror has no $headers for $arch:" \
				"half-synced? try again later"
		kbuild=$(apt_dependency "$headers" 'linux-kbuild-.*')
		# Newer images are split into several packages.
		mapfile -t parts < <(echo "$package"
			apt_dependency "$package" 'linux-binary-[0-9].*'
			apt_dependency "$package" 'linux-modules-[0-9].*') || :
		rm -rf -- "$final"
		partial "$final"
		mkdir -p -- "$final"
		step "get $headers" \
			apt_unpack "$final/root" "$headers" "$common"
		step "get $package" apt_unpack "$final/root" "${parts[@]}"
		_debian_tools "$target" "$release" "$version" "$kbuild" "$final" \
			"$suite"
		step "link headers, index modules" \
			_debian_arrange "$final" "$release"
		finished "$final"
	fi
	ln -sfn -- "${final##*/}" "$KDTL_CACHE/kernel/$target"
}

# _debian_tools TARGET RELEASE VERSION KBUILD DIR SUITE: get the build tools, which run
# on this machine, if possible in the same version. Other releases' tools need a newer
# C library, and their configurations a newer compiler. For those make a tree from
# their sources, with the same configuration except for the compiler.
_debian_tools()
{
	local target=$1 release=$2 version=$3 kbuild=$4 dir=$5 suite=$6 src

	if [[ $suite != "$_debian_here"?(-backports) ]]; then
		source_tree "$(kernel_series "$target")" "$suite" "$version"
		step "configure ${src##*/} as $release" source_prepare_for \
			"$target" "$src" "$dir" \
			"$dir/root/usr/src/linux-headers-$release"
		return
	fi
	apt_state "$suite" "$(dpkg --print-architecture)"
	! apt_has "$kbuild=$version" || kbuild=$kbuild=$version
	step "get $kbuild" apt_unpack "$dir/root" "$kbuild"
}

# _debian_arrange DIR RELEASE: make DIR/{vmlinuz,kdir,modules,version} from DIR/root.
_debian_arrange()
{
	local dir=$1 release=$2 image kdir top

	if [ -d "$dir/build" ]; then
		ln -s build "$dir/kdir" || return
	else
		# Debian's headers refer to their common part by an absolute path.
		kdir=$dir/root/usr/src/linux-headers-$release
		sed -i 's|^include /usr/src/|include ../|' "$kdir/Makefile" || return
		ln -s "root/usr/src/${kdir##*/}" "$dir/kdir" || return
	fi

	for image in "$dir"/root/{,usr/}{boot,lib/modules/"$release"}/vmlinu[xz]{,-"$release"}; do
		[ ! -f "$image" ] || ln -sf "${image#"$dir/"}" "$dir/vmlinuz" || return
	done
	[ -e "$dir/vmlinuz" ] || return
	top=$dir/root
	[ -d "$top/lib/modules/$release/kernel" ] || top=$dir/root/usr
	ln -s "${top#"$dir"/}" "$dir/modules" || return
	rm -f -- "$top/lib/modules/$release/"{build,source} || return
	# insmod in the guests needs uncompressed modules.
	find "$top/lib/modules" -name '*.ko.xz' -exec xz -d {} + || return
	busybox depmod -b "$top" "$release" || return

	echo "$release" >"$dir/version"
}
