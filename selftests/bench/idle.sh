#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest: what kdtl's users cost a machine on which nothing runs, in timer interrupts,
# interrupts from other CPUs, and context switches, on all CPUs together, a second. All figures
# include those that the idle machine has anyway.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

SECONDS_EACH=${SECONDS_EACH:-20}

# counts: prints the timer interrupts, those from other CPUs, and the switches since the boot.
counts()
{
	awk '
	FILENAME == "/proc/interrupts" && $1 ~ /:$/ {
		for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) {
			if ($1 == "LOC:")
				timer += $i
			if ($1 ~ /^(RES|CAL|TLB|IWI):$/)
				ipi += $i
		}
	}
	$1 == "ctxt" { switches = $2 }
	END { print timer, ipi, switches }' /proc/interrupts /proc/stat
}

# costs NAME: measures what runs now.
costs()
{
	# Let what was loaded settle first.
	sleep 3
	before=$(counts)
	sleep "$SECONDS_EACH"
	echo "$before $(counts)" | awk -v name="$1" -v s="$SECONDS_EACH" '{
		n = split("timer ipi switches", what, " ")
		for (i = 1; i <= n; i++)
			printf "idle.%s.%s\t%.1f\ta second\n", what[i], name, ($(i + 3) - $i) / s
	}' | tee -a "$RESULTS"
}

# costs_module NAME MODULE [PARAMETER]...: measures it.
costs_module()
{
	name=$1
	shift
	load "$@"
	costs "$name"
	rmmod "$1"
}

mkdir -p "${RESULTS%/*}"
costs nothing
load kdtl
load kdtl_sched
load kdtl_answers
costs_module sessions.8 bench_kdtl sessions=8 aux_pages=64
costs_module sessions.8.reading bench_kdtl sessions=8 aux_pages=64 reading=1
costs_module watch kdtl_watch
costs_module sampler kdtl_sampler
costs_module recorder kdtl_recorder
load kdtl_stream
cat /dev/kdtl >/dev/null &
reader=$!
costs stream
kill $reader
wait $reader 2>/dev/null
rmmod kdtl_stream
costs nothing.again
