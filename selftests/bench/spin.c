// SPDX-License-Identifier: GPL-2.0
/*
 * spin LOOPS [FILE COMMAND... STOP] - a fixed amount of work
 *
 * Writes each COMMAND to FILE and then does the work: an eighth of it or, after the last COMMAND,
 * all of it.  STOP is written before each COMMAND but the first, and at the end.  Prints how many
 * instructions passed in all, and how many timer interrupts there were: the instructions beyond the
 * work itself were spent in interrupts.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ppc_time.h"

static void tell(const char *file, const char *what)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, what, strlen(what)) != (ssize_t)strlen(what))
		err(1, "%s: %s", file, what);
	close(fd);
}

static unsigned long timers(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long nr;
	char line[256];

	if (!f)
		err(1, "/proc/interrupts");
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, " LOC: %lu", &nr) != 1)
			continue;
		fclose(f);
		return nr;
	}
	errx(1, "/proc/interrupts: no LOC");
}

static uint64_t work(unsigned long loops)
{
	uint64_t t = ticks();

	while (loops--)
		asm volatile("");
	return ticks() - t;
}

int main(int argc, char **argv)
{
	unsigned long loops, irqs;
	uint64_t t = 0;
	int i;

	if (argc < 2 || argc == 3 || argc == 4)
		errx(2, "usage: spin LOOPS [FILE COMMAND... STOP]");
	loops = strtoul(argv[1], NULL, 0);
	irqs = timers();
	if (argc == 2)
		t = work(loops);
	for (i = 3; i < argc - 1; i++) {
		if (i > 3)
			tell(argv[2], argv[argc - 1]);
		tell(argv[2], argv[i]);
		t += work(i == argc - 2 ? loops : loops / 8);
	}
	if (argc > 2)
		tell(argv[2], argv[argc - 1]);
	printf("%.0f %lu\n", instructions(t), timers() - irqs);
	return 0;
}
