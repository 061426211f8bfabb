#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount: how the cost of a dispatch depends on the number of sessions, on
# the size of their areas and on the rate of dispatches, and how much memory a session takes.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

ROUNDS=${ROUNDS:-5000}

pingpong()
{
	"$BENCH/pingpong" "$ROUNDS"
}

# scale NAME PARAMETER...: measures with these parameters of bench_kdtl.
scale()
{
	name=$1
	shift
	load bench_kdtl "$@"
	with=$(pingpong) || die "$name"
	rmmod bench_kdtl
	after=$(pingpong)
	result "scale.$name" "$(echo "$with" "$before" "$after" |
		awk '{ printf "%.1f", $1 - ($2 + $3) / 2 }')" instructions
	before=$after
}

# rate N: measures for half a second what a dispatch takes at about N a second, with its share of a
# reader that is woken when half of 64 KiB is full. The work between dispatches sets the rate.
rate()
{
	rounds=$(($1 / 4))
	ticks=$((1000000000 / $1 - ${idle%.*}))
	was=$("$BENCH/pingpong" "$rounds" "$ticks")
	load bench_kdtl aux_pages=16 reading=1
	with=$("$BENCH/pingpong" "$rounds" "$ticks") || die "rate"
	rmmod bench_kdtl
	[ "$(said bench_kdtl lost)" = 0 ] || die "kdtl lost entries"
	after=$("$BENCH/pingpong" "$rounds" "$ticks")
	result "rate.$1" "$(echo "$with" "$was" "$after" |
		awk '{ printf "%.1f", $1 - ($2 + $3) / 2 }')" instructions
}

mkdir -p "${RESULTS%/*}"
load kdtl
load kdtl_sched
pingpong >/dev/null
idle=$(pingpong)
before=$idle
for n in 1 2 4 8 16 32; do
	scale "sessions.$n" "sessions=$n" aux_pages=512
	result "open.sessions.$n" "$(said bench_kdtl open_ns)" ns
	result "close.sessions.$n" "$(said bench_kdtl close_ns)" ns
done
for pages in 1 16 256; do
	result "memory.KiB.$((pages * 4))" "$(session_bytes $pages)" bytes/session
done
# These areas would be full if they were not overwritten.
for pages in 1 4 16 64 256 1024 4096 16384; do
	scale "overwrite.KiB.$((pages * 4))" "aux_pages=$pages" overwrite=1
done
# This area is full: each entry is counted as lost.
scale full aux_pages=1
[ "$(said bench_kdtl lost)" -gt 0 ] || die "nothing was lost"
for n in 5000 20000 50000 100000; do
	rate "$n"
done
