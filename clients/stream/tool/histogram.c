// SPDX-License-Identifier: GPL-2.0
/* kdtl histogram: the waits by powers of two, and exact percentiles. */
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

#define BAR	50
#define BUCKETS	65	/* by the number of bits */

static unsigned int bits_of(uint64_t v)
{
	return v ? 64 - __builtin_clzll(v) : 0;
}

static void bar(uint64_t ns, bool open, uint64_t count, uint64_t most)
{
	print_ns(ns, open);
	printf(" %12llu |", (unsigned long long)count);
	for (uint64_t n = (count * BAR + most - 1) / most; n; n--)
		putchar('#');
	putchar('\n');
}

/* @saturated waits were of @least ns or more. */
static void bars(const uint64_t *count, uint64_t saturated, uint64_t least)
{
	unsigned int first = 0, last = BUCKETS - 1, i;
	uint64_t most = saturated > 1 ? saturated : 1;
	bool gap = false;

	while (first < last && !count[first])
		first++;
	while (last > first && !count[last])
		last--;
	for (i = first; i <= last; i++)
		if (count[i] > most)
			most = count[i];
	puts("wait below       count");
	for (i = first; i <= last; i++) {
		if (count[i])
			bar(i < 64 ? 1ULL << i : UINT64_MAX, false, count[i], most);
		else if (!gap && first < last)
			puts("   ...");
		gap = !count[i];
	}
	if (saturated)
		bar(least, true, saturated, most);
}

static int histogram(int argc, char **argv)
{
	static const unsigned int permille[] = { 500, 990, 999 };
	uint64_t count[BUCKETS] = { 0 }, *wait, saturated = 0, least = UINT64_MAX, ns;
	uint64_t throttled = 0, throttles = 0, nr = 0, idle = 0;
	struct recording r;

	no_options(argc, argv);
	if (argc - optind > 1)
		usage_error("histogram: expected at most one file");
	r = recording_open(argv[optind] ?: "kdtl.data");
	wait = calloc(r.nr + 1, sizeof(*wait));
	if (!wait)
		die("%zu entries", r.nr);
	for (size_t i = 0; i < r.nr; i++) {
		if (entry_is_idle(r.entry[i])) {
			idle++;
			continue;
		}
		if (entry_is_throttled(r.entry[i])) {
			throttled += entry_throttled(&r, r.entry[i]);
			throttles++;
		}
		if (!entry_has_wait(&r, r.entry[i]))
			continue;
		ns = entry_wait(&r, r.entry[i]);
		wait[nr++] = ns;
		if (!entry_wait_saturated(r.entry[i])) {
			count[bits_of(ns)]++;
			continue;
		}
		saturated++;
		if (ns < least)
			least = ns;
	}
	qsort(wait, nr, sizeof(*wait), by_value);

	printf("%llu dispatches, %llu lost\n", (unsigned long long)(r.nr - idle),
	       (unsigned long long)r.head.lost);
	if (throttles) {
		printf("not in the waits: how long runners were throttled before %llu dispatches,",
		       (unsigned long long)throttles);
		print_ns(throttled, false);
		putchar('\n');
	}
	if (!nr)
		return 0;
	bars(count, saturated, least);
	/* Saturated waits are at their lower bounds, so what is below all is exact. */
	for (size_t i = 0; i < ARRAY_SIZE(permille); i++) {
		printf("p%g ", permille[i] / 10.0);
		ns = percentile(wait, nr, permille[i]);
		print_ns(ns, ns >= least);
		fputs(", ", stdout);
	}
	fputs("max ", stdout);
	print_ns(wait[nr - 1], saturated);
	putchar('\n');
	return 0;
}

const struct verb verb_histogram = {
	.name = "histogram",
	.brief = "show how long tasks waited",
	.usage = "histogram [FILE]",
	.run = histogram,
};
