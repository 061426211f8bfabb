// SPDX-License-Identifier: GPL-2.0
/* The configuration of event sets, and their counters. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/cpu.h>
#include <linux/export.h>
#include <linux/kdtl_counters.h>

#include "../../core/counters/counter.h"
#include "../../core/counting.h"
#include "vector.h"

static int kdtl_config_check(struct kdtl_session *s, void *element)
{
	struct kdtl_config *req = element;
	int err = kdtl_set_id_check(s, req->set);

	if (err)
		return err;
	if (req->mask & ~KDTL_MASK_KNOWN) {
		pr_warn("%s: mask=%#x: unknown bits, allowed are %#x\n",
			s->owner, req->mask, KDTL_MASK_KNOWN);
		return -EINVAL;
	}
	if (req->min_wait && !s->layout.nr_pages) {
		pr_warn("%s: min_wait=%llu: a session with KDTL_SESSION_NO_AUX only counts\n",
			s->owner, req->min_wait);
		return -EINVAL;
	}
	return kdtl_session_mask_check(s, req->mask, req->min_wait);
}

static void kdtl_config_apply(struct kdtl_session *s, void *element)
{
	struct kdtl_config *req = element;

	kdtl_log_config(&kdtl_session_set(s, req->set)->log, req->mask, req->period,
			req->min_wait);
}

static const struct kdtl_vector_verb kdtl_config_write_verb = {
	.when		= KDTL_VECTOR_NOT_STARTED,
	.check		= kdtl_config_check,
	.apply		= kdtl_config_apply,
};

/**
 * kdtl_write_config() - configure what event sets log
 * @s: the session
 * @req: vector of requests
 * @nr: number of requests, at most KDTL_MAX_REQUESTS
 *
 * All or nothing: if an element is bad, the first such one has its error set and
 * nothing changes.
 *
 * perfmon2: pfmk_write_pmcs().
 *
 * Context: task, may sleep.
 * Return:
 * * 0, also if @nr is 0
 * * -EBUSY: the session is started or paused, whatever @nr is
 * * -EINVAL: unknown set or mask bits, or a min_wait in a session that only counts, or of a
 *   source whose entries have no waits (a line in the log says which), or @req is NULL
 * * -EOPNOTSUPP: the source distinguishes none of the mask's kinds, or the session is raw
 * * -E2BIG: @nr is above KDTL_MAX_REQUESTS
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_write_config(struct kdtl_session *s, struct kdtl_config *req,
		      unsigned int nr)
{
	return kdtl_vector_call(s, &KDTL_VECTOR(req, nr), &kdtl_config_write_verb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_write_config, KDTL_NS);

#define KDTL_ALL_COUNTERS	((1U << KDTL_NR_COUNTERS) - 1)
#define KDTL_COUNTER_FLAGS	(KDTL_COUNTER_NOTIFY | KDTL_COUNTER_RANDOM)

static int kdtl_counter_check(struct kdtl_session *s, void *element)
{
	struct kdtl_counter_req *req = element;
	int err = kdtl_set_id_check(s, req->set);

	if (err)
		return err;
	if (req->counter >= KDTL_NR_COUNTERS) {
		pr_warn("%s: no counter %u, there are %u\n", s->owner,
			req->counter, KDTL_NR_COUNTERS);
		return -EINVAL;
	}
	return 0;
}

static int kdtl_counter_write_check(struct kdtl_session *s, void *element)
{
	struct kdtl_counter_req *req = element;

	if (req->flags & ~KDTL_COUNTER_FLAGS || req->resets & ~KDTL_ALL_COUNTERS) {
		pr_warn("%s: counter %u: unknown bits in flags=%#x (allowed are %#x) or resets=%#x (%#x)\n",
			s->owner, req->counter, req->flags, KDTL_COUNTER_FLAGS,
			req->resets, KDTL_ALL_COUNTERS);
		return -EINVAL;
	}
	/* A client that leaves cpu at 0 means all CPUs; one that names a CPU would be misled. */
	if (req->cpu && req->cpu != -1) {
		pr_warn("%s: counter %u: cpu=%d: counters are set on all CPUs, so it must be -1\n",
			s->owner, req->counter, req->cpu);
		return -EINVAL;
	}
	return kdtl_counter_check(s, element);
}

static void kdtl_counter_apply(struct kdtl_session *s, void *element)
{
	struct kdtl_counter_req *req = element;
	struct kdtl_set *set = kdtl_session_set(s, req->set);
	const u32 bit = 1U << req->counter;
	struct kdtl_aux *aux;
	int cpu;

	/* A CPU that comes online meanwhile sees all of the new values or none. */
	kdtl_cpus_lock(s);
	set->setup[req->counter] = (struct kdtl_counter_setup) {
		.value		= req->value,
		.long_reset	= req->long_reset,
		.short_reset	= req->short_reset,
		.resets		= req->resets,
		.random_mask	= req->flags & KDTL_COUNTER_RANDOM ?
				  req->random_mask : 0,
	};
	set->notify &= ~bit;
	if (req->flags & KDTL_COUNTER_NOTIFY)
		set->notify |= bit;
	/* A counter that starts at 0 and has no resets need not be watched. */
	set->watched &= ~bit;
	if (req->flags & KDTL_COUNTER_NOTIFY || req->value || req->resets ||
	    req->long_reset || req->short_reset)
		set->watched |= bit;

	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (aux)
			kdtl_counter_write(aux, set, req->counter, req->value);
	}
	cpus_read_unlock();
}

static const struct kdtl_vector_verb kdtl_counter_write_verb = {
	.when		= KDTL_VECTOR_NOT_STARTED,
	.check		= kdtl_counter_write_check,
	.apply		= kdtl_counter_apply,
};

/**
 * kdtl_write_counters() - set counters, and configure their overflow
 * @s: the session
 * @req: vector of requests
 * @nr: number of requests, at most KDTL_MAX_REQUESTS
 *
 * Sets them on every CPU now, and again at each kdtl_load().  They cannot be set on one
 * CPU only: a CPU that comes online would not know what to start with.
 *
 * A counter overflows when it wraps past 2^64 on a CPU.  The overflow loads the
 * short reset values of the counter and of its resets, and counts towards the
 * switch to the next set.  If one of the counters that overflowed at once has
 * KDTL_COUNTER_NOTIFY, it also posts one KDTL_MSG_OVERFLOW for all of them.
 * With KDTL_SESSION_PAUSE such an overflow pauses the CPU instead, until
 * kdtl_restart() loads the long reset values.
 *
 * Overflow is checked at each entry and each loss, so a counter of time
 * overflows at the next entry.
 *
 * All or nothing: if an element is bad, the first such one has its error set and
 * nothing changes.
 *
 * perfmon2: pfmk_write_pmds().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * 0, also if @nr is 0
 * * -EBUSY: the session is started or paused, whatever @nr is
 * * -EINVAL: unknown set, counter, flags or resets, or a cpu other than -1 and 0 (a
 *   line in the log says which), or @req is NULL
 * * -EOPNOTSUPP: the session is raw
 * * -E2BIG: @nr is above KDTL_MAX_REQUESTS
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_write_counters(struct kdtl_session *s, struct kdtl_counter_req *req,
			unsigned int nr)
{
	return kdtl_vector_call(s, &KDTL_VECTOR(req, nr), &kdtl_counter_write_verb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_write_counters, KDTL_NS);

static int kdtl_counter_read_check(struct kdtl_session *s, void *element)
{
	struct kdtl_counter_req *req = element;

	return kdtl_cpu_check(s, req->cpu) ?: kdtl_counter_check(s, element);
}

static void kdtl_counter_fetch(struct kdtl_session *s, void *element)
{
	struct kdtl_counter_req *req = element;
	struct kdtl_set *set = kdtl_session_set(s, req->set);
	struct kdtl_aux *aux;
	bool found = false;
	u64 value = 0;
	int cpu;

	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux || !kdtl_cpu_meant(req->cpu, cpu))
			continue;
		value += kdtl_counter_read(aux, set, req->counter, true);
		found = true;
	}
	/* No CPU has the counter before the first load: return what it will start with. */
	req->value = found ? value : set->setup[req->counter].value;
}

static const struct kdtl_vector_verb kdtl_counter_read_verb = {
	.when		= KDTL_VECTOR_ALWAYS,
	.check		= kdtl_counter_read_check,
	.apply		= kdtl_counter_fetch,
};

/**
 * kdtl_read_counters() - read counters
 * @s: the session
 * @req: vector of requests: set, counter and cpu in, value out
 * @nr: number of requests, at most KDTL_MAX_REQUESTS
 *
 * The values are exact while the session is stopped or paused; while it is started
 * they go on.  Reading interrupts no CPU.  The sum for cpu -1 is over the CPUs that were
 * online at any time after a kdtl_load() for them, even an earlier one; other CPUs have no
 * counters.  Before the first kdtl_load() no CPU has counters, so the value is the one that
 * each CPU will begin with.
 *
 * perfmon2: pfmk_read_pmds().
 *
 * Context: task, may sleep.
 * Return:
 * * 0, also if @nr is 0
 * * -EINVAL: unknown set, counter or CPU (a line in the log says which), or
 *   @req is NULL; then no value is filled in
 * * -EOPNOTSUPP: the session is raw
 * * -E2BIG: @nr is above KDTL_MAX_REQUESTS
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_read_counters(struct kdtl_session *s, struct kdtl_counter_req *req,
		       unsigned int nr)
{
	return kdtl_vector_call(s, &KDTL_VECTOR(req, nr), &kdtl_counter_read_verb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_read_counters, KDTL_NS);
