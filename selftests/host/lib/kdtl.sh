# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# kdtl(1) for the tests on the developer's machine, and recordings that say exactly what
# happened. Sourced, after ktap.sh; $work is the test's folder.
#
# shellcheck disable=SC2154 # set by the script

# builds: kdtl, for the test's first line.
builds()
{
	make -s -C "$top/clients/stream/tool" OUTPUT="$work/tool"
}

kdtl()
{
	"$work/tool/kdtl" "$@"
}

# recording NAME: $work/NAME.data from the description on stdin, which is left in NAME.text.
recording()
{
	tee "$work/$1.text" | python3 "$here/lib/recording.py" "$work/$1.data"
}
