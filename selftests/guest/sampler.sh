#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The sampler counts what the scheduler itself counts, its files add up, and its
# reset, running and parameters work.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

sampler=/sys/kernel/debug/kdtl_sampler
params=/sys/module/kdtl_sampler/parameters

# column N: the sum of column N of lines, over all CPUs.
column()
{
	awk -v n="$1" '!/^#/ { sum += $n } END { printf "%.0f\n", sum }' $sampler/lines
}

# schedstat N: the scheduler's count N, over all CPUs: 9 = ns in the queue, 10 = dispatches.
schedstat()
{
	awk -v n="$1" '/^cpu/ { sum += $n } END { printf "%.0f\n", sum }' /proc/schedstat
}

# Runs twice as many workers as CPUs, which sleep, compute and wait for each other.
work()
{
	cpus=$(grep -c ^processor /proc/cpuinfo)
	pids=
	i=0
	while [ $i -lt $((2 * cpus)) ]; do
		(
			n=0
			while [ $n -lt 2000 ]; do
				n=$((n + 1))
				[ $((n % 50)) -ne 0 ] || sleep 0.001
			done
		) &
		pids="$pids $!"
		i=$((i + 1))
	done
	for pid in $pids; do
		wait "$pid"
	done
}

# measure [COLUMN]: counts with the sampler and with the scheduler. The scheduler's count is read
# twice: around the sampler's window, which gives more, and inside it, which gives less.
measure()
{
	echo 0 >$sampler/running
	echo 1 >$sampler/reset
	outer_n=$(schedstat 10)
	outer_ns=$(schedstat 9)
	echo 1 >$sampler/running
	inner_n=$(schedstat 10)
	inner_ns=$(schedstat 9)
	work
	inner_n=$(($(schedstat 10) - inner_n))
	inner_ns=$(($(schedstat 9) - inner_ns))
	echo 0 >$sampler/running
	outer_n=$(($(schedstat 10) - outer_n))
	outer_ns=$(($(schedstat 9) - outer_ns))
	count=$(column "${1:-6}")
	wait_ns=$(column $((${1:-6} + 1)))
}

# between LOW N HIGH: N is from LOW to HIGH, to a hundredth.
between()
{
	[ $(($2 * 100)) -ge $(($1 * 99)) ] && [ $(($2 * 99)) -le $(($3 * 100)) ] && return
	note "is $2, should be from $1 to $3"
	return 1
}

# same_waits [COLUMN]: the sampler has measured the same waits as the scheduler. While a CPU is on its
# way from one task to the next, the host may stop it for longer than tasks waited in all: then both
# measure again.
same_waits()
{
	for same_try in 1 2 3; do
		[ $same_try -eq 1 ] || measure "$@"
		note "waits: $wait_ns ns, by the scheduler: $inner_ns to $outer_ns"
		between $((inner_ns * 4 / 5)) "$wait_ns" $((outer_ns * 11 / 10)) && return
	done
	return 1
}

conserved()
{
	awk '!/^#/ && ($2 != $3 + $4 + $5 || $6 > $3) { print "# " $0; bad = 1 }
		END { exit bad }' $sampler/lines
}

# For each CPU: p50 <= p99 <= p99.9 <= max <= the sum.
ordered()
{
	awk '!/^#/ && ($8 > $9 || $9 > $10 || $10 > $11 || $11 > $7) {
		print "# " $0; bad = 1 } END { exit bad }' $sampler/lines
}

# The table has a row of each CPU, and one with the sum of their dispatches.
table_adds_up()
{
	awk -v cpus="$(grep -c ^processor /proc/cpuinfo)" '
		$1 ~ /^[0-9]+$/ { sum += $2; n++ }
		$1 == "all" { all = $2 }
		END { exit n != cpus || !sum || sum != all }' $sampler/table
}

# This function in awk makes ns of a time in the table.
awk_ns='function ns(v, unit) {
	return v * (unit == "ns" ? 1 : unit == "us" ? 1e3 : unit == "ms" ? 1e6 : 1e9)
}'

# A percentile of all CPUs is between those of the CPUs that have dispatches. It is above all of
# them by one step of the histogram at most, because each of these is cut to the CPU's longest wait.
all_is_between()
{
	awk "$awk_ns"'
		$1 ~ /^[0-9]+$/ && $2 {
			for (i = 7; i <= 11; i += 2) {
				p = ns($i, $(i + 1))
				if (!n || p < low[i])
					low[i] = p
				if (!n || p > high[i])
					high[i] = p
			}
			n++
		}
		$1 == "all" {
			for (i = 7; i <= 11; i += 2) {
				p = ns($i, $(i + 1))
				# The table has three digits.
				if (p * 1.01 >= low[i] && p * 0.99 <= high[i] * 17 / 16)
					continue
				print "# " p ", the CPUs " low[i] " to " high[i]
				bad = 1
			}
		}
		END { exit bad || !n }' $sampler/table
}

# The counts add up, and rows are left out only between others, with one "..." for them.
histogram_adds_up()
{
	awk -v all="$(column 6)" '
		$1 == "..." { if (gap) bad = 1; gap = 1; next }
		NR > 1 { if (!$3) bad = 1; sum += $3; gap = 0 }
		END { exit bad || sum != all }' $sampler/histogram
}

# The buckets only grow, up to the count; count and sum are those of lines.
metrics_add_up()
{
	awk -v all="$(column 6)" -v wait="$(column 7)" '
		/^kdtl_wait_seconds_bucket/ { if ($2 < last) bad = 1; last = $2; n++ }
		/^kdtl_wait_seconds_count/ { count = $2 }
		/^kdtl_wait_seconds_sum/ { sum = $2 }
		/^kdtl_cpu_wait_seconds_count/ { cpus += $2 }
		END {
			off = sum * 1e9 - wait
			exit bad || n < 10 || last != all || count != all ||
				cpus != all || off > 1e3 || off < -1e3
		}' $sampler/metrics
}

# The printed quantile of all CPUs is in the bucket that has it.
quantile_in_bucket()
{
	awk "$awk_ns"'
		FILENAME ~ /table$/ { if ($1 == "all") p99 = ns($9, $10); next }
		/^kdtl_wait_seconds_bucket/ {
			split($1, part, "\"")
			n++
			le[n] = part[2] == "+Inf" ? 1e18 : part[2] * 1e9
			cum[n] = $2
		}
		END {
			for (i = 1; cum[i] < 0.99 * cum[n]; i++)
				;
			low = i > 1 ? le[i - 1] : 0
			# The table has three digits.
			if (p99 * 1.01 >= low && p99 * 0.99 <= le[i])
				exit 0
			print "# p99 is " p99 ", its bucket " low " to " le[i]
			exit 1
		}' $sampler/table $sampler/metrics
}

# some_dispatches: makes dozens of tasks, which come and go.
some_dispatches()
{
	for _ in $(seq 50); do
		sleep 0.001
	done
}

stopped_stands_still()
{
	is "$(cat $sampler/running)" 0 && n=$(column 2) && some_dispatches && is "$(column 2)" "$n"
}

running_goes_on()
{
	n=$(column 2)
	echo 1 >$sampler/running
	is "$(cat $sampler/running)" 1 && some_dispatches && [ "$(column 2)" -gt "$n" ]
}

reset_forgets()
{
	echo 0 >$sampler/running
	[ "$(column 6)" -gt 0 ] || return
	echo 1 >$sampler/reset
	is "$(column 6)" 0 && is "$(column 11)" 0 && is "$(column 16)" 0 && conserved
}

# waits: prints lines "NUMBER NS", with waits of all sizes, in the order of ns.
waits()
{
	awk 'BEGIN {
		for (ns = 0; ns < 4e9; ns = int(ns * 1.17) + 1)
			printf "%d %.0f\n", 1 + ns % 7, ns
	}'
}

waits_seen()
{
	[ "$(column 6)" = "$1" ]
}

# known_waits: p50, p99 and p99.9 of known waits are not below the true values, and at most a
# sixteenth above; the sum and the longest wait are exact.
known_waits()
{
	unload kdtl_sampler && load kdtl_fake_pmu && load kdtl_client_sh &&
		load kdtl_sampler pmu=kdtl_fake || return
	waits | while read -r n ns; do
		echo "emit $n $ns" >/sys/module/kdtl_client_sh/parameters/act || exit
	done || return
	until_true waits_seen "$(waits | awk '{ n += $1 } END { print n }')" || return
	waits | awk '
	function check(what, is, share,   i, sum) {
		for (i = 1; (sum += count[i]) < share * all; i++)
			;
		if (is < wait[i] || is > wait[i] * 17 / 16)
			bad = 1
		print "# " what " of " all ": " is " ns, is in fact " wait[i] " ns"
	}
	NR == FNR { count[NR] = $1; wait[NR] = $2; all += $1; total += $1 * $2; next }
	$1 == 0 {
		check("p50", $8, 0.5)
		check("p99", $9, 0.99)
		check("p99.9", $10, 0.999)
		found = 1
		printf "# sum %.0f ns, is in fact %.0f, longest %.0f, %.0f\n", $7, total,
			$11, wait[NR - FNR]
		if ($7 != total || $11 != wait[NR - FNR])
			bad = 1
	}
	END { exit bad || !found }' - $sampler/lines
}

# few_waits: for three short waits, for each of which the histogram has a row, all is exact.
few_waits()
{
	echo 1 >$sampler/reset
	for ns in 10 20 31; do
		echo "emit 1 $ns" >/sys/module/kdtl_client_sh/parameters/act || return
	done
	until_true waits_seen 3 &&
		is "$(awk '$1 == 0 { print $7, $8, $9, $11 }' $sampler/lines)" "61 20 31 31"
}

# The table, the histogram and the metrics say which part of the dispatches was logged.
says_part()
{
	grep -q '^p50 to max are of [0-9]* of [0-9]* dispatches: logged for [1-9][0-9.]* % of' \
		$sampler/table &&
		grep -q '^the counts are of [0-9]* of [0-9]* dispatches: logged for' \
			$sampler/histogram &&
		grep -q '^with a share below 100 nobody knows who had the CPU$' \
			$sampler/pressure &&
		is "$(awk '/^kdtl_dispatches_total/ { n += $2 } END { print n }' \
			$sampler/metrics)" "$(column 16)"
}

says_no_part()
{
	! grep -q 'logged for' $sampler/table $sampler/histogram
}

# share_is LOW HIGH: each CPU was logged for LOW to HIGH per cent of the time, and some of
# its dispatches, not all, are in the log.
share_is()
{
	awk -v low="$1" -v high="$2" '!/^#/ {
		percent = 100 * $18 / $19
		if (percent < low || percent > high) {
			print "# CPU " $1 " logged for " percent " % of the time"
			bad = 1
		}
		logged += $6
		counted += $16
	}
	END {
		print "# logged " logged " of " counted
		exit bad || !logged || logged >= counted
	}' $sampler/lines
}

# share_settles LOW HIGH: share_is is true in the end. While a host stops the machine, the CPU stays
# logged that is logged just then, which matters less the longer the sampler runs.
share_settles()
{
	for _ in 1 2 3 4 5 6 7 8 9; do
		share_is "$@" && return
		echo 1 >$sampler/running
		work
		echo 0 >$sampler/running
	done
	share_is "$@"
}

# The table counts all dispatches and waits, not only those that were logged.
table_counts_all()
{
	awk '$1 == "all" { n = $2 } END { print n }' $sampler/table >/tmp/all
	is "$(cat /tmp/all)" "$(column 16)"
}

# emitted N NS: all N entries are counted, with all of their waits.
emitted()
{
	[ "$(column 16)" = "$1" ] && [ "$(column 17)" = $(($1 * $2)) ]
}

# While entries come, the sets take turns: some of the bursts are logged and some are not, but
# each is counted.
known_share()
{
	unload kdtl_sampler && load kdtl_sampler pmu=kdtl_fake share=50 || return
	bursts=0
	until [ $bursts -ge 100 ] && share_is 1 99 >/dev/null; do
		echo "emit 10 5000" >/sys/module/kdtl_client_sh/parameters/act || return
		bursts=$((bursts + 1))
		[ $bursts -lt 10000 ] || return
		sleep 0.005
	done
	echo 0 >$sampler/running
	emitted $((bursts * 10)) 5000 && conserved && histogram_adds_up
}

# fake WHAT CPU N: the test source does WHAT (selftests/fake/drive.c).
fake()
{
	echo "$@" >/sys/kernel/debug/kdtl_fake/do
}

# window SECONDS ROW: dispatches, longest wait and throttled time in that window.
window()
{
	awk -v head="last $1 s" -v row="$2" '
		/^last / { inside = $0 == head }
		inside && $1 == row { print $2, $(NF - 3), $(NF - 2), $(NF - 1), $NF }
	' $sampler/windows
}

# windows_are ROW 1S 10S 60S: this is what window() says of ROW, in each window.
windows_are()
{
	is "$(window 1 "$1")" "$2" && is "$(window 10 "$1")" "$3" &&
		is "$(window 60 "$1")" "$4"
}

windows_hold()
{
	fake wait 1 0 && fake later 0 100 && fake wait 0 2 && fake throttle 0 3 &&
		windows_are 0 "2 2.00 s 3.00 s" "2 2.00 s 3.00 s" "2 2.00 s 3.00 s" &&
		windows_are 1 "0 0 ns 0 ns" "0 0 ns 0 ns" "0 0 ns 0 ns" &&
		windows_are all "2 2.00 s 3.00 s" "2 2.00 s 3.00 s" "2 2.00 s 3.00 s"
}

# The longest wait goes when its time is over; a shorter one that is newer stays.
windows_fall()
{
	fake later 0 5 && fake wait 0 1 && fake later 0 2 &&
		windows_are 0 "0 0 ns 0 ns" "3 2.00 s 3.00 s" "3 2.00 s 3.00 s" &&
		fake later 0 5 &&
		windows_are all "0 0 ns 0 ns" "1 1.00 s 0 ns" "3 2.00 s 3.00 s" &&
		fake later 0 70 &&
		windows_are all "0 0 ns 0 ns" "0 0 ns 0 ns" "0 0 ns 0 ns" &&
		awk '$1 == 0 { exit $11 != 2000000000 }' $sampler/lines
}

# In the metrics, the maximum and the quantiles are of the last minute.
metrics_fall()
{
	fake wait 0 2 && fake later 0 50 && grep -q '^kdtl_wait_max_seconds{cpu="0"} 2.000' \
		$sampler/metrics && fake later 0 30 &&
		grep -q '^kdtl_wait_max_seconds{cpu="0"} 0.000' $sampler/metrics &&
		is "$(grep -c '^kdtl_cpu_wait_seconds{cpu="0",quantile=.* NaN$' $sampler/metrics)" 3
}

windows_are_reset()
{
	fake wait 0 2 && is "$(window 60 0)" "1 2.00 s 0 ns" && echo 1 >$sampler/reset &&
		is "$(window 60 0)" "0 0 ns 0 ns"
}

# A part of each window is used again, six parts later, for another wait in the same power of two.
windows_again()
{
	echo 1 >$sampler/reset && fake wait 0 1 && fake wait 0 3 && fake later 0 72 &&
		fake wait 0 4 || return
	is "$(awk '$1 == 0 { print $6, $7 }' $sampler/windows | uniq -c | tr -s ' ')" " 3 4.00 s"
}

# table_lost: the sum of what was lost since the reset.
table_lost()
{
	awk '$1 == "all" { print $4 }' $sampler/table
}

sums_losses()
{
	echo 1 >$sampler/reset && fake lost 0 3 && fake lost 1 2 && is "$(table_lost)" 5 &&
		echo 1 >$sampler/reset && is "$(table_lost)" 0
}

# Each entry has room for 4.29 s.
tells_saturated()
{
	fake throttle 0 5 && fake throttle 1 3 && is "$(column 20)" 1
}

refuses_period()
{
	# shellcheck disable=SC2320 # echo's status is write's
	! echo "$1" 2>/dev/null >$params/period_ms && is "$(cat $params/period_ms)" 100
}

# refuses_to_load PARAMETER LINE: the sampler does not load, and LINE says why.
refuses_to_load()
{
	! load kdtl_sampler "$1" 2>/dev/null || { unload kdtl_sampler; return 1; }
	dmesg | tail -n 8 | grep -q "$2"
}

# refuses_steal PARAMETER: with it the sampler would not know from whom the hypervisor took a CPU.
refuses_steal()
{
	! load kdtl_sampler steal=nothing "$1" 2>/dev/null || { unload kdtl_sampler; return 1; }
	dmesg | tail -n 8 | grep -q 'steal=nothing needs pmu=kdtl_sched, share=100 and cgroups'
}

need kdtl kdtl_sched
have_module kdtl_sampler || skip_all "no module kdtl_sampler"
[ -e /proc/schedstat ] || skip_all "no /proc/schedstat: CONFIG_SCHEDSTATS"

plan 40
ok "an unknown source is refused" \
	refuses_to_load pmu=nothing 'no PMU "nothing"'
ok "pages that are no power of two are refused" \
	refuses_to_load aux_pages=3 'aux_pages=3: must be a power of two'
ok "a period of 0 is refused" refuses_to_load period_ms=0 "period_ms"
ok "a share of nothing is refused" refuses_to_load share=0 "share"
ok "and so is a share of more than 100 %" refuses_to_load share=101 "share"
ok "steal= with a share of less is refused" refuses_steal share=99
ok "and so it is without cgroups" refuses_steal cgroups=0
ok "it loads" load kdtl_sampler pmu=kdtl_sched
ok "a period of 0 is refused when it runs" refuses_period 0
ok "and so is a period of more than an hour" refuses_period 3600001

measure
note "dispatches: $count, by the scheduler: $inner_n to $outer_n"
# The scheduler does not count tasks that were preempted on their way to sleep, of
# which a slow kernel has more. (test_sched.c proves that every dispatch is logged.)
ok "it counts as many dispatches as the scheduler" \
	between "$inner_n" "$count" $((outer_n * 104 / 100))
# The source does not have the first wait of a new task in the queue of a CPU that the
# task then left, since it knows no earlier moment of that task. And for the source a wait
# ends at the switch; for the scheduler it ends earlier, when it begins to choose a task,
# which takes long in an emulator.
ok "it measures the same waits" same_waits
ok "produced = consumed + unread + lost, by CPU" conserved
ok "percentiles are in order" ordered
ok "the table adds up" table_adds_up
ok "percentiles of all are between the CPUs'" all_is_between
ok "the histogram adds up" histogram_adds_up
ok "the metrics add up" metrics_add_up
ok "a percentile is where the histogram has it" quantile_in_bucket
ok "everything was logged, and nothing else is said" says_no_part
ok "stopped, it stands still" stopped_stands_still
ok "running, it goes on" running_goes_on
ok "reset forgets" reset_forgets
ok "known waits have the right percentiles" known_waits
ok "of a few short ones all is exact" few_waits

load kdtl_fake_drive
# A slow machine takes longer than a second from an entry to the table. So the clock by
# which windows end stands still, and moves only as these tests say.
fake stop 0 1
echo 1 >$sampler/reset
ok "new waits are in all windows" windows_hold
ok "and leave each when it is over" windows_fall
echo 1 >$sampler/reset
ok "so they do in the metrics" metrics_fall
ok "reset empties the windows" windows_are_reset
ok "a part that is used again has nothing of before" windows_again
ok "the table has the sum of what was lost" sums_losses
ok "a time held back that no entry can say is told" tells_saturated
fake stop 0 0

unload kdtl_sampler
ok "it logs for a tenth of the time" load kdtl_sampler pmu=kdtl_sched share=10
measure 16
note "dispatches: $count, by the scheduler: $inner_n to $outer_n"
ok "it counts all the time" between "$inner_n" "$count" $((outer_n * 104 / 100))
ok "waits, too" same_waits 16
# If the machine is slower than its load, the timer that ends a turn is late.
ok "and logs for about a tenth of it" share_settles 5 30
ok "it says so" says_part
ok "the table has all dispatches" table_counts_all
ok "a percentile is where the histogram has it" quantile_in_bucket
ok "of waits that are known, half is logged and all is counted" known_share
unload kdtl_sampler
finish
