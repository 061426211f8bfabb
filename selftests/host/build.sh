#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything builds without a warning, with W=1 and with sparse, and shellcheck finds
# nothing.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"

# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# Copy only the sources, so that every file is compiled and every warning seen.
copy()
{
	mkdir -- "$work/$1"
	(cd -- "$top" && git ls-files -z --cached --others --exclude-standard |
		xargs -0 sh -c 'for f; do [ ! -f "$f" ] || printf "%s\0" "$f"; done' -) |
		tar -C "$top" --null -T - -cf - | tar -C "$work/$1" -xf -
}

# quiet_make TARGET ARGUMENT...: fail if make fails, or if there is a warning. The quick
# run leaves out the modules of the tests, which are most of the work.
quiet_make()
{
	local target=$1 cross=() rc=0 tests=(CONFIG_KDTL_SELFTESTS=m CONFIG_KDTL_EXAMPLES=m)

	shift
	[ "$quick" = 0 ] || tests=()
	[[ $target != ppc64le-* ]] ||
		cross=(ARCH=powerpc CROSS_COMPILE=powerpc64le-linux-gnu-)
	make -C "$work/$target" KDIR="$kdir" -j"$(nproc)" "${cross[@]}" \
		${tests[@]+"${tests[@]}"} "$@" modules >"$work/log" 2>&1 || rc=$?
	! grep -E -A 3 'warning|error:|WARNING|ERROR' "$work/log" && [ $rc -eq 0 ]
}

# shell_scripts: the files in git whose first line is a shell script's.
shell_scripts()
{
	local f

	git -C "$top" ls-files -z --cached --others --exclude-standard |
		while read -r -d '' f; do
			[ -f "$top/$f" ] || continue
			case $(head -c 64 -- "$top/$f" | tr -d '\0' | head -n 1) in
			'#!'*sh | '# shellcheck shell='*) printf '%s\0' "$f" ;;
			esac
		done
}

check_shell()
{
	(cd -- "$top" && shell_scripts | xargs -0 shellcheck -x -S warning)
}

# Each file names its licence.
check_spdx()
{
	local missing

	missing=$(cd -- "$top" && git ls-files | grep -v -x -e COPYING -e .gitignore \
		-e debian/changelog -e debian/source/format |
		grep -v -E '\.(svg|png|tsv|patch|litmus)$' | xargs grep -L 'SPDX-License-Identifier') || :
	[ -z "$missing" ] || { echo "without SPDX line:" "$missing"; return 1; }
}

# Otherwise only selftests/deep/twins.sh, which rarely runs, would notice.
twins_fit()
{
	local patch

	for patch in "$top"/selftests/deep/twins/*.patch; do
		patch -p1 --dry-run --fuzz=0 -d "$top" <"$patch" || return
	done
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-build.XXXXXX")
partial "$work"
quick=${KDTL_QUICK:-0}
plan 5
"$top/scripts/install-deps" check
[ "$quick" = 1 ] || "$top/scripts/install-deps" ppc64le
warnings=(W=1)
[ "$quick" = 1 ] || warnings+=(C=1 CF=-D__CHECK_ENDIAN__)	# sparse
for target in x86_64-6.1 ppc64le-6.1; do
	if [ "$quick" = 1 ] && [ $target != x86_64-6.1 ]; then
		skip "$target builds without warnings" "not in the quick run"
		continue
	fi
	capture "$top/scripts/kernel" $target kdir
	kdir=$captured
	copy $target
	ok "$target builds without warnings (${warnings[*]})" \
		quiet_make $target "${warnings[@]}"
done
if [ "$quick" = 0 ]; then
	ok "shellcheck finds nothing" check_shell
else
	skip "shellcheck finds nothing" "not in the quick run"
fi
ok "every file has its SPDX line" check_spdx
ok "the patches of the twins' mistakes apply" twins_fit
finish
