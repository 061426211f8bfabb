#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a debug kernel: makes every mistake of kdtl_wrong.ko that its checkers look for.
#
#	wrong-guest.sh WHAT...

[ ! -e /sys/kernel/debug/kcsan ] || echo on >/sys/kernel/debug/kcsan
for what; do
	echo "wrong: $what" >/dev/kmsg
	insmod /lib/kdtl/kdtl_wrong.ko what="$what" 2>/dev/null
done
leaks=/sys/kernel/debug/kmemleak
if [ -e $leaks ]; then
	# kmemleak ignores what is younger than 5 s, or has changed.
	sleep 6
	echo scan >$leaks
	echo scan >$leaks
	head -n 30 $leaks | sed 's/^/kmemleak: /'
fi
exit 0
