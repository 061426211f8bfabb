// SPDX-License-Identifier: GPL-2.0
/* The first check of functions that may sleep. */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/printk.h>

#include "../../core/compat.h"
#include "left.h"

/**
 * kdtl_answers_may_sleep() - the first check of a function that may sleep
 * @verb: its name
 * @caller: address in the function that called it
 *
 * Context: any.
 * Return: 0; -EDEADLK: nobody may sleep here (a line in the log).
 */
int kdtl_answers_may_sleep(const char *verb, unsigned long caller)
{
	const bool atomic = kdtl_is_atomic();

	might_sleep_if(!atomic);
	if (!atomic)
		return 0;
	pr_warn_ratelimited("%ps: %s(): not from an interrupt or a timer, nor under a spinlock\n",
			    (void *)caller, verb);
	return -EDEADLK;
}
