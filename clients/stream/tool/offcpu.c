// SPDX-License-Identifier: GPL-2.0
/* kdtl report --by reason, --by waker: the sums of what tasks did without a CPU. */
#include <errno.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>

#include "export.h"
#include "rows.h"

/**
 * struct sum - times without a CPU that are alike
 * @name: what they have in common; the first field of trees
 * @nr: number of those times
 * @ns: their sum
 * @late: for how much of that somebody was late
 * @max: the longest
 * @last: the number of the last one, from 1 on
 * @now: how long that is
 */
struct sum {
	const char	*name;
	size_t		nr;
	uint64_t	ns;
	uint64_t	late;
	uint64_t	max;
	size_t		last;
	uint64_t	now;
};

/* The option --by; OFF_CPU_NOT: it is for something else. */
enum off_cpu parse_off_cpu(const char *text)
{
	if (!strcmp(text, "reason"))
		return OFF_CPU_REASON;
	return strcmp(text, "waker") ? OFF_CPU_NOT : OFF_CPU_WAKER;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct sum *)a)->name, ((const struct sum *)b)->name);
}

/* Sort by lateness, so that reasons for which idle servers sleep come last. */
static int by_late(const void *a, const void *b)
{
	const struct sum *x = a, *y = b;

	if (x->late != y->late)
		return x->late > y->late ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return by_name(a, b);
}

/* The name of the part's row; NULL: such a part has no row. */
static const char *part_name(char to[CELL_TEXT], const struct sleeps *s, const struct recording *r,
			     const struct chain_part *p, enum off_cpu by)
{
	if (by == OFF_CPU_WAKER)
		return p->kind == CHAIN_ASLEEP ? waker_text(to, s, r, p) : NULL;
	switch (p->kind) {
	case CHAIN_WAITED:
		return "waited for a CPU";
	case CHAIN_THROTTLED:
		return "held back by a limit on CPU time";
	case CHAIN_STOLEN:
		return "the hypervisor had the CPU";
	case CHAIN_INTERRUPTED:
		return "interrupts had the CPU";
	case CHAIN_WOKEN:
		return "woken, but in no queue yet";
	case CHAIN_ASLEEP:
		sleep_text(to, CELL_TEXT, s, p);
		return to;
	case CHAIN_UNKNOWN:
	case CHAIN_CUT:
		return "not known";
	default:
		return NULL;
	}
}

static struct sum *sum_of(void **tree, const char *name)
{
	const struct sum key = { .name = name };
	struct sum **found = tfind(&key, tree, by_name), *sum;

	if (found)
		return *found;
	sum = resized(NULL, sizeof(*sum));
	*sum = (struct sum){ .name = strdup(name) };
	if (!sum->name || !tsearch(sum, tree, by_name))
		die("no memory");
	return sum;
}

/* Add the task's own parts of the chain, which is its time without a CPU number @number. */
static void add_chain(void **tree, const struct sleeps *s, const struct recording *r,
		      const struct chain *c, enum off_cpu by, size_t number)
{
	const struct chain_part *p;
	char text[CELL_TEXT];
	const char *name;
	struct sum *sum;

	for (size_t i = 0; i < c->nr; i = chain_next(c, i)) {
		p = &c->part[i];
		name = part_name(text, s, r, p, by);
		if (!name)
			continue;
		sum = sum_of(tree, name);
		if (sum->last != number) {
			sum->nr++;
			sum->now = 0;
			sum->last = number;
		}
		sum->now += part_ns(p);
		sum->ns += part_ns(p);
		sum->late += part_late(s, c, i);
		sum->max = sum->now > sum->max ? sum->now : sum->max;
	}
}

/* For twalk_r(3). */
struct rows {
	struct sum	*sum;
	size_t		nr;
};

static void take(const void *node, VISIT which, void *rows)
{
	struct rows *to = rows;

	if (which != postorder && which != leaf)
		return;
	grow(to->sum, to->nr);
	to->sum[to->nr++] = **(struct sum *const *)node;
}

enum { NAME, COUNT, TIME, LATE, MAX };

static const char *cell(char *to, const void *row, int what)
{
	const struct sum *sum = row;

	switch (what) {
	case NAME:
		return sum->name;
	case COUNT:
		sprintf(to, "%zu", sum->nr);
		return to;
	case TIME:
		return brief_ns(to, sum->ns, false);
	case LATE:
		return brief_ns(to, sum->late, false);
	default:
		return brief_ns(to, sum->max, false);
	}
}

static void print_json(const struct sum *sum)
{
	line_begin();
	line_text("row", sum->name, CELL_TEXT);
	line_number("count", sum->nr);
	line_number("ns", sum->ns);
	line_number("late_ns", sum->late);
	line_number("max_ns", sum->max);
	line_end();
}

/* Print the first @o->nr rows of @r, which must be sorted by CPU. */
int report_off_cpu(const struct recording *r, const struct chains_wanted *o, enum off_cpu by,
		   bool json, int width)
{
	const struct table t = {
		.column = {
			{ by == OFF_CPU_WAKER ? "woken by" : "without a CPU", NAME, true, NULL },
			{ "count", COUNT, false, NULL },
			{ by == OFF_CPU_WAKER ? "asleep" : "for", TIME, false, NULL },
			{ "late", LATE, false, NULL }, { "max", MAX, false, NULL },
		},
		.nr = 5, .text = cell, .size = sizeof(struct sum), .width = width,
	};
	struct chain c = { .part = resized(NULL, CHAIN_ROOM * sizeof(*c.part)), .room = CHAIN_ROOM };
	struct rows rows = { 0 };
	struct late *late;
	void *tree = NULL;
	struct sleeps s;
	size_t nr;

	sleeps_open(&s, r, o->path, o->wake);
	late = find_late(&s, r, o, &nr);
	for (size_t i = 0; i < nr; i++) {
		chain_walk(&s.log, &c, late[i].pid, late[i].from, late[i].to);
		add_chain(&tree, &s, r, &c, by, i + 1);
	}
	twalk_r(tree, take, &rows);
	if (!rows.nr) {
		tell_empty(o->filter, r, o->path);
		errno = 0;
		die("%s: nobody was without a CPU", o->path);
	}
	qsort(rows.sum, rows.nr, sizeof(*rows.sum), by_late);
	for (size_t i = 0; i < rows.nr && i < o->nr && json; i++)
		print_json(&rows.sum[i]);
	if (json)
		return 0;
	printf("%s: the worst %zu of %zu %s; %zu times without a CPU, %llu entries lost\n", o->path,
	       rows.nr < o->nr ? rows.nr : o->nr, rows.nr,
	       by == OFF_CPU_WAKER ? "wakers" : "reasons", nr, (unsigned long long)r->head.lost);
	print_origin(r);
	print_table(&t, rows.sum, rows.nr < o->nr ? rows.nr : o->nr);
	return 0;
}
