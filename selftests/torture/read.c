// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_torture: readers, and what they check
 *
 * In a steady session nothing is ever missing but what was counted as lost.  After entries have
 * been read, the gaps in their numbers are not more than has been lost by then, and not less than
 * had been lost before the last of them was made.
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sched/clock.h>
#include <linux/string.h>

#include "torture.h"

/* For how long a reader that chases a writer waits for an entry. */
#define TORTURE_CHASE_NS	(300 * NSEC_PER_USEC)

/* After this many timer interrupts on a CPU, wake-ups that were raised there before are done. */
#define TORTURE_TICKS		3

/* ------------------------------------------------------------------- entries */

/**
 * struct torture_view - a row of entries
 * @slot: the slot of their session
 * @cpu: their CPU
 * @last: see struct torture_reader
 * @gaps: see struct torture_reader
 * @error: what is wrong with them; TORTURE_NR_ERRORS: nothing
 * @bad: index of the first bad entry
 */
struct torture_view {
	struct torture_slot	*slot;
	int			cpu;
	u64			last;
	u64			gaps;
	enum torture_error	error;
	u64			bad;
};

static void torture_see_sched(struct torture_view *v, const struct kdtl_entry *e)
{
	if (kdtl_entry_cpu(e) != v->cpu ||
	    (kdtl_entry_dispatch_reason(e) > KDTL_DISPATCH_PRIV_DOORBELL &&
	     !kdtl_entry_is_throttled(e) && !kdtl_entry_is_idle(e)) ||
	    (kdtl_entry_preempt_reason(e) > KDTL_PREEMPT_HDEC_ADJUNCT &&
	     !strcmp(kdtl_preempt_reason_name(kdtl_entry_preempt_reason(e)), "unknown")) ||
	    (kdtl_entry_pid(e) == 0) != kdtl_entry_is_idle(e) ||
	    kdtl_entry_comm(e)[TASK_COMM_LEN - 1])
		v->error = TORTURE_TORN;
	else if (kdtl_entry_time(e) < v->last)
		v->error = TORTURE_ORDER;
	v->last = kdtl_entry_time(e);
}

static void torture_see_one(struct torture_view *v, const struct kdtl_entry *e)
{
	const u64 seq = torture_entry_seq(e);

	if (!torture_entry_ok(e, v->cpu)) {
		v->error = TORTURE_TORN;
	} else if (seq <= v->last) {
		v->error = TORTURE_ORDER;
	} else {
		if (v->last)
			v->gaps += seq - v->last - 1;
		v->last = seq;
	}
}

static void torture_see(struct torture_view *v, const void *span, u64 nr)
{
	const struct kdtl_entry *e = span;
	u64 i;

	for (i = 0; i < nr && v->error == TORTURE_NR_ERRORS; i++, e++) {
		if (v->slot->flags & TORTURE_SCHED)
			torture_see_sched(v, e);
		else
			torture_see_one(v, e);
		v->bad = i;
	}
}

/* ---------------------------------------------------------------- peek, consume */

static u64 torture_lost(struct kdtl_session *s, int cpu)
{
	struct kdtl_aux_info info = {};

	kdtl_aux_info(s, cpu, &info);
	return info.lost;
}

static void torture_check_gaps(struct torture_slot *slot, struct kdtl_session *s,
			       int cpu, struct torture_reader *r)
{
	const u64 lost = torture_lost(s, cpu);

	if (r->gaps > lost)
		torture_err(TORTURE_GAP, "slot %u CPU %d: %llu missing, %llu lost",
			    slot->id, cpu, r->gaps, lost);
	if (!slot->source)
		return;
	if (r->mark && r->last > r->mark) {
		if (r->gaps < r->mark_lost)
			torture_err(TORTURE_GAP, "slot %u CPU %d: %llu lost, only %llu missing",
				    slot->id, cpu, r->mark_lost, r->gaps);
		r->mark = 0;
	}
	if (!r->mark) {
		r->mark_lost = lost;
		/* Pairs with torture_emit(): losses that were counted by now have their numbers. */
		smp_rmb();
		r->mark = READ_ONCE(per_cpu_ptr(slot->source->cpu, cpu)->seq);
	}
}

/**
 * torture_drain() - read a CPU's entries in place
 * @t: the thread that calls
 * @slot: the slot
 * @s: its session
 * @cpu: the CPU
 * @haste: how to read
 *
 * The caller makes sure that nobody loads the session meanwhile.
 */
void torture_drain(struct torture_thread *t, struct torture_slot *slot,
		   struct kdtl_session *s, int cpu, enum torture_haste haste)
{
	const u64 end = local_clock() + TORTURE_CHASE_NS;
	struct torture_reader *r = per_cpu_ptr(slot->readers, cpu);
	struct torture_view v = {
		.slot	= slot,
		.cpu	= cpu,
		.error	= TORTURE_NR_ERRORS,
	};
	struct torture_view again;
	const void *span;
	ssize_t len;
	u64 nr;
	int err;

	if (!mutex_trylock(&r->lock))
		return;
	v.last = r->last;
	v.gaps = r->gaps;
	again = v;
	do {
		len = kdtl_aux_peek(s, cpu, &span);
	} while (!len && haste == TORTURE_CHASE && local_clock() < end);
	if (len < 0 || len % KDTL_ENTRY_SIZE) {
		torture_err(TORTURE_VERB, "slot %u: aux_peek: %zd", slot->id, len);
		goto unlock;
	}
	nr = len / KDTL_ENTRY_SIZE;
	if (!nr)
		goto unlock;
	if (haste == TORTURE_DAWDLE)
		nr = 1 + torture_random(t, nr);
	torture_see(&v, span, nr);
	if (haste == TORTURE_DAWDLE && !torture_random(t, 4)) {
		/* The entries must not change before this reader gives them back. */
		usleep_range(100, 5000);
		torture_see(&again, span, nr);
		if (v.error == TORTURE_NR_ERRORS)
			v = again;
	}
	err = kdtl_aux_consume(s, cpu, nr * KDTL_ENTRY_SIZE);
	if (err)
		torture_err(TORTURE_VERB, "slot %u: aux_consume: %d", slot->id, err);
	if (v.error != TORTURE_NR_ERRORS)
		torture_err(v.error, "slot %u CPU %d: entry %llu of %llu after %llu",
			    slot->id, cpu, v.bad, nr, v.last);
	r->seen += nr;
	r->last = v.last;
	r->gaps = v.gaps;
	torture_count(nr, 0);
	if ((slot->flags & (TORTURE_STEADY | TORTURE_SCHED)) == TORTURE_STEADY)
		torture_check_gaps(slot, s, cpu, r);
unlock:
	mutex_unlock(&r->lock);
}

/**
 * torture_messages() - read all messages of a steady session
 * @slot: its slot
 * @s: the session
 *
 * Only one thread at a time may call this.
 */
void torture_messages(struct torture_slot *slot, struct kdtl_session *s)
{
	struct torture_reader *r;
	unsigned int nr = 0;
	struct kdtl_msg msg;
	ssize_t ret;

	while ((ret = kdtl_read(s, &msg, sizeof(msg), true)) == sizeof(msg)) {
		slot->msgs_dropped += msg.dropped;
		slot->msgs_full |= ++nr == slot->msgs_room;
		switch (msg.type) {
		case KDTL_MSG_AUX:
			r = per_cpu_ptr(slot->readers, msg.cpu);
			if (r->announced != TORTURE_NEVER && msg.aux.offset != r->announced &&
			    slot->msgs_dropped == r->told)
				torture_err(TORTURE_MESSAGE, "slot %u CPU %d: data reported at %llu after %llu",
					    slot->id, msg.cpu, msg.aux.offset,
					    r->announced);
			r->announced = msg.aux.offset + msg.aux.size;
			r->told = slot->msgs_dropped;
			break;
		case KDTL_MSG_LOST:
			slot->msgs_lost += msg.lost.count;
			break;
		}
	}
	if (ret != -EAGAIN)
		torture_err(TORTURE_VERB, "slot %u: read: %zd", slot->id, ret);
}

/* -------------------------------------------------------------------- snapshots */

/**
 * torture_snapshot() - copy the newest entries of a CPU
 * @t: the thread that calls
 * @slot: the slot; its session is in overwrite mode
 * @s: the session
 * @cpu: the CPU
 *
 * Copies as many entries as there are.
 */
void torture_snapshot(struct torture_thread *t, struct torture_slot *slot,
		      struct kdtl_session *s, int cpu)
{
	struct torture_reader *r = per_cpu_ptr(slot->readers, cpu);
	struct torture_view v = {
		.slot	= slot,
		.cpu	= cpu,
		.error	= TORTURE_NR_ERRORS,
	};
	const struct kdtl_entry *e = t->buf;
	u64 missed, base, was, nr, i;
	ssize_t len;

	len = kdtl_aux_snapshot(s, cpu, t->buf, TORTURE_PAGES * PAGE_SIZE, &missed);
	if (len == -EAGAIN || !len)
		return;
	if (len < 0 || len % KDTL_ENTRY_SIZE) {
		torture_err(TORTURE_VERB, "slot %u: aux_snapshot: %zd", slot->id, len);
		return;
	}
	nr = len / KDTL_ENTRY_SIZE;
	torture_see(&v, e, nr);
	if (v.error != TORTURE_NR_ERRORS) {
		torture_err(v.error, "slot %u CPU %d: entry %llu of %llu of a snapshot",
			    slot->id, cpu, v.bad, nr);
		return;
	}
	torture_count(nr, 0);
	if (!(slot->flags & TORTURE_STEADY))
		return;
	for (i = 1; i < nr; i++) {
		if (torture_entry_nr(&e[i]) == torture_entry_nr(&e[0]) + i)
			continue;
		torture_err(TORTURE_SNAPSHOT, "slot %u CPU %d: hole before entry %llu of %llu",
			    slot->id, cpu, i, nr);
		return;
	}
	/* The base never changes: the first reader sets it. */
	base = torture_entry_nr(e) - missed;
	was = cmpxchg64(&r->base, 0, base);
	if (was && was != base)
		torture_err(TORTURE_SNAPSHOT, "slot %u CPU %d: %llu missed, should be %llu",
			    slot->id, cpu, missed, torture_entry_nr(e) - was);
}

/**
 * torture_look() - look at an area's numbers while they move
 * @slot: the slot
 * @s: its session
 * @cpu: the CPU
 */
void torture_look(struct torture_slot *slot, struct kdtl_session *s, int cpu)
{
	struct kdtl_aux_info a, b;

	if (kdtl_aux_info(s, cpu, &a) || kdtl_aux_info(s, cpu, &b)) {
		torture_err(TORTURE_VERB, "slot %u: aux_info", slot->id);
		return;
	}
	if (a.produced != a.consumed + a.lost + a.unread ||
	    a.unread * KDTL_ENTRY_SIZE > a.size ||
	    (!(slot->flags & TORTURE_OVERWRITE) &&
	     a.unread * KDTL_ENTRY_SIZE != a.head - a.tail) ||
	    (s64)(b.head - a.head) < 0 || (s64)(b.tail - a.tail) < 0 ||
	    b.consumed < a.consumed)
		torture_err(TORTURE_BALANCE, "slot %u CPU %d: head %llu, tail %llu, produced %llu, consumed %llu, lost %llu, unread %llu; then %llu, %llu",
			    slot->id, cpu, a.head, a.tail, a.produced,
			    a.consumed, a.lost, a.unread, b.head, b.tail);
}

/* ---------------------------------------------------------------------- sleepers */

/* Note where the writers are, and sleep: a watermark of data after that must end the sleep. */
static int torture_sleep(struct torture_thread *t, struct torture_slot *slot,
			 struct kdtl_session *s)
{
	struct kdtl_aux_info info;
	int cpu, ret;

	for_each_possible_cpu(cpu) {
		kdtl_aux_info(s, cpu, &info);
		WRITE_ONCE(t->heads[cpu], info.head);
	}
	/* Pairs with the acquire in torture_watch_wait(), which then sees the heads. */
	smp_store_release(&t->wait, t->wait + 1);
	WRITE_ONCE(t->in_verb, true);
	ret = kdtl_wait(s, HZ / 2 + torture_random(t, 20 * HZ));
	WRITE_ONCE(t->in_verb, false);
	WRITE_ONCE(t->wait, t->wait + 1);
	return ret;
}

/* Read all entries, some of them, or none. */
static void torture_sleeper_read(struct torture_thread *t, struct torture_slot *slot,
				 struct kdtl_session *s)
{
	int cpu;

	if (slot->flags & TORTURE_STEADY)
		torture_messages(slot, s);
	for_each_possible_cpu(cpu) {
		if (torture_random(t, 16))
			torture_drain(t, slot, s, cpu, torture_random(t, 2) ?
				      TORTURE_ALL : TORTURE_DAWDLE);
	}
}

/**
 * torture_sleeper() - a thread that sleeps until there is something worth reading
 * @thread: its struct torture_thread
 *
 * No other thread waits in its slot with kdtl_wait().  Now and then the thread ends with data
 * unread, and then nobody reads until another sleeper is started.
 */
int torture_sleeper(void *thread)
{
	struct torture_thread *t = thread;
	struct torture_slot *slot = t->slot;
	struct kdtl_session *s;
	int ret;

	t->self = current;
	while (!kthread_should_stop() && torture_random(t, 500)) {
		s = torture_enter(t, slot);
		if (!s) {
			torture_open(t, slot);
			/* This leaves the source time to be unloaded. */
			msleep(20 + torture_random(t, slot->flags & TORTURE_GUEST ? 2000 : 200));
			continue;
		}
		ret = torture_sleep(t, slot, s);
		torture_leave(t);
		if (ret < 0 && ret != -ETIMEDOUT && ret != -ESHUTDOWN)
			torture_err(TORTURE_VERB, "slot %u: wait: %d", slot->id, ret);
		if (ret < 0)
			continue;
		if (!torture_random(t, 32))
			msleep(torture_random(t, 100));
		down_read(&slot->verbs);
		s = torture_enter(t, slot);
		if (s) {
			torture_sleeper_read(t, slot, s);
			torture_leave(t);
		}
		up_read(&slot->verbs);
	}
	return 0;
}

/* Returns a CPU whose writer has advanced by a watermark since the wait began, or -1. */
static int torture_should_wake(struct torture_thread *t, struct torture_slot *slot,
			       struct kdtl_session *s)
{
	struct kdtl_aux_info info;
	int cpu;

	for_each_possible_cpu(cpu) {
		/* If an area was made after the wait began, no head of it was noted. */
		if (kdtl_aux_info(s, cpu, &info) || !READ_ONCE(t->heads[cpu]))
			continue;
		if (info.head - READ_ONCE(t->heads[cpu]) >= slot->watermark)
			return cpu;
	}
	return -1;
}

static void torture_watch_wait(struct torture_thread *t, struct torture_slot *slot,
			       struct kdtl_session *s)
{
	/* Pairs with the release in torture_sleep(). */
	const unsigned int wait = smp_load_acquire(&t->wait);
	int cpu;

	if (wait % 2 == 0)
		return;
	if (t->late_wait != wait) {
		cpu = torture_should_wake(t, slot, s);
		if (cpu < 0)
			return;
		t->late_wait = wait;
		t->late_cpu = cpu;
		t->late_tick = torture_ticks(cpu);
		return;
	}
	if (torture_ticks(t->late_cpu) - t->late_tick < TORTURE_TICKS)
		return;
	/* Look at the thread after the ticks; pairs with the barrier in the wake-up itself. */
	smp_rmb();
	if (torture_asleep(t) && READ_ONCE(t->wait) == wait)
		torture_err(TORTURE_WAKEUP, "slot %u: asleep although there is a watermark of data on CPU %d",
			    slot->id, t->late_cpu);
}

/**
 * torture_watch() - check that a sleeper does not sleep when it should not
 * @me: the thread that calls this; it must do so often enough
 * @t: the sleeper
 *
 * The sleeper must not sleep if a writer has advanced by a watermark since the wait began, and
 * the writer's CPU has taken interrupts since then.  Because interrupts are counted, this does
 * not depend on the machine's speed.
 */
void torture_watch(struct torture_thread *me, struct torture_thread *t)
{
	struct torture_slot *slot = t->slot;
	struct kdtl_session *s = torture_enter(me, slot);

	if (!s)
		return;
	torture_watch_wait(t, slot, s);
	torture_leave(me);
}
