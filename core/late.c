// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that take long are logged
 *
 * A wait for a thread of another CPU lasts as long as a real-time task has that CPU.  After a
 * second the log says so, and names the tasks.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/prio.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "compat.h"
#include "session.h"

/* Runs in an interrupt on each CPU. */
static void kdtl_cpu_say_who(void *owner)
{
	if (current->prio < MAX_RT_PRIO)
		pr_warn_ratelimited("%s: meanwhile CPU %d belongs to %*pE:%d, a real-time task\n",
				    (const char *)owner, raw_smp_processor_id(),
				    (int)strnlen(current->comm, TASK_COMM_LEN), current->comm,
				    current->pid);
}

/**
 * kdtl_cpus_say_who() - log which CPUs belong to real-time tasks
 * @owner: who waits for these CPUs
 *
 * This asks by interrupts, as nothing else is sure to get through to each CPU.
 *
 * Context: task.
 */
void kdtl_cpus_say_who(const char *owner)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		smp_call_function_single(cpu, kdtl_cpu_say_who, (void *)owner, 1);
}

static void kdtl_late_say(struct work_struct *work)
{
	struct kdtl_late *late = container_of(to_delayed_work(work), struct kdtl_late, work);

	pr_warn_ratelimited("%s: %s\n", late->owner, late->what);
	kdtl_cpus_say_who(late->owner);
}

/**
 * kdtl_late_begin() - have the wait that follows logged if it takes more than a second
 * @late: on the stack, until kdtl_late_end()
 * @owner: who waits, for the log
 * @what: what the owner waits for, a sentence
 *
 * Call it before a wait for a thread of another CPU, or for RCU: neither makes progress while a
 * real-time task has a CPU.  The log then names the task.
 *
 * Context: task, may sleep.
 */
void kdtl_late_begin(struct kdtl_late *late, const char *owner, const char *what)
{
	late->owner = owner;
	late->what = what;
	INIT_DELAYED_WORK_ONSTACK(&late->work, kdtl_late_say);
	/* Any CPU runs it, not only the one that may be held. */
	queue_delayed_work(system_dfl_wq, &late->work, HZ);
}
EXPORT_SYMBOL_NS_GPL(kdtl_late_begin, KDTL_NS);

/**
 * kdtl_late_end() - the wait is over
 * @late: as passed to kdtl_late_begin()
 *
 * Context: task, may sleep.
 */
void kdtl_late_end(struct kdtl_late *late)
{
	cancel_delayed_work_sync(&late->work);
	destroy_delayed_work_on_stack(&late->work);
}
EXPORT_SYMBOL_NS_GPL(kdtl_late_end, KDTL_NS);
