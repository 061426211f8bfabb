#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine of recorder.sh: crashes it in the way $1, with the recorder on;
# after the reboot, leaves in /out what was kept. $2: the most rows.
#
# Exit status: 0: this is the second boot, or the machine survived an oops; 4: it
# cannot crash in that way; 1: it did not crash.

M=/lib/kdtl
how=$1
lines=$2

sysctl()
{
	echo "$2" >"/proc/sys/kernel/$1"
}

# Makes something to record, more than the table can hold.
load()
{
	for _ in 1 2 3 4; do
		while :; do usleep 1000; done &
	done
	until dmesg | grep -q "asked for: .* $lines of "; do
		usleep 100000
		echo 1 >/sys/kernel/debug/kdtl_recorder/trigger
	done
}

# After a reboot pstore, or pSeries' NVRAM, has something; if not, this is the first
# boot.
mkdir -p /out
if [ -e /dev/nvram ]; then
	cat /dev/nvram >/out/nvram
	! hexdump -C /out/nvram | grep -q ' 13 88 ' || exit 0
	rm /out/nvram
else
	mount -t pstore pstore /sys/fs/pstore
	modprobe ramoops mem_address=0x30000000 mem_size=0x100000 \
		record_size=0x10000 || exit 1
	if ls /sys/fs/pstore/dmesg-* >/dev/null 2>&1; then
		cat /sys/fs/pstore/dmesg-* >/out/pstore
		exit 0
	fi
fi

# While a CPU hangs, the others may also wait for it, for longer than a second.
insmod $M/kdtl.ko && insmod $M/kdtl_answers.ko && insmod $M/kdtl_sched.ko &&
	insmod $M/kdtl_recorder.ko lines="$lines" ms=20000 || exit 1
load

case $how in
sysrq)
	printf '#!/bin/sh\nusleep 1000\necho c >/proc/sysrq-trigger\n' >/tmp/kdtl_crash
	chmod +x /tmp/kdtl_crash
	/tmp/kdtl_crash
	;;
oops)
	# The machine has to go on, and so does the recorder.
	insmod $M/kdtl_crash.ko how=bug
	until dmesg | grep -q 'oops: end of table'; do
		usleep 100000
	done
	until echo 1 >/sys/kernel/debug/kdtl_recorder/trigger; do
		usleep 100000
	done
	exit
	;;
bug)
	insmod $M/kdtl_crash.ko how=bug
	;;
spin)
	sysctl softlockup_panic 1
	sysctl watchdog_thresh 3
	insmod $M/kdtl_crash.ko how=spin
	;;
irqspin)
	# Without an NMI, nothing on a CPU can detect that the CPU hangs.
	read -r nmi </proc/sys/kernel/nmi_watchdog
	[ "$nmi" = 1 ] || exit 4
	sysctl hardlockup_panic 1
	sysctl watchdog_thresh 3
	insmod $M/kdtl_crash.ko how=irqspin
	;;
fanout | locks)
	insmod $M/kdtl_crash_inside.ko how="$how"
	;;
hang)
	sysctl hung_task_panic 1
	sysctl hung_task_timeout_secs 2
	insmod $M/kdtl_crash.ko how=hang
	;;
esac
sleep 100
exit 1
