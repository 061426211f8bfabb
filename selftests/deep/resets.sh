#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The resets that selftests/host/reset.sh leaves out: with an image of the memory, and by a watchdog.

here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/../host/reset.sh" 'x86_64-6.1  image     mem_address=0x30000000,mem_size=0x100000  memmap=1M$0x30000000
x86_64-6.1  watchdog  mem_address=0x30000000,mem_size=0x100000  memmap=1M$0x30000000'
