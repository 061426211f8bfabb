// SPDX-License-Identifier: GPL-2.0
/* CPUs that went offline and came online during a recording. */
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

/* Nobody reads about more; kdtl print has them all. */
#define MOVES_SHOWN	4

/* The data of a KDTL_CHUNK_MOVES, which may say anything. */
void moves_add(struct recording *r, const char *p, size_t size)
{
	struct kdtl_move m;

	for (; size >= sizeof(m); size -= sizeof(m), p += sizeof(m)) {
		memcpy(&m, p, sizeof(m));
		if (be32toh(m.cpu) >= MAX_CPUS)
			continue;
		grow(r->move, r->nr_moves);
		r->move[r->nr_moves++] = (struct move){
			.cpu = be32toh(m.cpu), .online = m.online, .ticks = be64toh(m.ticks),
		};
	}
}

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	return x->online - y->online;
}

/* Parts of a ring repeat some, as each can be read without those before it. */
void moves_sort(struct recording *r)
{
	size_t nr = 0;

	if (r->nr_moves)
		qsort(r->move, r->nr_moves, sizeof(*r->move), by_cpu_and_time);
	for (size_t i = 0; i < r->nr_moves; i++) {
		if (!nr || by_cpu_and_time(&r->move[nr - 1], &r->move[i]))
			r->move[nr++] = r->move[i];
	}
	r->nr_moves = nr;
}

/*
 * When the CPU of @e went or came next; NULL: it did not.  A CPU comes before an entry of the same
 * moment, which says who got it then, and goes after it.
 */
const struct move *move_after(const struct recording *r, const struct kdtl_entry *e)
{
	const struct move key = { .cpu = entry_cpu(e), .ticks = be64toh(e->timebase) };
	size_t from = 0, to = r->nr_moves, i;
	const struct move *m;

	while (from < to) {
		i = from + (to - from) / 2;
		if (by_cpu_and_time(&r->move[i], &key) < 0)
			from = i + 1;
		else
			to = i;
	}
	for (m = r->move + from; m < r->move + r->nr_moves && m->cpu == key.cpu; m++) {
		if (m->ticks > key.ticks || !m->online)
			return m;
	}
	return NULL;
}

/* The next one of the same CPU; NULL: there is none. */
const struct move *move_next(const struct recording *r, const struct move *m)
{
	return m + 1 < r->move + r->nr_moves && m[1].cpu == m->cpu ? m + 1 : NULL;
}

/*
 * Set @to to when a CPU went or came since @c was last looked at, in the order of time, and return
 * how often it did.  The kernel has the last time of each; if there were others before, @missed is
 * set.
 */
size_t moves_new(struct log_cpu *c, const struct kdtl_stream_info *info, struct move to[2],
		 bool *missed)
{
	const struct move went = { .cpu = c->cpu, .ticks = info->went };
	const struct move came = { .cpu = c->cpu, .ticks = info->came, .online = true };
	const bool has_gone = info->went != c->went, has_come = info->came != c->came;
	size_t nr = 0;

	if (has_gone)
		to[nr++] = went;
	if (has_come)
		to[nr++] = came;
	if (nr == 2 && info->went >= info->came) {
		to[0] = came;
		to[1] = went;
	}
	c->moves += nr;
	*missed = nr && info->moves > c->moves;
	if (*missed)
		c->moves = info->moves;
	c->went = info->went;
	c->came = info->came;
	return nr;
}

const char *move_text(const struct move *m)
{
	return m->online ? "came online" : m->ticks ? "went offline" : "was offline";
}

/* Say which CPUs went and came, and when. */
void moves_tell(const struct recording *r, const char *path)
{
	char time[TIME_TEXT];
	const struct move *m;

	if (!r->nr_moves)
		return;
	fprintf(stderr, "kdtl: %s:", path);
	for (size_t i = 0; i < r->nr_moves && i < MOVES_SHOWN; i++) {
		m = &r->move[i];
		fprintf(stderr, "%s CPU %u %s", i ? "," : "", m->cpu, move_text(m));
		if (m->ticks)
			fprintf(stderr, " at %s",
				time_text(time, time_of_day(r, m->ticks), "%H:%M:%S", 3));
	}
	if (r->nr_moves > MOVES_SHOWN)
		fprintf(stderr, ", and so on, %zu more times", r->nr_moves - MOVES_SHOWN);
	fputc('\n', stderr);
}
