#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Builds as build.sh does, for POWER, while the first tests run.

here=$(dirname -- "$(readlink -f -- "$0")")
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$here/../../scripts/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/ktap.sh
. "$here/lib/ktap.sh"

"$here/build.sh" ppc64le-6.1
