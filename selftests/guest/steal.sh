#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a guest of KVM the entries of kdtl_steal add up to the steal clock. Elsewhere on x86 the
# driver says that there is no hypervisor, which a suite plays then (kdtl_kunit_steal.ko).
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

load kdtl || bail_out "kdtl does not load"

# insmod prints this error.
no_device()
{
	load kdtl_steal 2>&1 | grep -q 'No such device'
}

says()
{
	log | grep -q "$1"
}

# --- in a guest of KVM: each virtual CPU computes, so the hypervisor must choose --------

ENTRIES=${ENTRIES:-400}

# entries N: prints a line for each of N entries: cpu length looked time clock loads merged cut
entries()
{
	dd if=/dev/kdtl bs=48 count="$1" iflag=fullblock 2>/dev/null |
		hexdump -v -e '48/1 "%u " "\n"' | awk '
		function number(from, bytes,    n, i) {
			for (i = 0; i < bytes; i++)
				n = n * 256 + $(from + i + 1)
			return n
		}
		{
			print number(2, 2), number(4, 4), number(24, 8), number(16, 8),
				number(32, 8), number(44, 4), $44 % 2, int($44 / 2)
		}'
}

record()
{
	entries "$ENTRIES" >/tmp/entries
	# deep/steal.sh compares them with what the hypervisor's kernel saw.
	[ ! -d /out ] || cp /tmp/entries /out/steal.entries
	is "$(wc -l </tmp/entries)" "$ENTRIES"
}

# The clock in each entry is the clock in the CPU's entry before, plus this entry's length.
adds_up()
{
	awk '
	$1 in clock && !$8 && $5 - clock[$1] != $2 { print "# " $0; bad++ }
	{ clock[$1] = $5; sum += $2; merged += $7; cut += $8; n++ }
	END {
		printf "# entries=%d stolen_ms=%.3f merged=%d cut=%d\n", n, sum / 1e6, merged, cut
		exit bad || !n
	}' /tmp/entries
}

# No entry claims more time than has passed, and no look comes before the CPU's entry before.
fits()
{
	awk '$2 > $4 - $3 || $4 < time[$1] { print "# " $0; bad++ }
	{ time[$1] = $4 }
	END { exit bad }' /tmp/entries
}

none_cut()
{
	awk '$8 { print "# " $0; bad++ } END { exit bad }' /tmp/entries
}

# is_logged CPU
is_logged()
{
	entries 20 | grep -q "^$1 [1-9]"
}

# A CPU that was offline has its steal clock when it comes online. On arm64, where its area would
# have to be mapped before, it has the kernel's count.
comes_later()
{
	unload kdtl_stream && unload kdtl_steal || return
	echo 0 >/sys/devices/system/cpu/cpu1/online || return
	load kdtl_steal
	set -- $?
	bring_back 1
	[ "$1" -eq 0 ] && load kdtl_stream pmu=kdtl_steal || return
	if [ "$(uname -m)" = aarch64 ]; then
		says "kdtl_steal: CPU 1: cannot map its steal clock" || return
	fi
	until_true is_logged 1
}

# The driver has found a steal clock for each CPU: it says so if there is none.
fine()
{
	! says "kdtl_steal: CPU .* cannot map its steal clock" && load kdtl_stream pmu=kdtl_steal
}

if load kdtl_steal 2>/dev/null; then
	plan 6
	if says "kdtl_steal: .* the kernel's own count is used, which is coarse"; then
		ok "the kernel's count is there for each CPU" fine
	else
		ok "a guest of KVM has a steal clock for each CPU" fine
	fi
	compute
	if ! takes 10; then
		for _ in 1 2 3 4 5; do
			skip "its entries" "the hypervisor takes nothing here"
		done
		finish
	fi
	ok "its entries are recorded" record
	ok "they add up to the clock" adds_up
	ok "none is longer than the time between its two looks" fits
	ok "none had to be cut for that" none_cut
	if [ -e /sys/devices/system/cpu/cpu1/online ]; then
		ok "a CPU that comes online later has entries, too" comes_later
	else
		skip "a CPU that comes online later has entries, too" "one CPU only"
	fi
	finish
fi

have_module kdtl_kunit_steal || skip_all "only x86 can play KVM's steal clock"

# The suite's cases are subtests of one test.
suite()
{
	kunit kdtl_kunit_steal "${KDTL_CASES:-*}" >/tmp/suite
	set -- $?
	sed 's/^/    /' /tmp/suite
	return "$1"
}

plan 3
ok "without a steal clock kdtl_steal does not load" no_device
ok "and says why" says 'kdtl_steal: no steal clock'
ok "the suite" suite
finish
