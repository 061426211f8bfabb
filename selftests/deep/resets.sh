#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The resets that selftests/host/reset.sh leaves out: with an image of the memory, by a watchdog,
# with reserve_mem=, with each kernel at another address (KASLR), and on arm64. (Not with 7.2 there,
# where a thread prints: when all CPUs have stopped, it cannot.)

here=$(dirname -- "$(readlink -f -- "$0")")
"$here/../../scripts/install-deps" arm64 device-tree
exec "$here/../host/reset.sh" 'x86_64-6.1  image     mem_address=0x30000000,mem_size=0x100000  memmap=1M$0x30000000
x86_64-6.1  watchdog  mem_address=0x30000000,mem_size=0x100000  memmap=1M$0x30000000
x86_64-7.2  image     mem_name=kdtl  reserve_mem=1M:4096:kdtl
x86_64-7.2  kaslr     mem_name=kdtl  reserve_mem=1M:4096:kdtl
arm64-6.1   button    mem_address=0x60000000,mem_size=0x100000  tree=0x60000000:0x100000'
