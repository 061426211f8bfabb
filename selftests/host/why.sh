#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl why, which shows the longest waits and which tasks had the CPU meanwhile, and the
# filters that other commands share. The recordings say exactly what happened (lib/recording.py).
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

export TZ=UTC COLUMNS=80

# says TEXT ARGUMENT...: the command prints TEXT below the table's head.
says()
{
	local text=$1

	shift
	kdtl why "$@" 2>&1 | sed '1,/^time of day/d' | diff <(printf '%s\n' "$text") -
}

# tells TEXT ARGUMENT...: the lines for scripts are TEXT, without the time and the last fields.
tells()
{
	local text=$1

	shift
	kdtl why --brief "$@" 2>&1 | sed 's/ time=[^ ]*//; s/ stolen_ms=? .*//' |
		diff <(printf '%s\n' "$text") -
}

records()
{
	recording night <"$here/lib/night.txt" &&
	recording holes <<-'END' &&
		run 1000000000 1 0 0 1 0 one
		run 2000000000 1 0 0 2 9 two
		run 3000000000 1 2500000000 0 3 2 three
		run 4000000000 1 0 0 4 3 four
		run 8000000000 1 4294967295 0 5 4 five
	END
	recording vpa <<-'END' &&
		source kdtl_vpa
		run 1000000000 1 7000000 0 1 0 xxxx
	END
	recording evil <<-'END' &&
		cgroup 1 /a%b
		task 1 1 1 0 0 0 1 x
		run 1000000000 0 1000000 0 1 0 x
	END
	{
		echo "cgroup 1 /a.slice/with-a-name-that-leaves-no-place-for-others.service"
		for i in $(seq 20); do
			echo "task 1 $i $i 0 0 0 1 task-with-a-name"
		done
		echo "run 100000000 0 0 0 1 0 task-with-a-name"
		for i in $(seq 2 20); do
			echo "run ${i}000000000 0 900000000 0 $i $((i - 1)) task-with-a-name"
		done
	} | recording many &&
	LC_ALL=C sed -i -e 's/a%b/a\x1bb/' -e 's/x\x00\x00\x00/\x1b[2J/g' "$work/evil.data"
}

# The service waited behind the hog, its thread for its own quota.
worst_first()
{
	says "22:13:21.622    1    617 ms         -  web (100)         /system..../web.service
    behind hog (200) 602 ms, kworker/1:1 (300) 15.0 ms
22:13:21.900    0         -   90.0 ms  web-thread (101)  /system..../web.service
    held back by the quota of its cgroup
22:13:22.000    1   2.00 us         -  hog (200)         /batch.s...ft-of-a-line
    behind idle 2.00 us" "$work/night.data" &&
		kdtl why "$work/night.data" | sed -n 1,2p |
		diff <(echo "$work/night.data: the longest 3 of 3 waits, worst first; 0 entries lost
host host, 2023-11-14, times in UTC") -
}

# on_terminal ROWS COLUMNS: prints what a terminal of that size gets.
on_terminal()
{
	python3 "$here/lib/on_terminal.py" "$@" "$work/tool/kdtl" why "$work/many.data"
}

# The answer fits on one screen, with the shell's line below it. A large screen shows ten waits.
one_screen()
{
	on_terminal 24 80 >"$work/out" && [ "$(wc -l <"$work/out")" -eq 22 ] &&
		! sed 1d "$work/out" | awk 'length > 80' | grep . &&
		[ "$(on_terminal 50 132 | wc -l)" -eq 24 ] &&
		[ "$(kdtl why "$work/many.data" | wc -l)" -eq 24 ] &&
		[ "$(on_terminal 4 80 | wc -l)" -eq 6 ]
}

# On a narrow terminal the cgroup has a line of its own, and there are fewer waits. However narrow a
# terminal says it is, kdtl believes it; if it does not know, there are 80 columns.
narrow()
{
	local columns text='22:13:21.622    1    617 ms         -  web (100)
    PATH
    behind hog (200) 602 ms, REST
22:13:21.900    0         -   90.0 ms  web-thread (101)
    PATH'

	for columns in 60 41 40; do
		COLUMNS=$columns kdtl why "$work/night.data" | sed '1,/^time of day/d' | head -n 5 |
			sed 's/1 others 15.0 ms$/REST/; s/kworker.*/REST/' |
			diff <(sed 's|PATH|/system.slice/web.service|' <<<"$text") - || return
	done
	COLUMNS=20 kdtl why "$work/night.data" | sed '1,/^time of day/d' | head -n 2 | tail -n 1 |
		grep -x '    /syst\.\.\.\.service' &&
		[ "$(on_terminal 24 41 | wc -l)" -eq $((4 + 3 * 4)) ] &&
		[ "$(COLUMNS='' on_terminal 24 0 | wc -l)" -eq 22 ] &&
		[ "$(on_terminal 24 40 | awk '/^    / { n = length > n ? length : n } END { print n }')" -le 40 ] &&
		COLUMNS=10 kdtl map "$work/night.data" 2>&1 | grep 'the line has room for 1 of 2 CPUs' >/dev/null
}

# If lines are wide enough, they say when each wait began, also if a limit came before it.
begins()
{
	COLUMNS=120 kdtl why "$work/night.data" | sed '1,3d; /^    /d' | diff - <(cat <<-'END'
		time of day   CPU   waited  throttled  since         task (PID)        cgroup
		22:13:21.622    1    617 ms         -  22:13:21.005  web (100)         /system.slice/web.service
		22:13:21.900    0         -   90.0 ms  22:13:21.810  web-thread (101)  /system.slice/web.service
		22:13:22.000    1   2.00 us         -  22:13:21.999  hog (200)         /batch.slice/a-name-t...an-what-is-left-of-a-line
	END
	)
}

# CPUs 2 and 3 idled for more than half of the wait, CPU 4 for half of it, and CPUs 5 and 6 before
# and after it. The task was on CPU 2 once.
idle_elsewhere()
{
	recording idle <<-END || return
		clock 0 0
		run 500$ms 2 0 0 10 9 victim
		run 500$ms 1 0 0 20 9 hog
		idle 600$ms 2 10
		idle 600$ms 3 9
		idle 800$ms 5 9
		idle 1000$ms 4 9
		run 1150$ms 5 0 0 70 0 early
		run 1200$ms 4 0 0 40 0 other
		run 1300$ms 3 0 0 50 0 third
		idle 1300$ms 6 9
		run 1400$ms 1 400$ms 0 10 20 victim
		run 1500$ms 2 0 0 60 0 last
		run 1700$ms 6 0 0 80 0 late
		clock 2000$ms 2000$ms
	END
	kdtl why -n 1 "$work/idle.data" | sed 1,5d | diff - <(cat <<-'END'
		    behind hog (20) 400 ms
		    2 other CPUs were idle for most of that; the task ran on 1 of them, too
	END
	) && sed "/^run 500$ms 2/d; s/^idle 600$ms 2.*/run 600$ms 2 0 0 70 10 busy/" "$work/idle.text" |
		recording idle-1 && kdtl why -n 1 "$work/idle-1.data" | sed -n 7p |
		grep -x '    1 other CPU was idle for most of that'
}

# With --all nothing is shortened.
all_of_it()
{
	says "22:13:21.622    1    617 ms         -  22:13:21.005  web (100)   /system.slice/web.service
    behind    602 ms  hog (200) /batch.slice/a-name-that-is-much-longer-than-what-is-left-of-a-line
    behind   15.0 ms  kworker/1:1 (300) /batch.slice/a-name-that-is-much-longer-than-what-is-left-of-a-line" \
		-a -n 1 "$work/night.data"
}

web='why: task=web pid=100 waited_ms=617.000 cpu=1 behind=hog behind_ms=602.000 throttled_ms=0.000'
thread='why: task=web-thread pid=101 waited_ms=0.000 cpu=0 behind=- behind_ms=0 throttled_ms=90.000'
hog='why: task=hog pid=200 waited_ms=0.002 cpu=1 behind=idle behind_ms=0.002 throttled_ms=0.000'

# A task is throttled for 200 ms, and then waits behind another task: both are told.
starved()
{
	recording starved <"$here/lib/starved.txt" || return
	kdtl why "$work/starved.data" >"$work/said" &&
		grep ' 1   2.80 s     200 ms  web (77)$' "$work/said" &&
		grep '^ *behind hog (78) 2.80 s$' "$work/said" &&
		kdtl why --brief "$work/starved.data" |
		grep ' waited_ms=2800.000 .* behind=hog .* throttled_ms=200.000 ' &&
		kdtl report "$work/starved.data" | grep '^web (77)  *2 .* 2.80s  *200ms .* 2.80s hog ' &&
		kdtl histogram "$work/starved.data" >"$work/said" &&
		grep '^not in the waits: .* throttled before 1 dispatches,  *200 ms$' "$work/said" &&
		grep ', max  *2.80 s *$' "$work/said"
}

for_scripts()
{
	tells "$web
$thread
$hog" "$work/night.data" &&
		kdtl why -n 1 --brief "$work/night.data" |
		grep -q ' time=2023-11-14T22:13:21.622000 stolen_ms=? saturated='
}

# named NAME WORD: for scripts a task of that name is this word, of which printf %b makes the name
# again.
named()
{
	local word

	{
		echo 'run 1000000000 0 0 0 2 1 Y'
		echo 'run 2000000000 0 1000000 0 3 2 Y'
	} | recording named && python3 - "$work/named.data" "$1" <<-'END' || return
		import sys
		data = open(sys.argv[1], "rb").read()
		name = sys.argv[2].encode().ljust(16, b"\0")
		open(sys.argv[1], "wb").write(data.replace(b"Y".ljust(16, b"\0"), name))
	END
	kdtl why --brief "$work/named.data" 2>/dev/null >"$work/out"
	read -r _ word _ <"$work/out"
	[ "$word" = "task=$2" ] && grep -q -F " behind=$2 behind_ms=" "$work/out" &&
		[ "$(printf %b. "${word#task=}")" = "$1." ] && return
	cat -- "$work/out"
	return 1
}

# Whatever a task calls itself, its name is one word for scripts.
words()
{
	named 'CPU 0/KVM' 'CPU\x200/KVM' && named 'a b=c pid=1' 'a\x20b\x3dc\x20pid\x3d1' &&
		named '?' '\x3f' && named - '\x2d' && named idle '\x69dle' && named idler idler &&
		named '-?' '-?' && named 'a\x20b' 'a\x5cx20b' && named $'\t ' '\x09\x20' &&
		named '               ' "$(printf '\\x20%.0s' {1..15})"
}

# Nor does a name make a list blame another task than there is.
listed()
{
	named 'sh (9) 5 s, a' 'sh\x20(9)\x205\x20s,\x20a' &&
		kdtl why "$work/named.data" | matches -F '    behind sh (9) 5 s\x2c a (2) 1.00 ms' &&
		kdtl why -a "$work/named.data" | matches -F '  sh (9) 5 s\x2c a (2) '
}

# last_words NAME ARGUMENT...: prints the fields that older versions did not have, except for zeros.
# Recordings without one of wake-ups do not tell who could not be preempted: see chain.sh.
last_words()
{
	kdtl why --brief "${@:2}" "$work/$1.data" 2>/dev/null |
		awk '{
			sub(/.* saturated=/, "saturated=")
			sub(/ kept=[?] kept_pid=0 kept_ms=[?]$/, "")
			for (i = 2; i <= NF; i++)
				if ($i !~ /=(0|0\.000|-)$/)
					$1 = $1 " " $i
			print $1
		}'
}

# The lines for scripts also have what the long answer says.
more_words()
{
	recording went <<-END || return
		cgroup 1 /a=b
		task 1 10 10 0 0 0 1 victim
		task 1 20 20 0 0 5 1 rt
		task 1 79 79 6 0 0 1 dl
		run 1000$ms 1 0 0 10 9 victim
		run 1000$ms 2 0 0 30 9 other
		run 1200$ms 1 0 0 20 10 rt
		moved 1500$ms 2 100$ms 200$ms 0 10 30 victim
		idle 1600$ms 1 20
		moved 1700$ms 2 0 50$ms 0 77 10 stranger
		throttled 1800$ms 2 4294967295 20 77 rt
		throttled 1900$ms 2 1$ms 78 20 who
		throttled 1950$ms 2 2$ms 79 78 dl
	END
	printf '%s\n' 'source kdtl_steal' 'clock 0 0' "steal 1250$ms 1 60$ms 0 0 0" \
		'clock 2000000000 2000000000' | recording went-gaps || return
	last_words night -n 2 | diff - <(printf '%s cgroup=/system.slice/web.service %s\n' \
		saturated=0 behind_pid=200 saturated=0 limit=quota) || return
	last_words went | diff - <(cat <<-'END'
		saturated=1 cgroup=/a\x3db limit=rt
		saturated=0 cgroup=/a\x3db behind_pid=30 elsewhere_ms=200.000 before_cpu=1 before=rt before_pid=20 before_ms=200.000 before_stolen_ms=?
		saturated=0 cgroup=? elsewhere_ms=50.000 before_cpu=? before=? before_ms=? before_stolen_ms=? before_unknown_ms=?
		saturated=0 cgroup=/a\x3db limit=deadline
		saturated=0 cgroup=? limit=?
	END
	) || return
	kdtl why --pid 79 "$work/went.data" | grep -x '    held back by its own deadline runtime' || return
	last_words went --steal "$work/went-gaps.data" --pid 10 | diff - <(cat <<-'END'
		saturated=0 cgroup=/a\x3db behind_pid=30 elsewhere_ms=200.000 before_cpu=1 before=rt before_pid=20 before_ms=150.000 before_stolen_ms=50.000
	END
	) &&
		last_words holes | diff - <(echo 'saturated=1 cgroup=? behind_pid=4'
			echo 'saturated=0 cgroup=? behind_pid=2 unknown_ms=1500.000') &&
		last_words vpa | diff - <(echo 'saturated=0 cgroup=? unknown_ms=7.000') &&
		kdtl why --brief --pid 77 "$work/went.data" | matches ' behind=- '
}

# nothing ARGUMENT...: the command line is right, and the recording has nothing for it.
nothing()
{
	! kdtl why "$@" "$work/night.data" 2>"$work/err" &&
		grep -q 'nobody waited' "$work/err"
}

# A time asks for all waits that had begun by then and were not over. It is as exact as its last
# digit.
at_a_time()
{
	tells "$web" --time 22:13:21.2 "$work/night.data" &&
		tells "$web" --time 22:13:21.005 "$work/night.data" &&
		tells "$thread" --time '2023-11-14 22:13:21.85' "$work/night.data" &&
		tells "$web
$thread
$hog" --time 22:13 "$work/night.data" &&
		nothing --time 22:13:21.004 &&
		TZ=EST5 tells "$web" --time 17:13:21.2 "$work/night.data"
}

filtered()
{
	local data=$work/night.data

	tells "$web
$thread" --pid 100 "$data" && tells "$thread" --pid 101 "$data" &&
		tells "$hog" --comm hog "$data" && nothing --comm ho &&
		tells "$hog" --cgroup /batch.slice/ "$data" && nothing --cgroup /batch &&
		tells "$thread" --cpu 0,2-65535 "$data" &&
		tells "$web
$thread" --min-wait 90 "$data" && tells "$web" --min-wait 90.001 "$data" &&
		tells "$thread
$hog" --from 22:13:21.7 "$data" && tells "$web" --to 22:13:21.7 "$data" &&
		[ "$(kdtl print --from 22:13:21.7 --cpu 1 "$data" | grep -vc '^#')" -eq 1 ]
}

# A task in a container knows only its PID there, which other tasks may also have.
in_a_namespace()
{
	local pid tasks said

	recording within <<-'END' || return
		within 1
		task 1 400 400 0 0 0 1 init
		within 7
		task 1 407 400 0 0 0 1 thread
		within 17
		task 1 417 417 0 0 0 1 server
		within 5
		task 1 5 5 0 0 0 1 kthread
		task 1 500 500 0 0 0 1 five
		run 1000000000 1 1000000 0 400 0 init
		run 2000000000 1 1000000 0 407 400 thread
		run 3000000000 1 1000000 0 417 407 server
		run 4000000000 1 1000000 0 5 417 kthread
		run 5000000000 1 1000000 0 500 5 five
	END
	while IFS='|' read -r pid tasks said; do
		kdtl why --brief --pid "$pid" "$work/within.data" 2>"$work/err" |
			sed 's/why: task=\([^ ]*\) .*/\1/' | tr '\n' ' ' | diff - <(printf %s "$tasks") &&
			sed -n /namespace/p "$work/err" | diff - <(printf "${said:+kdtl: in %s\n}" "$said") && continue
		echo "$pid"
		return 1
	done <<-'END'
		1|init thread |its pid namespace 1 is the PID of init (400), thread (407)
		7|thread |its pid namespace 7 is the PID of thread (407)
		17|server |its pid namespace 17 is the PID of server (417)
		417|server |
		400|init thread |
		5|kthread |another pid namespace 5 is the PID of five (500)
	END
}

# A time without a date may also be tomorrow morning's.
past_midnight()
{
	recording late <<-'END' &&
		boot 0 1700006390000000000
		clock 0 1700006390000000000
		run 1000000000 0 1000000 0 1 0 before
		run 21000000000 0 1000000 0 2 0 after
	END
		kdtl why --brief --from 00:00:05 "$work/late.data" >"$work/out" &&
		grep -q ' time=2023-11-15T00:00:11.000000 ' "$work/out" &&
		[ "$(wc -l <"$work/out")" -eq 1 ]
}

# If something is not recorded, kdtl does not guess it, and says which option would record it.
not_known()
{
	kdtl why "$work/holes.data" >"$work/out" 2>"$work/err"
	sed '1,/^time of day/d' "$work/out" | diff <(echo "00:00:08.000    1   4.29 s+         -  five (5)
    behind four (4) 4.00 s, three (3) 295 ms
00:00:03.000    1   2.50 s          -  three (3)
    behind two (2) 1.00 s, not known 1.50 s") - &&
		grep -q 'does not say who had the CPU for 22% .* record with -i' "$work/err" &&
		grep -q ', times in UTC (approximate: an old recording)$' "$work/out"
}

# Dispatches after short waits were left out, so other tasks may have come and gone between two
# entries, although the second one names the first one's task as the one before.
left_out()
{
	{ echo min-wait 1000000 && cat -- "$here/lib/night.txt"; } | recording least || return
	kdtl why -a -n 1 "$work/least.data" >"$work/out" 2>"$work/err"
	sed '1,/^time of day/d' "$work/out" |
		diff <(echo "22:13:21.622    1    617 ms         -  22:13:21.005  web (100)   /system.slice/web.service
    behind    617 ms  not known") - &&
		grep -q -x "kdtl: $work/least.data: has no waits shorter than 1.00 ms (-w), so it does not say who had a CPU" \
			"$work/err" &&
		[ "$(kdtl why -n 1 --brief "$work/least.data" 2>/dev/null |
			sed 's/.* behind=\([^ ]*\) .*/\1/')" = '?' ] &&
		! kdtl export --format csv "$work/least.data" 2>/dev/null | grep ',hog,200,602000000,' &&
		kdtl export --format csv "$work/least.data" 2>/dev/null | matches ',,,,617000000,,' &&
		[ "$(kdtl export --format chrome "$work/least.data" 2>/dev/null |
			sed -n 's/^{"name":"\(.*\)","ph":"B","pid":8388608,.*/\1/p' | uniq -c |
			sed 's/^ *//')" = "5 not known" ]
}

# While entries of a CPU were lost, it is not known which task had it; before and after, and on
# other CPUs, it is. The wait ends at 5 s, and hog's dispatches are at 1, 2, 3 and 4 s.
entries_lost()
{
	local cpu from to parts

	while read -r cpu from to parts; do
		recording loss <<-END || return
			lost 9
			run 1000000000 0 0 0 20 10 hog
			run 2000000000 0 0 0 20 20 hog
			run 3000000000 0 0 0 20 20 hog
			loss 1 2100000000 2200000000 4
			loss $cpu $from $to 5
			run 4000000000 0 0 0 20 20 hog
			run 5000000000 0 4000000000 0 10 20 victim
		END
		[ "$(kdtl why -n 1 --brief "$work/loss.data" 2>/dev/null |
			sed 's/.* behind_ms=\([^ ]*\) .* unknown_ms=\([^ ]*\) .*/\1 \2/')" = \
			"$parts" ] || {
			echo "CPU $cpu, $from to $to: not $parts"
			return 1
		}
	done <<-'END'
		1 2400000000 2500000000 4000.000 0.000
		0 2400000000 2500000000 3000.000 1000.000
		0 1900000000 2500000000 2000.000 2000.000
		0 3999999999 4000000001 2000.000 2000.000
		0 4000000000 4000000001 3000.000 1000.000
		0 1000 900000000 4000.000 0.000
		0 0 6000000000 0 4000.000
	END
}

# No task on the CPU that a task got in the end held it up before it came there. Three more tasks
# left their CPU: one at a time at which the recording does not say where, one on the same CPU, one
# to idle.
moved()
{
	recording moved <<-'END' &&
		run 1000000000 1 0 0 10 9 victim
		run 1000000000 2 0 0 30 9 other
		run 1200000000 1 0 0 20 10 hog
		moved 1500000000 2 100000000 200000000 0 10 30 victim
		run 1600000000 1 0 0 40 20 next
		moved 2000000000 2 0 90000000 0 50 10 stranger
		run 2100000000 2 0 0 60 50 six
		moved 2200000000 2 10000000 50000000 40000000 50 60 stranger
		idle 2200000000 1 40
		moved 2300000000 2 10000000 50000000 40000000 40 50 next
	END
		says "00:00:01.500    2    300 ms         -  victim (10)
    behind other (30) 100 ms, in the queue of another CPU 200 ms
    CPU 1, where it ran last, had hog (20) 200 ms
00:00:02.000    2   90.0 ms         -  stranger (50)
    in the queue of another CPU 90.0 ms
00:00:02.200    2   60.0 ms         -  stranger (50)
    behind six (60) 10.0 ms, in the queue of another CPU 50.0 ms
00:00:02.300    2   60.0 ms         -  next (40)
    behind stranger (50) 10.0 ms, in the queue of another CPU 50.0 ms" \
			"$work/moved.data" &&
		kdtl why -a -n 1 "$work/moved.data" | sed '1,/^time of day/d' |
		diff <(echo "00:00:01.500    2    300 ms         -  00:00:01.200  victim (10)
    behind    100 ms  other (30) ?
       200 ms  in the queue of another CPU
    CPU 1, where it ran last, had    200 ms  hog (20) ?") - &&
		tells "why: task=victim pid=10 waited_ms=300.000 cpu=2 behind=other behind_ms=100.000 throttled_ms=0.000" \
			-n 1 "$work/moved.data" &&
		kdtl export --format csv --pid 10 "$work/moved.data" |
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) n[$i] = i; next }
			$n["waited_ns"] == 300000000 {
				found = $n["behind"] == "other" && $n["behind_ns"] == 100000000 &&
					$n["behind_unknown_ns"] == 200000000
			}
			END { exit !found }' &&
		kdtl report "$work/moved.data" 2>/dev/null |
		grep -q '^victim .* other *100 \{0,1\}ms$'
}

# cpu_time COMMAND...: prints how many ms of CPU time that takes. Its output goes into a file.
cpu_time()
{
	local TIMEFORMAT=%3U ms

	ms=$({ time "$@" >"$work/out" 2>/dev/null; } 2>&1) && echo $((10#${ms//[.,]/}))
}

# stays_cheap ARGUMENT...: kdtl why takes less than five times as long for a thousand waits as for
# one. If a host takes the CPU away, that time may also count: then try again.
stays_cheap()
{
	local one all

	for _ in 1 2 3 4 5; do
		one=$(cpu_time kdtl why -n 1 "$@") && all=$(cpu_time kdtl why -n 1000 "$@") || return
		echo "CPU time: $one ms for one, $all ms for all"
		[ "$all" -ge $((5 * one)) ] || return 0
	done
	return 1
}

# To find where a task ran last, kdtl does not look at all entries for each wait. A thousand waits
# take little more than one, most of which is reading the file: 17 times as much once, and 2 at most
# now.
many_moved()
{
	awk 'BEGIN {
		print "boot 0 0"
		for (k = 1; k <= 180000; k++) {
			print "run", k "0000", 0, 0, 0, k % 2 + 1, 2 - k % 2, "hog-" k % 2 + 1
			if (k > 1000 && k % 100 == 0)
				print "moved", k "5000", 1, 5000, 1000000, 0, 2, 3, "victim"
		}
	}' | recording many-moved &&
		stays_cheap --brief "$work/many-moved.data" &&
		[ "$(grep -c ' before_cpu=0 before=hog-. .* before_ms=0.500 ' "$work/out")" -eq 1000 ]
}

# Nor does it to find the CPUs that were idle meanwhile, which once took 40 times as much.
many_idle()
{
	awk 'BEGIN {
		print "boot 0 0"
		for (k = 1; k <= 90000; k++) {
			print "run", k "0000", 0, 0, 0, 1, 3, "hog"
			print "run", k "5000", 0, k % 50 ? 0 : 4000, 0, 3, 1, "victim"
			if (k % 50 == 0)
				print "run", k "0500", 1, 0, 0, 3, 0, "victim"
			if (k % 50 == 0)
				print "idle", k "0600", 1, 3
		}
	}' | recording many-idle &&
		stays_cheap "$work/many-idle.data" &&
		[ "$(grep -c '^    1 other CPU was idle .* on 1 of them, too$' "$work/out")" -eq 1000 ]
}

# A program begins, or comes into another cgroup, while its task has the CPU; another one did so
# before. For most of the time each hogs the CPU as what it is then.
begun()
{
	recording begun <<-'END' &&
		cgroup 1 /start
		cgroup 2 /batch
		task 100 10 10 0 0 0 1 web
		task 100 20 20 0 0 0 1 launcher
		run 1000000000 0 0 0 10 9 web
		run 1200000000 0 0 0 20 10 launcher
		task 1210000000 20 20 1 0 50 2 hog
		task 1490000000 20 20 1 0 50 1 done
		run 1500000000 0 300000000 0 10 20 web
	END
		kdtl why -a -n 1 "$work/begun.data" | sed '1,/^time of day/d' |
		diff <(echo "00:00:01.500    0    300 ms         -  00:00:01.200  web (10)    /start
    behind    300 ms  hog (20) /batch") - &&
		tells "why: task=web pid=10 waited_ms=300.000 cpu=0 behind=hog behind_ms=300.000 throttled_ms=0.000" \
			-n 1 "$work/begun.data" &&
		kdtl export --format csv "$work/begun.data" | matches ',hog,20,300000000,0,'
}

# A program begins long after its task got the CPU, but before another task waits for that.
begun_before()
{
	recording begun-before <<-'END' &&
		cgroup 1 /start
		cgroup 2 /batch
		task 100 10 10 0 0 0 1 web
		task 100 20 20 0 0 0 1 launcher
		run 1000000000 0 0 0 10 9 web
		run 1200000000 0 0 0 20 10 launcher
		task 1400000000 20 20 1 0 50 2 hog
		run 1500000000 0 20000000 280000000 10 20 web
	END
		kdtl why -a -n 1 "$work/begun-before.data" | grep -x '    behind   20.0 ms  hog (20) /batch' &&
		kdtl export --format csv "$work/begun-before.data" | matches ',hog,20,20000000,0,'
}

# Tasks that had the CPU for equally long come in the order of their PIDs.
equally_long()
{
	recording equal <<-'END' &&
		run 1000000000 0 0 0 20 9 first
		run 1100000000 0 0 0 10 20 second
		run 1200000000 0 200000000 0 30 10 late
	END
		kdtl why -a -n 1 "$work/equal.data" | grep -o '[a-z]* ([12]0)' |
		diff <(printf '%s\n' 'second (10)' 'first (20)') -
}

# --------------------------------------------------------------------- stolen time

# beside LINE...: makes the recording that a guest has of its hypervisor for the time when the
# service waited, from 1.005 s to 1.622 s; the hog had CPU 1 until 1.607 s.
beside()
{
	{
		printf '%s\n' 'source kdtl_steal' 'boot 0 1700000000000000000' \
			'clock 0 1700000000000000000' "$@" 'clock 3000000000 1700000003000000000'
	} | recording night.data.steal && mv -- "$work/night.data.steal.data" "$work/night.data.steal"
}

# stolen HOG KWORKER STOLEN LINE...: after these entries, the hog, the kworker and the hypervisor
# had the CPU for so many ms.
stolen()
{
	local hog=$1 kworker=$2 stolen=$3

	shift 3
	beside "$@" && kdtl why -n 1 -a "$work/night.data" >"$work/out" 2>"$work/err" &&
		awk '/^ *behind/ { unit["ms"] = 1; unit["us"] = .001
			print $4, $2 * unit[$3] }' "$work/out" |
		diff <(printf '%s %s\n' hog "$hog" kworker/1:1 "$kworker" the "$stolen" |
			grep -v ' 0$') - &&
		! grep -v 'the hypervisor had a CPU for 4.29 s or more at once' "$work/err" && return
	echo "$*"
	cat -- "$work/out" "$work/err"
	return 1
}

ms=000000

# steal TIME CPU STOLEN [MARKS]: prints an entry, with times in ms; the source looked at the clock a
# tick before the gap.
steal()
{
	echo "steal $1$ms $2 $3$ms $(($1 - $3 - 4))$ms 0 ${4:-0}"
}

# KDTL_STEAL_MERGED changes nothing: the sum ends when the entry was made. An entry of 5 s has
# 4.29 s, and kdtl says so: without another entry before it, the steal clock says no more.
split()
{
	stolen 522 15 80 "$(steal 1300 1 80)" &&
		stolen 522 15 80 "$(steal 1300 1 80 4294967298)" &&
		stolen 597 15 5 "$(steal 1010 1 30)" &&
		stolen 602 13 2 "$(steal 1640 1 20)" &&
		stolen 595 10 12 "$(steal 1612 1 12)" &&
		stolen 602 0 15 "$(steal 1622 1 15)" &&
		stolen 602 15 0 "$(steal 1005 1 90)" "$(steal 1700 1 78)" &&
		stolen 602 15 0 "$(steal 1300 0 80)" "$(steal 1300 2 80)" &&
		stolen 499 10 108 "$(steal 1010 1 30)" "$(steal 1300 1 80)" "$(steal 1311 0 9)" \
			"$(steal 1320 1 10)" "$(steal 1609 1 10)" "$(steal 1622 1 3)" &&
		stolen 0 0 617 "$(steal 1700 1 700)" && stolen 0 0 617 "$(steal 2000 1 1900)" &&
		stolen 0 0 617 "$(steal 5299 1 5000)" && stolen 602 15 0 "$(steal 5917 1 5000)" &&
		grep -q 'took more than is shown' "$work/err" &&
		stolen 602 15 0 && [ ! -s "$work/err" ]
}

# A clock that lags makes gaps overlap: no time counts twice.
overlapping()
{
	stolen 502 15 100 "$(steal 1300 1 80)" "$(steal 1320 1 90)" &&
		stolen 522 15 80 "$(steal 1300 1 80)" "$(steal 1300 1 60)"
}

# The hypervisor's log is by the time base of POWER, 512 MHz, from a boot at 5000 ticks on. Time
# asleep is no wait.
by_another_clock()
{
	# vpa TIME CPU QUEUED READY SLEPT, in ms
	vpa()
	{
		echo "vpa $(($1 * 512000 + 5000)) $2 $(($3 * 512000)) $(($4 * 512000)) $(($5 * 512000))"
	}
	local log=('source kdtl_vpa' 'freq 512000000' 'boot 5000 1700000000000000000'
		'clock 5000 1700000000000000000' "$(vpa 1300 1 50 30 100)" "$(vpa 1612 1 12 0 300)"
		"$(vpa 1620 0 12 0 0)" 'clock 1536005000 1700000003000000000')

	printf '%s\n' "${log[@]}" cpus | recording vpa-pair &&
		says "22:13:21.622    1    617 ms         -  web (100)   /system.slice/web.service
    behind hog (200) 515 ms, kworker/1:1 (300) 10.0 ms, the hypervisor 92.0 ms" \
			-n 1 --steal "$work/vpa-pair.data" "$work/night.data" &&
		printf '%s\n' "${log[@]}" | recording vpa-log &&
		not_used "does not know Linux's numbers of the CPUs: kdtl record --steal does" \
			"$work/vpa-log.data"
}

# The hypervisor may also have had idle time, and time that is not known.
nobody_else()
{
	cp -- "$work/holes.data" "$work/idle.data"
	printf '%s\n' 'source kdtl_steal' 'clock 0 0' "steal 3000$ms 1 2000$ms 0 0 0" \
		"steal 7000$ms 1 1000$ms 0 0 0" 'clock 9000000000 9000000000' | recording gaps &&
		kdtl why --steal "$work/gaps.data" "$work/idle.data" 2>&1 | sed '1,/^time of day/d' |
		diff <(echo "00:00:08.000    1   4.29 s+         -  five (5)
    behind four (4) 3.00 s, three (3) 295 ms, the hypervisor 1.00 s
00:00:03.000    1   2.50 s          -  three (3)
    behind the hypervisor 2.00 s, not known 500 ms") -
}

# came_from TEXT STOLEN LINE...: TEXT is the third line about a task that left CPU 1 at 1.2 s and
# came into the queue of CPU 2 200 ms later. The hypervisor had CPU 1 from 1.25 s on for STOLEN ms.
came_from()
{
	local text=$1 stolen=$2

	shift 2
	printf '%s\n' "run 1000$ms 1 0 0 10 9 victim" "run 1000$ms 2 0 0 30 9 other" "$@" \
		"moved 1500$ms 2 100$ms 200$ms 0 10 30 victim" | recording came &&
		printf '%s\n' 'source kdtl_steal' 'clock 0 0' "steal $((1250 + stolen))$ms 1 $stolen$ms 0 0 0" \
			'clock 2000000000 2000000000' | recording came-gaps &&
		kdtl why -n 1 --steal "$work/came-gaps.data" "$work/came.data" 2>/dev/null |
		sed -e '1,/^ *behind/d' -e '/ idle for most of that/d' | diff <(printf '%s' "$text") -
}

# On that CPU the hypervisor may have been all that was in the way, or the recording may have ended.
stolen_before()
{
	local had='    CPU 1, where it ran last, had '

	came_from "${had}hog (20) 150 ms, the hypervisor 50.0 ms"$'\n' 50 "run 1200$ms 1 0 0 20 10 hog" \
			"idle 1600$ms 1 20" &&
		came_from "${had}idle 150 ms, the hypervisor 50.0 ms"$'\n' 50 "idle 1200$ms 1 10" \
			"run 1600$ms 1 0 0 20 0 hog" &&
		came_from "${had}the hypervisor 150 ms, not known 50.0 ms"$'\n' 150 "idle 1200$ms 1 10" \
			"run 1600$ms 1 0 0 20 7 hog" &&
		came_from "${had}the hypervisor 150 ms, not known 50.0 ms"$'\n' 200 \
			"run 1200$ms 1 0 0 20 10 hog" &&
		came_from '' 0 "idle 1200$ms 1 10" "run 1600$ms 1 0 0 20 0 hog" &&
		came_from '' 0 "run 1200$ms 1 0 0 20 10 hog"
}

# The lines for scripts have stolen time at their end; a wait that is all the hypervisor's is behind
# -.
stolen_for_scripts()
{
	beside "$(steal 1300 1 80)" && kdtl why --brief "$work/night.data" |
		sed 's/.* behind=\([^ ]*\) .* \(stolen_ms[^ ]*\) saturated.*/\1 \2/' |
		diff <(printf '%s\n' 'hog stolen_ms=80.000' '- stolen_ms=0.000' 'idle stolen_ms=0.000') - &&
		beside "$(steal 1700 1 800)" && kdtl why -n 1 --brief "$work/night.data" >"$work/out" &&
		grep -q ' behind=- behind_ms=0 .* stolen_ms=617.000 saturated=' "$work/out" &&
		beside "$(steal 1622 1 5)" && kdtl print "$work/night.data" |
		awk '/ waited *stolen *slept / { n++ }
			/ kworker/ && $5 != 0 { n += 9 } $1 == 1.622 && $5 $6 == "5.00ms" { n++ }
			END { exit n != 2 }'
}

# irqs LINE...: makes the recording of what interrupts had meanwhile.
irqs()
{
	{
		printf '%s\n' 'source kdtl_irq' 'boot 0 1700000000000000000' \
			'clock 0 1700000000000000000' "$@" 'clock 3000000000 1700000003000000000'
	} | recording night.data.irq && mv -- "$work/night.data.irq.data" "$work/night.data.irq"
}

# Interrupts have a part of their own, without what the hypervisor had of it.
interrupted()
{
	local status=0

	beside "$(steal 1300 1 80)" && irqs "irq 1000$ms 1 5$ms 1 24 disk" "irq 1305$ms 1 35$ms 0 3 net_rx" \
		"irq 1304$ms 0 90$ms 0 1 timer" "irq 1610$ms 1 10$ms 1 24 disk" &&
		kdtl why -n 1 -a "$work/night.data" | sed -n '/^ *behind/ { s///; s/^ *//; s| /.*||; p }' | diff - <(cat <<-'END'
			510 ms  hog (200)
			12.0 ms  kworker/1:1 (300)
			10.0 ms  interrupt disk
			5.00 ms  softirq net_rx
			80.0 ms  the hypervisor
		END
		) && kdtl why -n 1 --json "$work/night.data" | matches -F \
		'{"comm":"disk","pid":null,"irq":"interrupt","cgroup":null,"ns":10000000},{"comm":"net_rx",' &&
		irqs "irq 1622$ms 1 617$ms 2 0 local_timer" && rm -- "$work/night.data.steal" &&
		kdtl why -n 1 --brief "$work/night.data" |
		matches -F ' behind=local_timer behind_ms=617.000' || status=1
	rm -f -- "$work/night.data.steal" "$work/night.data.irq"
	return $status
}

# If the file is not of kdtl_irq, or lacks something, kdtl says so.
interrupts_missing()
{
	local status=0

	beside "$(steal 1300 1 80)" && mv -- "$work/night.data.steal" "$work/night.data.irq" &&
		kdtl why -n 1 --brief "$work/night.data" 2>&1 |
		matches -F 'night.data.irq: not used: is no recording of kdtl_irq' &&
		irqs 'lost 3' "irq 1305$ms 1 5$ms 0 3 net_rx" &&
		kdtl why -n 1 --brief "$work/night.data" 2>&1 | matches -F \
		'night.data.irq: 3 entries were lost, so interrupts had more than is shown' || status=1
	rm -f -- "$work/night.data.irq"
	return $status
}

# not_used WHY [FILE]: kdtl says why the recording beside night.data is not used. If it was asked
# for, or FILE was, that is an error.
not_used()
{
	local why=$1 file=${2:-$work/night.data.steal} status=0

	kdtl why --brief -n 1 --steal "$file" "$work/night.data" >"$work/out" 2>"$work/err" ||
		status=$?
	cat -- "$work/err"
	[ "$status" -eq 1 ] && [ ! -s "$work/out" ] &&
		sed "s|^kdtl: $file: ||" "$work/err" | matches -x -F "$why" || return
	[ "$file" = "$work/night.data.steal" ] || mv -- "$file" "$work/night.data.steal" || return
	tells "kdtl: $work/night.data.steal: not used: $why
$web" -n 1 "$work/night.data"
}

stale()
{
	local pair='source kdtl_steal' entry

	entry=$(steal 1300 1 80)
	beside "host other" "$entry" && not_used "is from another host" &&
		printf '%s\n' "$pair" 'boot 0 1700000000000000000' 'clock 3000000001 1700000003000000001' \
			"steal 4000$ms 1 3000$ms 0 0 0" | recording later && not_used "is of another time" \
			"$work/later.data" &&
		printf '%s\n' "$pair" 'boot 0 1700000007000000000' 'clock 0 1700000007000000000' "$entry" \
			'clock 3000000000 1700000010000000000' | recording boot &&
		not_used "is of another boot" "$work/boot.data" &&
		cp -- "$work/night.data" "$work/same.data" &&
		not_used "is no recording of stolen time" "$work/same.data" &&
		head -c 100 "$work/night.data" >"$work/part.data" &&
		not_used "not a recording of kdtl" "$work/part.data"
}

# If something is missing in a recording that is used, kdtl says so.
not_all_of_it()
{
	beside 'lost 3' "$(steal 1300 1 80)" &&
		kdtl why -n 1 --brief "$work/night.data" >"$work/out" 2>&1 &&
		grep -q -x "kdtl: .*/night.data.steal: 3 entries were lost, so more was stolen than is shown" \
			"$work/out" &&
		printf '%s\n' 'source kdtl_steal' 'boot 0 1700000000000000000' \
			'clock 1200000000 1700000001200000000' "$(steal 1300 1 80)" | recording part &&
		kdtl why -n 1 --steal "$work/part.data" "$work/night.data" >"$work/out" 2>&1 &&
		grep -q "part.data: covers only a part of that time" "$work/out" &&
		grep -q "the hypervisor 80.0 ms" "$work/out" && beside cut "$(steal 1300 1 80)" &&
		kdtl why -n 1 "$work/night.data" >"$work/out" 2>&1 &&
		grep -q "night.data.steal: is still being written or was killed" "$work/out" &&
		grep -q "the hypervisor 80.0 ms" "$work/out"
}

# The hypervisor's log names no tasks.
of_a_hypervisor()
{
	says "00:00:01.000    1   7.00 ms         -  virtual processor" "$work/vpa.data"
}

# Between two pairs the clock ran 5 % too fast: it was slewed.
slewed()
{
	recording slewed <<-'END' &&
		boot 0 1700000000000000000
		clock 0 1700000000000000000
		run 1000000000 0 1000000 0 1 0 early
		clock 2000000000 1700000002100000000
		run 3000000000 0 2000000 0 2 0 late
	END
		[ "$(kdtl why --brief "$work/slewed.data" | sed 's/.* time=//; s/ .*//' | tr '\n' ' ')" = \
			"2023-11-14T22:13:23.100000 2023-11-14T22:13:21.050000 " ]
}

escaped()
{
	kdtl why "$work/evil.data" >"$work/out" && kdtl why -a "$work/evil.data" >>"$work/out" &&
		grep -q -F '\x1b[2J (1)' "$work/out" && grep -q -F '/a\x1bb' "$work/out" &&
		! LC_ALL=C grep '[^ -~]' "$work/out"
}

# refused TEXT ARGUMENT...: kdtl ends with exit status 2, and one line that has TEXT and names
# --help.
refused()
{
	local text=$1 status=0

	shift
	kdtl "$@" 2>"$work/err" || status=$?
	[ "$status" -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q -e "$text" "$work/err" &&
		grep -q '; see kdtl \([a-z]* \)\?--help$' "$work/err" && return
	echo "kdtl $*: exit status $status"
	cat "$work/err"
	return 1
}

wrong_command_lines()
{
	local data=$work/night.data

	refused 'must be a number of waits' why -n 0 "$data" &&
		refused 'must be a time' why --time noon "$data" &&
		refused 'must be a time' why --from 25:00 "$data" &&
		refused 'must be a time' why --to 22:13:21.5x "$data" &&
		refused 'must be a path' why --cgroup batch "$data" &&
		refused 'must be the PID' why --pid -1 "$data" &&
		refused 'must be the PID' why --pid 0 "$data" &&
		refused 'must be the PID' why --pid 2147483648 "$data" &&
		refused 'must be a list' why --cpu 3-1 "$data" &&
		refused 'must be at least 1ns' why --min-wait 0 "$data" &&
		refused 'name no tasks' why --pid 1 "$work/vpa.data" &&
		refused 'has no cgroups' why --cgroup / "$work/holes.data" &&
		refused '--steal: the entries of kdtl_vpa name no tasks' why --steal "$data" "$work/vpa.data" &&
		refused '--steal is for recordings' why -d 1 --steal "$data" &&
		refused '--host is for recordings' why -d 1 --host "$data" &&
		refused '--host-ahead is for --host' why --host-ahead 1 "$data" &&
		refused 'must be a time' why --host "$data" --host-ahead 1x "$data" &&
		refused '-o -: --steal writes a second file' record --steal -o - &&
		refused '-s kdtl_vpa: --steal is for' record --steal -s kdtl_vpa &&
		refused 'at most one file' why a b && refused 'no option --no;' why --no &&
		refused 'why: no option -x;' why -xn 3 && refused 'why: no option -x;' why --brief -ax &&
		refused 'why: -n needs a value' why "$data" -n && refused 'list: no option -x' list -x &&
		refused 'report: --pid needs a value' report --pid &&
		refused 'print: --all=3: takes no value' print --all=3 &&
		refused '--c: more than one option begins so' why --c 3 &&
		refused '--t: more than one option begins so' why --t 3 &&
		refused 'ctf: no option -x' ctf -x && refused 'histogram: no option -n' histogram -n &&
		refused 'record: no option -x' record -x make && [ ! -e -x ] &&
		refused '-C: this machine has no CPU 65535' record -C 0,65535 &&
		refused '--cpu: this machine has no CPU 65535' top --cpu 65535 &&
		refused '--cpu: this machine has no CPU 65535' why -d 1 --cpu 65535 &&
		refused 'no such command' help what &&
		refused 'no such command' what && refused 'a command is missing'
}

# Options and the file come in any order, but words behind the command that record runs are for that
# command; -- ends the options.
in_any_order()
{
	local data=$work/night.data

	tells "$web" "$data" -n 1 && tells "$hog" --cpu 1 "$data" --comm hog &&
		kdtl report "$data" --by comm -n 1 | diff <(kdtl report --by comm -n 1 "$data") - &&
		kdtl diff "$data" -n 2 "$data" | diff <(kdtl diff -n 2 "$data" "$data") - &&
		kdtl export "$data" --format csv | diff <(kdtl export --format csv "$data") - &&
		kdtl print "$data" -a | diff <(kdtl print -a "$data") - &&
		kdtl map "$data" --pid 200 | diff <(kdtl map --pid 200 "$data") - &&
		cp -- "$data" "$work/-n" && (cd -- "$work" && kdtl why --brief -- -n) |
		diff <(kdtl why --brief "$data") - &&
		! kdtl record -q -o "$work/new.data" sh --help 2>"$work/err" && ! grep usage "$work/err"
}

# Each command says what it takes.
helps()
{
	local verb

	kdtl --help >"$work/out" && kdtl -h | diff "$work/out" - &&
		kdtl help | diff "$work/out" - || return
	# shellcheck disable=SC2013 # words
	for verb in $(sed -n 's/^  \([a-z]*\) .*/\1/p' "$work/out"); do
		{ kdtl "$verb" --help >"$work/one" && grep -q "^usage: kdtl $verb" "$work/one" &&
			kdtl help "$verb" | diff "$work/one" -; } || {
			echo "kdtl $verb --help"
			return 1
		}
	done
	kdtl why -n 3 --help | diff - <(kdtl why -h) && kdtl why file -ah | diff - <(kdtl why -h) &&
		kdtl ctf file --help | diff - <(kdtl ctf -h) || return
	! awk 'length > 80' "$work/out" | grep .
}

# --------------------------------------------------------------------- host and guest

# gaps_of [COUNT]: prints the gaps of two virtual CPUs. Their lengths are all different, and so are
# their distances. They are those of the waits of the CPU's thread, which ran on another CPU of the
# host. A hog had that CPU for three quarters of each gap, and a daemon for the rest.
#	GAP: vcpu, number, begin, length, in us of the guest
gaps_of()
{
	local count=${1:-60}

	awk -v n="$count" 'BEGIN {
		for (k = 0; k < n; k++)
			for (c = 0; c < 2; c++)
				print c, k, (k + 3) * 100000 + (k * k * 4729 + c * 31) % 40000,
					4000 + (k * k * 7919 + c * (k + 7) * 1237) % 26000
	}'
}

# guest_gaps: stdin is the output of gaps_of.
guest_gaps()
{
	printf '%s\n' 'source kdtl_steal' 'boot 0 1700000000000000000' 'clock 0 1700000000000000000'
	# The end of a gap is seen up to 12 us late.
	awk '{
		late = ($2 * 5) % 13
		printf "steal %d000 %d %d000 %d000 0 0\n", $3 + $4 + late, $1, $4, $3 - 4000
	}'
	echo 'clock 20000000000 1700000020000000000'
}

# host_waits AHEAD_NS DRIFT_PPM: prints the same waits in the host, which booted 50 s before the
# guest. Its time of day is so far ahead, and its time base so much faster.
host_waits()
{
	printf '%s\n' "boot 0 $((1699999950000000000 + $1))" "clock 0 $((1699999950000000000 + $1))"
	awk -v drift="$2" '
	function at(us) { return sprintf("%.0f", (50000000 + us) * 1000 + us * drift / 1000) }
	{
		cpu = 3 - $1
		vcpu = 812 + $1
		rest = int($4 / 4)
		print "run", at($3), cpu, 0, 0, 300 + $1, vcpu, "hog-" $1
		print "run", at($3 + $4 - rest), cpu, 0, 0, 500, 300 + $1, "daemon"
		print "run", at($3 + $4), cpu, $4 * 1000, 0, vcpu, 500, "CPU-" $1 "/KVM"
	}'
}

# In the guest, web waited behind sh for 200 ms, with all of gaps 20 and 21 in them, and api for
# just the last 3 ms of gap 40.
guest_waits()
{
	printf '%s\n' 'boot 0 1700000000000000000' 'clock 0 1700000000000000000' \
		"run 1000$ms 0 0 0 200 0 sh" "run 2480$ms 0 200000000 0 100 200 web" \
		"run 2490$ms 0 0 0 200 100 sh"
	gaps_of | awk '$1 == 0 && $2 == 40 {
		printf "run %d000 0 3000000 0 101 200 api\n", $3 + $4 + (40 * 5) % 13
	}'
	echo 'clock 20000000000 1700000020000000000'
}

pair()
{
	guest_waits | recording guest && gaps_of | guest_gaps | recording guest-gaps &&
		gaps_of | host_waits 3412000 0 | recording host
}

# of_host ARGUMENT...: runs kdtl why with the files of that pair.
of_host()
{
	kdtl why --steal "$work/guest-gaps.data" --host "$work/host.data" "$@" "$work/guest.data"
}

# found WITHIN0 WITHIN1 AHEAD: kdtl why says these numbers about the pair.
found()
{
	diff <(sed "s|$work/||" "$work/err") - <<-END
		kdtl: vCPU 0 is CPU-0/KVM (812) of host.data: 60 of 60 gaps fit, 9 of 10 within $1 us; the host's clock is $3
		kdtl: vCPU 1 is CPU-1/KVM (813) of host.data: 60 of 60 gaps fit, 9 of 10 within $2 us; the host's clock is $3
	END
}

# Gaps 20 and 21 of CPU 0 have 25600 and 12279 us, of which the hog had 19200 and 9210.
on_the_host()
{
	pair && of_host >"$work/out" 2>"$work/err" &&
		found 5.72 6.39 "3.407 ms ahead" &&
		sed '1,/^time of day/d' "$work/out" | diff - <(echo "22:13:22.480    0    200 ms         -  web (100)
    behind sh (200) 162 ms, the hypervisor 37.9 ms
    on the host behind hog-0 (300) 28.4 ms, daemon (500) 9.47 ms
22:13:24.318    0   3.00 ms         -  api (101)
    behind the hypervisor 3.00 ms
    on the host behind daemon (500) 3.00 ms

all 2 waits:
    on the host behind hog-0 (300) 28.4 ms, daemon (500) 12.5 ms")
}

# host_tells LINE...: the lines for scripts have these fields, for each wait.
host_tells()
{
	diff <(sed 's/.* stolen_ms=/stolen_ms=/; s/ saturated=.*//' "$work/out") <(printf '%s\n' "$@")
}

api='stolen_ms=3.000 host_behind=daemon host_pid=500 host_behind_ms=3.000 host_unknown_ms=0.000'

# This also works if the two time bases drift. What was not recorded in the host is not guessed.
host_for_scripts()
{
	pair && of_host --brief >"$work/out" 2>/dev/null &&
		host_tells "stolen_ms=37.879 host_behind=hog-0 host_pid=300 host_behind_ms=28.410 host_unknown_ms=0.000" \
			"$api" &&
		gaps_of | host_waits -1500000 80 | recording host &&
		of_host --brief >"$work/out" 2>"$work/err" && found 21.7 23.3 "1.451 ms behind" &&
		host_tells "stolen_ms=37.879 host_behind=hog-0 host_pid=300 host_behind_ms=28.409 host_unknown_ms=0.000" \
			"$api" &&
		gaps_of | awk '$1 || $2 != 21' | host_waits 0 0 | recording host &&
		of_host --brief >"$work/out" 2>"$work/err" &&
		grep -q 'vCPU 0 is .*: 59 of 60 gaps fit' "$work/err" &&
		host_tells "stolen_ms=37.879 host_behind=hog-0 host_pid=300 host_behind_ms=19.200 host_unknown_ms=12.279" \
			"$api"
}

# unrelated WHY ARGUMENT...: kdtl why finds no relation between the pair, and says WHY.
unrelated()
{
	local why=$1 status=0

	shift
	of_host "$@" >"$work/out" 2>"$work/err" || status=$?
	[ "$status" -eq 1 ] && [ ! -s "$work/out" ] &&
		grep -q -e "^kdtl: --host $work/host.data: .*$why" "$work/err" && return
	cat -- "$work/out" "$work/err"
	return 1
}

# A host whose time of day is an hour off is found if --host-ahead says so.
another_day()
{
	pair && gaps_of | host_waits -3600100000000 0 | recording host &&
		unrelated 'fewer than 10 gaps .* --host-ahead' &&
		unrelated 'fewer than 10 gaps' --host-ahead 3600 &&
		unrelated 'the waits of no task there fit' --host-ahead -3603 &&
		of_host --host-ahead -3600 >"$work/out" 2>"$work/err" &&
		found 5.72 6.39 "3600100.005 ms behind"
}

# Nothing is guessed from too little, from what is too much alike, or from another host.
not_related()
{
	pair && gaps_of 4 | guest_gaps | recording guest-gaps &&
		unrelated 'fewer than 10 gaps' && pair &&
		gaps_of | awk '{ $4 += 150 + ($4 * 7) % 5000; print }' | host_waits 0 0 | recording host &&
		unrelated 'the waits of no task there fit' &&
		gaps_of | awk '{ print $1, $2, 100000 * ($2 + 3), 20000 }' | tee "$work/alike" | guest_gaps |
		recording guest-gaps && host_waits 0 0 <"$work/alike" | recording host &&
		unrelated 'at more than one distance' &&
		gaps_of | awk '!$1 { print; $1 = 1; print }' | tee "$work/twins" | guest_gaps |
		recording guest-gaps && host_waits 0 0 <"$work/twins" | recording host &&
		unrelated 'too few gaps of each virtual CPU' && pair &&
		cp -- "$work/guest-gaps.data" "$work/host.data" && unrelated 'no recording of kdtl_sched' &&
		pair && ! kdtl why --host "$work/host.data" "$work/guest.data" 2>"$work/err" &&
		grep -q 'it is not known what the hypervisor took' "$work/err"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-why.XXXXXX")
partial "$work"

plan 46
ok "kdtl builds" builds
ok "recordings are made" records
ok "the longest waits, and who had the CPU" worst_first
ok "on one screen of 24 lines with 80 columns" one_screen
ok "on a narrow one" narrow
ok "with all of each path" all_of_it
ok "and with its begin if there is room" begins
ok "other CPUs that were idle meanwhile" idle_elsewhere
ok "a line each for scripts" for_scripts
ok "what a throttled task waited after that" starved
ok "in which names are words" words
ok "and a list has no more tasks than there are" listed
ok "and all that the long answer says" more_words
ok "the waits at a time of day" at_a_time
ok "of a process, a name, a cgroup, CPUs, a time; the long ones" filtered
ok "of a process that knows its PID in a container" in_a_namespace
ok "a time after midnight" past_midnight
ok "what is not known is not guessed" not_known
ok "without short waits it is not known who had a CPU" left_out
ok "nor is it known who had a CPU while entries were lost" entries_lost
ok "nor who had the CPU that a task came from, or before it came" moved
ok "many that were moved take little longer than one" many_moved
ok "so do many with CPUs that were idle meanwhile" many_idle
ok "a program that began while its task had the CPU" begun
ok "and one that began before somebody waited for it" begun_before
ok "and for equally long, in the order of PIDs" equally_long
ok "a hypervisor's log names no tasks" of_a_hypervisor
ok "times of day are right under a clock that is slewed" slewed
ok "names do not steer the terminal" escaped
ok "wrong command lines are refused, in a line that says where help is" wrong_command_lines
ok "options and the file come in any order" in_any_order
ok "each command helps" helps
ok "stolen time is taken from those who had the CPU" split
ok "gaps that overlap count once" overlapping
ok "a log with another time base fits" by_another_clock
ok "the hypervisor's part is neither idle nor unknown" nobody_else
ok "so it is on the CPU that a task came from" stolen_before
ok "a field at the end, and a column" stolen_for_scripts
ok "interrupts are named, and what the hypervisor had of them is its own" interrupted
ok "time that they may have had is not guessed" interrupts_missing
ok "a recording of something else beside it is not used" stale
ok "and if one lacks something, that is said" not_all_of_it
ok "who had the host's CPU during a gap" on_the_host
ok "so for scripts, also if clocks drift or waits are missing" host_for_scripts
ok "times of day that are far apart" another_day
ok "nothing is guessed of a host that cannot be told" not_related
finish
