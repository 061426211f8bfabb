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
#include <linux/export.h>
#include <linux/kthread.h>
#include <linux/sched/signal.h>
#include <linux/swait.h>

#include "../core/compat.h"
#include "../core/session.h"

/**
 * kdtl_session_wake() - there is something for the reader
 * @s: the session
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 */
void kdtl_session_wake(struct kdtl_session *s)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&s->wake_lock, flags);
	s->pending = true;
	if (!completion_done(s->done)) {
		complete(s->done);
		s->own_wake = true;
	}
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
}

/* Was there a wake-up?  Then it is taken, with the count it left behind. */
static bool kdtl_take_wake(struct kdtl_session *s)
{
	unsigned long flags;
	bool pending;

	raw_spin_lock_irqsave(&s->wake_lock, flags);
	pending = s->pending;
	s->pending = false;
	if (pending && s->own_wake) {
		try_wait_for_completion(s->done);
		s->own_wake = false;
	}
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
	return pending;
}

/* Has any CPU enough unread data? */
static bool kdtl_session_readable(struct kdtl_session *s)
{
	struct kdtl_aux *aux;
	u64 tail;
	int cpu;

	if (s->layout.overwrite)
		return false;
	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux)
			continue;
		/* tail, then head: so that this head is not before this tail. */
		tail = smp_load_acquire(&aux->tail);
		if (READ_ONCE(aux->sink.head) - tail >= aux->watermark)
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

static enum kdtl_wait_end kdtl_wait_over(struct kdtl_session *s)
{
	if (READ_ONCE(s->closing))
		return KDTL_WAIT_CLOSED;
	if (kdtl_take_wake(s))
		return KDTL_WAIT_READY;
	if (try_wait_for_completion(s->done))
		return KDTL_WAIT_OTHER;
	/* kthread_stop() wakes the thread, and completes nothing. */
	if (current->flags & PF_KTHREAD && kthread_should_stop())
		return KDTL_WAIT_OTHER;
	return KDTL_WAIT_ON;
}

/**
 * kdtl_wait() - sleep until it is worth reading
 * @s: the session
 * @timeout: in jiffies; 0: only look; MAX_SCHEDULE_TIMEOUT: for ever
 *
 * Returns when a CPU has a watermark of unread bytes, has lost entries, when
 * the session was stopped with whatever is left, and at the end of the wait.
 * It looks for unread data first, so none is slept over; a reader that leaves
 * a watermark of bytes unread does not sleep.
 *
 * Context: task, may sleep (not if @timeout is 0).
 * Return: 1: there is something; or
 *
 * * 0: woken without: someone else completed the completion, or kthread_stop()
 * * -ETIMEDOUT: nothing came
 * * -ERESTARTSYS: a signal is pending
 * * -ESHUTDOWN: the session is being closed
 */
int kdtl_wait(struct kdtl_session *s, long timeout)
{
	enum kdtl_wait_end end = KDTL_WAIT_ON;
	long left;
	int err;

	err = kdtl_session_hold(s);
	if (err)
		return err;

	if (kdtl_session_readable(s)) {
		kdtl_take_wake(s);
		kdtl_session_release(s);
		return 1;
	}

	if (timeout)
		left = swait_event_interruptible_timeout_exclusive(s->done->wait,
				(end = kdtl_wait_over(s)) != KDTL_WAIT_ON,
				timeout);
	else
		left = (end = kdtl_wait_over(s)) != KDTL_WAIT_ON;
	kdtl_session_release(s);

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
	return left ? left : -ETIMEDOUT;
}
EXPORT_SYMBOL_NS_GPL(kdtl_wait, KDTL_NS);
