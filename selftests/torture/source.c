// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_torture: sources whose entries prove themselves
 *
 * Entries come from everywhere that a real source's may come from: from a hard irq timer on each
 * CPU, from the scheduler under its runqueue lock, and from tasks with interrupts off, in bursts of
 * one entry up to more than an area holds.  Each entry carries its number and a hash.  A dispatch
 * that the source loses takes a number, too.
 */
#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/kdtl_probes.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <trace/events/sched.h>

#include "../../core/compat.h"
#include "torture.h"

/* The timers take at most one part in this many of a CPU's time, however slow the machine is. */
#define TORTURE_SHARE	8

/**
 * struct torture_cpu - what makes entries on a CPU
 * @timer: makes a burst
 * @random: the state of its random numbers
 * @ticks: how often the timer has run
 * @on: kdtl's sessions follow the CPU
 */
struct torture_cpu {
	struct hrtimer	timer;
	u32		random;
	u32		ticks;
	bool		on;
};

static DEFINE_PER_CPU(struct torture_cpu, torture_here);
static struct torture_source *torture_sources;
static unsigned int torture_nr_sources;
static ktime_t torture_period;
static u32 torture_seed;
static int torture_state;

static u32 torture_luck(struct torture_cpu *c)
{
	c->random = c->random * 1664525 + 1013904223;
	return c->random >> 8;
}

static bool torture_wants(u32 mask, enum kdtl_kind kind)
{
	return kind == KDTL_KIND_UNKNOWN ? mask : mask & BIT(kind);
}

static void torture_emit(struct torture_source *source, u32 luck)
{
	struct torture_source_cpu *c = this_cpu_ptr(source->cpu);
	const enum kdtl_kind kind = luck % KDTL_NR_KINDS;
	struct kdtl_entry e = {
		.dispatch_reason	= kind,
		.processor_id		= cpu_to_be16(raw_smp_processor_id()),
		.enqueue_to_dispatch_time = cpu_to_be32(luck >> 16),
		.timebase		= cpu_to_be64(local_clock()),
		.fault_addr		= cpu_to_be64(++c->nr),
	};

	WRITE_ONCE(c->seq, c->seq + 1);
	/*
	 * Pairs with the one in torture_check_gaps(): the number grows before the entry can be
	 * lost.
	 */
	smp_wmb();
	e.srr0 = cpu_to_be64(c->seq);
	e.srr1 = cpu_to_be64(kdtl_fake_hash(&e));
	if (torture_wants(c->mask, kind))
		WRITE_ONCE(c->wanted, c->wanted + 1);
	kdtl_pmu_output(&source->p, &e, kind);
}

/* Lose dispatches between two entries, so that a reader that has seen any entry sees the gap. */
static void torture_lose(struct torture_source *source, u32 nr)
{
	struct torture_source_cpu *c = this_cpu_ptr(source->cpu);

	torture_emit(source, nr);
	WRITE_ONCE(c->seq, c->seq + nr);
	smp_wmb(); /* likewise */
	if (c->mask)
		WRITE_ONCE(c->wanted, c->wanted + nr);
	kdtl_pmu_lost(&source->p, nr);
	torture_emit(source, ~nr);
}

/* Called with interrupts off. */
static void torture_make(unsigned int nr)
{
	struct torture_cpu *c = this_cpu_ptr(&torture_here);
	struct torture_source *source;
	unsigned int i;
	u32 luck;

	if (!c->on)
		return;
	while (nr--) {
		luck = torture_luck(c);
		for (i = 0; i < torture_nr_sources; i++) {
			source = &torture_sources[i];
			if (i && i == torture_nr_sources - 1) {
				if (luck % 4 == 0)
					torture_emit(source, luck >> i);
			} else if (luck % 1024 == i) {
				torture_lose(source, 1 + (luck >> 10) % 7);
			} else {
				torture_emit(source, luck >> i);
			}
		}
	}
}

/**
 * torture_ticks() - how many interrupts a CPU's timer has made
 * @cpu: the CPU
 *
 * When this number has changed, irq_work that was queued on that CPU before has run.
 *
 * Context: any.
 */
u32 torture_ticks(int cpu)
{
	return READ_ONCE(per_cpu(torture_here, cpu).ticks);
}

/**
 * torture_burst() - make entries on this CPU
 * @nr: how many, for each source
 *
 * Context: any but NMI, and not inside a source.
 */
void torture_burst(unsigned int nr)
{
	unsigned long flags;

	local_irq_save(flags);
	torture_make(nr);
	local_irq_restore(flags);
}

static enum hrtimer_restart torture_tick(struct hrtimer *timer)
{
	const u64 begin = local_clock();
	struct torture_cpu *c = this_cpu_ptr(&torture_here);
	ktime_t next;

	WRITE_ONCE(c->ticks, c->ticks + 1);
	torture_make(1 + torture_luck(c) % 16);
	next = max(torture_period, ns_to_ktime((local_clock() - begin) * TORTURE_SHARE));
	hrtimer_forward_now(timer, next);
	return HRTIMER_RESTART;
}

/* Called with interrupts off and the runqueue lock held. */
static void torture_switch(void *data, bool preempt, struct task_struct *prev,
			   struct task_struct *next, unsigned int prev_state)
{
	torture_make(1);
}

/*
 * When this is called, kdtl's sessions already follow the CPU; they leave it later than this does.
 */
static int torture_online(unsigned int cpu)
{
	struct torture_cpu *c = this_cpu_ptr(&torture_here);

	if (!c->random)
		c->random = torture_seed + cpu;
	hrtimer_setup(&c->timer, torture_tick, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	WRITE_ONCE(c->on, true);
	hrtimer_start(&c->timer, torture_period, HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static int torture_offline(unsigned int cpu)
{
	struct torture_cpu *c = this_cpu_ptr(&torture_here);

	hrtimer_cancel(&c->timer);
	WRITE_ONCE(c->on, false);
	return 0;
}

/* Called on the CPU with interrupts off, so no entry is under way. */
static int torture_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	struct torture_source *source = container_of(p, struct torture_source, p);

	this_cpu_ptr(source->cpu)->mask = mask;
	return 0;
}

static u64 torture_sync(struct kdtl_pmu *p)
{
	return local_clock();
}

static int torture_register(struct torture_source *source, const char *name,
			    struct module *owner)
{
	int err;

	source->cpu = alloc_percpu(struct torture_source_cpu);
	if (!source->cpu)
		return -ENOMEM;
	source->p = (struct kdtl_pmu) {
		.pmu.module	= owner,
		.name		= name,
		.mask		= TORTURE_MASKS,
		.tb_freq	= NSEC_PER_SEC,
		.source		= torture_source,
		.sync		= torture_sync,
	};
	err = kdtl_pmu_register(&source->p);
	if (err)
		free_percpu(source->cpu);
	return err;
}

static void torture_unregister(struct torture_source *source)
{
	kdtl_pmu_unregister(&source->p);
	free_percpu(source->cpu);
}

static struct kdtl_probe torture_probe = { "sched_switch", torture_switch };

/**
 * torture_sources_start() - register sources, and make entries on each CPU
 * @sources: the sources, zeroed
 * @nr: how many there are
 * @names: their names; if there are several, the last one loses nothing, and makes fewer entries
 * @owner: THIS_MODULE
 * @seed: the seed of all that is random
 * @period_us: the least time between two bursts of a timer
 *
 * Context: may sleep.
 * Return: 0 or an errno.
 */
int torture_sources_start(struct torture_source *sources, unsigned int nr,
			  const char * const *names, struct module *owner,
			  u32 seed, unsigned int period_us)
{
	int err;

	torture_sources = sources;
	torture_seed = seed;
	torture_period = ns_to_ktime(period_us * NSEC_PER_USEC);
	for (torture_nr_sources = 0; torture_nr_sources < nr; torture_nr_sources++) {
		err = torture_register(&sources[torture_nr_sources],
				       names[torture_nr_sources], owner);
		if (err)
			goto unregister;
	}
	err = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "kdtl_torture:source",
				torture_online, torture_offline);
	if (err < 0)
		goto unregister;
	torture_state = err;
	err = kdtl_probes_register(&torture_probe, 1);
	if (!err)
		return 0;
	cpuhp_remove_state(torture_state);
unregister:
	while (torture_nr_sources)
		torture_unregister(&sources[--torture_nr_sources]);
	return err;
}

/**
 * torture_sources_stop() - undo torture_sources_start()
 *
 * Context: may sleep.
 */
void torture_sources_stop(void)
{
	kdtl_probes_unregister(&torture_probe, 1);
	cpuhp_remove_state(torture_state);
	while (torture_nr_sources)
		torture_unregister(&torture_sources[--torture_nr_sources]);
}
