// SPDX-License-Identifier: GPL-2.0
/* kdtl print: the entries, in the order of time. */
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

/* @name, or the code if it has no name. */
static const char *name_or_code(const char *name, unsigned int code)
{
	static char number[4];

	if (name)
		return name;
	snprintf(number, sizeof(number), "%u", code);
	return number;
}

/* Columns of a path, unless all of it is asked for. */
#define CGROUP_WIDTH	32

/* Widths of the longest names that the source uses, or of the heads above them. */
static int dispatch_width(const struct recording *r)
{
	return r->sched ? 14 : 25;
}

static int preempt_width(const struct recording *r)
{
	return r->sched ? 13 : 32;
}

/**
 * struct options - the command line of print
 * @all: print all that is known of the tasks
 * @filter: the entries that are wanted
 * @nr: how many of these, from the first on; 0: all
 * @path: the recording
 * @steal: the one of stolen time; NULL: the one beside it, if there is one
 */
struct options {
	bool		all;
	struct filter	filter;
	size_t		nr;
	const char	*path;
	const char	*steal;
};

static struct options parse(int argc, char **argv)
{
	enum { OPT_STEAL = OPT_OTHERS };
	static const struct option names[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "steal", required_argument, NULL, OPT_STEAL },
		FILTER_OPTIONS,
		OPTIONS_END
	};
	struct options o = { .path = "kdtl.data" };
	int opt;

	while ((opt = next_option(argc, argv, ":hag:n:p:", names)) != -1) {
		switch (opt) {
		case 'a':
			o.all = true;
			break;
		case 'g':
			filter_option(&o.filter, OPT_CGROUP, optarg);
			break;
		case 'n':
			o.nr = parse_nr(optarg, "entries");
			break;
		case 'p':
			filter_option(&o.filter, OPT_PID, optarg);
			break;
		case OPT_STEAL:
			o.steal = optarg;
			break;
		default:
			filter_option(&o.filter, opt, optarg);
		}
	}
	if (argc - optind > 1)
		usage_error("print: expected at most one file");
	if (argv[optind])
		o.path = argv[optind];
	return o;
}

static void print_policy(const struct kdtl_task *t)
{
	char text[32];

	if (t->policy < NR_POLICY_NAMES)
		snprintf(text, sizeof(text), "%s %d", policy_names[t->policy],
			 t->rt_priority ? (int)t->rt_priority : t->nice);
	else
		snprintf(text, sizeof(text), "%u %d", t->policy, t->nice);
	printf(" %-10s", text);
}

static void print_task(const struct recording *r, const struct options *o,
		       const struct kdtl_entry *e)
{
	const struct kdtl_task *t = entry_task(r, e);
	/* The idle task is in no cgroup. */
	const char *unknown = entry_pid(e) ? "?" : "-";
	char path[PRINTABLE(KDTL_CGROUP_LEN)];

	if (o->all && t && entry_pid(e)) {
		printf(" %7u", t->tgid);
		print_policy(t);
	} else if (o->all) {
		printf(" %7s %-10s", unknown, unknown);
	}
	fputs("  ", stdout);
	print_path(entry_pid(e) ? path_text(path, r, entry_task(r, e)) : "-",
		   o->all ? (int)sizeof(path) : CGROUP_WIDTH);
}

static void print_entry(const struct recording *r, const struct options *o,
			const struct kdtl_entry *e)
{
	const uint64_t t = entry_time(r, e);
	char comm[PRINTABLE(COMM_LEN)];

	printf("%8llu.%09llu %4u  ", (unsigned long long)(t / 1000000000),
	       (unsigned long long)(t % 1000000000), entry_cpu(e));
	if (entry_has_wait(r, e))
		print_ns(entry_wait(r, e), entry_wait_saturated(e));
	else
		printf("%6s ns", "?");
	fputs("  ", stdout);
	if (r->steal) {
		print_ns(entry_stolen(r, e), false);
		fputs("  ", stdout);
	}
	print_ns(entry_slept(r, e), entry_slept_saturated(e));
	printf("  %-*s", dispatch_width(r),
	       name_or_code(dispatch_name(r, e->dispatch_reason), e->dispatch_reason));
	printf(" %-*s", preempt_width(r),
	       name_or_code(preempt_name(r, e->preempt_reason), e->preempt_reason));
	if (r->sched) {
		printf(" %-16s %7d %7d", printable(comm, entry_comm(e), COMM_LEN),
		       entry_pid(e), entry_prev_pid(e));
		if (r->nr_tasks)
			print_task(r, o, e);
		putchar('\n');
	} else {
		printf(" %016llx %016llx %016llx\n",
		       (unsigned long long)be64toh(e->fault_addr),
		       (unsigned long long)be64toh(e->srr0),
		       (unsigned long long)be64toh(e->srr1));
	}
}

static void print_move(const struct recording *r, const struct move *m)
{
	const uint64_t t = since_boot(r, m->ticks);

	printf("#%7llu.%09llu %4u  %s\n", (unsigned long long)(t / NS_PER_S),
	       (unsigned long long)(t % NS_PER_S), m->cpu, move_text(m));
}

/* Sort by time.  At one moment, CPUs come before others go. */
static int by_time(const void *a, const void *b)
{
	const struct move *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	if (x->online != y->online)
		return x->online ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

/*
 * Print those of the moves from @m on that come before the entry @e; NULL: all.  As for
 * move_after(), a CPU comes before an entry of the same moment, and goes after it.
 */
static const struct move *print_moves(const struct recording *r, const struct options *o,
				      const struct move *m, const struct kdtl_entry *e)
{
	const uint64_t ticks = e ? be64toh(e->timebase) : UINT64_MAX;

	for (; m < r->move + r->nr_moves; m++) {
		if (e && (m->ticks > ticks || (m->ticks == ticks && !m->online)))
			break;
		if (filter_wants_place(&o->filter, r, m->cpu, m->ticks))
			print_move(r, m);
	}
	return m;
}

static void print_head(const struct recording *r, const struct options *o)
{
	char host[PRINTABLE(64)], release[PRINTABLE(64)];
	size_t dispatches = 0;

	for (size_t i = 0; i < r->nr; i++)
		dispatches += !entry_is_idle(r->entry[i]);
	printf("# %s, Linux %s, source %s: %zu dispatches, %llu lost",
	       printable(host, r->head.host, 64), printable(release, r->head.release, 64),
	       source_text(r), dispatches,
	       (unsigned long long)r->head.lost);
	if (r->nr_tasks)
		printf("; %zu records of tasks, %llu lost", r->nr_tasks,
		       (unsigned long long)r->head.tasks_lost);
	printf("\n#    since boot  CPU     waited  %s    slept  %-*s %-*s ",
	       r->steal ? "   stolen  " : "", dispatch_width(r), "dispatched for", preempt_width(r),
	       "previous left");
	fputs(r->sched ? "task                 pid  prev_pid" :
	      "fault_addr       srr0             srr1", stdout);
	if (r->nr_tasks)
		fputs(o->all ? "    tgid policy      cgroup" : "  cgroup", stdout);
	putchar('\n');
}

static int print(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct recording r = recording_open_any(o.path);
	const struct move *m;
	size_t nr = 0;

	if (recording_is_wake(&r)) {
		if (o.steal)
			usage_error("--steal: %s has wake-ups", o.path);
		recording_sort(&r);
		wake_print(&r, &o.filter, o.nr);
		return 0;
	}
	steal_open(&r, o.path, o.steal);
	recording_sort(&r);
	filter_begin(&o.filter, &r);
	print_head(&r, &o);
	if (r.nr_moves)
		qsort(r.move, r.nr_moves, sizeof(*r.move), by_time);
	m = r.move;
	for (size_t i = 0; i < r.nr && (!o.nr || nr < o.nr); i++) {
		m = print_moves(&r, &o, m, r.entry[i]);
		if (!filter_wants(&o.filter, &r, r.entry[i]))
			continue;
		print_entry(&r, &o, r.entry[i]);
		nr++;
	}
	if (!o.nr || nr < o.nr)
		print_moves(&r, &o, m, NULL);
	if (!nr)
		tell_empty(&o.filter, &r, o.path);
	return 0;
}

const struct verb verb_print = {
	.name = "print",
	.brief = "print the entries in the order of time",
	.usage =
	"print [OPTION]... [FILE]\n"
	"  -a, --all                print all that is known of the tasks\n"
	"  -n NUMBER                the first so many entries\n"
	"  -g PATH, -p PID          as --cgroup and --pid\n"
	"  --steal FILE2            what the hypervisor took (default: FILE.steal)\n"
	FILTER_USAGE,
	.run = print,
};
