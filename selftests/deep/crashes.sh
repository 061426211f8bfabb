#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The crashes that selftests/host/recorder.sh leaves out because they resemble those that it has.

here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/../host/recorder.sh" 'x86_64-6.1   hang     khungtaskd
x86_64-6.1   fanout   kdtl_crash
x86_64-6.1   bug      kdtl_crash
x86_64-6.1   spin     kdtl_crash
x86_64-6.1   irqspin  kdtl_crash
ppc64le-6.1  sysrq    kdtl_crash
ppc64le-6.1  bug      kdtl_crash
ppc64le-6.1  spin     kdtl_crash
ppc64le-6.1  fanout   kdtl_crash
ppc64le-6.1  locks    kdtl_crash'
