#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Whatever has happened to the recorder's reserved memory (kdtl_spoil), the recorder loads, prints
# what makes sense, and offers a recording of it that kdtl(1) reads. A kernel with KASAN also shows
# that the recorder reads nothing else. The machine has to be booted with memmap=1M$0x30000000.
#
# ROUNDS  how many times the memory is spoiled (20)
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

address=0x30000000
size=1048576
last=/sys/kernel/debug/kdtl_recorder/last
tmp=$(mktemp -d)

grep -q '^ *30000000-300fffff : [Rr]eserved' /proc/iomem || skip_all "no memmap=1M\$$address"
[ -d /sys/kernel/debug/tracing ] || mount -t debugfs none /sys/kernel/debug 2>/dev/null
need kdtl kdtl_answers kdtl_sched
need_modules kdtl_recorder kdtl_spoil

# records [PARAMETER=VALUE]
records()
{
	$(loading kdtl_recorder) mem_address=$address mem_size=$size \
		lines=10 ms=20000 "$@"
}

# keeps: kdtl_spoil has a copy of what the recorder has written there, about each CPU.
keeps()
{
	records || return
	until_true enough || return
	load kdtl_spoil address=$address size=$size || return
	rmmod kdtl_recorder
}

enough()
{
	table_asked && dmesg | grep -q 'asked for: .* 10 of '
}

# put SEED: puts the copy back, spoiled by SEED.
put()
{
	echo "$1" >/sys/module/kdtl_spoil/parameters/spoil
}

finds_all()
{
	put 0 && records || return
	cat $last >"$tmp/last"
	rmmod kdtl_recorder
	note "$("$here/kdtl" print "$tmp/last" | grep -c -v '^#') entries"
	[ "$("$here/kdtl" print "$tmp/last" | grep -c -v '^#')" -gt 10 ]
}

# Whoever has mistyped a parameter, or has loaded no source yet, can try again.
leaves_all()
{
	put 0
	for wrong in aux_pages=3 config=1 pmu=no_such; do
		! records $wrong 2>/dev/null || { rmmod kdtl_recorder; return 1; }
	done
	records || return
	[ -e $last ]
	was=$?
	rmmod kdtl_recorder && return $was
}

# refused ADDRESS SIZE: the log says that this is no memory, and not that it is in use.
refused()
{
	forget_log
	! $(loading kdtl_recorder) mem_address="$1" mem_size="$2" 2>/dev/null &&
		log | grep -q 'kdtl_recorder: mem_address=.*: must both be set'
}

spoiled()
{
	opened=0
	for round in $(seq "${ROUNDS:-20}"); do
		put "$round" && records || return
		if [ -e $last ]; then
			opened=$((opened + 1))
			cat $last >"$tmp/last"
			# The entries may be in no order; the file itself is whole.
			"$here/kdtl" print "$tmp/last" >"$tmp/said" 2>&1 || {
				note "seed $round: kdtl print fails"
				tail -n 3 "$tmp/said"
				return 1
			}
		fi
		rmmod kdtl_recorder || return
	done
	note "$opened of ${ROUNDS:-20} were opened"
	[ $opened -gt 0 ] && [ $opened -lt "${ROUNDS:-20}" ]
}

no_report()
{
	! dmesg | grep -E 'KASAN|UBSAN|BUG|WARNING'
}

plan 6
ok "memory without an address, a size or an end is refused" \
	eval "refused 0 $size && refused $address 0 && refused $address 0xffffffffffffffff"
ok "a copy is kept of what the recorder has written" keeps
ok "with the copy put back, the next recorder finds it" finds_all
ok "a recorder that does not load leaves it there" leaves_all
ok "a spoiled copy is read as far as it makes sense" spoiled
ok "and nothing was reported" no_report
finish
