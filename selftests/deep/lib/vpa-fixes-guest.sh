#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs cases of vpa_fixes for one PMU after the other, while kdtl_fake_hv plays the hypervisor on a
# machine that has none. Prints
#
#	begin PMU CASE
#	said PMU CASE ...	the program's words, and the kernel's reports
#	end PMU CASE STATUS
#
# usage: vpa-fixes-guest.sh PMU CASE... [PMU CASE...]...	(run by vpa-fixes.sh)

reports='^(BUG|WARNING|UBSAN|Oops|Unable to handle|Kernel attempted|NIP |vpa_dtl_)'

# has PMU: there is such a PMU, of the kernel or of a module.
has()
{
	if [ "$1" != vpa_dtl ] && [ ! -d "/sys/module/$1" ]; then
		insmod "/lib/kdtl/$1.ko" || return
	fi
	[ -d "/sys/bus/event_source/devices/$1" ] || {
		echo "no PMU $1"
		return 4
	}
}

case_of()
{
	has "$1" && vpa_fixes "$1" "$2"
}

if ! grep -q linux,kvm /proc/device-tree/hypervisor/compatible 2>/dev/null; then
	insmod /lib/kdtl/kdtl_fake_hv.ko || exit
fi
for name; do
	case $name in
	vpa_dtl*)
		pmu=$name
		continue
		;;
	esac
	dmesg -c >/dev/null
	echo "begin $pmu $name"
	case_of "$pmu" "$name" >/tmp/words 2>&1
	status=$?
	{
		cat /tmp/words
		dmesg -c | sed 's/^\[ *[0-9.]*\]\(\[ *[CT][0-9]*\]\)\{0,1\} *//' |
			grep -E "$reports" | uniq
	} | sed "s/^/said $pmu $name /"
	echo "end $pmu $name $status"
done
info=/sys/kernel/debug/kdtl_fake_hv/info
[ ! -e $info ] || sed -n 's/.*complaint=/complaint /p' $info | sort -u
exit 0
