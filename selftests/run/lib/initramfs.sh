# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Initial RAM disks: a cached base (busybox and empty directories), followed by an archive with what
# this run adds. Needs common.sh, apt.sh and kernels.sh.

# deb_tree PACKAGE ARCH: unpacks the package in the cache; sets $deb_tree to its directory.
deb_tree()
{
	local package=$1 arch=$2 link version

	deb_tree=$KDTL_CACHE/deb/$package-$arch
	if [ "${KDTL_UPDATE:-0}" = 0 ] && [ -d "$deb_tree" ]; then
		return
	fi
	link=$deb_tree
	with_lock "deb-$package-$arch"
	# Another process may have unpacked it meanwhile.
	if [ "${KDTL_UPDATE:-0}" = 0 ] && [ -d "$deb_tree" ]; then
		unlock
		return
	fi
	# Debian 12 has no riscv64. The lists of sid are there, because the kernel comes from sid.
	case $arch in
	riscv64) apt_state sid "$arch" ;;
	*) apt_state bookworm "$arch" ;;
	esac
	version=$(apt_version "$package")
	[ -n "$version" ] || die "the mirror has no $package for $arch"
	deb_tree=$link@$version
	if [ ! -d "$deb_tree" ]; then
		new_dir "$deb_tree"
		step "get $package for $arch" apt_unpack "$new_dir" "$package"
		install_dir "$new_dir" "$deb_tree"
	fi
	ln -sfn -- "${deb_tree##*/}" "$link"
	unlock
}

# initramfs_pack ROOT: writes ROOT as an archive to stdout.
initramfs_pack()
{
	(cd -- "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio -0 -o -H newc -R 0:0 --quiet)
}

# initramfs_base ARCH: sets $initramfs_base to its file.
initramfs_base()
{
	local arch=$1

	with_lock "initramfs-$arch"
	deb_tree busybox-static "$arch"
	initramfs_base=$(readlink -f -- "$deb_tree")/base.cpio
	[ -e "$initramfs_base" ] || _initramfs_base "$arch"
	unlock
}

_initramfs_base()
{
	local root

	new_dir "$KDTL_CACHE/initramfs/$1"
	root=$new_dir
	mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin,lib/kdtl,lib/modules} \
		"$root"/{proc,sys,dev,tmp,out,root,etc,kdtl-vm}
	# Newer packages have it in /usr/bin.
	cp -- "$(find "$deb_tree/" -path '*/bin/busybox')" "$root/bin/"
	initramfs_pack "$root" >"$initramfs_base.$$"
	mv -- "$initramfs_base.$$" "$initramfs_base"
	rm -rf -- "$root"
	finished "$root"
}

# add_modules ROOT PATH TARGET: copies a module, or all modules below a directory, to /lib/kdtl,
# without their debug information. That is nine tenths of a module; a guest has no use for it, but
# would unpack it in each boot, and read it whenever it loads the module, which takes an emulated
# guest longer than some tests do.
add_modules()
{
	local root=$1 path=$2 strip ko n=0

	strip=$(kernel_cross "$3")strip
	[ "$(type -t "$strip")" ] || strip=
	mkdir -p -- "$root/lib/kdtl"
	while IFS= read -r -d '' ko; do
		[ ! -e "$root/lib/kdtl/${ko##*/}" ] ||
			die "--modules: two modules are called ${ko##*/}"
		if [ -n "$strip" ]; then
			"$strip" -g -o "$root/lib/kdtl/${ko##*/}" "$ko"
		else
			cp -- "$ko" "$root/lib/kdtl/"
		fi
		n=$((n + 1))
	done < <(find "$path" -name '*.ko' -type f -print0)
	[ "$n" -gt 0 ] || die "--modules: no module in $path"
}

# add_files ROOT SRC:DEST: if SRC is a directory, its content goes into the directory DEST; if it is
# a file, it is called DEST or, if DEST ends in a slash, goes into that.
add_files()
{
	local root=$1 src=${2%:*} dest=${2##*:}

	[[ $2 == *:/* ]] || die "--add wants SRC:/DEST, not $2"
	[ -e "$src" ] || die "--add: no such file: $src"
	if [ -d "$src" ]; then
		mkdir -p -- "$root$dest"
		cp -a -- "$src/." "$root$dest/"
	else
		[[ $dest != */ ]] || dest+=${src##*/}
		mkdir -p -- "$(dirname -- "$root$dest")"
		cp -L -- "$src" "$root$dest"
	fi
}

# kmod_files MODULES NAME: prints the file of the kernel's own module NAME, in the directory
# MODULES, after all files that it depends on, in order of loading. Prints nothing if it is built
# in.
kmod_files()
{
	local modules=$1 name=${2//-/_} lists=("$1/modules.dep")

	# Debian 14's packages have no list of what is built in.
	[ ! -e "$modules/modules.builtin" ] ||
		lists=("$modules/modules.builtin" "${lists[@]}")
	awk -F: -v want="$name" '
	function key(path) {
		sub(/.*\//, "", path)
		sub(/\.ko$/, "", path)
		gsub(/-/, "_", path)
		return path
	}
	FILENAME ~ /builtin$/ { builtin[key($1)] = 1; next }
	{ file[key($1)] = $1; deps[key($1)] = $2 }
	function load(k,    n, i, d) {
		if (k in done)
			return
		done[k] = 1
		n = split(deps[k], d, " ")
		for (i = n; i > 0; i--)
			load(key(d[i]))
		print file[k]
	}
	END {
		if (want in file)
			load(want)
		else
			exit !(want in builtin)
	}' "${lists[@]}"
}

# add_kmods ROOT MODULES NAME...: adds modules so that modprobe NAME works in the guest.
# /lib/modules/RELEASE/order lists the files in order of loading.
add_kmods()
{
	local root=$1 modules=$2 dest name files f

	shift 2
	dest=$root/lib/modules/${modules##*/}
	mkdir -p -- "$dest"
	for name; do
		files=$(kmod_files "$modules" "$name") ||
			die "--kmod: no module $name in $modules"
		[ -n "$files" ] || continue
		printf '%s\n' "$files"
	done | awk '!seen[$0]++' >"$dest/order"
	while read -r f; do
		mkdir -p -- "$dest/${f%/*}"
		cp -- "$modules/$f" "$dest/$f"
		grep -F -e "$f:" "$modules/modules.dep"
	done <"$dest/order" >"$dest/modules.dep"
	: >"$dest/modules.alias"
	: >"$dest/modules.symbols"
	: >"$dest/modules.builtin"
	[ ! -e "$modules/modules.builtin" ] || cp -- "$modules/modules.builtin" "$dest/"
}
