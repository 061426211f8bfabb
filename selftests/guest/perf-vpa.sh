#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The perf tool works on kdtl_vpa, under the name by which the tool knows the hypervisor's
# log: its decoder reads, entry by entry, what a kernel session got.
#
#   selftests/run/vm ppc64le-nested --modules "$(scripts/build ppc64le-6.1)" \
#	--add "$(selftests/run/perf-files):/" --add selftests:/selftests \
#	-- sh /selftests/guest/perf-vpa.sh
#
# shellcheck disable=SC2086,SC2317 # names without blanks; functions that ok()
# calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

pmu=vpa_dtl
test=/sys/kernel/debug/kdtl_client_vpa
sysfs=/sys/bus/event_source/devices/$pmu
cpus=$(grep -c '^processor' /proc/cpuinfo)
tmp=${TMPDIR:-/tmp}/perf-vpa.$$

ctl()
{
	echo "$*" >$test/ctl
}

lists_events()
{
	perf list $pmu >"$tmp.list" 2>&1
	for event in dtl_all dtl_cede dtl_fault dtl_preempt; do
		grep -q "$pmu/$event/" "$tmp.list" || return
	done
}

record()
{
	perf record -e $pmu/dtl_all/ -a -m ,16M -o "$tmp.data" -- sleep 1 >"$tmp.record" 2>&1
	status=$?
	[ $status -eq 0 ] || sed 's/^/# /' "$tmp.record"
	return $status
}

# Makes a line for each entry, with the same fields as kdtl_client_vpa's, and its time
# in seconds. perf prints an entry on two lines.
decode_script()
{
	perf script -i "$tmp.data" >"$tmp.script" 2>"$tmp.err" || return
	awk '
	/vpa-dtl:/ {
		match($0, /\[[0-9]+\]/)
		cpu = substr($0, RSTART + 1, RLENGTH - 2) + 0
		match($0, /[0-9]+\.[0-9]+:/)
		second = substr($0, RSTART, RLENGTH - 1)
		sub(/.*vpa-dtl: */, "")
		gsub(/[:,]/, " ")
		split($0, f, " ")
		first = f[2] " " f[4] " " f[6]
		next
	}
	/^enqueue_to_dispatch_time:/ {
		gsub(/[:,]/, " ")
		split($0, f, " ")
		while (length(f[9]) < 16)
			f[9] = "0" f[9]
		print cpu, first, f[2], f[4], f[6], f[8], f[9], second
	}' "$tmp.script" | sort -n -k 1,1 -k 2,2 >"$tmp.decoded"
	for cpu in $(seq 0 $((cpus - 1))); do
		entries=$(grep -c "^$cpu " "$tmp.decoded")
		note "CPU $cpu: perf script has $entries entries"
		[ "$entries" -gt 0 ] || return
	done
}

# Here the entries come CPU by CPU, as they lie in the AUX areas.
decode_dump()
{
	perf report -D -i "$tmp.data" >"$tmp.dump" 2>"$tmp.err" || return
	awk '
	/PERF_RECORD_AUXTRACE size/ { cpu = $NF }
	/boot_tb:/ {
		gsub(/,/, "")
		print "boot", cpu, $4, $6
	}
	/^\..*dispatch_reason:/ {
		gsub(/[:,]/, " ")
		print "entry", cpu, $4, $6, $8, $10, $12
	}' "$tmp.dump" >"$tmp.dumped"
}

# The dump does not show the time base, nor the last fields.
same_in_dump()
{
	sed -n 's/^entry //p' "$tmp.dumped" | sort -s -n -k 1,1 >"$tmp.a"
	awk '{ print $1, $3, $4, $5, $6, $7 }' "$tmp.decoded" >"$tmp.b"
	cmp "$tmp.a" "$tmp.b"
}

# Each CPU's entries begin with one that has the session's time base.
time_base_entry()
{
	for cpu in $(seq 0 $((cpus - 1))); do
		echo "boot $cpu $(sed -n "s/^session=0 cpu=$cpu .*tb_freq=\([0-9]*\) tb_boot=\([0-9]*\) .*/\2 \1/p" \
			$test/report)"
	done >"$tmp.a"
	grep '^boot' "$tmp.dumped" | sort >"$tmp.b"
	cmp "$tmp.a" "$tmp.b"
}

# perf's clock is the kernel's: seconds since boot.
times_fit()
{
	read -r _ _ boot freq <"$tmp.dumped"
	awk -v boot="$boot" -v freq="$freq" '{
		diff = ($2 - boot) / freq - $10
		if (diff > 0.000002 || diff < -0.000002) {
			if (!bad++)
				printf "# %s: %.9f s apart\n", $0, diff
		}
	}
	END { exit bad || !NR }' "$tmp.decoded"
}

# perf's entries are the session's, field by field, without a gap, on each CPU.
same_in_session()
{
	awk '
	NR == FNR {
		n[$1]++
		entry[$1, n[$1]] = $0
		at[$1, $2] = n[$1]
		next
	}
	{
		sub(/ [^ ]*$/, "")
		i = ($1 in next_one) ? next_one[$1] : at[$1, $2]
		if (entry[$1, i] != $0) {
			bad = 1
			print "# perf: " $0
			print "# kdtl: " entry[$1, i]
			exit
		}
		next_one[$1] = i + 1
		same++
	}
	END {
		print "# " same " entries are the same"
		exit bad || !same
	}' $test/entries "$tmp.decoded"
}

# No data is lost, truncated or partial, and no record is lost.
flags_clean()
{
	grep -q 'PERF_RECORD_AUX offset' "$tmp.dump" &&
		! grep 'PERF_RECORD_AUX offset' "$tmp.dump" | grep -v 'flags: 0 ' &&
		! grep 'PERF_RECORD_LOST' "$tmp.dump"
}

kdtl_vpa_is_used()
{
	grep -q '^kdtl_vpa [0-9]* [1-9]' /proc/modules
}

refuses_to_unload()
{
	background perf record -e $pmu/dtl_all/ -a -o "$tmp.data2" \
		-- sleep 100 2>/dev/null
	until_true kdtl_vpa_is_used || return
	rmmod kdtl_vpa 2>/dev/null && return 1
	kill -INT $!
	wait $!
	is_loaded kdtl_vpa
}

gone()
{
	unload kdtl_vpa && unload kdtl && [ ! -e $sysfs ]
}

command -v perf >/dev/null || skip_all "no perf tool"
[ "$(uname -m)" = ppc64le ] || [ "$(uname -m)" = ppc64 ] ||
	skip_all "no POWER machine"
[ -d /proc/device-tree/rtas ] || skip_all "no partition of a hypervisor"
[ ! -e $sysfs ] || skip_all "the kernel has a $pmu of its own"
cleanup()
{
	status=$?
	rm -f "$tmp".*
	return $status
}
trap 'cleanup; ktap_exit' EXIT
need kdtl
load kdtl_client_vpa pmu=$pmu || skip_all "no module kdtl_client_vpa"
ctl own 0 && ctl hcalls 0 100 && sleep 1
grep -q '^lppaca cpu=0 .*index=0$' $test/report &&
	skip_all "this hypervisor does not write a dispatch trace log (QEMU's emulation does not)"
ctl disown

plan 12
note "$(perf version)"
ok "kdtl_vpa loads as $pmu" load kdtl_vpa name=$pmu
ok "perf list shows its events" lists_events

# The session begins before perf does, and ends after it.
ctl open 4194304 || bail_out "no session"
ctl start || bail_out "it does not start"
ok "perf record" record
ctl stop
ok "perf script decodes entries of each CPU" decode_script
ok "perf report -D decodes them" decode_dump
ok "both have the same entries" same_in_dump
ok "each CPU's area begins with the time base, which is the session's" time_base_entry
ok "perf's times are the entries'" times_fit
ok "perf has what the session saw, entry by entry" same_in_session
ok "nothing lost or truncated on perf's side" flags_clean
ctl close
ok "kdtl_vpa does not unload while perf records" refuses_to_unload
unload kdtl_client_vpa
ok "and it unloads afterwards" gone
finish
