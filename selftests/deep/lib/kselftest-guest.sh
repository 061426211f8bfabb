#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: GPL-2.0
#
# Runs in a machine that has started with busybox: the kernel's own runner, inside the Debian in
# /debian, with the modules of /lib/kdtl where modprobe finds them.

d=/debian
mkdir -p /out /lib/modules
mount -t proc proc $d/proc
# Mounts made in there must be visible outside, where the kernel opens files.
for dir in sys dev tmp; do
	mount --make-rshared /$dir
	mount --rbind /$dir $d/$dir
done
# Make the links that udev makes.
ln -s /proc/self/fd /dev/fd
for n in 0:stdin 1:stdout 2:stderr; do
	ln -s "/proc/self/fd/${n%:*}" "/dev/${n#*:}"
done
updates=$d/lib/modules/$(uname -r)/updates
mkdir -p "$updates"
mv /lib/kdtl/*.ko "$updates"
rmdir /lib/kdtl
chroot $d /sbin/depmod 2>/dev/null
# Programs that the kernel starts look here.
mount --bind $d/lib/modules /lib/modules
export PATH=/usr/sbin:/usr/bin:/sbin:/bin KDTL_QUICK=1
# On an emulated CPU some tests need more than the 5 minutes that they have on a real machine.
chroot $d /bin/sh -c 'cd /kselftest && exec ./run_kselftest.sh -o 1800' 2>&1 | tee /out/kselftest
