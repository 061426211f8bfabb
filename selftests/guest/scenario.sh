#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests what each client says about one load: a service that writes down its waits, a
# real-time hog, two containers, a quota, a task of a millisecond, a pid that is used
# again, a move between cgroups (scenario_load.c).
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

debug=/sys/kernel/debug
tracing=/sys/kernel/tracing
root=/tmp/kdtl-scenario
truth=/tmp/kdtl-truth
events=/tmp/kdtl-events

# truth WHAT FIELD: what the load wrote down.
truth()
{
	awk -v what="$1" -v field="$2" '$1 == what { print $field }' $truth
}

load_did()
{
	"$dir/scenario_load" $root >$truth
	set -- $?
	sed 's/^/# /' $truth
	return "$1"
}

# fits NS: NS is at least as long as the hog's loop, and at most as long as the service was late.
# The hog also had the CPU to start and to exit, and the service's timer may be late.
fits()
{
	awk -v got="$1" -v least="$(truth hog 3)" -v most="$(truth service 5)" 'BEGIN {
		exit !(got > least * 0.95 && got < most * 1.05)
	}' && return
	note "$1, should be from $(truth hog 3) to $(truth service 5)"
	return 1
}

is_traced()
{
	grep '\[kdtl_trace\]' $debug/kdtl/sessions | grep -v behind_begin | grep -q ' started '
}

# The clients look every 100 ms.
settled()
{
	grep -q "pid=$(awk '$5 == "kdtl_moved" { print $4 }' $truth) .*path=/kdtl_batch" \
		$tracing/trace
}

# ------------------------------------------------------------------------- watch

# Prints the line about the service's worst wait.
service_line()
{
	log | grep "kdtl_watch: CPU 1: kdtl_service:$(truth service 2) (/kdtl_web) waited" |
		tail -n 1
}

watch_names_waiter()
{
	waited=$(service_line | sed 's/.* waited \([0-9]*\) ms.*/\1/')
	[ -n "$waited" ] && fits "${waited}000000"
}

watch_names_culprit()
{
	held=$(service_line |
		sed -n "s/.* behind .*kdtl_hog:$(truth hog 2) (\/kdtl_batch) \([0-9]*\) ms.*/\1/p")
	[ -n "$held" ] && fits "${held}000000"
}

watch_knows_quota()
{
	! log | grep -q "kdtl_watch: .*kdtl_quota"
}

# ---------------------------------------------------------------------- recorder

recorder_covers()
{
	log | grep "kdtl_recorder: CPU 1 from .*kdtl_hog:$(truth hog 2) (/kdtl_batch) [0-9]* ms" >/dev/null &&
		log | grep "kdtl_recorder: .* kdtl_hog:$(truth hog 2) .*" >/dev/null
}

# ----------------------------------------------------------------------- sampler

# metric NAME CGROUP: its value in ns.
metric()
{
	name="kdtl_cgroup_$1{cgroup=\"/$2\"}" awk '
		index($0, ENVIRON["name"] " ") == 1 { printf "%.0f\n", $NF * 1e9 }' \
		$debug/kdtl_sampler/metrics
}

# cause CAUSE CGROUP: for how many ns the cgroup waited for that reason.
cause()
{
	name="kdtl_cgroup_pressure_seconds_total{cgroup=\"/$2\",cause=\"$1\"}" awk '
		index($0, ENVIRON["name"] " ") == 1 { printf "%.0f\n", $NF * 1e9 }' \
		$debug/kdtl_sampler/metrics
}

sampler_blames()
{
	behind=$(cause neighbours kdtl_web)
	# Other cgroups may also have waited behind the hog.
	culprit=$(metric culprit_seconds_total kdtl_batch)
	note "behind others for $behind ns; others behind /kdtl_batch for $culprit ns"
	awk -v behind="$behind" -v least="$(truth hog 3)" -v sum="$(truth service 4)" \
		-v culprit="$culprit" 'BEGIN {
		exit !(behind > least * 0.95 && behind < sum * 1.05 && culprit > least * 0.95)
	}'
}

sampler_longest()
{
	fits "$(metric wait_max_seconds kdtl_web)"
}

sampler_quota()
{
	throttled=$(metric throttled_seconds_total kdtl_quota)
	note "throttled for $throttled ns, the quota's pressure $(cause quota kdtl_quota) ns"
	awk -v throttled="$throttled" -v least="$(truth quota 3)" -v most="$(truth quota 4)" '
		BEGIN { exit !(throttled > least * 0.95 && throttled < most * 1.05) }' &&
		awk -v quota="$(cause quota kdtl_quota)" -v least="$(truth quota 3)" \
			-v most="$(truth quota 4)" '
		BEGIN { exit !(quota > least * 0.95 && quota < most * 1.05) }' &&
		[ "$(metric culprit_seconds_total kdtl_quota)" -lt "$(truth quota 5)" ]
}

# ------------------------------------------------------------------------- trace

# The event of the service's worst wait has its length, the culprit, and the time of that.
trace_blames()
{
	sed -n "s/.* pid=$(truth service 2) .* wait=\([0-9]*\).* path=\/kdtl_web culprit=\([0-9]*\) culprit_comm=\([^ ]*\) culprit_ns=\([0-9]*\).*/\1 \2 \3 \4/p" \
		$events | sort -n | tail -n 1 >$events.worst
	read -r wait culprit comm ns <$events.worst || return
	note "the worst wait: $wait ns, behind $comm:$culprit $ns ns"
	fits "$wait" && is "$culprit" "$(truth hog 2)" &&
		is "$comm" kdtl_hog && fits "$ns"
}

# trace_knows NR: at its time, task NR of the load has the name and the cgroup that it had.
trace_knows()
{
	sed -n 's/.* comm=\([^ ]*\) pid=\([0-9]*\) .* mono=\([0-9]*\) .* path=\([^ ]*\) culprit=.*/\2 \3 \1 \4/p' \
		$events | awk -v nr="$1" '
		NR == FNR {
			if ($1 == "task" && ++n == nr) {
				from = $2 + 0; to = $3 + 0; pid = $4; comm = $5; path = $6
			}
			next
		}
		$1 == pid && !to {
			seen += $3 == comm && $4 == path
			next
		}
		$1 == pid && $2 + 0 >= from && $2 + 0 <= to {
			seen++
			if ($3 != comm || $4 != path) {
				print "# " $0 ", should be " comm " in " path
				wrong++
			}
		}
		END {
			if (!seen)
				print "# no dispatch of " comm
			exit !seen || wrong
		}' $truth -
}

# ------------------------------------- a program that begins while its task has the CPU

watch_blames_begun()
{
	log | grep "kdtl_watch: CPU 1: kdtl_waiter:.* waited .*kdtl_begun:[0-9]* (/kdtl_begun) [0-9]* ms" >/dev/null
}

# A program joins its cgroup and takes its name when it already has the CPU, as one does
# that a container's runtime or chrt(1) starts.
begun()
{
	mkdir -p $root/kdtl_begun
	# The rate of lines is limited, so load a watch anew, which has printed none.
	unload kdtl_watch && load kdtl_watch threshold_ms=200 pause_s=0 || return
	background "$dir/alarms_test" wait kdtl_waiter 1 200 >/tmp/kdtl-waiter
	until_true is_named kdtl_waiter &&
		"$dir/alarms_test" hog kdtl_begun 1 600 $root/kdtl_begun/cgroup.procs >/tmp/kdtl-begun &&
		until_true watch_blames_begun
}

table_blames_begun()
{
	log | grep 'kdtl_recorder: CPU 1 from .*kdtl_begun:[0-9]* (/kdtl_begun) [0-9]* ms' >/dev/null
}

recorder_blames_begun()
{
	until_true table_blames_begun
}

sampler_blames_begun()
{
	# The waiter is in the root cgroup, for which all tasks are its own: the hog is no
	# neighbour.
	own=$(cause own '')
	note "the root behind its own for $own ns"
	[ "$own" -gt "$(awk '{ print $1 * 950000 }' /tmp/kdtl-begun)" ]
}

# The lower half of a cgroup's id is the inode number in any kernel.
trace_names_begun()
{
	sed -n 's/.* comm=kdtl_waiter .* wait=[0-9]\{9\} .* culprit_comm=kdtl_begun .* culprit_cgroup=\([0-9]*\).*/\1/p' \
		$tracing/trace | awk '{ print $1 % 4294967296 }' |
		grep -q "^$(stat -c %i $root/kdtl_begun)$"
}

trace_blames_begun()
{
	until_true trace_names_begun
}

[ -x "$dir/scenario_load" ] || skip_all "no scenario_load"
[ -x "$dir/alarms_test" ] || skip_all "no alarms_test"
[ "$(nproc)" -gt 2 ] || skip_all "fewer than three CPUs"
need_modules kdtl_watch kdtl_recorder kdtl_sampler kdtl_trace
need_tracing
mkdir -p $root
mount -t cgroup2 none $root || skip_all "no cgroups"
grep -q '\<cpu\>' $root/cgroup.controllers || skip_all "no cgroups with the controller cpu"

need kdtl kdtl_sched
plan 18
load kdtl_recorder ms=50 || bail_out "kdtl_recorder does not load"
load kdtl_watch threshold_ms=200 || bail_out "kdtl_watch does not load"
load kdtl_sampler || bail_out "kdtl_sampler does not load"
load kdtl_trace || bail_out "kdtl_trace does not load"
echo 8192 >$tracing/buffer_size_kb
echo >$tracing/trace
echo 1 >$tracing/events/kdtl/kdtl_dispatch/enable
until_true is_traced
forget_log
ok "the load runs" load_did
[ "$ktap_failed" -eq 0 ] || bail_out "no load, no answers"
ok "the last of its dispatches is traced" until_true settled
ok "watch: a program that began while it had the CPU" begun
ok "recorder: that program" recorder_blames_begun
ok "sampler: its cgroup" sampler_blames_begun
ok "trace: both" trace_blames_begun
echo 0 >$tracing/events/kdtl/kdtl_dispatch/enable
cp $tracing/trace $events

ok "watch: the service waited, as long as it says" watch_names_waiter
ok "watch: behind the hog, for as long as that says" watch_names_culprit
ok "watch: a quota is no wait" watch_knows_quota
ok "recorder: the table names the hog, and covers its time" recorder_covers
ok "sampler: /kdtl_web waited behind /kdtl_batch" sampler_blames
ok "sampler: the longest wait is the service's" sampler_longest
ok "sampler: /kdtl_quota was throttled, and is nobody's culprit" sampler_quota
ok "trace: the worst wait, and behind whom" trace_blames
ok "trace: a task of a millisecond" trace_knows 1
ok "trace: the first task of a pid" trace_knows 2
ok "trace: the second task of that pid" trace_knows 3
both_places()
{
	trace_knows 4 && trace_knows 5
}
ok "trace: a task before and after it moved" both_places
finish
