// SPDX-License-Identifier: GPL-2.0
/*
 * Alarms: a client notifies other clients of a problem
 *
 * One client notices a problem (a watchdog), and another has the evidence (a
 * flight recorder).  With alarms neither depends on the other.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/cpumask.h>
#include <linux/export.h>
#include <linux/instruction_pointer.h>
#include <linux/kdtl_answers.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/string.h>

#include "left.h"

static BLOCKING_NOTIFIER_HEAD(kdtl_alarms);

static int kdtl_alarm_refuse(const char *verb, const char *what, unsigned long caller)
{
	pr_warn_ratelimited("%ps: %s() without %s\n", (void *)caller, verb, what);
	return -EINVAL;
}

/**
 * kdtl_alarm_register() - register a notifier of alarms
 * @nb: called in task context, with the &struct kdtl_alarm as its data, which it must
 *	neither change nor keep.  Its result is ignored, so no notifier can keep an
 *	alarm from the others
 *
 * The module that has @nb's function must unregister @nb before the module goes.  kdtl
 * unregisters a notifier that was forgotten, and says so in the log.
 *
 * Context: task, may sleep.  Not from a notifier, which would wait for itself.
 * Return: 0; -EEXIST: @nb is registered already (the kernel warns about it); -EINVAL:
 * @nb is NULL, or has no function to call; -EDEADLK: nobody may sleep here.
 */
int kdtl_alarm_register(struct notifier_block *nb)
{
	int err = kdtl_answers_may_sleep(__func__, _RET_IP_);

	if (err)
		return err;
	if (!nb || !nb->notifier_call)
		return kdtl_alarm_refuse(__func__, "a notifier", _RET_IP_);
	return blocking_notifier_chain_register(&kdtl_alarms, nb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_alarm_register, KDTL_NS);

/**
 * kdtl_alarm_unregister() - undo kdtl_alarm_register()
 * @nb: the notifier; it is not called any more when this returns
 *
 * Context: task, may sleep.  Not from a notifier, which would wait for itself.
 * Return: 0; -ENOENT: @nb was not registered; -EINVAL: it is NULL; -EDEADLK: nobody may sleep
 * here.
 */
int kdtl_alarm_unregister(struct notifier_block *nb)
{
	int err = kdtl_answers_may_sleep(__func__, _RET_IP_);

	if (err)
		return err;
	if (!nb)
		return kdtl_alarm_refuse(__func__, "a notifier", _RET_IP_);
	return blocking_notifier_chain_unregister(&kdtl_alarms, nb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_alarm_unregister, KDTL_NS);

static struct notifier_block *kdtl_alarm_head(void)
{
	return rcu_dereference_protected(kdtl_alarms.head, lockdep_is_held(&kdtl_alarms.rwsem));
}

static struct notifier_block *kdtl_alarm_next(const struct notifier_block *nb)
{
	return rcu_dereference_protected(nb->next, lockdep_is_held(&kdtl_alarms.rwsem));
}

static struct notifier_block *kdtl_alarm_of(const struct module *module)
{
	struct notifier_block *nb;

	down_read(&kdtl_alarms.rwsem);
	nb = kdtl_alarm_head();
	while (nb && !within_module((unsigned long)nb->notifier_call, module))
		nb = kdtl_alarm_next(nb);
	up_read(&kdtl_alarms.rwsem);
	return nb;
}

/**
 * kdtl_alarm_unregister_left() - unregister what a module has left registered
 * @module: the module, which goes
 *
 * Context: task, may sleep.
 */
void kdtl_alarm_unregister_left(struct module *module)
{
	struct notifier_block *nb;

	while ((nb = kdtl_alarm_of(module))) {
		pr_warn("module %s leaves the alarm of %ps registered: kdtl unregisters it\n",
			module_name(module), nb->notifier_call);
		kdtl_alarm_unregister(nb);
	}
}

/* Say what a valid alarm would have that this one lacks; NULL: it is valid. */
static const char *kdtl_alarm_wrong(const struct kdtl_alarm *alarm)
{
	if (!alarm || !alarm->what || !*alarm->what)
		return "a description";
	/* Notifiers log it, and a task may have chosen a part of it. */
	if (strchr(alarm->what, '\n'))
		return "a description of one line";
	if (alarm->cpu < -1 || alarm->cpu >= (int)nr_cpu_ids)
		return "a possible CPU, or -1";
	if (alarm->from > alarm->to)
		return "a time that ends after it begins";
	return NULL;
}

/**
 * kdtl_alarm() - notify other clients of a problem
 * @alarm: the problem; valid until this returns
 *
 * Returns when all registered notifiers have been called.  If @alarm is not valid, none
 * is called, and a line in the log says why.
 *
 * Context: task, may sleep.  Not from a notifier.
 * Return: 0; -EINVAL: @alarm is NULL, its description is missing or has more than one
 * line, there is no such CPU, or its time ends before it begins; -EDEADLK: nobody may sleep here.
 */
int kdtl_alarm(const struct kdtl_alarm *alarm)
{
	int err = kdtl_answers_may_sleep(__func__, _RET_IP_);
	struct notifier_block *nb;
	const char *wrong;

	if (err)
		return err;
	wrong = kdtl_alarm_wrong(alarm);
	if (wrong)
		return kdtl_alarm_refuse(__func__, wrong, _RET_IP_);
	/* blocking_notifier_call_chain() would stop if a notifier returned -EINVAL, say. */
	down_read(&kdtl_alarms.rwsem);
	for (nb = kdtl_alarm_head(); nb; nb = kdtl_alarm_next(nb))
		nb->notifier_call(nb, 0, (void *)alarm);
	up_read(&kdtl_alarms.rwsem);
	return 0;
}
EXPORT_SYMBOL_NS_GPL(kdtl_alarm, KDTL_NS);
