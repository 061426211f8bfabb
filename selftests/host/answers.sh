#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An operator asks about a machine that was made slow on purpose (scenario_load.c) while its
# clock was slewed by 5 %: which task waited, at which time of day, behind which task, and was
# it its own quota? Each answer of kdtl(1) is compared with what the load wrote down itself.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# This runs in the machine.
# shellcheck disable=SC2016
guest='
	PATH=$PATH:/programs
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko &&
		insmod kdtl_stream.ko || exit
	mkdir /tmp/cgroup && mount -t cgroup2 none /tmp/cgroup || exit
	cd /out
	adjtimex -q -t 10500 && kdtl record -q -i -o load.data scenario_load /tmp/cgroup >truth
	echo $? >status
	kdtl why --brief load.data >there.txt
'

export TZ=UTC

kdtl()
{
	"$work/programs/kdtl" "$@"
}

# truth WHAT FIELD: what the load wrote down.
truth()
{
	awk -v what="$1" -v field="$2" '$1 == what { print $field; exit }' "$work/truth"
}

# Ask for this task: a kernel thread may have waited for longer.
service='--comm kdtl_service'

# why FIELD ARGUMENT...: that field of the first line that kdtl why --brief prints.
why()
{
	local field=$1

	shift
	kdtl why --brief -n 1 "$@" "$work/load.data" 2>&1 | tr ' ' '\n' | sed -n "s/^$field=//p"
}

# fits MS: MS is at least as long as the hog's loop, and at most as long as the service was late.
# The hog also had the CPU to start and to exit, and the service's timer may be late. The load's
# clock is 5 % faster than the scheduler's, which is not slewed.
fits()
{
	awk -v got="$1" -v least="$(truth hog 3)" -v most="$(truth service 5)" 'BEGIN {
		exit !(got * 1.05e6 > least * 0.98 && got * 1.05e6 < most * 1.02)
	}' && return
	echo "$1 ms, should be from $(truth hog 3) to $(truth service 5) ns, less 5 %"
	return 1
}

loads()
{
	[ "$(cat "$work/status")" = 0 ] && [ "$(truth service 5)" -gt 500000000 ] && return
	cat -- "$work/status" "$work/truth"
	return 1
}

who_waited()
{
	# shellcheck disable=SC2086 # two words
	[ "$(why pid $service)" = "$(truth service 2)" ] && fits "$(why waited_ms $service)"
}

behind_whom()
{
	# shellcheck disable=SC2086 # two words
	[ "$(why behind $service)" = kdtl_hog ] && fits "$(why behind_ms $service)" &&
		kdtl why -a -n 1 $service "$work/load.data" |
		grep "kdtl_hog ($(truth hog 2)) /kdtl_batch$"
}

# kdtl says the time of day at which the wait was over, as the load does, to 20 ms and to what the
# load was late for other reasons: the host may have kept its CPU until it looked. The clock has
# gained 5 % since, so by the offset at the end the time would be wrong by more.
when_by_the_clock()
{
	local said there other

	there=$(truth service 6)
	# shellcheck disable=SC2086 # two words
	said=$(date -u -d "$(why time $service)" +%s%N)
	# shellcheck disable=SC2086 # two words
	other=$(awk -v late="$(truth service 5)" -v waited="$(why waited_ms $service)" \
		'BEGIN { other = late - waited * 1.05e6; printf "%.0f", (other > 0 ? other : 0) }')
	echo "kdtl says $said, the load $there, which was late by $other ns for other reasons"
	[ $((there - said)) -ge -20000000 ] &&
		[ $((there - said)) -le $((20000000 + other)) ] || return
	kdtl why --brief -n 1000 --time "$(date -u -d "@$(((there - 200000000) / 1000000000))" \
		+%H:%M:%S).$(printf %09d $(((there - 200000000) % 1000000000)))" "$work/load.data" |
		grep -q "pid=$(truth service 2) "
}

# held_back MS: the quota held the task back for MS. The kernel counts from when the quota was used
# up, and the task left its CPU a little later, ten times. The times are rounded to three digits.
held_back()
{
	awk -v got="$1" -v least="$(truth quota 3)" -v most="$(truth quota 4)" 'BEGIN {
		exit !(got * 1e6 > least * 0.9 && got * 1e6 < most * 1.05)
	}' && return
	echo "$1 ms, should be from $(truth quota 3) to $(truth quota 4) ns"
	return 1
}

was_it_the_quota()
{
	local sum

	sum=$(kdtl why --brief -n 1000 --comm kdtl_quota "$work/load.data" |
		sed -n 's/.* throttled_ms=\([^ ]*\) .*/\1/p' | awk '{ sum += $1 } END { print sum }')
	held_back "$sum" && kdtl why --comm kdtl_quota "$work/load.data" |
		grep -q 'held back by the quota of its cgroup' &&
		[ "$(why throttled_ms --comm kdtl_service)" = 0.000 ]
}

of_a_container()
{
	[ "$(why task --cgroup /kdtl_web)" = kdtl_service ] &&
		kdtl why --brief -n 1000 --cgroup /kdtl_batch "$work/load.data" >"$work/out" &&
		grep -q ' task=kdtl_second ' "$work/out" &&
		! grep -E ' task=kdtl_(service|first|brief|quota) ' "$work/out"
}

# in_ms TIME: the number of ms of a time in report's form, such as 604ms.
in_ms()
{
	awk -v t="$1" 'BEGIN {
		printf "%f", t ~ /us$/ ? t / 1e3 : t ~ /ms$/ ? t + 0 : t ~ /ns$/ ? t / 1e6 : t * 1e3
	}'
}

# report WHAT ROW: the row's fields, from the count on.
report()
{
	kdtl report --by "$1" -n 1000 "$work/load.data" | awk -v row="$2" '
		index($0, row) == 1 { $0 = substr($0, length(row) + 1); $1 = $1; print }'
}

# report has the longest wait, the culprit and its time, and for how long the quota held a task
# back.
report_says()
{
	local row

	read -r -a row < <(report task "kdtl_service ($(truth service 2))") &&
		echo "the service: ${row[*]}" &&
		fits "$(in_ms "${row[6]}")" &&
		[ "${row[7]}" = kdtl_hog ] && fits "$(in_ms "${row[8]}")" &&
		read -r -a row < <(report cgroup /kdtl_quota) &&
		echo "the quota: ${row[*]}" && held_back "$(in_ms "${row[3]}")"
}

# CSV says the same, by other means: the longest wait, and the task that was most of it.
export_says()
{
	kdtl export --format csv "$work/load.data" | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["waited_ns"] and r["pid"] == sys.argv[1]]
worst = max(rows, key=lambda r: int(r["waited_ns"]))
print(int(worst["waited_ns"]) / 1e6, worst["behind"], int(worst["behind_ns"]) / 1e6,
      worst["cgroup"])' "$(truth service 2)" >"$work/out" || return
	cat "$work/out"
	read -r waited behind held cgroup <"$work/out" &&
		[ "$behind $cgroup" = "kdtl_hog /kdtl_web" ] &&
		fits "$waited" && fits "$held"
}

there_as_here()
{
	kdtl why --brief "$work/load.data" | diff - "$work/there.txt"
}

readable()
{
	COLUMNS=80 kdtl why "$work/load.data" | sed 1d | tee "$work/out"
	! awk 'length > 80' "$work/out" | grep .
}

"$top/scripts/install-deps" demo || skip_all "the machine's programs cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-answers.XXXXXX")
partial "$work"
capture "$top/scripts/build" x86_64-6.1

plan 12
ok "kdtl and the load build" make -s -C "$top/selftests" OUTPUT="$work/programs" \
	"$work/programs/kdtl" "$work/programs/scenario_load"
ok "a machine records" "$top/selftests/run/vm" x86_64-6.1 --quiet --cpus 4 \
	--modules "$captured" --add "$work/programs:/programs" --out "$work" -- "$guest"
ok "the load was slow" loads
ok "why: the service waited" who_waited
ok "why: behind the hog" behind_whom
ok "why: at its time of day" when_by_the_clock
ok "why: another one had used up its quota" was_it_the_quota
ok "why: tasks of a container" of_a_container
ok "report: the worst task, its culprit, and the quota" report_says
ok "export: the same" export_says
ok "the machine says the same" there_as_here
ok "the answer fits 80 columns" readable
finish
