// SPDX-License-Identifier: GPL-2.0
/*
 * The fan-out of a source: which events of a CPU get its entries
 *
 * Each active event has a sink in its CPU's list.  The source of a CPU follows
 * that list: it delivers what the sinks want between them, and it is off while
 * the list is empty.
 */
#include <linux/error-injection.h>

#include "fanout.h"

/**
 * kdtl_fanout_update() - tell the source what this CPU's sinks want
 * @p: the source
 *
 * To be called when the mask or the period of a linked sink has changed.
 *
 * Context: on the CPU, interrupts off.
 * Return: 0, or the driver's error.  A driver may only refuse more than it
 * delivers already.
 */
int kdtl_fanout_update(struct kdtl_pmu *p)
{
	struct kdtl_pmu_cpu *c = this_cpu_ptr(p->cpu);
	struct kdtl_sink **at, *sink;
	u64 period = 0;
	u32 mask = 0;
	int err = 0;

	kdtl_for_each_sink(sink, at, c) {
		if (sink == c->leaving)
			continue;
		mask |= kdtl_sink_mask(sink);
		if (sink->period && (!period || sink->period < period))
			period = sink->period;
	}
	if (p->source)
		err = p->source(p, mask & kdtl_pmu_mask(p), period);
	if (!err)
		c->mask = mask;
	return err;
}

/* Take out the sink at @at: those after it in the array move up. */
static void kdtl_sinks_remove(struct kdtl_pmu_cpu *c, struct kdtl_sink **at)
{
	struct kdtl_sink **const last = &c->sinks[KDTL_NEAR_SINKS - 1];

	if (at < c->sinks || at > last) {
		*at = (*at)->next;
	} else {
		memmove(at, at + 1, (last - at) * sizeof(*at));
		*last = c->far;
		if (c->far)
			c->far = c->far->next;
	}
	c->crowded = c->far;
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
	struct kdtl_sink **at = c->sinks;

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
	while (*at != sink)
		at = kdtl_sinks_next(c, at);
	kdtl_sinks_remove(c, at);
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
	struct kdtl_sink **at, *last;
	int err;

	lockdep_assert_irqs_disabled();
	if (sink->linked)
		return 0;
	/* What a polled source has so far belongs to the other sinks only. */
	if (c->sinks[0])
		kdtl_fanout_update(p);
	sink->ops->link(sink);
	kdtl_for_each_sink(last, at, c)
		;
	sink->next = NULL;
	*at = sink;
	c->crowded = c->far;
	err = kdtl_fanout_update(p);
	if (err) {
		*at = NULL;
		c->crowded = c->far;
		sink->ops->unlink(sink);
		return err;
	}
	sink->linked = true;
	return 0;
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
