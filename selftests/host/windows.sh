#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Compares the sampler's windows with brute force, on random schedules. deep/mutants.sh shows that
# mistakes in windows are found.
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

build()
{
	reader_build "$top" "$work/model" "$here/lib/windows_model.c" -g -Wall -Wextra \
		-Wno-unused-parameter -Werror -fsanitize=address,undefined
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-windows.XXXXXX")
partial "$work"

plan 2
ok "they build without the kernel" build
ok "each sum is right, also if dispatches come late, and no memory is lost" "$work/model" 20
finish
