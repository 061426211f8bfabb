#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# A client that goes and leaves its session open, or an alarm or a source registered,
# harms nobody: kdtl closes or unregisters it before the client's memory is freed, and
# says so.
#
# shellcheck disable=SC2317 # functions that ok() calls

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

need kdtl kdtl_fake_pmu
need_modules kdtl_sched kdtl_sampler
have_module kdtl_forget || skip_all "no module kdtl_forget"

sessions=/sys/kernel/debug/kdtl/sessions
act=/sys/module/kdtl_client_sh/parameters/act

left()
{
	grep -c 'kdtl_forget' "$sessions"
}

# One line names the module, the session and the function that created it. An insmod
# that fails may try twice.
is_said()
{
	log | sed -n 's/.*kdtl: module kdtl_forget leaves session \([0-9]*\) of forget_create \[kdtl_forget\] open: kdtl closes it$/\1/p' >/tmp/forgotten
	[ -s /tmp/forgotten ] && is "$(uniq -d /tmp/forgotten)" ''
}

# gone: no session, no thread, and the line in the log.
gone()
{
	is "$(left)" 0 && ! is_loaded kdtl_forget && is_said || return
	until_true no_reader
}

no_reader()
{
	! cat /proc/[0-9]*/comm 2>/dev/null | grep -q '^kdtl_forget$'
}

# Makes entries, with which the source wakes the readers of all its sessions: it must not
# touch memory that is gone.
entries_come()
{
	load kdtl_client_sh && echo load >"$act" && echo start >"$act" &&
		echo "emit 50" >"$act" && unload kdtl_client_sh
}

# is_forgotten WHAT: the client leaves WHAT at rmmod.
is_forgotten()
{
	forget_log
	load kdtl_forget leave="$1" && is "$(left)" 1 && unload kdtl_forget &&
		entries_come && gone
}

# is_forgotten_early WHAT: the client leaves WHAT when its init fails.
is_forgotten_early()
{
	forget_log
	! load kdtl_forget leave="$1" fail=1 2>/dev/null && entries_come && gone
}

# The session of another module is left alone.
other_stays()
{
	forget_log
	load kdtl_client_sh && load kdtl_forget leave=wake && unload kdtl_forget &&
		gone && is "$(grep -c kdtl_client_sh "$sessions")" 1 &&
		unload kdtl_client_sh
}

devices=/sys/bus/event_source/devices

# registered WHAT: the alarm at the end of init shows that the notifier of alarms is.
registered()
{
	case $1 in
	alarm) log | grep -q 'kdtl_forget: alarm: forget$' ;;
	pmu) [ -e "$devices/kdtl_forget" ] ;;
	esac
}

# unregistered NAME: kdtl has done so, with one line in the log.
unregistered()
{
	log >/tmp/log
	is "$(grep -c "kdtl: module kdtl_forget leaves $1 registered: kdtl unregisters it\$" \
		/tmp/log)" 1 && ! is_loaded kdtl_forget && [ ! -e "$devices/kdtl_forget" ]
}

# Neither the next alarm nor the next session finds anything that is gone, and the names are free.
nothing_is_found()
{
	forget_log
	load kdtl_forget && entries_come && is "$(log | grep -c 'alarm: forget$')" 1 &&
		unload kdtl_forget && ! log | grep 'kdtl: module kdtl_forget'
}

# stays_registered WHAT NAME: the client leaves WHAT registered at rmmod.
stays_registered()
{
	forget_log
	load kdtl_forget leave="$1" && registered "$1" && unload kdtl_forget &&
		unregistered "$2" && nothing_is_found
}

# stays_registered_early WHAT NAME: the same if its init fails. An insmod that fails may try twice.
stays_registered_early()
{
	forget_log
	! load kdtl_forget leave="$1" fail=1 2>/dev/null &&
		log | grep -q "kdtl: module kdtl_forget leaves $2 registered" &&
		! is_loaded kdtl_forget && nothing_is_found
}

# records: how many records the table of tasks has room for; 0: there is no table.
records()
{
	awk 'NR == 2 { print $1 }' /sys/kernel/debug/kdtl_answers/tasks
}

no_records()
{
	[ "$(records)" -eq 0 ]
}

closed()
{
	! is_loaded kdtl_forget && until_true no_records &&
		log | grep -q 'kdtl: module kdtl_forget leaves the table of tasks open: kdtl closes it$'
}

leaves_table()
{
	forget_log
	load kdtl_forget leave=tasks && [ "$(records)" -gt 0 ] && unload kdtl_forget && closed
}

leaves_table_early()
{
	forget_log
	! load kdtl_forget leave=tasks fail=1 2>/dev/null && closed
}

# The sampler counts cgroups only with a source that names tasks.
sampler_loads()
{
	load kdtl_sched && load kdtl_sampler pmu=kdtl_sched
}

# Nobody has closed what is another module's: that module closes its table here.
others_stay()
{
	! log | grep 'is closed already'
}

sampler_unloads()
{
	unload kdtl_sampler && unload kdtl_sched && others_stay
}

# A trigger holds the client that counts, until it is closed. The sampler has one of its own.
leaves_trigger()
{
	forget_log
	exec 9<>/sys/kernel/debug/kdtl_sampler/trigger && echo 'neighbours 20000 100000 /' >&9 || return
	load kdtl_forget leave=trigger && ! rmmod kdtl_sampler 2>/dev/null &&
		unload kdtl_forget
	set -- $?
	exec 9>&-
	[ "$1" -eq 0 ] || return
	log | grep -q 'kdtl: module kdtl_forget leaves a trigger open: kdtl closes it$' && others_stay
}

leaves_trigger_early()
{
	forget_log
	! load kdtl_forget leave=trigger fail=1 2>/dev/null && ! is_loaded kdtl_forget || return
	log | grep -q 'kdtl: module kdtl_forget leaves a trigger open: kdtl closes it$'
}

# In deep/mutants.sh the answers hold kdtl.
all_unload()
{
	unload kdtl_answers && unload kdtl
}

plan 25
for what in wake "done" wait merge open work; do
	ok "rmmod leaves a session with $what: it is closed" is_forgotten "$what"
	ok "a failed init leaves one with $what: it is closed" is_forgotten_early "$what"
done
ok "the session of another module stays" other_stays
ok "rmmod leaves the table of tasks open: it is closed" leaves_table
ok "a failed init leaves it open: it is closed" leaves_table_early
ok "the sampler loads" sampler_loads
ok "rmmod leaves a trigger open: it is closed" leaves_trigger
ok "a failed init leaves it open: it is closed" leaves_trigger_early
ok "the sampler unloads" sampler_unloads
alarm='the alarm of forget_alarm \[kdtl_forget\]'
ok "rmmod leaves an alarm: it is unregistered" stays_registered alarm "$alarm"
ok "a failed init leaves an alarm: it is unregistered" stays_registered_early alarm "$alarm"
ok "rmmod leaves a source: it is unregistered" stays_registered pmu "the PMU kdtl_forget"
ok "a failed init leaves a source: it is unregistered" stays_registered_early pmu \
	"the PMU kdtl_forget"
ok "the source unloads" unload kdtl_fake_pmu
ok "kdtl and its answers unload" all_unload
finish
