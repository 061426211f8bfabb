// SPDX-License-Identifier: GPL-2.0
/*
 * Triggers: a client is told when the tasks of a cgroup wait for too long
 *
 * One client, the sampler, counts the waits of cgroups, and others ask to be told when some waits
 * grow by a threshold within a window.  Neither depends on the other: they meet here, as with
 * alarms.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/kdtl_answers.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/time64.h>

#include "../../core/compat.h"
#include "engine/trigger.h"
#include "left.h"

/* Looks in a window, as many as PSI's. */
#define KDTL_TRIGGER_LOOKS	10

/**
 * struct kdtl_trigger - one client that is told
 * @attr: when to tell; @attr.cgroup is a copy
 * @owner: the module that opened it
 * @counter: the client that counts, whose module is held
 * @node: in kdtl_triggers
 * @begun: @state has begun
 * @hint: for kdtl_pressure_counter::total
 * @state: how much the waits grew lately
 */
struct kdtl_trigger {
	struct kdtl_trigger_attr		attr;
	struct module				*owner;
	const struct kdtl_pressure_counter	*counter;
	struct list_head			node;
	bool					begun;
	unsigned int				hint;
	struct trigger				state;
};

/* Protects what follows, and the states of all triggers. */
static DEFINE_MUTEX(kdtl_triggers_lock);
static LIST_HEAD(kdtl_triggers);
static const struct kdtl_pressure_counter *kdtl_counter;	/* NULL: nobody counts */
static struct task_struct *kdtl_firing;		/* calls a trigger's fire(); NULL: nobody does */

/* Is the caller fire()?  Only the task itself ever makes this true or false for it. */
static bool kdtl_trigger_fires(void)
{
	return READ_ONCE(kdtl_firing) == current;
}

/* Say what a valid attribute would have that this one lacks; NULL: it is valid. */
static const char *kdtl_trigger_wrong(const struct kdtl_trigger_attr *attr)
{
	if (!attr || !attr->fire)
		return "a function to call";
	if ((unsigned int)attr->cause >= KDTL_PRESSURE_ROWS)
		return "a valid cause";
	if (!kdtl_path_valid(attr->cgroup))
		return "the path of a cgroup, such as / or /web";
	if (attr->window < KDTL_TRIGGER_MIN_WINDOW || attr->window > KDTL_TRIGGER_MAX_WINDOW)
		return "a window of 10 ms to 10 s";
	/* Waits on all CPUs are added up, so there may be a window's time on each CPU. */
	if (!attr->threshold || attr->threshold > attr->window * num_possible_cpus())
		return "a threshold from 1 ns to the window times the number of CPUs";
	return NULL;
}

/* Hold the counter, which then cannot go before kdtl_trigger_free(). */
static const struct kdtl_pressure_counter *kdtl_counter_get(void)
{
	const struct kdtl_pressure_counter *counter;

	mutex_lock(&kdtl_triggers_lock);
	counter = kdtl_counter;
	if (counter && !try_module_get(counter->owner))
		counter = NULL;
	mutex_unlock(&kdtl_triggers_lock);
	return counter;
}

static void kdtl_trigger_free(struct kdtl_trigger *t)
{
	if (t->counter)
		module_put(t->counter->owner);
	kfree(t->attr.cgroup);
	kfree(t);
}

static struct kdtl_trigger *kdtl_trigger_alloc(const struct kdtl_trigger_attr *attr)
{
	struct kdtl_trigger *t = kzalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return NULL;
	t->attr = *attr;
	t->state.threshold = attr->threshold;
	t->state.window = attr->window;
	t->attr.cgroup = kstrdup(attr->cgroup, GFP_KERNEL);
	if (t->attr.cgroup)
		return t;
	kdtl_trigger_free(t);
	return NULL;
}

/**
 * __kdtl_trigger_open() - kdtl_trigger_open() on behalf of a module
 * @owner: the module; NULL: the kernel itself
 * @attr: as for kdtl_trigger_open()
 *
 * Context: task, may sleep.
 * Return: as kdtl_trigger_open().
 */
struct kdtl_trigger *__kdtl_trigger_open(struct module *owner, const struct kdtl_trigger_attr *attr)
{
	int err = kdtl_answers_may_sleep("kdtl_trigger_open", _RET_IP_);
	struct kdtl_trigger *t;
	const char *wrong;

	if (err)
		return ERR_PTR(err);
	wrong = kdtl_trigger_wrong(attr);
	if (wrong) {
		pr_warn_ratelimited("%ps: kdtl_trigger_open() without %s\n", (void *)_RET_IP_,
				    wrong);
		return ERR_PTR(-EINVAL);
	}
	if (kdtl_trigger_fires()) {
		pr_warn_ratelimited("%ps: kdtl_trigger_open(): not from fire()\n",
				    (void *)_RET_IP_);
		return ERR_PTR(-EDEADLK);
	}
	t = kdtl_trigger_alloc(attr);
	if (!t)
		return ERR_PTR(-ENOMEM);
	t->owner = owner;
	t->counter = kdtl_counter_get();
	if (!t->counter) {
		kdtl_trigger_free(t);
		return ERR_PTR(-ENODEV);
	}
	mutex_lock(&kdtl_triggers_lock);
	list_add_tail(&t->node, &kdtl_triggers);
	mutex_unlock(&kdtl_triggers_lock);
	t->counter->look();
	return t;
}
EXPORT_SYMBOL_NS_GPL(__kdtl_trigger_open, KDTL_NS);

/* Take a trigger out of the list.  Returns false if it is not there, as it is closed already. */
static bool kdtl_trigger_unlist(struct kdtl_trigger *t)
{
	bool found;

	mutex_lock(&kdtl_triggers_lock);
	found = kdtl_list_has(&kdtl_triggers, &t->node);
	if (found)
		list_del(&t->node);
	mutex_unlock(&kdtl_triggers_lock);
	return found;
}

/**
 * kdtl_trigger_close() - undo kdtl_trigger_open()
 * @t: the trigger; for NULL or ERR_PTR nothing happens
 *
 * When this returns, kdtl_trigger_attr::fire is not called any more.
 *
 * Context: task, may sleep.  From kdtl_trigger_attr::fire, which would wait for itself, it only
 * logs a line, and the trigger has to be closed elsewhere.  It also only logs a line if @t is
 * closed already, and no new trigger has its memory.
 */
void kdtl_trigger_close(struct kdtl_trigger *t)
{
	if (kdtl_answers_may_sleep(__func__, _RET_IP_) || IS_ERR_OR_NULL(t))
		return;
	if (kdtl_trigger_fires())
		pr_warn_ratelimited("%ps: %s(): not from fire()\n", (void *)_RET_IP_, __func__);
	else if (kdtl_trigger_unlist(t))
		kdtl_trigger_free(t);
	else
		pr_warn_ratelimited("%ps: %s(): the trigger is closed already\n",
				    (void *)_RET_IP_, __func__);
}
EXPORT_SYMBOL_NS_GPL(kdtl_trigger_close, KDTL_NS);

static struct kdtl_trigger *kdtl_trigger_of(const struct module *module)
{
	struct kdtl_trigger *t, *found = NULL;

	mutex_lock(&kdtl_triggers_lock);
	list_for_each_entry(t, &kdtl_triggers, node) {
		if (t->owner == module) {
			found = t;
			break;
		}
	}
	mutex_unlock(&kdtl_triggers_lock);
	return found;
}

/**
 * kdtl_trigger_close_left() - close what a module has left open
 * @module: the module, which goes
 *
 * Context: task, may sleep.
 */
void kdtl_trigger_close_left(struct module *module)
{
	struct kdtl_trigger *t;

	while ((t = kdtl_trigger_of(module))) {
		pr_warn("module %s leaves a trigger open: kdtl closes it\n", module_name(module));
		kdtl_trigger_close(t);
	}
}

/**
 * kdtl_pressure_begin() - offer triggers
 * @counter: the client that counts, until kdtl_pressure_end()
 *
 * From now on @counter calls kdtl_pressure_look() whenever it has counted.
 *
 * Context: task, may sleep.
 * Return: 0; -EINVAL: a function is missing; -EBUSY: somebody else counts already; -EDEADLK:
 * nobody may sleep here.
 */
int kdtl_pressure_begin(const struct kdtl_pressure_counter *counter)
{
	int err = kdtl_answers_may_sleep(__func__, _RET_IP_);

	if (err)
		return err;
	if (!counter || !counter->total || !counter->look) {
		pr_warn("%ps: %s() without functions to call\n", (void *)_RET_IP_, __func__);
		return -EINVAL;
	}
	mutex_lock(&kdtl_triggers_lock);
	if (kdtl_counter)
		err = -EBUSY;
	else
		kdtl_counter = counter;
	mutex_unlock(&kdtl_triggers_lock);
	return err;
}
EXPORT_SYMBOL_NS_GPL(kdtl_pressure_begin, KDTL_NS);

/**
 * kdtl_pressure_end() - undo kdtl_pressure_begin()
 * @counter: the client that was given to kdtl_pressure_begin()
 *
 * Each trigger holds the client's module, so none is left when that module goes.  If a client calls
 * this at another time, the triggers that are left never fire.
 *
 * Context: task, may sleep.
 */
void kdtl_pressure_end(const struct kdtl_pressure_counter *counter)
{
	if (kdtl_answers_may_sleep(__func__, _RET_IP_))
		return;
	mutex_lock(&kdtl_triggers_lock);
	if (kdtl_counter == counter)
		kdtl_counter = NULL;
	mutex_unlock(&kdtl_triggers_lock);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pressure_end, KDTL_NS);

static void kdtl_trigger_look(struct kdtl_trigger *t, u64 now)
{
	const u64 total = t->counter->total(t->attr.cgroup, t->attr.cause, &t->hint);

	if (!t->begun) {
		trigger_begin(&t->state, now, total);
	} else if (trigger_look(&t->state, now, total)) {
		WRITE_ONCE(kdtl_firing, current);
		t->attr.fire(t->attr.data);
		WRITE_ONCE(kdtl_firing, NULL);
	}
	t->begun = true;
}

/**
 * kdtl_pressure_look() - look whether a trigger has to fire
 * @counter: the client that has counted
 *
 * Without a trigger this only looks at an empty list.
 *
 * Context: task, may sleep.  The caller's locks are taken before those of triggers.
 * Return: ms after which to call this again at the latest; %UINT_MAX: there is no trigger.
 */
unsigned int kdtl_pressure_look(const struct kdtl_pressure_counter *counter)
{
	u64 window = U64_MAX;
	struct kdtl_trigger *t;
	u64 now;

	if (kdtl_answers_may_sleep(__func__, _RET_IP_) || list_empty(&kdtl_triggers))
		return UINT_MAX;
	now = ktime_get_boottime_ns();
	mutex_lock(&kdtl_triggers_lock);
	list_for_each_entry(t, &kdtl_triggers, node) {
		if (t->counter != counter)
			continue;
		kdtl_trigger_look(t, now);
		window = min(window, t->attr.window);
	}
	mutex_unlock(&kdtl_triggers_lock);
	return window == U64_MAX ? UINT_MAX :
		div_u64(window, KDTL_TRIGGER_LOOKS * NSEC_PER_MSEC);
}
EXPORT_SYMBOL_NS_GPL(kdtl_pressure_look, KDTL_NS);
