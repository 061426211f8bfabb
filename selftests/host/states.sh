#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Documentation/states.rst shows the table that the test in the kernel checks.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

same()
{
	diff -u <("$top/scripts/states-table" --show) <("$top/scripts/states-table") &&
		return
	echo "run scripts/states-table --write"
	return 1
}

# The table has every verb of the headers that takes a session, and no other. Except for
# kdtl_aux_mmap(), which needs a process that maps a file: the client stream tests it.
complete()
{
	diff -u <(sed -n 's/^[a-z].*\b\(kdtl_[a-z_]*\)(struct kdtl_\(session\|merge\) \*.*/\1/p' \
		"$top"/api/include/linux/kdtl{,_verbs,_counters}.h |
		grep -v -x -e kdtl_aux_mmap \
			-e kdtl_merge_create -e kdtl_merge_destroy -e kdtl_merge_sync |
		sort) \
		<(sed -n 's/^KDTL_VERB(\([a-z_]*\),.*/\1/p' \
			"$top/selftests/kunit/states.def" | sort)
}

plan 2
ok "the table in the documentation is the one that is tested" same
ok "each verb is in it" complete
finish
