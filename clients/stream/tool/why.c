// SPDX-License-Identifier: GPL-2.0
/* kdtl why: the longest waits, and who had the CPU meanwhile. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "sleeps.h"

#define INDENT		4
#define MOST		10	/* waits that are shown if nobody says how many */

/**
 * struct wait - a wait that is shown
 * @i: the number of its entry
 * @ns: for how long the task had no CPU although it could have gone on: its wait, or the
 *	time in which its quota held it back
 */
struct wait {
	size_t		i;
	uint64_t	ns;
};

/**
 * struct options - the command line of why
 * @filter: the waits that are wanted
 * @time: only those that had begun, and were not over, at this time; NULL: all
 * @when: @time in ns since 1970, and the first ns behind it
 * @nr_when: number of these spans: two in an hour that comes twice
 * @nr: number of waits; 0: as many as fit, but at most %MOST
 * @all: one line for each task that had the CPU
 * @brief: a line of NAME=VALUE for each wait
 * @json: a line with a JSON object for each wait
 * @chain: what made tasks late, even while they slept
 * @width: of the terminal
 * @below: @width is too small, so the cgroup has a line of its own
 * @begin: there is room for the beginning of each wait
 * @seconds: record for so long first; 0: read a recording
 * @path: the recording
 * @wake: the one of wake-ups; NULL: the one beside it
 * @steal: the one of stolen time; NULL: the one beside it, if there is one
 * @irq: the one of interrupts, likewise
 * @kepts: who could not be preempted, if there are wake-ups
 * @host: the one of the host; NULL: none
 * @ahead: how far the host's time of day is ahead, in ns, to 2 s
 */
struct options {
	struct filter	filter;
	const char	*time;
	struct span	when[2];
	unsigned int	nr_when;
	size_t		nr;
	bool		all;
	bool		brief;
	bool		json;
	bool		chain;
	int		width;
	bool		below;
	bool		begin;
	double		seconds;
	const char	*path;
	const char	*wake;
	const char	*steal;
	const char	*irq;
	struct kepts	kepts;
	const char	*host;
	int64_t		ahead;
};

/* The columns of the beginning of a wait. */
#define BEGIN_WIDTH	(time_width(3) + 2)

/* A path on the line of its wait is not cut to less. */
#define PATH_GOOD	24

/* Lines before the first wait, and the one of the shell that follows the last. */
#define OTHER_LINES	5

/* The columns before the cgroup's, but without the task's. */
#define BEFORE_CGROUP	(time_width(3) + (int)strlen(" 1234   123 ms    123 ms     "))

/* How many waits of @lines each fit the terminal; a file or a pipe has no end. */
static size_t fitting(size_t lines)
{
	const size_t rows = terminal_rows();

	return rows > lines + OTHER_LINES ? (rows - OTHER_LINES) / lines : 1;
}

/* Parse a time which, unlike others, may be negative. */
static int64_t parse_ahead(const char *text)
{
	const bool behind = *text == '-';
	uint64_t ns;

	/* If it is no duration, the message shows it as it was typed. */
	if (!read_duration(text + behind, NS_PER_S, &ns))
		ns = parse_duration("--host-ahead", text, NS_PER_S, 0, 0);
	return behind ? -(int64_t)ns : (int64_t)ns;
}

static struct options parse(int argc, char **argv)
{
	enum { OPT_TIME = OPT_OTHERS, OPT_BRIEF, OPT_STEAL, OPT_HOST, OPT_AHEAD,
	       OPT_CHAIN, OPT_JSON };
	static const struct option names[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "brief", no_argument, NULL, OPT_BRIEF },
		{ "chain", no_argument, NULL, OPT_CHAIN },
		{ "json", no_argument, NULL, OPT_JSON },
		{ "host", required_argument, NULL, OPT_HOST },
		{ "host-ahead", required_argument, NULL, OPT_AHEAD },
		{ "steal", required_argument, NULL, OPT_STEAL },
		{ "time", required_argument, NULL, OPT_TIME },
		FILTER_OPTIONS,
		OPTIONS_END
	};
	struct options o = { .path = "kdtl.data", .width = terminal_width() };
	int opt;

	while ((opt = next_option(argc, argv, ":had:n:", names)) != -1) {
		switch (opt) {
		case 'a':
			o.all = true;
			break;
		case 'd':
			o.seconds = parse_duration("-d", optarg, NS_PER_S, 1, 0) / 1e9;
			o.path = "live";
			break;
		case 'n':
			o.nr = parse_nr(optarg, "waits");
			break;
		case OPT_TIME:
			o.time = optarg;
			break;
		case OPT_BRIEF:
			o.brief = true;
			break;
		case OPT_CHAIN:
			o.chain = true;
			break;
		case OPT_JSON:
			o.json = true;
			break;
		case OPT_STEAL:
			o.steal = optarg;
			break;
		case OPT_HOST:
			o.host = optarg;
			break;
		case OPT_AHEAD:
			o.ahead = parse_ahead(optarg);
			break;
		default:
			filter_option(&o.filter, opt, optarg);
		}
	}
	if (argc - optind > 1)
		usage_error("why: expected at most one file");
	if (o.seconds && argv[optind])
		usage_error("why: -d shows what happens now and FILE what was recorded: give only one of them");
	if (o.seconds && o.steal)
		usage_error("why: --steal is for recordings: -d uses what the machine has");
	if (o.seconds && o.host)
		usage_error("why: --host is for recordings");
	if (o.seconds && o.filter.cpus)
		check_cpus("--cpu", o.filter.cpus);
	if (o.chain && o.host)
		usage_error("why: --host is for waits, not for --chain");
	if (o.json && (o.brief || o.all || o.host || o.chain))
		usage_error("why: --json has all of each wait, and no host: not with --all, --brief, --host or --chain");
	if (o.ahead && !o.host)
		usage_error("why: --host-ahead is for --host");
	if (argv[optind])
		o.path = argv[optind];
	return o;
}

/* Longest first. */
static int by_ns(const void *a, const void *b)
{
	const struct wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* Had it begun, and was it not over, at the time that is asked for? */
static bool was_then(const struct options *o, uint64_t begin, uint64_t end)
{
	for (unsigned int i = 0; i < o->nr_when; i++) {
		if (end >= o->when[i].from && begin < o->when[i].to)
			return true;
	}
	return !o->time;
}

static struct wait *find_waits(const struct recording *r, const struct options *o, size_t *nr)
{
	struct wait *waits = NULL, w;
	const struct kdtl_entry *e;
	uint64_t end;

	*nr = 0;
	for (size_t i = 0; i < r->nr; i++) {
		e = r->entry[i];
		if (entry_is_idle(e))
			continue;
		w = (struct wait){ i, entry_wait(r, e) + entry_throttled(r, e) };
		if (!w.ns || !filter_wants(&o->filter, r, e))
			continue;
		end = time_of_day(r, be64toh(e->timebase));
		if (!was_then(o, end - w.ns, end))
			continue;
		grow(waits, *nr);
		waits[(*nr)++] = w;
	}
	if (*nr)
		qsort(waits, *nr, sizeof(*waits), by_ns);
	return waits;
}

/* "NAME (PID)", or "softirq NAME" */
static const char *ran_task_text(char to[TASK_TEXT], const struct ran *ran)
{
	char comm[PRINTABLE(COMM_LEN)];

	if (ran->pid >= 0)
		return listed_text(to, ran->comm, ran->pid);
	snprintf(to, TASK_TEXT, "%s %s", kdtl_irq_word(ran->pid),
		 printable(comm, ran->comm, COMM_LEN));
	return to;
}

static const char *ran_text(char *to, size_t size, const struct ran *ran)
{
	char task[TASK_TEXT], ns[NS_TEXT];

	snprintf(to, size, "%s %s", ran->pid ? ran_task_text(task, ran) : "idle",
		 short_ns(ns, ran->ns));
	return to;
}

/* Print as many as there is room for on the line, and the rest as a sum. */
static void print_behind(const struct options *o, const struct who *w, const char *behind)
{
	char text[TASK_TEXT + NS_TEXT], ns[NS_TEXT];
	const int rest = strlen(", 99 others 999 ms");
	int left = o->width - INDENT - (int)strlen(behind);
	const char *comma = "";
	uint64_t others = 0;
	size_t i = 0;

	if (w->stolen)
		left -= strlen(", the hypervisor 999 ms");
	printf("%*s%s", INDENT, "", w->nr || w->stolen || w->unknown ? behind : "");
	for (; i < w->nr; i++) {
		ran_text(text, sizeof(text), &w->ran[i]);
		left -= strlen(comma) + strlen(text);
		if (i && left < (i + 1 < w->nr ? rest : 0))
			break;
		printf("%s%s", comma, text);
		comma = ", ";
	}
	for (size_t k = i; k < w->nr; k++)
		others += w->ran[k].ns;
	if (others)
		printf(", %zu others %s", w->nr - i, short_ns(ns, others));
	if (w->stolen) {
		printf("%sthe hypervisor %s", comma, short_ns(ns, w->stolen));
		comma = ", ";
	}
	if (w->unknown) {
		printf("%snot known %s", comma, short_ns(ns, w->unknown));
		comma = ", ";
	}
	if (w->elsewhere)
		printf("%sin the queue of another CPU %s", comma, short_ns(ns, w->elsewhere));
	putchar('\n');
}

static void print_behind_whom(uint64_t ns, const char *whom, const char *behind)
{
	if (!ns)
		return;
	printf("%*s%s", INDENT, "", behind);
	print_ns(ns, false);
	printf("  %s\n", whom);
}

static void print_all_behind(const struct recording *r, const struct who *w, const char *behind)
{
	char text[TASK_TEXT], path[PRINTABLE(KDTL_CGROUP_LEN)];

	for (const struct ran *ran = w->ran; ran < w->ran + w->nr; ran++) {
		printf("%*s%s", INDENT, "", behind);
		print_ns(ran->ns, false);
		if (ran->pid < 0)
			printf("  %s\n", ran_task_text(text, ran));
		else if (ran->pid)
			printf("  %s %s\n", ran_task_text(text, ran),
			       path_text(path, r, ran->task));
		else
			puts("  idle");
	}
	print_behind_whom(w->stolen, "the hypervisor", behind);
	print_behind_whom(w->unknown, "not known", behind);
	print_behind_whom(w->elsewhere, "in the queue of another CPU", "");
}

/* Which limit on CPU time applies to the task? */
static const char *limit_text(const struct recording *r, const struct kdtl_entry *e)
{
	const struct kdtl_task *t = entry_task(r, e);

	if (!t)
		return "a quota, the limit on real-time tasks, or its own deadline runtime";
	if (t->policy == SCHED_DEADLINE)
		return "its own deadline runtime";
	return t->rt_priority ? "the limit on real-time tasks" : "the quota of its cgroup";
}

static const char behind_here[] = "behind ", behind_there[] = "on the host behind ";
static const char behind_still[] = "not over, behind ";

/* Print who had the CPU before the task was moved. */
static void print_before(const struct recording *r, const struct options *o,
			 const struct wait *wait)
{
	char behind[sizeof("CPU 4294967295, where it ran last, had ")];
	struct who who;
	unsigned int cpu;

	if (who_before(r, wait->i, &cpu, &who)) {
		snprintf(behind, sizeof(behind), "CPU %u, where it ran last, had ", cpu);
		if (o->all)
			print_all_behind(r, &who, behind);
		else
			print_behind(o, &who, behind);
	}
	free(who.ran);
}

/* Print who had the CPU in the guest, and who had it on the host in the stolen part. */
static void print_both(const struct recording *r, const struct host *h, const struct options *o,
		       const struct wait *wait)
{
	const char *behind = entry_still(r, r->entry[wait->i]) ? behind_still : behind_here;
	struct who who = { 0 }, there = { 0 };

	who_ran(r, wait->i, &who);
	if (o->all)
		print_all_behind(r, &who, behind);
	else
		print_behind(o, &who, behind);
	if (who.elsewhere)
		print_before(r, o, wait);
	if (h && who.stolen) {
		host_behind(h, r, r->entry[wait->i], &there);
		if (o->all)
			print_all_behind(&h->r, &there, behind_there);
		else
			print_behind(o, &there, behind_there);
	}
	free(who.ran);
	free(there.ran);
}

/* Print who could not be preempted where the task was last queued. */
static void print_kept(const struct recording *r, const struct options *o, size_t i)
{
	const struct kdtl_wake_entry *kept = kept_before(&o->kepts, r, r->entry[i]);
	char comm[PRINTABLE(COMM_LEN)], ns[NS_TEXT];

	if (!kept)
		return;
	printf("%*s%s (%d) could not be preempted for %s\n", INDENT, "",
	       printable(comm, kdtl_wake_comm(kept), COMM_LEN), kdtl_wake_pid(kept),
	       short_ns(ns, kdtl_wake_arg(kept)));
}

/* Print how many other CPUs were idle meanwhile, and on how many of them the task may run. */
static void print_idle(const struct recording *r, size_t i)
{
	size_t ran, nr = idle_meanwhile(r, i, &ran);

	if (!nr)
		return;
	printf("%*s%zu other CPU%s idle for most of that", INDENT, "", nr, nr == 1 ? " was" : "s were");
	if (ran)
		printf("; the task ran on %zu of them, too", ran);
	putchar('\n');
}

static void print_wait(const struct recording *r, const struct host *h, const struct options *o,
		       const struct wait *wait, int task_width)
{
	const struct kdtl_entry *e = r->entry[wait->i];
	char task[TASK_TEXT], path[PRINTABLE(KDTL_CGROUP_LEN)], time[TIME_TEXT];
	const uint64_t end = time_of_day(r, be64toh(e->timebase));
	int n;

	n = printf("%s %4u ", time_text(time, end, "%H:%M:%S", 3), entry_cpu(e));
	if (entry_is_throttled(e)) {
		if (entry_wait(r, e))
			print_ns(entry_wait(r, e), entry_wait_saturated(e));
		else
			printf("%9s", "-");
		n += 9 + printf(" ");
		print_ns(entry_throttled(r, e), entry_throttled_saturated(e));
	} else {
		print_ns(wait->ns, entry_wait_saturated(e));
		n += printf(" %9s", "-");
	}
	if (o->begin)
		n += printf("  %s", time_text(time, end > wait->ns ? end - wait->ns : 0,
					      "%H:%M:%S", 3));
	n += 9 + printf("  %-*s", r->nr_tasks && !o->below ? task_width : 0,
			task_text(task, sizeof(task), r, e));
	if (r->nr_tasks) {
		n = o->below ? printf("\n%*s", INDENT, "") - 1 : n + printf("  ");
		print_path(path_text(path, r, entry_task(r, e)), o->all ? (int)sizeof(path) : o->width - n);
	}
	putchar('\n');
	if (entry_is_throttled(e)) {
		printf("%*s%sheld back by %s\n", INDENT, "", entry_still(r, e) ? "not over, " : "",
		       limit_text(r, e));
		if (!entry_wait(r, e))
			return;
	}
	if (!r->sched)
		return;
	print_both(r, h, o, wait);
	print_kept(r, o, wait->i);
	if (!entry_still(r, e))
		print_idle(r, wait->i);
}

/*
 * Print the sums of all wanted waits, even those that are not shown.  Waits overlap, so the sums
 * may be larger than the time that was stolen.
 */
static void print_total(const struct recording *r, const struct host *h, const struct options *o,
			const struct wait *waits, size_t nr)
{
	struct who who = { 0 };

	for (size_t i = 0; i < nr; i++) {
		if (!entry_is_throttled(r->entry[waits[i].i]))
			host_behind(h, r, r->entry[waits[i].i], &who);
	}
	if (!who.nr && !who.stolen && !who.unknown)
		return;
	printf("\nall %zu waits:\n", nr);
	if (o->all)
		print_all_behind(&h->r, &who, behind_there);
	else
		print_behind(o, &who, behind_there);
	free(who.ran);
}

/* Who had the CPU for the longest part of the time; -: no task. */
static const char *longest_text(char to[PRINTABLE(KDTL_CGROUP_LEN)], const struct who *w)
{
	if (!w->nr)
		return w->unknown ? "?" : "-";
	return w->ran->pid ? word_text(to, w->ran->comm, COMM_LEN) : "idle";
}

static int longest_pid(const struct who *w)
{
	return w->nr ? w->ran->pid : 0;
}

static void print_longest_ms(const char *name, const struct who *w)
{
	if (w->nr)
		printf(" %s=%.3f", name, (double)w->ran->ns / NS_PER_MS);
	else
		printf(" %s=0", name);
}

static void print_stolen_ms(const char *name, const struct recording *r, const struct who *w)
{
	if (r->steal)
		printf(" %s=%.3f", name, (double)w->stolen / NS_PER_MS);
	else
		printf(" %s=?", name);
}

/* Print what only a host's recording can tell. */
static void print_brief_host(const struct recording *r, const struct host *h,
			     const struct wait *wait)
{
	const struct kdtl_entry *e = r->entry[wait->i];
	char comm[PRINTABLE(KDTL_CGROUP_LEN)];
	struct who who = { 0 };

	if (!entry_is_throttled(e))
		host_behind(h, r, e, &who);
	printf(" host_behind=%s host_pid=%d", longest_text(comm, &who), longest_pid(&who));
	print_longest_ms("host_behind_ms", &who);
	printf(" host_unknown_ms=%.3f", (double)who.unknown / NS_PER_MS);
	free(who.ran);
}

/* What holds a task back, in a word. */
static const char *limit_word(const struct recording *r, const struct kdtl_entry *e)
{
	const struct kdtl_task *t = entry_task(r, e);

	if (!entry_is_throttled(e))
		return "-";
	if (!t)
		return "?";
	return t->policy == SCHED_DEADLINE ? "deadline" : t->rt_priority ? "rt" : "quota";
}

static const char *cgroup_word(char to[PRINTABLE(KDTL_CGROUP_LEN)], const struct recording *r,
			       const struct kdtl_entry *e)
{
	const struct kdtl_task *t = r->nr_tasks ? entry_task(r, e) : NULL;
	const char *path = t ? cgroup_path(r, t->cgroup) : NULL;

	return path ? word_text(to, path, KDTL_CGROUP_LEN) : "?";
}

/* Print who had the CPU where the task ran last; @elsewhere: it was in another CPU's queue. */
static void print_brief_before(const struct recording *r, const struct wait *wait, bool elsewhere)
{
	const char *none = elsewhere ? "?" : "-", *ms = elsewhere ? "?" : "0";
	char comm[PRINTABLE(KDTL_CGROUP_LEN)];
	struct who who = { 0 };
	unsigned int cpu;

	if (elsewhere && who_before(r, wait->i, &cpu, &who)) {
		printf(" before_cpu=%u before=%s before_pid=%d", cpu, longest_text(comm, &who),
		       longest_pid(&who));
		print_longest_ms("before_ms", &who);
		print_stolen_ms("before_stolen_ms", r, &who);
		printf(" before_unknown_ms=%.3f", (double)who.unknown / NS_PER_MS);
	} else {
		printf(" before_cpu=%s before=%s before_pid=0 before_ms=%s", none, none, ms);
		printf(" before_stolen_ms=%s before_unknown_ms=%s", ms, ms);
	}
	free(who.ran);
}

/* Print who could not be preempted; without any such task in the recording, that is not known. */
static void print_brief_kept(const struct recording *r, const struct options *o,
			     const struct wait *wait)
{
	const struct kdtl_wake_entry *kept = kept_before(&o->kepts, r, r->entry[wait->i]);
	char comm[PRINTABLE(KDTL_CGROUP_LEN)];

	if (!kept) {
		printf(" kept=%s", o->kepts.nr ? "- kept_pid=0 kept_ms=0" : "? kept_pid=0 kept_ms=?");
		return;
	}
	printf(" kept=%s kept_pid=%d kept_ms=%.3f",
	       kdtl_wake_pid(kept) ? word_text(comm, kdtl_wake_comm(kept), COMM_LEN) : "idle",
	       kdtl_wake_pid(kept), (double)kdtl_wake_arg(kept) / NS_PER_MS);
}

/* Print fields that were added later last, so that the older ones keep their places. */
static void print_brief_more(const struct recording *r, const struct options *o,
			     const struct wait *wait, const struct who *who)
{
	const struct kdtl_entry *e = r->entry[wait->i];
	const bool saturated = entry_throttled_saturated(e) || entry_wait_saturated(e);
	char path[PRINTABLE(KDTL_CGROUP_LEN)];

	printf(" saturated=%d cgroup=%s limit=%s behind_pid=%d", saturated, cgroup_word(path, r, e),
	       limit_word(r, e), longest_pid(who));
	printf(" unknown_ms=%.3f elsewhere_ms=%.3f", (double)who->unknown / NS_PER_MS,
	       (double)who->elsewhere / NS_PER_MS);
	print_brief_before(r, wait, who->elsewhere);
	printf(" not_over=%d", !!entry_still(r, e));
	print_brief_kept(r, o, wait);
}

/* Print a wait for scripts. */
static void print_brief(const struct recording *r, const struct host *h, const struct options *o,
			const struct wait *wait)
{
	const struct kdtl_entry *e = r->entry[wait->i];
	const bool throttled = entry_is_throttled(e);
	char word[PRINTABLE(KDTL_CGROUP_LEN)], time[TIME_TEXT];
	struct who who = { 0 };

	if (r->sched && entry_wait(r, e))
		who_ran(r, wait->i, &who);
	else if (!throttled)
		who.unknown = wait->ns;
	printf("why: task=%s pid=%d waited_ms=%.3f cpu=%u",
	       r->sched ? word_text(word, entry_comm(e), COMM_LEN) : "?",
	       r->sched ? entry_pid(e) : 0, (double)entry_wait(r, e) / NS_PER_MS,
	       entry_cpu(e));
	printf(" behind=%s", longest_text(word, &who));
	print_longest_ms("behind_ms", &who);
	printf(" throttled_ms=%.3f time=%s", (double)entry_throttled(r, e) / NS_PER_MS,
	       time_text(time, time_of_day(r, be64toh(e->timebase)), "%Y-%m-%dT%H:%M:%S", 6));
	print_stolen_ms("stolen_ms", r, &who);
	if (h)
		print_brief_host(r, h, wait);
	print_brief_more(r, o, wait, &who);
	putchar('\n');
	free(who.ran);
}

static void print_head(const struct recording *r, const struct options *o, size_t shown,
		       size_t nr, int task_width)
{
	printf("%s: the longest %zu of %zu waits, worst first; %llu entries lost\n",
	       o->path, shown, nr, (unsigned long long)r->head.lost);
	print_origin(r);
	printf("%-*s %4s %9s %9s  ", time_width(3), "time of day", "CPU", "waited ", "throttled");
	if (o->begin)
		printf("%-*s  ", time_width(3), "since");
	printf("%-*s%s\n",
	       r->nr_tasks && !o->below ? task_width : 0, "task (PID)",
	       r->nr_tasks && !o->below ? "  cgroup" : "");
}

/* Say if a wait that is shown may have ended on a CPU that is not in the recording. */
static void tell_some_cpus(const struct recording *r, const struct wait *waits, size_t nr,
			   const char *path)
{
	const struct still *still;

	for (size_t i = 0; i < nr && r->some_cpus; i++) {
		still = entry_still(r, r->entry[waits[i].i]);
		if (!still || still->told)
			continue;
		fprintf(stderr, "kdtl: %s: has some CPUs only (-C): a wait that is not over there may be over on another one\n",
			path);
		return;
	}
}

/* Say what would have told more. */
static void print_advice(const struct recording *r, const struct wait *waits, size_t nr)
{
	uint64_t unknown = 0, all = 0;
	struct who who = { 0 };

	for (size_t i = 0; i < nr && r->sched; i++) {
		if (entry_is_throttled(r->entry[waits[i].i]))
			continue;
		who_ran(r, waits[i].i, &who);
		unknown += who.unknown;
		all += waits[i].ns;
	}
	free(who.ran);
	if (unknown > all / 10)
		fprintf(stderr, "kdtl: the recording does not say who had the CPU for %llu%% of that time: record with -i, without -w, and with enough pages (-m)\n",
			(unsigned long long)(unknown * 100 / all));
}

static size_t at_most(size_t nr, size_t most)
{
	return nr < most ? nr : most;
}

/* Here, the filter's shortest wait is the shortest time without a CPU. */
static int chain(const struct recording *r, struct options *o)
{
	const struct chains_wanted wanted = {
		.path = o->path, .wake = o->wake, .filter = &o->filter, .min_ns = o->filter.min_wait,
		.when = o->when, .nr_when = o->nr_when, .nr = o->nr, .all = o->all, .brief = o->brief,
		.span = o->filter.pid && o->filter.from && o->filter.to,
		.asked = o->filter.pid || o->filter.comm || o->filter.cgroup,
	};

	o->filter.min_wait = 0;
	return why_chain(r, &wanted);
}

static const char *live(struct options *o)
{
	return record_live(o->seconds, &o->steal, &o->irq, &o->wake, o->chain);
}

static int why(int argc, char **argv)
{
	struct options o = parse(argc, argv);
	struct recording r = recording_open(!o.seconds ? o.path : live(&o));
	char task[TASK_TEXT];
	struct host host, *h = NULL;
	struct wait *waits;
	size_t nr, shown, lines;
	int width = strlen("task (PID)");

	if (!o.seconds || o.steal)
		steal_open(&r, o.path, o.steal);
	if (!o.seconds || o.irq)
		irq_open(&r, o.path, o.irq);
	recording_sort(&r);
	if (o.host) {
		h = &host;
		host_open(h, &r, o.host, o.ahead);
	}
	filter_begin(&o.filter, &r);
	o.nr_when = o.time ? parse_time_option(&r, "--time", o.time, o.when) : 0;
	recording_sort_by_cpu(&r);
	if (o.chain)
		return chain(&r, &o);
	stills_find(&r);
	if (!o.seconds || o.wake)
		kepts_open(&o.kepts, &r, o.path, o.wake);
	waits = find_waits(&r, &o, &nr);
	lines = has_idle(&r) ? 3 : 2;
	shown = at_most(nr, o.nr ?: at_most(MOST, fitting(lines)));
	if (!nr) {
		tell_empty(&o.filter, &r, o.path);
		errno = 0;
		die("%s: nobody waited%s", o.path, o.time ? " at that time" : "");
	}
	tell_some_cpus(&r, waits, shown, o.path);
	for (size_t i = 0; i < shown && o.brief; i++)
		print_brief(&r, h, &o, &waits[i]);
	for (size_t i = 0; i < shown && o.json; i++)
		why_json(&r, &o.kepts, waits[i].i, entry_is_throttled(r.entry[waits[i].i]) ?
			 limit_word(&r, r.entry[waits[i].i]) : NULL);
	if (o.brief || o.json)
		return 0;
	for (size_t i = 0; i < shown; i++) {
		const int n = strlen(task_text(task, sizeof(task), &r, r.entry[waits[i].i]));

		width = n > width ? n : width;
	}
	o.begin = o.all || o.width >= BEFORE_CGROUP + width + BEGIN_WIDTH + PATH_GOOD;
	o.below = !o.all && r.nr_tasks && o.width < BEFORE_CGROUP + width + PATH_MIN;
	if (o.below && !o.nr)
		shown = at_most(shown, fitting(lines + (BEFORE_CGROUP + width + o.width - 1) / o.width));
	print_head(&r, &o, shown, nr, width);
	for (size_t i = 0; i < shown; i++)
		print_wait(&r, h, &o, &waits[i], width);
	if (h)
		print_total(&r, h, &o, waits, nr);
	print_advice(&r, waits, shown);
	return 0;
}

const struct verb verb_why = {
	.name = "why",
	.brief = "the longest waits, and who had the CPU meanwhile",
	.usage =
	"why [OPTION]... [FILE]\n"
	"  -d TIME                  of the next seconds, or until Ctrl-C, instead of FILE\n"
	"  -n NUMBER                so many waits (default: 10, or as many as fit)\n"
	"  --time TIME              only waits at that time\n"
	"  -a, --all                a line for each task that had the CPU\n"
	"  --brief                  a line of NAME=VALUE for each wait, for scripts\n"
	"  --chain                  what made tasks late, also in their sleep: needs FILE.wake\n"
	"  --json                   a line with a JSON object for each wait\n"
	"  --steal FILE2            what the hypervisor took (default: FILE.steal)\n"
	"  --host FILE3             recorded in the host: who had its CPUs meanwhile\n"
	"  --host-ahead TIME        its time of day is so far ahead, to 2 s (default: 0)\n"
	FILTER_USAGE,
	.run = why,
};
