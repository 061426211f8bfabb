#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, ppc64le under -icount: what an entry costs while all $1 CPUs make some, in
# instructions, on the slowest of them.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

mkdir -p "${RESULTS%/*}"
[ "$(nproc)" -eq "$1" ] || die "$(nproc) CPUs"
load kdtl
load bench_cpus
# 512 ticks of the time base are 1,000 instructions.
for which in least most; do
	result "cpus.$1.$which" "$(awk "BEGIN { printf \"%.1f\",
		$(said bench_cpus "$which") * 1000 / 512 / 32 }")" instructions
done
