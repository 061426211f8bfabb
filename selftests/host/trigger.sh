#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares triggers with brute force, on hundreds of random schedules. deep/mutants.sh shows that
# mistakes in triggers are found.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

engine=$top/api/answers/engine

build()
{
	gcc -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined -I "$engine" \
		"$here/lib/trigger_model.c" "$engine/trigger.c" -o "$work/model"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-trigger.XXXXXX")
partial "$work"

plan 2
ok "it builds without the kernel" build
ok "500 schedules: no event is missed, and none is about more than a window and a part" \
	"$work/model" 500
finish
