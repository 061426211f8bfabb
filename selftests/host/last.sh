#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The recorder's code that reads reserved memory after a reset runs as a program with ASan and
# UBSan: the reset comes after each store of a writer, and the memory has anything that can be
# there. deep/mutants.sh shows that mistakes are found. ROUNDS=2000 is the number of pieces of
# memory that are made up, and SEED=1 where the dice begin.
#
# shellcheck disable=SC2154,SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

holds()
{
	gcc-12 -std=gnu11 -O1 -g -Wall -Wextra -Wno-sign-compare -Wno-pointer-arith -Werror \
		-fsanitize=address,undefined -fno-sanitize-recover=all -I"$work/include" \
		-I"$here/lib" -I"$top/api/include/uapi" -o "$work/last" "$here/lib/last.c" &&
		"$work/last" "${ROUNDS:-2000}" "${SEED:-1}"
}

"$top/scripts/install-deps" check
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-last.XXXXXX")
partial "$work"
mkdir -- "$work/include" "$work/include/linux"
for header in crc32 kdtl_verbs log2 minmax mm string; do
	echo '#include "last_kernel.h"' >"$work/include/linux/$header.h"
done
plan 1
ok "whatever is in the memory, what is found is right" holds
finish
