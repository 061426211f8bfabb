#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine of deep/mutants.sh: the tests of one mutant after the other, each until one of
# them notices. The list is on stdin, a line for each mutant: NUMBER TEST...
#
# Prints about each test: mutant NUMBER: TEST noticed|passed|skipped SECONDS
#
#   MUTANTS_LIMIT  how many seconds a test may take, by the clock of this machine (600)

guest=/selftests/guest
chosen=/sys/module/mutant/parameters/nr
export KDTL_QUICK=1 KDTL_RACE_MS=200 KDTL_SILENCE=0
echo 1 >/proc/sys/kernel/panic_on_warn
# Make tasks that hang and CPUs that spin noticed, too.
echo 1 >/proc/sys/kernel/softlockup_panic

# run TEST: runs a script of the guest, or of SCRIPT:CASES only the cases.
run()
{
	# shellcheck disable=SC2030 # for that script
	export KDTL_MUTANT="$nr" KDTL_CASES=
	case $1 in
	*:*) KDTL_CASES=$(echo "${1#*:}" | tr , ' ') ;;
	esac
	# Before the test has begun, what the last one said must not count.
	: >/tmp/said
	setsid timeout -k 10 "${MUTANTS_LIMIT:-600}" sh "$guest/${1%%:*}.sh" >/tmp/said 2>&1 </dev/null &
	pid=$!
	# The first row that fails is enough.
	while kill -0 $pid 2>/dev/null; do
		! grep -q '^not ok' /tmp/said || kill -- -$pid 2>/dev/null
		usleep 300000
	done
	wait $pid
	set -- $?
	# Processes that it left behind would disturb the next tests.
	kill -KILL -- -$pid 2>/dev/null
	return "$1"
}

# Unload all modules; if a mutant leaves one behind, nothing more can be tried in this machine. A test
# that was ended may have left its disk, mounts, cgroups and trace, and the next one wants its own.
clean()
{
	rmdir /sys/kernel/tracing/instances/* 2>/dev/null
	awk '$2 ~ "^/tmp/" { print $2, $3 }' /proc/mounts >/tmp/mounts
	while read -r mount type; do
		[ "$type" != cgroup2 ] ||
			find "$mount" -mindepth 1 -depth -type d -exec rmdir {} \; 2>/dev/null
		umount "$mount"
	done </tmp/mounts
	for _ in 1 2 3; do
		awk '/^kdtl|^null_blk/ { print $1 }' /proc/modules >/tmp/modules
		while read -r module; do
			rmmod "$module" 2>/dev/null
		done </tmp/modules
	done
	! grep '^kdtl' /proc/modules
}

insmod "${KDTL_MODULES:-/lib/kdtl}/mutant.ko" || exit 3
while read -r nr tests; do
	echo "$nr" >$chosen
	for t in $tests; do
		echo "mutant $nr: $t begins"
		read -r from _ </proc/uptime
		result=passed
		run "$t" || { [ $? -eq 4 ] && result=skipped || result=noticed; }
		read -r to _ </proc/uptime
		! grep -q '^ *Bail out\|^ *not ok' /tmp/said || result=noticed
		[ $result = passed ] || grep '^ *#\|^ *not ok\|^ *Bail out\|^[^ok1K ]' /tmp/said |
			tail -n "${MUTANTS_LINES:-4}" | sed 's/^/    /' | grep . || sed 's/^/    /' /tmp/said
		echo "mutant $nr: $t $result $((${to%.*} - ${from%.*}))"
		clean || exit 3
		[ $result != noticed ] || break
	done
done
