#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a guest, kdtl(1) records which tasks had its CPUs (kdtl_sched) and when the hypervisor had
# them (kdtl_steal; on POWER kdtl_vpa), and splits each wait between the two. The guest's CPUs
# have more to do than they can, and share one CPU of the hypervisor.
#
# shellcheck disable=SC2016,SC2317 # awk programs; functions that ok() calls

dir=$(cd -- "$(dirname "$0")" && pwd)
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

kdtl()
{
	"$dir/kdtl" "$@"
}

# Starts on each CPU two tasks that compute, and one that wants the CPU again and again.
busy()
{
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		mask=$(printf %x $((1 << cpu)))
		background taskset "$mask" sh -c 'while :; do :; done'
		background taskset "$mask" sh -c 'while :; do :; done'
		background taskset "$mask" sh -c 'while :; do sleep 0.001; done'
	done
}

# pause, go_on: these tasks stop while a recording is read. Otherwise an emulated hypervisor, which
# shares one CPU among all, would take minutes for that.
pause()
{
	# shellcheck disable=SC2086 # several words
	kill -STOP $ktap_pids
}

go_on()
{
	# shellcheck disable=SC2086 # several words
	kill -CONT $ktap_pids
}

# paused COMMAND...
paused()
{
	pause
	"$@"
	set -- $?
	go_on
	return "$1"
}

records()
{
	kdtl record -i --steal -o both.data sh -c '
		until [ "$(wc -c <both.data.steal)" -gt 24000 ] && [ "$(wc -c <both.data)" -gt 50000 ]; do
			sleep 0.1
		done' 2>both.err
	set -- $?
	pause
	sed 's/^/# /' both.err
	is "$1" 0 && is "$(grep -c '^both.data: .* entries, 0 lost' both.err)" 1 &&
		is "$(grep -c '^both.data.steal: .* entries, 0 lost' both.err)" 1 &&
		kdtl print both.data.steal | head -n 1 | grep -q "source $source: " &&
		kdtl export --format csv both.data >waits &&
		kdtl export --format csv both.data.steal >gaps
}

# Reads the gaps of each CPU, by number, in the order of time; then the entries. Gaps overlap when
# the clock lags, which is frequent with a slow hypervisor: they become one, so that no time counts
# twice.
read_gaps='
	FNR == 1 {
		for (i = 1; i <= NF; i++)
			column[$i] = i
		file++
		next
	}
	{
		time = $column["since_boot_ns"]
		waited = $column["waited_ns"]
		cpu = $column["cpu"]
	}
	file == 1 {
		begin = time - waited
		for (; n[cpu] > 0 && to[cpu, n[cpu]] >= begin; n[cpu]--)
			if (from[cpu, n[cpu]] < begin)
				begin = from[cpu, n[cpu]]
		n[cpu]++
		from[cpu, n[cpu]] = begin
		to[cpu, n[cpu]] = time
		next
	}'

# No task is dispatched while the hypervisor has the CPU. If the CPUs were mixed up, that would
# seem to happen all the time: one CPU works while the hypervisor has the other.
right_cpus()
{
	awk -F, "$read_gaps"'
	function inside(c,    p) {
		p = at[cpu, c] + 0
		while (p < n[c] && to[c, p + 1] <= time)
			p++
		at[cpu, c] = p
		return p < n[c] && from[c, p + 1] < time - 20000 && time < to[c, p + 1] - 20000
	}
	{
		entries++
		right += inside(cpu)
		wrong += inside(1 - cpu)
	}
	END {
		printf "# entries=%d inside=%d of_the_other_cpu=%d gaps=%d+%d\n",
			entries, right, wrong, n[0], n[1]
		exit !(n[0] > 50 && n[1] > 50 && wrong > 100 && right < wrong / 5)
	}' gaps waits
}

# For waits over 4 ms the tool says how much of them was in gaps, but for rounding. Waits that a
# task spent partly in another CPU's queue are left out, because the tool splits only the rest of
# these.
shares()
{
	awk -F, "$read_gaps"'
	waited > 4000000 && !$column["behind_unknown_ns"] {
		begin = time - waited
		p = at[cpu] + 0
		while (p < n[cpu] && to[cpu, p + 1] <= time)
			p++
		at[cpu] = p
		sum = 0
		if (p < n[cpu] && from[cpu, p + 1] < time)
			sum = time - (from[cpu, p + 1] > begin ? from[cpu, p + 1] : begin)
		for (; p > 0 && to[cpu, p] > begin; p--)
			sum += to[cpu, p] - (from[cpu, p] > begin ? from[cpu, p] : begin)
		said = $column["stolen_ns"]
		apart = sum > said ? sum - said : said - sum
		if (apart > 2000 && bad++ < 5)
			printf "# CPU %d, %.0f: waited %.0f, stolen %.0f, said %.0f\n",
				cpu, time, waited, sum, said
		waits++
		long += said > 4000000
		stolen += said
		all += waited
	}
	END {
		printf "# waits=%d waited_ms=%.3f stolen_ms=%.3f over_4_ms=%d differ=%d\n",
			waits, all / 1e6, stolen / 1e6, long, bad
		exit !(long >= 10 && bad <= waits / 50)
	}' gaps waits
}

says_both()
{
	kdtl why -n 1000 --brief both.data >why 2>why.err
	sed 's/^/# /' why.err
	! grep -q 'not used' why.err || return
	kdtl why -n 3 both.data 2>/dev/null | sed 's/^/# /'
	awk '{
		for (i = 2; i <= NF; i++) {
			split($i, p, "=")
			v[p[1]] = p[2]
		}
		n += v["behind"] != "?" && v["behind"] != "-" && v["behind_ms"] > 4 &&
			v["stolen_ms"] > 4 && v["behind_ms"] + v["stolen_ms"] <= v["waited_ms"] + 0.002
	}
	END {
		print "# waits that are both: " n
		exit !n
	}' why
}

now_is_split()
{
	kdtl why -d 2 -n 100 >why 2>&1 && grep -q '^ *behind .*the hypervisor' why
}

# Waits that happen now are also split. A slow machine may have none in two seconds that is both.
now_too()
{
	go_on
	in_tries 20 now_is_split && return
	sed 's/^/# /' why
	return 1
}

# recorded_both NAME...: both files are whole.
recorded_both()
{
	for name; do
		for file in "$name" "$name.steal"; do
			kdtl print "$file" >printed 2>said || return
			! grep 'its end is missing' said && grep -q '^# .* source kdtl_' printed || return
		done
	done
}

# A command that ends, Ctrl-C, and a full disk each end both recordings.
both_end()
{
	kdtl record -q --steal -o end.data sh -c 'sleep 0.2; exit 3'
	is $? 3 || return
	"$dir/kdtl" record -q --steal -o int.data &
	until_true test -s int.data || return
	sleep 0.3
	kill -INT $!
	wait $! && paused recorded_both end.data int.data || return
	mkdir -p small && mount -t tmpfs -o size=128k none small || return
	kdtl record -q -i --steal -d 60 -o small/full.data 2>err
	is $? 1 && grep -q 'No space left on device' err &&
		kdtl print small/full.data 2>&1 | grep -q 'an error ended the recording' &&
		kdtl print small/full.data.steal 2>&1 | grep -q 'an error ended the recording'
	set -- $?
	umount small
	return "$1"
}

# split_pairs FILE...: one wait of each file is split.
split_pairs()
{
	for file; do
		kdtl why -n 1 --brief $file >out 2>err || return
		grep -v 'was set by' err
		[ "$(grep -c ' stolen_ms=[0-9]' out)" -eq 1 ] || return
	done
}

# logged NR: the log of dispatches and that of the hypervisor have so many more entries each than in
# $logged_before, which is then what they have.
logged()
{
	awk -v nr="$1" -v before="$logged_before" '
		/\[kdtl_stream\]/ && $2 == "started" { n[$4 == "kdtl_sched"] = $8 }
		BEGIN { split(before, was) }
		END {
			if (!(0 in n) || !(1 in n) || n[0] - was[1] < nr || n[1] - was[2] < nr)
				exit 1
			print n[0], n[1]
		}' /sys/kernel/debug/kdtl/sessions >logged && logged_before=$(cat logged)
}

# Rings and old files stay in pairs. The ring is longer than this takes, even on a slow machine.
pairs()
{
	logged_before='0 0'
	"$dir/kdtl" record -q -i --steal --ring 300 --rotate 3 -o ring.data &
	until_true logged 100 || return
	kill -USR2 $!
	until_true test -s ring.data.steal && until_true logged 100 || return
	kill -INT $!
	wait $! && paused recorded_both ring.data &&
		paused split_pairs ring.data ring.data.1 || return
	[ -s ring.data.1.steal ] && [ ! -e ring.data.steal.1 ]
}

# first FILE: the time of its first entry, in ns since boot.
first()
{
	kdtl export --format csv "$1" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		!least || $column["since_boot_ns"] < least { least = $column["since_boot_ns"] }
		END { printf "%.0f\n", least }'
}

# follow_each_other: the files of rotate() do, and each can be read.
follow_each_other()
{
	recorded_both full.data full.data.1 full.data.2 || return
	for file in full.data.1 full.data.2; do
		kdtl why -n 100 --brief $file >out 2>err || return
		! grep 'steal' err && grep -q ' stolen_ms=[1-9]' out || return
	done
	for file in full.data full.data.1; do
		[ "$(first $file.steal)" -lt "$(first $file)" ] || return
	done
}

# When one file is full, both recordings go on in new files. Each pair can be read alone: what was
# stolen is known from a moment before the first entry of a task on, so that none is missed.
rotate()
{
	kdtl record -q -i --steal --max-size 64K --rotate 2 -o full.data sh -c \
		'until [ -e full.data.2.steal ]; do sleep 0.1; done' &&
		paused follow_each_other
}

cd /tmp || exit
need kdtl
# Choose the source as kdtl record does.
source=kdtl_vpa
load kdtl_vpa 2>/dev/null || source=kdtl_steal
[ "$source" = kdtl_vpa ] || load kdtl_steal 2>/dev/null || skip_all "no hypervisor says what it takes"
need kdtl_sched kdtl_stream
busy
takes 10 || skip_all "the hypervisor takes nothing here"

plan 8
ok "kdtl records both" records
ok "the gaps are of the right CPUs" right_cpus
ok "a wait is split as the entries say" shares
ok "kdtl why says of a wait: behind a task, and the hypervisor" says_both
ok "so does kdtl why -d" now_too
ok "both recordings end together" both_end
ok "rings and old files stay in pairs" pairs
ok "so do files that follow each other" rotate
# To see what went wrong.
[ "$ktap_failed" -eq 0 ] || [ ! -d /out ] || cp both.data both.data.steal /out/
finish
