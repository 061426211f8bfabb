// SPDX-License-Identifier: GPL-2.0
/* Prints how fast the TSC of this machine counts, in kHz. */
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

struct moment {
	double ns;
	unsigned long long tsc;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The host may stop this program between two clocks, so of many looks the shortest counts. */
static struct moment look(void)
{
	struct moment best = {};
	double least = 1e9;

	for (int i = 0; i < 1000; i++) {
		const double from = now();
		const unsigned long long tsc = __rdtsc();
		const double took = now() - from;

		if (took < least) {
			least = took;
			best = (struct moment){ from + took / 2, tsc };
		}
	}
	return best;
}

int main(void)
{
	const struct moment first = look();

	usleep(100000);

	const struct moment last = look();

	printf("%.0f\n", (last.tsc - first.tsc) * 1e6 / (last.ns - first.ns));
	return 0;
}
