#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kdtl(1): record in a machine, read the recording here, as text and, converted to
# CTF, with babeltrace2. The recording is complete however the command ends.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# Runs in the machine. The recordings are checked here.
# shellcheck disable=SC2016
guest='
	PATH=$PATH:/kdtl
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_sched.ko &&
		insmod kdtl_stream.ko || exit
	cd /out
	worker() {
		n=0
		while [ $n -lt 300 ]; do
			n=$((n + 1))
			usleep 1000
		done
	}
	# until FILE has so many bytes
	grown() {
		until [ -s $1 ] && [ $(wc -c <$1) -gt 1000 ]; do
			usleep 50000
		done
	}
	echo "worker() { n=0; while [ \$n -lt 300 ]; do n=\$((n + 1)); usleep 1000; done; }
		worker & worker & worker & wait; exit 7" >/tmp/work
	kdtl list >list
	kdtl record -o command.data sh /tmp/work 2>command.err
	echo $? >command.status
	# A tty or not: no progress into files.
	kdtl record -o int.data 2>int.err &
	p=$!
	grown int.data
	kill -INT $p
	wait $p
	echo $? >int.status
	kdtl record -q -o kill.data 2>kill.err &
	p=$!
	grown kill.data
	kill -KILL $p
	wait $p
	kdtl record -q -C 1 -o one.data sh /tmp/work
	insmod /lib/kdtl/kdtl_fake_pmu.ko && insmod /lib/kdtl/kdtl_fake_drive.ko &&
		kdtl record -q -s kdtl_fake -o long.data sh -c "for s in 1 2 3 4 5 60 5000; do
			echo wait 0 \$s >/sys/kernel/debug/kdtl_fake/do; done" &&
		kdtl record -q -s kdtl_fake -o throttled.data sh -c "for s in 1 2; do
			echo wait 0 \$s >/sys/kernel/debug/kdtl_fake/do
			echo throttle 0 \$s >/sys/kernel/debug/kdtl_fake/do; done"
	kdtl print command.data >command.txt
	mount -t securityfs securityfs /sys/kernel/security &&
		echo confidentiality >/sys/kernel/security/lockdown &&
		kdtl list 2>lockdown.err
	echo $? >lockdown.status
'

kdtl()
{
	"$work/tool/kdtl" "$@"
}

# The summary of a recording: "NAME: 1.2 s, N dispatches, M lost, ...".
said()
{
	sed -n 's/.* s, \([0-9]*\) dispatches, 0 lost, .*/\1/p' "$work/$1.err"
}

entries()
{
	kdtl print "$work/$1.data" | grep -vc '^#'
}

# Exactly as many as the summary says.
whole()
{
	local n

	n=$(said "$1")
	[ "$n" -gt 10 ] && [ "$(entries "$1")" -eq "$n" ] &&
		[ "$(cat "$work/$1.status")" -eq "$2" ] &&
		[ "$(wc -l <"$work/$1.err")" -eq 1 ] && return
	cat -- "$work/$1.err" "$work/$1.status"
	return 1
}

# Three workers have 300 children each: each was dispatched.
children()
{
	local n

	n=$(kdtl print "$work/command.data" | awk '/ (sh|usleep) / && !seen[$(NF - 1)]++ {
		n++ } END { print n + 0 }')
	echo "$n processes"
	[ "$n" -ge 904 ]
}

in_order()
{
	kdtl print "$work/command.data" | awk '/^#/ { next }
		$1 < last { print; bad = 1 } { last = $1 } END { exit bad || !NR }'
}

killed_can_be_read()
{
	[ "$(entries kill)" -gt 10 ] &&
		kdtl print "$work/kill.data" 2>&1 >/dev/null | grep -q 'its end is missing'
}

# Cut off within an entry, and between two.
cut_is_seen()
{
	local bytes

	for bytes in 30 48; do
		head -c -$bytes "$work/command.data" >"$work/cut.data" &&
			kdtl print "$work/cut.data" 2>&1 >/dev/null |
			grep -q " $(($(said command) - 1)) entries, $(said command) were" ||
			return
	done
	! kdtl print "$work/command.data" 2>&1 >/dev/null | grep .
}

only_cpu_1()
{
	kdtl print "$work/one.data" | awk '/^#/ { next } { n++ } $2 != 1 { bad = 1 }
		END { exit bad || !n }'
}

histogram_adds_up()
{
	[ "$(kdtl histogram "$work/command.data" |
		awk -F'|' 'NF > 1 { split($1, n, " "); sum += n[3] } END { print sum }')" -eq \
		"$(said command)" ]
}

# Lines of value and unit as numbers in ns; 1000 us is 1.00 ms.
in_ns()
{
	awk '{ print $1 * ($2 == "us" ? 1e3 : $2 == "ms" ? 1e6 : $2 == "s" ? 1e9 : 1) }'
}

# p50, p99, p99.9 and max are the waits of these ranks, as print shows them.
percentiles_are_exact()
{
	kdtl print "$work/command.data" | awk '!/^#/ { print $3, $4 }' | in_ns |
		LC_ALL=C sort -g | awk '
		function at(permille) { return wait[int((NR * permille + 999) / 1000)] }
		{ wait[NR] = $1 }
		END { print at(500) "\n" at(990) "\n" at(999) "\n" wait[NR] }' >"$work/ranks"
	kdtl histogram "$work/command.data" | tail -n 1 | tr , '\n' |
		awk '{ print $2, $3 }' | in_ns | diff - "$work/ranks"
}

# Waits of 5, 60 and 5000 s are too long for an entry. Those of 1 to 4 s are exact.
long_waits_marked()
{
	[ "$(kdtl print "$work/long.data" | awk '!/^#/ { printf "%s %s, ", $3, $4 }')" = \
		"1.00 s, 2.00 s, 3.00 s, 4.00 s, 4.29 s+, 4.29 s+, 4.29 s+, " ] &&
		[ "$(kdtl histogram "$work/long.data" | sed -n -e 's/ *[|].*//p' \
			-e '/^p50/p' | tr -s ' ' | tr '\n' ';')" = \
			" 1.07 s 1; 2.15 s 1; 4.29 s 2; 4.29 s+ 3;p50 4.00 s , p99 4.29 s+, p99.9 4.29 s+, max 4.29 s+;" ] &&
		kdtl ctf "$work/long.data" "$work/long" &&
		[ "$(babeltrace2 "$work/long" |
			grep -c 'queued_ns = 4294967295, .* queued_saturated = 1, ')" -eq 3 ] &&
		[ "$(babeltrace2 "$work/long" | grep -c ' queued_saturated = 0, ')" -eq 4 ] &&
		return
	kdtl print "$work/long.data"
	kdtl histogram "$work/long.data"
	return 1
}

# A runner that was throttled for 1 and 2 s did not wait for a CPU.
throttled_apart()
{
	[ "$(kdtl print "$work/throttled.data" | awk '!/^#/ { printf "%s %s %s, ", $3, $4, $7 }')" = \
		"1.00 s external_interrupt, ? ns throttled, 2.00 s external_interrupt, ? ns throttled, " ] &&
		[ "$(kdtl histogram "$work/throttled.data" | sed -n -e '/^not/p' -e '/^p50/p' |
			tr -s ' ' | tr '\n' ';')" = \
			"not in the waits: 2 dispatches of runners that were throttled, for 3.00 s ;p50 1.00 s , p99 2.00 s , p99.9 2.00 s , max 2.00 s ;" ] &&
		kdtl ctf "$work/throttled.data" "$work/throttled" &&
		[ "$(babeltrace2 "$work/throttled" | grep -c 'dispatch_reason = .*throttled')" -eq 2 ] &&
		return
	kdtl print "$work/throttled.data"
	kdtl histogram "$work/throttled.data"
	return 1
}

converts()
{
	kdtl ctf "$work/command.data" "$work/ctf" &&
		! kdtl ctf "$work/command.data" "$work/ctf"
}

# The same entries, all of them, as "seconds cpu pid prev_pid comm".
same_in_ctf()
{
	babeltrace2 --clock-seconds --clock-cycles "$work/ctf" >"$work/babeltrace" || return
	sed -n 's/^\[0*\([0-9]*\)\] .*cpu_id = \([0-9]*\) .* pid = \([0-9]*\), prev_pid = \([0-9]*\), comm = "\(.*\)" }$/\1 \2 \3 \4 \5/p' \
		"$work/babeltrace" | sort >"$work/a"
	kdtl print "$work/command.data" | awk '/^#/ { next } {
		gsub(/\./, "", $1)
		sub(/^0*/, "", $1)
		comm = $9
		for (i = 10; i <= NF - 2; i++)
			comm = comm " " $i
		print $1, $2, $(NF - 1), $NF, comm
	}' | sort >"$work/b"
	wc -l "$work/babeltrace" "$work/a" "$work/b"
	[ "$(wc -l <"$work/babeltrace")" -eq "$(said command)" ] &&
		diff "$work/a" "$work/b"
}

# The time of day: the recording was made today, not in 1970.
time_of_day()
{
	local now first

	now=$(date +%s)
	first=$(babeltrace2 --clock-seconds "$work/ctf" | sed -n '1s/^\[\([0-9]*\)\..*/\1/p')
	echo "now $now, first event $first"
	[ $((now - first)) -ge 0 ] && [ $((now - first)) -lt 3600 ]
}

not_a_recording()
{
	! kdtl print "$work/command.err" && ! kdtl print /dev/null && ! kdtl print "$work/none"
}

# shellcheck disable=SC2086 # several words
wrong()
{
	local status=0

	kdtl $1 || status=$?
	[ $status -eq 2 ]
}

# Last in this machine, as there is no way back.
locked_down()
{
	[ "$(cat "$work/lockdown.status")" -eq 1 ] &&
		grep -q '^kdtl: /dev/kdtl: Operation not permitted' "$work/lockdown.err" &&
		return
	cat -- "$work/lockdown.err"
	return 1
}

wrong_command_lines()
{
	local line

	for line in '' 'nothing' 'record -C x' 'record -C 3-1' 'record -d 0' \
		'record -m 3' 'record -o -' 'record -z' 'record -o' 'print a b' 'ctf' 'list x'; do
		wrong "$line" || { echo "kdtl $line: is taken"; return 1; }
	done
}

"$top/scripts/install-deps" ctf || skip_all "babeltrace2 cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-ctf.XXXXXX")
partial "$work"
capture "$top/scripts/build" x86_64-6.1

plan 20
ok "kdtl builds" make -s -C "$top/clients/stream/tool" OUTPUT="$work/tool"
ok "a machine records" "$top/selftests/run/vm" x86_64-6.1 --quiet --cpus 4 \
	--modules "$captured" --add "$work/tool:/kdtl" --out "$work" -- "$guest"
ok "the source is listed" grep -q '^kdtl_sched .*default' "$work/list"
ok "a command's recording is whole, and its status comes back" whole command 7
ok "every process of it is there" children
ok "in the order of time" in_order
ok "after Ctrl-C it is whole as well" whole int 0
ok "after kill -9 what was written can be read" killed_can_be_read
ok "a copy that was cut off is detected" cut_is_seen
ok "only CPUs that were asked for" only_cpu_1
ok "the machine read the same" cmp "$work/command.txt" <(kdtl print "$work/command.data")
ok "the histogram adds up" histogram_adds_up
ok "its percentiles are exact" percentiles_are_exact
ok "waits too long for an entry are marked" long_waits_marked
ok "throttled runners are in no wait" throttled_apart
ok "it converts to CTF, once" converts
ok "babeltrace2 reads the same entries" same_in_ctf
ok "with the time of day" time_of_day
ok "root of a locked down kernel gets nothing" locked_down
ok "what is no recording, no option, no command is refused" \
	eval 'not_a_recording && wrong_command_lines'
finish
