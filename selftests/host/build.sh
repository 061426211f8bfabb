#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Everything builds without a warning, with W=1 and with sparse.  This test comes first,
# since the other ones use what it builds.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"

# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# quiet_build TARGET ARGUMENT...: fail if the build fails, or if there is a warning. What is
# built is what the other tests use. The quick run builds only what has changed.
quiet_build()
{
	[ "$quick" = 1 ] || set -- --fresh "$@"
	capture "$top/scripts/build" "$@" &&
		! grep -E -A 3 'warning|error:|WARNING|ERROR' "$captured/build.log"
}

quick=${KDTL_QUICK:-0}
plan 2
"$top/scripts/install-deps" check
if [ "$quick" = 1 ]; then
	ok "x86_64-6.1 builds without warnings (W=1)" quiet_build x86_64-6.1
	skip "ppc64le-6.1 builds without warnings" "not in the quick run"
else
	"$top/scripts/install-deps" ppc64le
	for target in x86_64-6.1 ppc64le-6.1; do
		ok "$target builds without warnings (W=1, sparse)" \
			quiet_build $target C=1 CF=-D__CHECK_ENDIAN__
	done
fi
finish
