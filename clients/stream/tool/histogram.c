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

/**
 * struct options - the command line of histogram
 * @filter: the dispatches that are wanted
 * @by: what each histogram is for
 * @asked: @by was asked for; otherwise there is one for all
 * @path: the recording
 */
struct options {
	struct filter	filter;
	enum by		by;
	bool		asked;
	const char	*path;
};

static struct options parse(int argc, char **argv)
{
	enum { OPT_BY = OPT_OTHERS };
	static const struct option names[] = {
		{ "by", required_argument, NULL, OPT_BY },
		FILTER_OPTIONS,
		OPTIONS_END
	};
	struct options o = { .path = "kdtl.data" };
	int opt;

	while ((opt = next_option(argc, argv, ":h", names)) != -1) {
		if (opt == OPT_BY) {
			o.by = parse_by("--by", optarg);
			o.asked = true;
		} else {
			filter_option(&o.filter, opt, optarg);
		}
	}
	if (argc - optind > 1)
		usage_error("histogram: expected at most one file");
	if (argv[optind])
		o.path = argv[optind];
	return o;
}

/* Print those of @nr waits; the @saturated waits of @least ns and more may have been longer. */
static void percentiles(const uint64_t *wait, size_t nr, uint64_t saturated, uint64_t least)
{
	static const unsigned int permille[] = { 500, 990, 999 };
	uint64_t ns;

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
}

static void print_throttled(const struct recording *r, const struct dispatch *d, size_t nr)
{
	uint64_t ns = 0, throttles = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!entry_is_throttled(r->entry[d[i].i]))
			continue;
		ns += entry_throttled(r, r->entry[d[i].i]);
		throttles++;
	}
	if (!throttles)
		return;
	printf("not in the waits: how long runners were throttled before %llu dispatches,",
	       (unsigned long long)throttles);
	print_ns(ns, false);
	putchar('\n');
}

static void print_histogram(const struct recording *r, const struct dispatch *d, size_t nr)
{
	uint64_t *wait = resized(NULL, (nr + 1) * sizeof(*wait));
	uint64_t count[BUCKETS] = { 0 }, saturated = 0, least = UINT64_MAX, ns;
	const struct kdtl_entry *e;
	size_t waits = 0;

	print_throttled(r, d, nr);
	for (size_t i = 0; i < nr; i++) {
		e = r->entry[d[i].i];
		if (!entry_has_wait(r, e))
			continue;
		ns = entry_wait(r, e);
		wait[waits++] = ns;
		if (!entry_wait_saturated(e)) {
			count[bits_of(ns)]++;
			continue;
		}
		saturated++;
		if (ns < least)
			least = ns;
	}
	if (waits) {
		qsort(wait, waits, sizeof(*wait), by_value);
		bars(count, saturated, least);
		percentiles(wait, waits, saturated, least);
	}
	free(wait);
}

/* Print a histogram for each key, the worst first. */
static void print_each(const struct recording *r, const struct keys *keys, struct dispatch *d,
		       size_t nr)
{
	char name[CELL_TEXT];
	struct row *row;
	size_t nr_rows;

	sort_dispatches(d, nr);
	row = rows_of(r, d, nr, recording_end(r), &nr_rows);
	for (size_t i = 0; i < nr_rows; i++) {
		printf("\n%s: %zu dispatches\n", key_text(name, keys, row[i].key), row[i].nr);
		print_histogram(r, row[i].first, row[i].nr);
	}
	free(row);
}

static int histogram(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct recording r = recording_open(o.path);
	struct keys keys = { 0 };
	struct dispatch *d;
	size_t nr;

	recording_sort(&r);
	filter_begin(&o.filter, &r);
	recording_sort_by_cpu(&r);
	keys.by = rows_by(&r, o.by, o.asked);
	d = find_dispatches(&r, &o.filter, &keys, 0, &nr);
	printf("%zu dispatches, %llu lost\n", nr, (unsigned long long)r.head.lost);
	if (!nr)
		tell_empty(&o.filter, &r, o.path);
	else if (o.asked)
		print_each(&r, &keys, d, nr);
	else
		print_histogram(&r, d, nr);
	free(d);
	return 0;
}

const struct verb verb_histogram = {
	.name = "histogram",
	.brief = "show how long tasks waited",
	.usage =
	"histogram [OPTION]... [FILE]\n"
	"  --by task|process|comm|cgroup|cpu\n"
	"                           a histogram for each (default: one for all)\n"
	FILTER_USAGE,
	.run = histogram,
};
