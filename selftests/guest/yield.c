// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks that only yield their CPU to each other: each of their long waits contains a thousand
 * short runs
 *
 *	yield N		N processes, until this one is killed
 */
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "must.h"

int main(int argc, char **argv)
{
	const pid_t first = getpid();

	must(argc == 2);
	for (int nr = atoi(argv[1]); nr > 1; nr--) {
		const pid_t pid = fork();

		must(pid >= 0);
		if (pid)
			continue;
		must(!prctl(PR_SET_PDEATHSIG, SIGKILL));
		if (getppid() != first)
			return 0;
		break;
	}
	for (;;)
		sched_yield();
}
