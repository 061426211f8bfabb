# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# Measures cycles on this machine's own CPU, even where there is no KVM: a User-Mode Linux of the
# newest kernel runs natively, and bench_native calls the probes there. Sourced by run.

native_boots=10 native_boots_both=5
native_memory=384M	# all of it below 2 GiB, for the code model

# _native_initrd FILE: makes an initrd whose /init loads the modules of $modules.
_native_initrd()
{
	local root m

	initramfs_base amd64
	new_dir "$out/native-root"
	root=$new_dir
	mkdir -p -- "$root/lib/kdtl"
	for m in kdtl kdtl_sched bench_probe bench_native; do
		find "$modules" -name "$m.ko" -exec cp -t "$root/lib/kdtl" -- {} +
	done
	cat >"$root/init" <<-'END'
	#!/bin/busybox sh
	export PATH=/bin
	/bin/busybox --install -s
	mount -t proc proc /proc
	mount -t sysfs sysfs /sys
	mount -t debugfs debugfs /sys/kernel/debug
	cd /lib/kdtl
	grep -q bench_both /proc/cmdline && set -- both=1 windows=50
	insmod kdtl.ko && insmod kdtl_sched.ko &&
		insmod bench_probe.ko what=all records=4096 && insmod bench_native.ko "$@"
	echo "native: exit $?"
	poweroff -f
	END
	chmod +x "$root/init"
	{
		cat -- "$initramfs_base"
		initramfs_pack "$root"
	} >"$1"
	rm -rf -- "$root"
	finished "$root"
}

# Use huge pages, like the kernel's direct map on hardware, if root may mount them.
_native_tmpdir()
{
	native_tmp=$out/native-memory
	mkdir -p -- "$native_tmp"
	mountpoint -q "$native_tmp" ||
		mount -t tmpfs -o huge=always kdtl "$native_tmp" 2>/dev/null || {
		say "no huge pages for the guest's memory: addresses will cost more"
		native_tmp=/dev/shm
	}
}

# Run it as a real-time process, if that is allowed, so that other work distorts less.
_native_uml()
{
	local cpus=$1 rt=()

	shift
	! chrt -f 1 true 2>/dev/null || rt=(chrt -f 1)
	[ "$cpus" -gt 1 ] || rt+=(taskset -c "$(($(nproc) - 1))")
	# Its console must not be this terminal, which it would set up.
	TMPDIR=$native_tmp timeout -k 5 300 "${rt[@]}" "$linux" mem="$native_memory" seccomp=on \
		ncpus="$cpus" initrd="$out/native.initrd" rdinit=/init con=null \
		con0=fd:0,fd:1 "$@" </dev/null 2>&1 | tr -d '\r'
}

# _native_boot BOOTS CPUS ARGUMENT...: prints bench_native's lines, each after the number of the
# boot.
_native_boot()
{
	local i boots=$1

	shift
	for ((i = 0; i < boots; i++)); do
		_native_uml "$@" >"$out/native.log"
		grep -q '^native: exit 0' "$out/native.log" || return
		sed -n "s/^bench_native: /$i /p" "$out/native.log"
	done
}

native()
{
	say "measure: native, $native_boots boots"
	capture "$top/scripts/kernel" um-7.2 vmlinuz
	linux=$captured
	capture "$top/scripts/build" um-7.2 CONFIG_KDTL_EXAMPLES= \
		CONFIG_KDTL_SELFTESTS= CONFIG_KDTL_BENCH=m
	modules=$captured
	_native_initrd "$out/native.initrd"
	_native_tmpdir
	{
		_native_boot "$native_boots" 1 &&
			{ [ "$(nproc)" -lt 2 ] || _native_boot "$native_boots_both" 2 bench_both; }
	} >"$out/native.raw" || die "native: failed, see $out/native.log"
	[ "$native_tmp" = /dev/shm ] || umount "$native_tmp"
	awk -f "$here/native.awk" "$out/native.raw" >>"$out/raw.tsv"
}

# Counts the lines and pages that a dispatch touches, with the modules and programs of $guest.
lines()
{
	rm -f -- "$out/lines.counts"
	boot lines --icount --plugin "$guest/lines.so,out=$out/lines.counts" -- sh /bench/lines.sh
}
