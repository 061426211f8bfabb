// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_wrong - mistakes that a debug kernel has to find
 *
 *	insmod kdtl_wrong.ko what=race
 *
 * That a checker finds nothing in the tests proves something only if it finds
 * these.  The module never loads, so it can be tried again.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "the fault to commit: uaf, bounds, shift, leak, deadlock, sleep, schedule, list, race or warn");

static DEFINE_MUTEX(wrong_a);
static DEFINE_MUTEX(wrong_b);
static DEFINE_RAW_SPINLOCK(wrong_lock);
static u64 wrong_shared;
static unsigned int wrong_bits = 77;
static void *wrong_lost;

static void wrong_uaf(void)
{
	u8 *p = kmalloc(100, GFP_KERNEL);

	kfree(p);
	OPTIMIZER_HIDE_VAR(p);
	if (p)
		pr_info("%u\n", READ_ONCE(p[7]));
}

/* Past the size that vmalloc() was asked for, but in its mapped page: only a checker sees it. */
static void wrong_bounds(void)
{
	u8 *p = vmalloc(100);

	if (p) {
		OPTIMIZER_HIDE_VAR(p);
		WRITE_ONCE(p[128], 1);
	}
	vfree(p);
}

static void wrong_shift(void)
{
	pr_info("%d\n", 1 << READ_ONCE(wrong_bits));
}

static void wrong_leak(void)
{
	unsigned int i;

	/*
	 * Some register may still point to the last object, and the allocator's
	 * own array, a sheaf, to those before until it is filled again.
	 */
	for (i = 0; i < 1000; i++)
		WRITE_ONCE(wrong_lost, kmalloc(111, GFP_KERNEL));
	WRITE_ONCE(wrong_lost, NULL);
}

static void wrong_deadlock(void)
{
	mutex_lock(&wrong_a);
	mutex_lock(&wrong_b);
	mutex_unlock(&wrong_b);
	mutex_unlock(&wrong_a);
	mutex_lock(&wrong_b);
	mutex_lock(&wrong_a);
	mutex_unlock(&wrong_a);
	mutex_unlock(&wrong_b);
}

static void wrong_sleep(void)
{
	raw_spin_lock(&wrong_lock);
	might_sleep();
	raw_spin_unlock(&wrong_lock);
}

/* Unlike wrong_sleep(), this one really sleeps. */
static void wrong_schedule(void)
{
	raw_spin_lock(&wrong_lock);
	schedule_timeout_uninterruptible(1);
	raw_spin_unlock(&wrong_lock);
}

static void wrong_list(void)
{
	static LIST_HEAD(list);
	struct list_head item;

	list_add(&item, &list);
	item.next = &item;
	list_del(&item);
	INIT_LIST_HEAD(&list);
}

static int wrong_racer(void *unused)
{
	while (!kthread_should_stop()) {
		wrong_shared++;
		cond_resched();
	}
	return 0;
}

static void wrong_race(void)
{
	struct task_struct *a, *b;

	a = kthread_run_on_cpu(wrong_racer, NULL, 0, "wrong/%u");
	b = kthread_run_on_cpu(wrong_racer, NULL, 1, "wrong/%u");
	msleep(5000);
	if (!IS_ERR(a))
		kthread_stop(a);
	if (!IS_ERR(b))
		kthread_stop(b);
}

static void wrong_warn(void)
{
	WARN_ON(1);
}

static const struct {
	const char	*what;
	void		(*fn)(void);
} wrongs[] = {
	{ "uaf", wrong_uaf },
	{ "bounds", wrong_bounds },
	{ "shift", wrong_shift },
	{ "leak", wrong_leak },
	{ "deadlock", wrong_deadlock },
	{ "sleep", wrong_sleep },
	{ "schedule", wrong_schedule },
	{ "list", wrong_list },
	{ "race", wrong_race },
	{ "warn", wrong_warn },
};

static int __init wrong_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wrongs); i++) {
		if (strcmp(what, wrongs[i].what))
			continue;
		wrongs[i].fn();
		return -EAGAIN;
	}
	return -EINVAL;
}

module_init(wrong_init);

MODULE_DESCRIPTION("kdtl test: mistakes that a debug kernel has to find");
MODULE_LICENSE("GPL");
