#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount, where an instruction takes a ns: how much of a CPU the sampler's
# reader takes, with pressure by cause and without, and how many dispatches there were meanwhile.
# Two pairs of tasks play ping-pong in two cgroups, so the pairs wait for each other. Between two
# switches they work for so long that there are RATE (100000) switches a second, if the machine can
# do so many.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

root=/tmp/kdtl-pressure
rate=${RATE:-100000}

# now: prints the ns since boot, the number of switches, and the CPU time of the reader, if there is
# one.
now()
{
	awk '
		FILENAME == "/proc/uptime" { ns = $1 * 1e9 }
		$1 == "ctxt" { switches = $2 }
		FILENAME ~ /schedstat/ { reader = $1 }
		END { printf "%.0f %.0f %.0f ", ns, switches, reader }' \
		/proc/uptime /proc/stat ${reader:+"/proc/$reader/schedstat"}
}

pair()
{
	sh -c "echo 0 >$root/$1/cgroup.procs; exec $BENCH/pingpong 1000000000 $2" >/dev/null &
	pids="$pids $!"
}

# play TICKS SECONDS: sets $took, $switches and $reader_ns for that time.
play()
{
	pids=
	pair a "$1"
	pair b "$1"
	sleep 2
	before=$(now)
	sleep "$2"
	# shellcheck disable=SC2046,SC2086 # several words
	set -- $before $(now)
	took=$(($4 - $1))
	switches=$(($5 - $2))
	reader_ns=$(($6 - $3))
	# shellcheck disable=SC2086 # several words
	kill $pids
	# shellcheck disable=SC2086 # several words
	wait $pids 2>/dev/null
}

# sampler NAME PARAMETER...: adds the results of its reader.
sampler()
{
	name=$1
	shift
	load kdtl_sampler pmu=kdtl_sched "$@"
	reader=$(grep -l -x kdtl_sampler /proc/[0-9]*/comm | cut -d / -f 3)
	play "$ticks" 3
	awk '!/^#/ && NF { lost += $5 } END { exit lost > 0 }' /sys/kernel/debug/kdtl_sampler/lines ||
		echo "# entries were lost"
	reader=
	rmmod kdtl_sampler
	result "pressure.$name.rate" "$((switches * 1000 / (took / 1000000)))" dispatches/s
	result "pressure.$name.dispatch" "$((reader_ns / switches))" instructions
	result "pressure.$name.percent" \
		"$(echo "$reader_ns $took" | awk '{ printf "%.2f", 100 * $1 / $2 }')" "% of a CPU"
}

mkdir -p "${RESULTS%/*}" $root
mount -t cgroup2 none $root || die "no cgroups"
mkdir -p $root/a $root/b
load kdtl
load kdtl_sched
load kdtl_answers
reader=
play 0 2
least=$((took / switches))
play 20000 2
# With so many ticks of work between two switches there are $rate switches a second.
ticks=$(echo "$least $((took / switches)) $rate" | awk '{
	ticks = 20000 * (1e9 / $3 - $1) / ($2 - $1)
	printf "%.0f", (ticks > 0 ? ticks : 0)
}')
echo "# a switch takes $least ns at least; $ticks ticks of work"
sampler none cgroups=0
sampler cgroups
