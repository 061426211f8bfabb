// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that go on, which are in no log yet
 *
 * kdtl_waiting() says who waits, on each CPU at a time until which the entries of that CPU are in
 * its area.  But these may not have been read.  So what it says is kept until they have: until a
 * newer one is read, or all that there are.  The session's reader asks after each round, and so
 * has read them all when the next round ends.
 *
 * It looks at the pace of struct kdtl_pace, and whenever a file is read.
 */
#include <linux/kdtl_verbs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "causes.h"

/* There may be more, but pressure is of cgroups: each of these waits is known when it is over. */
#define WAITS_MOST	1024

/* @lost: entries of its CPU that had been lost by then */
struct waits_one {
	struct kdtl_waiting	is;
	u64			lost;
};

static struct {
	unsigned int		nr;
	struct kdtl_pace	pace;
	struct waits_one	*of;	/* those of a CPU in the order of their times */
	struct cpumask		cpus;	/* which CPUs have any */
} waits;

static bool waits_wanted;	/* somebody reads a file */

/**
 * waits_begin() - begin to count waits that go on
 * @lock: sampler.lock, which the reader may hold already
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int waits_begin(struct mutex *lock)
{
	struct waits_one *of = kvmalloc_array(WAITS_MOST, sizeof(*of), GFP_KERNEL);

	mutex_lock(lock);
	waits.of = of;
	mutex_unlock(lock);
	return of ? 0 : -ENOMEM;
}

/**
 * waits_end() - undo waits_begin()
 *
 * Context: may sleep; there is no session any more.
 */
void waits_end(void)
{
	kvfree(waits.of);
	waits.of = NULL;
}

/**
 * waits_reset() - forget those that were not counted
 *
 * Context: under sampler.lock.
 */
void waits_reset(void)
{
	waits.nr = 0;
	cpumask_clear(&waits.cpus);
}

/**
 * waits_want() - in the next round, look whatever that costs
 *
 * Context: any.
 */
void waits_want(void)
{
	WRITE_ONCE(waits_wanted, true);
}

static void waits_note(const struct kdtl_waiting *w, void *session)
{
	struct kdtl_aux_info info;

	if (waits.nr == WAITS_MOST || kdtl_aux_info(session, w->cpu, &info))
		return;
	cpumask_set_cpu(w->cpu, &waits.cpus);
	waits.of[waits.nr].is = *w;
	waits.of[waits.nr++].lost = info.lost;
}

/**
 * waits_count() - count those of a time until which all entries have been counted
 * @cpu: the CPU
 * @time: of its next entry, in ticks
 *
 * Context: under sampler.lock, may sleep.
 */
void waits_count(int cpu, u64 time)
{
	unsigned int i, left = 0;

	if (!cpumask_test_and_clear_cpu(cpu, &waits.cpus))
		return;
	for (i = 0; i < waits.nr; i++) {
		if (waits.of[i].is.cpu == cpu && waits.of[i].is.until < time) {
			causes_waits(&waits.of[i].is, waits.of[i].lost);
			continue;
		}
		if (waits.of[i].is.cpu == cpu)
			cpumask_set_cpu(cpu, &waits.cpus);
		waits.of[left++] = waits.of[i];
	}
	waits.nr = left;
}

/**
 * waits_round() - count those of the last round, and look who waits now
 * @s: the session
 *
 * Context: the session's reader, under sampler.lock, may sleep.
 */
void waits_round(struct kdtl_session *s)
{
	const u64 began = ktime_get_ns();
	unsigned int i;

	if (!waits.of)
		return;
	for (i = 0; i < waits.nr; i++)
		causes_waits(&waits.of[i].is, waits.of[i].lost);
	waits_reset();
	if (!xchg(&waits_wanted, false) && began < waits.pace.next)
		return;
	/* Without any from a source that does not know who waits. */
	kdtl_waiting(s, waits_note, s);
	kdtl_pace_set(&waits.pace, began, ktime_get_ns());
}
