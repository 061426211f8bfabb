// SPDX-License-Identifier: GPL-2.0
/*
 * readfile FILE - read the 48-byte records that are in FILE
 *
 * Reads pieces of 64 KiB, and looks at each word.  Prints how many ticks of the time-stamp counter
 * a record took.
 */
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <x86intrin.h>

#define WORDS	6
#define RECORDS	1365	/* 64 KiB */

int main(int argc, char **argv)
{
	static uint64_t buf[RECORDS][WORDS];
	unsigned long long ticks;
	uint64_t sum = 0, records = 0;
	ssize_t n, i;
	int fd;

	if (argc != 2)
		errx(2, "usage: readfile FILE");
	fd = open(argv[1], O_RDONLY);
	if (fd < 0)
		err(1, "%s", argv[1]);
	ticks = __rdtsc();
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n / (ssize_t)sizeof(*buf); i++)
			sum += buf[i][0] + buf[i][1] + buf[i][2] +
			       buf[i][3] + buf[i][4] + buf[i][5];
		records += i;
	}
	ticks = __rdtsc() - ticks;
	/* Nobody needs the sum, but it must be computed. */
	asm volatile("" : : "r" (sum));
	if (n < 0 || !records)
		err(1, "%s", argv[1]);
	printf("%.1f\n", (double)ticks / records);
	return 0;
}
