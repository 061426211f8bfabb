#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest: how much longer a crowd that talks through pipes takes with each tracer, and a
# pair that plays ping-pong. All tracers only write, into buffers that hold everything. Runs come in
# pairs, with and without the tracer, in alternating order. The result is the median of the pairs'
# ratios, and the interval that has the true median with a probability of 95 % (.low, .high: order
# statistics; with fewer than six pairs, the least and the greatest).
#
# load.sh NAME PAIRS
#	NAME is load (under -icount: instructions) or wall (time)
# TRACERS	which tracers (default: all)

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

# pair TRACER NR COMMAND...: prints what COMMAND took with and without it.
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

# compare TRACER WORKLOAD COMMAND...: adds the results of all pairs.
compare()
{
	tracer=$1 workload=$2
	shift 2
	i=0
	while [ $i -lt "$pairs" ]; do
		pair "$tracer" "$i" "$@" || die "$tracer: $*"
		i=$((i + 1))
	done | awk '{ print $1 / $2 }' | sort -n >/tmp/ratios
	# busybox has no sqrt(): this is the last low with (NR - 2 low)^2 >= 1.96^2 NR.
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
# A task runs until it waits: the kernel must not hold it back for the sake of others.
echo -1 >/proc/sys/kernel/sched_rt_runtime_us
echo 16384 >"$TRACING/buffer_size_kb"
load kdtl
load kdtl_sched
lttng_modules
# The first runs touch memory for the first time; later runs do not.
for i in 1 2; do
	$crowd >/dev/null
	$pipe >/dev/null
done
# Comparing nothing with nothing shows how far the other results can be trusted.
for tracer in ${TRACERS:-nothing kdtl ftrace perf bpf_ringbuf lttng}; do
	has "$tracer" || continue
	# shellcheck disable=SC2086 # several words
	compare "$tracer" crowd $crowd
	# shellcheck disable=SC2086
	compare "$tracer" pipe $pipe
done
