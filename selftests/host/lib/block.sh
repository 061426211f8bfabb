# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# The examples in Documentation. A script sources this file, with $top set.

# block NAME: prints the code block that the text calls so.
block()
{
	awk -v name="$1" '
	FNR == 1 { on = 0 }
	$1 == ":name:" { on = $2 == name; next }
	on && /^[^ ]/ { exit }
	on { sub(/^    /, ""); print }' "$top"/Documentation/*.rst
}
