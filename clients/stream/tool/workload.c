// SPDX-License-Identifier: GPL-2.0
/* The command that runs while kdtl records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "record.h"

/* A command that does not end when it is told to gets SIGKILL after this. */
#define GRACE_S		5

static pid_t pid;
static const char *name;
static int status;

/* kdtl must not leave the command behind, however it exits. */
static void at_exit(void)
{
	workload_end(SIGTERM);
}

/* @ring: Ctrl-\ is for kdtl, and not for the command. */
void workload_start(char **command, const sigset_t *mask, bool ring)
{
	name = command[0];
	pid = fork();
	if (pid < 0) {
		pid = 0;
		die("fork");
	}
	if (pid) {
		atexit(at_exit);
		return;
	}
	if (ring)
		signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(command[0], command);
	fprintf(stderr, "kdtl: %s: %s\n", command[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

/* Other children may end too, and a child that stops or goes on has not ended. */
bool workload_ended(void)
{
	if (pid && waitpid(pid, &status, WNOHANG) == pid)
		pid = 0;
	return !pid;
}

/* Returns 1: it has ended; 0: not within @seconds; -1: somebody wants it to end at once. */
static int wait_for_it(unsigned int seconds)
{
	const struct timespec second = { .tv_sec = 1 };
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	while (!workload_ended()) {
		sig = sigtimedwait(&set, NULL, &second);
		if (sig > 0 && sig != SIGCHLD)
			return -1;
		if (sig < 0 && errno == EAGAIN && !--seconds)
			return 0;
	}
	return 1;
}

/*
 * End the command with @sig if it still runs, and if need be with SIGKILL.  All that
 * wait_for_it() waits for must be blocked.  Returns its exit status, as a shell does.
 */
int workload_end(int sig)
{
	int ended;

	if (!workload_ended()) {
		kill(pid, sig);
		/* It gets the signal only when it goes on. */
		kill(pid, SIGCONT);
		ended = wait_for_it(1);
		if (!ended) {
			fprintf(stderr, "kdtl: %s has not ended yet: SIGKILL in %d s, or at Ctrl-C\n",
				name, GRACE_S);
			ended = wait_for_it(GRACE_S);
		}
		if (ended != 1) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			pid = 0;
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
