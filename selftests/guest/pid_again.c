// SPDX-License-Identifier: GPL-2.0
/*
 * A process with the pid of a thread that the kernel has still to free, for tasks.sh
 *
 *	pid_again CGROUP N		CGROUP is a folder; it prints the process's pid
 *
 * The process is in CGROUP from the beginning, and stops at once.  When the thread is free, this
 * changes its own name N times, and lets the process go on, which sleeps again and again.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/membarrier.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

static void *say_tid(void *tid)
{
	*(pid_t *)tid = gettid();
	return NULL;
}

static void come_and_go(void)
{
	must(!prctl(PR_SET_PDEATHSIG, SIGKILL) && !raise(SIGSTOP));
	while (!usleep(1000))
		;
	_exit(1);
}

/* The pid is free a moment after the thread has ended, before its memory is. */
static pid_t again(pid_t tid, int cgroup)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP, .cgroup = cgroup, .exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&tid, .set_tid_size = 1,
	};
	long pid;

	do {
		pid = syscall(SYS_clone3, &args, sizeof(args));
	} while (pid < 0 && errno == EEXIST);
	must(pid >= 0);
	if (!pid)
		come_and_go();
	return pid;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int cgroup, i;
	pid_t tid, pid;

	must(argc == 3);
	cgroup = open(argv[1], O_RDONLY | O_DIRECTORY);
	must(cgroup >= 0 && !pthread_create(&thread, NULL, say_tid, &tid) &&
	     !pthread_join(thread, NULL));
	pid = again(tid, cgroup);
	must(waitpid(pid, NULL, WUNTRACED) == pid);
	/* Two grace periods, so that what has to be done after the first one is done. */
	for (i = 0; i < 2; i++)
		must(!syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
	for (i = atoi(argv[2]); i; i--)
		must(!prctl(PR_SET_NAME, i % 2 ? "odd" : "even"));
	must(!kill(pid, SIGCONT));
	printf("%d\n", pid);
	must(!fflush(stdout));
	for (;;)
		pause();
}
