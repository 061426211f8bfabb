#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests clients/examples/snapshot.c in a machine that panics.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

target=x86_64-6.1

# Makes more dispatches on each CPU than are printed; then the task kdtl_crash ends the machine.
# shellcheck disable=SC2016
guest='
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_sched.ko && insmod kdtl_snapshot.ko ||
		exit
	for mask in 1 2 4 8; do
		taskset $mask sh -c "for n in 1 2 3 4 5 6; do usleep 1000; done"
	done
	printf "#!/bin/sh\nusleep 1000\necho c >/proc/sysrq-trigger\n" >/tmp/kdtl_crash
	chmod +x /tmp/kdtl_crash
	/tmp/kdtl_crash'

panics()
{
	"$top/selftests/run/vm" $target --quiet --cpus 4 --expect-panic --timeout 600 \
		--log "$work/console" --modules "$kdtl" -- "$guest" || return
	sed -n 's/^.*kdtl_snapshot: //p' "$work/console" | tr -d '\r' >"$work/rows"
}

# There are five rows of each CPU, with times that do not go back.
rows()
{
	cat -- "$work/rows"
	! grep -v -E '^CPU [0-3]: [0-9]+ ns: .+:[0-9]+, waited [0-9]+ ns$' "$work/rows" &&
		[ "$(cut -d : -f 1 "$work/rows" | sort | uniq -c | tr -s ' \n' ' ')" = \
			" 5 CPU 0 5 CPU 1 5 CPU 2 5 CPU 3 " ] &&
		sort -c -s -k 2,2 -k 3,3n "$work/rows"
}

culprit()
{
	awk '{ last[$2] = $0 } END { for (c in last) print last[c] }' "$work/rows" |
		tee "$work/last"
	grep -q ' kdtl_crash:[0-9]*,' "$work/last"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-snapshot.XXXXXX")
partial "$work"
capture "$top/scripts/build" $target
kdtl=$captured

plan 3
ok "it panics" panics
ok "the last dispatches of each CPU, in the order of time" rows
ok "the task that caused it was the last on its CPU" culprit
finish
