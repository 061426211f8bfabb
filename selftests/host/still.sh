#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Of waits that are not over when a recording ends, kdtl why and kdtl report show those that the
# entries prove, and no others. The recordings say exactly what happened (lib/recording.py).
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

export TZ=UTC COLUMNS=80

s=000000000
ms=000000

# hog LINE...: makes a recording in which a hog takes CPU 1 from a service at 2 s and has it to the
# end, at 11 s; with these lines behind it.
hog()
{
	{
		printf '%s\n' "clock 0 0" "cgroup 1 /web" "cgroup 2 /batch" "task 1 100 100 0 0 0 1 web" \
			"task 1 200 200 1 0 50 2 hog" "run 1$s 1 0 5 100 0 web" "left 4" \
			"run 2$s 1 0 5 200 100 hog" "left 2" "$@"
		[[ "$*" == *clock* ]] || echo "clock 11$s 11$s"
	} | recording hog
}

# says TEXT ARGUMENT...: kdtl why prints TEXT below the table's head.
says()
{
	local text=$1

	shift
	kdtl why "$@" "$work/hog.data" 2>&1 | sed '1,/^time of day/d' | diff <(printf '%s\n' "$text") -
}

hog_to_the_end()
{
	hog && says "00:00:11.000    1   9.00 s+         -  web (100)   /web
    not over, behind hog (200) 9.00 s" && says \
		"00:00:11.000    1   9.00 s+         -  00:00:02.000  web (100)   /web
    not over, behind   9.00 s   hog (200) /batch" -a
}

# The wait can be asked for by time, CPU, name and process.
asked_for()
{
	hog && kdtl why --time 00:00:05 --cpu 1 --comm web --pid 100 --cgroup /web --min-wait 9000 \
		"$work/hog.data" >/dev/null &&
		! kdtl why --min-wait 9001 "$work/hog.data" 2>/dev/null &&
		! kdtl why --time 00:00:01.9 "$work/hog.data" 2>/dev/null &&
		! kdtl why --cpu 0 "$work/hog.data" 2>/dev/null &&
		! kdtl why --pid 200 "$work/hog.data" 2>/dev/null
}

for_scripts()
{
	hog "run 3$s 0 1$ms 0 300 0 done" || return
	kdtl why --brief "$work/hog.data" | sed 's/ time=.* saturated=/ saturated=/; s/ cgroup=.* not/ not/; s/ kept=.*//' |
		diff - <(cat <<-'END'
			why: task=web pid=100 waited_ms=9000.000 cpu=1 behind=hog behind_ms=9000.000 throttled_ms=0.000 saturated=1 not_over=1
			why: task=done pid=300 waited_ms=1.000 cpu=0 behind=? behind_ms=0 throttled_ms=0.000 saturated=0 not_over=0
		END
		)
}

# Other tasks came and went, some wait, and one is held back by its quota; a task without a record
# has no cgroup.
several()
{
	hog "task 1 400 400 0 0 0 1 batch" "run 4$s 1 1$s 0 300 200 two" "left 4" "run 5$s 1 3$s 0 200 300 hog" \
		"left 128" "idle 6$s 0 400" "left 4" "run 7$s 2 0 0 600 500 six" || return
	says "00:00:11.000    1   9.00 s+         -  web (100)    /web
    not over, behind hog (200) 8.00 s, two (300) 1.00 s
00:00:11.000    1   6.00 s+         -  two (300)    ?
    not over, behind hog (200) 6.00 s
00:00:11.000    0         -   5.00 s+  batch (400)  /web
    not over, held back by the quota of its cgroup
00:00:11.000    2   4.00 s+         -  ? (500)      ?
    not over, behind six (600) 4.00 s
00:00:05.000    1   3.00 s          -  hog (200)    /batch
    behind hog (200) 2.00 s, two (300) 1.00 s
00:00:04.000    1   1.00 s          -  two (300)    ?
    behind hog (200) 1.00 s"
}

# waits: prints the names of the tasks whose waits are not over.
waits()
{
	kdtl why --brief "$work/hog.data" 2>/dev/null |
		sed -n 's/why: task=\([^ ]*\) .* not_over=1 .*/\1/p' | sort | tr '\n' ' '
}

# A task that got any CPU since does not wait; nor does one that sleeps. If the clocks of two CPUs
# differ, a dispatch may seem older than the entry it follows.
# proves NAMES LINE...: with these lines, the waits of these tasks are not over.
proves()
{
	local names=$1

	shift
	hog "$@" && [ "$(waits)" = "$names" ] && return
	echo "$*: $(waits), not $names"
	return 1
}

only_what_is_proved()
{
	proves "web " &&
		proves "" "run 3$s 1 1$s 0 100 200 web" && proves "" "run 3$s 0 1$s 0 100 0 web" &&
		proves "" "run 3$s 0 1$s 0 100 0 web" "idle 4$s 0 100" &&
		proves "" "run 1999999999 0 0 0 100 0 web" && proves "web " "run 1970$ms 0 0 0 100 0 web" &&
		proves "" "run 2$s 1 0 0 100 200 web" &&
		proves "web " "run 3$s 1 0 0 100 200 web" "left 4" "run 4$s 1 0 0 200 100 hog" &&
		proves "" "idle 11$s 1 100" && proves "" "run 12$s 0 0 0 100 0 web" &&
		proves "hog " "left 4" "run 3$s 1 0 0 100 200 web"
}

# One of the entries that are missing may be the task's dispatch.
missing()
{
	proves "" "min-wait 1$ms" && proves "" "lost 3" &&
		proves "" "lost 3" "loss 0 3$s 4$s 3" && proves "" "lost 3" "loss 0 1$s 2000000001 3" &&
		proves "web " "lost 3" "loss 1 1$s 1900$ms 3" &&
		proves "" cut && proves "" failed && proves "" "lost 1" "loss 7 10$s 11$s 1" &&
		proves "" "until 1$s" && proves "" "until 2$s" && proves "web " "until 3$s" cut
}

# The end of a file that was cut off, or is one of several, is the time up to which all CPUs'
# entries are there, even if some entries are later.
up_to_then()
{
	hog "until 3$s" "run 6$s 1 1$s 0 300 200 two" "run 8$s 1 1$s 0 200 300 hog" "until 5$s" cut &&
		says "00:00:05.000    1   3.00 s+         -  web (100)   /web
    not over, behind hog (200) 3.00 s
00:00:06.000    1   1.00 s          -  two (300)   ?
    behind hog (200) 1.00 s
00:00:08.000    1   1.00 s          -  hog (200)   /batch
    behind two (300) 1.00 s" 2>/dev/null || return
	kdtl report "$work/hog.data" 2>/dev/null | sed '1,/^task/d' | awk 'NF == 10 { print $1, $4, $5 }' |
		diff <(printf '%s\n' 'web 1.00s 3.00s+' 'hog 4.00s+ 1.00s' 'two 2.00s 1.00s') -
}

# If only some CPUs were recorded, the task may have gone on on another one.
some_cpus()
{
	hog some-cpus && [ "$(waits)" = "web " ] &&
		kdtl why "$work/hog.data" 2>&1 >/dev/null | matches 'has some CPUs only (-C): a wait' &&
		kdtl report "$work/hog.data" | matches 'not over at the end, as far as the recorded CPUs'
}

# The answer also has what a hypervisor took, and what the task is called at the end.
as_other_waits()
{
	hog "task 3$s 100 100 0 0 0 2 later" || return
	printf '%s\n' 'source kdtl_steal' 'clock 0 0' "steal 5$s 1 1$s 0 0 0" "clock 11$s 11$s" |
		recording hog-steal &&
		says "00:00:11.000    1   9.00 s+         -  later (100)  /batch
    not over, behind hog (200) 8.00 s, the hypervisor 1.00 s" --steal "$work/hog-steal.data"
}

reported()
{
	hog "run 3$s 1 2$ms 0 300 200 two" "left 4" "run 4$s 1 3$ms 0 200 300 hog" || return
	kdtl report "$work/hog.data" | sed '1,/^host/d' | diff - <(cat <<-'END'

		task (PID) count   ran waited    p50    p99    max behind    for
		web (100)      1 1.00s 9.00s+    0ns 9.00s+ 9.00s+ hog     8.00s
		two (300)      1 1.00s 7.00s+ 2.00ms 7.00s+ 7.00s+ hog     7.00s
		hog (200)      2 8.00s 3.00ms    0ns 3.00ms 3.00ms two    3.00ms

		2 waits (+) were not over at the end
	END
	) && kdtl report "$work/hog.data" | matches ' 4 dispatches, 0 entries lost' &&
		[ "$(kdtl report --by cgroup --comm web "$work/hog.data" | awk '/^\/web/ { print $2, $4 }')" = \
			"1 9.00s+" ] &&
		[ "$(kdtl report --interval 1 --comm web "$work/hog.data" |
			awk '/ to / { at = $1 } /^web/ { print at, $3, $5 }')" = "00:00:01 1 0ns
00:00:11 0 9.00s+" ]
}

# Only the kernel can tell that a task waits that woke up and has not run since.
told()
{
	hog "waits 1 3$s 0 11$s 1 300 200 late" &&
		says "00:00:11.000    1   9.00 s+         -  web (100)   /web
    not over, behind hog (200) 9.00 s
00:00:11.000    1   8.00 s+         -  late (300)  ?
    not over, behind hog (200) 8.00 s" || return
	kdtl report "$work/hog.data" | awk '/^late/ { print $3, $5, $9, $10 }' |
		diff - <(echo "0 8.00s+ hog 8.00s") &&
		kdtl why --brief "$work/hog.data" | matches 'task=late pid=300 .* not_over=1 '
}

# For a CPU without any entry the kernel says which task has it, and so had it since the recording
# began. The recorder's first look at the clock may come later.
told_without_entries()
{
	hog "task 1 500 500 1 0 50 2 fifo" "waits 1$s 0 0 10$s 3 300 500 late" &&
		says "00:00:10.000    3   10.0 s+         -  late (300)  ?
    not over, behind fifo (500) 9.00 s, not known 1.00 s
00:00:11.000    1   9.00 s+         -  web (100)   /web
    not over, behind hog (200) 9.00 s" || return
	printf '%s\n' "clock 2$s 0" "waits 1$s 3$s 0 10$s 3 300 500 late" "clock 11$s 9$s" | recording hog &&
		says "00:00:08.000    3   7.00 s+         -  late (300)
    not over, behind ? (500) 7.00 s" && [ "$(kdtl report "$work/hog.data" | grep -c 300)" -eq 1 ]
}

# The wait is over if the log has a dispatch since. A task that is held back does not wait, nor does
# one of an older chunk. The kernel also knows what was not recorded.
told_when()
{
	proves "web " "waits 1 3$s 0 11$s 1 300 200 late" "run 10$s 0 7$s 0 300 200 late" &&
		proves "late web " "run 2500$ms 0 0 0 300 0 late" "waits 1 3$s 0 11$s 1 300 200 late" &&
		proves "web " "waits 1 3$s 0 4$s 1 300 200 late" "waits 1" &&
		proves "late web " "waits 1" "waits 1 3$s 0 4$s 1 300 200 late" &&
		proves "late " "lost 3" "waits 1 3$s 0 11$s 1 300 200 late" &&
		proves "late " cut "waits 1 3$s 0 11$s 1 300 200 late" &&
		proves "late " "min-wait 1$s" "waits 1 3$s 0 11$s 1 300 200 late" &&
		proves "" "min-wait 9$s" "waits 1 3$s 0 11$s 1 300 200 late" &&
		hog "waits 1 3$s 8$s 11$s 1 300 200 held 4$s 2$s 11$s 1 400 200 was" &&
		says "00:00:11.000    1   9.00 s+         -  web (100)   /web
    not over, behind hog (200) 9.00 s
00:00:11.000    1         -   8.00 s+  held (300)  ?
    not over, held back by a quota, the limit on real-time tasks, or its own deadline runtime
00:00:11.000    1   5.00 s+         -  was (400)   ?
    not over, behind hog (200) 5.00 s" || return
	# The task waits for the CPU that it was moved to.
	hog "run 2500$ms 0 0 0 300 0 six" "waits 1 3$s 0 11$s 0 100 300 web" &&
		says "00:00:11.000    0   8.00 s+         -  web (100)   /web
    not over, behind six (300) 8.00 s"
}

# Waits that are not over have no entries, so they are in no other answer.
nowhere_else()
{
	hog && [ "$(kdtl print "$work/hog.data" | grep -vc '^#')" -eq 2 ] &&
		[ "$(kdtl export --format csv "$work/hog.data" | wc -l)" -eq 3 ] &&
		kdtl histogram "$work/hog.data" | matches '\<2\>' &&
		! kdtl histogram "$work/hog.data" | grep '9\.00'
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-still.XXXXXX")
partial "$work"

plan 15
ok "kdtl builds" builds
ok "behind a hog that runs to the end" hog_to_the_end
ok "as it is asked for" asked_for
ok "for scripts" for_scripts
ok "several tasks, and a quota" several
ok "only what the entries prove" only_what_is_proved
ok "nothing, if entries may be missing" missing
ok "up to the time at which all entries are there" up_to_then
ok "if not all CPUs were recorded, that is said" some_cpus
ok "with stolen time, and the name that the task has then" as_other_waits
ok "in a report" reported
ok "a task that woke up and has not run since" told
ok "on a CPU without any entry" told_without_entries
ok "only if the wait is not over" told_when
ok "and in no other answer" nowhere_else
finish
