#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs perf record, case by case, on a PMU that reads the hypervisor's log, while kdtl_fake_hv plays
# the hypervisor. Each case prints a line when it begins, and one with the results:
#
#	begin PMU CASE
#	seen PMU CASE perf=N dump=N dumped=N counted=N produced=N consumed=N ...
#
# perf, dump     exit status of perf record, and of perf report -D
# dumped         entries that the latter shows
# counted        dispatches that the hypervisor wrote and counted meanwhile
# produced, consumed, lost   of a session beside perf, kdtl_vpa only
# kept           logs that the driver has neither freed nor uses, vpa_dtl only
# reports        number of reports by the kernel's checkers
#
# and what vpa_data says about perf's recording. Before that come lines with reports, and with
# messages of the driver and the case: "report PMU CASE ...", "said PMU CASE ...".
#
# Exits with 3 after a case in which KASAN has reported something.
#
# usage: mainline-vpa-guest.sh PMU CASE...	(run by mainline-vpa.sh)
#        mainline-vpa-guest.sh --play PMU CASE	(run by perf record)

fake=/sys/kernel/debug/kdtl_fake_hv
test=/sys/kernel/debug/kdtl_client_vpa
papr=/sys/module/kdtl_fake_hv/parameters/papr
slab=/sys/kernel/slab/dtl
tmp=/tmp/mainline

hv()
{
	echo "$*" >$fake/ctl
}

# value FILE BEGINNING KEY: prints KEY's value from the line that begins so.
value()
{
	sed -n "s/^$2 \\(.* \\)\\{0,1\\}$3=\\([^ ]*\\).*/\\2/p" "$1"
}

counted()
{
	value $fake/info cpu=0 counted
}

# counts_to N: waits until the hypervisor has counted N, or has no log any more.
counts_to()
{
	until [ "$(counted)" -ge "$1" ]; do
		[ "$(value $fake/info cpu=0 registered)" = 1 ] || return
		usleep 50000
	done
}

# Is there a session beside perf? There is, where the log stays in place: it knows exactly what was
# lost.
with_session()
{
	[ "$pmu" != vpa_dtl ] || return
	case $name in
	last-ones | refused | busy | kept | again-after-*) return 1 ;;
	esac
}

# polled N: waits until the driver has seen N since the case began. A session tells that; without
# one, this waits much longer than a poll takes to come.
polled()
{
	if ! with_session; then
		usleep 300000
		return
	fi
	tries=0
	until [ "$(value $test/report 'session=0 cpu=0' produced)" -ge "$1" ]; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || return
		usleep 50000
	done
}

# Do what the case needs while perf records CPU 0. A log has 85 entries.
play()
{
	before=$(counted)
	case $name in
	ordinary | again-after-*) hv play 0 put=50; polled 50 ;;
	all-but-one) hv play 0 put=84; polled 84 ;;
	full) hv play 0 put=85; polled 85 ;;
	five-laps) hv play 0 put=426; polled 426 ;;
	uncounted) hv play 0 put=3 write=4; polled 3 ;;
	counted-late) hv play 0 put=3 write=4 count=4; polled 7 ;;
	unwritten) hv play 0 put=3 skip=2 put=3; polled 8 ;;
	half) hv play 0 put=3 half=2 put=3; polled 8 ;;
	half-over-old) hv play 0 put=168 half=2; polled 170 ;;
	time-0) hv play 0 put=3 zero=1 put=3; polled 7 ;;
	time-still) hv play 0 put=3 old=2 put=3; polled 8 ;;
	time-ahead) hv play 0 put=3 future=2 put=3; polled 8 ;;
	jump-ahead) jump 0x10000000000 put=10; polled 21 ;;
	jump-back) jump -5 put=10; polled 21 ;;
	jump-far-back) jump -0x7fffffffffffffff put=10; polled 21 ;;
	jump-to-wrap) jump -13 put=84; polled 95 ;;
	bursts) run 0 2000000 42 4000 ;;
	racing) run 1 0 7 50000 ;;
	slow-reader)
		kill -STOP $PPID
		run 0 10000000 40 3000
		kill -CONT $PPID
		usleep 1000000
		before=$(counted)
		hv play 0 put=20
		usleep 1000000
		echo "play: $(($(counted) - before)) of 20 more dispatches are logged"
		;;
	last-ones) hv play 0 put=10 ;;
	refused | busy) usleep 300000 ;;
	kept)
		hv play 0 put=10
		polled 10
		hv refuse 0 -1
		;;
	taken)
		hv play 0 put=10
		polled 10
		hv play 0 take
		polled 11
		hv play 0 put=10
		polled 21
		;;
	second-user)
		hv play 0 put=20
		polled 20
		perf record -e "$pmu/dtl_all/" -C 0 -m ,64K -o $tmp.second -- true \
			>/dev/null 2>&1
		echo "play: second perf record: exit status $?"
		hv play 0 put=20
		polled 40
		;;
	any-reason) hv play 0 put=50; polled 50 ;;
	esac
}

# jump BY STEP: jumps; the log is polled before, in between and after.
jump()
{
	hv play 0 put=10
	polled 10
	hv play 0 jump="$1"
	polled 11
	hv play 0 "$2"
}

# run FROM NS BURST N: writes entries at a rate, until so many are counted.
run()
{
	hv run 0 "$1" "$2" "$3"
	counts_to $((before + $4))
	hv halt 0
	polled $(($(counted) - before))
}

kept_logs()
{
	if [ "$pmu" != vpa_dtl ] || [ ! -w $slab/shrink ]; then
		echo -
		return
	fi
	# Logs that KASAN keeps back must be freed, too.
	echo 1 >$slab/shrink
	sed 's/ .*//' $slab/objects
}

record()
{
	options="-m ,1M"
	case $name in
	slow-reader) options="-m ,64K" ;;
	last-ones) options="-m ,1M -c 10000000000" ;;
	esac
	# shellcheck disable=SC2086 # several words
	timeout 600 perf record -e "$pmu/dtl_all/" -C 0 $options -o $tmp.data \
		-- sh "$0" --play "$pmu" "$name" >$tmp.record 2>&1
}

# lines WORD FILE: prints the file's most frequent lines, each after WORD.
lines()
{
	sort "$2" | uniq -c | sort -n -r | head -n 3 | sed "s/^ */$1 $pmu $name /"
}

seen()
{
	echo "begin $pmu $name"
	rm -f $tmp.*
	dmesg -c >/dev/null
	produced=- consumed=- lost=-
	logs=$(kept_logs)
	before=$(counted)
	case $name in
	refused) hv refuse -1 0 ;;
	busy) hv refuse 1 0 ;;
	any-reason) echo 0 >$papr ;;
	esac
	if with_session; then
		echo open >$test/ctl && echo start >$test/ctl || echo "no session"
	fi
	record
	perf=$?
	if with_session; then
		echo stop >$test/ctl
		cat $test/report >$tmp.report
		echo close >$test/ctl
		produced=$(value $tmp.report 'session=0 cpu=0' produced)
		consumed=$(value $tmp.report 'session=0 cpu=0' consumed)
		lost=$(value $tmp.report 'session=0 cpu=0' lost)
	fi
	counted=$(($(counted) - before))
	# The hypervisor goes on writing to a log that it has not given back.
	[ "$name" != kept ] || hv play 0 put=100
	hv refuse 0 0
	echo 1 >$papr
	[ ! -w $slab/validate ] || echo 1 >$slab/validate
	[ "$logs" = - ] || logs=$(($(kept_logs) - logs))
	words=$(vpa_data $tmp.data) || words="unreadable $words"
	timeout 120 perf report -D -i $tmp.data >$tmp.dump 2>/dev/null
	dump=$?
	dmesg -c | sed 's/^\[ *[0-9.]*\]\(\[ *[CT][0-9]*\]\)\{0,1\} *//' >$tmp.log
	grep -E '^(BUG|WARNING|UBSAN|Oops|Unable to handle|watchdog: BUG|INFO: )' \
		$tmp.log >$tmp.reports
	lines report $tmp.reports
	{
		grep -E '^(vpa_dtl|kdtl_vpa): ' $tmp.log
		sed -n 's/^play: //p' $tmp.record
		[ $perf -eq 0 ] || grep . $tmp.record
	} >$tmp.said
	lines said $tmp.said
	echo "seen $pmu $name perf=$perf dump=$dump" \
		"dumped=$(grep -c '^\..*dispatch_reason:' $tmp.dump)" \
		"counted=$counted produced=$produced consumed=$consumed" \
		"lost=$lost kept=$logs reports=$(wc -l <$tmp.reports) $words"
}

if [ "$1" = --play ]; then
	pmu=$2 name=$3
	play
	exit 0
fi

pmu=$1
shift
cd /lib/kdtl || exit
insmod kdtl_fake_hv.ko papr=1 || exit
if [ "$pmu" != vpa_dtl ]; then
	# Use logs as large as vpa_dtl's, so that the cases are the same.
	insmod kdtl.ko && insmod kdtl_vpa.ko name="$pmu" log_bytes=4096 &&
		insmod kdtl_client_vpa.ko pmu="$pmu" fake=1 || exit
fi
[ -d "/sys/bus/event_source/devices/$pmu" ] || {
	echo "no PMU $pmu"
	exit 4
}
for name; do
	seen
	# KASAN reports only once, so the cases that are left need a new machine.
	! grep -q '^BUG: KASAN' $tmp.reports || exit 3
done
[ "$(sed -n 's/.*complaint=//p' $fake/info | sort -u)" = none ] ||
	grep complaint $fake/info
exit 0
