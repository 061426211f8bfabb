#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compares the pressure of real tasks, by cause, with what the kernel counts in other ways:
# run_delay of each task, cpu.stat, and PSI if the kernel has it.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

sampler=/sys/kernel/debug/kdtl_sampler
root=/tmp/kdtl-pressure
fake=/sys/kernel/debug/kdtl_fake
period=/sys/module/kdtl_sampler/parameters/period_ms

# loop CGROUP CPU: starts a task that computes there for ever; $pid is its pid. A machine that
# counts instructions has only one CPU.
loop()
{
	cpu=$2
	[ "$cpu" -lt "$(nproc)" ] || cpu=0
	background taskset -c "$cpu" sh -c "echo \$\$ >$root/$1/cgroup.procs; while :; do :; done"
	pid=$!
	until_true grep -q -x "$pid" "$root/$1/cgroup.procs"
}

# stop PID...: kills these tasks, and waits until they are gone.
stop()
{
	kill "$@"
	wait "$@" 2>/dev/null || :
}

# total ROW CGROUP: the row's total in the file, in us.
total()
{
	awk -v row="$1" -v path="$2" '
		$1 == "cgroup" { inside = substr($0, 8) == path }
		inside && $1 == row && row != "behind" {
			sub(/.*total=/, "")
			print
		}' /tmp/pressure
}

# neighbours CGROUP: "US NEIGHBOUR" for each neighbour for which the cgroup waited.
neighbours()
{
	awk -v path="$1" '
		$1 == "cgroup" { inside = substr($0, 8) == path }
		inside && $1 == "behind" { sub(/total=/, "", $2); print $2, $3 }' /tmp/pressure
}

# by CGROUP: "US NEIGHBOUR", the neighbour for which the cgroup waited most, apart from the root: the
# machine's own tasks and those of this script are there, and need a machine's only CPU at times.
by()
{
	neighbours "$1" | grep -v ' /$' | sort -rn | head -n 1
}

# behind CGROUP: for how many us /starved waited for that neighbour, when /tmp/pressure was read.
behind()
{
	neighbours /starved | awk -v path="$1" '$2 == path { us = $1 } END { print us + 0 }'
}

# with_root CGROUP US: US and the time that the cgroup waited for the root.
with_root()
{
	neighbours "$1" | awk -v us="$2" '$2 == "/" { us += $1 } END { printf "%.0f\n", us }'
}

# psi CGROUP ROW: the row's total of PSI, in us; 0 if the kernel has no PSI of this cgroup.
psi()
{
	sed -n "s/^$2 .*total=//p" "$root/$1/cpu.pressure" 2>/dev/null | grep . || echo 0
}

# now PID CGROUP: what the kernel counts, in us: the task's run_delay, the cgroup's throttled_usec,
# the time since boot, and the "some" of PSI.
now()
{
	awk '{ printf "%.0f ", $2 / 1000 }' "/proc/$1/schedstat"
	awk '$1 == "throttled_usec" { printf "%s ", $2 }' "$root/$2/cpu.stat"
	awk '{ printf "%.0f ", $1 * 1e6 }' /proc/uptime
	psi "$2" some
}

# ran PID: how often the task was dispatched.
ran()
{
	read -r _ _ runs <"/proc/$1/schedstat" && echo "$runs"
}

has_run()
{
	[ "$(ran "$1")" -gt "$2" ]
}

# all_run PID...: waits until each task has been dispatched again, so that waits that had begun are
# over.
all_run()
{
	for each; do
		until_true has_run "$each" "$(ran "$each")" || return
	done
}

# measure() runs this for SECONDS.
meanwhile='sleep'

# measure PID CGROUP SECONDS [PID]...: writes /tmp/pressure and /tmp/metrics, and notes what the
# kernel counted meanwhile for that task and cgroup: at least what it did in $within, and at most
# what it did in $around, as the machine may be slow between the two. The kernel counts a wait when
# it has ended, so at the ends of both times each of these tasks has just been dispatched.
measure()
{
	task=$1 group=$2 seconds=$3
	shift 3
	around=$(now "$task" "$group")
	all_run "$task" "$@" && echo 1 >$sampler/reset && all_run "$task" "$@" || return
	within=$(now "$task" "$group")
	$meanwhile "$seconds" || return
	within="$within $(now "$task" "$group")"
	all_run "$task" "$@" || return
	cat $sampler/pressure >/tmp/pressure
	cat $sampler/metrics >/tmp/metrics
	all_run "$task" "$@" || return
	around="$around $(now "$task" "$group")"
	sed -n -e 's/^/# /' -e '/total=0$/!p' /tmp/pressure | grep -v '^# $'
}

# kernel COLUMN: "LEAST MOST" by which that column of now() grew.
kernel()
{
	echo "$within $around" | awk -v i="$1" '{ print $(i + 4) - $i, $(i + 12) - $(i + 8) }'
}

# near WHAT GOT "LEAST MOST" PERMILLE US: GOT is from LEAST to MOST, give or take so many
# thousandths, and so many us.
near()
{
	awk -v what="$1" -v got="$2" -v right="$3" -v part="$4" -v slack="$5" 'BEGIN {
		split(right, bound, " ")
		least = bound[1]
		most = bound[2] == "" ? least : bound[2]
		printf "# %s: %.4f s, should be %.4f to %.4f s\n", what, got / 1e6, least / 1e6,
			most / 1e6
		exit !(got <= most * (1 + part / 1000) + slack &&
		       got >= least * (1 - part / 1000) - slack)
	}'
}

# throttled: what kernel() says about that. On a machine that stands still for seconds one of these
# times may be longer than an entry can say, and then the log has less.
throttled()
{
	if [ "$(awk '!/^#/ { n += $NF } END { print n }' $sampler/lines)" -gt 0 ]; then
		kernel 2 | awk '{ print 0, $2 }'
	else
		kernel 2
	fi
}

# held: "LEAST MOST" of the quota's share. The least is what the quota took. The most is all that
# the task waited, since a wait is the quota's until the task has the CPU (pmu-sched.rst), for which
# a busy host may take long. If tasks leave the queue meanwhile, run_delay lacks what the quota
# took.
held()
{
	echo "$(throttled) $(kernel 1)" | awk '{ print $1, ($4 > $2 ? $4 : $2) }'
}

# A task waits for its neighbour for half of the time, and the neighbour is named.
behind_neighbour()
{
	mkdir -p $root/web $root/hog && loop hog 1 && hog=$pid && loop web 1 && web=$pid &&
		measure "$web" web 2 &&
		near "some" "$(total some /web)" "$(kernel 1)" 5 2000 &&
		near "full" "$(total full /web)" "$(kernel 1)" 5 2000 &&
		near "behind neighbours" "$(total neighbours /web)" "$(kernel 1)" 10 2000 &&
		is "$(by /web | cut -d ' ' -f 2)" /hog &&
		near "behind /hog and the root" "$(with_root /web "$(by /web | cut -d ' ' -f 1)")" \
			"$(kernel 1)" 100 2000
}

# A cgroup has at least what each cgroup in it has. The root has no neighbours, except for time
# before the reset, whose cgroups are forgotten.
parent_has_both()
{
	[ "$(total some /)" -ge "$(total some /web)" ] &&
		[ "$(total own /)" -ge "$(total neighbours /web)" ] &&
		[ "$(total neighbours /)" -lt "$(($(total own /) / 10))" ]
}

# Of two tasks, one always has the CPU, and the other waits.
own_task()
{
	stop "$hog"
	loop web 1
	measure "$web" web 2
	near "of its own, or behind the root" "$(with_root /web "$(total own /web)")" \
		"$(total some /web)" 200 2000 &&
		near "by both" "$(total some /web)" "$(kernel 3)" 10 20000 &&
		[ "$(by /web | cut -d ' ' -f 2)" != /web ] || return
	stop "$pid"
}

was_throttled()
{
	[ "$(sed -n 's/^nr_throttled //p' $root/quota/cpu.stat)" -gt 5 ]
}

own_quota()
{
	stop "$web"
	mkdir -p $root/quota && echo 20000 100000 >$root/quota/cpu.max && loop quota 2 &&
		first=$pid && until_true was_throttled && measure "$pid" quota 2 &&
		near "held back by the quota" "$(total quota /quota)" "$(held)" 10 110000 || return
	[ "$(total quota /quota)" -gt "$(total neighbours /quota)" ] &&
		is "$(total own /quota)" 0
}

# The neighbour also has the CPU while the quota holds the task back, which is not the neighbour's
# fault.
both_at_once()
{
	loop hog 2 && hog=$pid && loop quota 2 && q=$pid && measure "$q" quota 2 || return
	# Of two tasks in the cgroup, one may wait while the other one has the CPU, or is held back.
	near "held back by the quota" "$(total quota /quota)" "$(held)" 20 220000 &&
		[ "$(total neighbours /quota)" -gt 30000 ] &&
		near "some but not full" "$(total own /quota)" \
			"$(($(total some /quota) - $(total full /quota)))" 0 1
}

# seconds CAUSE CGROUP: for how many us the cgroup's tasks waited for that reason, in sum.
seconds()
{
	sed -n "s|^kdtl_cgroup_tasks_seconds_total{cgroup=\"$2\",cause=\"$1\"} ||p" /tmp/metrics |
		awk '{ printf "%.0f\n", $1 * 1e6 }'
}

# Of three tasks that never sleep, two are in the queue when the quota runs out. Until then they
# waited for the third.
siblings()
{
	stop "$first" "$q" "$hog"
	mkdir -p $root/siblings && echo 80000 100000 >$root/siblings/cpu.max
	loop siblings 1 && one=$pid && loop siblings 1 && two=$pid && loop siblings 1 &&
		measure "$pid" siblings 4 "$one" "$two" || return
	quota=$(seconds quota /siblings)
	near "tasks' seconds that the quota took" "$quota" \
		"$(throttled | awk '{ print 3 * $1, 3 * $2 }')" 100 60000
	status=$?
	note "of their own: $(seconds own /siblings) us"
	stop "$one" "$two" "$pid"
	return $status
}

# Two cgroups in a third are neighbours of each other, but not of the third.
nested()
{
	mkdir -p $root/pod && echo +cpu >$root/pod/cgroup.subtree_control &&
		mkdir -p $root/pod/a $root/pod/b && loop pod/a 3 && a=$pid && loop pod/b 3 &&
		b=$pid && measure "$b" pod/b 2 &&
		near "behind its sister" "$(total neighbours /pod/b)" "$(kernel 1)" 10 2000 &&
		near "both, of their own, or behind the root" \
			"$(with_root /pod "$(total own /pod)")" "$(total some /pod)" 200 2000 &&
		is "$(by /pod/b | cut -d ' ' -f 2)" /pod/a
}

# PSI and kdtl count the same if a cgroup's tasks are on one CPU only. PSI also counts a wait that
# is not over.
as_psi()
{
	near "some, by PSI" "$(total some /pod/b)" "$(kernel 4)" 20 150000
}

# read_averages: prints the file, with the machine's time before and after.
read_averages()
{
	read -r up _ </proc/uptime
	echo "from $up"
	cat $sampler/pressure
	read -r up _ </proc/uptime
	echo "to $up"
}

# are_computed: there are two reads around a moment at which averages were computed, and two around
# the next one. Each new average is judged then: by PSI's formula it follows from the one before,
# the time between, and by how much the total grew; the reads bound all of these. If the machine is
# so slow that the bounds say little, the next moments may be better.
are_computed()
{
	read_averages >/tmp/read
	new=$(sed -n '/^cgroup \/pod\/b$/,/^$/s/^some avg10=\([^ ]*\) .*/\1/p' /tmp/read)
	if [ -z "$average" ] || [ "$new" = "$average" ]; then
		average=$new
		mv /tmp/read /tmp/read.before
		return 1
	fi
	average=$new
	moments=$((moments + 1))
	cat /tmp/moment /tmp/read.before /tmp/read >/tmp/moments
	cat /tmp/read.before /tmp/read >/tmp/moment
	mv /tmp/read /tmp/read.before
	judge_averages /tmp/moments >/tmp/judged
	judged=$?
	[ $judged -ne 2 ]
}

# judge_averages FILE: judges the averages of the last of four reads. 2: the reads say too little.
judge_averages()
{
	awk -v patience=$((moments < 10 ? moments : 9)) '
	function least(a, b) { return a < b ? a : b }
	function most(a, b) { return a > b ? a : b }
	function power(base, n) { return n > 0 ? base * power(base, n - 1) : 1 }
	function judge(key, s,   i, n, p, was, of, is, low, high) {
		for (i = 0; i < 4; i++) {
			# Per cent in the time between the inner reads, and between the outer ones.
			p = (total[3, key] - total[2, key]) / 1e4 / longest
			if (i % 2)
				p = (total[4, key] - total[1, key]) / 1e4 / shortest
			was = average[2, key, s] + (i % 2) / 100
			n = most(1, int((i < 2 ? shortest : longest) / 2))
			of = p + (was - p) * power(decay[s], n)
			# The decay has eleven bits, and a printed average two digits.
			of += (i % 2 ? 1 : -1) * (most(p - was, was - p) * n / 2048 + 0.02)
			low = i ? least(low, of) : of
			high = i ? most(high, of) : of
		}
		is = average[4, key, s]
		bad += is < low || is > high
		if (is < low || is > high || key == "/pod/b some")
			printf "# %s: avg%d %.2f, after %.2f s %.2f, should be %.2f to %.2f\n",
				key, s, average[2, key, s], longest, is, low, high
	}
	BEGIN {
		# e ^ (-2 / s); there is no exp() in a small awk.
		decay[10] = 0.818731
		decay[60] = 0.967216
		decay[300] = 0.993356
	}
	$1 == "from" { from[++r] = $2 }
	# The time is cut to two digits.
	$1 == "to" { to[r] = $2 + 0.01 }
	$1 == "cgroup" { path = $2 }
	$2 ~ /^avg10=/ {
		key = path " " $1
		for (i = 2; i < 5; i++) {
			split($i, part, "=")
			average[r, key, substr(part[1], 4)] = part[2]
		}
		total[r, key] = substr($5, 7)
		reads[key]++
	}
	END {
		# Between two reads that are 2 s apart there may be more than one moment.
		if (r < 4 || most(to[2] - from[1], to[4] - from[3]) > patience / 5)
			exit 2
		shortest = most(2, from[3] - to[2])
		longest = to[4] - from[1]
		for (key in reads)
			for (s = 10; reads[key] == 4 && s <= 300; s *= s == 10 ? 6 : 5)
				judge(key, s)
		exit bad != 0
	}' "$1"
}

# An average decays as PSI's does. Two cgroups wait for each other, for different times.
averages()
{
	average='' moments=0
	: >/tmp/moment
	echo 300 >$root/pod/a/cpu.weight && until_true are_computed
	cat /tmp/judged
	stop "$a" "$b"
	return "$judged"
}

# look ROW CGROUP: prints the row's total, with the machine's time before and after.
look()
{
	cut -d ' ' -f 1 /proc/uptime
	cat $sampler/pressure >/tmp/pressure
	total "$1" "$2"
	cut -d ' ' -f 1 /proc/uptime
}

# grows ROW CGROUP PID US: the row grows by US or more while the task is not dispatched, and by as
# much as time passes.
grows()
{
	nr=$(ran "$3")
	# shellcheck disable=SC2046 # several words
	set -- $(look "$1" "$2") $(sleep 0.2 && look "$1" "$2") "$3" "$4"
	[ $# -eq 8 ] && is "$(ran "$7")" "$nr" >/dev/null &&
		echo "$@" | awk '{
			grew = $5 - $2
			least = ($4 - $3) * 1e6 - 20000
			most = ($6 - $1) * 1e6 + 20000
			if (grew < $8)
				exit 1
			printf "# grew by %d us in %d to %d us\n", grew, least, most
			exit !(grew >= least && grew <= most)
		}'
}

# starve [PID]... | yield N: on CPU 1 a real-time task of /held has the CPU, and a task of /starved never
# gets it (held.c). The tasks join their cgroups before that: to join waits for RCU, which may wait for
# a thread of that CPU.
starve()
{
	mkdir -p $root/held $root/starved
	: >/tmp/holds
	background sh -c "echo \$\$ >$root/starved/cgroup.procs
		until grep -q holds /tmp/holds; do sleep 0.01; done
		exec taskset -c 1 sh -c 'while :; do :; done'"
	starved=$!
	until_true grep -q -x "$starved" $root/starved/cgroup.procs || return
	background sh -c "echo \$\$ >$root/held/cgroup.procs; exec $here/held 1 $*" >/tmp/holds
	held=$!
}

counts_before_end()
{
	starve && until_true grows neighbours /starved "$starved" 100000 &&
		is "$(by /starved | cut -d ' ' -f 2)" /held && until_true mostly_neighbours
}

# Nearly all of the wait is for neighbours. Before, the task may have waited for other reasons.
mostly_neighbours()
{
	cat $sampler/pressure >/tmp/pressure
	[ "$(total neighbours /starved)" -gt "$(($(total some /starved) * 9 / 10))" ]
}

# Time of the wait that was counted before its end is not counted again then.
counts_once()
{
	was=$(ran "$starved")
	before=$(look neighbours /starved | tr '\n' ' ')
	kill "$held"
	until_true has_run "$starved" "$was" || return
	kill "$starved"
	echo "$before $(look neighbours /starved | tr '\n' ' ')" | awk '{
		printf "# %d us before its end, %d after it, in %d us\n", $2, $5, ($6 - $1) * 1e6
		exit !($5 >= $2 && $5 - $2 <= ($6 - $1) * 1e6 + 20000)
	}'
}

# elsewhere_grew BEFORE AFTER LEAST MOST: the row of /starved grew by as much as passed from LEAST's
# first time to its second one, and no more than from MOST's first to its second.
elsewhere_grew()
{
	echo "$1 $2 $3 $4" | awk '{
		grew = $2 - $1
		least = ($4 - $3) * 1e6 - 20000
		most = ($6 - $5) * 1e6 + 20000
		printf "# %d us elsewhere, should be %d to %d us\n", grew, least, most
		exit !(grew >= least && grew <= most)
	}'
}

uptime()
{
	cut -d ' ' -f 1 /proc/uptime
}

# moves_to CPU: moves the task of /starved there, and says when: before and after.
moves_to()
{
	uptime
	taskset -cp "$1" "$starved" >/dev/null
	uptime
}

# runs_on CPU: moves the task of /starved to CPU, where it runs at once.
runs_on()
{
	was=$(ran "$starved")
	moved=$(moves_to "$1" | tr '\n' ' ')
	until_true has_run "$starved" "$was"
}

# Time that was counted in one CPU's queue is not counted again when the wait ends in another one's,
# and time that was not is counted then. Only reads of the file make the sampler look.
counts_once_moved()
{
	: >/tmp/holds2
	starve && echo 3600000 >$period && until_true grows neighbours /starved "$starved" 100000 ||
		return
	background "$here/held" 2 >/tmp/holds2
	second=$!
	until_true grep -q holds /tmp/holds2 || return
	# shellcheck disable=SC2046 # several words
	set -- $(look elsewhere /starved) $(sleep 0.3) $(moves_to 2)
	until_true grows neighbours /starved "$starved" 100000 || return
	was=$(ran "$starved")
	kill "$second"
	until_true has_run "$starved" "$was" || return
	elsewhere_grew "$2" "$(look elsewhere /starved | sed -n 2p)" "$3 $4" "$1 $5"
}

# What was counted of the wait before is not taken from the next one, of which nothing was.
counts_next_whole()
{
	before=$(look elsewhere /starved | sed -n 2p)
	since=$(moves_to 1 | tr '\n' ' ')
	sleep 0.3
	runs_on 2 || return
	# shellcheck disable=SC2086 # several words
	set -- $since $moved
	elsewhere_grew "$before" "$(look elsewhere /starved | sed -n 2p)" "$2 $3" "$1 $4"
}

# Nor is what was counted before a reset taken from the wait that goes on then.
counts_whole_after_reset()
{
	since=$(moves_to 1 | tr '\n' ' ')
	until_true grows neighbours /starved "$starved" 100000 && echo 1 >$sampler/reset &&
		runs_on 2 || return
	# shellcheck disable=SC2086 # several words
	set -- $since $moved
	elsewhere_grew 0 "$(look elsewhere /starved | sed -n 2p)" "$2 $3" "$1 $4"
	set -- $?
	echo 100 >$period
	stop "$held" "$starved"
	return "$1"
}

waits_on_first()
{
	[ "$(cut -d ' ' -f 3,39 "/proc/$starved/stat")" = 'R 1' ]
}

# While nothing is logged, the task of the last entry leaves the CPU, and another one gets it. Who
# had it then is not known.
stopped_is_unknown()
{
	loop hog 1 && hog=$pid && echo 1 >$sampler/reset && echo 0 >$sampler/running &&
		taskset -cp 0 "$hog" >/dev/null && starve && until_true waits_on_first || return
	was=$(ran "$starved")
	sleep 0.2
	echo 1 >$sampler/running
	kill "$held"
	until_true has_run "$starved" "$was" || return
	stop "$starved" "$hog"
	cat $sampler/pressure >/tmp/pressure
	note "$(total unknown /starved) us are not known, $(behind /hog) us behind /hog"
	[ "$(total unknown /starved)" -gt "$(behind /hog)" ]
}

# While a task waits in another CPU's queue, the last CPU is offline, and then gets that task.  The
# wait is that of the other queue: cpuhp/N, a task of the root's, did not have the last CPU then. The
# sampler gets no CPU meanwhile, or it would have counted the wait before its end. To bring a CPU
# online waits for RCU, and that for threads of CPU 1. They get a priority above that of the task that
# has it, and keep it, so no row follows.
offline_is_nobodys()
{
	reader=$(pid_of kdtl_sampler)
	# shellcheck disable=SC2046 # a word, or none
	echo 1 >$sampler/reset && echo 0 >"$online" && starve $(pid_of ksoftirqd/1) $(pid_of rcuc/1) &&
		until_true waits_on_first && taskset -cp 1 "$reader" >/dev/null &&
		was=$(ran "$starved") && sleep 1 && bring_back "$last" &&
		taskset -cp "$last" "$starved" >/dev/null && until_true has_run "$starved" "$was"
	set -- $?
	stop "$held" "$starved"
	taskset -p f "$reader" >/dev/null
	cat $sampler/pressure >/tmp/pressure
	note "$(total elsewhere /starved) us elsewhere, by the root $(total elsewhere /) us"
	[ "$1" -eq 0 ] && [ "$(total elsewhere /starved)" -gt 800000 ] &&
		[ "$(total elsewhere /)" -gt "$(($(total elsewhere /starved) * 8 / 10))" ] && return
	cat /tmp/pressure
	return 1
}

# lost CPU: how many of its entries were lost.
lost()
{
	awk -v cpu="$1" '$1 == cpu { print $5 }' $sampler/lines
}

# While the sampler's thread gets no CPU, two real-time tasks pass theirs to each other more often than
# the area has room for, which is for an odd number of entries: the last one that is not lost is of the
# task that has the CPU in the end. Yet who had it in between is not known, nor since when that task
# has it, until its next entry.
lost_is_unknown()
{
	reader=$(pid_of kdtl_sampler) && all=$(cat /sys/devices/system/cpu/online) &&
		starve yield 8192 && until_true grows neighbours /starved "$starved" 100000 || return
	before=$(lost 1)
	taskset -cp 1 "$reader" >/dev/null && kill -USR1 "$held" &&
		until_true grep -q passed /tmp/holds
	status=$?
	read -r from _ </proc/uptime
	sleep 0.2
	read -r to _ </proc/uptime
	# A CPU that it may stay on would keep it.
	taskset -cp 0 "$reader" >/dev/null
	taskset -cp "$all" "$reader" >/dev/null
	[ $status -eq 0 ] || return
	was=$(total unknown /starved) && cat $sampler/pressure >/tmp/pressure || return
	note "$(($(lost 1) - before)) entries were lost"
	[ "$(lost 1)" -gt "$before" ] &&
		echo "$from $to $was $(total unknown /starved)" | awk '{
			printf "# %d us are not known, of which the tasks had passed %d us ago\n",
				$4 - $3, ($2 - $1) * 1e6
			exit $4 - $3 < ($2 - $1) * 1e6 - 20000
		}'
	status=$?
	stop "$held" "$starved"
	return $status
}

# Between two looks, the task that has the CPU moves to another cgroup, and stays there for longer
# than it took. What it was in the middle of that time is to blame. 2: there was another look, as
# both cgroups are.
blames_middle()
{
	echo "$held" >$root/held/cgroup.procs
	read -r from _ </proc/uptime
	cat $sampler/pressure >/tmp/pressure
	was="$(behind /held) $(behind /moved)"
	echo "$held" >$root/moved/cgroup.procs
	read -r to _ </proc/uptime
	sleep "$(echo "$from $to" | awk '{ print $2 - $1 + 0.2 }')"
	cat $sampler/pressure >/tmp/pressure
	echo "$was $(behind /held) $(behind /moved)" | awk '{
		printf "# behind /held %d us, behind /moved %d us\n", $3 - $1, $4 - $2
		exit $3 - $1 < 1000 ? 0 : $4 - $2 < 1000 ? 1 : 2
	}'
}

# The sampler looks when a file is read, and at times when it has much to read: then it is tried
# again. If it always does, nothing is known. With favordynmods, a move does not wait for RCU.
moved_with_cpu()
{
	mkdir -p $root/moved && mount -o remount,favordynmods $root && starve &&
		echo 3600000 >$period && until_true grows neighbours /starved "$starved" 100000 ||
		return
	for _ in $(seq 20); do
		status=0
		blames_middle || status=$?
		[ $status -eq 2 ] || break
	done
	echo 100 >$period
	stop "$held" "$starved"
	return "$status"
}

# The quota is a millisecond in each second.
counts_limit_before_end()
{
	mkdir -p $root/meagre && echo 1000 1000000 >$root/meagre/cpu.max && loop meagre 2 &&
		until_true grows quota /meagre "$pid" 100000 && stop "$pid"
}

# rob SECONDS: a hypervisor has CPU 1 for half of the time. /tmp/stolen says for each theft which
# task had the CPU, and how many ns were stolen.
rob()
{
	cpu=1
	[ "$cpu" -lt "$(nproc)" ] || cpu=0
	: >/tmp/stolen
	for _ in $(seq $(($1 * 10))); do
		echo "steal $cpu 50" >$fake/do && cat $fake/stolen >>/tmp/stolen && sleep 0.05 ||
			return
	done
}

# stolen PID: for how many us the hypervisor had the CPU, except for what it took from that task.
stolen()
{
	awk -v pid="$1" '$1 != pid { n += $2 } END { printf "%.0f\n", n / 1000 }' /tmp/stolen
}

# exactly CGROUP PID: the hypervisor's share is the time it had the CPU while that task wanted it.
# Each theft was in the middle of a task's turn, so none is cut.
exactly()
{
	got=$(total hypervisor "$1") right=$(stolen "$2")
	note "the hypervisor's share of $1: $got us, $((got - right)) more than it had"
	[ "$right" -gt 0 ] && [ $((got - right)) -le 5 ] && [ $((right - got)) -le 5 ]
}

# When the hypervisor takes the CPU from one of two tasks, the other task waits for the hypervisor,
# and one of the two always waits. The kernel also counts that in run_delay.
known_steal()
{
	unload kdtl_sampler && load kdtl_fake_pmu && load kdtl_fake_drive &&
		load kdtl_sampler pmu=kdtl_sched steal=kdtl_fake || return
	loop hog 1 && hog=$pid && loop web 1 && web=$pid || return
	meanwhile=rob
	measure "$web" web 2 "$hog"
	status=$?
	meanwhile='sleep'
	[ $status -eq 0 ] || return
	waited=$(kernel 1 | awk -v stolen="$(stolen "$web")" '{ print $1 - stolen, $2 - stolen }')
	exactly /web "$web" && exactly /hog "$hog" && exactly / 0 &&
		near "some" "$(total some /web)" "$(kernel 1)" 5 2000 &&
		near "behind neighbours" "$(total neighbours /web)" "$waited" 10 2000 &&
		near "behind /hog and the root" "$(with_root /web "$(by /web | cut -d ' ' -f 1)")" \
			"$waited" 100 2000 || return
	stop "$hog" "$web"
}

need kdtl kdtl_sched
need_modules kdtl_sampler
mount_cgroups $root || skip_all "no cgroups with the controller cpu"

# The rows of deep/lib/pressure-guest.sh use these functions.
[ "${0##*/}" = pressure.sh ] || return 0

plan 21
ok "the sampler loads" load kdtl_sampler pmu=kdtl_sched
ok "a wait behind a neighbour has that cause, and the neighbour its name" behind_neighbour
ok "a cgroup has what those in it have" parent_has_both
ok "a wait behind a task of the same cgroup is its own" own_task
ok "a quota is the cgroup's own limit" own_quota
ok "a quota and a neighbour at once are told apart" both_at_once
ok "what a task waited in the queue before the quota ran out is told apart" siblings
ok "in a cgroup, two of its cgroups are neighbours" nested
if [ "$(psi pod/b some 2>/dev/null)" -gt 0 ]; then
	ok "PSI says the same" as_psi
else
	skip "PSI says the same" "this kernel has no PSI of cgroups"
fi
ok "the averages follow" averages
if [ "$(nproc)" -gt 1 ]; then
	can_starve 1
	ok "a wait counts before it ends" counts_before_end
	ok "and once only when it has ended" counts_once
	ok "who had the CPU while nothing was logged is not known" stopped_is_unknown
	ok "nor is it when entries were lost" lost_is_unknown
	ok "a task that moves while it has the CPU is blamed as what it is then" moved_with_cpu
else
	for row in "a wait counts before it ends" "and once only when it has ended" \
		"who had the CPU while nothing was logged is not known" \
		"nor is it when entries were lost" \
		"a task that moves while it has the CPU is blamed as what it is then"; do
		skip "$row" "a real-time task would have the only CPU"
	done
fi
if [ "$(nproc)" -gt 2 ]; then
	ok "a wait that is moved meanwhile counts once, too" counts_once_moved
	ok "and the next one of its task counts, too" counts_next_whole
	ok "and one that goes on during a reset" counts_whole_after_reset
else
	for row in "a wait that is moved meanwhile counts once, too" \
		"and the next one of its task counts, too" \
		"and one that goes on during a reset"; do
		skip "$row" "needs three CPUs"
	done
fi
ok "so does the time for which a limit holds a task back" counts_limit_before_end
if have_module kdtl_fake_drive; then
	ok "the hypervisor's share of a wait is no cgroup's" known_steal
else
	skip "the hypervisor's share of a wait is no cgroup's" \
		"no module kdtl_fake_drive"
fi
last_cpu
if [ $last -gt 1 ] && [ -e "$online" ]; then
	ok "while a CPU is offline, it is not the root's" offline_is_nobodys
else
	skip "while a CPU is offline, it is not the root's" "no third CPU that can be taken offline"
fi
finish
