// SPDX-License-Identifier: GPL-2.0
/*
 * Hold a CPU as a real-time task, for held.sh
 *
 *	held CPU [PID]...	holds the CPU until it is killed, except from these tasks
 *	held CPU yield N	after SIGUSR1 it passes the CPU to a second task and back until each
 *				of them has yielded N times; then the second one holds the CPU
 *	held			holds nothing, and ends after one grace period of RCU
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include "must.h"
#include "pin.h"

static volatile sig_atomic_t told;

static void tell(int sig)
{
	(void)sig;
	told = 1;
}

static void prioritize(pid_t pid, int priority)
{
	const struct sched_param param = { .sched_priority = priority };

	must(!sched_setscheduler(pid, SCHED_FIFO, &param));
}

static void say(const char *text)
{
	puts(text);
	fflush(stdout);
}

static void yield(int nr)
{
	while (nr--)
		sched_yield();
}

/* The second task gets the CPU when the first one yields for the first time. */
static void begin_second(int nr)
{
	const pid_t first = getpid(), pid = fork();

	must(pid >= 0);
	if (pid)
		return;
	must(!prctl(PR_SET_PDEATHSIG, SIGKILL));
	if (getppid() != first)
		exit(1);
	yield(nr);
	say("passed");
	for (;;)
		;
}

int main(int argc, char **argv)
{
	const int yields = argc == 4 && !strcmp(argv[2], "yield");

	if (argc == 1)
		return !!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (int i = 2; i < argc && !yields; i++)
		prioritize(atoi(argv[i]), 60);
	must(signal(SIGUSR1, tell) != SIG_ERR);
	pin(0, atoi(argv[1]));
	prioritize(0, 50);
	if (yields)
		begin_second(atoi(argv[3]));
	say("holds");
	while (!yields || !told)
		;
	yield(atoi(argv[3]));
	/* Who kills this process ends the second one. */
	prioritize(0, 51);
	for (;;)
		pause();
}
