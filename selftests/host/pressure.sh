#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares pressure by cause with brute force, on hundreds of random schedules of groups in a tree,
# with the usual room and with less. deep/mutants.sh shows that mistakes are found.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=../bench/reader-build.sh
. "$top/selftests/bench/reader-build.sh"

engine=$top/api/answers/engine
plenty='-DPRESSURE_RUNS=4096 -DPRESSURE_STEP=64 -DPRESSURE_HELD=16384'
steps='-DPRESSURE_RUNS=256 -DPRESSURE_STEP=8 -DPRESSURE_HELD=16384'
little='-DPRESSURE_RUNS=32 -DPRESSURE_STEP=8 -DPRESSURE_HELD=16'

# model NAME OPTION...: builds the model with these options.
model()
{
	local name=$1

	shift
	gcc -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined "$@" -I "$engine" \
		"$here/lib/pressure_model.c" "$engine/pressure.c" -o "$work/$name"
}

# shellcheck disable=SC2086
build()
{
	model plenty $plenty && model steps $steps && model usual && model little $little
}

# If a group's number is used again, nothing is left of the group that had it before.
forgets()
{
	"$work/usual" forget && "$work/little" forget
}

# One task of the pairs waits at any time, for 10 us with each of 2,048 entries in a span.
# shellcheck disable=SC2317
reader_counts()
{
	reader_build "$top" "$work/reader" && "$work/reader" pairs 20 >"$work/counted" &&
		cat "$work/counted" && [ "$(cut -f 5 "$work/counted")" = $((20 * 2048 * 10000)) ]
}

# A cgroup does not have the CPU that its task takes offline.
# shellcheck disable=SC2317
offline_is_unknown()
{
	"$work/reader" offline | tee "$work/offline"
	[ "$(cat "$work/offline")" = '0 1000000000' ]
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-pressure.XXXXXX")
partial "$work"

plan 9
ok "it builds without the kernel" build
ok "300 schedules, with plenty of room: each sum is right to the tick" "$work/plenty" exact 300
ok "also with more runs than there is room for at a time" \
	"$work/steps" exact 300 400
ok "with the usual room, if no wait is very long, 1 of 10,000 at most is missing" \
	"$work/usual" usual 300
ok "with longer ones, none counts twice, and 4 of 100 at most is missing" \
	"$work/usual" bounded 150 4
ok "nor does one with little room" "$work/little" bounded 300
ok "a group that has gone leaves nothing behind" forgets
ok "the sampler's reader counts all of a wait, in user space" reader_counts
ok "also that nobody had a CPU that was offline" offline_is_unknown
finish
