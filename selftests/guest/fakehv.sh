#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl_vpa on a hypervisor that misbehaves: kdtl_fake_hv plays it, in an
# emulated machine whose own hypervisor never writes to the log.
#
#   selftests/run/vm ppc64le-6.1 --cpus 2 --append slub_debug=FZPU \
#	--modules "$(scripts/build ppc64le-6.1)" \
#	--add selftests:/selftests -- sh /selftests/guest/fakehv.sh
#
# With slub_debug there are red zones around each log, and freed logs are
# poisoned: a write there is reported when the memory is freed or allocated again.
#
# shellcheck disable=SC2016,SC2086,SC2317 # awk expressions; steps; functions
# that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

test=/sys/kernel/debug/kdtl_client_vpa
fake=/sys/kernel/debug/kdtl_fake_hv
cpu1=/sys/devices/system/cpu/cpu1/online
tmp=${TMPDIR:-/tmp}/fakehv.$$

ctl()
{
	echo "$*" >$test/ctl
}

hv()
{
	echo "$*" >$fake/ctl
}

# info KEY [CPU]: the key's value in what the hypervisor knows.
info()
{
	field "$1" "cpu=${2:-0}" <$fake/info
}

# value KEY [CPU]: the key's value in what the first session knows.
value()
{
	field "$1" session=0 "cpu=${2:-0}" <"$tmp.report"
}

report()
{
	cat $test/report >"$tmp.report"
}

# each CONDITION: an awk expression over v[KEY], true for every session and CPU.
each()
{
	awk '
	/^session=/ {
		split("", v)
		for (i = 1; i <= NF; i++) {
			split($i, f, "=")
			v[f[1]] = f[2] + 0
		}
		n++
		if (!('"$1"')) {
			bad = 1
			print "# " $0
		}
	}
	END { exit bad || !n }' "$tmp.report"
}

# Whatever the hypervisor did, every entry that is handed out was written by it, and
# is handed out once and in order; all others are counted.
sound='v["bad_sum"] == 0 && v["repeated"] == 0 && v["backwards"] == 0 &&
	v["produced"] == v["consumed"] + v["lost"] + v["unread"] &&
	v["consumed"] == v["entries"] && v["unread"] == 0 &&
	v["ctr_lost"] == v["lost"] && v["ctr_entries"] == v["produced"]'

mark=0
new_mark()
{
	mark=$((mark + 1))
	echo "<7>fakehv.sh: mark $mark" >/dev/kmsg
}

# log_since: what the kernel has said since new_mark().
log_since()
{
	dmesg | sed "1,/fakehv.sh: mark $mark\$/d"
}

# said TEXT: kdtl_vpa logged TEXT once, as its messages are rate-limited.
said()
{
	is "$(log_since | grep -c "kdtl_vpa: .*$1")" 1
}

said_nothing()
{
	! log_since | grep "kdtl_vpa: CPU"
}

begin()
{
	counted=$(info counted)
	ctl open || bail_out "no session"
	ctl start || bail_out "it does not start"
	new_mark
}

# end: stops the sessions. Sets what the first one saw of CPU 0, and what the hypervisor counted.
end()
{
	ctl stop
	report
	counted=$(($(info counted) - counted))
	produced=$(value produced)
	entries=$(value entries)
	lost=$(value lost)
	ctl close
}

# again: loads the module anew. Messages of a kind come once in 10 s, but a new module's come at
# once.
again()
{
	unload kdtl_vpa && load kdtl_vpa "$@"
}

# steps ENTRIES LOST STEP...: all steps come between two polls. Then ENTRIES are read
# and LOST are lost, and together they are what the hypervisor counted.
steps()
{
	want_entries=$1
	want_lost=$2
	shift 2
	begin
	hv play 0 "$@" || return
	end
	is "$entries $lost" "$want_entries $want_lost" && each "$sound" &&
		is "$produced" "$counted"
}

steps_said()
{
	text=$1
	shift
	again log_bytes=$log && steps "$@" && said "$text"
}

# Begins a session, which reads ten entries.
begin_with_ten()
{
	begin
	hv play 0 put=10 && until_true produced_is 10
}

# jump COUNT ENTRIES STEP...: after an impossible count, one lost entry stands for an
# unknown number, and logging goes on.
jump()
{
	count=$1
	want_entries=$2
	shift 2
	again log_bytes=$log || return
	begin_with_ten || return
	hv play 0 jump=$count || return
	until_true produced_is 11 || return
	hv play 0 "$@" || return
	end
	is "$entries $lost" "$want_entries 1" && each "$sound" &&
		said "made a jump of"
}

has_counted_more()
{
	[ "$(info counted "$1")" -gt "$2" ]
}

produced_is()
{
	report
	[ "$(value produced)" -eq "$1" ]
}

counted_are()
{
	has_counted_more 0 $((counted + $1 - 1))
}

# at_rate FROM NS BURST N: entries come at a rate, by a timer (if FROM is CPU 0) or
# from another CPU, until the hypervisor has counted N.
at_rate()
{
	begin
	hv run 0 "$1" "$2" "$3" || return
	until_true counted_are "$4" || return
	hv halt 0
	end
	note "$counted dispatches, $entries read, $lost lost"
	[ "$entries" -gt 0 ] && is "$produced" "$counted" && each "$sound" &&
		said_nothing
}

# After a poll that found itself lapped, the next one follows soon. If the poll stood still after
# its last look at the count, much is written for so short a time: that is no jump.
stands_still()
{
	again || return
	begin
	hv within 0 put=1000000 && hv play 0 put=$((n + 100)) old=1 && until_true counted_are 1000000 ||
		return
	end
	note "$counted dispatches, $entries read, $lost lost"
	is "$produced" "$counted" && each "$sound" && ! log_since | grep "made a jump"
}

# 2^16 entries in a row have every pair of codes once, so each preempt reason 256
# times. They are classified by PAPR's codes.
classes()
{
	begin
	put=0
	while [ $put -lt 65536 ]; do
		hv play 0 put=1024 || return
		put=$((put + 1024))
		until_true produced_is $put || return
	done
	end
	each "$sound"' && v["lost"] == 0 && (v["cpu"] != 0 ||
		v["ctr_cede"] == 512 && v["ctr_preempt"] == 256 &&
		v["ctr_fault"] == 512 && v["ctr_unknown"] == 65536 - 1280)'
}

# Two sessions want different kinds, and the second wakes more often than the log needs.
# The first 256 entries have each preempt reason once; PAPR has no more than 5 reasons
# of known kind.
masks()
{
	again && ctl attr 0 1 0 && ctl attr 1 2 1000000 || return
	begin
	mask=$(info mask)
	hv play 0 put=256 || return
	end
	is "$mask" 3 && each "$sound"' && v["lost"] == 0 && v["ctr_fault"] == 0 &&
		(v["cpu"] != 0 ||
		v["session"] == 0 && v["ctr_cede"] == 2 && v["produced"] == 253 ||
		v["session"] == 1 && v["ctr_preempt"] == 1 && v["produced"] == 252)'
}

# all_but MASK NR: of 256 entries in a row, the first session gets all, and the second,
# which has this mask, gets NR.
all_but()
{
	again && ctl attr 1 "$1" 0 || return
	begin
	hv play 0 put=256 || return
	end
	each "$sound"' && v["lost"] == 0 && (v["cpu"] != 0 ||
		v["session"] == 0 && v["produced"] == 256 ||
		v["session"] == 1 && v["produced"] == '"$2"')'
}

# The first session logs KDTL_MASK_CEDE, and after four entries, with the preempt reasons
# 0 to 3, KDTL_MASK_FAULT: it misses reason 4 only.
sets()
{
	again && ctl attr 0 1 0 && ctl sets 4 4 || return
	begin
	hv play 0 put=256 || return
	end
	each "${sound%%&& v\[\"ctr_entries*}"' && v["lost"] == 0 && (v["cpu"] != 0 ||
		v["session"] == 0 && v["produced"] == 255 && v["ctr_cede"] == 2 &&
		v["ctr_unknown"] == 2 ||
		v["session"] == 1 && v["produced"] == 256)'
}

# The log's end lies in the middle of the entries that a poll reads.
around_the_end()
{
	again log_bytes=$log || return
	begin
	hv play 0 put=$((n - 5)) && until_true produced_is $((n - 5)) &&
		hv play 0 put=$((n - 1)) || return
	end
	is "$entries $lost" "$((2 * n - 6)) 0" && each "$sound"
}

# An area of 1365 entries, which nobody reads, becomes full while a poll fills it: the
# first entries are those that fit.
full_area()
{
	again && ctl open 65536 && ctl hold && ctl start || return
	counted=$(info counted)
	hv play 0 put=1000 && until_true produced_is 1000 && hv play 0 put=1000 || return
	end
	is "$entries $lost" "1365 635" && each "$sound" && is "$produced" "$counted"
}

# start_fails TEXT: start fails with this error ("/": I/O or Input/output error), and
# works again as soon as the hypervisor allows it.
start_fails()
{
	ctl open || return
	new_mark
	error=$(ctl start 2>&1) && return 1
	case $error in
	*"$1"*) ;;
	*)
		note "$error"
		return 1
		;;
	esac
	hv refuse 0 0
	hv limit 0
	is "$(info registered)$(info mask)" 00 && ctl start && ctl stop && ctl close
}

refused()
{
	again && hv refuse "$1" 0 && start_fails "$2" &&
		said "does not register its log (H_REGISTER_VPA: $1)"
}

# limited BYTES: the hypervisor takes logs of up to BYTES, so the driver registers one of that size.
limited()
{
	again && hv limit "$1" || return
	refusals=$(info refusals)
	begin
	is "$(info bytes)" "$1" || return
	slots=$(($1 / 48))
	hv play 0 put=$slots || return
	end
	hv limit 0
	is "$entries $lost" "$((slots - 1)) 1" && each "$sound" && said_nothing &&
		is $(($(info refusals) - refusals)) "$2"
}

all_refused()
{
	again && hv limit 1 || return
	refusals=$(info refusals)
	start_fails "/" && said "does not register its log (H_REGISTER_VPA: -4)" &&
		is $(($(info refusals) - refusals)) 5
}

# The hypervisor goes on writing to a log that was given back, although the module is gone.
kept()
{
	again || return
	begin
	hv play 0 put=10
	hv refuse 0 -1
	hv run 0 1 100000 100 || return
	end
	said "does not give its log back" || return
	unload kdtl_vpa || return
	counted=$(info counted)
	until_true counted_are 5000 || return
	hv halt 0
	hv refuse 0 0
	is "$(info complaint)" none && each "$sound" && load kdtl_vpa
}

# The first log still belongs to the hypervisor, in session after session.
kept_and_again()
{
	again || return
	for _ in 1 2 3; do
		begin
		hv refuse 0 -1
		end
		hv refuse 0 0
		begin
		hv play 0 put=10 || return
		end
		is "$entries $lost" "10 0" || return
	done
	is "$(info registered)" 0
}

# The session has its log again: ten more entries are read, and one lost entry stands
# for those that are lost.
ten_more_and_end()
{
	hv play 0 put=10 || return
	end
	is "$entries $lost" "20 1" && said "someone else has used its log"
}

# unmasked STEP: the log is registered again, and the loss is reported.
unmasked()
{
	again || return
	begin_with_ten || return
	registrations=$(info registrations)
	hv play 0 "$1" || return
	until_true produced_is 11 || return
	is $(($(info registrations) - registrations)) 1 || return
	is "$(info mask)" 7 || return
	ten_more_and_end
}

refused_since()
{
	[ "$(info refusals)" -gt "$1" ]
}

# Another user has taken the log, and at first it cannot be registered again.
taken_for_long()
{
	again || return
	begin_with_ten || return
	refusals=$(info refusals)
	hv refuse 1 0
	hv play 0 take || return
	until_true refused_since $((refusals + 2)) || return
	hv refuse 0 0
	until_true produced_is 11 || return
	ten_more_and_end
}

# stolen MASK: another user has registered a log of its own, and keeps it when the session stops.
stolen()
{
	again || return
	begin_with_ten || return
	hv play 0 steal="$1" put=3 || return
	end
	is "$(info mask) $(info registered) $(info complaint)" "$1 1 none" &&
		said "someone else uses its log now" && is "$produced" 11 && each "$sound" ||
		return
	! ctl open 2>/dev/null && hv play 0 take && steps 10 0 put=10
}

# CPU 1 goes and comes, while the hypervisor laps its log twice between two polls.
hotplug()
{
	begin
	hv run 1 0 200000 1000 || return
	for _ in 1 2 3 4 5; do
		before=$(info counted 1)
		echo 0 >$cpu1 || return
		echo 1 >$cpu1 || return
		until_true has_counted_more 1 "$before" || return
	done
	ctl stop
	hv halt 1
	report
	note "CPU 1: $(value produced 1) dispatches, $(value lost 1) lost"
	# Each registration starts the numbers anew.
	each "${sound%%&&*} && v[\"backwards\"] == 0 &&
		v[\"produced\"] == v[\"consumed\"] + v[\"lost\"]" || return
	ctl close
}

# Sessions and the module come and go while the hypervisor writes.
come_and_go()
{
	hv run 0 1 50000 500 || return
	for _ in $(seq 20); do
		again || return
		begin
		end
		each "$sound" || return
		[ "$produced" -le "$counted" ] || return
	done
	hv halt 0
}

no_complaint()
{
	is "$(sed -n 's/.*complaint=//p' $fake/info | sort -u)" none
}

# The allocator's own checks find nothing wrong.
memory_is_well()
{
	for cache in /sys/kernel/slab/kmalloc-*; do
		[ ! -w $cache/validate ] || echo 1 >$cache/validate
	done
	! dmesg | grep -E 'BUG|Redzone|Poison' && is "$(cat /proc/sys/kernel/tainted)" "$tainted"
}

# ----------------------------------------------------------------------- tests
[ "$(uname -m)" = ppc64le ] || [ "$(uname -m)" = ppc64 ] ||
	skip_all "no POWER machine"
[ -d /proc/device-tree/rtas ] || skip_all "no partition of a hypervisor"
! grep -q linux,kvm /proc/device-tree/hypervisor/compatible 2>/dev/null ||
	skip_all "this hypervisor writes to the log itself"
[ "$(grep -c '^processor' /proc/cpuinfo)" -ge 2 ] || skip_all "one CPU only"
have_module kdtl_vpa || skip_all "no module kdtl_vpa"
have_module kdtl_fake_hv || skip_all "no module kdtl_fake_hv"
cleanup()
{
	status=$?
	rm -f "$tmp".*
	return $status
}
trap 'cleanup; ktap_exit' EXIT
need kdtl kdtl_fake_hv
load kdtl_client_vpa fake=1 || bail_out "kdtl_client_vpa does not load"
load kdtl_vpa || bail_out "kdtl_vpa does not load"
tainted=$(cat /proc/sys/kernel/tainted)

plan 65
ok "every pair of codes: masks' classes, nothing lost" classes
ok "each session has what its mask says" masks
ok "one session has all entries, the other what its mask says" all_but 2 252
ok "the set is switched between entries of one poll" sets
ok "an area becomes full between entries of one poll" full_area

for log in 4096 65536; do
	n=$((log / 48))
	again log_bytes=$log || bail_out "no log_bytes=$log"
	what="log of $log bytes:"
	ok "$what one entry" steps 1 0 put=1
	ok "$what all but one: all are read" steps $((n - 1)) 0 put=$((n - 1))
	ok "$what around its end" around_the_end
	ok "$what full: the oldest may change" steps $((n - 1)) 1 put=$n
	ok "$what five laps: the newest are read" \
		steps $((n - 1)) $((4 * n + 2)) put=$((5 * n + 1))
	ok "$what full, and the next is being written" \
		steps $((n - 1)) 0 put=$((n - 1)) write=1
	ok "$what lapped, and the next is being written" \
		steps $((n - 1)) 6 put=$((n + 5)) write=1
	ok "$what written, not counted" steps 3 0 put=3 write=4
	ok "$what counted late" steps 7 0 put=3 write=4 count=4
	ok "$what counted, not written" \
		steps_said "entries without a new time" 6 2 put=3 skip=2 put=3
	ok "$what half written" \
		steps_said "entries without a new time" 6 2 put=3 half=2 put=3
	ok "$what half written over old ones" \
		steps_said "entries without a new time" $((n - 3)) $((n + 3)) \
		put=$((2 * n - 2)) half=2
	ok "$what time base 0" \
		steps_said "entries without a new time" 6 1 put=3 zero=1 put=3
	ok "$what time base stands still" \
		steps_said "entries without a new time" 6 2 put=3 old=2 put=3
	ok "$what time base an hour ahead" \
		steps_said "entries from the future" 6 2 put=3 future=2 put=3
	ok "$what count jumps far ahead" jump 0x10000000000 20 put=10
	ok "$what count jumps back" jump -5 20 put=10
	ok "$what count jumps to the other end" jump -0x7fffffffffffffff 20 put=10
	again log_bytes=$log
	ok "$what count near 2^64" jump -13 $((10 + n - 1)) put=$((n - 1))
	again log_bytes=$log
	ok "$what a poll stands still, and the next one comes at once" stands_still
	ok "$what bursts between polls" at_rate 0 2000000 $((n / 2)) 20000
	ok "$what while it is read: right and wrong entries are told apart" at_rate 1 0 7 500000
done

again
ok "registering fails: -EIO" refused -1 "/"
ok "registering is busy: -EBUSY" refused 1 "busy"
ok "no size is taken: -EIO" all_refused
ok "up to 32768 bytes are taken" limited 32768 1
ok "up to 4096 bytes are taken" limited 4096 4
ok "the log is not taken back: its memory is not used again" kept
ok "not taken back, and registered again" kept_and_again
ok "the enable mask is cleared" unmasked unmask
ok "someone else has had the log" unmasked take
ok "someone else has had the log, and it is refused at first" taken_for_long
ok "someone else has it, with the same mask" stolen 7
ok "someone else has it, with another mask" stolen 1
ok "CPU 1 goes and comes while its log is lapped" hotplug
ok "modules come and go while it writes" come_and_go
ok "the hypervisor has nothing to complain about" no_complaint
unload kdtl_vpa
grep -q 'slub_debug=' /proc/cmdline || note "boot with slub_debug=FZPU to see all"
ok "nobody wrote around the logs, nor to freed ones" memory_is_well
finish
