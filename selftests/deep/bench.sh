#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures what Documentation/performance.rst shows once more, on whatever else this machine does, and
# fails if a benchmark does not run any more, or has a figure that is not recorded, or the other way
# round. How much the figures differ is for a person to judge.
#
# shellcheck disable=SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-bench.XXXXXX")
partial "$work"

names()
{
	cut -f 1 -- "$1" | sort
}

same_names()
{
	diff -u <(names "$top/Documentation/performance/results.tsv") \
		<(names "$work/results.tsv")
}

plan 2
ok "the benchmarks run" "$top/selftests/bench/run" --out "$work"
ok "performance.rst has their figures, and no others" same_names
finish
