// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the engine of answers with a model that knows what happened in each tick
 *
 * A CPU is made up at random: which task has it in each tick, which threads call exec(), which
 * entries are missing and whether that is told, when the hypervisor or an interrupt has the CPU.
 * The engine gets the entries.  What it says about each tick of a span must be true, or that it
 * does not know if nobody can.  Usage: runs ROUNDS SEED; prints the first round that is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runs.h"

#define TICKS		96
#define PROCESSES	3
#define THREADS		3
#define MAX_GAPS	6
#define UNKNOWN		-1

struct entry {
	unsigned int	tick;
	__s32		prev;
	__s32		pid;
	bool		missing;	/* the engine does not get it */
	bool		told;		/* but it is told that some are missing */
};

/* What a task became, and when.  There are records of all tasks, as in the kernel's table. */
struct record {
	unsigned int	tick;
	__s32		pid;
	__s32		tgid;
};

static struct world {
	__u64		base;
	struct entry	entry[TICKS];
	unsigned int	nr;
	struct record	record[TICKS * 2];
	unsigned int	nr_records;
	struct kdtl_gap	gap[KDTL_NR_TAKERS][MAX_GAPS];
	unsigned int	nr_gaps[KDTL_NR_TAKERS], next_gap[KDTL_NR_TAKERS];
	bool		took[TICKS][KDTL_NR_TAKERS];	/* as the engine says */
	bool		odd;		/* the engine says something that cannot be */
	__s32		pid[PROCESSES][THREADS];	/* 0: it has exited */
	bool		no_tasks;
	bool		late;		/* records are later than the time they are asked about */
} w;

static unsigned int dice(unsigned int n)
{
	return random() % n;
}

static void record(unsigned int tick, __s32 pid, __s32 tgid)
{
	w.record[w.nr_records++] = (struct record){ tick, pid, tgid };
}

static bool task(void *data, __s32 pid, __u64 time, __s32 *tgid, __u64 *since)
{
	bool found = false;

	(void)data;
	for (unsigned int i = 0; i < w.nr_records && !w.no_tasks; i++) {
		if (w.record[i].pid != pid || (__s64)(w.base + w.record[i].tick - time) > 0)
			continue;
		found = true;
		*tgid = w.record[i].tgid;
		*since = w.late ? time + 1 : w.base + w.record[i].tick;
	}
	return found;
}

static bool gap(void *data, enum kdtl_taker by, struct kdtl_gap *to)
{
	(void)data;
	if (w.next_gap[by] == w.nr_gaps[by])
		return false;
	*to = w.gap[by][w.next_gap[by]++];
	return true;
}

static void took(void *data, enum kdtl_taker by, const struct kdtl_gap *part)
{
	const struct kdtl_gap *whole = w.next_gap[by] ? &w.gap[by][w.next_gap[by] - 1] : NULL;

	(void)data;
	w.odd |= !whole || (__s64)(part->from - whole->from) < 0 ||
		 (__s64)(whole->to - part->to) < 0 || part->to - w.base > TICKS;
	for (__u64 t = part->from; !w.odd && t != part->to; t++) {
		w.odd |= w.took[t - w.base][by];
		w.took[t - w.base][by] = true;
	}
}

static const struct kdtl_runs_ops all = { task, gap, took }, none = { };

static void make_tasks(void)
{
	for (unsigned int p = 0; p < PROCESSES; p++) {
		for (unsigned int t = 0; t < THREADS; t++) {
			w.pid[p][t] = 100 * (p + 1) + t;
			record(0, w.pid[p][t], w.pid[p][0]);
		}
	}
}

/* The task on the CPU does something that makes a record. */
static void change(unsigned int tick, unsigned int p, unsigned int t)
{
	const __s32 leader = 100 * (p + 1);

	if (dice(2)) {
		record(tick, w.pid[p][t], leader);
		return;
	}
	/* At exec() the other threads exit. */
	for (unsigned int i = 0; i < THREADS; i++)
		w.pid[p][i] = i == t ? leader : 0;
	record(tick, leader, leader);
}

/* Makes gaps, in order; they may overlap. */
static void make_gaps(enum kdtl_taker by)
{
	unsigned int from = dice(TICKS), to = from, nr;

	for (nr = 0; nr < dice(MAX_GAPS + 1) && to < TICKS; nr++) {
		to += dice(12);
		if (to < from)
			to = from;
		w.gap[by][nr] = (struct kdtl_gap){ w.base + from, w.base + to };
		from += dice(16);
	}
	w.nr_gaps[by] = nr;
}

static void make(void)
{
	unsigned int p = 0, t = 0, np, nt;
	bool idle = true;

	memset(&w, 0, sizeof(w));
	w.base = dice(2) ? 1000 : 0ULL - dice(TICKS);
	w.no_tasks = !dice(4);
	w.late = !dice(8);
	make_tasks();
	for (unsigned int tick = 0; tick < TICKS && w.nr < TICKS; tick += dice(6)) {
		struct entry *e = &w.entry[w.nr++];

		if (!idle && !dice(6))
			change(tick, p, t);
		e->tick = tick;
		e->prev = idle ? 0 : w.pid[p][t];
		idle = !dice(5);
		np = dice(PROCESSES);
		nt = dice(THREADS);
		if (w.pid[np][nt]) {
			p = np;
			t = nt;
		}
		e->pid = idle ? 0 : w.pid[p][t];
		e->missing = !dice(6);
		e->told = dice(2);
		if (!idle && !dice(8))
			change(tick, p, t);
	}
	for (unsigned int by = 0; by < KDTL_NR_TAKERS; by++)
		make_gaps(by);
}

/* Looks at each record in turn: has the process of @a's task begun the program of @b? */
static bool model_exec(const struct entry *a, const struct entry *b)
{
	bool changed = false;
	__s32 tgid = 0;

	for (unsigned int i = 0; i < w.nr_records && !w.no_tasks; i++) {
		if (w.record[i].pid == a->pid && w.record[i].tick <= a->tick)
			tgid = w.record[i].tgid;
		changed |= w.record[i].pid == b->prev && w.record[i].tick >= a->tick &&
			   w.record[i].tick <= b->tick;
	}
	return !w.late && a->pid != b->prev && tgid == b->prev && changed;
}

/* The task that the engine must say has the tick. */
static __s32 model(unsigned int tick, bool still)
{
	const struct entry *a = NULL, *b = NULL;
	bool missing = false, told = false;

	for (unsigned int i = 0; i < w.nr; i++) {
		const struct entry *e = &w.entry[i];

		if (e->missing) {
			missing = true;
			told |= e->told;
		} else if (e->tick <= tick) {
			a = e;
			missing = false;
			told = false;
		} else {
			b = e;
			break;
		}
	}
	if (!a || told)
		return UNKNOWN;
	if (!b)
		return still ? a->pid : UNKNOWN;
	/* This is the truth, if the tables say what the tasks were; otherwise it is inferred. */
	if (!missing && !w.no_tasks && !w.late)
		return b->prev;
	return a->pid == b->prev || model_exec(a, b) ? b->prev : UNKNOWN;
}

/* The taker that has the tick instead of the task; KDTL_NR_TAKERS: none. */
static unsigned int model_taker(unsigned int tick)
{
	const __u64 time = w.base + tick;
	const struct kdtl_gap *g;
	unsigned int by;

	for (by = 0; by < KDTL_NR_TAKERS; by++) {
		for (g = w.gap[by]; g < w.gap[by] + w.nr_gaps[by]; g++) {
			if ((__s64)(time - g->from) >= 0 && (__s64)(time - g->to) < 0)
				return by;
		}
	}
	return by;
}

/* Returns where the run ends if it says what the model does about each of its ticks, else 0. */
static unsigned int agrees(const struct kdtl_run *run, unsigned int at, bool still)
{
	unsigned int to = at + (unsigned int)(run->to - run->from);
	__u64 taken = 0;

	if (run->from != w.base + at || to <= at || to > TICKS)
		return 0;
	for (unsigned int tick = at; tick < to; tick++) {
		if (model(tick, still) != (run->known ? run->pid : UNKNOWN))
			return 0;
		for (unsigned int by = 0; by < KDTL_NR_TAKERS; by++) {
			if (w.took[tick][by] != (model_taker(tick) == by))
				return 0;
		}
		taken += model_taker(tick) < KDTL_NR_TAKERS;
	}
	return taken == run->taken && !w.odd ? to : 0;
}

/* kdtl_runs_exec() is also right for entries that do not follow each other. */
static bool exec_is_right(void)
{
	const unsigned int i = dice(w.nr), k = i + dice(w.nr - i);
	const struct entry *a = &w.entry[i], *b = &w.entry[k];

	return kdtl_runs_exec(&all, NULL, a->pid, w.base + a->tick, b->prev, w.base + b->tick) ==
	       model_exec(a, b);
}

static bool round_is_right(void)
{
	const unsigned int from = dice(TICKS), to = from + dice(TICKS - from);
	const bool still = dice(2);
	const struct kdtl_runs_ops *ops = &all;
	unsigned int at = from;
	struct kdtl_runs r;
	struct kdtl_run run;

	if (w.no_tasks && dice(2)) {
		memset(w.nr_gaps, 0, sizeof(w.nr_gaps));
		ops = &none;
	}
	kdtl_runs_begin(&r, NULL, w.base + from, w.base + to);
	for (unsigned int i = 0; i < w.nr; i++) {
		const struct entry *e = &w.entry[i];

		if (e->missing) {
			if (e->told)
				kdtl_runs_lost(&r);
			continue;
		}
		if (kdtl_runs_next(&r, ops, w.base + e->tick, e->prev, e->pid, &run)) {
			at = agrees(&run, at, still);
			if (!at)
				return false;
		}
	}
	if (kdtl_runs_end(&r, ops, still, &run)) {
		at = agrees(&run, at, still);
		if (!at)
			return false;
	}
	return at == to;
}

int main(int argc, char **argv)
{
	const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;
	const unsigned int seed = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;

	for (unsigned long i = 0; i < rounds; i++) {
		srandom(seed + i);
		make();
		if (!exec_is_right() || !round_is_right()) {
			printf("round %lu (runs 1 %lu): the engine and the model differ\n", i,
			       seed + i);
			return 1;
		}
	}
	return 0;
}
