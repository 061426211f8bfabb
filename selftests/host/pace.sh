#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# kdtl_vpa polls as often as needed, and no more. This is counted in virtual time, which
# makes the result the same on any machine: rates that its log must sustain, which start
# at once or are reached in steps, and the interrupts of polls when there is nothing.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
bench=$top/selftests/bench
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

target=ppc64le-6.1

measure()
{
	make -s -C "$bench" OUTPUT="$work/bench" \
		CROSS_COMPILE=powerpc64le-linux-gnu- "$work/bench/spin" &&
		cp -- "$bench"/*.sh "$work/bench/" &&
		"$top/selftests/run/vm" "$target" --quiet --icount --timeout 900 \
			--modules "$captured" --add "$work/bench:/bench" \
			--out "$work" -- sh /bench/hv.sh guard
}

# value NAME CONDITION: the value x of NAME meets CONDITION, in awk's words.
value()
{
	awk -F '\t' -v name="$1" '
		$1 == name { x = $2; n++ }
		END {
			print name ": " x
			exit !(n == 1 && ('"$2"'))
		}' "$work/results.tsv"
}

"$top/scripts/install-deps" ppc64le
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-pace.XXXXXX")
partial "$work"
capture "$top/scripts/build" "$target"

plan 7
ok "reading the hypervisor's log is measured" measure
ok "a log at rest costs a busy CPU no interrupts" value hv.polls.kdtl.0 'x < 20'
ok "an idle CPU is left alone" value hv.polls.kdtl.idle 'x < 20'
ok "300,000 entries a second, from a standing start: none is lost" \
	value hv.lost.kdtl.300000 'x == 0'
ok "the same on a CPU that was idle" value hv.lost.kdtl.idle.300000 'x == 0'
ok "1,000,000 a second, reached in steps: none is lost" \
	value hv.lost.kdtl.1000000 'x == 0'
# Without this the two above would prove nothing.
ok "losses of a log of 4096 bytes are detected" \
	value hv.lost.kdtl.4096.300000 'x > 0'
finish
