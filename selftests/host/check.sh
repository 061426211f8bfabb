#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests selftests/check itself, with stand-ins for scripts and machines: what it counts, what it
# says about a machine that hangs or panics, and when it is interrupted. A real machine runs a
# script that hangs.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-check.XXXXXX")
partial "$work"

# script NAME: makes a script of selftests/host in the tree of stand-ins, from stdin.
script()
{
	{
		echo '#!/bin/bash'
		cat
	} >"$work/tree/selftests/host/$1.sh"
	chmod +x "$work/tree/selftests/host/$1.sh"
}

# tree: makes a tree with selftests/check and its libraries, and nothing that it would run.
tree()
{
	local tree=$work/tree f

	mkdir -p -- "$tree"/{scripts,selftests/{host,guest,run}} &&
		cp -r -- "$top/scripts/lib" "$top/scripts/kernels" "$tree/scripts/" &&
		cp -r -- "$top/selftests/run/lib" "$tree/selftests/run/" &&
		cp -- "$top/selftests/run/boot" "$tree/selftests/run/" &&
		cp -- "$top/selftests/check" "$top/selftests/subjects" "$tree/selftests/" || return
	for f in scripts/install-deps scripts/build scripts/kernel selftests/run/vm; do
		printf '#!/bin/bash\n' >"$tree/$f"
		chmod +x "$tree/$f"
	done
	printf 'all:\n' >"$tree/selftests/Makefile"
}

# check ARGUMENT...: runs it; its output goes to $work/said. A command that a shell runs in the
# background ignores SIGINT, and so would all that it starts: hence the default signal.
check()
{
	KDTL_LOGS=$work/logs env --default-signal=INT "$work/tree/selftests/check" "$@" >"$work/said" 2>"$work/errors"
}

# says LINE: the output has exactly that line.
says()
{
	grep -q -x -F -e "$1" "$work/said" || {
		cat -- "$work/said"
		return 1
	}
}

counts()
{
	script count <<-'END'
	cat <<-'KTAP'
	KTAP version 1
	1..2
	    1..2
	    ok 1 a
	    ok 2 b # SKIP why
	ok 1 suite
	not ok 2 c
	KTAP
	exit 1
	END
	! check count && says '1 passed, 1 failed, 1 skipped'
}

no_plan()
{
	script plan <<-'END'
	cat <<-'KTAP'
	KTAP version 1
	1..2
	    ok 1 a
	ok 1 suite
	ok 2 c
	KTAP
	END
	! check plan && says '2 passed, 1 failed' && grep -q 'plan: no plan for 1 tests' "$work/said"
}

# A suite that says nothing at all, and has no plan either, fails.
nothing_in_it()
{
	script nothing <<-'END'
	cat <<-'KTAP'
	KTAP version 1
	1..2
	    KTAP version 1
	ok 1 suite
	ok 2 c
	KTAP
	END
	! check nothing && says '1 passed, 1 failed' &&
		grep -q 'nothing: no plan for 0 tests' "$work/said"
}

# ran NAMES: of the tests below, exactly these have run, as the output says.
ran()
{
	[ "$(sed -n -E 's/^(not )?ok [0-9]+ (lint|kvm\.steal|.*\.alarms|.*\.two)$/\2/p' "$work/said" |
		sort | tr '\n' ' ')" = "$1 " ] || {
		cat -- "$work/said"
		return 1
	}
}

# What runs before each merge runs with KDTL_MERGE=1 only, and no script runs in both machines of
# x86-64.
tiers()
{
	printf '#!/bin/bash\nexit 1\n' >"$work/tree/selftests/run/vm"
	script lint <<<'echo "1..1"; echo "ok 1 it"'
	touch -- "$work/tree/selftests/guest/"{alarms,two}.sh
	! KDTL_MERGE=0 check && ran 'loads.alarms x86_64.two' &&
		! KDTL_MERGE=1 check && ran 'kvm.steal lint loads.alarms x86_64.two' || return
	rm -- "$work/tree/selftests/host/lint.sh" "$work/tree/selftests/guest/"{alarms,two}.sh
}

# machine STATUS SCRIPT [OTHER]: makes a stand-in for run/vm that leaves stdin as its console if it
# is to run SCRIPT. For other scripts it is OTHER, or fails.
machine()
{
	{
		echo '#!/bin/bash'
		# shellcheck disable=SC2016 # expanded there
		echo "[[ \" \$* \" == *' $2 '* ]] || exec ${3:-false} \"\$@\""
		# shellcheck disable=SC2016 # expanded there
		echo 'until [ "$1" = --log ]; do shift; done'
		echo "cat >\"\$2\" <<'END'"
		cat
		echo END
		echo "exit $1"
	} >"$work/vm"
	chmod +x "$work/vm"
	mv -- "$work/vm" "$work/tree/selftests/run/vm"
}

panics()
{
	machine 99 steal "$@" <<-'END'
	kdtl-vm: 6.1.0 x86_64, 2 CPUs, up after 4 s
	KTAP version 1
	1..3
	# steal
	    KTAP version 1
	[    9.000000] a message of the kernel
	    1..2
	    ok 1 one
	    ok 2 two
	# steal: 12 s
	ok 1 steal
	# split
	    KTAP version 1
	    1..2
	    ok 1 three
	[   10.000000] Kernel panic - not syncing: Fatal exception
	END
	# Three tests passed, the script split ended in the middle, and the script both did not
	# begin.
	[ $# -eq 0 ] || return 0
	! check kvm && says '3 passed, 3 failed' && grep -q -x 'ok 1 kvm.steal' "$work/said" &&
		grep -q 'kvm.split: Bail out! the machine ended meanwhile' "$work/said" &&
		grep -q 'kvm.both: Bail out! not run' "$work/said" &&
		grep -q -x 'kvm.steal  *2  *0  *0  *12 s *' "$work/said"
}

# A machine that panics boots again for the scripts that had not begun.
boots_again()
{
	machine 0 both <<-'END'
	KTAP version 1
	1..1
	# both
	    KTAP version 1
	    1..1
	    ok 1 four
	ok 1 both
	END
	mv -- "$work/tree/selftests/run/vm" "$work/second"
	panics "$work/second"
	! check kvm && says '4 passed, 2 failed' && says 'ok 1 kvm.steal' &&
		says 'not ok 2 kvm.split' && says 'ok 3 kvm.both' &&
		grep -q 'kvm.split: Bail out! the machine ended meanwhile' "$work/said"
}

# ended PID: the process is gone, or a zombie that nobody has waited for yet.
ended()
{
	[ ! -e "/proc/$1" ] || [ -z "$(tr -d "\0" <"/proc/$1/cmdline" 2>/dev/null)" ]
}

# interrupted SIGNAL: the signal ends selftests/check while one script waits for ever and one has
# passed.
interrupted()
{
	local pid i

	script passes <<<"printf 'KTAP version 1\n1..1\nok 1 a\n'"
	script waits <<-END
	sleep 1000 &
	echo \$! >"$work/sleeper"
	wait
	END
	rm -f -- "$work/sleeper"
	start_group check passes waits
	pid=$group
	for ((i = 0; i < 6000; i++)); do
		! grep -q '^ok 1 passes' "$work/said" 2>/dev/null || [ ! -s "$work/sleeper" ] || break
		sleep 0.1
	done
	kill -s "$1" -- "-$pid"
	# The shell that started selftests/check may end before it does.
	for ((i = 0; i < 3000; i++)); do
		! tail -n 1 "$work/said" | matches ', interrupted$' || break
		sleep 0.1
	done
	! wait_group "$pid" && says "# SIG$1: not ended: waits" &&
		says '1 passed, 0 failed, interrupted' && ended "$(cat -- "$work/sleeper")"
}

# Rows that the scripts of a machine had printed by then also count.
machine_interrupted()
{
	local pid i

	# shellcheck disable=SC2016 # expanded there
	machine '$(sleep 1000)' steal <<-'END'
	1..3
	# steal
	    KTAP version 1
	    1..1
	    ok 1 one
	ok 1 steal
	# split
	    KTAP version 1
	END
	start_group check kvm
	pid=$group
	for ((i = 0; i < 6000; i++)); do
		! grep -q -s '^# split' "$work/logs/check/kvm/console" || break
		sleep 0.1
	done
	kill -s TERM -- "-$pid"
	for ((i = 0; i < 3000; i++)); do
		! tail -n 1 "$work/said" | matches ', interrupted$' || break
		sleep 0.1
	done
	! wait_group "$pid" && says '# SIGTERM: not ended: kvm' &&
		says 'ok 1 kvm.steal' && says '1 passed, 0 failed, interrupted'
}

# While a person waits, selftests/check says twice a minute what each job does.
tells()
{
	script long <<-END
	printf 'KTAP version 1\n1..2\nok 1 the first\n'
	until grep -q ' long: .* so far' "$work/errors"; do
		sleep 0.2
	done
	echo ok 2 the second
	END
	script other <<<"printf 'KTAP version 1\n1..1\nok 1 a\n'"
	check long other && grep -q '    long: [3-9][0-9] s so far: after: the first$' "$work/errors" &&
		grep -q -x '# long: [3-9][0-9] s, [0-9]* s of CPUs' "$work/said"
}

# running NAME: makes a script that leaves a file in $work/running until $work/NAME.go is there, or
# until it gives up.
running()
{
	script "$1" <<-END
	printf 'KTAP version 1\n1..1\n'
	touch "$work/running/$1"
	for ((i = 0; i < 6000; i++)); do
		[ ! -e "$work/$1.go" ] || break
		sleep 0.1
	done
	rm "$work/running/$1"
	[ \$i -lt 6000 ] && echo ok 1 a
	END
}

# run_now NAME...: soon exactly these scripts run.
run_now()
{
	local i

	for ((i = 0; i < 3000; i++)); do
		[ "$(cd -- "$work/running" && echo *)" != "$*" ] || return 0
		sleep 0.1
	done
	echo "these run: $(cd -- "$work/running" && echo *)"
	return 1
}

# Two scripts that compute run at once, and one that sleeps beside them. The next one begins when
# one of its kind has ended.
beside()
{
	local name pid status=0

	mkdir -p -- "$work/running"
	for name in a b c d check; do
		running "$name"
	done
	start_group check a b c d check
	pid=$group
	run_now a b check && sleep 1 && run_now a b check &&
		touch "$work/check.go" && run_now a b &&
		touch "$work/a.go" && run_now b c || status=1
	for name in a b c d check; do
		touch "$work/$name.go"
	done
	wait_group "$pid" && says '5 passed, 0 failed' && [ "$status" = 0 ]
}

# A machine on which races tell nothing new runs none; the others run them as their scripts want
# them. The quick run has scripts of its own.
races()
{
	printf '#!/bin/bash\necho "$*" >"%s/asked"\nexit 1\n' "$work" >"$work/tree/selftests/run/vm"
	! check arm64 && grep ' KDTL_QUICK=1 .* KDTL_RACE_MS=0 .* kapi' "$work/asked" &&
		! check x86_64 && grep ' KDTL_QUICK=0 .* KDTL_RACE_MS= .* checkers' "$work/asked" &&
		! check --quick x86_64 && grep ' KDTL_QUICK=1 .* kapi .* chain$' "$work/asked" &&
		! grep checkers "$work/asked"
}

# A machine runs a script that hangs, between two that pass, one that leaves a stopped task behind
# which has its output open, and one that hangs while the kernel goes on printing.
in_machine()
{
	mkdir -p -- "$work/guest/guest" "$work/guest/run" "$work/out"
	cp -- "$top/selftests/run/tests" "$work/guest/run/"
	printf 'echo KTAP version 1; echo 1..1; echo ok 1 first\n' >"$work/guest/guest/first.sh"
	cat >"$work/guest/guest/last.sh" <<-'END'
	echo KTAP version 1; echo 1..1
	[ ! -e "/proc/$(cat /tmp/left)" ] && echo ok 1 last
	END
	cat >"$work/guest/guest/hangs.sh" <<-'END'
	echo KTAP version 1; echo 1..2; echo ok 1 before
	sleep 1000
	END
	cat >"$work/guest/guest/leaves.sh" <<-'END'
	echo KTAP version 1; echo 1..1
	sh -c 'kill -STOP $$' &
	until grep -q '^State:.T' /proc/$!/status; do :; done
	echo $! >/tmp/left
	echo ok 1 leaves
	END
	cat >"$work/guest/guest/noise.sh" <<-'END'
	echo KTAP version 1; echo 1..1
	while :; do echo noise >/dev/kmsg; sleep 1; done
	END
	"$top/selftests/run/vm" x86_64-6.1 --quiet --log "$work/console" --out "$work/out" \
		--add "$work/guest:/selftests" -- \
		env KDTL_SILENCE=10 sh /selftests/run/tests first hangs leaves noise last || [ $? = 1 ]
}

# On a busy host it takes longer than ten seconds if the kernel printed something in the first ten,
# or in the next.
hang_ended()
{
	[ "$(cat -- "$work/out/"{first,leaves,last}.status | tr '\n' ' ')" = '0 0 0 ' ] &&
		! grep -q '^# leaves: silent' "$work/console" &&
		[ "$(cat -- "$work/out/hangs.status")" -ne 0 ] &&
		grep -q '^ok 1 before$' "$work/out/hangs.ktap" &&
		grep -q '^# hangs: silent for [1-4]0 s, so it is ended' "$work/console" &&
		grep -q '^# noise: silent for 5[0-9] s, so it is ended' "$work/console" &&
		grep -q 'sysrq: Show Blocked State' "$work/console" &&
		grep -q 'sysrq: Show backtrace of all active CPUs' "$work/console"
}

# A subject runs each of its scripts once, those for guests in x86_64. A deep script of the same
# name does not run.
by_subject()
{
	local name

	echo 'things: one two kvm' >"$work/tree/selftests/subjects"
	for name in one three; do
		script "$name" <<<'echo "1..1"; echo "ok 1 it"'
	done
	mkdir -p -- "$work/tree/selftests/deep"
	echo 'exit 1' >"$work/tree/selftests/deep/two.sh"
	touch -- "$work/tree/selftests/guest/"{two,four}.sh
	machine 1 two <<<'kdtl-vm: up'
	! check things two &&
		[ "$(grep -c -x -E '(not )?ok [0-9]+ (one|x86_64.two|kvm.steal)' "$work/said")" = 3 ] &&
		! grep -E 'three|four|deep' "$work/said" || {
		cat -- "$work/said"
		return 1
	}
	! check nobody && grep 'no such test: nobody' "$work/errors" || return
	rm -r -- "$work/tree/selftests/deep" "$work/tree/selftests/guest/"*
}

# Each script has a subject, and each name there is that of a script or of a machine.
subjects()
{
	local given scripts

	given=$(sed '/^#/d; s/^[a-z]*://' "$top/selftests/subjects" | tr -s ' ' '\n' | sort -u | sed '/^$/d')
	scripts=$(cd -- "$top/selftests" && find host guest -maxdepth 1 -name '*.sh' ! -name ktap.sh \
		-printf '%f\n' | sed 's/\.sh$//' | sort -u)
	! comm -13 <(echo "$given") <(echo "$scripts") | sed 's/^/about nothing: /' | grep . &&
		! comm -23 <(echo "$given") <(echo "$scripts") | while read -r name; do
			grep -q "^$name " "$top/selftests/check" || echo "no such test: $name"
		done | grep .
}

"$top/scripts/install-deps" vm
plan 17
ok "a tree of stand-ins" tree
ok "tests, those of a suite, and what is skipped, are counted" counts
ok "a suite whose plan is missing fails" no_plan
ok "and so does one that says nothing at all" nothing_in_it
ok "what runs before each merge runs then only" tiers
ok "what ran before a panic counts, and the others are told" panics
ok "it boots again for those that had not begun" boots_again
ok "SIGTERM ends all at once, and what had passed is told" interrupted TERM
ok "so does SIGINT" interrupted INT
ok "what scripts of a machine had said by then counts" machine_interrupted
ok "it says what it waits for, and what took how long" tells
ok "two jobs at once, and one that sleeps beside them" beside
ok "races run in some machines only" races
ok "a subject has its scripts, and its machines" by_subject
ok "each script has a subject" subjects
ok "a machine goes on after a script that hangs" in_machine
ok "the stacks are in its log, and its other results count" hang_ended
finish
