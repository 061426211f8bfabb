#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount: how many instructions a fork with its exit, an exec, a new name,
# a new nice value, and a wake-up with the dispatch that follows take with each client, loaded
# without parameters. What the client's own threads and timers do meanwhile is part of it.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

whats='fork exec rename renice wake'

# took WHAT: prints what one of these takes.
took()
{
	case $1 in
	fork | exec) "$BENCH/tasks" "$1" 500 ;;
	rename | renice) "$BENCH/tasks" "$1" 20000 ;;
	# A round trip has two wake-ups, a switch after each.
	wake) "$BENCH/pingpong" 10000 ;;
	esac
}

# client NAME: adds what each of them takes now.
client()
{
	for what in $whats; do
		result "client.$1.$what" "$(took "$what")" instructions
	done
}

with()
{
	name=$1
	shift
	load "$@"
	client "$name"
	rmmod "$1"
}

with_record()
{
	load kdtl_stream
	"$BENCH/kdtl" record -o /tmp/recording >/tmp/said 2>&1 &
	recorder=$!
	until [ -s /tmp/recording ]; do
		sleep 0.1
	done
	client record
	kill -INT "$recorder"
	wait "$recorder" || die "kdtl record: $(cat /tmp/said)"
	rm -f /tmp/recording
	rmmod kdtl_stream
}

mkdir -p "${RESULTS%/*}"
mkdir -p /sys/fs/cgroup
mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup || die "no cgroups"
# The caches are cold in the first run.
for what in $whats; do
	took "$what" >/dev/null
done
client nothing
load kdtl
load kdtl_sched
load kdtl_answers
client kdtl
for name in sampler watch recorder trace; do
	with "$name" "kdtl_$name" pmu=kdtl_sched
done
with_record
