// SPDX-License-Identifier: GPL-2.0
/* kdtl diff: what waited longer in one recording than in another. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "rows.h"

#define ALL_COLUMNS	110	/* the width that all of them need */
#define OTHER_LINES	6	/* before the rows, and the shell's */

/**
 * struct options - the command line of diff
 * @filter: the dispatches that are wanted
 * @by: what the rows are for
 * @asked: @by was asked for
 * @nr: so many rows
 * @width: of the terminal
 * @path: the two recordings
 */
struct options {
	struct filter	filter;
	enum by		by;
	bool		asked;
	size_t		nr;
	int		width;
	char		**path;
};

/**
 * struct half - one of the two recordings
 * @r: the recording
 * @d: its dispatches
 * @nr: number of dispatches
 * @seconds: its length, or the length of the part that is wanted
 * @row: its rows
 * @nr_rows: number of rows
 */
struct half {
	struct recording	r;
	struct dispatch		*d;
	size_t			nr;
	double			seconds;
	struct row		*row;
	size_t			nr_rows;
};

/**
 * struct change - a row of the table
 * @key: what it is for
 * @row: of the two recordings; NULL: it was never dispatched
 * @waited: ns in each second, in the two recordings
 * @throttled: ns in each second for which a limit on CPU time held tasks back, likewise
 */
struct change {
	const struct key	*key;
	const struct row	*row[2];
	double			waited[2];
	double			throttled[2];
};

static struct options parse(int argc, char **argv)
{
	enum { OPT_BY = OPT_OTHERS };
	static const struct option names[] = {
		{ "by", required_argument, NULL, OPT_BY },
		FILTER_OPTIONS,
		OPTIONS_END
	};
	struct options o = {
		.by = BY_COMM, .nr = default_rows(OTHER_LINES), .width = terminal_width(),
	};
	int opt;

	while ((opt = next_option(argc, argv, ":hn:", names)) != -1) {
		switch (opt) {
		case 'n':
			o.nr = parse_nr(optarg, "rows");
			break;
		case OPT_BY:
			o.by = parse_by("--by", optarg);
			o.asked = true;
			break;
		default:
			filter_option(&o.filter, opt, optarg);
		}
	}
	if (argc - optind != 2)
		usage_error("diff: expected two files, the earlier one first");
	o.path = argv + optind;
	return o;
}

/*
 * For how many ns between @from and @to, in ticks, the filter wants the time of day.  The clock was
 * not set in between.
 */
static double wanted_in(const struct recording *r, const struct filter *f, uint64_t from,
			uint64_t to)
{
	const uint64_t begin = time_of_day(r, from), end = time_of_day(r, to - 1);
	const uint64_t first = f->first > begin ? f->first : begin;
	const uint64_t last = f->last < end ? f->last : end;
	const double ns = ticks_to_ns(r, to - from);

	/* Nothing to cut off, or so short that the clock did not go on. */
	if ((first == begin && last == end) || begin >= end)
		return f->first <= begin && begin < f->last ? ns : 0;
	return last > first ? ns * (last - first) / (end - begin) : 0;
}

/*
 * The length of the wanted part of the recording.  It is measured by the time base; times of day
 * only say which part is wanted, because the clock may have been set, always at a pair.
 */
static double length_of(const struct recording *r, const struct filter *f)
{
	struct span s = recording_span(r);
	double ns = 0;
	uint64_t t;

	for (size_t i = 0; i < r->nr_clocks; i++) {
		t = r->clock[i].ticks;
		if (t <= s.from || t >= s.to)
			continue;
		ns += wanted_in(r, f, s.from, t);
		s.from = t;
	}
	return s.from < s.to ? (ns + wanted_in(r, f, s.from, s.to)) / NS_PER_S : 0;
}

static void open_half(struct half *h, struct options *o, const char *path, struct keys *k)
{
	h->r = recording_open(path);
	recording_sort(&h->r);
	filter_begin(&o->filter, &h->r);
	h->seconds = length_of(&h->r, &o->filter);
	errno = 0;
	if (!h->seconds)
		die("%s: has no length; record for some seconds", path);
	recording_sort_by_cpu(&h->r);
	k->by = rows_by(&h->r, o->by, o->asked);
	h->d = find_dispatches(&h->r, &o->filter, k, 0, &h->nr);
	sort_dispatches(h->d, h->nr);
	h->row = rows_of(&h->r, h->d, h->nr, recording_end(&h->r), &h->nr_rows);
}

static double distance(const double ns[2])
{
	return ns[1] < ns[0] ? ns[0] - ns[1] : ns[1] - ns[0];
}

/* The biggest change first. */
static int by_change(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	const double u = distance(x->waited) + distance(x->throttled);
	const double v = distance(y->waited) + distance(y->throttled);

	if (u != v)
		return u > v ? -1 : 1;
	return x->key->nr < y->key->nr ? -1 : x->key->nr > y->key->nr;
}

static struct change *find_changes(const struct half *half, size_t nr)
{
	struct change *change = resized(NULL, (nr + 1) * sizeof(*change));

	memset(change, 0, (nr + 1) * sizeof(*change));
	for (size_t h = 0; h < 2; h++) {
		for (size_t i = 0; i < half[h].nr_rows; i++) {
			const struct row *row = &half[h].row[i];
			struct change *c = &change[row->key->nr];

			c->key = row->key;
			c->row[h] = row;
			c->waited[h] = row->waited / half[h].seconds;
			c->throttled[h] = row->throttled / half[h].seconds;
		}
	}
	qsort(change, nr, sizeof(*change), by_change);
	return change;
}

/* What a column shows, and of which recording. */
enum {
	NAME, WAITED, THROTTLED, P99, MAX, THEN = 0 << 3, NOW = 1 << 3, CHANGE = 2 << 3,
};

#define QUANTITY(what)	((what) & 7)
#define WHEN(what)	((what) >> 3)

/* For key_text(). */
static const struct keys *row_keys;

/* A row's value of a quantity, in ns; *more: it may be larger. */
static double value(const struct change *c, int quantity, size_t h, bool *more)
{
	const struct row *row = c->row[h];

	*more = false;
	if (!row)
		return 0;
	if (quantity == WAITED) {
		*more = row->least != UINT64_MAX;
		return c->waited[h];
	}
	if (quantity == THROTTLED) {
		*more = row->throttled_more;
		return c->throttled[h];
	}
	*more = (quantity == P99 ? row->p99 : row->max) >= row->least;
	return quantity == P99 ? row->p99 : row->max;
}

/* Is the quantity a sum, which is 0 for what was never dispatched? */
static bool is_sum(int quantity)
{
	return quantity == WAITED || quantity == THROTTLED;
}

/* Has the row this value?  Waits that are not known have no percentiles. */
static bool has_value(const struct change *c, int quantity, size_t h)
{
	return c->row[h] && (is_sum(quantity) || c->row[h]->waits);
}

/* The change is not known if the old value may have been longer. */
static const char *change_text(char *to, const struct change *c, int quantity)
{
	bool more_then, more_now;
	const double then = value(c, quantity, 0, &more_then);
	const double by = value(c, quantity, 1, &more_now) - then;

	if (!is_sum(quantity) && !(has_value(c, quantity, 0) && has_value(c, quantity, 1)))
		return "-";
	if (more_then || (more_now && by < 0))
		return "?";
	*to = by < 0 ? '-' : '+';
	brief_ns(to + 1, by < 0 ? -by : by, more_now);
	return by ? to : "0";
}

static const char *cell(char *to, const void *p, int what)
{
	const struct change *c = p;
	const int quantity = QUANTITY(what);
	double ns;
	bool more;

	if (what == NAME)
		return key_text(to, row_keys, c->key);
	if (WHEN(what) == WHEN(CHANGE))
		return change_text(to, c, quantity);
	if (!has_value(c, quantity, WHEN(what)))
		return "-";
	ns = value(c, quantity, WHEN(what), &more);
	return brief_ns(to, ns, more);
}

static void add_columns(struct table *t, const char *head, int quantity)
{
	t->column[t->nr++] = (struct column){ "then", quantity | THEN, false, head };
	t->column[t->nr++] = (struct column){ "now", quantity | NOW, false, NULL };
	t->column[t->nr++] = (struct column){ "change", quantity | CHANGE, false, NULL };
}

static void print_changes(const struct change *c, size_t nr, size_t all, const struct options *o)
{
	struct table t = {
		.column = { { row_heads[o->by], NAME, true, NULL } },
		.nr = 1, .text = cell, .size = sizeof(*c), .width = o->width,
	};
	bool throttled = false;

	for (size_t i = 0; i < all; i++)
		throttled |= c[i].throttled[0] || c[i].throttled[1];
	add_columns(&t, "waited/s", WAITED);
	if (throttled)
		add_columns(&t, "throttled/s", THROTTLED);
	add_columns(&t, "p99", P99);
	/* A terminal of 80 columns has no room for all. */
	if (!throttled || o->width >= ALL_COLUMNS)
		add_columns(&t, "max", MAX);
	print_table(&t, c, nr);
}

static int diff(int argc, char **argv)
{
	static const char *const when[] = { "then", "now" };
	struct options o = parse(argc, argv);
	struct half half[2] = { 0 };
	struct keys keys = { 0 };
	struct change *c;

	for (size_t h = 0; h < 2; h++)
		open_half(&half[h], &o, o.path[h], &keys);
	errno = 0;
	if (half[0].r.sched != half[1].r.sched)
		die("%s and %s are of different sources: record both with the same -s",
		    o.path[0], o.path[1]);
	if (!keys.nr) {
		for (size_t h = 0; h < 2; h++) {
			filter_begin(&o.filter, &half[h].r);
			tell_empty(&o.filter, &half[h].r, o.path[h]);
		}
		errno = 0;
		die("no dispatches match; kdtl print shows all");
	}
	o.by = keys.by;
	row_keys = &keys;
	for (size_t h = 0; h < 2; h++)
		printf("%-4s  %s: %.3f s, %zu dispatches, %llu entries lost\n", when[h], o.path[h],
		       half[h].seconds, half[h].nr, (unsigned long long)half[h].r.head.lost);
	putchar('\n');
	c = find_changes(half, keys.nr);
	print_changes(c, keys.nr < o.nr ? keys.nr : o.nr, keys.nr, &o);
	return 0;
}

const struct verb verb_diff = {
	.name = "diff",
	.brief = "what waited longer in one recording than in another",
	.usage =
	"diff [OPTION]... THEN NOW\n"
	"  --by task|process|comm|cgroup|cpu\n"
	"                           what the rows are for (default: comm)\n"
	"  -n NUMBER                so many rows (default: 20, or as many as fit)\n"
	FILTER_USAGE,
	.run = diff,
};
