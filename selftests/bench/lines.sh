#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# In the guest, with QEMU's plugin lines: let it see some calls of each probe. The host
# (count.awk) adds its counts to the names that this leaves.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

load kdtl
load kdtl_sched
load bench_probe what=all records=4096
load bench_native lines=1 nr_tasks=64 windows=1
dmesg | sed -n 's/.*bench_native: lines //p' >/out/marked
rmmod bench_native
rmmod bench_probe
rmmod kdtl_sched
rmmod kdtl
