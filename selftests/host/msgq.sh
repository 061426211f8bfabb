#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# How many messages a queue has room for, by core/counters/msgq.c as a program, with a size_t of 64 and of
# 32 bits.
#
# shellcheck disable=SC2154,SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# has_room OPTION...: each queue has its slots, or is refused.
has_room()
{
	gcc-12 -std=gnu11 -O1 -g -Wall -Wextra -Wno-sign-compare -Wno-unused-parameter -Werror "$@" \
		-I"$work/include" -I"$here/lib" -o "$work/msgq" "$here/lib/msgq.c" &&
		"$work/msgq"
}

"$top/scripts/install-deps" check
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-msgq.XXXXXX")
partial "$work"
mkdir -- "$work/include" "$work/include/linux" "$work/include/linux/sched"
for header in atomic error-injection mm sched/clock spinlock vmalloc; do
	echo '#include "msgq_kernel.h"' >"$work/include/linux/$header.h"
done
sed -n -e '/^enum kdtl_msg_type {/,/^};/p' -e '/^struct kdtl_msg {/,/^};/p' \
	"$top/api/include/linux/kdtl_counters.h" >"$work/include/linux/kdtl_counters.h"
plan 2
ok "each size has its slots" has_room
ok "a size that 32 bits cannot say is refused" has_room -DNARROW
finish
