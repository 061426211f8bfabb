// SPDX-License-Identifier: GPL-2.0
/*
 * Who had a CPU in a span of time
 *
 * The rule is that of kdtl_who_ran(): if the task of one entry is the one before the CPU's
 * next entry, it had the CPU in between.  Otherwise the recording does not say who had it:
 * entries are missing, or the CPU became idle, which is recorded only if asked for.
 */
#include <stdlib.h>

#include "kdtl.h"

static void add(struct who *w, const struct kdtl_entry *e, uint64_t ns)
{
	const int pid = entry_pid(e);
	struct ran *ran;

	for (ran = w->ran; ran < w->ran + w->nr; ran++) {
		if (ran->pid == pid) {
			ran->ns += ns;
			return;
		}
	}
	if (w->nr == w->room) {
		w->room = w->room ? 2 * w->room : 8;
		w->ran = resized(w->ran, w->room * sizeof(*w->ran));
	}
	w->ran[w->nr++] = (struct ran){ pid, ns, e };
}

static int by_ns(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* The task of entry @i had the CPU until its next entry.  They must be sorted by CPU. */
bool ran_until_next(const struct recording *r, size_t i)
{
	return i + 1 < r->nr && entry_cpu(r->entry[i]) == entry_cpu(r->entry[i + 1]) &&
	       entry_pid(r->entry[i]) == entry_prev_pid(r->entry[i + 1]);
}

/*
 * Add to @w who had the CPU of entry @i in the @ns ns before @until, which is not after it.
 * The entries must be sorted by CPU.  A task did not run while the hypervisor had its CPU.
 */
void who_add(const struct recording *r, size_t i, uint64_t until, uint64_t ns, struct who *w)
{
	const struct kdtl_entry *e;
	const unsigned int cpu = entry_cpu(r->entry[i]);
	uint64_t since, stolen;

	for (; ns && i && entry_cpu(r->entry[i - 1]) == cpu; i--) {
		e = r->entry[i - 1];
		if (entry_time(r, e) >= until)
			continue;
		since = until - entry_time(r, e);
		if (since > ns)
			since = ns;
		stolen = stolen_in(r, cpu, until - since, until);
		w->stolen += stolen;
		if (since > stolen && ran_until_next(r, i - 1))
			add(w, e, since - stolen);
		else
			w->unknown += since - stolen;
		until -= since;
		ns -= since;
	}
	stolen = stolen_in(r, cpu, ns < until ? until - ns : 0, until);
	w->stolen += stolen;
	w->unknown += ns - stolen;
}

/* Longest first. */
void who_sort(struct who *w)
{
	if (w->nr)
		qsort(w->ran, w->nr, sizeof(*w->ran), by_ns);
}

/*
 * Who had the CPU of entry @i in the @ns ns before it.  The entries must be sorted by CPU.
 * What they say sums up to @ns.
 */
void who_ran(const struct recording *r, size_t i, uint64_t ns, struct who *w)
{
	w->nr = 0;
	w->stolen = 0;
	w->unknown = 0;
	who_add(r, i, entry_time(r, r->entry[i]), ns, w);
	who_sort(w);
}
