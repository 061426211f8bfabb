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

build()
{
	gcc -O1 -g -Wall -Wextra -Wno-unused-parameter -Werror -fsanitize=address,undefined \
		-I "$work/include" -I "$here/lib" -I "$top/clients/sampler" \
		"$here/lib/windows_model.c" -o "$work/model"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-windows.XXXXXX")
partial "$work"
mkdir -p -- "$work/include/linux"
for header in bitops kdtl_answers kdtl_verbs ktime math math64 minmax mutex percpu seq_file slab \
	string time64 topology types; do
	echo '#include "windows_kernel.h"' >"$work/include/linux/$header.h"
done
cp -- "$top/api/include/linux/kdtl_hist.h" "$work/include/linux/"

plan 2
ok "they build without the kernel" build
ok "each sum is right, also if dispatches come late, and no memory is lost" "$work/model" 20
finish
