#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests on a host that stalls. While scripts that measure, wait or sleep are running, their machine
# is stopped again and again, for up to 1.5 s. Its clock goes on, so each stop is time that none of
# its CPUs had. A test that blames kdtl for that is wrong: nothing may fail.
#
#	selftests/deep/stalls.sh [TARGET [SCRIPT]...]
#
# SEED  of the stops (default: random)
# CPUS  how many each machine has (4)
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
tests=$(dirname -- "$here")
top=$(dirname -- "$tests")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$tests/host/lib/ktap.sh"

# The machines and their scripts. On ppc64le each CPU is a thread of the emulator.
machines='
x86_64-6.1   kapi sched wake record watch sampler alarms top idle trace saturated stream chain
x86_64-6.1   pressure throttle scenario irq examples trigger held cgroups
ppc64le-6.1  kapi sched fakehv observe watch
'
[ $# -eq 0 ] || machines=$*
RANDOM=${SEED:=$RANDOM}
logs=${KDTL_LOGS:-$KDTL_CACHE}/stalls
rm -rf -- "$logs"
mkdir -p -- "$logs"

# emulator DIR: prints the process of the machine whose files are below DIR.
emulator()
{
	pgrep -f "^[^ ]*qemu-system-[^ ]* .*=$1/"
}

# pause MS: sleeps.
pause()
{
	sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

# stalls DIR: stops that machine and lets it go on, again and again, until this is killed. The
# machine is stopped for a fifth of the time.
stalls()
{
	local pid ms nr=0 all=0

	while :; do
		pause $((500 + RANDOM % 5000))
		pid=$(emulator "$1") || continue
		ms=$((1 + RANDOM % 1500))
		kill -STOP "$pid" 2>/dev/null || continue
		pause $ms
		kill -CONT "$pid" 2>/dev/null || continue
		nr=$((nr + 1)) all=$((all + ms))
		echo "$nr $all" >"$1.stalls"
	done
}

# run TARGET SCRIPT...: runs them; their files are in $logs/TARGET.
run()
{
	local target=$1 out=$logs/$1 stalls

	shift
	mkdir -p -- "$out/tmp"
	start_group stalls "$out"
	stalls=$group
	TMPDIR=$out/tmp KDTL_TIMEOUT=7200 KDTL_QUICK=1 run_group "$tests/run/boot" "$out" \
		"$target,--cpus,${CPUS:-4}" - "$@" >"$out/said" 2>&1 ||
		note "what the machine said: $out/console"
	# The machine may just have been stopped, but it has ended, so it does not matter.
	kill -TERM -- "-$stalls" 2>/dev/null
	wait_group "$stalls" || :
}

# passes TARGET SCRIPT: the script has passed, or does not apply there.
passes()
{
	local status=1

	[ ! -e "$logs/$1/$2.status" ] || read -r status <"$logs/$1/$2.status"
	[ "$status" -eq 4 ] || [ "$status" -eq 0 ] && return
	grep -B 6 '^ *not ok ' "$logs/$1/$2.ktap" || tail -n 20 "$logs/$1/$2.ktap" "$logs/$1/said"
	return 1
}

plan $(($(wc -w <<<"$machines")))
note_ktap "SEED=$SEED"
while read -r target scripts; do
	[ -n "$target" ] || continue
	# shellcheck disable=SC2086 # several words
	run "$target" $scripts </dev/null
	for script in $scripts; do
		ok "$target: $script" passes "$target" "$script"
	done
	nr=0 ms=0
	[ ! -e "$logs/$target.stalls" ] || read -r nr ms <"$logs/$target.stalls"
	note_ktap "$target was stopped $nr times, for $ms ms in all"
	ok "$target was stopped again and again" [ "$nr" -ge 10 ]
done <<<"$machines"
finish
