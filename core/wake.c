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
 * the completion's queue, so that others who complete it can end their sleep.
 * While pending has KDTL_PENDING_NEW, one count of the completion belongs to it.
 *
 * Unlike complete(), a wake-up leaves the sleeper on the queue, until the sleeper itself leaves it.
 * So once no verb waits any more, whoever is on the queue sleeps in the caller's own
 * wait_for_completion(), even if it was woken and has not run since.
 *
 * A kdtl_read() that waits for messages of chosen types may take a wake-up that was for
 * data, of which no message tells.  So it leaves KDTL_PENDING_DATA to a kdtl_wait().
 *
 * A waiter looks for unread data too, but not on all CPUs: a wake-up puts its CPU's
 * area into kdtl_session::due, and a waiter takes it out when that data has been read.
 *
 * The lock of the completion's queue protects all of this.  So a wake-up is one step,
 * and takes no other lock than complete() does.
 */
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/swait.h>

#include "compat.h"
#include "session.h"
#include "wake.h"

/* Take a count, under the lock.  Returns whether there was one; that of complete_all() stays. */
static bool kdtl_take_count(struct completion *done)
{
	if (!done->done)
		return false;
	if (likely(done->done != UINT_MAX))
		WRITE_ONCE(done->done, done->done - 1);
	return true;
}

/*
 * Wake the first sleeper that is not awake, if there is one.  Under the lock.  Those before it were
 * woken and have not run yet, maybe because others have their CPUs.
 */
static __always_inline void kdtl_wake_one(const struct completion *done)
{
	const struct swait_queue *each;

	list_for_each_entry(each, &done->wait.task_list, task_list) {
		if (wake_up_process(each->task))
			break;
	}
}

/* Do what complete() does, under the lock.  Inline, because each wake-up comes here. */
static __always_inline void kdtl_complete_locked(struct kdtl_session *s, struct completion *done)
{
	/* If the last wake-up's count is still there, add none: counts must not pile up. */
	if (likely(!(s->pending & KDTL_PENDING_NEW) || !done->done) &&
	    likely(done->done != UINT_MAX))
		WRITE_ONCE(done->done, done->done + 1);
	WRITE_ONCE(s->pending, KDTL_PENDING_ALL);
	kdtl_wake_one(done);
}

/* Put the area into kdtl_session::due.  Under the lock. */
static void kdtl_due_locked(struct kdtl_session *s, struct kdtl_aux *aux)
{
	if (hlist_unhashed(&aux->due))
		hlist_add_head(&aux->due, &s->due);
}

/* The caller's wake() may complete the completion, so it is not called under its lock. */
static noinline void kdtl_call_wake(struct kdtl_session *s)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&s->wake_lock, flags);
	if (s->wake)
		s->wake(s->wake_data);
	raw_spin_unlock_irqrestore(&s->wake_lock, flags);
}

/**
 * kdtl_session_wake() - tell the reader that there is something to read
 * @s: the session
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 */
void kdtl_session_wake(struct kdtl_session *s)
{
	struct completion *done = s->done;
	unsigned long flags;

	raw_spin_lock_irqsave(&done->wait.lock, flags);
	kdtl_complete_locked(s, done);
	raw_spin_unlock_irqrestore(&done->wait.lock, flags);
	if (READ_ONCE(s->wake))
		kdtl_call_wake(s);
}

/**
 * kdtl_session_wake_for() - tell the reader that a CPU has something to read
 * @aux: the CPU's area
 *
 * Context: hard irq, on the area's CPU.
 */
void kdtl_session_wake_for(struct kdtl_aux *aux)
{
	struct kdtl_session *s = aux->session;
	struct completion *done = s->done;

	raw_spin_lock(&done->wait.lock);
	kdtl_due_locked(s, aux);
	kdtl_complete_locked(s, done);
	raw_spin_unlock(&done->wait.lock);
	if (READ_ONCE(s->wake))
		kdtl_call_wake(s);
}

/**
 * kdtl_session_due() - have the waiters look at a CPU until its data has been read
 * @aux: the CPU's area
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 */
void kdtl_session_due(struct kdtl_aux *aux)
{
	struct kdtl_session *s = aux->session;
	unsigned long flags;

	raw_spin_lock_irqsave(&s->done->wait.lock, flags);
	kdtl_due_locked(s, aux);
	raw_spin_unlock_irqrestore(&s->done->wait.lock, flags);
}

/**
 * kdtl_session_readable() - does a CPU have enough unread data to end a wait?
 * @s: the session
 *
 * A watermark of unread data is enough.  While the session is stopped no more data comes,
 * so then any amount is.
 *
 * If a CPU has a watermark of data unread, its writer has passed a wake-up position that
 * the reader has not reached yet, so its area is in kdtl_session::due.  A reader that reads
 * everything empties that list, so each wake-up is looked at once.
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 * Return: whether one has.
 */
bool kdtl_session_readable(struct kdtl_session *s)
{
	struct hlist_node *next;
	struct kdtl_aux *aux;
	unsigned long flags;
	bool found = false;
	u64 enough, tail;

	/* A wake-up that comes now wakes the waiter, which is on the queue. */
	if (hlist_empty(&s->due))
		return false;
	raw_spin_lock_irqsave(&s->done->wait.lock, flags);
	/* A stop first changes the state, then puts the areas into the list. */
	enough = READ_ONCE(s->state) == KDTL_STARTED ? s->layout.watermark : 1;
	hlist_for_each_entry_safe(aux, next, &s->due, due) {
		/* [aux.T] Read tail, then head, so that this head is not before this tail. */
		tail = kdtl_u64_acquire(&aux->tail);
		found = kdtl_u64_read(&aux->sink.at->head) - tail >= enough;
		if (found)
			break;
		/* Has the last wake-up position been read?  If it just moves, a wake-up comes. */
		if ((s64)(data_race(aux->next_wake) - aux->watermark - tail) <= 0)
			hlist_del_init(&aux->due);
	}
	raw_spin_unlock_irqrestore(&s->done->wait.lock, flags);
	return found;
}

/**
 * kdtl_session_take_wake() - take the wake-ups since the last call, with their count
 * @s: the session
 * @bits: what to take of them: KDTL_PENDING_NEW or KDTL_PENDING_ALL
 * @wait: leaves the queue if there was a KDTL_PENDING_NEW; may be NULL
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 * Return: which of @bits there were.
 */
u8 kdtl_session_take_wake(struct kdtl_session *s, u8 bits, struct swait_queue *wait)
{
	struct completion *done = s->done;
	unsigned long flags;
	u8 taken;

	raw_spin_lock_irqsave(&done->wait.lock, flags);
	taken = s->pending & bits;
	WRITE_ONCE(s->pending, s->pending & ~bits);
	if (taken & KDTL_PENDING_NEW) {
		kdtl_take_count(done);
		if (wait)
			list_del_init(&wait->task_list);
	}
	raw_spin_unlock_irqrestore(&done->wait.lock, flags);
	return taken;
}

/**
 * kdtl_session_wake_others() - have all that wait now look again
 * @s: the session
 *
 * To wake one of them would not do: a kdtl_read() that finds only a reason for a kdtl_wait()
 * goes on sleeping and wakes nobody.  They are woken one at a time, so that interrupts need not
 * stay off until all are woken.
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 */
void kdtl_session_wake_others(struct kdtl_session *s)
{
	struct swait_queue_head *queue = &s->done->wait;
	struct swait_queue *each;
	unsigned long flags;
	LIST_HEAD(now);

	/* swake_up_all() enables interrupts, also for a caller that had disabled them. */
	raw_spin_lock_irqsave(&queue->lock, flags);
	list_splice_init(&queue->task_list, &now);
	while (!list_empty(&now)) {
		each = list_first_entry(&now, struct swait_queue, task_list);
		wake_up_process(each->task);
		list_move_tail(&each->task_list, &queue->task_list);
		raw_spin_unlock_irqrestore(&queue->lock, flags);
		/* A waiter leaves this list under the same lock. */
		raw_spin_lock_irqsave(&queue->lock, flags);
	}
	raw_spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * kdtl_session_end_wakes() - leave nothing of the session in the completion
 * @s: the session, closed; nothing wakes any more, and no verb waits
 * @shared: another session has the same completion
 *
 * A count that nobody has waited for would end the first wait of the next session with this
 * completion, as if somebody else had completed it.  If the caller sleeps in its own
 * wait_for_completion(), there must be one: a verb may have taken the last wake-up's.  If the
 * caller only ever waits that way, a count in a shared completion may be the other session's.
 *
 * Context: any that may take a raw spinlock, hard irq at most.
 */
void kdtl_session_end_wakes(struct kdtl_session *s, bool shared)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&s->done->wait.lock, flags);
	if (swait_active(&s->done->wait))
		kdtl_complete_locked(s, s->done);
	else if (s->pending & KDTL_PENDING_NEW && (s->waited || !shared))
		kdtl_take_count(s->done);
	WRITE_ONCE(s->pending, 0);
	raw_spin_unlock_irqrestore(&s->done->wait.lock, flags);
}

/**
 * kdtl_session_unread() - has a CPU any unread data?
 * @s: the session
 *
 * Context: any.
 * Return: whether one has.
 */
bool kdtl_session_unread(struct kdtl_session *s)
{
	struct kdtl_aux *aux;
	u64 tail;
	int cpu;

	for_each_cpu(cpu, s->cpus) {
		aux = kdtl_session_aux(s, cpu);
		if (!aux)
			continue;
		tail = kdtl_u64_acquire(&aux->tail);	/* [aux.T] */
		if (kdtl_u64_read(&aux->sink.at->head) != tail)
			return true;
	}
	return false;
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

	if (!READ_ONCE(s->done->done))
		return false;
	raw_spin_lock_irqsave(&s->done->wait.lock, flags);
	foreign = !(s->pending & KDTL_PENDING_NEW) && kdtl_take_count(s->done);
	raw_spin_unlock_irqrestore(&s->done->wait.lock, flags);
	return foreign;
}
