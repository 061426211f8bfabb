// SPDX-License-Identifier: GPL-2.0
/* What sleep.cocci finds, BAD, and what it must not. */
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_verbs.h>
#include <linux/spinlock.h>

static DEFINE_SPINLOCK(lock);
static struct kdtl_session *session;
static struct irq_work work;
static struct hrtimer timer;

static int bad_lock(void)
{
	unsigned long flags;
	int err;

	spin_lock_irqsave(&lock, flags);
	err = kdtl_start(session); /* BAD */
	spin_unlock_irqrestore(&lock, flags);
	return err;
}

static void bad_early(bool all)
{
	struct kdtl_msg msg;

	rcu_read_lock();
	if (!all)
		rcu_read_unlock();
	kdtl_read(session, &msg, sizeof(msg), false); /* BAD */
	if (all)
		rcu_read_unlock();
}

static void bad_work(struct irq_work *unused)
{
	kdtl_stop(session); /* BAD */
}

static enum hrtimer_restart bad_timer(struct hrtimer *t)
{
	if (kdtl_wait(session, HZ) == 1) /* BAD */
		return HRTIMER_RESTART;
	return HRTIMER_NORESTART;
}

static void bad_wake(void *unused)
{
	kdtl_session_close(session); /* BAD */
}

static void bad_later_wake(void *unused)
{
	kdtl_flush(session); /* BAD */
}

static void good_wake(void *unused)
{
	kdtl_wait(session, 0);
}

static void create(void)
{
	static const struct kdtl_session_attr attr = { .aux_pages = 1, .wake = bad_wake };
	const struct kdtl_session_attr good = { .wake = good_wake };
	struct kdtl_session_attr later = {};

	later.wake = bad_later_wake;
	kdtl_session_create(&attr);
	kdtl_session_create(&good);
	kdtl_session_create(&later);
}

static void set_up(void)
{
	init_irq_work(&work, bad_work);
	timer.function = bad_timer;
}

static int good_lock(void)
{
	struct kdtl_aux_info info;
	struct kdtl_msg msg;
	int err;

	spin_lock(&lock);
	err = kdtl_wait(session, 0);
	if (!err)
		err = kdtl_read(session, &msg, sizeof(msg), true);
	kdtl_aux_info(session, 0, &info);
	spin_unlock(&lock);
	if (err < 0)
		kdtl_stop(session);
	return err;
}

static void good_work(struct irq_work *unused)
{
	const void *span;
	ssize_t len = kdtl_aux_peek(session, 0, &span);

	if (len > 0)
		kdtl_aux_consume(session, 0, len);
}

static void good_set_up(void)
{
	init_irq_work(&work, good_work);
	kdtl_start(session);
}
