// SPDX-License-Identifier: GPL-2.0
/*
 * Sessions: create, load, start, stop, unload, close
 *
 * After perfmon2's pfmk_create_context(), load_context(), start(), stop(),
 * unload_context() and close().  Documentation/states.rst has the table of
 * what each verb does in each state.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "../core/compat.h"
#include "../core/counting.h"
#include "../core/event.h"
#include "../core/raw.h"
#include "../core/root.h"
#include "../core/session.h"
#include "../core/source.h"
#include "../core/trace.h"
#include "../core/wake.h"
#include "reader.h"
#include "request.h"
#include "session.h"

/* Call this before the session lets go of its source, whose memory has the areas' rings. */
static void kdtl_session_free_areas(struct kdtl_session *s)
{
	struct kdtl_aux *aux;
	int cpu;

	if (!s->aux)
		return;
	for_each_possible_cpu(cpu) {
		aux = kdtl_session_aux(s, cpu);
		if (aux)
			s->ops->free(aux);
	}
	free_percpu(s->aux);
	s->aux = NULL;
}

static void kdtl_session_free(struct kdtl_session *s)
{
	kdtl_session_free_areas(s);
	kdtl_sets_free(s);
	free_cpumask_var(s->loaded);
	free_cpumask_var(s->cpus);
	mutex_destroy(&s->lock);
	mutex_destroy(&s->reading);
	kfree(s);
}

/**
 * kdtl_isolated_cpus() - the CPUs that are isolated now
 * @cpus: filled in: the possible ones of isolcpus=, nohz_full= and isolated cpusets.  If it is
 *	NULL, this only logs a line
 *
 * A session is loaded on these only if they are asked for, see kdtl_session_attr::cpus.
 *
 * Context: any.
 */
void kdtl_isolated_cpus(struct cpumask *cpus)
{
	int cpu;

	if (!cpus) {
		pr_warn_ratelimited("%ps: %s(): cpus is NULL\n", (void *)_RET_IP_, __func__);
		return;
	}
	cpumask_clear(cpus);
	rcu_read_lock();
	for_each_possible_cpu(cpu) {
		if (kdtl_cpu_is_isolated(cpu))
			cpumask_set_cpu(cpu, cpus);
	}
	rcu_read_unlock();
}
EXPORT_SYMBOL_NS_GPL(kdtl_isolated_cpus, KDTL_NS);

/* Choose the CPUs of a load that names none, without isolated CPUs that nobody asked for. */
static void kdtl_session_choose_cpus(struct kdtl_session *s)
{
	if (s->named) {
		cpumask_copy(s->loaded, s->cpus);
		return;
	}
	kdtl_isolated_cpus(s->loaded);
	cpumask_andnot(s->loaded, s->cpus, s->loaded);
}

static struct kdtl_session *kdtl_session_alloc(const char *owner,
					       const struct kdtl_session_attr *attr)
{
	const unsigned int aux_pages = kdtl_attr_aux_pages(attr);
	unsigned int nr_cpus = 0;
	struct kdtl_session *s;
	int cpu;

	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return NULL;

	strscpy(s->owner, owner, sizeof(s->owner));
	mutex_init(&s->lock);
	mutex_init(&s->reading);
	refcount_set(&s->users, 1);
	init_completion(&s->idle);
	init_completion(&s->own_done);
	raw_spin_lock_init(&s->wake_lock);
	s->done = attr->done ?: &s->own_done;
	s->wake = attr->wake;
	s->wake_data = attr->wake_data;
	kdtl_log_config(&s->log, attr->mask, attr->period, attr->min_wait);
	kdtl_sets_init(s);
	s->layout.nr_pages = aux_pages;
	s->layout.watermark = attr->watermark ?: (u64)aux_pages << (PAGE_SHIFT - 1);
	s->layout.overwrite = attr->flags & KDTL_SESSION_OVERWRITE;
	if (attr->place)
		s->layout.place = *attr->place;
	s->ops = &kdtl_own_areas;
	s->no_reader = kdtl_reader_none(s);
	atomic64_set(&s->mem, sizeof(*s) + ((u64)attr->msg_pages << PAGE_SHIFT));

	if (!zalloc_cpumask_var(&s->cpus, GFP_KERNEL) ||
	    !zalloc_cpumask_var(&s->loaded, GFP_KERNEL))
		goto free;
	cpumask_and(s->cpus, attr->cpus ?: cpu_possible_mask, cpu_possible_mask);
	s->named = attr->cpus;
	kdtl_session_choose_cpus(s);
	for_each_cpu_and(cpu, s->loaded, cpu_online_mask)
		nr_cpus++;
	if (!kdtl_session_mem_allowed(s, nr_cpus * kdtl_aux_mem(aux_pages)))
		goto free;

	s->aux = alloc_percpu(struct kdtl_aux *);
	if (!s->aux || kdtl_sets_alloc(s, attr))
		goto free;
	return s;

free:
	kdtl_session_free(s);
	return NULL;
}

/* Make the session a user of a source that is held.  On failure, let go of the source. */
static int kdtl_session_use(struct kdtl_session *s, struct kdtl_pmu *p)
{
	int err = kdtl_source_attach(p);

	if (err)
		kdtl_source_put(p);
	else
		s->used = p;
	return err;
}

static void kdtl_session_unuse(struct kdtl_session *s)
{
	if (s->ops->end)
		s->ops->end(s);
	if (!s->used)
		return;
	kdtl_source_detach(s->used);
	kdtl_source_put(s->used);
}

/* Find the source and hold it. */
static int kdtl_session_find_pmu(struct kdtl_session *s,
				 const struct kdtl_session_attr *attr)
{
	int err;

	s->pmu = kdtl_source_get(attr->pmu, s->module);
	if (!s->pmu) {
		/* The name may come from user space: escape what would begin a new line. */
		if (attr->pmu)
			pr_warn_ratelimited("%s: no PMU \"%*pE\": is its module loaded?\n",
					    s->owner, (int)strlen(attr->pmu), attr->pmu);
		else
			pr_warn_ratelimited("%s: no PMU at all: load kdtl_sched or kdtl_vpa\n",
					    s->owner);
		return -ENODEV;
	}
	err = kdtl_session_mask_check(s, attr->mask, attr->min_wait);
	if (!err && attr->place && !kdtl_event_sets_up(&s->pmu->pmu)) {
		pr_warn_ratelimited("%s: place: %s sets its areas up itself\n", s->owner,
				    s->pmu->name);
		err = -EINVAL;
	}
	if (err) {
		kdtl_source_put(s->pmu);
		return err;
	}
	return kdtl_session_use(s, s->pmu);
}

/* Find the PMU of a raw session, which need not be a source. */
static int kdtl_session_find_raw(struct kdtl_session *s,
				 const struct kdtl_session_attr *attr)
{
	struct kdtl_pmu *source = kdtl_source_find(attr->pmu, s->module);
	int err;

	/* Attach now: events come and go under the hotplug lock, so none may be the first user. */
	err = source ? kdtl_session_use(s, source) : 0;
	if (err)
		return err;
	err = kdtl_raw_get(s, attr);
	if (err)
		kdtl_session_unuse(s);
	return err;
}

/* Create a session.  @from is an address in the caller's function, which the log names. */
static struct kdtl_session *kdtl_session_make(const struct kdtl_session_attr *attr,
					      struct module *owner, void *from)
{
	char caller[KDTL_OWNER_LEN];
	struct kdtl_session *s;
	int err;

	might_sleep_if(!kdtl_is_atomic());
	snprintf(caller, sizeof(caller), "%ps", from);
	err = kdtl_may_sleep(caller, "kdtl_session_create") ?: kdtl_attr_check(caller, attr);
	if (err)
		return ERR_PTR(err);

	s = kdtl_session_alloc(caller, attr);
	if (!s)
		return ERR_PTR(-ENOMEM);
	s->module = owner;

	kdtl_cpus_await(s);
	err = attr->flags & KDTL_SESSION_RAW ? kdtl_session_find_raw(s, attr) :
		kdtl_session_find_pmu(s, attr);
	if (err) {
		kdtl_session_free(s);
		return ERR_PTR(err);
	}
	kdtl_session_list(s);
	trace_kdtl_session(s, "created");
	return s;
}

/**
 * __kdtl_session_create() - kdtl_session_create() on behalf of a module
 * @attr: the session's attributes
 * @owner: the module to which the session belongs; NULL: the kernel itself
 *
 * Context: task, may sleep.
 * Return: as kdtl_session_create().
 */
struct kdtl_session *__kdtl_session_create(const struct kdtl_session_attr *attr,
					   struct module *owner)
{
	return kdtl_session_make(attr, owner, __builtin_return_address(0));
}
EXPORT_SYMBOL_NS_GPL(__kdtl_session_create, KDTL_NS);

/*
 * Only one waiter takes the wake-up; the others see that the session was stopped.  The first in the
 * queue may be the client's own wait_for_completion(), which wakes no others, so all are woken.
 */
static void kdtl_session_end_waits(struct kdtl_session *s)
{
	lockdep_assert_held(&s->lock);
	WRITE_ONCE(s->stops, s->stops + 1);
	kdtl_session_wake(s);
	kdtl_session_wake_others(s);
}

static void kdtl_unload_locked(struct kdtl_session *s)
{
	if (s->state == KDTL_CREATED)
		return;
	if (s->state == KDTL_STARTED) {
		kdtl_cpus_stop(s);
		trace_kdtl_session(s, "stopped");
	}
	kdtl_cpus_unload(s);
	kdtl_msg_end(s);
	kdtl_session_end_waits(s);
	trace_kdtl_session(s, "unloaded");
}

/* Begin to close a session.  Returns false if somebody else has begun. */
static bool kdtl_session_shut(struct kdtl_session *s)
{
	bool first;

	kdtl_session_lock(s);
	first = !s->closing;
	if (first) {
		/* The wake-up of the unload is one of the close: waits end with -ESHUTDOWN. */
		WRITE_ONCE(s->closing, true);
		kdtl_unload_locked(s);
	}
	mutex_unlock(&s->lock);
	return first;
}

static void kdtl_session_end(struct kdtl_session *s)
{
	struct kdtl_late late;

	kdtl_session_wake(s);
	/* [wake.K] Waiters look at closing, which the queue's lock orders before the wake-up. */
	kdtl_session_wake_others(s);
	kdtl_late_begin(&late, s->owner,
			"close waits for the session's other verbs, or its reader");
	/* [wake.U] */
	if (!refcount_dec_and_test(&s->users))
		wait_for_completion(&s->idle);
	if (s->merge)
		kdtl_merge_detach(s->merge);
	kdtl_reader_end(s);
	kdtl_late_end(&late);

	trace_kdtl_session(s, "closed");
	kdtl_session_end_wakes(s, kdtl_session_unlist(s));
	kdtl_session_free_areas(s);
	kdtl_session_unuse(s);
	kdtl_session_free(s);
}

/* Is the module going?  Then the kernel next waits for RCU, to free the module's memory. */
static bool kdtl_module_ends(const struct module *module)
{
	return module && READ_ONCE(module->state) == MODULE_STATE_GOING;
}

/* Begin to close what may be closed already.  Returns false if it is not the caller who ends it. */
static bool kdtl_session_close_begin(struct kdtl_session *s, unsigned long caller)
{
	bool first = false;

	if (kdtl_session_hold_listed(s)) {
		if (!kdtl_reader_await_look(s)) {
			pr_warn("%s: close: must not be called from a callback of the session's reader, or from a callback or work item for which that reader waits\n",
				s->owner);
			kdtl_session_release(s);
			return false;
		}
		first = kdtl_session_shut(s);
		kdtl_session_release(s);
	}
	if (!first)
		pr_warn_ratelimited("%ps: close: the session is closed, or somebody else closes it\n",
				    (void *)caller);
	return first;
}

/**
 * kdtl_session_close() - end a session, in any state
 * @s: the session; may be NULL or ERR_PTR
 *
 * Stops and unloads it, ends every kdtl_wait() and kdtl_read() on it with
 * -ESHUTDOWN, waits until the last writer and the last verb have left, and frees
 * everything.  After it has returned there are no more wake-ups.  Spans from
 * kdtl_aux_peek() and entries of a merge become invalid, so readers must have
 * stopped using them.  A merge that is left returns no more entries, and must still be
 * destroyed.
 *
 * The reader of kdtl_session_open() gets what was logged until then, in a last round,
 * in which other verbs return -ESHUTDOWN.  It is never called after
 * kdtl_session_close() has returned.  Do not hold a lock that its callbacks take.
 *
 * When a module goes, or its init fails, kdtl closes the sessions that the module has
 * left open, destroys their merges, and says in the log which function had created
 * them.  A thread of the module that sleeps in kdtl_wait() or kdtl_read() then has
 * time to end, if it does not sleep any more.  In its module's exit, close ends with a check
 * that RCU makes progress, because the kernel is about to wait for it: see kdtl_rcu_await().
 *
 * perfmon2: close() of the context.
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.  It only logs a line, and the session goes on and has to be closed
 * elsewhere, if it is called from a callback of the session's own reader, or of a reader for
 * which that one waits, from a work item of the reader's workqueue (kdtl_reader::wq) while that
 * is ordered or full, from kdtl_session_attr::wake() of any session, or wherever else nobody may
 * sleep, as in a timer's function.  It also only logs a line if somebody else closes @s, or @s is
 * closed already and no new session has its memory.
 */
void kdtl_session_close(struct kdtl_session *s)
{
	char owner[KDTL_OWNER_LEN];
	bool ends;

	if (IS_ERR_OR_NULL(s) || kdtl_may_sleep(s->owner, __func__) ||
	    !kdtl_session_close_begin(s, _RET_IP_))
		return;
	ends = kdtl_module_ends(s->module);
	strscpy(owner, s->owner, sizeof(owner));
	kdtl_session_end(s);
	if (ends)
		kdtl_rcu_await(owner);
}
EXPORT_SYMBOL_NS_GPL(kdtl_session_close, KDTL_NS);

/* Close a session that is held and that its module has left open. */
static void kdtl_session_close_left(struct kdtl_session *s)
{
	bool first;

	pr_warn("module %s leaves session %u of %s open: kdtl closes it\n",
		module_name(s->module), s->id, s->owner);
	kdtl_reader_mute(s);
	kdtl_merge_destroy(s->merge);
	first = kdtl_session_shut(s);
	kdtl_session_release(s);
	if (first)
		kdtl_session_end(s);
}

/*
 * A module goes, perhaps because its init has failed.  Its memory is freed when this
 * returns, so its sessions must not keep the source busy for ever, nor wake or call
 * anything in that memory.
 */
static int kdtl_module_going(struct notifier_block *nb, unsigned long state, void *module)
{
	struct kdtl_session *s;
	struct kdtl_late late;
	bool left = false;

	if (state != MODULE_STATE_GOING)
		return NOTIFY_DONE;
	while ((s = kdtl_session_hold_of(module))) {
		kdtl_session_close_left(s);
		left = true;
	}
	/* A reader that has left kdtl_wait() is in the module's code until it ends. */
	if (left) {
		kdtl_late_begin(&late, module_name(module),
				"waits for all tasks to leave the module");
		synchronize_rcu_tasks();
		kdtl_late_end(&late);
	}
	kdtl_pmu_unregister_left(module);
	return NOTIFY_DONE;
}

struct notifier_block kdtl_module_nb = {
	.notifier_call = kdtl_module_going,
};

/**
 * kdtl_session_cpus() - the CPUs on which a session may be loaded
 * @s: the session
 *
 * These are the possible CPUs of kdtl_session_attr::cpus.  All verbs that take a CPU accept
 * them, even while the session is not loaded on them or they are offline.
 *
 * Context: any.
 * Return: the CPUs, until kdtl_session_close(); no CPU if @s is NULL.
 */
const struct cpumask *kdtl_session_cpus(const struct kdtl_session *s)
{
	if (!IS_ERR_OR_NULL(s))
		return s->cpus;
	kdtl_session_refuse(s, __func__, _RET_IP_);
	return cpu_none_mask;
}
EXPORT_SYMBOL_NS_GPL(kdtl_session_cpus, KDTL_NS);

static int kdtl_load_locked(struct kdtl_session *s, const struct cpumask *cpus)
{
	struct kdtl_aux *aux;
	int cpu, err;

	if (s->state != KDTL_CREATED)
		return -EBUSY;
	if (cpus)
		cpumask_and(s->loaded, cpus, s->cpus);
	else
		kdtl_session_choose_cpus(s);
	if (cpumask_empty(s->loaded) || (cpus && !cpumask_subset(cpus, s->cpus))) {
		pr_warn_ratelimited("%s: load: CPUs \"%*pbl\": must be some of the session's, %*pbl\n",
				    s->owner, cpumask_pr_args(cpus ?: s->cpus),
				    cpumask_pr_args(s->cpus));
		return -EINVAL;
	}

	WRITE_ONCE(s->loads, s->loads + 1);
	kdtl_msgs_reset(s);
	for_each_possible_cpu(cpu) {
		aux = kdtl_session_aux(s, cpu);
		if (aux)
			kdtl_aux_reset(aux);
	}
	/* The unread data is gone, so an earlier wake-up has no reason any more. */
	kdtl_session_take_wake(s, KDTL_PENDING_ALL, NULL);
	err = kdtl_cpus_load(s);
	if (!err)
		trace_kdtl_session(s, "loaded");
	return err;
}

/**
 * kdtl_load() - bind a session to CPUs
 * @s: the session
 * @cpus: a part of the CPUs for which it was created; NULL: all of them, but
 *	isolated ones only if &struct kdtl_session_attr.cpus named them
 *
 * Allocates the AUX areas, and creates a perf event on each CPU.  A CPU that is
 * offline is logged from when it comes online; the unread entries of a CPU that
 * goes offline stay.  Unread data and counts of an earlier load are dropped, even
 * if the load then fails.
 *
 * If kdtl_session_open() has given the session a reader, the load waits until a call of
 * kdtl_reader::span() returns, which still uses its span.  So hold no lock that span() takes.
 * The load also waits for a kdtl_merge_sync() that is at work.
 *
 * A load that fails returns the first CPU's error, logs what failed, and leaves no event.  Areas
 * stay until kdtl_session_close(), because a reader may be looking at them.
 *
 * perfmon2: pfmk_load_context().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * 0
 * * -EBUSY: it is loaded already
 * * -EINVAL: @cpus is empty, or has CPUs that the session was not created for
 * * -ENOMEM: memory is short, or max_session_mb is exceeded
 * * -EDEADLK: called by a callback of a reader for which the session's own reader waits
 * * -EOPNOTSUPP: the CPU's data cache aliases, so no area can be mapped
 * * -ESHUTDOWN: the session is being closed
 * * the error of perf or of the source on a CPU, for instance -EBUSY: with
 *   KDTL_SESSION_RAW, somebody else has an event on a PMU that allows only one
 */
int kdtl_load(struct kdtl_session *s, const struct cpumask *cpus)
{
	int err = kdtl_session_begin(s, __func__, _RET_IP_);

	if (err)
		return err;
	err = kdtl_reader_pause(s);
	if (err)
		goto release;
	err = kdtl_session_lock_live(s);
	if (!err) {
		err = kdtl_load_locked(s, cpus);
		mutex_unlock(&s->lock);
	}
	kdtl_reader_resume(s);
release:
	kdtl_session_release(s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_load, KDTL_NS);

/**
 * kdtl_unload() - release a session from its CPUs, stopping it first
 * @s: the session
 *
 * Unread data and counts stay until the next kdtl_load() or close.
 *
 * perfmon2: pfmk_unload_context().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return: 0, also if it was not loaded; -ESHUTDOWN: the session is being closed.
 */
int kdtl_unload(struct kdtl_session *s)
{
	int err = kdtl_session_enter(s, __func__, _RET_IP_);

	if (err)
		return err;
	kdtl_unload_locked(s);
	kdtl_session_leave(s);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_unload, KDTL_NS);

static int kdtl_start_locked(struct kdtl_session *s)
{
	int err = kdtl_cpus_start(s);

	if (!err)
		trace_kdtl_session(s, "started");
	return err;
}

/**
 * kdtl_start() - begin to log
 * @s: the session
 *
 * Starts on every CPU or on none.  When it returns 0 the sources are on.  If the
 * source refuses a CPU, entries that other CPUs had logged by then can be read.
 *
 * perfmon2: pfmk_start().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * 0, also if it was started
 * * -EINVAL: it is not loaded
 * * -EBUSY: it is paused, see kdtl_restart()
 * * -ESHUTDOWN: the session is being closed
 * * the error of the source, for instance -EBUSY
 */
int kdtl_start(struct kdtl_session *s)
{
	int err = kdtl_session_enter(s, __func__, _RET_IP_);

	if (err)
		return err;
	if (s->state == KDTL_CREATED)
		err = -EINVAL;
	else if (kdtl_session_paused(s))
		err = -EBUSY;
	else if (s->state == KDTL_STOPPED)
		err = kdtl_start_locked(s);
	kdtl_session_leave(s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_start, KDTL_NS);

/**
 * kdtl_stop() - stop logging
 * @s: the session
 *
 * When it returns, no entry is being written, the numbers are exact, and all
 * waiting readers have been woken for the rest, however little it is.  A paused
 * session stays paused.
 *
 * perfmon2: pfmk_stop().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return: 0, also if it was stopped already; -EINVAL: it is not loaded;
 * -ESHUTDOWN: the session is being closed.
 */
int kdtl_stop(struct kdtl_session *s)
{
	int err = kdtl_session_enter(s, __func__, _RET_IP_);

	if (err)
		return err;
	if (s->state == KDTL_CREATED) {
		err = -EINVAL;
	} else if (s->state == KDTL_STARTED) {
		kdtl_cpus_stop(s);
		kdtl_session_end_waits(s);
		trace_kdtl_session(s, "stopped");
	}
	kdtl_session_leave(s);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_stop, KDTL_NS);

/* Load and start a session that was just created, and run its reader, if it has one. */
static int kdtl_session_run(struct kdtl_session *s, const struct kdtl_reader *reader)
{
	int err = kdtl_entries_check(s, "kdtl_session_open");

	if (err)
		return err;
	if (reader && kdtl_reader_none(s))
		return kdtl_reader_refuse(s, "open");
	/* Nobody else has the session yet, but its module may go. */
	err = kdtl_session_lock_live(s);
	if (err)
		return err;
	err = kdtl_load_locked(s, NULL) ?: kdtl_start_locked(s);
	mutex_unlock(&s->lock);
	if (!err && reader)
		err = kdtl_reader_start(s, reader);
	return err;
}

/**
 * __kdtl_session_open() - kdtl_session_open() on behalf of a module
 * @attr: the session's attributes
 * @reader: its reader, or NULL
 * @owner: the module to which the session belongs; NULL: the kernel itself
 *
 * Context: task, may sleep.
 * Return: as kdtl_session_open().
 */
struct kdtl_session *__kdtl_session_open(const struct kdtl_session_attr *attr,
					 const struct kdtl_reader *reader,
					 struct module *owner)
{
	struct kdtl_session *s;
	bool alone;
	int err;

	might_sleep_if(!kdtl_is_atomic());
	/* Such sessions are read whenever somebody asks, so they need no reader to wake. */
	alone = !reader && attr &&
		(attr->flags & (KDTL_SESSION_OVERWRITE | KDTL_SESSION_NO_AUX));
	err = alone ? 0 : kdtl_reader_check(reader, __builtin_return_address(0));
	if (err)
		return ERR_PTR(err);
	s = kdtl_session_make(attr, owner, __builtin_return_address(0));
	if (IS_ERR(s))
		return s;
	err = kdtl_session_run(s, reader);
	if (!err)
		return s;
	/* Nobody else knows the session. */
	if (kdtl_session_shut(s))
		kdtl_session_end(s);
	return ERR_PTR(err);
}
EXPORT_SYMBOL_NS_GPL(__kdtl_session_open, KDTL_NS);
