#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl_vpa on a hypervisor that writes the log: in a guest of KVM-HV, with
# more than one vCPU for each of the host's CPUs.
#
#   selftests/run/vm ppc64le-nested --modules "$(scripts/build ppc64le-6.1)" \
#	--add selftests:/selftests -- sh /selftests/guest/vpa-log.sh
#
# SECONDS_BUSY  how long the main run lasts (default 2)
# ROUNDS        how often the module is loaded (default 50, in the quick run 10)
#
# kdtl_client_vpa is also the other user of the log: in a KVM guest the kernel's own
# user, /proc/powerpc/vcpudispatch_stats, never ends (process_dtl_buffer() makes a
# hypervisor call for each entry, and KVM an entry for each call).
#
# shellcheck disable=SC2016,SC2086,SC2317 # awk expressions; lists of pids;
# functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

busy=${SECONDS_BUSY:-2}
rounds=${ROUNDS:-50}
[ "${KDTL_QUICK:-0}" = 0 ] || rounds=10
test=/sys/kernel/debug/kdtl_client_vpa
cpu1=/sys/devices/system/cpu/cpu1/online
cpus=$(grep -c '^processor' /proc/cpuinfo)
tmp=${TMPDIR:-/tmp}/vpa.$$
hogs=

ctl()
{
	echo "$*" >$test/ctl
}

begin()
{
	ctl open || bail_out "no session"
	ctl start || bail_out "it does not start"
}

# sh prints the error with which a command's write ends.
ctl_is_busy()
{
	case $(ctl "$@" 2>&1) in
	*busy*) ;;
	*) return 1 ;;
	esac
}

spin()
{
	while :; do :; done
}

# Keep every vCPU busy, so that they wait for each other.
hogs_start()
{
	hogs=
	for _ in $(seq "$cpus"); do
		background spin
		hogs="$hogs $!"
	done
}

hogs_stop()
{
	kill $hogs
	wait $hogs 2>/dev/null
}

report()
{
	cat $test/report >"$tmp.report"
}

# each CONDITION: an awk expression over v[KEY], true for every session and CPU.
each()
{
	report
	awk -v cpus="$cpus" '
	/^lppaca/ {
		split($2, f, "=")
		split($4, x, "=")
		hypervisor[f[2]] = x[2]
	}
	/^session=/ {
		split("", v)
		for (i = 1; i <= NF; i++) {
			split($i, f, "=")
			v[f[1]] = f[2] + 0
		}
		v["index"] = hypervisor[v["cpu"]]
		n++
		if (!('"$1"')) {
			bad = 1
			print "# " $0 " index=" v["index"]
		}
	}
	END { exit bad || n != 2 * cpus }' "$tmp.report"
}

# value KEY SESSION CPU
value()
{
	field "$1" "session=$2" "cpu=$3" <"$tmp.report"
}

# The hypervisor's own count of a CPU's dispatches.
index()
{
	awk -v c="cpu=$1" '$1 == "lppaca" && $2 == c {
		sub("index=", "", $4)
		print $4
	}' $test/report
}

# more_entries CPU NR: the CPU has more than NR entries, so it is logged now.
more_entries()
{
	report
	[ "$(value entries 0 "$1")" -gt "$2" ]
}

# The second session's entries are in the first one's without a gap.
same()
{
	report
	awk '/^compare/ {
		split($4, s, "=")
		split($5, o, "=")
		n++
		if (s[2] != o[2] || s[2] == 0) {
			bad = 1
			print "# " $0
		}
	}
	END { exit bad || !n }' "$tmp.report"
}

# The kernel takes stolen time from the VPA's totals, to which KVM adds what it writes
# to the log. A session starts and stops CPU by CPU, so there are two bounds; and the
# kernel reads the totals only in ticks, so they may be 50 ms or 5 % off.
steal_fits()
{
	for cpu in $(seq 0 $((cpus - 1))); do
		least=$(value stolen_min_us 0 "$cpu")
		most=$(value stolen_max_us 0 "$cpu")
		waited=$(value queued_us 0 "$cpu")
		off=$((most / 20))
		[ $off -ge 50000 ] || off=50000
		note "CPU $cpu: waits $waited us, stolen $least to $most us"
		[ "$least" -gt 100000 ] && [ "$waited" -ge $((least - off)) ] &&
			[ "$waited" -le $((most + off)) ] || return 1
	done
}

# The log has no owner any more: the mask is clear, and the hypervisor counts no dispatches
# (KVM does not look at the mask).
restored()
{
	for cpu in $(seq 0 $((cpus - 1))); do
		grep -q "^lppaca cpu=$cpu mask=0 " $test/report || return
		before=$(index "$cpu")
		ctl hcalls "$cpu" 100
		is "$(index "$cpu")" "$before" || return
	done
}

log_has_entries()
{
	[ "$(index 0)" -gt 0 ]
}

# The test registers a log itself, and sees the hypervisor write.
is_written()
{
	ctl own 0 || return
	ctl hcalls 0 100
	if [ -n "$kvm" ]; then
		until_true log_has_entries
	else
		sleep 1
		log_has_entries
	fi
	written=$?
	ctl disown
	return $written
}

no_warning()
{
	is $(($(cat /proc/sys/kernel/tainted) & 512)) "$tainted"
}

add_up='v["produced"] == v["consumed"] + v["lost"] + v["unread"] &&
	v["consumed"] == v["entries"] && v["unread"] == 0'
# Some entries may come between the last poll and the moment when the log is given back.
counted='(v["session"] != 0 || v["produced"] <= v["index"] &&
	v["index"] <= v["produced"] + 4)'
sound='v["backwards"] == 0 && v["outside"] == 0 &&
	v["bad_reason"] == 0 && v["bad_preempt"] == 0'
ctr_lost='v["ctr_lost"] == v["lost"]'

[ "$(uname -m)" = ppc64le ] || [ "$(uname -m)" = ppc64 ] ||
	skip_all "no POWER machine"
[ -d /proc/device-tree/rtas ] || skip_all "no partition of a hypervisor"
[ "$cpus" -ge 2 ] || skip_all "one CPU only"
tainted=$(($(cat /proc/sys/kernel/tainted) & 512))
cleanup()
{
	status=$?
	rm -f "$tmp".*
	return $status
}
trap 'cleanup; ktap_exit' EXIT
need kdtl kdtl_client_vpa
kvm=
! grep -q linux,kvm /proc/device-tree/hypervisor/compatible 2>/dev/null || kvm=1
if ! is_written; then
	[ -z "$kvm" ] || bail_out "KVM does not write a dispatch trace log"
	skip_all "this hypervisor does not write a dispatch trace log (QEMU's emulation does not)"
fi

plan 31
ok "kdtl_vpa loads" load kdtl_vpa

# ------------------------------------------------------------ all vCPUs busy
# A vCPU that confers its cycles to a lock's holder may lap its log, since each attempt
# is a dispatch, with interrupts off. If it did, another window is tried.
busy_window()
{
	begin
	sleep "$busy"
	ctl stop
	report
	! grep -q '^session=.* ctr_lost=[1-9]' "$tmp.report"
}
hogs_start
for window in 1 2 3 4 5; do
	! busy_window || break
	note "window $window: a log was lapped"
	[ $window -eq 5 ] || ctl close
done
hogs_stop
report
grep '^session=0' "$tmp.report" | sed 's/^/# /'
ok "entries on every CPU" each 'v["entries"] > 0'
ok "time never goes back, and is the sessions' time" \
	each 'v["backwards"] == 0 && v["outside"] == 0'
if [ -n "$kvm" ]; then
	ok "dispatch reason 7, preempt reason 0: KVM reports no others" \
		each 'v["time_slice"] == v["entries"] && v["unused"] == v["entries"]'
else
	ok "valid reasons" each 'v["bad_reason"] == 0 && v["bad_preempt"] == 0'
fi
ok "waits are the stolen time of /proc/stat" steal_fits
ok "produced = consumed + lost + unread" each "$add_up"
ok "produced is what the hypervisor counted" each "$counted"
ok "counters agree with the entries" \
	each 'v["ctr_entries"] == v["produced"] && v["ctr_queued"] == v["queued"] &&
		v["ctr_cede"] + v["ctr_preempt"] + v["ctr_fault"] +
		v["ctr_unknown"] == v["produced"]'
ok "the reader kept up: nothing lost" each 'v["lost"] == 0 && v["ctr_lost"] == 0'
ok "both sessions saw the same" same
ctl close
ok "closed: nobody has the log" restored

# ------------------------------------------- the reader is held up: a full area
ctl open 65536 && ctl hold
ctl start || bail_out "it does not start"
for cpu in $(seq 0 $((cpus - 1))); do
	for _ in 1 2 3 4 5; do
		ctl hcalls "$cpu" 1000
	done
done
ctl stop
report
note "CPU 0: $(value produced 0 0) produced, $(value entries 0 0) read, $(value lost 0 0) lost"
# The oldest entries stay: 65536 / 48 of them.
ok "the reader is held up: its area is full, not an entry more" \
	each 'v["entries"] == 1365 && v["lost"] >= 5000 - 1365'
ok "what is lost is exact" each "$add_up && $counted && $sound && $ctr_lost"
ctl close

# --------------------------------------- the poll is held up: the log is lapped
ok "kdtl_vpa unloads" unload kdtl_vpa
ok "log_bytes=5000: refused" eval '! load kdtl_vpa log_bytes=5000 2>/dev/null'
load kdtl_vpa log_bytes=4096 || bail_out "no log_bytes=4096"
begin
for cpu in $(seq 0 $((cpus - 1))); do
	ctl hcalls "$cpu" 500
done
ctl stop
report
note "500 dispatches in one go: $(value produced 0 0) produced, $(value lost 0 0) lost"
# A log of 4096 bytes holds 85 entries, 84 of which are safe to read.
ok "nobody polls: a log is lapped" each 'v["lost"] >= 500 - 84'
ok "what is lost is exact" each "$add_up && $counted && $sound && $ctr_lost"
ctl close
unload kdtl_vpa
load kdtl_vpa || bail_out "kdtl_vpa does not come back"

# --------------------------------------------- all CPUs' entries in one order
merged()
{
	sed -n "s/^merge.* $1=\\([0-9]*\\).*/\\1/p" "$tmp.report"
}
more_merged()
{
	report
	[ "$(merged entries)" -gt "$1" ]
}
ctl open && ctl merge && ctl start || bail_out "it is not merged"
for _ in 1 2 3 4 5; do
	report
	had=$(merged entries)
	for cpu in $(seq 0 $((cpus - 1))); do
		ctl hcalls "$cpu" 100
	done
	until_true more_merged "$had" || break
done
ctl stop
report
note "merged $(merged entries) entries of $cpus CPUs, lost $(value lost 0 0) on CPU 0"
ok "merged: $cpus CPUs' entries, in the order of time" \
	[ "$(merged disordered)" -eq 0 -a "$(merged entries)" -ge $((500 * cpus)) ]
ok "merged: all are there, once" \
	each "$add_up && $counted && $sound && $ctr_lost && v[\"entries\"] >= 500"
ctl close

# ------------------------------------------------------- a CPU goes and comes
if [ -w $cpu1 ]; then
	begin
	until_true more_entries 1 0
	report
	before=$(value entries 0 1)
	echo 0 >$cpu1
	report
	off=$(value entries 0 1)
	online=$(value online 0 1)
	echo 1 >$cpu1
	ok "CPU 1 goes: it is offline, and its entries stay" \
		[ "$online" -eq 0 -a "$off" -ge "$before" ]
	ok "CPU 1 comes back: it is logged again" until_true more_entries 1 "$off"
	ctl stop
	report
	note "CPU 1: $before entries, $off until it went, then $(value entries 0 1)"
	note "lost on CPU 0: $(value lost 0 0), on CPU 1: $(value lost 0 1)"
	# CPU 0 waits for CPU 1 with interrupts off. Each time that it lends its
	# processor to CPU 1 meanwhile is a dispatch, so its log may be lapped.
	ok "what was lost on the way is counted" \
		each "$add_up && $sound && $ctr_lost"
	ctl close
else
	for name in goes "comes back" "lost on the way"; do
		skip "CPU 1 $name" "this kernel cannot take CPU 1 offline"
	done
fi

# ------------------------------------------------------- another user's log
ctl own 0
ok "someone else has the log: no session, -EBUSY" ctl_is_busy open
ctl disown
ok "it has given the log back: a session opens" ctl open
ctl own 0
ok "someone else has come before the start: -EBUSY" ctl_is_busy start
ctl disown
ok "and has gone: it starts" ctl start

# Another owner need not know of the module, and may take the log from a session.
until_true more_entries 0 0
ctl own 0
ctl hcalls 0 100
ctl disown
ok "the log was taken from a session: it comes back" \
	until_true eval 'report; [ "$(value lost 0 0)" -gt 0 ] && [ "$(index 0)" -gt 0 ] &&
		more_entries 0 "$(value entries 0 0)"'
ctl stop
report
note "CPU 0: $(value entries 0 0) entries, $(value lost 0 0) lost"
ok "the loss is reported" \
	each "$add_up && $sound && (v[\"cpu\"] > 0 || v[\"lost\"] > 0)"
ctl close

# ------------------------------------------------------------ again and again
again()
{
	for _ in $(seq "$rounds"); do
		unload kdtl_vpa && load kdtl_vpa || return
		ctl open && ctl start && ctl stop && ctl close || return
	done
}
ok "$rounds times: unload, load, open, start, stop, close" again
ok "unloaded: nobody has the log" eval 'unload kdtl_vpa && restored'
gone()
{
	unload kdtl_client_vpa && unload kdtl &&
		[ ! -e /sys/bus/event_source/devices/kdtl_vpa ] && no_warning
}
ok "all of it unloads, and the kernel has not warned" gone
finish
