// SPDX-License-Identifier: GPL-2.0
/*
 * The fan-out of a source: which events of a CPU get its entries
 *
 * Each active event has a sink on its CPU, at one of the places in kdtl_pmu_cpu::sinks
 * or, if all are taken, in the list kdtl_pmu_cpu::far.  The source of a CPU follows the
 * sinks: it delivers what they want between them, and it is off while there are none.
 */
#include <linux/error-injection.h>

#include "fanout.h"

/**
 * kdtl_sink_init() - give a new sink its ring
 * @sink: the sink
 * @c: the source's state on the sink's CPU; NULL: the sink will not be linked
 *
 * There are few places in kdtl_pmu_cpu::near, so a sink may have to do without one: its
 * entries then cost more.
 *
 * Context: any.
 */
void kdtl_sink_init(struct kdtl_sink *sink, struct kdtl_pmu_cpu *c)
{
	unsigned int place;

	sink->at = &sink->own;
	for (place = 0; c && place < KDTL_NEAR_SINKS; place++) {
		/* The CPU's last user of the place is done with it, see kdtl_sink_exit(). */
		if (test_and_set_bit_lock(place, &c->taken))
			continue;
		sink->near = c;
		sink->at = &c->near[place];
		return;
	}
}

/**
 * kdtl_sink_exit() - undo kdtl_sink_init()
 * @sink: the sink, which is not linked; nobody reads its head any more
 *
 * Context: any.
 */
void kdtl_sink_exit(struct kdtl_sink *sink)
{
	if (!sink->near)
		return;
	*sink->at = (struct kdtl_ring){};
	clear_bit_unlock(kdtl_sink_place(sink), &sink->near->taken);
}

/* Have entries of @kinds, and no others, written at the sink's place. */
static void kdtl_sink_want(struct kdtl_sink *sink, u32 kinds)
{
	struct kdtl_pmu_cpu *c = sink->near;
	const u16 bit = BIT(kdtl_sink_place(sink));
	unsigned int kind;

	for (kind = 0; kind < KDTL_NR_KINDS; kind++) {
		if (kinds >> kind & 1)
			c->wanted[kind] |= bit;
		else
			c->wanted[kind] &= ~bit;
	}
}

/**
 * kdtl_sink_set_mask() - choose the kinds that a sink wants
 * @sink: the sink
 * @mask: KDTL_MASK_*.  An entry of unknown kind might be any of them, so a sink that wants
 *	any kind wants it
 *
 * If the sink is linked, kdtl_fanout_update() is to be called afterwards.
 *
 * Context: on the CPU with interrupts off, if the sink is linked; otherwise any.
 */
void kdtl_sink_set_mask(struct kdtl_sink *sink, u32 mask)
{
	sink->kinds = mask ? mask | BIT(KDTL_KIND_UNKNOWN) : 0;
	/* If this runs on another CPU, other bits may change meanwhile, but not this one. */
	if (sink->near && data_race(sink->near->linked) & BIT(kdtl_sink_place(sink)))
		kdtl_sink_want(sink, sink->kinds);
}

/**
 * kdtl_fanout_update() - tell the source what this CPU's sinks want
 * @p: the source
 *
 * To be called when the mask or the period of a linked sink has changed.
 *
 * Context: on the CPU, interrupts off.
 * Return: 0, or the driver's error; -EINVAL if the driver returned a positive number.  A
 * driver may refuse only to deliver more than it does already.
 */
int kdtl_fanout_update(struct kdtl_pmu *p)
{
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);
	struct kdtl_sink *sink;
	u64 period = 0;
	u32 mask = 0;
	int err = 0;

	kdtl_for_each_sink(sink, c) {
		if (sink == c->leaving)
			continue;
		mask |= sink->kinds & KDTL_MASK_KNOWN;
		if (sink->period && (!period || sink->period < period))
			period = sink->period;
	}
	if (p->source)
		err = p->source(p, mask & kdtl_pmu_mask(p), period);
	/* The scheduler may have called this, so nothing can be logged here. */
	if (err > 0)
		err = -EINVAL;
	if (!err)
		c->mask = mask;
	return err;
}

static void kdtl_sinks_add(struct kdtl_pmu_cpu *c, struct kdtl_sink *sink)
{
	if (sink->near) {
		c->sinks[kdtl_sink_place(sink)] = sink;
		c->linked |= BIT(kdtl_sink_place(sink));
		kdtl_sink_want(sink, sink->kinds);
	} else {
		sink->next = c->far;
		c->far = sink;
	}
}

static void kdtl_sinks_remove(struct kdtl_pmu_cpu *c, struct kdtl_sink *sink)
{
	struct kdtl_sink **at = &c->far;

	if (sink->near) {
		kdtl_sink_want(sink, 0);
		c->linked &= ~BIT(kdtl_sink_place(sink));
		return;
	}
	while (*at != sink)
		at = &(*at)->next;
	*at = sink->next;
}

/**
 * kdtl_fanout_unlink() - take a sink out of its CPU's fan-out
 * @p: the source
 * @sink: nothing happens if it is not linked
 * @defer: do not switch the source down yet: perf is about to delete or add
 *	further events, or to add this one again, and then calls pmu_enable()
 *
 * Context: on the CPU, interrupts off.
 */
void kdtl_fanout_unlink(struct kdtl_pmu *p, struct kdtl_sink *sink, bool defer)
{
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);

	lockdep_assert_irqs_disabled();
	if (!sink->linked)
		return;
	/*
	 * Update while the sink is still linked: a polled source hands out what it
	 * has, and those entries belong to this sink too.
	 */
	c->leaving = defer ? NULL : sink;
	c->stale |= defer;
	kdtl_fanout_update(p);
	kdtl_sinks_remove(c, sink);
	c->leaving = NULL;
	sink->ops->unlink(sink);
	sink->linked = false;
}

/**
 * kdtl_fanout_link() - put a sink into its CPU's fan-out
 * @p: the source
 * @sink: nothing happens if it is linked already
 *
 * Context: on the CPU, interrupts off.
 * Return: 0, or the driver's error, and then the sink is not linked.
 */
noinline int kdtl_fanout_link(struct kdtl_pmu *p, struct kdtl_sink *sink)
{
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);
	int err;

	lockdep_assert_irqs_disabled();
	if (sink->linked)
		return 0;
	/* What a polled source has so far belongs to the other sinks only. */
	if (kdtl_sinks_from(c, 0))
		kdtl_fanout_update(p);
	sink->ops->link(sink);
	kdtl_sinks_add(c, sink);
	/*
	 * A polled source may hand out more now, which may make the sink want something else.
	 * Only a linked sink then updates the source again, and starts timers.
	 */
	sink->linked = true;
	err = kdtl_fanout_update(p);
	if (err) {
		kdtl_sinks_remove(c, sink);
		sink->ops->unlink(sink);
		sink->linked = false;
	}
	return err;
}
ALLOW_ERROR_INJECTION(kdtl_fanout_link, ERRNO);

/**
 * kdtl_fanout_settle() - make up for updates that kdtl_fanout_unlink() deferred
 * @p: the source
 *
 * Context: on the CPU, interrupts off.
 */
void kdtl_fanout_settle(struct kdtl_pmu *p)
{
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);

	if (!c->stale)
		return;
	c->stale = false;
	/* The source delivers no more than before, so a driver cannot refuse. */
	WARN_ON_ONCE(kdtl_fanout_update(p));
}
