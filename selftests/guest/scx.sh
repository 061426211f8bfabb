#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compares kdtl_sched with its second witness while a sched_ext scheduler is in charge.
# The cases with a mutex, and those that move a task while it sleeps, are left out,
# because they are about queues of the fair class.

# shellcheck source-path=SCRIPTDIR source=ktap.sh
. "$(dirname "$0")/ktap.sh"

[ -e /sys/kernel/sched_ext/state ] || skip_all "this kernel has no sched_ext"
KDTL_CASES='kdtl_sched.kdtl_sched_[!m]*' "$(dirname "$0")/scx_fifo" sh "$(dirname "$0")/sched.sh"
