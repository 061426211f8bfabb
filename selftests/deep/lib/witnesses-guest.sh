#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine of witnesses.sh: loads that others wrote, while kdtl(1) and perf record, and once
# more while kdtl(1) and LTTng do.

events=sched:sched_switch,sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_migrate_task
# Of a recording that has these, perf sched timehist counts waits from the begin of a wake-up on, also
# from one of a task that still ran then.
wakes=sched:sched_switch,sched:sched_waking

# Has its CPU for 20 ms or more.
burst()
{
	read -r from _ </proc/uptime
	while read -r now _ </proc/uptime &&
		[ $((${now%.*}${now#*.} - ${from%.*}${from#*.})) -lt 3 ]; do :; done
}

# A real-time task that takes CPU 1, five times a second.
bursts()
{
	while taskset 2 chrt -f 90 sh /witnesses-guest.sh burst; do
		usleep 180000
	done
}

load()
{
	case ${1%.*} in
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

# run LOAD.WITNESS: runs a load for a while. Then it is stopped, so that the kernel's figures are final, and
# killed when nobody records any more. cyclictest is ended instead: stopping it would spoil its own
# figures, which are wanted.
run()
{
	setsid sh /witnesses-guest.sh load "$1" >"$1.out" 2>&1 &
	group=$!
	sleep $seconds
	if [ "${1%.*}" = cyclictest ]; then
		kill -INT "$(pidof cyclictest)"
		wait $group
	else
		kill -STOP -$group
		until schedstat $group >"$1.schedstat"; do usleep 50000; done
	fi
	echo $group >"$1.group"
}

# traced NAME COMMAND...: runs it while LTTng records. The buffers are larger than all that a load
# causes, because real-time tasks may starve who reads them. LTTng comes after kdtl, as perf does, so it
# reads its clock after kdtl.
traced()
{
	name=$1
	shift
	lttng create "$name" -o "/out/$name.ctf" || return
	lttng enable-channel -k --subbuf-size 4M --num-subbuf 8 all &&
		lttng add-context -k -c all -t tid &&
		lttng enable-event -k -c all \
			sched_switch,sched_waking,sched_wakeup,sched_wakeup_new &&
		lttng start && "$@" && lttng stop
	lttng destroy "$name"
}

# recorded LOAD.WITNESS COMMAND...: runs the load while kdtl and the witness record. The command is the
# witness's, which runs what comes behind it. The areas hold all that a load causes, because kdtl's
# reader may get no CPU until it ends.
recorded()
{
	name=$1
	shift
	kdtl record --wake -i -m 2048 -o "$name.data" "$@" sh /witnesses-guest.sh run "$name" 2>"$name.err"
	kill -KILL -"$(cat "$name.group")" 2>/dev/null || :
}

seconds=3
case ${1:-} in
burst)
	burst
	exit
	;;
load)
	load "$2"
	exit
	;;
run)
	run "$2"
	exit
	;;
traced)
	shift
	traced "$@" >&2
	exit
	;;
esac

cd /out || exit
for m in kdtl kdtl_answers kdtl_sched kdtl_wake kdtl_stream; do
	insmod /lib/kdtl/$m.ko || exit
done
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
mkdir -p /var/run
ifconfig lo up
lttng-sessiond --daemonize --kmod-probes=sched || exit
for load; do
	echo "witnesses: $load"
	recorded "$load.perf" perf record -q -a -m 4M -e $events -o "$load.perf.switches.data" \
		perf record -q -a -m 4M -e $wakes -o "$load.perf.wakes.data"
	recorded "$load.lttng" sh /witnesses-guest.sh traced "$load.lttng"
done
