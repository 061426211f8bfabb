#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount: how many instructions each tracer adds to a context switch.
# Nothing is read meanwhile and nothing is woken, so this is the producer alone.
#
# producer.sh [GROUP]...	of floor, kdtl, peers (default), bpf, guard

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

ROUNDS=${ROUNDS:-10000}

pingpong()
{
	"$BENCH/pingpong" "$ROUNDS"
}

# added NAME COMMAND...: COMMAND runs the ping-pong and prints the result, which is compared with
# runs without a tracer, before and after it: the kernel's own state drifts by a few instructions.
added()
{
	name=$1
	shift
	with=$("$@") || die "$name: $*"
	after=$(pingpong)
	result "dispatch.$name" "$(echo "$with" "$before" "$after" |
		awk '{ printf "%.1f", $1 - ($2 + $3) / 2 }')" instructions
	before=$after
}

probe()
{
	load bench_probe "what=$1"
	pingpong
	rmmod bench_probe
}

sessions()
{
	n=$1
	shift
	load bench_kdtl "sessions=$n" "$@"
	pingpong
	rmmod bench_kdtl
	[ "$(said bench_kdtl lost)" = 0 ] || die "kdtl lost entries"
}

ftrace()
{
	for e; do
		echo 1 >"$TRACING/events/sched/$e/enable"
	done
	pingpong
	echo 0 >"$TRACING/events/sched/enable"
	echo >"$TRACING/trace"
}

group_floor()
{
	added empty_probe probe empty
	added record_floor probe record
}

# with_kdtl COMMAND...: runs it while kdtl is loaded.
with_kdtl()
{
	load kdtl
	load kdtl_sched
	"$@"
	rmmod kdtl_sched
	rmmod kdtl
}

each_sessions()
{
	for n; do
		added "kdtl_sched.$n" sessions "$n"
	done
}

group_kdtl()
{
	with_kdtl added kdtl_sched.idle pingpong
	with_kdtl each_sessions 1 2 8
	with_kdtl added kdtl_sched.stopped sessions 1 stopped=1
	# This mask is for page faults, which the source does not have.
	with_kdtl added kdtl_sched.masked sessions 1 mask=4
}

# The few figures that make check looks at.
group_guard()
{
	added record_floor probe record
	with_kdtl each_sessions 1 2
}

group_bpf()
{
	if ! has bpf_ringbuf; then
		skipped dispatch.bpf_ringbuf "the program was not built"
		return
	fi
	added bpf_ringbuf "$BENCH/bpf_switch" "$BENCH/bpf_switch.bpf.o" \
		"$BENCH/pingpong" "$ROUNDS"
	added bpf_ringbuf.waits "$BENCH/bpf_switch" "$BENCH/bpf_waits.bpf.o" \
		"$BENCH/pingpong" "$ROUNDS"
}

group_peers()
{
	added relay probe relay
	added kfifo probe kfifo
	added trace_ring_buffer probe ring_buffer
	echo 16384 >"$TRACING/buffer_size_kb"
	added ftrace ftrace sched_switch
	added ftrace.waking ftrace sched_switch sched_waking
	added ftrace.wakeup ftrace sched_switch sched_waking sched_wakeup
	echo 4 >"$TRACING/buffer_size_kb"

	added perf "$BENCH/perf_switch" "$BENCH/pingpong" "$ROUNDS"
	added perf.fewest "$BENCH/perf_switch" -m "$BENCH/pingpong" "$ROUNDS"
	group_bpf
	if has lttng; then
		lttng_modules
		added lttng "$BENCH/lttng_switch" sched_switch \
			"$BENCH/pingpong" "$ROUNDS"
		added lttng.wakeup "$BENCH/lttng_switch" \
			sched_switch,sched_waking,sched_wakeup \
			"$BENCH/pingpong" "$ROUNDS"
	else
		skipped dispatch.lttng "its modules were not built"
	fi
}

mkdir -p "${RESULTS%/*}"
# The caches are cold in the first run, but not in later ones.
pingpong >/dev/null
before=$(pingpong)
result dispatch.nothing "$before" instructions
[ $# -gt 0 ] || set -- floor kdtl peers
for group; do
	"group_$group"
done
