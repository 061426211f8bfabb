#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# While a real-time task holds a CPU, and nothing else runs there, sessions must still begin and
# end: that is when somebody wants to look. Each verb has to return before the task is killed.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

[ "$(nproc)" -gt 1 ] || skip_all "only one CPU"
[ -x "$here/held" ] || skip_all "no program held: make -C selftests"
need kdtl kdtl_sched kdtl_fake_pmu
need_modules kdtl_client_sh kdtl_sampler kdtl_watch kdtl_recorder kdtl_stream

act=/sys/module/kdtl_client_sh/parameters/act
tmp=$(mktemp -d)

# is_held: nothing but the task runs on CPU 1. A shell that wants to run there waits.
is_held()
{
	grep -q holds "$tmp/holds" || return
	rm -f "$tmp/ran"
	on_cpu 1 "echo >$tmp/ran" &
	ktap_pids="$ktap_pids $!"
	sleep 1
	[ ! -e "$tmp/ran" ]
}

let_go()
{
	kill "$held"
	wait "$held" 2>/dev/null
}

has_ended()
{
	! kill -0 "$1" 2>/dev/null
}

# waits: prints what the kernel's stacks say about tasks that wait.
waits()
{
	for stack in /proc/[0-9]*/stack; do
		case $(cat "${stack%stack}comm" 2>/dev/null) in
		insmod | modprobe | rmmod | kdtl*)
			note "$(cat "${stack%stack}comm") waits:"
			sed 's/^/# /' "$stack"
			;;
		esac
	done
}

# meanwhile COMMAND: COMMAND succeeds while the task holds the CPU.
meanwhile()
{
	"$@" >"$tmp/said" 2>&1 &
	set -- $!
	if ! until_true has_ended "$1"; then
		waits
		let_go
	fi
	wait "$1" && kill -0 "$held" 2>/dev/null && return
	cat "$tmp/said"
	return 1
}

verbs()
{
	for verb in load start stop start unload load unload; do
		echo "$verb" >"$act" || return
	done
}

# has_session CLIENT
has_session()
{
	grep -q "\[$1\]" /sys/kernel/debug/kdtl/sessions
}

# is_gone CLIENT: the client is unloaded, and nobody unloads it any more. /proc/modules is of no
# use: while the kernel waits for RCU to free a module, reading that also waits.
is_gone()
{
	[ ! -e "/sys/module/$1" ] &&
		! cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' '\n' | grep -q "^[k]${1#k}\$"
}

has_none()
{
	! has_session "$1"
}

comes()
{
	eval "$(loading "$1")" && has_session "$1"
}

# comes_and_goes CLIENT: the client's session does. The kernel itself waits for all CPUs to free the
# memory of a module, and to remove the recorder from the notifiers of a panic.
comes_and_goes()
{
	comes "$1" || return
	goes "$1"
	until_true has_none "$1"
}

goes()
{
	rmmod "$1" &
}

# says_for_what CLIENT: the client goes, or the log says for what it waits, and which task has the
# CPU.
says_for_what()
{
	until_true gone_or_said "$1"
}

# The first of these lines may be an older one; the second names the task, which is a new one.
gone_or_said()
{
	is_gone "$1" || {
		owner_said ".*$1.*: waits for RCU" &&
			owner_said ".*$1.*: meanwhile CPU 1 belongs to held:$held, a real-time task"
	}
}

owner_said()
{
	log | grep -q "kdtl: $1"
}

records()
{
	"$here/kdtl" record -q -i -o "$tmp/data" sleep 1 &&
		[ "$("$here/kdtl" print "$tmp/data" | grep -c -v '^#')" -gt 0 ]
}

# A task sleeps on CPU 1. It will be woken while the other task holds the CPU, which no entry tells.
sleeps()
{
	[ -s "$tmp/sleeper" ] && grep -q '^State:.S' "/proc/$(cat "$tmp/sleeper")/status"
}

# is_blamed LINE: by this line of kdtl why --brief, the sleeper waits behind the holder.
is_blamed()
{
	echo "$1" | grep -q " pid=$sleeper .* cpu=1 behind=held .* behind_pid=$held .* not_over=1 " &&
		echo "$1" | awk '{ sub(/.* waited_ms=/, ""); exit !($1 >= 500) }' && return
	note "$1"
	return 1
}

woken_meanwhile()
{
	echo >"$tmp/wake" || return
	is_blamed "$("$here/kdtl" why -d 0.5 --pid "$sleeper" --brief)"
}

in_a_recording()
{
	"$here/kdtl" record -q -o "$tmp/data" sleep 0.5 || return
	is_blamed "$("$here/kdtl" why --brief --pid "$sleeper" "$tmp/data")"
}

ring_is_there()
{
	[ -s "$tmp/ring" ] && "$here/kdtl" why --brief --pid "$sleeper" "$tmp/ring" >"$tmp/brief"
}

in_a_ring()
{
	"$here/kdtl" record -q --ring 60 -o "$tmp/ring" 2>"$tmp/err" &
	ring=$!
	ktap_pids="$ktap_pids $ring"
	sleep 0.5
	until_true rings $ring || return
	kill -USR2 $ring
	until_true ring_is_there
	set -- $?
	kill $ring
	wait $ring
	[ "$1" -eq 0 ] && is_blamed "$(cat "$tmp/brief")"
}

# The signal is caught.
rings()
{
	[ $((0x$(awk '/^SigCgt:/ { print $2 }' "/proc/$1/status") >> 11 & 1)) -eq 1 ]
}

# The wait is in files that ended because they were full, the last one and those before it.
in_full_files()
{
	"$here/kdtl" record -q --max-size 64K -o "$tmp/full" sh -c 'while :; do sleep 0.0001; done'
	is $? 143 && is_blamed "$("$here/kdtl" why --brief --pid "$sleeper" "$tmp/full")" || return
	"$here/kdtl" record -q --max-size 64K --rotate 2 -o "$tmp/turn" sh -c \
		"until [ -e $tmp/turn.2 ]; do sleep 0.0001; done"
	is $? 0 && is_blamed "$("$here/kdtl" why --brief --pid "$sleeper" "$tmp/turn.1")" &&
		is_blamed "$("$here/kdtl" why --brief --pid "$sleeper" "$tmp/turn.2")"
}

# Each table has the task that has waited since before top began, and the task that always has the
# CPU.
in_top()
{
	"$here/kdtl" top -b -n 2 --interval 0.5 >"$tmp/top" || return
	[ "$(grep -c "($sleeper) .* held *$" "$tmp/top")" -eq 2 ] &&
		awk -v of="($held)" '
			/^task \(PID\)/ { nr++ }
			$2 == of { good += $4 > 90 }
			END { exit nr != 2 || good != 2 }' "$tmp/top" && return
	sed 's/^/# /' "$tmp/top"
	return 1
}

# says_who: CPU hotplug waits for a thread of the held CPU, and a verb for hotplug. The verb says
# which task has the CPU. Before that hotplug waits for RCU, for which interrupts are not enough
# unless RCU is expedited.
says_who()
{
	cpu=/sys/devices/system/cpu/cpu1/online
	hurry=/sys/kernel/rcu_expedited
	was=$(cat $hurry)
	echo 1 >$hurry
	echo 0 >$cpu &
	going=$!
	# Do so until the first verb has to wait.
	(until kernel_said "a verb waits"; do echo load >"$act" && echo unload >"$act"; done) &
	verbs=$!
	until_true kernel_said "CPU 1 belongs to held:$held, a real-time task"
	said=$?
	let_go
	wait $going
	[ $said -eq 0 ] || kill $verbs
	wait $verbs
	echo "$was" >$hurry
	echo 1 >$cpu
	return $said
}

kernel_said()
{
	log | grep -q "kdtl_client_sh\]: .*$1"
}

# said_who CLIENT WHAT: it says for what it waits, and who has the CPU.
said_who()
{
	until_true owner_said ".*$1.*: $2" &&
		until_true owner_said ".*$1.*: meanwhile CPU 1 belongs to held:$held, a real-time task"
}

hold()
{
	"$here/held" 1 >"$tmp/holds" &
	held=$!
	ktap_pids="$ktap_pids $held"
	until_true grep -q holds "$tmp/holds"
}

# ends CLIENT: the task lets go of the CPU, and the client goes.
ends()
{
	let_go
	until_true is_gone "$1"
}

# A shell is in kdtl_wait().
in_wait()
{
	grep -q -s kdtl_wait /proc/[0-9]*/stack
}

reader()
{
	for comm in /proc/[0-9]*/comm; do
		[ "$(cat "$comm" 2>/dev/null)" != kdtl_sampler ] || basename "${comm%/comm}"
	done
}

# The session's reader may run on the held CPU only.
flush_says()
{
	load kdtl_sampler && taskset -p 2 "$(reader)" && hold || return
	background cat /sys/kernel/debug/kdtl_sampler/table >"$tmp/table"
	cat=$!
	said_who kdtl_sampler "flush waits for the session's reader"
	said=$?
	let_go
	wait $cat && [ -s "$tmp/table" ] && rmmod kdtl_sampler && return $said
}

# A task that has to leave kdtl_wait() does not get its CPU.
close_says()
{
	background on_cpu 1 "while echo wait >$act; do :; done"
	until_true in_wait && hold || return
	goes kdtl_client_sh
	said_who kdtl_client_sh "close waits for the session's other verbs, or its reader"
	said=$?
	ends kdtl_client_sh && return $said
}

# rcu_waits: waits until RCU waits for the held CPU, or gives up. At first RCU may get on by
# interrupts alone.
rcu_waits()
{
	for _ in 1 2 3 4 5; do
		background "$here/held"
		sleep 1
		has_ended $! || return 0
	done
}

# table_ends: the table of tasks is gone, or a worker waits for RCU to end it. $cpus has the CPUs on
# which that worker may go on.
table_ends()
{
	workers=$(grep -l '^kworker/' /proc/[0-9]*/comm 2>/dev/null | sed 's/comm$/stack/')
	# shellcheck disable=SC2086 # several words
	cpus=$(grep -l '\[kdtl_answers\]' $workers 2>/dev/null | sed 's/stack$/status/' |
		xargs sed -n 's/^Cpus_allowed_list:.//p')
	[ -n "$cpus" ] || ! grep -q '\[kdtl_answers\]' /proc/vmallocinfo
}

# end_is_seen: the table's end is seen while a task holds a CPU, so that RCU does not get on. The
# end begins five seconds after the sampler has gone, which itself would wait for RCU.
end_is_seen()
{
	load kdtl_sampler && on_cpu 0 "rmmod kdtl_sampler" && hold && rcu_waits
	until_true table_ends
	let_go
	[ -n "$cpus" ]
}

several()
{
	note "CPUs $1"
	case $1 in
	*[-,]*) ;;
	*) return 1 ;;
	esac
}

# ends_aloud MODULE: a module that is unloaded without a session does not wait in silence either.
# kdtl_answers keeps the table of tasks for some time after the last client, and has to end it.
#
# Modules are loaded on another CPU: a worker of that CPU frees what they do not need any more. From
# 7.3 on it has a lock meanwhile that rmmod waits for.
ends_aloud()
{
	is_loaded "$1" || on_cpu 0 "$(loading "$1")" || return
	[ "$1" != kdtl_answers ] ||
		{ on_cpu 0 "$(loading kdtl_sampler)" && rmmod kdtl_sampler; } || return
	hold && rcu_waits
	goes "$1"
	says_for_what "$1"
	said=$?
	[ $said -eq 0 ] || waits
	ends "$1" && return $said
}

# session_says SOURCE OPTION: a recording of the source begins and ends, or the log says which task
# its first or last session waits for.
session_says()
{
	load "$1" && hold && rcu_waits
	background "$here/kdtl" record -q "$2" -o "$tmp/data" sleep 0.1
	record=$!
	until_true ended_or_said
	said=$?
	let_go
	wait $record && return $said
}

ended_or_said()
{
	has_ended $record ||
		owner_said "kdtl_[a-z]*: meanwhile CPU 1 belongs to held:$held, a real-time task"
}

# The other sources go as kdtl_sched does.
modules="kdtl_stream kdtl_trace kdtl_answers kdtl_sched"

plan 28
forget_log
ok "the client loads" load kdtl_client_sh
load kdtl_answers
can_starve 1
mkfifo "$tmp/wake"
on_cpu 1 "echo \$\$ >$tmp/sleeper; read -r _ <$tmp/wake" &
ktap_pids="$ktap_pids $!"
until_true sleeps || bail_out "no task sleeps on CPU 1"
sleeper=$(cat "$tmp/sleeper")
hold
ok "a real-time task holds a CPU" is_held
ok "a session is loaded, started, stopped and unloaded meanwhile" meanwhile verbs
for client in kdtl_sampler kdtl_watch; do
	ok "$client comes and goes meanwhile" meanwhile comes_and_goes "$client"
	ok "or says for what it waits" says_for_what "$client"
done
ok "kdtl_recorder comes meanwhile" meanwhile comes kdtl_recorder
goes kdtl_recorder
ok "and says for what it waits as it goes" says_for_what kdtl_recorder
load kdtl_stream
ok "kdtl record begins and ends meanwhile" meanwhile records
ok "and again" meanwhile records
ok "kdtl why -d says who was woken there, has not run since, and behind whom" woken_meanwhile
ok "so does a recording" in_a_recording
ok "a ring, while it goes on" in_a_ring
ok "and files that are full" in_full_files
ok "and kdtl top" in_top
ok "all the time nothing else ran there" is_held
if [ -w /sys/devices/system/cpu/cpu1/online ]; then
	ok "a verb that waits for CPU hotplug says who has the CPU" says_who
else
	skip "a verb that waits for CPU hotplug says who has the CPU" "CPU 1 stays online"
	let_go
fi
ok "the CPU is everybody's again" on_cpu 1 true
for client in kdtl_sampler kdtl_watch kdtl_recorder; do
	until_true is_gone "$client"
done
ok "flush says for whom it waits" flush_says
ok "and so does close" close_says
# While the table ends, it holds locks of the whole kernel, for which tasks on other CPUs would
# wait.
if in_tries 5 end_is_seen; then
	ok "the end of the table of tasks is not bound to a CPU" several "$cpus"
else
	skip "the end of the table of tasks is not bound to a CPU" "RCU got on each time"
fi
for source in irq wake; do
	if have_module kdtl_$source; then
		ok "a session on kdtl_$source does not wait in silence" \
			session_says kdtl_$source --$source
	else
		skip "a session on kdtl_$source does not wait in silence" "no module kdtl_$source"
	fi
done
for module in $modules; do
	if have_module "$module"; then
		ok "unloading $module is not silent" ends_aloud "$module"
	else
		skip "unloading $module is not silent" "no module $module"
	fi
done
finish
