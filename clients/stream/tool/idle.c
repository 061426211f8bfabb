// SPDX-License-Identifier: GPL-2.0
/* CPUs that had nothing to do while a task waited for another one. */
#include <stdlib.h>

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

/* Was idle time recorded? */
bool has_idle(const struct recording *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		if (entry_is_idle(r->entry[i]))
			return true;
	}
	return false;
}

/* For how long @cpu idled between @from and @to. */
static uint64_t idle_of(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to)
{
	size_t i = first_since(r, cpu, from);
	uint64_t ns = 0;

	/* The previous entry began what goes on at @from. */
	if (i && entry_cpu(r->entry[i - 1]) == cpu)
		i--;
	for (; i < r->nr && entry_cpu(r->entry[i]) == cpu && entry_time(r, r->entry[i]) < to; i++)
		ns += idle_after(r, i, from, to);
	return ns;
}

/* A task, and a CPU that it had. */
struct place {
	int		pid;
	unsigned int	cpu;
};

static int by_pid_and_cpu(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/* Had @pid @cpu at any time?  There is one recording of which this is asked. */
static bool has_been(const struct recording *r, int pid, unsigned int cpu)
{
	static struct place *places;
	static size_t nr;
	const struct place place = { pid, cpu };

	if (!places) {
		places = resized(NULL, (r->nr + 1) * sizeof(*places));
		for (size_t i = 0; i < r->nr; i++) {
			if (!entry_still(r, r->entry[i]))
				places[nr++] = (struct place){ entry_pid(r->entry[i]),
							       entry_cpu(r->entry[i]) };
		}
		qsort(places, nr, sizeof(*places), by_pid_and_cpu);
	}
	return bsearch(&place, places, nr, sizeof(*places), by_pid_and_cpu);
}

/*
 * Returns how many CPUs idled for more than half of the wait of entry @i.  A recording does not
 * say on which CPUs a task may run, but it may where it ran: @ran of the idle ones are such CPUs.
 * The entries must be sorted by CPU.
 */
size_t idle_meanwhile(const struct recording *r, size_t i, size_t *ran)
{
	const struct kdtl_entry *waits = r->entry[i];
	const uint64_t to = entry_time(r, waits), wait = entry_wait(r, waits);
	const uint64_t from = wait < to ? to - wait : 0;
	unsigned int cpu = 0;
	size_t nr = 0;

	*ran = 0;
	for (; (i = first_since(r, cpu, 0)) < r->nr; cpu++) {
		cpu = entry_cpu(r->entry[i]);
		if (cpu == entry_cpu(waits) || 2 * idle_of(r, cpu, from, to) <= wait)
			continue;
		nr++;
		*ran += has_been(r, entry_pid(waits), cpu);
	}
	return nr;
}
