#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Pressure by cause against brute force, on hundreds of random schedules of groups in a tree; with
# the room that there is, and with less; and that mistakes in it are found.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

engine=$top/api/answers/engine
plenty='-DPRESSURE_RUNS=4096 -DPRESSURE_STEP=64 -DPRESSURE_HELD=4096'
little='-DPRESSURE_RUNS=32 -DPRESSURE_STEP=8 -DPRESSURE_HELD=16'

# model NAME SOURCE OPTION...: build it.
model()
{
	local name=$1 source=$2

	shift 2
	gcc -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined "$@" -I "$engine" \
		"$here/lib/pressure_model.c" "$source" -o "$work/$name"
}

# shellcheck disable=SC2086
build()
{
	model plenty "$engine/pressure.c" $plenty && model usual "$engine/pressure.c" &&
		model little "$engine/pressure.c" $little
}

# One line each, which a sum needs to be right.
mistakes='
s/pressure_take(&since, counted);//
s/pressure_take(&since, &counted);//
s/h->to >= from/h->to > from + 1/
s/if (from < run->from)/if (0)/
s/ && nr % PRESSURE_STEP; nr++/ \&\& nr % 32; nr++/
s/->floor = h->to;/->floor = 0;/
s/pressure_use(v->c, v->group, level, below);//
s/end = h->from;//
s/for (; who >= 0; who = p->groups\[who\].parent)/if (who >= 0)/
'

# minute COMMAND...: ended when it has computed for so long, as a mistake may make it loop. A busy
# host does not make it seem so.
minute()
{
	(ulimit -t 60 && exec "$@")
}

# shellcheck disable=SC2086
finds_mistakes()
{
	local mistake bad=0

	while read -r mistake; do
		[ -n "$mistake" ] || continue
		sed "$mistake" "$engine/pressure.c" >"$work/wrong.c"
		if cmp -s "$engine/pressure.c" "$work/wrong.c"; then
			echo "nothing to change: $mistake"
			bad=1
			continue
		fi
		gcc -O1 -w $plenty -I "$engine" "$here/lib/pressure_model.c" "$work/wrong.c" \
			-o "$work/wrong" &&
			gcc -O1 -w $little -I "$engine" "$here/lib/pressure_model.c" \
				"$work/wrong.c" -o "$work/wrong-little" &&
			gcc -O1 -w -I "$engine" "$here/lib/pressure_model.c" "$work/wrong.c" \
				-o "$work/wrong-usual" || return
		if minute "$work/wrong" exact 20 >/dev/null &&
		   minute "$work/wrong-usual" bounded 300 >/dev/null &&
		   minute "$work/wrong-little" bounded 300 >/dev/null; then
			echo "not found: $mistake"
			bad=1
		fi
	done <<<"$mistakes"
	return $bad
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-pressure.XXXXXX")
partial "$work"

plan 5
ok "it builds without the kernel" build
ok "300 schedules, with plenty of room: each sum is right to the tick" "$work/plenty" exact 300
ok "with the usual room, if no wait is very long, 1 of 10,000 at most is missing" \
	"$work/usual" usual 300
ok "and with little room no time counts twice" "$work/little" bounded 300
ok "mistakes in it are found" finds_mistakes
finish
