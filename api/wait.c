// SPDX-License-Identifier: GPL-2.0
/*
 * Waking the reader, and waiting
 *
 * Entries are written where nobody may be woken (under the runqueue lock, in
 * hard irq), so the writer queues an irq_work, at most one in flight per CPU,
 * and that completes the session's completion.
 *
 * No wake-up is lost: kdtl_session_wake() sets pending before it completes,
 * and a waiter is on the completion's queue before it looks at pending.  No
 * count piles up: ours is at most one, and who takes pending takes it along.
 */
#define pr_fmt(fmt) "kdtl: " fmt

#include <linux/export.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/swait.h>

#include "../core/compat.h"
#include "../core/session.h"
#include "../core/wake.h"

/* Take a message.  What woke us for the last one must not end the next wait. */
static bool kdtl_take_msg(struct kdtl_session *s, struct kdtl_msg *msg)
{
	bool last;

	if (!kdtl_msgq_get(&s->msgs, msg, &last))
		return false;
	if (last)
		kdtl_session_take_wake(s);
	return true;
}

/* Is there a message, or has any CPU enough unread data?  No more will come after stop. */
static bool kdtl_session_readable(struct kdtl_session *s)
{
	const bool started = READ_ONCE(s->state) == KDTL_STARTED;
	struct kdtl_aux *aux;
	u64 tail;
	int cpu;

	if (!kdtl_msgq_empty(&s->msgs))
		return true;
	if (s->layout.overwrite)
		return false;
	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux)
			continue;
		/* [aux.T] tail, then head: so that this head is not before this tail. */
		tail = kdtl_u64_acquire(&aux->tail);
		if (kdtl_u64_read(&aux->sink.head) - tail >= (started ? aux->watermark : 1))
			return true;
	}
	return false;
}

enum kdtl_wait_end {
	KDTL_WAIT_ON,
	KDTL_WAIT_CLOSED,
	KDTL_WAIT_READY,
	KDTL_WAIT_OTHER,
};

/*
 * Take a count.  It is a wake-up's if that came since the look at pending: so no
 * wake-up may come while we look which it is.
 */
static enum kdtl_wait_end kdtl_take_count(struct kdtl_session *s)
{
	enum kdtl_wait_end end = KDTL_WAIT_ON;
	unsigned long flags;

	if (!completion_done(s->done))
		return KDTL_WAIT_ON;
	raw_spin_lock_irqsave(&s->wake_lock, flags);
	if (kdtl_take_pending(s))
		end = KDTL_WAIT_READY;
	else if (try_wait_for_completion(s->done))
		end = KDTL_WAIT_OTHER;
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
	return end;
}

/*
 * What a waiter looks at, each time it is woken.  With @msg only a message is
 * worth it, and is taken at once; without, anything is.  Each stop since there
 * had been @stops ends it, whoever took the wake-up.
 */
static enum kdtl_wait_end kdtl_wait_over(struct kdtl_session *s,
					 struct kdtl_msg *msg, unsigned int stops)
{
	enum kdtl_wait_end end;

	if (READ_ONCE(s->closing))
		return KDTL_WAIT_CLOSED;
	if (msg && kdtl_take_msg(s, msg))
		return KDTL_WAIT_READY;
	if (kdtl_session_take_wake(s) || READ_ONCE(s->stops) != stops ||
	    (!msg && kdtl_session_readable(s)))
		end = KDTL_WAIT_READY;
	else
		end = kdtl_take_count(s);
	/* What the wake-up was for may have come since we looked for a message. */
	if (msg && end == KDTL_WAIT_READY && !kdtl_take_msg(s, msg))
		end = KDTL_WAIT_OTHER;
	if (end != KDTL_WAIT_ON)
		return end;
	/* kthread_stop() and _park() wake the thread, and complete nothing. */
	if (current->flags & PF_KTHREAD && (kthread_should_stop() || kthread_should_park()))
		return KDTL_WAIT_OTHER;
	return KDTL_WAIT_ON;
}

/* Sleep until kdtl_wait_over() says why not. */
static int kdtl_wait_for(struct kdtl_session *s, struct kdtl_msg *msg, long timeout)
{
	const unsigned int stops = READ_ONCE(s->stops);
	enum kdtl_wait_end end = KDTL_WAIT_ON;
	long left = 0;

	/* [wake.Q] On the queue first, then a look: the waker does it the other way. */
	if (timeout)
		left = swait_event_interruptible_timeout_exclusive(s->done->wait,
				(end = kdtl_wait_over(s, msg, stops)) != KDTL_WAIT_ON,
				timeout);
	else
		end = kdtl_wait_over(s, msg, stops);

	/* A wake-up wakes one: let the next waiter see what it finds. */
	if (end != KDTL_WAIT_ON)
		swake_up_one(&s->done->wait);

	switch (end) {
	case KDTL_WAIT_CLOSED:
		return -ESHUTDOWN;
	case KDTL_WAIT_READY:
		return 1;
	case KDTL_WAIT_OTHER:
		return 0;
	case KDTL_WAIT_ON:
		break;
	}
	return left < 0 ? left : -ETIMEDOUT;
}

/**
 * kdtl_wait() - sleep until it is worth reading
 * @s: the session
 * @timeout: in jiffies; 0: only look; MAX_SCHEDULE_TIMEOUT: for ever
 *
 * Returns when a CPU has a watermark of unread bytes, has lost entries, and when
 * the session is stopped or unloaded, which ends all waits.  It looks for unread
 * data first, so none is slept over; a reader that leaves a watermark of bytes
 * unread, or anything after a stop, does not sleep.
 *
 * Context: task, may sleep (not if @timeout is 0).
 * Return:
 * * 1: there is something
 * * 0: woken without: someone else completed the completion, kthread_stop() or
 *   kthread_park()
 * * -ETIMEDOUT: nothing came
 * * -EINVAL: @timeout is below 0
 * * -ERESTARTSYS: a signal is pending
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_wait(struct kdtl_session *s, long timeout)
{
	int ret;

	if (timeout < 0) {
		pr_warn_ratelimited("%s: wait of %ld jiffies: must be 0 or more\n",
				    s->owner, timeout);
		return -EINVAL;
	}
	/* Who always finds something never sleeps, and may be all that runs here. */
	if (timeout)
		cond_resched();
	ret = kdtl_session_hold(s);
	if (ret)
		return ret;
	if (kdtl_session_readable(s)) {
		kdtl_session_take_wake(s);
		ret = 1;
	} else {
		ret = kdtl_wait_for(s, NULL, timeout);
	}
	kdtl_session_release(s);
	return ret;
}
EXPORT_SYMBOL_NS_GPL(kdtl_wait, KDTL_NS);

/**
 * kdtl_read() - take one message
 * @s: the session
 * @msg: filled in
 * @size: of @msg, sizeof(struct kdtl_msg)
 * @noblock: do not wait for one
 *
 * Messages come in the order in which they were posted; those that find the
 * queue full are dropped, and the next one that fits tells how many.  A read
 * that finds a message leaves no completion count behind.  A session without
 * message pages never has one: a read waits for the next wake-up.
 *
 * perfmon2: pfmk_read().
 *
 * Context: task, may sleep (not if @noblock).
 * Return:
 * * sizeof(struct kdtl_msg)
 * * 0: woken without one: the session was stopped, there is data but its message
 *   was dropped, someone else completed the completion, kthread_stop() or
 *   kthread_park()
 * * -EAGAIN: @noblock, and there is none
 * * -EINVAL: @msg is NULL or @size is not its size
 * * -ERESTARTSYS: a signal is pending
 * * -ESHUTDOWN: the session is being closed
 */
ssize_t kdtl_read(struct kdtl_session *s, struct kdtl_msg *msg, size_t size,
		  bool noblock)
{
	int ret;

	if (!msg || size != sizeof(*msg)) {
		pr_warn_ratelimited("%s: read of %zu bytes to %s, must be sizeof(struct kdtl_msg), %zu, to somewhere\n",
				    s->owner, size, msg ? "a message" : "NULL", sizeof(*msg));
		return -EINVAL;
	}
	ret = kdtl_session_hold(s);
	if (ret)
		return ret;

	if (!noblock) {
		/* As in kdtl_wait(). */
		cond_resched();
		ret = kdtl_wait_for(s, msg, MAX_SCHEDULE_TIMEOUT);
	} else {
		ret = kdtl_take_msg(s, msg) ? 1 : -EAGAIN;
	}
	kdtl_session_release(s);
	return ret == 1 ? sizeof(*msg) : ret;
}
EXPORT_SYMBOL_NS_GPL(kdtl_read, KDTL_NS);
