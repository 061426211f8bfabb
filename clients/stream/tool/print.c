// SPDX-License-Identifier: GPL-2.0
/* kdtl print: the entries, in the order of time. */
#include <stdio.h>

#include "kdtl.h"

static const char *name_of(const char *const *names, unsigned int nr, unsigned int code)
{
	static char number[4];

	if (code < nr)
		return names[code];
	if (code == KDTL_DISPATCH_THROTTLED)
		return "throttled";
	snprintf(number, sizeof(number), "%u", code);
	return number;
}

/* Width of the longest name that the source uses. */
static int preempt_width(const struct recording *r)
{
	return r->sched ? 25 : 32;
}

static void print_entry(const struct recording *r, const struct kdtl_entry *e)
{
	const uint64_t t = entry_time(r, e);
	char comm[17];

	printf("%8llu.%09llu %4u  ", (unsigned long long)(t / 1000000000),
	       (unsigned long long)(t % 1000000000), be16toh(e->processor_id));
	if (entry_is_throttled(e))
		printf("%6s ns", "?");
	else
		print_ns(entry_wait(r, e), entry_wait_saturated(e));
	fputs("  ", stdout);
	print_ns(entry_slept(r, e), entry_slept_saturated(e));
	printf("  %-25s", name_of(dispatch_names, NR_DISPATCH_NAMES, e->dispatch_reason));
	printf(" %-*s", preempt_width(r),
	       name_of(preempt_names, NR_PREEMPT_NAMES, e->preempt_reason));
	if (r->sched) {
		entry_comm(e, comm);
		printf(" %-16s %7d %7d\n", comm, entry_pid(e), entry_prev_pid(e));
	} else {
		printf(" %016llx %016llx %016llx\n",
		       (unsigned long long)be64toh(e->fault_addr),
		       (unsigned long long)be64toh(e->srr0),
		       (unsigned long long)be64toh(e->srr1));
	}
}

int cmd_print(int argc, char **argv)
{
	const struct kdtl_entry **sorted;
	struct recording r;

	if (argc > 2)
		usage_error("print: expected at most one file");
	r = recording_open(argc > 1 ? argv[1] : "kdtl.data");
	sorted = recording_sorted(&r);

	printf("# %s, Linux %s, source %s: %zu dispatches, %llu lost\n", r.head.host,
	       r.head.release, r.head.source, r.nr, (unsigned long long)r.head.lost);
	printf("#    since boot  CPU     waited      slept  %-25s %-*s ", "dispatched for",
	       preempt_width(&r), "previous left");
	puts(r.sched ? "task                 pid  prev_pid" :
	     "fault_addr       srr0             srr1");
	for (size_t i = 0; i < r.nr; i++)
		print_entry(&r, sorted[i]);
	return 0;
}
