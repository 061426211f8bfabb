#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The trace client: every entry is an event, in the order of time, while somebody uses
# the event, and nothing happens while nobody does.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

fake=/sys/kernel/debug/kdtl_fake/do
files=/sys/kernel/debug/kdtl
tracing=/sys/kernel/tracing
event=$tracing/events/kdtl/kdtl_dispatch

# logs NR: that many sessions are the client's.
logs()
{
	[ "$(grep -c '\[kdtl_trace\]' $files/sessions)" = "$1" ]
}

started()
{
	grep -q ' started .*\[kdtl_trace\]' $files/sessions
}

listen()
{
	echo 1 >$event/enable && until_true started
}

unlisten()
{
	echo 0 >$event/enable && until_true logs 0
}

forget()
{
	echo >$tracing/trace
}

# traced NR [PATTERN]: that many events.
traced()
{
	[ "$(grep -c "kdtl_dispatch: .*${2-}" $tracing/trace)" = "$1" ]
}

# each KEY: its value in each event.
each()
{
	sed -n "s/^.* kdtl_dispatch:.* $1=\([^ ]*\).*/\1/p" $tracing/trace
}

# entries KIND: of the client's session: produced, unread, lost or consumed.
entries()
{
	awk -v kind="$1" '/\[kdtl_trace\]/ {
		n["produced"] = $8
		n["unread"] = $9
		n["lost"] = $10
		n["consumed"] = $8 - $9 - $10
		print n[kind]
	}' $files/sessions
}

# switches: how often the thread was.
switches()
{
	awk '/ctxt_switches/ { sum += $2 } END { print sum }' "/proc/$thread/status"
}

find_thread()
{
	for thread in /proc/[0-9]*; do
		thread=${thread#/proc/}
		[ "$(cat "/proc/$thread/comm")" = kdtl_trace ] && return
	done
	return 1
}

# burst NR: on each CPU.
burst()
{
	for cpu in $cpus; do
		echo "burst $cpu $1" >$fake || return
	done
}

# idle: waits for somebody who listens; sleeps: for entries.
idle()
{
	grep -q '^State:.I' "/proc/$thread/status"
}

sleeps()
{
	grep -q '^State:.S' "/proc/$thread/status"
}

silent()
{
	find_thread && until_true idle && logs 0 || return
	forget
	was=$(switches)
	burst 100 && is "$(switches)" "$was" && traced 0 && logs 0
}

merged()
{
	forget
	n=0
	while [ $n -lt 20 ]; do
		burst 7 || return
		n=$((n + 1))
	done
	until_true traced $((140 * $(echo "$cpus" | wc -w))) || return
	each time >/tmp/times
	sort -c -n /tmp/times || return
	for cpu in $cpus; do
		is "$(each cpu | grep -c "^$cpu$")" 140 || return
	done
	is "$(entries lost)" 0
}

waits()
{
	forget
	echo "wait 0 2" >$fake && echo "wait 0 5" >$fake && until_true traced 2 &&
		is "$(each wait)" "2000000000
4294967295+"
}

long_ones()
{
	unlisten && echo 2500000 >/sys/module/kdtl_trace/parameters/min_wait_us && listen ||
		return
	forget
	echo "wait 0 2" >$fake && burst 10 && echo "wait 0 3" >$fake &&
		echo "wait 0 5" >$fake && until_true traced 2 &&
		is "$(each wait)" "3000000000
4294967295+"
	status=$?
	# The others took no room.
	is "$(entries produced) $(entries lost)" "2 0" || status=1
	echo 0 >/sys/module/kdtl_trace/parameters/min_wait_us
	return $status
}

off()
{
	unlisten || return
	forget
	burst 100 && traced 0
}

again()
{
	listen || return
	forget
	burst 3 && until_true traced $((3 * $(echo "$cpus" | wc -w)))
}

# More entries at once than a CPU's area holds: the next event tells of the others.
lost()
{
	load kdtl_trace pmu=kdtl_fake aux_pages=1 && listen || return
	forget
	echo "burst 1 2000" >$fake && until_true consumed_all || return
	fit=$(entries consumed)
	burst 1 && until_true traced $((fit + $(echo "$cpus" | wc -w))) &&
		is "$(each lost | sort -n | uniq -c | tr -s ' \n' ' ')" \
			" $((fit + $(echo "$cpus" | wc -w) - 1)) 0 1 $((2000 - fit)) " &&
		is "$(entries lost)" $((2000 - fit)) && unlisten && unload kdtl_trace
}

consumed_all()
{
	[ "$(entries unread)" -eq 0 ] && [ "$(entries produced)" -eq 2000 ]
}

# The event goes with the module, and its users with the event.
used()
{
	unload kdtl_trace && ! [ -e $event ] && logs 0 && ! is_loaded kdtl_trace
}

refuses()
{
	! load kdtl_trace pmu=none 2>/dev/null && ! load kdtl_trace aux_pages=3 2>/dev/null
}

# totals: hits of the histogram, for all keys.
totals()
{
	sed -n 's/^ *Hits: //p' $event/hist
}

# Between what the session has consumed and what it has produced.
agrees()
{
	consumed=$(entries consumed)
	hits=$(totals)
	produced=$(entries produced)
	[ "$consumed" -gt 0 ] && [ "$consumed" -le "$hits" ] && [ "$hits" -le "$produced" ] &&
		return
	note "consumed $consumed, hits $hits, produced $produced"
	return 1
}

histogram()
{
	echo 'hist:keys=comm,dispatch_reason:vals=wait,slept' >$event/trigger &&
		until_true started && until_true agrees || return
	grep -q '{ comm: *kdtl_trace *, *dispatch_reason: *woken *}' $event/hist
	status=$?
	echo '!hist:keys=comm,dispatch_reason:vals=wait,slept' >$event/trigger &&
		until_true logs 0 && [ $status -eq 0 ]
}

stopped()
{
	grep -q '^State:.T' "/proc/$1/status"
}

# dispatched PID NR: so often in all.
dispatched()
{
	traced "$2" " pid=$1 "
}

# Each dispatch of a task, from its first: the scheduler counts them too.
task()
{
	listen || return
	forget
	sh -c 'n=0; while [ $n -lt 30 ]; do usleep 1000; n=$((n + 1)); done; kill -STOP $$' &
	pid=$!
	until_true stopped $pid || return
	read -r _ _ nr <"/proc/$pid/schedstat"
	until_true dispatched $pid "$nr"
	status=$?
	[ $status -eq 0 ] || note "$nr dispatches, $(grep -c " pid=$pid " $tracing/trace) traced"
	kill -KILL $pid
	wait $pid 2>/dev/null
	is "$(entries lost)" 0 && each time >/tmp/times && sort -c -n /tmp/times &&
		[ $status -eq 0 ]
}

# With an endless period nothing wakes the thread: its own dispatches do not either.
bounded()
{
	load kdtl_trace period_ms=1000000000 && listen && find_thread &&
		until_true sleeps || return
	usleep 10000
	was=$(switches)
	n=0
	while [ $n -lt 20 ]; do
		usleep 1000
		n=$((n + 1))
	done
	is "$(switches)" "$was" && unlisten && unload kdtl_trace
}

need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive
have_module kdtl_trace || skip_all "no module kdtl_trace"
cpus=$(sed -n 's/^cpu\([0-9][0-9]*\).*/\1/p' /proc/stat)

plan 16
ok "wrong parameters are refused" refuses
ok "it loads" load kdtl_trace pmu=kdtl_fake
ok "nobody listens: no session, and the thread sleeps" silent
ok "somebody listens: a session" listen
ok "all CPUs, each entry once, in the order of time" merged
ok "waits, and those that are too long to say" waits
ok "only the long ones" long_ones
ok "nobody listens any more: nothing is traced" off
ok "somebody listens again" again
ok "it unloads while its event is used" used
ok "what is lost is told" lost
ok "it loads for the scheduler's log" load kdtl_trace
ok "a histogram of tasks" histogram
ok "every dispatch of a task" task
unlisten
ok "it unloads" unload kdtl_trace
ok "its own dispatches do not wake it" bounded
finish
