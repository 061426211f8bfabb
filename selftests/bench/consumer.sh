#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount: what it costs to read records, each word of
# them, and to be woken for it, in instructions.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

ROUNDS=${ROUNDS:-10000}

from_module()
{
	load bench_reader
	for name in consume.kdtl consume.kdtl.single consume.kfifo \
		consume.trace_ring_buffer produce.kdtl produce.kfifo \
		produce.trace_ring_buffer wakeup.kdtl wakeup.floor \
		wait.cpus.1; do
		result "$name" "$(said bench_reader "$name")" instructions
	done
	# The bandwidth at which 4 MiB were read, in whole records.
	for name in kdtl memread; do
		result "bandwidth.$name" "$(said bench_reader "span.$name" |
			awk '{ printf "%.4f", 1024 / $1 }')" bytes/instruction
	done
	rmmod bench_reader
}

perf_mmap()
{
	said=$("$BENCH/perf_switch" "$BENCH/pingpong" "$ROUNDS" 2>&1) ||
		die "$said"
	result consume.perf "$(echo "$said" |
		sed -n 's/.*ticks \([0-9.]*\).*/\1/p')" instructions
	result bytes.perf "$(echo "$said" |
		sed -n 's/.*bytes \([0-9.]*\).*/\1/p')" bytes
}

relay_file()
{
	load bench_probe what=relay
	"$BENCH/pingpong" "$ROUNDS" >/dev/null
	result consume.relay \
		"$("$BENCH/readfile" /sys/kernel/debug/bench_probe0)" instructions
	rmmod bench_probe
}

mkdir -p "${RESULTS%/*}"
load kdtl
from_module
rmmod kdtl
relay_file
perf_mmap
