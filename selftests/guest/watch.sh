#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The watch is quiet on an idle machine, and quick when a task starves; the recorder
# prints its table then.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

fault=$(dirname "$0")/trigger_test
cpus=/sys/kernel/debug/kdtl_watch/cpus
rules=/sys/kernel/debug/kdtl_watch/rules
tracing=/sys/kernel/tracing
calls=$tracing/instances/kdtl_watch
threshold=1000

# seen CPU COLUMN: 2 threshold, 3 late, 4 stuck, 5 longest; CPU all: the sum.
seen()
{
	awk -v cpu="$1" -v n="$2" 'NR > 1 && (cpu == "all" || $1 == cpu) { s += $n }
		END { print s + 0 }' $cpus
}

at_least()
{
	[ "$(seen "$1" "$2")" -ge "$3" ]
}

# There are five seconds in which no task is late. On a busy host an emulated machine
# stands still now and then, and tasks that wait meanwhile are late: then five more
# seconds are tried.
idle()
{
	for _ in 1 2 3 4 5 6; do
		was="$(seen all 3) $(seen all 4)"
		sleep 5
		is "$(seen all 3) $(seen all 4)" "$was" && return
	done
	return 1
}

# Tasks are dispatched all the time, but only those that are late are in the log. A task that is
# late just now may be in one of the two files only.
logs_only_late()
{
	[ "$(awk '$3 == "keep" && /\[kdtl_watch\]$/ { print $8 }' /sys/kernel/debug/kdtl/sessions)" = \
		"$(seen all 3)" ]
}

# Lets ftrace write down the calls of each function that gives a session's entries to the watch,
# and of one that each round calls.
trace_calls()
{
	mkdir $calls && echo watch_report_round >$calls/set_ftrace_filter &&
		echo kdtl_reader_peek >>$calls/set_ftrace_filter &&
		echo kdtl_aux_snapshot >>$calls/set_ftrace_filter &&
		echo function >$calls/current_tracer
}

# called NAME: how often the function was called.
called()
{
	grep -c ": $1 <-" $calls/trace
}

rounds_passed()
{
	[ "$(called watch_report_round)" -ge "$1" ]
}

have_read()
{
	echo "$(called kdtl_reader_peek) $(called kdtl_aux_snapshot)"
}

# kept: how many dispatches and idle times the session has that the watch looks back into.
kept()
{
	awk '$3 == "overwrite" && /\[kdtl_watch\]$/ { print $8 }' /sys/kernel/debug/kdtl/sessions
}

# While tasks are dispatched, the watch looks for CPUs that are stuck, but reads nothing. On a
# busy host a task may be late just then: then try again.
reads_nothing()
{
	trace_calls || return
	for _ in 1 2 3 4 5 6; do
		was=$(have_read)
		before=$(kept)
		rounds=$(($(called watch_report_round) + 10))
		n=0
		while [ $n -lt 100 ]; do
			sleep 0.001
			n=$((n + 1))
		done
		until_true rounds_passed $rounds || return
		[ $(($(kept) - before)) -ge 100 ] || return
		is "$(have_read)" "$was" && return
	done
	return 1
}

# The same trace shows that it reads for its reports.
reads_to_report()
{
	[ "$(called kdtl_reader_peek)" -gt 0 ] && [ "$(called kdtl_aux_snapshot)" -gt 0 ] &&
		echo nop >$calls/current_tracer && rmdir $calls
}

# ok_traced NAME COMMAND: does as ok, if ftrace can trace the watch's functions.
ok_traced()
{
	if [ ! -e $tracing/available_filter_functions ]; then
		skip "$1" "no CONFIG_DYNAMIC_FTRACE"
	elif ! grep -q '^watch_report_round ' $tracing/available_filter_functions; then
		skip "$1" "the compiler of these modules does not let this kernel trace them"
	else
		ok "$@"
	fi
}

thresholds()
{
	echo "0 77" >$cpus && is "$(seen 0 2) $(seen 1 2)" "77 $threshold" &&
		echo "all $threshold" >$cpus && is "$(seen 0 2)" $threshold
}

refuses()
{
	for bad in x "0" "0 y" "-1 5" "4096 5" "all" "0 5 6" "0 4294967296"; do
		! echo "$bad" >$cpus 2>/dev/null || return
	done
	is "$(seen 0 2)" $threshold &&
		is "$("$fault" fault $cpus 5) $("$fault" fault $rules 5)" "EFAULT EFAULT"
}

# refuses_period MS: the watch neither loads with that period, nor changes to it.
refuses_period()
{
	period=/sys/module/kdtl_watch/parameters/period_ms
	! load kdtl_watch period_ms="$1" 2>/dev/null || { unload kdtl_watch; return 1; }
	log | grep -q "$1' invalid for parameter .period_ms'" || return
	load kdtl_watch || return
	# shellcheck disable=SC2320 # echo's status is write's
	! echo "$1" 2>/dev/null >$period && is "$(cat $period)" 100 && unload kdtl_watch
}

# too_large NAME: an area for which there is no memory makes an errno and a line, and no backtrace. It
# is refused before it has taken all memory, for want of which other tasks would be killed.
too_large()
{
	cap=/sys/module/kdtl/parameters/max_session_mb
	was=$(cat $cap)
	echo 100000000 >$cap
	forget_log
	before=$(memory_taken)
	load "$1" aux_pages=1048576 2>/dev/null && unload "$1"
	taken=$(($(memory_taken) - before))
	echo "$was" >$cap
	note "$taken MiB were allocated meanwhile"
	[ "$taken" -lt "$(awk '/^MemTotal/ { print int($2 / 4096) }' /proc/meminfo)" ] || return
	! is_loaded "$1" && log | grep -q "$1: no session of kdtl_sched" &&
		! log | grep -E 'Call Trace|WARNING|allocation failure'
}

# half_of_memory NAME: an area takes half of the memory, so there is none for one of each CPU, or for
# what the client needs beside them.
half_of_memory()
{
	cap=/sys/module/kdtl/parameters/max_session_mb
	was=$(cat $cap)
	echo 100000000 >$cap
	forget_log
	page=$(awk '/^KernelPageSize:/ { print $2; exit }' /proc/self/smaps)
	pages=1
	while [ $((2 * pages * page)) -lt "$(awk '/^MemTotal/ { print $2 }' /proc/meminfo)" ]; do
		pages=$((pages * 2))
	done
	load "$1" aux_pages=$pages 2>/dev/null && unload "$1"
	echo "$was" >$cap
	! is_loaded "$1" && log | grep -q "$1: no session of kdtl_sched" &&
		! log | grep -E 'Call Trace|WARNING|allocation failure|Out of memory'
}

# refuses_steal NAME LINE: the source does not tell when a hypervisor had a CPU, and is refused.
refuses_steal()
{
	forget_log
	! load kdtl_watch steal="$1" 2>/dev/null || { unload kdtl_watch; return 1; }
	log | grep -q "kdtl_watch: $2"
}

# A rule's path cannot steer the terminal on which the rules are read.
rules_are_escaped()
{
	printf 'cgroup /x\033[2J\233 5\n' >$rules || return
	grep -q -F 'cgroup /x\x1b[2J\x9b 5' $rules &&
		printf 'cgroup /x\033[2J\233 -\n' >$rules && ! grep x1b $rules
}

# Two rules in one write would be one rule, about a cgroup that cannot exist.
one_rule_a_write()
{
	! printf 'cgroup /a 10\ncgroup /b 20\n' >$rules 2>/dev/null && ! grep /b $rules
}

# open_file_keeps FILE: while it is open the watch stays, because closing it runs the watch's code.
open_file_keeps()
{
	exec 3<"$1"
	! rmmod kdtl_watch 2>/dev/null
	status=$?
	exec 3<&-
	return $status
}

# The hog has let go of the CPU.
hogged()
{
	grep -q Y /sys/module/kdtl_hog/parameters/done
}

# The order of the lines in the log tells: with PREEMPT_RT, programs may have to wait until
# the hog ends, for RCU, whose callbacks run in a thread on CPU 1.
caught_before_end()
{
	log | awk '
		/kdtl_watch: CPU 1: no task of normal priority dispatched for/ { caught = 1 }
		/kdtl_hog: CPU 1: .* are over/ { exit }
		END { exit !caught }'
}

caught_in_time()
{
	until_true at_least 1 4 1 && until_true hogged && caught_before_end
}

# A CPU that stays stuck is reported again only when it has been for twice as long.
seldom_said()
{
	lines=$(log | grep -c 'kdtl_watch: CPU 1: no task of normal priority dispatched for')
	note "$lines lines"
	[ "$lines" -le 6 ]
}

# The watch says where the hog is: from a function of the hog's to the thread's begin, without the
# functions of the interrupt that looks.
stack_told()
{
	log | awk '
		/kdtl_watch: CPU 1: kdtl_hog:[0-9]+ is in$/ { told = 1; hog = thread = looks = 0; next }
		told && !/kdtl_watch: CPU 1:   / { told = 0 }
		told && /  hog(_spin)?\+/ { hog = 1 }
		told && /  kthread\+/ { thread = 1 }
		told && /  (stack_look|.*hrtimer|.*interrupt|.*sysvec|.*do_irq|.*do_IRQ)/ { looks = 1 }
		hog && thread && !looks { good = 1 }
		END { exit !good }' && return
	log | grep -A 16 'kdtl_watch: CPU 1: .* is in' | sed 's/^/# /'
	return 1
}

said_saturated()
{
	log | grep -q "kdtl_watch: CPU 1: .*:[0-9]* waited at least 4294 ms"
}

# The victim has run again, and the watch has seen its wait. Another task may be first, and the
# recorder's table about that takes a while.
victim_seen()
{
	until_true hogged && until_true said_saturated && at_least 1 3 1 &&
		at_least 1 5 $threshold &&
		is "$(awk '$1 == 1 { print $5 }' $cpus)" "$(seen 1 5)+"
}

# Both reports say that the hog had the CPU: at least for 900 of 1000 ms, and for 4 of 4.3 s.
culprit_named()
{
	log | awk '
		/kdtl_watch: CPU 1: .* (for|waited) .* behind kdtl_hog:[0-9]+ [0-9]+ ms/ {
			ms = $0
			sub(/.* behind kdtl_hog:[0-9]+ /, "", ms)
			stuck += / for / && ms + 0 >= 900
			late += /at least 4294 ms/ && ms + 0 >= 4000
		}
		END { exit !stuck || !late }'
}

traced()
{
	grep -q "kdtl_watch_$1: cpu=1 " $tracing/trace
}

table()
{
	log | sed -n '/kdtl_recorder: CPU 1: /,/end of table/p' | grep -q "kdtl_hog"
}

# The listener, which may have to wait for its CPU, has begun to listen.
listens()
{
	echo change >/sys/class/mem/null/uevent && sleep 0.1 && grep -q '^ACTION=change$' "$uevents"
}

uevent_came()
{
	grep -q '^KDTL_CPU=1$' "$uevents" && grep -q '^KDTL_WATCH=CPU 1: ' "$uevents" &&
		grep -q '^KDTL_WAIT_NS=[0-9]\{10,\}$' "$uevents" &&
		grep -q '^KDTL_PID=[1-9][0-9]*$' "$uevents" &&
		grep -q '^KDTL_CGROUP_ID=[1-9][0-9]*$' "$uevents" &&
		grep -q '^KDTL_BEHIND_CGROUP_ID=[1-9][0-9]*$' "$uevents" &&
		grep -q "^KDTL_BEHIND_PID=$(log | sed -n 's/.* behind kdtl_hog:\([0-9]*\) .*/\1/p' |
			head -n 1)\$" "$uevents"
}

# Other CPUs are not stuck, although a task may have left CPU 1's queue, and been dispatched late
# elsewhere. While an emulated machine stands still on a busy host, other CPUs are also stuck: then
# another hog has to show that they need not be.
others_quiet()
{
	others=0
	for _ in 1 2 3 4; do
		was=$others
		others=$(($(seen all 4) - $(seen 1 4)))
		is $others $was && return
		unload kdtl_hog && load kdtl_hog cpu=1 ms=2500 || return
		until_true hogged || return
	done
	return 1
}

# A newline in a task's name begins no line of the log, and no sequence in it reaches the
# terminal.
not_forged()
{
	until_true table_asked
	log >/tmp/forged
	grep -q -F 'x\e[2J\233\nforged:' /tmp/forged &&
		grep -q 'kdtl_watch: CPU 1: x.*forged:[0-9]* waited' /tmp/forged &&
		grep -q 'kdtl_recorder: .* x.*forged:[0-9]* ' /tmp/forged &&
		! grep '^[^a-z]*forged' /tmp/forged && ! grep -q "$(printf '[\033\233]')" /tmp/forged
}

# Two tasks whose name looks like the end of one task in a list and the begin of another one wait for
# each other. They are named whole, and nobody else is.
lists_nobody_else()
{
	name="$names/sh:9 5 ms, a"
	printf '#!/bin/sh\nwhile :; do :; done\n' >"$name" && chmod +x "$name" || return
	background taskset 2 "$name"
	one=$!
	background taskset 2 "$name"
	echo "1 1" >$cpus && until_true named_whole
	set -- $? $one $!
	echo "1 $threshold" >$cpus
	kill "$2" "$3"
	log | grep 'behind .*sh:9 5 ms' | head -n 3
	! log | grep 'kdtl_watch: .*sh:9 5 ms, a:' && return "$1"
}

named_whole()
{
	log | grep -q 'behind .*sh:9 5 ms\\054 a:[0-9]* .*[0-9] ms'
}

# CPU 1 has the watch's timer, and softirqs that wait for ksoftirqd, which does not get the CPU.
# Before v6.4 no timer of the timer wheel expires meanwhile. A starved host may let that CPU run for
# too short a time in the hog's four seconds: then try again.
caught_without_softirqs()
{
	pid=$(pid_of kdtl_watch)
	taskset -p 2 "$pid" >/dev/null && until_true watches_from "$pid" 1 || return
	unload kdtl_hog
	forget_log
	load kdtl_hog cpu=1 ms=4000 softirq=1 && until_true hogged && caught_before_end
	status=$?
	taskset -p f "$pid" >/dev/null
	return $status
}

# watches_from PID CPU: the task ran last on that CPU.
watches_from()
{
	[ "$(cut -d ' ' -f 39 "/proc/$1/stat")" -eq "$2" ]
}

# Another work item keeps the watch's waiting, but tasks are dispatched, so no CPU is stuck. While
# an emulated machine stands still, no task is dispatched: then try again.
others_dispatched()
{
	for _ in 1 2 3 4; do
		was=$(seen 1 4)
		before=$(log | grep -c 'kdtl_watch: CPU 1: no task of normal')
		unload kdtl_hog && load kdtl_hog cpu=1 ms=4000 work=1 && until_true hogged || return
		is "$(seen 1 4) $(log | grep -c 'kdtl_watch: CPU 1: no task of normal')" \
			"$was $before" && return
	done
	return 1
}

# Two real-time tasks pass the CPU to each other, and none of normal priority gets it.
passed_on()
{
	holds=$(mktemp)
	forget_log
	background "${0%/*}/held" 1 yield 2000000000 >"$holds"
	held=$!
	until_true grep -q holds "$holds" && kill -USR1 "$held" && until_true both_told
	set -- $?
	kill "$held"
	log | grep 'CPU 1: no task of normal' | tail -n 2
	return "$1"
}

both_told()
{
	log | grep -q 'CPU 1: no task of normal priority dispatched for .* behind held:[0-9]* [0-9]* ms, held:[0-9]* '
}

# is_asleep PID: it is.
is_asleep()
{
	grep -q '^State:.S' "/proc/$1/status"
}

# has_waited PID: the watch has reported that CPU 1 does not get to the task, or has no other.
has_waited()
{
	log | grep -q "kdtl_watch: CPU 1: \(no task of normal\|[^ ]*:$1 .*has waited\)"
}

# came_late PID: the task got CPU 2, after a wait in another's queue.
came_late()
{
	log | grep -q "kdtl_watch: CPU 2: [^ ]*:$1 .*waited .*, in the queue of another CPU"
}

# A task sleeps on the last CPU, which goes offline. It is woken on CPU 1 and waits there, and then
# gets CPU 2. It is said who had the CPU where it ran last, which is the last one: nobody, and not
# cpuhp/N, which took it offline.
offline_is_nobodys()
{
	dir=$(mktemp -d)
	mkfifo "$dir/go"
	background taskset -c "$last" sh -c "echo >$dir/here; read -r _ <$dir/go; while :; do :; done"
	victim=$!
	until_true [ -e "$dir/here" ] && until_true is_asleep "$victim" &&
		taskset -cp 1 "$victim" >/dev/null && echo 0 >"$online" || return
	background "${0%/*}/held" 1 >"$dir/holds"
	hog=$!
	forget_log
	until_true grep -q holds "$dir/holds" && echo >"$dir/go" && until_true has_waited "$victim" &&
		taskset -cp 2 "$victim" >/dev/null && until_true came_late "$victim"
	set -- $?
	kill "$hog" "$victim"
	bring_back "$last"
	log | grep "kdtl_watch: .*:$victim " | sed 's/^/# /'
	[ "$1" -eq 0 ] && ! log | grep -E 'kdtl_(watch: |recorder: CPU [0-9]+ from ).*cpuhp'
}

none()
{
	echo "all 0" >$cpus
	late=$(seen 1 3) stuck=$(seen 1 4)
	unload kdtl_hog && load kdtl_hog cpu=1 ms=2500 || return
	until_true hogged
	sleep 1
	is "$(seen 1 3) $(seen 1 4)" "$late $stuck"
}

[ -e /sys/devices/system/cpu/cpu1 ] || skip_all "needs two CPUs"
need kdtl kdtl_sched
have_module kdtl_hog || skip_all "no module kdtl_hog"

can_starve 1

# The victim is to be the task from which the hog takes CPU 1, so no process of the test is
# there.
taskset -p 1 $$ >/dev/null

plan 38
forget_log
ok "a period of 0 is refused" refuses_period 0
ok "and one without end" refuses_period 4294967295
ok "an area for which there is no memory" too_large kdtl_watch
ok "the same of the recorder" too_large kdtl_recorder
ok "also if there is memory for one of them" half_of_memory kdtl_recorder
ok "steal= with a source of tasks" refuses_steal kdtl_sched \
	'steal=kdtl_sched does not say when a hypervisor had a CPU'
ok "and with none" refuses_steal kdtl_no_source 'no session of kdtl_no_source (-19)'
forget_log
ok "the recorder loads" load kdtl_recorder lines=200 ms=4000
ok "the watch loads" load kdtl_watch threshold_ms=$threshold uevent=1
echo 1 >$tracing/events/kdtl/enable
ok "idle for 5 s: it is quiet" idle
ok "it logs only what is late" until_true logs_only_late
ok_traced "it reads nothing while nobody is late" reads_nothing
ok "thresholds by CPU" thresholds
ok "wrong thresholds are refused" refuses
ok "a rule's path is printed without control characters" rules_are_escaped
ok "a write has one rule" one_rule_a_write
ok "the module stays while its table is open" open_file_keeps $cpus
ok "and while its rules are" open_file_keeps $rules

# busybox runs the command for every event, with its variables; udevadm prints these.
uevents=$(mktemp)
if command -v udevadm >/dev/null; then
	background udevadm monitor --kernel --property >"$uevents"
else
	background uevent sh -c "env >>$uevents"
fi
until_true listens

background taskset 2 sh -c 'while :; do sleep 0.01; done'
# A script gives its task its name. This script always wants CPU 1.
names=$(mktemp -d)
cat >"$names/$(printf 'x\033[2J\233\nforged')" <<'EOF'
#!/bin/sh
while :; do :; done
EOF
chmod +x "$names"/*
background taskset 2 "$names"/*
# On a busy host the hog may come before the script has its name.
until_true is_named '.*forged'
ok "a hog on CPU 1" load kdtl_hog cpu=1 ms=6000
ok "it is caught while it hogs" caught_in_time
ok "and that is said seldom" seldom_said
ok "and where in the kernel the hog is" stack_told
ok "traced" traced stuck
ok "the recorder's table names the hog" until_true table
ok "a uevent" until_true uevent_came
ok "the task that had to wait is seen, too" victim_seen
ok "traced" traced late
ok "both reports name the hog and its time" culprit_named
ok "a task's name forges no line" not_forged
ok_traced "it reads what it reports" reads_to_report
ok "no other CPU is stuck" others_quiet
ok "it is caught while softirqs wait" in_tries 3 caught_without_softirqs
ok "a work item that has to wait is no stuck CPU" others_dispatched
if [ -x "${0%/*}/held" ]; then
	ok "real-time tasks that share a stuck CPU do not hide that it is" passed_on
else
	skip "real-time tasks that share a stuck CPU do not hide that it is" \
		"no held: make -C selftests"
fi
last_cpu
if [ $last -gt 2 ] && [ -e "$online" ] && [ -x "${0%/*}/held" ]; then
	ok "of a CPU that is offline, nobody is to blame" offline_is_nobodys
else
	skip "of a CPU that is offline, nobody is to blame" "no fourth CPU that can be taken offline"
fi
ok "a list has no more tasks than there are" lists_nobody_else
ok "no threshold: quiet" none
echo 0 >$tracing/events/kdtl/enable
ok "the watch unloads" unload kdtl_watch
finish
