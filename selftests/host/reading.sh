#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what kdtl(1) says about a recording itself: how it ended, whether it is one, and which
# times of day it has if the clock was slewed or set. The recordings say exactly what happened
# (lib/recording.py).
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/kdtl.sh
. "$here/lib/kdtl.sh"

export TZ=UTC

# two_entries [LINE]...: makes a recording with two entries, and these lines.
two_entries()
{
	printf '%s\n' 'boot 0 1700000000000000000' 'lost 7' 'run 1000000000 1 5 5 100 0 web' \
		'run 2000000000 1 5 5 200 100 hog' "$@" |
		python3 "$here/lib/recording.py" "$work/data"
}

# lines TEXT: prints it; no line if it is empty.
lines()
{
	sed '/^$/d' <<<"$1"
}

# ended TEXT LINE...: a recording with these lines is not whole, and print says TEXT about it.
ended()
{
	local text=$1

	shift
	two_entries "$@" && kdtl print "$work/data" >"$work/out" 2>"$work/err" &&
		[ "$(grep -vc '^#' "$work/out")" -eq 2 ] &&
		sed "s|^kdtl: $work/data: ||" "$work/err" | diff - <(lines "$text")
}

# A recording reads the same from a pipe, from standard input, and as a file.
stream_is_read()
{
	two_entries stream && kdtl print "$work/data" >"$work/out" &&
		grep -q ': 2 dispatches, 7 lost' "$work/out" &&
		kdtl print - <"$work/data" 2>&1 | diff - "$work/out" &&
		kdtl print <(cat "$work/data") 2>&1 | diff - "$work/out" &&
		head -c 100000 "$work/data" | kdtl histogram - | matches '^2 dispatches, 7 lost' &&
		! : | kdtl print - && ! kdtl print - <"$0"
}

# A recording is replaced while it is read. The text does not fit in the pipe, so kdtl goes on
# reading after that.
cut_is_said()
{
	{
		echo 'boot 0 1700000000000000000'
		seq -f 'run %.0f0000 1 5 5 200 100 hog' 20000
	} | python3 "$here/lib/recording.py" "$work/cut" || return
	{
		kdtl print "$work/cut" 2>"$work/err"
		echo $? >"$work/status"
	} | {
		read -r _
		: >"$work/cut"
		cat >/dev/null
	}
	[ "$(cat "$work/status")" -eq 1 ] && [ "$(cat "$work/err")" = \
		'kdtl: the recording became shorter while it was read; was it recorded anew?' ]
}

# Chunks that a later version adds are skipped, so that older versions can read its recordings.
later_is_skipped()
{
	two_entries && kdtl print "$work/data" >"$work/out" &&
		printf '%s\n' 'boot 0 1700000000000000000' 'lost 7' later \
			'run 1000000000 1 5 5 100 0 web' later 'run 2000000000 1 5 5 200 100 hog' later |
		python3 "$here/lib/recording.py" "$work/data" &&
		kdtl print "$work/data" 2>&1 | diff "$work/out" -
}

# A size that is not a multiple of 8 would misalign all entries.
head_is_checked()
{
	local size

	two_entries 'head 224' && kdtl print "$work/data" >/dev/null || return
	for size in 0 8 208 217 220 223 225 228 4294967288 4294967295; do
		two_entries "head $size" && ! kdtl print "$work/data" 2>"$work/err" &&
			[ "$(cat "$work/err")" = "kdtl: $work/data: not a recording of kdtl" ] ||
			return
	done
}

# times_are TEXT MICROSECONDS...: TEXT has the times of day of entries at 0.5, 1, 1.5, 2, 2.5, 3.5
# and 5 s, when the clock has gone on by these numbers of microseconds at 0, 1, 2 and 4 s. The
# recording begins 1700000000 s after 1970, at 22:13:20.
times_are()
{
	local text=$1 at i=0

	shift
	{
		for at in 0 1 2 4; do
			echo "clock ${at}000000000 $((1700000000000000 + $1))000"
			shift
		done
		for at in 500 1000 1500 2000 2500 3500 5000; do
			i=$((i + 1))
			echo "run ${at}000000 0 $((20 - i)) 0 $i 0 task"
		done
	} | python3 "$here/lib/recording.py" "$work/data"
	kdtl why --brief "$work/data" 2>"$work/err" | sed 's/.* time=[^T]*T//; s/ .*//' |
		diff - <(tr -s ' \t\n' '\n' <<<"$text")
}

# was_set TEXT: TEXT is said about the times at which the clock was set.
was_set()
{
	sed -n 's/.*the clock was set by \([^ ]*\) s, or the machine slept, before \(.*\)/\1 \2/p' \
		"$work/err" | diff - <(lines "$1")
}

steady()
{
	times_are '22:13:20.500000 22:13:21.000000 22:13:21.500000 22:13:22.000000
		22:13:22.500000 22:13:23.500000 22:13:25.000000' 0 1000000 2000000 4000000 &&
		was_set ''
}

# The clock is slewed as fast as NTP does it, and as adjtimex(2) can.
slewed()
{
	times_are '22:13:20.500250 22:13:21.000500 22:13:21.500750 22:13:22.001000
		22:13:22.501250 22:13:23.501750 22:13:25.002000' 0 1000500 2001000 4002000 &&
		was_set '' &&
		times_are '22:13:20.550000 22:13:21.100000 22:13:21.650000 22:13:22.200000
		22:13:22.750000 22:13:23.850000 22:13:25.400000' 0 1100000 2200000 4400000 &&
		was_set ''
}

# Until the clock was set, times are by the old clock; none is made up in between.
set_forward()
{
	times_are '22:13:20.500000 22:13:21.000000 22:13:21.500000 23:13:22.000000
		23:13:22.500000 23:13:23.500000 23:13:25.000000' \
		0 1000000 3602000000 3604000000 && was_set '+3600.000 23:13:22.000'
}

set_back()
{
	times_are '22:13:20.500000 22:13:21.000000 22:13:21.500000 22:13:20.250000
		22:13:20.750000 22:13:21.750000 22:13:23.250000' 0 1000000 250000 2250000 &&
		was_set '-1.750 22:13:20.250'
}

# The clock is set by a little more than a slew, or a lagging time base, can be.
set_a_little()
{
	times_are '22:13:20.500000 22:13:21.000000 22:13:21.500000 22:13:22.150000
		22:13:22.650000 22:13:23.650000 22:13:25.150000' 0 1000000 2150000 4150000 &&
		was_set '+0.150 22:13:22.150'
}

lags()
{
	times_are '22:13:20.506000 22:13:21.012000 22:13:21.506000 22:13:22.000000
		22:13:22.500000 22:13:23.500000 22:13:25.000000' 0 1012000 2000000 4000000 &&
		was_set ''
}

# kdtl record notices a step at once, and says what the clock was before it: then a step of any
# size moves no time of day.
set_and_noticed()
{
	two_entries 'clock 0 1700000000000000000' 'clock 1499999999 1700000001499999999' \
		'clock 1500000000 1700000001510000000' 'clock 3000000000 1700000003010000000' &&
		[ "$(kdtl why --brief "$work/data" | sed 's/.*T//; s/ .*//' | tr '\n' ' ')" = \
			"22:13:21.000000 22:13:22.010000 " ]
}

# If the clock was set many times, there is not a line for each.
set_often()
{
	printf 'clock %s000000000 %s000000000\n' 1 1 2 12 3 23 4 34 5 45 6 56 7 67 |
		python3 "$here/lib/recording.py" "$work/data" &&
		kdtl print "$work/data" 2>"$work/err" >/dev/null &&
		[ "$(grep -c 'was set by' "$work/err")" -eq 3 ]
}

# With a time base above 18.4 GHz, a second's ticks times 10^9 exceed 64 bits.
fast_time_base()
{
	printf '%s\n' 'freq 30000000000' 'run 45000000000 0 10 0 1 0 a' |
		python3 "$here/lib/recording.py" "$work/data" &&
		kdtl print "$work/data" | matches '^ *1\.500000000 '
}

# A time of more ns than a number can hold is the latest there is, and not an early one.
slow_time_base()
{
	local freq time

	for freq in 3 10; do
		[ $freq = 3 ] && time=9223372036854775807 || time=184467440739
		printf '%s\n' "freq $freq" 'run 1000 0 10 0 1 0 a' "run $time 0 10 0 2 1 b" |
			python3 "$here/lib/recording.py" "$work/data" &&
			kdtl print "$work/data" | matches '^ *18446744073\.709551615 ' || return
	done
}

# A chunk ends at a multiple of 8 bytes, whatever else its size says: nothing after it is misread.
size_is_whole()
{
	two_entries && kdtl print "$work/data" >"$work/out" &&
		python3 - "$work/data" <<-'END' && kdtl print "$work/data" 2>&1 | diff "$work/out" -
		import struct, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		data[struct.unpack(">I", data[8:12])[0] + 7] |= 5
		open(sys.argv[1], "wb").write(data)
		END
}

# Two times of day at one time cannot both be: the first stays.
clock_said_twice()
{
	two_entries 'clock 1000000000 1700000001000000000' \
		'clock 1000000000 1700000009000000000' &&
		kdtl why --brief "$work/data" >"$work/out" 2>"$work/err" && was_set '' &&
		[ "$(sed 's/.*T//; s/ .*//' "$work/out" | sort | tr '\n' ' ')" = \
			"22:13:21.000000 22:13:22.000000 " ]
}

# Losses are in the file in the order in which they were seen. Which task ran is unknown only while
# entries of the same CPU were lost: b waited then, c did not.
losses_in_any_order()
{
	printf '%s\n' 'loss 1 2500000000 2600000000 3' 'loss 0 3000000000 3100000000 3' \
		'loss 0 1000000000 1100000000 3' 'run 1000000000 0 10 0 1 0 a' \
		'run 2000000000 0 900000000 0 2 1 b' 'run 2900000000 0 800000000 0 3 2 c' |
		python3 "$here/lib/recording.py" "$work/data" &&
		kdtl why --brief "$work/data" >"$work/out" &&
		grep -q 'task=b .* unknown_ms=900\.000 ' "$work/out" &&
		grep -q 'task=c .* behind=b behind_ms=800\.000 .* unknown_ms=0\.000 ' "$work/out"
}

# moves [LINE]...: makes a recording in which the task that takes CPU 1 offline is its last one, and
# its first one when it is back, with these lines.
moves()
{
	printf '%s\n' 'boot 0 1700000000000000000' 'clock 0 1700000000000000000' "$@" \
		'run 1000000000 1 10 0 100 0 web' 'run 1100000000 1 10 0 20 100 cpuhp/1' \
		'run 1500000000 0 10 0 300 0 other' 'run 1902000000 1 500000000 0 100 20 web' \
		'idle 2000000000 1 100' 'run 2100000000 1 10 0 20 0 cpuhp/1' \
		'idle 2100000000 0 300' 'clock 3000000000 1700000003000000000' |
		python3 "$here/lib/recording.py" "$work/data"
}

# print has a line in the order of time for a CPU that goes or comes, and all commands say when that
# was.  The time is no task's, and nobody waited behind one then; without the marks it would be.
offline_is_told()
{
	moves 'online 2300000000 2' 'offline 1101000000 1' 'online 1901000000 1' \
		'offline 2101000000 1' && kdtl print "$work/data" 2>"$work/err" >"$work/out" &&
		diff "$work/err" - <<-END &&
			kdtl: $work/data: CPU 1 went offline at 22:13:21.101, CPU 1 came online at 22:13:21.901, CPU 1 went offline at 22:13:22.101, CPU 2 came online at 22:13:22.300
		END
		sed 1,2d "$work/out" | awk '{ print $1, $2, $3, $4 }' | diff - <(cat <<-'END'
			1.000000000 1 10 ns
			1.100000000 1 10 ns
			# 1.101000000 1 went
			1.500000000 0 10 ns
			# 1.901000000 1 came
			1.902000000 1 500 ms
			2.000000000 1 0 ns
			2.100000000 1 10 ns
			2.100000000 0 0 ns
			# 2.101000000 1 went
			# 2.300000000 2 came
		END
		) &&
		[ "$(kdtl print --cpu 0,2 --from 22:13:22.2 "$work/data" | grep -c '^# *[0-9]')" -eq 1 ] &&
		! kdtl print -n 2 "$work/data" | grep '^# *[0-9]' &&
		kdtl report "$work/data" 2>/dev/null >"$work/out" &&
		matches '^cpuhp/1 (20)  *2  *0ns+ ' <"$work/out" &&
		matches '^+ means or more: for 2.00 ms it is not known' <"$work/out" &&
		kdtl why -n 1 --brief "$work/data" 2>/dev/null |
		matches 'task=web .* behind=? behind_ms=0 .* unknown_ms=500\.000 ' &&
		moves && kdtl print "$work/data" 2>&1 | diff - <(kdtl print "$work/data" 2>/dev/null) &&
		kdtl report "$work/data" 2>/dev/null | matches '^cpuhp/1 (20)  *2  *802ms+ ' && return
	cat "$work/err" "$work/out"
	return 1
}

# A CPU that was offline before has a mark without a time, and one that comes again counts once, as in
# the parts of a ring.
offline_before()
{
	moves 'offline 0 3' 'offline 1101000000 1' 'online 1901000000 1' 'offline 0 3' \
		'offline 1101000000 1' && kdtl print "$work/data" 2>"$work/err" >"$work/out" &&
		diff "$work/err" - <<-END &&
			kdtl: $work/data: CPU 1 went offline at 22:13:21.101, CPU 1 came online at 22:13:21.901, CPU 3 was offline
		END
		grep '^# *[0-9]' "$work/out" | awk '{ print $2, $3, $4, $5 }' | diff - <(cat <<-'END'
			0.000000000 3 was offline
			1.101000000 1 went offline
			1.901000000 1 came online
		END
		) && kdtl export --format ftrace "$work/data" 2>/dev/null |
		matches '\[003\] .* 0\.000000000: sched_cpu_hotplug: cpu 3 offline' && return
	cat "$work/err" "$work/out"
	return 1
}

# Marks that make no sense are left out, and do not hide others. If it is not known since when a CPU that
# came was offline, the time of its last task until then is neither the task's nor in doubt.
strange_moves()
{
	moves 'online 1901000000 1' && kdtl report "$work/data" 2>/dev/null >"$work/out" &&
		matches '^cpuhp/1 (20)  *2  *0ns+ ' <"$work/out" &&
		matches '^+ means or more: for 900 ms it is not known' <"$work/out" || return
	moves 'online 1901000000 1' 'online 18446744073709551615 1' 'offline 1101000000 1' \
		'offline 1101000000 1' 'online 1901000000 1' 'offline 5 65536' 'offline 6 4294967295' \
		'offline 18446744073709551615 3' && kdtl report "$work/data" 2>"$work/err" >"$work/out" &&
		matches '^cpuhp/1 (20)  *2  *0ns+ ' <"$work/out" &&
		matches ': CPU 1 went offline at 22:13:21.101, .*, CPU 3 went offline at [^ ]*$' <"$work/err" &&
		kdtl print "$work/data" >"$work/out" 2>&1 && kdtl print --cpu 0-3 "$work/data" 2>&1 |
		diff "$work/out" - && return
	cat "$work/err" "$work/out"
	return 1
}

# A CPU that goes at the moment of an entry goes after it: the entry's task had no time there. One that
# comes then comes before it: the task has the time from then on.
moves_with_entry()
{
	moves 'offline 1100000000 1' 'online 1902000000 1' &&
		kdtl report "$work/data" 2>/dev/null >"$work/out" &&
		matches '^cpuhp/1 (20)  *2  *0ns+ ' <"$work/out" &&
		matches '^web (100)  *2  *198ms ' <"$work/out" &&
		kdtl print "$work/data" 2>/dev/null | awk '/ went| came| 1\.1| 1\.902/ {
			print $1, $2, $3, $4
		}' >"$work/out" && diff "$work/out" - <<-'END' && return
			1.100000000 1 10 ns
			# 1.100000000 1 went
			# 1.902000000 1 came
			1.902000000 1 500 ms
		END
	cat "$work/out"
	return 1
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-reading.XXXXXX")
partial "$work"
plan 25
ok "kdtl builds" builds
ok "of a recording that is whole nothing is said" ended ''
ok "one without an end may still be written" \
	ended 'is still being written or was killed, its end is missing' cut
ok "an error is no kill" ended 'an error ended the recording, its end is missing' failed
ok "a stream can be read, from a pipe too" stream_is_read
ok "a stream that was cut off says so" \
	ended 'is still being written or was killed, its end is missing' stream cut
ok "one that becomes shorter while it is read is no crash" cut_is_said
ok "what is new in a later version is skipped" later_is_skipped
ok "a head of a wrong size is refused" head_is_checked
ok "the time of day of a steady clock" steady
ok "of one that is slewed" slewed
ok "of one that was set" eval 'set_forward && set_back'
ok "by a little, too" set_a_little
ok "even by 10 ms, if it was noticed" set_and_noticed
ok "a clock that lags a little is not set" lags
ok "a clock that is set often has a few lines about that" set_often
ok "a time said twice is the first" clock_said_twice
ok "a time base that is very fast is read" fast_time_base
ok "and of a very slow one, times that no number holds" slow_time_base
ok "the size of a part is whole words" size_is_whole
ok "losses in any order are of their CPU and time" losses_in_any_order
ok "CPUs that were offline are marked, and nobody had them" offline_is_told
ok "one that was offline before, too, and each mark once" offline_before
ok "a CPU goes after an entry of the same moment, and comes before it" moves_with_entry
ok "strange marks do not hide others" strange_moves
finish
