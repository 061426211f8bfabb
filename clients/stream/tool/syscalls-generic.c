// SPDX-License-Identifier: GPL-2.0
/* Names of system calls of the machines that have the generic numbers, such as arm64. */
#include <asm/bitsperlong.h>

/* Take the numbers of 64-bit machines, wherever kdtl is built. */
#undef __BITS_PER_LONG
#define __BITS_PER_LONG	64
#include <asm-generic/unistd.h>

#include "sleeps.h"
#include "syscalls.h"

const char *generic_syscall_name(unsigned int nr)
{
	return name_of_syscall(nr);
}
