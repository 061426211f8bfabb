#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, ppc64le under -icount: what it costs to read the hypervisor's log, with
# kdtl_vpa and with Linux's own readers, and which rates they can sustain. kdtl_fake_hv plays the
# hypervisor: its timer interrupts a fixed amount of work. The cost of reading is what the work
# takes beyond what it takes with a log that nobody reads.

#
# hv.sh [guard]	all (default), or the few figures that make check looks at

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

# Each loop is a fourth of an instruction, as the compiler makes it: 50 ms in all.
export LOOPS="${LOOPS:-200000000}"
# How often each is measured. Timer interrupts that happen to coincide with the hypervisor's cost
# less, so a single run says little.
times=${TIMES:-7}
fake=/sys/kernel/debug/kdtl_fake_hv
own=/sys/kernel/debug/kdtl_client_vpa/ctl
rates=${RATES:-'1000 10000 40000 80000 90000 200000 300000 400000 600000 800000 1000000 1500000'}

calc()
{
	awk "BEGIN { printf \"$1\", $2 }"
}

counted()
{
	sed -n 's/^cpu=0 .* counted=\([0-9]*\).*/\1/p' $fake/info
}

# run RATE: prints the command for a rate of entries a second. They come evenly but, above 100,000,
# a few every 10 us, because otherwise nothing else would run.
run()
{
	if [ "$1" -le 100000 ]; then
		echo "run 0 0 $((1000000000 / $1)) 1"
	else
		echo "run 0 0 10000 $(($1 / 100000))"
	fi
}

# work RATE: prints how many instructions it took, and how many timer interrupts there were. If
# $ramp is set, the rate is doubled until it is reached.
work()
{
	if [ "$1" -eq 0 ]; then
		"$BENCH/spin" "$LOOPS"
	elif [ "$ramp" = no ]; then
		"$BENCH/spin" "$LOOPS" $fake/ctl "$(run "$1")" "halt 0"
	else
		"$BENCH/spin" "$LOOPS" $fake/ctl "$(run $(($1 / 32)))" \
			"$(run $(($1 / 16)))" "$(run $(($1 / 8)))" \
			"$(run $(($1 / 4)))" "$(run $(($1 / 2)))" \
			"$(run "$1")" "halt 0"
	fi
}

# Linux's own programs run a command of one word, which comes here.
if [ "$1" = work ]; then
	ramp=$3 work "$2"
	exit
fi

# measure READER RATE: sets $ns to what the work took, $irqs, $hv to the number of entries that the
# hypervisor wrote, and $got to the number that reached the reader.
measure()
{
	hv=$(counted)
	"reader_$1" "$2"
	irqs=${ns#* } ns=${ns% *}
	hv=$(($(counted) - hv))
}

# typical READER RATE: measures $times times, and sets the same variables to those of the median
# run. If runs have lost entries, only those count.
typical()
{
	for _ in $(seq "$times"); do
		measure "$1" "$2"
		echo "$ns $irqs $hv $got"
	done >/tmp/runs
	grep -q . /tmp/runs || die "no run of $1"
	runs=$(awk '$3 != $4' /tmp/runs)
	[ -n "$runs" ] || runs=$(cat /tmp/runs)
	read -r ns irqs hv got <<-END
		$(echo "$runs" | sort -n | awk '{ run[NR] = $0 } END { print run[int((NR + 1) / 2)] }')
	END
}

reader_nobody()
{
	echo own 0 >$own || die "no log"
	ns=$(work "$1") || die "work"
	echo disown >$own
	got=0
}

reader_kdtl()
{
	load bench_kdtl pmu=kdtl_vpa aux_pages=512
	[ "$nap" = no ] || sleep "$nap"
	ns=$(work "$1") || die "work"
	rmmod bench_kdtl
	got=$(said bench_kdtl produced)
	[ "$got" -eq $(($(counted) - hv)) ] || die "kdtl counted $got"
	got=$((got - $(said bench_kdtl lost)))
}

reader_vpa_dtl()
{
	ns=$("$BENCH/vpa_dtl" 1000000 "$BENCH/hv-work" "$1" "$ramp" 2>/tmp/said) ||
		die "$(cat /tmp/said)"
	got=$(sed -n 's/^vpa_dtl: entries //p' /tmp/said)
}

reader_debugfs_dtl()
{
	ns=$("$BENCH/dtl_read" "$BENCH/hv-work" "$1" "$ramp" 2>/tmp/said) ||
		die "$(cat /tmp/said)"
	got=$(sed -n 's/^dtl_read: entries //p' /tmp/said)
}

# Measures what the work takes if nobody reads, and how many timer interrupts there are.
nobody()
{
	for rate in 0 $rates; do
		typical nobody "$rate"
		echo "$rate $ns $irqs"
	done >/tmp/nobody
}

# nobody_is COLUMN RATE: prints that.
nobody_is()
{
	awk -v column="$1" -v rate="$2" '$1 == rate { print $column }' /tmp/nobody
}

# rest NAME READER: what it costs, and how many timer interrupts there are, if nothing is logged.
rest()
{
	LOOPS=$((LOOPS * 16))
	measure nobody 0
	alone=$ns ticks=$irqs
	measure "$2" 0
	LOOPS=$((LOOPS / 16))
	result "hv.rest.$1" "$(calc %.0f "($ns - $alone) * 1e9 / $ns")" instructions/s
	result "hv.polls.$1.0" "$(calc %.0f "($irqs - $ticks) * 1e9 / $ns")" polls/s
}

timer_irqs()
{
	awk '$1 == "LOC:" { print $2; exit }' /proc/interrupts
}

# asleep SECONDS: prints how many timer interrupts there are while the CPU is idle.
asleep()
{
	before=$(timer_irqs)
	sleep "$1"
	echo $(($(timer_irqs) - before))
}

# idle NAME: how many of an idle CPU's timer interrupts are due to kdtl.
idle()
{
	asleep 4 >/dev/null
	ticks=$(asleep 4)
	load bench_kdtl pmu=kdtl_vpa aux_pages=512
	irqs=$(asleep 4)
	rmmod bench_kdtl
	result "hv.polls.$1.idle" "$(calc %.0f "($irqs - $ticks) / 4")" polls/s
}

# sudden NAME READER: tries rates that start at once, until entries are lost.
sudden()
{
	best=0 lossy=''
	for rate in $rates; do
		typical "$2" "$rate"
		polls=$((irqs - $(nobody_is 3 "$rate")))
		echo "# $1: $rate a second, $hv entries, $((hv - got)) lost," \
			"$polls polls"
		result "hv.lost.$1.$rate" "$(calc %.4f "1 - $got / $hv")" ratio
		if [ "$got" -ne "$hv" ]; then
			# Try one rate more, to see where it leads.
			[ -z "$lossy" ] || break
			lossy=$rate
			continue
		fi
		[ -n "$lossy" ] || best=$rate
		result "hv.entry.$1.$rate" "$(calc %.1f \
			"($ns - $(nobody_is 2 "$rate")) / $hv")" instructions
		# At higher rates the polls often coincide with the hypervisor's timer.
		[ "$rate" -gt 10000 ] || result "hv.polls.$1.$rate" \
			"$(calc %.0f "$polls * 1e9 / $ns")" polls/s
	done
	result "hv.sudden.$1" "$best" entries/s
}

# rising NAME READER: tries rates that are reached in steps, until entries are lost.
rising()
{
	ramp=yes
	best=0
	for rate in $rates; do
		[ "$rate" -ge 10000 ] || continue
		measure "$2" "$rate"
		echo "# $1: up to $rate a second, $hv entries, $((hv - got)) lost"
		[ "$got" -eq "$hv" ] || break
		best=$rate
	done
	ramp=no
	result "hv.rate.$1" "$best" entries/s
}

# The figures that make check looks at: polls at rest, and rates that must be sustained. The small
# log fails at one of them, which shows that losses are noticed.
guard()
{
	load kdtl_vpa
	rest kdtl kdtl
	idle kdtl
	lost kdtl 300000
	# Start from an idle state.
	nap=1
	lost kdtl.idle 300000
	nap=no
	ramp=yes
	lost kdtl 1000000
	ramp=no
	rmmod kdtl_vpa
	load kdtl_vpa log_bytes=4096
	lost kdtl.4096 300000
	rmmod kdtl_vpa
}

# lost NAME RATE: measures how many entries are lost.
lost()
{
	measure kdtl "$2"
	[ "$hv" -gt 0 ] || die "the hypervisor wrote nothing"
	result "hv.lost.$1.$2" "$((hv - got))" entries
}

consume()
{
	load bench_reader
	for name in kdtl kfifo trace_ring_buffer; do
		# The module says ticks of the time base.
		result "hv.consume.$name" "$(calc %.1f \
			"$(said bench_reader "consume.$name") * 1000 / 512")" \
			instructions
	done
	rmmod bench_reader
}

ramp=no nap=no
mkdir -p "${RESULTS%/*}"
# shellcheck disable=SC2016 # for the other shell
printf '#!/bin/sh\nexec sh %s/hv.sh work "$1" "$2"\n' "$BENCH" >"$BENCH/hv-work"
chmod +x "$BENCH/hv-work"
load kdtl
load kdtl_fake_hv
load kdtl_client_vpa
if [ "$1" = guard ]; then
	guard
	exit
fi
consume
nobody
load kdtl_vpa
rest kdtl kdtl
idle kdtl
sudden kdtl kdtl
rising kdtl kdtl
rmmod kdtl_vpa
load kdtl_vpa log_bytes=4096
sudden kdtl.4096 kdtl
rising kdtl.4096 kdtl
rmmod kdtl_vpa
if [ -e "$BENCH/mainline_dtl.ko" ]; then
	insmod "$BENCH/mainline_dtl.ko" || die "mainline_dtl does not load"
	rest vpa_dtl vpa_dtl
	sudden vpa_dtl vpa_dtl
	rising vpa_dtl vpa_dtl
	rest debugfs_dtl debugfs_dtl
	sudden debugfs_dtl debugfs_dtl
	rising debugfs_dtl debugfs_dtl
	said=$("$BENCH/dtl_read" cost) || die "dtl_read"
	result hv.consume.debugfs_dtl "$said" instructions
else
	skipped hv.*.vpa_dtl "Linux's own users of the log were not built"
fi
