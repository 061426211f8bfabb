#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests what each client says when the hypervisor takes a virtual CPU's processor away, in a
# guest of KVM-HV whose two virtual CPUs share one processor.  A load on each of them writes
# down when its clock jumped (scenario_vpa.c).  While the clock of CPU 1 jumps, CPU 1 waits
# for no longer than the jump, and for no less than CPU 0 runs.  These bounds hold however
# slow the hypervisor and the host are.  All clients read the same log, so their answers have
# the same waits, to the nanosecond.
#
#   selftests/run/vm ppc64le-nested --modules "$(scripts/build ppc64le-6.1)" \
#	--add selftests:/selftests -- sh /selftests/guest/scenario-vpa.sh
#
# shellcheck disable=SC2317 # functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

debug=/sys/kernel/debug
tracing=/sys/kernel/tracing
kdtl_events=$tracing/events/kdtl
cpus=$debug/kdtl_watch/cpus
sampler=$debug/kdtl_sampler
tmp=/tmp/kdtl-vpa
truth=$tmp.truth
events=$tmp.events
waits=$tmp.waits
jumps=$tmp.jumps

# The hypervisor takes longer to give a processor away and back.
least_us=20
threshold_ms=2

# Dividing ticks and reading the clock rounds by less than this.
round_ns=2000

# between LEAST N MOST
between()
{
	awk -v least="$1" -v n="$2" -v most="$3" 'BEGIN { exit !(least <= n && n <= most) }' &&
		return
	note "is $2, should be from $1 to $3"
	return 1
}

# loaded FIELD: that field of the load's last line.
loaded()
{
	awk -v n="$1" '$1 == "load" { print $n }' $truth
}

# sum COLUMN WORD FILE: the sum of that column, over the lines that begin with WORD.
sum()
{
	awk -v n="$1" -v word="$2" '$1 == word { sum += $n } END { printf "%.0f\n", sum }' "$3"
}

# most COLUMN WORD FILE: the largest number in that column of these lines.
most()
{
	awk -v n="$1" -v word="$2" '$1 == word && $n > most { most = $n }
		END { printf "%.0f\n", most }' "$3"
}

is_traced()
{
	grep '\[kdtl_trace\]' $debug/kdtl/sessions | grep -q ' started '
}

# The clients' threads stay off the load's CPU.
threads_off()
{
	for comm in /proc/[0-9]*/comm; do
		pid=${comm%/comm}
		! grep -q '^kdtl_' "$comm" || taskset -p 1 "${pid#/proc/}" >/dev/null || return
	done
}

# Lets CPU 1 be dispatched and account for the time that was stolen before.
wake_other()
{
	taskset 2 true
}

# has_traced TIME: the trace has an entry after TIME.  Then all clients have the entries before:
# kdtl_vpa hands an entry to all sessions at once, and the trace's thread has no higher priority
# than the others.
has_traced()
{
	wake_other
	sed -n 's/.*kdtl_dispatch: cpu=1 .* mono=\([0-9]*\) .*/\1/p' $tracing/trace | tail -n 1 |
		awk -v after="$1" '{ later = $1 > after } END { exit !later }'
}

# until_traced: waits until all clients have what was until now.
until_traced()
{
	# /proc/uptime moves in steps of 10 ms.
	until_true has_traced "$(awk '{ printf "%.0f\n", ($1 + 0.01) * 1e9 }' /proc/uptime)"
}

# The trace begins first and ends last, so it has all that the sampler and the watch have.
begin()
{
	echo 8192 >$tracing/buffer_size_kb
	echo >$tracing/trace
	echo 'cpu == 1' >$kdtl_events/kdtl_dispatch/filter
	echo 1 >$kdtl_events/kdtl_dispatch/enable
	echo 1 >$kdtl_events/kdtl_watch_late/enable
	until_true is_traced && load kdtl_sampler pmu=kdtl_vpa && threads_off || return
	echo "1 $threshold_ms" >$cpus
	wake_other
	echo 1 >$sampler/reset
}

end()
{
	wake_other
	echo 0 >$sampler/running
	awk '$1 == 1' $sampler/lines >$tmp.lines
	cat $sampler/windows >$tmp.windows
	until_traced || return
	# A late dispatch that comes now is in the trace at least.
	echo 0 >$kdtl_events/kdtl_watch_late/enable
	until_traced || return
	echo 0 >$kdtl_events/kdtl_dispatch/enable
	echo 0 >$kdtl_events/kdtl_dispatch/filter
	cp $tracing/trace $events
}

# Writes CPU 1's waits as lines "wait MONO NS INSIDE". INSIDE is 1 if the load ran then.
find_waits()
{
	sed -n 's/.*kdtl_dispatch: cpu=1 .* wait=\([0-9]*\).* mono=\([0-9]*\) .*/\2 \1/p' \
		$events |
		awk -v from="$(loaded 2)" -v to="$(loaded 3)" '
			{ print "wait", $1, $2, ($1 > from && $1 <= to) }' >$waits
	grep ' 1$' $waits | sed 's/^wait/inside/' >$waits.inside
}

# Writes for each jump on CPU 1 its length, for how long CPU 0 ran then, and the waits, in ns;
# then the waits that are in no jump.  All lines are in the order of time.
find_jumps()
{
	cat $truth $waits.inside | awk '
	BEGIN { n = jumps = waits = g = w = 0 }
	$1 == "gap" && $2 == 0 { from[n] = $3; to[n++] = $4 }
	$1 == "gap" && $2 == 1 { begin[jumps] = $3; end[jumps++] = $4 }
	$1 == "inside" { time[waits] = $2; wait[waits++] = $3 }
	END {
		for (j = 0; j < jumps; j++) {
			size = ran = end[j] - begin[j]
			for (; g < n && to[g] <= begin[j]; g++)
				;
			for (i = g; i < n && from[i] < end[j]; i++)
				ran -= (to[i] < end[j] ? to[i] : end[j]) - \
					(from[i] > begin[j] ? from[i] : begin[j])
			for (; w < waits && time[w] <= begin[j]; w++)
				printf "other %.0f %.0f\n", time[w], wait[w]
			for (sum = 0; w < waits && time[w] <= end[j]; w++)
				sum += wait[w]
			printf "jump %.0f %.0f %.0f %.0f\n", begin[j], size, ran, sum
		}
		for (; w < waits; w++)
			printf "other %.0f %.0f\n", time[w], wait[w]
	}' >$jumps
}

# The clients begin before the load does, and end after it.
load_did()
{
	begin && "$dir/scenario_vpa" 2000 $least_us >$truth
	set -- $?
	sed -n '$s/^/# /p' $truth
	[ "$1" -eq 0 ] && end && find_waits && find_jumps
}

# The hypervisor had CPU 1's processor for a fifth of the time at least, and for long enough at a
# time. If CPU 0 hardly ran meanwhile, the comparison would say nothing.
hypervisor_had_it()
{
	narrow=$(awk '$1 == "jump" && $4 >= $3 * 3 / 4' $jumps | grep -c .)
	ran=$(sum 4 jump $jumps)
	note "$(grep -c ^jump $jumps) jumps of CPU 1, $(sum 3 jump $jumps) ns"
	note "meanwhile CPU 0 ran for $ran ns, in $narrow jumps for most of the time"
	# This is two seconds, or more if the host stopped the machine meanwhile.
	took=$(($(loaded 3) - $(loaded 2)))
	between $((threshold_ms * 1000000)) "$(most 4 jump $jumps)" "$took" &&
		between 400000000 "$ran" "$took" && [ "$narrow" -ge 20 ]
}

# ------------------------------------------------------------------------- trace

# A jump has one wait, or several if CPU 1 was kept again before the load ran.
trace_has_no_longer()
{
	awk -v round=$round_ns '
	$1 == "jump" {
		jumps++
		if ($5 <= $3 + round)
			next
		print "# at " $2 " a jump of " $3 " ns, and waits of " $5
		bad++
	}
	END { exit !jumps || bad }' $jumps
}

# KVM does not count the time for which CPU 1's thread is in QEMU, which plays the interrupt
# controller: CPU 1 is not ready then.  If the processor goes away meanwhile, 3 ms are
# missing.  If that happens every 100 ms, up to 10 of 256 jumps and 4 % of the time lack it.
trace_has_each()
{
	awk -v round=$round_ns '
	$1 == "jump" {
		ran += $4
		if ($5 >= $4 - round)
			next
		print "# at " $2 " CPU 0 ran for " $4 " ns, waits of " $5
		missing += $4 - $5
	}
	END { exit !ran || missing > ran / 5 }' $jumps
}

trace_has_no_other()
{
	awk -v most=$((least_us * 1000 + round_ns)) '
	$1 == "other" && $3 > most {
		print "# a wait of " $3 " ns until " $2 " is no jump"
		bad++
	}
	END { exit bad }' $jumps
}

# No task of this machine had the CPU, so none is blamed.
trace_blames_nobody()
{
	grep 'kdtl_dispatch: ' $events >$tmp.all || return
	# time_slice is the only reason that KVM knows.
	none=' comm= pid=0 prev_pid=0 .* dispatch_reason=time_slice .* lost=0 .* culprit=0 '
	grep -v "$none" $tmp.all >$tmp.wrong || return 0
	head -n 3 $tmp.wrong | sed 's/^/# /'
	return 1
}

# The kernel reads the hypervisor's total in ticks, so before and after the load it may not
# know of a wait yet. /proc/stat has units of 10 ms.
steal_fits()
{
	inside=$(sum 3 inside $waits.inside)
	off=$(($(most 3 wait $waits) + 10000000))
	note "waits of $inside ns, $(loaded 4) ns of steal"
	between $((inside - off)) "$(loaded 4)" $((inside + off))
}

# --------------------------------------------------------------- watch, recorder

# Each late dispatch is one of the waits, and each long wait is a late dispatch.
watch_late()
{
	sed -n 's/.*kdtl_watch_late: cpu=1 comm= pid=0 wait=\([0-9]*\) .*/late \1/p' \
		$events >$tmp.late
	note "$(grep -c . $tmp.late) late dispatches"
	awk -v least=$((threshold_ms * 1000000)) '
		$1 == "late" { late[$2]++; n++; next }
		{ waits[$3] = 1 }
		$4 && $3 > least && !late[$3]-- { print "# a wait of " $3 " ns is not late"; bad++ }
		END {
			for (ns in late)
				if (!(ns in waits)) {
					print "# late is " ns " ns, which is no wait"
					bad++
				}
			exit !n || bad
		}' $tmp.late $waits
}

# If the watch's work item also has to wait, the CPU also looks stuck; look only at lines about
# waits.
watch_says_who()
{
	log | grep 'kdtl_watch: CPU 1 waited' >$tmp.said || return
	sed -n '1,3s/^/# /p' $tmp.said
	! grep -v 'CPU 1 waited [0-9]* ms, the hypervisor had the CPU$' $tmp.said
}

# The title of the last alarm's table says how many ms the wait was long. The line about who had
# the CPU says the same, and the wait has a row.
recorder_has_it()
{
	log | sed -n 's/.*kdtl_recorder: //p' | awk '
		/^CPU 1 waited .* oldest first$/ { table = "" }
		{ table = table $0 "\n" }
		/^CPU 1 waited .*: end of table$/ { last = table }
		END { printf "%s", last }' >$tmp.table
	sed -n '1,5s/^/# /p' $tmp.table
	ms=$(sed -n 's/^CPU 1 waited \([0-9]*\) ms: the last .*/\1/p' $tmp.table)
	had=$(sed -n 's/^CPU 1 from \(.*\) to .*: the hypervisor \(.*\)$/\2/p' $tmp.table)
	is_wait "$ms" "$had" && grep -q "^[0-9:.]*  *1  *$had " $tmp.table
}

# is_wait MS TEXT: there is a wait of MS ms that is TEXT, with three digits.
is_wait()
{
	awk -v ms="$1" -v text="$2" '
	function span(ns) {
		for (unit = 1; ns >= 1000 && unit < 4; unit++) {
			part = ns % 1000
			ns = int(ns / 1000)
		}
		name = substr("nsusmss", 2 * unit - 1, 2)
		if (ns < 10 && unit > 1)
			return sprintf("%d.%02d %s", ns, part / 10, name)
		if (ns < 100 && unit > 1)
			return sprintf("%d.%d %s", ns, part / 100, name)
		return sprintf("%d %s", ns, name)
	}
	int($3 / 1e6) == ms && span($3) == text { found = 1 }
	END { exit !found }' $waits && return
	note "no wait is '$2' and of $1 ms"
	return 1
}

# ----------------------------------------------------------------------- sampler

# sampled COLUMN: that column of CPU 1's line.
sampled()
{
	awk -v n="$1" '{ print $n }' $tmp.lines
}

sampler_waits()
{
	note "CPU 1: $(sampled 6) dispatches, waited for $(sampled 7) ns, $(sampled 11) ns at most"
	between "$(grep -c . $waits.inside)" "$(sampled 6)" "$(grep -c . $waits)" &&
		between "$(sum 3 inside $waits.inside)" "$(sampled 7)" "$(sum 3 wait $waits)" &&
		between "$(most 3 inside $waits.inside)" "$(sampled 11)" "$(most 3 wait $waits)"
}

# The window of the last 60 s has the same longest wait, with three digits.
sampler_window()
{
	sed -n '/^last 60 s$/,/^$/p' $tmp.windows | awk -v most="$(sampled 11)" '
		$1 == 1 {
			got = $12 * ($13 == "ms" ? 1e6 : $13 == "us" ? 1e3 : 1e9)
			print "# " $0
			exit !(got <= most && got > most * 0.99)
		}'
}

# The kernel may not know of the first and of the last wait yet.
sampler_stolen()
{
	off=$(most 3 wait $waits)
	note "CPU 1: stolen $(sampled 12) ns"
	between $(($(sampled 7) - off)) "$(sampled 12)" $(($(sampled 7) + off))
}

[ "$(uname -m)" = ppc64le ] || [ "$(uname -m)" = ppc64 ] || skip_all "no POWER machine"
grep -q linux,kvm /proc/device-tree/hypervisor/compatible 2>/dev/null &&
	[ -d /proc/device-tree/rtas ] || skip_all "no partition of a hypervisor"
[ -x "$dir/scenario_vpa" ] || skip_all "no scenario_vpa: make -C selftests"
[ "$(nproc)" -eq 2 ] || skip_all "needs two CPUs"
need_modules kdtl_watch kdtl_recorder kdtl_sampler kdtl_trace
need_tracing
need kdtl
load kdtl_vpa || skip_all "no hypervisor that logs dispatches"

plan 15
taskset -p 1 $$ >/dev/null
forget_log
ok "the recorder loads" load kdtl_recorder pmu=kdtl_vpa ms=20 lines=40
ok "the watch loads" load kdtl_watch pmu=kdtl_vpa threshold_ms=0 pause_s=600
load kdtl_trace pmu=kdtl_vpa || bail_out "kdtl_trace does not load"
ok "the load runs" load_did
[ "$ktap_failed" -eq 0 ] || bail_out "no load, no answers"
ok "the hypervisor gave its processor to the other one" hypervisor_had_it
ok "trace: CPU 1 waited no longer than its clock jumped" trace_has_no_longer
ok "trace: CPU 1 waited while CPU 0 ran" trace_has_each
ok "trace: there is no other wait" trace_has_no_other
ok "trace: no task is blamed, nothing is lost" trace_blames_nobody
ok "trace: the waits are the stolen time of /proc/stat" steal_fits
ok "watch: its late dispatches are the long waits" watch_late
ok "watch: the hypervisor had the CPU" watch_says_who
ok "recorder: the table is about such a wait, and has it" recorder_has_it
ok "sampler: the waits, and the longest" sampler_waits
ok "sampler: the longest of the last 60 s" sampler_window
ok "sampler: the stolen time" sampler_stolen
finish
