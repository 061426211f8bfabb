#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The trace client makes an event of every entry, in the order of time, while somebody
# uses the event. While nobody does, nothing happens.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

fake=/sys/kernel/debug/kdtl_fake/do
files=/sys/kernel/debug/kdtl
tracing=/sys/kernel/tracing
event=$tracing/events/kdtl/kdtl_dispatch

# logs NR: the client has that many sessions.
logs()
{
	[ "$(grep -c '\[kdtl_trace\]' $files/sessions)" = "$1" ]
}

# mine: the client's session that is read. Its other session keeps what was before a wait.
mine()
{
	grep '\[kdtl_trace\]' $files/sessions | grep -v behind_begin
}

started()
{
	mine | grep -q ' started '
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

# events [PATTERN]: how many events match.
events()
{
	grep -c "kdtl_dispatch: .*${1-}" $tracing/trace
}

# traced NR [PATTERN]: that many events match.
traced()
{
	[ "$(events "${2-}")" = "$1" ]
}

# each KEY: the key's value in each event.
each()
{
	sed -n "s/^.* kdtl_dispatch:.* $1=\([^ ]*\).*/\1/p" $tracing/trace
}

# entries KIND: how many entries of the client's session were produced, unread, lost or consumed.
entries()
{
	mine | awk -v kind="$1" '{
		n["produced"] = $8
		n["unread"] = $9
		n["lost"] = $10
		n["consumed"] = $8 - $9 - $10
		print n[kind]
	}'
}

# switches: how often the thread has left a CPU.
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

# burst NR: makes so many entries on each CPU.
burst()
{
	for cpu in $cpus; do
		echo "burst $cpu $1" >$fake || return
	done
}

# idle: the thread waits for somebody who listens; sleeps: it waits for entries.
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
	# The other entries took no room.
	is "$(entries produced) $(entries lost)" "2 0" || status=1
	echo 0 >/sys/module/kdtl_trace/parameters/min_wait_us
	return $status
}

# Whatever the session before still has, in the end only long waits are events.
traces_long()
{
	started || return
	forget
	echo "wait 0 2" >$fake && echo "wait 0 4" >$fake && until_true traced 1 " wait=4" &&
		traced 1
}

# The event's next user has a session of its own, even if the one before is still being read.
next_user()
{
	burst 4000 && echo 0 >$event/enable &&
		echo 3000000 >/sys/module/kdtl_trace/parameters/min_wait_us &&
		echo 1 >$event/enable && until_true traces_long
	status=$?
	echo 0 >/sys/module/kdtl_trace/parameters/min_wait_us
	return $status
}

# ends_unseen: another user follows the last one while the thread gets no CPU, which a real-time task
# has, except from threads for which RCU waits. So the thread sees only that there is a user.
ends_unseen()
{
	: >/tmp/holds
	unlisten && listen && find_thread && taskset -cp 1 "$thread" >/dev/null || return
	# shellcheck disable=SC2046 # a word, or none
	background "$dir/held" 1 $(pid_of ksoftirqd/1) $(pid_of rcuc/1) >/tmp/holds
	held=$!
	until_true grep -q holds /tmp/holds && echo 0 >$event/enable &&
		echo 3000000 >/sys/module/kdtl_trace/parameters/min_wait_us && echo 1 >$event/enable
	set -- $?
	kill "$held"
	taskset -p f "$thread" >/dev/null
	[ "$1" -eq 0 ] && until_true traces_long
	set -- $?
	echo 0 >/sys/module/kdtl_trace/parameters/min_wait_us
	return "$1"
}

off()
{
	unlisten || return
	forget
	burst 100 && traced 0
}

# There are no entries that would wake the thread, but it need not wait until the period is over.
ends_at_once()
{
	period=/sys/module/kdtl_trace/parameters/period_ms
	echo 3600000 >$period && listen && find_thread && until_true sleeps && unlisten
	set -- $?
	echo 100 >$period
	return "$1"
}

again()
{
	listen || return
	forget
	burst 3 && until_true traced $((3 * $(echo "$cpus" | wc -w)))
}

# has_monotonic: the events' own times are those of CLOCK_MONOTONIC, as tracing's are meanwhile.
# Events are written when the entries are read, up to a period after the dispatch.
has_monotonic()
{
	sed -n 's/^.* \([0-9]*\)\.\([0-9]*\): kdtl_dispatch: .* mono=\([0-9]*\) .*/\1\2 \3/p' \
		$tracing/trace >/tmp/mono
	echo local >$tracing/trace_clock
	awk '$1 * 1000 + 999 < $2 || $1 * 1000 > $2 + 60e9 { bad++; print "# wrong: " $0 }
		END { exit bad || !NR }' /tmp/mono
}

# The source's clock is far ahead.
another_clock()
{
	unlisten && echo "later 0 100000" >$fake && echo mono >$tracing/trace_clock && listen || return
	burst 3 && until_true traced $((3 * $(echo "$cpus" | wc -w))) && has_monotonic
}

# If more entries come at once than a CPU's area holds, the next event tells how many were lost.
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

says_why()
{
	log | grep -q 'kdtl_trace: no session of kdtl_fake (-19)'
}

# The source went while nobody listened. The next user gets no events, the log says why, and the thread
# does not try again until there is another user.
no_source()
{
	load kdtl_trace pmu=kdtl_fake && unload kdtl_fake_drive && unload kdtl_fake_pmu &&
		find_thread || return
	forget_log
	echo 1 >$event/enable && until_true says_why && until_true idle || return
	load kdtl_fake_pmu && load kdtl_fake_drive && logs 0 && echo 0 >$event/enable && again &&
		unlisten && unload kdtl_trace
}

# When the module goes, the event and its users go.
used()
{
	unload kdtl_trace && ! [ -e $event ] && logs 0 && ! is_loaded kdtl_trace
}

refuses()
{
	! load kdtl_trace pmu=none 2>/dev/null && ! load kdtl_trace aux_pages=3 2>/dev/null &&
		! load kdtl_trace period_ms=0 2>/dev/null
}

# totals: how many events the histogram has counted.
totals()
{
	sed -n 's/^ *Hits: //p' $event/hist
}

# The histogram has as many events as the session has consumed, or more, up to those it has
# produced.
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

# ok_hist NAME COMMAND...: does as ok, if the kernel makes histograms of events.
ok_hist()
{
	if [ -e $event/hist ]; then
		ok "$@"
	else
		skip "$1" "no CONFIG_HIST_TRIGGERS"
	fi
}

histogram()
{
	echo 'hist:keys=comm,dispatch_reason:vals=wait,slept' >$event/trigger &&
		until_true started && until_true agrees || return
	until_true grep -q '{ comm: *kdtl_trace *, *dispatch_reason: *woken *}' $event/hist
	status=$?
	echo '!hist:keys=comm,dispatch_reason:vals=wait,slept' >$event/trigger &&
		until_true logs 0 && [ $status -eq 0 ]
}

stopped()
{
	grep -q '^State:.T' "/proc/$1/status"
}

# dispatched PID NR: the trace has as many dispatches of the task as the scheduler counts. That does
# not count the dispatch of a task that was preempted on its way to sleep, which may happen 31
# times.
dispatched()
{
	n=$(events " pid=$1 ")
	[ "$n" -ge "$2" ] && [ "$n" -le $(($2 + 31)) ]
}

# The trace has each dispatch of a task from its first on, as the scheduler counts them.
task()
{
	listen || return
	forget
	sh -c 'n=0; while [ $n -lt 30 ]; do sleep 0.001; n=$((n + 1)); done; kill -STOP $$' &
	pid=$!
	until_true stopped $pid || return
	read -r _ _ nr <"/proc/$pid/schedstat"
	until_true dispatched $pid "$nr"
	status=$?
	[ $status -eq 0 ] || note "$nr dispatches, $(events " pid=$pid ") traced"
	kill -KILL $pid
	wait $pid 2>/dev/null
	is "$(entries lost)" 0 && each time >/tmp/times && sort -c -n /tmp/times &&
		[ "$(events " preempt_reason=slept ")" -gt 0 ] &&
		is "$(events 'reason=\(H_\|time_slice\|virtual\)')" 0 && [ $status -eq 0 ]
}

# spin NAME: starts a task of that name, in a cgroup of that name, that computes on CPU 1.
spin()
{
	printf '#!/bin/sh\nwhile :; do :; done\n' >"/tmp/$1"
	chmod +x "/tmp/$1"
	mkdir -p "$cgroups/$1" || return
	background sh -c "echo \$\$ >$cgroups/$1/cgroup.procs; exec taskset 2 /tmp/$1"
	eval "$1=$!"
}

# id_of NAME: the lower half of the cgroup's id, which is the inode number in any kernel.
id_of()
{
	stat -c %i "$cgroups/$1"
}

# of_web KEY...: the values of these keys in the events of the waits of $web for CPU 1 that were 1
# ms or longer.
of_web()
{
	sed -n "/ pid=$web /s/^.* kdtl_dispatch: \(cpu=1 \)/\1/p" $tracing/trace |
		awk -v keys="$*" '
		BEGIN { nr = split(keys, key) }
		{
			for (i = 1; i <= NF; i++)
				if (p = index($i, "="))
					v[substr($i, 1, p - 1)] = substr($i, p + 1)
			if (v["queued"] < 1000000 || v["path"] != "/web")
				next
			for (i = 1; i <= nr; i++)
				printf "%s%s", v[key[i]], i < nr ? " " : "\n"
		}'
}

waited_often()
{
	[ "$(of_web culprit | grep -c "^$hog$")" -ge 20 ]
}

# Two tasks share a CPU: when one waits, the other has the CPU for most of that time. For a wait
# that began before the first entry the culprit is not known, and has no name: so the name comes
# last.
behind_whom()
{
	web=$1 hog=$2
	until_true waited_often || { grep " pid=$web " $tracing/trace | tail -n 3; return 1; }
	echo 0 >$tracing/tracing_on
	of_web cgroup | awk '{ print $1 % 4294967296 }' | sort -u >/tmp/cgroup
	of_web culprit culprit_cgroup queued culprit_ns tgid culprit_comm >/tmp/culprits
	echo 1 >$tracing/tracing_on
	is "$(cat /tmp/cgroup)" "$(id_of web)" &&
		awk -v hog="$hog" -v id="$(id_of hog)" -v web="$web" '
		$4 > $3 || $5 != web { bad = 1; print "# wrong: " $0 }
		$1 == hog && ($6 != "hog" || $2 % 4294967296 != id) { bad = 1; print "# wrong: " $0 }
		$1 == hog && $4 >= $3 / 2 { most++ }
		END { print "# " NR " waits, " most " behind the hog"; exit bad || most < NR / 2 }
	' /tmp/culprits
}

# behind_all MIN_WAIT_US: behind_whom is true, with that parameter.
behind_all()
{
	unlisten && echo "$1" >/sys/module/kdtl_trace/parameters/min_wait_us && listen || return
	forget
	behind_whom "$web" "$hog"
	status=$?
	echo 0 >/sys/module/kdtl_trace/parameters/min_wait_us
	return $status
}

noisy()
{
	mkdir -p $cgroups
	mount -t cgroup2 none $cgroups && spin web && spin hog
}

quiet()
{
	kill "$web" "$hog"
	wait "$web" "$hog" 2>/dev/null
	rmdir "$cgroups/web" "$cgroups/hog" && umount $cgroups
}

# waited_long: the web task has waited for 100 ms or longer behind one of the two names.
waited_long()
{
	grep " pid=$web .* culprit_comm=\(alarms_test\|renamed\) culprit_ns=[0-9]\{9,\} " \
		$tracing/trace >/tmp/long
}

# A task takes another name while it has the CPU. It is dispatched as alarms_test.
culprit_renamed()
{
	forget
	"$dir/alarms_test" hog renamed 1 300 "$cgroups/hog/cgroup.procs" >/dev/null &&
		until_true waited_long && ! grep -v culprit_comm=renamed /tmp/long
}

by_cgroup()
{
	echo 'hist:keys=path,culprit_comm:vals=wait' >$event/trigger &&
		until_true grep -q '{ path: /web *, culprit_comm: hog *}' $event/hist
	status=$?
	[ $status -eq 0 ] || note "$(cat $event/hist)"
	echo '!hist:keys=path,culprit_comm:vals=wait' >$event/trigger && [ $status -eq 0 ]
}

by_monotonic()
{
	unlisten && echo mono >$tracing/trace_clock && listen && until_true traced_some || return
	echo 0 >$event/enable
	has_monotonic
}

traced_some()
{
	grep -q kdtl_dispatch: $tracing/trace
}

# The source names tasks, and does not tell when a CPU becomes idle. A task that directly followed
# another one waited behind it; after idle time the culprit is not known.
without_idle()
{
	unload kdtl_fake_drive && unload kdtl_fake_pmu &&
		load kdtl_fake_pmu tasks=1 idle=0 && load kdtl_fake_drive &&
		load kdtl_trace pmu=kdtl_fake && listen || return
	forget
	echo "task 0 1 0 0" >$fake && echo "later 0 2" >$fake && echo "task 0 2 1 1000" >$fake &&
		echo "later 0 2" >$fake && echo "task 0 1 0 1000" >$fake && until_true traced 3 &&
		is "$(each culprit | tr '\n' ' ')" "0 1 0 " &&
		is "$(each culprit_ns | tr '\n' ' ')" "0 1000000000 0 " &&
		unlisten && unload kdtl_trace
}

# has_last: a dispatch on the last CPU is traced.
has_last()
{
	[ "$(events "cpu=$last ")" -gt 0 ]
}

# The last CPU is offline for a second. No task waits in its queue meanwhile, so none waited behind
# cpuhp/N for so long, which is its last task before, and its first one after.
offline_is_nobodys()
{
	listen && echo 0 >"$online" && forget && sleep 1 && bring_back "$last" &&
		on_cpu "$last" : && until_true has_last || return
	awk -v last=" culprit_comm=cpuhp/$last " '
		/kdtl_dispatch: / && index($0, last) {
			sub(/.* culprit_ns=/, "")
			most = $1 + 0 > most ? $1 + 0 : most
		}
		END { print "# at most " most / 1e6 " ms behind it"; exit most >= 5e8 }' $tracing/trace
}

# With an endless period nothing wakes the thread, not even its own dispatches.
bounded()
{
	load kdtl_trace period_ms=3600000 && listen && find_thread &&
		until_true sleeps || return
	sleep 0.01
	was=$(switches)
	n=0
	while [ $n -lt 20 ]; do
		sleep 0.001
		n=$((n + 1))
	done
	is "$(switches)" "$was" && unlisten && unload kdtl_trace
}

need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive
have_module kdtl_trace || skip_all "no module kdtl_trace"
cgroups=/tmp/kdtl-trace
# The test reads the trace again and again, and each time makes dispatches itself.
echo 16384 >$tracing/buffer_size_kb
cpus=$(sed -n 's/^cpu\([0-9][0-9]*\).*/\1/p' /proc/stat)

plan 30
ok "wrong parameters are refused" refuses
ok "it loads" load kdtl_trace pmu=kdtl_fake
ok "nobody listens: no session, and the thread sleeps" silent
ok "somebody listens: a session" listen
ok "all CPUs, each entry once, in the order of time" merged
ok "waits, and those that are too long to say" waits
ok "only the long ones" long_ones
ok "the next user gets what it asks for" next_user
if [ -e /sys/devices/system/cpu/cpu1 ] && [ -x "$dir/held" ]; then
	can_starve 1
	ok "even if nobody has seen the one before go" ends_unseen
else
	skip "even if nobody has seen the one before go" "needs two CPUs, and the program held"
fi
ok "nobody listens any more: nothing is traced" off
ok "and the session ends at once" ends_at_once
ok "somebody listens again" again
ok "the time is that of CLOCK_MONOTONIC, not the source's" another_clock
ok "it unloads while its event is used" used
ok "what is lost is told" lost
ok "a source that has gone" no_source
ok "it loads for the scheduler's log" load kdtl_trace
ok_hist "a histogram of tasks" histogram
ok "every dispatch of a task" task
ok "two tasks share a CPU, in cgroups" noisy
ok "each wait with its cgroup and behind whom" behind_all 0
ok "the same if only long waits are traced" behind_all 1000
if [ -x "$dir/alarms_test" ]; then
	ok "by the name that it had then" culprit_renamed
else
	skip "by the name that it had then" "no alarms_test: make -C selftests"
fi
ok_hist "a histogram by cgroup and culprit" by_cgroup
ok "they end" quiet
ok "the time is that of CLOCK_MONOTONIC" by_monotonic
last_cpu
if [ $last -gt 0 ] && [ -e "$online" ]; then
	ok "nobody waited behind who took a CPU offline" offline_is_nobodys
else
	skip "nobody waited behind who took a CPU offline" "no CPU can be taken offline"
fi
unlisten
ok "it unloads" unload kdtl_trace
ok "its own dispatches do not wake it" bounded
ok "a source without idle times" without_idle
finish
