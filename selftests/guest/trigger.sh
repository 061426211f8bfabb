#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Triggers on the waits of a cgroup tell a program of a burst, only of one that it asked for, and
# earlier than PSI can tell it. Wrong triggers are refused.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

file=/sys/kernel/debug/kdtl_sampler/trigger
max=/sys/module/kdtl_sampler/parameters/max_triggers
root=/tmp/kdtl-trigger

# loop CGROUP CPU: starts a task that computes there for ever; $pid is its pid.
loop()
{
	cpu=$2
	[ "$cpu" -lt "$(nproc)" ] || cpu=0
	background taskset -c "$cpu" sh -c "echo \$\$ >$root/$1/cgroup.procs; while :; do :; done"
	pid=$!
}

is_stopped()
{
	grep -q '^State:.*stopped' "/proc/$web/status"
}

# notice NR FILE TRIGGER...: /tmp/noticed says how long after the task in /web begins to want its
# CPU each trigger tells of that.
notice()
{
	kill -STOP "$web" && until_true is_stopped &&
		"$here/trigger_test" notice "$web" "$@" >/tmp/noticed
	status=$?
	note "after $(tr '\n' ' ' </tmp/noticed)ms"
	return $status
}

noticed()
{
	sed -n "$1p" /tmp/noticed
}

# Of five triggers, three are about what happens.
tells()
{
	notice 3 $file "some 20000 100000 /web" $file "neighbours 20000 10000000 /web" \
		$file "own 20000 100000" $file "quota 1 10000000 /web" \
		$file "some 1 10000000 /quiet" &&
		is "$(noticed 4) $(noticed 5)" "- -"
}

# 20 ms of 100 ms are a fifth, and so are 100 ms of 500 ms, the shortest window of PSI on 6.1. If a
# host is busy with other machines, either of the two may be late once.
before_psi()
{
	for _ in 1 2 3 4 5; do
		notice 2 $file "neighbours 20000 100000 /web" \
			$root/web/cpu.pressure "some 100000 500000" || return
		[ "$(noticed 1)" -ge "$(noticed 2)" ] || return 0
	done
	return 1
}

# says WHO WANTED TRIGGER...: trigger_test WHO prints WANTED for these triggers.
says()
{
	who=$1 wanted=$2
	shift 2
	is "$("$here/trigger_test" "$who" $file "$@")" "$wanted"
}

# An empty write makes no trigger, and a second write does not change one.
one_each()
{
	says write "EINVAL error" "" &&
		says write "0 EBUSY waits" "some 150000 1000000" "some 150000 1000000"
}

refuses()
{
	for wrong in "some" "some 1" "some 0 1000000" "most 1 1000000" "some 1 9999" \
		"some 1 10000001" "some 1000000000 1000000" "some 1 1000000 web" "-1 -1 -1" \
		"some 4294967297 1000000" "some 1 4295967296" "some 1x 1000000"; do
		says write "EINVAL error" "$wrong" || return
	done
	says fault EFAULT 20 || return
	# Longer than any path.
	says write "EINVAL error" "some 1 1000000 /$(printf '%05000d' 0)"
}

has_said()
{
	log | grep -q "kdtl_sampler: $1"
}

# As with PSI, a window that is no multiple of 2 s needs CAP_SYS_RESOURCE.
limits_users()
{
	forget_log
	says write "0 waits" "some 1000 10000" && says user "EINVAL error" "some 1000 1999999" &&
		says user "EINVAL error" "some 1000 3000000" &&
		has_said "a trigger's window is a multiple of 2 s without CAP_SYS_RESOURCE" &&
		says user "EINVAL error" "some 1000 2000001" &&
		says user "0 waits" "some 1000 2000000" && says user "0 waits" "some 1000 10000000"
}

# has_many NR: a user gets so many triggers, and an errno for one more.
has_many()
{
	is "$("$here/trigger_test" many $file "some 1 2000000" 20)" "$1"
}

# All users together have so many triggers. Closed triggers do not count, nor refused ones.
limits_number()
{
	forget_log
	has_many "16 EUSERS" && has_many "16 EUSERS" &&
		has_said "users without CAP_SYS_RESOURCE have 16 triggers, and max_triggers allows" &&
		echo 3 >$max && says user "EINVAL EINVAL error" "some 0 2000000" "some 0 2000000" &&
		exec 8<>$file && echo "some 1 1000000" >&8 && has_many "3 EUSERS"
	status=$?
	exec 8>&-
	return $status
}

# A user with the capability has no such limit.
not_of_all()
{
	echo 0 >$max && says user "EUSERS error" "some 1 2000000" &&
		says write "0 waits" "some 1 2000000"
}

# One thread closes the file while another one polls it: the trigger lasts until poll() returns.
outlives_close()
{
	is "$("$here/trigger_test" close $file "some 20000 100000 /web" 40)" woken
}

# The shortest and the longest window are accepted, with a threshold of all of the window.
takes_bounds()
{
	says write "0 waits" "some 1 10000" &&
		says write "0 waits" "some 10000000 10000000"
}

# A program that gets an event can read in the file what has happened.
can_be_read()
{
	cat $file >/tmp/pressure && grep -q '^cgroup /web$' /tmp/pressure
}

holds_module()
{
	exec 9<>$file && echo "some 1 1000000" >&9 && ! rmmod kdtl_sampler 2>/dev/null
	status=$?
	exec 9>&-
	return $status
}

[ -x "$here/trigger_test" ] || skip_all "no trigger_test: make -C selftests"
need kdtl kdtl_sched
need_modules kdtl_sampler
mount_cgroups $root || skip_all "no cgroups with the controller cpu"
mkdir $root/web $root/hog $root/quiet

plan 13
# Without a trigger it would look once in an hour.
ok "the sampler loads" load kdtl_sampler pmu=kdtl_sched period_ms=3600000
loop hog 1
loop web 1
web=$pid
ok "a program is told of what it asked for" tells
if echo "some 100000 500000" 2>/dev/null >$root/web/cpu.pressure; then
	ok "and earlier than PSI can tell it" before_psi
else
	skip "and earlier than PSI can tell it" "this kernel has no PSI of cgroups"
fi
ok "a file has one trigger" one_each
ok "wrong triggers are refused" refuses
ok "the shortest window and the longest one are taken" takes_bounds
ok "windows that are not of 2 s need a capability" limits_users
ok "so do more than a few triggers" limits_number
ok "and with it there is no limit" not_of_all
ok "a thread that polls is woken though another one closed the file" outlives_close
ok "it can be read" can_be_read
ok "the sampler stays while a trigger is there" holds_module
ok "and then it unloads" unload kdtl_sampler
finish
