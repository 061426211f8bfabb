#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the recorder reads of reserved memory after a reset, as a program with ASan and UBSan: the
# reset comes after each store of a writer, and the memory has whatever can be there. Then the same
# with mistakes, which must be found.
# ROUNDS=2000 SEED=1 are the number of pieces of memory that are made up, and where the dice begin.
#
# shellcheck disable=SC2154,SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# built TOP OPTION...: the program with the recorder of TOP.
built()
{
	local top=$1

	shift
	gcc-12 -std=gnu11 -Wall -Wextra -Wno-sign-compare -Wno-pointer-arith -Werror -g "$@" \
		-I"$work/include" -I"$here/lib" -I"$top/api/include/uapi" -o "$work/last" \
		"$top/selftests/host/lib/last.c"
}

holds()
{
	built "$top" -O1 -fsanitize=address,undefined -fno-sanitize-recover=all &&
		"$work/last" "${ROUNDS:-2000}" "${SEED:-1}"
}

# finds FILE MISTAKE: a script for sed, which makes it in the recorder's file.
finds()
{
	local bad=$work/bad/clients/recorder

	rm -rf -- "$work/bad"
	mkdir -p -- "$bad" "$work/bad/selftests/host/lib" &&
		cp -- "$top"/clients/recorder/last*.[ch] "$bad/" &&
		cp -- "$here"/lib/last.c "$work/bad/selftests/host/lib/" &&
		cp -r -- "$top/api" "$work/bad/" &&
		sed -i "$2" "$bad/$1" || return
	! cmp -s -- "$top/clients/recorder/$1" "$bad/$1" || { echo "no line for $2"; return 1; }
	built "$work/bad" -O1 -Wno-unused -fsanitize=address || return
	! timeout 60 "$work/last" 300 1 >/dev/null 2>&1
}

# Each takes one rule away.
mistakes=(
	"more CPUs than there is memory for" last.c 's/(u64)h->nr_cpus \* h->aux_pages > .* ||/0 ||/'
	"times before the log began" last.c 's/time < l->head.begun ||//'
	"times that go back" last.c 's/run.nr && kdtl_entry_time(&e) < kdtl_entry_time(&before)/0/'
	"the task before" last.c 's/a->nr + a->linked > b->nr/a->nr > b->nr/'
	"an entry of which a part is there" last.h 's/KDTL_ENTRY_SIZE - 1;/KDTL_ENTRY_SIZE;/'
	"an area's end" last.c 's/min(l->area - at, sizeof(\*e))/sizeof(*e)/'
	"room for the recording" last_file.c 's/l->head.nr_cpus \* l->area;/(l->head.nr_cpus - 1) * l->area;/'
)

"$top/scripts/install-deps" check
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-last.XXXXXX")
partial "$work"
mkdir -- "$work/include" "$work/include/linux"
for header in crc32 kdtl_verbs log2 minmax mm string; do
	echo '#include "last_kernel.h"' >"$work/include/linux/$header.h"
done
plan $((1 + ${#mistakes[@]} / 3))
ok "whatever is in the memory, what is found is right" holds
for ((i = 0; i < ${#mistakes[@]}; i += 3)); do
	ok "${mistakes[i]}: a mistake is found" finds "${mistakes[i + 1]}" "${mistakes[i + 2]}"
done
finish
