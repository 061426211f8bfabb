#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs cases of perf_fixes, each with a PMU of its own. Prints
#
#	begin CASE
#	said CASE ...		the program's words, and the kernel's reports
#	end CASE STATUS
#
# usage: perf-fixes-guest.sh CASE...	(run by perf-fixes.sh)

reports='^(BUG|WARNING|UBSAN|ODEBUG|Oops|INFO: |general protection fault|aux_gone )'

for name; do
	insmod /lib/kdtl/aux_gone.ko || exit
	dmesg -c >/dev/null
	echo "begin $name"
	perf_fixes "$name" >/tmp/words 2>&1
	status=$?
	{
		cat /tmp/words
		dmesg -c | sed 's/^\[ *[0-9.]*\]\(\[ *[CT][0-9]*\]\)\{0,1\} *//' |
			grep -E "$reports"
	} | sed "s/^/said $name /"
	echo "end $name $status"
	[ ! -d /sys/module/aux_gone ] || rmmod aux_gone || exit
done
exit 0
