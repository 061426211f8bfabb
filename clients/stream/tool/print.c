// SPDX-License-Identifier: GPL-2.0
/* kdtl print: the entries, in the order of time. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "kdtl.h"

static const char *name_of(const char *const *names, unsigned int nr, unsigned int code)
{
	static char number[4];

	if (code < nr)
		return names[code];
	if (code == KDTL_DISPATCH_THROTTLED)
		return "throttled";
	if (code == KDTL_DISPATCH_IDLE)
		return "idle";
	snprintf(number, sizeof(number), "%u", code);
	return number;
}

/* Of a path, unless all of it is asked for. */
#define CGROUP_WIDTH	32

/* Width of the longest name that the source uses. */
static int preempt_width(const struct recording *r)
{
	return r->sched ? 25 : 32;
}

/**
 * struct options - the command line of print
 * @all: print all that is known of the tasks
 * @pid: only the entries of this task, and of the threads of this process; 0: all
 * @cgroup: only those of tasks in this cgroup, or below; NULL: all
 * @path: the recording
 */
struct options {
	bool		all;
	uint32_t	pid;
	const char	*cgroup;
	const char	*path;
};

static struct options parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "cgroup", required_argument, NULL, 'g' },
		{ "pid", required_argument, NULL, 'p' },
		{ }
	};
	struct options o = { .path = "kdtl.data" };
	char *end;
	int opt;

	opterr = 0;
	while ((opt = getopt_long(argc, argv, "+ag:p:", names, NULL)) != -1) {
		switch (opt) {
		case 'a':
			o.all = true;
			break;
		case 'g':
			if (*optarg != '/')
				usage_error("-g %s: must be a path such as /system.slice", optarg);
			o.cgroup = optarg;
			break;
		case 'p':
			o.pid = strtoul(optarg, &end, 10);
			if (*end || !o.pid)
				usage_error("-p %s: must be the PID of a task", optarg);
			break;
		default:
			usage_error("print: no option %s, or its value is missing",
				    argv[optind - 1]);
		}
	}
	if (argc - optind > 1)
		usage_error("print: expected at most one file");
	if (argv[optind])
		o.path = argv[optind];
	return o;
}

/* Is @path the cgroup @top, or below it? */
static bool is_in(const char *path, const char *top)
{
	size_t len = strlen(top);

	while (len && top[len - 1] == '/')
		len--;
	return !strncmp(path, top, len) && (!path[len] || path[len] == '/');
}

static const char *path_of(const struct recording *r, const struct kdtl_task *t)
{
	return t ? cgroup_path(r, t->cgroup) : NULL;
}

static bool is_wanted(const struct recording *r, const struct options *o,
		      const struct kdtl_entry *e)
{
	const struct kdtl_task *t;
	const char *path;

	if (!o->pid && !o->cgroup)
		return true;
	t = entry_task(r, e);
	if (o->pid && (uint32_t)entry_pid(e) != o->pid && (!t || t->tgid != o->pid))
		return false;
	path = path_of(r, t);
	return !o->cgroup || (path && is_in(path, o->cgroup));
}

/* A path of more than CGROUP_WIDTH characters loses its middle. */
static void print_path(const char *path, bool all)
{
	const size_t len = strlen(path);
	char text[PRINTABLE(KDTL_CGROUP_LEN)];
	size_t shown;

	printable(text, path, len < KDTL_CGROUP_LEN ? len : KDTL_CGROUP_LEN);
	shown = strlen(text);
	if (all || shown <= CGROUP_WIDTH)
		fputs(text, stdout);
	else
		printf("%.*s...%s", CGROUP_WIDTH / 2 - 3, text,
		       text + shown - CGROUP_WIDTH / 2);
}

static void print_policy(const struct kdtl_task *t)
{
	static const char *const names[] = {
		"other", "fifo", "rr", "batch", "4", "idle", "deadline", "ext",
	};
	char text[32];

	if (t->policy < ARRAY_SIZE(names))
		snprintf(text, sizeof(text), "%s %d", names[t->policy],
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

	if (o->all && t && entry_pid(e)) {
		printf(" %7u", t->tgid);
		print_policy(t);
	} else if (o->all) {
		printf(" %7s %-10s", unknown, unknown);
	}
	fputs("  ", stdout);
	print_path(path_of(r, t) ?: unknown, o->all);
}

static void print_entry(const struct recording *r, const struct options *o,
			const struct kdtl_entry *e)
{
	const uint64_t t = entry_time(r, e);
	char comm[PRINTABLE(16)];

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
		printf(" %-16s %7d %7d", printable(comm, (const char *)&e->srr0, 16),
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

static void print_head(const struct recording *r, const struct options *o)
{
	char host[PRINTABLE(64)], release[PRINTABLE(64)], source[PRINTABLE(KDTL_SOURCE_LEN)];

	printf("# %s, Linux %s, source %s: %zu dispatches, %llu lost",
	       printable(host, r->head.host, 64), printable(release, r->head.release, 64),
	       printable(source, r->head.source, KDTL_SOURCE_LEN), r->nr,
	       (unsigned long long)r->head.lost);
	if (r->nr_tasks)
		printf("; %zu records of tasks, %llu lost", r->nr_tasks,
		       (unsigned long long)r->head.tasks_lost);
	printf("\n#    since boot  CPU     waited      slept  %-25s %-*s ", "dispatched for",
	       preempt_width(r), "previous left");
	fputs(r->sched ? "task                 pid  prev_pid" :
	      "fault_addr       srr0             srr1", stdout);
	if (r->nr_tasks)
		fputs(o->all ? "    tgid policy      cgroup" : "  cgroup", stdout);
	putchar('\n');
}

int cmd_print(int argc, char **argv)
{
	const struct options o = parse(argc, argv);
	struct recording r = recording_open(o.path);

	if ((o.pid || o.cgroup) && !r.sched)
		usage_error("print: the entries of %s name no tasks", r.head.source);
	if (o.cgroup && !r.nr_tasks)
		usage_error("print: %s has no cgroups: it is from an older kdtl", o.path);
	recording_sort(&r);
	print_head(&r, &o);
	for (size_t i = 0; i < r.nr; i++) {
		if (is_wanted(&r, &o, r.entry[i]))
			print_entry(&r, &o, r.entry[i]);
	}
	return 0;
}
