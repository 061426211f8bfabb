# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# Shared by the scripts that measure, in the guest. Sourced.
#
# Results are tab-separated: name, value, unit. The host adds the ratios.

BENCH=${BENCH:-/bench}
MODULES=${KDTL_MODULES:-/lib/kdtl}
RESULTS=${RESULTS:-/out/results.tsv}
# shellcheck disable=SC2034 # of those who source this
TRACING=/sys/kernel/tracing

# result NAME VALUE UNIT
result()
{
	printf '%s\t%s\t%s\n' "$1" "$2" "$3" | tee -a "$RESULTS"
}

# skipped NAME WHY
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

# said MODULE KEY: the last value that the module gave for it in the log.
said()
{
	dmesg | sed -n "s/.*\] $1: .*\<$2 \([0-9.]*\).*/\1/p" | tail -n 1
}
