// SPDX-License-Identifier: GPL-2.0
/*
 * Waiting for something to read
 *
 * No wake-up is lost: kdtl_session_wake() sets pending before it wakes, and a waiter is
 * on the completion's queue before it looks at pending.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/delay.h>
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#ifdef CONFIG_KDTL_COUNTERS
#include <linux/kdtl_counters.h>
#endif
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/swait.h>

#include "../core/compat.h"
#include "../core/counting.h"
#include "../core/wake.h"
#include "reader.h"
#include "session.h"

/*
 * Most looks find no wake-up, so look without the lock first.  A wake-up that comes now wakes the
 * waiter, which is on the queue.
 */
static __always_inline u8 kdtl_take_wake(struct kdtl_session *s, u8 bits,
					 struct swait_queue *wait)
{
	return READ_ONCE(s->pending) ? kdtl_session_take_wake(s, bits, wait) : 0;
}

#ifdef CONFIG_KDTL_COUNTERS
/*
 * What a verb takes of a wake-up.  A kdtl_read() in a session that chose its types of messages
 * leaves the data to a kdtl_wait(): the wake-up may have been for new data, of which no message
 * told.
 */
static u8 kdtl_wakes_taken(struct kdtl_session *s, bool reads)
{
	return reads && !kdtl_msgq_takes_all(&s->msgs) ? KDTL_PENDING_NEW : KDTL_PENDING_ALL;
}

/*
 * Take a message.  With the last message also take its wake-up, which must not end the next wait.
 */
static noinline bool kdtl_take_msg(struct kdtl_session *s, struct kdtl_msg *msg,
				   struct swait_queue *wait)
{
	const u8 takes = kdtl_wakes_taken(s, true);
	bool last;

	if (!kdtl_msgq_get(&s->msgs, msg, &last))
		return false;
	if (last && kdtl_take_wake(s, takes, wait) && takes != KDTL_PENDING_ALL)
		kdtl_session_wake_others(s);
	return true;
}
#else
/* Nobody waits for a message: all waiters wait for data. */
struct kdtl_msg;

static u8 kdtl_wakes_taken(struct kdtl_session *s, bool reads)
{
	return KDTL_PENDING_ALL;
}

static bool kdtl_take_msg(struct kdtl_session *s, struct kdtl_msg *msg,
			  struct swait_queue *wait)
{
	return false;
}
#endif

/* Is there a message, or does a CPU have enough unread data? */
static bool kdtl_worth_reading(struct kdtl_session *s)
{
	return !kdtl_msgs_empty(s) ||
	       (!kdtl_reader_none(s) && kdtl_session_readable(s));
}

/*
 * Decide whether a wait is over: before the waiter sleeps, and each time it is woken.
 * With @msg it waits for a message, which is taken at once, otherwise for anything to
 * read.  A stop ends every wait that began before it, so a waiter compares
 * kdtl_session::stops with the value from its beginning, @stops.
 *
 * If a wake-up ends the wait, @wait may have left the queue.
 *
 * Returns -EAGAIN: go on waiting; 1: there is something to read; 0: woken without;
 * -ESHUTDOWN.
 */
static int kdtl_wait_over(struct kdtl_session *s, struct kdtl_msg *msg,
			  unsigned int stops, struct swait_queue *wait)
{
	const u8 takes = kdtl_wakes_taken(s, msg);
	u8 taken;

	if (READ_ONCE(s->closing))
		return -ESHUTDOWN;
	if (msg && kdtl_take_msg(s, msg, wait))
		return 1;
	/* A message may have been posted since, and then the wake-up was for it. */
	taken = kdtl_take_wake(s, takes, msg ? NULL : wait);
	if (taken & KDTL_PENDING_NEW || READ_ONCE(s->stops) != stops) {
		if (!msg || kdtl_take_msg(s, msg, wait))
			return 1;
		if (takes == KDTL_PENDING_ALL || READ_ONCE(s->stops) != stops)
			return 0;
		kdtl_session_wake_others(s);
	}
	/* If everything was read since, a wake-up that a kdtl_read() left says nothing new. */
	if (!msg && (kdtl_worth_reading(s) || (taken && kdtl_session_unread(s))))
		return 1;
	if (kdtl_session_take_foreign(s))
		return 0;
	/* kthread_stop() and kthread_park() wake the thread but complete nothing. */
	if (current->flags & PF_KTHREAD && (kthread_should_stop() || kthread_should_park()))
		return 0;
	return -EAGAIN;
}

/*
 * Set @end to when a wait of @timeout jiffies ends, and return it; NULL: never.
 *
 * The timer for this expires in hard irq (with PREEMPT_RT only for a real-time thread), so
 * that it does not depend on the softirqs of its CPU, see reader.c.
 */
static ktime_t *kdtl_wait_end(long timeout, ktime_t *end)
{
	if (!timeout || timeout == MAX_SCHEDULE_TIMEOUT || timeout >= KTIME_MAX / TICK_NSEC)
		return NULL;
	*end = ktime_add_safe(ktime_get(), (s64)timeout * TICK_NSEC);
	return end;
}

/*
 * The state in which to sleep.  A freezable kernel thread must be frozen while it sleeps: the
 * freezer sends it no signal, unlike a process, so it would keep the machine from suspending.
 */
static int kdtl_wait_state(void)
{
	if ((current->flags & (PF_KTHREAD | PF_NOFREEZE)) == PF_KTHREAD)
		return TASK_INTERRUPTIBLE | TASK_FREEZABLE;
	return TASK_INTERRUPTIBLE;
}

/* Sleep until kdtl_wait_over() ends the wait, and return its reason. */
static int kdtl_wait_for(struct kdtl_session *s, struct kdtl_msg *msg, long timeout)
{
	struct swait_queue_head *queue = &s->done->wait;
	const unsigned int stops = READ_ONCE(s->stops);
	ktime_t end_time, *const until = kdtl_wait_end(timeout, &end_time);
	bool queued = false, late = !timeout;
	DECLARE_SWAITQUEUE(wait);
	long signal = 0;
	int end;

	WRITE_ONCE(s->waited, true);
	/*
	 * [wake.Q] The waiter queues itself, then looks; the waker does the opposite, and
	 * wakes one that is on the queue.  So the last look of a waiter that gives up comes
	 * when it has left the queue: a wake-up that came before is its own, and it stays for
	 * that; one that comes later finds others.
	 */
	while ((end = kdtl_wait_over(s, msg, stops, &wait)) == -EAGAIN && !late && !signal) {
		if (queued) {
			late = !schedule_hrtimeout_range(until, TICK_NSEC, HRTIMER_MODE_ABS);
			if (late)
				finish_swait(queue, &wait);
		} else {
			/* With a signal, it takes the waiter off the queue. */
			signal = prepare_to_swait_event(queue, &wait, kdtl_wait_state());
		}
		queued = !queued;
	}
	/*
	 * Whoever has taken a wake-up has left the queue with it, and is runnable.  A caller that
	 * only looks was never queued; it may be about to sleep, so keep its state.
	 */
	if (queued || !list_empty_careful(&wait.task_list))
		finish_swait(queue, &wait);
	if (end == -EAGAIN)
		return signal ?: -ETIMEDOUT;
	/* A wake-up wakes one waiter only, but the reason may concern others too. */
	if (swq_has_sleeper(queue))
		kdtl_session_wake_others(s);
	return end;
}

/**
 * kdtl_wait() - sleep until it is worth reading
 * @s: the session
 * @timeout: in jiffies; 0: only look; MAX_SCHEDULE_TIMEOUT: for ever
 *
 * Returns when a CPU has a watermark of unread bytes or has lost entries, and
 * when the session is stopped or unloaded, which ends all waits.  It looks for
 * unread data before it sleeps.  So it returns at once as long as a CPU has a
 * watermark of unread bytes or, in a stopped session, any unread bytes.  (The CPU signals it
 * by an interrupt to itself, or with its next tick if it cannot interrupt itself.)  A thread
 * that calls it again and again, and so never sleeps, still lets other tasks run and does
 * not hold up RCU.  A kernel thread that has called set_freezable() is frozen while it
 * sleeps here or in kdtl_read() when the machine suspends, so it must hold no lock.
 *
 * Context: task, may sleep (not if @timeout is 0).
 * Return:
 * * 1: there is something to read
 * * 0: woken although there is nothing: somebody else completed the completion, or
 *   kthread_stop() or kthread_park() was called
 * * -ETIMEDOUT: nothing came
 * * -EINVAL: @timeout is below 0, or @s is NULL
 * * -ERESTARTSYS: a signal is pending
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_wait(struct kdtl_session *s, long timeout)
{
	int ret = kdtl_session_check(s);

	if (!ret && timeout)
		ret = kdtl_may_sleep(s->owner, __func__);
	if (ret)
		return ret;
	if (timeout < 0) {
		pr_warn_ratelimited("%s: wait of %ld jiffies: must be 0 or more\n",
				    s->owner, timeout);
		return -EINVAL;
	}
	/* A reader that always finds something never sleeps: let other tasks and RCU go on. */
	if (timeout)
		cond_resched_tasks_rcu_qs();
	ret = kdtl_session_hold(s);
	if (ret)
		return ret;
	ret = kdtl_wait_for(s, NULL, timeout);
	kdtl_session_release(s);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(kdtl_wait, KDTL_NS);

#ifdef CONFIG_KDTL_COUNTERS
/**
 * kdtl_read() - take one message
 * @s: the session
 * @msg: filled in
 * @size: of @msg, sizeof(struct kdtl_msg)
 * @noblock: return if there is none
 *
 * Messages come in the order in which they were posted.  If the queue is full, a new
 * message is dropped; the next one that fits says how many were.  A read that
 * finds a message leaves no count in the completion.  A session without message
 * pages has no messages, so a read waits for the next wake-up.  In a session that
 * chose its types of messages (&struct kdtl_session_attr.msg_types), new data does not
 * end a read.
 *
 * perfmon2: pfmk_read().
 *
 * Context: task, may sleep (not if @noblock).
 * Return:
 * * sizeof(struct kdtl_msg)
 * * 0: woken without a message: the session was stopped; or there is data, but
 *   its message was dropped; or somebody else completed the completion; or
 *   kthread_stop() or kthread_park() was called
 * * -EAGAIN: there is none, and @noblock is set
 * * -EINVAL: @s or @msg is NULL, or @size is not its size
 * * -ERESTARTSYS: a signal is pending
 * * -ESHUTDOWN: the session is being closed
 */
ssize_t kdtl_read(struct kdtl_session *s, struct kdtl_msg *msg, size_t size,
		  bool noblock)
{
	int ret = kdtl_session_check(s);

	if (!ret && !noblock)
		ret = kdtl_may_sleep(s->owner, __func__);
	if (ret)
		return ret;
	if (!msg || size != sizeof(*msg)) {
		pr_warn_ratelimited("%s: read of %zu bytes to %s: must be sizeof(struct kdtl_msg), %zu, to a message\n",
				    s->owner, size, msg ? "a message" : "NULL", sizeof(*msg));
		return -EINVAL;
	}
	ret = kdtl_session_hold(s);
	if (ret)
		return ret;

	if (!noblock) {
		/* Let other tasks and RCU go on, as in kdtl_wait(). */
		cond_resched_tasks_rcu_qs();
		ret = kdtl_wait_for(s, msg, MAX_SCHEDULE_TIMEOUT);
	} else {
		ret = kdtl_take_msg(s, msg, NULL) ? 1 : -EAGAIN;
	}
	kdtl_session_release(s);
	return ret == 1 ? sizeof(*msg) : ret;
}
EXPORT_SYMBOL_NS_GPL(kdtl_read, KDTL_NS);
#endif

/* Watch the last module that went, for kdtl_rcu_looks more seconds: it waits for RCU. */
static DEFINE_SPINLOCK(kdtl_rcu_lock);
static char kdtl_rcu_owner[KDTL_OWNER_LEN];
static unsigned long kdtl_rcu_gp;
static unsigned int kdtl_rcu_looks;

#define KDTL_RCU_LOOKS	3

static void kdtl_rcu_say(const char *owner)
{
	pr_warn_ratelimited("%s: waits for RCU, which waits for each CPU\n", owner);
	kdtl_cpus_say_who(owner);
}

static void kdtl_rcu_look(struct work_struct *work);
static DECLARE_DELAYED_WORK(kdtl_rcu_work, kdtl_rcu_look);

static void kdtl_rcu_look(struct work_struct *work)
{
	char owner[KDTL_OWNER_LEN];
	bool gets_on, more = false;

	spin_lock(&kdtl_rcu_lock);
	strscpy(owner, kdtl_rcu_owner, sizeof(owner));
	gets_on = poll_state_synchronize_rcu(kdtl_rcu_gp);
	if (gets_on) {
		kdtl_rcu_gp = start_poll_synchronize_rcu();
		more = --kdtl_rcu_looks;
	} else {
		kdtl_rcu_looks = 0;
	}
	spin_unlock(&kdtl_rcu_lock);
	if (!gets_on)
		kdtl_rcu_say(owner);
	else if (more)
		queue_delayed_work(system_dfl_wq, &kdtl_rcu_work, HZ);
}

/* Stop watching: kdtl itself goes, so no other module is about to wait. */
void kdtl_rcu_await_end(void)
{
	cancel_delayed_work_sync(&kdtl_rcu_work);
}

/**
 * kdtl_rcu_await() - wait for RCU for a second at most, then say for whom it waits
 * @owner: who is about to wait for RCU, for the log
 *
 * A module that goes waits for RCU several times in the kernel's own functions, which log nothing,
 * and RCU may have to wait until a real-time task lets others run on its CPU.  If RCU makes
 * progress now, a work item checks each second whether it still does, and a call for the same owner
 * meanwhile returns at once, so that a module which closes many sessions waits once.  When a module
 * itself waits, kdtl_late_begin() does this.
 *
 * Context: task, may sleep.
 */
void kdtl_rcu_await(const char *owner)
{
	const unsigned long late = jiffies + HZ;
	unsigned long gp;
	bool watched;

	might_sleep();
	spin_lock(&kdtl_rcu_lock);
	watched = kdtl_rcu_looks && !strcmp(kdtl_rcu_owner, owner);
	if (watched)
		kdtl_rcu_looks = KDTL_RCU_LOOKS;
	spin_unlock(&kdtl_rcu_lock);
	if (watched)
		return;
	gp = start_poll_synchronize_rcu();
	while (!poll_state_synchronize_rcu(gp)) {
		usleep_range(1000, 2000);
		if (time_before(jiffies, late))
			continue;
		kdtl_rcu_say(owner);
		return;
	}
	spin_lock(&kdtl_rcu_lock);
	strscpy(kdtl_rcu_owner, owner, sizeof(kdtl_rcu_owner));
	kdtl_rcu_gp = start_poll_synchronize_rcu();
	kdtl_rcu_looks = KDTL_RCU_LOOKS;
	spin_unlock(&kdtl_rcu_lock);
	mod_delayed_work(system_dfl_wq, &kdtl_rcu_work, HZ);
}
EXPORT_SYMBOL_NS_GPL(kdtl_rcu_await, KDTL_NS);
