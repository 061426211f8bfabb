#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares pressure, of tasks of all kinds at once (lib/pressure_load.c), with what the kernel
# counts: on one CPU that counts instructions as nanoseconds, where PSI has no average over CPUs and
# a switch always takes the same time, and on the oldest and the newest kernel with four CPUs.
#
#	selftests/deep/pressure.sh [icount | 6.1 | 7.2]...
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"

# runs TARGET OPTION...: runs the rows of lib/pressure-guest.sh.
runs()
{
	target=$1
	shift
	capture "$top/scripts/build" "$target"
	"$top/selftests/run/vm" "$target" --timeout 3000 "$@" --modules "$captured" \
		--add "$top/selftests:/selftests" --add "$work:/programs" -- \
		"cp /programs/pressure_load /selftests/deep/lib/pressure-guest.sh /selftests/guest/ &&
			sh /selftests/guest/pressure-guest.sh" | sed 's/^/# /'
	return "${PIPESTATUS[0]}"
}

[ $# -gt 0 ] || set -- icount 6.1 7.2
"$top/scripts/install-deps" demo
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-pressure.XXXXXX")
partial "$work"
gcc -O2 -Wall -Wextra -std=gnu11 -static -I "$top/selftests/guest" -o "$work/pressure_load" \
	"$here/lib/pressure_load.c" || bail_out "pressure_load does not build"

plan $#
for which; do
	case $which in
	icount) ok "on a CPU whose instructions are its time" runs x86_64-6.1 --icount ;;
	6.1 | 7.2) ok "on four CPUs, $which" runs "x86_64-$which" --cpus 4 ;;
	*) bail_out "$which: icount, 6.1 or 7.2" ;;
	esac
done
finish
