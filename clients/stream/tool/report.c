// SPDX-License-Identifier: GPL-2.0
/* kdtl report: what tasks, commands or cgroups waited for, each in one row. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "export.h"
#include "rows.h"

#define OTHER_LINES	10	/* before and after the rows, and the shell's */

/**
 * struct options - the command line of report
 * @filter: the dispatches that are wanted
 * @by: what the rows are for
 * @asked: @by was asked for
 * @behind: what the rows' culprits, which had the CPUs, are named by
 * @off_cpu: the rows are for times without a CPU instead
 * @sort: the order of the rows; NULL: the worst first
 * @json: a line with a JSON object for each row
 * @interval: make a table for each so many ns; 0: one table
 * @nr: number of rows
 * @width: of the terminal
 * @path: the recording
 */
struct options {
	struct filter	filter;
	enum by		by;
	bool		asked;
	enum by		behind;
	enum off_cpu	off_cpu;
	const struct sort	*sort;
	bool		json;
	uint64_t	interval;
	size_t		nr;
	int		width;
	const char	*path;
};

static struct options parse(int argc, char **argv)
{
	enum { OPT_BY = OPT_OTHERS, OPT_BEHIND, OPT_INTERVAL, OPT_JSON, OPT_SORT };
	static const struct option names[] = {
		{ "by", required_argument, NULL, OPT_BY },
		{ "behind", required_argument, NULL, OPT_BEHIND },
		{ "interval", required_argument, NULL, OPT_INTERVAL },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "sort", required_argument, NULL, OPT_SORT },
		FILTER_OPTIONS,
		OPTIONS_END
	};
	struct options o = {
		.path = "kdtl.data", .behind = BY_COMM, .nr = default_rows(OTHER_LINES), .width = terminal_width(),
	};
	int opt;

	while ((opt = next_option(argc, argv, ":hn:", names)) != -1) {
		switch (opt) {
		case 'n':
			o.nr = parse_nr(optarg, "rows");
			break;
		case OPT_BY:
			o.off_cpu = parse_off_cpu(optarg);
			o.by = o.off_cpu ? BY_TASK : parse_by("--by", optarg);
			o.asked = true;
			break;
		case OPT_BEHIND:
			o.behind = parse_by("--behind", optarg);
			break;
		case OPT_JSON:
			o.json = true;
			break;
		case OPT_SORT:
			o.sort = parse_sort(optarg);
			break;
		case OPT_INTERVAL:
			o.interval = parse_duration("--interval", optarg, NS_PER_S, NS_PER_US, 0);
			break;
		default:
			filter_option(&o.filter, opt, optarg);
		}
	}
	if (argc - optind > 1)
		usage_error("report: expected at most one file");
	if (o.off_cpu && (o.interval || o.sort || o.behind != BY_COMM))
		usage_error("report: --by reason and --by waker cannot be used with --interval, --sort or --behind");
	if (o.behind == BY_CPU)
		usage_error("--behind cpu: must be task, process, comm or cgroup");
	if (argv[optind])
		o.path = argv[optind];
	return o;
}

/* Here, the filter's shortest wait is the shortest time without a CPU. */
static int off_cpu(const struct recording *r, struct options *o)
{
	const struct chains_wanted wanted = {
		.path = o->path, .filter = &o->filter, .min_ns = o->filter.min_wait, .nr = o->nr,
	};

	o->filter.min_wait = 0;
	return report_off_cpu(r, &wanted, o->off_cpu, o->json, o->width);
}

enum { NAME, COUNT, RAN, WAITED, THROTTLED, P50, P99, MAX, BEHIND, BEHIND_NS };

/* For key_text(): the keys of the rows, and of the tasks that had the CPUs. */
static const struct keys *row_keys, *culprit_keys;

/* @ns as text, or "-" if none of the row's waits are known. */
static const char *wait_text(char *to, const struct row *row, uint64_t ns)
{
	return row->waits ? brief_ns(to, ns, ns >= row->least) : "-";
}

static const char *cell(char *to, const void *p, int what)
{
	const struct row *row = p;

	switch (what) {
	case NAME:
		return key_text(to, row_keys, row->key);
	case COUNT:
		sprintf(to, "%zu", row->nr - row->still);
		return to;
	case RAN:
		return brief_ns(to, row->ran, row->unknown);
	case WAITED:
		return brief_ns(to, row->waited, row->least != UINT64_MAX);
	case THROTTLED:
		return row->throttled ? brief_ns(to, row->throttled, row->throttled_more) : "-";
	case P50:
		return wait_text(to, row, row->p50);
	case P99:
		return wait_text(to, row, row->p99);
	case MAX:
		return wait_text(to, row, row->max);
	case BEHIND:
		if (!row->waited)
			return "-";
		return row->culprit ? key_text(to, culprit_keys, row->culprit) : "not known";
	default:
		if (!row->waited)
			return "-";
		return brief_ns(to, row->culprit ? row->behind : row->waited, false);
	}
}

static void add_column(struct table *t, const char *head, int what)
{
	t->column[t->nr++] = (struct column){ head, what, what == NAME || what == BEHIND, NULL };
}

/* The hypervisor's log does not say who ran. */
static struct table make_table(const struct recording *r, const struct options *o)
{
	struct table t = { .text = cell, .size = sizeof(struct row), .width = o->width };
	bool throttled = false;

	for (size_t i = 0; i < r->nr; i++)
		throttled |= entry_is_throttled(r->entry[i]);
	add_column(&t, row_heads[o->by], NAME);
	add_column(&t, "count", COUNT);
	if (r->sched)
		add_column(&t, "ran", RAN);
	add_column(&t, "waited", WAITED);
	if (throttled)
		add_column(&t, "throttled", THROTTLED);
	add_column(&t, "p50", P50);
	add_column(&t, "p99", P99);
	add_column(&t, "max", MAX);
	if (r->sched) {
		add_column(&t, "behind", BEHIND);
		add_column(&t, "for", BEHIND_NS);
	}
	return t;
}

/* Put @ns, or null if none of the row's waits are known. */
static void put_wait(const char *key, const struct row *row, uint64_t ns)
{
	if (row->waits)
		line_number(key, ns);
	else
		line_text(key, NULL, 0);
}

static void print_json(const struct recording *r, const struct options *o, const struct row *row,
		       uint64_t interval)
{
	char name[CELL_TEXT];

	line_begin();
	key_text(name, row_keys, row->key);
	line_text("row", name, sizeof(name));
	if (o->interval) {
		line_time("begin", "begin_ns", interval * o->interval);
		line_time("end", "end_ns", (interval + 1) * o->interval);
	}
	line_number("count", row->nr - row->still);
	line_number("not_over", row->still);
	line_number("ran_ns", row->ran);
	line_number("ran_unknown_ns", row->unknown);
	line_number("waited_ns", row->waited);
	line_bool("waited_saturated", row->least != UINT64_MAX);
	line_number("throttled_ns", row->throttled);
	line_bool("throttled_saturated", row->throttled_more);
	put_wait("p50_ns", row, row->p50);
	put_wait("p99_ns", row, row->p99);
	put_wait("max_ns", row, row->max);
	if (r->sched && row->culprit)
		line_text("behind", key_text(name, culprit_keys, row->culprit), sizeof(name));
	else
		line_text("behind", NULL, 0);
	line_number("behind_ns", row->behind);
	line_end();
}

static void print_head(const struct recording *r, const struct options *o, size_t nr,
		       size_t dispatches)
{
	if (o->interval)
		printf("%s: ", o->path);
	else
		printf("%s: the %s %zu of %zu %s%s%s; ", o->path, o->sort ? "first" : "worst",
		       nr < o->nr ? nr : o->nr, nr, row_names[o->by], o->sort ? " by " : "",
		       o->sort ? o->sort->name : "");
	printf("%zu dispatches, %llu entries lost\n", dispatches, (unsigned long long)r->head.lost);
	print_origin(r);
}

static void print_interval(const struct options *o, uint64_t interval)
{
	char from[TIME_TEXT], to[TIME_TEXT];
	const unsigned int digits = o->interval % NS_PER_S ? 6 : 0;
	/* Intervals of whole days all begin at one time of day, so show the date. */
	const char *format = o->interval < NS_PER_DAY ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S";

	printf("%s to %s\n", time_text(from, interval * o->interval, format, digits),
	       time_text(to, (interval + 1) * o->interval, format, digits));
}

static void print_stills(const struct recording *r, size_t stills)
{
	if (stills)
		printf("\n%zu waits (+) were not over at the end%s\n",
		       stills, r->some_cpus ? ", as far as the recorded CPUs tell (-C)" : "");
}

/* Say which recording would have told more. */
static void print_advice(uint64_t unknown, uint64_t waited, uint64_t known)
{
	char ns[NS_TEXT];

	if (unknown)
		printf("\n+ means or more: for %s it is not known whether these tasks ran\n",
		       short_ns(ns, unknown));
	if (waited - known > waited / 10)
		fprintf(stderr, "kdtl: the recording does not say who had the CPU for %.0f%% of the time waited: record with -i, without -w, and with enough pages (-m)\n",
			(double)(waited - known) * 100 / waited);
}

static int report(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct recording r = recording_open(o.path);
	struct keys keys = { 0 }, culprits = { .by = o.behind };
	uint64_t unknown = 0, waited = 0, known = 0, end;
	struct dispatch *d;
	struct execd *execd;
	struct key **culprit = NULL;
	struct table t;
	struct row *row;
	size_t nr, n, nr_rows, nr_execd, still = 0, stills = 0;

	steal_open(&r, o.path, NULL);
	irq_open(&r, o.path, NULL);
	recording_sort(&r);
	filter_begin(&o.filter, &r);
	recording_sort_by_cpu(&r);
	if (o.off_cpu)
		return off_cpu(&r, &o);
	stills_find(&r);
	o.by = rows_by(&r, o.by, o.asked);
	keys.by = o.by;
	row_keys = &keys;
	culprit_keys = &culprits;
	d = find_dispatches(&r, &o.filter, &keys, o.interval, &nr);
	if (!nr) {
		tell_empty(&o.filter, &r, o.path);
		errno = 0;
		die("%s: no dispatches match; kdtl print shows all", o.path);
	}
	for (size_t i = 0; i < nr; i++)
		still += !!entry_still(&r, r.entry[d[i].i]);
	sort_dispatches(d, nr);
	execd = find_execd(&r, &o.filter, &keys, o.interval, &nr_execd);
	if (r.sched)
		culprit = culprits_of(&r, &culprits);
	end = recording_end(&r);
	t = make_table(&r, &o);
	if (!o.json)
		print_head(&r, &o, keys.nr, nr - still);
	for (size_t i = 0; i < nr; i += n) {
		for (n = 1; i + n < nr && d[i + n].interval == d[i].interval; n++)
			;
		row = rows_of(&r, d + i, n, end, &nr_rows);
		row = move_execd(execd, nr_execd, d[i].interval, row, &nr_rows);
		sort_rows(row, nr_rows, o.sort);
		nr_rows = nr_rows < o.nr ? nr_rows : o.nr;
		for (size_t k = 0; k < nr_rows; k++) {
			if (culprit)
				find_culprit(&r, culprit, &row[k]);
			unknown += row[k].unknown;
			stills += row[k].still;
			/* No option records who had other CPUs for these waits. */
			waited += row[k].waited - row[k].elsewhere;
			known += row[k].known;
		}
		for (size_t k = 0; k < nr_rows && o.json; k++)
			print_json(&r, &o, &row[k], d[i].interval);
		if (i && !o.json)
			putchar('\n');
		if (o.interval && !o.json)
			print_interval(&o, d[i].interval);
		if (!o.json)
			print_table(&t, row, nr_rows);
		free(row);
	}
	if (o.json)
		return 0;
	print_stills(&r, stills);
	if (r.sched)
		print_advice(unknown, waited, known);
	return 0;
}

const struct verb verb_report = {
	.name = "report",
	.brief = "how long tasks, commands or cgroups waited, and behind what",
	.usage =
	"report [OPTION]... [FILE]\n"
	"  --by task|process|comm|cgroup|cpu\n"
	"                           what the rows are for (default: task)\n"
	"  --behind comm|task|process|cgroup\n"
	"                           how those who had the CPUs are named (default: comm)\n"
	"  --by reason|waker        of times without a CPU: needs FILE.wake\n"
	"  --interval TIME          a table for each interval; seconds, or 100ms\n"
	"  --sort waited|throttled|ran|count|p50|p99|max\n"
	"                           the highest first (default: waited and throttled)\n"
	"  --json                   a line with a JSON object for each row\n"
	"  -n NUMBER                so many rows (default: 20, or as many as fit)\n"
	FILTER_USAGE,
	.run = report,
};
