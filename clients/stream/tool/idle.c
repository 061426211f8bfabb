// SPDX-License-Identifier: GPL-2.0
/* CPUs that had nothing to do while a task waited for another one. */
#include "kdtl.h"

/* For how long between @from and @to the CPU of entry @i idled after it. */
static uint64_t idle_after(const struct recording *r, size_t i, uint64_t from, uint64_t to)
{
	const size_t next = next_of_cpu(r, i);
	uint64_t begin = entry_time(r, r->entry[i]), end;

	if (!entry_is_idle(r->entry[i]) || next == SIZE_MAX || !ran_until_next(r, i))
		return 0;
	end = entry_time(r, r->entry[next]);
	if (begin < from)
		begin = from;
	if (end > to)
		end = to;
	return begin < end ? end - begin : 0;
}

/* Idle time was recorded. */
bool has_idle(const struct recording *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		if (entry_is_idle(r->entry[i]))
			return true;
	}
	return false;
}

/*
 * CPUs that idled for more than half of the wait of entry @i.  On which CPUs a task may run is not
 * recorded, but it may on those where it ran: so on @ran of them.  The entries must be sorted by CPU.
 */
size_t idle_meanwhile(const struct recording *r, size_t i, size_t *ran)
{
	const struct kdtl_entry *waits = r->entry[i];
	const uint64_t to = entry_time(r, waits), wait = entry_wait(r, waits);
	const uint64_t from = wait < to ? to - wait : 0;
	uint64_t idle = 0;
	bool been = false;
	size_t nr = 0;

	*ran = 0;
	for (size_t k = 0; k < r->nr; k++) {
		idle += idle_after(r, k, from, to);
		been |= entry_pid(r->entry[k]) == entry_pid(waits) && !entry_still(r, r->entry[k]);
		if (k + 1 < r->nr && entry_cpu(r->entry[k + 1]) == entry_cpu(r->entry[k]))
			continue;
		if (entry_cpu(r->entry[k]) != entry_cpu(waits) && 2 * idle > wait) {
			nr++;
			*ran += been;
		}
		idle = 0;
		been = false;
	}
	return nr;
}
