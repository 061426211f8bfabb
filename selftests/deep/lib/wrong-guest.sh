#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in a debug kernel: makes each mistake of kdtl_wrong.ko that its checkers look for.
#
#	wrong-guest.sh WHAT...

[ ! -e /sys/kernel/debug/kcsan ] || echo on >/sys/kernel/debug/kcsan
for what; do
	echo "wrong: $what" >/dev/kmsg
	insmod /lib/kdtl/kdtl_wrong.ko what="$what" 2>/dev/null
done
leaks=/sys/kernel/debug/kmemleak
if [ -e $leaks ]; then
	# kmemleak ignores objects that are younger than 5 s, or have changed.
	sleep 6
	echo scan >$leaks
	echo scan >$leaks
	head -n 30 $leaks | sed 's/^/kmemleak: /'
fi
exit 0
