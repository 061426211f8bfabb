#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, beside guest/pressure.sh, whose functions it uses: tasks of all kinds want the
# CPUs at once (pressure_load.c), however many CPUs there are. How much figures may differ depends
# on how late a busy host lets tasks run.
#
# shellcheck disable=SC2154,SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=../../guest/pressure.sh
. "$here/pressure.sh"

# of CGROUP COLUMN: prints the sum of a column over the tasks of a cgroup and of those below it.
of()
{
	awk -v path="$1" -v column="$2" '
		$1 == "task" && index($2 "/", path "/") == 1 { sum += $column }
		END { printf "%.0f\n", sum }' /tmp/load
}

# said WHAT: prints a figure of the load, in us.
said()
{
	sed -n "s/^$1 //p" /tmp/load
}

# to WHAT LEAST GOT MOST RUNS: GOT must be from LEAST to MOST, in us. The kernel looks at its clock
# at the beginning of a switch, and kdtl when the next task is known, so each end of a run may
# differ by the time that a switch takes.
to()
{
	awk -v what="$1" -v least="$2" -v got="$3" -v most="$4" \
		-v slack="$((2 * $5 * $(said switch)))" '
		BEGIN {
			printf "# %s: %.4f s, should be %.4f to %.4f s, give or take %.4f s\n", what,
				got / 1e6, least / 1e6, most / 1e6, slack / 1e6
			exit !(got >= least - slack && got <= most + slack)
		}'
}

# all_seconds CGROUP: prints how long its tasks waited, for all causes together, in us.
all_seconds()
{
	sed -n "s|^kdtl_cgroup_tasks_seconds_total{cgroup=\"$1\",.*} ||p" /tmp/metrics |
		awk '{ us += $1 * 1e6 } END { printf "%.0f\n", us }'
}

throttled_usec()
{
	sed -n 's/^throttled_usec //p' "$root/$1/cpu.stat"
}

# All tasks begin after the reset and end before the files are read, so no wait is cut off. The
# cgroups are new, so the kernel has not counted anything in them yet.
run_free()
{
	[ ! -d $root/mixed ] || rmdir $root/mixed/quota $root/mixed/free $root/mixed $root/other \
		$root/fifo $root/deadline || return
	mkdir $root/mixed $root/other $root/fifo $root/deadline &&
		echo +cpu >$root/mixed/cgroup.subtree_control &&
		mkdir -p $root/mixed/quota $root/mixed/free &&
		echo "$((20000 * $(nproc))) 100000" >$root/mixed/cpu.max &&
		echo "$((7500 * $(nproc))) 100000" >$root/mixed/quota/cpu.max &&
		echo 1 >$sampler/reset && "$here/pressure_load" $root 3000 >/tmp/load || {
		sed 's/^/# /' /tmp/load
		return 1
	}
	# End the limits, so that no task is held back any more.
	echo max >$root/mixed/cpu.max && echo max >$root/mixed/quota/cpu.max || return
	cat $sampler/pressure >/tmp/pressure
	cat $sampler/metrics >/tmp/metrics
}

# Do tasks leave the queue while their quota holds them back? Then run_delay does not include that
# time.
leave_queue()
{
	[ "$(of /mixed/quota 3)" -lt "$(seconds quota /mixed/quota)" ]
}

# The waits of tasks, for all causes, are their run_delay, and no more than the time that they were
# away from their CPUs by their own clocks.
free_waits()
{
	for cgroup in /mixed/quota /mixed/free /other /fifo /deadline; do
		got=$(all_seconds $cgroup)
		delay=$(of $cgroup 3)
		case $cgroup in
		/mixed/*) ! leave_queue || delay=$((delay + $(seconds quota $cgroup))) ;;
		esac
		note "$cgroup: $(of $cgroup 4) runs, $((got - delay)) us more here than run_delay"
		to "$cgroup waited" "$delay" "$got" "$delay" "$(of $cgroup 4)" &&
			[ "$got" -le "$(of $cgroup 5)" ] || return
	done
}

# The tasks of /mixed/quota are held back by its limit, and by that of /mixed, which may be at the
# same time. Both tasks of /mixed/free may be on one CPU. A task that was in the queue when the
# limit came may count as held back from an earlier time on (pmu-sched.rst), so up to a tenth more
# is allowed.
free_quotas()
{
	inner=$(throttled_usec mixed/quota)
	outer=$(throttled_usec mixed)
	to "/mixed/quota, by its limit and that of /mixed" "$inner" \
		"$(total quota /mixed/quota)" $((inner + outer)) "$(of /mixed/quota 4)" &&
		to "/mixed/free, by the limit of /mixed" 0 "$(seconds quota /mixed/free)" \
			$((22 * outer / 10)) "$(of /mixed/free 4)" &&
		is "$(seconds quota /other)" 0 && is "$(seconds quota /fifo)" 0
}

# PSI has one time for all CPUs: an average, in which each CPU counts for as long as the cgroup had
# anything to do there. So it is no more than the sum over the CPUs and, by Cauchy and Schwarz, no
# less than the square of that sum, divided by the square of the number of CPUs and by the time.
# With one CPU it is the sum.
free_psi()
{
	for cgroup in /mixed/quota /mixed/free /mixed /other /fifo /deadline; do
		some=$(total some $cgroup)
		# If throttled tasks leave the queue, PSI does not count them.
		least=$some
		case $cgroup in
		/mixed*) ! leave_queue || least=0 ;;
		esac
		least=$(awk -v some="$least" -v cpus="$(nproc)" -v took="$(said took)" 'BEGIN {
			printf "%.0f\n", cpus == 1 ? some : some * some / took / cpus / cpus
		}')
		to "some of $cgroup, by PSI" "$least" "$(psi "${cgroup#/}" some)" "$some" \
			"$(of $cgroup 4)" || return
	done
}

# No task was waited for longer than it can have had CPUs. Tasks that are not the load's ran, too.
# A cgroup has room for four names; a fifth one replaces the name with the least time, and takes
# that time over.
free_culprits()
{
	for cgroup in /mixed/quota /mixed/free /other /fifo /deadline; do
		awk -v path="$cgroup" '
			$1 == "cgroup" { inside = substr($0, 8) == path }
			inside && $1 == "behind" { sub(/total=/, "", $2); print $2, $3 }' \
			/tmp/pressure | sort -n >/tmp/behind
		more=0
		[ "$(wc -l </tmp/behind)" -lt 4 ] || read -r more _ </tmp/behind
		while read -r us by; do
			! grep -q "^task $by " /tmp/load || to "$cgroup behind $by" 0 "$us" \
				$(($(of "$by" 6) + more)) "$(of "$by" 4)" || return
		done </tmp/behind
	done
}

# Each moment of a cgroup's waits has one cause; waits of the cgroups in it are its own, too.
free_adds_up()
{
	for cgroup in /mixed/quota /mixed/free /mixed /other /fifo /deadline /; do
		sum=0
		for cause in own neighbours hypervisor nobody unknown elsewhere quota; do
			sum=$((sum + $(total $cause $cgroup)))
		done
		near "causes of $cgroup" "$sum" "$(total some $cgroup)" 0 10 || return
	done
	inner=$(($(total some /mixed/quota) + $(total some /mixed/free)))
	[ "$(total some /mixed)" -le "$inner" ] &&
		[ "$(total some /mixed)" -ge "$(total some /mixed/quota)" ] &&
		[ "$(total some /mixed)" -ge "$(total some /mixed/free)" ] &&
		near "seconds of the tasks of /mixed" "$(all_seconds /mixed)" \
			$(($(all_seconds /mixed/quota) + $(all_seconds /mixed/free))) 0 20
}

free_is_right()
{
	free_waits && free_quotas && free_culprits && free_adds_up && { ! has_psi || free_psi; }
}

# A machine that stands still in the middle of a switch spoils one load, but not three in a row.
runs_free()
{
	for _ in 1 2 3; do
		run_free || return
		! free_is_right >/tmp/judged || break
	done
	sed -e 's/^/# /' /tmp/load
	sed -n -e 's/^/# /' -e '/total=0$/!p' /tmp/pressure | grep -v '^# $'
}

has_psi()
{
	[ "$(psi other some)" -gt 0 ]
}

# The source notices the end of quotas only after it has seen the first one.
has_seen_quota()
{
	mkdir -p $root/quota && echo 20000 100000 >$root/quota/cpu.max && loop quota 0 &&
		until_true was_throttled && stop "$pid"
}

plan 7
load kdtl_sampler pmu=kdtl_sched
ok "a quota has been seen" has_seen_quota
ok "tasks of all kinds want the CPUs" runs_free
ok "all that they waited is what the kernel counted, and they saw" free_waits
ok "what two quotas held back is in cpu.stat" free_quotas
if has_psi; then
	ok "PSI's average is within its bounds" free_psi
else
	skip "PSI's average is within its bounds" "this kernel has no PSI of cgroups"
fi
ok "nobody is blamed for longer than it had CPUs" free_culprits
ok "causes, cgroups and tasks add up" free_adds_up
finish
