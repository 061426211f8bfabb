#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests the sampler's counts by cgroup: the test source names tasks that sleep in cgroups,
# and says for how long each waited behind which task. Then the scheduler does, and all
# adds up.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

sampler=/sys/kernel/debug/kdtl_sampler
root=/tmp/kdtl-cgroups
tracing=/sys/kernel/tracing

fake()
{
	echo "$@" >/sys/kernel/debug/kdtl_fake/do
}

# sleeper CGROUP: starts a task that sleeps there; $pid is its pid. It is ended by SIGKILL, as it may
# still be a copy of this shell, which has a trap for SIGTERM.
sleeper()
{
	mkdir -p "$root/$1" || return
	background sleep 100000
	pid=$!
	echo "$pid" >"$root/$1/cgroup.procs"
}

# metric NAME CGROUP [LABELS]: the metric's value, or nothing. CGROUP is as in the file.
metric()
{
	name="kdtl_cgroup_$1{cgroup=\"$2\"${3:-}}" awk '
		index($0, ENVIRON["name"] " ") == 1 { print $NF }' $sampler/metrics
}

# cause CAUSE CGROUP: for how many seconds the cgroup waited for that reason.
cause()
{
	metric pressure_seconds_total "$2" ",cause=\"$1\""
}

# grew_by_one BEFORE AFTER: AFTER is 1 s more than BEFORE.
grew_by_one()
{
	awk -v before="$1" -v after="$2" 'BEGIN {
		off = after - before - 1
		exit !(off < 1e-6 && off > -1e-6)
	}'
}

# behind CGROUP: for how many seconds the cgroup waited behind others.
behind()
{
	cause neighbours "$1"
}

# sum_cause CAUSE: for how many seconds all cgroups waited for that reason.
sum_cause()
{
	awk -v cause="cause=\"$1\"} " '
		/^kdtl_cgroup_pressure_seconds_total/ && index($0, cause) { n += $NF }
		END { printf "%.9f\n", n }' $sampler/metrics
}

# sum NAME: the sum of that metric over all cgroups.
sum()
{
	awk -v name="kdtl_cgroup_$1{" 'index($0, name) == 1 { n += $NF }
		END { printf "%.9f\n", n }' $sampler/metrics
}

# row SECONDS PATH: the cgroup's dispatches, longest wait and throttled time in that window.
row()
{
	awk -v head="last $1 s" -v path="$2" '
		/^last / || /^since / { inside = $0 == head }
		inside && $NF == path { print $1, $(NF - 4), $(NF - 3), $(NF - 2), $(NF - 1) }
	' $sampler/cgroups
}

counts()
{
	fake task 0 "$hog" 0 0 && fake later 0 2 && fake task 0 "$web" "$hog" 1000 &&
		fake held 0 "$web" "$web" 3000 &&
		is "$(metric wait_seconds_count /web)" 1 &&
		is "$(metric wait_seconds_sum /web)" 1.000000000 &&
		is "$(metric wait_max_seconds /web)" 1.000000000 &&
		is "$(metric wait_seconds /web ',quantile="0.99"')" 1.000000000 &&
		is "$(metric throttled_total /web)" 1 &&
		is "$(metric throttled_seconds_total /web)" 3.000000000 &&
		is "$(cause elsewhere /web)" 0.000000000 &&
		is "$(metric throttled_total /hog)" 0 &&
		is "$(metric wait_seconds_count /hog)" 1
}

in_window()
{
	is "$(row 60 /web)" "2 1.00 s 3.00 s" && is "$(row 60 /hog)" "1 0 ns 0 ns"
}

# All of the first wait was behind /hog, and the next one behind a task of the same cgroup.
names_culprit()
{
	is "$(metric culprit_seconds_total /hog)" 1.000000000 &&
		is "$(behind /web)" 1.000000000 &&
		is "$(metric neighbour_seconds_total /web ',neighbour="/hog"')" 1.000000000 &&
		own=$(cause own /web) &&
		fake later 0 2 && fake task 0 "$web2" "$web" 1000 &&
		is "$(behind /web)" 1.000000000 && grew_by_one "$own" "$(cause own /web)" &&
		is "$(metric culprit_seconds_total /web)" 0.000000000 &&
		fake task 1 "$web" "$hog" 500 &&
		is "$(cause unknown /web)" 0.500000000 && is "$(behind /web)" 1.000000000
}

# One cgroup had the CPU for the last second of the wait, and for as long as the machine took
# for the test's next line. Another cgroup had it before that.
shares_blame()
{
	sleeper cron || return
	before=$(metric culprit_seconds_total /hog)
	fake task 0 "$pid" "$web2" 0 && fake later 0 2 &&
		fake task 0 "$hog" "$pid" 0 && fake later 0 1 &&
		fake task 0 "$web" "$hog" 3000 || return
	echo "$before $(metric culprit_seconds_total /hog) $(metric culprit_seconds_total /cron)" |
		awk '{
			hog = $2 - $1
			off = hog + $3 - 3
			print "# hog " hog ", cron " $3
			exit !(hog >= 1 && $3 > 0 && off < 1e-6 && off > -1e-6)
		}' &&
		is "$(sum_cause neighbours)" "$(sum culprit_seconds_total)" &&
		is "$(behind /web)" 4.000000000
}

# Many short tasks of a cgroup had the CPU one after the other. The cgroup is the culprit for all
# of that time, and the task before them for the rest.
blames_storm()
{
	before=$(metric culprit_seconds_total /hog)
	unknown=$(cause unknown /web)
	fake task 0 "$hog" "$web" 0 && fake later 0 4 || return
	last=$hog
	for _ in $(seq 20); do
		sleeper storm && fake task 0 "$pid" "$last" 0 || return
		last=$pid
	done
	fake task 0 "$web" "$last" 4000 &&
		is "$(cause unknown /web)" "$unknown" &&
		echo "$before $(metric culprit_seconds_total /hog) $(metric culprit_seconds_total /storm)" |
		awk '{
			hog = $2 - $1
			off = hog + $3 - 4
			print "# hog " hog ", storm " $3
			exit !($3 > 0 && off < 1e-6 && off > -1e-6)
		}' &&
		is "$(behind /web)" 8.000000000
}

# cpu_of CGROUP: for how many seconds the cgroup had a CPU while others waited.
cpu_of()
{
	metric culprit_seconds_total "$1"
}

# Ten tasks wait for /brief, which has the CPU for a second, and then one task for /hog, which has
# it for four. If each task's wait counted, /brief would be to blame most, but it had a fifth of the
# time.
counts_cpu_once()
{
	echo 1 >$sampler/reset
	sleeper brief && fake stop 0 1 || return
	fake task 0 "$pid" "$web" 0 && fake later 0 1 || return
	last=$pid
	for _ in $(seq 10); do
		sleeper crowd && fake task 0 "$pid" "$last" 1000 || return
		last=$pid
	done
	fake task 0 "$hog" "$last" 0 && fake later 0 4 && fake task 0 "$web" "$hog" 4000 || return
	is "$(metric tasks_seconds_total /crowd ',cause="neighbours"')" 10.000000000 &&
		is "$(behind /crowd)" 1.000000000 && is "$(behind /web)" 4.000000000 &&
		is "$(cpu_of /brief)" 1.000000000 && is "$(cpu_of /hog)" 4.000000000
}

# gains SECONDS CPU PID PREV MS: a dispatch after such a wait adds SECONDS to the time for which
# /hog had a CPU while others waited.
gains()
{
	was=$(cpu_of /hog)
	fake task "$2" "$3" "$4" "$5" &&
		is "$(echo "$(cpu_of /hog) ${was:-0}" | awk '{ print $1 - $2 }')" "$1"
}

# Waits of a cgroup that lie in its other waits, or beside them, count once, for each cgroup that
# waits. Waits of the culprit's own tasks do not count.
counts_what_is_new()
{
	echo 1 >$sampler/reset
	sleeper hog || return
	hog2=$pid
	sleeper db || return
	fake stop 0 1 && fake task 0 "$hog" "$web" 0 && fake later 0 1 &&
		gains 0.5 0 "$web" "$hog" 500 &&
		fake task 0 "$hog" "$web" 0 && fake later 0 2 && gains 2 0 "$web" "$hog" 2000 &&
		fake task 0 "$hog" "$web" 0 && fake later 0 1 &&
		gains 4 0 "$pid" "$hog" 4000 && gains 1 0 "$web" "$pid" 3500 &&
		fake task 0 "$hog" "$web" 0 && fake later 0 3 && gains 0 0 "$hog2" "$hog" 3000 &&
		fake later 0 1 && gains 4 0 "$web" "$hog2" 4000 &&
		fake task 0 "$hog" "$web" 0 && fake later 0 2 && gains 0 0 "$hog2" "$hog" 2000 &&
		gains 1 0 "$web" "$hog2" 1000 && gains 2 0 "$pid" "$web" 2000
	set -- $?
	fake stop 0 0 && return "$1"
}

# Entries that are lost could be any cgroup's, so none is blamed.
blames_nobody()
{
	before=$(metric culprit_seconds_total /hog)
	fake task 0 "$hog" "$web" 0 && fake lost 0 1 && fake later 0 2 &&
		fake task 0 "$web" "$hog" 1000 &&
		is "$(metric culprit_seconds_total /hog)" "$before" &&
		is "$(behind /web)" 8.000000000 && is "$(cause unknown /web)" 1.500000000
}

falls()
{
	fake later 0 80 && is "$(metric wait_max_seconds /web)" 0.000000000 &&
		is "$(row 60 /web)" "" && is "$(metric wait_seconds_count /web)" 6
}

# A cgroup that is removed and made again has one series, since Prometheus refuses one that is there
# twice.
made_again()
{
	sleeper again || return
	fake task 0 "$pid" 0 10 && kill -KILL "$pid" && until_true rmdir $root/again &&
		sleeper again && fake task 0 "$pid" 0 10 &&
		is "$(metric wait_seconds_count /again)" 2
}

# A quote, a backslash and a byte that is no character are escaped in the metrics.
quotes()
{
	sleeper "$(printf 'a"b\\c\377')" || return
	fake task 0 "$pid" 0 10 &&
		is "$(metric wait_seconds_count '/a\"b\\c\\xff')" 1 &&
		grep -q -F '/a"b\c\xff' $sampler/cgroups
}

# The root is in use as long as a cgroup in it is. A cgroup that first had a row for the sake of
# another one goes completely: if it comes again, it has a row again.
goes_when_stale()
{
	sleeper around/one && fake task 0 "$pid" 0 0 && sleeper around && around=$pid &&
		fake task 0 "$around" 0 0 && sleeper later/one && fake task 0 "$pid" 0 0 &&
		is "$(metric wait_seconds_count /around)" 1 || return
	fake later 0 150 && fake task 0 "$web" 0 0 && fake later 0 200 &&
		is "$(metric wait_seconds_count /web)" 7 &&
		is "$(metric wait_seconds_count /hog)" "" && [ -n "$(cause own /)" ] &&
		is "$(grep -c 'kdtl_cgroup_wait_seconds_count{' $sampler/metrics)" 1 &&
		fake task 0 "$around" 0 0 && is "$(metric wait_seconds_count /around)" 1
}

# A cgroup that is known only because its task had the CPU is in use, too.
culprit_stays()
{
	fake task 0 "$around" 0 0 && sleeper away && echo "$around" >$root/away/cgroup.procs &&
		fake later 0 2 && fake task 0 "$web" "$around" 1000 &&
		is "$(metric culprit_seconds_total /away)" 1.000000000 &&
		fake later 0 2 && fake task 0 "$web" "$web" 0 &&
		is "$(metric culprit_seconds_total /away)" 1.000000000
}

# An interrupt or the hypervisor kept the idle CPU from the task, so no cgroup is blamed.
# Idle times are no dispatches.
blames_nobody_for_idle()
{
	was="$(sum_cause neighbours) $(sum culprit_seconds_total)"
	idle=$(cause nobody /web)
	nr=$(counted)
	fake task 0 "$hog" "$web" 0 && fake idle 0 "$hog" && fake later 0 2 &&
		fake task 0 "$web" 0 1000 &&
		is "$(sum_cause neighbours) $(sum culprit_seconds_total)" "$was" &&
		grew_by_one "$idle" "$(cause nobody /web)" &&
		is "$(counted)" "$((${nr% *} + 2)) $((${nr#* } + 2))"
}

# counted: how many dispatches were logged, and how many there were.
counted()
{
	awk '!/^#/ { logged += $6; all += $16 } END { print logged, all }' $sampler/lines
}

# While a quota holds a task back, another one of its cgroup is found to have waited in the queue.
# The quota is not to blame for that time then, but what was shown of a cause never becomes less.
never_shows_less()
{
	echo 1 >$sampler/reset
	fake stop 0 1 && fake task 0 "$hog" "$web" 0 && fake later 0 4 &&
		fake held 0 "$web" "$hog" 3000 && is "$(cause quota /web)" 3.000000000 &&
		is "$(behind /web)" 0.000000000 && fake task 0 "$web2" "$web" 2000 &&
		is "$(behind /web)" 2.000000000 && is "$(cause quota /web)" 3.000000000
	set -- $?
	fake stop 0 0 && return "$1"
}

# After a reset, the task that has the CPU is of no cgroup for a millisecond, rather than of one that
# has taken the place of its own. Each read makes the sampler look, before there is another entry.
blames_no_successor()
{
	sleeper late && late=$pid && fake stop 0 1 && echo 1 >$sampler/reset &&
		fake task 0 "$hog" "$web" 0 && [ -n "$(cpu_of /hog)" ] && echo 1 >$sampler/reset &&
		fake task 1 "$late" 0 0 && is "$(cpu_of /late)" 0.000000000 &&
		fake soon 0 500 && fake task 0 "$web" "$hog" 1 &&
		is "$(cpu_of /late)" 0.000000000 && is "$(cpu_of /hog)" ""
	set -- $?
	fake stop 0 0 && return "$1"
}

reset_forgets()
{
	echo 1 >$sampler/reset && ! grep -q kdtl_cgroup_ $sampler/metrics
}

# Two cgroups have rows, and so does the root, which they are in. A third cgroup is counted with all
# others, until one of the two goes. The others are counted as one, so they are no neighbours of
# each other.
is_capped()
{
	unload kdtl_sampler && load kdtl_sampler pmu=kdtl_fake cgroups=2 || return
	sleeper third && third=$pid && sleeper fourth || return
	for p in "$web" "$hog" "$third" "$pid" "$third"; do
		fake task 0 "$p" 0 10 || return
	done
	is "$(metric wait_seconds_count /web)" 1 &&
		is "$(metric wait_seconds_count /hog)" 1 &&
		is "$(metric wait_seconds_count other)" 3 &&
		is "$(metric wait_seconds_count /third)" "" || return
	was="$(behind other) $(metric culprit_seconds_total other)"
	own=$(cause own other)
	fake later 0 2 && fake task 0 "$pid" "$third" 1000 &&
		is "$(behind other) $(metric culprit_seconds_total other)" "$was" &&
		grew_by_one "$own" "$(cause own other)" &&
		fake later 0 270 && fake task 0 "$hog" 0 10 && fake later 0 50 &&
		fake task 0 "$third" 0 10 && fake task 0 "$pid" 0 10 &&
		is "$(metric wait_seconds_count /web)" "" &&
		is "$(metric wait_seconds_count /hog)" 2 &&
		is "$(metric wait_seconds_count /third)" 1 &&
		is "$(metric wait_seconds_count other)" 1
}

# A cgroup that is made again and again, as a service's is, takes the place of one. Of those around
# them, the nearest have rows, but no more than the parameter says.
takes_one_place()
{
	unload kdtl_sampler && load kdtl_sampler pmu=kdtl_fake cgroups=2 || return
	for _ in 1 2 3; do
		sleeper a/b/c/anew && fake task 0 "$pid" 0 10 && kill -KILL "$pid" &&
			until_true rmdir $root/a/b/c/anew || return
	done
	fake task 0 "$web" 0 10 && is "$(metric wait_seconds_count /a/b/c/anew)" 3 &&
		is "$(metric wait_seconds_count /web)" 1 &&
		is "$(metric wait_seconds_count other)" "" &&
		[ -n "$(cause own /a/b/c)" ] && [ -n "$(cause own /a/b)" ] &&
		is "$(cause own /a)$(cause own /)" ""
}

# A task sleeps in a cgroup that is inside 118 others, none of which is counted yet, so all begin to
# be at once. On s390x this took more of the kernel's stack than there is.
counts_nested()
{
	unload kdtl_sampler && load kdtl_sampler pmu=kdtl_fake cgroups=1024 || return
	path=
	while [ ${#path} -lt 238 ]; do
		path=$path/n
	done
	mkdir -p "$root$path" && sleeper "${path#/}" || return
	begin_stack_trace
	fake task 0 "$pid" 0 10 && is "$(metric wait_seconds_count "$path")" 1 &&
		is "$(grep -c '^kdtl_cgroup_culprit_seconds_total{cgroup="/n' $sampler/metrics)" 119 &&
		no_deep_stack && kill -KILL "$pid" || return
	while [ "$path" ]; do
		until_true rmdir "$root$path" 2>/dev/null || return
		path=${path%/n}
	done
}

# From now on, the kernel keeps the deepest stack, if it can.
begin_stack_trace()
{
	[ -e $tracing/stack_max_size ] || mount -t tracefs none $tracing 2>/dev/null
	[ -e $tracing/stack_max_size ] || return
	echo 1 >/proc/sys/kernel/stack_tracer_enabled && echo 0 >$tracing/stack_max_size
}

# The deepest stack has not many functions of the sampler, as it would if one called itself.
no_deep_stack()
{
	[ -e $tracing/stack_max_size ] || return 0
	echo 0 >/proc/sys/kernel/stack_tracer_enabled
	echo "# the deepest stack had $(cat $tracing/stack_max_size) bytes"
	grep 'cgroup_' $tracing/stack_trace >"$root.stack"
	[ "$(wc -l <"$root.stack")" -lt 20 ] && return
	head -n 20 "$root.stack"
	return 1
}

can_be_switched_off()
{
	unload kdtl_sampler && load kdtl_sampler pmu=kdtl_fake cgroups=0 &&
		fake task 0 "$web" 0 10 && ! grep -q kdtl_cgroup_ $sampler/metrics
}

# Each of the two cgroups has waited behind the other.
both_waited()
{
	behind /web | awk '$1 > 0.05 { found = 1 } END { exit !found }' &&
		behind /hog |
		awk '$1 > 0.05 { found = 1 } END { exit !found }'
}

# Nearly all of the neighbours' time has a name. Real tasks may have more waits at once than the
# sampler has room for, and then it counts some time without a name.
are_named()
{
	echo "$(sum_cause neighbours) $(sum culprit_seconds_total)" | awk '{
		print "# neighbours: " $1 " s, of culprits: " $2
		exit !($2 <= $1 && $2 > $1 * 0.95)
	}'
}

real_tasks()
{
	unload kdtl_sampler && load kdtl_sampler pmu=kdtl_sched || return
	for group in web hog; do
		background taskset 1 sh -c "echo \$\$ >$root/$group/cgroup.procs
			while :; do :; done"
	done
	until_true both_waited || return
	echo 0 >$sampler/running
	cat $sampler/cgroups
	are_named && metric culprit_seconds_total /hog | awk '{ exit !($1 > 0.025) }'
}

# web_waited SECONDS: /web has waited for longer than that since the reset.
web_waited()
{
	behind /web | awk -v least="$1" '{ exit !($1 > least) }'
}

# Three hundred tasks that only yield make waits with thousands of dispatches in each. The sampler
# keeps up with them, and knows that one cgroup had the CPU for all of that time. Its area has room
# for as much as they make while the host stops only the CPU of the sampler's thread.
blames_yielders()
{
	unload kdtl_sampler && load kdtl_sampler pmu=kdtl_sched aux_pages=2048 || return
	background taskset 1 sh -c "echo \$\$ >$root/hog/cgroup.procs; exec $here/yield 300"
	pid=$!
	echo 1 >$sampler/reset
	echo 1 >$sampler/running
	lost=$(lost)
	# For waits that were not over at the reset, it is not known which task had the CPU before.
	until_true web_waited 1 || return
	unknown=$(sum_cause unknown)
	until_true web_waited 4 || return
	echo 0 >$sampler/running
	kill -KILL "$pid"
	is "$(lost)" "$lost" &&
		are_named &&
		echo "$(sum culprit_seconds_total) $(sum_cause unknown) $unknown" |
		awk '{
			print "# unknown: " $3 + 0 " s at first, then " $2 - $3 " of " $1 " s"
			exit !($2 - $3 < $1 / 1000)
		}'
}

# lost: how many entries were lost, on all CPUs.
lost()
{
	awk '!/^#/ { n += $5 } END { print n }' $sampler/lines
}

# The dispatches of all cgroups add up: each is one cgroup's.
adds_up()
{
	is "$(sum wait_seconds_count | cut -d . -f 1)" \
		"$(awk '!/^#/ { n += $6 - $14 } END { print n }' $sampler/lines)" &&
		is "$(sum throttled_total | cut -d . -f 1)" \
			"$(awk '!/^#/ { n += $14 } END { print n }' $sampler/lines)"
}

need kdtl kdtl_sched
have_module kdtl_sampler || skip_all "no module kdtl_sampler"
have_module kdtl_fake_drive || skip_all "no module kdtl_fake_drive"
grep -q '^cpu\>' /proc/cgroups || skip_all "no cgroups with the controller cpu"
mkdir -p $root
early_are_gone()
{
	rmdir "$root"/early/* 2>/dev/null
	rmdir "$root/early"
}

# Many cgroups are there before the first client. They are looked up a few at a time.
early_ones_are_known()
{
	unload kdtl_sampler && unload kdtl_answers && mkdir "$root/early" || return
	(cd "$root/early" && mkdir $(seq 300)) && sleeper early/1 && first=$pid &&
		sleeper early/300 && load kdtl_sampler pmu=kdtl_fake || return
	fake task 0 "$first" 0 10 && fake task 0 "$pid" 0 10 &&
		is "$(metric wait_seconds_count /early/1)" 1 &&
		is "$(metric wait_seconds_count /early/300)" 1 &&
		kill -KILL "$first" "$pid" && until_true early_are_gone
}

# kernel_kib: what the kernel has allocated for itself.
kernel_kib()
{
	awk '$1 == "SUnreclaim:" || $1 == "VmallocUsed:" { n += $2 } END { print n }' /proc/meminfo
}

hundreds_are_gone()
{
	rmdir "$root"/hundreds/* 2>/dev/null
	rmdir "$root/hundreds"
}

# hundreds_sleep: a task sleeps in each of $hundreds cgroups; /tmp/hundreds has their pids. The tasks
# open a FIFO to which nobody writes. None of them runs a program of its own, which would take long.
hundreds_sleep()
{
	rm -f /tmp/hundreds.never
	mkdir "$root/hundreds" && (cd "$root/hundreds" && mkdir $(seq $hundreds)) &&
		mkfifo /tmp/hundreds.never || return
	for i in $(seq $hundreds); do
		: </tmp/hundreds.never &
		echo $! >"$root/hundreds/$i/cgroup.procs" || return
		echo $!
		[ $((i % 100)) -ne 0 ] || echo "# $i tasks" >&2
	done >/tmp/hundreds
}

# hundreds_wait MS: each of these tasks waits for MS ms.
hundreds_wait()
{
	echo "# each waits for $1 ms"
	fake later 0 3
	while read -r pid; do
		echo "task 0 $pid 0 $1" || return
	done </tmp/hundreds >/sys/kernel/debug/kdtl_fake/do
}

hundreds=300

# Each of $hundreds cgroups has waits in several buckets, powers of two, and parts of windows. The
# memory that the engine of pressure needs for a CPU is allocated with the CPU's first entry.
takes_little_memory()
{
	unload kdtl_sampler && unload kdtl_answers && hundreds_sleep &&
		load kdtl_sampler pmu=kdtl_fake cgroups=1024 && fake task 0 "$web" 0 10 &&
		is "$(metric wait_seconds_count /web)" 1 || return
	before=$(kernel_kib)
	hundreds_wait 0 && hundreds_wait 1 && hundreds_wait 20 && hundreds_wait 24 &&
		hundreds_wait 300 || return
	is "$(grep -c '^kdtl_cgroup_wait_seconds_count{cgroup="/hundreds/.*} 5$' \
		$sampler/metrics)" $hundreds || return
	per_cgroup=$((($(kernel_kib) - before) / hundreds))
	echo "# $per_cgroup KiB for each of $hundreds cgroups"
	xargs kill -KILL </tmp/hundreds
	until_true hundreds_are_gone && [ $per_cgroup -gt 0 ] && [ $per_cgroup -le 12 ]
}

# The log says how many cgroups were too many to be known. At the beginning there are not that many.
too_many_are_told()
{
	unload kdtl_sampler && unload kdtl_answers && load kdtl_sampler && mkdir "$root/many" ||
		return
	forget_log
	(cd "$root/many" && mkdir $(seq 1100) && rmdir $(seq 1100)) || return
	# The table stays for a while after the last client, but not without its module.
	rmdir "$root/many" && unload kdtl_sampler && unload kdtl_answers || return
	log | grep 'kdtl: .*cgroups' | tee "$root.said"
	is "$(grep -c 'kdtl: more than 1024 cgroups: the paths of some are not known' \
		"$root.said")" 1 &&
		[ "$(sed -n 's/.*kdtl: \([0-9]*\) paths of cgroups were dropped/\1/p' \
			"$root.said")" -gt $((1100 - 1024)) ]
}

[ -e $root/cgroup.controllers ] || mount -t cgroup2 none $root || skip_all "no cgroup2"
echo +cpu >$root/cgroup.subtree_control || skip_all "the controller cpu is in use"
load kdtl_fake_pmu tasks=1 || bail_out "kdtl_fake_pmu does not load"
load kdtl_fake_drive || bail_out "kdtl_fake_drive does not load"

plan 28
ok "it loads" load kdtl_sampler pmu=kdtl_fake
# Let the machine seem to have run for longer than it takes until a cgroup is stale.
fake later 0 1000
sleeper web
web2=$pid
sleeper web
web=$pid
sleeper hog
hog=$pid
ok "dispatches, waits and throttled time, by cgroup" counts
ok "in the windows, too" in_window
ok "it says behind which cgroup another one waited" names_culprit
ok "or behind which two cgroups, and for how long each" shares_blame
ok "or behind many tasks of one" blames_storm
ok "it blames nobody if entries are lost" blames_nobody
ok "the longest wait goes after a minute" falls
ok "a cgroup that is made again is no second one" made_again
ok "a path with bytes that Prometheus would not read" quotes
ok "a stale cgroup goes" goes_when_stale
ok "a culprit stays, even if none of its tasks waits" culprit_stays
ok "it blames nobody for the time of an idle CPU" blames_nobody_for_idle
ok "reset forgets" reset_forgets
ok "time that gets another cause stays where it was shown" never_shows_less
ok "after a reset nobody is blamed for another one's time" blames_no_successor
ok "a culprit has the blame for its time, however many tasks waited" counts_cpu_once
ok "a time counts once for a culprit, however many waits it is in" counts_what_is_new
ok "no more cgroups than the parameter says are separate" is_capped
ok "and one that is made again counts once" takes_one_place
ok "one inside a hundred others" counts_nested
ok "0: none" can_be_switched_off
ok "real tasks that wait for each other" real_tasks
ok "or for many that only yield" blames_yielders
ok "the sum over all cgroups is that over all CPUs" adds_up
ok "each of many that were there before is known" early_ones_are_known
ok "hundreds of cgroups take little memory" takes_little_memory
ok "more cgroups than there is room for" too_many_are_told
finish
