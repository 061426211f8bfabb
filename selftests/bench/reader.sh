#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Measures what the sampler's reader takes for a dispatch in this machine's own time, without the
# kernel (reader_native.c). If another tree is named, its reader is measured in turns with this one.
#
#	selftests/bench/reader.sh [TREE]
#
# Prints lines: tree, load, ns a dispatch (in the fastest tenth of the spans; in half of them), % of
# a CPU at 100,000 dispatches a second.
#
# shellcheck disable=SC2154

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=reader-build.sh
. "$here/reader-build.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-reader.XXXXXX")
partial "$work"
reader_build "$top" "$work/this" || die "it does not build"
trees=(this)
if [ $# -gt 0 ]; then
	reader_build "$1" "$work/other" || die "$1: it does not build"
	trees+=(other)
fi
for load in none pairs cgroups pods; do
	for tree in "${trees[@]}"; do
		figures=$("$work/$tree" "$load" 2>"$work/said") || die "$load: $(cat "$work/said")"
		printf '%s\t%s\n' "$tree" "$figures" | cut -f 1-5
	done
done
finished "$work"
