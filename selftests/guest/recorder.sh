#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The recorder's table of entries that are known, made by the test source: which rows it has, in
# which order, and what they say; and the watch's line about such entries.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

ms=/sys/module/kdtl_recorder/parameters/ms

fake()
{
	echo "$@" >/sys/kernel/debug/kdtl_fake/do
}

# entry CPU PID PREV [MS]: an entry of that task, which waited so long. The PIDs are in fact 9000000
# more, which no task has.
entry()
{
	prev=$3
	[ "$prev" -eq 0 ] || prev=90000$prev
	fake task "$1" "90000$2" "$prev" "${4:-0}"
}

# later CPU PID PREV [MS]: an entry a second after the last one.
later()
{
	fake later 0 1 && entry "$@"
}

# source_with PARAMETER...: another test source, and a recorder with four rows.
source_with()
{
	! is_loaded kdtl_recorder || { unload kdtl_recorder && unload kdtl_fake_drive &&
		unload kdtl_fake_pmu; } || return
	load kdtl_fake_pmu "$@" && load kdtl_fake_drive &&
		load kdtl_recorder pmu=kdtl_fake lines=4 ms=60000 && forget_log
}

# table WHAT: the last table about that, without what is before each line.
table()
{
	log | sed -n -e 's/:90000/:/g' -e 's/^.*kdtl_recorder: //p' | awk -v what="$1" '
		index($0, what ": ") == 1 && / oldest first$/ { table = ""; inside = 1 }
		inside { table = table $0 "\n" }
		index($0, what ": end of table") == 1 { last = table; inside = 0 }
		END { printf "%s", last }'
}

asked()
{
	forget_log
	until_true table_asked && table "asked for" >/tmp/table
}

# rows: the CPU, the wait, the task and the one before of each row, and a comma after each.
rows()
{
	sed -n 's/^[0-9][0-9]:[0-9:.]* *//p' /tmp/table |
		awk '{ printf "%s %s%s %s %s,", $1, $2, $3, $4, $5 }'
}

# The last dispatch of each CPU has a row, however old it is. What an entry says of the task before
# counts, not which entry is before it. Idle times have no rows, but are entries.
has_each_cpu()
{
	entry 1 11 12 && later 0 21 22 2000 && later 0 23 21 20 && fake idle 0 9000023 &&
		later 0 24 0 999 && later 0 25 26 && asked &&
		is "$(rows)" "1 0ns :11 :12,0 20.0ms :23 :21,0 999ms :24 idle,0 0ns :25 :26," &&
		grep -q '^asked for: the last 60000 ms of 2 CPUs, 4 of 6 entries, oldest first$' \
			/tmp/table
}

# Of all other entries the newest have rows.
has_newest()
{
	later 0 31 25 && later 1 32 11 && later 0 33 31 && later 1 34 32 && later 0 35 33 &&
		asked && is "$(rows)" "1 0ns :32 :11,0 0ns :33 :31,1 0ns :34 :32,0 0ns :35 :33,"
}

# Entries that the table does not even look at are counted.
counts_all()
{
	for pid in 41 42 43 44 45 46 47 48 49 50; do
		later 0 "$pid" $((pid - 1)) || return
	done
	asked && grep -q ' 4 of 21 entries, oldest first$' /tmp/table
}

# An entry is older than that: its time is from before the source's clock was moved.
goes_back()
{
	source_with tasks=1 && entry 0 51 50 && entry 0 52 51 && later 0 53 52 || return
	sleep 0.01
	echo 1 >"$ms"
	asked && is "$(rows)" "0 0ns :53 :52," || return
	echo 60000 >"$ms"
	asked && is "$(rows)" "0 0ns :51 :50,0 0ns :52 :51,0 0ns :53 :52,"
}

has_said()
{
	table "$1" >/tmp/table
	[ -s /tmp/table ]
}

# A table about a wait has what its CPU did then, before newer entries of other CPUs. Each wait ends
# when its entry is made.
is_about_wait()
{
	load kdtl_watch pmu=kdtl_fake threshold_ms=1 pause_s=0 && entry 0 61 60 &&
		entry 1 71 70 && entry 1 72 71 && entry 1 73 72 && sleep 0.02 &&
		entry 0 62 61 5 && until_true has_said "CPU 0: :62 waited 5 ms" &&
		is "$(rows)" "0 0ns :61 :60,1 0ns :72 :71,1 0ns :73 :72,0 5.00ms :62 :61," &&
		grep -q '^CPU 0 from .*: :61 5.00 ms$' /tmp/table
	set -- $?
	unload kdtl_watch
	return "$1"
}

# By its entries a hypervisor had the CPU for 3 s and for 2 s, and most of that time twice. A table
# counts that once. Nothing counts that is yet to come, by a clock that is ahead.
counts_theft_once()
{
	load kdtl_watch pmu=kdtl_fake threshold_ms=1 pause_s=0 &&
		fake wait 0 3 && sleep 0.1 && fake wait 0 2 &&
		until_true has_said "CPU 0 waited 3000 ms" &&
		grep -q '^CPU 0 from .*: the hypervisor 3.00 s$' /tmp/table &&
		until_true has_said "CPU 0 waited 2000 ms" &&
		grep -q '^CPU 0 from .*: the hypervisor 2.00 s$' /tmp/table &&
		fake later 0 1000 && fake wait 0 4 && until_true has_said "CPU 0 waited 4000 ms" &&
		grep -q '^CPU 0 from .*: the hypervisor 0 ns$' /tmp/table
	set -- $?
	unload kdtl_watch
	return "$1"
}

has_logged()
{
	log | grep -q "$1"
}

# Four tasks had the CPU for a second each, by a clock that only this test moves.
names_three()
{
	source_with tasks=1 && fake stop 0 1 &&
		load kdtl_watch pmu=kdtl_fake threshold_ms=3000 pause_s=0 &&
		later 0 81 80 && later 0 82 81 && later 0 83 82 && later 0 84 83 &&
		later 0 85 84 4000 && until_true has_logged \
		'kdtl_watch: CPU 0: :9000085 waited 4000 ms, behind\( :90000.. 1000 ms,\)\{3\} others 1000 ms$'
	set -- $?
	fake stop 0 0
	unload kdtl_watch
	return "$1"
}

need kdtl
need_modules kdtl_recorder kdtl_watch kdtl_fake_pmu kdtl_fake_drive
[ -e /sys/devices/system/cpu/cpu1 ] || skip_all "needs two CPUs"

plan 10
ok "it loads for a source of tasks" source_with tasks=1
ok "it has what its CPU did during the wait that it is about" is_about_wait
ok "it loads anew" source_with tasks=1
ok "each CPU has a row, and says who was before" has_each_cpu
ok "the newest entries have rows, in order" has_newest
ok "the others are counted" counts_all
ok "it loads for a source of a hypervisor" source_with
ok "time that was stolen counts once" counts_theft_once
ok "entries that are too old have no rows" goes_back
ok "the watch names three tasks, and sums up the others" names_three
unload kdtl_recorder
finish
