#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine of vmcore.sh: makes sessions in all states, and keeps what they say about
# themselves. Each time that this script says so, the host takes an image of the memory, and sends
# an NMI when it has it. Then the machine crashes, and another kernel keeps its memory, as in a
# kdump.

M=/lib/kdtl
D=/sys/kernel/debug/kdtl

nmis()
{
	awk '/^ *NMI:/ { for (i = 2; $i ~ /^[0-9]+$/; i++) n += $i; print n }' /proc/interrupts
}

image()
{
	before=$(nmis)
	echo "vmcore: take $1"
	until [ "$(nmis)" -gt "$before" ]; do usleep 50000; done
}

# in_cgroup NAME COMMAND...: runs the command there, in the background.
in_cgroup()
{
	mkdir -p "/sys/fs/cgroup/$1"
	sh -c "echo \$\$ >/sys/fs/cgroup/$1/cgroup.procs; shift; exec \"\$@\"" sh "$@" &
}

# recordings NR: waits until so many have started. A session that was only created gets no entries.
recordings()
{
	until [ "$(grep -c ' started *keep ' $D/sessions)" -eq "$1" ]; do usleep 20000; done
}

# lost ID: how many entries the session has lost on the CPU where it has lost fewest.
lost()
{
	awk -v id="$1" '$1 == id && ($NF < n || !got++) { n = $NF } END { print n + 0 }' $D/areas
}

mkdir -p /out
if [ -e /proc/vmcore ]; then
	exec makedumpfile -c -d 31 /proc/vmcore /out/vmcore
fi
modprobe qemu_fw_cfg
image bare

mount -t cgroup2 none /sys/fs/cgroup 2>/dev/null
insmod $M/kdtl.ko
insmod $M/kdtl_sched.ko
insmod $M/kdtl_answers.ko
image idle
insmod $M/kdtl_stream.ko
# The recorder overwrites entries all the time.
insmod $M/kdtl_recorder.ko aux_pages=2 lines=40 ms=20000
# This recording reads everything.
kdtl record -q -i -m 64 -o /out/all.data &
all=$!
recordings 1
# This one will be stopped, so that its areas get full.
kdtl record -q -m 4 -o /out/full.data &
full=$!
recordings 2
id=$(awk '$3 == "keep" { id = $1 } END { print id }' $D/sessions)
# This one says when a hypervisor, which this machine does not have, had the CPUs.
insmod $M/kdtl_fake_pmu.ko
insmod $M/kdtl_fake_drive.ko
kdtl record -q -s kdtl_fake -o /out/steal.data &
steal=$!
recordings 3
for cpu in 0 1 2 3; do
	echo burst $cpu 50 >/sys/kernel/debug/kdtl_fake/do
done

for _ in 1 2 3; do
	in_cgroup vmcore_web sh -c 'echo -n web_server >/proc/$$/comm; while :; do usleep 3000; done'
	in_cgroup vmcore_batch sh -c 'echo -n batch_job >/proc/$$/comm; while :; do :; done'
done
usleep 300000
kill -STOP $full
until [ "$(lost "$id")" -gt 50 ]; do usleep 50000; done
cat $D/sessions >/out/sessions
cat $D/areas >/out/areas
echo "$id" >/out/full.id
image loaded
kill -CONT $full
usleep 300000
kill -INT $full $all $steal
wait $full $all $steal

# The kernel that runs after the crash gets all that the host wants to see.
cd / && {
	printf '%s\n' lib lib/modules dev proc sys tmp root etc
	find bin sbin lib64 lib/x86_64-linux-gnu usr init kdtl-vm vmcore-guest.sh out
} | cpio -o -H newc >/tmp/initrd 2>/dev/null
kexec_panic /vmlinuz /tmp/initrd "$(sed 's/crashkernel=[^ ]*//' /proc/cmdline) nr_cpus=1" || exit
echo c >/proc/sysrq-trigger
