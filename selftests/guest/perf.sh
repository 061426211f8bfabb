#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Tests perf events on the same sources: mmap and its rules, every entry, alone and
# beside sessions, also on a driver that writes to the area itself.
#
# shellcheck disable=SC2317 # functions that ok() calls

here=$(dirname "$0")
# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$here/ktap.sh"

[ -x "$here/perf_mmap" ] || skip_all "no perf_mmap: make -C selftests"
[ -d /sys/kernel/debug/kdtl_fake ] || mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
need kdtl kdtl_sched kdtl_fake_pmu kdtl_fake_drive

format()
{
	dev=/sys/bus/event_source/devices/$1
	is "$(cat $dev/format/event)" config:0-6 && is "$(cat $dev/events/dtl_all)" event=0xf
}

# The sampler's session is on the same CPUs and asks for the same.
beside_session()
{
	load kdtl_sampler || return
	"$here/perf_mmap" exact
	beside=$?
	unload kdtl_sampler && [ $beside -eq 0 ]
}

# beside MODE PMU COMMAND...: perf_mmap COMMAND, while another perf_mmap MODE uses PMU.
beside()
{
	"$here/perf_mmap" "$1" "$2" >/tmp/beside &
	user=$!
	shift 2
	until_true grep -q following /tmp/beside && "$here/perf_mmap" "$@"
	beside=$?
	kill $user
	wait $user && [ $beside -eq 0 ]
}

# After a user was killed with everything open and mapped, nothing holds the module.
killed()
{
	"$here/perf_mmap" follow kdtl_sched >/tmp/follow &
	user=$!
	until_true grep -q following /tmp/follow || return
	kill -9 $user
	wait $user 2>/dev/null
	until_true unload kdtl_sched 2>/dev/null && load kdtl_sched
}

plan 18
for pmu in kdtl_sched kdtl_fake kdtl_fake_raw; do
	ok "$pmu: format and events are listed" format $pmu
	ok "$pmu: what mmap and perf_event_open refuse" "$here/perf_mmap" rules $pmu
done
ok "read() and reset are exact at once" "$here/perf_mmap" count
ok "every dispatch of a task" "$here/perf_mmap" exact
ok "a full area" "$here/perf_mmap" full
ok "every entry of all kinds" "$here/perf_mmap" made 15
ok "every entry of one kind" "$here/perf_mmap" made 2
ok "what the source loses is reported" "$here/perf_mmap" gap
ok "a read-only area has the newest" "$here/perf_mmap" overwrite
ok "a driver that writes by itself" "$here/perf_mmap" raw
ok "every dispatch of a task, beside a session" beside_session
ok "every dispatch of a task, beside another user" beside follow kdtl_sched exact
ok "every entry, beside a user who writes nonsense" beside garbage kdtl_fake made 15
ok "killed, it leaves nothing behind" killed
finish
