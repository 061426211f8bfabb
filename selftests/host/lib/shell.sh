# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0
#
# For tests that look at shell scripts. Needs $top.

# shell_scripts: the files in git whose first line is a shell script's.
shell_scripts()
{
	(cd -- "$top" && git ls-files -z --cached --others --exclude-standard |
		xargs -0 sh -c 'for f; do [ ! -f "$f" ] || printf "%s\0" "$f"; done' - |
		xargs -0 awk '
		FNR == 1 {
			if (/^#!.*sh$/ || /^# shellcheck shell=/)
				printf "%s%c", FILENAME, 0
			nextfile
		}')
}
