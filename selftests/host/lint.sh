#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Sparse, checkpatch and shellcheck find nothing.

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"

# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/shell.sh
. "$here/lib/shell.sh"

# With C=2, kbuild has sparse look at all files, also at those that it need not compile again.
check_sparse()
{
	capture "$top/scripts/build" x86_64-6.1 C=2 CF=-D__CHECK_ENDIAN__ &&
		grep -q 'CHECK .*core/session.c' "$captured/build.log" &&
		! grep -E -A 3 'warning|error:' "$captured/build.log"
}

check_shell()
{
	(cd -- "$top" && shell_scripts | xargs -0 shellcheck -x -S warning)
}

plan 3
"$top/scripts/install-deps" check
ok "sparse finds nothing, also in the order of bytes" check_sparse
ok "checkpatch --strict finds nothing" "$top/scripts/checkpatch"
ok "shellcheck finds nothing" check_shell
finish
