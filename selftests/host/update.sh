#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The semantic patch that updates clients and drivers of kdtl 0.1 gives the expected
# code, which builds and works. A client and a driver use every name that has changed.
# The sampler and the tutorial of 0.1 use none.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

samples=$top/scripts/coccinelle/update/samples
changing='client.c driver.c driver.h'
modules='driver client tutorial old_sampler'

# copy FOLDER: the samples for 0.1, and a Kbuild for them.
copy()
{
	local f

	mkdir -- "$work/$1"
	for f in $changing; do
		cp -- "$samples/${f%.*}.before.${f##*.}" "$work/$1/$f"
	done
	cp -r -- "$samples/sampler" "$samples/tutorial.c" "$work/$1"
	{
		echo "ccflags-y := -I$top/api/include"
		for f in $modules; do
			echo "obj-m += $f.o"
		done
		echo "old_sampler-y :=" "$(cd -- "$samples" && echo sampler/*.c |
			sed 's/\.c\>/.o/g')"
	} >"$work/$1/Kbuild"
}

# update: apply what scripts/cocci prints, as its usage says.
update()
{
	(cd -- "$work" && "$top/scripts/cocci" --update 0.1 new | patch -p0)
}

# rewrites FILE: the updated file is exactly as expected.
rewrites()
{
	diff -u "$samples/${1%.*}.after.${1##*.}" "$work/new/$1"
}

untouched()
{
	diff -ru "$samples/sampler" "$work/new/sampler" &&
		diff -u "$samples/tutorial.c" "$work/new/tutorial.c"
}

is_done()
{
	(cd -- "$work" && "$top/scripts/cocci" --update 0.1 new) >"$work/again" || return
	! grep . "$work/again"
}

# build FOLDER: build the modules.
build()
{
	make -C "$kdir" M="$work/$1" KBUILD_EXTRA_SYMBOLS="$built/Module.symvers" \
		W=1 -k modules >"$work/log" 2>&1
}

# The compiler refuses each of the old names.
old_is_refused()
{
	local name

	! build old || { echo "it builds"; return 1; }
	for name in KDTL_SESSION_BLOCK 'struct kdtl_pmu' KDTL_KIND_UNKNOWN; do
		grep -q "error: .*$name" "$work/log" || { echo "no error about $name"; return 1; }
	done
}

builds()
{
	build new && ! grep -E 'warning|WARNING' "$work/log" && mkdir -- "$work/modules" &&
		cp -- "$work/new"/*.ko "$work/modules" && return
	cat -- "$work/log"
	return 1
}

works()
{
	"$top/selftests/run/vm" x86_64-6.1 --quiet --timeout 600 --modules "$built" \
		--add "$work/modules:/clients" -- '
		cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_sched.ko && cd /clients || exit
		for m in '"$modules"'; do
			insmod $m.ko || exit
		done
		until dmesg | grep "longest: [0-9]* ns on CPU"; do
			usleep 100000
		done
		for m in '"$modules"'; do
			rmmod $m || exit
		done
		rmmod kdtl_sched && rmmod kdtl'
}

"$top/scripts/install-deps" check demo
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-update.XXXXXX")
partial "$work"
copy old
copy new
plan 9
ok "scripts/cocci --update makes a patch that applies" update
for name in $changing; do
	ok "$name: before becomes after" rewrites "$name"
done
ok "the sampler and the tutorial of 0.1 need no change" untouched
ok "there is nothing to do a second time" is_done
capture "$top/scripts/kernel" x86_64-6.1 kdir
kdir=$captured
capture "$top/scripts/build" x86_64-6.1
built=$captured
ok "what was not updated does not build" old_is_refused
ok "all that was builds (W=1)" builds
if [ "${KDTL_QUICK:-0}" = 0 ]; then
	ok "and works in a real kernel" works
else
	skip "and works in a real kernel" "not in the quick run"
fi
finish
