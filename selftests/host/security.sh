#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests what Documentation/security.rst says: modes of files, and what lockdown refuses.
# (selftests/guest/stream.sh tests which users may open /dev/kdtl without being root.)
# This needs a machine of its own, because there is no way back from lockdown.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

target=x86_64-6.1

boots()
{
	run_group "$top/selftests/run/vm" $target --quiet --timeout 600 \
		--modules "$modules" --add "$here/lib/lockdown-guest.sh:/lockdown" \
		--log "$work/console" --out "$work" -- sh /lockdown
}

modes()
{
	[ "$(grep -c '^mode .*kdtl' "$work/results")" -ge 11 ] &&
		grep -x 'mode 666 /dev/kdtl' "$work/results" &&
		grep -x 'mode 700 /sys/kernel/debug' "$work/results" &&
		! grep '^mode' "$work/results" | grep -v '/dev/kdtl\|/sys/kernel/debug$' |
			grep -v '^mode [246]00 '
}

# answers WHEN YES|NO PATTERN: at least one try matches, and all tries that match had
# this result.
answers()
{
	grep "^$1 " "$work/results" | grep -E "$3" >"$work/these" &&
		! grep -v ": $2\$" "$work/these"
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-security.XXXXXX")
partial "$work"
capture "$top/scripts/build" $target
modules=$captured
touch -- "$work/results"
plan 7
ok "the machine makes all tries" boots
ok "only root's files, but for /dev/kdtl" modes
ok "no address in debugfs" answers before no 'an address'
ok "root may do all of it" answers before yes '/dev/kdtl|read|write|tracefs|find|load'
ok "integrity: what changes something is refused, and kdtl_watch/cpus" \
	answers integrity no 'write|cpus|unsigned'
ok "integrity: the rest is not" answers integrity yes \
	'/dev/kdtl|sessions|areas|table|lines|histogram|metrics'
ok "confidentiality: /dev/kdtl and tracefs are refused, what root reads is not" \
	eval "answers confidentiality no '/dev/kdtl|tracefs|write|cpus|unsigned' &&
	answers confidentiality yes 'sessions|areas|table|lines|histogram|metrics'"
finish
