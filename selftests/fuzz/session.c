// SPDX-License-Identifier: GPL-2.0
/* Verbs that make and end sessions, and change their state. */
#define pr_fmt(fmt) "kdtl_fuzz: " fmt

#include <linux/delay.h>
#include <linux/slab.h>

#include "fuzz.h"

static void fuzz_wake(void *data)
{
	struct fuzz_slot *slot = data;

	atomic_inc(&slot->wakes);
}

/**
 * fuzz_cpu() - pick a CPU number
 * @t: the thread
 * @slot: whose session
 * @good: set if it is one of the session's
 */
int fuzz_cpu(struct fuzz_thread *t, struct fuzz_slot *slot, bool *good)
{
	int cpu;

	if (fuzz_one_in(t, 32))
		cpu = FUZZ_PICK(t, int, -1, -2, INT_MIN, INT_MAX, 1 << 13, 1 << 16);
	else
		cpu = fuzz_below(t, num_possible_cpus());
	*good = cpu >= 0 && cpu < nr_cpu_ids && cpumask_test_cpu(cpu, &slot->cpus);
	return cpu;
}

/* Picks a part of @of, which may be all of it, or nothing. */
static void fuzz_part(struct fuzz_thread *t, struct cpumask *part, const struct cpumask *of)
{
	int cpu;

	cpumask_clear(part);
	for_each_cpu(cpu, of) {
		if (!fuzz_one_in(t, 3))
			cpumask_set_cpu(cpu, part);
	}
}

/* Makes up a session's attributes, and returns whether they are valid. */
static bool fuzz_attr(struct fuzz_thread *t, struct fuzz_slot *slot,
		      struct kdtl_session_attr *attr)
{
	bool good = true;

	attr->pmu = FUZZ_PICK(t, char *, FUZZ_PMU, FUZZ_PMU, FUZZ_PMU, FUZZ_PMU,
			      FUZZ_PMU, "kdtl_sched", NULL);
	attr->aux_pages = FUZZ_PICK(t, unsigned int, 0, 1, 1, 2, 4, 16);
	attr->msg_pages = FUZZ_PICK(t, unsigned int, 0, 1, 1, 2);
	attr->watermark = FUZZ_PICK(t, unsigned int, 0, 0, 1, KDTL_ENTRY_SIZE, PAGE_SIZE);
	attr->mask = fuzz_below(t, FUZZ_MASKS + 1);
	attr->flags = fuzz_one_in(t, 2) ? KDTL_SESSION_PAUSE : fuzz_below(t, 4);
	attr->period = fuzz_ns(t);
	attr->min_wait = fuzz_one_in(t, 2) ? 0 : fuzz_ns(t);
	attr->msg_types = fuzz_one_in(t, 2) ? 0 : fuzz_below(t, 1 << (KDTL_NR_MSG_TYPES - 1)) << 1;
	if (fuzz_one_in(t, 8)) {
		attr->flags = (attr->flags & KDTL_SESSION_PAUSE) | KDTL_SESSION_NO_AUX;
		attr->aux_pages = 0;
		attr->watermark = 0;
		attr->min_wait = 0;
	}
	if (fuzz_one_in(t, 2))
		attr->done = &slot->done;
	if (fuzz_one_in(t, 2)) {
		attr->wake = fuzz_wake;
		attr->wake_data = slot;
	}
	if (fuzz_one_in(t, 2)) {
		fuzz_part(t, &t->mask, cpu_possible_mask);
		attr->cpus = &t->mask;
		good = !cpumask_empty(&t->mask);
	}
	if (!fuzz_one_in(t, 8))
		return good;

	switch (fuzz_below(t, 6)) {
	case 0:
		attr->aux_pages = FUZZ_PICK(t, unsigned int, 3, 6, INT_MAX, 1U << 31,
					    (1 << 20) + 1, 1 << 21, UINT_MAX);
		break;
	case 1:
		attr->msg_pages = FUZZ_PICK(t, unsigned int, 3, 5, 1U << 31, 1 << 21,
					    UINT_MAX);
		break;
	case 2:
		attr->watermark = FUZZ_PICK(t, unsigned int, 1 << 20, INT_MAX, UINT_MAX);
		break;
	case 3:
		attr->mask = FUZZ_PICK(t, unsigned int, 32, 63, 1U << 31, UINT_MAX);
		break;
	case 4:
		attr->msg_types = FUZZ_PICK(t, u32, 1, 1 << KDTL_NR_MSG_TYPES, U32_MAX);
		break;
	default:
		attr->flags = FUZZ_PICK(t, unsigned int, 6, 16, 1U << 31, UINT_MAX);
	}
	return false;
}

/* Creates a session. Some attributes are valid, and refused nevertheless. */
static long fuzz_create(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int refusals = fuzz_source_refusals();
	struct kdtl_session_attr attr = {};
	struct kdtl_session *s;
	bool good;

	good = fuzz_attr(t, slot, &attr);
	*want = good ? 0 : -EINVAL;
	if (good && fuzz_one_in(t, 16)) {
		/* More than any session may have. */
		if (fuzz_one_in(t, 2) && !(attr.flags & KDTL_SESSION_NO_AUX))
			attr.aux_pages = 1 << 20;
		else
			attr.msg_pages = 1 << 20;
		*want = -ENOMEM;
	} else if (good && fuzz_one_in(t, 16)) {
		attr.pmu = FUZZ_PICK(t, char *, "", "kdtl", "no_such", "kdtl_fuz");
		*want = -ENODEV;
	}
	if (fuzz_one_in(t, 64)) {
		s = kdtl_session_create(NULL);
		*want = -EINVAL;
	} else {
		s = kdtl_session_create(&attr);
	}
	if (IS_ERR(s)) {
		if (PTR_ERR(s) == FUZZ_REFUSED && fuzz_source_refusals() != refusals)
			*want = FUZZ_REFUSED;
		return PTR_ERR(s);
	}
	cpumask_copy(&slot->cpus, attr.cpus ?: cpu_possible_mask);
	slot->aux_pages = attr.flags & KDTL_SESSION_NO_AUX ? 0 :
			  attr.aux_pages ?: KDTL_DEFAULT_AUX_PAGES;
	slot->overwrite = attr.flags & KDTL_SESSION_OVERWRITE;
	slot->pause = attr.flags & KDTL_SESSION_PAUSE;
	slot->fuzz_pmu = attr.pmu && !strcmp(attr.pmu, FUZZ_PMU);
	slot->own_done = attr.done;
	slot->state = FUZZ_CREATED;
	slot->sets = BIT(0);
	spin_lock(&slot->lock);
	/* fuzz_step() looks without the lock. */
	WRITE_ONCE(slot->s, s);
	spin_unlock(&slot->lock);
	return 0;
}

static long fuzz_kdtl_session_create(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	long ret = FUZZ_NONE;

	/*
	 * A thread that closes the session waits for those that sleep in it, so
	 * do not wait for that thread.
	 */
	if (!mutex_trylock(&slot->verbs))
		return FUZZ_NONE;
	if (!READ_ONCE(slot->s))
		ret = fuzz_create(t, slot, want);
	mutex_unlock(&slot->verbs);
	return ret;
}

/*
 * Whether kdtl_session_close() may begin: each thread that uses the session
 * sleeps inside a verb.
 */
static bool fuzz_may_close(struct fuzz_slot *slot, struct fuzz_thread *threads,
			   unsigned int nr)
{
	unsigned int i, asleep = 0, users;

	spin_lock(&slot->lock);
	users = slot->users;
	spin_unlock(&slot->lock);
	for (i = 0; i < nr; i++) {
		/* Pairs with the release in fuzz_will_sleep(). */
		if (smp_load_acquire(&threads[i].sleeps) == slot && threads[i].task &&
		    READ_ONCE(threads[i].task->__state) & TASK_INTERRUPTIBLE)
			asleep++;
	}
	return asleep == users;
}

/**
 * fuzz_slot_close() - close a slot's session
 * @slot: the slot, with its verbs lock held
 * @threads: the program's threads
 * @nr: number of @threads
 *
 * No call may begin once kdtl_session_close() has begun.  Calls that already
 * sleep in the session may go on: close has to wake them.
 */
void fuzz_slot_close(struct fuzz_slot *slot, struct fuzz_thread *threads,
		     unsigned int nr)
{
	struct kdtl_session *s = slot->s;
	unsigned int users;
	int wakes;

	lockdep_assert_held(&slot->verbs);
	if (!s)
		return;
	spin_lock(&slot->lock);
	WRITE_ONCE(slot->s, NULL);
	spin_unlock(&slot->lock);
	while (!fuzz_may_close(slot, threads, nr))
		usleep_range(50, 100);

	kdtl_merge_destroy(slot->merge);
	slot->merge = NULL;
	kdtl_session_close(s);

	wakes = atomic_read(&slot->wakes);
	if (slot->own_done)
		reinit_completion(&slot->done);
	do {
		spin_lock(&slot->lock);
		users = slot->users;
		spin_unlock(&slot->lock);
		if (users)
			usleep_range(50, 100);
	} while (users);
	/* There must be no more wake-ups. */
	if (atomic_read(&slot->wakes) != wakes ||
	    (slot->own_done && completion_done(&slot->done)))
		fuzz_fail(&threads[0], "a wake-up after kdtl_session_close()");
}

static long fuzz_kdtl_session_close(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	if (fuzz_one_in(t, 8)) {
		kdtl_session_close(NULL);
		kdtl_session_close(ERR_PTR(-ENOMEM));
	}
	if (!mutex_trylock(&slot->verbs))
		return FUZZ_NONE;
	fuzz_slot_close(slot, t - t->id, FUZZ_THREADS);
	mutex_unlock(&slot->verbs);
	*want = 0;
	return 0;
}

/* -------------------------------------------------------------------- states */

/**
 * fuzz_paused() - has an overflow paused the session?
 * @slot: its slot, of a program with one thread
 * @s: the session
 *
 * This changes nothing: it shows in what is refused.
 */
bool fuzz_paused(struct fuzz_slot *slot, struct kdtl_session *s)
{
	switch (slot->state) {
	case FUZZ_STOPPED:
		return kdtl_write_config(s, NULL, 0) == -EBUSY;
	case FUZZ_STARTED:
		return kdtl_start(s) == -EBUSY;
	default:
		return false;
	}
}

static long fuzz_kdtl_load(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const struct cpumask *cpus = NULL;
	long ret;

	*want = 0;
	switch (fuzz_below(t, 8)) {
	case 0:
	case 1:
	case 2:
		fuzz_part(t, &t->mask, &slot->cpus);
		cpus = &t->mask;
		break;
	case 3:
		fuzz_part(t, &t->mask, cpu_possible_mask);
		cpus = &t->mask;
		break;
	}
	if (cpus && (cpumask_empty(cpus) || !cpumask_subset(cpus, &slot->cpus)))
		*want = -EINVAL;
	if (slot->state != FUZZ_CREATED)
		*want = -EBUSY;
	ret = kdtl_load(t->s, cpus);
	if (!ret)
		slot->state = FUZZ_STOPPED;
	return ret;
}

static long fuzz_kdtl_unload(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	long ret = kdtl_unload(t->s);

	*want = 0;
	if (!ret)
		slot->state = FUZZ_CREATED;
	return ret;
}

static long fuzz_kdtl_start(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int refusals = fuzz_source_refusals();
	long ret;

	if (slot->state == FUZZ_CREATED)
		*want = -EINVAL;
	else
		*want = t->solo && fuzz_paused(slot, t->s) ? -EBUSY : 0;
	ret = kdtl_start(t->s);
	/* If one CPU refuses, none is started. */
	if (slot->state == FUZZ_STOPPED && !*want && fuzz_source_refusals() != refusals)
		*want = FUZZ_REFUSED;
	if (ret)
		return ret;
	slot->state = FUZZ_STARTED;
	/* Log something before it is stopped again. */
	if (slot->fuzz_pmu)
		fuzz_emit(cpumask_first(&slot->cpus), KDTL_KIND_CEDE, fuzz_below(t, 4), 1);
	return 0;
}

static long fuzz_kdtl_stop(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	long ret;

	*want = slot->state == FUZZ_CREATED ? -EINVAL : 0;
	ret = kdtl_stop(t->s);
	if (!ret)
		slot->state = FUZZ_STOPPED;
	return ret;
}

static long fuzz_kdtl_restart(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int refusals = fuzz_source_refusals();
	long ret;

	if (slot->state == FUZZ_CREATED)
		*want = -EINVAL;
	else
		*want = t->solo && fuzz_paused(slot, t->s) ? 0 : -EBUSY;
	ret = kdtl_restart(t->s);
	/* With one thread, only this call can have been refused. */
	if (!*want && fuzz_source_refusals() != refusals)
		*want = FUZZ_REFUSED;
	return ret;
}

const struct fuzz_verb fuzz_session_verbs[] = {
	{ "kdtl_session_create", 8, fuzz_kdtl_session_create, true,
	  { -EINVAL, -ENODEV, -ENOMEM, FUZZ_REFUSED } },
	{ "kdtl_session_close", 2, fuzz_kdtl_session_close, true },
	{ "kdtl_load", 8, fuzz_kdtl_load, false,
	  { -EBUSY, -EINVAL, -ENOMEM, -ESHUTDOWN } },
	{ "kdtl_unload", 3, fuzz_kdtl_unload, false, { -ESHUTDOWN } },
	{ "kdtl_start", 10, fuzz_kdtl_start, false,
	  { -EINVAL, -EBUSY, -ESHUTDOWN, FUZZ_REFUSED } },
	{ "kdtl_stop", 4, fuzz_kdtl_stop, false, { -EINVAL, -ESHUTDOWN } },
	{ "kdtl_restart", 4, fuzz_kdtl_restart, false,
	  { -EINVAL, -EBUSY, -ESHUTDOWN, FUZZ_REFUSED } },
	{ }
};
