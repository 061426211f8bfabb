// SPDX-License-Identifier: GPL-2.0
/*
 * Which cgroups had the CPU while tasks of others waited for it
 *
 * Short waits are left out: they are many, and nobody is to blame for them.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/topology.h>

#include "cgroups.h"

#define BEHIND_NS	NSEC_PER_MSEC
#define BEHIND_ENTRIES	1024	/* a power of two */
#define BEHIND_TASKS	8

/**
 * struct behind - a CPU's latest dispatches and idle times
 * @nr: number of those that were added; the last %BEHIND_ENTRIES are there
 * @entries: the entries
 */
struct behind {
	u64			nr;
	struct kdtl_entry	entries[BEHIND_ENTRIES];
};

static DEFINE_PER_CPU(struct behind *, behind_of_cpu);

static struct kdtl_entry *behind_entry(struct behind *b, u64 nr)
{
	return &b->entries[nr & (BEHIND_ENTRIES - 1)];
}

/* The number of the first entry that says who had the CPU at that time, or the oldest. */
static u64 behind_first(struct behind *b, u64 time)
{
	const u64 oldest = b->nr - min_t(u64, b->nr, BEHIND_ENTRIES);
	u64 nr = b->nr;

	while (nr > oldest) {
		nr--;
		if ((s64)(kdtl_entry_time(behind_entry(b, nr)) - time) <= 0)
			break;
	}
	return nr;
}

static void behind_blame(struct sampler_cgroup *victim, struct sampler_cgroup *culprit,
			 u64 ns)
{
	if (!culprit)
		return;
	victim->behind += ns;
	culprit->culprit += ns;
	culprit->seen = max(culprit->seen, victim->seen);
}

/* The task @ran had the CPU while that of @e waited. */
static void behind_blame_task(const struct kdtl_ran *ran, const struct kdtl_span *span,
			      const struct kdtl_entry *e, struct sampler_cgroup *victim)
{
	struct sampler_cgroup *culprit = cgroups_find(ran->pid, ran->time);

	if (culprit && culprit == victim && !cgroups_differ(victim, ran, e))
		return;
	behind_blame(victim, culprit, kdtl_ticks_to_ns(span->info, ran->ticks));
}

/* Take the tasks of @who, which has room for others then. */
static void behind_blame_tasks(struct kdtl_who *who, const struct kdtl_span *span,
			       const struct kdtl_entry *e, struct sampler_cgroup *victim)
{
	const struct kdtl_ran *ran;

	for (ran = who->ran; ran < who->ran + who->nr; ran++)
		behind_blame_task(ran, span, e, victim);
	who->nr = 0;
	cond_resched();
}

static void behind_wait(struct behind *b, const struct kdtl_span *span,
			const struct kdtl_entry *e, struct sampler_cgroup *victim)
{
	const u64 to = kdtl_entry_time(e), from = to - kdtl_entry_queued(e);
	struct kdtl_ran ran[BEHIND_TASKS];
	struct kdtl_who who = { .ran = ran, .size = ARRAY_SIZE(ran) };
	struct sampler_cgroup *unknown;
	u64 nr;

	kdtl_who_begin(&who, from, to);
	stolen_tell(&who, span->cpu);
	for (nr = behind_first(b, from); nr < b->nr; nr++) {
		/* Many short tasks of one cgroup may be the culprit. */
		if (who.nr == who.size)
			behind_blame_tasks(&who, span, e, victim);
		kdtl_who_entry(&who, behind_entry(b, nr));
	}
	if (who.nr == who.size)
		behind_blame_tasks(&who, span, e, victim);
	kdtl_who_entry(&who, e);
	kdtl_who_end(&who, false);
	behind_blame_tasks(&who, span, e, victim);
	/* Nobody had the CPU in who.idle: a long interrupt, or a hypervisor that is not asked. */
	unknown = who.unknown ? cgroups_unknown() : NULL;
	if (unknown != victim)
		behind_blame(victim, unknown, kdtl_ticks_to_ns(span->info, who.unknown));
	if (who.stolen)
		behind_blame(victim, cgroups_hypervisor(),
			     kdtl_ticks_to_ns(span->info, who.stolen));
}

/**
 * behind_add() - find out behind whom a task waited
 * @span: with the entry
 * @e: its dispatch, or that the CPU became idle
 * @victim: its cgroup; NULL if the CPU became idle
 *
 * Context: under sampler.lock, may sleep.
 */
void behind_add(const struct kdtl_span *span, const struct kdtl_entry *e,
		struct sampler_cgroup *victim)
{
	struct behind **b = per_cpu_ptr(&behind_of_cpu, span->cpu);

	if (!*b)
		*b = kvzalloc_node(sizeof(**b), GFP_KERNEL, cpu_to_node(span->cpu));
	if (!*b)
		return;
	if (kdtl_ticks_to_ns(span->info, kdtl_entry_queued(e)) >= BEHIND_NS)
		behind_wait(*b, span, e, victim);
	*behind_entry(*b, (*b)->nr++) = *e;
}

/**
 * behind_lost() - entries are missing, so forget the CPU's dispatches
 * @cpu: the CPU
 *
 * Context: under sampler.lock.
 */
void behind_lost(int cpu)
{
	struct behind *b = per_cpu(behind_of_cpu, cpu);

	if (b)
		b->nr = 0;
}

/**
 * behind_exit() - free the dispatches of all CPUs
 *
 * Context: may sleep.
 */
void behind_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		kvfree(per_cpu(behind_of_cpu, cpu));
}
