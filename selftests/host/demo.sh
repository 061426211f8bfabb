#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The README's first command does what it says: a table, and nothing lost.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

out=$(mktemp "${TMPDIR:-/tmp}/kdtl-demo.XXXXXX")
partial "$out"

# field NAME: of the demo's last line.
field()
{
	tail -n 1 -- "$out" | tr ' ' '\n' | sed -n "s/^$1=//p"
}

# demo ARCH MACHINE PMU: ends with a line that adds up.
demo()
{
	run_group make -s -C "$top" demo ARCH="$1" >"$out" || {
		tail -n 20 -- "$out"
		return 1
	}
	tail -n 1 -- "$out"
	tail -n 1 -- "$out" | grep -q '^demo: ' &&
		[ "$(field arch)" = "$2" ] && [ "$(field pmu)" = "$3" ] &&
		[ "$(field dispatches)" -ge 100 ] &&
		[ "$(field consumed)" -eq "$(field dispatches)" ] &&
		[ "$(field lost)" -eq 0 ]
}

has_table()
{
	grep -q '^ CPU  dispatches' "$out" && grep -q '^ all ' "$out" &&
		grep -q '^  wait below' "$out"
}

plan 4
ok "make demo loses nothing" demo x86 x86_64 kdtl_sched
ok "and shows a table" has_table
if [ "${KDTL_QUICK:-0}" = 0 ]; then
	ok "make demo ARCH=powerpc loses nothing" demo powerpc ppc64le kdtl_vpa
	ok "and shows a table" has_table
else
	skip "make demo ARCH=powerpc loses nothing" "not in the quick run"
	skip "and shows a table" "not in the quick run"
fi
finish
