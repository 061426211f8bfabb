#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# All places that name the version and the range of kernels agree, and scripts/release
# makes a release of a clean tree only, as a clone shows.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# refused REGEX ARGUMENT...: scripts/release fails with this message, and changes
# nothing.
refused()
{
	local regex=$1 head

	shift
	head=$(git -C "$work/kdtl" rev-parse HEAD)
	! "$work/kdtl/scripts/release" "$@" >"$work/log" 2>&1 || return
	cat -- "$work/log"
	grep -q -e "$regex" "$work/log" &&
		[ "$(git -C "$work/kdtl" rev-parse HEAD)" = "$head" ] &&
		git -C "$work/kdtl" diff --quiet
}

# dkms.conf's pattern agrees with scripts/kernels, for every version there might be.
same_range()
{
	local BUILD_EXCLUSIVE_KERNEL oldest newest major minor release want have tail

	read -r oldest newest < <(sed -n 's/^range[[:space:]]*//p' "$top/scripts/kernels")
	eval "$(grep '^BUILD_EXCLUSIVE_KERNEL=' "$top/dkms.conf")"
	for major in {4..9}; do
		for minor in {0..30}; do
			release=$major.$minor
			want=$(printf '%s\n' "$oldest" "$release" "$newest" |
				sort -V -C && echo yes) || :
			# The last version of 6 is 6.19.
			[ "$release" = 6.19 ] || [ "$major" != 6 ] || [ "$minor" -lt 20 ] ||
				continue
			for tail in '' .0-1-amd64 .13 -rc1; do
				have=
				[[ ! $release$tail =~ $BUILD_EXCLUSIVE_KERNEL ]] || have=yes
				[ "$have" = "$want" ] || {
					echo "$release$tail: DKMS ${have:-no}," \
						"scripts/kernels ${want:-no}"
					return 1
				}
			done
		done
	done
}

unreleased()
{
	sed -i '0,/^## /s//## Unreleased\n\n- A thing that is new,\n  in two lines.\n\n## /' \
		"$work/kdtl/CHANGELOG.md"
}

commit()
{
	git -C "$work/kdtl" commit -q -a -m "$1"
}

dirty()
{
	unreleased && ! "$work/kdtl/scripts/release" 99.0.0 >"$work/log" 2>&1 &&
		cat -- "$work/log" && grep 'not clean' "$work/log"
}

releases()
{
	local today

	today=$(date -u +%F)
	commit "what is new"
	KDTL_CACHE=$work/cache "$work/kdtl/scripts/release" 99.0.0 >"$work/tarball" || return
	[ "$(git -C "$work/kdtl" describe --tags)" = v99.0.0 ] &&
		grep -q -x -F "## 99.0.0 ($today)" "$work/kdtl/CHANGELOG.md" &&
		[ "$(head -n 4 "$work/kdtl/debian/changelog")" = "kdtl (99.0.0) unstable; urgency=medium

  * A thing that is new,
    in two lines." ] && grep -q -x 'PACKAGE_VERSION="99.0.0"' "$work/kdtl/dkms.conf" &&
		git -C "$work/kdtl" diff --quiet HEAD &&
		"$work/kdtl/scripts/release" --check
}

# The tarball has what is committed, and is the same each time.
is_tarball()
{
	local tarball again

	tarball=$(<"$work/tarball")
	again=$("$work/kdtl/scripts/release" --tarball "$work/again") &&
		cmp "$tarball" "$again" && mkdir "$work/unpacked" &&
		tar -C "$work/unpacked" -xf "$tarball" &&
		diff -r --exclude=.git "$work/kdtl" "$work/unpacked/kdtl-99.0.0"
}

disagree()
{
	sed -i 's/^PACKAGE_VERSION=.*/PACKAGE_VERSION="1"/' "$work/kdtl/dkms.conf"
	! "$work/kdtl/scripts/release" --check
}

# Copies the checkout's files into a repository of their own, whatever state this one is in.
copy()
{
	mkdir -- "$work/kdtl" || return
	git -C "$top" ls-files -z --cached --others --exclude-standard |
		(cd -- "$top" && xargs -0 ls -d 2>/dev/null || :) |
		tar -C "$top" -cf - -T - | tar -C "$work/kdtl" -xf - || return
	# After a release nothing is unreleased.
	sed -i '/^## Unreleased$/,/^## [0-9]/ { /^## [0-9]/! d }' "$work/kdtl/CHANGELOG.md"
	git -C "$work/kdtl" init -q -b main
	git -C "$work/kdtl" add -A
	commit "as it is"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-release.XXXXXX")
partial "$work"
export GIT_AUTHOR_NAME=test GIT_AUTHOR_EMAIL=test GIT_COMMITTER_NAME=test
export GIT_COMMITTER_EMAIL=test GIT_CONFIG_GLOBAL=/dev/null
copy
plan 9
ok "CHANGELOG.md, debian/changelog and dkms.conf agree" "$top/scripts/release" --check
ok "DKMS has the range of scripts/kernels" same_range
ok "without news there is no release" refused 'no items' 99.0.0
ok "an older version is refused" refused 'not newer' 0.0.1
ok "something that is no version is refused" refused 'a version is like' '1.0; rm'
ok "a tree that is not clean is refused" dirty
ok "a release makes a commit, a tag and a tarball" releases
ok "the tarball is what is committed" is_tarball
ok "files that disagree are found" disagree
finish
