// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_steal - the time that a hypervisor kept the CPU, as dispatch trace log entries
 *
 * One entry for each time that the hypervisor let the virtual CPU run again after
 * something else had its processor.  The hypervisor keeps no log and raises no interrupt:
 * it only adds that time to a steal clock.  So this driver looks at the clock where the
 * kernel runs anyway: in the interrupt of the local timer, and at each task switch.  A
 * timer that came due while the CPU was away fires when it is back, so a gap longer than
 * a tick is seen at its end, and an idle CPU is not woken.  Events that want to see
 * shorter gaps one by one ask for a period, which costs a timer of their own.
 *
 * Gaps between two looks become one entry with their sum, and the entry says so.  It has
 * the times of both looks too, and never claims more than what has passed between them:
 * after the virtual CPU moved to another host, a steal clock may jump.
 *
 * Documentation/pmu-steal.rst describes each field of an entry.
 */
#define pr_fmt(fmt) "kdtl_steal: " fmt

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_probes.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>

#include "../compat.h"
#include "../fanout.h"
#include "steal-clock.h"

/* The shortest time between two looks that an event can ask for. */
#define KDTL_STEAL_MIN_PERIOD	(50 * NSEC_PER_USEC)

/**
 * struct kdtl_steal_seen - what a look saw
 * @mark: the clock's mark
 * @ns: the time stolen so far
 * @time: local_clock() at the look that found @mark changed
 * @mono: ktime_get_mono_fast_ns() then
 * @mono_cycles: get_cycles() then
 * @cycles: get_cycles() at the last look, which changes the other members only if the
 *	mark has changed
 *
 * @mono tells how much time has passed: while the kernel does not trust the TSC,
 * local_clock() advances by no more than a tick before the next tick is handled.
 */
struct kdtl_steal_seen {
	u64	mark;
	u64	ns;
	u64	time;
	u64	mono;
	u64	mono_cycles;
	u64	cycles;
};

/**
 * struct kdtl_steal_cpu - a CPU's steal clock
 * @clock: the clock; while the source is off, it points to @seen's mark: a look finds no change
 * @seen: by the last look
 * @on: the source is on
 * @wanted: the source is to be on
 * @busy: an entry is being handed out, which may change @wanted and @period
 * @period: ns between two looks of @timer; 0: no timer is needed
 * @timer: looks at the clock, on this CPU
 *
 * All of it belongs to the CPU, with interrupts off.
 */
struct kdtl_steal_cpu {
	struct kdtl_steal_clock	clock;
	struct kdtl_steal_seen	seen;
	bool			on;
	bool			wanted;
	bool			busy;
	u64			period;
	struct hrtimer		timer;
};

static DEFINE_PER_CPU(struct kdtl_steal_cpu, kdtl_steal_cpus);
static bool kdtl_steal_coarse;
static struct kdtl_pmu kdtl_steal_pmu;

/* ----------------------------------------------------------------- looking */

/* Is the mark a version?  It grows by 2 each time that the hypervisor lets the CPU run. */
static bool kdtl_steal_has_version(const struct kdtl_steal_clock *clock)
{
	return clock->mark != clock->ns;
}

/*
 * Read the steal time, the clock and the cycles of one moment: if the CPU was taken away
 * meanwhile, try again.  Returns false while the hypervisor is writing.
 */
static bool kdtl_steal_read(const struct kdtl_steal_clock *clock, struct kdtl_steal_seen *seen)
{
	do {
		seen->mark = READ_ONCE(*clock->mark);
		if (kdtl_steal_has_version(clock) && seen->mark & 1)
			return false;
		/* The hypervisor runs on this very processor, so a compiler barrier will do. */
		barrier();
		seen->ns = READ_ONCE(*clock->ns);
		seen->time = local_clock();
		seen->mono = ktime_get_mono_fast_ns();
		seen->cycles = get_cycles();
		barrier();
	} while (READ_ONCE(*clock->mark) != seen->mark);
	seen->mono_cycles = seen->cycles;
	return true;
}

/*
 * The time since the look before this one.  Cycles tell which part that is of the time since
 * the clock last changed.  Without a counter of cycles, it is all of that time.
 */
static u64 kdtl_steal_passed(const struct kdtl_steal_seen *was, const struct kdtl_steal_seen *now)
{
	const u64 whole = (cycles_t)(now->cycles - was->mono_cycles);
	const u64 since = (cycles_t)(now->cycles - was->cycles);
	const u64 passed = now->mono - was->mono;

	if (!since || since > whole)
		return passed;
	return mul_u64_u64_div_u64(passed, since, whole);
}

/* @now is the CPU's state already, because whoever gets the entry may look again. */
static void kdtl_steal_hand_out(const struct kdtl_steal_seen *now, u64 passed, u64 stolen,
				u64 how)
{
	struct kdtl_pmu_cpu *here = this_cpu_ptr(kdtl_steal_pmu.cpu);
	struct kdtl_entry e = kdtl_entry_here(KDTL_DISPATCH_TIME_SLICE, now->time, stolen);

	e.preempt_reason = KDTL_PREEMPT_UNUSED;
	e.fault_addr = cpu_to_be64(now->time - passed);
	e.srr0 = cpu_to_be64(now->ns);
	e.srr1 = cpu_to_be64(how);
	/* The entry holds 4.29 s at most, the counts get all of it. */
	kdtl_pmu_count(here, KDTL_KIND_UNKNOWN, stolen, 0, 0);
	kdtl_hand_out(here, 0, &e, KDTL_KIND_UNKNOWN);
}

/* The mark has changed. */
static noinline void kdtl_steal_changed(struct kdtl_steal_cpu *c)
{
	const struct kdtl_steal_seen was = c->seen;
	struct kdtl_steal_seen now;
	u64 stolen, passed, loads, how = 0;

	lockdep_assert_irqs_disabled();
	if (!kdtl_steal_read(&c->clock, &now))
		return;
	c->seen = now;
	stolen = now.ns - was.ns;
	if (!stolen)
		return;
	c->busy = true;
	if ((s64)stolen < 0) {
		/* It is unknown how much was stolen: one lost entry shows that there is a gap. */
		kdtl_pmu_lost(&kdtl_steal_pmu, 1);
	} else {
		passed = kdtl_steal_passed(&was, &now);
		if (kdtl_steal_has_version(&c->clock)) {
			loads = (u32)(now.mark - was.mark) / 2;
			how = loads | (loads == 1 ? 0 : KDTL_STEAL_MERGED);
		}
		if (stolen > passed)
			how |= KDTL_STEAL_CUT;
		kdtl_steal_hand_out(&now, passed, min(stolen, passed), how);
	}
	c->busy = false;
}

/* With interrupts off.  Nearly always, nothing has happened. */
static __always_inline void kdtl_steal_look(struct kdtl_steal_cpu *c)
{
	/* If the CPU is taken away from here on, that belongs to the next look. */
	const u64 cycles = get_cycles();

	barrier();
	if (unlikely(READ_ONCE(*c->clock.mark) != c->seen.mark))
		kdtl_steal_changed(c);
	else
		c->seen.cycles = cycles;
}

static void kdtl_steal_switch(void *data, bool preempt, struct task_struct *prev,
			      struct task_struct *next, unsigned int prev_state)
{
	kdtl_steal_look(this_cpu_ptr(&kdtl_steal_cpus));
}

/* One function for each kind of tracepoint, because their arguments differ. */
static void kdtl_steal_local_timer(void *data, int vector)
{
	kdtl_steal_look(this_cpu_ptr(&kdtl_steal_cpus));
}

/* Soft timers, with PREEMPT_RT most of them, expire with interrupts on. */
static __always_inline void kdtl_steal_look_irqs_off(void)
{
	unsigned long flags;

	local_irq_save(flags);
	kdtl_steal_look(this_cpu_ptr(&kdtl_steal_cpus));
	local_irq_restore(flags);
}

static void kdtl_steal_hrtimer(void *data, struct hrtimer *timer, ktime_t *now)
{
	kdtl_steal_look_irqs_off();
}

static void kdtl_steal_hrtimer_exit(void *data, struct hrtimer *timer)
{
	kdtl_steal_look_irqs_off();
}

/* ------------------------------------------------------- switching on and off */

static enum hrtimer_restart kdtl_steal_timer(struct hrtimer *timer)
{
	struct kdtl_steal_cpu *c = container_of(timer, struct kdtl_steal_cpu, timer);

	kdtl_steal_look(c);
	if (!c->period)
		return HRTIMER_NORESTART;
	hrtimer_forward_now(timer, ns_to_ktime(c->period));
	return HRTIMER_RESTART;
}

static int kdtl_steal_on(struct kdtl_steal_cpu *c)
{
	/* Find the clock each time: the kernel registers it again when a CPU comes online. */
	if (kdtl_steal_coarse)
		kdtl_steal_counted(&c->clock);
	else if (!kdtl_steal_shared(&c->clock))
		return -ENODEV;
	while (!kdtl_steal_read(&c->clock, &c->seen))
		cpu_relax();
	c->on = true;
	return 0;
}

static void kdtl_steal_off(struct kdtl_steal_cpu *c)
{
	c->clock.mark = &c->seen.mark;
	c->on = false;
}

static int kdtl_steal_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	struct kdtl_steal_cpu *c = this_cpu_ptr(&kdtl_steal_cpus);
	int err = 0;

	c->wanted = mask;
	/* The kernel's own tick is enough for longer periods. */
	c->period = mask && period && period < TICK_NSEC ?
		    max_t(u64, period, KDTL_STEAL_MIN_PERIOD) : 0;
	/* What was stolen so far belongs to the events as they were. */
	if (!c->busy)
		kdtl_steal_look(c);
	/* The look may have called this function again, so the arguments may be out of date. */
	if (c->wanted && !c->on)
		err = kdtl_steal_on(c);
	else if (!c->wanted && c->on)
		kdtl_steal_off(c);
	if (err)
		c->period = 0;
	/* This fails only in kdtl_steal_timer(), which itself restarts the timer, or does not. */
	if (hrtimer_try_to_cancel(&c->timer) >= 0 && c->period)
		hrtimer_start(&c->timer, ns_to_ktime(c->period), HRTIMER_MODE_REL_PINNED_HARD);
	return err;
}

static u64 kdtl_steal_sync(struct kdtl_pmu *p)
{
	struct kdtl_steal_cpu *c = this_cpu_ptr(&kdtl_steal_cpus);
	const u64 now = local_clock();

	/* A BPF program that an entry's tracepoint runs may read an event. */
	if (c->busy)
		return c->seen.time;
	kdtl_steal_look(c);
	return now;
}

/* The tracepoints by which the kernel's timers tell that time has passed. */
static const struct kdtl_probe kdtl_steal_timers[] = {
	{ "local_timer_entry", kdtl_steal_local_timer },
	{ "hrtimer_expire_entry", kdtl_steal_hrtimer },
	{ "hrtimer_expire_exit", kdtl_steal_hrtimer_exit },
};

/* kdtl_steal_choose_timer() makes one of these the second one. */
static struct kdtl_probe kdtl_steal_probes[2] = { { "sched_switch", kdtl_steal_switch } };

static int kdtl_steal_attach(struct kdtl_pmu *pmu)
{
	return kdtl_probes_register(kdtl_steal_probes, ARRAY_SIZE(kdtl_steal_probes));
}

static void kdtl_steal_detach(struct kdtl_pmu *pmu)
{
	kdtl_probes_unregister(kdtl_steal_probes, ARRAY_SIZE(kdtl_steal_probes));
}

static struct kdtl_pmu kdtl_steal_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_steal",
	.rating		= 50,
	.tb_freq	= NSEC_PER_SEC,
	.stolen		= true,
	.attach		= kdtl_steal_attach,
	.detach		= kdtl_steal_detach,
	.source		= kdtl_steal_source,
	.sync		= kdtl_steal_sync,
};

/* -------------------------------------------------------------------- module */

static void __init kdtl_steal_choose_timer(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kdtl_steal_timers); i++) {
		if (!strcmp(kdtl_steal_timers[i].name, name))
			kdtl_steal_probes[1] = kdtl_steal_timers[i];
	}
}

static int __init kdtl_steal_choose(void)
{
	struct kdtl_steal_clock clock;
	unsigned long flags;

	local_irq_save(flags);
	kdtl_steal_coarse = !kdtl_steal_shared(&clock);
	local_irq_restore(flags);
	if (!kdtl_steal_coarse)
		return 0;
	if (!kdtl_steal_ever_counted()) {
		pr_info("no steal clock: no hypervisor tells how long it kept a CPU\n");
		return -ENODEV;
	}
	pr_info("no steal clock that can be read at any time: the kernel's own count is used, which is coarse\n");
	return 0;
}

static int __init kdtl_steal_init(void)
{
	struct kdtl_steal_cpu *c;
	int cpu, err;

	kdtl_steal_map();
	err = kdtl_steal_choose();
	if (err)
		goto unmap;
	/* The kernel's count changes between hrtimer_expire_entry and hrtimer_expire_exit. */
	kdtl_steal_choose_timer(kdtl_steal_coarse ? "hrtimer_expire_exit" : KDTL_STEAL_TIMER);
	err = kdtl_probes_find(kdtl_steal_probes, ARRAY_SIZE(kdtl_steal_probes));
	if (err)
		goto unmap;
	for_each_possible_cpu(cpu) {
		c = per_cpu_ptr(&kdtl_steal_cpus, cpu);
		kdtl_steal_off(c);
		hrtimer_setup(&c->timer, kdtl_steal_timer, CLOCK_MONOTONIC,
			      HRTIMER_MODE_REL_PINNED_HARD);
	}
	err = kdtl_pmu_register(&kdtl_steal_pmu);
	if (!err)
		return 0;
unmap:
	kdtl_steal_unmap();
	return err;
}

static void __exit kdtl_steal_exit(void)
{
	kdtl_pmu_unregister(&kdtl_steal_pmu);
	kdtl_steal_unmap();
}

module_init(kdtl_steal_init);
module_exit(kdtl_steal_exit);

MODULE_DESCRIPTION("Dispatch trace log entries from a hypervisor's steal clock");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kdtl-pmu-kdtl_steal");
MODULE_IMPORT_NS(KDTL_NS);
