/* SPDX-License-Identifier: GPL-2.0 */
/* Run a command while something is being traced. */
#ifndef _KDTL_BENCH_SPAWN_H
#define _KDTL_BENCH_SPAWN_H

#include <err.h>
#include <sys/wait.h>
#include <unistd.h>

static inline int spawn(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		execv(argv[0], argv);
		err(127, "%s", argv[0]);
	}
	if (waitpid(pid, &status, 0) != pid)
		err(1, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

#endif /* _KDTL_BENCH_SPAWN_H */
