// SPDX-License-Identifier: GPL-2.0
/* Checks that several verbs make. */
#define pr_fmt(fmt) "kdtl: " fmt

#include "../core/fanout.h"
#include "request.h"

/* Check that a session has entries, for @verb.  Returns 0, or -EOPNOTSUPP and logs why. */
int kdtl_entries_check(const struct kdtl_session *s, const char *verb)
{
	if (s->ops->entries)
		return 0;
	pr_warn_ratelimited("%s: %s: a session with KDTL_SESSION_RAW has bytes of %s, no entries\n",
			    s->owner, verb, s->pmu->name);
	return -EOPNOTSUPP;
}

/**
 * kdtl_cpu_refuse() - say why kdtl_session_has_cpu() is false
 * @s: the session, NULL or ERR_PTR
 * @cpu: the number that is not one of its CPUs
 * @verb: name of the verb that was called
 * @caller: address in the function that called it
 *
 * Context: any.
 * Return: -EINVAL.
 */
noinline int kdtl_cpu_refuse(const struct kdtl_session *s, int cpu, const char *verb,
			     unsigned long caller)
{
	if (IS_ERR_OR_NULL(s))
		return kdtl_session_refuse(s, verb, caller);
	pr_warn_ratelimited("%s: CPU %d is not one of the session's %*pbl\n",
			    s->owner, cpu, cpumask_pr_args(s->cpus));
	return -EINVAL;
}

/**
 * kdtl_session_mask_check() - does the source have the kinds that a mask asks for?
 * @s: the session
 * @mask: KDTL_MASK_*; 0: KDTL_MASK_ALL
 * @min_wait: see struct kdtl_config
 *
 * Context: any.
 * Return: 0; -EOPNOTSUPP: it has not; -EINVAL: its entries have no waits for @min_wait.  A line
 * in the log says so.
 */
int kdtl_session_mask_check(struct kdtl_session *s, u32 mask, u64 min_wait)
{
	if (!kdtl_pmu_has(s->pmu, mask ?: KDTL_MASK_ALL)) {
		if (kdtl_pmu_tells_wakes(s->pmu))
			pr_warn_ratelimited("%s: mask=%#x: %s's entries are no dispatches; a client that knows them asks for %#x\n",
					    s->owner, mask, s->pmu->name, KDTL_MASK_WAKE);
		else
			pr_warn_ratelimited("%s: mask=%#x: %s distinguishes only %#x\n", s->owner,
					    mask, s->pmu->name, kdtl_pmu_mask(s->pmu));
		return -EOPNOTSUPP;
	}
	if (min_wait && kdtl_pmu_tells_wakes(s->pmu)) {
		pr_warn_ratelimited("%s: min_wait=%llu: %s's entries have no waits\n", s->owner,
				    min_wait, s->pmu->name);
		return -EINVAL;
	}
	return 0;
}
