#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl report, diff, map and histogram on recordings that say exactly what happened
# (lib/recording.py). The numbers are those that lib/report_model.py finds the slow way.
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
unset COLUMNS

# Prints the rows of all tables, without their heads, with one blank between columns.
rows()
{
	awk '/ count .* max|^command .* change$|^task .* change$|^cgroup .* change$/ { on = 1; next }
		/^$/ { on = 0 }
		on { $1 = $1; print }'
}

# as_model NAME OPTION...: report says what the model says. An option that is
# "option=value" for the model is "--option value" for kdtl.
as_model()
{
	local name=$1 o options=()

	shift
	for o; do
		case $o in
		n=*) options+=(-n "${o#*=}") ;;
		steal=* | irq=*) ;;
		from=* | to=*) options+=("--${o%%=*}" "$(date -u -d "@${o#*=}" '+%F %T.%N')") ;;
		*) options+=("--${o%%=*}" "${o#*=}") ;;
		esac
	done
	# The model's times are ns.
	for o in "$@"; do
		case $o in
		from=* | to=*) o=${o%.*}${o#*.} ;;
		esac
		set -- "$@" "$o"
		shift
	done
	python3 "$here/lib/report_model.py" report "$work/$name.text" "$@" >"$work/model" &&
		kdtl report "${options[@]}" "$work/$name.data" 2>/dev/null | rows >"$work/rows" &&
		[ -s "$work/rows" ] && diff "$work/model" "$work/rows"
}

records()
{
	local seed

	for seed in 1 2 3; do
		python3 "$here/lib/report_model.py" make "$seed" | recording "$seed" || return
	done
	recording night <"$here/lib/night.txt" &&
	# Here are two seconds, in which the web server waits half as long by the second.
	recording better <<-'END' &&
		boot 0 1700000100000000000
		clock 0 1700000100000000000
		run 1000000000 1 100000000 0 900 0 web
		run 1200000000 1 100000000 0 900 900 web
		run 1300000000 1 4294967295 0 901 900 new
		clock 2000000000 1700000102000000000
	END
	recording vpa <<-'END' &&
		source kdtl_vpa
		boot 0 1700000000000000000
		run 1000000000 1 7000000 0 1 0 xxxx
		run 2000000000 12 1000000 0 1 0 xxxx
		run 3000000000 1 9000000 0 1 0 xxxx
	END
	recording evil <<-'END' &&
		cgroup 1 /a%b
		task 1 1 1 0 0 0 1 x
		run 1000000000 0 1000000 0 1 0 x
		run 1000000001 0 1000000 0 1 1 x
	END
	recording none </dev/null &&
		LC_ALL=C sed -i -e 's/a%b/a\x1bb/' -e 's/x\x00\x00\x00/\x1b[2J/g' "$work/evil.data" &&
		old_format night
}

# old_format NAME: makes a recording of the entries alone, as recordings were before there were
# chunks.
old_format()
{
	python3 "$here/lib/recording.py" --old "$work/$1.data" "$work/old.data"
}

# The hog's 602 ms are in the wait of the web server, and 2 us of idle time in the hog's.
says_who()
{
	COLUMNS=80 kdtl report "$work/night.data" | diff <(cat <<-END
		$work/night.data: the worst 4 of 4 tasks; 6 dispatches, 0 entries lost
		host host, 2023-11-14, times in UTC

		task (PID)        count    ran waited throttled p50    p99    max behind    for
		web (100)             2 13.0ms  617ms         - 0ns  617ms  617ms hog     602ms
		web-thread (101)      1   0ns+    0ns    90.0ms   -      -      - -           -
		hog (200)             2 602ms+ 2.00us         - 0ns 2.00us 2.00us idle   2.00us
		kworker/1:1 (300)     1 15.0ms    0ns         - 0ns    0ns    0ns -           -

		+ means or more: for 2.10 s it is not known whether these tasks ran
	END
	) -
}

each_key()
{
	local seed by

	for seed in 1 2 3; do
		for by in task process comm cgroup cpu; do
			as_model "$seed" by="$by" n=100 || return
		done
	done
}

# The culprits may be tasks, processes, names or cgroups.
each_culprit()
{
	local behind

	for behind in task process comm cgroup; do
		as_model 1 by=cgroup behind="$behind" n=100 &&
			as_model 2 by=comm behind="$behind" interval=1 n=100 || return
	done
	# Time of the hypervisor and of interrupts is no task's.
	beside 1 gaps steal && beside 1 irqs irq &&
		as_model 1 behind=task n=100 "irq=$work/1.data.irq.text" "steal=$work/1.data.steal.text" &&
		grep -q ' the hypervisor [0-9]' "$work/rows" && grep -q ' interrupts [0-9]' "$work/rows" || return
	rm -- "$work/1.data.steal" "$work/1.data.irq"
	kdtl report --json --behind task "$work/night.data" 2>/dev/null >"$work/json" &&
		grep -q '"behind":"hog (200)"' "$work/json" && grep -q '"behind":"idle"' "$work/json"
}

filters()
{
	as_model 1 pid=12 && as_model 1 pid=15 && as_model 2 comm=t4 &&
		as_model 2 comm=t4 by=cgroup && as_model 1 cgroup=/slice-2 &&
		as_model 1 cgroup=/slice-2/service by=comm && as_model 3 cpu=2 &&
		as_model 3 min-wait=700 && as_model 2 min-wait=0.000001 by=comm &&
		as_model 1 from=1700000001.250000000 to=1700000002.000000000 &&
		as_model 1 to=1700000001.000000000 cpu=1 by=cgroup n=1
}

# The highest numbers of a column come first; -n takes these.
orders()
{
	local key

	for key in waited throttled ran count p50 p99 max; do
		as_model 1 sort="$key" n=3 by=comm && as_model 2 sort="$key" n=100 by=process &&
			as_model 3 sort="$key" n=2 by=cpu || return
	done
	kdtl report --sort max -n 1 "$work/night.data" 2>/dev/null |
		grep -q ': the first 1 of 4 tasks by max; '
}

# Intervals begin when the clock says so: at whole seconds, or every 250 ms.
intervals()
{
	as_model 1 interval=1 by=comm && as_model 2 interval=0.25 n=3 &&
		as_model 3 interval=60 by=cgroup || return
	kdtl report --interval 1 "$work/night.data" | grep '^22:' |
		diff <(printf '%s\n' '22:13:21 to 22:13:22' '22:13:22 to 22:13:23') - &&
		kdtl report --interval 0.5 "$work/night.data" | grep -m 1 '^22:' |
		diff <(echo 22:13:21.000000 to 22:13:21.500000) -
}

# beside SEED gaps|irqs SUFFIX: puts the model's gaps or interrupts beside its recording.
beside()
{
	python3 "$here/lib/report_model.py" "$2" "$1" | tee "$work/$1.data.$3.text" |
		python3 "$here/lib/recording.py" "$work/$1.data.$3"
}

# Time that the hypervisor had is no command's, and is the culprit if it is most of a wait.
stolen()
{
	local seed gaps

	for seed in 1 2 3; do
		gaps=$work/$seed.data.steal
		beside "$seed" gaps steal &&
			as_model "$seed" n=100 "steal=$gaps.text" &&
			as_model "$seed" n=100 by=cgroup interval=1 "steal=$gaps.text" &&
			as_model "$seed" cpu=1 by=comm "steal=$gaps.text" || return
		cat -- "$work/rows" >>"$work/culprits"
		rm -- "$gaps"
	done
	grep -q ' the hypervisor ' "$work/culprits" && grep -q ' t[0-9]* [0-9.]*m\?s$' "$work/culprits" || return
	printf '%s\n' 'source kdtl_steal' 'clock 0 1700000000000000000' \
		'steal 1300000000 1 280000000 0 0 0' 'steal 1622000000 1 20000000 0 0 0' \
		'clock 3000000000 1700000003000000000' |
		python3 "$here/lib/recording.py" "$work/night.data.steal" &&
		kdtl report "$work/night.data" 2>"$work/err" | rows >"$work/rows"
	rm -- "$work/night.data.steal"
	diff - "$work/rows" <<-'END' && [ ! -s "$work/err" ]
		web (100) 2 13.0ms 617ms - 0ns 617ms 617ms hog 317ms
		web-thread (101) 1 0ns+ 0ns 90.0ms - - - - -
		hog (200) 2 317ms+ 2.00us - 0ns 2.00us 2.00us idle 2.00us
		kworker/1:1 (300) 1 0ns 0ns - 0ns 0ns 0ns - -
	END
}

# Time that interrupts had is no command's either. If the hypervisor had some of it, that is the
# hypervisor's.
interrupted()
{
	local seed data

	: >"$work/culprits"
	for seed in 1 2 3; do
		data=$work/$seed.data
		beside "$seed" irqs irq && as_model "$seed" n=100 "irq=$data.irq.text" &&
			beside "$seed" gaps steal &&
			as_model "$seed" n=100 "irq=$data.irq.text" "steal=$data.steal.text" &&
			as_model "$seed" by=comm "irq=$data.irq.text" "steal=$data.steal.text" || return
		cat -- "$work/rows" >>"$work/culprits"
		rm -- "$data.irq" "$data.steal"
	done
	grep -q ' interrupts ' "$work/culprits" && grep -q ' the hypervisor ' "$work/culprits"
}

worst_first()
{
	as_model 2 n=2 && [ "$(kdtl report -n 2 "$work/2.data" 2>/dev/null | rows | wc -l)" -eq 2 ] &&
		kdtl report -n 2 "$work/2.data" 2>/dev/null |
		grep -q ': the worst 2 of [0-9]* tasks; '
}

# on_terminal ROWS COLUMNS ARGUMENT...: prints what a terminal of that size gets.
on_terminal()
{
	# Leave out the advice on standard error.
	# shellcheck disable=SC2016 # for that shell
	python3 "$here/lib/on_terminal.py" "$1" "$2" sh -c '"$@" 2>/dev/null' sh \
		"$work/tool/kdtl" "${@:3}"
}

numbers()
{
	tr ' ' '\n' | grep -x -E '[0-9.]+([mun]?s[+]?)?'
}

# With long names and all columns, only the names are shortened.
fits()
{
	{
		echo "cgroup 1 /kubepods.slice/kubepods-burstable.slice/cri-0123456789abcdef.scope"
		for i in $(seq 100); do
			echo "task 1 1234$i 1234$i 0 0 0 1 a-long-name-$i"
		done
		for i in $(seq 100); do
			echo "run ${i}234567890 0 123456789 0 1234$i 1234$((i - 1)) a-long-name-$i"
		done
		echo "throttled 101234567890 0 123456789 123499 1234100 a-long-name-99"
	} | recording long || return
	for by in task comm cgroup; do
		kdtl report -n 14 --by "$by" "$work/long.data" 2>/dev/null | rows >"$work/wide"
		on_terminal 24 80 report --by "$by" "$work/long.data" >"$work/out"
		sed 1d "$work/out" | awk 'length > 80' | grep . && return 1
		rows <"$work/out" >"$work/narrow"
		[ "$(wc -l <"$work/out")" -le 22 ] && [ -s "$work/narrow" ] || return
		diff <(numbers <"$work/wide") <(numbers <"$work/narrow") || return
	done
	on_terminal 24 80 diff --by task "$work/long.data" "$work/1.data" >"$work/out"
	sed 1,2d "$work/out" | awk 'length > 80' | grep . && return 1
	[ "$(wc -l <"$work/out")" -eq 23 ]
}

vpa_by_cpu()
{
	kdtl report "$work/vpa.data" | sed 1,3d | diff <(cat <<-'END'
		CPU    count waited    p50    p99    max
		CPU 1      2 16.0ms 7.00ms 9.00ms 9.00ms
		CPU 12     1 1.00ms 1.00ms 1.00ms 1.00ms
	END
	) - || return
	kdtl diff "$work/vpa.data" "$work/vpa.data" | matches '^CPU 12 *500us *500us *0 ' &&
		! kdtl map "$work/vpa.data" 2>"$work/err" &&
		grep -q 'name no tasks; kdtl report shows them by CPU$' "$work/err" &&
		! kdtl diff "$work/vpa.data" "$work/night.data" 2>"$work/err" &&
		grep -q 'different sources: record both with the same -s$' "$work/err"
}

# Old recordings have no tasks, an approximate time of day, and no end but the last entry.
old_recordings()
{
	grep -v '^clock 3' "$here/lib/night.txt" | recording endless || return
	diff <(kdtl report "$work/old.data" | sed 1,2d) <(kdtl report "$work/endless.data" | sed 1,2d) &&
		kdtl report "$work/old.data" | sed -n 2p | matches '(approximate: an old recording)$' &&
		diff <(kdtl map "$work/old.data" | sed 1,2d) <(kdtl map "$work/night.data" | sed 1,2d) &&
		diff <(kdtl diff "$work/old.data" "$work/old.data" | rows | awk '{ print $1 }') \
			<(kdtl diff "$work/night.data" "$work/night.data" | rows | awk '{ print $1 }') &&
		wrong report --by cgroup "$work/old.data" && wrong report --by process "$work/old.data" &&
		kdtl report --by cpu "$work/vpa.data" | diff <(kdtl report "$work/vpa.data") -
}

# If the recording does not explain a share of the time waited, report says how much, and what to
# do. With an entry for each change there is nothing to say.
advice()
{
	kdtl report "$work/1.data" 2>&1 >/dev/null |
		grep -q 'does not say who had the CPU for [0-9]*% of the time waited: record with -i' &&
		! kdtl report "$work/night.data" 2>&1 >/dev/null | grep .
}

# A recording without short waits does not say which tasks had the CPUs.
left_out()
{
	{ echo min-wait 1000000 && cat -- "$here/lib/night.txt"; } | recording least || return
	kdtl report "$work/least.data" 2>/dev/null | rows | sed -n 1p |
		diff <(echo "web (100) 2 0ns+ 617ms - 0ns 617ms 617ms not known 617ms") - &&
		kdtl map --from 22:13:21.7 "$work/least.data" 2>/dev/null | sed 1,4d |
		diff <(printf '%s\n' '22:13:21.900000 *A  -  A => web-thread (101)' \
			'22:13:22.000000  - *B  B => hog (200)') -
}

# differs THEN NOW OPTION...: diff says what the model says.
differs()
{
	local then=$1 now=$2 o options=()

	shift 2
	for o; do
		options+=("--${o%%=*}" "${o#*=}")
	done
	python3 "$here/lib/report_model.py" diff "$work/$then.text" "$work/$now.text" "$@" >"$work/model" &&
		kdtl diff "${options[@]}" -n 20 "$work/$then.data" "$work/$now.data" | rows >"$work/rows" &&
		[ -s "$work/rows" ] && diff "$work/model" "$work/rows"
}

diffs()
{
	differs 1 2 && differs 2 3 by=task && differs 3 1 by=cgroup &&
		differs 1 3 cpu=1 && differs 1 3 cgroup=/slice-1 by=comm && differs 2 1 min-wait=100 &&
		differs 1 2 by=task comm=t4 &&
		! kdtl diff "$work/1.data" "$work/1.data" | rows | grep '[+-][0-9]*[mun]s$'
}

# The recording goes on after its last entry, and does not say which task had the CPU then.
last_ran()
{
	recording last_one <<-'END' &&
		clock 1000000000 1700000000000000000
		clock 11000000000 1700000010000000000
		run 1000000000 1 0 0 1 0 sh
		run 1001000000 1 0 0 2 1 hog
	END
		kdtl report "$work/last_one.data" >"$work/out" &&
		rows <"$work/out" | diff - <(printf '%s\n' 'sh (1) 1 1.00ms 0ns 0ns 0ns 0ns - -' \
			'hog (2) 1 0ns+ 0ns 0ns 0ns 0ns - -') &&
		grep -q 'for 10.00 s it is not known whether these tasks ran$' "$work/out"
}

# An entry of the hypervisor's log says 4.29 s at most; the steal clock says more.
long_gap()
{
	recording gap <<-'END' &&
		clock 1000000000 1700000000000000000
		clock 21000000000 1700000020000000000
		run 1000000000 0 0 0 1 0 sh
		run 2000000000 0 0 0 2 1 hog
		run 17000000000 0 0 0 1 2 sh
		run 18000000000 0 0 0 3 1 x
	END
		printf '%s\n' 'source kdtl_steal' 'clock 1000000000 1700000000000000000' \
			'steal 1100000000 0 10 1000000000 1000 1' \
			'steal 14000000000 0 10000000000 4000000000 10000001000 1' \
			'clock 21000000000 1700000020000000000' >"$work/gap.text" &&
		python3 "$here/lib/recording.py" "$work/gap.data.steal" <"$work/gap.text" &&
		kdtl report "$work/gap.data" 2>"$work/err" | rows | grep -x 'hog (2) 1 5.00s .*' &&
		[ ! -s "$work/err" ] &&
		{ echo lost 1 && cat -- "$work/gap.text"; } |
		python3 "$here/lib/recording.py" "$work/gap.data.steal" &&
		kdtl report "$work/gap.data" 2>"$work/err" | rows | grep -x 'hog (2) 1 10.7s .*' &&
		grep -q 'had a CPU for 4.29 s or more at once' "$work/err"
}

# No option tells which task had another CPU while a task waited in its queue, so none is advised.
moved()
{
	recording moved <<-'END' &&
		clock 0 1700000000000000000
		run 1000000000 0 0 0 1 0 a
		moved 2000000000 0 900000000 1000 0 2 1 b
		clock 3000000000 1700000003000000000
	END
		! kdtl report "$work/moved.data" 2>&1 >/dev/null | grep .
}

# The thread 155 becomes 154, which is the process, by exec().
exec_by_thread()
{
	recording exec <<-'END' &&
		clock 1000000000 1700000000000000000
		cgroup 1 /
		task 0 154 154 1 0 50 1 main
		task 0 155 154 1 0 50 1 thread
		task 1001000000 154 154 1 0 50 1 execd
		run 1000500000 1 0 0 155 0 thread
		run 1500500000 1 499000000 1000000 200 154 victim
		idle 1501000000 1 200
		clock 3000000000 1700000002000000000
	END
		kdtl report "$work/exec.data" 2>"$work/err" | rows | tee "$work/out" &&
		grep -x 'thread (155) 1 500us .*' "$work/out" &&
		grep -x 'execd (154) 0 500ms 0ns - - - - -' "$work/out" &&
		grep -x 'victim (200) 1 500us .* execd 499ms' "$work/out" &&
		! grep 'not known' "$work/out" && [ ! -s "$work/err" ] &&
		kdtl report --by process "$work/exec.data" | rows | tee "$work/out" &&
		grep -x 'main (154) 1 500us .*' "$work/out" &&
		grep -x 'execd (154) 0 500ms .*' "$work/out" &&
		kdtl report --by cgroup "$work/exec.data" | rows | matches '^/ 1 500ms ' &&
		kdtl report --by cpu "$work/exec.data" | rows | matches '^CPU 1 2 500ms ' &&
		kdtl report --comm thread "$work/exec.data" | rows | tee "$work/out" &&
		[ "$(wc -l <"$work/out")" -eq 1 ] && grep -x 'thread (155) 1 500us .*' "$work/out" &&
		kdtl print "$work/exec.data" | sed -n 1p | matches ': 2 dispatches, ' &&
		kdtl why "$work/exec.data" | grep -x '    behind execd (154) 499 ms'
}

# A launcher comes into another cgroup, and starts a program, while it has the CPU. What waits for
# it is behind that cgroup, as kdtl why says.
launched()
{
	recording launched <<-'END' &&
		clock 1000000000 1700000000000000000
		cgroup 1 /start
		cgroup 2 /batch
		task 0 10 10 0 0 0 1 web
		task 0 20 20 0 0 0 1 launcher
		task 1210000000 20 20 0 0 0 2 hog
		run 1000000000 1 0 0 10 0 web
		run 1200000000 1 0 0 20 10 launcher
		run 1500000000 1 300000000 0 10 20 web
		clock 3000000000 1700000002000000000
	END
		kdtl why -a "$work/launched.data" | grep -x '    behind    300 ms  hog (20) /batch' &&
		kdtl report --behind cgroup "$work/launched.data" | rows | tee "$work/out" &&
		grep -x 'web (10) .* /batch 300ms' "$work/out" &&
		kdtl report "$work/launched.data" | rows | grep -x 'web (10) .* hog 300ms'
}

# When clocks are set back, an hour comes twice: there are two waits, both at 02:56:39.
hour_twice()
{
	local TZ=Europe/Berlin line

	export TZ
	recording fold <<-'END' || return
		clock 1000000000 1698539000000000000
		clock 7201000000000 1698546200000000000
		run 2000000000000 0 1000000 0 10 0 first
		run 5600000000000 0 2000000 0 11 10 second
	END
	for line in '--time 02:56:39:first second' '--time 02:56:39+02:00:first' \
		'--time 02:56:39+0100:second' '--from 02:50 --to 03:00:first second' \
		'--from 02:50+01:00:second' '--to 02:59+02:00:first' \
		'--time 00:56:39+00:00:first' '--time 01:56:39+00:00:second'; do
		# shellcheck disable=SC2086 # several words
		kdtl why --brief ${line%:*} "$work/fold.data" | sed 's/^why: task=\([^ ]*\) .*/\1/' |
			sort | tr '\n' ' ' | diff <(echo "${line##*:} ") <(sed 's/$/\n/') || return
	done
	kdtl why "$work/fold.data" 2>/dev/null | sed -n '2p;/^0/s/ .*//p' |
		diff <(printf '%s\n' 'host host, 2023-10-29, times in CEST and CET' \
			02:56:39.000+01:00 02:56:39.000+02:00) - &&
		kdtl report --interval 3600 "$work/fold.data" 2>/dev/null | grep ' to ' |
		diff <(printf '%s\n' '02:00:00+02:00 to 02:00:00+01:00' '02:00:00+01:00 to 03:00:00+01:00') - &&
		kdtl map "$work/fold.data" | grep '^02:56:39.000000+01:00 \*B' &&
		kdtl why --brief "$work/fold.data" | grep ' time=2023-10-29T02:56:39.000000+02:00 ' &&
		! kdtl why --from 03:30 "$work/fold.data" 2>"$work/err" &&
		grep -q " is from 2023-10-29 02:.* to 2023-10-29 03:.* (CEST and CET), with " "$work/err" &&
		wrong why --time 02:56:39+x "$work/fold.data" &&
		wrong why --time 02:56:39ZZ "$work/fold.data" &&
		kdtl why --brief --time 00:56:39Z "$work/fold.data" | grep -c . | grep -x 1 &&
		TZ=UTC kdtl why --brief "$work/fold.data" | grep ' time=2023-10-29T00:56:39.000000 '
}

# No clock shows the times over which it is set forward.
hour_left_out()
{
	local TZ=Europe/Berlin option

	export TZ
	recording forward <<-'END' || return
		clock 1000000000 1711845000000000000
		clock 3601000000000 1711848600000000000
		run 2401000000000 0 1000000 0 10 0 first
	END
	for option in time from to; do
		wrong why "--$option" 02:30 "$work/forward.data" &&
			grep '02:30: there was no such time: clocks were set forward' "$work/err" ||
			return
	done
	# By half an hour, there.
	TZ=Australia/Lord_Howe wrong why --time '2024-10-06 02:15' "$work/forward.data" &&
		grep '02:15: there was no such time: clocks were set forward' "$work/err" || return
	kdtl why --brief --time 03:10 "$work/forward.data" | grep ' task=first ' &&
		kdtl why --brief --from 01:59:60 --to 03:11 "$work/forward.data" | grep ' task=first '
}

# Times of day come again each day, and each has its date.
days()
{
	local last

	recording days <<-'END' || return
		clock 0 1711800000000000000
		clock 259200000000000 1712059200000000000
		run 43200000000000 0 1000000 0 10 0 first
		run 129600000000000 0 2000000 0 11 10 second
		run 216000000000000 0 3000000 0 10 11 first
	END
	kdtl why "$work/days.data" | sed -n '2p;/^2/s/  .*//p' |
		diff <(printf '%s\n' 'host host, 2024-03-31 to 2024-04-02, times in UTC' \
			'2024-04-02 00:00:00.000' '2024-04-01 00:00:00.000' '2024-03-31 00:00:00.000') - &&
		kdtl report --interval 24h "$work/days.data" | grep ' to .*:' |
		diff <(printf '%s\n' '2024-03-31 00:00:00 to 2024-04-01 00:00:00' \
			'2024-04-01 00:00:00 to 2024-04-02 00:00:00' \
			'2024-04-02 00:00:00 to 2024-04-03 00:00:00') - &&
		kdtl report --interval 48h "$work/night.data" |
		grep -x '2023-11-13 00:00:00 to 2023-11-15 00:00:00' &&
		kdtl map "$work/days.data" | grep '^2024-04-01 00:00:00.000000 \*B' &&
		kdtl why --brief --time '2024-04-01 00:00:00.000' "$work/days.data" 2>"$work/err" |
		grep ' task=second ' && [ ! -s "$work/err" ] &&
		kdtl why --brief --time 00:00 "$work/days.data" 2>"$work/err" | grep ' waited_ms=1.000 ' &&
		grep ': 00:00 is taken for that of 2024-03-31: ' "$work/err" &&
		wrong why --time '2024-02-31 00:00' "$work/days.data" || return
	# A day is enough, and a second less is not.
	for last in 86400 86399; do
		printf '%s\n' 'clock 0 1711800000000000000' 'run 43200000000000 0 1000000 0 10 0 first' \
			"clock ${last}000000000 $((1711800000 + last))000000000" | recording day || return
		kdtl why "$work/day.data" | sed -n '/^[0-9].* first /s/ .*//p' || return
	done | diff <(printf '%s\n' 2024-03-31 00:00:00.000) -
}

# A task is throttled for 20 ms in 2 s, and then for 200 ms, while no task waits longer.
diff_throttled()
{
	local ms

	for ms in 20 200; do
		recording "held$ms" <<-END || return
			clock 0 1700000000000000000
			run 500000000 0 2000000 0 1 0 sh
			throttled 1000000000 0 ${ms}000000 2 1 limited
			clock 2000000000 1700000002000000000
		END
	done
	kdtl diff "$work/held20.data" "$work/held200.data" | rows >"$work/out"
	diff - "$work/out" <<-'END'
		limited 0ns 0ns 0 10.0ms 100ms +90.0ms - - - - - -
		sh 1.00ms 1.00ms 0 0ns 0ns 0 2.00ms 2.00ms 0 2.00ms 2.00ms 0
	END
}

# diff compares by the second: 617 ms of waits in 3 s, and 200 ms in 2 s.
normalised()
{
	kdtl diff "$work/night.data" "$work/better.data" | sed -e "s|$work/||" | diff <(cat <<-'END'
		then  night.data: 3.000 s, 6 dispatches, 0 entries lost
		now   better.data: 2.000 s, 3 dispatches, 0 entries lost

		            waited/s             throttled/s        p99                  max
		command      then    now  change   then now  change   then    now change   then    now change
		new             - 2.15s+ +2.15s+      - 0ns       0      - 4.29s+      -      - 4.29s+      -
		web         206ms  100ms  -106ms    0ns 0ns       0  617ms  100ms -517ms  617ms  100ms -517ms
		web-thread    0ns      -       0 30.0ms   - -30.0ms      -      -      -      -      -      -
		hog         666ns      -  -666ns    0ns   -       0 2.00us      -      - 2.00us      -      -
		kworker/1:1   0ns      -       0    0ns   -       0    0ns      -      -    0ns      -      -
	END
	) - || return
	[ "$(kdtl diff -n 1 --comm web --from 22:13:20 "$work/night.data" "$work/night.data" |
		sed -n 's/^then.*: \([0-9.]*\) s, 2 dispatches.*/\1/p')" = 3.000 ]
}

# The task waited for less, unless its one wait was longer than an entry can say.
may_be_no_change()
{
	printf '%s\n' 'clock 0 0' 'run 5000000000 0 4000000000 0 1 0 a' \
		'run 10000000000 0 4000000000 0 1 1 a' 'run 15000000000 0 4000000000 0 1 1 a' \
		'clock 20000000000 20000000000' | recording three &&
		printf '%s\n' 'clock 0 0' 'run 10000000000 0 4294967295 0 1 0 a' \
			'clock 20000000000 20000000000' | recording one || return
	kdtl diff "$work/three.data" "$work/one.data" | rows | diff - <(cat <<-'END'
		a 600ms 215ms+ ? 4.00s 4.29s+ +295ms+ 4.00s 4.29s+ +295ms+
	END
	)
}

# length OPTION...: prints the length of the recording "now", according to diff.
length()
{
	kdtl diff -n 1 "$@" "$work/set.data" "$work/set.data" 2>/dev/null |
		sed -n 's/^now .*: \([0-9.]*\) s, .*/\1/p'
}

# The clock gains 50 ms in a second, is set an hour ahead after the next second, and 50 minutes back
# after the third. The recording still has four seconds. Of the times of day that are asked for, it
# has as much as there is by the time base.
clock_was_set()
{
	{
		printf 'clock %s000000 %s000000\n' 0 1700000000000 1000 1700000001050 \
			2000 1700003602050 3000 1700000603050 4000 1700000604050
		printf 'run %s000000 0 %s000000 0 1 0 web\n' 400 0 1900 0 2500 900 3600 0
	} | recording set || return
	kdtl diff "$work/set.data" "$work/set.data" 2>/dev/null | rows |
		diff <(echo web 225ms 225ms 0 900ms 900ms 0 900ms 900ms 0) - &&
		[ "$(length)" = 4.000 ] && [ "$(length --to 23:00)" = 3.000 ] &&
		[ "$(length --from 23:00)" = 1.000 ] && [ "$(length --to 22:13:20.525)" = 0.500 ] &&
		[ "$(length --from 22:13:20.315 --to 22:14)" = 1.700 ] &&
		[ "$(length --from 22:13:21.55 --to 22:23:23.75)" = 1.200 ] &&
		! kdtl diff --from 22:30 --to 22:40 "$work/set.data" "$work/set.data" 2>"$work/err" &&
		grep -q 'has no length' "$work/err"
}

# maps TEXT ARGUMENT...: kdtl map prints TEXT below the heading.
maps()
{
	local text=$1

	shift
	kdtl map "$@" 2>&1 | sed -e 1,3d -e 's/ *$//' | diff <(printf '%s\n' "$text") -
}

# CPU 0 has no later entry, so what it does then is not known.
maps_all()
{
	maps 'time of day CPU  0  1
22:13:21.000000  - *A  A => web (100)
22:13:21.005000  - *B  B => hog (200)
22:13:21.607000  - *C  C => kworker/1:1 (300)
22:13:21.622000  - *A
22:13:21.630000  - *.
22:13:21.900000 *D  .  D => web-thread (101)
22:13:22.000000  - *B' "$work/night.data"
}

# The time of interrupts is that of the task that they interrupt; map says so.
maps_interrupts()
{
	local said='interrupts are the time of the task that they interrupt' status=0

	! kdtl map "$work/night.data" | grep -x "$said" || return
	printf '%s\n' 'source kdtl_irq' 'boot 0 1700000000000000000' 'clock 0 1700000000000000000' \
		'irq 1300000000 1 5000000 0 3 net_rx' 'clock 3000000000 1700000003000000000' |
		python3 "$here/lib/recording.py" "$work/night.data.irq" &&
		kdtl map "$work/night.data" | grep -x "$said" || status=1
	rm -f -- "$work/night.data.irq"
	return $status
}

# Other tasks have no codes, and no lines of their own.
maps_chosen()
{
	maps 'time of day CPU  0  1
22:13:21.000000  - *A  A => web (100)
22:13:21.005000  - *:
22:13:21.622000  - *A
22:13:21.630000  - *.' --comm web "$work/night.data" &&
		maps 'time of day CPU  1
22:13:21.607000 *A  A => kworker/1:1 (300)
22:13:21.622000 *B  B => web (100)
22:13:21.630000 *.' --cpu 1 --from 22:13:21.6 --to 22:13:22 "$work/night.data" &&
		maps 'time of day CPU  0  1
22:13:21.900000 *A  .  A => web-thread (101)
22:13:22.000000  - *B  B => hog (200)' --from 22:13:21.7 "$work/night.data" &&
		maps 'time of day CPU  0  1
22:13:21.622000  - *A  A => web (100)
22:13:21.630000  - *.' --min-wait 600 "$work/night.data"
}

# 1000 CPUs with a task each have codes of two letters, and numbers whose digits are below each
# other.
maps_many()
{
	for i in $(seq 0 999); do
		echo "run $((i + 1))000000 $i 0 0 $((i + 1)) 0 task-$i"
		echo "idle 1001000000 $i $((i + 1))"
	done | recording cpus || return
	kdtl map "$work/cpus.data" 2>&1 | sed 1,3d >"$work/out"
	[ "$(sed -n 3p "$work/out" | wc -w)" -eq 1000 ] &&
		[ "$(sed -n 1003p "$work/out" | tr -s ' ' '\n' | sed 1d | sort -u | wc -l)" -eq 1004 ] &&
		sed -n 1003p "$work/out" | matches ' \*QH  QH => task-999 (1000)$' &&
		maps 'time of day CPU  3  3  9
                 9  9  9
                 8  9  9
00:00:00.399000 *A  -  -  A => task-398 (399)
00:00:00.400000  A *B  -  B => task-399 (400)
00:00:01.000000  A  B *C  C => task-999 (1000)
00:00:01.001000 *.  B  C
00:00:01.001000  - *.  C
00:00:01.001000  -  - *.' --cpu 398,399,999 "$work/cpus.data" || return
	# A terminal has room for some of the CPUs.
	on_terminal 24 80 map "$work/cpus.data" | sed 1d | awk 'length > 80' | grep . && return 1
	COLUMNS=80 kdtl map "$work/cpus.data" 2>&1 >/dev/null |
		grep -x 'kdtl: the line has room for 16 of 1000 CPUs: choose some with --cpu'
}

# Names that could steer a terminal are shown escaped.
escaped()
{
	local verb

	for verb in 'report --by task' 'report --by comm' 'report --by cgroup' map \
		"diff $work/evil.data"; do
		# shellcheck disable=SC2086 # several words
		kdtl $verb "$work/evil.data" >"$work/out" || return
		LC_ALL=C grep '[^ -~]' "$work/out" && return 1
		grep -q -F '\x1b' "$work/out" || return
	done
}

# A command that calls itself what tables call others is not taken for them.
disguised()
{
	local name

	recording disguise <<-'END' || return
		clock 1000000000 1700000000000000000
		run 1000000000 1 0 0 10 0 web
		run 1200000000 1 0 0 20 10 YYYYYYYYYYYYYY
		run 1500000000 1 300000000 0 10 20 web
		idle 1600000000 1 10
		clock 3000000000 1700000002000000000
	END
	for name in '?' - 'not known' idle interrupts 'the hypervisor'; do
		python3 - "$work/disguise.data" "$work/disguised.data" "$name" <<-'END' || return
			import sys
			data = open(sys.argv[1], "rb").read()
			name = sys.argv[3].encode().ljust(14, b"\0")
			open(sys.argv[2], "wb").write(data.replace(b"Y" * 14, name))
		END
		kdtl report "$work/disguised.data" | rows | tee "$work/out"
		name=$(printf '\\x%02x%s' "'$name" "${name:1}")
		grep -F -e "web (10) 2 300ms 300ms 0ns 300ms 300ms $name 300ms" "$work/out" || return
		kdtl report --json --by comm "$work/disguised.data" | tee "$work/out"
		grep -F -e "\"behind\":\"\\$name\"" "$work/out" || return
		kdtl diff "$work/disguised.data" "$work/disguised.data" | rows | grep -F -e "$name " ||
			return
	done
}

wrong()
{
	local status=0

	kdtl "$@" 2>"$work/err" || status=$?
	[ "$status" -eq 2 ] && return
	echo "kdtl $*: $status"
	return 1
}

refused()
{
	local line

	for line in 'report --by x' 'report --by reason --behind task' 'report --behind x' 'report --behind cpu' 'report --by ta' 'report --sort x' 'report --sort' 'report --sort behind' \
		'diff --sort max a b' 'report --interval 0' 'report --interval x' 'report -n 0' \
		'report -n x' 'report a b' 'report -z' 'report --by' 'diff' 'diff a' 'diff a b c' \
		'diff --by x a b' 'diff -n -1 a b' 'map a b' 'map -z' 'map --cpu x' 'map -n 1' \
		"report --by comm $work/vpa.data" "map --comm x $work/vpa.data" \
		"map --from x $work/night.data" "map --from 22:13:20+01:75 $work/night.data"; do
		# shellcheck disable=SC2086 # several words
		wrong $line || return
	done
	! kdtl report "$work/none.data" 2>"$work/err" && grep -q 'kdtl print shows all$' "$work/err" &&
		! kdtl report --comm nobody "$work/night.data" 2>"$work/err" &&
		grep -q 'kdtl print shows all$' "$work/err" &&
		! kdtl diff "$work/none.data" "$work/night.data" 2>"$work/err" &&
		grep -q 'has no length' "$work/err" &&
		! kdtl map "$work/none.data" 2>"$work/err" && ! kdtl map "$work/no such" 2>"$work/err" &&
		! kdtl map --cpu 77 "$work/night.data" 2>"$work/err" && grep -q 'no dispatches' "$work/err"
}

# Each wait is in the bar of its power of two. A wait that is too long to say is in none, and may be
# longer than the percentile that it is.
bars()
{
	recording waits <<-'END' || return
		clock 0 0
		run 1000000000 0 0 0 1 0 a
		run 1100000000 0 1 0 1 1 a
		run 1200000000 0 2 0 1 1 a
		run 1300000000 0 3 0 1 1 a
		run 7000000000 0 4294967295 0 2 1 b
		clock 8000000000 8000000000
	END
	kdtl histogram "$work/waits.data" | sed 's/###*/##/' | diff - <(cat <<-'END'
		5 dispatches, 0 lost
		wait below       count
		     1 ns            1 |##
		     2 ns            1 |##
		     4 ns            2 |##
		  4.29 s+            1 |##
		p50      2 ns, p99   4.29 s+, p99.9   4.29 s+, max   4.29 s+
	END
	)
}

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-report.XXXXXX")
partial "$work"

plan 37
ok "kdtl builds" builds
ok "recordings" records
ok "report says who waited, and behind whom" says_who
ok "by task, process, command, cgroup and CPU, each number is exact" each_key
ok "so is who had the CPUs, by task, process, command and cgroup" each_culprit
ok "in the order that is asked for" orders
ok "with filters, too" filters
ok "the hour that comes twice has times with offsets" hour_twice
ok "the hour that is left out is refused" hour_left_out
ok "times of several days have dates" days
ok "the last dispatches ran until an end that is not known" last_ran
ok "stolen time of more than an entry can say" long_gap
ok "other CPUs' queues are no reason to record with -i" moved
ok "a thread that takes its process's PID by exec()" exec_by_thread
ok "a cgroup into which a task came while it had the CPU" launched
ok "and for each interval" intervals
ok "what the hypervisor had is no task's" stolen
ok "nor is what interrupts had" interrupted
ok "so many rows, the worst ones" worst_first
ok "80 columns have all numbers" fits
ok "the hypervisor's log, by CPU" vpa_by_cpu
ok "recordings of an older version" old_recordings
ok "what would have told more" advice
ok "without short waits nothing is known" left_out
ok "diff has the changes, exactly" diffs
ok "and those of times throttled" diff_throttled
ok "and none where there may be none" may_be_no_change
ok "for each second of the recordings" normalised
ok "also if the clock was set meanwhile" clock_was_set
ok "map has a line for each change" maps_all
ok "and says whose time that of interrupts is" maps_interrupts
ok "of tasks, times and CPUs that are asked for" maps_chosen
ok "and of many CPUs" maps_many
ok "names do not steer the terminal" escaped
ok "and are not taken for the idle task, the hypervisor and others" disguised
ok "wrong options, and questions without an answer, are refused" refused
ok "a histogram has each wait in its bar" bars
finish
