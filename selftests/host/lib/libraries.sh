# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# Copies programs of this machine for a virtual one.

# with_libraries ROOT PROGRAM: copies it into that tree, with all that it is linked with.
with_libraries()
{
	local f

	for f in "$2" $(ldd "$2" | sed -n 's/^.*[[:space:]]\(\/[^ ]*\) (0x.*$/\1/p'); do
		mkdir -p -- "$1$(dirname -- "$f")" && cp -L -- "$f" "$1$f" || return
	done
}
