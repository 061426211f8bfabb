// SPDX-License-Identifier: GPL-2.0
/*
 * Stolen time: when the hypervisor had the CPUs of a recording, and when interrupts had
 *
 * A guest records kdtl_sched, and at the same time kdtl_steal or kdtl_vpa into a second file.
 * The entries of both have the time since boot by the same clock, so they fit together
 * to the nanosecond.  The time of day only tells whether it was the same boot.  The same holds of
 * kdtl_irq.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kdtl.h"

#define NSEC		1000000000ULL

/*
 * Boot times that differ by less than this are those of one boot: two boots are further apart, and
 * the drift between two pairs of clocks is smaller.
 */
#define SAME_BOOT_NS	NSEC

/* With --rotate a file begins a moment after the one beside it. */
#define NEARLY_NS	(NSEC / 10)

/* Convert a span to ns since boot; an empty one stays empty. */
static struct span in_ns(const struct recording *r, struct span s)
{
	if (s.from > s.to)
		return s;
	return (struct span){ since_boot(r, s.from), since_boot(r, s.to) };
}

/* The span of a recording, which may have no entries: perhaps nothing was stolen. */
static struct span span_of(const struct recording *r)
{
	return in_ns(r, recording_span(r));
}

/* Why @s, which is to be read beside @r, is not of the same time and boot; NULL: it is. */
const char *recording_unlike(const struct recording *r, const struct recording *s)
{
	const struct span a = span_of(r), b = span_of(s);
	const uint64_t begin = a.from > b.from ? a.from : b.from;
	int64_t apart;

	if (strcmp(r->head.host, s->head.host))
		return "is from another host";
	if (a.from > b.to || b.from > a.to)
		return "is of another time";
	apart = day_of(r, begin) - day_of(s, begin);
	if (apart > (int64_t)SAME_BOOT_NS || apart < -(int64_t)SAME_BOOT_NS)
		return "is of another boot";
	return NULL;
}

/* Why @s does not say when interrupts had the CPUs of @r; NULL: it does. */
static const char *unlike_irq(const struct recording *r, const struct recording *s)
{
	return strcmp(s->head.source, IRQ_SOURCE) ? "is no recording of " IRQ_SOURCE :
						    recording_unlike(r, s);
}

/* Why @s does not say what was stolen during @r; NULL: it does. */
static const char *unlike_steal(const struct recording *r, const struct recording *s)
{
	const bool vpa = !strcmp(s->head.source, "kdtl_vpa");

	if (!vpa && strcmp(s->head.source, "kdtl_steal"))
		return "is no recording of stolen time";
	if (vpa && s->nr && !s->linux_cpus)
		return "does not know Linux's numbers of the CPUs: kdtl record --steal does";
	return recording_unlike(r, s);
}

/*
 * For how long the hypervisor had the CPU before entry @i.  An entry can tell of 4.29 s at most.
 * The steal clock of kdtl_steal tells of more, unless it may include an entry that is missing.
 */
static uint64_t gap_ns(const struct recording *s, size_t i, bool *more)
{
	const struct kdtl_entry *e = s->entry[i], *before = i ? s->entry[i - 1] : NULL;
	const uint64_t told = entry_wait(s, e);
	uint64_t ns;

	if (!entry_wait_saturated(e))
		return told;
	if (before && entry_cpu(before) == entry_cpu(e) && !s->head.lost && !s->min_wait &&
	    !strcmp(s->head.source, "kdtl_steal")) {
		ns = be64toh(e->srr0) - be64toh(before->srr0);
		if (ns >= told && ns <= entry_time(s, e) - entry_time(s, before))
			return ns;
	}
	*more = true;
	return told;
}

/*
 * A gap ends when its entry was made.  An entry may hold less than its length, but so does
 * that of a task whose wait the gap is in.  Gaps of a CPU do not overlap, unless the clock
 * lagged; then they become one, for no time may count twice.
 */
static void add_gaps(struct recording *r, struct recording *s, const char *path)
{
	bool more = false;
	const struct gap *last;
	struct gap g;
	uint64_t ns;

	recording_sort_by_cpu(s);
	for (size_t i = 0; i < s->nr; i++) {
		ns = gap_ns(s, i, &more);
		g.cpu = entry_cpu(s->entry[i]);
		g.to = entry_time(s, s->entry[i]);
		g.from = ns < g.to ? g.to - ns : 0;
		for (; r->nr_gaps; r->nr_gaps--) {
			last = &r->gap[r->nr_gaps - 1];
			if (last->cpu != g.cpu || last->to < g.from)
				break;
			g.from = last->from < g.from ? last->from : g.from;
		}
		grow(r->gap, r->nr_gaps);
		r->gap[r->nr_gaps++] = g;
	}
	if (more)
		fprintf(stderr, "kdtl: %s: the hypervisor had a CPU for 4.29 s or more at once, and took more than is shown; tasks ran for less\n",
			path);
}

/* Add that an interrupt had the CPU from @from until @to, except when the hypervisor had it. */
static void add_irq(struct recording *r, const struct kdtl_entry *e, uint64_t from, uint64_t to)
{
	const struct gap *g = gap_after(r->gap, r->nr_gaps, entry_cpu(e), from);
	const struct gap *end = r->gap + r->nr_gaps;
	uint64_t until;

	for (; from < to; from = until) {
		if (g < end && g->cpu == entry_cpu(e) && g->from <= from) {
			until = (g++)->to;
			continue;
		}
		until = g < end && g->cpu == entry_cpu(e) && g->from < to ? g->from : to;
		grow(r->taken, r->nr_taken);
		r->taken[r->nr_taken++] = (struct gap){
			.cpu = entry_cpu(e), .from = from, .to = until, .entry = e,
		};
	}
}

static int by_cpu_and_time(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Put into @r->taken what interrupts had, as the recording @s says, and what was stolen. */
void irq_take(struct recording *r, struct recording *s)
{
	const struct kdtl_entry *e, *before = NULL;
	uint64_t to, ns, last;

	r->taken = NULL;
	r->nr_taken = 0;
	for (size_t i = 0; i < r->nr_gaps; i++) {
		grow(r->taken, r->nr_taken);
		r->taken[r->nr_taken++] = r->gap[i];
	}
	recording_sort_by_cpu(s);
	for (size_t i = 0; i < s->nr; i++, before = e) {
		e = s->entry[i];
		/* An entry of a task here would be nonsense. */
		if (entry_pid(e) >= 0)
			continue;
		to = entry_time(s, e);
		ns = entry_wait(s, e);
		last = before && entry_cpu(before) == entry_cpu(e) ? entry_time(s, before) : 0;
		add_irq(r, e, to - (ns < to ? ns : to) > last ? to - ns : last, to);
	}
	if (r->nr_taken)
		qsort(r->taken, r->nr_taken, sizeof(*r->taken), by_cpu_and_time);
}

static void tell_what_is_missing(const struct recording *r, const struct recording *s,
				 const char *path, const char *more, const char *what)
{
	const struct span a = in_ns(r, entries_span(r)), b = span_of(s);

	if (s->head.lost)
		fprintf(stderr, "kdtl: %s: %llu entries were lost, so %s than is shown\n",
			path, (unsigned long long)s->head.lost, more);
	if (r->nr && (a.from + NEARLY_NS < b.from || a.to > b.to + NEARLY_NS))
		fprintf(stderr, "kdtl: %s: covers only a part of that time; of the rest it is not known %s\n",
			path, what);
}

/* The name of the recording beside @path, until the next call; NULL: there is none. */
const char *name_beside(const char *path, const char *suffix)
{
	static char beside[4096];
	const int n = snprintf(beside, sizeof(beside), "%s%s", path, suffix);

	return n < (int)sizeof(beside) && !access(beside, F_OK) ? beside : NULL;
}

/*
 * Read @path into @s, if it fits @r as @unlike says.  Returns false, and says why, if it cannot be
 * used; if it was @asked for by name, that is an error.
 */
bool read_beside(const struct recording *r, struct recording *s, const char *path, bool asked,
		 const char *(*unlike)(const struct recording *r, const struct recording *s))
{
	const char *error;

	errno = 0;
	error = recording_read(s, path);
	if (error && asked)
		die("%s%s", path, error);
	if (error) {
		fprintf(stderr, "kdtl: %s: not used%s%s\n", path, *error ? error : ": ",
			*error ? "" : strerror(errno));
		errno = 0;
		return false;
	}
	error = unlike(r, s);
	if (error) {
		errno = 0;
		if (asked)
			die("%s: %s", path, error);
		fprintf(stderr, "kdtl: %s: not used: %s\n", path, error);
		return false;
	}
	recording_check(s, path);
	return true;
}

/*
 * Find out what was stolen during the recording @r, which @path has: from @steal, or from the
 * file beside it if @steal is NULL.
 */
void steal_open(struct recording *r, const char *path, const char *steal)
{
	const bool asked = steal;
	struct recording s;

	if (asked && !r->sched)
		usage_error("--steal: the entries of %s name no tasks", source_text(r));
	if (!asked)
		steal = r->sched ? name_beside(path, STEAL_SUFFIX) : NULL;
	if (!steal || !read_beside(r, &s, steal, asked, unlike_steal))
		return;
	tell_what_is_missing(r, &s, steal, "more was stolen", "what was stolen");
	add_gaps(r, &s, steal);
	r->taken = r->gap;
	r->nr_taken = r->nr_gaps;
	r->steal = true;
}

/*
 * Find out when interrupts had the CPUs during @r, the recording in @path: from @irq or, if that is
 * NULL, from the file beside @path, if there is one.  Stolen time must be known before.
 */
void irq_open(struct recording *r, const char *path, const char *irq)
{
	const bool asked = irq;
	struct recording s;

	if (!asked)
		irq = r->sched ? name_beside(path, IRQ_SUFFIX) : NULL;
	if (!irq || !read_beside(r, &s, irq, asked, unlike_irq))
		return;
	tell_what_is_missing(r, &s, irq, "interrupts had more", "what interrupts had");
	irq_take(r, &s);
	r->irqs = true;
}

/* What an interrupt, or a softirq, of the recording is called; may be without a NUL. */
const char *irq_comm(const struct recording *r, int pid)
{
	for (size_t i = 0; i < r->nr_taken; i++) {
		if (r->taken[i].entry && entry_pid(r->taken[i].entry) == pid)
			return entry_comm(r->taken[i].entry);
	}
	return "?";
}

/* The first of the @nr sorted gaps that is of @cpu and ends after @ns, or the place for it. */
const struct gap *gap_after(const struct gap *gap, size_t nr, unsigned int cpu, uint64_t ns)
{
	size_t from = 0, to = nr, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (gap[i].cpu < cpu || (gap[i].cpu == cpu && gap[i].to <= ns))
			from = i + 1;
		else
			to = i;
	}
	return gap + from;
}

static uint64_t in_gaps(const struct gap *gap, size_t nr, unsigned int cpu, uint64_t from,
			uint64_t to)
{
	const struct gap *g = gap_after(gap, nr, cpu, from), *end = gap + nr;
	uint64_t ns = 0;

	for (; g < end && g->cpu == cpu && g->from < to; g++)
		ns += (g->to < to ? g->to : to) - (g->from > from ? g->from : from);
	return ns;
}

/* For how long the hypervisor had @cpu from @from until @to, in ns since boot. */
uint64_t stolen_in(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to)
{
	return in_gaps(r->gap, r->nr_gaps, cpu, from, to);
}

/* For how long the hypervisor or interrupts had @cpu from @from until @to, in ns since boot. */
uint64_t taken_in(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to)
{
	return in_gaps(r->taken, r->nr_taken, cpu, from, to);
}

/* The stolen part of an entry's wait in the queue of the CPU that its task got. */
uint64_t entry_stolen(const struct recording *r, const struct kdtl_entry *e)
{
	const uint64_t to = entry_time(r, e), ns = entry_queued(r, e);

	return stolen_in(r, entry_cpu(e), ns < to ? to - ns : 0, to);
}
