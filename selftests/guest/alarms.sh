#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compares what an alarm says with what the load itself wrote down (alarms_test.c): which
# task waited, in which cgroup, behind which task, when; and which waits raise an alarm.
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

watch=/sys/kernel/debug/kdtl_watch
group=/tmp/kdtl-alarms
tracing=/sys/kernel/tracing

# said PATTERN: how many lines of the log match.
said()
{
	log | grep -c "$1"
}

has_said()
{
	[ "$(said "$1")" -ge "${2:-1}" ]
}

# within MS LEAST MOST: MS is from LEAST to MOST, but for rounding.
within()
{
	[ "$1" -ge $(($2 - 2)) ] && [ "$1" -le $(($3 + 2)) ] && return
	note "$1 ms, should be from $2 to $3 ms"
	return 1
}

# This runs a command in the cgroup $0, by exec, so the pid is the command's.
# shellcheck disable=SC2016 # expanded by the inner shell
in_group='echo $$ >"$0/cgroup.procs" && exec "$@"'

# waiter GROUP NAME: starts a task that wants CPU 1, and writes into /tmp/NAME when it did not have
# it.
waiter()
{
	: >"/tmp/$2"
	sh -c "$in_group" "$group/$1" "$dir/alarms_test" wait "$2" 1 200 >"/tmp/$2" &
	ktap_pids="$ktap_pids $!"
	waiters="$waiters $!"
	until_true is_named "$2"
}

stop_waiters()
{
	# shellcheck disable=SC2086 # several words
	kill $waiters && wait $waiters 2>/dev/null
	waiters=
}

# hog MS [HOW]: runs a hog in /batch; sets $held to how many ms it had CPU 1.
hog()
{
	held=$(sh -c "$in_group" "$group/batch" "$dir/alarms_test" "${2:-hog}" hog 1 "$1")
}

# longest NAME: the longest wait that the waiter wrote down.
longest()
{
	sort -n -k 2 "/tmp/$1" | tail -n 1 | cut -d ' ' -f 2
}

has_waited()
{
	[ -s "/tmp/$1" ]
}

# refuses_lines N: the recorder refuses a table of N rows.
refuses_lines()
{
	! load kdtl_recorder lines="$1" 2>/dev/null || { unload kdtl_recorder; return 1; }
	has_said "kdtl_recorder: lines=$1: must be from 1 to 10000"
}

# ---------------------------------------------------------------- by the test source

# fake WHAT SECONDS [TIMES]
fake()
{
	for _ in $(seq "${3:-1}"); do
		echo "$1 0 $2" >/sys/kernel/debug/kdtl_fake/do || return
	done
}

seen()
{
	awk -v n="$1" '$1 == 0 { print $n }' "$watch/cpus"
}

is_seen()
{
	[ "$(seen "$1")" = "$2" ]
}

# withheld WHAT: the sum of what the log says was withheld.
withheld()
{
	log | awk -v what="$1" '/kdtl_watch: withheld / && $0 ~ what {
		sub(/.* withheld /, "")
		sum += $1
	}
	END { print sum + 0 }'
}

# stuck: how often a CPU was stuck, as an emulated CPU is that stands still.
stuck()
{
	awk 'NR > 1 { sum += $4 } END { print sum + 0 }' "$watch/cpus"
}

said_or_stuck()
{
	has_said "$1" || [ "$(stuck)" -gt 0 ]
}

# The rate of lines is limited, but a wait that is worse always gets its line. A CPU that stood
# still was also worse: then try again.
worse_passes()
{
	for _ in 1 2 3 4 5; do
		fake wait 1 15 && fake wait 2 2 && fake wait 4 && until_true is_seen 3 18 &&
			until_true said_or_stuck 'kdtl_watch: CPU 0 waited 2000 ms' &&
			until_true said_or_stuck 'kdtl_watch: CPU 0 waited 4000 ms' || return
		[ "$(stuck)" -gt 0 ] || return 0
		unload kdtl_watch && forget_log &&
			load kdtl_watch pmu=kdtl_fake threshold_ms=900 pause_s=600 || return
	done
	return 1
}

# A worse wait also always gets its alarm: the recorder prints a table for each.
worse_alarms()
{
	until_true has_said 'kdtl_recorder: CPU 0 waited 4000 ms: end of table' &&
		is "$(said 'kdtl_recorder: CPU 0 waited 1000 ms: end of table')" 1 &&
		is "$(said 'kdtl_recorder: CPU 0 waited 2000 ms: end of table')" 1
}

# The watch says how many lines and alarms it withheld. There may be one more line for each time
# that an emulated CPU stood still.
counted()
{
	stuck=$(stuck)
	unload kdtl_watch || return
	more=$(($(withheld lines) - 18 + $(said 'kdtl_watch: CPU 0 waited')))
	[ "$more" -eq 0 ] || note "$more lines more; $stuck times a CPU was stuck"
	[ "$more" -ge 0 ] && [ "$more" -le "$stuck" ] && is "$(withheld 'alarms in')" 15
}

# sees LATE LONGEST THROTTLED: the watch's table says so. Time for which a CPU stood still also
# counts as longest.
sees()
{
	is "$(seen 3) $(seen 7)" "$1 $3" && { [ "$(stuck)" -gt 0 ] || is "$(seen 5)" "$2"; }
}

# Time for which a limit held a task back is no wait, and raises an alarm only if the watch is asked
# to. If the task waits after that, that is a wait.
throttled_if_asked()
{
		load kdtl_watch pmu=kdtl_fake threshold_ms=500 && fake throttle 3 && fake wait 1 &&
		until_true is_seen 3 1 && is "$(seen 7)" 0 && ! has_said 'kdtl_watch: .* throttled' &&
		echo "all 100000" >"$watch/cpus" && echo "throttled 1000" >"$watch/rules" &&
		fake throttle 3 && echo "all 500" >"$watch/cpus" &&
		until_true has_said 'kdtl_watch: CPU 0 was throttled for 3000 ms' &&
		echo "throttled 10000" >"$watch/rules" && fake throttle 20 &&
		until_true has_said 'kdtl_watch: CPU 0 was throttled for at least 4294 ms' &&
		sees 1 1000 2 && fake starve 2 &&
		until_true has_said 'kdtl_watch: CPU 0 waited 2000 ms' &&
		sees 2 2000 2
}

# A source's waits need not be for a hypervisor: those of kdtl_softirq are not, for example.
not_a_hypervisor()
{
	forget_log
	unload kdtl_fake_drive && unload kdtl_fake_pmu && load kdtl_fake_pmu stolen=0 &&
		load kdtl_fake_drive && load kdtl_recorder pmu=kdtl_fake || return
	! load kdtl_watch steal=kdtl_fake 2>/dev/null &&
		has_said 'kdtl_watch: steal=kdtl_fake does not say when a hypervisor had' || return
	! load kdtl_sampler steal=kdtl_fake 2>/dev/null &&
		has_said 'kdtl_sampler: steal=kdtl_fake does not say when a hypervisor had' || return
	load kdtl_watch pmu=kdtl_fake threshold_ms=900 && fake wait 1 &&
		until_true has_said 'kdtl_recorder: CPU 0 waited 1000 ms: end of table' &&
		has_said 'kdtl_watch: CPU 0 waited 1000 ms$' &&
		! has_said 'CPU 0 from .*the hypervisor'
	set -- $?
	unload kdtl_watch
	unload kdtl_recorder
	return "$1"
}

# ---------------------------------------------------------------- by the scheduler

# number BEFORE: the number after it in $line.
number()
{
	echo "$line" | sed -n "s/.*$1\([0-9]*\).*/\1/p"
}

# of_table BEFORE LEAST MOST: does as within, with the time after BEFORE in $line. $line is of a
# table, so the time has three digits, and is in seconds if the machine stood still.
of_table()
{
	within "$(echo "$line" | sed -n "s/.*$1\([0-9.]*\) \(m*s\).*/\1 \2/p" |
		awk '{ printf "%d\n", $2 == "s" ? $1 * 1000 + 0.5 : $1 }')" $(($2 * 99 / 100)) "$3"
}

stuck_behind_hog='kdtl_watch: CPU 1: no task of normal priority dispatched for .* hog:'

# hog_is_seen: the watch sees the hog while that has the CPU. It cannot if the host stops the
# machine for that time: then there is another hog.
hog_is_seen()
{
	for _ in 1 2 3 4 5; do
		hog 600 && until_true has_waited waiter || return
		! has_said "$stuck_behind_hog" || return 0
	done
}

# The wait that the watch tells of is at least as long as the hog ran, and at most as long as the
# waiter wrote down. So is the time behind the hog.
alarm_names_both()
{
	waiter svc waiter && hog_is_seen &&
		until_true has_said 'kdtl_watch: CPU 1: waiter:[0-9]* (/svc) waited [0-9]* ms, behind hog:' ||
		return
	line=$(log | grep 'kdtl_watch: CPU 1: waiter:[0-9]* (/svc) waited .* hog:' | tail -n 1)
	within "$(number 'waited ')" "$held" "$(longest waiter)" &&
		within "$(number 'behind hog:[0-9]* (\/batch) ')" "$held" "$(longest waiter)"
}

# The thread that got the CPU called exec(), so it had its process's PID when it left the CPU.
exec_is_known()
{
	stop_waiters
	unload kdtl_watch && load kdtl_watch threshold_ms=250 pause_s=0 && load kdtl_sampler ||
		return
	waiter svc victim && hog 600 exec && until_true has_waited victim &&
		until_true has_said 'kdtl_watch: CPU 1: victim:[0-9]* (/svc) waited' || return
	line=$(log | grep 'kdtl_watch: CPU 1: victim:[0-9]* (/svc) waited .* hog:' | tail -n 1)
	note "$line"
	within "$(number 'behind hog:[0-9]* (\/batch) ')" "$held" "$(longest victim)" || return
	line=$(log | sed -n '/: CPU 1: victim:.* oldest first$/,/: end of table$/p' |
		grep 'kdtl_recorder: CPU 1 from ')
	note "$line"
	echo "$line" | grep -q ' hog:[0-9]* (/batch) [0-9.]* m*s' || return
	until_true sampler_blames "$held" && unload kdtl_sampler
}

# sampler_blames MS: the sampler blames /batch for at least so long.
sampler_blames()
{
	awk -v least="$1" '
		$1 == "kdtl_cgroup_culprit_seconds_total{cgroup=\"/batch\"}" { ms = $2 * 1000 }
		END { exit ms + 2 < least }' /sys/kernel/debug/kdtl_sampler/metrics
}

# While the task still waits, the line says which task has the CPU, since when, and which one waits.
stuck_names_both()
{
	line=$(log | grep "$stuck_behind_hog" | tail -n 1)
	note "$line"
	stuck=$(number 'dispatched for ')
	# A kernel thread may have the CPU for a moment, or may have waited longer.
	within "$(number '; [^;]* has had it for ')" 0 "$(longest waiter)" &&
		within "$(number '; [^;]* has waited for ')" "$stuck" \
			"$(longest waiter)" &&
		within "$(number ', behind hog:[0-9]* (\/batch) ')" $((stuck - 10)) "$stuck"
}

# apart A B: the ms from A to B, two times of day.
apart()
{
	echo "$1:$2" | awk -F: '{
		ms = (($4 - $1) * 60 + $5 - $2) * 60000 + ($6 - $3) * 1000
		printf "%d\n", ms < -43200000 ? ms + 86400000 : ms
	}'
}

# waited_then FROM: FROM is in one of the waits that the waiter wrote down, and early enough in it
# for the hog's time to fit.
waited_then()
{
	while read -r gap ms; do
		! within "$(apart "$gap" "$1")" 0 $((ms - held)) >/tmp/said || return 0
	done </tmp/waiter
	cat /tmp/said
	return 1
}

# hog_table: the last table about the waiter in which the hog had the CPU. There are others if the
# machine stood still.
hog_table()
{
	log | sed -n 's/.*kdtl_recorder: //p' | awk '
		/^CPU 1: waiter:.* oldest first$/ { table = "" }
		{ table = table $0 "\n" }
		/^CPU 1: waiter:.*: end of table$/ && table ~ /\nCPU 1 from [^\n]* hog:/ { last = table }
		END { printf "%s", last }
	' >/tmp/table
	[ -s /tmp/table ]
}

# The table begins before the wait did, and says which task had the CPU, at which time of day.
table_covers()
{
	until_true hog_table || return
	cat /tmp/table
	line=$(sed -n 's/^CPU 1 from //p' /tmp/table)
	from=${line%% *}
	first=$(grep -m 1 '^[0-9][0-9]:' /tmp/table | cut -d ' ' -f 1)
	waited_then "$from" &&
		of_table ': hog:[0-9]* (\/batch) ' "$held" "$(longest waiter)" &&
		[ "$(apart "$from" "$first")" -le 0 ] &&
		# Midnight may come meanwhile.
		sed -n 's/ [0-9:]* UTC, .* after boot$//p' /tmp/table |
			grep -x -e "$day" -e "$(date -u +%F)"
}

reads_back()
{
	echo "all 100000" >"$watch/cpus" && echo "cgroup /svc/ 250" >"$watch/rules" &&
		echo "prio rt 7" >"$watch/rules" &&
		is "$(grep -v '^throttled\|^prio idle' "$watch/rules" | tr '\n' ',')" \
			"prio rt 7,cgroup /svc 250," &&
		echo "prio rt -" >"$watch/rules" && echo "prio idle 5" >"$watch/rules" &&
		echo "prio idle -" >"$watch/rules" &&
		is "$(grep ^prio "$watch/rules")" "prio idle 0"
}

refuses()
{
	rules=$(cat "$watch/rules")
	for bad in x "cgroup svc 5" "cgroup //svc 5" "cgroup /svc" "cgroup /svc x" "prio x 5" "prio rt" \
		"throttled" "throttled x" "nice 19 5" "cgroup /no -" "prio rt 4294967295"; do
		! echo "$bad" >"$watch/rules" 2>/dev/null || return
	done
	is "$(cat "$watch/rules")" "$rules"
}

# Each late task is compared with each rule's cgroup, so there are rules for 64 cgroups at most. A
# rule that goes makes room.
bounded()
{
	rules=$(cat "$watch/rules")
	n=$(grep -c ^cgroup "$watch/rules")
	first=$n
	while [ "$n" -lt 64 ]; do
		echo "cgroup /many/$n 100000" >"$watch/rules" || return
		n=$((n + 1))
	done
	! echo "cgroup /many/64 100000" >"$watch/rules" 2>/dev/null || return
	echo "cgroup /many/63 -" >"$watch/rules" && echo "cgroup /many/64 100000" >"$watch/rules" &&
		echo "cgroup /many/64 -" >"$watch/rules" || return
	while [ "$n" -gt $((first + 1)) ]; do
		n=$((n - 1))
		echo "cgroup /many/$((n - 1)) -" >"$watch/rules" || return
	done
	is "$(cat "$watch/rules")" "$rules"
}

# From here on look at the alarms, which the recorder shows, since the rate of lines is limited.

# Two tasks wait for the same time, and only one of them is in the rule's cgroup. A rule for the
# cgroup above does not hold for it, and a path that begins in the same way is another cgroup's.
by_cgroup()
{
	stop_waiters
	echo "cgroup / 100000" >"$watch/rules" || return
	waiter svc inside && waiter svc2 outside || return
	for times in 1 2; do
		hog 600
		until_true has_said 'kdtl_recorder: CPU 1: inside:[0-9]* (/svc) waited .*: end of table' "$times" || return
	done
	until_true has_waited outside && ! has_said 'kdtl_recorder: CPU 1: outside:' &&
		echo "cgroup / -" >"$watch/rules"
}

told_early='kdtl_watch: CPU 1: early:[0-9]* (/svc) has waited for .* hog:[0-9]* (/batch) has had it for'

# hog_until COMMAND...: another task has the waiters' CPU until the command succeeds.
hog_until()
{
	hog 60000 &
	until_true "$@"
	status=$?
	# The hog still has the CPU.
	kill "$(pid_of hog)" || status=1
	wait $!
	return "$status"
}

told_and_recorded()
{
	has_said "$told_early" 3 &&
		has_said 'kdtl_recorder: CPU 1: early:[0-9]* (/svc) has waited for .*: end of table'
}

# A wait of the same task that begins later is told of before it is as long as the one before, which
# was told of three times, so that the watch looks often enough for that. On a host that stands still
# it may look too late: then there is another wait.
told_anew()
{
	told=$(said "$told_early")
	line=$(sed -n 3p /tmp/told)
	note "$line"
	longest=$(number 'has waited for ')
	for _ in 1 2 3 4 5; do
		hog_until has_said "$told_early" $((told + 1)) || return
		line=$(log | grep "$told_early" | tail -n 1)
		note "$line"
		[ "$(number 'has waited for ')" -ge "$longest" ] || return 0
		told=$((told + 1))
	done
	return 1
}

# A wait that goes on is told of when it is too long, and again when it is twice as long. By its own
# threshold the CPU is not stuck yet. Another task, which began to wait at the same time, has a higher
# threshold, so its wait is not the CPU's worst.
told_meanwhile()
{
	stop_waiters
	echo >$tracing/trace && echo 1 >$tracing/events/kdtl/kdtl_watch_going/enable || return
	echo "cgroup /svc2 400" >"$watch/rules" && waiter svc early && waiter svc2 other || return
	hog_until told_and_recorded || return
	log | grep 'kdtl_watch: CPU 1: early:[0-9]* (/svc) has waited .* hog:' >/tmp/told
	line=$(head -n 1 /tmp/told)
	note "$line"
	first=$(number 'has waited for ')
	[ "$first" -ge 250 ] &&
		within "$(number ', behind hog:[0-9]* (\/batch) ')" $((first / 2)) "$first" || return
	line=$(sed -n 2p /tmp/told)
	note "$line"
	until_true has_waited early &&
		within "$(number 'has waited for ')" $((2 * first)) "$(longest early)" &&
		echo "cgroup /svc2 -" >"$watch/rules" && told_anew
}

# The events say of each wait that was told of what its threshold was.
told_if_too_long()
{
	echo 0 >$tracing/events/kdtl/kdtl_watch_going/enable
	sed -n 's/.* kdtl_watch_going: .* wait=\([0-9]*\) threshold=\([0-9]*\) .*/\1 \2/p' \
		$tracing/trace | awk '
			$1 <= $2 { bad++; print "# told after " $1 " ns, threshold " $2 }
			END { exit bad || !NR }'
}

# Of a cgroup's path the end is told, where its own name is.
by_priority()
{
	stop_waiters
	long=$(printf '%0100d' 7)
	mkdir "$group/svc/$long" || return
	echo "cgroup /svc -" >"$watch/rules" && echo "prio normal 250" >"$watch/rules" &&
		echo "prio high 250" >"$watch/rules" || return
	waiter "svc/$long" normal && waiter svc high && renice -n -5 -p "$(pid_of high)" >/dev/null || return
	for times in 1 2; do
		hog 600
		until_true has_said 'kdtl_recorder: CPU 1: normal:[0-9]* (\.\.\.0\{95\}7) waited .*: end of table' "$times" || return
		until_true has_said 'kdtl_recorder: CPU 1: high:[0-9]* (/svc) waited .*: end of table' "$times" || return
	done
	echo "prio normal -" >"$watch/rules" && echo "prio high -" >"$watch/rules"
}

# A task that takes only what others leave raises no alarm, unless the watch is asked to.
idle_if_asked()
{
	stop_waiters
	echo "all 250" >"$watch/cpus"
	waiter svc modest && renice -n 19 -p "$(pid_of modest)" >/dev/null || return
	: >/tmp/modest
	for _ in 1 2; do
		hog 600
	done
	until_true has_waited modest && ! has_said 'kdtl_recorder: CPU 1: modest:' &&
		echo "prio idle 250" >"$watch/rules" || return
	hog 600
	until_true has_said 'kdtl_recorder: CPU 1: modest:[0-9]* (/svc) waited .*: end of table'
}

# A quota holds a task back on a CPU that no other task wants.  A task that is moved into a group
# just then may seem to wait, see pmu-sched.rst.
quota_is_told_apart()
{
	stop_waiters
	echo "all 250" >"$watch/cpus" && echo "throttled 200" >"$watch/rules" &&
		waiter limited limited && echo "5000 300000" >"$group/limited/cpu.max" &&
		until_true has_said 'limited:[0-9]* (/limited) was throttled for [23][0-9][0-9] ms: end of table' &&
		! has_said 'limited:[0-9]* (/limited) \(has \)*waited'
}

# The task runs for 5 ms of each second.
throttle_told_meanwhile()
{
	echo "5000 1000000" >"$group/limited/cpu.max" &&
		until_true has_said 'kdtl_watch: CPU [0-9]*: limited:[0-9]* (/limited) has been throttled for [2-9][0-9][0-9] ms$'
}

# How often the quota has come back to tasks that it held back.
came_back()
{
	sed -n 's/^nr_throttled //p' "$group/limited/cpu.stat"
}

has_come_back()
{
	[ "$(came_back)" -gt "$1" ]
}

starved_late='kdtl_watch: CPU 1: limited:[0-9]* (/limited) waited [0-9]* ms, behind .*hog:'

# The line is there, or the quota has come back once more, which the task has had then.
late_or_back()
{
	has_said "$starved_late" || has_come_back "$1"
}

# When the task's quota comes back, the hog has the CPU, so from then on the task waits. On a busy
# host the hog may come too late to find the quota used up, and a CPU that stands still uses up the
# quota of several seconds: then try again.
starves_afterwards()
{
	for _ in 1 2 3 4 5; do
		stop_waiters
		unload kdtl_watch && load kdtl_watch threshold_ms=500 pause_s=0 &&
			echo "max 1000000" >"$group/limited/cpu.max" && waiter limited limited &&
			echo "20000 1000000" >"$group/limited/cpu.max" &&
			until_true has_come_back $(($(came_back) + 1)) || return
		forget_log
		read -r began _ </proc/uptime
		hog 3000 && until_true late_or_back $(($(came_back) + 2)) || return
		read -r ended _ </proc/uptime
		line=$(log | grep "$starved_late" | tail -n 1)
		note "$line; the hog had the CPU for $held ms"
		[ "$line" ] || continue
		waited=$(number ' waited ')
		within "$waited" 500 "$(echo "$began $ended" | awk '{ printf "%d", ($2 - $1) * 1000 + 10 }')" &&
			within "$(number 'hog:[0-9]* (\/batch) ')" 500 "$waited" || return
		# For the rest of the hog's time it was the quota that held the task back.
		[ $((waited + 200)) -gt "$held" ] || return 0
	done
	return 1
}

# A long interrupt of an idle CPU wakes a task, and keeps the CPU from it.
idle_is_known()
{
	stop_waiters
	# The rate of lines is limited, so load a watch anew, which has printed none.
	unload kdtl_watch && load kdtl_watch threshold_ms=250 pause_s=0 || return
	# The watch knows that the CPU is idle only after something has run there.
	taskset 2 true
	load kdtl_hog cpu=1 ms=600 irq=1 &&
		until_true has_said 'kdtl_recorder: CPU 1: kdtl_hog:[0-9]* waited .*: end of table' ||
		return
	line=$(log | grep 'kdtl_watch: CPU 1: kdtl_hog:[0-9]* waited')
	note "$line"
	waited=$(number 'waited ')
	# An emulated CPU's clock can stop for a while if no tick is handled.
	own=$(cat /sys/module/kdtl_hog/parameters/own_ms)
	note "of 600 ms, the CPU's clock had $own"
	[ "$own" -gt 250 ] && within "$waited" "$own" "$waited" &&
		within "$(number ', idle ')" "$own" "$waited" || return
	# A kworker that had to wait as long may also have a table, and so has this wait while it
	# goes on, if the watch runs before the task does.
	line=$(log | sed -n '/: CPU 1: kdtl_hog:[0-9]* waited .* oldest first$/,/: end of table$/p' |
		grep 'kdtl_recorder: CPU 1 from ')
	note "$line"
	of_table ' idle ' "$own" "$waited"
}

# Between two rows of a table on a slow console, other tasks get the CPU, which the watch's
# real-time thread would keep from them.
# shellcheck disable=SC2016,SC2046 # the shell that prints it; two numbers
rests_between_rows()
{
	ms=/sys/module/kdtl_recorder/parameters/ms
	level=$(cut -f 1 /proc/sys/kernel/printk)
	# The watch's alarms also make tables, and there is only one at a time.
	unload kdtl_watch && load kdtl_slow_console || return
	forget_log
	dmesg -n 8
	echo 60000 >$ms
	set -- $(sh -c 'rests() { sed -n "s/^voluntary_ctxt_switches:[^0-9]*//p" /proc/$$/status; }
		rests
		echo 1 >/sys/kernel/debug/kdtl_recorder/trigger
		rests')
	echo 50 >$ms
	dmesg -n "$level"
	unload kdtl_slow_console
	rows=$(log | sed -n 's/.*kdtl_recorder: asked for: .* CPUs, \([0-9]*\) of .*/\1/p')
	note "$rows rows, $(($2 - $1)) rests"
	[ "$rows" -ge 50 ] && [ $(($2 - $1)) -ge $((rows / 2)) ]
}

# move_behind_hog TASK: a hog takes the task to CPU 1, keeps it waiting there for 600 ms, and gives it
# to CPU 0, which another hog has for 300 ms. Set $line to what the watch says of that.
move_behind_hog()
{
	forget_log
	sh -c "$in_group" "$group/batch" "$dir/alarms_test" move hog 1 600 "$(pid_of "$1")" >/dev/null &&
		until_true has_said "kdtl_recorder: CPU 0: $1:[0-9]* (/svc) waited .*: end of table" &&
		until_true has_waited "$1"
	status=$?
	line=$(log | grep "kdtl_watch: CPU 0: $1:[0-9]* (/svc) waited" | head -n 1)
	note "$line"
	return $status
}

moved_is_known()
{
	unload kdtl_hog && unload kdtl_watch && load kdtl_watch threshold_ms=0 pause_s=0 &&
		echo "cgroup /svc 250" >"$watch/rules" && waiter svc moved && move_behind_hog moved || return
	waited=$(number 'waited [a-z ]*')
	elsewhere=$(number ', in the queue of another CPU ')
	within "$waited" 250 "$(longest moved)" && within "$elsewhere" 200 "$waited" &&
		within "$(number '; CPU 1, where it ran last, had hog:[0-9]* (\/batch) ')" \
			$((elsewhere - 10)) "$elsewhere" || return
	line=$(log | sed -n '/: CPU 0: moved:.* oldest first$/,/: end of table$/p' |
		grep 'kdtl_recorder: CPU 1 from ')
	note "$line"
	echo "$line" | grep -q ' hog:[0-9]* (/batch) [0-9.]* m*s'
}

runs_on()
{
	[ "$(sed 's/.*) //' "/proc/$(pid_of "$1")/stat" | cut -d ' ' -f 37)" = "$2" ]
}

# A task that ran on CPU 0 comes back to it. Who had CPU 0, where it ran last, is not why it waited.
came_back_is_known()
{
	stop_waiters
	waiter svc back && taskset -p 1 "$(pid_of back)" >/dev/null && until_true runs_on back 0 &&
		move_behind_hog back && [ "$(number ', in the queue of another CPU ')" -ge 200 ] &&
		! has_said 'back:.*, where it ran last'
}

[ -x "$dir/alarms_test" ] || skip_all "no alarms_test: make -C selftests"
[ -e /sys/devices/system/cpu/cpu1 ] || skip_all "needs two CPUs"
grep -q '^cpu\>' /proc/cgroups || skip_all "no cgroups with the controller cpu"
need_modules kdtl_hog kdtl_sampler
need_tracing
need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive

# No process of the test is on CPU 1.
taskset -p 1 $$ >/dev/null

day=$(date -u +%F)
plan 28
forget_log
ok "a table without rows is refused" refuses_lines 0
ok "and one of too many" refuses_lines 10001
forget_log
load kdtl_recorder pmu=kdtl_fake || bail_out "kdtl_recorder does not load"
ok "the watch loads" load kdtl_watch pmu=kdtl_fake threshold_ms=900 pause_s=600
ok "a worse wait is always in the log" worse_passes
ok "and always raises an alarm" worse_alarms
ok "what is withheld is counted" counted
ok "throttled time is not late, and is told of if asked" throttled_if_asked
unload kdtl_watch
unload kdtl_recorder
ok "only a hypervisor's source blames the hypervisor" not_a_hypervisor

mount_cgroups $group || bail_out "no cgroups with the controller cpu"
mkdir $group/svc $group/svc2 "$group/batch" $group/limited
can_starve 1
forget_log
load kdtl_recorder lines=100 ms=50 || bail_out "kdtl_recorder does not load"
ok "the watch loads" load kdtl_watch threshold_ms=250 pause_s=0
ok "an alarm names both, their cgroups and times" alarm_names_both
ok "so does one about a wait that goes on" stuck_names_both
ok "the recorder's table covers the wait" table_covers
ok "a thread that called exec() is its new program" exec_is_known
ok "rules can be read" reads_back
ok "wrong rules are refused" refuses
ok "there are 64 rules at most" bounded
ok "a threshold by cgroup" by_cgroup
ok "while the wait goes on" told_meanwhile
ok "only when it is too long" told_if_too_long
ok "a threshold by priority" by_priority
ok "nice 19: only if asked" idle_if_asked
ok "a quota is told apart" quota_is_told_apart
ok "while it holds the task back" throttle_told_meanwhile
if grep -q PREEMPT_RT /proc/version; then
	skip "a wait after that is late" "the hog keeps the quota from coming back"
else
	ok "a wait after that is late" starves_afterwards
fi
ok "an idle CPU that is kept from its task" idle_is_known
ok "a wait in the queue of another CPU" moved_is_known
ok "where the task did not run before" came_back_is_known
if grep -q PREEMPT_RT /proc/version; then
	skip "on a slow console it leaves the CPU to others" "consoles have threads"
else
	ok "on a slow console it leaves the CPU to others" rests_between_rows
fi
finish
