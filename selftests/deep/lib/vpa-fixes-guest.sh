#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# vpa_fixes' cases for one PMU, while kdtl_fake_hv plays the hypervisor. Prints
#
#	begin PMU CASE
#	said PMU CASE ...	the program's words, and the kernel's reports
#	end PMU CASE STATUS
#
# usage: vpa-fixes-guest.sh PMU CASE...	(run by vpa-fixes.sh)

reports='^(BUG|WARNING|UBSAN|Oops|Unable to handle|Kernel attempted|NIP |vpa_dtl_)'

pmu=$1
shift
insmod /lib/kdtl/kdtl_fake_hv.ko || exit
if [ "$pmu" != vpa_dtl ]; then
	insmod "/lib/kdtl/$pmu.ko" || exit
fi
[ -d "/sys/bus/event_source/devices/$pmu" ] || {
	echo "no PMU $pmu"
	exit 4
}
for name; do
	dmesg -c >/dev/null
	echo "begin $pmu $name"
	vpa_fixes "$pmu" "$name" >/tmp/words 2>&1
	status=$?
	{
		cat /tmp/words
		dmesg -c | sed 's/^\[ *[0-9.]*\]\(\[ *[CT][0-9]*\]\)\{0,1\} *//' |
			grep -E "$reports" | uniq
	} | sed "s/^/said $pmu $name /"
	echo "end $pmu $name $status"
done
sed -n 's/.*complaint=/complaint /p' /sys/kernel/debug/kdtl_fake_hv/info | sort -u
exit 0
