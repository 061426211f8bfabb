// SPDX-License-Identifier: GPL-2.0
/*
 * Alarms: a client tells the others that something is wrong now
 *
 * So that who notices (a watchdog) and who keeps the evidence (a flight
 * recorder) need not know of each other, nor both be there.
 */
#include <linux/export.h>
#include <linux/kdtl.h>
#include <linux/notifier.h>

#include "../core/compat.h"

static BLOCKING_NOTIFIER_HEAD(kdtl_alarms);

/**
 * kdtl_alarm_register() - be told of alarms
 * @nb: called with a string that says what is wrong; in task context
 *
 * Context: task, may sleep.
 * Return: 0 or -EEXIST: it is registered already, which the kernel warns about.
 */
int kdtl_alarm_register(struct notifier_block *nb)
{
	return blocking_notifier_chain_register(&kdtl_alarms, nb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_alarm_register, KDTL_NS);

/**
 * kdtl_alarm_unregister() - be told no more
 * @nb: not called any more when this returns
 *
 * Context: task, may sleep.
 * Return: 0 or -ENOENT: it was not registered.
 */
int kdtl_alarm_unregister(struct notifier_block *nb)
{
	return blocking_notifier_chain_unregister(&kdtl_alarms, nb);
}
EXPORT_SYMBOL_NS_GPL(kdtl_alarm_unregister, KDTL_NS);

/**
 * kdtl_alarm() - something is wrong now
 * @what: a short line without an end of line
 *
 * Returns when everyone who wants to know has been told.
 *
 * Context: task, may sleep.
 */
void kdtl_alarm(const char *what)
{
	blocking_notifier_call_chain(&kdtl_alarms, 0, (void *)what);
}
EXPORT_SYMBOL_NS_GPL(kdtl_alarm, KDTL_NS);
