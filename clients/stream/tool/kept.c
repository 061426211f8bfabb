// SPDX-License-Identifier: GPL-2.0
/* Tasks that could not be preempted, and left a CPU late: from a recording of kdtl_wake. */
#include <stdio.h>
#include <stdlib.h>

#include "sleeps.h"

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

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
		k->kept[k->nr++] = (struct kept){
			.cpu = kdtl_wake_cpu(w), .to = to, .entry = w,
			.from = to > kdtl_wake_arg(w) ? to - kdtl_wake_arg(w) : 0,
		};
	}
	if (k->nr)
		qsort(k->kept, k->nr, sizeof(*k->kept), by_cpu_and_time);
}

/* The first one of @cpu that ends after @ns, or what comes instead of it. */
static size_t kept_after(const struct kepts *k, unsigned int cpu, uint64_t ns)
{
	size_t from = 0, to = k->nr, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (k->kept[i].cpu < cpu || (k->kept[i].cpu == cpu && k->kept[i].to <= ns))
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/*
 * Find the task that kept @cpu longest between @from and @to, in ns since boot; @pid: only this
 * task, KEPT_ANY: any.  Returns NULL if there is none.
 */
const struct kdtl_wake_entry *kept_longest(const struct kepts *k, unsigned int cpu, int pid,
					   uint64_t from, uint64_t to)
{
	const struct kdtl_wake_entry *longest = NULL, *w;
	size_t i = kept_after(k, cpu, from);

	for (; i < k->nr && k->kept[i].cpu == cpu && k->kept[i].from < to; i++) {
		w = k->kept[i].entry;
		if ((pid == KEPT_ANY || kdtl_wake_pid(w) == pid) &&
		    (!longest || kdtl_wake_arg(w) > kdtl_wake_arg(longest)))
			longest = w;
	}
	return longest;
}
