#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# selftests/host/recordings.sh with thousands of damaged recordings, others each time.

here=$(dirname -- "$(readlink -f -- "$0")")
export ROUNDS=${ROUNDS:-10000} SEED=${SEED:-$RANDOM$RANDOM}
exec "$here/../host/recordings.sh"
