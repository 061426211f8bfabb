// SPDX-License-Identifier: GPL-2.0
/*
 * Which cgroups had the CPU while tasks of others waited for it
 *
 * Short waits are left out: they are many, and nobody is to blame for them.
 *
 * Any user can make long waits with thousands of dispatches in each, so the cost of a wait does
 * not depend on them.  What follows each other in one cgroup is one run.  A CPU has a sum for each
 * cgroup, of all its runs so far, and what these sums were after every %BEHIND_STEP runs: what a
 * cgroup had in a wait is the difference of two sums, and the few runs up to the next saved ones.
 *
 * Many tasks may wait at once, so each moment of a culprit counts once for each of them in
 * sampler_cgroup::culprit, and once at all in sampler_cgroup::culprit_cpu.  For that, a CPU has
 * the times in which always some task waited.  A wait ends after all that are known, so it is
 * either behind these times, or makes the last ones longer.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/topology.h>

#include "cgroups.h"

#define BEHIND_NS	NSEC_PER_MSEC
#define BEHIND_RUNS	1024	/* a power of two */
#define BEHIND_STEP	64	/* another one */
#define BEHIND_SAVED	(BEHIND_RUNS / BEHIND_STEP)
#define BEHIND_HELD	8	/* times in which tasks waited */

/* Vectors of ticks, by slot. */
enum {
	BEHIND_SUMS,
	BEHIND_HAD,	/* room to work */
	BEHIND_AFTER,
	BEHIND_NEW,
	BEHIND_IN_HELD,	/* one for each struct behind_held */
	BEHIND_IN_SAVED = BEHIND_IN_HELD + BEHIND_HELD,	/* earlier sums */
	BEHIND_VECTORS = BEHIND_IN_SAVED + BEHIND_SAVED,
};

/**
 * struct behind_run - who had the CPU since the run before ended
 * @to: when it ended
 * @ticks: for how long the cgroup had the CPU
 * @stolen: for how long the hypervisor had it
 * @id: of the cgroup, which may be counted with others; 0: not known
 * @slot: as which cgroup it is counted, or cgroups_nobody()
 */
struct behind_run {
	u64		to;
	u64		ticks;
	u64		stolen;
	u64		id;
	unsigned int	slot;
};

/**
 * struct behind_held - a time in which always some task waited for the CPU
 * @from: when it began
 * @to: when it ended
 * @slot: a cgroup whose tasks waited
 * @own: for how long this cgroup itself had the CPU then, while no other one is known to have
 *	waited, in ticks: that is not counted yet
 * @vector: the number of the vector that says how long each cgroup had the CPU then
 */
struct behind_held {
	u64		from;
	u64		to;
	unsigned int	slot;
	u64		own;
	unsigned int	vector;
};

/**
 * struct behind - what was on a CPU lately
 * @nr: number of runs; the last %BEHIND_RUNS are there
 * @known: there is a last entry, and none was lost after it
 * @pid: the task of the last entry, which has the CPU since then; 0: the CPU is idle
 * @now: a run of that task's cgroup, which ended then
 * @nr_held: number of times in which tasks waited
 * @held: these times, in their order, without overlap; all have a vector, used or not
 * @runs: the runs
 * @sums: the vectors
 */
struct behind {
	u64			nr;
	bool			known;
	pid_t			pid;
	struct behind_run	now;
	unsigned int		nr_held;
	struct behind_held	held[BEHIND_HELD];
	struct behind_run	runs[BEHIND_RUNS];
	u64			sums[];
};

static DEFINE_PER_CPU(struct behind *, behind_of_cpu);

static u64 *behind_vector(struct behind *b, unsigned int i)
{
	return b->sums + i * (cgroups_nobody() + 1);
}

/* The sums after the run with that number, which is a multiple of BEHIND_STEP. */
static u64 *behind_saved(struct behind *b, u64 nr)
{
	return behind_vector(b, BEHIND_IN_SAVED + nr / BEHIND_STEP % BEHIND_SAVED);
}

static struct behind_run *behind_run(struct behind *b, u64 nr)
{
	return &b->runs[nr & (BEHIND_RUNS - 1)];
}

static u64 behind_oldest(const struct behind *b)
{
	return b->nr - min_t(u64, b->nr, BEHIND_RUNS);
}

static unsigned int behind_slot(const struct sampler_cgroup *c)
{
	return c ? c->slot : cgroups_nobody();
}

static void behind_count(u64 *sums, const struct behind_run *run)
{
	sums[run->slot] += run->ticks;
	if (run->stolen)
		sums[behind_slot(cgroups_hypervisor())] += run->stolen;
}

/* Of the time from @from until @run->to, what the hypervisor had, and what is left. */
static void behind_share(struct behind_run *run, int cpu, u64 from)
{
	struct kdtl_who who = { };

	kdtl_who_begin(&who, from, run->to);
	stolen_tell(&who, cpu, from);
	kdtl_who_end(&who, false);
	run->ticks = who.unknown;
	run->stolen = who.stolen;
}

/* Whose the time until @e was.  In a long time a task may have come to another cgroup. */
static struct behind_run behind_until(struct behind *b, const struct kdtl_span *span,
				      const struct kdtl_entry *e)
{
	struct behind_run run = b->now;
	const u64 from = run.to, to = kdtl_entry_time(e);

	run.to = to;
	if (!b->known)
		return run;
	behind_share(&run, span->cpu, from);
	if (kdtl_entry_prev_pid(e) != b->pid &&
	    !kdtl_task_exec(cgroups_tasks, b->pid, from, kdtl_entry_prev_pid(e), to)) {
		/* Entries are missing. */
		run.slot = behind_slot(cgroups_unknown());
		run.id = 0;
	} else if (b->pid && kdtl_ticks_to_ns(span->info, run.ticks) >= BEHIND_NS) {
		run.slot = behind_slot(cgroups_find(b->pid, from + (to - from) / 2, &run.id));
	}
	return run;
}

/* Add a run, or make the last one longer. */
static void behind_push(struct behind *b, const struct behind_run *run)
{
	struct behind_run *last = behind_run(b, b->nr - 1);
	u64 *sums = behind_vector(b, BEHIND_SUMS);

	if (b->nr && !last->stolen && !run->stolen && last->slot == run->slot &&
	    last->id == run->id) {
		last->to = run->to;
		last->ticks += run->ticks;
	} else {
		if (b->nr && !((b->nr - 1) % BEHIND_STEP))
			memcpy(behind_saved(b, b->nr - 1), sums,
			       (cgroups_nobody() + 1) * sizeof(*sums));
		*behind_run(b, b->nr++) = *run;
	}
	behind_count(sums, run);
}

/* The number of the first run that ended after that time; there is one. */
static u64 behind_first(struct behind *b, u64 time)
{
	u64 low = behind_oldest(b), high = b->nr - 1, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if ((s64)(behind_run(b, middle)->to - time) > 0)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* What the task's own cgroup had, of the time of all that are counted as one with it. */
static u64 behind_own(struct behind *b, const struct behind_run *part, u64 nr,
		      unsigned int slot, u64 id)
{
	u64 ticks = part->slot == slot && part->id == id ? part->ticks : 0;
	const struct behind_run *run;

	for (nr++; nr < b->nr; nr++) {
		run = behind_run(b, nr);
		if (run->slot == slot && run->id == id)
			ticks += run->ticks;
	}
	return ticks;
}

/*
 * What each had since @from goes to @had, and the part of the first run that is since then to
 * @part.  Returns the number of that run.
 */
static u64 behind_since(struct behind *b, int cpu, u64 from, u64 *had, struct behind_run *part)
{
	const u64 *sums = behind_vector(b, BEHIND_SUMS), *saved;
	const u64 first = behind_first(b, from);
	unsigned int i;
	u64 nr, known;

	memset(had, 0, (cgroups_nobody() + 1) * sizeof(*had));
	*part = *behind_run(b, first);
	known = part->ticks;
	behind_share(part, cpu, from);
	/* It may have begun before all that is known. */
	if (part->ticks > known) {
		had[behind_slot(cgroups_unknown())] += part->ticks - known;
		part->ticks = known;
	}
	behind_count(had, part);
	for (nr = first; nr < b->nr - 1 && nr % BEHIND_STEP; nr++)
		behind_count(had, behind_run(b, nr + 1));
	if (nr < b->nr - 1) {
		saved = behind_saved(b, nr);
		for (i = 0; i < cgroups_nobody(); i++)
			had[i] += sums[i] - saved[i];
	}
	return first;
}

static void behind_culprit_cpu(const struct kdtl_span *span, unsigned int slot, u64 ticks)
{
	struct sampler_cgroup *c = slot < cgroups_nobody() ? cgroups_by_slot[slot] : NULL;

	if (c && ticks)
		c->culprit_cpu += kdtl_ticks_to_ns(span->info, ticks);
}

static u64 *behind_in_held(struct behind *b, const struct behind_held *h)
{
	return behind_vector(b, BEHIND_IN_HELD + h->vector);
}

/* @ticks of the cgroup itself are not counted: of two such cgroups remember the one with more. */
static void behind_keep_own(struct behind_held *h, unsigned int slot, u64 ticks)
{
	if (slot == h->slot) {
		h->own += ticks;
	} else if (ticks > h->own) {
		h->slot = slot;
		h->own = ticks;
	}
}

/* Another time; if there are too many, the two oldest become one. */
static struct behind_held *behind_add_held(struct behind *b, u64 from, unsigned int slot)
{
	struct behind_held *h = b->held, second = h[1];
	const u64 *ticks = behind_in_held(b, &second);
	unsigned int i;

	if (b->nr_held == BEHIND_HELD) {
		for (i = 0; i < cgroups_nobody(); i++)
			behind_in_held(b, h)[i] += ticks[i];
		behind_keep_own(h, second.slot, second.own);
		h->to = second.to;
		memmove(h + 1, h + 2, (BEHIND_HELD - 2) * sizeof(*h));
		b->nr_held--;
		h[b->nr_held].vector = second.vector;
	}
	h += b->nr_held++;
	h->from = from;
	h->slot = slot;
	h->own = 0;
	memset(behind_in_held(b, h), 0, (cgroups_nobody() + 1) * sizeof(u64));
	return h;
}

/*
 * Of the time since @from, in which a task of the cgroup in @slot waited and each cgroup had what
 * @had says, count what was not counted for another wait.  The cgroup itself had @own of it.
 */
static void behind_hold(struct behind *b, const struct kdtl_span *span, u64 from, const u64 *had,
			unsigned int slot, u64 own)
{
	u64 *fresh = behind_vector(b, BEHIND_NEW), *after = behind_vector(b, BEHIND_AFTER), *ticks;
	const size_t size = (cgroups_nobody() + 1) * sizeof(*fresh);
	u64 kept = 0, counted;
	struct behind_held *h;
	struct behind_run part;
	unsigned int i;

	memcpy(fresh, had, size);
	while (b->nr_held && (s64)(b->held[b->nr_held - 1].from - from) >= 0) {
		h = &b->held[--b->nr_held];
		ticks = behind_in_held(b, h);
		for (i = 0; i < cgroups_nobody(); i++)
			fresh[i] -= min(fresh[i], ticks[i]);
		if (h->slot == slot)
			kept += h->own;
		else
			behind_culprit_cpu(span, h->slot, h->own);
	}
	h = b->nr_held ? &b->held[b->nr_held - 1] : NULL;
	if (h && (s64)(h->to - from) > 0) {
		/* It began earlier, and ended meanwhile: it goes on. */
		behind_since(b, span->cpu, h->to, after, &part);
		for (i = 0; i < cgroups_nobody(); i++)
			fresh[i] -= min(fresh[i], had[i] - min(had[i], after[i]));
		if (h->slot != slot && h->slot < cgroups_nobody()) {
			counted = min(h->own, had[h->slot] - min(had[h->slot], after[h->slot]));
			behind_culprit_cpu(span, h->slot, counted);
			h->own -= counted;
		}
	} else {
		h = behind_add_held(b, from, slot);
		memcpy(after, had, size);
	}
	h->to = behind_run(b, b->nr - 1)->to;
	ticks = behind_in_held(b, h);
	for (i = 0; i < cgroups_nobody(); i++)
		ticks[i] += after[i];
	own = min(own, fresh[slot]);
	fresh[slot] -= own;
	behind_keep_own(h, slot, kept + own);
	for (i = 0; i < cgroups_nobody(); i++)
		behind_culprit_cpu(span, i, fresh[i]);
}

static void behind_wait(struct behind *b, const struct kdtl_span *span,
			const struct kdtl_entry *e, struct sampler_cgroup *victim, u64 id)
{
	const u64 from = kdtl_entry_time(e) - kdtl_entry_queued(e);
	u64 *had = behind_vector(b, BEHIND_HAD), first, own, ns;
	struct behind_run part;
	struct sampler_cgroup *c;
	unsigned int i;

	first = behind_since(b, span->cpu, from, had, &part);
	/* Those that are counted as one wait for each other, too. */
	own = had[victim->slot];
	if (id && cgroups_are_others(victim))
		own = behind_own(b, &part, first, victim->slot, id);
	behind_hold(b, span, from, had, victim->slot, own);
	had[victim->slot] -= own;
	for (i = 0; i < cgroups_nobody(); i++) {
		c = cgroups_by_slot[i];
		if (!c || !had[i])
			continue;
		ns = kdtl_ticks_to_ns(span->info, had[i]);
		victim->behind += ns;
		c->culprit += ns;
		c->seen = max(c->seen, victim->seen);
	}
}

/**
 * behind_lost() - entries are missing, so forget what was on the CPU
 * @cpu: the CPU
 *
 * Context: under sampler.lock.
 */
void behind_lost(int cpu)
{
	struct behind *b = per_cpu(behind_of_cpu, cpu);

	if (!b)
		return;
	b->nr = 0;
	b->nr_held = 0;
	b->known = false;
	b->now = (struct behind_run) { .slot = cgroups_nobody() };
}

/**
 * behind_add() - find out behind whom a task waited
 * @span: with the entry
 * @e: its dispatch, or that the CPU became idle
 * @victim: its cgroup; NULL if the CPU became idle
 * @id: that cgroup's id, or 0
 *
 * Context: under sampler.lock, may sleep.
 */
void behind_add(const struct kdtl_span *span, const struct kdtl_entry *e,
		struct sampler_cgroup *victim, u64 id)
{
	struct behind **of_cpu = per_cpu_ptr(&behind_of_cpu, span->cpu), *b = *of_cpu;
	struct behind_run run;
	unsigned int i;

	if (!b) {
		b = kvzalloc_node(struct_size(b, sums, BEHIND_VECTORS * (cgroups_nobody() + 1)),
				  GFP_KERNEL, cpu_to_node(span->cpu));
		*of_cpu = b;
		behind_lost(span->cpu);
		for (i = 0; b && i < BEHIND_HELD; i++)
			b->held[i].vector = i;
	}
	if (!b)
		return;
	run = behind_until(b, span, e);
	behind_push(b, &run);
	b->known = true;
	b->pid = kdtl_entry_pid(e);
	b->now = (struct behind_run) {
		.to = kdtl_entry_time(e), .id = id, .slot = behind_slot(victim),
	};
	if (victim && kdtl_ticks_to_ns(span->info, kdtl_entry_queued(e)) >= BEHIND_NS)
		behind_wait(b, span, e, victim, id);
}

static void behind_forget_on(struct behind *b, unsigned int slot)
{
	unsigned int i;
	u64 nr;

	for (nr = behind_oldest(b); nr < b->nr; nr++) {
		if (behind_run(b, nr)->slot == slot)
			behind_run(b, nr)->slot = cgroups_nobody();
	}
	if (b->now.slot == slot)
		b->now.slot = cgroups_nobody();
	for (i = 0; i < b->nr_held; i++) {
		if (b->held[i].slot == slot) {
			b->held[i].slot = cgroups_nobody();
			b->held[i].own = 0;
		}
	}
	for (i = 0; i < BEHIND_VECTORS; i++)
		behind_vector(b, i)[slot] = 0;
}

/**
 * behind_forget() - a cgroup is not counted any more
 * @slot: where it was; another one may come there
 *
 * Context: under sampler.lock.
 */
void behind_forget(unsigned int slot)
{
	struct behind *b;
	int cpu;

	for_each_possible_cpu(cpu) {
		b = per_cpu(behind_of_cpu, cpu);
		if (b)
			behind_forget_on(b, slot);
	}
}

/**
 * behind_exit() - free what is known of all CPUs
 *
 * Context: may sleep.
 */
void behind_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(per_cpu(behind_of_cpu, cpu));
}
