#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An entry and a wake-up still cost the same, in instructions, cache lines and pages.
# These are counted exactly, so a change of a few per cent is seen on any machine.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
bench=$top/selftests/bench
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

target=x86_64-6.1
allowed=5	# per cent

# value NAME FILE: the value of NAME in the file, whose lines are name, value, unit.
value()
{
	awk -F '\t' -v name="$1" '$1 == name { v = $2 } END { print v }' "$2"
}

# exceeds NAME FILE FACTOR OTHER FILE: NAME's figure is more than FACTOR times the other one.
exceeds()
{
	local is other

	is=$(value "$1" "$2")
	other=$(value "$4" "$5")
	if [ -z "$is" ] || [ -z "$other" ]; then
		die "no figure of $1 or of $4"
	fi
	echo "$1: $is, $4 in ${5##*/}: $other"
	awk -v is="$is" -v factor="$3" -v other="$other" \
		'BEGIN { exit !(is > factor * other) }'
}

# grown NAME RESULTS RECORDED: it costs more than is allowed.
grown()
{
	exceeds "$1" "$2" "$(awk -v n="$allowed" 'BEGIN { print 1 + n / 100 }')" "$1" "$3"
}

as_recorded()
{
	if grown "$@"; then
		echo "the path of an entry has grown by more than $allowed %:" \
			"make bench shows by how much. If that is the price of" \
			"something, say so: selftests/bench/run --record"
		return 1
	fi
}

counted_by_hand()
{
	[ "$(value native.lines.hand "$results")" = 9.00 ] &&
		[ "$(value native.pages.hand "$results")" = 4.00 ]
}

measure()
{
	make -s -C "$bench" OUTPUT="$work/bench" "$work/bench/pingpong" "$work/bench/lines.so" &&
		cp -- "$bench"/*.sh "$work/bench/" &&
		"$top/selftests/run/vm" "$target" --quiet --icount \
			--modules "$captured" --add "$work/bench:/bench" \
			--plugin "$work/bench/lines.so,out=$work/counts,modules=on" --out "$work" -- \
			"ROUNDS=5000 sh /bench/producer.sh guard && sh /bench/lines.sh" &&
		awk -f "$bench/count.awk" "$work/marked" "$work/counts" >>"$work/results.tsv"
}

# Measures a wake-up, a wait in sessions on one CPU and on many, and a look at the
# steal clock.
waits()
{
	"$top/selftests/run/vm" "$target" --quiet --icount --append possible_cpus=64 \
		--modules "$captured" --add "$work/bench:/bench" --out "$work/waits" -- \
		sh /bench/wait.sh 64 guard
}

# at_most NAME FACTOR OTHER: in the results of waits, NAME is at most FACTOR times OTHER.
at_most()
{
	! exceeds "$1" "$work/waits/results.tsv" "$2" "$3" "$work/waits/results.tsv"
}

# A look at the steal clock is cheap in a tick in which the hypervisor did not keep the CPU.
looks_cheaply()
{
	local look

	look=$(value steal.look "$work/waits/results.tsv")
	echo "a look takes $look instructions"
	[ "$look" -gt 0 ] && [ "$look" -le 20 ]
}

# The wake-up of a program that is in a system call is cheap, with one session.
wakes_cheaply()
{
	local woken

	woken=$(value wake.woken "$work/waits/results.tsv")
	echo "a wake-up takes $woken instructions"
	[ "$woken" -gt 0 ] && [ "$woken" -le 120 ]
}

"$top/scripts/install-deps" demo
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-cost.XXXXXX")
partial "$work"
capture "$top/scripts/build" "$target"

plan 13
ok "a dispatch is measured" measure
results=$work/results.tsv
recorded=$bench/recorded.tsv
ok "a record's floor is where it was, so the rest can be compared" \
	as_recorded dispatch.record_floor "$results" "$recorded"
ok "an entry costs no more than before" \
	as_recorded dispatch.kdtl_sched.1 "$results" "$recorded"
ok "one more session costs no more than before" \
	as_recorded dispatch.kdtl_sched.2 "$results" "$recorded"
ok "a dispatch touches no more cache lines than before" \
	as_recorded native.lines.kdtl_sched.1 "$results" "$recorded"
ok "one more session touches no more than before" \
	as_recorded native.lines.kdtl_sched.2 "$results" "$recorded"
# bench_hand() of bench_native.c.
ok "lines and pages are counted as by hand" counted_by_hand
# Without this the tests above would prove nothing.
awk -F '\t' -v OFS='\t' -v allowed="$allowed" \
	'{ $2 /= 1 + (allowed + 1) / 100; print }' "$results" >"$work/less.tsv"
ok "growth by one per cent more than that is seen" \
	grown dispatch.kdtl_sched.1 "$results" "$work/less.tsv"
ok "a wake-up and waits are measured" waits
ok "from an entry to its reader it takes hardly more than irq_work and complete()" \
	at_most wakeup.kdtl 1.105 wakeup.floor
ok "a wait does not look at each of the session's CPUs" \
	at_most wait.cpus.64 1.05 wait.cpus.1
ok "a tick pays at most 20 instructions for kdtl_steal" looks_cheaply
ok "a wake-up pays at most 120 instructions for kdtl_wake" wakes_cheaply
finish
