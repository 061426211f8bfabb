#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares the engine of answers, which kdtl_answers.ko and kdtl(1) share, with a model that
# knows which task had a CPU in each tick (lib/runs.c). deep/mutants.sh shows that mistakes are
# found. ROUNDS=200000 is the number of CPUs that are made up, and SEED=1 where the dice begin.
#
# shellcheck disable=SC2154,SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

engine=$top/api/answers/engine

agrees()
{
	gcc-12 -std=gnu11 -O1 -g -Wall -Wextra -Werror -fsanitize=address,undefined \
		-fno-sanitize-recover=all -I"$engine" -o "$work/runs" "$here/lib/runs.c" &&
		"$work/runs" "${ROUNDS:-200000}" "${SEED:-1}"
}

"$top/scripts/install-deps" check
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-engine.XXXXXX")
partial "$work"
plan 1
ok "the engine says what the model knows" agrees
finish
