#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A recording that kdtl(1) makes in a machine is read here, as text and, converted to
# CTF, with babeltrace2. It is complete however the command ends.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/kdtl.sh
. "$here/lib/kdtl.sh"

# This runs in the machine. The recordings are checked here.
# shellcheck disable=SC2016
guest='
	PATH=$PATH:/kdtl
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko &&
		insmod kdtl_stream.ko || exit
	cd /out
	worker() {
		n=0
		while [ $n -lt 300 ]; do
			n=$((n + 1))
			usleep 1000
		done
	}
	# grown FILE: waits until it has some entries
	grown() {
		until [ $(kdtl print $1 2>/dev/null | grep -c -v "^#") -gt 20 ]; do
			usleep 50000
		done
	}
	echo "worker() { n=0; while [ \$n -lt 300 ]; do n=\$((n + 1)); usleep 1000; done; }
		worker & worker & worker & wait; exit 7" >/tmp/work
	kdtl list >list
	kdtl record -o command.data sh /tmp/work 2>command.err
	echo $? >command.status
	# Into a file goes no progress, with a tty or without.
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
	kdtl record -q -m 256 -o tasks.data /programs/tasks_load /out/tasks.truth
	echo $? >tasks.status
	kdtl record -q -i -o idle.data sh /tmp/work
	insmod /lib/kdtl/kdtl_fake_pmu.ko && insmod /lib/kdtl/kdtl_fake_drive.ko &&
		kdtl record -q -s kdtl_fake -o long.data sh -c "for s in 1 2 3 4 5 60 5000; do
			echo wait 0 \$s >/sys/kernel/debug/kdtl_fake/do; done" &&
		kdtl record -q -s kdtl_fake -o throttled.data sh -c "for s in 1 2; do
			echo wait 0 \$s >/sys/kernel/debug/kdtl_fake/do
			echo throttle 0 \$s >/sys/kernel/debug/kdtl_fake/do; done"
	kdtl print command.data >command.txt
	rmmod kdtl_fake_drive kdtl_fake_pmu kdtl_stream kdtl_answers
	insmod /lib/kdtl/kdtl_answers.ko task_records=128 &&
		insmod /lib/kdtl/kdtl_stream.ko || exit
	# Tasks come and go while nobody reads.
	kdtl record -m 256 -o few.data /programs/tasks_load few.truth few.data 2>few.err
	echo $? >few.status
	mount -t securityfs securityfs /sys/kernel/security &&
		echo confidentiality >/sys/kernel/security/lockdown &&
		kdtl list 2>lockdown.err
	echo $? >lockdown.status
'

# said NAME: the dispatches in a recording's summary, "NAME: 1.2 s, N dispatches, 0 lost, ...".
said()
{
	sed -n 's/.* s, \([0-9]*\) dispatches, 0 lost, .*/\1/p' "$work/$1.err"
}

entries()
{
	kdtl print "$work/$1.data" | grep -vc '^#'
}

# whole NAME STATUS: the recording has exactly as many entries as its summary says.
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

# Three workers had 300 children each, and each child was dispatched.
children()
{
	local n

	n=$(kdtl print "$work/command.data" | awk '/ (sh|usleep) / && !seen[$(NF - 2)]++ {
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
		kdtl print "$work/kill.data" 2>&1 >/dev/null | matches 'its end is missing'
}

# behind_entries FILE: how many bytes come after the last chunk of entries. There are more if tasks
# waited at the end.
behind_entries()
{
	python3 - "$1" <<-'END'
	import struct, sys

	data = open(sys.argv[1], "rb").read()
	at = struct.unpack_from(">I", data, 8)[0]
	while at < len(data):
	    kind, size = struct.unpack_from(">II", data, at)
	    at += 8 + size
	    if kind == 1:
	        end = at
	print(len(data) - end)
	END
}

# A recording that is cut off within the last entry, or before it, says so.
cut_is_seen()
{
	local bytes behind

	behind=$(behind_entries "$work/command.data") || return
	for bytes in $((behind + 6)) $((behind + 48)); do
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

# Makes numbers in ns of lines of value and unit; 1000 us is 1.00 ms.
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
			"not in the waits: how long runners were throttled before 2 dispatches, 3.00 s ;p50 1.00 s , p99 2.00 s , p99.9 2.00 s , max 2.00 s ;" ] &&
		kdtl ctf "$work/throttled.data" "$work/throttled" &&
		[ "$(babeltrace2 "$work/throttled" | grep -c 'dispatch_reason = .*throttled')" -eq 2 ] &&
		return
	kdtl print "$work/throttled.data"
	kdtl histogram "$work/throttled.data"
	return 1
}

# From entry to entry each CPU is a task's, or idle, and idle time is in no wait. The other
# recordings did not ask for idle times.
idle_apart()
{
	kdtl print "$work/idle.data" | awk '/^#/ { next }
		($2 in pid) && pid[$2] != $(NF - 1) { print; bad = 1 }
		{ pid[$2] = $(NF - 2) }
		$7 == "idle" { idle++; bad = bad || $9 != "swapper/" $2 || pid[$2] || $NF != "-" }
		$7 != "idle" { bad = bad || !pid[$2] }
		END { exit bad || idle < 300 }' &&
		[ "$(kdtl histogram "$work/idle.data" | sed -n '1s/ .*//p')" -eq \
			"$(kdtl print "$work/idle.data" | awk '!/^#/ && $7 != "idle"' | wc -l)" ] &&
		[ "$(kdtl histogram "$work/idle.data" | awk -F'|' 'NF > 1 {
			split($1, n, " "); sum += n[3] } END { print sum }')" -eq \
			"$(kdtl histogram "$work/idle.data" | sed -n '1s/ .*//p')" ] &&
		kdtl ctf "$work/idle.data" "$work/idle" &&
		[ "$(babeltrace2 "$work/idle" |
			grep -c 'dispatch_reason = .*idle.* pid = 0, ')" -ge 300 ] &&
		! kdtl print "$work/command.data" | grep swapper/
}

converts()
{
	kdtl ctf "$work/command.data" "$work/ctf" &&
		! kdtl ctf "$work/command.data" "$work/ctf"
}

# CTF has the same entries, all of them, compared as "ns cpu pid prev_pid comm".
same_in_ctf()
{
	babeltrace2 "$work/ctf" | grep ' kdtl:dispatch: ' >"$work/babeltrace" || return
	sed -n 's/^.*cpu_id = \([0-9]*\) }, { since_boot_ns = \([0-9]*\), .* pid = \([0-9]*\), prev_pid = \([0-9]*\), comm = "\(.*\)" }$/\2 \1 \3 \4 \5/p' \
		"$work/babeltrace" | sort >"$work/a"
	kdtl print "$work/command.data" | awk '/^#/ { next } {
		gsub(/\./, "", $1)
		sub(/^0*/, "", $1)
		comm = $9
		for (i = 10; i <= NF - 3; i++)
			comm = comm " " $i
		print $1, $2, $(NF - 2), $(NF - 1), comm
	}' | sort >"$work/b"
	wc -l "$work/babeltrace" "$work/a" "$work/b"
	[ "$(wc -l <"$work/babeltrace")" -eq "$(said command)" ] &&
		diff "$work/a" "$work/b"
}

# By its time of day, the recording was made today, not in 1970. A machine can be half a second ahead.
time_of_day()
{
	local now first

	now=$(date +%s)
	first=$(babeltrace2 --clock-seconds "$work/ctf" | sed -n '1s/^\[\([0-9]*\)\..*/\1/p')
	echo "now $now, first event $first"
	[ $((now - first)) -ge -1 ] && [ $((now - first)) -lt 3600 ]
}

# Prints the entries of a recording in one form:
#	TICKS PID TGID POLICY PRIORITY CGROUP COMM
# Fields that are not known are a ? each.
as_printed()
{
	kdtl print -a "$work/$1.data" | awk '/^#/ { next } {
		sub(/\./, "", $1)
		last = $(NF - 1) == "?" ? 4 : 5
		comm = $9
		for (i = 10; i < NF - last; i++)
			comm = comm " " $i
		if (last == 4)
			$(NF + 1) = "?"
		print $1, $(NF - 5), $(NF - 3), $(NF - 2), $(NF - 1), $NF, comm
	}'
}

as_converted()
{
	rm -rf -- "$work/$1.ctf" && kdtl ctf "$work/$1.data" "$work/$1.ctf" || return
	babeltrace2 "$work/$1.ctf" | sed -n -E -e 's/ cgroup = "",/ cgroup = "?",/' \
		-e 's/^.* since_boot_ns = ([0-9]+), .* tgid = ([0-9-]+), policy = ([0-9]+), nice = ([0-9-]+), rt_priority = ([0-9]+), cgroup_id = [0-9]+, cgroup = "(.*)", pid = ([0-9]+), prev_pid = [0-9]+, comm = "(.*)" \}$/\1 \7 \2 \3 \4 \5 \6 \8/p' |
		awk '{
			split("other fifo rr batch 4 idle deadline ext", policy)
			$4 = policy[$4 + 1]
			$5 = $6 > 0 ? $6 : $5
			if ($3 < 0)
				$3 = $4 = $5 = $7 = "?"
			$6 = ""
			gsub(/  /, " ")
			print
		}'
}

# attributed TRUTH KNOWN: each entry on stdin, in the form above, says what its task was
# according to the load. KNOWN is 1 if each must be known, and 0 if some may be unknown.
attributed()
{
	awk -v all="$2" '
	NR == FNR {
		n++
		from[n] = $1; to[n] = $2; of[$3] = of[$3] " " n
		text[n] = $4 " " $5 " " $6 " " $8 " " $7
		next
	}
	{
		entries++
		what = $3 " " $4 " " $5 " " $6 " " $7
		for (i = 8; i <= NF; i++)
			what = what " " $i
		nr = split(of[$2], line, " ")
		for (i = 1; i <= nr; i++) {
			k = line[i]
			if ($1 < from[k] || $1 > to[k])
				continue
			if (!all && what ~ /^[?] [?] [?] [?]/) {
				unknown++
				continue
			}
			seen[k]++
			if (what != text[k] && bad++ < 10)
				print "pid", $2, "was", text[k], "and is said to be", what
		}
	}
	END {
		for (k = 1; k <= n; k++)
			known += seen[k] > 0
		print entries + 0, "entries,", known + 0, "of", n, "lines found,",
			unknown + 0, "entries unknown"
		exit !n || bad || all && known < n || !known
	}' "$work/$1.truth" -
}

loads_ran()
{
	[ "$(cat "$work/tasks.status")" -eq 0 ] && [ "$(cat "$work/few.status")" -eq 0 ] &&
		[ "$(wc -l <"$work/tasks.truth")" -eq 64 ] && return
	cat -- "$work"/tasks.* "$work/few.err" | tail -n 5
	return 1
}

whose_in_print()
{
	as_printed tasks | attributed tasks 1
}

whose_in_ctf()
{
	as_converted tasks | attributed tasks 1
}

# print and CTF have the same entries, also if something is not known.
print_is_ctf()
{
	as_printed tasks | sort >"$work/a"
	as_converted tasks | sort >"$work/b"
	[ -s "$work/a" ] && cmp "$work/a" "$work/b"
}

# One can ask for the entries of a process, and for those of a cgroup and below it.
filters()
{
	local leader

	leader=$(awk '$7 == "leader" { print $3 }' "$work/tasks.truth")
	kdtl print -a "$work/tasks.data" | awk -v p="$leader" '!/^#/ && ($(NF - 3) == p)' >"$work/a"
	kdtl print -a -p "$leader" "$work/tasks.data" | grep -v '^#' | diff - "$work/a" ||
		return
	[ "$(awk '{ print $(NF - 5) }' "$work/a" | sort -u | wc -l)" -eq 3 ] || return
	kdtl print -a "$work/tasks.data" | grep ' /a-pod[^ ]*/container$' >"$work/a"
	[ -s "$work/a" ] &&
		kdtl print -a -g /a-pod-with-a-name-that-is-too-long-for-a-line/ "$work/tasks.data" |
		grep -v '^#' | diff - "$work/a" || return
	[ "$(kdtl print -g /a-pod "$work/tasks.data" | wc -l)" -eq 2 ] &&
		[ "$(kdtl print --cgroup=/ --pid=999999999 "$work/tasks.data" | wc -l)" -eq 2 ]
}

# A long path is shortened in the middle, unless -a is given.
paths_shortened()
{
	kdtl print "$work/tasks.data" | grep -v '^#' >"$work/a" &&
		grep -q '  /a-pod-with-a[.][.][.]a-line/container$' "$work/a" &&
		! awk 'length($NF) > 32' "$work/a" | grep .
}

# Wherever a recording is cut off, it has the tasks of the entries that it has.
cut_off_is_attributed()
{
	local bytes part n unknown

	bytes=$(wc -c <"$work/tasks.data")
	unknown=$(as_printed tasks | grep -c ' ? ? ? ? ')
	for part in 1 2 3 4 5 6 7 8 9; do
		head -c $((bytes * part / 10 / 8 * 8)) "$work/tasks.data" >"$work/part.data"
		n=$(as_printed part 2>/dev/null | grep -c ' ? ? ? ? ')
		[ "$n" -le "$unknown" ] || { echo "$n unknown after $part/10"; return 1; }
	done
	[ "$(as_printed part 2>/dev/null | wc -l)" -gt 50 ]
}

# More tasks came and went than the table holds. Whatever is said about them is right.
losses_said()
{
	as_printed few | attributed few 0 || return
	as_converted few | attributed few 0 || return
	grep -q '^kdtl: [1-9][0-9]* records of tasks were lost: .*task_records=' "$work/few.err" &&
		kdtl print "$work/few.data" | sed -n 1p |
		grep -q ' dispatches, 0 lost; [1-9][0-9]* records of tasks, [1-9][0-9]* lost$' &&
		return
	cat "$work/few.err"
	return 1
}

# Makes a recording of the entries alone, as recordings were before there were chunks.
to_old_format()
{
	python3 "$here/lib/recording.py" --old "$work/command.data" "$work/old.data"
}

old_can_be_read()
{
	to_old_format || return
	kdtl print "$work/command.data" | sed '1,2d; s/  [^ ]*$//' >"$work/a"
	kdtl print "$work/old.data" 2>&1 | sed 1,2d | diff - "$work/a" >/dev/null &&
		kdtl histogram "$work/old.data" | diff - <(kdtl histogram "$work/command.data") &&
		kdtl ctf "$work/old.data" "$work/old.ctf" &&
		[ "$(babeltrace2 "$work/old.ctf" | grep -c ' kdtl:dispatch: ')" -eq "$(said command)" ] || return
	wrong "print -g / $work/old.data"
}

# Names that steer terminals are shown, not obeyed.
names_are_escaped()
{
	LC_ALL=C sed 's/usleep\x00/\x1b[2J\\\x00\x00/g' "$work/command.data" >"$work/evil.data"
	kdtl print "$work/evil.data" >"$work/evil.txt" &&
		grep -q -F ' \x1b[2J\x5c ' "$work/evil.txt" &&
		! LC_ALL=C grep -q '[^ -~]' "$work/evil.txt"
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

# The machine was locked down last, as there is no way back.
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
		'record -m 3' 'record -i -w 1' 'record -o - --ring 1' 'record --ring 0' \
		'record --max-size 1K' 'record --rotate 0' 'record -z' 'record -o' 'print a b' 'print -z' 'print -p' \
		'print -p x' 'print -g a' 'ctf' 'list x'; do
		wrong "$line" || { echo "kdtl $line: is taken"; return 1; }
	done
}

"$top/scripts/install-deps" ctf || skip_all "babeltrace2 cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-ctf.XXXXXX")
partial "$work"
capture "$top/scripts/build" x86_64-6.1

plan 32
ok "kdtl builds" builds
ok "and a load" make -s -C "$top/selftests" OUTPUT="$work/programs" "$work/programs/tasks_load"
ok "a machine records" "$top/selftests/run/vm" x86_64-6.1 --quiet --cpus 4 \
	--modules "$captured" --add "$work/tool:/kdtl" --add "$work/programs:/programs" --out "$work" -- "$guest"
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
ok "idle time is recorded if asked for, and then no gap is left" idle_apart
ok "it converts to CTF, once" converts
ok "babeltrace2 reads the same entries" same_in_ctf
ok "with the time of day" time_of_day
ok "loads wrote down what they were" loads_ran
ok "each entry is attributed to that" whose_in_print
ok "in CTF, too" whose_in_ctf
ok "print and CTF say the same of each" print_is_ctf
ok "entries of a process, and of a cgroup" filters
ok "long paths of cgroups are shortened" paths_shortened
ok "what was cut off has the tasks of its entries" cut_off_is_attributed
ok "what was lost of the tasks is said, and nothing wrong" losses_said
ok "recordings of an older version can be read" old_can_be_read
ok "names do not steer the terminal" names_are_escaped
ok "root of a locked down kernel gets nothing" locked_down
ok "wrong recordings, options and commands are refused" \
	eval 'not_a_recording && wrong_command_lines'
finish
