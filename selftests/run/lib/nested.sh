# shellcheck shell=bash disable=SC2034,SC2054,SC2154
# SPDX-License-Identifier: GPL-2.0
#
# A guest of a real hypervisor: QEMU's software emulation runs a stock kernel (L1), which runs the
# machine that is asked for (L2) with Linux's own KVM. On POWER (KVM-HV) L1 writes L2's dispatch
# trace log, on x86-64 (kvm-amd) and arm64 its steal clock. Needs the other libraries.

# nested_machine TARGET KERNEL WORK CPUS MEMORY CMDLINE L1: L2 is to boot KERNEL with WORK/initrd;
# its two serial ports are handed through. L1, if not empty, is a line of shell that runs L2 as
# "$@", with the files of WORK/root. All virtual processors of L2 share the only processor of L1, so
# they wait for each other. On POWER its clock counts instructions (250 a microsecond). With the
# clock of a busy host, L1's timer would be due again before L2 got anywhere, and each attempt is a
# dispatch. On x86-64 the clock counts instructions only with --icount (also 250 a microsecond), and
# only with one virtual processor, because two hang.
nested_machine()
{
	local target=$1 kernel=$2 work=$3 cpus=$4 mem=$5 cmdline=$6 l1=$3/l1 l1_mem
	local caps poke=0

	capture "$scripts/kernel" "$target" modules
	nested_base "$target" "$kernel" "$captured"

	mkdir -p -- "$l1/l2"
	if [ -n "$7" ]; then
		cp -a -- "$work/root/." "$l1/"
		printf '%s\n' "$7" >"$l1/l2/command"
	fi
	cp -- "$here/init-l1" "$l1/init"
	ln -- "$work/initrd" "$l1/l2/initrd"
	caps=$(pseries_caps)
	[[ $target != x86_64-* ]] || $icount || poke=1
	# A guest's pages can be no larger than its host's, which has 4 KiB since Debian 14.
	[ "$target" != ppc64le-7.2 ] || caps+=,cap-hpt-max-page-size=4096
	{
		echo "cpus=$cpus"
		echo "mem=$mem"
		echo "caps=$caps"
		echo "cmdline='${cmdline//\'/}'"
		echo "poke=$poke"
	} >"$l1/l2/config"
	{
		cat -- "$nested_base"
		initramfs_pack "$l1"
	} >"$work/l1-initrd"

	case $mem in
	*[Gg]) l1_mem=$((${mem%?} * 1024 + 1536)) ;;
	*) l1_mem=$((${mem%[Mm]} + 1536)) ;;
	esac
	case $target in
	ppc64le-*)
		qemu=(qemu-system-ppc64 -cpu power9 -accel tcg,thread=single
			-icount shift=2,sleep=off
			-machine "pseries,cap-nested-hv=true,x-vof=on,$(pseries_caps)")
		cmdline="console=hvc0"
		;;
	x86_64-*)
		# If there is an HPET, it takes the RTC's interrupts, which init-l1 needs.
		qemu=(qemu-system-x86_64 -cpu EPYC,+svm,+npt -accel tcg,thread=single
			-machine pc,hpet=off)
		if $icount; then
			qemu+=(-icount shift=2,sleep=off)
			emulated_tsc=$trust_tsc
		else
			emulated_tsc
		fi
		cmdline="console=ttyS0 mitigations=off no_timer_check nokaslr $emulated_tsc"
		;;
	arm64-*)
		# With VHE, and without pauth, which would take most of an emulator's time.
		qemu=(qemu-system-aarch64 -cpu neoverse-n1 -accel tcg,thread=single
			-machine virt,virtualization=on,gic-version=3)
		cmdline="console=ttyAMA0"
		;;
	esac
	qemu+=(-smp 1 -m "${l1_mem}M" -nodefaults -no-user-config -display none -vga none
		-no-reboot -kernel "$boot_kernel" -initrd "$work/l1-initrd"
		-append "$cmdline panic=-1 oops=panic loglevel=3")
}

# nested_base TARGET KERNEL MODULES: sets $nested_base to a file with all that L1 starts with, apart
# from what this run adds. Its name has the versions that it is made of.
nested_base()
{
	local target=$1 kernel=$2 modules=$3 version link=$KDTL_CACHE/nested/qemu root
	local arch=ppc64el package=qemu-system-ppc kvm=kvm-hv

	case $target in
	x86_64-*) arch=amd64 package=qemu-system-x86 kvm=kvm-amd ;;
	arm64-*) arch=arm64 package=qemu-system-arm kvm='' ;;	# built in
	esac
	[ $arch = ppc64el ] || link+=-$arch
	with_lock "nested-qemu-$arch"
	if [ "${KDTL_UPDATE:-0}" != 0 ] || [ ! -d "$link" ]; then
		apt_state bookworm "$arch"
		version=$(apt_version "$package")
		[ -n "$version" ] ||
			die "the mirror has no $package for $arch"
		if [ ! -d "$link@$version" ]; then
			new_dir "$link@$version"
			root=$new_dir
			step "get QEMU for $arch and all it depends on" \
				_nested_qemu "$root" "$package"
			install_dir "$root" "$link@$version"
		fi
		ln -sfn -- "${link##*/}@$version" "$link"
	fi

	version=$(basename -- "$(readlink -f -- "$link")")
	nested_base=$KDTL_CACHE/nested/${modules##*/}+$version.cpio
	[ -e "$nested_base" ] || _nested_base
	unlock
}

# _nested_base: makes that file for nested_base, whose variables it reads.
_nested_base()
{
	new_dir "$nested_base"
	root=$new_dir
	initramfs_base "$arch"
	cp -a -- "$link/." "$root/"
	mkdir -p -- "$root/l2"
	cp -- "$kernel" "$root/l2/vmlinux"
	[ -z "$kvm" ] || add_kmods "$root" "$modules" "$kvm"
	{
		cat -- "$initramfs_base"
		initramfs_pack "$root"
	} >"$nested_base.$$"
	mv -- "$nested_base.$$" "$nested_base"
	rm -rf -- "$root"
	finished "$root"
}

# _nested_qemu DIR PACKAGE: copies QEMU's binary, the libraries that it is linked with, and its
# firmware, out of the hundred packages that it depends on.
_nested_qemu()
{
	local dir=$1 package=$2 all=$1/all deb bin loader f
	local firmware='usr/share/qemu/vof.bin' libs=lib/powerpc64le-linux-gnu

	bin=usr/bin/qemu-system-ppc64 loader=lib64/ld64.so.2
	case $package in
	qemu-system-x86)
		bin=usr/bin/qemu-system-x86_64 loader=lib64/ld-linux-x86-64.so.2
		libs=lib/x86_64-linux-gnu
		firmware='usr/share/seabios/bios-256k.bin usr/share/qemu/kvmvapic.bin
			usr/share/qemu/linuxboot_dma.bin'
		;;
	qemu-system-arm)
		bin=usr/bin/qemu-system-aarch64 loader=lib/ld-linux-aarch64.so.1
		libs=lib/aarch64-linux-gnu firmware=''
		;;
	esac
	mkdir -p -- "$dir/deb/partial" "$all" || return
	apt_retry install --download-only -o Dir::Cache::archives="$dir/deb" \
		"$package" || return
	for deb in "$dir"/deb/*.deb; do
		dpkg -x "$deb" "$all" || return
	done
	mkdir -p -- "$dir/usr/bin" "$dir/usr/share/qemu" "$dir/lib64" || return
	cp -- "$all/$bin" "$dir/usr/bin/" || return
	for f in $firmware; do
		cp -L -- "$all/$f" "$dir/usr/share/qemu/" || return
	done
	_link_closure "$all" "$dir/$libs" "$all/$bin" || return
	cp -- "$(find "$all" -name "${loader##*/}" -type f -print -quit)" \
		"$dir/$loader" || return
	rm -rf -- "$all" "$dir/deb"
}

# _link_closure FROM TO ELF: copies the shared libraries that ELF is linked with, and those that
# they are linked with, from below FROM to the folder TO.
_link_closure()
{
	local from=$1 to=$2 name lib

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
