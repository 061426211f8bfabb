#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest, with QEMU's plugin lines: lets it see some calls of each probe. The host
# (count.awk) puts its counts beside the names that this leaves.

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
