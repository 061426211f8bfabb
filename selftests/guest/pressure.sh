#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Pressure by cause of real tasks, compared with what the kernel counts in other ways: run_delay
# of each task, cpu.stat, and PSI where the kernel has it; and with what the load itself says.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

sampler=/sys/kernel/debug/kdtl_sampler
root=/tmp/kdtl-pressure

# loop CGROUP CPU: a task that computes there for ever; $pid is its pid. A machine that counts
# instructions has only one CPU.
loop()
{
	cpu=$2
	[ "$cpu" -lt "$(nproc)" ] || cpu=0
	background taskset -c "$cpu" sh -c "echo \$\$ >$root/$1/cgroup.procs; while :; do :; done"
	pid=$!
}

# total ROW CGROUP: us, as the file says.
total()
{
	awk -v row="$1" -v path="$2" '
		$1 == "cgroup" { inside = substr($0, 8) == path }
		inside && $1 == row && row != "behind" {
			sub(/.*total=/, "")
			print
		}' /tmp/pressure
}

# by CGROUP: "us neighbour", the one that it waited for most.
by()
{
	awk -v path="$1" '
		$1 == "cgroup" { inside = substr($0, 8) == path }
		inside && $1 == "behind" { sub(/total=/, "", $2); print $2, $3 }' \
		/tmp/pressure | sort -rn | head -n 1
}

# psi CGROUP ROW: us; 0 if the kernel has none of this cgroup.
psi()
{
	sed -n "s/^$2 .*total=//p" "$root/$1/cpu.pressure" 2>/dev/null | grep . || echo 0
}

# now PID CGROUP: what the kernel counts, in us: the task's run_delay, the cgroup's throttled_usec
# and the "some" of PSI.
now()
{
	awk '{ printf "%.0f ", $2 / 1000 }' "/proc/$1/schedstat"
	awk '$1 == "throttled_usec" { printf "%s ", $2 }' "$root/$2/cpu.stat"
	psi "$2" some
}

# measure PID CGROUP SECONDS: /tmp/pressure, and what the kernel counted meanwhile: at least what it
# did in the time within, and at most in the time around, as the machine may be slow between the two.
measure()
{
	around=$(now "$1" "$2")
	echo 1 >$sampler/reset
	within=$(now "$1" "$2")
	sleep "$3"
	within="$within $(now "$1" "$2")"
	cat $sampler/pressure >/tmp/pressure
	around="$around $(now "$1" "$2")"
	sed -n -e 's/^/# /' -e '/total=0$/!p' /tmp/pressure | grep -v '^# $'
}

# kernel COLUMN: "LEAST MOST" of what now() said.
kernel()
{
	echo "$within $around" | awk -v i="$1" '{ print $(i + 3) - $i, $(i + 9) - $(i + 6) }'
}

# near WHAT GOT "LEAST MOST" PERMILLE US: the difference is no more than that part of it, and so many
# us.
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

# throttled: what kernel() says of that. On a machine that stands still for seconds one of these
# times may be longer than an entry can say, and then the log has less.
throttled()
{
	if [ "$(awk '!/^#/ { n += $NF } END { print n }' $sampler/lines)" -gt 0 ]; then
		kernel 2 | awk '{ print 0, $2 }'
	else
		kernel 2
	fi
}

# Half of the time a task waits for its neighbour, which is named.
behind_neighbour()
{
	mkdir -p $root/web $root/hog && loop hog 1 && hog=$pid && loop web 1 && web=$pid &&
		measure "$web" web 2 &&
		near "some" "$(total some /web)" "$(kernel 1)" 5 2000 &&
		near "full" "$(total full /web)" "$(kernel 1)" 5 2000 &&
		near "behind neighbours" "$(total neighbours /web)" "$(kernel 1)" 10 2000 &&
		is "$(by /web | cut -d ' ' -f 2)" /hog &&
		near "behind /hog" "$(by /web | cut -d ' ' -f 1)" "$(kernel 1)" 100 2000
}

# What a cgroup has, that around it has at least. The root has no neighbours, but for the time before
# the reset, whose cgroups are forgotten.
parent_has_both()
{
	[ "$(total some /)" -ge "$(total some /web)" ] &&
		[ "$(total own /)" -ge "$(total neighbours /web)" ] &&
		[ "$(total neighbours /)" -lt "$(($(total own /) / 10))" ]
}

# Of two tasks one always has the CPU, and the other one waits.
own_task()
{
	kill "$hog"
	loop web 1
	measure "$web" web 2
	near "of its own" "$(total own /web)" "$(total some /web)" 200 2000 &&
		near "by both" "$(total some /web)" "$(kernel 1 | awk '{ print $1, 2.5 * $2 }')" 10 2000 &&
		[ "$(by /web | cut -d ' ' -f 2)" != /web ] || return
	kill "$pid"
}

was_throttled()
{
	[ "$(sed -n 's/^nr_throttled //p' $root/quota/cpu.stat)" -gt 5 ]
}

# The time of those that are held back first counts until they have the CPU (pmu-sched.rst).
own_quota()
{
	kill "$web"
	mkdir -p $root/quota && echo 20000 100000 >$root/quota/cpu.max && loop quota 2 &&
		until_true was_throttled && measure "$pid" quota 2 &&
		near "held back by the quota" "$(total quota /quota)" "$(throttled)" 10 110000 || return
	[ "$(total quota /quota)" -gt "$(total neighbours /quota)" ] &&
		is "$(total own /quota)" 0
}

# The neighbour has the CPU also while the quota holds the task back, which is not its fault.
both_at_once()
{
	loop hog 2 && hog=$pid && loop quota 2 && q=$pid && measure "$q" quota 2 || return
	# Of two tasks in the cgroup, one may wait while the other one has the CPU, or is held back.
	near "held back by the quota" "$(total quota /quota)" "$(throttled)" 20 220000 &&
		[ "$(total neighbours /quota)" -gt 30000 ] &&
		near "some but not full" "$(total own /quota)" \
			"$(($(total some /quota) - $(total full /quota)))" 0 1
}

# seconds CAUSE CGROUP: of its tasks, in us.
seconds()
{
	sed -n "s|^kdtl_cgroup_tasks_seconds_total{cgroup=\"$2\",cause=\"$1\"} ||p" $sampler/metrics |
		awk '{ printf "%.0f\n", $1 * 1e6 }'
}

# Of three tasks that never sleep, two are in the queue when the quota runs out. Until then they
# waited for the third.
siblings()
{
	kill "$q" "$hog"
	mkdir -p $root/siblings && echo 80000 100000 >$root/siblings/cpu.max
	loop siblings 1 && one=$pid && loop siblings 1 && two=$pid && loop siblings 1 &&
		measure "$pid" siblings 4 || return
	quota=$(seconds quota /siblings)
	near "tasks' seconds that the quota took" "$quota" \
		"$(throttled | awk '{ print 3 * $1, 3 * $2 }')" 100 60000
	status=$?
	note "of their own: $(seconds own /siblings) us"
	kill "$one" "$two" "$pid"
	return $status
}

# Of two cgroups in a third, one is the other's neighbour, but not that of the third.
nested()
{
	mkdir -p $root/pod && echo +cpu >$root/pod/cgroup.subtree_control &&
		mkdir -p $root/pod/a $root/pod/b && loop pod/a 3 && loop pod/b 3 && b=$pid &&
		measure "$b" pod/b 2 &&
		near "behind its sister" "$(total neighbours /pod/b)" "$(kernel 1)" 10 2000 &&
		near "both, of their own" "$(total own /pod)" "$(total some /pod)" 200 2000 &&
		is "$(by /pod/b | cut -d ' ' -f 2)" /pod/a
}

# PSI and kdtl count the same, where a CPU is the only one that a cgroup's tasks are on. PSI counts
# a wait that is not over, too.
as_psi()
{
	near "some, by PSI" "$(total some /pod/b)" "$(kernel 3)" 20 150000
}

# An average follows the time, as PSI's does.
averages()
{
	sed -n '/^cgroup \/pod\/b$/,/^$/s/^neighbours avg10=\([0-9.]*\) .*/\1/p' /tmp/pressure |
		awk '{ print "# avg10: " $1; exit !($1 > 2 && $1 < 60) }'
}

# ran PID: how often it was dispatched.
ran()
{
	cut -d ' ' -f 3 "/proc/$1/schedstat"
}

# look ROW CGROUP: the machine's time before and after, and the row between.
look()
{
	cut -d ' ' -f 1 /proc/uptime
	cat $sampler/pressure >/tmp/pressure
	total "$1" "$2"
	cut -d ' ' -f 1 /proc/uptime
}

# grows ROW CGROUP PID US: the row grows by so much while the task is not dispatched, and by as much
# as time passes.
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

# A real-time task has the CPU, and the other one never gets it.
counts_before_end()
{
	mkdir -p $root/held $root/starved
	background sh -c "echo \$\$ >$root/held/cgroup.procs; exec $here/held 1" >/tmp/holds
	held=$!
	until_true grep -q holds /tmp/holds || return
	background sh -c "echo \$\$ >$root/starved/cgroup.procs
		exec taskset -c 1 sh -c 'while :; do :; done'"
	starved=$!
	until_true grows neighbours /starved "$starved" 100000 &&
		is "$(by /starved | cut -d ' ' -f 2)" /held &&
		[ "$(total neighbours /starved)" -gt "$(($(total some /starved) * 9 / 10))" ]
}

# What was counted of the wait is not counted again when it ends.
counts_once()
{
	was=$(ran "$starved")
	before=$(look neighbours /starved | tr '\n' ' ')
	kill "$held"
	until_true has_run || return
	kill "$starved"
	echo "$before $(look neighbours /starved | tr '\n' ' ')" | awk '{
		printf "# %d us before its end, %d after it, in %d us\n", $2, $5, ($6 - $1) * 1e6
		exit !($5 >= $2 && $5 - $2 <= ($6 - $1) * 1e6 + 20000)
	}'
}

has_run()
{
	[ "$(ran "$starved")" -gt "$was" ]
}

# A quota of a millisecond in each second.
counts_limit_before_end()
{
	mkdir -p $root/meagre && echo 1000 1000000 >$root/meagre/cpu.max && loop meagre 2 &&
		until_true grows quota /meagre "$pid" 100000
}

need kdtl kdtl_sched
need_modules kdtl_sampler
mount_cgroups $root || skip_all "no cgroups with the controller cpu"

plan 13
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
else
	skip "a wait counts before it ends" "a real-time task would have the only CPU"
	skip "and once only when it has ended" "a real-time task would have the only CPU"
fi
ok "so does the time for which a limit holds a task back" counts_limit_before_end
finish
