// SPDX-License-Identifier: GPL-2.0
/*
 * ftrace_read FILE COMMAND... - run COMMAND, and read trace_pipe_raw meanwhile
 *
 * Reads whenever half of the buffer is full, which is what poll() waits for.  A read() that blocks
 * would be woken by each event, and make two itself.  Each word is looked at.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <unistd.h>

#include "spawn.h"

static uint64_t sum;	/* makes use of what is read */

static void read_some(int fd)
{
	static uint64_t page[512];
	ssize_t n, i;

	while ((n = read(fd, page, sizeof(page))) > 0) {
		for (i = 0; i < n / (ssize_t)sizeof(*page); i++)
			sum += page[i];
	}
}

int main(int argc, char **argv)
{
	struct pollfd fds = { .events = POLLIN };
	int status;
	pid_t pid;

	if (argc < 3)
		errx(2, "usage: ftrace_read FILE COMMAND...");
	fds.fd = open(argv[1], O_RDONLY | O_NONBLOCK);
	if (fds.fd < 0)
		err(1, "%s", argv[1]);
	pid = spawn_only(argv + 2);
	while (!ended(pid, &status)) {
		/* The timeout is needed because the signal may come just before the call. */
		if (poll(&fds, 1, 1000) > 0)
			read_some(fds.fd);
	}
	read_some(fds.fd);
	return status;
}
