#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The clients in Documentation/writing-a-client.rst, taken from the text, build
# from the public header alone, and run. All other pieces of C in Documentation/
# also build, with what examples/ puts around them.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/block.sh
. "$here/lib/block.sh"

target=x86_64-6.1

# Prints the names of all blocks of C.
blocks()
{
	awk '/^\.\. code-block:: c$/ { getline; print $1 == ":name:" ? $2 : FILENAME ":" FNR }' \
		"$top"/Documentation/*.rst | sort
}

# Prints the lines that look like C, but are in no block of C.
unnamed()
{
	awk '
	FNR == 1 { on = c = 0 }
	/^\.\. code-block:: c$/ { c = 1 }
	/^[^ \t]/ && !/^\.\. code-block:: c$/ { c = 0; on = /::$/ && !/^\.\. / }
	on && !c && /^[ \t].*[;{]$/ && !/\$ |\\;$/ { print FILENAME ":" FNR ": " $0 }' \
		"$top"/Documentation/*.rst
}

# fill IN OUT: copy IN, with the blocks that its comments name.
fill()
{
	local line name

	while IFS= read -r line; do
		if [[ $line =~ ^[[:space:]]*/\*\ @(.*)@\ \*/$ ]]; then
			name=${BASH_REMATCH[1]}
			echo "$name" >>"$work/filled"
			block "$name"
		else
			printf '%s\n' "$line"
		fi
	done <"$1" >"$2"
}

all_used()
{
	diff -u <(blocks | grep -v '\.c$') <(sort "$work/filled") && ! unnamed | grep .
}

user_builds()
{
	gcc -Wall -Wextra -Werror -O2 -I"$top/api/include/uapi" -o "$work/user" "$work/user.c"
}

# no_holes HEADER: there are none in its structures.
no_holes()
{
	gcc -Wpadded -Werror -fsyntax-only -I"$top/api/include/uapi" -include "$1" \
		-x c /dev/null
}

structures()
{
	no_holes linux/kdtl.h || return
	echo 'struct hole { char c; long l; };' >"$work/hole.h"
	! no_holes "$work/hole.h" 2>/dev/null
}

builds()
{
	make -C "$kdir" M="$work" KDTL="$kdtl" W=1 \
		KBUILD_EXTRA_SYMBOLS="$kdtl/Module.symvers" modules >"$work/log" 2>&1 &&
		! grep -E 'warning|WARNING' "$work/log" || {
		cat -- "$work/log"
		return 1
	}
}

# The client has no more lines than promised, from SPDX to MODULE_LICENSE() and MODULE_IMPORT_NS().
is_short()
{
	[ "$(wc -l <"$work/late.c")" -le 30 ] || { wc -l "$work/late.c"; return 1; }
}

# clients/examples has the same client.
is_example()
{
	diff -u "$work/late.c" <(expand -- "$top/clients/examples/late.c")
}

# late reports the task of low priority that waits behind another one on its CPU; longest
# prints twice which task waited longest. Both unload.
runs()
{
	run_group "$top/selftests/run/vm" $target --quiet --timeout 600 \
		--modules "$kdtl" --modules "$work/longest.ko" --modules "$work/late.ko" --log "$work/console" -- '
		cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_sched.ko &&
			insmod late.ko && insmod longest.ko || exit
		taskset 1 sh -c "while :; do :; done" &
		taskset 1 sh -c "renice -n 19 -p \$\$ && while :; do :; done" &
		until [ $(dmesg | grep -c "longest: [0-9]* ns on CPU") -ge 2 ]; do
			usleep 100000
		done
		dmesg | grep "longest:"
		until dmesg | grep "late: pid $!"; do
			usleep 100000
		done
		rmmod late && rmmod longest && rmmod kdtl_sched && rmmod kdtl'
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-tutorial.XXXXXX")
partial "$work"
capture "$top/scripts/build" $target
kdtl=$captured
capture "$top/scripts/kernel" $target kdir
kdir=$captured
printf '%s\n' "$(block late.c | sed '/./,$!d')" >"$work/late.c"
block longest.c >"$work/longest.c"
block Kbuild >"$work/Kbuild"
echo "obj-m += longest.o pieces.o" >>"$work/Kbuild"
fill "$here/examples/kernel.c" "$work/pieces.c"
fill "$here/examples/user.c" "$work/user.c"
plan 7
ok "the kernel code in Documentation builds without warnings" builds
ok "a complete client has at most 30 lines" is_short
ok "clients/examples has it too" is_example
ok "the code for user space builds" user_builds
ok "no structure for user space has a hole" structures
ok "no other C is in Documentation" all_used
ok "the modules in writing-a-client.rst run" runs
finish
