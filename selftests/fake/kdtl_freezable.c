// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_freezable - kernel threads that are freezable, and asleep in kdtl's verbs
 *
 *	insmod kdtl_freezable.ko
 *
 * One sleeps in kdtl_wait(), the other one in kdtl_read(), both for ever.  The machine must be
 * able to suspend nevertheless.
 */
#define pr_fmt(fmt) "kdtl_freezable: " fmt

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>

#include "kdtl_fake_pmu.h"

static struct kdtl_session *session;
static struct task_struct *threads[2];

static int freezable_thread(void *reads)
{
	struct kdtl_msg msg;

	set_freezable();
	while (!kthread_should_stop()) {
		if (reads)
			kdtl_read(session, &msg, sizeof(msg), false);
		else
			kdtl_wait(session, MAX_SCHEDULE_TIMEOUT);
	}
	return 0;
}

static void freezable_end(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		if (!IS_ERR_OR_NULL(threads[i]))
			kthread_stop(threads[i]);
	}
	kdtl_session_close(session);
}

static int __init freezable_init(void)
{
	const struct kdtl_session_attr attr = {
		.pmu		= KDTL_FAKE_PMU,
		.aux_pages	= 1,
		.msg_pages	= 1,
	};
	unsigned int i;

	session = kdtl_session_create(&attr);
	if (IS_ERR(session))
		return PTR_ERR(session);
	for (i = 0; i < ARRAY_SIZE(threads); i++) {
		threads[i] = kthread_run(freezable_thread, (void *)(long)i, "kdtl_freezable");
		if (IS_ERR(threads[i])) {
			freezable_end();
			return -ENOMEM;
		}
		while (!(READ_ONCE(threads[i]->__state) & TASK_INTERRUPTIBLE))
			msleep(20);
	}
	return 0;
}

static void __exit freezable_exit(void)
{
	freezable_end();
}

module_init(freezable_init);
module_exit(freezable_exit);

MODULE_DESCRIPTION("Freezable threads in kdtl's verbs");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
