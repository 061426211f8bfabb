// SPDX-License-Identifier: GPL-2.0
/*
 * Compare pressure by cause with brute force: a schedule is drawn tick by tick, and each tick is
 * looked at on its own afterwards
 *
 *	pressure_model exact N [TICKS]	in N schedules, no part of whose waits is longer than
 *					TICKS, each sum is right to the tick
 *	pressure_model usual N		in N schedules without very long waits, no sum is above the
 *					right one, and at most 1 of 10,000 of all time is missing
 *	pressure_model bounded N MOST	in N schedules, for which there may be too little room, no
 *					sum is above the right one, and at most MOST % are missing
 *	pressure_model forget		a group's number is used again, and so is a run's place
 *	pressure_model cost		prints ns for each entry
 *
 * A group's number is its place in a tree; runs and waits are drawn at random.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pressure.h"

#define GROUPS	7
#define TICKS	4000

/* 0 is the root, 1 and 2 are in it, 3 and 4 in 1, 5 in 3, and 6 is beside the root. */
static const __s32 parents[GROUPS] = { -1, 0, 0, 1, 1, 3, -1 };

static __s32 who[TICKS];	/* the group that had the CPU in the tick */
static unsigned char waits[GROUPS][TICKS];	/* bits: 1 queued, 2 elsewhere, 4 held */
static unsigned char own_waits[GROUPS][TICKS];	/* tasks of the group itself were queued */
static __u64 tasks[GROUPS][PRESSURE_CAUSES];
static unsigned int failures, longest = TICKS;
static __u64 right_some, got_some;

static unsigned int draw(unsigned int n)
{
	return (unsigned int)random() % n;
}

static int within(__s32 group, __s32 other)
{
	while (group >= 0 && group != other)
		group = parents[group];
	return group >= 0;
}

static enum pressure_cause cause_of(__s32 runner, __s32 group)
{
	if (runner == PRESSURE_NOBODY)
		return PRESSURE_BY_NOBODY;
	if (runner == PRESSURE_HYPERVISOR)
		return PRESSURE_BY_HYPERVISOR;
	if (runner == PRESSURE_UNKNOWN)
		return PRESSURE_BY_UNKNOWN;
	return within(runner, group) ? PRESSURE_BY_OWN : PRESSURE_BY_NEIGHBOURS;
}

static void mark(__s32 group, unsigned int from, unsigned int to, int bit)
{
	__s32 g;

	for (; from < to; from++) {
		for (g = group; g >= 0; g = parents[g])
			waits[g][from] |= bit;
	}
}

/* A time that is mostly short, and sometimes very long. */
static unsigned int span(unsigned int most)
{
	unsigned int n = draw(4) ? draw(12) : draw(draw(4) ? 120 : longest);

	return n < most ? n : most;
}

static void end_wait(struct pressure *p, struct pressure_cpu *c, unsigned int now, __s32 group,
		     unsigned int queued, unsigned int elsewhere, unsigned int held)
{
	unsigned int t, told = elsewhere + held && !draw(3) ? draw(elsewhere + held + 1) : 0;
	unsigned int begin = now - queued - elsewhere - held + told;
	__s32 g;

	mark(group, now - queued, now, 1);
	memset(own_waits[group] + now - queued, 1, queued);
	for (t = begin; t < now - queued; t++)
		mark(group, t, t + 1, t < now - queued - elsewhere ? 4 : 2);
	for (g = group; g >= 0; g = parents[g]) {
		for (t = now - queued; t < now; t++)
			tasks[g][cause_of(who[t], g)]++;
		tasks[g][PRESSURE_BY_ELSEWHERE] += elsewhere;
		for (t = now - queued - elsewhere - held; t < now - queued - elsewhere; t++)
			tasks[g][within(who[t], group) ? PRESSURE_BY_OWN : PRESSURE_BY_QUOTA]++;
	}
	pressure_wait(p, c, group, queued, elsewhere, held, told);
}

static void one_wait(struct pressure *p, struct pressure_cpu *c, unsigned int now)
{
	unsigned int queued = span(now), elsewhere = 0, held = 0;

	if (!draw(5))
		elsewhere = span(now - queued);
	if (!draw(5))
		held = span(now - queued - elsewhere);
	end_wait(p, c, now, draw(GROUPS), queued, elsewhere, held);
}

/* A wait that is told of while it goes on; sometimes its end is not told. */
static struct {
	int going_on;
	__s32 group;
	unsigned int held_from;
	unsigned int queued_from;
} long_wait;

static void go_on(struct pressure *p, struct pressure_cpu *c, unsigned int now)
{
	const __s32 group = long_wait.group;
	unsigned int queued = now - long_wait.queued_from;
	unsigned int held = long_wait.queued_from - long_wait.held_from;

	if (!long_wait.going_on) {
		long_wait.going_on = 1;
		long_wait.group = draw(GROUPS);
		long_wait.queued_from = now - span(now);
		long_wait.held_from = long_wait.queued_from;
		if (!draw(3))
			long_wait.held_from -= span(long_wait.queued_from);
	} else if (!draw(4) || now - long_wait.held_from >= longest) {
		long_wait.going_on = 0;
		if (draw(4))
			end_wait(p, c, now, group, queued, 0, held);
	} else {
		mark(group, now - queued, now, 1);
		memset(own_waits[group] + now - queued, 1, queued);
		mark(group, now - queued - held, now - queued, 4);
		pressure_waits(p, c, group, queued, held);
	}
}

static void differ(const char *what, unsigned int schedule, __s32 group, unsigned int cause,
		   __u64 got, __u64 right)
{
	if (failures++ < 10)
		printf("schedule %u, group %d, %s of cause %u: %llu, not %llu\n", schedule, group,
		       what, cause, got, right);
}

static __u64 sum_of_causes(const struct pressure_group *g)
{
	unsigned int i;
	__u64 sum = 0;

	for (i = 0; i < PRESSURE_CAUSES; i++)
		sum += pressure_cause(g, i);
	return sum;
}

/* Whether one of the groups is in it. */
static int contains_others(__s32 group)
{
	__s32 g;

	for (g = 0; g < GROUPS && parents[g] != group; g++)
		;
	return g < GROUPS;
}

/*
 * Compares for how long @runner had the CPU for which others waited.  If a group contains others, a
 * moment of its wait may count for these only, so there are bounds.
 */
static void compare_culprit(const struct pressure_group *g, unsigned int schedule, __s32 runner)
{
	__u64 least = 0, most = 0;
	unsigned int t;
	__s32 group;

	for (group = 0; group < GROUPS; group++) {
		for (t = 0; t < TICKS; t++) {
			if (!own_waits[group][t] || who[t] != runner || within(runner, group))
				continue;
			most++;
			least += !contains_others(group);
		}
	}
	if (g->culprit < least || g->culprit > most)
		differ("culprit's time", schedule, runner, PRESSURE_BY_NEIGHBOURS, g->culprit,
		       least);
}

static void compare(const struct pressure_group *g, unsigned int schedule, __s32 group, int exact)
{
	__u64 right[PRESSURE_CAUSES] = { 0 }, by[GROUPS] = { 0 }, some = 0, named = 0, least, got;
	unsigned int t, i;

	for (t = 0; t < TICKS; t++) {
		const enum pressure_cause cause = cause_of(who[t], group);

		if (!waits[group][t])
			continue;
		some++;
		if (cause == PRESSURE_BY_OWN || waits[group][t] & 1) {
			right[cause]++;
			if (cause == PRESSURE_BY_NEIGHBOURS)
				by[who[t]]++;
		} else if (waits[group][t] & 2) {
			right[PRESSURE_BY_ELSEWHERE]++;
		} else {
			right[PRESSURE_BY_QUOTA]++;
		}
	}
	got = pressure_some(g);
	if (exact ? got != some : got > some)
		differ("some", schedule, group, 0, got, some);
	right_some += some;
	got_some += got;
	/* Before the runs that there is room for, it is not known which group had the CPU. */
	got = pressure_full(g);
	if (exact && got != some - right[0])
		differ("full", schedule, group, 0, got, some - right[0]);
	for (i = 0; !exact && i < PRESSURE_BY_UNKNOWN; i++) {
		if (pressure_cause(g, i) > right[i])
			differ("time", schedule, group, i, pressure_cause(g, i), right[i]);
	}
	if (sum_of_causes(g) != pressure_some(g))
		differ("the sum", schedule, group, 0, sum_of_causes(g), pressure_some(g));
	for (i = 0; exact && i < PRESSURE_CAUSES; i++) {
		if (pressure_cause(g, i) != right[i])
			differ("time", schedule, group, i, pressure_cause(g, i), right[i]);
		if (g->tasks[i] != tasks[group][i])
			differ("tasks' time", schedule, group, i, g->tasks[i], tasks[group][i]);
	}
	least = g->by[0].ticks;
	for (i = 0; i < PRESSURE_BY; i++) {
		named += g->by[i].ticks;
		least = g->by[i].ticks < least ? g->by[i].ticks : least;
	}
	if (named > right[PRESSURE_BY_NEIGHBOURS])
		differ("named time", schedule, group, 1, named, right[PRESSURE_BY_NEIGHBOURS]);
	/*
	 * A row has all that its neighbour had, and others' time up to that of the least row.  A
	 * neighbour without a row had no more than the least row.
	 */
	for (t = 0; exact && t < GROUPS; t++) {
		for (i = 0; i < PRESSURE_BY && g->by[i].group != (__s32)t; i++)
			;
		got = i < PRESSURE_BY ? g->by[i].ticks : 0;
		if (got + (i < PRESSURE_BY ? 0 : least) < by[t] || got > by[t] + least)
			differ("a neighbour's time", schedule, group, t, got, by[t]);
	}
	if (exact)
		compare_culprit(g, schedule, group);
}

static void one(unsigned int schedule, int exact)
{
	static struct pressure_group groups[GROUPS];
	struct pressure p = { .nr = GROUPS, .groups = groups };
	struct pressure_cpu *c = calloc(1, pressure_cpu_size(GROUPS));
	const __u64 begin = schedule % 2 ? 0 : 1000000;
	unsigned int now = 0, next;
	__s32 g;

	srandom(schedule + 1);
	memset(waits, 0, sizeof(waits));
	memset(own_waits, 0, sizeof(own_waits));
	memset(tasks, 0, sizeof(tasks));
	long_wait.going_on = 0;
	pressure_cpu_begin(c, GROUPS);
	for (g = 0; g < GROUPS; g++)
		pressure_group_begin(&p, g, parents[g]);
	/* The time before the first entry is no group's. */
	pressure_run(&p, c, begin, PRESSURE_UNKNOWN);
	for (; now < TICKS; now = next) {
		__s32 runner = draw(6) ? (__s32)draw(GROUPS) : -1 - (__s32)draw(3);

		next = now + 1 + draw(draw(20) ? 8 : 100);
		if (next > TICKS)
			next = TICKS;
		pressure_run(&p, c, begin + next, runner);
		/* The clock of another source may be behind. */
		if (!draw(8))
			pressure_run(&p, c, begin + now, PRESSURE_HYPERVISOR);
		for (unsigned int t = now; t < next; t++)
			who[t] = runner;
		if (draw(8))
			one_wait(&p, c, next);
		if (!draw(8))
			one_wait(&p, c, next);
		if (!draw(3))
			go_on(&p, c, next);
	}
	pressure_settle(&p, c);
	for (g = 0; g < GROUPS; g++)
		compare(&groups[g], schedule, g, exact);
	free(c);
}

static void expect(const char *what, __s64 got, __s64 right)
{
	if (got != right && failures++ < 10)
		printf("%s: %lld, not %lld\n", what, got, right);
}

/* A group's row of a neighbour; 0: there is none. */
static __u64 behind(const struct pressure_group *g, __s32 who)
{
	unsigned int i;

	for (i = 0; i < PRESSURE_BY; i++) {
		if (g->by[i].group == who)
			return g->by[i].ticks;
	}
	return 0;
}

/*
 * Group 3, with group 5 in it, had the CPU, waited, and was what another group waited behind.  Then
 * it goes, and another group gets its number, which waits at once, or after other groups' waits
 * have taken all room.
 */
static void forget(unsigned int others)
{
	static struct pressure_group groups[GROUPS];
	struct pressure p = { .nr = GROUPS, .groups = groups };
	struct pressure_cpu *c = calloc(1, pressure_cpu_size(GROUPS));
	const __u64 begin = 1000;
	__u64 now;
	__s32 g;

	pressure_cpu_begin(c, GROUPS);
	for (g = 0; g < GROUPS; g++)
		pressure_group_begin(&p, g, parents[g]);
	/* It is not known which group had the CPU before. */
	pressure_run(&p, c, begin, 3);
	pressure_run(&p, c, begin + 1, 3);
	pressure_wait(&p, c, 2, begin + 1, 0, 0, 0);
	expect("the time before the first entry",
	       pressure_cause(&groups[2], PRESSURE_BY_UNKNOWN), begin);
	for (now = begin + 1; now <= begin + 3 * PRESSURE_STEP; now++)
		pressure_run(&p, c, now, now % 2 ? 3 : 2);
	now--;
	pressure_wait(&p, c, 4, 10, 0, 0, 0);
	pressure_wait(&p, c, 3, 10, 5, 5, 0);
	/* Other groups' waits take the room of that one. */
	for (; now < begin + 6 * PRESSURE_STEP + 2 * PRESSURE_HELD; now += 2) {
		pressure_run(&p, c, now + 1, 3);
		pressure_run(&p, c, now + 2, 2);
		pressure_wait(&p, c, 6, 1, 0, 0, 0);
	}
	pressure_wait(&p, c, 3, 2, 0, 0, 0);
	pressure_settle(&p, c);
	expect("behind it", behind(&groups[4], 3), 5);
	/* No group has been blamed for this wait when the group goes. */
	pressure_wait(&p, c, 4, 2, 0, 0, 0);

	pressure_cpu_forget(&p, c, 3);
	pressure_group_end(&p, 3);
	expect("the parent of what was in it", groups[5].parent, 1);
	expect("another one behind it", behind(&groups[4], 3), 0);
	expect("another one behind one that has gone", behind(&groups[4], PRESSURE_GONE), 6);

	pressure_group_begin(&p, 3, 0);
	for (; others; others--, now += 2) {
		pressure_run(&p, c, now + 1, 4);
		pressure_run(&p, c, now + 2, 2);
		pressure_wait(&p, c, 6, 1, 0, 0, 0);
	}
	pressure_wait(&p, c, 3, now, 0, 0, 0);
	expect("its waits", pressure_some(&groups[3]), now);
	expect("its time", pressure_cause(&groups[3], PRESSURE_BY_OWN), 0);
	free(c);
}

/* A wait is as long as all runs that there is room for, the oldest of which then makes room. */
static void longest_wait(void)
{
	static struct pressure_group groups[GROUPS];
	struct pressure p = { .nr = GROUPS, .groups = groups };
	struct pressure_cpu *c = calloc(1, pressure_cpu_size(GROUPS));
	__u64 now;
	__s32 g;

	pressure_cpu_begin(c, GROUPS);
	for (g = 0; g < GROUPS; g++)
		pressure_group_begin(&p, g, parents[g]);
	pressure_run(&p, c, 1000, PRESSURE_UNKNOWN);
	for (now = 1001; now < 1000 + PRESSURE_RUNS + PRESSURE_RUNS / 2; now++)
		pressure_run(&p, c, now, now % 2 ? 3 : 2);
	pressure_wait(&p, c, 4, PRESSURE_RUNS, 0, 0, 0);
	for (; now < 1000 + 2 * PRESSURE_RUNS; now++)
		pressure_run(&p, c, now, now % 2 ? 3 : 2);
	pressure_settle(&p, c);
	expect("behind others", behind(&groups[4], 2) + behind(&groups[4], 3), PRESSURE_RUNS);
	free(c);
}

/* 64 groups in a tree of depth 4 have waits like those of a busy machine. */
static void cost(unsigned int often)
{
	enum { NR = 64, ENTRIES = 2000000 };
	static struct pressure_group groups[NR];
	struct pressure p = { .nr = NR, .groups = groups };
	struct pressure_cpu *c = calloc(1, pressure_cpu_size(NR));
	struct timespec from, to;
	__u64 now = 1000000000;
	unsigned int i;
	__s32 g;

	pressure_cpu_begin(c, NR);
	for (g = 0; g < NR; g++)
		pressure_group_begin(&p, g, g ? (g - 1) / 4 : -1);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (i = 0; i < ENTRIES; i++) {
		now += 1 + draw(20000);
		pressure_run(&p, c, now, draw(NR));
		pressure_wait(&p, c, draw(NR), draw(100) < often ? draw(100000000) : draw(20000), 0,
			      0, 0);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	printf("%u %% long waits: %.0f ns an entry\n", often,
	       ((to.tv_sec - from.tv_sec) * 1e9 + to.tv_nsec - from.tv_nsec) / ENTRIES);
	free(c);
}

int main(int argc, char **argv)
{
	const unsigned int n = argc > 2 ? atoi(argv[2]) : 0;
	unsigned int i;

	if (argc > 1 && !strcmp(argv[1], "cost")) {
		cost(0);
		cost(1);
		cost(100);
		printf("%zu bytes a group, %llu a CPU and %llu more for each group\n",
		       sizeof(struct pressure_group), pressure_cpu_size(0),
		       pressure_cpu_size(1) - pressure_cpu_size(0));
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "forget")) {
		forget(0);
		forget(PRESSURE_HELD + 2);
		longest_wait();
		return failures != 0;
	}
	if (argc < 3)
		return 2;
	if (!strcmp(argv[1], "usual"))
		longest = 120;
	else if (argc > 3 && !strcmp(argv[1], "exact"))
		longest = atoi(argv[3]);
	for (i = 0; i < n; i++)
		one(i, !strcmp(argv[1], "exact"));
	if (longest < TICKS && (right_some - got_some) * 10000 > right_some)
		failures++;
	if (argc > 3 && !strcmp(argv[1], "bounded") &&
	    (right_some - got_some) * 100 > right_some * atoi(argv[3]))
		failures++;
	printf("%u schedules, %u differences, %.4f %% of the time missing\n", n, failures,
	       100.0 * (right_some - got_some) / right_some);
	return failures != 0;
}
