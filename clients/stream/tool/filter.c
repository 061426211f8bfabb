// SPDX-License-Identifier: GPL-2.0
/* Which entries are wanted: options that commands share. */
#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/kdtl_wake.h>

#include "kdtl.h"

cpu_set_t *parse_cpus(const char *option, const char *list)
{
	cpu_set_t *cpus = CPU_ALLOC(MAX_CPUS);
	const char *p = list;
	unsigned long from, to;
	char *end;

	if (!cpus)
		die("no memory");
	CPU_ZERO_S(CPU_ALLOC_SIZE(MAX_CPUS), cpus);
	do {
		if (!isdigit((unsigned char)*p))
			usage_error("%s %s: must be a list such as 0-3,8", option, list);
		from = to = strtoul(p, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			to = strtoul(end + 1, &end, 10);
		if (to < from || to >= MAX_CPUS || (*end && *end != ','))
			usage_error("%s %s: must be a list such as 0-3,8", option, list);
		for (; from <= to; from++)
			CPU_SET_S(from, CPU_ALLOC_SIZE(MAX_CPUS), cpus);
		p = end + 1;
	} while (*end);
	return cpus;
}

static uint32_t parse_pid(const char *text)
{
	char *end;
	const unsigned long pid = strtoul(text, &end, 10);

	if (!isdigit((unsigned char)*text) || *end || !pid || pid > INT32_MAX)
		usage_error("--pid %s: must be the PID of a task", text);
	return pid;
}

/* Take an option of FILTER_OPTIONS. */
void filter_option(struct filter *f, int opt, const char *arg)
{
	switch (opt) {
	case OPT_FROM:
		f->from = arg;
		break;
	case OPT_TO:
		f->to = arg;
		break;
	case OPT_PID:
		f->pid = parse_pid(arg);
		break;
	case OPT_COMM:
		f->comm = arg;
		break;
	case OPT_CGROUP:
		if (*arg != '/')
			usage_error("--cgroup %s: must be a path such as /system.slice", arg);
		f->cgroup = arg;
		break;
	case OPT_CPU:
		f->cpus = parse_cpus("--cpu", arg);
		break;
	case OPT_MIN_WAIT:
		f->min_wait = parse_duration("--min-wait", arg, NS_PER_MS, 1, 0);
		break;
	}
}

/* Say if times of day are not exact. */
void tell_approximate(const struct recording *r)
{
	if (!r->nr_clocks)
		fprintf(stderr, "kdtl: times of day are approximate: the recording is from an older kdtl\n");
}

/* Names may have a \, as systemd's do, so it quotes nothing: [*] is a *. */
static bool is_pattern(const char *text)
{
	return strpbrk(text, "*?[");
}

/* Compare as it stands, or as a pattern; only the first bytes of a name are known. */
static bool comm_is(const char *comm, const char *wanted)
{
	char name[COMM_LEN + 1] = "";

	if (!strncmp(wanted, comm, COMM_LEN - 1))
		return true;
	memcpy(name, comm, COMM_LEN);
	return is_pattern(wanted) && !fnmatch(wanted, name, FNM_NOESCAPE);
}

/* Is @path the cgroup @wanted, or below it, or one that matches if @wanted is a pattern? */
static bool cgroup_is(const char *path, const char *wanted)
{
	return is_in_cgroup(path, wanted) ||
	       (is_pattern(wanted) &&
		!fnmatch(wanted, path, FNM_NOESCAPE | FNM_PATHNAME | FNM_LEADING_DIR));
}

/*
 * The path within the hierarchy, of one in /sys/fs/cgroup.  Where that has several hierarchies, the
 * first folder is the one that has the cpu controller, or the unified one.
 */
static const char *cgroup_within(const struct recording *r, const char *path)
{
	static const char mount[] = "/sys/fs/cgroup";
	static const char *const hierarchies[] = { "/unified", "/cpu,cpuacct", "/cpuacct,cpu", "/cpu" };
	size_t len;

	if (!is_in_cgroup(path, mount))
		return path;
	path += strlen(mount);
	for (size_t i = 0; i < r->nr_cgroups; i++) {
		if (*path && cgroup_is(r->cgroup[i].path, path))
			return path;
	}
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		len = strlen(hierarchies[i]);
		if (is_in_cgroup(path, hierarchies[i]))
			return path[len] ? path + len : "/";
	}
	return *path ? path : "/";
}

/* Has the task, or its process, this PID in its own namespace? */
static bool has_ns_pid(const struct recording *r, const struct kdtl_entry *e,
		       const struct kdtl_task *t, uint32_t pid)
{
	const struct kdtl_task *leader;

	if (!t || t->ns_pid == t->pid)
		return false;
	leader = task_at(r, e, t->tgid, be64toh(e->timebase));
	return t->ns_pid == pid || (leader && leader->ns_pid == pid);
}

/* Somebody who mistakes one PID for another needs a few. */
#define PIDS_SHOWN	3

/*
 * A PID is one of the initial namespace.  If that has no dispatch, it is taken for one of a task's
 * own namespace, as tasks in a container know it.
 */
static void find_ns_pid(struct filter *f, const struct recording *r)
{
	char name[TASK_TEXT];
	int shown[PIDS_SHOWN];
	size_t nr = 0, k;
	const struct kdtl_entry *e;

	f->within = true;
	for (size_t i = 0; i < r->nr && f->within; i++) {
		const struct kdtl_task *t = entry_task(r, r->entry[i]);

		f->within = (uint32_t)entry_pid(r->entry[i]) != f->pid && (!t || t->tgid != f->pid);
	}
	for (size_t i = 0; i < r->nr && nr < PIDS_SHOWN; i++) {
		e = r->entry[i];
		if (!has_ns_pid(r, e, entry_task(r, e), f->pid))
			continue;
		for (k = 0; k < nr && shown[k] != entry_pid(e); k++)
			;
		if (k < nr)
			continue;
		shown[nr++] = entry_pid(e);
		if (k)
			fprintf(stderr, ", %s", task_text(name, sizeof(name), r, e));
		else
			fprintf(stderr, "kdtl: in %s pid namespace %u is the PID of %s",
				f->within ? "its" : "another", f->pid,
				task_text(name, sizeof(name), r, e));
	}
	if (nr)
		fputc('\n', stderr);
}

/* Check that the recording has what is asked for.  Call it when the entries are sorted. */
void filter_begin(struct filter *f, const struct recording *r)
{
	struct span span[2];
	unsigned int nr;

	f->first = 0;
	f->last = UINT64_MAX;
	if (f->from || f->to)
		tell_approximate(r);
	/* If an hour comes twice, both are wanted. */
	if (f->from) {
		parse_time_option(r, "--from", f->from, span);
		f->first = span[0].from;
	}
	if (f->to) {
		nr = parse_time_option(r, "--to", f->to, span);
		f->last = span[nr - 1].from;
	}
	if (recording_is_wake(r)) {
		if (f->cgroup || f->min_wait || f->cpus)
			usage_error("--cgroup, --cpu, --min-wait: a wake-up has none");
		return;
	}
	if ((f->pid || f->comm || f->cgroup) && !r->sched)
		usage_error("--pid, --comm, --cgroup: the entries of %s name no tasks",
			    source_text(r));
	if (f->cgroup && !r->nr_tasks)
		usage_error("--cgroup: the recording has no cgroups: it is from an older kdtl");
	if (f->cgroup)
		f->cgroup = cgroup_within(r, f->cgroup);
	if (f->pid)
		find_ns_pid(f, r);
}

/* Is @w about that task, or did that one do it?  Only the name of the first one is known. */
static bool wants_wake(const struct filter *f, const struct kdtl_wake_entry *w)
{
	if (f->pid && (uint32_t)kdtl_wake_pid(w) != f->pid &&
	    ((uint32_t)kdtl_wake_by(w) != f->pid || w->flags & KDTL_WAKE_IRQ))
		return false;
	return !f->comm || comm_is(kdtl_wake_comm(w), f->comm);
}

/* By the CPU, and the time. */
bool filter_wants_place(const struct filter *f, const struct recording *r, unsigned int cpu,
			uint64_t ticks)
{
	uint64_t ns;

	if (f->cpus && !CPU_ISSET_S(cpu, CPU_ALLOC_SIZE(MAX_CPUS), f->cpus))
		return false;
	if (!f->from && !f->to)
		return true;
	ns = time_of_day(r, ticks);
	return ns >= f->first && ns < f->last;
}

static bool wants_place(const struct filter *f, const struct recording *r,
			const struct kdtl_entry *e)
{
	return filter_wants_place(f, r, entry_cpu(e), be64toh(e->timebase));
}

static bool wants_cgroup(const struct filter *f, const struct recording *r,
			 const struct kdtl_task *t)
{
	const char *path = t && f->cgroup ? cgroup_path(r, t->cgroup) : NULL;

	return !f->cgroup || (path && cgroup_is(path, f->cgroup));
}

/* The time that the task of @e had its CPU as @t, which it became by exec(). */
bool filter_wants_execd(const struct filter *f, const struct recording *r,
			const struct kdtl_entry *e, const struct kdtl_task *t)
{
	return wants_place(f, r, e) && !f->min_wait && (!f->comm || comm_is(t->comm, f->comm)) &&
	       (!f->pid || t->pid == f->pid || (f->within && has_ns_pid(r, e, t, f->pid))) &&
	       wants_cgroup(f, r, t);
}

bool filter_wants(const struct filter *f, const struct recording *r,
		  const struct kdtl_entry *e)
{
	const struct kdtl_task *t = NULL;

	if (!wants_place(f, r, e))
		return false;
	if (recording_is_wake(r))
		return wants_wake(f, (const struct kdtl_wake_entry *)e);
	if (f->min_wait && entry_wait(r, e) + entry_throttled(r, e) < f->min_wait)
		return false;
	if (f->comm && !comm_is(entry_comm(e), f->comm))
		return false;
	if (f->pid || f->cgroup)
		t = entry_task(r, e);
	if (f->pid && (uint32_t)entry_pid(e) != f->pid && (!t || t->tgid != f->pid) &&
	    !(f->within && has_ns_pid(r, e, t, f->pid)))
		return false;
	return wants_cgroup(f, r, t);
}
