#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount: which part of the dispatches of the same crowd each tracer
# loses, with buffers of the same size and a reader that is woken when half of the buffer is full.
# "starved": the crowd is of a real-time class and has the only CPU until it is done, so a tracer
# keeps only what fits into its buffer.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

# field NAME FILE: prints the last number after it.
field()
{
	sed -n "s/.*\<$1:\{0,1\} \([0-9]*\).*/\1/p" "$2" | tail -n 1
}

# How many switches there were, for tracers that do not report how many they got.
context_switches()
{
	awk '$1 == "ctxt" { print $2 }' /proc/stat
}

# Each of these sets $lost and $got.
kdtl_lost()
{
	kib=$1
	shift
	load bench_kdtl "aux_pages=$((kib / 4))" reading=1
	"$@" >/dev/null
	rmmod bench_kdtl
	lost=$(said bench_kdtl lost)
	got=$(($(said bench_kdtl produced) - lost))
}

ftrace_lost()
{
	echo "$1" >"$TRACING/buffer_size_kb"
	shift
	echo >"$TRACING/trace"
	switches=$(context_switches)
	echo 1 >"$TRACING/events/sched/sched_switch/enable"
	"$BENCH/ftrace_read" "$TRACING/per_cpu/cpu0/trace_pipe_raw" "$@" \
		>/dev/null || die "ftrace_read"
	echo 0 >"$TRACING/events/sched/sched_switch/enable"
	switches=$(($(context_switches) - switches))
	lost=$(awk -F ': ' '$1 == "overrun" || $1 == "dropped events" { n += $2 }
		END { print n }' "$TRACING/per_cpu/cpu0/stats")
	got=$((switches - lost))
}

perf_lost()
{
	kib=$1
	shift
	"$BENCH/perf_switch" -r "$kib" "$@" 2>/tmp/said >/dev/null ||
		die "$(cat /tmp/said)"
	lost=$(field lost /tmp/said)
	got=$(field records /tmp/said)
}

bpf_ringbuf_lost()
{
	kib=$1
	shift
	"$BENCH/bpf_switch" -r "$kib" "$BENCH/bpf_switch.bpf.o" "$@" \
		2>/tmp/said >/dev/null || die "$(cat /tmp/said)"
	lost=$(field lost /tmp/said)
	got=$(field records /tmp/said)
}

lttng_lost()
{
	kib=$1
	shift
	switches=$(context_switches)
	"$BENCH/lttng_switch" -r "$kib" sched_switch "$@" 2>/tmp/said \
		>/dev/null || die "$(cat /tmp/said)"
	switches=$(($(context_switches) - switches))
	lost=$(field lost /tmp/said)
	got=$((switches - lost))
}

mkdir -p "${RESULTS%/*}"
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
load kdtl
load kdtl_sched
lttng_modules
"$BENCH/messages" 2 10 50 >/dev/null
for tracer in ${TRACERS:-kdtl ftrace perf bpf_ringbuf lttng}; do
	has "$tracer" || continue
	for kib in 16 64 256; do
		for how in read starved; do
			set -- "$BENCH/messages" 2 10 400
			[ $how = read ] || set -- "$BENCH/messages" -f 2 10 400
			"${tracer}_lost" $kib "$@"
			echo "# $tracer $kib KiB, $how: $got and $lost lost"
			result "lost.$tracer.$how.$kib" "$(awk "BEGIN {
				printf \"%.4f\", $lost / ($lost + $got) }")" ratio
		done
	done
done
