# shellcheck shell=bash disable=SC2034,SC2054,SC2154
# SPDX-License-Identifier: GPL-2.0
#
# A guest of a real hypervisor: QEMU's software emulation runs a stock kernel
# (L1), which runs, with Linux's own KVM-HV, the machine that is asked for
# (L2). Its dispatch trace log is written by that hypervisor. Needs the others.

# nested_machine KERNEL WORK CPUS MEMORY CMDLINE: L2 is to boot KERNEL with
# WORK/initrd; its two serial ports are handed through. All of L2's virtual
# processors share the only one of L1, so they wait for each other. Its clock
# counts instructions (250 a microsecond): were it the host's and that busy, L1's
# timer would be due again before L2 has got anywhere, and each attempt is a
# dispatch.
nested_machine()
{
	local kernel=$1 work=$2 cpus=$3 mem=$4 cmdline=$5 l1=$2/l1 l1_mem

	capture "$scripts/kernel" ppc64le-6.1 modules
	nested_base "$kernel" "$captured"

	mkdir -p -- "$l1/l2"
	cp -- "$here/init-l1" "$l1/init"
	ln -- "$work/initrd" "$l1/l2/initrd"
	{
		echo "cpus=$cpus"
		echo "mem=$mem"
		echo "caps=$(pseries_caps)"
		echo "cmdline='${cmdline//\'/}'"
	} >"$l1/l2/config"
	{
		cat -- "$nested_base"
		initramfs_pack "$l1"
	} >"$work/l1-initrd"

	case $mem in
	*[Gg]) l1_mem=$((${mem%?} * 1024 + 1536)) ;;
	*) l1_mem=$((${mem%[Mm]} + 1536)) ;;
	esac
	qemu=(qemu-system-ppc64 -cpu power9 -smp 1 -m "${l1_mem}M"
		-accel tcg,thread=single -icount shift=2,sleep=off
		-machine "pseries,cap-nested-hv=true,x-vof=on,$(pseries_caps)"
		-nodefaults -no-user-config -display none -vga none -no-reboot
		-kernel "$kernel" -initrd "$work/l1-initrd"
		-append "console=hvc0 panic=-1 oops=panic loglevel=3")
}

# nested_base KERNEL MODULES: what L1 starts with, apart from this run's share:
# its file in $nested_base. Keyed by the versions it is made of.
nested_base()
{
	local kernel=$1 modules=$2 version link=$KDTL_CACHE/nested/qemu root

	if [ "${KDTL_UPDATE:-0}" != 0 ] || [ ! -d "$link" ]; then
		apt_state bookworm ppc64el
		version=$(apt_version qemu-system-ppc)
		[ -n "$version" ] ||
			die "the mirror has no qemu-system-ppc for ppc64el"
		if [ ! -d "$link@$version" ]; then
			new_dir "$link@$version"
			root=$new_dir
			step "get QEMU for ppc64el and all it depends on" \
				_nested_qemu "$root"
			install_dir "$root" "$link@$version"
		fi
		ln -sfn -- "qemu@$version" "$link"
	fi

	version=$(basename -- "$(readlink -f -- "$link")")
	nested_base=$KDTL_CACHE/nested/${modules##*/}+$version.cpio
	[ ! -e "$nested_base" ] || return 0
	new_dir "$nested_base"
	root=$new_dir
	initramfs_base ppc64el
	cp -a -- "$link/." "$root/"
	mkdir -p -- "$root/l2"
	cp -- "$kernel" "$root/l2/vmlinux"
	add_kmods "$root" "$modules" kvm-hv
	{
		cat -- "$initramfs_base"
		initramfs_pack "$root"
	} >"$nested_base.$$"
	mv -- "$nested_base.$$" "$nested_base"
	rm -rf -- "$root"
	finished "$root"
}

# _nested_qemu DIR: QEMU's binary, the libraries it is linked with, and its
# firmware, out of the hundred packages it depends on.
_nested_qemu()
{
	local dir=$1 all=$1/all deb bin=usr/bin/qemu-system-ppc64

	mkdir -p -- "$dir/deb/partial" "$all" || return
	apt_retry install --download-only -o Dir::Cache::archives="$dir/deb" \
		qemu-system-ppc || return
	for deb in "$dir"/deb/*.deb; do
		dpkg -x "$deb" "$all" || return
	done
	mkdir -p -- "$dir/usr/bin" "$dir/usr/share/qemu" "$dir/lib64" || return
	cp -- "$all/$bin" "$dir/usr/bin/" || return
	cp -L -- "$all/usr/share/qemu/vof.bin" "$dir/usr/share/qemu/" || return
	_link_closure "$all" "$dir" "$all/$bin" || return
	cp -- "$(find "$all" -name ld64.so.2 -type f -print -quit)" \
		"$dir/lib64/ld64.so.2" || return
	rm -rf -- "$all" "$dir/deb"
}

# _link_closure FROM TO ELF: the shared libraries that ELF is linked with, and
# those that they are.
_link_closure()
{
	local from=$1 to=$2/lib/powerpc64le-linux-gnu name lib

	mkdir -p -- "$to" || return
	readelf -d "$3" |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]$/\1/p' |
		while read -r name; do
			[ ! -e "$to/$name" ] || continue
			lib=$(find "$from/lib" "$from/usr/lib" -name "$name" \
				-print -quit)
			[ -n "$lib" ] || {
				echo "no $name"
				return 1
			}
			cp -L -- "$lib" "$to/$name" || return
			_link_closure "$from" "$2" "$to/$name" || return
		done
}
