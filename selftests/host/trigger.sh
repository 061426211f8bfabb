#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Triggers against brute force, on hundreds of random schedules; and that mistakes in them are
# found.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

engine=$top/api/answers/engine

# model NAME SOURCE OPTION...: build it.
model()
{
	local name=$1 source=$2

	shift 2
	gcc -O1 -g "$@" -I "$engine" "$here/lib/trigger_model.c" "$source" -o "$work/$name"
}

build()
{
	model right "$engine/trigger.c" -Wall -Wextra -Werror -fsanitize=address,undefined
}

# One line each, which an event needs to be right.
mistakes='
s/now - t->end >= t->window + part/now - t->end >= part/
s/t->nr == TRIGGER_PARTS ? 0/t->nr >= TRIGGER_PARTS - 1 ? 0/
s/t->sum -= t->grown\[t->nr\];//
s/t->sum >= t->threshold/t->sum > t->threshold/
s/total < t->total ? total : //
s/ || now < t->quiet//
s/now < t->quiet/now <= t->quiet/
s/t->due = 1;/t->due = now >= t->quiet;/
s/TRIGGER_PARTS - 1) >>/TRIGGER_PARTS * 2) >>/
'

finds_mistakes()
{
	local mistake bad=0

	while read -r mistake; do
		[ -n "$mistake" ] || continue
		sed "$mistake" "$engine/trigger.c" >"$work/wrong.c"
		if cmp -s "$engine/trigger.c" "$work/wrong.c"; then
			echo "nothing to change: $mistake"
			bad=1
			continue
		fi
		model wrong "$work/wrong.c" -w || return
		if timeout 60 "$work/wrong" 300 >/dev/null; then
			echo "not found: $mistake"
			bad=1
		fi
	done <<<"$mistakes"
	return $bad
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-trigger.XXXXXX")
partial "$work"

plan 3
ok "it builds without the kernel" build
ok "500 schedules: no event is missed, and none is about more than a window and a part" \
	"$work/right" 500
ok "mistakes in it are found" finds_mistakes
finish
