// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_torture: opens and closes sessions, and checks that their numbers add up
 *
 * A slot has one session after another.  A session may be closed while verbs are asleep in it, but
 * no verb may begin then.  So a thread that uses a session says so before it checks that the
 * session is there; a thread that closes a session takes it away before it checks which threads use
 * it.
 */
#include <linux/delay.h>
#include <linux/log2.h>
#include <linux/sched.h>

#include "torture.h"

int torture_slot_init(struct torture_slot *slot)
{
	int cpu;

	mutex_init(&slot->life);
	mutex_init(&slot->sets_lock);
	init_rwsem(&slot->verbs);
	slot->readers = alloc_percpu(struct torture_reader);
	if (!slot->readers)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		mutex_init(&per_cpu_ptr(slot->readers, cpu)->lock);
	return 0;
}

void torture_slot_exit(struct torture_slot *slot)
{
	free_percpu(slot->readers);
}

/**
 * torture_enter() - begin to use a slot's session
 * @t: the thread that calls
 * @slot: the slot
 *
 * Return: the session, to be used until torture_leave(); NULL if there is none.
 */
struct kdtl_session *torture_enter(struct torture_thread *t, struct torture_slot *slot)
{
	struct kdtl_session *s;

	WRITE_ONCE(t->at, slot);
	/* Pairs with the one in torture_close(): either that sees @at, or this sees no session. */
	smp_mb();
	s = READ_ONCE(slot->s);
	if (!s)
		torture_leave(t);
	return s;
}

void torture_leave(struct torture_thread *t)
{
	/* Pairs with the acquire in torture_close(). */
	smp_store_release(&t->at, NULL);
}

/*
 * Is the thread asleep on a wait queue?  A thread that is preempted just before it sleeps is still
 * on a run queue.
 */
bool torture_asleep(const struct torture_thread *t)
{
	return READ_ONCE(t->self->__state) & (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE) &&
	       !READ_ONCE(t->self->on_rq);
}

/*
 * Must a close wait for the thread?  Not if the thread sleeps inside a verb that holds the session:
 * kdtl_session_close() ends such a verb, and waits for it.
 */
static bool torture_in_the_way(struct torture_thread *t, struct torture_slot *slot)
{
	/* Pairs with the release in torture_leave(). */
	if (smp_load_acquire(&t->at) != slot)
		return false;
	return !READ_ONCE(t->in_verb) || !torture_asleep(t);
}

/* -------------------------------------------------------------- conservation */

static u64 torture_counter(struct torture_slot *slot, struct kdtl_session *s,
			   enum kdtl_counter which, int cpu)
{
	struct kdtl_counter_req req = { .counter = which, .cpu = cpu };
	u64 sum = 0;
	int err;

	for (req.set = 0; req.set < TORTURE_SETS; req.set++) {
		if (!(slot->sets & BIT(req.set)))
			continue;
		err = kdtl_read_counters(s, &req, 1);
		if (err)
			torture_err(TORTURE_VERB, "slot %u: read_counters of set %u: %d",
				    slot->id, req.set, err);
		sum += req.value;
	}
	return sum;
}

static u64 torture_wanted(struct torture_slot *slot, int cpu)
{
	return READ_ONCE(per_cpu_ptr(slot->source->cpu, cpu)->wanted);
}

static void torture_check_cpu(struct torture_slot *slot, struct kdtl_session *s, int cpu)
{
	struct torture_reader *r = per_cpu_ptr(slot->readers, cpu);
	struct kdtl_aux_info info;
	u64 entries, lost, wanted;
	int err;

	err = kdtl_aux_info(s, cpu, &info);
	if (err) {
		torture_err(TORTURE_VERB, "slot %u: aux_info: %d", slot->id, err);
		return;
	}
	if (info.produced != info.consumed + info.lost + info.unread)
		torture_err(TORTURE_BALANCE, "slot %u CPU %d: produced %llu, consumed %llu, lost %llu, unread %llu",
			    slot->id, cpu, info.produced, info.consumed,
			    info.lost, info.unread);
	if (info.consumed != r->seen)
		torture_err(TORTURE_BALANCE, "slot %u CPU %d: consumed %llu, read %llu",
			    slot->id, cpu, info.consumed, r->seen);
	if (r->gaps > info.lost && slot->flags & TORTURE_STEADY &&
	    !(slot->flags & TORTURE_OVERWRITE))
		torture_err(TORTURE_GAP, "slot %u CPU %d: %llu missing, %llu lost",
			    slot->id, cpu, r->gaps, info.lost);
	if (slot->flags & TORTURE_EXACT) {
		wanted = torture_wanted(slot, cpu) - r->wanted;
		if (info.produced != wanted)
			torture_err(TORTURE_BALANCE, "slot %u CPU %d: the source made %llu, produced %llu (consumed %llu, lost %llu, unread %llu)",
				    slot->id, cpu, wanted, info.produced,
				    info.consumed, info.lost, info.unread);
	}
	if (!slot->sets_gone) {
		entries = torture_counter(slot, s, KDTL_CTR_ENTRIES, cpu);
		lost = torture_counter(slot, s, KDTL_CTR_LOST, cpu);
		if (entries != info.produced)
			torture_err(TORTURE_BALANCE, "slot %u CPU %d: %llu counted, produced %llu",
				    slot->id, cpu, entries, info.produced);
		if (lost != info.lost && !(slot->flags & TORTURE_OVERWRITE))
			torture_err(TORTURE_BALANCE, "slot %u CPU %d: %llu counted as lost, %llu lost",
				    slot->id, cpu, lost, info.lost);
	}
	torture_count(0, info.lost - r->reported);
	r->reported = info.lost;
}

/* Once all messages have been read: do they agree with what happened? */
static void torture_check_messages(struct torture_slot *slot, struct kdtl_session *s)
{
	struct torture_reader *r;
	struct kdtl_aux_info info;
	u64 lost = 0;
	int cpu;

	if (slot->msgs_dropped)
		return;
	for_each_possible_cpu(cpu) {
		r = per_cpu_ptr(slot->readers, cpu);
		if (kdtl_aux_info(s, cpu, &info))
			return;
		lost += info.lost;
		if (info.consumed && r->announced != info.head)
			torture_err(TORTURE_MESSAGE, "slot %u CPU %d: at %llu, reported %llu",
				    slot->id, cpu, info.head, r->announced);
	}
	if (lost != slot->msgs_lost)
		torture_err(TORTURE_MESSAGE, "slot %u: %llu lost, reported %llu",
			    slot->id, lost, slot->msgs_lost);
}

/**
 * torture_check() - stop a session and compare all numbers
 * @slot: its slot, with @verbs held for writing
 * @s: the session
 */
void torture_check(struct torture_slot *slot, struct kdtl_session *s)
{
	const int err = kdtl_stop(s);
	int cpu;

	if (err && err != -EINVAL)
		torture_err(TORTURE_VERB, "slot %u: stop: %d", slot->id, err);
	mutex_lock(&slot->sets_lock);
	for_each_possible_cpu(cpu)
		torture_check_cpu(slot, s, cpu);
	mutex_unlock(&slot->sets_lock);
}

/* ------------------------------------------------------------ load, open, close */

/**
 * torture_load() - load a session, and forget what was read
 * @slot: its slot, with @verbs held for writing
 * @s: the session
 *
 * Return: what kdtl_load() returns.
 */
int torture_load(struct torture_slot *slot, struct kdtl_session *s)
{
	const int err = kdtl_load(s, NULL);
	struct torture_reader *r;
	int cpu;

	if (err)
		return err;
	for_each_possible_cpu(cpu) {
		r = per_cpu_ptr(slot->readers, cpu);
		r->seen = 0;
		r->last = 0;
		r->gaps = 0;
		r->mark = 0;
		r->base = 0;
		r->reported = 0;
		r->announced = TORTURE_NEVER;
		/* The session is not started, so nothing is counted for it at the moment. */
		if (slot->flags & TORTURE_EXACT)
			r->wanted = torture_wanted(slot, cpu);
	}
	slot->sets_gone = false;
	slot->msgs_lost = 0;
	slot->msgs_dropped = 0;
	slot->msgs_full = false;
	return 0;
}

/**
 * torture_open() - create a session in a slot that has none
 * @t: the thread that calls
 * @slot: the slot
 *
 * Return: 0; -EBUSY if there is one already; or another errno.
 */
int torture_open(struct torture_thread *t, struct torture_slot *slot)
{
	const bool roomy = slot->flags & TORTURE_ROOMY;
	const u32 pages = roomy ? TORTURE_ROOMY_PAGES :
				  1U << torture_random(t, ilog2(TORTURE_PAGES) + 1);
	const bool steady = slot->flags & TORTURE_STEADY;
	struct kdtl_session_attr attr = {
		.pmu		= slot->pmu,
		.aux_pages	= pages,
		.msg_pages	= 1U << torture_random(t, 3),
		.watermark	= torture_random(t, roomy ? SZ_8K : pages * PAGE_SIZE),
		.mask		= TORTURE_MASKS,
	};
	struct kdtl_session *s;
	int err = -EBUSY;

	if (slot->flags & TORTURE_OVERWRITE)
		attr.flags |= KDTL_SESSION_OVERWRITE;
	if (!steady) {
		attr.mask = torture_random(t, TORTURE_MASKS + 1);
		attr.flags |= torture_random(t, 2) ? KDTL_SESSION_PAUSE : 0;
		attr.period = torture_random(t, 4) ? 0 : 1000000;
	}
	if (!mutex_trylock(&slot->life))
		return -EBUSY;
	if (slot->s || torture_ending())
		goto unlock;
	s = kdtl_session_create(&attr);
	if (IS_ERR(s)) {
		err = PTR_ERR(s);
		/* This source comes and goes. */
		if (err != -ENODEV || !(slot->flags & (TORTURE_GUEST | TORTURE_SCHED)))
			torture_err(TORTURE_VERB, "slot %u: create: %d", slot->id, err);
		goto unlock;
	}
	slot->sets = BIT(0);
	slot->msgs_room = attr.msg_pages * PAGE_SIZE / sizeof(struct kdtl_msg);
	slot->watermark = attr.watermark ?: pages * PAGE_SIZE / 2;
	down_write(&slot->verbs);
	err = torture_load(slot, s);
	if (!err && steady)
		err = kdtl_start(s);
	if (err) {
		torture_err(TORTURE_VERB, "slot %u: load or start: %d", slot->id, err);
		kdtl_session_close(s);
	} else {
		/* A thread that sees the session also sees the slot's members that belong to it. */
		smp_store_release(&slot->s, s);
	}
	up_write(&slot->verbs);
unlock:
	mutex_unlock(&slot->life);
	return err;
}

/* Read all that is left, and check the numbers before and after the unload. */
static void torture_finish(struct torture_thread *t, struct torture_slot *slot,
			   struct kdtl_session *s)
{
	int cpu;

	torture_check(slot, s);
	if (!(slot->flags & TORTURE_STEADY) || slot->flags & TORTURE_OVERWRITE)
		return;
	for_each_possible_cpu(cpu)
		torture_drain(t, slot, s, cpu, TORTURE_ALL);
	/* Messages that were dropped are told of by the next message only. */
	torture_messages(slot, s);
	if (!slot->msgs_full)
		torture_check_messages(slot, s);
	kdtl_unload(s);
	torture_messages(slot, s);
	torture_check_messages(slot, s);
	torture_check(slot, s);
}

/**
 * torture_close() - close a slot's session, while verbs sleep in it
 * @t: the thread that calls
 * @slot: the slot
 */
void torture_close(struct torture_thread *t, struct torture_slot *slot)
{
	struct torture_thread *other;
	struct kdtl_session *s;
	unsigned int i;

	if (!mutex_trylock(&slot->life))
		return;
	s = slot->s;
	if (!s)
		goto unlock;
	WRITE_ONCE(slot->s, NULL);
	/* Pairs with the one in torture_enter(). */
	smp_mb();
	for (i = 0; i < torture_nr_threads(); i++) {
		other = torture_thread_at(i);
		while (other != t && torture_in_the_way(other, slot))
			usleep_range(50, 200);
	}
	if (slot->flags & TORTURE_STEADY || torture_random(t, 2)) {
		down_write(&slot->verbs);
		torture_finish(t, slot, s);
		up_write(&slot->verbs);
	}
	kdtl_session_close(s);
unlock:
	mutex_unlock(&slot->life);
}
