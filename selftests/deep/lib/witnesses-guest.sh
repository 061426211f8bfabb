#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine of witnesses.sh: loads that others wrote, while kdtl(1) and perf record.

events=sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task
# Of a recording that has these, perf sched timehist counts waits from the begin of a wake-up on, also
# from one of a task that still ran then.
wakes=sched:sched_switch,sched:sched_waking

# A real-time task that takes CPU 1 for 20 ms, five times a second.
bursts()
{
	while :; do
		taskset 2 chrt -f 90 timeout -s KILL 0.02 sh -c 'while :; do :; done' 2>/dev/null
		usleep 180000
	done
}

load()
{
	case $1 in
	cyclictest)
		bursts &
		cyclictest -q -m -a -t 4 -p 80 -i 2000
		kill -KILL 0
		;;
	hackbench) hackbench -l 1000000 -g 2 -f 5 ;;
	pi_stress) pi_stress -q -D 600 --groups 2 ;;
	stress-ng) stress-ng -q --cpu 6 --switch 2 --yield 2 --futex 2 ;;
	sysbench) sysbench threads --threads=16 --time=600 run ;;
	esac
}

# Prints what the kernel itself says of the threads of a process group; fails if one of them has not
# stopped yet.
schedstat()
{
	for task in /proc/[0-9]*/task/[0-9]*; do
		[ "$(sed 's/^.*) //' "$task/stat" | cut -d ' ' -f 3)" = "$1" ] || continue
		grep -q '^State:.*T' "$task/status" || return
		echo "${task##*/} $(cat "$task/schedstat") $(cat "$task/comm")"
	done
}

# run NAME: runs a load for a while. Then it is stopped, so that the kernel's figures are final, and
# killed when nobody records any more. cyclictest is ended instead: stopping it would spoil its own
# figures, which are wanted.
run()
{
	setsid sh /witnesses-guest.sh load "$1" >"$1.out" 2>&1 &
	group=$!
	sleep $seconds
	if [ "$1" = cyclictest ]; then
		kill -INT "$(pidof cyclictest)"
		wait $group
	else
		kill -STOP -$group
		until schedstat $group >"$1.schedstat"; do usleep 50000; done
	fi
	echo $group >"$1.group"
}

seconds=3
case ${1:-} in
load)
	load "$2"
	exit
	;;
run)
	run "$2"
	exit
	;;
esac

cd /out || exit
for m in kdtl kdtl_answers kdtl_sched kdtl_wake kdtl_stream; do
	insmod /lib/kdtl/$m.ko || exit
done
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
for name; do
	echo "witnesses: $name"
	kdtl record --wake -i -m 256 -o "$name.data" perf record -q -a -m 4M -e $events -o "$name.perf" \
		perf record -q -a -m 4M -e $wakes -o "$name.wakes.perf" \
		sh /witnesses-guest.sh run "$name" 2>"$name.err"
	kill -KILL -"$(cat "$name.group")" 2>/dev/null
	kdtl export --format csv "$name.data" >"$name.csv" 2>"$name.csv.err"
	kdtl export --format csv "$name.data.wake" >"$name.wakes.csv" 2>"$name.wakes.err"
	perf script -i "$name.perf" --ns -F tid,cpu,time,event,trace >"$name.events" 2>"$name.script.err"
	perf script -i "$name.wakes.perf" --ns -F tid,cpu,time,event,trace >"$name.wakes.events" \
		2>"$name.wakes.script.err"
	perf sched timehist -i "$name.perf" --state >"$name.timehist" 2>"$name.timehist.err"
done
