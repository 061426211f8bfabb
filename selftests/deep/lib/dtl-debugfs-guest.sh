#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine of dtl-debugfs.sh: uses the files of the dispatch trace log as a program does
# that knows the kernel's own ones.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=../../guest/ktap.sh
. "$(dirname "$0")/ktap.sh"

dtl=/sys/kernel/debug/powerpc/dtl
fake=/sys/kernel/debug/kdtl_fake_hv
tmp=/tmp/dtl-debugfs

hv()
{
	echo "$*" >$fake/ctl
}

# take FD FILE N: reads once; true when FILE has N entries, which is 48 * N bytes.
take()
{
	dd bs=4800 count=1 <&"$1" >>"$2" 2>/dev/null
	[ "$(wc -c <"$2")" -ge $((48 * $3)) ]
}

# took FD NAME N: exactly N entries come, and then a read returns nothing.
took()
{
	rm -f "$tmp.$2"
	until_true take "$1" "$tmp.$2" "$3" && is "$(wc -c <"$tmp.$2")" $((48 * $3)) &&
		is "$(dd bs=48 count=1 <&"$1" 2>/dev/null | wc -c)" 0
}

loads()
{
	load kdtl && load kdtl_fake_hv papr=1 && load kdtl_vpa && load dtl-debugfs
}

has_files()
{
	is "$(cd $dtl && echo cpu-*)" "cpu-0 cpu-1" && is "$(cat $dtl/dtl_event_mask)" 0x07 &&
		is "$(cat $dtl/dtl_buf_entries)" 1365
}

# A second open of the same CPU's file works, too, and does not register the log twice.
opens()
{
	exec 3<$dtl/cpu-0 && exec 4<$dtl/cpu-0 && exec 5<$dtl/cpu-1 &&
		is "$(field registered cpu=0 <$fake/info)" 1
}

# Each entry that the hypervisor wrote is there, byte by byte: it numbers them in srr0.
all_entries()
{
	hv play 0 put=80 && took 3 one 80 && took 4 two 80 && cmp "$tmp.one" "$tmp.two" || return
	od -A n -v -t u1 -w48 "$tmp.one" | awk '
		{ seq = ($37 * 256 + $38) * 65536 + $39 * 256 + $40 }
		NR > 1 && seq != last + 1 { print "# " last " is followed by " seq; bad = 1 }
		{ last = seq }
		END { exit bad || NR != 80 }'
}

other_cpu()
{
	hv play 1 put=40 && took 5 other 40 && is "$(dd bs=48 count=1 <&3 2>/dev/null | wc -c)" 0
}

whole_entries()
{
	hv play 0 put=1 && ! dd bs=47 count=1 <&3 >/dev/null 2>&1 && took 3 one 1
}

# One program reads all of 1,600 entries; the area of the other has room for 1,365 of them.
full()
{
	for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		hv play 0 put=80 && took 3 one 80 || return
	done
	took 4 two 1365
}

# Six of ten entries were preempted or have no kind that the hypervisor says.
masked()
{
	echo 2 >$dtl/dtl_event_mask && exec 6<$dtl/cpu-0 && hv play 0 put=80 &&
		took 3 one 80 && took 6 masked 48 || return
	echo 0 >$dtl/dtl_event_mask
	! (exec 7<$dtl/cpu-0) 2>/dev/null
}

closes()
{
	! rmmod dtl-debugfs 2>/dev/null || return
	exec 3<&- 4<&- 5<&- 6<&-
	unload dtl-debugfs && is "$(field registered cpu=0 <$fake/info)" 0 && ! [ -e $dtl ]
}

mount -t debugfs none /sys/kernel/debug 2>/dev/null
plan 9
ok "the modules load" loads
ok "the files are those of the kernel" has_files
ok "several programs may open a CPU's file" opens
ok "each has all entries, in the hypervisor's bytes" all_entries
ok "a CPU's file has that CPU's entries" other_cpu
ok "only whole entries are read" whole_entries
ok "a program that does not read does not stop the others" full
ok "dtl_event_mask chooses, and no kind at all is refused" masked
ok "the log is given back with the last file" closes
rm -f "$tmp".*
finish
