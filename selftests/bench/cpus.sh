#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs in the guest: what a session on $1 CPUs takes, in wall-clock time. It shows how the cost
# grows, not what it is on a real machine.

# shellcheck source-path=SCRIPTDIR source=guest.sh
. "$(dirname "$0")/guest.sh"

mkdir -p "${RESULTS%/*}"
load kdtl
load kdtl_sched
load bench_kdtl sessions=8 aux_pages=64
rmmod bench_kdtl
result "open.cpus.$1" "$(said bench_kdtl open_ns)" ns
result "close.cpus.$1" "$(said bench_kdtl close_ns)" ns
result "memory.cpus.$1" "$(session_bytes 64)" bytes/session
