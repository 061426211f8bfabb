#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# A torture test that catches nothing proves nothing. So it must catch each kdtl that
# has one rule broken, by a patch in selftests/deep/twins, in time and for the right
# reason. First of all it must find nothing in the sources as they are.
#
#	selftests/deep/twins.sh [NAME]...
#
# A patch begins with these lines:
#
#	Rule: what holds
#	Broken: what the twin does instead
#	Caught-As: errors of kdtl_torture, one of which must come
#
# TWINS_TARGET   where (ppc64le-6.1: a thread for each CPU, so races are real ones)
# TWINS_SECONDS  how long until a twin has to be caught (120)
# TWINS_SEED     of the torture (1)
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$here/../host/lib/ktap.sh"

target=${TWINS_TARGET:-ppc64le-6.1}
seconds=${TWINS_SECONDS:-120}
seed=${TWINS_SEED:-1}
names=("$@")
[ $# -gt 0 ] || for patch in "$here"/twins/*.patch; do
	patch=${patch##*/}
	names+=("${patch%.patch}")
done

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-twins.XXXXXX")
partial "$work"
# A tree of its own, so that only what a patch changes is built again.
tree=$KDTL_CACHE/twins/$(cksum <<<"$top" | cut -d ' ' -f 1)
with_lock "twins-${tree##*/}"

about()
{
	sed -n "s/^$2: *//p" "$here/twins/$1.patch"
}

# Copy the sources that differ into the tree; with a new time, so that they are built.
pristine()
{
	local f

	mkdir -p -- "$tree"
	(cd -- "$top" && find . -path ./.git -prune -o -type f -print) |
		while read -r f; do
			cmp -s -- "$top/$f" "$tree/$f" && continue
			mkdir -p -- "$tree/${f%/*}"
			cp -- "$top/$f" "$tree/$f" || return
		done
}

# Only what the torture needs.
build()
{
	"$tree/scripts/build" "$target" \
		CONFIG='CONFIG_KDTL=m CONFIG_KDTL_SCHED=m CONFIG_KDTL_SELFTESTS=m' \
		fake-m= actors-m= kunit-m= faults-m= fuzz-m=
}

# torture NAME UNTIL: 1 if there were errors; the report's line is in $work/NAME.
torture()
{
	local status=0

	capture build || return 2
	"$top/selftests/run/vm" "$target" --cpus 4 --timeout $((seconds * 3 + 300)) \
		--quiet --log "$work/console" --modules "$captured" \
		--add "$top/selftests:/selftests" -- \
		env TORTURE_SECONDS="$seconds" TORTURE_PARAMS="seed=$seed until=$2" \
		sh /selftests/guest/torture.sh >"$work/said" 2>&1 || status=$?
	sed -n 's/^# seed=/seed=/p' "$work/console" | head -n 1 >"$work/$1"
	[ "$status" -le 1 ] && [ -s "$work/$1" ] && return "$status"
	cat -- "$work/said" "$work/console"
	return 2
}

value()
{
	tr ' ' '\n' <"$work/$1" | sed -n "s/^$2=//p"
}

whole()
{
	pristine && torture none '' && [ "$(value none errors)" = 0 ]
}

# caught NAME: with an error of the right kind.
caught()
{
	local status=0

	if ! pristine || ! patch -d "$tree" -p1 -s -t --no-backup-if-mismatch \
		<"$here/twins/$1.patch"; then
		echo "the patch no longer applies: make it again"
		return 1
	fi
	torture "$1" "$(about "$1" Caught-As)" || status=$?
	[ "$status" -eq 1 ] && [ -n "$(value "$1" first)" ] && return
	cat -- "$work/$1"
	return 1
}

row()
{
	printf '# %-20s %-9s %10s %8s  %s\n' "$@"
}

need_tool check patch
plan $((${#names[@]} + 1))
ok "as it is: not one error in $seconds s" whole
for name in "${names[@]}"; do
	ok "$name: $(about "$name" Broken)" caught "$name"
done
row twin "caught as" entries seconds rule
row none - "$(value none entries)" "$(value none seconds)" "all hold"
for name in "${names[@]}"; do
	[ -n "$(value "$name" first)" ] || continue
	ms=$(value "$name" first_ms)
	row "$name" "$(value "$name" first)" "$(value "$name" first_entries)" \
		"$((ms / 1000)).$((ms % 1000 / 100))" "$(about "$name" Rule)"
done
finish
