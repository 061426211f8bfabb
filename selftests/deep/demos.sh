#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The demos in guests of an emulated hypervisor. What these machines can do is tested in
# nested and kvm; this is the command.

here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/../host/demo.sh" powerpc steal
