# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0
#
# kdtl(1) for the tests on the developer's machine, and recordings that say exactly what
# happened. A script sources this file after ktap.sh; $work is its folder.
#
# shellcheck disable=SC2154 # set by the script

# builds: builds kdtl, for the test's first line. It is compiled once for all tests of a checkout.
builds()
{
	local dir status=0

	dir=$(build_dir "$top")/tool
	with_lock "build-$(basename "$(dirname "$dir")")-tool"
	make -s -C "$top/clients/stream/tool" OUTPUT="$dir" && mkdir -p -- "$work/tool" &&
		cp -- "$dir/kdtl" "$work/tool/" || status=$?
	unlock
	return "$status"
}

kdtl()
{
	"$work/tool/kdtl" "$@"
}

# recording NAME: makes $work/NAME.data from the description on stdin, and leaves that in NAME.text.
recording()
{
	tee "$work/$1.text" | python3 "$here/lib/recording.py" "$work/$1.data"
}
