#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl_dtl, sessions on the entries of Linux's own vpa_dtl, while kdtl_fake_hv plays
# the hypervisor. The entries that they see are compared, one by one, with those that
# sessions on kdtl_vpa see when the hypervisor does the same again.
#
#	selftests/run/vm ppc64le-7.2-aux --cpus 2 --modules "$(scripts/build ppc64le-7.2-aux)" \
#		--add selftests:/selftests -- sh /selftests/guest/dtl.sh
#
# If perf is in the machine (run/perf-files), it records beside the sessions.
#
# shellcheck disable=SC2086,SC2317 # words without spaces; functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

test=/sys/kernel/debug/kdtl_client_vpa
fake=/sys/kernel/debug/kdtl_fake_hv
cpu1=/sys/devices/system/cpu/cpu1/online
tmp=${TMPDIR:-/tmp}/dtl.$$

ctl()
{
	echo "$*" >$test/ctl
}

hv()
{
	echo "$*" >$fake/ctl
}

# produced SESSION CPU
produced()
{
	cat $test/report | field produced "session=$1" "cpu=$2"
}

has_produced()
{
	[ "$(produced "$1" "$2")" -ge "$3" ]
}

counted()
{
	field counted "cpu=$1" <$fake/info
}

# both N: makes N more entries on each CPU, in pieces that fit into a log and are polled one by one.
nr=0
both()
{
	both_left=$1
	while [ "$both_left" -gt 0 ]; do
		nr=$((nr + 40))
		both_left=$((both_left - 40))
		hv play 0 put=40 && hv play 1 put=40 || return
		until_true has_produced 0 0 $nr && until_true has_produced 0 1 $nr || return
	done
}

# saw FILE: writes there what the first session saw, without the entries' times.
saw()
{
	cut -d ' ' -f 1,3- $test/entries >"$1"
}

# all_right [KEY]: all entries are read, none is wrong, repeated or missing. KEY is left out,
# as it means something else here: the counters are those of one set (ctr_entries), or the
# hypervisor has numbered anew, because the log was registered anew (repeated).
all_right()
{
	awk -v but="${1:-}" '
	/^session=/ {
		split("", v)
		for (i = 1; i <= NF; i++) {
			split($i, f, "=")
			v[f[1]] = f[2] + 0
		}
		if (but == "ctr_entries")
			v[but] = v["produced"]
		else
			v[but] = 0
		n += v["entries"]
		if (v["bad_sum"] || v["repeated"] || v["backwards"] || v["unread"] ||
		    v["lost"] != v["ctr_lost"] || v["consumed"] != v["entries"] ||
		    v["produced"] != v["consumed"] + v["lost"] ||
		    v["produced"] != v["ctr_entries"]) {
			print "# " $0
			bad = 1
		}
	}
	END { exit bad || !n }' "$tmp.report"
}

# end NAME: stops the sessions, and keeps the report and the entries.
end()
{
	ctl stop && cat $test/report >"$tmp.report" && saw "$tmp.$source.$1" && ctl close
}

# Five thousand entries on each of two CPUs go four times around the area of vpa_dtl.
play_ordinary()
{
	nr=0
	before=$(counted 0)
	ctl open 1048576 && ctl start && both 5000 || return
	# The last ones are there when the session has stopped, although nothing has polled.
	hv play 0 put=30 && end ordinary && all_right || return
	is "$(wc -l <"$tmp.$source.ordinary")" $((2 * nr + 30)) &&
		is "$(($(counted 0) - before))" $((nr + 30))
}

# The first session wants one kind, the second one all of them.
play_mask()
{
	nr=0
	ctl attr 0 1 0 && ctl open && ctl start || return
	hv play 0 put=80 && until_true has_produced 1 0 80 &&
		hv play 0 put=80 && until_true has_produced 1 0 160 &&
		end mask && all_right || return
	[ "$(wc -l <"$tmp.$source.mask")" -lt 160 ]
}

# After 100 entries, the first session switches to a set with another kind.
play_sets()
{
	nr=0
	ctl sets 100 2 && ctl open && ctl start || return
	for _ in 1 2 3 4; do
		nr=$((nr + 80))
		hv play 0 put=80 && until_true has_produced 1 0 $nr || return
	done
	end sets && all_right ctr_entries || return
	[ "$(wc -l <"$tmp.$source.sets")" -lt 320 ]
}

play_merge()
{
	nr=0
	ctl open && ctl start && ctl merge && both 400 && ctl stop || return
	cat $test/report >"$tmp.report"
	saw "$tmp.$source.merge" && ctl close || return
	grep '^merge ' "$tmp.report"
	is "$(field disordered merge <"$tmp.report")" 0 &&
		[ "$(field entries merge <"$tmp.report")" -ge 400 ]
}

play_hotplug()
{
	nr=0
	ctl open && ctl start && both 80 && echo 0 >$cpu1 || return
	! hv play 1 put=1 2>/dev/null || return
	echo 1 >$cpu1 || return
	hv play 1 put=40 && until_true has_produced 0 1 120 && end hotplug && all_right repeated
}

# Some entries are gone before anybody could read them, even from a log of 64 KiB (1365 entries).
lapped()
{
	ctl open && ctl start && hv play 0 put=2000 && until_true has_produced 0 0 80 &&
		hv play 0 put=40 && end lapped && all_right || return
	[ "$(field lost session=0 cpu=0 <"$tmp.report")" -ge 1 ]
}

played()
{
	source=$1
	"play_$2"
}

same()
{
	cmp "$tmp.dtl.$1" "$tmp.vpa.$1" && return
	diff "$tmp.dtl.$1" "$tmp.vpa.$1" | head -n 20 | sed 's/^/# /'
	return 1
}

perf_has_log()
{
	[ "$(field registered cpu=0 <$fake/info)" = 1 ]
}

# A session and perf share the CPU's log: the session also has all entries while perf records.
play_perf()
{
	nr=0
	perf record -e vpa_dtl/dtl_all/ -C 0 -o "$tmp.data" -- sleep 600 >"$tmp.perf" 2>&1 &
	perf=$!
	until_true perf_has_log && ctl open && ctl start && both 400 && end perf && all_right
	result=$?
	kill -INT $perf
	wait $perf
	cat "$tmp.perf"
	# 400 entries of 48 bytes, and the time base.
	[ $result -eq 0 ] && [ "$(wc -c <"$tmp.data")" -gt 19248 ]
}

# perf comes and goes while a session has the log.
perf_comes_later()
{
	nr=0
	ctl open && ctl start && both 80 &&
		perf record -e vpa_dtl/dtl_cede/ -C 0 -o "$tmp.data" -- true >"$tmp.perf" 2>&1 &&
		perf_has_log && both 80 && end later && all_right repeated && return
	cat "$tmp.perf"
	return 1
}

need_modules kdtl kdtl_dtl kdtl_fake_hv kdtl_client_vpa
[ -d /sys/bus/event_source/devices/vpa_dtl ] || skip_all "no PMU vpa_dtl"
[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
[ -d /sys/kernel/debug/tracing ] || mount -t debugfs none /sys/kernel/debug 2>/dev/null
cases='ordinary mask sets merge hotplug'
plan 22

ok "kdtl loads" load kdtl
ok "kdtl_fake_hv loads" load kdtl_fake_hv
ok "kdtl_dtl loads" load kdtl_dtl
ok "a session finds it by vpa_dtl's name" load kdtl_client_vpa fake=1 pmu=vpa_dtl
for name in $cases; do
	ok "vpa_dtl: $name" played dtl $name
done
source=dtl
ok "vpa_dtl: what the hypervisor has overwritten counts as lost" lapped
if command -v perf >/dev/null; then
	ok "a session beside perf" play_perf
	ok "perf beside a session" perf_comes_later
else
	skip "a session beside perf" "no perf"
	skip "perf beside a session" "no perf"
fi
unload kdtl_client_vpa
unload kdtl_dtl
if have_module kdtl_vpa; then
	# This log is also polled every millisecond. Its entries do not depend on its size.
	load kdtl_vpa log_bytes=4096 || bail_out "kdtl_vpa does not load"
	load kdtl_client_vpa fake=1 || bail_out "kdtl_client_vpa does not load"
fi
for name in $cases; do
	if have_module kdtl_vpa; then
		ok "kdtl_vpa: $name" played vpa $name
		ok "the same entries: $name" same $name
	else
		skip "kdtl_vpa: $name" "no kdtl_vpa"
		skip "the same entries: $name" "no kdtl_vpa"
	fi
done
rm -f "$tmp".*
finish
