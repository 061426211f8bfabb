// SPDX-License-Identifier: GPL-2.0
/* An answer that has nothing in it: what the recording has, and what of the question it has not. */
#include <stdio.h>

#include "kdtl.h"

/* Somebody who mistyped a name needs a few similar ones. */
#define NAMES_SHOWN	3

static size_t count_wanted(const struct filter *f, const struct recording *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr; i++)
		nr += !entry_is_idle(r->entry[i]) && !entry_still(r, r->entry[i]) &&
		      !entry_move(r, r->entry[i]) && filter_wants(f, r, r->entry[i]);
	return nr;
}

/* Names that have @part in them, each once, with its entry. */
static void tell_names(const struct recording *r, const char *part)
{
	char shown[NAMES_SHOWN][COMM_LEN + 1], text[PRINTABLE(COMM_LEN)];
	size_t nr = 0, k;

	for (size_t i = 0; i < r->nr && nr < NAMES_SHOWN; i++) {
		snprintf(shown[nr], sizeof(shown[nr]), "%.*s", COMM_LEN, entry_comm(r->entry[i]));
		if (entry_is_idle(r->entry[i]) || !strcasestr(shown[nr], part))
			continue;
		for (k = 0; k < nr && strcmp(shown[k], shown[nr]); k++)
			;
		if (k < nr)
			continue;
		fprintf(stderr, "%s%s", nr ? ", " : "; there is ",
			printable(text, shown[nr], COMM_LEN));
		nr++;
	}
}

static void tell_cgroups(const struct recording *r, const char *path)
{
	const char *last = strrchr(path, '/');
	char text[PRINTABLE(KDTL_CGROUP_LEN)];
	size_t nr = 0;

	for (size_t i = 0; last && last[1] && i < r->nr_cgroups && nr < NAMES_SHOWN; i++) {
		if (!strstr(r->cgroup[i].path, last + 1))
			continue;
		fprintf(stderr, "%s%s", nr++ ? ", " : "; there is ",
			printable(text, r->cgroup[i].path, KDTL_CGROUP_LEN));
	}
}

static bool lacks(const struct filter *f, const struct recording *r)
{
	return !count_wanted(f, r);
}

/* The first part of the question for which, asked alone, the recording has nothing. */
static void tell_what_lacks(const struct filter *f, const struct recording *r)
{
	const struct filter time = { .from = f->from, .to = f->to, .first = f->first, .last = f->last };
	const struct filter pid = { .pid = f->pid, .within = f->within }, comm = { .comm = f->comm };
	const struct filter cgroup = { .cgroup = f->cgroup }, cpus = { .cpus = f->cpus };
	const struct filter wait = { .min_wait = f->min_wait };
	char text[PRINTABLE(KDTL_CGROUP_LEN)], ns[NS_TEXT];

	if ((f->from || f->to) && lacks(&time, r)) {
		fputs("; none of them is in the time asked for", stderr);
	} else if (f->pid && lacks(&pid, r)) {
		fprintf(stderr, "; none is of a task or process with the PID %u", f->pid);
	} else if (f->comm && lacks(&comm, r)) {
		fprintf(stderr, "; none is of a task named %s",
			printable(text, f->comm, strnlen(f->comm, KDTL_CGROUP_LEN)));
		tell_names(r, f->comm);
	} else if (f->cgroup && lacks(&cgroup, r)) {
		fprintf(stderr, "; none is of a task in the cgroup %s",
			printable(text, f->cgroup, strnlen(f->cgroup, KDTL_CGROUP_LEN)));
		tell_cgroups(r, f->cgroup);
	} else if (f->cpus && lacks(&cpus, r)) {
		fputs("; none is of these CPUs", stderr);
	} else if (f->min_wait && lacks(&wait, r)) {
		fprintf(stderr, "; none came after %s", short_ns(ns, f->min_wait));
	} else if (lacks(f, r)) {
		fputs("; none meets all conditions at once", stderr);
	}
}

/* Say on stderr that nothing of @r matches @f, or that nothing that matches is of interest. */
void tell_empty(const struct filter *f, const struct recording *r, const char *path)
{
	const struct filter all = { 0 };
	const size_t nr = count_wanted(&all, r);
	const struct span span = recording_span(r);
	char from[TIME_TEXT], to[TIME_TEXT], zones[ZONES_TEXT];

	fprintf(stderr, "kdtl: %s: ", path);
	if (span.from <= span.to)
		fprintf(stderr, "is from %s to %s (%s), with ",
			time_text(from, time_of_day(r, span.from), "%Y-%m-%d %H:%M:%S", 3),
			time_text(to, time_of_day(r, span.to), "%Y-%m-%d %H:%M:%S", 3),
			zones_text(zones, time_of_day(r, span.from), time_of_day(r, span.to)));
	else
		fputs("has ", stderr);
	fprintf(stderr, "%zu dispatches", nr);
	if (nr)
		tell_what_lacks(f, r);
	fputc('\n', stderr);
}
