# shellcheck shell=bash disable=SC2034,SC2054,SC2154
# SPDX-License-Identifier: GPL-2.0
#
# The virtual machine of each target: the options of QEMU and of the kernel. Needs common.sh, and $here.

# Before 8.1, a thread of QEMU may go on with code that another CPU has changed, and trap for ever.
# The tests load modules and attach probes all the time.
tcg_threads()
{
	local version

	version=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9.]*\).*/\1/p')
	if printf '%s\n' 8.1 "$version" | sort -V -C; then
		echo multi
	else
		echo single
	fi
}

# machine_qemu TARGET: prints the name of its emulator.
machine_qemu()
{
	case $1 in
	ppc64le-*) echo qemu-system-ppc64 ;;
	arm64-*) echo qemu-system-aarch64 ;;
	armhf-*) echo qemu-system-arm ;;
	*) echo "qemu-system-${1%%-*}" ;;
	esac
}

# All CPUs of an emulator have the same TSC. A kernel that does not trust it has a clock that stands
# still while a tick is late.
trust_tsc=tsc=reliable

# emulated_tsc: sets $emulated_tsc to the kernel's options for the TSC of an emulator that runs in
# real time. That is this machine's own TSC. A kernel that finds out by itself how fast it counts,
# while its CPUs wait for one of this machine's, may be wrong for good: the clock of one boot was 12
# times too fast.
emulated_tsc()
{
	local khz

	emulated_tsc=$trust_tsc
	[ "$(uname -m)" = x86_64 ] || return 0
	khz=$KDTL_CACHE/accel/tsc-khz-$(cat /proc/sys/kernel/random/boot_id)
	if [ ! -e "$khz" ]; then
		need_tool build gcc-12
		new_dir "$khz"
		gcc-12 -O2 -o "$new_dir/tsc_khz" "$here/lib/tsc_khz.c"
		"$new_dir/tsc_khz" >"$new_dir/khz"
		mv -- "$new_dir/khz" "$khz"
		rm -rf -- "$new_dir"
		finished "$new_dir"
	fi
	emulated_tsc+=" tsc_early_khz=$(cat -- "$khz")"
}

# machine TARGET ACCEL CPUS MEMORY ICOUNT: sets
#   $qemu     the command, without kernel, initrd and serial ports
#   $cmdline  the kernel's command line
#   $channel  the guest's name of the second serial port
#   $serial   how QEMU attaches the character devices console and channel
machine()
{
	local target=$1 accel=$2 cpus=$3 memory=$4 icount=$5 cpu

	# The log must be large enough that nothing is overwritten before tests read it, and its times
	# tell equal lines apart (forget_log() of ktap.sh).
	cmdline="panic=-1 loglevel=4 log_buf_len=4M printk.time=1"
	qemu=("$(machine_qemu "$target")")
	serial=(-serial chardev:console -serial chardev:channel)
	case $target in
	x86_64-*)
		channel=ttyS1
		cmdline+=" console=ttyS0 no_timer_check"
		if $icount; then
			# This is exact: one virtual nanosecond is one instruction. See
			# Documentation about measuring.
			[ "$cpus" -eq 1 ] || die "--icount means --cpus 1"
			qemu+=(-machine pc,hpet=off -cpu qemu64
				-accel tcg,thread=single
				-icount 'shift=0,sleep=off')
			cmdline+=" nokaslr norandmaps nowatchdog $trust_tsc"
		elif [ "$accel" = kvm ]; then
			qemu+=(-machine pc -cpu host -accel kvm)
		else
			cpu=max
			# With la57 KASAN reports an error early in the boot, and lockdep then
			# switches itself off.
			[[ $target != *-debug ]] || cpu=max,la57=off
			# QEMU warns if a CPU of AMD's, like its own, has several threads a core.
			[[ $cpus != *,threads=* ]] || cpu+=,vendor=GenuineIntel
			qemu+=(-machine pc -cpu "$cpu"
				-accel "tcg,thread=$(tcg_threads)")
			emulated_tsc
			cmdline+=" $emulated_tsc"
		fi
		;;
	ppc64le-*)
		channel=hvc1
		# For this kernel it is an error that pseries has little NVRAM.
		cmdline+=" console=hvc0 loglevel=3"
		# TCG has none of the mitigations that pseries announces.
		qemu+=(-cpu power9 -machine "pseries,x-vof=on,$(pseries_caps)")
		if $icount; then
			# The time base has 512 ticks for 1,000 instructions.
			qemu+=(-accel tcg,thread=single
				-icount 'shift=0,sleep=off')
			cmdline+=" nokaslr norandmaps nowatchdog"
		else
			qemu+=(-accel 'tcg,thread=multi')
		fi
		;;
	i386-*)
		channel=ttyS1
		emulated_tsc
		cmdline+=" console=ttyS0 no_timer_check $emulated_tsc"
		qemu+=(-machine pc -cpu max -accel "tcg,thread=$(tcg_threads)")
		;;
	arm64-* | armhf-* | riscv64-*)
		# The board has one serial port, so the second one is a PCI device.
		serial=(-serial chardev:console -device "pci-serial,chardev=channel")
		if $icount; then
			qemu+=(-accel tcg,thread=single -icount 'shift=0,sleep=off')
			cmdline+=" nokaslr norandmaps nowatchdog"
		else
			qemu+=(-accel tcg,thread=multi)
		fi
		case $target in
		arm64-*)
			channel=ttyS0
			cmdline+=" console=ttyAMA0"
			qemu+=(-machine virt,gic-version=3 -cpu cortex-a57)
			;;
		armhf-*)
			channel=ttyS0
			cmdline+=" console=ttyAMA0"
			qemu+=(-machine virt -cpu cortex-a15)
			;;
		riscv64-*)
			channel=ttyS1
			cmdline+=" console=ttyS0"
			# With sstc, CPU 0 was never idle in Debian 12's emulator, by the kernel's
			# own count; without it, it is.
			qemu+=(-machine virt -cpu rv64,sstc=off)
			;;
		esac
		;;
	s390x-*)
		# The console in line mode would convert the channel to EBCDIC. Without nokaslr the
		# boot loader first writes a line to it.
		channel=ttysclp0
		cmdline+=" conmode=sclp nokaslr"
		serial=(-device sclplmconsole,chardev=console
			-device sclpconsole,chardev=channel)
		qemu+=(-machine s390-ccw-virtio -cpu max)
		if $icount; then
			qemu+=(-accel tcg,thread=single -icount 'shift=0,sleep=off')
			cmdline+=" norandmaps nowatchdog"
		else
			qemu+=(-accel "tcg,thread=$(tcg_threads)")
		fi
		;;
	*) die "no machine for $target" ;;
	esac
	! $icount || [[ $target == @(x86_64|ppc64le|arm64|s390x)-* ]] ||
		die "--icount: not for $target"
	[[ $target != *-debug ]] || cmdline+=" kasan_multi_shot"
	# While identify_cpu() finds out what the CPU can do, the flags say that it can do nothing.
	# If an interrupt comes just then, KASAN takes an address that needs five levels of page
	# tables for a wild one.
	[[ $target != x86_64-*-@(debug|aux) ]] || cmdline+=" no5lvl"
	qemu+=(-smp "$cpus" -m "$memory" -nodefaults -no-user-config
		-display none -vga none)
}

# boot_kernel TARGET ACCEL ICOUNT KERNEL: sets $boot_kernel to what QEMU is to boot. An emulated
# x86-64 spends more than half of its boot on unpacking the kernel, so that is done here, once, if
# QEMU can then enter the kernel (PVH).
boot_kernel()
{
	local target=$1 accel=$2 icount=$3 kernel=$4

	boot_kernel=$kernel
	[[ $target == x86_64-* ]] && [ "$accel" = tcg ] && ! $icount || return 0
	boot_kernel=$kernel.unpacked
	[ ! -e "$boot_kernel" ] || return 0
	with_lock "unpack-$target"
	[ -e "$boot_kernel" ] || _unpack_kernel "$kernel" "$boot_kernel"
	unlock
}

# _unpack_kernel KERNEL FILE: unpacks it to FILE; if that cannot be done, FILE is KERNEL itself. See
# Documentation/arch/x86/boot.rst in the kernel's sources.
_unpack_kernel()
{
	local new from size

	new=$(mktemp "$2.XXXXXX")
	partial "$new" "$new.packed"
	# These are setup_sects, payload_offset and payload_length; the last 4 bytes of the payload
	# are a size.
	from=$(((1 + $(od -An -tu1 -j 497 -N 1 "$1")) * 512 + $(od -An -tu4 -j 584 -N 4 "$1")))
	size=$(($(od -An -tu4 -j 588 -N 4 "$1") - 4))
	dd if="$1" of="$new.packed" iflag=skip_bytes,count_bytes skip="$from" count="$size" \
		bs=1M status=none
	xz -dc <"$new.packed" >"$new" 2>/dev/null || zstd -dc <"$new.packed" >"$new" 2>/dev/null || :
	rm -- "$new.packed"
	# The note is XEN_ELFNOTE_PHYS32_ENTRY.
	if LC_ALL=C readelf -n "$new" 2>/dev/null | grep -q 'type: (0x00000012)'; then
		chmod 644 "$new"
	else
		ln -sf -- "${1##*/}" "$new"
	fi
	mv -- "$new" "$2"
	finished "$new" "$new.packed"
}

# reserve_memory FILE ADDRESS SIZE: gives $qemu its own device tree, as FILE, with memory that no
# kernel maps or uses.
reserve_memory()
{
	local node=/reserved-memory name

	need_tool device-tree fdtput
	name=$node/kdtl@${2#0x}
	"${qemu[@]}" -machine "dumpdtb=$1" 2>/dev/null
	fdtput -c "$1" "$node" && fdtput "$1" "$node" '#address-cells' 2 &&
		fdtput "$1" "$node" '#size-cells' 2 && fdtput "$1" "$node" ranges &&
		fdtput -c "$1" "$name" && fdtput -t x "$1" "$name" reg 0 "$2" 0 "$3" &&
		fdtput "$1" "$name" no-map || die "no device tree with reserved memory"
	qemu+=(-dtb "$1")
}

# share_a_cpu: the hypervisor is this machine's own KVM. All virtual CPUs share one CPU.
share_a_cpu()
{
	local cpus

	cpus=$(taskset -cp $$)
	cpus=${cpus##*: }
	qemu=(taskset -c "${cpus%%[-,]*}" "${qemu[@]}")
}

pseries_caps()
{
	echo cap-cfpc=broken,cap-sbbc=broken,cap-ibs=broken,cap-ccf-assist=off
}

# pseries_nvram FILE: makes NVRAM that Linux can put partitions into, as firmware would have made
# it: 64 KiB in one free partition (0x7f, checksum, length/16, name).
pseries_nvram()
{
	printf '\x7f\x29\x10\x00wwwwwwwwwwww' >"$1"
	truncate -s 64K -- "$1"
	qemu+=(-drive "if=pflash,format=raw,file=$1")
}

# default_memory TARGET: prints how much memory it gets if none is asked for.
default_memory()
{
	case $1 in
	*-debug) echo 2G ;;
	*) echo 1G ;;
	esac
}
