// SPDX-License-Identifier: GPL-2.0
/* Registering a source, and feeding it, for PMU drivers. */
#include <linux/export.h>
#include <linux/module.h>

#include "../core/compat.h"
#include "../core/pmu.h"

/**
 * kdtl_pmu_register() - register a source with perf and with kdtl
 * @p: name, tb_freq, pmu.module and what the driver wants to do itself are
 *	set, the rest is zero; must stay until kdtl_pmu_unregister() returns
 *
 * The PMU is system-wide: one event per CPU. Several events may be active on
 * a CPU at once, each with its own mask, so it must not be
 * PERF_PMU_CAP_EXCLUSIVE.  pmu.module must be the driver's THIS_MODULE: a
 * mapping can outlive every event, and calls free_aux then.
 *
 * Context: task, may sleep.
 * Return:
 * * 0
 * * -EINVAL: something of the above is missing (a line in the log says what)
 * * -EEXIST: the name is taken; if it is by a PMU that is not kdtl's, the kernel
 *   prints a call trace as well
 * * -ENOMEM, or what perf_pmu_register() says
 */
int kdtl_pmu_register(struct kdtl_pmu *p)
{
	return kdtl_pmu_add(p);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_register, KDTL_NS);

/**
 * kdtl_pmu_unregister() - undo kdtl_pmu_register()
 * @p: the source; sessions and events on it hold its module, so there are none
 *
 * Context: task, may sleep.
 */
void kdtl_pmu_unregister(struct kdtl_pmu *p)
{
	kdtl_pmu_del(p);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_unregister, KDTL_NS);

/**
 * kdtl_pmu_output() - hand an entry to everyone who asked for its kind
 * @p: the source
 * @e: the entry
 * @kind: what it is about
 *
 * Writes to every active event of this CPU whose mask fits.  Never sleeps and
 * never wakes anyone directly.
 *
 * Context: interrupts off, also under the runqueue lock; not NMI.
 */
void kdtl_pmu_output(struct kdtl_pmu *p, const struct kdtl_entry *e,
		     enum kdtl_kind kind)
{
	kdtl_fan_out(kdtl_pmu_sinks(p), e, kind);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_output, KDTL_NS);

/**
 * kdtl_pmu_lost() - the source itself has lost entries
 * @p: the source
 * @nr: how many; 0: nothing happens
 *
 * Nobody knows of what kind they were: every active event of this CPU counts
 * them as lost.
 *
 * Context: as kdtl_pmu_output().
 */
void kdtl_pmu_lost(struct kdtl_pmu *p, u64 nr)
{
	struct kdtl_sink *sink;

	if (!nr)
		return;
	for (sink = kdtl_pmu_sinks(p); sink; sink = sink->next) {
		if (sink->wants[KDTL_KIND_UNKNOWN])
			sink->ops->lost(sink, nr);
	}
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_lost, KDTL_NS);
