// SPDX-License-Identifier: GPL-2.0
/* Names of system calls of the machine that kdtl was built for. */
#include <sys/syscall.h>

#include "sleeps.h"
#include "syscalls.h"

/* As in uname(2); "": a tool built for another machine does not know this one's numbers. */
static const char native[] =
#if defined(__x86_64__) && !defined(__ILP32__)
	"x86_64";
#elif defined(__aarch64__)
	"aarch64";
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
	"ppc64le";
#elif defined(__s390x__)
	"s390x";
#else
	"";
#endif

/* The name on @machine, where the recording was made; "": not known, so probably this kind. */
const char *syscall_name(const char *machine, unsigned int nr)
{
	if (!*machine || !strcmp(machine, native))
		return name_of_syscall(nr);
	if (!strcmp(machine, "aarch64") || !strcmp(machine, "riscv64"))
		return generic_syscall_name(nr);
	return NULL;
}
