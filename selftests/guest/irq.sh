#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# With kdtl_irq, each moment for which a tasklet or a timer has a CPU is in one entry. A task that
# waits because of one is behind that, and not behind the task that was interrupted: the watch and
# kdtl why say so.
#
# KDTL_CASES  only the cases of the suite that match, and nothing else, for instance 'kdtl_irq.*'
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

need kdtl kdtl_answers

# The cases of kdtl_kunit_irq.ko are subtests of one test.
suite()
{
	kunit kdtl_kunit_irq "${KDTL_CASES:-*}" >suite
	status=$?
	sed 's/^/    /' suite
	unload kdtl_kunit_irq && return $status
}

# shares: prints who had the CPU according to $line, as lines "WHO MS".
shares()
{
	echo "$line" | sed 's/.*behind //' | tr ',' '\n' |
		sed -n 's/^ *\(.*\) \([0-9.]*\) \([mu]*s\)$/\3 \2 \1/p' | awk '{
			ms = $2 * ($1 == "s" ? 1000 : $1 == "ms" ? 1 : 0.001)
			print substr($0, length($1 $2) + 3) " " int(ms + 0.0001)
		}'
}

# sum PATTERN: the sum of the times whose WHO matches.
sum()
{
	shares | grep "^$1 " | awk '{ ms += $NF } END { print ms + 0 }'
}

# all_behind PATTERN OWN: three quarters or more of OWN ms of the CPU's time are behind PATTERN, or
# behind other interrupts: the host may have stopped the machine in one of these, or between the
# interrupt's first instruction and the first look at OWN's clock.
all_behind()
{
	had=$(sum "$1")
	all=$(sum '\(interrupt\|softirq\) .*')
	[ "$2" -gt 250 ] && [ "$had" -gt 0 ] && [ "$had" -le $(($2 * 5 / 4)) ] &&
		[ "$all" -ge $(($2 * 3 / 4)) ] && return
	note "$had ms behind that, $all ms behind interrupts"
	return 1
}

# said PATTERN: $line is the watch's last line that matches.
said()
{
	line=$(log | grep "kdtl_watch: CPU 1: $1" | tail -n 1)
	[ -n "$line" ]
}

# behind WHO PATTERN PARAMETER: except for other interrupts all of WHO's wait is behind PATTERN. The
# hog's thread, which is the task that is interrupted, had the CPU for next to no time.
behind()
{
	unload kdtl_watch && load kdtl_watch irq=kdtl_irq threshold_ms=250 pause_s=0 || return
	# The watch knows that the CPU is idle only after something has run there.
	taskset 2 true
	load kdtl_hog cpu=1 ms=600 "$3" || return
	until_true said "$1 waited .* $2 " || { log | grep kdtl_watch; return 1; }
	own=$(cat /sys/module/kdtl_hog/parameters/own_ms)
	unload kdtl_hog
	note "$line"
	note "of 600 ms, the CPU's clock had $own"
	all_behind "$2" "$own" && [ "$(sum 'kdtl_hog:[0-9]*')" -lt $((own / 4)) ]
}

behind_softirq()
{
	taskset 2 sh -c 'while :; do :; done' &
	busy=$!
	ktap_pids="$ktap_pids $busy"
	behind "sh:$busy" 'softirq tasklet' inline_softirq=1
	status=$?
	kill $busy
	return $status
}

kdtl()
{
	"$dir/kdtl" "$@"
}

without_source()
{
	! kdtl record --irq -q -o none.data -d 1 2>err && [ ! -e none.data.irq ] &&
		grep -q -F 'load the module kdtl_irq' err
}

# The longest wait of a task that is always runnable is behind the tasklet, unless the host stops the
# machine while somebody else has the CPU: so look at the ten longest.
recorded()
{
	taskset 2 sh -c 'while :; do :; done' &
	busy=$!
	ktap_pids="$ktap_pids $busy"
	kdtl record --irq -i -q -o irq.data sh -c "$(loading kdtl_hog) cpu=1 ms=600 inline_softirq=1
		until grep -q Y /sys/module/kdtl_hog/parameters/done; do sleep 0.01; done; sleep 0.1"
	kill $busy
	own=$(cat /sys/module/kdtl_hog/parameters/own_ms)
	unload kdtl_hog
	kdtl why -n 10 --pid $busy irq.data >why && kdtl why -n 10 --pid $busy --brief irq.data >all || return
	sed 's/^/# /' why
	grep -m 1 ' behind=tasklet ' all >brief || return
	note "of 600 ms, the CPU's clock had $own: $(sed 's/.* \(behind=.*behind_ms=[^ ]*\).*/\1/' brief)"
	line=$(grep -m 1 '^ *behind softirq tasklet ' why)
	all_behind 'softirq tasklet' "$own" &&
		is "$(sed 's/.* behind=\([^ ]*\) .*/\1/' brief)" "$(shares | head -n 1 | cut -d ' ' -f 2)"
}

# sessions NUMBER: so many more sessions are started than before.
sessions()
{
	[ "$(grep -c ' started ' /sys/kernel/debug/kdtl/sessions)" -ge $((before + $1)) ]
}

# meanwhile PATTERN KDTL...: in the end, the command's output has a line that matches PATTERN, about
# a tasklet that had the CPU of a shell that is always runnable.
meanwhile()
{
	pattern=$1
	shift
	before=$(grep -c ' started ' /sys/kernel/debug/kdtl/sessions)
	background "$dir/kdtl" "$@" >now
	asked=$!
	# One session logs the dispatches, one interrupts.
	until_true sessions 2 && load kdtl_hog cpu=1 ms=600 inline_softirq=1 &&
		until_true grep -q Y /sys/module/kdtl_hog/parameters/done || return
	own=$(cat /sys/module/kdtl_hog/parameters/own_ms)
	unload kdtl_hog
	until_true sh -c "[ $1 = why ] || grep -q '$pattern' now" && kill -INT $asked && wait $asked &&
		grep -m 1 "$pattern" now >line
	set -- $?
	[ "$1" -eq 0 ] || sed 's/^/# /' now
	note "of 600 ms, the CPU's clock had $own"
	return "$1"
}

# Starts a shell that always wants CPU 1; $busy is its pid.
keep_busy()
{
	taskset 2 sh -c 'while :; do :; done' &
	busy=$!
	ktap_pids="$ktap_pids $busy"
	until_true grep -q '^State:.R' /proc/$busy/status
}

# is_most MS: MS is most of the time that the tasklet had the CPU.
is_most()
{
	note "$1 ms"
	[ "$own" -gt 250 ] && echo "$1" |
		awk -v own="$own" '{ exit !($1 > own * 3 / 4 && $1 <= own * 5 / 4 + 100) }'
}

why_now()
{
	keep_busy && meanwhile ' behind=tasklet ' why -n 10 --pid $busy --brief -d 600 &&
		is_most "$(sed 's/.* behind_ms=\([^ ]*\).*/\1/' line)"
	set -- $?
	kill $busy
	return "$1"
}

# The hog's thread, which the tasklet interrupts, has had the CPU for next to no time.
top_now()
{
	keep_busy && meanwhile "^sh ($busy) .* interrupts\$" top --irq -b --interval 1 &&
		is_most "$(awk '{ print $(NF - 1) }' line)" &&
		awk -v own="$own" '
			/^the last / { span = $3 }
			/^kdtl_hog / { ms += $(NF - 6) * span * 10 }
			END { print "# kdtl_hog ran for " ms + 0 " ms"; exit ms >= own / 4 }' now
	set -- $?
	kill $busy
	return "$1"
}

# refuses TEXT PARAMETER...: the watch does not load, and says why.
refuses()
{
	text=$1
	shift
	unload kdtl_watch
	! load kdtl_watch "$@" 2>/dev/null && log | tail -n 4 | grep -q -F -e "$text"
	status=$?
	is_loaded kdtl_watch || load kdtl_watch
	return $status
}

dir=$(cd -- "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd -- "$work" || exit
have_module kdtl_irq || skip_all "no module kdtl_irq"
if [ -n "$KDTL_CASES" ]; then
	plan 1
	ok "the suite" suite
	finish
fi
plan 10
if have_module kdtl_kunit_irq; then
	ok "the suite" suite
else
	skip "the suite" "no module kdtl_kunit_irq"
fi
need kdtl_sched kdtl_stream
ok "without the source kdtl record --irq says what to load" without_source
load kdtl_irq || bail_out "kdtl_irq does not load"
load kdtl_watch || bail_out "kdtl_watch does not load"
# These are the names of the interrupt by which another CPU calls, on x86, arm64 and s390x.
call='\(call_[a-z]*\|Function call i\|EXT\)'
if [ -e /sys/devices/system/cpu/cpu1 ] && have_module kdtl_hog; then
	ok "behind an interrupt" behind 'kdtl_hog:[0-9]*' "interrupt $call" irq=1
	if uname -v | grep -q PREEMPT_RT; then
		skip "behind a softirq" "softirqs are threads'"
		skip "kdtl record --irq" "softirqs are threads'"
		skip "kdtl why of what happens now" "softirqs are threads'"
		skip "kdtl top --irq" "softirqs are threads'"
	else
		ok "behind a softirq" behind_softirq
		ok "kdtl record --irq" recorded
		ok "kdtl why of what happens now" why_now
		ok "kdtl top --irq" top_now
	fi
else
	skip "behind an interrupt" "needs two CPUs, and kdtl_hog"
	skip "behind a softirq" "needs two CPUs, and kdtl_hog"
	skip "kdtl record --irq" "needs two CPUs, and kdtl_hog"
	skip "kdtl why of what happens now" "needs two CPUs, and kdtl_hog"
	skip "kdtl top --irq" "needs two CPUs, and kdtl_hog"
fi
ok "irq= is for interrupts" refuses "irq=kdtl_sched does not say when an interrupt had a CPU" \
	irq=kdtl_sched
ok "steal= is not" refuses "steal=kdtl_irq does not say when a hypervisor had a CPU" steal=kdtl_irq
ok "all goes" unload kdtl_watch
finish
