// SPDX-License-Identifier: GPL-2.0
/*
 * Hold a CPU as a real-time task, for held.sh
 *
 *	held CPU [PID]...	holds the CPU until it is killed, except from these tasks
 *	held			holds nothing, and ends after one grace period of RCU
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include "must.h"
#include "pin.h"

int main(int argc, char **argv)
{
	const struct sched_param param = { .sched_priority = 50 }, higher = { .sched_priority = 60 };
	int i;

	if (argc == 1)
		return !!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (i = 2; i < argc; i++)
		must(!sched_setscheduler(atoi(argv[i]), SCHED_FIFO, &higher));
	pin(0, atoi(argv[1]));
	must(!sched_setscheduler(0, SCHED_FIFO, &param));
	puts("holds");
	fflush(stdout);
	for (;;)
		;
}
