#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, under -icount, with $1 possible CPUs: what a kdtl_wait() takes in a session on
# all of them, and a wake-up with kdtl_wake. With another argument, also what make check compares,
# and what a tick takes in which kdtl_steal finds that the hypervisor did not keep the CPU.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

mkdir -p "${RESULTS%/*}"
load kdtl
load bench_reader
set -- "wait.cpus.$1" ${2:+wait.cpus.1 wakeup.kdtl wakeup.floor}
for name; do
	result "$name" "$(said bench_reader "$name")" instructions
done
load kdtl_kunit_wake filter_glob=kdtl_wake.wake_cost
result wake.woken "$(dmesg | sed -n 's/.* woken cycles=//p')" instructions
unload kdtl_kunit_wake
[ $# -gt 1 ] || exit 0
load kdtl_kunit_steal filter_glob=kdtl_steal.steal_cost
result steal.look "$(dmesg | sed -n 's/.* look cycles=//p')" instructions
