// SPDX-License-Identifier: GPL-2.0
/*
 * Make entries at any rate on every online CPU, and check what a reader got of them
 *
 * A timer on each CPU makes a burst of entries of the test source, of all kinds
 * in a pattern that does not repeat soon.  Two fields of an entry carry its
 * number among the entries of its kind and CPU, and must agree.  By the numbers
 * a reader sees which entries are missing, whatever its mask.
 */
#include <linux/cpuhotplug.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/percpu.h>

#include "../../core/compat.h"
#include "load.h"

/**
 * struct kdtl_load_cpu - a CPU's production
 * @timer: makes a burst
 * @made: entries made since the module was loaded, by kind
 * @random: decides the next one's kind
 * @stall: bursts to delay
 * @late: bursts that were delayed
 *
 * Only its own CPU uses it, with interrupts off; others may set @stall and read @made.
 */
struct kdtl_load_cpu {
	struct hrtimer	timer;
	u64		made[KDTL_NR_KINDS];
	u32		random;
	unsigned int	stall;
	unsigned int	late;
};

static DEFINE_PER_CPU(struct kdtl_load_cpu, kdtl_load_here);
static ktime_t kdtl_load_period;
static unsigned int kdtl_load_burst;
static int kdtl_load_state = -1;

static void kdtl_load_make(struct kdtl_load_cpu *c)
{
	enum kdtl_kind kind;
	unsigned int i;
	u32 n;

	for (i = 0; i < kdtl_load_burst; i++) {
		c->random = c->random * 1664525 + 1013904223;
		kind = (u64)c->random * KDTL_NR_KINDS >> 32;
		n = c->made[kind];
		WRITE_ONCE(c->made[kind], c->made[kind] + 1);
		kdtl_fake_emit_here(kind, n, kind, ~n);
	}
}

static enum hrtimer_restart kdtl_load_tick(struct hrtimer *timer)
{
	struct kdtl_load_cpu *c = this_cpu_ptr(&kdtl_load_here);
	unsigned int stall = READ_ONCE(c->stall);

	c->late++;
	if (stall) {
		WRITE_ONCE(c->stall, stall - 1);
	} else {
		for (; c->late; c->late--)
			kdtl_load_make(c);
	}
	hrtimer_forward_now(timer, kdtl_load_period);
	return HRTIMER_RESTART;
}

static int kdtl_load_online(unsigned int cpu)
{
	struct kdtl_load_cpu *c = this_cpu_ptr(&kdtl_load_here);

	hrtimer_setup(&c->timer, kdtl_load_tick, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	hrtimer_start(&c->timer, kdtl_load_period, HRTIMER_MODE_REL_PINNED_HARD);
	return 0;
}

static int kdtl_load_offline(unsigned int cpu)
{
	hrtimer_cancel(&this_cpu_ptr(&kdtl_load_here)->timer);
	return 0;
}

/**
 * kdtl_fake_load_start() - begin to make entries
 * @period: ns between bursts
 * @burst: entries of a burst
 *
 * All CPUs that are online make entries, and those that come online later.
 * kdtl's sessions start on such a CPU before its first entry, and stop after its
 * last.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY: entries are being made already; or another errno.
 */
int kdtl_fake_load_start(u64 period, unsigned int burst)
{
	int ret;

	if (kdtl_load_state >= 0)
		return -EBUSY;
	kdtl_load_period = ns_to_ktime(period);
	kdtl_load_burst = burst;
	ret = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "kdtl_fake:load",
				kdtl_load_online, kdtl_load_offline);
	if (ret < 0)
		return ret;
	kdtl_load_state = ret;
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_load_start, KDTL_NS);

/**
 * kdtl_fake_load_stop() - stop making entries, and wait until no CPU does
 *
 * Context: may sleep.
 */
void kdtl_fake_load_stop(void)
{
	if (kdtl_load_state < 0)
		return;
	cpuhp_remove_state(kdtl_load_state);
	kdtl_load_state = -1;
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_load_stop, KDTL_NS);

/**
 * kdtl_fake_load_stall() - delay a CPU's next bursts, then make them at once
 * @cpu: which CPU
 * @bursts: how many of them
 *
 * Context: any.
 */
void kdtl_fake_load_stall(int cpu, unsigned int bursts)
{
	WRITE_ONCE(per_cpu(kdtl_load_here, cpu).stall, bursts);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_load_stall, KDTL_NS);

/**
 * kdtl_fake_load_made() - how many entries were made
 * @cpu: where
 * @kind: of which kind
 *
 * Context: any.
 * Return: since the module was loaded.
 */
u64 kdtl_fake_load_made(int cpu, enum kdtl_kind kind)
{
	return READ_ONCE(per_cpu(kdtl_load_here, cpu).made[kind]);
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_load_made, KDTL_NS);

/* Whether the mask wants the kind, decided independently of the core. */
static bool kdtl_load_wanted(u32 mask, enum kdtl_kind kind)
{
	return kind == KDTL_KIND_UNKNOWN || mask & BIT(kind);
}

/**
 * kdtl_fake_load_made_for() - how many entries were made that a mask wants
 * @cpu: where
 * @mask: KDTL_MASK_*
 *
 * Context: any.
 * Return: since the module was loaded.
 */
u64 kdtl_fake_load_made_for(int cpu, u32 mask)
{
	enum kdtl_kind kind;
	u64 sum = 0;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++)
		sum += kdtl_load_wanted(mask, kind) ? kdtl_fake_load_made(cpu, kind) : 0;
	return sum;
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_load_made_for, KDTL_NS);

/**
 * kdtl_fake_see() - check entries
 * @seen: zeroed before the first one
 * @cpu: whose they are
 * @mask: what the reader asked for
 * @span: from kdtl_aux_peek() or kdtl_aux_snapshot()
 * @len: its length
 *
 * Context: any.
 */
void kdtl_fake_see(struct kdtl_fake_seen *seen, int cpu, u32 mask,
		   const void *span, size_t len)
{
	const struct kdtl_entry *e;
	enum kdtl_kind kind;
	u64 seq;
	u32 n;

	kdtl_for_each_entry(e, span, len) {
		seq = kdtl_fake_entry_seq(e);
		n = kdtl_entry_queued(e);
		kind = kdtl_entry_ready(e);
		if (!seq || seq <= seen->last || kind >= KDTL_NR_KINDS ||
		    kdtl_entry_slept(e) != ~n || kdtl_entry_cpu(e) != cpu ||
		    !kdtl_load_wanted(mask, kind)) {
			seen->wrong++;
			continue;
		}
		if (seen->seen[kind])
			seen->holes += n - seen->next[kind];
		seen->next[kind] = n + 1;
		seen->seen[kind]++;
		seen->last = seq;
	}
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_see, KDTL_NS);

/**
 * kdtl_fake_seen_all() - how many entries were seen
 * @seen: what the reader has seen
 *
 * Context: any.
 * Return: the sum of all kinds.
 */
u64 kdtl_fake_seen_all(const struct kdtl_fake_seen *seen)
{
	enum kdtl_kind kind;
	u64 sum = 0;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++)
		sum += seen->seen[kind];
	return sum;
}
EXPORT_SYMBOL_NS_GPL(kdtl_fake_seen_all, KDTL_NS);
