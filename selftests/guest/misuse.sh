#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The suite kdtl_misuse of kdtl_kunit_kapi.ko makes mistakes of a client's author: each is
# refused, and a line in the log says what was wrong and which function did it. A mistake of
# somebody who runs the tests is tried last: cases that do not exist do not pass.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

need kdtl kdtl_fake_pmu
have_module kdtl_kunit_kapi || skip_all "no module kdtl_kunit_kapi"

kunit kdtl_kunit_kapi 'kdtl_misuse.*' || exit 1
log >/tmp/misuse.log

any='[a-z_]*'	# the compiler may have inlined the function

# is_said FUNCTION LINE
is_said()
{
	grep -q "kdtl: $1 \[kdtl_kunit_kapi\]: $2" /tmp/misuse.log && return
	echo "Bail out! Not in the log: $1: $2"
	exit 1
}

is_said misuse_no_session "kdtl_load() without a session (0)"
is_said misuse_no_session "kdtl_read_counters() without a session (0)"
is_said misuse_no_merge "kdtl_merge_sync() without a merge (-12)"
is_said misuse_destroy_again "kdtl_merge_destroy(): the merge is destroyed already"
is_said misuse_no_notifier "kdtl_alarm_register() without a notifier"
is_said misuse_null "kdtl_isolated_cpus(): cpus is NULL"
is_said misuse_null_task "kdtl_task_at() without a place for the answer"
is_said misuse_null_task "kdtl_tasks_read() without a place for the answer"
is_said misuse_null_task "kdtl_cgroup_path() without a place for the path"
is_said misuse_null_task "kdtl_task_name() without a task, or a place for the name"
is_said misuse_alarm "kdtl_alarm() without a description"
is_said misuse_alarm "kdtl_alarm() without a possible CPU, or -1"
is_said misuse_trigger "kdtl_trigger_open() without a window of 10 ms to 10 s"
is_said misuse_trigger "kdtl_pressure_begin() without functions to call"
is_said "$any" "kdtl_aux_peek(): span is NULL"
is_said "$any" "snapshot: needs KDTL_SESSION_OVERWRITE; without it use kdtl_aux_peek()"
is_said "$any" "CPU 0: consume of 192 bytes, but only 144 of the last span are left"
is_said "$any" "CPU 0: consume of 13 bytes: must be whole entries of 48 bytes"
is_said "$any" "kdtl_session_close(): not from wake(), an interrupt or a timer, nor under a spinlock"
is_said "$any" "kdtl_start(): not from wake(), an interrupt or a timer, nor under a spinlock"
is_said "$any" "close: the session is closed, or somebody else closes it"
is_said misuse_done "done is not initialised: call init_completion() first"
is_said "$any" "counter 1: cpu=77: counters are set on all CPUs, so it must be -1"
is_said misuse_attr "kdtl_session_create() needs attributes"
is_said misuse_attr "aux_pages=3: must be a power of two up to 1048576, or 0"
is_said misuse_attr "msg_pages=5: must be a power of two up to 1048576, or 0"
is_said misuse_attr "mask=0x80000000: unknown bits, allowed are "
is_said misuse_attr "flags=0x80000000: unknown bits, allowed are "
is_said misuse_attr "msg_types=0x80000000: unknown bits, allowed are "
is_said misuse_attr "KDTL_SESSION_NO_AUX allows no aux_pages, "
is_said misuse_attr "watermark=4294967295: more than the area's "
is_said misuse_attr "no CPU asked for: cpus must hold at least one possible CPU"
is_said misuse_attr "a session of "
is_said misuse_attr "config is allowed only with KDTL_SESSION_RAW"
is_said misuse_attr "KDTL_SESSION_RAW needs the name of a PMU"
is_said misuse_attr "KDTL_SESSION_RAW allows no mask, "
# What is refused depends on whether perf gives AUX areas to kernel events, see raw.sh.
if have_module kdtl_kunit_raw; then
	is_said misuse_attr 'perf has no PMU "no_such"'
	is_said misuse_attr "PMU software has no AUX area "
else
	is_said misuse_attr "kdtl_fake: kdtl was built without raw sessions, "
fi

unload kdtl_kunit_kapi || exit
if kunit kdtl_kunit_kapi 'kdtl_no_such.*' >/tmp/misuse.log ||
	! grep -q "no case of kdtl_kunit_kapi matches 'kdtl_no_such\.\*'" /tmp/misuse.log; then
	echo "Bail out! Cases that do not exist:"
	cat /tmp/misuse.log
	exit 1
fi
rm -f /tmp/misuse.log
