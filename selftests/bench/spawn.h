/* SPDX-License-Identifier: GPL-2.0 */
/* Run a command while something is being traced. */
#ifndef _KDTL_BENCH_SPAWN_H
#define _KDTL_BENCH_SPAWN_H

#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void spawn_wake(int sig)
{
	(void)sig;
}

/* Interrupts a poll() when the command ends. */
static inline pid_t spawn_only(char **argv)
{
	const struct sigaction wake = { .sa_handler = spawn_wake };
	pid_t pid;

	if (sigaction(SIGCHLD, &wake, NULL))
		err(1, "sigaction");
	pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		execv(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	return pid;
}

static inline bool ended(pid_t pid, int *status)
{
	int how;

	if (waitpid(pid, &how, WNOHANG) != pid)
		return false;
	*status = WIFEXITED(how) ? WEXITSTATUS(how) : 128;
	return true;
}

static inline int spawn(char **argv)
{
	pid_t pid = spawn_only(argv);
	int how;

	if (waitpid(pid, &how, 0) != pid)
		err(1, "waitpid");
	return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
}

#endif /* _KDTL_BENCH_SPAWN_H */
