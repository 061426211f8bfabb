#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The client in Documentation/writing-a-client.rst, taken from the text: it
# builds from the public header alone, and runs.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

target=x86_64-6.1
text=$top/Documentation/writing-a-client.rst

# block NAME: the code block that the text calls so.
block()
{
	awk -v name="$1" '
	$1 == ":name:" { on = $2 == name; next }
	on && /^[^ ]/ { exit }
	on { sub(/^    /, ""); print }' "$text"
}

builds()
{
	make -C "$kdir" M="$work" KDTL="$kdtl" W=1 \
		KBUILD_EXTRA_SYMBOLS="$kdtl/Module.symvers" modules >"$work/log" 2>&1 &&
		! grep -E 'warning|WARNING' "$work/log" || {
		cat -- "$work/log"
		return 1
	}
}

# It says twice whose wait was the longest, and goes.
runs()
{
	run_group "$top/selftests/vm/run" $target --quiet --timeout 120 \
		--modules "$kdtl" --modules "$work/longest.ko" --log "$work/console" -- '
		cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_sched.ko &&
			insmod longest.ko || exit
		until [ $(dmesg | grep -c "longest: [0-9]* ns on CPU") -ge 2 ]; do
			usleep 100000
		done
		dmesg | grep "longest:"
		rmmod longest && rmmod kdtl_sched && rmmod kdtl'
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-tutorial.XXXXXX")
partial "$work"
capture "$top/scripts/build" $target
kdtl=$captured
capture "$top/scripts/kernel" $target kdir
kdir=$captured
block longest.c >"$work/longest.c"
block Kbuild >"$work/Kbuild"
plan 2
ok "the module in writing-a-client.rst builds without warnings" builds
ok "and runs" runs
finish
