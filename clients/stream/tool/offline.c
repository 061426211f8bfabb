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

void moves_sort(struct recording *r)
{
	if (r->nr_moves)
		qsort(r->move, r->nr_moves, sizeof(*r->move), by_cpu_and_time);
}

/* When the CPU of @e went or came next; NULL: it did not.  A moment at which both were is after. */
const struct move *move_after(const struct recording *r, const struct kdtl_entry *e)
{
	const struct move key = { .cpu = entry_cpu(e), .ticks = be64toh(e->timebase) };
	size_t from = 0, to = r->nr_moves, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (by_cpu_and_time(&r->move[i], &key) < 0)
			from = i + 1;
		else
			to = i;
	}
	return from < r->nr_moves && r->move[from].cpu == key.cpu ? &r->move[from] : NULL;
}

/* The next one of the same CPU; NULL: there is none. */
const struct move *move_next(const struct recording *r, const struct move *m)
{
	return m + 1 < r->move + r->nr_moves && m[1].cpu == m->cpu ? m + 1 : NULL;
}

const char *move_text(const struct move *m)
{
	return m->online ? "came online" : "went offline";
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
		fprintf(stderr, "%s CPU %u %s at %s", i ? "," : "", m->cpu, move_text(m),
			time_text(time, time_of_day(r, m->ticks), "%H:%M:%S", 3));
	}
	if (r->nr_moves > MOVES_SHOWN)
		fprintf(stderr, ", and so on, %zu more times", r->nr_moves - MOVES_SHOWN);
	fputc('\n', stderr);
}
