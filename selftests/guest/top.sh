#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compares the numbers of kdtl top with what a load wrote down (scenario_load.c), and tests
# its screen on terminals of several sizes (terminal.c).
#
# shellcheck disable=SC2086,SC2317 # paths without blanks, functions that ok() calls

dir=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$dir/ktap.sh"

export TERMINFO="$dir/terminfo"
root=/tmp/kdtl-top
truth=$root.truth

# truth WHAT FIELD: what the load wrote down.
truth()
{
	awk -v what="$1" -v field="$2" '$1 == what { print $field }' "$truth"
}

# tables BY: prints the rows, as
#	NAME COUNT RAN WAITED THROTTLED MAX BEHIND_MS BEHIND
# with times in ms. A PID follows the name after a blank, so the fields count from the end.
tables()
{
	awk '
	/^the last / { span = $3 }
	NF >= 9 && $(NF - 6) ~ /^[0-9.]+$/ {
		ran = $(NF - 6) * span * 10
		name = $1
		for (i = 2; i < NF - 7; i++)
			name = name " " $i
		print name, $(NF - 7), ran, $(NF - 5) + 0, $(NF - 4) + 0, $(NF - 2) + 0,
			$(NF - 1), $NF
	}' "$root.$1"
}

# within GOT LEAST MOST: GOT ms are LEAST to MOST ns, to 5%.
within()
{
	awk -v got="$1" -v least="$2" -v most="$3" 'BEGIN {
		exit !(got >= least / 1e6 * 0.95 && got <= most / 1e6 * 1.05)
	}' && return
	note "$1 ms, should be $2 to $3 ns"
	return 1
}

# fits MS: MS is at least as long as the hog's loop, and at most as long as the service was late.
# The hog also had the CPU to start and to exit, and the service's timer may be late.
fits()
{
	within "$1" "$(truth hog 3)" "$(truth service 5)"
}

# Both commands have printed a table, so they miss nothing of the load.
begun()
{
	grep -q '^the last' $root.task && grep -q '^the last' $root.cgroup
}

# The load's last task has ended, and tables have been written since.
over()
{
	grep -q "^kdtl_moved ($(awk '$5 == "kdtl_moved" { print $4 }' "$truth"))" $root.task &&
		grep -q "^/kdtl_batch" $root.cgroup
}

load_did()
{
	"$dir/kdtl" top -b --interval 1 >$root.task &
	pids=$!
	"$dir/kdtl" top -b --interval 0.5 --by cgroup --min-wait 0.000001 >$root.cgroup &
	pids="$pids $!"
	until_true begun || return
	"$dir/scenario_load" $root >"$truth" || return
	sed 's/^/# /' "$truth"
	until_true over
	set -- $?
	# shellcheck disable=SC2086 # several words
	kill -INT $pids && wait $pids && return "$1"
}

# sum BY NAME FIELD: the sum of that field over all tables.
sum()
{
	tables "$1" | awk -v name="$2 " -v field="$3" '
		index($0, name) == 1 {
			$0 = substr($0, length(name) + 1)
			sum += $field
		}
		END { printf field == 1 ? "%d\n" : "%.3f\n", sum }'
}

hog_ran()
{
	fits "$(sum task "kdtl_hog ($(truth hog 2))" 2)"
}

# The service was late because of its waits, and also because of its timer, so the waits are less.
service_waited()
{
	set -- "$(sum task "kdtl_service ($(truth service 2))" 3)" \
		"$(sum task "kdtl_service ($(truth service 2))" 1)"
	note "the service waited $1 ms in $2 dispatches"
	# The service sleeps in most rounds. A machine that stands still leaves it few of these.
	[ "$2" -gt $(($(truth service 3) / 2)) ] && within "$1" "$(truth hog 3)" "$(truth service 4)"
}

top_has_begun()
{
	grep '\[kdtl_stream\]' /sys/kernel/debug/kdtl/sessions | grep -q ' started '
}

# passed SECONDS FROM: so many seconds have passed since FROM, in s since boot.
passed()
{
	read -r now _ </proc/uptime
	echo "$now" | awk -v least="$1" -v from="$2" '{ exit !($1 - from >= least) }'
}

# A task has had a CPU since before top began, and gets no entry there.
before_all()
{
	can_starve 1
	: >$root.holds
	background "$dir/held" 1 >$root.holds
	hog=$!
	until_true grep -q holds $root.holds || return
	"$dir/kdtl" top -b --interval 1000 >$root.before &
	pids=$!
	until_true top_has_begun || return
	read -r from _ </proc/uptime
	until_true passed 1 "$from"
	read -r ends _ </proc/uptime
	kill $hog
	wait $hog
	kill -INT $pids && wait $pids || return
	read -r over _ </proc/uptime
	set -- "$(tables before | sed -n "s/^held ($hog) //p")"
	echo "$1" | awk -v span="$(sed -n 's/^the last \([0-9.]*\) s.*/\1/p' $root.before)" \
		-v after="$(echo "$over $ends" | awk '{ print $1 - $2 }')" '{
			printf "# it had a CPU for %d ms of %d, and none for %d at most\n", $2,
				span * 1000, after * 1000
			exit !($2 >= (span - after) * 990 && $2 <= span * 1010)
		}' && return
	cat $root.before
	return 1
}

# has_lines PATTERN NR: so many lines of the tables end with PATTERN.
has_lines()
{
	[ "$(grep -c "$1\$" $root.offline)" -ge "$2" ]
}

# A CPU is offline when top begins, comes, and goes again for some tables. top says so, and the time
# is not the task's that takes it offline and back: all it does takes less than half a second.
offline_is_nobodys()
{
	echo 0 >"$online" || return
	"$dir/kdtl" top -b --interval 0.5 >$root.offline &
	pids=$!
	until_true has_lines "; offline: CPU $last" 3 && bring_back "$last" &&
		until_true has_lines "; back: CPU $last" 1 && echo 0 >"$online" &&
		until_true has_lines "; offline: CPU $last" 7 && bring_back "$last" &&
		until_true has_lines "; back: CPU $last" 2 && until_true has_lines ' 0 lost' 1
	set -- $?
	kill -INT $pids && wait $pids && [ "$1" -eq 0 ] &&
		tables offline | awk -v name="cpuhp/$last" '$1 == name { ran += $4; n++ }
			END { print "# it had a CPU for", ran, "ms"; exit !(n && ran < 500) }' && return
	cat $root.offline
	return 1
}

# The row of the longest wait blames the hog.
service_behind()
{
	# shellcheck disable=SC2046 # several words
	set -- $(tables task | grep "^kdtl_service ($(truth service 2))" | sort -k 7 -g |
		tail -n 1)
	is "$9" kdtl_hog && fits "$7" && fits "$8"
}

quota_throttled()
{
	set -- "$(sum task "kdtl_quota ($(truth quota 2))" 4)"
	note "throttled for $1 ms"
	within "$1" "$(truth quota 3)" "$(truth quota 4)"
}

by_cgroup()
{
	set -- "$(tables cgroup | grep "^/kdtl_web " | sort -k 6 -g | tail -n 1)"
	note "$1"
	fits "$(echo "$1" | awk '{ print $6 }')"
}

# screen COLUMNS LINES OPTIONS: runs kdtl top on a terminal, which does what stdin says.
screen()
{
	cols=$1
	lines=$2
	shift 2
	"$dir/terminal" "$cols" "$lines" "$dir/kdtl" top --interval 0.2 "$@" >$root.screen &&
		return
	sed 's/^/# /' $root.screen
	return 1
}

# has TEXT: TEXT is on the screen.
has()
{
	grep -q -- "$1" $root.screen && return
	note "no '$1':"
	sed 's/^/# /' $root.screen
	return 1
}

# The screen has the line about the CPUs, and all columns; the terminal is left as it was.
on_screen()
{
	screen 80 24 <<-'END' || return
	wait kdtl (
	show
	type q
	end
	END
	has '^[0-9:]* *[0-9]* CPUs, [0-9]* dispatches/s, 0 lost$' &&
		has '^task (PID) *count *ran % *waited *throttled *p99 *max *for *behind$' &&
		has '^exit 0, terminal as it was$'
}

keys_sort()
{
	for key in mmax rran dcount tthrottled wwaited; do
		printf 'wait waited\ntype %s\nwait sorted by %s\nend\n' "${key%"${key#?}"}" \
			"${key#?}" | sed 's/^end/type q\nend/' >$root.keys
		screen 80 24 <$root.keys || return
	done
}

other_rows()
{
	screen 80 24 <<-'END' || return
	wait task (PID)
	type b
	wait command
	type b
	wait cgroup
	type ?
	wait Any key goes back.
	show
	type x
	wait cgroups, sorted
	type b
	wait task (PID)
	type q
	end
	END
	has '^q  quit$' && has '^exit 0, terminal as it was$'
}

small()
{
	screen 40 10 <<-'END' || return
	wait max
	wait kdtl (
	show
	size 80 24
	wait behind
	size 20 3
	wait the last
	size 40 10
	wait max
	type q
	end
	END
	has '^task (PID) *count *ran % *waited *max$' && has '^exit 0, terminal as it was$'
}

ctrl_c()
{
	printf 'wait task (PID)\ntype \003\nend\n' | screen 80 24 &&
		has '^exit 0, terminal as it was$'
}

no_screen()
{
	printf 'wait so tables follow\nwait kdtl (\nend\n' |
		"$dir/terminal" 120 24 env TERM=none "$dir/kdtl" top -n 1 >$root.screen
	set -- $?
	has '^exit 0, terminal as it was$' && return "$1"
}

rss()
{
	awk '/^Rss:/ { print $2 }' "/proc/$1/smaps_rollup"
}

# so_many TABLES: so many tables have been written.
so_many()
{
	[ "$(grep -c '^the last' $root.long)" -ge "$1" ]
}

# Each table is about new tasks, so memory that is not freed would add up.
bounded()
{
	"$dir/kdtl" top -b --interval 0.1 >$root.long &
	top=$!
	while [ -d /proc/$top ]; do
		/bin/true
	done &
	forks=$!
	until_true so_many 20
	before=$(rss $top)
	until_true so_many 100
	after=$(rss $top)
	kill $forks
	kill $top && wait $top || return
	note "$before kB, $after kB 80 tables later"
	[ "$after" -lt $((before + 1024)) ]
}

says_what_to_do()
{
	"$dir/kdtl" top -s kdtl_nothing 2>$root.err
	is $? 1 && grep -q '^kdtl: no source kdtl_nothing: see kdtl list' $root.err || return
	"$dir/kdtl" top --from 12:00 2>$root.err
	is $? 2 && grep -q 'see kdtl report' $root.err
}

no_module()
{
	"$dir/kdtl" top 2>$root.err
	is $? 1 && grep -q '^kdtl: /dev/kdtl: load the module kdtl_stream' $root.err
}

[ -x "$dir/kdtl" ] || skip_all "no kdtl: make -C selftests"
[ -x "$dir/terminal" ] || skip_all "no terminal: make -C selftests"
[ -x "$dir/scenario_load" ] || skip_all "no scenario_load: make -C selftests"
[ "$(nproc)" -gt 2 ] || skip_all "fewer than three CPUs"
have_module kdtl_stream || skip_all "no module kdtl_stream"
mkdir -p $root
mount -t cgroup2 none $root || skip_all "no cgroups"
grep -q '\<cpu\>' $root/cgroup.controllers || skip_all "no cgroups with the controller cpu"

need kdtl kdtl_sched
plan 17
ok "without /dev/kdtl it says what to do" no_module
load kdtl_stream || bail_out "kdtl_stream does not load"
ok "wrong sources and options, too" says_what_to_do
ok "the load runs, and all of it is in the tables" load_did
[ "$ktap_failed" -eq 0 ] || bail_out "no load, no answers"
ok "the hog had a CPU for as long as it says" hog_ran
ok "the service waited" service_waited
ok "and longest behind the hog" service_behind
ok "the quota was throttled" quota_throttled
ok "the cgroup of the service, too" by_cgroup
ok "who has had a CPU since before it began" before_all
last_cpu
if [ -e "$online" ]; then
	ok "nobody has a CPU that is offline" offline_is_nobodys
else
	skip "nobody has a CPU that is offline" "no CPU can be taken offline"
fi
ok "memory is bounded" bounded
ok "a screen of 80x24, and q leaves it" on_screen
ok "keys sort" keys_sort
ok "rows for commands and cgroups, and help" other_rows
ok "a small screen, and another size meanwhile" small
ok "Ctrl-C leaves the terminal as it was" ctrl_c
ok "on an unknown terminal there are tables" no_screen
finish
