// SPDX-License-Identifier: GPL-2.0
/* For PMU drivers: register a source, and hand out its entries. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/string.h>

#include "../core/event.h"
#include "../core/fanout.h"
#include "../core/source.h"
#include "session.h"

/* With only some of these, an event could join the fan-out and never leave it. */
static bool kdtl_pmu_mixes(const struct pmu *pmu)
{
	const bool own = pmu->add;

	return !pmu->del == own || !pmu->start == own || !pmu->stop == own;
}

/* The reason why a source cannot be registered, or NULL. */
static const char *kdtl_pmu_invalid(const struct kdtl_pmu *p)
{
	if (!kdtl_source_name_valid(p->name))
		return "needs a name: a letter, then letters, digits, _ and -";
	if (strlen(p->name) >= KDTL_SOURCE_LEN)
		return "needs a name of fewer than 32 characters";
#ifdef MODULE
	/* Drivers may be built in only if kdtl is, and then THIS_MODULE is NULL. */
	if (!p->pmu.module)
		return "needs a pmu.module";
#endif
	if (!p->tb_freq || p->tb_freq > U32_MAX)
		return "needs a tb_freq from 1 to 2^32 - 1";
	if (p->tasks && p->stolen)
		return "names tasks, so its waits are not a hypervisor's";
	if (p->interrupts && (p->tasks || p->stolen))
		return "tells of interrupts, so its waits are no task's, nor a hypervisor's";
	if ((p->tasks || p->interrupts) && p->tb_freq != NSEC_PER_SEC)
		return "names tasks or interrupts, so its time base must be local_clock(), in ns";
	if (p->waits && !(p->tasks && p->sync))
		return "has waits(), which needs tasks and sync()";
	if (p->mask & ~KDTL_MASK_KNOWN)
		return "has unknown bits in mask";
	if (p->mask & KDTL_MASK_WAKE &&
	    (p->mask != KDTL_MASK_WAKE || p->tasks || p->stolen || p->interrupts))
		return "has KDTL_MASK_WAKE in mask: its entries are no dispatches, so nothing else fits";
	if (!p->pmu.setup_aux != !p->pmu.free_aux)
		return "needs both setup_aux and free_aux, or neither";
	if (kdtl_pmu_mixes(&p->pmu))
		return "needs all of add, del, start and stop, or none";
	/* kdtl's own add() switches the source on and off. */
	if ((p->pmu.pmu_enable || p->pmu.pmu_disable) && !p->pmu.add)
		return "needs its own add, too, if it has pmu_enable or pmu_disable";
	if (p->of && !*p->of)
		return "has an empty name in of";
	if (p->pmu.capabilities & PERF_PMU_CAP_EXCLUSIVE)
		return "must not be PERF_PMU_CAP_EXCLUSIVE: that is one event a CPU";
	return NULL;
}

/**
 * kdtl_pmu_register() - register a source with perf and with kdtl
 * @p: the source.  The driver sets name, tb_freq, pmu.module and the callbacks
 *	that it provides itself, and zeroes the rest; @p must stay until
 *	kdtl_pmu_unregister() returns
 *
 * The PMU is system-wide, with one event per CPU for each user.  Several events
 * may be active on a CPU at once, each with its own mask, so the PMU must not
 * be PERF_PMU_CAP_EXCLUSIVE.  pmu.module must be the driver's THIS_MODULE,
 * because a mapping can outlive every event, and then calls free_aux().  When that
 * module goes and has forgotten to unregister the source, kdtl does it, with a line in
 * the log.  The module's init may still fail, so until it has ended only that module's own
 * sessions find the source, and perf opens no events on it (-ENODEV).
 *
 * Context: task, may sleep.
 * Return:
 * * 0
 * * -EINVAL: @p is NULL, something of the above is missing, the name has 32 characters or
 *   more, two of tasks, stolen and interrupts are set, KDTL_MASK_WAKE is not alone, or there
 *   are callbacks without those that belong to them (a line in the log says what)
 * * -EEXIST: another source has @p->name or @p->of as its name or of; if another
 *   subsystem's PMU has the name, the kernel also prints a call trace
 * * -ENOMEM, or the error of perf_pmu_register()
 */
int kdtl_pmu_register(struct kdtl_pmu *p)
{
	const char *invalid, *name;

	might_sleep();
	invalid = p ? kdtl_pmu_invalid(p) : "is NULL";
	if (invalid) {
		name = p && p->name ? p->name : "";
		pr_warn("PMU \"%*pE\": %s\n", (int)strnlen(name, KDTL_SOURCE_LEN), name, invalid);
		return -EINVAL;
	}
	kdtl_event_callbacks(&p->pmu);
	return kdtl_source_add(p);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_register, KDTL_NS);

/**
 * kdtl_pmu_unregister() - undo kdtl_pmu_register(), which may be called again then
 * @p: the source; may be NULL.  It has no users when its module goes, because each user
 *	holds the module
 *
 * If @p is not registered, or has users, nothing happens but a line in the log.
 *
 * Context: task, may sleep.
 */
void kdtl_pmu_unregister(struct kdtl_pmu *p)
{
	int users;

	might_sleep();
	if (!p)
		return;
	kdtl_rcu_await(module_name(p->pmu.module));
	users = kdtl_source_del(p);
	if (users < 0)
		pr_warn("%ps: unregister: this PMU is not registered\n", (void *)_RET_IP_);
	else if (users)
		pr_warn("%ps: unregister: PMU %s has %d users, so it stays registered\n",
			(void *)_RET_IP_, p->name, users);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_unregister, KDTL_NS);

/**
 * kdtl_pmu_unregister_left() - unregister what a module has left registered
 * @module: the module, which goes
 *
 * Context: task, may sleep.
 */
void kdtl_pmu_unregister_left(struct module *module)
{
	struct kdtl_pmu *p;

	while ((p = kdtl_source_of(module))) {
		pr_warn("module %s leaves the PMU %s registered: kdtl unregisters it\n",
			module_name(module), p->name);
		if (WARN_ON_ONCE(kdtl_source_del(p)))
			return;
	}
}

/* Out of line, so that entries of known kinds do not pay for it. */
static noinline void kdtl_fan_out_unknown(struct kdtl_pmu_cpu *c, const struct kdtl_entry *e)
{
	kdtl_fan_out(c, e, KDTL_KIND_UNKNOWN);
}

/**
 * kdtl_pmu_output() - hand an entry to every event that asked for its kind
 * @p: the source
 * @e: the entry
 * @kind: its kind; any other number counts as KDTL_KIND_UNKNOWN
 *
 * Writes to every active event of this CPU whose mask has the kind.  Never
 * sleeps, and leaves wake-ups to an irq_work.  Does nothing if the source is not
 * registered, or if @p or @e is NULL.
 *
 * Context: interrupts off, also under the runqueue lock; not NMI.
 */
void kdtl_pmu_output(struct kdtl_pmu *p, const struct kdtl_entry *e,
		     enum kdtl_kind kind)
{
	lockdep_assert_irqs_disabled();
	if (unlikely(!p || !p->cpu || !e))
		return;
	/* The kind is an index.  The scheduler may be the caller, so nothing can be logged. */
	if (unlikely((unsigned int)kind >= KDTL_NR_KINDS))
		kdtl_fan_out_unknown(this_cpu_ptr(p->cpu), e);
	else
		kdtl_fan_out(this_cpu_ptr(p->cpu), e, kind);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_output, KDTL_NS);

/**
 * kdtl_pmu_lost() - the source itself has lost entries
 * @p: the source
 * @nr: number of entries; with 0 nothing happens.  An area counts up to 2^63 - 1 of them
 *
 * Their kinds are not known, so every active event of this CPU counts them as
 * lost.
 *
 * Context: as kdtl_pmu_output().
 */
void kdtl_pmu_lost(struct kdtl_pmu *p, u64 nr)
{
	struct kdtl_pmu_cpu *c;
	struct kdtl_sink *sink;

	lockdep_assert_irqs_disabled();
	if (!nr || !p || !p->cpu)
		return;
	c = this_cpu_ptr(p->cpu);
	kdtl_for_each_sink(sink, c) {
		if (sink->kinds)
			sink->ops->lost(sink, nr);
	}
}
EXPORT_SYMBOL_NS_GPL(kdtl_pmu_lost, KDTL_NS);
