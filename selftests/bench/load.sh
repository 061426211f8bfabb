#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the guest: how much longer a crowd that talks through pipes takes, and a pair
# that plays ping-pong, with each tracer. All only write, into buffers that hold
# everything. Runs come in pairs, with and without the tracer, in alternating order.
# The result is the median of the pairs' ratios, and the interval that has the true
# median with a probability of 95 % (.low, .high: order statistics; of fewer than six
# pairs the least and the most).
#
# load.sh NAME PAIRS
#	NAME is load (under -icount: instructions) or wall (time)
# TRACERS	which (default: all)

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

name=$1 pairs=$2

crowd="$BENCH/messages -f 2 10 20"
pipe="$BENCH/pingpong 1000"

kdtl_with()
{
	load bench_kdtl aux_pages=4096 >&2
	"$@"
	rmmod bench_kdtl
}

ftrace_with()
{
	echo 1 >"$TRACING/events/sched/sched_switch/enable"
	"$@"
	echo 0 >"$TRACING/events/sched/sched_switch/enable"
	echo >"$TRACING/trace"
}

perf_with()
{
	"$BENCH/perf_switch" "$@" 2>/dev/null
}

bpf_ringbuf_with()
{
	"$BENCH/bpf_switch" "$BENCH/bpf_switch.bpf.o" "$@" 2>/dev/null
}

lttng_with()
{
	"$BENCH/lttng_switch" sched_switch "$@"
}

nothing_with()
{
	"$@"
}

# pair TRACER NR COMMAND...: what it took with, and without.
pair()
{
	tracer=$1 nr=$2
	shift 2
	if [ $((nr % 2)) -eq 0 ]; then
		without=$("$@") || return
		with=$("${tracer}_with" "$@") || return
	else
		with=$("${tracer}_with" "$@") || return
		without=$("$@") || return
	fi
	echo "$with $without"
}

# compare TRACER WORKLOAD COMMAND...
compare()
{
	tracer=$1 workload=$2
	shift 2
	i=0
	while [ $i -lt "$pairs" ]; do
		pair "$tracer" "$i" "$@" || die "$tracer: $*"
		i=$((i + 1))
	done | awk '{ print $1 / $2 }' | sort -n >/tmp/ratios
	# busybox has no sqrt(): the last low with (NR - 2 low)^2 >= 1.96^2 NR.
	awk -v name="$name.$workload.$tracer" '
		{ r[NR] = $1 }
		END {
			low = 1
			while (NR > 2 * low + 2 &&
			       (NR - 2 * low - 2) * (NR - 2 * low - 2) >= 3.8416 * NR)
				low++
			middle = (r[int((NR + 1) / 2)] + r[int(NR / 2) + 1]) / 2
			printf "%s\t%.5f\tratio\n", name, middle
			printf "%s.low\t%.5f\tratio\n", name, r[low]
			printf "%s.high\t%.5f\tratio\n", name, r[NR + 1 - low]
		}' /tmp/ratios | tee -a "$RESULTS"
}

mkdir -p "${RESULTS%/*}"
# A task runs until it waits: none is to be delayed for the others' sake.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
echo 16384 >"$TRACING/buffer_size_kb"
load kdtl
load kdtl_sched
lttng_modules
# The first runs touch memory for the first time; no later one does.
for i in 1 2; do
	$crowd >/dev/null
	$pipe >/dev/null
done
# The comparison of nothing with nothing shows how far the others can be trusted.
for tracer in ${TRACERS:-nothing kdtl ftrace perf bpf_ringbuf lttng}; do
	has "$tracer" || continue
	# shellcheck disable=SC2086 # several words
	compare "$tracer" crowd $crowd
	# shellcheck disable=SC2086
	compare "$tracer" pipe $pipe
done
