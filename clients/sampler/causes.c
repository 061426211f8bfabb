// SPDX-License-Identifier: GPL-2.0
/*
 * Why the tasks of each cgroup waited: feeds the entries to the pressure engine
 *
 * The engine is in api/answers/engine/pressure.c.  This file tells it which cgroup had each CPU,
 * and which cgroup is inside which.  The engine knows a cgroup by its slot.  Times are ticks,
 * which are ns for every source that names tasks.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/topology.h>

#include "causes.h"

/* A task that had the CPU for this long may have moved to another cgroup meanwhile. */
#define CAUSES_LONG	NSEC_PER_MSEC

/* As in PSI, the averages are updated every two seconds. */
#define CAUSES_PERIOD	(2ULL * NSEC_PER_SEC)
#define CAUSES_MISSED	1024	/* after this many periods nothing is left of an average */

static const unsigned int causes_decay[CAUSES_AVERAGES] = { 1677, 1981, 2034 };

/**
 * struct causes - what was on a CPU lately
 * @known: there is a last entry, and none was lost after it
 * @pid: the task of the last entry, which has the CPU since then; 0: the CPU is idle
 * @who: that task's cgroup, or PRESSURE_NOBODY and so on
 * @at: time of that entry, or of a later report on a wait that goes on
 * @lost: entries that were lost before it
 * @went: when the CPU last went offline; 0: it has not
 * @came: when it last came online; 0: it has not
 * @engine: the engine's data about this CPU
 */
struct causes {
	bool			known;
	pid_t			pid;
	s32			who;
	u64			at;
	u64			lost;
	u64			went;
	u64			came;
	struct pressure_cpu	*engine;
};

static DEFINE_PER_CPU(struct causes, causes_of_cpu);
static struct pressure causes_groups;
static u64 causes_averaged;	/* time of the latest averages, CLOCK_BOOTTIME */

/**
 * causes_begin() - get ready to count
 *
 * Context: under sampler.lock, may sleep.
 * Return: 0 or -ENOMEM.
 */
int causes_begin(void)
{
	causes_groups.groups = kvcalloc(cgroups_slots(), sizeof(*causes_groups.groups), GFP_KERNEL);
	if (!causes_groups.groups)
		return -ENOMEM;
	causes_groups.nr = cgroups_slots();
	causes_averaged = ktime_get_boottime_ns();
	return 0;
}

/**
 * causes_end() - undo causes_begin()
 *
 * Context: may sleep; there is no session any more.
 */
void causes_end(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(per_cpu(causes_of_cpu, cpu).engine);
	kvfree(causes_groups.groups);
}

/**
 * causes_new() - a cgroup begins to be counted
 * @c: the cgroup, with its slot and parent
 *
 * Context: under sampler.lock.
 */
void causes_new(const struct sampler_cgroup *c)
{
	pressure_group_begin(&causes_groups, c->slot, c->parent ? c->parent->slot : -1);
}

/**
 * causes_forget() - a cgroup is not counted any more
 * @slot: its slot, which another cgroup may get
 *
 * Context: under sampler.lock.
 */
void causes_forget(unsigned int slot)
{
	struct causes *of;
	int cpu;

	for_each_possible_cpu(cpu) {
		of = per_cpu_ptr(&causes_of_cpu, cpu);
		if (of->engine)
			pressure_cpu_forget(&causes_groups, of->engine, slot);
		if (of->who == (s32)slot)
			of->who = PRESSURE_GONE;
	}
	pressure_group_end(&causes_groups, slot);
}

/**
 * causes_settle() - bring up to date which cgroups are to blame
 *
 * Call it before pressure_group::by or pressure_group::culprit is shown.
 *
 * Context: under sampler.lock.
 */
void causes_settle(void)
{
	const struct causes *of;
	int cpu;

	for_each_possible_cpu(cpu) {
		of = per_cpu_ptr(&causes_of_cpu, cpu);
		if (of->engine)
			pressure_settle(&causes_groups, of->engine);
	}
}

/**
 * causes_lost() - entries are missing, so nobody knows who had the CPU
 * @cpu: the CPU
 * @nr: how many
 *
 * Context: under sampler.lock.
 */
void causes_lost(int cpu, u64 nr)
{
	struct causes *of = per_cpu_ptr(&causes_of_cpu, cpu);

	of->known = false;
	of->lost += nr;
}

/**
 * causes_moved() - note when a CPU last went offline, and came online
 * @cpu: the CPU, whose new entries are counted next
 * @info: what is known of its area
 *
 * The task that takes a CPU offline seems to have it until it is back.
 *
 * Context: under sampler.lock.
 */
void causes_moved(int cpu, const struct kdtl_aux_info *info)
{
	struct causes *of = per_cpu_ptr(&causes_of_cpu, cpu);

	of->went = info->went;
	of->came = info->came;
}

static s32 causes_who(const struct sampler_cgroup *c)
{
	return c && !cgroups_is_unknown(c) ? (s32)c->slot : PRESSURE_UNKNOWN;
}

/*
 * Was the CPU offline at some time from @of->at until @to?  A wait may be reported after it has
 * been noted that the CPU goes, but before that has gone; then @of->at is later.
 */
static bool causes_offline(const struct causes *of, u64 to)
{
	return (of->went && of->went >= of->at && of->went < to) ||
	       (of->came && of->came > of->at && of->came <= to);
}

/* The cgroup that had the CPU from @of->at until @to, when the task on it was @pid. */
static s32 causes_until(const struct causes *of, u64 to, pid_t pid)
{
	u64 middle = of->at + (to - of->at) / 2, id;

	if (!of->known || causes_offline(of, to))
		return PRESSURE_UNKNOWN;
	if (pid != of->pid && !kdtl_task_exec(cgroups_tasks, of->pid, of->at, pid, to))
		return PRESSURE_UNKNOWN;
	if (of->pid && to - of->at >= CAUSES_LONG)
		return causes_who(cgroups_find(of->pid, middle, &id));
	return of->who;
}

/* Tell the engine that @who had the CPU until @to, except while the hypervisor had it. */
static void causes_run(struct causes *of, int cpu, u64 to, s32 who)
{
	u64 from = of->at, begin, end;

	while (stolen_next(cpu, from, to, &begin, &end)) {
		pressure_run(&causes_groups, of->engine, begin, who);
		pressure_run(&causes_groups, of->engine, min(end, to), PRESSURE_HYPERVISOR);
		from = end;
	}
	pressure_run(&causes_groups, of->engine, to, who);
}

/* At @now the CPU passed from the task @before to the task @pid of the cgroup @who. */
static void causes_switch(struct causes *of, int cpu, u64 now, pid_t before, pid_t pid, s32 who)
{
	causes_run(of, cpu, now, causes_until(of, now, before));
	of->known = true;
	of->pid = pid;
	of->at = now;
	of->who = who;
}

/* The struct of a CPU; NULL: there is no memory, or cgroups are not counted yet. */
static struct causes *causes_of_this(int cpu)
{
	struct causes *of = per_cpu_ptr(&causes_of_cpu, cpu);

	/* The first entries may come before cgroups are counted. */
	if (!causes_groups.groups)
		return NULL;
	if (!of->engine) {
		of->engine = kvzalloc_node(pressure_cpu_size(causes_groups.nr), GFP_KERNEL,
					   cpu_to_node(cpu));
		if (!of->engine)
			return NULL;
		pressure_cpu_begin(of->engine, causes_groups.nr);
	}
	return of;
}

/**
 * causes_add() - find out why a task waited
 * @span: the span that contains the entry
 * @e: the task's dispatch, or the entry that says that the CPU became idle
 * @c: its cgroup; NULL if the CPU became idle
 *
 * Context: under sampler.lock, may sleep.
 */
void causes_add(const struct kdtl_span *span, const struct kdtl_entry *e, struct sampler_cgroup *c)
{
	struct causes *of = causes_of_this(span->cpu);

	if (!of)
		return;
	causes_switch(of, span->cpu, kdtl_entry_time(e), kdtl_entry_prev_pid(e), kdtl_entry_pid(e),
		      c ? causes_who(c) : PRESSURE_NOBODY);
	if (c)
		pressure_wait(&causes_groups, of->engine, c->slot, kdtl_entry_queued(e),
			      kdtl_entry_ready(e) - kdtl_entry_throttled(e),
			      kdtl_entry_throttled(e),
			      told_take(kdtl_entry_pid(e), span->cpu));
}

/**
 * causes_waits() - find out why a task is still waiting
 * @w: the task; the entries of its CPU that are older have been counted, and no newer one
 * @lost: entries that had been lost on that CPU
 *
 * Context: under sampler.lock, may sleep.
 */
void causes_waits(const struct kdtl_waiting *w, u64 lost)
{
	struct causes *of = causes_of_this(w->cpu);
	struct sampler_cgroup *c;
	u64 id;

	if (!of)
		return;
	stolen_forget();
	/* A loss after the last entry is only reported with the next entry. */
	if (lost != of->lost)
		of->known = false;
	if (w->until > of->at)
		causes_switch(of, w->cpu, w->until, w->running, w->running, w->running ?
			      causes_who(cgroups_find(w->running, w->until, &id)) :
			      PRESSURE_NOBODY);
	c = cgroups_find(w->pid, w->until, &id);
	if (!c)
		return;
	pressure_waits(&causes_groups, of->engine, c->slot, w->until - w->since - w->held,
		       w->held);
	told_note(w);
}

/**
 * causes_of() - why a cgroup's tasks waited
 * @c: the cgroup
 *
 * Context: under sampler.lock.
 * Return: its sums.
 */
const struct pressure_group *causes_of(const struct sampler_cgroup *c)
{
	return &causes_groups.groups[c->slot];
}

/**
 * causes_ns() - for how long the tasks of a cgroup waited
 * @c: the cgroup
 * @row: %CAUSES_SOME, %CAUSES_FULL, or a cause
 *
 * Time may move from one cause to another, but the value returned here never decreases.
 *
 * Context: under sampler.lock.
 * Return: ns, on all CPUs.
 */
u64 causes_ns(struct sampler_cgroup *c, unsigned int row)
{
	const struct pressure_group *g = causes_of(c);
	u64 ns;

	if (row == CAUSES_SOME)
		ns = pressure_some(g);
	else if (row == CAUSES_FULL)
		ns = pressure_full(g);
	else
		ns = pressure_cause(g, row);
	c->shown[row] = max(c->shown[row], ns);
	return c->shown[row];
}

static u64 causes_next(u64 average, unsigned int decay, u64 percent)
{
	u64 next = average * decay + percent * (CAUSES_ONE - decay);

	/* Round up, or an average that rises would never reach @percent. */
	if (percent >= average)
		next += CAUSES_ONE - 1;
	return div_u64(next, CAUSES_ONE);
}

static void causes_average_one(struct sampler_cgroup *c, unsigned int row, u64 periods, u64 ns)
{
	const u64 total = causes_ns(c, row);
	const u64 percent = div64_u64((total - c->averaged[row]) * 100 * CAUSES_ONE, ns);
	unsigned int i;
	u64 n;

	c->averaged[row] = total;
	for (n = min_t(u64, periods, CAUSES_MISSED); n; n--) {
		for (i = 0; i < CAUSES_AVERAGES; i++)
			c->average[row][i] = causes_next(c->average[row][i], causes_decay[i],
							 percent);
	}
}

/**
 * causes_average() - bring the averages up to now
 *
 * Context: under sampler.lock.
 */
void causes_average(void)
{
	const u64 now = ktime_get_boottime_ns(), ns = now - causes_averaged;
	const u64 periods = div64_u64(ns, CAUSES_PERIOD);
	struct sampler_cgroup *c;
	unsigned int row;

	if (!periods)
		return;
	list_for_each_entry(c, &cgroups, list) {
		for (row = 0; row < CAUSES_ROWS; row++)
			causes_average_one(c, row, periods, ns);
	}
	causes_averaged = now;
}
