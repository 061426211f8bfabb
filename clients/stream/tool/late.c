// SPDX-License-Identifier: GPL-2.0
/* kdtl why --chain: which tasks were late, each with what made it so. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sleeps.h"

#define MOST	5		/* chains that are shown if nobody says how many */

static int by_length(const void *a, const void *b)
{
	const struct late *x = a, *y = b;
	const uint64_t s = x->to - x->from, t = y->to - y->from;

	if (s != t)
		return s > t ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The time without a CPU between two turns; @after is NULL: the recording ends before it. */
static struct late time_between(const struct sleeps *s, const struct chain_turn *before,
				const struct chain_turn *after)
{
	struct late l = { .pid = (after ?: before)->pid, .to = s->log.end };
	uint64_t told;

	l.i = after && after->i != SIZE_MAX ? after->i : before ? before->i : SIZE_MAX;
	if (!after) {
		l.from = before->off;
		return l;
	}
	l.to = after->on;
	told = after->wait + after->held + after->slept;
	l.from = told < l.to ? l.to - told : 0;
	if (before && before->off != CHAIN_NEVER && (!s->log.lossy || before->off > l.from))
		l.from = before->off;
	return l;
}

static bool is_wanted(const struct recording *r, const struct chains_wanted *o,
		      const struct late *l)
{
	const uint64_t from = day_of(r, l->from), to = day_of(r, l->to);
	bool then = !o->nr_when;

	if (l->to <= l->from || l->i == SIZE_MAX || l->to - l->from < o->min_ns)
		return false;
	for (unsigned int i = 0; i < o->nr_when; i++)
		then |= to >= o->when[i].from && from < o->when[i].to;
	return then && filter_wants(o->filter, r, r->entry[l->i]);
}

/* The times without a CPU that are wanted, the longest first. */
struct late *find_late(const struct sleeps *s, const struct recording *r,
		       const struct chains_wanted *o, size_t *nr)
{
	const struct chain_turn *t, *before;
	struct late *late = NULL, l;

	*nr = 0;
	for (size_t i = 0; i < s->log.nr_turns; i++) {
		t = &s->turn[i];
		before = i && t[-1].pid == t->pid ? t - 1 : NULL;
		if (t->on != CHAIN_NEVER) {
			l = time_between(s, before, t);
			if (is_wanted(r, o, &l)) {
				grow(late, *nr);
				late[(*nr)++] = l;
			}
		}
		if ((i + 1 < s->log.nr_turns && t[1].pid == t->pid) || t->off == CHAIN_NEVER ||
		    t->off >= s->log.end || t->left == KDTL_PREEMPT_EXITED || s->log.lossy)
			continue;
		l = time_between(s, t, NULL);
		if (is_wanted(r, o, &l)) {
			grow(late, *nr);
			late[(*nr)++] = l;
		}
	}
	if (*nr)
		qsort(late, *nr, sizeof(*late), by_length);
	return late;
}

/*
 * Move the @most times with the highest scores to the front; returns their number.  The times come
 * longest first, and no score is above its time, so the search ends when no better one can follow.
 */
static size_t rank(const struct sleeps *s, const struct chains_wanted *o, struct chain *c,
		   struct late *late, size_t nr, size_t most)
{
	size_t n = 0, at;
	struct late l;

	for (size_t i = 0; i < nr; i++) {
		l = late[i];
		if (n == most && l.to - l.from <= late[n - 1].score)
			break;
		chain_walk(&s->log, c, l.pid, l.from, l.to);
		l.score = chain_late(s, c);
		/* A task that sleeps when the recording ends may sleep forever. */
		if (!l.score && (!o->asked || l.to == s->log.end))
			continue;
		for (at = n; at && late[at - 1].score < l.score; at--)
			;
		if (at == most)
			continue;
		n += n < most;
		memmove(&late[at + 1], &late[at], (n - 1 - at) * sizeof(*late));
		late[at] = l;
	}
	return n;
}

static void print_one(const struct sleeps *s, const struct recording *r,
		      const struct chains_wanted *o, struct chain *c, const struct late *l)
{
	char task[PRINTABLE(COMM_LEN)], ns[NS_TEXT], time[TIME_TEXT];
	const uint64_t length = l->to - l->from;

	chain_walk(&s->log, c, l->pid, l->from, l->to);
	if (o->brief) {
		print_chain_brief(s, r, c);
		return;
	}
	printf("%s  %s (%d) %s %s\n", time_text(time, day_of(r, l->to), "%H:%M:%S", 3),
	       printable(task, sleeps_comm(s, r, l->pid, l->to), COMM_LEN), l->pid,
	       o->span ? "in" : 2 * l->score >= length ? "late by" : "without a CPU for",
	       short_ns(ns, length));
	print_chain(s, r, c, o->all);
}

/* The time since boot at which it was @day, in ns since 1970. */
static uint64_t boot_ns_of(const struct recording *r, uint64_t day, uint64_t end)
{
	uint64_t from = 0, to = end, ns;

	while (from < to) {
		ns = from + (to - from) / 2;
		if (day_of(r, ns) < day)
			from = ns + 1;
		else
			to = ns;
	}
	return from;
}

/* Print all that a task did between two times, even while it ran. */
static int print_span(const struct sleeps *s, const struct recording *r,
		      const struct chains_wanted *o, struct chain *c)
{
	struct late l = { .pid = o->filter->pid };
	const size_t first = chain_first_turn(&s->log, l.pid);

	l.from = boot_ns_of(r, o->filter->first, s->log.end);
	l.to = boot_ns_of(r, o->filter->last, s->log.end);
	if (l.from >= l.to || first == s->log.nr_turns || s->turn[first].pid != l.pid) {
		errno = 0;
		die("%s: nothing is known of task %d at that time", o->path, l.pid);
	}
	print_one(s, r, o, c, &l);
	return 0;
}

/* @r must be sorted by CPU. */
int why_chain(const struct recording *r, const struct chains_wanted *o)
{
	struct chain c = { .part = resized(NULL, CHAIN_ROOM * sizeof(*c.part)), .room = CHAIN_ROOM };
	struct sleeps s;
	struct late *late;
	size_t nr, shown;

	sleeps_open(&s, r, o->path, o->wake);
	if (o->span)
		return print_span(&s, r, o, &c);
	late = find_late(&s, r, o, &nr);
	shown = rank(&s, o, &c, late, nr, o->nr ?: MOST);
	if (!shown) {
		tell_empty(o->filter, r, o->path);
		errno = 0;
		die("%s: nobody was late%s", o->path, o->nr_when ? " at that time" : "");
	}
	if (!o->brief) {
		printf("%s: %zu of %zu times without a CPU, worst first; %llu entries lost\n",
		       o->path, shown, nr, (unsigned long long)r->head.lost);
		print_origin(r);
	}
	for (size_t i = 0; i < shown; i++) {
		if (i && !o->brief)
			putchar('\n');
		print_one(&s, r, o, &c, &late[i]);
	}
	return 0;
}
