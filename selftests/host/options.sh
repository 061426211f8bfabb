#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests options that commands of kdtl(1) share: durations with their units, patterns for names and
# cgroups, times before the end, numbers of rows. The recordings say exactly what happened
# (lib/recording.py).
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
	recording night <"$here/lib/night.txt" && recording names <<-'END' || return
		clock 0 1700000000000000000
		cgroup 1 /system.slice/web-a.service
		cgroup 2 /system.slice/web-b.service/worker
		cgroup 3 /user.slice/web-a.service
		cgroup 4 /system.slice/dev\x2dsda.mount
		task 1 10 10 0 0 0 1 web-1
		task 1 20 20 0 0 0 2 web-2
		task 1 30 30 0 0 0 3 kworker/1:1
		task 1 40 40 0 0 0 4 w*
		task 1 50 50 0 0 0 4 fifteen-letters
		run 1000000000 0 1000000 0 10 1 web-1
		run 2000000000 0 2000000 0 20 10 web-2
		run 3000000000 0 3000000 0 30 20 kworker/1:1
		run 4000000000 0 4000000 0 40 30 w*
		run 5000000000 0 5000000 0 50 40 fifteen-letters
		clock 6000000000 1700000006000000000
	END
	recording vpa <<-'END'
		source kdtl_vpa
		vpa 1000000000 1 7000000 0 0
	END
}

# pids EXPECTED ARGUMENT...: each command takes the dispatches of these pids; why has the longest
# wait first.
pids()
{
	local expected=$1

	shift
	diff <(echo "$expected") <(kdtl why --brief "$@" "$work/names.data" 2>/dev/null |
		sed 's/.* pid=\([0-9]*\) .*/\1/' | paste -s -d ' ') &&
		diff <(tr ' ' '\n' <<<"$expected" | sed '/^$/d' | sort) \
			<(kdtl print "$@" "$work/names.data" 2>/dev/null | awk '!/^#/ { print $10 }' | sort)
}

durations()
{
	local wait

	for wait in 4 4ms 4000us 4e6ns 0.004s 0.000066666666min 0.0000011111111111h; do
		pids "50 40" --min-wait "$wait" || return
	done
	pids 50 --min-wait 4.000001ms && pids 50 --min-wait 4000.1us && pids "" --min-wait 1min
}

# refused TEXT ARGUMENT...: kdtl ends with exit status 2, and one line that has the text.
refused()
{
	local text=$1 status=0

	shift
	kdtl "$@" >/dev/null 2>"$work/err" || status=$?
	[ "$status" -eq 2 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -q -F -e "$text" "$work/err" &&
		return
	echo "kdtl $*: exit status $status"
	cat -- "$work/err"
	return 1
}

no_durations()
{
	local text units='must be a time such as 50ms, in ns, us, ms, s, min or h'

	for text in '' x 5m 5xs ms 5ms. '5 ms' -5ms nan inf 1e30 3000000h 5MS; do
		refused "--min-wait $text: $units (default: ms)" why --min-wait "$text" "$work/night.data" &&
			refused "-d $text: $units (default: s)" record -d "$text" &&
			refused "--ring $text: $units (default: s)" record --ring "$text" &&
			refused "-w $text: $units (default: ms)" record -w "$text" &&
			refused "-d $text: $units (default: s)" why -d "$text" &&
			refused "--interval $text: $units (default: s)" report --interval "$text" \
				"$work/night.data" &&
			refused "--interval $text: $units (default: s)" top --interval "$text" || return
	done
	refused "--host-ahead 5m: $units (default: s)" why --host x --host-ahead 5m &&
		refused "--host-ahead --5s: $units" why --host x --host-ahead --5s &&
		refused '--min-wait 0: must be at least 1ns' why --min-wait 0 "$work/night.data" &&
		refused '--interval 999ns: must be at least 1.00us' report --interval 999ns "$work/night.data" &&
		refused '--interval 99ms: must be at least 100ms' top --interval 99ms &&
		refused '--interval 2h: must be at most 3600s' top --interval 2h
}

# An interval may have a unit: the tables are the same.
intervals()
{
	kdtl report --interval 0.5 "$work/night.data" >"$work/said" 2>/dev/null &&
		kdtl report --interval 500ms "$work/night.data" 2>/dev/null | diff "$work/said" - &&
		[ "$(grep -c ' to ' "$work/said")" -eq 3 ]
}

names()
{
	pids "20 10" --comm 'web*' && pids "20 10" --comm 'web-?' && pids 10 --comm 'web-[!2-9]' &&
		pids 30 --comm 'kworker*' && pids "20 10" --comm '*eb*' && pids "" --comm 'eb*' &&
		pids "" --comm '[' && pids 40 --comm 'w[*]' &&
		# That is a name, and also a pattern.
		pids "40 20 10" --comm 'w*' && pids 50 --comm fifteen-letters-and-more &&
		pids "" --comm 'fifteen-letter?-and-more'
}

cgroups()
{
	pids "20 10" --cgroup '/system.slice/web-*' && pids "20 10" --cgroup '/system.slice/web-?.service' &&
		pids "30 20 10" --cgroup '/*/web*' && pids "30 10" --cgroup '/*.slice/web-a.service' &&
		# No * stands for a /, and a pattern also takes the cgroups below.
		pids "" --cgroup '/*/worker' && pids 20 --cgroup '/*/*/worker' && pids 30 --cgroup '/u*' &&
		pids "20 10" --cgroup '/sys/fs/cgroup/system.slice/web*' &&
		# The \x2d that systemd writes for a - is no escape.
		pids "50 40" --cgroup '/system.slice/dev\x2dsda.mount' &&
		pids "50 40" --cgroup '/*/dev\x2dsda*' &&
		refused 'must be a path' why --cgroup '*/web' "$work/names.data"
}

# The recording ends at 6 s: the last 2 s have what was at 4 s and at 5 s.
before_the_end()
{
	pids "50 40" --from -2s && pids "50 40" --from -2 && pids "50 40" --from -2000ms &&
		pids 50 --from -1999ms && pids 40 --from -2s --to -1s && pids "50 40 30 20 10" --from -1h &&
		pids "" --to -1h && pids "50 40 30 20 10" --from -5s --to -1ns && [ "$(kdtl why --brief --time -4001ms \
			"$work/names.data" 2>/dev/null | sed 's/.* pid=\([0-9]*\) .*/\1/')" = 20 ] &&
		kdtl report --from -2s "$work/names.data" 2>/dev/null | matches '; 2 dispatches' || return
	for text in - -x -5x --5s -5s-; do
		refused "--from $text: must be a time such as 12:03:04.5, or -5s for 5 s before the end" \
			report --from "$text" "$work/names.data" &&
			refused "--to $text: must be a time" print --to "$text" "$work/names.data" &&
			refused "--time $text: must be a time" why --time "$text" "$work/names.data" || return
	done
}

so_many()
{
	[ "$(kdtl print -n 2 "$work/names.data" | awk '!/^#/ { print $10 }' | paste -s -d ' ')" = "10 20" ] &&
		[ "$(kdtl print --from -3s -n 1 "$work/names.data" | awk '!/^#/ { print $10 }')" = 30 ] &&
		[ "$(kdtl print -n 99 "$work/names.data" | grep -vc '^#')" -eq 5 ] &&
		refused '-n 0: must be a number of entries' print -n 0 "$work/names.data" &&
		refused '-n 2x: must be a number of entries' print -n 2x "$work/names.data" &&
		refused '-n -1: must be a number of rows' report -n -1 "$work/names.data"
}

# The numbers are those of report, only of the entries that are asked for.
histograms()
{
	kdtl histogram "$work/names.data" >"$work/all" 2>&1 &&
		grep -q '^5 dispatches, 0 lost$' "$work/all" &&
		kdtl histogram --comm 'web*' "$work/names.data" >"$work/said" &&
		grep -q '^2 dispatches, 0 lost$' "$work/said" && grep -q ' max   2.00 ms$' "$work/said" &&
		kdtl histogram --cgroup '/user*' --min-wait 3ms --cpu 0 --from -3s --to -2s --pid 30 \
			"$work/names.data" | matches '^1 dispatches' &&
		kdtl histogram --by cgroup "$work/names.data" >"$work/said" &&
		grep -A 5 '^$' "$work/said" | sed -n 's/: \([0-9]*\) dispatches$/ \1/p' | diff - <(cat <<-'END'
		/system.slice/dev\x5cx2dsda.mount 2
		/user.slice/web-a.service 1
		/system.slice/web-b.service/worker 1
		/system.slice/web-a.service 1
		END
	) && [ "$(grep -c '^p50 ' "$work/said")" -eq 4 ] &&
		[ "$(kdtl histogram --by comm "$work/names.data" | grep -c '^p50 ')" -eq 5 ] &&
		kdtl histogram --by cpu "$work/names.data" | sed '2,3d' | diff "$work/all" - &&
		kdtl histogram --by task "$work/night.data" | grep -A 1 '^web-thread (101): 1 dispatches$' |
		grep -q 'were throttled before 1 dispatches,  90.0 ms$' || return
	kdtl histogram --comm nobody "$work/names.data" 2>"$work/err" | diff <(echo 0 dispatches, 0 lost) - &&
		grep -q 'none is of a task named nobody$' "$work/err" &&
		refused '--by x: must be task, process, comm, cgroup or cpu' histogram --by x &&
		refused 'name no tasks' histogram --by comm "$work/vpa.data" &&
		kdtl histogram --by cpu "$work/vpa.data" | matches '^CPU 1: 1 dispatches$'
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-options.XXXXXX")
partial "$work"

plan 10
ok "kdtl builds" builds
ok "recordings are made" records
ok "a duration has a unit, or the option's" durations
ok "a wrong duration is refused, in a line that says what is allowed" no_durations
ok "an interval has a unit, too" intervals
ok "a name may be a pattern" names
ok "so may a cgroup" cgroups
ok "a time may be before the end" before_the_end
ok "print stops after so many entries" so_many
ok "histograms of what is asked for, and for each" histograms
finish
