# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the scripts that measure in the guest. Sourced.
#
# Results are lines of name, value and unit, separated by tabs. The host adds
# the ratios.

BENCH=${BENCH:-/bench}
MODULES=${KDTL_MODULES:-/lib/kdtl}
RESULTS=${RESULTS:-/out/results.tsv}
# shellcheck disable=SC2034 # of those who source this
TRACING=/sys/kernel/tracing

# result NAME VALUE UNIT: adds a result.
result()
{
	printf '%s\t%s\t%s\n' "$1" "$2" "$3" | tee -a "$RESULTS"
}

# skipped NAME WHY: says that there is no result.
skipped()
{
	echo "# $1 skipped: $2"
}

die()
{
	echo "${0##*/}: $*" >&2
	exit 1
}

load()
{
	m=$1
	shift
	insmod "$MODULES/$m.ko" "$@" || die "$m does not load"
}

# said MODULE KEY: prints the last value that the module logged for it.
said()
{
	dmesg | sed -n "s/.*\] $1: .*\<$2 \([0-9.]*\).*/\1/p" | tail -n 1
}

# free_bytes: prints how much memory is free, including the per-CPU lists.
free_bytes()
{
	cat /proc/sys/vm/stat_refresh
	awk '$1 == "nr_free_pages" || $1 == "count:" { n += $2 }
		END { printf "%.0f\n", n * 4096 }' /proc/zoneinfo
}

# session_bytes PAGES: prints what one more session takes, by comparing nine
# sessions with one.
session_bytes()
{
	for n in 1 1 9; do
		free=$(free_bytes)
		load bench_kdtl "sessions=$n" "aux_pages=$1"
		was=${taken:-0}
		taken=$((free - $(free_bytes)))
		rmmod bench_kdtl
	done
	echo $(((taken - was) / 8))
}

# lttng_modules: loads them, if they could be built.
lttng_modules()
{
	[ -d "$BENCH/lttng" ] || return 0
	ln -s "$BENCH"/lttng/lib/modules/* /lib/modules/
	modprobe -a lttng-ring-buffer-client-mmap-discard lttng-probe-sched ||
		die "LTTng's modules do not load"
}

# has TRACER: succeeds if it could be built.
has()
{
	case $1 in
	bpf_ringbuf) [ -e "$BENCH/bpf_switch" ] ;;
	lttng) [ -d "$BENCH/lttng" ] ;;
	*) true ;;
	esac
}
