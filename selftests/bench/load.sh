#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the guest, under -icount: how many more instructions a crowd takes that
# talks through pipes, with each tracer. Who runs when depends on where the
# timer's ticks fall, so no two runs are the same: they come in pairs, with and
# without; the result is the ratio of the sums, and of the pairs the least and
# the most.
# kdtl has its reader (the sampler), the others write only.
#
# load.sh PAIRS GROUPS ROUNDS

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

pairs=$1 groups=$2 rounds=$3
work="$BENCH/messages $groups 10 $rounds"

kdtl_on()
{
	load kdtl_sampler aux_pages=256
}

kdtl_off()
{
	rmmod kdtl_sampler
}

ftrace_on()
{
	echo 1 >"$TRACING/events/sched/sched_switch/enable"
}

ftrace_off()
{
	echo 0 >"$TRACING/events/sched/sched_switch/enable"
}

# with NAME: ns.
# shellcheck disable=SC2086 # $work is several words
with()
{
	case $1 in
	kdtl | ftrace)
		"$1_on"
		$work
		"$1_off"
		;;
	perf) "$BENCH/perf_switch" $work 2>/dev/null ;;
	bpf_ringbuf)
		"$BENCH/bpf_switch" "$BENCH/bpf_switch.bpf.o" $work 2>/dev/null
		;;
	nothing) $work ;;
	esac
}

# pair NAME NR: ns with, ns without; which comes first alternates.
pair()
{
	if [ $(($2 % 2)) -eq 0 ]; then
		without=$($work)
		with=$(with "$1") || return
	else
		with=$(with "$1") || return
		without=$($work)
	fi
	echo "$with $without"
}

mkdir -p "${RESULTS%/*}"
load kdtl
load kdtl_sched
# The first runs meet memory that no later one does.
for i in 1 2 3 4 5; do
	$work >/dev/null
done
# Nothing against nothing says how much the rest can be trusted.
for tracer in nothing kdtl ftrace perf bpf_ringbuf; do
	[ "$tracer" != bpf_ringbuf ] || [ -e "$BENCH/bpf_switch" ] || continue
	i=0
	while [ $i -lt "$pairs" ]; do
		pair "$tracer" "$i" || die "$tracer"
		i=$((i + 1))
	done >"/tmp/$tracer"
	awk '{ printf "%.4f\n", $1 / $2 }' "/tmp/$tracer" |
		sort -n >"/tmp/$tracer.sorted"
	result "load.$tracer" "$(awk '{ with += $1; without += $2 }
		END { printf "%.4f", with / without }' "/tmp/$tracer")" ratio
	result "load.$tracer.least" "$(sed -n 1p "/tmp/$tracer.sorted")" ratio
	result "load.$tracer.most" "$(sed -n '$p' "/tmp/$tracer.sorted")" ratio
done
