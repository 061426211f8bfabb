#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# kdtl_steal: in a guest of KVM its entries add up to the steal clock. Elsewhere the
# suite plays the hypervisor (kdtl_kunit_steal.ko), and the driver itself says that there
# is none.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

have_module kdtl_kunit_steal || skip_all "only x86 can play KVM's steal clock"
load kdtl || bail_out "kdtl does not load"

# What insmod prints, and what the log says.
no_device()
{
	load kdtl_steal 2>&1 | grep -q 'No such device'
}

says()
{
	dmesg | grep -q "$1"
}

# --- in a guest of KVM: each virtual CPU computes, so the hypervisor must choose --------

ENTRIES=${ENTRIES:-400}

# A line for each entry: cpu length looked time clock loads merged cut
record()
{
	for _ in $(seq "$(nproc)"); do
		background sh -c 'while :; do :; done'
	done
	dd if=/dev/kdtl bs=48 count="$ENTRIES" iflag=fullblock 2>/dev/null |
		hexdump -v -e '48/1 "%u " "\n"' | awk '
		function number(from, bytes,    n, i) {
			for (i = 0; i < bytes; i++)
				n = n * 256 + $(from + i + 1)
			return n
		}
		{
			print number(2, 2), number(4, 4), number(24, 8), number(16, 8),
				number(32, 8), number(44, 4), $44 % 2, int($44 / 2)
		}' >/tmp/entries
	# deep/steal.sh compares them with what the hypervisor's kernel saw.
	[ ! -d /out ] || cp /tmp/entries /out/steal.entries
	is "$(wc -l </tmp/entries)" "$ENTRIES"
}

# The clock in each entry is that of the CPU's entry before and this one's length.
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

# No entry claims more than passed, and a CPU's looks follow each other.
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

refuses_steal()
{
	! load kdtl_watch pmu=kdtl_steal steal=kdtl_steal 2>/dev/null ||
		{ unload kdtl_watch; return 1; }
	says 'kdtl_watch: steal=kdtl_steal is for waits of tasks'
}

# The CPU is everyone's again.
hogged()
{
	grep -q Y /sys/module/kdtl_hog/parameters/done
}

# What the watch says of a task that waits while the hog has CPU 1.
split_line()
{
	dmesg | sed -n 's/.*kdtl_watch: CPU 1: .* waited \([0-9]*\) ms, behind kdtl_hog:[0-9]* \([0-9]*\) ms\(, .*\)/\1 \2\3/p' |
		head -n 1
}

said_split()
{
	[ -n "$(split_line)" ]
}

# Each of the two virtual CPUs has about half of the only real one. The times are cut to
# milliseconds, and the wait goes on a little after the hog.
splits_a_wait()
{
	# The console is slow here, and the watch would wait for it.
	dmesg -n 1
	load kdtl_sched && load kdtl_watch threshold_ms=200 steal=kdtl_steal || return
	load kdtl_hog cpu=1 ms=1000 && until_true said_split && unload kdtl_hog &&
		unload kdtl_watch || return
	note "waited, behind the hog, others: $(split_line)"
	split_line | sed 's/,.*the hypervisor \([0-9]*\) ms.*/ \1/' | awk '
	{ waited = $1; hog = $2; stolen = $3 }
	END {
		exit !(hog + stolen <= waited && hog + stolen > 0.9 * waited && stolen > 0.2 * waited)
	}'
}

# The row of the hypervisor, among the cgroups: the time that they were behind it.
stolen_seconds()
{
	sed -n 's/^kdtl_cgroup_culprit_seconds_total{cgroup="hypervisor"} //p' \
		/sys/kernel/debug/kdtl_sampler/metrics
}

# What all were behind others is what all were in others' way.
sums_are_equal()
{
	awk '
	/^kdtl_cgroup_behind_seconds_total/ { behind += $2 }
	/^kdtl_cgroup_culprit_seconds_total/ { culprit += $2 }
	END { exit !(culprit > 0 && behind - culprit < 1e-6 && culprit - behind < 1e-6) }
	' /sys/kernel/debug/kdtl_sampler/metrics
}

# The shell waits for a second, and the hypervisor has a part of it.
sampler_splits()
{
	! load kdtl_sampler steal=kdtl_steal share=50 2>/dev/null &&
		says 'kdtl_sampler: steal=kdtl_steal needs pmu=kdtl_sched, share=100' || return
	load kdtl_sampler steal=kdtl_steal && load kdtl_hog cpu=1 ms=1000 || return
	until_true hogged && unload kdtl_hog || return
	note "the hypervisor had $(stolen_seconds) s of the waits"
	awk -v s="$(stolen_seconds)" 'BEGIN { exit !(s > 0.2) }' && sums_are_equal &&
		unload kdtl_sampler
}

if load kdtl_steal 2>/dev/null; then
	plan 8
	ok "a guest of KVM has a steal clock" load kdtl_stream pmu=kdtl_steal
	ok "its entries are recorded" record
	ok "they add up to the clock" adds_up
	ok "none is longer than the time between its two looks" fits
	ok "none had to be cut for that" none_cut
	ok "the watch asks for a source of tasks beside it" refuses_steal
	ok "and says how much of a wait the hypervisor had" splits_a_wait
	ok "the sampler counts that as the hypervisor's" sampler_splits
	finish
fi

# Its cases are subtests of one.
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
