#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests what the header of /dev/kdtl promises (stream_test.c), one process a promise,
# and that nothing is left of these processes.
#
# KDTL_CASES  run only these, for instance 'setup memlock'
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

# title NAME
title()
{
	case $1 in
	edges) echo "numbers at the edges of 31, 32, 63 and 64 bits" ;;
	setup) echo "setting up: every wrong attribute has its errno" ;;
	read) echo "read: whole entries, in order, all of them" ;;
	defaults) echo "without setting up a read starts on all CPUs" ;;
	clock) echo "the time base and the clocks are those of now" ;;
	fault) echo "a fault loses nothing" ;;
	tasks) echo "what the tasks are, and each change" ;;
	tasks_misuse) echo "tasks: every wrong request has its errno" ;;
	cgroup) echo "the path of a cgroup, and every wrong request" ;;
	waits) echo "who waits, and every wrong request" ;;
	signal) echo "a signal ends a read" ;;
	poll) echo "poll wakes at the watermark, and says when it is over" ;;
	stop) echo "a stop ends a read, also if nothing came" ;;
	killable) echo "a task that waits for a busy reader can be killed" ;;
	period) echo "and after the period" ;;
	lost) echo "what is lost is counted" ;;
	splice) echo "splice: pages go round through pipes, in order" ;;
	splice_room) echo "splice into a pipe with little room, and of each CPU in turn" ;;
	splice_close) echo "a pipe keeps what it has when the file is closed" ;;
	splice_epipe) echo "a pipe without reader takes nothing away" ;;
	splice_file) echo "splice through a pipe to a file" ;;
	splice_socket) echo "a socket sends what went in, however late" ;;
	splice_socket_close) echo "also after the session has gone" ;;
	splice_mmap) echo "entries in a pipe rule out a mapping, and the other way round" ;;
	mmap_ring) echo "mmap: metadata and records, sizes as perf's" ;;
	mmap_aux) echo "mmap: the AUX area, sizes and offsets as perf's" ;;
	mmap_read) echo "a reader by the book gets everything" ;;
	mmap_lost) echo "a full area says what it lost, and goes on" ;;
	mmap_ring_full) echo "full records say so" ;;
	mmap_garbage) echo "garbage harms nobody else" ;;
	mmap_overwrite) echo "overwrite: the newest is there" ;;
	nobody) echo "without CAP_PERFMON it cannot be opened" ;;
	perfmon) echo "with nothing but CAP_PERFMON it can" ;;
	container) echo "and not by root of a user namespace" ;;
	budget) echo "but not with many sessions on a CPU, or with hasty ones" ;;
	perf_budget) echo "nor with many events of perf's" ;;
	log) echo "and the log can be neither forged nor flooded" ;;
	memlock) echo "RLIMIT_MEMLOCK holds, and all is given back" ;;
	fork) echo "a child has no mapping" ;;
	dofork) echo "a child that is given the mappings harms nobody" ;;
	huge) echo "records that are too large: an errno, a line and no backtrace" ;;
	killed) echo "a process is killed with everything open" ;;
	table_goes) echo "the table of tasks goes with the last file" ;;
	*) echo "$1" ;;
	esac
}

# A program of 32 bits could see these differently: layouts, sizes, offsets, masks of CPUs.
narrow='setup edges read clock tasks tasks_misuse cgroup waits min_wait splice mmap_ring mmap_aux
mmap_read mmap_lost mmap_overwrite memlock'

nobody_holds()
{
	is "$(awk '$1 == "kdtl_stream" { print $3 }' /proc/modules)" 0
}

no_more_areas()
{
	[ "$(areas)" -le "$before" ]
}

# The table of tasks stays for some seconds after its last user.
nothing_left()
{
	until_true no_more_areas && return
	note "$(areas) bytes, should be $before"
	grep '\[kdtl' /proc/vmallocinfo | sed 's/^/# /'
	return 1
}

bad_parameter()
{
	! load kdtl_stream aux_pages=3 && ! load kdtl_stream aux_pages=2097152 && load kdtl_stream
}

# budget: beside what stream_test says, the timer of its session's period is set for 10 ms, by the
# times in the kernel's trace. If the machine stands still between the two times, it is for less.
budget()
{
	if [ ! -e $tracing/events ] && ! mount -t tracefs none $tracing 2>/dev/null; then
		note "no tracefs to see the period by"
		"$dir/stream_test" budget
		return
	fi
	echo mono >$tracing/trace_clock && echo >$tracing/trace &&
		echo 1 >$tracing/events/timer/hrtimer_start/enable || return
	"$dir/stream_test" budget
	set -- $?
	echo 0 >$tracing/events/timer/hrtimer_start/enable
	awk '/function=kdtl_period_timer/ {
		for (i = 2; i <= NF; i++) {
			if ($i == "hrtimer_start:")
				from = $(i - 1) + 0
			if ($i ~ /^expires=/)
				to = substr($i, 9) / 1e9
		}
		most = to - from > most ? to - from : most
		nr++
	}
	END {
		printf "# of %d periods the longest is to last %.6f s\n", nr, most
		exit most < 0.005
	}' $tracing/trace || set -- 1
	echo local >$tracing/trace_clock
	return "$1"
}

# tells_budget: whoever administrates the machine reads why a user got no more, or less.
tells_budget()
{
	for line in 'max_sessions allows no more' 'a period below 10 ms and a watermark below 2 KiB need' \
		'max_perf_events allows no more'; do
		log | grep -q "kdtl.*$line" || { note "no line: $line"; return 1; }
	done
}

# stop: the kernel can be preempted meanwhile, if it leaves the choice.
stop()
{
	preempt=/sys/kernel/debug/sched/preempt
	was=$(sed -n 's/.*(\(.*\)).*/\1/p' $preempt 2>/dev/null)
	[ -z "$was" ] || echo full >$preempt
	"$dir/stream_test" stop
	set -- $?
	[ -z "$was" ] || echo "$was" >$preempt
	return "$1"
}

no_records()
{
	awk 'NR == 2 { exit $1 != 0 }' /sys/kernel/debug/kdtl_answers/tasks
}

# table_goes: a file that is closed does not hold the table of tasks.
table_goes()
{
	"$dir/stream_test" tasks && ! no_records && until_true no_records
}

no_tasks()
{
	load kdtl_fake_pmu idle=0 && "$dir/stream_test" no_tasks && unload kdtl_fake_pmu
}

# Opening the device asks the security modules, as perf_event_open() does.
asks_security()
{
	mount -t tracefs none $tracing 2>/dev/null
	echo 'p:kdtl_asked security_perf_event_open' >$tracing/kprobe_events &&
		echo 1 >$tracing/events/kprobes/kdtl_asked/enable || return
	"$dir/stream_test" perfmon
	asked=$(awk '$1 == "kdtl_asked" { print $2 }' $tracing/kprobe_profile)
	echo 0 >$tracing/events/kprobes/kdtl_asked/enable
	echo -:kdtl_asked >$tracing/kprobe_events
	[ "$asked" -gt 0 ]
}

tracing=/sys/kernel/tracing
[ -x "$dir/stream_test" ] || skip_all "no stream_test: make -C selftests"
tests=$("$dir/stream_test") || bail_out "stream_test does not run"
need kdtl kdtl_sched
have_module kdtl_stream || skip_all "no module kdtl_stream"
if [ -n "$KDTL_CASES" ]; then
	load kdtl_stream || bail_out "kdtl_stream does not load"
	# shellcheck disable=SC2086 # several words
	set -- $KDTL_CASES
	plan $#
	for t; do
		case $t in
		no_tasks | budget | stop | table_goes) ok "$(title "$t")" "$t" ;;
		*) ok "$(title "$t")" "$dir/stream_test" "$t" ;;
		esac
	done
	finish
fi
# shellcheck disable=SC2086 # several words
set -- $tests
narrow_nr=1
# shellcheck disable=SC2086 # several words
[ ! -e "$dir/32" ] || narrow_nr=$(echo $narrow | wc -w)
plan $(($# + narrow_nr + 8))
ok "it loads, but not with pages that no file could have" bad_parameter
before=$(areas)
for t; do
	[ "$t" != budget ] || forget_log
	case $t in
	budget | stop) ok "$(title "$t")" "$t" ;;
	*) ok "$(title "$t")" "$dir/stream_test" "$t" ;;
	esac
	[ "$t" != perf_budget ] || ok "the log tells of the limits that they met" tells_budget
done
if [ -e "$dir/32" ]; then
	for t in $narrow; do
		ok "32 bits: $(title "$t")" "$dir/32/stream_test" "$t"
	done
else
	skip "programs of 32 bits" "none was built: this kernel runs none, or no others"
fi
if have_module kdtl_fake_pmu; then
	ok "a source that names no tasks says so" no_tasks
else
	skip "a source that names no tasks says so" "no module kdtl_fake_pmu"
fi
if ! grep -q ' T perf_allow_kernel$' /proc/kallsyms; then
	skip "security modules are asked" "this kernel lets no module ask them"
elif ! grep -q ' kprobe_events_ops$' /proc/kallsyms; then
	skip "security modules are asked" "no events of kprobes to see it by"
else
	ok "security modules are asked" asks_security
fi
ok "$(title table_goes)" table_goes
ok "nobody holds the module" until_true nobody_holds
ok "nothing is left" nothing_left
ok "it unloads" unload kdtl_stream
finish
