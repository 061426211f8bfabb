#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Checks larger models of selftests/models than make check has the time for.

KDTL_MODELS=large exec "$(dirname "$(readlink -f "$0")")/../host/models.sh"
