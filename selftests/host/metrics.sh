#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Prometheus' own checker accepts the sampler's metrics of a busy machine.
#
# shellcheck disable=SC2154,SC2317

here=$(dirname -- "$(readlink -f -- "$0")")
top=$(dirname -- "$(dirname -- "$here")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$top/scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

# This runs in the machine.
# shellcheck disable=SC2016
guest='
	cd /lib/kdtl && insmod kdtl.ko && insmod kdtl_answers.ko && insmod kdtl_sched.ko &&
		insmod kdtl_sampler.ko || exit
	# The name of a cgroup must not be able to break the file.
	name=$(printf "a\"b\\\\c\377 {d}=\t1")
	mkdir /cg && mount -t cgroup2 none /cg && echo +cpu >/cg/cgroup.subtree_control &&
		mkdir "/cg/$name" || exit
	(echo 0 >"/cg/$name/cgroup.procs"; usleep 1000; usleep 1000)
	i=0
	while [ $i -lt 200 ]; do
		i=$((i + 1))
		usleep 1000
	done
	cat /sys/kernel/debug/kdtl_sampler/metrics >/out/kdtl.prom
'

promtool_takes()
{
	promtool check metrics <"$1"
}

# Without this the test above would prove nothing.
promtool_refuses()
{
	! promtool check metrics <"$1"
}

# Every metric has a value of this machine.
has_values()
{
	local name

	for name in kdtl_wait_seconds_count \
		'kdtl_cpu_wait_seconds{cpu="1",quantile="0.99"}' \
		'kdtl_cpu_wait_seconds_count{cpu="0"}' \
		'kdtl_wait_max_seconds{cpu="0"}' \
		'kdtl_cgroup_wait_seconds_count{cgroup="/"}' \
		'kdtl_cgroup_wait_seconds_count{cgroup="/a\"b\\c\\xff {d}=\\x091"}'; do
		name=$name awk 'index($0, ENVIRON["name"] " ") == 1 && $NF > 0 { found = 1 }
			END { exit !found }' "$work/kdtl.prom" && continue
		echo "nothing of $name:"
		cat -- "$work/kdtl.prom"
		return 1
	done
}

"$top/scripts/install-deps" metrics || skip_all "promtool cannot be installed"
work=$(mktemp -d "${TMPDIR:-/tmp}/kdtl-metrics.XXXXXX")
partial "$work"
capture "$top/scripts/build" x86_64-6.1

plan 5
ok "a machine writes its metrics" "$top/selftests/run/vm" x86_64-6.1 --quiet \
	--modules "$captured" --out "$work" -- "$guest"
ok "there are values" has_values
ok "promtool accepts them" promtool_takes "$work/kdtl.prom"
sed 's/_bucket{le="0.001048575"}.*/_bucket{le="0.001048575"} many/' \
	"$work/kdtl.prom" >"$work/bad.prom"
ok "promtool refuses a wrong value" promtool_refuses "$work/bad.prom"
sed '/^# HELP/d' "$work/kdtl.prom" >"$work/bad.prom"
ok "promtool refuses a metric without help" promtool_refuses "$work/bad.prom"
finish
