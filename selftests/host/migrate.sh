#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# From perfmon2 to kdtl: is what the semantic patch makes of perfmon2's clients
# what it should be, does it say where a person is asked, and does it build?

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

migrate=$top/scripts/coccinelle/migrate
samples='counts params samples'

# The places in the samples that only a person can translate.
questions='
counts:number 48
counts:number 72
counts:event 27
counts:event 28
counts:msg_ovfl_pmds 98
counts:load 129
params:PFM_SETFL_OVFL_SWITCH 21
params:event 26
params:number 27
params:reg_reset_pmds 29
params:reg_smpl_pmds 30
params:set_act_duration 48
params:load 86
samples:event 60
samples:number 62
samples:load 81
'

pfmk()
{
	local mode=$1

	shift
	spatch -D "$mode" --very-quiet --no-includes --smpl-spacing \
		--sp-file "$migrate/pfmk.cocci" "$@"
}

# rewrites NAME: before becomes after, to the letter.
rewrites()
{
	pfmk patch "$migrate/samples/$1.before.c" -o "$work/$1.c" >/dev/null &&
		diff -u "$migrate/samples/$1.after.c" "$work/$1.c"
}

# Nothing of perfmon2 is left, so there is nothing to do a second time.
is_done()
{
	! grep -n -i -E '\b(pfmk?|pfarg)_|perfmon\.h' "$work/$1.c" &&
		[ -z "$(pfmk patch "$work/$1.c")" ]
}

# asks: every question and no other, each with its line.
asks()
{
	(cd -- "$migrate/samples" && pfmk report ./*.before.c) |
		sed -n -e 's|^\./||' \
			-e 's|^\(.*\)\.before\.c:\([0-9]*\):.* PMD.s number.*|\1:number \2|p' \
			-e 's|^\(.*\)\.before\.c:\([0-9]*\):.* PMC.s value.*|\1:event \2|p' \
			-e 's|^\(.*\)\.before\.c:\([0-9]*\):.* one session can.*|\1:load \2|p' \
			-e 's|^\(.*\)\.before\.c:\([0-9]*\):.*kdtl: \(.*\) is another.*|\1:\3 \2|p' |
		sort >"$work/asked"
	sort <<<"$questions" | sed '/^$/d' | diff -u - "$work/asked"
}

# builds: all of them, as modules, without a warning.
builds()
{
	local name

	{
		echo "ccflags-y := -I$top/api/include"
		for name in $samples; do
			echo "obj-m += $name.o"
		done
	} >"$work/Kbuild"
	make -C "$kdir" M="$work" KBUILD_EXTRA_SYMBOLS="$built/Module.symvers" \
		W=1 modules >"$work/log" 2>&1 &&
		! grep -E 'warning|WARNING' "$work/log" &&
		mkdir -- "$work/clients" && mv -- "$work"/*.ko "$work/clients" && return
	cat -- "$work/log"
	return 1
}

works()
{
	"$top/selftests/run/vm" x86_64-6.1 --quiet --modules "$built" \
		--add "$work/clients:/clients" --add "$here/lib/migrate-guest.sh:/" \
		-- sh /migrate-guest.sh
}

"$top/scripts/install-deps" check demo
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-migrate.XXXXXX")
partial "$work"
plan 9
for name in $samples; do
	ok "$name: before becomes after" rewrites "$name"
	ok "$name: nothing of perfmon2 is left" is_done "$name"
done
ok "report mode asks what a person has to answer" asks
capture "$top/scripts/kernel" x86_64-6.1 kdir
kdir=$captured
capture "$top/scripts/build" x86_64-6.1
built=$captured
ok "what it makes builds (W=1)" builds
ok "and works in a real kernel" works
finish
