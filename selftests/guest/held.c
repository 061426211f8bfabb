// SPDX-License-Identifier: GPL-2.0
/*
 * Hold a CPU as a real-time task, for held.sh
 *
 *	held CPU		until it is killed
 */
#define _GNU_SOURCE
#include <sched.h>

#include "must.h"

int main(int argc, char **argv)
{
	const struct sched_param param = { .sched_priority = 50 };
	cpu_set_t cpus;

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
