// SPDX-License-Identifier: GPL-2.0
/*
 * pingpong ROUNDS [TICKS] - two threads wake each other through pipes
 *
 * Prints how many ticks of the time-stamp counter a context switch takes: with QEMU's -icount these
 * are instructions.  The threads are under SCHED_BATCH, where a wake-up is one switch: under
 * SCHED_NORMAL it may be one or two, and that changes in the middle of a run.  TICKS says how long
 * each thread works between two switches.
 */
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#define WARM_UP	2000

static int to[2], from[2];
static unsigned long pause_ticks;

static void work(void)
{
	unsigned long turns;

	/* An iteration has two instructions, so this is the same work, whatever interrupts it. */
	for (turns = pause_ticks / 2; turns; turns--)
		asm volatile("" : "+r" (turns));
}

static void other(void)
{
	char x;

	close(to[1]);
	close(from[0]);
	while (read(to[0], &x, 1) == 1) {
		work();
		if (write(from[1], &x, 1) != 1)
			break;
	}
	_exit(0);
}

static void rounds(long n)
{
	char x = 0;

	while (n--) {
		work();
		if (write(to[1], &x, 1) != 1 || read(from[0], &x, 1) != 1)
			err(1, "pipe");
	}
}

int main(int argc, char **argv)
{
	const struct sched_param param = { 0 };
	const long n = argc > 1 ? atol(argv[1]) : 0;
	unsigned long long ticks;
	cpu_set_t cpus;
	pid_t pid;

	if (n <= 0 || argc > 3)
		errx(1, "usage: pingpong ROUNDS [TICKS]");
	pause_ticks = argc == 3 ? strtoul(argv[2], NULL, 0) : 0;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus) ||
	    sched_setscheduler(0, SCHED_BATCH, &param))
		err(1, "scheduler");
	if (pipe(to) || pipe(from))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid)
		other();
	close(to[0]);
	close(from[1]);

	rounds(pause_ticks ? WARM_UP / 20 : WARM_UP);
	ticks = __rdtsc();
	rounds(n);
	ticks = __rdtsc() - ticks;
	printf("%.1f\n", (double)ticks / (2 * n));

	close(to[1]);
	waitpid(pid, NULL, 0);
	return 0;
}
