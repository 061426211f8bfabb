#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# No client shows waits as exact that are too long for an entry: here waits of 5, 60 and
# 5000 s by the test source, beside some that fit, and one of 5 s by the scheduler.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

sampler=/sys/kernel/debug/kdtl_sampler
watch=/sys/kernel/debug/kdtl_watch/cpus
tracing=/sys/kernel/tracing

# waits SECONDS...: makes a dispatch on CPU 0 after each of these waits.
waits()
{
	for s; do
		echo "wait 0 $s" >/sys/kernel/debug/kdtl_fake/do || return
	done
}

# said FILE PATTERN: how many lines match.
said()
{
	grep -c "$2" "$1"
}

logged()
{
	[ "$(log | grep -c "$2")" -eq "$1" ]
}

# How many of the sampler's waits are saturated.
saturated()
{
	awk '!/^#/ { sum += $13 } END { print sum + 0 }' $sampler/lines
}

# The sum, p50, p99, p99.9 and maximum of all CPUs.
row()
{
	awk '$1 == "all" { print $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 }' \
		$sampler/table
}

exact()
{
	waits 1 2 3 4 && is "$(row)" "10.0 s 2.01 s 4.00 s 4.00 s 4.00 s" &&
		is "$(saturated)" 0 && is "$(said $sampler/table '+')" 0 &&
		logged 0 'kdtl_watch: CPU'
}

# The exact ones among them stay exact.
table_marks()
{
	is "$(row)" "22.8 s+ 4.02 s 4.29 s+ 4.29 s+ 4.29 s+" && is "$(saturated)" 3 &&
		is "$(said $sampler/table '^+: or more, as 3 waits')" 1
}

histogram_is_open()
{
	is "$(sed -n 's/^ *\([0-9.]* s[ +]\) *\([0-9]*\) |.*/\1 \2/p' $sampler/histogram |
		tr '\n' ',')" "1.07 s  1,2.14 s  1,4.29 s  2,4.29 s+ 3,"
}

# bucket LE: the count of that bucket in the histogram for Prometheus.
bucket()
{
	sed -n "s/^kdtl_wait_seconds_bucket{le=\"$1\"} //p" $sampler/metrics
}

metrics_are_open()
{
	is "$(bucket 4.294967295) $(bucket 17.179869183) $(bucket +Inf)" "4 4 7" &&
		is "$(said $sampler/metrics '^kdtl_wait_saturated_total{cpu="0"} 3$')" 1
}

# Each of these waits may have been longer than the threshold of 10 s.
watch_reports()
{
	until_true logged 3 'kdtl_watch: CPU 0 waited at least 4294 ms' &&
		is "$(awk '$1 == 0 { print $3, $5 }' $watch)" "3 4294+" &&
		is "$(said $tracing/trace 'kdtl_watch_late: .* wait=4294967295+ ')" 3
}

recorder_marks()
{
	# The watch's alarm has made it print a table.
	until_true logged 1 'kdtl_recorder: .*: end of table' &&
		log | grep -q 'kdtl_recorder: CPU 0 from .*: the hypervisor [0-9.]* s+$' || return
	forget_log
	until_true table_asked
	logged 3 'kdtl_recorder: .* 0  *4.29 s+ ' && logged 1 'kdtl_recorder: .* 0  *4.00 s '
}

# Of two times for which a task was throttled, one fits and one does not. They are no waits.
throttled_marked()
{
	echo 1 >$sampler/reset
	for s in 3 20; do
		echo "throttle 0 $s" >/sys/kernel/debug/kdtl_fake/do || return
	done
	is "$(sed -n 's/^not in the waits: //p' $sampler/table)" \
		"how long tasks were throttled before 2 dispatches,  7.29 s+" &&
		is "$(awk '$1 == 0 { print $13, $NF }' $sampler/lines)" "0 1" &&
		is "$(said $sampler/metrics '^kdtl_throttled_saturated_total{cpu="0"} 1$')" 1
}

# A task was held back for 1 s and then waited for 3 s. Only the latter is a wait.
starved_counted()
{
	echo 1 >$sampler/reset
	echo "starve 0 3" >/sys/kernel/debug/kdtl_fake/do &&
		is "$(awk '$1 == 0 { print $6, $7, $11, $14, $15 }' $sampler/lines)" \
			"1 3000000000 3000000000 1 1000000000" &&
		is "$(bucket +Inf)" 1 || return
	forget_log
	until_true table_asked
	logged 1 'kdtl_recorder: .* 0  *3.00 s .*throttled'
}

# The hog has let go of the CPU.
hogged()
{
	grep -q Y /sys/module/kdtl_hog/parameters/done
}

any_saturated()
{
	[ "$(saturated)" -ge 1 ]
}

victim_marked()
{
	until_true hogged && until_true any_saturated &&
		is "$(row | cut -d ' ' -f 9-)" "4.29 s+"
}

need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive
have_module kdtl_hog || skip_all "no module kdtl_hog"

plan 12
forget_log
ok "the sampler loads" load kdtl_sampler pmu=kdtl_fake
ok "the watch loads" load kdtl_watch pmu=kdtl_fake threshold_ms=10000
ok "the recorder loads" load kdtl_recorder pmu=kdtl_fake ms=600000
echo 1 >$tracing/events/kdtl/enable
ok "waits that fit are exact" exact
waits 5 60 5000
ok "the sampler's table marks the others" table_marks
ok "its histogram is open" histogram_is_open
ok "so is Prometheus' histogram" metrics_are_open
ok "the watch reports them, whatever the threshold" watch_reports
ok "the recorder marks them" recorder_marks
ok "so does the sampler times held back" throttled_marked
ok "what a task waits after that is a wait, to the sampler and to the recorder" starved_counted
echo 0 >$tracing/events/kdtl/enable
unload kdtl_recorder
unload kdtl_watch
unload kdtl_sampler

if [ ! -e /sys/devices/system/cpu/cpu1 ]; then
	skip "a task that waited for 5 s" "needs two CPUs"
	finish
fi
can_starve 1
taskset -p 1 $$ >/dev/null
load kdtl_sampler pmu=kdtl_sched
background taskset 2 sh -c 'while :; do sleep 0.01; done'
load kdtl_hog cpu=1 ms=5000
ok "a task that waited for 5 s" victim_marked
finish
