#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything builds without a warning, with W=1: for x86_64-6.1, or for the TARGETs, where sparse looks
# at what is not built for x86-64 (lint.sh looks at what is). This test comes first, since the other
# ones use what it builds.
#
#	selftests/host/build.sh [TARGET]...

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"

# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# quiet_build TARGET ARGUMENT...: fails if the build fails, or if there is a warning. The other
# tests use what is built. The quick run builds only what has changed.
quiet_build()
{
	[ "${KDTL_QUICK:-0}" = 1 ] || set -- --fresh "$@"
	capture "$top/scripts/build" "$@" &&
		! grep -E -A 3 'warning|error:|WARNING|ERROR' "$captured/build.log"
}

[ $# -gt 0 ] || set -- x86_64-6.1
plan $#
"$top/scripts/install-deps" check
for target; do
	"$top/scripts/install-deps" "$(kernel_deps "$target")"
	if [[ $target == x86_64-* ]]; then
		ok "$target builds without warnings (W=1)" quiet_build "$target"
	else
		KDTL_CHECKED=$(build_dir "$top")/x86_64-6.1
		export KDTL_CHECKED
		ok "$target builds without warnings (W=1, sparse)" quiet_build "$target" C=1 \
			CF=-D__CHECK_ENDIAN__ CHECK="$here/lib/sparse"
	fi
done
finish
