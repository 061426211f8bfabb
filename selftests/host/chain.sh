#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl why --chain, which says what made a task late, through the tasks that it slept for. The
# recordings say exactly what happened (lib/recording.py). And the engine is compared with a machine
# that is made up (lib/chain_random.c).
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

ms=000000
wakes='woken|shifted|contended|made|kept'

# number NAME: prints the number of a system call on this machine.
number()
{
	printf '#include <sys/syscall.h>\n__NR_%s\n' "$1" | cc -E -P - | tail -n 1
}

futex=$(number futex) read=$(number read) write=$(number write)

# pair: makes a recording from the description on stdin, and one of its wake-ups beside it. Lines
# that begin with "wake-" are for the latter only. Times end at 10 s.
pair()
{
	{ printf '%s\n' 'clock 0 0' "$(cat)" "clock 10000$ms 10000$ms"; } >"$work/lines"
	grep -vE "^($wakes|wake-)" "$work/lines" | python3 "$here/lib/recording.py" "$work/data" &&
		{
			echo 'source kdtl_wake'
			grep -E "^($wakes|clock|host|wake-)" "$work/lines" | sed 's/^wake-//'
		} | python3 "$here/lib/recording.py" "$work/data.wake"
}

# says PID TEXT ARGUMENT...: TEXT is the chain of that task.
says()
{
	local pid=$1 text=$2

	shift 2
	kdtl why --chain --pid "$pid" "$@" "$work/data" 2>&1 | sed '/^[^ ]*: .*worst first/,/^$/d' |
		diff <(printf '%s\n' "$text") -
}

# inversion [LINE]...: makes a recording of the three tasks of a priority inversion, whose mutex is
# in user space, and of these lines.
inversion()
{
	{
		cat <<-END
			run 1000$ms 1 0 0 133 0 inv_low
			run 1100$ms 0 0 0 132 0 inv_high
			idle 1130$ms 0 132
			left 4
			run 1140$ms 1 0 0 131 133 inv_mid
			run 1565$ms 1 425$ms 0 133 131 inv_low
			woken 1585$ms 0 132 133 1 $futex 0 inv_high
			left 2
			run 1586$ms 0 1$ms 455$ms 132 0 inv_high
			idle 1600$ms 1 133
		END
		printf '%s\n' "$@"
	} | pair
}

inherited()
{
	inversion && says 132 '00:00:01.586  inv_high (132) late by 456 ms
  455 ms   asleep in futex, woken by inv_low (133), which meanwhile
           425 ms   waited for CPU 1 behind inv_mid (131)
           30.0 ms  ran
  1.00 ms  waited for CPU 0, which was idle' -n 1
}

# The chain has what interrupts took of a wait, and of a run, if a file beside the recording says
# that.
interrupted()
{
	local status=0

	inversion && printf '%s\n' 'source kdtl_irq' 'clock 0 0' "irq 1400$ms 1 25$ms 0 3 net_rx" \
		"irq 1570$ms 1 5$ms 1 7 disk" "irq 1585600000 0 400000 2 0 local_timer" \
		"clock 10000$ms 10000$ms" | python3 "$here/lib/recording.py" "$work/data.irq" &&
		says 132 '00:00:01.586  inv_high (132) late by 456 ms
  455 ms  asleep in futex, woken by inv_low (133), which meanwhile
          400 ms   waited for CPU 1 behind inv_mid (131)
          25.0 ms  ran
          25.0 ms  softirq net_rx had CPU 1
          5.00 ms  interrupt disk had CPU 1
  600 us  waited for CPU 0, which was idle
  400 us  interrupt local_timer had CPU 0' -n 1 --all &&
		kdtl why --chain --brief --pid 132 -n 1 "$work/data" |
		matches ' waited_ms=0.600 .* its_wait_ms=400.000 .* interrupted_ms=0.400$' || status=1
	rm -f -- "$work/data.irq"
	return $status
}

# A task was told to leave its CPU, and did not. The chain says that only about a task behind which
# another one waited, kdtl why about any task on that CPU, and neither about another CPU or time. The
# longest one counts. One ends as the wait of inv_low begins, and another begins as the wait ends.
kept()
{
	local kept='swapper/1 (0) could not be preempted for 20.0 ms'

	inversion "kept 1565$ms 1 131 12$ms $write inv_mid" "kept 1560$ms 0 0 50$ms -1 swapper/0" \
		"kept 1130$ms 1 133 13$ms $futex inv_low" "kept 1140$ms 1 131 90$ms -1 inv_mid" \
		"kept 1300$ms 1 131 3$ms -1 inv_mid" "kept 1600$ms 1 133 35$ms -1 inv_low" \
		"kept 1500$ms 1 0 20$ms -1 swapper/1" || return
	says 132 '00:00:01.586  inv_high (132) late by 456 ms
  455 ms   asleep in futex, woken by inv_low (133), which meanwhile
           425 ms   waited for CPU 1 behind inv_mid (131), which could not be preempted for 12.0 ms
           30.0 ms  ran
  1.00 ms  waited for CPU 0, which was idle' -n 1 || return
	kdtl why "$work/data" >"$work/why" 2>&1 && grep -A 2 ' inv_low (133)$' "$work/why" |
		diff - <(printf '%s\n' "00:00:01.565    1    425 ms         -  inv_low (133)" \
			"    behind inv_mid (131) 425 ms" "    $kept") &&
		grep -A 2 ' inv_mid (131)$' "$work/why" |
		grep -x '    inv_low (133) could not be preempted for 35.0 ms' &&
		[ "$(grep -c 'could not be preempted' "$work/why")" -eq 2 ] || return
	# An interrupt parts the wait.
	printf '%s\n' 'source kdtl_irq' 'clock 0 0' "irq 1400$ms 1 25$ms 0 3 net_rx" "clock 10000$ms 10000$ms" |
		python3 "$here/lib/recording.py" "$work/data.irq" &&
		kdtl why --chain --pid 132 -n 1 "$work/data" 2>&1 |
		grep -x ' *400 ms *waited for CPU 1 behind inv_mid (131), which could not be preempted for 12.0 ms'
	set -- $?
	rm -f -- "$work/data.irq"
	[ "$1" -eq 0 ] || return
	kept_for_scripts 'kept=idle kept_pid=0 kept_ms=20.000' \
		'"kept_comm":"idle","kept_pid":0,"kept_ns":20000000' \
		'kept=- kept_pid=0 kept_ms=0' '"kept_comm":null,"kept_pid":null,"kept_ns":0' || return
	kdtl why --chain --brief --pid 132 -n 1 "$work/data" |
		matches ' behind_pid=131 .* kept_ms=12.000$' || return
	# Without such a recording beside it, nothing is said about that.
	rm -- "$work/data.wake"
	kdtl why "$work/data" 2>&1 | diff - <(grep -v 'could not be preempted' "$work/why") &&
		kept_for_scripts 'kept=? kept_pid=0 kept_ms=?' '"kept_comm":null,"kept_pid":null,"kept_ns":null' \
			'kept=? kept_pid=0 kept_ms=?' '"kept_comm":null,"kept_pid":null,"kept_ns":null'
}

# kept_for_scripts BRIEF JSON BRIEF JSON: these end the lines of inv_low, and those of inv_high.
kept_for_scripts()
{
	local pid

	for pid in 133 132; do
		kdtl why --brief --pid $pid -n 1 "$work/data" | matches " $1$" &&
			kdtl why --json --pid $pid -n 1 "$work/data" | matches ",$2}$" || return
		shift 2
	done
}

# The idle task kept a CPU, and nobody in the chain was behind it.
kept_idle()
{
	inversion "kept 1586$ms 0 0 5$ms -1 swapper/0" &&
		kdtl why --brief --pid 132 -n 1 "$work/data" | matches ' kept=idle kept_pid=0 kept_ms=5.000$' &&
		kdtl why --json --pid 132 -n 1 "$work/data" |
		matches '"kept_comm":"idle","kept_pid":0,"kept_ns":5000000}$' &&
		kdtl why --chain --brief --pid 132 -n 1 "$work/data" | matches ' kept_ms=0.000$'
}

for_scripts()
{
	inversion && kdtl why --chain --brief --pid 132 -n 1 "$work/data" | diff - <(
		echo "chain: task=inv_high pid=132 late_ms=456.000 ran_ms=0.000 waited_ms=1.000" \
			"blocked_ms=455.000 on=futex by=inv_low by_pid=133 its_wait_ms=425.000" \
			"behind=inv_mid behind_pid=131 behind_ms=425.000 throttled_ms=0.000 stolen_ms=0.000" \
			"woken_ms=0.000 unknown_ms=0.000 time=1970-01-01T00:00:01.586000")
}

# A request is all that a task did between two times, which may be in the middle of something.
span()
{
	inversion || return
	says 132 '00:00:01.600  inv_high (132) in 400 ms
  385 ms   asleep in futex, woken by inv_low (133), which meanwhile
           365 ms   waited for CPU 1 behind inv_mid (131)
           20.0 ms  ran
  14.0 ms  ran
  1.00 ms  waited for CPU 0, which was idle' --from 00:00:01.2 --to 00:00:01.6 &&
		says 132 '00:00:01.500  inv_high (132) in 380 ms
  370 ms   asleep in futex, woken by inv_low (133), which meanwhile
           360 ms   waited for CPU 1 behind inv_mid (131)
           10.0 ms  ran
  10.0 ms  ran' --from 00:00:01.12 --to 00:00:01.5
}

# A client waits for a server through a pipe, and that server for another one, which waits for a
# CPU.
nested()
{
	pair <<-END || return
		run 900$ms 0 0 0 10 0 client
		run 900$ms 1 0 0 20 0 front
		run 900$ms 2 0 0 30 0 back
		left 4
		run 900$ms 3 0 0 40 0 store
		run 1010$ms 3 0 0 50 40 hog
		left 2
		idle 1010$ms 0 10
		idle 1010$ms 1 20
		idle 1010$ms 2 30
		left 4
		run 1480$ms 3 470$ms 0 40 50 store
		woken 1490$ms 2 30 40 1 $read 0 back
		left 2
		run 1490$ms 2 0 480$ms 30 0 back
		woken 1500$ms 1 20 30 1 $read 0 front
		run 1500$ms 1 0 490$ms 20 0 front
		woken 1510$ms 0 10 20 1 $read 0 client
		run 1510$ms 0 0 500$ms 10 0 client
		left 4
		run 1520$ms 3 0 0 50 40 hog
	END
	says 10 '00:00:01.510  client (10) late by 500 ms
  500 ms  asleep in read, woken by front (20), which meanwhile
          490 ms   asleep in read, woken by back (30), which meanwhile
                   480 ms   asleep in read, woken by store (40), which meanwhile
                            470 ms   waited for CPU 3 behind hog (50)
                            10.0 ms  ran
                   10.0 ms  ran
          10.0 ms  ran' -n 1
}

# Of a chain of twelve servers, eight are followed.
very_deep()
{
	local i

	{
		for i in {1..12}; do
			echo "run 900$ms $i 0 0 $i 0 server"
		done
		for i in {1..11}; do
			echo "idle 1010$ms $i $i"
		done
		echo "left 2"
		for i in {11..1}; do
			echo "woken $((1500 - i))$ms $i $i $((i + 1)) 1 $read 0 server"
			echo "run $((1500 - i))$ms $i 0 $((490 - i))$ms $i 0 server"
		done
	} | pair && kdtl why --chain -n 1 --pid 1 "$work/data" >"$work/said" &&
		[ "$(grep -c 'which meanwhile' "$work/said")" -eq 8 ] &&
		[ "$(grep -c 'woken by' "$work/said")" -eq 9 ] || { cat "$work/said"; return 1; }
}

# The tasks of a convoy have the lock in turn, and each one that has it waits for its CPU.
convoy()
{
	pair <<-END || return
		run 1000$ms 0 0 0 10 0 first
		run 1000$ms 1 0 0 20 0 second
		run 1000$ms 2 0 0 30 0 third
		contended 1099999999 1 20 10 1 $write second
		contended 1099999999 2 30 10 1 $write third
		left 130
		idle 1100$ms 1 20
		idle 1100$ms 2 30
		left 4
		run 1110$ms 0 0 0 50 10 hog
		run 1260$ms 0 150$ms 0 10 50 first
		woken 1300$ms 1 20 10 2 $write 0 second
		left 2
		run 1300$ms 1 0 200$ms 20 0 second
		woken 1400$ms 2 30 20 2 $write 0 third
		run 1400$ms 2 0 300$ms 30 0 third
		idle 1500$ms 0 10
		idle 1500$ms 1 20
	END
	says 30 '00:00:01.400  third (30) late by 300 ms
  300 ms  asleep in write, for a mutex that first (10) had, woken by second (20), which meanwhile
          200 ms  asleep in write, for a mutex that first (10) had, woken by first (10), which meanwhile
                  150 ms   waited for CPU 0 behind hog (50)
                  50.0 ms  ran
          100 ms  ran' -n 1
}

# With priority inheritance the owner runs at once.
inheritance()
{
	pair <<-END || return
		run 1000$ms 1 0 0 133 0 low
		run 1000$ms 0 0 0 132 0 high
		contended 1099$ms 0 132 133 4 $futex high
		idle 1100$ms 0 132
		woken 1150$ms 0 132 133 1 $futex 0 high
		run 1150$ms 0 0 50$ms 132 0 high
		idle 1200$ms 1 133
	END
	says 132 '00:00:01.150  high (132) late by 50.0 ms
  50.0 ms  asleep in futex, for a lock with priority inheritance that low (133) had, woken by low (133), which meanwhile
           50.0 ms  ran' -n 1
}

# The chain does not go from an interrupt to the task that it interrupted.
interrupts()
{
	local flags by

	while IFS='|' read -r flags by; do
		pair <<-END || return
			run 1000$ms 0 0 0 10 0 reader
			run 1000$ms 1 0 0 20 0 other
			left 130
			idle 1100$ms 0 10
			woken 1200$ms 0 10 20 2 $read $flags reader
			left 2
			run 1200$ms 0 0 100$ms 10 0 reader
			idle 1300$ms 1 20
		END
		says 10 "00:00:01.200  reader (10) late by 100 ms
  100 ms  asleep in read, $by" -n 1 || return
	done <<-'END'
		2|uninterruptible, woken by an interrupt
		4|uninterruptible, woken by a softirq
		10|for a disk, woken by an interrupt
	END
}

# If interrupts are recorded as well, the chain names the one that woke the task: it is of the kind
# that the wake-up tells, and interrupted the task that had the CPU then. If interrupts of two idle
# CPUs may have done it, the chain does not say which.
which_interrupt()
{
	local by flags name status=0

	printf '%s\n' 'source kdtl_irq' 'clock 0 0' "irq 1199$ms 1 5$ms 1 4 before 20" \
		"irq 1201$ms 1 2$ms 1 7 disk 20" "irq 1201$ms 2 2$ms 0 3 net_rx 30" \
		"irq 1201$ms 3 2$ms 2 0 local_timer" "irq 1201$ms 4 2$ms 1 8 net" \
		"irq 1201$ms 5 2$ms 0 1 timer" "clock 10000$ms 10000$ms" |
		python3 "$here/lib/recording.py" "$work/data.irq" || return
	while IFS='|' read -r by flags name; do
		pair <<-END || status=1
			run 1000$ms 0 0 0 10 0 reader
			run 1000$ms 1 0 0 20 0 other
			left 130
			idle 1100$ms 0 10
			woken 1200$ms 0 10 $by 2 $read $flags reader
			left 2
			run 1200$ms 0 0 100$ms 10 0 reader
		END
		says 10 "00:00:01.200  reader (10) late by 100 ms
  100 ms  asleep in read, uninterruptible, woken by $name" -n 1 || status=1
	done <<-'END'
		20|2|interrupt disk
		20|4|a softirq
		30|4|softirq net_rx
		30|2|an interrupt
		0|2|an interrupt
		0|4|softirq timer
	END
	sums waker | matches '^softirq timer  *1  *100ms ' || status=1
	rm -f -- "$work/data.irq"
	return $status
}

# A wake-up that comes before the task sleeps ends no sleep, however near it is.
not_asleep()
{
	pair <<-END || return
		run 1000$ms 0 0 0 10 0 reader
		run 1000$ms 1 0 0 20 0 true
		run 1000$ms 2 0 0 30 0 false
		woken 1099999999 0 10 30 1 $read 1 reader
		idle 1100$ms 0 10
		woken 1100000001 0 10 30 1 $read 1 reader
		woken 1200$ms 0 10 20 1 $read 0 reader
		run 1200$ms 0 0 100$ms 10 0 reader
		woken 1200000001 0 10 30 1 $read 1 reader
		idle 1300$ms 1 20
		idle 1300$ms 2 30
		idle 1300$ms 0 10
	END
	says 10 '00:00:01.200  reader (10) without a CPU for 100 ms
  100 ms  asleep in read, woken by true (20), which meanwhile
          100 ms  ran' -n 1
}

# A wake-up that began just before the task left its CPU did end the sleep. After an earlier one the
# task would not have slept, so if that one is the last, the right one is lost.
woken_early()
{
	local time text

	while IFS='|' read -r time text; do
		pair <<-END || return
			run 1000$ms 0 0 0 10 0 reader
			run 1000$ms 1 0 0 20 0 other
			woken $time 0 10 20 1 $read 1 reader
			left 2
			idle 1100$ms 0 10
			run 1150$ms 0 30$ms 20$ms 10 0 reader
			idle 1200$ms 1 20
		END
		kdtl why --chain --pid 10 -n 1 "$work/data" | sed '1,/^$/d' |
			diff - <(printf "00:00:01.150  reader (10) late by 50.0 ms\n$text\n") || return
	done <<-'END'
		1099999999|  30.0 ms  waited for CPU 0, which was idle\n  20.0 ms  woken, but in no queue yet
		1090000000|  30.0 ms  waited for CPU 0, which was idle\n  20.0 ms  asleep, and it is not known what woke it
	END
}

# The time that a task waited is charged to the CPU where it waited then. The dispatch also tells of
# the last of these CPUs.
moves()
{
	local missing

	for missing in '' '/^shifted 1400/d'; do
		sed "$missing" <<-END | pair || return
			run 1000$ms 0 0 0 10 0 victim
			run 1000$ms 1 0 0 20 0 one
			run 1000$ms 2 0 0 30 0 two
			run 1100$ms 0 0 0 40 10 zero
			woken 1190$ms 0 10 30 1 -1 0 victim
			shifted 1190000001 0 1 10 30 victim
			shifted 1400$ms 1 2 10 40 victim
			left 4
			moved 1700$ms 2 300$ms 200$ms 100$ms 10 30 victim
			run 1800$ms 1 0 0 50 20 next
		END
		says 10 '00:00:01.700  victim (10) late by 600 ms
  300 ms   waited for CPU 2 behind two (30)
  200 ms   waited for CPU 1 behind one (20)
  90.0 ms  asleep, woken by two (30), which meanwhile
           90.0 ms  ran
  10.0 ms  woken, but in no queue yet' -n 1 || return
	done
}

# The waker is held back by its quota.
throttled()
{
	pair <<-END || return
		run 1000$ms 0 0 0 10 0 victim
		run 1000$ms 1 0 0 20 0 worker
		idle 1100$ms 0 10
		left 128
		run 1110$ms 1 0 0 30 20 next
		left 4
		starved 1400$ms 1 250$ms 40$ms 20 30 worker
		woken 1410$ms 0 10 20 1 $futex 0 victim
		left 2
		run 1410$ms 0 0 310$ms 10 0 victim
		idle 1500$ms 1 20
	END
	says 10 '00:00:01.410  victim (10) late by 310 ms
  310 ms  asleep in futex, woken by worker (20), which meanwhile
          250 ms   held back by a limit on CPU time
          40.0 ms  waited for CPU 1 behind next (30)
          20.0 ms  ran' -n 1
}

# While dispatches were lost, it is not known what a task did. If wake-ups were lost, its waker is
# not known.
lost()
{
	inversion "lost 3" "loss 1 1200$ms 1300$ms 3" &&
		says 132 '00:00:01.586  inv_high (132) late by 456 ms
  455 ms   asleep in futex, woken by inv_low (133), which meanwhile
           425 ms   waited for CPU 1, and it is not known behind whom
           30.0 ms  ran
  1.00 ms  waited for CPU 0, which was idle' -n 1 &&
		inversion "lost 3" "loss 1 1200$ms 1300$ms 3" &&
		sed -i "s/^run 1565$ms .*/run 1565$ms 1 25$ms 0 133 131 inv_low/; /^clock/d" "$work/lines" &&
		pair <<<"$(<"$work/lines")" && says 132 '00:00:01.586  inv_high (132) without a CPU for 456 ms
  455 ms   asleep in futex, woken by inv_low (133), which meanwhile
           400 ms   not known
           30.0 ms  ran
           25.0 ms  waited for CPU 1, and it is not known behind whom
  1.00 ms  waited for CPU 0, which was idle' -n 1 &&
		inversion "wake-lost 5" && sed -i '/^woken/d; /^clock/d' "$work/lines" &&
		pair <<<"$(<"$work/lines")" &&
		says 132 "kdtl: $work/data.wake: 5 entries were lost, and it is not known when
00:00:01.586  inv_high (132) without a CPU for 456 ms
  455 ms   asleep, and it is not known what woke it
  1.00 ms  waited for CPU 0, which was idle" -n 1
}

# Before its first entry a task slept, waited, and was held back as that entry says; what came before
# is not known.
begin()
{
	pair <<-END || return
		run 1000$ms 0 100$ms 500$ms 10 0 early
		run 1000$ms 1 0 0 30 0 other
		made 1700$ms 1 20 10 child
		left 4
		run 2000$ms 1 300$ms 0 20 30 child
		idle 2100$ms 0 10
	END
	says 10 '00:00:01.000  early (10) in 900 ms
  500 ms  asleep, and it is not known what woke it
  300 ms  not known
  100 ms  waited for CPU 0, and it is not known behind whom' --from 00:00:00.1 --to 00:00:01 &&
		says 20 '00:00:02.000  child (20) late by 300 ms
  300 ms  waited for CPU 1 behind other (30)' -n 1 &&
		says 20 '00:00:02.000  child (20) in 1.00 s
  700 ms  did not exist, made by early (10)
  300 ms  waited for CPU 1 behind other (30)' --from 00:00:01 --to 00:00:02 &&
		kdtl print "$work/data.wake" | matches ' child  *20  is new, on CPU 1, made by .*10' || return
	pair <<-END || return
		run 1000$ms 1 0 0 30 0 other
		left 4
		starved 1400$ms 1 250$ms 40$ms 20 30 worker
	END
	says 20 '00:00:01.400  worker (20) late by 290 ms
  250 ms   held back by a limit on CPU time
  40.0 ms  waited for CPU 1 behind other (30)' -n 1
}

# A task still waits when the recording ends, and another one has not been woken.
end()
{
	pair <<-END || return
		run 1000$ms 0 0 0 10 0 victim
		run 1000$ms 1 0 0 30 0 stuck
		left 130
		idle 1100$ms 1 30
		left 4
		run 2000$ms 0 0 0 20 10 hog
	END
	says 10 '00:00:10.000  victim (10) late by 8.00 s
  8.00 s  waited for CPU 0 behind hog (20)' -n 1 && says 30 '00:00:10.000  stuck (30) late by 8.90 s
  8.90 s  asleep, uninterruptible, and it is not known what woke it' -n 1
}

# A thread that calls exec() gets another PID, and has no wait of its own from then on.
execd()
{
	pair <<-END && refused 1 'nobody was late' --pid 155 "$work/data"
		task 0 154 154 0 0 0 0 main
		task 0 155 154 0 0 0 0 thread
		task 1100$ms 154 154 0 0 0 0 execd
		run 1000$ms 1 0 0 155 0 thread
		left 4
		run 1500$ms 1 0 0 200 154 hog
	END
}

# Tasks start programs while they have a CPU. The waker has the name that it had when it woke the
# task, and the one in front the name that it had for most of the wait. The thread 155 becomes the
# process 154 by exec().
started()
{
	pair <<-END || return
		task 0 10 10 0 0 0 0 victim
		task 0 20 20 0 0 0 0 sh
		task 0 154 154 0 0 0 0 main
		task 0 155 154 0 0 0 0 thread
		run 1000$ms 1 0 0 10 0 victim
		run 1100$ms 1 0 0 20 10 sh
		task 1150$ms 20 20 0 0 0 0 worker
		woken 1200$ms 1 10 20 1 $read 0 victim
		task 1210$ms 20 20 0 0 0 0 hog
		left 4
		run 1500$ms 1 300$ms 100$ms 10 20 victim
		left 2
		idle 1510$ms 1 10
		run 2000$ms 1 0 0 155 0 thread
		task 2010$ms 154 154 0 0 0 0 execd
		left 4
		run 2500$ms 1 450$ms 540$ms 10 154 victim
		left 2
		idle 2510$ms 1 10
	END
	says 10 '00:00:01.500  victim (10) late by 400 ms
  300 ms  waited for CPU 1 behind hog (20)
  100 ms  asleep in read, woken by worker (20), which meanwhile
          100 ms  ran' --to 00:00:01.6 -n 1 &&
		kdtl why --chain --brief --pid 10 --to 00:00:01.6 -n 1 "$work/data" |
		matches ' by=worker .* behind=hog ' &&
		kdtl why --chain --pid 10 --from 00:00:02 -n 1 "$work/data" |
		matches '450 ms  *waited for CPU 1 behind execd (154)' &&
		kdtl report --by waker "$work/data" | matches '^worker (20) '
}

# System calls of a machine with the generic numbers are known everywhere, those of an unknown
# machine nowhere.
calls()
{
	local machine nr name

	while read -r machine nr name; do
		inversion "wake-machine $machine" && sed -i "s/ $futex 0 inv_high/ $nr 0 inv_high/; /^clock/d" \
			"$work/lines" && pair <<<"$(<"$work/lines")" &&
			kdtl why --chain -n 1 --pid 132 "$work/data" | matches "asleep in $name, woken" &&
			kdtl why --chain --brief -n 1 --pid 132 "$work/data" | matches " on=${name// /_} " ||
			return
	done <<-END
		aarch64 98 futex
		riscv64 63 read
		riscv64 9999 syscall 9999
		$(uname -m) $futex futex
		m68k $futex syscall $futex
	END
}

# An idle server's long sleep makes no task late.
ranked()
{
	inversion "run 1000$ms 3 0 0 60 0 server" "idle 1001$ms 3 60" "woken 9000$ms 3 60 132 1 $read 0 server" \
		"run 9000$ms 3 0 7999$ms 60 0 server" "idle 9100$ms 3 60" "left 130" \
		"run 9200$ms 2 0 0 70 0 disk" "idle 9300$ms 2 70" "woken 9900$ms 2 70 0 2 $read 2 disk" \
		"left 2" "run 9900$ms 2 0 600$ms 70 0 disk" &&
		kdtl why --chain --brief "$work/data" | sed 's/ pid=.*//; s/.*task=//' | tr '\n' ' ' |
		diff - <(printf 'inv_mid disk inv_low inv_high server ') &&
		kdtl why --chain --brief -n 2 "$work/data" | sed 's/ pid=.*//; s/.*task=//' | tr '\n' ' ' |
		diff - <(printf 'inv_mid disk ') &&
		kdtl why --chain --brief --comm server -n 1 "$work/data" | matches 'late_ms=7999.000' &&
		kdtl why --chain --brief --time 00:00:01.2 --min-wait 450 --cpu 0 "$work/data" |
		grep -q -x 'chain: task=inv_high .*'
}

# Rows of less than a hundredth of the time become one row; with -a all of them are shown.
many_parts()
{
	{
		echo "run 1000$ms 0 0 0 10 0 victim"
		echo "left 4"
		for i in $(seq 20 40); do
			echo "run 11$i$ms 0 0 0 $i $((i == 20 ? 10 : i - 1)) hog"
		done
		echo "run 2000$ms 0 880$ms 0 10 40 victim"
	} | pair && says 10 '00:00:02.000  victim (10) late by 880 ms
  860 ms   waited for CPU 0 behind hog (40)
  20.0 ms  20 others' -n 1 && [ "$(kdtl why --chain -a -n 1 --pid 10 "$work/data" |
		grep -c '^  .* behind hog')" -eq 21 ]
}

# A name cannot steer the terminal, and is one word for scripts.
names()
{
	inversion && LC_ALL=C sed -i 's/inv_mid/in \x1bmid/g' "$work/data" &&
		kdtl why --chain --pid 132 "$work/data" | matches -F 'behind in \x1bmid (131)' &&
		kdtl why --chain --brief --pid 132 -n 1 "$work/data" | matches -F ' behind=in\x20\x1bmid ' &&
		inversion && LC_ALL=C sed -i 's/inv_low/a (1),b/g' "$work/data" "$work/data.wake" &&
		kdtl why --chain --pid 132 "$work/data" | matches -F 'woken by a (1)\x2cb (133), which'
}

# refused STATUS PATTERN ARGUMENT...: kdtl why --chain ends with STATUS, and says PATTERN.
refused()
{
	local status=$1 pattern=$2 said

	shift 2
	said=$(kdtl why --chain "$@" 2>&1 >/dev/null)
	[ $? -eq "$status" ] && grep -q -e "$pattern" <<<"$said" && return
	printf '%s\n' "$said"
	return 1
}

# If a chain cannot be told, kdtl says so, and what would be needed.
refusals()
{
	inversion && cp -- "$work/data" "$work/alone" &&
		refused 1 'no wake-ups beside it, in .*alone.wake: record them with kdtl record --wake' \
			"$work/alone" &&
		cp -- "$work/data" "$work/alone.wake" && refused 1 'is no recording of kdtl_wake' "$work/alone" &&
		refused 1 'nothing is known of task 999 at that time' --pid 999 --from 00:00:01 --to 00:00:02 "$work/data" &&
		refused 1 'nobody was late at that time' --time 00:00:00.5 "$work/data" &&
		refused 2 'not for --chain' --host x "$work/data" &&
		inversion "wake-host other" && refused 1 'data.wake: is from another host' "$work/data" &&
		inversion "min-wait 1$ms" && refused 1 'record without -w' "$work/data"
}

# sums KEY ARGUMENT...: prints the rows of report by KEY, without their heads.
sums()
{
	kdtl report --by "$@" "$work/data" 2>&1 | sed '/: the worst /,/^$/d'
}

# no_sums TEXT KEY ARGUMENT...: there are no rows, and TEXT says why.
no_sums()
{
	local text=$1

	shift
	! sums "$@" >"$work/said" && grep -q -e "$text" "$work/said"
}

# Times without a CPU are summed up by what they were, and sleeps by the task that ended them. A
# wait behind two tasks counts once.
off_cpu()
{
	inversion "run 1600$ms 2 0 0 50 0 reader" "left 130" "idle 1610$ms 2 50" \
		"woken 1690$ms 2 50 131 2 $read 2 reader" "left 2" "run 1700$ms 2 10$ms 80$ms 50 0 reader" \
		"left 4" "run 1710$ms 2 0 0 61 50 one" "run 1720$ms 2 0 0 62 61 two" \
		"left 2" "run 1740$ms 2 30$ms 0 50 62 reader" || return
	sums reason --comm reader | diff - <(cat <<-'END'
		without a CPU                   count    for   late    max
		asleep in read, uninterruptible     1 80.0ms 80.0ms 80.0ms
		waited for a CPU                    2 40.0ms 40.0ms 30.0ms
	END
	) && sums waker | diff - <(cat <<-'END'
		woken by      count asleep   late    max
		inv_low (133)     1  455ms  397ms  455ms
		an interrupt      1 80.0ms 80.0ms 80.0ms
		not known         2  16.7s    0ns  8.40s
	END
	) && sums waker -n 1 --comm 'inv_*' | sed 1d | diff - <(echo 'inv_low (133)     1  455ms 397ms 455ms') &&
		sums reason --json --comm reader | head -n 1 | diff - <(
			echo '{"row":"asleep in read, uninterruptible","count":1,"ns":80000000,"late_ns":80000000,"max_ns":80000000}') &&
		[ "$(sums reason --json -n 1 | wc -l)" -eq 1 ] &&
		no_sums 'nobody was without a CPU' reason --comm nobody &&
		no_sums 'cannot be used with --interval, --sort or --behind' waker --sort max &&
		mv -- "$work/data.wake" "$work/other" && no_sums 'has no wake-ups beside it' waker
}

engine()
{
	cc -O1 -g -std=gnu11 -Wall -Wextra -Werror -fsanitize=address,undefined \
		-I"$top/api/include/uapi" "$here/lib/chain_random.c" -o "$work/chain_random" &&
		"$work/chain_random" 1 2 3
}

# The parts of all chains add up, but for the rounding of each number.
adds_up()
{
	inversion && kdtl why --chain --brief --pid 132 -n 100 "$work/data" | tr ' ' '\n' | awk -F= '
		/^late_ms/ { sum = $2; n++ }
		/^(ran|waited|blocked|throttled|stolen|woken|unknown)_ms/ { sum -= $2 }
		/^time/ { if (sum > 0.004 || sum < -0.004) bad = 1 }
		END { exit bad || !n }'
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-chain.XXXXXX")
partial "$work"

plan 30
ok "kdtl builds" builds
ok "parts add up and are true, of a machine that is made up" engine
ok "a holder of a mutex waits behind another task" inherited
ok "so for scripts" for_scripts
ok "interrupts have a part of their own" interrupted
ok "who could not be preempted is told" kept
ok "so of the idle task" kept_idle
ok "a request, from the middle of one thing to that of another" span
ok "servers three deep" nested
ok "very deep ones" very_deep
ok "a convoy" convoy
ok "an owner that inherits a priority" inheritance
ok "interrupts end a chain" interrupts
ok "and have names where interrupts are recorded" which_interrupt
ok "a wake-up of a task that did not sleep is none" not_asleep
ok "one just before it left its CPU did end it" woken_early
ok "moves are charged to the CPU where they happened" moves
ok "a waker that is throttled" throttled
ok "what was lost is not guessed" lost
ok "nor what was before the first entry" begin
ok "a wait that is not over at the end" end
ok "nor one of a thread that has called exec()" execd
ok "programs have their names, though they got them after the dispatch" started
ok "system calls have their machine's numbers" calls
ok "who was late comes first, not idle servers" ranked
ok "many short parts are one row" many_parts
ok "names do not steer the terminal" names
ok "questions without an answer are refused" refusals
ok "sums by reason and by waker" off_cpu
ok "each chain adds up" adds_up
finish
