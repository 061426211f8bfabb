#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The modules of clients/examples say the same as other parts of the kernel.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

debug=/sys/kernel/debug
root=/tmp/kdtl-examples

stopped()
{
	grep -q '^State:.T' "/proc/$1/status"
}

# --- top --------------------------------------------------------------------------

# top PID: the task's dispatches and its waits, in ns.
top()
{
	awk -v pid="$1" '$1 == pid { print $2, $3 }' $debug/kdtl_top
}

# waits PID: the task's waits, in ns, and its dispatches, by schedstat.
waits()
{
	awk '{ print $2, $3 }' "/proc/$1/schedstat"
}

# have_waited PID...: each task has waited for a second.
have_waited()
{
	for pid; do
		[ "$(waits "$pid" | cut -d ' ' -f 1)" -ge 1000000000 ] || return
	done
}

# Two tasks share a CPU until both have waited for a second, and then are stopped: if one stopped
# itself, the other would have no task left to wait for. Their waits are those of schedstat, but for
# a few us a dispatch, and more on an emulated machine. schedstat reads the clock a little earlier,
# and a busy host may halt the machine in between: hence a twentieth of the time. schedstat does not
# count the dispatch of a task that was preempted on its way to stop.
top_agrees()
{
	background taskset 2 sh -c 'while :; do :; done'
	one=$!
	background taskset 2 sh -c 'while :; do :; done'
	two=$!
	until_true have_waited $one $two
	status=$?
	kill -STOP $one $two
	until_true stopped $one && until_true stopped $two || status=1
	for pid in $one $two; do
		# shellcheck disable=SC2046 # four words
		set -- $(waits "$pid") $(top "$pid")
		[ "$3" -eq "$2" ] || is "$3" $(($2 + 1)) || status=1
		awk -v top="$4" -v delay="$1" -v nr="$2" 'BEGIN {
			differ = top - delay
			most = nr * 100000 + delay / 20
			print "# " top " ns of " nr " waits, run_delay " delay " ns"
			exit differ < -most || differ > most || delay < 1000000000
		}' || status=1
	done
	kill -KILL $one $two
	wait $one $two 2>/dev/null
	return $status
}

# waits_on PID MS: the task has waited for so long, by the example's file.
waits_on()
{
	# shellcheck disable=SC2046 # two words
	set -- $(top "$1") "$2"
	[ $# -eq 3 ] && [ "$2" -ge "${3}000000" ]
}

# A real-time task has the CPU, and another task has never had it.
top_waits()
{
	background "$here/held" 1 >/tmp/holds
	held=$!
	until_true grep -q holds /tmp/holds || return
	background taskset 2 sh -c 'while :; do :; done'
	until_true waits_on $! 300
	set -- $? $! "$(top $!)"
	kill "$held" "$2"
	note "dispatches, ns: $3"
	return "$1"
}

# Tasks come and go: the new ones push the others into one row, and all dispatches are still
# counted there.
top_is_bounded()
{
	for n in $(seq 1100); do
		(exit) || return
	done
	awk '$NF == "(others)" { nr = $2 } END { print "# others: " nr; exit nr < 1000 }' \
		$debug/kdtl_top && top_is_sorted
}

# The rows are sorted by the waits.
top_is_sorted()
{
	awk '$1 ~ /[0-9]/ && $NF != "(others)" { print $3 }' $debug/kdtl_top >/tmp/waits
	[ -s /tmp/waits ] && sort -c -n -r /tmp/waits
}

# --- inorder ----------------------------------------------------------------------

# ordered FILE: lines that begin with a time, which never goes back.
ordered()
{
	awk '$1 < last { print "# after " last ": " $0; bad = 1 } { last = $1 }
		END { exit bad || !NR }' "$1"
}

# Each of two readings is in order, and the second goes on where the first ended.
inorder()
{
	cat $debug/kdtl_inorder >/tmp/inorder
	n=0
	while [ $n -lt 60 ]; do
		sleep 0.02
		n=$((n + 1))
	done
	cat $debug/kdtl_inorder >>/tmp/inorder
	ordered /tmp/inorder || return
	is "$(grep -vc '^[0-9]* CPU [0-9]*: .*:[0-9]* waited [0-9]* ns' /tmp/inorder)" 0 &&
		[ "$(grep -c ' sleep:[0-9]* ' /tmp/inorder)" -ge 50 ] &&
		! awk '{ print $1, $3 }' /tmp/inorder | sort | uniq -d | grep .
}

# If a reader stops early, nothing is lost: the next reader goes on with the entry after.
inorder_in_pieces()
{
	dd if=$debug/kdtl_inorder bs=1 count=1 2>/dev/null >/dev/null
	sleep 1 &
	wait $!
	cat $debug/kdtl_inorder $debug/kdtl_inorder >/tmp/pieces
	ordered /tmp/pieces && grep -q ' sleep:[0-9]* ' /tmp/pieces
}

inorder_one_reader()
{
	cat $debug/kdtl_inorder >/dev/null || return
	! cat $debug/kdtl_inorder <$debug/kdtl_inorder 2>/dev/null
}

# --- gaps -------------------------------------------------------------------------

gaps_lost()
{
	[ "$(awk '/\[kdtl_gaps\]$/ { print $10 }' $debug/kdtl/sessions)" -gt 0 ]
}

# The area is a page, which has room for 85 dispatches or, with pages of 64 KiB, for 1365. More come
# while the thread does not read.
gaps()
{
	background sh -c 'while :; do sleep 0.001; done'
	busy=$!
	load kdtl_gaps pause_ms=10000 && until_true gaps_lost || return
	kill $busy
	forget_log
	unload kdtl_gaps || return
	log | sed -n 's/.*kdtl_gaps: \([0-9]*\) dispatches: \([0-9]*\) read, \([0-9]*\) lost in \([0-9]*\) gaps/\1 \2 \3 \4/p' >/tmp/gaps
	read -r produced read lost gaps </tmp/gaps || return
	note "$produced dispatches: $read read, $lost lost in $gaps gaps"
	[ "$read" -gt 0 ] && [ "$gaps" -gt 0 ] && is $((read + lost)) "$produced"
}

# --- overload ---------------------------------------------------------------------

# alarmed CPU TIMES: so many alarms told of 300 ms of waits in 100 ms or more.
alarmed()
{
	[ "$(log | sed -n "s/.*kdtl_overload: CPU $1: tasks waited for 300 ms in \([0-9]*\) ms/\1/p" |
		awk '$1 >= 100 { n++ } END { print n + 0 }')" -ge "$2" ]
}

overload_refuses()
{
	! load kdtl_overload wait_ms=0 2>/dev/null &&
		log | grep -q 'kdtl_overload: wait_ms=0: must be above 0'
}

# Three tasks want CPU 1, so two of them wait all the time, and their waits add up to 300 ms after
# 150 ms or more. After each alarm the count begins anew. If the host keeps the machine, one task
# alone may have waited as long when it gets the CPU, so an alarm may come sooner.
overload()
{
	forget_log
	background taskset 2 sh -c 'while :; do :; done'
	one=$!
	background taskset 2 sh -c 'while :; do :; done'
	two=$!
	background taskset 2 sh -c 'while :; do :; done'
	three=$!
	until_true alarmed 1 3
	status=$?
	kill -KILL $one $two $three
	wait $one $two $three 2>/dev/null
	return $status
}

# --- governor ---------------------------------------------------------------------

weight()
{
	cat $root/web/cpu.weight
}

weight_is()
{
	[ "$(weight)" -eq "$1" ]
}

weight_is_less()
{
	[ "$(weight)" -lt "$1" ]
}

# A task of the cgroup shares its CPU with two other tasks until the weight has become as large as
# it can be, and then has the CPU alone.
governor()
{
	mkdir -p $root/web/pod && echo 300 >$root/web/cpu.weight || return
	load kdtl_governor cgroup=/web mount=$root target_us=500 || return
	weight_is 300 || return
	background taskset 2 sh -c 'while :; do :; done'
	one=$!
	background taskset 2 sh -c 'while :; do :; done'
	two=$!
	background taskset 2 sh -c "echo \$\$ >$root/web/pod/cgroup.procs; while :; do :; done"
	web=$!
	until_true weight_is 10000
	status=$?
	log | sed -n 's/.*kdtl_governor: /# /p' | tail -n 1
	kill -KILL $one $two
	wait $one $two 2>/dev/null
	[ $status -eq 0 ] && until_true weight_is_less 10000
	status=$?
	kill -KILL $web
	wait $web 2>/dev/null
	return $status
}

# When the governor goes, the cgroup has the weight that it had before.
governor_goes()
{
	unload kdtl_governor && weight_is 300 &&
		! load kdtl_governor cgroup=/none mount=$root 2>/dev/null &&
		log | grep -q 'kdtl_governor: .*/none has no cpu.weight that can be set' &&
		! load kdtl_governor cgroup=//web mount=$root 2>/dev/null &&
		log | grep -q 'kdtl_governor: cgroup=//web: must be a path such as / or /web' &&
		rmdir $root/web/pod $root/web
}

intruder_refuses()
{
	! load kdtl_intruder 2>/dev/null && log | grep -q 'kdtl_intruder: no CPU is isolated'
}

# --- softirq ----------------------------------------------------------------------

# softirqs: how many softirqs ran, on all CPUs.
softirqs()
{
	awk 'NR > 1 { for (i = 2; i <= NF; i++) sum += $i } END { print sum }' /proc/softirqs
}

produced()
{
	awk '/kdtl_softirq .*\[kdtl_sampler\]/ { print $8 }' $debug/kdtl/sessions
}

# softirqs_counted: for a while, the source counts as many softirqs as the kernel.
softirqs_counted()
{
	least=$(softirqs)
	from=$(produced)
	most=$(softirqs)
	n=0
	while [ $n -lt 100 ]; do
		sleep 0.001
		n=$((n + 1))
	done
	most=$(($(softirqs) - most))
	entries=$(($(produced) - from))
	least=$(($(softirqs) - least))
	note "$entries entries, softirqs: $most to $least"
	[ "$entries" -ge "$most" ] && [ "$entries" -le "$least" ] && [ "$most" -gt 0 ]
}

# Each softirq that runs had been raised, so the source sees as many as the kernel counts. A softirq
# that was raised, and has not run yet, is in one of the two counts only: then try again.
softirqs_agree()
{
	load kdtl_sampler pmu=kdtl_softirq || return
	# Let softirqs run that had been raised before.
	sleep 0.1
	in_tries 5 softirqs_counted && unload kdtl_sampler
}

# --- handlers and handler_time -------------------------------------------------------------

# runs IRQ: how often the interrupt's handlers ran, according to the example.
runs()
{
	awk -v irq="$1" '$1 == irq { n = $2 } END { print n + 0 }' $debug/kdtl_handler_time
}

# interrupts IRQ: how often the interrupt came, according to the kernel.
interrupts()
{
	awk -v irq="$1:" '$1 == irq { for (i = 2; $i ~ /^[0-9]+$/; i++) sum += $i }
		END { print sum + 0 }' /proc/interrupts
}

# interrupt: makes some interrupts of the console.
interrupt()
{
	n=0
	while [ $n -lt 20 ]; do
		echo "# the console has an interrupt" >/dev/console
		n=$((n + 1))
	done
	sleep 0.1
}

# between MIN VALUE MAX
between()
{
	note "$2 runs of a handler, interrupts: $1 to $3"
	[ "$1" -le "$2" ] && [ "$2" -le "$3" ] && [ "$1" -gt 0 ]
}

irqs_agree()
{
	load kdtl_handler_time || return
	most=$(interrupts "$irq")
	from=$(runs "$irq")
	least=$(interrupts "$irq")
	interrupt
	least=$(($(interrupts "$irq") - least))
	ran=$(($(runs "$irq") - from))
	most=$(($(interrupts "$irq") - most))
	between $least $ran $most && grep -q '^lost *0$' $debug/kdtl_handler_time
}

# A user of perf has the same records, beside the session.
perf_agrees()
{
	most=$(interrupts "$irq")
	"$here/perf_mmap" irq "$irq" >/tmp/irqs &
	user=$!
	ktap_pids="$ktap_pids $user"
	until_true grep -q following /tmp/irqs || return
	least=$(interrupts "$irq")
	interrupt
	least=$(($(interrupts "$irq") - least))
	kill $user
	wait $user || return
	most=$(($(interrupts "$irq") - most))
	between $least "$(sed -n 's/^runs //p' /tmp/irqs)" $most
}

[ -e /sys/devices/system/cpu/cpu1 ] || skip_all "needs two CPUs"
need kdtl kdtl_sched
have_module kdtl_top || skip_all "no examples: CONFIG_KDTL_EXAMPLES"

plan 23
ok "top: it loads" load kdtl_top
ok "top: dispatches and waits are those of schedstat" top_agrees
if [ "$(nproc)" -gt 1 ]; then
	can_starve 1
	ok "top: a wait counts before it ends" top_waits
else
	skip "top: a wait counts before it ends" "a real-time task would have the only CPU"
fi
ok "top: the longest waits first" top_is_sorted
ok "top: many tasks take no more memory than some" top_is_bounded
ok "top: it unloads" unload kdtl_top
ok "inorder: it loads" load kdtl_inorder
ok "inorder: all CPUs in the order of time" inorder
ok "inorder: in pieces" inorder_in_pieces
ok "inorder: one reader at a time" inorder_one_reader
ok "inorder: it unloads" unload kdtl_inorder
ok "gaps: what was read and what is missing is all there was" gaps
ok "overload: no alarm without a wait" overload_refuses
ok "overload: alarms" load kdtl_overload wait_ms=300 pause_ms=100
ok "overload: a busy CPU, again and again" overload
ok "overload: it unloads" unload kdtl_overload
ok "intruder: nothing to do where no CPU is isolated" intruder_refuses
if mount_cgroups $root 2>/dev/null; then
	ok "governor: the weight follows the waits" governor
	ok "governor: it unloads" governor_goes
else
	for what in follows unloads; do
		skip "governor: $what" "no cgroups with the controller cpu"
	done
fi
load kdtl_softirq || bail_out "kdtl_softirq does not load"
ok "softirq: as many as the kernel counts" softirqs_agree
load kdtl_handlers || bail_out "kdtl_handlers does not load"
irq=$(awk '/ttyS0|hvc_console/ { print $1 + 0; exit }' /proc/interrupts)
# Another serial line may be the console, so see whether this interrupt comes.
before=$([ -z "$irq" ] || interrupts "$irq")
[ -z "$irq" ] || interrupt
if [ -n "$irq" ] && [ "$(interrupts "$irq")" -gt "$before" ] && [ -x "$here/perf_mmap" ]; then
	ok "handlers: as many as the kernel counts" irqs_agree
	ok "handlers: a user of perf has them too" perf_agrees
	ok "handler_time: it unloads" unload kdtl_handler_time
else
	for what in sessions perf unloads; do
		skip "handlers: $what" "the console has no interrupt, or there is no perf_mmap"
	done
fi
finish
