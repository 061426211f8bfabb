#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# If a recording has nothing of what was asked for, kdtl(1) says what it has, and for which part
# of the question it has nothing.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/kdtl.sh
. "$here/lib/kdtl.sh"

export TZ=UTC

records()
{
	recording night <"$here/lib/night.txt" && recording none <<<'clock 0 0' &&
		recording v1 <<-'END'
			clock 0 0
			cgroup 1 /cpu/a
			cgroup 2 /b
			task 1 10 10 0 0 0 1 in-a
			task 1 20 20 0 0 0 2 in-b
			run 1000000000 1 1000 0 10 0 in-a
			run 2000000000 1 1000 0 20 10 in-b
		END
}

# lacks TEXT ARGUMENT...: each command says TEXT about these arguments.
lacks()
{
	local text=$1 verb

	shift
	for verb in why report print "export --format csv" "export --format jsonl"; do
		# shellcheck disable=SC2086 # words
		kdtl $verb "$@" "$work/night.data" >/dev/null 2>"$work/err"
		grep -F -x -q -- "kdtl: $work/night.data: is from 2023-11-14 22:13:20.000 to \
2023-11-14 22:13:23.000 (UTC), with 6 dispatches; $text" "$work/err" || {
			echo "$verb $*: no $text"
			cat -- "$work/err"
			return 1
		}
	done
	! kdtl why "$@" "$work/night.data" 2>/dev/null && ! kdtl report "$@" "$work/night.data" 2>/dev/null
}

says_what()
{
	lacks "none is of a task named thread; there is web-thread" --comm thread &&
		lacks "none is of a task named nobody" --comm nobody &&
		lacks "none of them is in the time asked for" --from 23:00 &&
		lacks "none of them is in the time asked for" --to 22:13:20.5 --comm nobody &&
		lacks "none is of a task or process with the PID 7" --pid 7 &&
		lacks "none is of these CPUs" --cpu 9 &&
		lacks "none came after 5.00 s" --min-wait 5000 &&
		lacks "none meets all conditions at once" --comm hog --cpu 0 &&
		lacks "none is of a task in the cgroup /web.service; there is /system.slice/web.service" \
			--cgroup /web.service
}

other_verbs()
{
	kdtl map --comm nobody "$work/night.data" 2>&1 >/dev/null | matches ' named nobody$' &&
		! kdtl diff --comm nobody "$work/night.data" "$work/night.data" 2>"$work/err" &&
		[ "$(grep -c ' named nobody$' "$work/err")" -eq 2 ] &&
		kdtl print "$work/none.data" 2>&1 >/dev/null |
		grep -q 'is from 1970-01-01 .* (UTC), with 0 dispatches$' &&
		! kdtl why --time 23:00 "$work/night.data" 2>"$work/err" &&
		grep -q 'is from 2023.* with 6 dispatches$' "$work/err" &&
		! kdtl print --comm hog "$work/night.data" 2>&1 >/dev/null | grep .
}

# tasks PATH NAMES: the waits in the cgroup PATH are of these tasks.
tasks()
{
	kdtl why --brief --cgroup "$1" "$work/v1.data" 2>/dev/null |
		sed 's/why: task=\([^ ]*\) .*/\1/' | sort | tr '\n' ' ' | matches -x -- "$2" && return
	echo "$1: not $2"
	return 1
}

paths()
{
	tasks /sys/fs/cgroup "in-a in-b " && tasks /sys/fs/cgroup/ "in-a in-b " &&
		tasks /sys/fs/cgroup/b "in-b " && tasks /sys/fs/cgroup/b/ "in-b " &&
		tasks /sys/fs/cgroup/unified/b "in-b " && tasks /sys/fs/cgroup/cpu,cpuacct/b "in-b " &&
		tasks /sys/fs/cgroup/cpu/a "in-a " && tasks /sys/fs/cgroup/cpu/cpu/a "in-a " &&
		tasks /b "in-b " && ! tasks /sys/fs/cgroupb "in-b "
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-empty.XXXXXX")
partial "$work"

plan 5
ok "kdtl builds" builds
ok "recordings" records
ok "what the recording has, and what it has not" says_what
ok "for other commands, too" other_verbs
ok "a cgroup is its folder under /sys/fs/cgroup" paths
finish
