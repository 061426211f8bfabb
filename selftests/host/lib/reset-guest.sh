#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine of reset.sh, as reset-guest.sh HOW BOOTS LINES PARAMETER...; the machine boots
# BOOTS times. Each boot loads the recorder with these parameters, which prints what the boot before
# has left, makes some load, and stops all CPUs. The last boot leaves that in /out. LINES: the most
# rows.
#
# The names of the last boot's tasks say which boot this is; with the HOW kaslr, which may lose
# them, a byte that a PC's clock keeps does.

M=/lib/kdtl
how=$1
boots=$2
lines=$3
shift 3

echo 8 >/proc/sys/kernel/printk
hostname reset-host
# This says where the kernel is in physical memory.
echo "reset-guest: $(sed -n 's/^ *\([0-9a-f]*\)-.* Kernel code$/\1/p' /proc/iomem)"
# With this, the image of the memory says what a debugger has to know.
[ "$how" != image ] || modprobe qemu_fw_cfg || exit 1
insmod $M/kdtl.ko && insmod $M/kdtl_answers.ko && insmod $M/kdtl_sched.ko &&
	insmod $M/kdtl_recorder.ko lines="$lines" ms=20000 "$@" || exit 1
boot=$(dmesg | sed -n 's/.*kdtl_recorder: .* boot\([0-9]*\):[0-9].*/\1/p' | tail -n 1)
boot=$((${boot:-0} + 1))
if [ "$how" = kaslr ]; then
	cmos=/sys/bus/nvmem/devices/cmos_nvram0/nvmem
	boot=$(($(od -An -tu1 -j 113 -N 1 $cmos) + 1))
	printf "\\$(printf %03o $boot)" | dd of=$cmos bs=1 seek=113 conv=notrunc 2>/dev/null || exit 1
fi
mkdir -p /out
if [ $boot -gt "$boots" ]; then
	[ "$how" = kaslr ] || cat /sys/kernel/debug/kdtl_recorder/last >/out/last
	exit
fi

# The area of a CPU that goes offline stays, and so does that of one that comes back.
cpus=/sys/devices/system/cpu
for n in 1 3; do
	echo 0 >$cpus/cpu$n/online
done
echo 1 >$cpus/cpu1/online
printf '#!/bin/sh\nwhile :; do usleep 1000; done\n' >/tmp/boot$boot
chmod +x /tmp/boot$boot
for _ in 1 2 3 4; do
	/tmp/boot$boot &
done
until dmesg | grep -q "asked for: .* $lines of "; do
	usleep 100000
	echo 1 >/sys/kernel/debug/kdtl_recorder/trigger
done
if [ "$how" = watchdog ]; then
	modprobe i6300esb heartbeat=20 nowayout=1 || exit 1
	echo >/dev/watchdog
fi
insmod $M/kdtl_crash.ko how=halt
sleep 100
exit 1
