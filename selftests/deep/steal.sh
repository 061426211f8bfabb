#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl_steal from both sides: kdtl(1) records in a KVM host when the threads of a guest's
# virtual CPUs waited, while kdtl_steal records in the guest. Each entry there must be one such
# wait, and each wait of a tick or longer must be in an entry.
#
# With the clock of a busy host, the two sides also differ by the time for which the emulator is not
# run between two readings. In the last machine the clock counts instructions, so there they differ
# only by what they measure. It has one virtual CPU, and a task of its host takes the CPU at random
# times.
#
#	selftests/deep/steal.sh [MACHINE KERNEL [icount]]	test only that machine
#
# shellcheck disable=SC2016,SC2154,SC2317 # awk programs

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/kernels.sh
. "$top/scripts/lib/kernels.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"

# The machines, by their names in selftests/run/vm, and their kernels; icount: the clock counts
# instructions.
machines='
kvm-x86    x86_64-6.1
kvm-arm64  arm64-6.1
kvm-x86    x86_64-6.1  icount
'
[ $# -eq 0 ] || machines=$*

# This runs in the host; "$@" starts the guest in it.
l1='
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko && insmod kdtl_stream.ko &&
		exec /programs/kdtl record -q -m 256 -o /out/host.data "$@"
'

# The same beside a task that computes and sleeps.
l1_hog='
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko && insmod kdtl_stream.ko || exit
	while :; do
		n=$((RANDOM % 5000))
		while [ $n -gt 0 ]; do n=$((n - 1)); done
		usleep 1000
	done &
	/programs/kdtl record -q -m 256 -o /out/host.data "$@"
	status=$?
	kill $!
	exit $status
'

# A tick of either kernel, in ns (CONFIG_HZ=250).
tick=4000000

kdtl()
{
	"$tool/kdtl" "$@"
}

# Build this machine's kdtl(1), which reads what the other one has recorded.
builds()
{
	make -s -C "$top/selftests" OUTPUT="$tool" "$tool/kdtl" &&
		make -s -C "$top/selftests" OUTPUT="$work/programs" \
			CROSS_COMPILE="$(kernel_cross "$kernel")" "$work/programs/kdtl"
}

both_record()
{
	local options=(--cpus 2 --l1 "$l1")

	[ -z "$clock" ] || options=(--icount --l1 "$l1_hog")
	capture "$top/scripts/build" "$kernel" &&
		"$top/selftests/run/vm" "$machine" "${options[@]}" --timeout 1800 --quiet \
			--modules "$captured" --add "$top/selftests:/selftests" \
			--add "$work/programs:/programs" --out "$work" -- \
			env ENTRIES=1000 sh /selftests/run/tests steal
}

nothing_lost()
{
	kdtl print "$work/host.data" 2>&1 | sed -n 1p | tee "$work/head"
	grep -q ' source kdtl_sched: [0-9]* dispatches, 0 lost' "$work/head"
}

# Prints the waits of a virtual CPU's thread as "H WHEN WAITED", and after them its entries as
# guest/steal.sh prints them: "G CPU LENGTH LOOKED TIME CLOCK LOADS MERGED CUT".
both_sides()
{
	kdtl export --format csv --comm "CPU $1/KVM" "$work/host.data" | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		$column["waited_ns"] != "" {
			print "H", $column["since_boot_ns"], $column["waited_ns"]
		}'
	awk -v cpu="$1" '$1 == cpu { print "G", $0 }' "$work/steal.entries"
}

# Find out which waits are in which entry. The clocks differ by a constant: each pair of an
# entry and a wait of about the same length votes for one, and nearly all true pairs vote for the
# same. With that constant, a wait belongs to the first entry that was made after the middle of
# the wait: no look is made during a wait. Writes a line for each entry:
#	E LENGTH WAITED WAITS LONG LOADS LONGEST
# and "V VOTES NEXT": the votes for the constant, and for the best of the others.
matched()
{
	both_sides "$1" | awk -v tick="$tick" -v near="$((exact ? 1000 : 100000))" '
	function abs(x) { return x < 0 ? -x : x }
	$1 == "H" { waits++; when[waits] = $2; waited[waits] = $3 }
	$1 == "G" {
		entries++
		len[entries] = $3
		looked[entries] = $4
		time[entries] = $5
		loads[entries] = $7
	}
	END {
		for (i = 1; i <= entries; i++) {
			for (k = 1; k <= waits; k++) {
				if (len[i] < tick / 4 || abs(len[i] - waited[k]) > near)
					continue
				ms = int((time[i] - when[k]) / 1e6)
				votes[ms]++
				sum[ms] += time[i] - when[k]
			}
		}
		for (ms in votes) {
			if (votes[ms] > votes[best])
				best = ms
		}
		if (!votes[best])
			exit 1
		for (ms in votes) {
			if (abs(ms - best) > 1 && votes[ms] > next_best)
				next_best = votes[ms]
		}
		offset = sum[best] / votes[best]
		printf "V %d %d\n", votes[best], next_best
		for (k = 1; k <= waits && when[k] - waited[k] / 2 + offset < looked[1]; k++)
			;
		for (i = 1; i <= entries; i++) {
			total = number = long = longest = 0
			for (; k <= waits && when[k] - waited[k] / 2 + offset < time[i]; k++) {
				total += waited[k]
				number++
				long += waited[k] > tick
				if (waited[k] > longest)
					longest = waited[k]
			}
			printf "E %d %d %d %d %d %d\n", len[i], total, number, long, loads[i], longest
		}
	}' >"$work/matched.$1"
}

# check AWK: runs it on the lines above, for each virtual CPU.
check()
{
	local cpu

	for cpu in $cpus; do
		awk -v tick="$tick" -v cpu="$cpu" -v exact="$exact" "$1" "$work/matched.$cpu" || return
	done
}

# Most pairs must agree on how far the clocks are apart. The more regular the waits are, the more
# pairs agree by chance on another distance.
clocks_agree()
{
	local cpu

	for cpu in $cpus; do
		matched "$cpu" || return
	done
	check '$1 == "V" { votes = $2; chance = $3 }
	$1 == "E" && $2 >= tick / 4 { long++ }
	END {
		printf "CPU %d: %d of %d entries agree, by chance %d\n", cpu, votes, long, chance
		exit !(long > 100 && votes > long * 0.6 && chance < votes * 0.8)
	}'
}

one_to_one()
{
	check '$1 == "E" { n++; single += $4 == 1 }
		END {
			printf "CPU %d: %d of %d entries are one wait\n", cpu, single, n
			exit !(n > 100 && single > n * 0.9)
		}'
}

# If the guest had missed a wait of a tick or longer, an entry would be shorter by as much; if an
# entry were not a wait, it would be longer. Only if the emulator itself was kept from running
# between two readings of the clocks may they differ by that much, which cannot happen where it
# counts instructions.
all_long_waits()
{
	check '$1 == "E" {
			long += $5
			inside += $5 && ($2 - $3 < tick && $3 - $2 < tick) ? $5 : 0
			invented += $2 - $3 >= tick
			n++
		}
		END {
			printf "CPU %d: %d of %d waits over a tick found, %d entries without\n",
				cpu, inside, long, invented
			exit !(long > 50 && inside >= long * (exact ? 1 : 0.97) &&
				invented <= (exact ? 0 : n * 0.03))
		}'
}

# quantiles NS: prints how far entries of a single wait are from it; the median must be less than
# this.
quantiles()
{
	cat -- "$work"/matched.[01] |
		awk '$1 == "E" && $4 == 1 { d = $2 - $3; print d < 0 ? -d : d }' | sort -n |
		awk '{ d[NR] = $1 } END {
			printf "lengths differ by %d ns (p50), %d (p90), %d (p99), %d (max)\n",
				d[int((NR + 1) / 2)], d[int(NR * 0.9)], d[int(NR * 0.99)], d[NR]
			exit !(d[int((NR + 1) / 2)] < '"$1"')
		}'
}

same_sum()
{
	check '$1 == "E" { guest += $2; host += $3 }
		END {
			printf "CPU %d: guest %.3f ms, host %.3f ms\n", cpu, guest / 1e6, host / 1e6
			away = exact ? 0.001 : 0.02
			exit !(host > 1e9 && guest > host * (1 - away) && guest < host * (1 + away))
		}'
}

"$top/scripts/install-deps" demo || skip_all "the machine's programs cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-steal.XXXXXX")
tool=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-tool.XXXXXX")
partial "$work" "$tool"

plan $((8 * $(grep -c . <<<"$machines")))
while read -r machine kernel clock <&3; do
	[ -n "$machine" ] || continue
	rm -rf -- "${work:?}"/*
	exact=0 cpus='0 1' most=20000 name=$machine
	[ -z "$clock" ] || exact=1 cpus=0 most=1000 name="$machine, $clock"
	ok "$name: kdtl builds" builds
	ok "$name: a guest and its host record" both_record
	ok "$name: the host lost nothing" nothing_lost
	ok "$name: entries and waits agree how far the clocks are apart" clocks_agree
	ok "$name: nearly all entries are one wait each" one_to_one
	ok "$name: each wait of a tick or longer is in an entry of its length" all_long_waits
	ok "$name: half of the lengths differ by less than $((most / 1000)) us" quantiles $most
	ok "$name: the sums are the same" same_sum
	for said in clocks_agree one_to_one all_long_waits "quantiles $most" same_sum; do
		note_ktap "$($said | tr '\n' ';')"
	done
done 3<<<"$machines"
finish
