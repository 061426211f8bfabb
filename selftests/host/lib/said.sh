#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Writes what kdtl(1) says about recordings into files that can be compared with those of another
# machine. JSON is left out, which kdtl(1) does not have everywhere.
#
#	said.sh DIR RECORDING... -- KDTL...	a file of DIR for each command and recording;
#						KDTL is how to run kdtl(1)

dir=$1
shift
files=
while [ "$1" != -- ]; do
	files="$files $1"
	shift
done
shift

export TZ=UTC
unset COLUMNS

# say NAME COMMAND...: writes what the command prints, also about errors, and its exit status.
say()
{
	to=$dir/$1
	shift
	"$@" >"$to" 2>&1
	echo "exit $?" >>"$to"
}

mkdir -p -- "$dir" || exit
for file in $files; do
	name=$(basename "$file" .data)
	say "$name.print" "$@" print -a "$file"
	say "$name.histogram" "$@" histogram "$file"
	say "$name.why" "$@" why -a -n 1000 "$file"
	say "$name.why-brief" "$@" why --brief -n 1000 "$file"
	say "$name.report" "$@" report --interval 0.3 -n 1000 "$file"
	say "$name.report-cgroup" "$@" report --by cgroup "$file"
	say "$name.map" "$@" map "$file"
	say "$name.csv" "$@" export --format csv "$file"
	say "$name.ctf" "$@" ctf "$file" "$dir/$name.trace"
	[ "$name" = "${first:=$name}" ] || say "$name.diff" "$@" diff "$last" "$file"
	last=$file
done
# Their paths differ, from one machine to another.
for file in "$dir"/*.*; do
	[ -d "$file" ] || sed -i "s|[^ ]*/\([^/ ]*\.data\)|\1|g; s|$dir/||g" "$file"
done
