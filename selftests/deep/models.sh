#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# The models of selftests/models, larger than make check has the time for.

KDTL_MODELS=large exec "$(dirname "$(readlink -f "$0")")/../host/models.sh"
