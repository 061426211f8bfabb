// SPDX-License-Identifier: GPL-2.0
/*
 * Pressure by cause, see pressure.h
 *
 * A CPU has a ring of runs, which say who had it lately, a sum of ticks for each group, and copies
 * of these sums from after every %PRESSURE_STEP runs.  So the time of a group since some moment is
 * the difference of two sums and a few runs, however many runs there were since.
 *
 * The times in which groups waited are in a second ring, those of a group linked from the newest
 * to the oldest.  A time that has to make room becomes part of the next newer time of its group,
 * with the gap between them.  The newer time remembers how much of it was counted, so a longer
 * wait still counts exactly what was not.
 *
 * Whom a group waited for is counted later.  Waits of a group between which only the group itself
 * had the CPU are joined into one time, because it matters only how long each other group had the
 * CPU in it.  So the cost does not depend on how many groups wait at once, either.
 */
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif

#include "pressure.h"

#define PRESSURE_NONE	0xffff	/* no index into the ring of waits */
#define PRESSURE_HALF	(PRESSURE_RUNS / 2)

/* In the vector pressure_view::own: this group is not asked for. */
#define PRESSURE_OTHER	(~0ULL)

/* Behind the sums of groups come those of PRESSURE_NOBODY and so on, at -1 - PRESSURE_NOBODY. */
#define PRESSURE_SPECIAL	3

/**
 * struct pressure_run - who had the CPU
 * @from: when it began
 * @to: when it ended, and the next run began
 * @who: a group, or PRESSURE_NOBODY and so on
 */
struct pressure_run {
	__u64	from;
	__u64	to;
	__s32	who;
};

/**
 * struct pressure_held - a time in which a group waited
 * @from: when it began
 * @to: when it ended
 * @sum: what was counted of it.  If several times were joined, @sum.all is less than its length
 * @older: index of the group's next older time at this level
 * @newer: index of the group's next newer time at this level
 * @group: the group
 * @level: enum pressure_level
 * @live: it is in use
 */
struct pressure_held {
	__u64			from;
	__u64			to;
	struct pressure_sum	sum;
	__u16			older;
	__u16			newer;
	__u16			group;
	__u8			level;
	__u8			live;
};

/**
 * struct pressure_list - the times in which a group waited, at one level
 * @floor: waits before this time are forgotten, and are not counted again
 * @newest: index of the newest time
 * @oldest: index of the oldest time
 * @used: the level has waits that the level below lacks; otherwise its list is empty
 */
struct pressure_list {
	__u64	floor;
	__u16	newest;
	__u16	oldest;
	__u16	used;
};

/**
 * struct pressure_due - a time in which a group waited, and for which nobody was blamed yet
 * @from: when it began
 * @to: when it ended.  The group waited at least whenever others had the CPU
 * @next: number of runs at that time
 * @leaf: tasks of the group itself waited
 */
struct pressure_due {
	__u64	from;
	__u64	to;
	__u64	next;
	__u64	leaf;
};

/**
 * struct pressure_cpu - what was on a CPU lately
 * @nr_groups: number of groups
 * @known: there was an entry
 * @nr_runs: number of runs; the last %PRESSURE_RUNS are there
 * @nr_held: number of times in which groups waited; the last %PRESSURE_HELD may be there
 * @now: end of the last run
 * @half: when the last run began whose number is a multiple of %PRESSURE_HALF
 * @before: when the last but one such run began; nothing that is due begins earlier, so its runs
 *	are still there
 * @forgot: when a group was last forgotten: sums since an earlier time are not those of its parent
 * @sums: the first vector in @data: the sums now
 * @own: a vector in @data for temporary use; in between all its elements are PRESSURE_OTHER
 * @due: the part of @data that follows the vectors
 * @runs: the runs
 * @held: the times in which groups waited
 * @data: struct pressure_list of each group and level; then vectors with a sum for each group and
 *	special: the sums now; the sums before each run whose number is a multiple of
 *	%PRESSURE_STEP; two for temporary use, one all PRESSURE_OTHER and one all 0; then struct
 *	pressure_due of each group
 */
struct pressure_cpu {
	__s32			nr_groups;
	__s32			known;
	__u64			nr_runs;
	__u64			nr_held;
	__u64			now;
	__u64			half;
	__u64			before;
	__u64			forgot;
	__u64			*sums;
	__u64			*own;
	struct pressure_due	*due;
	struct pressure_run	runs[PRESSURE_RUNS];
	struct pressure_held	held[PRESSURE_HELD];
	__u64			data[];
};

/**
 * struct pressure_view - what was on a CPU, as a group sees it
 * @p: the groups
 * @c: the CPU
 * @group: the group
 * @own: if this is not NULL, its elements other than PRESSURE_OTHER are the groups that are asked
 *	for: each gets its tasks' time, without the time of groups in it that are also asked for
 */
struct pressure_view {
	struct pressure		*p;
	struct pressure_cpu	*c;
	__s32			group;
	__u64			*own;
};

static struct pressure_list *pressure_list(struct pressure_cpu *c, __s32 group, unsigned int level)
{
	return (struct pressure_list *)c->data + group * PRESSURE_LEVELS + level;
}

static __u64 *pressure_vector(struct pressure_cpu *c, unsigned int i)
{
	return (__u64 *)pressure_list(c, c->nr_groups, 0) + i * (c->nr_groups + PRESSURE_SPECIAL);
}

static __u64 *pressure_saved(struct pressure_cpu *c, __u64 nr)
{
	return pressure_vector(c, 1 + nr / PRESSURE_STEP % PRESSURE_SAVED);
}

static __u64 *pressure_had(struct pressure_cpu *c)
{
	return pressure_vector(c, 2 + PRESSURE_SAVED);
}

static struct pressure_due *pressure_due(struct pressure_cpu *c, __s32 group)
{
	return c->due + group;
}

static struct pressure_run *pressure_run_of(struct pressure_cpu *c, __u64 nr)
{
	return &c->runs[nr & (PRESSURE_RUNS - 1)];
}

static __u64 pressure_oldest(const struct pressure_cpu *c)
{
	return c->nr_runs > PRESSURE_RUNS ? c->nr_runs - PRESSURE_RUNS : 0;
}

static __u64 pressure_less(__u64 a, __u64 b)
{
	return a > b ? a - b : 0;
}

static void pressure_add(struct pressure_sum *to, const struct pressure_sum *sum)
{
	to->all += sum->all;
	to->own += sum->own;
	to->nobody += sum->nobody;
	to->hypervisor += sum->hypervisor;
	to->unknown += sum->unknown;
}

static void pressure_bound(__u64 *ticks, __u64 *most)
{
	if (*ticks > *most)
		*ticks = *most;
	*most -= *ticks;
}

/* Subtract what was counted.  If its runs are gone by now, @from has it as unknown. */
static void pressure_take(struct pressure_sum *from, const struct pressure_sum *sum)
{
	__u64 most;

	from->all = pressure_less(from->all, sum->all);
	from->own = pressure_less(from->own, sum->own);
	from->nobody = pressure_less(from->nobody, sum->nobody);
	from->hypervisor = pressure_less(from->hypervisor, sum->hypervisor);
	from->unknown = pressure_less(from->unknown, sum->unknown);
	most = from->all;
	pressure_bound(&from->own, &most);
	pressure_bound(&from->nobody, &most);
	pressure_bound(&from->hypervisor, &most);
	pressure_bound(&from->unknown, &most);
}

static __u64 pressure_neighbours(const struct pressure_sum *sum)
{
	return pressure_less(sum->all, sum->own + sum->nobody + sum->hypervisor + sum->unknown);
}

/*
 * Is @group the group @other, or in it?  A group is deeper than each group that contains it, so
 * the way up ends at the depth of @other.
 */
static int pressure_within(const struct pressure *p, __s32 group, __s32 other)
{
	const __s32 depth = p->groups[other].depth;

	while (group >= 0 && p->groups[group].depth > depth)
		group = p->groups[group].parent;
	return group == other;
}

/* ------------------------------------------------------------------ groups */

/**
 * pressure_group_begin() - a group begins to be counted
 * @p: the groups
 * @group: its number, which no other group has
 * @parent: number of the group that contains it; -1: none
 *
 * Context: any.  As with all of these functions, the caller prevents concurrent calls.
 */
void pressure_group_begin(struct pressure *p, __s32 group, __s32 parent)
{
	struct pressure_group *g = &p->groups[group];
	unsigned int i;

	memset(g, 0, sizeof(*g));
	g->parent = parent;
	g->depth = parent < 0 ? 0 : p->groups[parent].depth + 1;
	for (i = 0; i < PRESSURE_BY; i++)
		g->by[i].group = PRESSURE_GONE;
}

/**
 * pressure_group_end() - a group is counted no more
 * @p: the groups
 * @group: its number, which another group may then get.  First call pressure_cpu_forget() for
 *	each CPU
 *
 * Context: any.
 */
void pressure_group_end(struct pressure *p, __s32 group)
{
	struct pressure_group *g;
	unsigned int i;

	for (g = p->groups; g < p->groups + p->nr; g++) {
		if (g->parent == group)
			g->parent = p->groups[group].parent;
		for (i = 0; i < PRESSURE_BY; i++) {
			if (g->by[i].group == group)
				g->by[i].group = PRESSURE_GONE;
		}
	}
}

/**
 * pressure_some() - how long at least one task of a group waited
 * @g: the group
 *
 * Context: any.
 * Return: ticks, of all CPUs.
 */
__u64 pressure_some(const struct pressure_group *g)
{
	return g->sum[PRESSURE_ALL].all;
}

static __u64 pressure_full_at(const struct pressure_group *g, enum pressure_level level)
{
	return pressure_less(g->sum[level].all, g->sum[level].own);
}

/**
 * pressure_full() - how long tasks of a group waited while none had the CPU
 * @g: the group
 *
 * Context: any.
 * Return: ticks, of all CPUs.
 */
__u64 pressure_full(const struct pressure_group *g)
{
	return pressure_full_at(g, PRESSURE_ALL);
}

/**
 * pressure_cause() - how long tasks of a group waited for one cause
 * @g: the group
 * @cause: the cause
 *
 * A moment for which a limit was blamed may get another cause, when a wait in a queue at that
 * moment becomes known.  So the sum of one cause may become less; the sum of all causes does not.
 *
 * Context: any.
 * Return: ticks, of all CPUs.
 */
__u64 pressure_cause(const struct pressure_group *g, enum pressure_cause cause)
{
	const struct pressure_sum *queued = &g->sum[PRESSURE_QUEUED];
	const __u64 full_queued = pressure_full_at(g, PRESSURE_QUEUED);
	__u64 left = pressure_full(g), ticks[PRESSURE_CAUSES] = {
		[PRESSURE_BY_NEIGHBOURS] = pressure_neighbours(queued),
		[PRESSURE_BY_HYPERVISOR] = queued->hypervisor,
		[PRESSURE_BY_NOBODY] = queued->nobody,
		[PRESSURE_BY_UNKNOWN] = queued->unknown,
		[PRESSURE_BY_ELSEWHERE] = pressure_less(pressure_full_at(g, PRESSURE_READY),
							full_queued),
		[PRESSURE_BY_QUOTA] = left,
	};
	unsigned int i;

	if (cause == PRESSURE_BY_OWN)
		return g->sum[PRESSURE_ALL].own;
	/* One level may have forgotten times that another level still has. */
	for (i = PRESSURE_BY_NEIGHBOURS; i < PRESSURE_CAUSES; i++)
		pressure_bound(&ticks[i], &left);
	return ticks[cause];
}

/* -------------------------------------------------------------------- runs */

/**
 * pressure_cpu_size() - the memory that a CPU needs
 * @nr: number of groups
 *
 * Context: any.
 * Return: bytes.
 */
__u64 pressure_cpu_size(__s32 nr)
{
	return sizeof(struct pressure_cpu) +
	       nr * PRESSURE_LEVELS * sizeof(struct pressure_list) +
	       (PRESSURE_SAVED + 3) * (nr + PRESSURE_SPECIAL) * sizeof(__u64) +
	       nr * sizeof(struct pressure_due);
}

/**
 * pressure_cpu_begin() - begin to count on a CPU
 * @c: memory of pressure_cpu_size(), all of it 0
 * @nr: number of groups
 *
 * Context: any.
 */
void pressure_cpu_begin(struct pressure_cpu *c, __s32 nr)
{
	unsigned int level;
	__s32 group;

	c->nr_groups = nr;
	c->sums = pressure_vector(c, 0);
	c->own = pressure_vector(c, 1 + PRESSURE_SAVED);
	c->due = (struct pressure_due *)pressure_vector(c, 3 + PRESSURE_SAVED);
	for (group = 0; group < nr; group++) {
		for (level = 0; level < PRESSURE_LEVELS; level++) {
			pressure_list(c, group, level)->newest = PRESSURE_NONE;
			pressure_list(c, group, level)->oldest = PRESSURE_NONE;
		}
		c->own[group] = PRESSURE_OTHER;
	}
}

/* The number of the first run that ended after @time, which is before the end of the last run. */
static __u64 pressure_first(struct pressure_cpu *c, __u64 time)
{
	const __u64 oldest = pressure_oldest(c);
	__u64 low = c->nr_runs - 1, high = low, step, middle;

	/* Most waits are short, so begin with a small step back, and double it each time. */
	for (step = 1; pressure_run_of(c, low)->from > time; step *= 2) {
		high = low;
		if (low - oldest <= step) {
			low = oldest;
			break;
		}
		low -= step;
	}
	while (low < high) {
		middle = low + (high - low) / 2;
		if (pressure_run_of(c, middle)->to > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* The group @who had the CPU for which the view's group waits. */
static void pressure_share_group(const struct pressure_view *v, struct pressure_sum *sum,
				 __s32 who, __u64 ticks)
{
	if (!v->own) {
		if (pressure_within(v->p, who, v->group))
			sum->own += ticks;
		return;
	}
	while (who >= 0 && v->own[who] == PRESSURE_OTHER)
		who = v->p->groups[who].parent;
	if (who >= 0)
		v->own[who] += ticks;
}

static void pressure_share(const struct pressure_view *v, struct pressure_sum *sum, __s32 who,
			   __u64 ticks)
{
	sum->all += ticks;
	if (who == PRESSURE_NOBODY)
		sum->nobody += ticks;
	else if (who == PRESSURE_HYPERVISOR)
		sum->hypervisor += ticks;
	else if (who == PRESSURE_UNKNOWN)
		sum->unknown += ticks;
	else
		pressure_share_group(v, sum, who, ticks);
}

/* Add the time that groups had the CPU since @saved. */
static void pressure_share_saved(const struct pressure_view *v, struct pressure_sum *sum,
				 const __u64 *saved)
{
	const __u64 *now = v->c->sums;
	__u64 ticks, within = 0;
	__s32 group;

	if (!v->own) {
		sum->own += now[v->group] - saved[v->group];
		return;
	}
	for (group = v->group; group >= 0; group = v->p->groups[group].parent) {
		ticks = now[group] - saved[group];
		v->own[group] += ticks - within;
		within = ticks;
	}
}

/* Who had the CPU since @from, and how long. */
static struct pressure_sum pressure_since(const struct pressure_view *v, __u64 from)
{
	struct pressure_cpu *c = v->c;
	const __u64 *now = c->sums, *saved, *special;
	struct pressure_sum sum = { 0 };
	struct pressure_run *run;
	__u64 nr;

	if (from >= c->now)
		return sum;
	if (!c->nr_runs) {
		pressure_share(v, &sum, PRESSURE_UNKNOWN, c->now - from);
		return sum;
	}
	nr = pressure_first(c, from);
	run = pressure_run_of(c, nr);
	if (from < run->from) {
		pressure_share(v, &sum, PRESSURE_UNKNOWN, run->from - from);
		from = run->from;
	}
	pressure_share(v, &sum, run->who, run->to - from);
	for (nr++; nr < c->nr_runs && nr % PRESSURE_STEP; nr++) {
		run = pressure_run_of(c, nr);
		pressure_share(v, &sum, run->who, run->to - run->from);
	}
	if (nr == c->nr_runs)
		return sum;
	sum.all += c->now - pressure_run_of(c, nr)->from;
	saved = pressure_saved(c, nr);
	pressure_share_saved(v, &sum, saved);
	special = saved + c->nr_groups;
	now += c->nr_groups;
	sum.nobody += now[-1 - PRESSURE_NOBODY] - special[-1 - PRESSURE_NOBODY];
	sum.hypervisor += now[-1 - PRESSURE_HYPERVISOR] - special[-1 - PRESSURE_HYPERVISOR];
	sum.unknown += now[-1 - PRESSURE_UNKNOWN] - special[-1 - PRESSURE_UNKNOWN];
	return sum;
}

/* ------------------------------------------------------------------- blame */

static struct pressure_by *pressure_least(struct pressure_group *g)
{
	struct pressure_by *by, *least = g->by;

	for (by = g->by; by < g->by + PRESSURE_BY; by++) {
		if (by->ticks < least->ticks)
			least = by;
	}
	return least;
}

static struct pressure_by *pressure_named(struct pressure_group *g, __s32 who)
{
	struct pressure_by *by;

	for (by = g->by; by < g->by + PRESSURE_BY; by++) {
		if (by->group == who)
			return by;
	}
	return NULL;
}

/*
 * Blame others, who had the CPU.  First the groups that have a row get their time added.  Each of
 * the rest may have had as much before as the least row had, so it starts with that, and takes the
 * place of a row that has less.
 */
static void pressure_blame(const struct pressure_view *v, __u64 *had, int leaf)
{
	struct pressure_group *g = &v->p->groups[v->group];
	const __u64 before = pressure_least(g)->ticks;
	struct pressure_by *by, *least;
	__s32 who;

	for (by = g->by; by < g->by + PRESSURE_BY; by++) {
		if (by->group >= 0)
			by->ticks += had[by->group];
	}
	least = pressure_least(g);
	for (who = 0; who < v->c->nr_groups; who++) {
		const __u64 ticks = had[who];

		if (!ticks)
			continue;
		had[who] = 0;
		if (pressure_within(v->p, who, v->group))
			continue;
		if (leaf)
			v->p->groups[who].culprit += ticks;
		if (before + ticks <= least->ticks || pressure_named(g, who))
			continue;
		least->group = who;
		least->ticks = before + ticks;
		least = pressure_least(g);
	}
}

/* Blame one other group, as pressure_blame() does. */
static void pressure_blame_one(const struct pressure_view *v, __s32 who, __u64 ticks, int leaf)
{
	struct pressure_group *g = &v->p->groups[v->group];
	struct pressure_by *by;

	if (who < 0 || pressure_within(v->p, who, v->group))
		return;
	if (leaf)
		v->p->groups[who].culprit += ticks;
	by = pressure_named(g, who);
	if (!by) {
		by = pressure_least(g);
		by->group = who;
	}
	by->ticks += ticks;
}

/* Add the time that each group itself had between two runs before which the sums were saved. */
static void pressure_add_had(const struct pressure_view *v, __u64 *had, __u64 from, __u64 to)
{
	const __u64 *begin = pressure_saved(v->c, from), *end = pressure_saved(v->c, to);
	__s32 who, parent;

	for (who = 0; who < v->c->nr_groups; who++) {
		if (end[who] == begin[who])
			continue;
		had[who] += end[who] - begin[who];
		parent = v->p->groups[who].parent;
		if (parent >= 0)
			had[parent] -= end[who] - begin[who];
	}
}

/* The number of the last run up to @to before which sums were saved, from the run @nr on. */
static __u64 pressure_last_saved(struct pressure_cpu *c, __u64 nr, __u64 to)
{
	while (nr + PRESSURE_STEP < c->nr_runs &&
	       pressure_run_of(c, nr + PRESSURE_STEP)->from <= to)
		nr += PRESSURE_STEP;
	return nr;
}

/* Find out who had the CPU in the time that is due, and blame them. */
static void pressure_settle_due(const struct pressure_view *v, struct pressure_due *due)
{
	struct pressure_cpu *c = v->c;
	__u64 *had = pressure_had(c), nr, last, begin, end;
	struct pressure_run *run;
	int many;

	if (due->from >= due->to || !c->nr_runs)
		return;
	nr = pressure_first(c, due->from);
	many = due->next - nr > 2 * PRESSURE_STEP;
	while (nr < c->nr_runs) {
		run = pressure_run_of(c, nr);
		if (run->from >= due->to)
			break;
		if (many && !(nr % PRESSURE_STEP) && run->from >= due->from &&
		    run->from >= c->forgot) {
			last = pressure_last_saved(c, nr, due->to);
			pressure_add_had(v, had, nr, last);
			if (last > nr) {
				nr = last;
				continue;
			}
		}
		begin = run->from < due->from ? due->from : run->from;
		end = run->to > due->to ? due->to : run->to;
		if (!many)
			pressure_blame_one(v, run->who, end - begin, due->leaf);
		else if (run->who >= 0)
			had[run->who] += end - begin;
		nr++;
	}
	if (many)
		pressure_blame(v, had, due->leaf);
	due->to = due->from;
}

/* Did no other group have the CPU from @from, when there were @nr runs, until @to? */
static int pressure_only_own(const struct pressure_view *v, __u64 nr, __u64 from, __u64 to)
{
	struct pressure_run *run;

	/* The last of these runs may have gone on. */
	for (nr -= nr > 0; from < to && nr < v->c->nr_runs; nr++) {
		run = pressure_run_of(v->c, nr);
		if (run->from >= to)
			break;
		if (run->to > from && run->who >= 0 &&
		    !pressure_within(v->p, run->who, v->group))
			return 0;
	}
	return 1;
}

/* The group waited from @from until @to, for which nobody was blamed yet. */
static void pressure_owe(const struct pressure_view *v, __u64 from, __u64 to, int leaf)
{
	struct pressure_due new = { .from = from, .to = to, .leaf = leaf };
	struct pressure_due *due = pressure_due(v->c, v->group);

	if (from >= to || !v->c->nr_runs)
		return;
	new.next = to < v->c->now ? pressure_first(v->c, to) + 1 : v->c->nr_runs;
	if (from < v->c->before || to < v->c->now) {
		pressure_settle_due(v, &new);
	} else if (due->from < due->to && due->leaf == new.leaf && from >= due->from &&
		   pressure_only_own(v, due->next, due->to, from)) {
		if (due->to < to)
			due->to = to;
		due->next = new.next;
	} else {
		pressure_settle_due(v, due);
		*due = new;
	}
}

static void pressure_settle_older(struct pressure *p, struct pressure_cpu *c, __u64 time)
{
	struct pressure_view v = { .p = p, .c = c };

	for (v.group = 0; v.group < c->nr_groups; v.group++) {
		if (pressure_due(c, v.group)->from < time)
			pressure_settle_due(&v, pressure_due(c, v.group));
	}
}

/**
 * pressure_settle() - bring pressure_group::by and pressure_group::culprit up to date
 * @p: the groups
 * @c: a CPU
 *
 * All other fields are always up to date.
 *
 * Context: any.
 */
void pressure_settle(struct pressure *p, struct pressure_cpu *c)
{
	pressure_settle_older(p, c, c->now);
}

/**
 * pressure_run() - say who had a CPU
 * @p: the groups
 * @c: the CPU
 * @until: end of the run, in ticks.  It begins at the end of the last run; the first run is empty
 * @who: a group, PRESSURE_NOBODY, PRESSURE_HYPERVISOR or PRESSURE_UNKNOWN
 *
 * Context: any.
 */
void pressure_run(struct pressure *p, struct pressure_cpu *c, __u64 until, __s32 who)
{
	__u64 *sums = c->sums, ticks;
	struct pressure_run *run;

	if (!c->known) {
		c->known = 1;
		c->now = until;
	}
	/* The clocks of different CPUs, and of two sources, may differ. */
	if (until <= c->now)
		return;
	ticks = until - c->now;
	run = c->nr_runs ? pressure_run_of(c, c->nr_runs - 1) : NULL;
	if (!run || run->who != who) {
		if (!(c->nr_runs % PRESSURE_HALF)) {
			pressure_settle_older(p, c, c->half);
			c->before = c->half;
			c->half = c->now;
		}
		if (!(c->nr_runs % PRESSURE_STEP))
			memcpy(pressure_saved(c, c->nr_runs), sums,
			       (c->nr_groups + PRESSURE_SPECIAL) * sizeof(*sums));
		run = pressure_run_of(c, c->nr_runs++);
		run->from = c->now;
		run->who = who;
	}
	run->to = until;
	c->now = until;
	if (who < 0 && who >= PRESSURE_UNKNOWN)
		sums[c->nr_groups - 1 - who] += ticks;
	for (; who >= 0; who = p->groups[who].parent)
		sums[who] += ticks;
}

/* ------------------------------------------------------------------- waits */

static void pressure_unlink(struct pressure_cpu *c, struct pressure_held *h)
{
	struct pressure_list *list = pressure_list(c, h->group, h->level);

	if (h->older == PRESSURE_NONE)
		list->oldest = h->newer;
	else
		c->held[h->older].newer = h->newer;
	if (h->newer == PRESSURE_NONE)
		list->newest = h->older;
	else
		c->held[h->newer].older = h->older;
	h->live = 0;
}

/* @h makes room.  It is the oldest time of its group, because the ring is in the order of ends. */
static void pressure_evict(struct pressure_cpu *c, struct pressure_held *h)
{
	struct pressure_held *newer;

	if (h->newer == PRESSURE_NONE) {
		pressure_list(c, h->group, h->level)->floor = h->to;
	} else {
		newer = &c->held[h->newer];
		newer->from = h->from;
		pressure_add(&newer->sum, &h->sum);
	}
	pressure_unlink(c, h);
}

static void pressure_push(struct pressure_cpu *c, const struct pressure_held *new)
{
	struct pressure_list *list = pressure_list(c, new->group, new->level);
	struct pressure_held *h;
	unsigned int at, i;

	/* Reuse the elements that this wait has replaced. */
	for (i = 0; i < PRESSURE_HELD && c->nr_held; i++, c->nr_held--) {
		if (c->held[(c->nr_held - 1) & (PRESSURE_HELD - 1)].live)
			break;
	}
	at = c->nr_held++ & (PRESSURE_HELD - 1);
	h = &c->held[at];
	if (h->live)
		pressure_evict(c, h);
	*h = *new;
	h->live = 1;
	h->newer = PRESSURE_NONE;
	h->older = list->newest;
	if (h->older == PRESSURE_NONE)
		list->oldest = at;
	else
		c->held[h->older].newer = at;
	list->newest = at;
}

/*
 * The group has waited since some time in the midst of @h, and @since is who had the CPU meanwhile.
 * Returns what was not counted yet, neither in @h nor, as @counted, after it.  It is not known any
 * more where the gaps in @h are, but whatever exceeds all that was counted of @h is new.
 */
static struct pressure_sum pressure_goes_on(const struct pressure_view *v,
					    const struct pressure_held *h,
					    struct pressure_sum since,
					    const struct pressure_sum *counted)
{
	struct pressure_sum after = pressure_since(v, h->to);

	pressure_take(&after, counted);
	if (h->sum.all == h->to - h->from)
		return after;
	pressure_take(&since, counted);
	pressure_take(&since, &h->sum);
	return since.all > after.all ? since : after;
}

/*
 * The group waited since @from, and @since is who had the CPU meanwhile.  Returns what was not
 * counted yet, and if @blame, has others blamed for it.
 */
static struct pressure_sum pressure_hold(const struct pressure_view *v, unsigned int level,
					 __u64 from, struct pressure_sum since, int blame,
					 int leaf)
{
	struct pressure_cpu *c = v->c;
	struct pressure_list *list = pressure_list(c, v->group, level);
	struct pressure_held new = { .to = c->now, .group = v->group, .level = level }, *h = NULL;
	struct pressure_sum counted = { 0 };
	__u64 end = c->now;

	if (from < list->floor) {
		from = list->floor;
		since = pressure_since(v, from);
	}
	while (list->newest != PRESSURE_NONE) {
		h = &c->held[list->newest];
		if (h->from < from)
			break;
		pressure_add(&counted, &h->sum);
		if (blame)
			pressure_owe(v, h->to, end, leaf);
		end = h->from;
		pressure_unlink(c, h);
	}
	if (list->newest != PRESSURE_NONE && h->to >= from) {
		/* @h began before @from and ended after it, so @h goes on until now. */
		new.from = h->from;
		new.sum = h->sum;
		pressure_add(&new.sum, &counted);
		since = pressure_goes_on(v, h, since, &counted);
		pressure_add(&new.sum, &since);
		from = h->to;
		pressure_unlink(c, h);
	} else {
		new.from = from;
		new.sum = since;
		pressure_take(&since, &counted);
	}
	if (blame)
		pressure_owe(v, from, end, leaf);
	if (new.from < new.to)
		pressure_push(c, &new);
	return since;
}

/* From now on the level has waits that lower levels lack.  Begin with a copy of @below's. */
static void pressure_use(struct pressure_cpu *c, __s32 group, unsigned int level,
			 unsigned int below)
{
	struct pressure_list *from = pressure_list(c, group, below);
	struct pressure_list *list = pressure_list(c, group, level);
	struct pressure_held copy;
	__u64 until = 0;
	__u16 at;

	list->used = 1;
	list->floor = from->floor;
	for (;;) {
		/* The last push may have joined two of them. */
		for (at = from->oldest; at != PRESSURE_NONE && c->held[at].to <= until;)
			at = c->held[at].newer;
		if (at == PRESSURE_NONE)
			return;
		copy = c->held[at];
		copy.level = level;
		if (copy.from < until)
			copy.from = until;
		until = copy.to;
		pressure_push(c, &copy);
	}
}

static void pressure_count_tasks(struct pressure_group *g, const struct pressure_sum *queued,
				 __u64 elsewhere, __u64 held)
{
	g->tasks[PRESSURE_BY_OWN] += queued->own;
	g->tasks[PRESSURE_BY_NEIGHBOURS] += pressure_neighbours(queued);
	g->tasks[PRESSURE_BY_HYPERVISOR] += queued->hypervisor;
	g->tasks[PRESSURE_BY_NOBODY] += queued->nobody;
	g->tasks[PRESSURE_BY_UNKNOWN] += queued->unknown;
	g->tasks[PRESSURE_BY_ELSEWHERE] += elsewhere;
	g->tasks[PRESSURE_BY_QUOTA] += held;
}

/* The group waited since @from, by level; @since is who had the CPU while it was queued. */
static void pressure_wait_in(const struct pressure_view *v, const __u64 *from,
			     struct pressure_sum since, int leaf)
{
	struct pressure_group *g = &v->p->groups[v->group];
	struct pressure_sum fresh = { 0 };
	unsigned int level, below = PRESSURE_QUEUED;
	struct pressure_list *list = pressure_list(v->c, v->group, PRESSURE_QUEUED);

	/* Most cgroups only wait in the queue of one CPU, so that all levels are the same. */
	if (from[PRESSURE_ALL] == from[PRESSURE_QUEUED] && !list[PRESSURE_READY].used &&
	    !list[PRESSURE_ALL].used) {
		fresh = pressure_hold(v, PRESSURE_QUEUED, from[PRESSURE_QUEUED], since, 1, leaf);
		for (level = 0; level < PRESSURE_LEVELS; level++)
			pressure_add(&g->sum[level], &fresh);
		return;
	}
	/* A level that comes into use copies the level below, before that gets this wait. */
	for (level = 1; level < PRESSURE_LEVELS; level++) {
		list = pressure_list(v->c, v->group, level);
		if (!list->used && from[level] < from[level - 1])
			pressure_use(v->c, v->group, level, below);
		if (list->used)
			below = level;
	}
	for (level = 0; level < PRESSURE_LEVELS; level++) {
		if (level && from[level] < from[level - 1])
			since = pressure_since(v, from[level]);
		/* A level without waits of its own counts what the level below counts. */
		if (!level || pressure_list(v->c, v->group, level)->used)
			fresh = pressure_hold(v, level, from[level], since, !level, leaf);
		pressure_add(&g->sum[level], &fresh);
	}
}

/*
 * How long of the time @held that ended at @to the group had the CPU.  No limit held its tasks
 * back then, although @held says so of a task that was in the queue when the limit took effect.
 */
static __u64 pressure_own_held(const struct pressure_view *v, __u64 to, __u64 held)
{
	return pressure_since(v, pressure_less(to, held)).own - pressure_since(v, to).own;
}

/**
 * struct pressure_over - a task's wait, which is over
 * @elsewhere: how long the task was in queues of other CPUs
 * @held: how long a limit held it back
 * @own: how long of @held other tasks of its group had the CPU
 */
struct pressure_over {
	__u64	elsewhere;
	__u64	held;
	__u64	own;
};

/*
 * Count a wait of a task, for its group and each group that contains it.  If the wait is over,
 * @over is not NULL, and its causes also count in pressure_group::tasks.
 */
static void pressure_count(struct pressure *p, struct pressure_cpu *c, __s32 group,
			   const __u64 *from, const struct pressure_over *over)
{
	struct pressure_view v = { .p = p, .c = c, .group = group, .own = c->own };
	struct pressure_sum since, tasks;

	for (; v.group >= 0; v.group = p->groups[v.group].parent)
		v.own[v.group] = 0;
	v.group = group;
	since = pressure_since(&v, from[PRESSURE_QUEUED]);
	v.own = NULL;
	for (; v.group >= 0; v.group = p->groups[v.group].parent) {
		since.own += c->own[v.group];
		c->own[v.group] = PRESSURE_OTHER;
		if (over) {
			tasks = since;
			tasks.all += over->own;
			tasks.own += over->own;
			pressure_count_tasks(&p->groups[v.group], &tasks, over->elsewhere,
					     over->held - over->own);
		}
		if (from[PRESSURE_ALL] < c->now)
			pressure_wait_in(&v, from, since, v.group == group);
	}
}

/**
 * pressure_wait() - a task gets the CPU, for which it has waited
 * @p: the groups
 * @c: the CPU, after pressure_run() until now
 * @group: the task's group
 * @queued: how long it was in this CPU's queue until now
 * @elsewhere: how long it was in queues of other CPUs before that
 * @held: how long a limit on CPU time held it back before that
 * @told: how much of @held and @elsewhere, from their beginning, pressure_waits() has already
 *	counted on other CPUs
 *
 * Context: any.
 */
void pressure_wait(struct pressure *p, struct pressure_cpu *c, __s32 group, __u64 queued,
		   __u64 elsewhere, __u64 held, __u64 told)
{
	__u64 from[PRESSURE_LEVELS], left = pressure_less(elsewhere + held, told);
	const struct pressure_view v = { .p = p, .c = c, .group = group };
	struct pressure_over over = { .elsewhere = elsewhere, .held = held };

	/* No time is earlier than the clock's 0. */
	from[PRESSURE_QUEUED] = pressure_less(c->now, queued);
	from[PRESSURE_ALL] = pressure_less(from[PRESSURE_QUEUED], left);
	if (left > elsewhere)
		left = elsewhere;
	from[PRESSURE_READY] = pressure_less(from[PRESSURE_QUEUED], left);
	if (held)
		over.own = pressure_own_held(&v, pressure_less(from[PRESSURE_QUEUED], elsewhere),
					     held);
	pressure_count(p, c, group, from, &over);
}

/**
 * pressure_waits() - a task waits for the CPU, and has not got it yet
 * @p: the groups
 * @c: the CPU, after pressure_run() until now
 * @group: the task's group
 * @queued: how long it has been in this CPU's queue
 * @held: how long a limit on CPU time held it back before that
 *
 * When the wait is told again later, or has ended, what was counted of it on this CPU is not
 * counted again.
 *
 * Context: any.
 */
void pressure_waits(struct pressure *p, struct pressure_cpu *c, __s32 group, __u64 queued,
		    __u64 held)
{
	__u64 from[PRESSURE_LEVELS];

	from[PRESSURE_QUEUED] = pressure_less(c->now, queued);
	from[PRESSURE_READY] = from[PRESSURE_QUEUED];
	from[PRESSURE_ALL] = pressure_less(from[PRESSURE_QUEUED], held);
	pressure_count(p, c, group, from, NULL);
}

/**
 * pressure_cpu_forget() - a group is going to be counted no more
 * @p: the groups
 * @c: the CPU
 * @group: its number
 *
 * Context: any.
 */
void pressure_cpu_forget(struct pressure *p, struct pressure_cpu *c, __s32 group)
{
	struct pressure_list *list;
	unsigned int i;
	__u64 nr;

	pressure_settle(p, c);
	c->forgot = c->now;
	for (nr = pressure_oldest(c); nr < c->nr_runs; nr++) {
		if (pressure_run_of(c, nr)->who == group)
			pressure_run_of(c, nr)->who = PRESSURE_GONE;
	}
	for (i = 0; i <= PRESSURE_SAVED; i++)
		pressure_vector(c, i)[group] = 0;
	for (i = 0; i < PRESSURE_LEVELS; i++) {
		list = pressure_list(c, group, i);
		while (list->newest != PRESSURE_NONE)
			pressure_unlink(c, &c->held[list->newest]);
		list->floor = 0;
		list->used = 0;
	}
}
