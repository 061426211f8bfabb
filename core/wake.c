// SPDX-License-Identifier: GPL-2.0
/*
 * Waking a session's reader
 *
 * Entries are written where nobody may be woken: under the runqueue lock, or in
 * hard irq.  So the writer queues an irq_work, at most one in flight per CPU,
 * and that wakes the reader.
 *
 * Each wake-up sets kdtl_session::pending, completes the completion and calls
 * the caller's wake().  kdtl_wait() and kdtl_read() look at pending and sleep on
 * the completion's queue, because whoever else completes it ends their sleep
 * too.  While pending is set, one count of the completion belongs to it.
 */
#include "session.h"
#include "wake.h"

/**
 * kdtl_session_wake() - tell the reader that there is something to read
 * @s: the session
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 */
void kdtl_session_wake(struct kdtl_session *s)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&s->wake_lock, flags);
	/* Replace the last wake-up's count if it is still there: counts must not pile up. */
	if (s->pending)
		try_wait_for_completion(s->done);
	s->pending = true;
	complete(s->done);
	if (s->wake)
		s->wake(s->wake_data);
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
}

/**
 * kdtl_session_take_wake() - take the wake-ups since the last call, with their count
 * @s: the session
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 * Return: whether there was a wake-up.
 */
bool kdtl_session_take_wake(struct kdtl_session *s)
{
	unsigned long flags;
	bool pending;

	raw_spin_lock_irqsave(&s->wake_lock, flags);
	pending = s->pending;
	s->pending = false;
	if (pending)
		try_wait_for_completion(s->done);
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
	return pending;
}

/**
 * kdtl_session_take_foreign() - take a count that is not a wake-up's
 * @s: the session
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 * Return: whether there was one: somebody else has completed the completion.
 */
bool kdtl_session_take_foreign(struct kdtl_session *s)
{
	unsigned long flags;
	bool foreign;

	raw_spin_lock_irqsave(&s->wake_lock, flags);
	foreign = !s->pending && try_wait_for_completion(s->done);
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
	return foreign;
}
