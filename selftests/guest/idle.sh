#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# An idle CPU pays nothing: no timer of kdtl fires on a CPU that has no entries to tell
# of. Isolated CPUs are left alone, on a machine that was booted with isolcpus= or
# nohz_full=.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

tracing=/sys/kernel/tracing
seconds=1

[ -x "$here/idle" ] || skip_all "no idle: make -C selftests"
[ -d $tracing/events ] || mount -t tracefs tracefs $tracing 2>/dev/null
[ -d $tracing/events/timer/hrtimer_expire_entry ] || skip_all "a kernel without tracepoints"
[ -d /sys/kernel/debug/kdtl_fake ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive kdtl_stream

cpus=$(getconf _NPROCESSORS_CONF 2>/dev/null || grep -c ^processor /proc/cpuinfo)
last=$((cpus - 1))

# hold COMMAND...: runs $here/idle, or another program, in the background; returns when
# that has opened everything.
hold()
{
	: >/tmp/hold
	"$@" >/tmp/hold &
	held="$held $!"
	ktap_pids="$ktap_pids $!"
	until_true grep -Eq 'active|following' /tmp/hold
}

release()
{
	# shellcheck disable=SC2086 # several words
	kill $held && wait $held 2>/dev/null
	held=
}

# ticks: timer interrupts of the last CPU. In /proc/interrupts each architecture has another
# name for them.
ticks()
{
	awk -v cpu="$last" '
		$1 == "cpu:" { here = $2 == cpu }
		here && $1 == ".nr_events" { print $3 }' /proc/timer_list
}

# timers [CPU]: expiries of kdtl's timers since watch().
timers()
{
	grep -c 'hrtimer_expire_entry:.*function=kdtl_' \
		$tracing/${1:+per_cpu/cpu$1/}trace
}

watch()
{
	echo >$tracing/trace
}

# Timers are seen when they fire: otherwise the other tests would prove nothing.
timers_are_seen()
{
	hold "$here/idle" sessions kdtl_fake 1 10000000
	watch
	echo "burst $last 1" >/sys/kernel/debug/kdtl_fake/do
	until_true is_told 1
	seen=$?
	release
	return $seen
}

is_told()
{
	[ "$(timers $last)" -ge "$1" ]
}

# With 8 sessions that have a period of 10 ms, and perf's users, on a source that
# has no entries, no timer of kdtl goes off, on any CPU.
nothing_to_tell()
{
	watch
	before=$(ticks)
	sleep $seconds
	alone=$(($(ticks) - before))

	hold "$here/idle" sessions kdtl_fake 8 10000000
	hold "$here/idle" events kdtl_fake
	hold "$here/perf_mmap" follow kdtl_fake
	watch
	before=$(ticks)
	sleep $seconds
	ours=$(timers) watched=$(($(ticks) - before))
	release
	note "in $seconds s on CPU $last: $alone timer interrupts, $watched when watched"
	# Other tasks may run there, and then the tick does, at 250 Hz.
	is "$ours" 0 && [ "$watched" -le $((alone + seconds * 300)) ]
}

# After ten entries each session's timer goes off once, and so does that of an event with
# an AUX area. Events that only count have no timer.
each_tells_once()
{
	hold "$here/idle" sessions kdtl_fake 8 10000000
	hold "$here/idle" events kdtl_fake
	hold "$here/perf_mmap" follow kdtl_fake
	watch
	echo "burst $last 10" >/sys/kernel/debug/kdtl_fake/do
	until_true is_told 9
	sleep $seconds
	ours=$(timers)
	release
	is "$ours" 9
}

# With the scheduler's entries, no timer goes off that no entry has started.
sessions_follow_entries()
{
	echo 1 >$tracing/events/sched/sched_switch/enable
	hold "$here/idle" sessions kdtl_sched 8 10000000
	hold "$here/idle" events kdtl_sched
	watch
	sleep $seconds
	echo 0 >$tracing/tracing_on
	ours=$(timers $last)
	entries=$(grep 'sched_switch:' $tracing/per_cpu/cpu$last/trace |
		grep -vc 'next_pid=0 ')
	echo 0 >$tracing/events/sched/sched_switch/enable
	echo 1 >$tracing/tracing_on
	release
	note "in $seconds s on CPU $last: $entries entries, $ours timers of 8 sessions"
	# There may be one more for each session, by an entry just before.
	[ "$ours" -le $((8 * (entries + 1))) ] && [ "$ours" -lt $((8 * seconds * 300)) ]
}

has_read()
{
	[ "$(grep -c read /tmp/hold)" -gt "$1" ]
}

# A reader whose own dispatches are in its log reads only when other tasks are dispatched.
# Otherwise it would wake itself for ever, every 10 ms.
reader_sleeps()
{
	echo 1 >$tracing/events/sched/sched_switch/enable
	hold "$here/idle" reader kdtl_sched 10000000 "$last"
	taskset "$(printf %x $((1 << last)))" true
	until_true has_read 0
	watch
	sleep $seconds
	echo 0 >$tracing/tracing_on
	ours=$(timers "$last")
	grep 'sched_switch:' $tracing/per_cpu/cpu"$last"/trace >/tmp/switches
	rounds=$(grep -c 'next_comm=idle_reader' /tmp/switches)
	others=$(grep -v 'next_comm=idle_reader' /tmp/switches | grep -vc 'next_pid=0 ')
	echo 0 >$tracing/events/sched/sched_switch/enable
	echo 1 >$tracing/tracing_on
	note "in $seconds s on CPU $last: $ours timers, $rounds rounds, $others entries of others"
	before=$(grep -c read /tmp/hold)
	[ "$ours" -le $((others + 1)) ] && taskset "$(printf %x $((1 << last)))" true &&
		until_true has_read "$before"
	set -- $?
	release
	return "$1"
}

counting_has_no_timer()
{
	hold "$here/idle" events kdtl_sched
	watch
	sleep $seconds
	ours=$(timers)
	release
	is "$ours" 0
}

# list MASK: "0-2,5" as "0 1 2 5".
list()
{
	echo "$1" | tr ',' '\n' | awk -F- 'NF {
		for (i = $1; i <= (NF > 1 ? $2 : $1); i++)
			printf " %d", i
	}'
}

# are_active CPUS COMMAND...
are_active()
{
	want=$1
	shift
	hold "$@"
	got=$(sed -n 's/^active://p' /tmp/hold)
	release
	is "$got" "$want"
}

# --- kdtl_intruder: who else is there ----------------------------------------------

# intruded PID: for how many us the task was there, as the log says.
intruded()
{
	dmesg | sed -n "s/.*kdtl_intruder: sh:$1 was on isolated CPU $cpu for \([0-9]*\) us/\1/p" |
		awk '{ sum += $1 } END { print sum + 0 }'
}

# compute_on_cpu NAME: a task of this name computes on CPU $cpu for 100 ms. Its pid is in /tmp/pid,
# and in /tmp/had for how many ns it had that CPU.
compute_on_cpu()
{
	taskset 1 sh -c 'printf %s "$1" >/proc/$$/comm
		echo $$ >/tmp/pid
		taskset -p "$2" $$ >/dev/null
		read -r from _ </proc/$$/schedstat
		had=$from
		while [ $((had - from)) -lt 100000000 ]; do read -r had _ </proc/$$/schedstat; done
		echo $((had - from)) >/tmp/had' sh "$1" "$(printf %x $((1 << cpu)))"
}

# The count in /tmp/had begins after the task has come, and ends before it goes. A task that comes
# in between, as a kernel thread may, divides the time in two.
intruder_is_told()
{
	compute_on_cpu sh || return
	read -r pid </tmp/pid
	until_true is_told_of "$pid" 80000
	status=$?
	note "on CPU $cpu for $(intruded "$pid") us, by schedstat $(cat /tmp/had) ns and more"
	return $status
}

# is_told_of PID US: the log says that the task was there for so long, or longer.
is_told_of()
{
	[ "$(intruded "$1")" -ge "$2" ]
}

# The owner's time is over when the line about another task, which comes after it, is there.
owner_is_not()
{
	compute_on_cpu tenant || return
	read -r owner </tmp/pid
	compute_on_cpu sh || return
	read -r pid </tmp/pid
	until_true is_told_of "$pid" 1 && ! dmesg | grep "kdtl_intruder: [^ ]*:$owner "
}

# A task that does not leave is told of, and the recorder prints what ran until then.
who_stays_is_told()
{
	load kdtl_recorder || return
	background taskset "$(printf %x $((1 << cpu)))" sh -c 'while :; do :; done'
	stays=$!
	until_true stays_is_told
	status=$?
	kill $stays
	unload kdtl_recorder && return $status
}

# The task is told of by the name that it had when it came.
stays_is_told()
{
	dmesg | grep -q "kdtl_intruder: [a-z]*:$stays is on isolated CPU $cpu for [0-9]* us" &&
		dmesg | grep -q "kdtl_recorder: [a-z]*:$stays is on isolated CPU $cpu"
}

isolated=$(list "$(cat /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full |
	grep -v null | sort -u)")
rest=
for cpu in $(list "$(cat /sys/devices/system/cpu/online)"); do
	case "$isolated " in
	*" $cpu "*) ;;
	*) rest="$rest $cpu" ;;
	esac
done

if [ -n "$isolated" ]; then
	plan $((6 + $(echo "$isolated" | wc -w)))
	ok "a session for all CPUs leaves$isolated alone" \
		are_active "$rest" "$here/idle" sessions kdtl_sched 1 0
	for cpu in $isolated; do
		ok "CPU $cpu is logged if asked for" \
			are_active " $cpu" "$here/idle" sessions kdtl_sched 1 0 "$cpu"
	done
	# Other tasks may run on a CPU of nohz_full=, so take one of isolcpus=.
	cpu=$(list "$(cat /sys/devices/system/cpu/isolated)")
	cpu=${cpu##* }
	if [ -n "$cpu" ] && have_module kdtl_intruder; then
		ok "intruder: it loads" load kdtl_intruder owner=tenant
		ok "intruder: who was there, and for how long" intruder_is_told
		ok "intruder: the owner of the CPU is not told of" owner_is_not
		ok "intruder: a task that stays is told of, with a table" who_stays_is_told
		ok "intruder: it unloads" unload kdtl_intruder
	else
		for what in loads who whose stays unloads; do
			skip "intruder: $what" "no isolcpus=, or no examples: CONFIG_KDTL_EXAMPLES"
		done
	fi
	finish
fi

echo 1 >$tracing/events/timer/hrtimer_expire_entry/enable
plan 7
ok "a timer is seen" timers_are_seen
ok "nothing to tell: no timer on any CPU" nothing_to_tell
ok "some entries: each tells of them once" each_tells_once
ok "the scheduler's entries: no timer without one" sessions_follow_entries
ok "a reader does not wake itself" reader_sleeps
ok "events that only count have no timer" counting_has_no_timer
ok "all CPUs are logged" are_active "$rest" "$here/idle" sessions kdtl_sched 1 0
echo 0 >$tracing/events/timer/hrtimer_expire_entry/enable
finish
