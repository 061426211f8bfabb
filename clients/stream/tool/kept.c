// SPDX-License-Identifier: GPL-2.0
/* Tasks that could not be preempted, and left a CPU late: from a recording of kdtl_wake. */
#include <stdio.h>
#include <stdlib.h>

#include "sleeps.h"

/* Take all that the recording @wake says. */
void kepts_take(struct kepts *k, const struct recording *wake)
{
	const struct kdtl_wake_entry *w;
	uint64_t to;

	for (size_t i = 0; i < wake->nr; i++) {
		w = kdtl_wake_of(wake->entry[i]);
		if (!w || w->kind != KDTL_WAKE_KEPT)
			continue;
		to = entry_time(wake, wake->entry[i]);
		grow(k->kept, k->nr);
		k->kept[k->nr++] = (struct gap){
			.cpu = kdtl_wake_cpu(w), .to = to, .entry = wake->entry[i],
			.from = to > kdtl_wake_arg(w) ? to - kdtl_wake_arg(w) : 0,
		};
	}
	gaps_sort(k->kept, k->nr);
}

/*
 * Find the task that kept @cpu longest between @from and @to, in ns since boot; @pid: only this
 * task, KEPT_ANY: any.  Returns NULL if there is none.
 */
const struct kdtl_wake_entry *kept_longest(const struct kepts *k, unsigned int cpu, int pid,
					   uint64_t from, uint64_t to)
{
	const struct kdtl_wake_entry *longest = NULL, *w;
	const struct gap *g = gap_after(k->kept, k->nr, cpu, from);

	for (; g < k->kept + k->nr && g->cpu == cpu && g->from < to; g++) {
		w = kdtl_wake_of(g->entry);
		if ((pid == KEPT_ANY || kdtl_wake_pid(w) == pid) &&
		    (!longest || kdtl_wake_arg(w) > kdtl_wake_arg(longest)))
			longest = w;
	}
	return longest;
}

/* Find who could not be preempted where the task of entry @e was last queued.  NULL: nobody. */
const struct kdtl_wake_entry *kept_before(const struct kepts *k, const struct recording *r,
					  const struct kdtl_entry *e)
{
	const uint64_t to = entry_time(r, e), queued = entry_queued(r, e);

	if (!r->sched || !entry_wait(r, e))
		return NULL;
	return kept_longest(k, entry_cpu(e), KEPT_ANY, to - (queued < to ? queued : to), to);
}
