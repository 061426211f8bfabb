#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the machine: tries which users may open what, and then what a locked-down
# kernel allows. It leaves a line with each try and its result, which
# selftests/host/security.sh judges.

exec >/out/results
cd /lib/kdtl || exit
for m in kdtl kdtl_answers kdtl_sched kdtl_sampler kdtl_recorder kdtl_trace kdtl_watch kdtl_stream; do
	insmod $m.ko || exit
done
debug=/sys/kernel/debug
mount -t securityfs none /sys/kernel/security 2>/dev/null
mount -t tracefs none /sys/kernel/tracing 2>/dev/null

# try WHEN WHAT COMMAND...: runs the command, and says whether it succeeded.
try()
{
	when=$1 what=$2
	shift 2
	if "$@" >/dev/null 2>&1 </dev/null; then
		echo "$when $what: yes"
	else
		echo "$when $what: no"
	fi
}

opens()
{
	[ "$(head -c 48 /dev/kdtl | wc -c)" -eq 48 ]
}

writes()
{
	echo 1 >"$1"
}

all()
{
	try "$1" /dev/kdtl opens
	for f in kdtl/sessions kdtl/areas kdtl_sampler/table kdtl_sampler/lines \
		kdtl_sampler/histogram kdtl_sampler/metrics kdtl_watch/cpus; do
		try "$1" "read $f" cat "$debug/$f"
	done
	for f in kdtl_sampler/reset kdtl_sampler/running kdtl_recorder/trigger; do
		try "$1" "write $f" writes "$debug/$f"
	done
	try "$1" "tracefs" cat /sys/kernel/tracing/events/kdtl/enable
}

find $debug/kdtl* -type f -exec stat -c 'mode %a %n' {} \; | sed "s|$debug/||"
stat -c 'mode %a %n' $debug /dev/kdtl
# Nothing reveals addresses in the kernel's memory.
try before "find an owner in debugfs" grep -rF "[kdtl_sampler]" $debug/kdtl
try before "an address in debugfs" grep -r -E 'ffff[0-9a-f]{12}|0x[0-9a-f]{12}' \
	$debug/kdtl $debug/kdtl_sampler/table
all before
try before "load an unsigned module" insmod kdtl_fake_pmu.ko
rmmod kdtl_fake_pmu
for level in integrity confidentiality; do
	echo $level >/sys/kernel/security/lockdown || exit
	all $level
	try $level "load an unsigned module" insmod kdtl_fake_pmu.ko
done
