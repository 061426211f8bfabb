// SPDX-License-Identifier: GPL-2.0
/* Event sets: create, delete, getinfo, and restart after an overflow. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/kdtl_counters.h>
#include <linux/smp.h>

#include "../../core/counters/counter.h"
#include "../../core/counting.h"
#include "vector.h"

/* With a shorter timeout a set would do little but switch. */
#define KDTL_MIN_TIMEOUT	(100 * NSEC_PER_USEC)

/* Round a timeout to what the timer can do. */
static u64 kdtl_real_timeout(u64 ns)
{
	if (!ns)
		return 0;
	ns = clamp_t(u64, ns, KDTL_MIN_TIMEOUT, KTIME_MAX / 2);
	return DIV_ROUND_UP_ULL(ns, hrtimer_resolution) * hrtimer_resolution;
}

static int kdtl_evtset_check(struct kdtl_session *s, void *element)
{
	struct kdtl_evtset *req = element;

	if (req->timeout && req->overflows) {
		pr_warn("%s: event set %u: timeout and overflows, but only one of them is allowed\n",
			s->owner, req->id);
		return -EINVAL;
	}
	/* Set 0 exists already; "creating" it sets when the next set takes over. */
	if (req->id && kdtl_session_set(s, req->id)) {
		pr_warn("%s: event set %u exists\n", s->owner, req->id);
		return -EEXIST;
	}
	return 0;
}

static int kdtl_evtset_twins(struct kdtl_session *s, const struct kdtl_vector *v)
{
	struct kdtl_evtset *a, *b;
	unsigned int i, k;

	for (i = 0; i < v->nr; i++) {
		a = kdtl_vector_at(v, i);
		for (k = 0; k < i; k++) {
			b = kdtl_vector_at(v, k);
			if (a->id != b->id)
				continue;
			pr_warn("%s: event set %u twice in one call\n",
				s->owner, a->id);
			return kdtl_vector_fail(v, i, -EEXIST);
		}
	}
	return 0;
}

static void kdtl_set_insert(struct kdtl_session *s, struct kdtl_set *set)
{
	struct kdtl_set *at;

	list_for_each_entry(at, &s->sets, node) {
		if (at->id > set->id)
			break;
	}
	list_add_tail(&set->node, &at->node);
}

static void kdtl_evtset_apply(struct kdtl_session *s, void *element)
{
	struct kdtl_evtset *req = element;
	struct kdtl_set *set = kdtl_session_set(s, req->id);

	req->timeout = kdtl_real_timeout(req->timeout);
	set->timeout = req->timeout;
	set->switch_overflows = req->overflows;
}

/* Add the new sets of a vector, or none of them. */
static int kdtl_evtsets_add(struct kdtl_session *s, const struct kdtl_vector *v)
{
	struct kdtl_set *set, *next;
	struct kdtl_evtset *req;
	LIST_HEAD(new);
	unsigned int i;
	int err = kdtl_evtset_twins(s, v);

	if (err)
		return err;
	for (i = 0; i < v->nr; i++) {
		req = kdtl_vector_at(v, i);
		if (!req->id)
			continue;
		set = kdtl_set_alloc(req->id);
		if (!set)
			goto free;
		list_add_tail(&set->node, &new);
	}
	list_for_each_entry_safe(set, next, &new, node) {
		list_del(&set->node);
		kdtl_set_insert(s, set);
	}
	return 0;

free:
	list_for_each_entry_safe(set, next, &new, node)
		kdtl_set_free(set);
	return kdtl_vector_fail(v, i, -ENOMEM);
}

static const struct kdtl_vector_verb kdtl_evtset_create_verb = {
	.when		= KDTL_VECTOR_NOT_LOADED,
	.check		= kdtl_evtset_check,
	.prepare	= kdtl_evtsets_add,
	.apply		= kdtl_evtset_apply,
};

/**
 * kdtl_create_evtsets() - create event sets
 * @s: the session
 * @req: vector of requests; each timeout is returned as it was rounded
 * @nr: number of requests, at most KDTL_MAX_REQUESTS
 *
 * A new set logs everything until kdtl_write_config() changes that.  Set 0 always
 * exists; "creating" it sets when the next set takes over.  Each CPU goes through
 * the sets in the order of their ids and around, independently of other CPUs.
 * The memory of sets does not count towards the session's limit.
 *
 * All or nothing: if an element is bad, the first such one has its error set and
 * nothing changes.
 *
 * perfmon2: pfmk_create_evtsets().
 *
 * Context: task, may sleep.
 * Return:
 * * 0, also if @nr is 0
 * * -EBUSY: the session is loaded, whatever @nr is
 * * -EINVAL: timeout and overflows together, or @req is NULL
 * * -EEXIST: there is such a set, or it is in the vector twice
 * * -ENOMEM: no memory
 * * -EOPNOTSUPP: the session is raw
 * * -E2BIG: @nr is above KDTL_MAX_REQUESTS
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_create_evtsets(struct kdtl_session *s, struct kdtl_evtset *req,
			unsigned int nr)
{
	return kdtl_vector_call(s, &KDTL_VECTOR(req, nr), &kdtl_evtset_create_verb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_create_evtsets, KDTL_NS);

static int kdtl_evtset_delete_check(struct kdtl_session *s, void *element)
{
	struct kdtl_evtset *req = element;

	if (!req->id) {
		pr_warn("%s: event set 0 cannot be deleted\n", s->owner);
		return -EINVAL;
	}
	return kdtl_set_id_check(s, req->id);
}

static void kdtl_evtset_delete(struct kdtl_session *s, void *element)
{
	struct kdtl_evtset *req = element;
	struct kdtl_set *set = kdtl_session_set(s, req->id);
	struct kdtl_aux *aux;
	int cpu;

	/* A vector may name a set twice; the second time it is gone already. */
	if (!set)
		return;
	/* After kdtl_unload() it may still be the last active set of a CPU. */
	for_each_possible_cpu(cpu) {
		aux = kdtl_session_aux(s, cpu);
		if (aux && aux->set == set)
			kdtl_sets_rewind(aux);
	}
	list_del(&set->node);
	kdtl_set_free(set);
}

static const struct kdtl_vector_verb kdtl_evtset_delete_verb = {
	.when		= KDTL_VECTOR_NOT_LOADED,
	.check		= kdtl_evtset_delete_check,
	.apply		= kdtl_evtset_delete,
};

/**
 * kdtl_delete_evtsets() - delete event sets, with their counters
 * @s: the session
 * @req: vector of requests, of which only the ids are used
 * @nr: number of requests, at most KDTL_MAX_REQUESTS
 *
 * All or nothing, as with kdtl_create_evtsets().  A set that is named twice is deleted
 * once.
 *
 * perfmon2: pfmk_delete_evtsets().
 *
 * Context: task, may sleep.
 * Return:
 * * 0, also if @nr is 0
 * * -EBUSY: the session is loaded, whatever @nr is
 * * -EINVAL: set 0, or there is no such set, or @req is NULL
 * * -EOPNOTSUPP: the session is raw
 * * -E2BIG: @nr is above KDTL_MAX_REQUESTS
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_delete_evtsets(struct kdtl_session *s, struct kdtl_evtset *req,
			unsigned int nr)
{
	return kdtl_vector_call(s, &KDTL_VECTOR(req, nr), &kdtl_evtset_delete_verb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_delete_evtsets, KDTL_NS);

static int kdtl_evtset_info_check(struct kdtl_session *s, void *element)
{
	struct kdtl_evtset_info *req = element;

	return kdtl_cpu_check(s, req->cpu) ?: kdtl_set_id_check(s, req->id);
}

static void kdtl_evtset_info_fetch(struct kdtl_session *s, void *element)
{
	struct kdtl_evtset_info *req = element;
	struct kdtl_set *set = kdtl_session_set(s, req->id);
	struct kdtl_set_cpu *sc;
	struct kdtl_aux *aux;
	int cpu;

	req->active_now = false;
	req->runs = 0;
	req->active = 0;
	req->overflowed = 0;
	req->timeout = set->timeout;
	req->remaining = set->timeout;

	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux || !kdtl_cpu_meant(req->cpu, cpu))
			continue;
		sc = per_cpu_ptr(set->cpu, cpu);
		req->active_now |= s->state != KDTL_CREATED &&
				   READ_ONCE(aux->set) == set;
		req->runs = max(req->runs, kdtl_u64_read(&sc->runs));
		req->active += kdtl_counter_read(aux, set, KDTL_CTR_RUNNING, false);
		req->remaining = min(req->remaining, kdtl_set_remaining(aux, set));
		req->overflowed |= READ_ONCE(sc->overflowed);
	}
}

static const struct kdtl_vector_verb kdtl_evtset_info_verb = {
	.when		= KDTL_VECTOR_ALWAYS,
	.check		= kdtl_evtset_info_check,
	.apply		= kdtl_evtset_info_fetch,
};

/**
 * kdtl_getinfo_evtsets() - read the state of event sets
 * @s: the session
 * @req: vector of requests: id and cpu in, the rest out
 * @nr: number of requests, at most KDTL_MAX_REQUESTS
 *
 * perfmon2: pfmk_getinfo_evtsets(), which also tells the remaining timeout.
 *
 * Context: task, may sleep.
 * Return:
 * * 0, also if @nr is 0
 * * -EINVAL: there is no such set or CPU (the element's error is set, a line in
 *   the log says which), or @req is NULL; then nothing is filled in
 * * -EOPNOTSUPP: the session is raw
 * * -E2BIG: @nr is above KDTL_MAX_REQUESTS
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_getinfo_evtsets(struct kdtl_session *s, struct kdtl_evtset_info *req,
			 unsigned int nr)
{
	return kdtl_vector_call(s, &KDTL_VECTOR(req, nr), &kdtl_evtset_info_verb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_getinfo_evtsets, KDTL_NS);

struct kdtl_restart {
	struct kdtl_aux	*aux;
	int		err;
};

static void kdtl_cpu_restart(void *arg)
{
	struct kdtl_restart *r = arg;

	r->err = kdtl_set_restart(r->aux);
}

/* End the pauses of all CPUs.  Returns 0, or the source's error on the first that stays paused. */
static int kdtl_cpus_restart(struct kdtl_session *s)
{
	struct kdtl_restart r;
	int cpu, err = 0;

	lockdep_assert_held(&s->lock);
	kdtl_cpus_lock(s);
	for_each_cpu(cpu, s->loaded) {
		r.aux = kdtl_session_aux(s, cpu);
		if (!r.aux)
			continue;
		/* An offline CPU has no event, so its set may be touched from here. */
		if (smp_call_function_single(cpu, kdtl_cpu_restart, &r, 1))
			kdtl_cpu_restart(&r);
		if (!r.err)
			continue;
		pr_warn_ratelimited("%s: not restarted: %s refuses CPU %d (%d)\n",
				    s->owner, s->pmu->name, cpu, r.err);
		err = err ?: r.err;
	}
	cpus_read_unlock();
	return err;
}

/**
 * kdtl_restart() - resume after an overflow that paused the session
 * @s: the session
 *
 * On every CPU that is paused, the counters that overflowed, and those that they
 * reset, get their long reset values.  If the active set has reached its number of
 * overflows, the next one takes over.  Entries are logged again if the session is
 * started.
 *
 * perfmon2: pfmk_restart().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * 0
 * * -EINVAL: it is not loaded
 * * -EBUSY: it is not paused
 * * -ESHUTDOWN: the session is being closed
 * * the error of the source; the CPUs that it refuses stay paused
 */
int kdtl_restart(struct kdtl_session *s)
{
	int err = kdtl_session_enter(s, __func__, _RET_IP_);

	if (err)
		return err;
	if (s->state == KDTL_CREATED)
		err = -EINVAL;
	else if (!kdtl_session_paused(s))
		err = -EBUSY;
	else
		err = kdtl_cpus_restart(s);
	kdtl_session_leave(s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_restart, KDTL_NS);
