#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In a guest that has more virtual CPUs than there are real ones, kdtl says which part of a
# task's wait was behind another task, and in which the hypervisor had the CPU. It knows that
# by kdtl_steal in a guest of KVM on x86 or arm64, and by kdtl_vpa in one on POWER.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

load kdtl || bail_out "kdtl does not load"
# If there is a log, use it: kdtl_steal would take the kernel's count then, which is coarse.
if load kdtl_vpa 2>/dev/null; then
	steal=kdtl_vpa
elif load kdtl_steal 2>/dev/null; then
	steal=kdtl_steal
else
	skip_all "no hypervisor tells when it has a CPU"
fi

says()
{
	log | grep -q "$1"
}

refuses_steal()
{
	! load kdtl_watch pmu=$steal steal=$steal 2>/dev/null ||
		{ unload kdtl_watch; return 1; }
	says "kdtl_watch: steal=$steal is for waits of tasks"
}

# The hog has let go of the CPU.
hogged()
{
	grep -q Y /sys/module/kdtl_hog/parameters/done
}

# What the watch says about a task that waits while the hog has CPU 1.
split_line()
{
	log | sed -n 's/.*kdtl_watch: CPU 1: .* waited \([0-9]*\) ms, behind kdtl_hog:[0-9]* \([0-9]*\) ms\(, .*\)/\1 \2\3/p' |
		head -n 1
}

said_split()
{
	[ -n "$(split_line)" ]
}

# split_once: the parts of a wait add up. The times are cut to milliseconds, and the wait goes on a
# little after the hog.
split_once()
{
	forget_log
	load kdtl_hog cpu=1 ms=1000 && until_true said_split && unload kdtl_hog || return
	note "waited, behind the hog, others: $(split_line)"
	split_line | sed 's/,.*the hypervisor \([0-9]*\) ms.*/ \1/' | awk '
	{ waited = $1; hog = $2; stolen = $3 }
	END {
		exit !(hog + stolen <= waited && hog + stolen > 0.8 * waited && stolen > 0.2 * waited)
	}'
}

# Each of the two virtual CPUs has about half of the only real one. If the hypervisor itself is
# stopped for a while, neither its account nor the hog's has that time: then try again.
splits_a_wait()
{
	load kdtl_watch threshold_ms=200 steal=$steal || return
	in_tries 5 split_once && unload kdtl_watch
}

# caused CAUSE: for how many seconds cgroups waited for that reason. There is only one cgroup here.
caused()
{
	awk -v cause="cause=\"$1\"} " '
		/^kdtl_cgroup_pressure_seconds_total/ && index($0, cause) { n += $NF }
		END { printf "%.9f\n", n }' /sys/kernel/debug/kdtl_sampler/metrics
}

# seconds: how many seconds of waits the hypervisor and tasks had the CPU, and how many the kernel
# counts for the hypervisor, on CPU 1 and on all CPUs.
seconds()
{
	echo "$(caused hypervisor) $(caused own)" \
		"$(awk '$1 == "cpu1" { one = $9 } $1 == "cpu" { all = $9 } END { print one / 100, all / 100 }' /proc/stat)"
}

# hog_once: while CPU 1's shells wait for a hog, their waits have the time that the hypervisor has
# that CPU, and no more than the kernel counts for all CPUs. The kernel counts in steps of 10 ms,
# from before the hog on; on POWER, where there is a log, it may count nothing.
hog_once()
{
	before=$(seconds)
	load kdtl_hog cpu=1 ms=1000 && until_true hogged && unload kdtl_hog || return
	set -- "$(echo "$(seconds) $before" | awk '{ print $1 - $5, $2 - $6, $3 - $7, $4 - $8 }')"
	note "the hypervisor, tasks, and by the kernel the hypervisor of CPU 1, and of all: $1 s"
	echo "$1" | awk -v counts="$([ $steal = kdtl_vpa ] || echo 1)" '{
		exit !($1 > 0.2 && $2 > 0.2 && (!counts || ($1 > 0.7 * $3 - 0.02 && $1 < $4 + 0.05)))
	}'
}

# The shells wait for a second, or for some, and the hypervisor has a part of it.
sampler_splits()
{
	! load kdtl_sampler steal=$steal share=50 2>/dev/null &&
		says "kdtl_sampler: steal=$steal needs pmu=kdtl_sched, share=100" || return
	load kdtl_sampler steal=$steal && in_tries 5 hog_once && unload kdtl_sampler
}

# The console is slow here, and the watch, whose thread has a real-time priority, would wait for it.
dmesg -n 1
load kdtl_sched || bail_out "kdtl_sched does not load"
# Each virtual CPU computes, so the hypervisor must choose.
compute
takes 50 || skip_all "the hypervisor takes too little here"
plan 3
ok "the watch asks for a source of tasks beside it" refuses_steal
ok "it says how much of a wait the hypervisor had" splits_a_wait
ok "the sampler counts that as the hypervisor's" sampler_splits
finish
