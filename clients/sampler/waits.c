// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that go on, which are in no log yet
 *
 * kdtl_waiting() reports who waits on each CPU, as of a time up to which the CPU's entries are in
 * its area.  The session's reader may not have read those entries yet, so each report is kept until
 * it has: until a newer entry is read, or until all are.  The reader asks after a round, so it has
 * read them all when the next round ends.
 *
 * It asks at the pace of struct kdtl_pace, and whenever a file is read.
 */
#include <linux/kdtl_verbs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "causes.h"

/* More tasks may wait, but little is lost: the wait of each is counted when it is over. */
#define WAITS_MOST	1024

/* @lost: entries of its CPU that had been lost by then */
struct waits_one {
	struct kdtl_waiting	is;
	u64			lost;
};

static struct {
	unsigned int		nr;
	struct kdtl_pace	pace;
	struct waits_one	*of;	/* waits of the same CPU are in order of time */
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
 * waits_reset() - forget the reports that were not counted
 *
 * Context: under sampler.lock.
 */
void waits_reset(void)
{
	waits.nr = 0;
	cpumask_clear(&waits.cpus);
}

/**
 * waits_want() - make the next round ask who waits, whatever that costs
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
	causes_moved(w->cpu, &info);
}

/**
 * waits_count() - count the waits that were reported before the CPU's next entry
 * @cpu: the CPU
 * @time: time of that entry, in ticks
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
 * waits_round() - count the waits reported in the last round, and ask who waits now
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
	/* A source that does not know who waits reports none. */
	kdtl_waiting(s, waits_note, s);
	kdtl_pace_set(&waits.pace, began, ktime_get_ns());
}
