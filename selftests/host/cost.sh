#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does an entry still cost the same? In instructions, counted exactly, so that a
# change of a few per cent is seen on any machine.
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

# value NAME FILE: in lines of name, value, unit.
value()
{
	awk -F '\t' -v name="$1" '$1 == name { v = $2 } END { print v }' "$2"
}

# grown NAME RESULTS RECORDED: does it cost more than is allowed?
grown()
{
	local is was

	is=$(value "$1" "$2")
	was=$(value "$1" "$3")
	if [ -z "$is" ] || [ -z "$was" ]; then
		die "no figure of $1"
	fi
	echo "$1: $is instructions, recorded: $was"
	awk -v is="$is" -v was="$was" -v allowed="$allowed" \
		'BEGIN { exit !(is > was * (1 + allowed / 100)) }'
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

measure()
{
	make -s -C "$bench" OUTPUT="$work/bench" "$work/bench/pingpong" &&
		cp -- "$bench"/*.sh "$work/bench/" &&
		"$top/selftests/run/vm" "$target" --quiet --icount \
			--modules "$captured" --add "$work/bench:/bench" \
			--out "$work" -- env ROUNDS=5000 sh /bench/producer.sh guard
}

"$top/scripts/install-deps" demo
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-cost.XXXXXX")
partial "$work"
capture "$top/scripts/build" "$target"

plan 5
ok "a dispatch is measured" measure
results=$work/results.tsv
recorded=$bench/recorded.tsv
ok "a record's floor is where it was, so the rest can be compared" \
	as_recorded dispatch.record_floor "$results" "$recorded"
ok "an entry costs no more than before" \
	as_recorded dispatch.kdtl_sched.1 "$results" "$recorded"
ok "one more session costs no more than before" \
	as_recorded dispatch.kdtl_sched.2 "$results" "$recorded"
# Without this the tests above would prove nothing.
awk -F '\t' -v OFS='\t' -v allowed="$allowed" \
	'{ $2 /= 1 + (allowed + 1) / 100; print }' "$results" >"$work/less.tsv"
ok "growth by one per cent more than that is seen" \
	grown dispatch.kdtl_sched.1 "$results" "$work/less.tsv"
finish
