// SPDX-License-Identifier: GPL-2.0
/*
 * The registered sources and their users
 *
 * A source's attach_lock is held across its attach() and detach(), and these may register a
 * tracepoint, which takes the CPU hotplug lock (for a static key).  So attach_lock must not
 * be taken under the CPU hotplug lock.  A raw session opens events there, but on a source
 * that it uses already, and only the first and the last user take attach_lock.  When perf
 * unregisters any PMU it waits for every event_init(), so a source's event_init() must not
 * wait for another source's attach(): each source has a lock of its own.
 *
 * kdtl_sources_lock protects the list of sources, and is taken inside attach_lock.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/error-injection.h>
#include <linux/kdtl_verbs.h>
#include <linux/kmod.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>

#include "fanout.h"
#include "source.h"

static LIST_HEAD(kdtl_sources);
static DEFINE_MUTEX(kdtl_sources_lock);

/* Is this the source's own name, or that of the PMU whose entries it has? */
static bool kdtl_source_is(const struct kdtl_pmu *p, const char *name)
{
	return !strcmp(p->name, name) || (p->of && !strcmp(p->of, name));
}

static bool kdtl_source_exists(const struct kdtl_pmu *p)
{
	struct kdtl_pmu *other;

	lockdep_assert_held(&kdtl_sources_lock);
	list_for_each_entry(other, &kdtl_sources, node) {
		if (other == p || kdtl_source_is(other, p->name) ||
		    (p->of && kdtl_source_is(other, p->of)))
			return true;
	}
	return false;
}

/**
 * kdtl_source_name_valid() - does a name have only what the perf tool accepts?
 * @name: may be NULL
 *
 * Context: any.
 * Return: true if a source may have this name.
 */
bool kdtl_source_name_valid(const char *name)
{
	/* The kernel's isalpha() also accepts the letters of Latin-1. */
	if (!name || !isascii(*name) || !isalpha(*name))
		return false;
	while (isascii(*name) && (isalnum(*name) || *name == '_' || *name == '-'))
		name++;
	return !*name;
}

/**
 * kdtl_source_put() - undo kdtl_source_get()
 * @p: the source
 *
 * Context: any.
 */
void kdtl_source_put(struct kdtl_pmu *p)
{
	struct module *module = p->pmu.module;

	/* From here on the driver may unregister the source, and free it. */
	atomic_dec(&p->held);
	module_put(module);
}

/**
 * kdtl_source_is_coming() - may the source go although somebody holds it?
 * @p: the source
 *
 * If a module's init fails after it has registered a source, the source goes, whoever holds it.
 * So until the init has ended nobody else finds the source, and perf opens no events on it.
 *
 * Context: any.
 * Return: true if the init of its module has not ended.
 */
bool kdtl_source_is_coming(const struct kdtl_pmu *p)
{
	const struct module *module = p->pmu.module;

	return module && READ_ONCE(module->state) == MODULE_STATE_COMING;
}

static bool kdtl_source_hold(struct kdtl_pmu *p, const struct module *owner)
{
	struct module *module = p->pmu.module;

	if (module != owner && kdtl_source_is_coming(p))
		return false;
	if (!try_module_get(module))
		return false;
	atomic_inc(&p->held);
	return true;
}

/* Does the source log dispatches?  Callers that name no source want these, and no others. */
static bool kdtl_source_dispatches(const struct kdtl_pmu *p)
{
	return !p->interrupts && !kdtl_pmu_tells_wakes(p);
}

static struct kdtl_pmu *kdtl_source_pick(const char *name, const struct module *owner)
{
	struct kdtl_pmu *p, *best = NULL;

	mutex_lock(&kdtl_sources_lock);
	list_for_each_entry(p, &kdtl_sources, node) {
		if (name ? !kdtl_source_is(p, name) :
			   !kdtl_source_dispatches(p) || (best && p->rating <= best->rating))
			continue;
		if (!kdtl_source_hold(p, owner))
			continue;
		if (best)
			kdtl_source_put(best);
		best = p;
	}
	mutex_unlock(&kdtl_sources_lock);
	return best;
}

/**
 * kdtl_source_find() - find a source that is registered with perf by a name, and hold it
 * @name: the name
 * @owner: the module that asks; NULL: the kernel itself
 *
 * Context: may sleep.
 * Return: the source, or NULL.
 */
struct kdtl_pmu *kdtl_source_find(const char *name, const struct module *owner)
{
	struct kdtl_pmu *p = kdtl_source_pick(name, owner);

	if (!p || !strcmp(p->name, name))
		return p;
	kdtl_source_put(p);
	return NULL;
}

/**
 * kdtl_source_get() - find a source and hold its module
 * @name: its name or &struct kdtl_pmu.of; NULL: the source of dispatches with the highest rating
 * @owner: the module that asks; NULL: the kernel itself
 *
 * If there is none, it asks modprobe once.  A source whose module is being unloaded does
 * not count, nor does that of another module whose init has not ended.
 *
 * Context: may sleep.
 * Return: the source, or NULL.
 */
struct kdtl_pmu *kdtl_source_get(const char *name, const struct module *owner)
{
	struct kdtl_pmu *p = kdtl_source_pick(name, owner);

	if (p)
		return p;
	/* The name may come from user space: modprobe gets only names that a source can have. */
	if (!name)
		request_module("kdtl-pmu");
	else if (kdtl_source_name_valid(name))
		request_module("kdtl-pmu-%s", name);
	return kdtl_source_pick(name, owner);
}
ALLOW_ERROR_INJECTION(kdtl_source_get, NULL);

/**
 * kdtl_source_of() - find a source of a module
 * @module: the module
 *
 * Context: may sleep.
 * Return: the source, which is not held, or NULL.
 */
struct kdtl_pmu *kdtl_source_of(const struct module *module)
{
	struct kdtl_pmu *p, *found = NULL;

	mutex_lock(&kdtl_sources_lock);
	list_for_each_entry(p, &kdtl_sources, node) {
		if (p->pmu.module == module) {
			found = p;
			break;
		}
	}
	mutex_unlock(&kdtl_sources_lock);
	return found;
}

static int kdtl_source_begin(struct kdtl_pmu *p)
{
	int err;

	if (!p->attach)
		return 0;
	err = p->attach(p);
	/* ERR_PTR() of any other number would not look like an error. */
	if (err > 0 || err < -MAX_ERRNO) {
		pr_warn("PMU %s: attach() returned %d: must be 0 or a negative errno\n",
			p->name, err);
		err = -EINVAL;
	}
	return err;
}

/**
 * kdtl_source_attach() - count one more user; the first calls the driver's attach()
 * @p: the source
 *
 * Context: may sleep; not under the CPU hotplug lock, unless the caller knows of another
 * user.
 * Return: 0, or the error of attach(); -EINVAL if attach() returned neither 0 nor an error.
 */
int kdtl_source_attach(struct kdtl_pmu *p)
{
	struct kdtl_late late;
	int err = 0;

	if (atomic_inc_not_zero(&p->users))
		return 0;
	kdtl_late_begin(&late, p->name, "attach() waits, maybe for RCU, which waits for each CPU");
	mutex_lock(&p->attach_lock);
	if (!atomic_read(&p->users))
		err = kdtl_source_begin(p);
	if (!err)
		atomic_inc(&p->users);
	mutex_unlock(&p->attach_lock);
	kdtl_late_end(&late);
	return err;
}
ALLOW_ERROR_INJECTION(kdtl_source_attach, ERRNO);

/**
 * kdtl_source_detach() - undo kdtl_source_attach()
 * @p: the source, which the caller holds
 *
 * Context: as kdtl_source_attach().
 */
void kdtl_source_detach(struct kdtl_pmu *p)
{
	struct kdtl_late late;

	if (atomic_add_unless(&p->users, -1, 1))
		return;
	kdtl_late_begin(&late, p->name, "detach() waits, maybe for RCU, which waits for each CPU");
	if (atomic_dec_and_mutex_lock(&p->users, &p->attach_lock)) {
		if (p->detach)
			p->detach(p);
		mutex_unlock(&p->attach_lock);
	}
	kdtl_late_end(&late);
}

/* The source may be registered again. */
static void kdtl_source_free(struct kdtl_pmu *p)
{
	if (!p->cpu_ours)
		return;
	free_percpu(p->cpu);
	p->cpu = NULL;
}

static int kdtl_source_list(struct kdtl_pmu *p)
{
	int err;

	p->cpu_ours = !p->cpu;
	if (p->cpu_ours)
		p->cpu = alloc_percpu(struct kdtl_pmu_cpu);
	if (!p->cpu)
		return -ENOMEM;
	atomic_set(&p->users, 0);
	atomic_set(&p->held, 0);
	mutex_init(&p->attach_lock);
	err = perf_pmu_register(&p->pmu, p->name, -1);
	if (err)
		kdtl_source_free(p);
	else
		list_add_tail(&p->node, &kdtl_sources);
	return err;
}

/**
 * kdtl_source_add() - register a source with perf, and list it
 * @p: the source, with all of perf's callbacks
 *
 * Context: may sleep.
 * Return: 0; -EEXIST if the name is taken; -ENOMEM; or the error of
 * perf_pmu_register().
 */
int kdtl_source_add(struct kdtl_pmu *p)
{
	int err = -EEXIST;

	mutex_lock(&kdtl_sources_lock);
	/* The one that is there may be @p itself, which has users: it stays as it is. */
	if (kdtl_source_exists(p))
		pr_warn("PMU %s%s%s is registered already, or has another one's name\n",
			p->name, p->of ? " of " : "", p->of ?: "");
	else
		err = kdtl_source_list(p);
	mutex_unlock(&kdtl_sources_lock);
	return err;
}

/* Take the source out of the list, so that nobody finds it any more, unless somebody has it. */
static int kdtl_source_unlist(struct kdtl_pmu *p)
{
	const struct kdtl_pmu *each;
	int users = -ENOENT;

	mutex_lock(&kdtl_sources_lock);
	list_for_each_entry(each, &kdtl_sources, node) {
		if (each != p)
			continue;
		/* Whoever holds it is a user, or about to be. */
		users = max(atomic_read(&p->users), atomic_read(&p->held));
		if (!users)
			list_del(&p->node);
		break;
	}
	mutex_unlock(&kdtl_sources_lock);
	return users;
}

/**
 * kdtl_source_del() - undo kdtl_source_add(), unless the source has users
 * @p: maybe a source
 *
 * Context: may sleep.
 * Return: 0; the number of users; or -ENOENT: @p is not registered.
 */
int kdtl_source_del(struct kdtl_pmu *p)
{
	const int users = kdtl_source_unlist(p);
	struct kdtl_late late;

	if (users)
		return users;
	kdtl_late_begin(&late, module_name(p->pmu.module),
			"waits for RCU, which waits for each CPU");
	perf_pmu_unregister(&p->pmu);
	kdtl_late_end(&late);
	/* Otherwise newer kernels would take it for the device of the next registration. */
	p->pmu.dev = NULL;
	kdtl_source_free(p);
	return 0;
}
