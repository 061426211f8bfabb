// SPDX-License-Identifier: GPL-2.0
/*
 * messages [-f] GROUPS PAIRS ROUNDS - a crowd that talks through pipes
 *
 * In each group PAIRS senders write ROUNDS messages of 100 bytes to each of PAIRS receivers, so
 * there are many runnable tasks, waits and wake-ups.  With -f all tasks are under SCHED_FIFO with
 * the same priority: nobody is preempted, so the schedule does not depend on where the timer's
 * ticks fall, and all runs are alike.  Prints how many ns it took.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SIZE		100
#define MAX_PAIRS	32

static int start[2];	/* is closed to let all begin */

static void await_start(void)
{
	char x;

	close(start[1]);
	if (read(start[0], &x, 1) != 0)
		err(1, "start");
}

static void sender(int pipes[][2], int pairs, long rounds)
{
	char msg[SIZE] = { 0 };

	await_start();
	while (rounds--) {
		for (int i = 0; i < pairs; i++) {
			if (write(pipes[i][1], msg, SIZE) != SIZE)
				err(1, "write");
		}
	}
	_exit(0);
}

/* A write of less than PIPE_BUF is whole, but a read may end within one. */
static void receiver(int fd, long bytes)
{
	char msg[SIZE];

	await_start();
	while (bytes > 0) {
		ssize_t n = read(fd, msg, SIZE);

		if (n <= 0)
			err(1, "read");
		bytes -= n;
	}
	_exit(0);
}

static pid_t fork_or_die(void)
{
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	return pid;
}

static void group(int pairs, long rounds)
{
	int pipes[MAX_PAIRS][2];
	int i;

	/* The pipes are small, so a task that fills or empties one has to wait. */
	for (i = 0; i < pairs; i++) {
		if (pipe(pipes[i]) || fcntl(pipes[i][1], F_SETPIPE_SZ, 4096) < 0)
			err(1, "pipe");
	}
	for (i = 0; i < pairs; i++) {
		if (!fork_or_die())
			sender(pipes, pairs, rounds);
		if (!fork_or_die())
			receiver(pipes[i][0], rounds * pairs * SIZE);
	}
	for (i = 0; i < pairs; i++) {
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	const bool fifo = argc > 1 && !strcmp(argv[1], "-f");
	const struct sched_param param = { .sched_priority = fifo };
	int groups, pairs, status;
	long rounds;
	double t;

	argc -= fifo;
	argv += fifo;
	if (argc != 4)
		errx(2, "usage: messages [-f] GROUPS PAIRS ROUNDS");
	groups = atoi(argv[1]);
	pairs = atoi(argv[2]);
	rounds = atol(argv[3]);
	if (groups <= 0 || pairs <= 0 || pairs > MAX_PAIRS || rounds <= 0)
		errx(2, "1 group or more, 1 to %d pairs, 1 round or more", MAX_PAIRS);
	/* Then a wake-up preempts nobody, and runs differ less. */
	if (sched_setscheduler(0, fifo ? SCHED_FIFO : SCHED_BATCH, &param))
		err(1, "scheduler");
	if (pipe(start))
		err(1, "pipe");
	for (int i = 0; i < groups; i++)
		group(pairs, rounds);

	t = now();
	close(start[1]);
	while (wait(&status) > 0) {
		if (status)
			errx(1, "a process failed");
	}
	printf("%.0f\n", now() - t);
	return 0;
}
