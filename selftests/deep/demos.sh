#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Runs the demos in guests of an emulated hypervisor. The rows of nested and kvm test what these
# machines can do; this one tests the command.

here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/../host/demo.sh" powerpc steal
