#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The recorder in machines of which all CPUs hang, and which are reset: does the next boot
# print what the last table before the reset had?
#
#	selftests/host/reset.sh [TARGET PARAMETERS KERNEL-ARGUMENTS]	only that machine

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

lines=40
boots=3

# target, the recorder's parameters, the kernel's arguments
machines='
x86_64-6.1  mem_address=0x30000000,mem_size=0x100000  memmap=1M$0x30000000
'
[ $# -eq 0 ] || machines=$*

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-reset.XXXXXX")
partial "$work"

# run TARGET PARAMETERS KERNEL-ARGUMENTS: the console goes to $work/console.
run()
{
	capture "$top/scripts/build" "$1" || return
	# shellcheck disable=SC2086 # several parameters
	"$top/selftests/run/vm" "$1" --cpus 4 --timeout 900 --quiet --log "$work/console" \
		--out "$work" --modules "$captured" --add "$here/lib/reset-guest.sh:/" \
		--reset "kdtl_crash: all CPUs have stopped" --append "$3" -- \
		sh /reset-guest.sh $boots $lines ${2//,/ }
}

# tables WHAT: the rows of each table of that name, a blank line behind each, without the
# log's time stamps.
tables()
{
	sed -n 's/^.*kdtl_recorder: //p' "$work/console" | awk -v what="$1" '
	/entries, oldest first$/ { on = index($0, what ": ") == 1; next }
	/: end of table$/ { if (on) print ""; on = 0; next }
	on && /^[0-9]+:[0-9]+:[0-9]+\.[0-9]+ /'
}

# same: each boot has printed the rows that were printed just before the reset. The time of day
# differs by some microseconds, because each table computes it from another moment.
same()
{
	tables panic | sed 's/^[0-9:.]* *//' >"$work/before"
	tables "last boot" | sed 's/^[0-9:.]* *//' >"$work/after"
	[ "$(grep -c '^$' "$work/before")" -eq $boots ] &&
		[ "$(grep -c . "$work/before")" -eq $((boots * lines)) ] || {
		cat -- "$work/before"
		return 1
	}
	diff "$work/before" "$work/after"
}

# culprit: what stopped the CPUs was the last task on its own.
culprit()
{
	awk '/^$/ { n += seen; seen = 0 } / kdtl_crash:/ { seen = 1 } END { exit n != '"$boots"' }' \
		"$work/after"
}

# recording: kdtl reads what the file of the last boot has, as it was printed.
recording()
{
	local kdtl=$work/tool/kdtl

	"$kdtl" report "$work/last" && "$kdtl" why "$work/last" >/dev/null &&
		"$kdtl" print "$work/last" >"$work/printed" && tail -n 5 "$work/printed" &&
		grep -q ' kdtl_crash' "$work/printed" &&
		[ "$(wc -l <"$work/printed")" -gt $lines ]
}

plan $((1 + 4 * $(grep -c . <<<"$machines")))
ok "kdtl builds" make -s -C "$top/clients/stream/tool" OUTPUT="$work/tool"
while read -r target params args; do
	[ -n "$target" ] || continue
	ok "$target: $boots resets" run "$target" "$params" "$args" </dev/null
	ok "$target: each boot prints what there was just before" same
	ok "$target: and the task that stopped the CPUs" culprit
	ok "$target: the recording has it, too" recording
done <<<"$machines"
finish
