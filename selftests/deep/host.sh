#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Tests kdtl why --host with recordings of both sides of a guest of KVM: the guest's virtual CPUs
# and a task of the host, hog, share the host's only CPU. The part of each wait in the guest that
# the hypervisor had is divided among the tasks that ran on the host meanwhile.
#
# shellcheck disable=SC2016,SC2154,SC2317 # awk programs

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=../host/lib/ktap.sh
. "$top/selftests/host/lib/ktap.sh"

# This runs in the host; "$@" starts the guest in it.
l1='
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko && insmod kdtl_stream.ko || exit
	printf "#!/bin/sh\nwhile :; do :; done\n" >/tmp/hog && chmod +x /tmp/hog || exit
	/tmp/hog &
	/programs/kdtl record -q -i -m 256 -o /out/host.data "$@"
	status=$?
	kill $!
	exit $status
'

# This runs in the guest until there are 1000 gaps.
guest='
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko && insmod kdtl_stream.ko &&
		insmod kdtl_steal.ko || exit
	for mask in 1 2; do
		taskset $mask sh -c "while :; do :; done" &
		taskset $mask sh -c "while :; do :; done" &
		taskset $mask sh -c "while :; do usleep 1000; done" &
	done
	cd /out && /programs/kdtl record -q -i --steal -o guest.data sh -c "
		until [ \$(wc -c <guest.data.steal) -gt 48000 ]; do usleep 100000; done"
'

export TZ=UTC

whole()
{
	local file

	for file in host.data guest.data guest.data.steal; do
		"$work/programs/kdtl" print "$work/$file" 2>&1 | sed -n 1p | tee "$work/head"
		grep -q ' dispatches, 0 lost' "$work/head" || return
	done
}

# The threads of the virtual CPUs are found, and nearly all of their gaps belong to waits there.
related()
{
	"$work/programs/kdtl" why -a -n 100000 --host "$work/host.data" "$work/guest.data" \
		>"$work/why" 2>"$work/err" || {
		cat -- "$work/err"
		return 1
	}
	cat -- "$work/err"
	awk '/^kdtl: vCPU [01] is CPU [01]\/KVM / {
		n += $6 == $3 "/KVM"
		for (i = 2; i < NF; i++) {
			if ($i == "of" && $(i + 2) == "gaps")
				bad += $(i - 1) < 0.8 * $(i + 1)
		}
	}
	END { exit !(n == 2 && !bad) }' "$work/err"
}

# parts AWK: runs each() for each wait, with stolen, there and hog in us: the time that the
# hypervisor had, the sum of what is said about the host, and hog's part of that.
parts()
{
	awk 'BEGIN { unit["ns"] = .001; unit["us"] = 1; unit["ms"] = 1000; unit["s"] = 1000000 }
	function wait() {
		if (stolen)
			each()
		stolen = there = hog = unknown = 0
	}
	/^[0-9][0-9]:/ || /^all / { wait() }
	/^all / { exit }
	/^ +behind .* the hypervisor$/ { stolen = $2 * unit[$3] }
	/^ +on the host behind/ {
		there += $5 * unit[$6]
		hog += $7 == "hog" ? $5 * unit[$6] : 0
		unknown += / not known$/ ? $5 * unit[$6] : 0
	}'" $1" "$work/why"
}

# Times are shown with three digits, so the sums may differ by that.
adds_up()
{
	parts 'function each(    apart) {
		apart = there > stolen ? there - stolen : stolen - there
		if (apart > 0.02 * stolen + 1 && bad++ < 5)
			print "stolen " stolen " us, the host " there " us"
		n++
	}
	END { printf "%d waits, %d do not add up\n", n, bad; exit !(n > 100 && !bad) }'
}

# hog wants the CPU all the time, as both virtual CPUs do, so it must have a large part.
names_the_hog()
{
	parts 'function each() {
		if (stolen < 20000)
			return
		n++
		named += hog > 0
		all += stolen
		hogs += hog
		dark += unknown
	}
	END {
		printf "%d waits of which 20 ms or more were stolen, %d behind the hog; stolen %d ms, hog %d ms, not known %d ms\n",
			n, named, all / 1000, hogs / 1000, dark / 1000
		exit !(n > 20 && named > 0.8 * n && hogs > 0.2 * all && dark < 0.3 * all)
	}'
}

"$top/scripts/install-deps" demo || skip_all "the machine's programs cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-host.XXXXXX")
partial "$work"
capture "$top/scripts/build" x86_64-6.1

plan 6
ok "kdtl builds" make -s -C "$top/selftests" OUTPUT="$work/programs" "$work/programs/kdtl"
ok "a guest and its host record" "$top/selftests/run/vm" kvm-x86 --cpus 2 --timeout 1800 --quiet \
	--modules "$captured" --add "$work/programs:/programs" --out "$work" --l1 "$l1" -- "$guest"
ok "nothing was lost" whole
ok "nearly all gaps are waits of the virtual CPUs' threads" related
ok "of each wait, what the hypervisor had adds up" adds_up
ok "and the hog is named" names_the_hog
for said in related adds_up names_the_hog; do
	note_ktap "$($said | tr '\n' ';')"
done
finish
