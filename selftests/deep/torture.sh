#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs selftests/guest/torture.sh for minutes: on x86-64, and on POWER and arm64, where each of the
# four CPUs is a thread, so that races are real.
#
#	selftests/deep/torture.sh [TARGET]...
#
# TORTURE_SECONDS  how many seconds on each machine (300)
# TORTURE_PARAMS   parameters of kdtl_torture.ko
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$here/../host/lib/ktap.sh"

seconds=${TORTURE_SECONDS:-300}
targets=("$@")
[ $# -gt 0 ] || targets=(x86_64-6.1 ppc64le-6.1 arm64-6.1)
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-torture.XXXXXX")
partial "$work"

torture()
{
	local status=0

	capture "$top/scripts/build" "$1" || return
	"$top/selftests/run/vm" "$1" --cpus 4 --timeout $((seconds * 2 + 300)) \
		--quiet --log "$work/$1" --modules "$captured" \
		--add "$top/selftests:/selftests" -- \
		env TORTURE_SECONDS="$seconds" TORTURE_PARAMS="${TORTURE_PARAMS:-}" \
		sh /selftests/guest/torture.sh || status=$?
	[ "$status" -eq 0 ] || tail -n 60 -- "$work/$1"
	return "$status"
}

plan ${#targets[@]}
for target in "${targets[@]}"; do
	ok "$target: $seconds s without an error" torture "$target"
	sed -n 's/^# seed=/# '"$target"': seed=/p' "$work/$target" | head -n 1
done
finish
