# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# The examples in Documentation. Sourced, with $top set.

# block NAME: the code block that the text calls so.
block()
{
	awk -v name="$1" '
	FNR == 1 { on = 0 }
	$1 == ":name:" { on = $2 == name; next }
	on && /^[^ ]/ { exit }
	on { sub(/^    /, ""); print }' "$top"/Documentation/*.rst
}
