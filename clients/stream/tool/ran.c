// SPDX-License-Identifier: GPL-2.0
/*
 * Who had a CPU in a span of time
 *
 * The rule is that of kdtl_answers.ko: api/answers/engine/runs.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "answers/engine/runs.h"
#include "kdtl.h"

/* @pid, of @e, had the CPU for @ns of the time from @from to @to. */
static void add(struct who *w, const struct kdtl_entry *e, int pid, uint64_t from, uint64_t to,
		uint64_t ns)
{
	struct ran *ran;

	for (ran = w->ran; ran < w->ran + w->nr; ran++) {
		if (ran->pid != pid)
			continue;
		ran->ns += ns;
		if (ns > ran->longest) {
			ran->longest = ns;
			ran->from = from;
			ran->to = to;
			ran->entry = e;
		}
		return;
	}
	if (w->nr == w->room) {
		w->room = w->room ? 2 * w->room : 8;
		w->ran = resized(w->ran, w->room * sizeof(*w->ran));
	}
	w->ran[w->nr++] = (struct ran){
		.pid = pid, .ns = ns, .longest = ns, .from = from, .to = to, .entry = e,
	};
}

static int by_ns(const void *a, const void *b)
{
	const struct ran *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

/* More losses than this are only counted. */
#define LOSSES_SHOWN	3

/* Say how many entries are missing, and where. */
void losses_tell(const struct recording *r, const char *path)
{
	char from[TIME_TEXT], to[TIME_TEXT];
	const struct gap *l;

	if (!r->head.lost)
		return;
	fprintf(stderr, "kdtl: %s: %llu entries were lost", path, (unsigned long long)r->head.lost);
	for (size_t i = 0; i < r->nr_losses && i < LOSSES_SHOWN; i++) {
		l = &r->loss[i];
		fprintf(stderr, "%s %llu of CPU %u from %s to %s", i ? "," : ":",
			(unsigned long long)l->lost, l->cpu,
			time_text(from, day_of(r, l->from), "%H:%M:%S", 3),
			time_text(to, day_of(r, l->to), "%H:%M:%S", 3));
	}
	if (!r->nr_losses)
		fputs(", and it is not known when", stderr);
	else if (r->nr_losses > LOSSES_SHOWN)
		fprintf(stderr, ", and at %zu more times", r->nr_losses - LOSSES_SHOWN);
	fputc('\n', stderr);
}

/*
 * Recordings of kdtl_vpa by older versions have the hypervisor's processors in their entries, but
 * Linux's CPUs in their losses: then it is not known which entries are beside a loss.
 */
void losses_place(struct recording *r)
{
	if (!r->linux_cpus && !strcmp(r->head.source, "kdtl_vpa"))
		r->nr_losses = 0;
}

/* May entries of @cpu have been lost between @from and @to, in ns since boot? */
static bool lost_between(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to)
{
	const struct gap *g = gap_after(r->loss, r->nr_losses, cpu, from);

	return g < r->loss + r->nr_losses && g->cpu == cpu && g->from < to;
}

/* An entry and the next one of its CPU. */
struct pair {
	const struct recording		*r;
	const struct kdtl_entry		*e;
	const struct kdtl_entry		*next;
};

static bool pair_task(void *pair, __s32 pid, __u64 ticks, __s32 *tgid, __u64 *since)
{
	const struct pair *p = pair;
	const struct kdtl_task *t = task_at(p->r, pid == entry_pid(p->e) ? p->e : p->next, pid, ticks);

	if (!t)
		return false;
	*tgid = t->tgid;
	*since = t->since;
	return true;
}

/*
 * The task of @e had the CPU until @next, which is the CPU's next entry.  There entry_prev_pid() is
 * its PID, though it may have had another one before.  If others may have come between the two,
 * because they were lost or waited for too short a time, that is not known; nor is it if the CPU
 * was offline meanwhile.
 */
bool ran_between(const struct recording *r, const struct kdtl_entry *e,
		 const struct kdtl_entry *next)
{
	static const struct kdtl_runs_ops ops = { .task = pair_task };
	const struct move *m = move_after(r, e);
	struct pair pair = { r, e, next };

	return !r->min_wait && !(m && m->ticks < be64toh(next->timebase)) &&
	       (entry_pid(e) == entry_prev_pid(next) ||
		kdtl_runs_exec(&ops, &pair, entry_pid(e), be64toh(e->timebase),
			       entry_prev_pid(next), be64toh(next->timebase))) &&
	       !(r->nr_losses &&
		 lost_between(r, entry_cpu(e), entry_time(r, e), entry_time(r, next)));
}

/*
 * The CPU's entry after @i; SIZE_MAX: none.  One of a wait that is not over is only taken if none
 * follows.
 */
size_t next_of_cpu(const struct recording *r, size_t i)
{
	const unsigned int cpu = entry_cpu(r->entry[i]);
	size_t next = i + 1;

	while (next + 1 < r->nr && entry_still(r, r->entry[next]) &&
	       entry_cpu(r->entry[next + 1]) == cpu)
		next++;
	return next < r->nr && entry_cpu(r->entry[next]) == cpu ? next : SIZE_MAX;
}

/* The task of entry @i had the CPU until its next entry.  They must be sorted by CPU. */
bool ran_until_next(const struct recording *r, size_t i)
{
	size_t next;

	/* An entry of a wait that is not over changes nothing: the CPU's task goes on. */
	while (i && entry_still(r, r->entry[i]))
		i--;
	next = next_of_cpu(r, i);
	return next != SIZE_MAX && ran_between(r, r->entry[i], r->entry[next]);
}

/*
 * What the task of entry @i has become when it leaves the CPU, if its PID changed meanwhile: a
 * thread that was not the leader of its process has called exec().  NULL: the PID is the same, or
 * it is not known who had the CPU.
 */
const struct kdtl_task *execd_task(const struct recording *r, size_t i)
{
	const size_t next = next_of_cpu(r, i);
	const struct kdtl_entry *e = r->entry[i], *then;

	if (!r->nr_tasks || next == SIZE_MAX || entry_still(r, e))
		return NULL;
	then = r->entry[next];
	if (entry_prev_pid(then) == entry_pid(e) || !ran_between(r, e, then))
		return NULL;
	return task_at(r, then, entry_prev_pid(then), be64toh(then->timebase));
}

/*
 * Add to @w what the hypervisor and interrupts had of @cpu from @from until @to.  Returns how long
 * that was.
 */
static uint64_t add_taken(const struct recording *r, unsigned int cpu, uint64_t from, uint64_t to,
			  struct who *w)
{
	const struct gap *g = gap_after(r->taken, r->nr_taken, cpu, from);
	const struct gap *end = r->taken + r->nr_taken;
	uint64_t taken = 0, ns;

	for (; g < end && g->cpu == cpu && g->from < to; g++) {
		ns = (g->to < to ? g->to : to) - (g->from > from ? g->from : from);
		if (g->entry)
			add(w, g->entry, entry_pid(g->entry), g->from, g->to, ns);
		else
			w->stolen += ns;
		taken += ns;
	}
	return taken;
}

/*
 * Add to @w who had the CPU of entry @i in the @ns ns before @until, which is not after it.
 * The entries must be sorted by CPU.  A task did not run while the hypervisor had its CPU.
 */
void who_add(const struct recording *r, size_t i, uint64_t until, uint64_t ns, struct who *w)
{
	const struct kdtl_entry *e;
	const unsigned int cpu = entry_cpu(r->entry[i]);
	uint64_t since, taken;

	for (; ns && i && entry_cpu(r->entry[i - 1]) == cpu; i--) {
		e = r->entry[i - 1];
		if (entry_time(r, e) >= until || entry_still(r, e))
			continue;
		since = until - entry_time(r, e);
		if (since > ns)
			since = ns;
		taken = add_taken(r, cpu, until - since, until, w);
		if (since > taken && ran_until_next(r, i - 1))
			add(w, e, entry_prev_pid(r->entry[i]), until - since, until, since - taken);
		else
			w->unknown += since - taken;
		until -= since;
		ns -= since;
	}
	taken = add_taken(r, cpu, ns < until ? until - ns : 0, until, w);
	w->unknown += ns - taken;
}

/*
 * Returns what the task of @e, which had @pid at last, was for most of the time from @from to @to,
 * in ns since boot, and its name: since the dispatch it may have started a program, or changed its
 * cgroup.
 */
const struct kdtl_task *ran_task(const struct recording *r, const struct kdtl_entry *e, int pid,
				 uint64_t from, uint64_t to, const char **comm)
{
	const uint64_t since = be64toh(e->timebase);
	const struct kdtl_task *t;
	uint64_t ticks = since;

	/* kdtl_sched: look at the middle, or at the end if exec() has changed the PID. */
	if (r->head.tb_freq == 1000000000)
		ticks += (pid == entry_pid(e) ? from + (to - from) / 2 : to) - entry_time(r, e);
	t = task_at(r, e, pid, ticks);
	*comm = t && t->since > since ? t->comm : entry_comm(e);
	return t;
}

static void ran_name(const struct recording *r, struct ran *ran)
{
	if (ran->pid < 0) {
		ran->task = NULL;
		ran->comm = entry_comm(ran->entry);
		return;
	}
	ran->task = ran_task(r, ran->entry, ran->pid, ran->from, ran->to, &ran->comm);
}

/* Longest first, with their names. */
void who_sort(const struct recording *r, struct who *w)
{
	for (size_t i = 0; i < w->nr; i++)
		ran_name(r, &w->ran[i]);
	if (w->nr)
		qsort(w->ran, w->nr, sizeof(*w->ran), by_ns);
}

/*
 * Find who had the CPU of entry @i while its task was in the queue there.  The entries must be
 * sorted by CPU.  The times in @w, with @w->elsewhere, add up to the wait.
 */
void who_ran(const struct recording *r, size_t i, struct who *w)
{
	const struct kdtl_entry *e = r->entry[i];
	const uint64_t queued = entry_queued(r, e);

	w->nr = 0;
	w->stolen = 0;
	w->unknown = 0;
	w->elsewhere = entry_wait(r, e) - queued;
	who_add(r, i, entry_time(r, e), queued, w);
	who_sort(r, w);
}

/*
 * The first entry of @cpu that is not older than @time, or, if there is none, of the next CPU that
 * has any.  The entries must be sorted by CPU.
 */
size_t first_since(const struct recording *r, unsigned int cpu, uint64_t time)
{
	size_t from = 0, to = r->nr, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (entry_cpu(r->entry[i]) < cpu ||
		    (entry_cpu(r->entry[i]) == cpu && entry_time(r, r->entry[i]) < time))
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/* The entry of the CPU that @pid left at @time; SIZE_MAX: none. */
static size_t left_at(const struct recording *r, int pid, uint64_t time)
{
	unsigned int cpu = 0;
	size_t i;

	for (; (i = first_since(r, cpu, 0)) < r->nr; cpu++) {
		cpu = entry_cpu(r->entry[i]);
		for (i = first_since(r, cpu, time); i < r->nr; i++) {
			if (entry_cpu(r->entry[i]) != cpu || entry_time(r, r->entry[i]) != time)
				break;
			if (entry_prev_pid(r->entry[i]) == pid)
				return i;
		}
	}
	return SIZE_MAX;
}

/*
 * Who had the CPU where the task of entry @i ran last, while it waited in the queue of another
 * CPU than the one that it got: @w->elsewhere of who_ran().  No entry says in whose queue a task
 * is that is moved later, but it is that CPU's usually.  Returns whether there is any to tell of.
 */
bool who_before(const struct recording *r, size_t i, unsigned int *cpu, struct who *w)
{
	const struct kdtl_entry *e = r->entry[i];
	const uint64_t until = entry_time(r, e) - entry_queued(r, e);
	const uint64_t ns = entry_wait(r, e) - entry_queued(r, e);
	uint64_t missing = 0, taken;
	size_t last;

	*w = (struct who){ 0 };
	last = left_at(r, entry_pid(e), until - ns - entry_slept(r, e));
	if (last == SIZE_MAX || entry_cpu(r->entry[last]) == entry_cpu(e))
		return false;
	*cpu = entry_cpu(r->entry[last]);
	last = first_since(r, *cpu, until);
	if (last == r->nr || entry_cpu(r->entry[last]) != *cpu)
		last--;
	if (entry_time(r, r->entry[last]) < until)
		missing = until - entry_time(r, r->entry[last]);
	missing = missing < ns ? missing : ns;
	who_add(r, last, until - missing, ns - missing, w);
	taken = add_taken(r, *cpu, until - missing, until, w);
	w->unknown += missing - taken;
	who_sort(r, w);
	/* An idle CPU, or an unknown task, explains nothing. */
	return w->stolen || (w->nr && !(w->nr == 1 && !w->ran->pid));
}
