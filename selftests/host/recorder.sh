#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# In machines that really crash, the flight recorder's table is on the console,
# and still there after the reboot.
#
#	selftests/host/recorder.sh [TARGET HOW WHO]	only that crash
#
# Each crash is a boot. selftests/deep/crashes.sh has the others: a BUG, one of them in the fan-out,
# where locks has CPUs too, and khungtaskd, all with the panic of sysrq; spin, which panics in an
# interrupt of the timer as irqspin does in an NMI; irqspin without a watchdog by NMI, which an
# emulated x86-64 does not have; and on POWER, where only the way to NVRAM is different, crashes that
# reach their panic as on x86-64.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

lines=40

# the target, what crashes it, and the task that must be on the CPU where that happens
crashes='
x86_64-6.1   sysrq    kdtl_crash
x86_64-6.1   oops     kdtl_crash
x86_64-6.1   locks    kdtl_crash
ppc64le-6.1  irqspin  kdtl_crash
'
[ $# -eq 0 ] || crashes=$*

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-recorder.XXXXXX")
partial "$work" "$work.out"

# crash TARGET HOW: crashes it. The console goes to $work/console, what survived to $work/kept.
crash()
{
	local target=$1 how=$2 extra=() off

	rm -rf -- "${work:?}"/*
	[[ $target != x86_64-* ]] ||
		extra=(--kmod ramoops --append 'memmap=1M$0x30000000')
	[ "$how" != oops ] || extra+=(--survive-oops)
	capture "$top/scripts/build" "$target" || return
	"$top/selftests/run/vm" "$target" --reboot --cpus 4 --timeout 600 \
		--quiet --log "$work/console" --out "$work" \
		--modules "$captured" --add "$here/lib/crash-guest.sh:/" \
		"${extra[@]}" -- sh /crash-guest.sh "$how" $lines || return
	[ "$how" != oops ] || return 0
	if [ -e "$work/pstore" ]; then
		mv -- "$work/pstore" "$work/kept"
		return
	fi
	# struct err_log_info, struct oops_log_info, a zlib header (2 bytes),
	# and what gzip can read behind a header of its own.
	off=$(grep -a -b -o lnx,oops-log "$work/nvram" | cut -d : -f 1)
	{
		printf '\x1f\x8b\x08\0\0\0\0\0\0\3'
		tail -c "+$((off + 12 + 8 + 12 + 2 + 1))" -- "$work/nvram"
	} | gzip -d -c >"$work/kept" 2>"$work/gzip" || :
}

# table FILE: prints the last table's rows, without the log's time stamps.
table()
{
	sed -n 's/^.*kdtl_recorder: //p' "$1" | awk '
	/entries, oldest first$/ { n = 0; next }
	/^asked for: end of table$/ && n { n = 0; next }
	/: end of table$/ { last = n; for (i = 1; i <= n; i++) out[i] = row[i]; next }
	/^[0-9]+:[0-9]+:[0-9]+\.[0-9]+ / { row[++n] = $0 }
	END { for (i = 1; i <= last; i++) print out[i] }'
}

# inside: every session was read in the panic, although kdtl itself was stuck.
inside()
{
	case $how in
	locks)
		grep -a -E 'Kernel panic - not syncing: the locks of 3 sessions are held, and [1-3] CPUs are in the fan-out' \
			"$work/console" &&
			grep -a -E 'kdtl_crash_inside: read [1-9][0-9]* entries of 3 sessions, merged [1-9]' \
				"$work/console"
		;;
	fanout)
		grep -a -E 'kdtl_crash_inside: read [1-9][0-9]* entries of 2 sessions' \
			"$work/console" &&
			sed -n '/cut here/,/Kernel panic/p' "$work/console" |
			grep -a -F inside_watermark
		;;
	esac
}

title()
{
	[ "$how" = oops ] ||
		grep -a 'Kernel panic - not syncing' "$work/console" || return
	grep -a -E "kdtl_recorder: (panic|oops): the last 20000 ms of 4 CPUs, $lines of [0-9]+ entries" \
		"$work/console"
}

# rows: there are as many as allowed, each whole, and in the order of time.
rows()
{
	table "$work/console" >"$work/rows"
	cat -- "$work/rows"
	[ "$(wc -l <"$work/rows")" -eq $lines ] || return
	! grep -v -E '^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6} +[0-3] +[0-9.]+ (ns|us|ms|s) +[^ ].*:[0-9]+ +(idle|[^ ].*:[0-9]+) +(woken|preempted|page_fault)$' \
		"$work/rows" || return
	# After midnight the hours begin again.
	awk '{
		split($1, t, ":")
		now = (t[1] * 60 + t[2]) * 60 + t[3]
		if (now < last && last - now < 43200)
			exit 1
		last = now
	}' "$work/rows" || return
	[ "$(awk '{ print $2 }' "$work/rows" | sort -u | wc -l)" -eq 4 ]
}

# when_and_who: the time of day is right, and the table says which task had the CPU that died. The RTC
# tells whole seconds, and Linux takes it for half a second more.
when_and_who()
{
	local said

	said=$(sed -n 's/^.*kdtl_recorder: \(.*\) UTC, [0-9.]* s after boot\r*$/\1/p' \
		"$work/console" | tail -n 1)
	said=$(date -u -d "$said" +%s) || return
	echo "$began <= $said <= $ended"
	[ "$((began - 1))" -le "$said" ] && [ "$said" -le "$((ended + 1))" ] &&
		sed -n '/kdtl_recorder: \(panic\|oops\): the last/,/end of table/p' "$work/console" |
		grep -a -E 'kdtl_recorder: CPU [0-3] from [0-9:.]+ to [0-9:.]+: .*:[0-9]+ [0-9.]+ (us|ms|s)'
}

# culprit NAME: the task was the last to be dispatched on one of the CPUs.
culprit()
{
	awk '{ last[$2] = $0 } END { for (c in last) print last[c] }' "$work/rows" |
		tee "$work/last"
	grep -q -F " $1:" "$work/last"
}

# After an oops that the machine survived, the table can be asked for again.
goes_on()
{
	sed -n '/: oops: end of table/,$p' "$work/console" |
		grep 'kdtl_recorder: asked for: end of table'
}

# survived: what was kept is the end of the console's table, as far as there was room.
survived()
{
	table "$work/kept" >"$work/kept.rows"
	cat -- "$work/kept.rows"
	[ "$(wc -l <"$work/kept.rows")" -ge 10 ] || return
	diff <(tail -n "$(wc -l <"$work/kept.rows")" "$work/rows") "$work/kept.rows"
}

plan $((6 * $(grep -c . <<<"$crashes") + $(grep -c -E ' (fanout|locks) ' <<<"$crashes")))
while read -r target how who; do
	[ -n "$target" ] || continue
	name="$target, $how"
	status=0
	began=$(date +%s)
	crash "$target" "$how" </dev/null >"$work.out" 2>&1 || status=$?
	ended=$(date +%s)
	if [ "$status" -eq 4 ]; then
		for what in crash table rows when culprit reboot; do
			skip "$name: $what" "no NMI watchdog in this machine"
		done
		continue
	fi
	ok "$name: it crashes and goes on" [ "$status" -eq 0 ]
	ok "$name: the console has the table" title
	[[ $how != @(fanout|locks) ]] || ok "$name: it crashed inside kdtl" inside
	ok "$name: $lines rows, all CPUs, in the order of time" rows
	ok "$name: times of day, and who had the CPU" when_and_who
	ok "$name: $who was the last on its CPU" culprit "$who"
	if [ "$how" = oops ]; then
		ok "$name: the recorder goes on" goes_on
	else
		ok "$name: the same table after the reboot" survived
	fi
	[ "$status" -eq 0 ] || tail -n 30 -- "$work.out" | sed 's/^/# /'
done <<<"$crashes"
rm -rf -- "$work" "$work.out"
finished "$work" "$work.out"
finish
