// SPDX-License-Identifier: GPL-2.0
/* Waking a session's reader; the other half is in api/wait.c. */
#include "session.h"
#include "wake.h"

/*
 * Is a count left, for someone who will look at the areas only after taking it?
 *
 * [wake.D] A look without the queue's lock may find a count that was being taken
 * by someone who had looked already: his store is seen late, our head by him too.
 * completion_done() takes the lock after such a look, so a second look sees the
 * store if he was there before; and if he was not, he sees our head.
 */
static bool kdtl_completion_kept(struct completion *done)
{
	return completion_done(done) && completion_done(done);
}

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
	/* A count that is not ours, but of a session that shares it, is taken for that. */
	if (!s->own_wake || !kdtl_completion_kept(s->done)) {
		complete(s->done);
		s->own_wake = true;
	}
	if (s->wake)
		s->wake(s->wake_data);
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
}

bool kdtl_take_pending(struct kdtl_session *s)
{
	const bool pending = s->pending;

	lockdep_assert_held(&s->wake_lock);
	s->pending = false;
	if (pending && s->own_wake) {
		try_wait_for_completion(s->done);
		s->own_wake = false;
	}
	return pending;
}

/**
 * kdtl_session_take_wake() - was there a wake-up?
 * @s: the session
 *
 * Then it is taken, with the count that it left behind.
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 * Return: whether there was one.
 */
bool kdtl_session_take_wake(struct kdtl_session *s)
{
	unsigned long flags;
	bool pending;

	raw_spin_lock_irqsave(&s->wake_lock, flags);
	pending = kdtl_take_pending(s);
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
	return pending;
}
