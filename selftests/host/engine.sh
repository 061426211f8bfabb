#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The engine of answers, which kdtl_answers.ko and kdtl(1) share, against a model that knows
# who had a CPU in each tick (lib/runs.c). Then the same with an engine that has a mistake,
# for each of its rules: the model must find it.
# ROUNDS=200000 SEED=1 are the number of CPUs that are made up, and where the dice begin.
#
# shellcheck disable=SC2154,SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

engine=$top/api/answers/engine

# built DIR OPTION...: the model with the engine of DIR.
built()
{
	local dir=$1

	shift
	gcc-12 -std=gnu11 -Wall -Wextra -Werror -g "$@" -I"$dir" -o "$work/runs" \
		"$here/lib/runs.c"
}

agrees()
{
	built "$engine" -O1 -fsanitize=address,undefined -fno-sanitize-recover=all &&
		"$work/runs" "${ROUNDS:-200000}" "${SEED:-1}"
}

# finds MISTAKE: a script for sed, which makes it in the engine.
finds()
{
	local bad=$work/engine

	mkdir -p -- "$bad" && sed "$1" "$engine/runs.h" >"$bad/runs.h" || return
	! cmp -s -- "$engine/runs.h" "$bad/runs.h" || { echo "no line for $1"; return 1; }
	built "$bad" -O1 -Wno-unused || return
	# One that loops has been found, too. One that only runs on a busy host has not.
	! (ulimit -t 60 && exec "$work/runs" 20000 1)
}

# Each takes one rule away.
mistakes=(
	"another task's time" 's/r->pid == prev ||/1 ||/'
	"a loss" 's/r->known = false;/;/'
	"the time before the first entry" 's/return r->known && (/return (/'
	"the time after the last entry" 's/r->known && still/r->known/'
	"the begin of the span" 's/r->at = to;/;/'
	"the end of the span" 's/if (runs_before(r->to, to))/if (0)/'
	"times around 2^64" 's/(__s64)(a - b) < 0/a < b/'
	"a gap that begins before a run" 's/runs_before(r->gap.from, from) ? from :/0 ? from :/'
	"a gap that goes on in the next run" 's/if (runs_before(to, r->gap.to))$/if (0)/'
	"gaps that overlap" 's/from = end;/;/'
	"exec() of another process" 's/tgid == now/tgid/'
	"exec() before the dispatch" 's/!runs_before(changed, since)/1/'
	"exec() later than the next one" 's/!runs_before(time, changed)/1/'
	"the pid after exec()" 's/\.pid = pid, \.known/.pid = r->pid, .known/'
)

"$top/scripts/install-deps" check
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-engine.XXXXXX")
partial "$work"
plan $((1 + ${#mistakes[@]} / 2))
ok "the engine says what the model knows" agrees
for ((i = 0; i < ${#mistakes[@]}; i += 2)); do
	ok "${mistakes[i]}: a mistake is found" finds "${mistakes[i + 1]}"
done
finish
