// SPDX-License-Identifier: GPL-2.0
/*
 * dtl_read cost | dtl_read COMMAND... - read debugfs powerpc/dtl/cpu-0
 *
 * cost: makes kdtl_fake_hv write 80 entries, reads them and adds up all their words, again and
 * again.  Prints how many instructions each entry took. COMMAND: runs it and reads every ms.
 * Prints to stderr how many entries there were.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "ppc_time.h"
#include "spawn.h"

#define DTL		"/sys/kernel/debug/powerpc/dtl/cpu-0"
#define FAKEHV		"/sys/kernel/debug/kdtl_fake_hv/ctl"
#define PUT		"play 0 put=80"
#define ENTRIES		80
#define WORDS		6
#define ROUNDS		200

static uint64_t buf[2 * ENTRIES][WORDS];
static uint64_t sum;

static size_t read_all(int fd)
{
	ssize_t i, n = read(fd, buf, sizeof(buf));

	if (n < 0)
		err(1, "%s", DTL);
	n /= sizeof(*buf);
	for (i = 0; i < n; i++)
		sum += buf[i][0] + buf[i][1] + buf[i][2] +
		       buf[i][3] + buf[i][4] + buf[i][5];
	return n;
}

static void cost(int fd)
{
	int hv = open(FAKEHV, O_WRONLY);
	uint64_t t, took = 0;

	if (hv < 0)
		err(1, "%s", FAKEHV);
	for (int i = 0; i < ROUNDS; i++) {
		if (write(hv, PUT, strlen(PUT)) != (ssize_t)strlen(PUT))
			err(1, "%s", PUT);
		t = ticks();
		if (read_all(fd) != ENTRIES)
			errx(1, "entries are missing");
		took += ticks() - t;
		if (read_all(fd))
			errx(1, "entries too many");
	}
	printf("%.1f\n", instructions(took) / (ROUNDS * ENTRIES));
}

static int watch(int fd, char **argv)
{
	const struct sched_param param = { .sched_priority = 1 };
	const struct timespec ms = { .tv_nsec = 1000000 };
	unsigned long entries = 0;
	int status;
	pid_t pid;

	pid = spawn_only(argv);
	/* As in the best case, no other task runs first. */
	if (sched_setscheduler(0, SCHED_FIFO, &param))
		err(1, "scheduler");
	while (!ended(pid, &status)) {
		nanosleep(&ms, NULL);
		entries += read_all(fd);
	}
	entries += read_all(fd);
	fprintf(stderr, "dtl_read: entries %lu\n", entries);
	return status;
}

int main(int argc, char **argv)
{
	int fd = open(DTL, O_RDONLY);

	if (argc < 2)
		errx(2, "usage: dtl_read cost | dtl_read COMMAND...");
	if (fd < 0)
		err(1, "%s", DTL);
	if (strcmp(argv[1], "cost"))
		return watch(fd, argv + 1);
	cost(fd);
	/* Nobody needs the sum, but it must be computed. */
	asm volatile("" : : "r" (sum));
	return 0;
}
