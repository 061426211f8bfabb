// SPDX-License-Identifier: GPL-2.0
/*
 * Hold a CPU as a real-time task, for held.sh
 *
 *	held CPU		holds the CPU until it is killed
 *	held			holds nothing, and ends after one grace period of RCU
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include "must.h"

int main(int argc, char **argv)
{
	const struct sched_param param = { .sched_priority = 50 };
	cpu_set_t cpus;

	if (argc == 1)
		return !!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	must(argc == 2);
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[1]), &cpus);
	must(!sched_setaffinity(0, sizeof(cpus), &cpus));
	must(!sched_setscheduler(0, SCHED_FIFO, &param));
	puts("holds");
	fflush(stdout);
	for (;;)
		;
}
