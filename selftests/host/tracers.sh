#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# ftrace, Debian's perf and bpftrace each see in the trace client's event every entry that a
# test source makes, in the order of time. In the scheduler's entries each sees which cgroup
# waits behind which task.
#
# shellcheck disable=SC2154,SC2317 # $captured; functions that ok() calls

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"
# shellcheck source-path=SCRIPTDIR source=lib/libraries.sh
. "$here/lib/libraries.sh"

target=x86_64-6.1

# The tool runs this in the machine. It returns when all has been traced.
# shellcheck disable=SC2016
load='#!/bin/sh
	sessions=/sys/kernel/debug/kdtl/sessions
	until grep -q " started .*kdtl_trace" $sessions; do usleep 50000; done
	for cpu in 0 1 2 3 0 1 2 3; do
		echo burst $cpu 50 >/sys/kernel/debug/kdtl_fake/do
	done
	echo wait 1 2 >/sys/kernel/debug/kdtl_fake/do
	until grep -q " 401  *0  *0 .*kdtl_trace" $sessions; do usleep 50000; done
'
# This runs until 1000 dispatches have been traced.
# shellcheck disable=SC2016
some='#!/bin/sh
	until awk "/ started .*kdtl_trace/ && !/behind_begin/ { n = \$8 - \$9 }
		END { exit n < 1000 }" /sys/kernel/debug/kdtl/sessions; do
		usleep 50000
	done
'
# shellcheck disable=SC2016
guest='
	cd /lib/kdtl
	for m in kdtl kdtl_answers kdtl_sched kdtl_fake_pmu kdtl_fake_drive; do
		insmod $m.ko || exit
	done
	insmod kdtl_trace.ko pmu=kdtl_fake || exit
	ended() {
		while grep -q "\[kdtl_trace\]" /sys/kernel/debug/kdtl/sessions; do usleep 50000; done
	}
	cd /out
	perf record -a -e kdtl:kdtl_dispatch -o perf.data sh /load >perf.log 2>&1
	echo $? >perf.status
	perf script -i perf.data -F trace >perf.txt 2>>perf.log
	ended
	bpftrace -c "/bin/sh /load" -e "tracepoint:kdtl:kdtl_dispatch {
		@by[args->cpu] = count(); @longest = max(args->wait);
		if (args->time < @last) { @back = count(); } @last = args->time; }" \
		>bpftrace.txt 2>&1
	echo $? >bpftrace.status
	ended

	rmmod kdtl_trace && insmod /lib/kdtl/kdtl_trace.ko || exit
	mount -t cgroup2 none /sys/fs/cgroup
	mkdir /sys/fs/cgroup/web /sys/fs/cgroup/batch || exit
	printf "#!/bin/sh\nwhile :; do :; done\n" >/tmp/hog
	cp /tmp/hog /tmp/server
	chmod +x /tmp/hog /tmp/server
	sh -c "echo \$\$ >/sys/fs/cgroup/web/cgroup.procs; exec taskset 2 /tmp/server" &
	sh -c "echo \$\$ >/sys/fs/cgroup/batch/cgroup.procs; exec taskset 2 /tmp/hog" &
	hist=/sys/kernel/tracing/events/kdtl/kdtl_dispatch
	echo "hist:keys=path,culprit_comm:vals=wait,culprit_ns:sort=wait.descending" \
		>$hist/trigger
	sh /some
	cat $hist/hist >hist.txt
	echo "!hist:keys=path,culprit_comm:vals=wait,culprit_ns:sort=wait.descending" \
		>$hist/trigger
	ended
	perf record -a -e kdtl:kdtl_dispatch --filter "wait > 1000000" -o behind.data \
		sh /some >behind.log 2>&1
	perf script -i behind.data -F trace >behind.txt 2>>behind.log
	ended
	bpftrace -c "/bin/sh /some" -e "tracepoint:kdtl:kdtl_dispatch
		/args->culprit/ { @[str(args->path), args->culprit_comm] = sum(args->culprit_ns); }" \
		>culprits.txt 2>&1
	ended
'

runs()
{
	"$top/selftests/run/vm" $target --quiet --cpus 4 --mem 2G --timeout 600 \
		--log "$work/console" --out "$work" --modules "$kdtl" --add "$work/root:/" \
		-- "$guest"
}

perf_sees_all()
{
	cat -- "$work/perf.log"
	tail -n 3 -- "$work/perf.txt"
	[ "$(cat "$work/perf.status")" -eq 0 ] || return
	[ "$(sed -n 's/.*cpu=\([0-3]\) .*/\1/p' "$work/perf.txt" | sort | uniq -c |
		tr -s ' \n' ' ')" = " 100 0 101 1 100 2 100 3 " ] &&
		[ "$(grep -c 'wait=2000000000 ' "$work/perf.txt")" -eq 1 ] &&
		sed -n 's/.* time=\([0-9]*\) .*/\1/p' "$work/perf.txt" | sort -c -n
}

bpftrace_sees_all()
{
	cat -- "$work/bpftrace.txt"
	[ "$(cat "$work/bpftrace.status")" -eq 0 ] &&
		[ "$(sed -n 's/^@by\[\([0-3]\)\]: /\1 /p' "$work/bpftrace.txt" | sort |
			tr '\n' ' ')" = "0 100 1 101 2 100 3 100 " ] &&
		grep -q '^@longest: 2000000000$' "$work/bpftrace.txt" &&
		! grep -q '^@back: [1-9]' "$work/bpftrace.txt"
}

# Two tasks share CPU 1, so the server waits behind the hog more than behind all others.
ftrace_sees_behind()
{
	cat -- "$work/hist.txt"
	grep -v '^#' "$work/hist.txt" | grep -m 1 'path: /web ' |
		grep -q 'culprit_comm: hog .*wait: *[1-9].*culprit_ns: *[1-9]'
}

perf_sees_behind()
{
	tail -n 3 -- "$work/behind.log" "$work/behind.txt"
	[ "$(grep -c 'comm=server .* path=/web culprit=[0-9]* culprit_comm=hog ' \
		"$work/behind.txt")" -ge 20 ]
}

bpftrace_sees_behind()
{
	cat -- "$work/culprits.txt"
	[ "$(grep '^@\[/web, ' "$work/culprits.txt" | sort -t : -k 2 -n -r | head -n 1 |
		sed 's/:.*//')" = '@[/web, hog]' ]
}

"$top/scripts/install-deps" tracers
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-tracers.XXXXXX")
partial "$work"
capture "$top/scripts/build" $target
kdtl=$captured
mkdir -p -- "$work/root"
echo "$load" >"$work/root/load"
echo "$some" >"$work/root/some"
for program in perf bpftrace; do
	with_libraries "$work/root" "/usr/bin/$program" || die "no $program"
done

plan 6
ok "perf and bpftrace run" runs
ok "perf record and perf script: every entry, in the order of time" perf_sees_all
ok "bpftrace: every entry, in the order of time" bpftrace_sees_all
ok "a histogram of ftrace: who waits, and behind whom" ftrace_sees_behind
ok "perf record and perf script: the same of long waits" perf_sees_behind
ok "bpftrace: the same" bpftrace_sees_behind
finish
