#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kdtl record --wake writes which task woke which, by kdtl_wake, and so does wake_load. Of all
# tasks, each sleep was ended by one wake-up. Clients that want only dispatches refuse kdtl_wake.
#
# KDTL_CASES  only the cases of the suite that match, and nothing else, for instance 'kdtl_wake.*'
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

dir=$(cd -- "$(dirname "$0")" && pwd)
work=$(mktemp -d)
cd -- "$work" || exit
mkdir -p /dev/pts
[ -e /dev/pts/ptmx ] || mount -t devpts devpts /dev/pts
[ -e /dev/ptmx ] || ln -s pts/ptmx /dev/ptmx

need kdtl kdtl_sched kdtl_answers kdtl_stream

kdtl()
{
	"$dir/kdtl" "$@"
}

# refuses TEXT COMMAND...: COMMAND fails, and says TEXT in the log or on standard error.
refuses()
{
	text=$1
	shift
	forget_log
	if "$@" 2>err; then
		echo "# not refused: $*"
		return 1
	fi
	{ log; cat err; } >said
	grep -q -F -e "$text" said || { sed 's/^/# /' said; return 1; }
}

without_source()
{
	refuses "--wake: nobody says who woke whom: load the module kdtl_wake" \
		kdtl record --wake -q -o none.data -d 1 && [ ! -e none.data.wake ]
}

records()
{
	# shellcheck disable=SC2086 # there may be none
	kdtl record --wake -q -m 512 -o w.data "$dir/wake_load" truth $disk && sed 's/^/# /' truth
}

nothing_lost()
{
	kdtl print w.data >dispatches && kdtl print w.data.wake >wakes || return
	head -n 1 dispatches wakes | sed 's/^/# /'
	head -n 1 dispatches | grep -q ' 0 lost' && head -n 1 wakes | grep -q ' 0 lost$'
}

# Take the fields by columns, because the name may have spaces.
# shellcheck disable=SC2016 # it is awk's
pid_and_text='{ pid = substr($0, 38, 7) + 0; text = substr($0, 47) }'

# woken: each wake-up that the truth has came exactly so often, with the argument of its call.
woken()
{
	awk -v disk="$disk" '
	FNR == NR {
		if ($1 == "woken")
			want[$2, $4] = $3 " " $5 " " $6
		next
	}
	/^#/ { next }
	'"$pid_and_text"'
	text ~ /^woken / && text !~ /^woken by [^:]*, still/ && text ~ /in system call/ {
		by = text
		sub(/^woken by /, "", by)
		sub(/:.*/, "", by)
		call = text
		sub(/.*in system call /, "", call)
		arg = call
		sub(/\(.*/, "", call)
		gsub(/.*\(|\).*/, "", arg)
		if (by ~ /interrupt|softirq/ || irq_threads[by])
			by = text ~ /: uninterruptible, waits for a disk, / ? "disk" : "irq"
		if ((pid, call) in want) {
			split(want[pid, call], w, " ")
			n[pid, call, w[3] == "any" || w[3] == arg ? by : by ", " arg]++
		}
	}
	END {
		for (k in want) {
			split(want[k], w, " ")
			split(k, p, SUBSEP)
			sum = 0
			for (j in n) {
				split(j, q, SUBSEP)
				if (q[1] != p[1] || q[2] != p[2])
					continue
				if (w[1] == "kworker")
					q[3] = kworkers[q[3]] ? "kworker" : q[3]
				if (q[3] == w[1])
					sum += n[j]
				else
					print "# " p[1] " in " p[2] ": " n[j] " by " q[3]
			}
			print "# " p[1] " in " p[2] " by " w[1] ": " sum " of " w[2]
			# A worker may wake the reader although it has nothing for it.
			bad += w[1] == "kworker" ? sum < w[2] : sum != w[2]
			kinds++
		}
		exit bad || kinds < 7 + (disk != "")
	}
	BEGIN {
		while ((getline line <"kworkers") > 0)
			kworkers[line] = 1
		while ((getline line <"irq_threads") > 0)
			irq_threads[line] = 1
	}' truth wakes
}

# dispatched PATTERN: prints the pids of the dispatched tasks with such a name.
dispatched()
{
	awk -F, -v pattern="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["comm"] ~ pattern { print $at["pid"] }' csv | sort -u
}

# Finds the workers, and the threads that do the work of interrupts with PREEMPT_RT.
find_workers()
{
	kdtl export --format csv -o csv w.data && dispatched kworker >kworkers && [ -s kworkers ] &&
		dispatched '^(irq|ktimers|ksoftirqd)/' >irq_threads
}

locks()
{
	awk -v rt="$(uname -v | grep PREEMPT_RT)" '
	FNR == NR {
		if ($1 == "lock") {
			want[$2 " " $4] = $3 " " $5 " " $6
			# With PREEMPT_RT, both kinds are made of these.
			if (rt)
				rt_mutex[$2] = $4
		}
		next
	}
	/^#/ { next }
	'"$pid_and_text"'
	text ~ /^is about to sleep for/ {
		split(text, t, " ")
		kind = t[6] == "rwsem," ? "rwsem" : t[6]
		if (kind == "rt_mutex" && pid in rt_mutex)
			kind = rt_mutex[pid]
		holder = text
		sub(/.*, which /, "", holder)
		call = text
		sub(/.* in system call /, "", call)
		n[pid " " kind, holder + 0 " " call + 0]++
	}
	END {
		for (k in want) {
			split(want[k], w, " ")
			have = n[k, w[1] " " w[2]]
			print "# " k " held by " w[1] ": " have
			bad += have < w[3]
			kinds++
		}
		exit bad || kinds != 2
	}' truth wakes
}

moves()
{
	# shellcheck disable=SC2046 # its fields
	set -- $(grep '^moved' truth)
	grep -E "^ *[0-9.]+  wake_load +$2  waits, and is moved from CPU $4 to $5 by $3$" wakes
}

# A program of 32 bits has other numbers of system calls, so its own are not named.
narrow()
{
	kdtl record --wake -q -o narrow.data "$dir/32/stream_test" signal &&
		kdtl print narrow.data.wake >narrow || return
	note "$(grep -c '  stream_test  .*  woken by ' narrow) wake-ups of the program"
	grep -q '  stream_test  .*  woken by ' narrow && ! grep '  stream_test  .* in system call' narrow
}

# Tasks that compute wait for CPU 0, although others are idle, and may run elsewhere from now on.
is_balanced()
{
	for pid in $computes; do
		taskset -p 1 "$pid"
	done >pids
	kdtl record --wake -i -q -o balance.data sh -c '
		for pid; do taskset -p f "$pid"; done >pids; sleep 0.5' sh $computes &&
		kdtl print balance.data.wake >balance || return
	grep -E '  waits, and is moved from CPU 0 to [1-9] by a softirq$' balance
}

# The scheduler moves them in a softirq, and not the task that this interrupts.
balance()
{
	computes=
	for _ in 1 2 3 4; do
		background sh -c 'while :; do :; done'
		computes="$computes $!"
	done
	in_tries 20 is_balanced
	set -- $?
	[ "$1" -eq 0 ] || grep 'is moved from CPU 0 to' balance
	# shellcheck disable=SC2086 # several words
	kill $computes
	return "$1"
}

# If a task slept between two dispatches, exactly one wake-up found it off its queue, and the last
# wake-up ended the sleep. It may have begun just before the task left. This holds only while the
# load ran, because the CPUs begin and end to be logged one after the other.
rule()
{
	main=$(awk '$1 == "woken" { print $3; exit }' truth)
	{
		awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
			{ print $at["since_boot_ns"], "dispatch", $at["pid"], $at["dispatch_reason"] }' csv
		awk '/^#/ { next }
			'"$pid_and_text"'
			{ sub(/\./, "", $1) }
			text ~ /^woken/ { print $1, text ~ /, still / ? "queued" : "woken", pid }
			text ~ /^is new/ { print $1, "new", pid, $NF }' wakes
	} | sort -n -k 1,1 >order
	awk -v main="$main" '
		# The load runs.
		function during()
		{
			return load > 0 && load < 10
		}
		function bad(what)
		{
			print "# " $1 ": " $3 ": " what ", " $4
			return 1
		}
		$2 == "new" && $4 == main { load++ }
		$2 == "woken" {
			if (!woken[$3]++)
				first[$3] = $1
			last[$3] = 1
		}
		$2 == "queued" { last[$3] = 2 }
		$2 == "new" { woken[$3]++; last[$3] = 1; seen[$3] = during() }
		$2 == "dispatch" {
			if (seen[$3] && ($4 == "woken" || $4 == "page_fault")) {
				sleeps++
				if (!last[$3])
					none += bad("no wake-up")
				else if (last[$3] == 2)
					before++
				else if (woken[$3] == 2 && owed[$3] && first[$3] - at[$3] < 50000)
					late++
				else if (woken[$3] != 1)
					more += bad("woken " woken[$3] " times")
			} else if (seen[$3] && woken[$3]) {
				extra += bad("a wake-up without a sleep")
			}
			# The clocks of two CPUs differ: a wake-up may seem to come just after the
			# dispatch that it was for. Then the next dispatch has two.
			owed[$3] = last[$3] == 2
			at[$3] = $1
			seen[$3] = during()
			woken[$3] = last[$3] = 0
		}
		END {
			printf "# %d sleeps: %d without a wake-up, %d with several, %d begun before, %d late; %d wake-ups without a sleep\n",
				sleeps, none, more, before, late, extra
			exit none || more || extra || sleeps < 100
		}' order || { cp order w.data w.data.wake /out; return 1; }
}

# The cases of kdtl_kunit_wake.ko are subtests of one test.
suite()
{
	kunit kdtl_kunit_wake "${KDTL_CASES:-*}" >suite
	set -- $?
	sed 's/^/    /' suite
	return "$1"
}

# said PATTERN: a line of the watch about CPU 1 matches. dmesg goes to a file, because a full kernel
# log that goes through a pipe makes more wake-ups than the log of these holds.
said()
{
	dmesg >said && grep -q "kdtl_watch: CPU 1: $1" said
}

is_asleep()
{
	grep -q '^State:.S' "/proc/$1/status"
}

# waits MS: a shell on CPU 1 that reads from this script wakes up behind a hog, which has the CPU
# for MS ms. The shell has a name of its own, and nothing else to wait for, so that it sleeps in no
# other place. It has a nice value, which no other task here has, so that a rule can be for it alone:
# of a CPU's waits that go on, the watch tells of the worst, and with PREEMPT_RT ksoftirqd may have
# begun to wait just before the shell. The hog has to stay for longer than a host may stop the machine before the shell is
# woken.
waits()
{
	rm -f tell
	mkfifo tell
	printf '#!/bin/sh\nread -r _ <tell\n' >listens
	chmod +x listens
	taskset 2 ./listens &
	listens=$!
	ktap_pids="$ktap_pids $listens"
	until_true is_named listens && until_true is_asleep $listens &&
		renice -n 1 -p $listens >/dev/null && load kdtl_hog cpu=1 ms="$1" && echo >tell
}

# told PATTERN: a line says that the shell PATTERN behind the hog, and who woke it.
told()
{
	until_true said "listens:$listens $1 .* behind kdtl_hog:.*, woken by $(cat /proc/$$/comm):$$"
	set -- $?
	[ "$1" -eq 0 ] || { log | grep kdtl_watch | sed 's/^/# /'; kill $listens; }
	! is_loaded kdtl_hog || unload kdtl_hog
	return "$1"
}

# listens PATTERN: the shell waits behind the hog, and is told of by PATTERN after that.
listens()
{
	waits 3000 && until_true grep -q Y /sys/module/kdtl_hog/parameters/done && told "$1"
}

watch_says()
{
	load kdtl_watch wake=kdtl_wake threshold_ms=250 pause_s=0 && listens waited
}

# wakes_logged: how many wake-ups the watch's session has of CPU 0, where this shell and its
# children are.
wakes_logged()
{
	awk 'FNR == NR { if ($4 == "kdtl_wake" && /kdtl_watch/) id = $1; next }
		$1 == id && $2 == 0 { print $4 / 48 }' \
		/sys/kernel/debug/kdtl/sessions /sys/kernel/debug/kdtl/areas
}

# Four pages have room for 341 wake-ups of a CPU. After the watch has noticed the wait, the shell's
# wake-up is overwritten. Before that, looking each second whether it has makes fewer wake-ups than
# there is room for. If the machine is so slow that the hog is done before, nothing has been shown.
watch_keeps()
{
	! is_loaded kdtl_watch || unload kdtl_watch
	! is_loaded kdtl_hog || unload kdtl_hog
	load kdtl_watch wake=kdtl_wake threshold_ms=60000 pause_s=0 aux_pages=4 &&
		echo "prio low 250" >/sys/kernel/debug/kdtl_watch/rules && waits 18000 || return
	until said "listens:$listens has waited for .* behind kdtl_hog:"; do
		sleep 1
		grep -q N /sys/module/kdtl_hog/parameters/done || return
	done
	before=$(wakes_logged)
	until [ "$(wakes_logged)" -gt $((before + 341)) ]; do
		sleep 0.000001
	done
	note "$before wake-ups until the wait was noticed, $(wakes_logged) before its end"
	grep -q N /sys/module/kdtl_hog/parameters/done && unload kdtl_hog && told waited
}

# The CPU is not stuck by its own threshold, so the line is about the wait that goes on.
watch_says_meanwhile()
{
	! is_loaded kdtl_watch || unload kdtl_watch
	load kdtl_watch wake=kdtl_wake threshold_ms=60000 pause_s=0 &&
		echo "prio low 250" >/sys/kernel/debug/kdtl_watch/rules && listens "has waited for"
}

# An interrupt of an idle CPU wakes a thread there, and then keeps the CPU. That the CPU is idle is
# known since a task has left it.
interrupt="taskset -c 1 true; $(loading kdtl_hog) cpu=1 ms=300 irq=1
	until grep -q Y /sys/module/kdtl_hog/parameters/done; do sleep 0.01; done"

# Remove the module again, which knows for how long its interrupt had the CPU.
interrupt_over()
{
	own=$(cat /sys/module/kdtl_hog/parameters/own_ms) && unload kdtl_hog
	set -- $?
	note "the interrupt had the CPU for $own ms"
	return "$1"
}

kept()
{
	kdtl record --wake -i -q -o kept.data sh -c "$interrupt" && interrupt_over &&
		kdtl why --comm kdtl_hog -n 1 kept.data >why && kdtl why --chain --comm kdtl_hog -n 1 kept.data >chain
	set -- $?
	sed 's/^/# /' why chain
	text=$(sed -n 's/^ *swapper.1 (0) could not be preempted for //p' why)
	[ "$1" -eq 0 ] && [ -n "$text" ] &&
		grep -q "waited for CPU 1, which was idle, and could not be preempted for $text\$" chain &&
		echo "$text" | awk -v own="$own" '{ exit $1 * ($2 == "s" ? 1000 : 1) * 1.01 < own }'
}

# The session of dispatches starts last.
wakes_recorded()
{
	grep -q ' started .* kdtl_wake ' /sys/kernel/debug/kdtl/sessions &&
		grep -q ' started .* kdtl_sched ' /sys/kernel/debug/kdtl/sessions
}

# Without a file, wake-ups are recorded as well, because kdtl_wake is loaded.
kept_now()
{
	background "$dir/kdtl" why --brief --comm kdtl_hog -n 1 -d 600 >now
	asked=$!
	until_true wakes_recorded && sh -c "$interrupt" && interrupt_over && kill -INT "$asked" &&
		wait "$asked"
	set -- $?
	sed 's/^/# /' now
	[ "$1" -eq 0 ] && awk -v own="$own" '{
		sub(/.* kept=idle kept_pid=0 kept_ms=/, "")
		exit !($0 * 1.01 >= own)
	}' now
}

watch_says_what_is_wrong()
{
	forget_log
	! load kdtl_watch wake=kdtl_sched 2>/dev/null &&
		log | grep -q 'no session of kdtl_sched that says who woke whom'
}

if [ -n "$KDTL_CASES" ]; then
	plan 1
	ok "the suite" suite
	finish
fi
plan 21
ok "without the source kdtl record --wake says what to load" without_source
load kdtl_wake || bail_out "kdtl_wake does not load"
disk=
! load_disk || disk=/dev/nullb0
note "a disk: ${disk:-none, as this kernel has no null_blk}"
ok "a session that asks for dispatches is refused" \
	refuses "kdtl_wake's entries are no dispatches" kdtl record -s kdtl_wake -q -d 1
ok "and so is a client" refuses "kdtl_wake's entries are no dispatches" \
	load kdtl_sampler pmu=kdtl_wake
ok "kdtl record --wake" records
ok "nothing is lost" nothing_lost
ok "its workers are known" find_workers
ok "who woke whom, and in which system call it slept" woken
ok "who held the lock for which a task slept" locks
if [ "$(grep -c ^processor /proc/cpuinfo)" -gt 1 ]; then
	ok "a task that waits is moved" moves
else
	skip "a task that waits is moved" "one CPU"
fi
if [ "$(grep -c ^processor /proc/cpuinfo)" -eq 1 ] || uname -v | grep -q PREEMPT_RT; then
	skip "and not by the task that a softirq interrupts" "one CPU, or softirqs are threads'"
else
	ok "and not by the task that a softirq interrupts" balance
fi
if [ -e "$dir/32" ]; then
	ok "of a program of 32 bits no system call is named" narrow
else
	skip "of a program of 32 bits no system call is named" \
		"none was built: this kernel runs none, or no others"
fi
ok "each sleep was ended by one wake-up" rule
ok "clients of dispatches refuse wake-ups" \
	refuses "has wake-ups, which are no dispatches" kdtl report w.data.wake
if [ -e /sys/devices/system/cpu/cpu1 ] && have_module kdtl_hog; then
	can_starve 1
	taskset -p 1 $$ >/dev/null
	ok "the watch says who woke the task that waits" watch_says
	unload kdtl_watch
	ok "while the wait goes on, too" in_tries 3 watch_says_meanwhile
	unload kdtl_watch
	ok "and when its CPU has forgotten that it did" in_tries 3 watch_keeps
	unload kdtl_watch
else
	skip "the watch says who woke the task that waits" "needs two CPUs, and kdtl_hog"
	skip "while the wait goes on, too" "needs two CPUs, and kdtl_hog"
	skip "and when its CPU has forgotten that it did" "needs two CPUs, and kdtl_hog"
fi
if [ ! -e /sys/devices/system/cpu/cpu1 ] || ! have_module kdtl_hog; then
	skip "who could not be preempted" "needs two CPUs, and kdtl_hog"
	skip "so of what happens now" "needs two CPUs, and kdtl_hog"
elif grep -q __tracepoint_sched_set_need_resched_tp /proc/kallsyms; then
	ok "who could not be preempted" kept
	ok "so of what happens now" kept_now
else
	skip "who could not be preempted" "no tracepoint before Linux 7.2"
	skip "so of what happens now" "no tracepoint before Linux 7.2"
fi
ok "and refuses a source that does not know" watch_says_what_is_wrong
ok "the source goes when nobody uses it" unload kdtl_wake
if have_module kdtl_kunit_wake; then
	ok "the suite" suite
else
	skip "the suite" "no module kdtl_kunit_wake"
fi
finish
