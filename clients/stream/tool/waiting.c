// SPDX-License-Identifier: GPL-2.0
/*
 * Waits that are not over when a recording ends
 *
 * An entry tells of a wait when it is over.  But it also tells that the task before it left its CPU
 * although it could have gone on.  If no later entry gives that task a CPU, it has had none since
 * then: to exit, to sleep, or to be stopped, it would have had to run.  So it waited, or a limit on
 * CPU time held it back, for as long as each dispatch is in the recording.  Each such wait gets an
 * entry, as if it had been over at that moment, whose times are lower bounds.
 *
 * No entry tells whether a task that went to sleep has woken up.  So the tool asks the kernel at
 * the end of a recording who waits (KDTL_IOC_WAITS): each of these tasks gets an entry, too.
 */
#include <search.h>
#include <stdlib.h>

#include "kdtl.h"

/* If CPUs' clocks differ, a dispatch may seem this much older than what it follows. */
#define SKEW_NS		20000000

/**
 * struct last - when a task left a CPU last, and when it got one
 * @pid: its PID, the first field of trees
 * @left: when it left a CPU, in ticks; 0: never
 * @ran: when it got one
 * @left_cpu: the CPU that it left
 * @ran_cpu: the CPU that it got
 * @why: the reason for which it left
 * @again: it got a CPU once more
 * @comm: its name when it got the CPU
 * @next: the next one in the list
 */
struct last {
	int		pid;
	uint64_t	left;
	uint64_t	ran;
	unsigned int	left_cpu;
	unsigned int	ran_cpu;
	uint8_t		why;
	bool		again;
	char		comm[COMM_LEN];
	struct last	*next;
};

static int by_pid(const void *a, const void *b)
{
	const struct last *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static struct last *last_of(struct lasts *l, int pid)
{
	const struct last key = { .pid = pid };
	struct last **found = tsearch(&key, &l->tree, by_pid);

	if (!found)
		die("no memory");
	if (*found == &key) {
		*found = resized(NULL, sizeof(**found));
		**found = (struct last){ .pid = pid, .next = l->first };
		l->first = *found;
	}
	return *found;
}

/* The entries of a CPU must come in the order of time. */
void lasts_note(struct lasts *l, const struct kdtl_entry *e)
{
	const uint64_t ticks = be64toh(e->timebase);
	struct last *last;

	if (entry_prev_pid(e)) {
		last = last_of(l, entry_prev_pid(e));
		if (ticks >= last->left) {
			last->left = ticks;
			last->left_cpu = entry_cpu(e);
			last->why = e->preempt_reason;
			last->again = false;
		}
	}
	if (entry_pid(e)) {
		last = last_of(l, entry_pid(e));
		if (ticks >= last->ran) {
			last->ran = ticks;
			last->ran_cpu = entry_cpu(e);
			last->again |= ticks >= last->left;
			memcpy(last->comm, entry_comm(e), COMM_LEN);
		}
	}
}

static const struct last *last_find(const struct lasts *l, int pid)
{
	const struct last key = { .pid = pid };
	struct last **found = tfind(&key, &l->tree, by_pid);

	return found ? *found : NULL;
}

static bool still_waits(const struct recording *r, const struct last *last)
{
	if ((last->why != KDTL_PREEMPT_TIME_SLICE && last->why != KDTL_PREEMPT_THROTTLED) ||
	    !last->left || last->again)
		return false;
	if (!last->ran || last->ran_cpu == last->left_cpu)
		return last->ran <= last->left;
	return since_boot(r, last->ran) + SKEW_NS < since_boot(r, last->left);
}

/* Forget the tasks that have done nothing since @ticks, except those that wait. */
void lasts_prune(struct lasts *l, const struct recording *r, uint64_t ticks)
{
	struct last **at = &l->first, *last;

	while ((last = *at)) {
		if (last->left >= ticks || last->ran >= ticks || still_waits(r, last)) {
			at = &last->next;
			continue;
		}
		*at = last->next;
		tdelete(last, &l->tree, by_pid);
		free(last);
	}
}

static void keep(void *last)
{
	(void)last;
}

void lasts_free(struct lasts *l)
{
	struct last *last;

	tdestroy(l->tree, keep);
	while ((last = l->first)) {
		l->first = last->next;
		free(last);
	}
	l->tree = NULL;
}

/* Make an entry for the dispatch of @pid after @prev, which no log has. */
static struct kdtl_entry made_entry(unsigned int cpu, uint64_t time, uint32_t pid, uint32_t prev,
				    const char *comm)
{
	struct kdtl_entry e = {
		.processor_id = htobe16(cpu),
		.timebase = htobe64(time),
		.fault_addr = htobe64((uint64_t)pid << 32 | prev),
	};

	memcpy((char *)&e + offsetof(struct kdtl_entry, srr0), comm, strnlen(comm, COMM_LEN));
	return e;
}

/* Set the entry's wait to the most that it can hold: still::ns has the real one. */
static void made_wait(struct kdtl_entry *e, bool throttled, unsigned int reason)
{
	e->dispatch_reason = throttled ? KDTL_DISPATCH_THROTTLED : reason;
	if (throttled)
		e->ready_to_enqueue_time = htobe32(KDTL_TIME_MAX);
	else
		e->enqueue_to_dispatch_time = htobe32(KDTL_TIME_MAX);
}

/* The dispatch of @last's task, as if it had come at @until. */
static struct still still_of(const struct recording *r, const struct last *last, uint64_t until)
{
	const struct kdtl_task *t = task_at(r, NULL, last->pid, until);
	struct still s = {
		.entry = made_entry(last->left_cpu, until, last->pid, 0,
				    t ? t->comm : last->ran ? last->comm : "?"),
		.ns = since_boot(r, until) - since_boot(r, last->left),
	};

	made_wait(&s.entry, last->why == KDTL_PREEMPT_THROTTLED, KDTL_DISPATCH_TIME_SLICE);
	return s;
}

/* still_of() for a task of which the kernel says that it waits. */
static struct still still_told(const struct recording *r, const struct kdtl_stream_wait *w)
{
	const struct kdtl_task *t = task_at(r, NULL, w->pid, w->until);
	const bool held = w->since + w->held >= w->until;
	struct still s = {
		.entry = made_entry(w->cpu, w->until, w->pid, w->running, t ? t->comm : w->comm),
		.ns = since_boot(r, w->until) - since_boot(r, w->since + (held ? 0 : w->held)),
		.told = true,
	};

	made_wait(&s.entry, held, KDTL_DISPATCH_PROD);
	return s;
}

/* The task @pid has had @cpu since @from, and had it until @until, in ticks. */
struct kdtl_entry entry_begin(const struct recording *r, unsigned int cpu, int pid, uint64_t from,
			      uint64_t until)
{
	const struct kdtl_task *t = task_at(r, NULL, pid, until);
	struct kdtl_entry e = made_entry(cpu, from, pid, 0, t ? t->comm : "?");

	if (!pid)
		e.dispatch_reason = KDTL_DISPATCH_IDLE;
	return e;
}

/* The task that had the CPU during all of a wait: without another entry, nobody else came. */
static struct still begin_of(const struct recording *r, const struct still *s)
{
	return (struct still){
		.entry = entry_begin(r, entry_cpu(&s->entry), entry_prev_pid(&s->entry), r->began,
				     be64toh(s->entry.timebase)),
	};
}

static int by_cpu_time_and_pid(const void *a, const void *b)
{
	const struct kdtl_entry *x = &((const struct still *)a)->entry;
	const struct kdtl_entry *y = &((const struct still *)b)->entry;

	if (entry_cpu(x) != entry_cpu(y))
		return entry_cpu(x) < entry_cpu(y) ? -1 : 1;
	if (x->timebase != y->timebase)
		return be64toh(x->timebase) < be64toh(y->timebase) ? -1 : 1;
	return entry_pid(x) < entry_pid(y) ? -1 : entry_pid(x) > entry_pid(y);
}

/* The first wait of each CPU that has no entry, if it is known who had that CPU. */
static void add_begins(struct recording *r)
{
	const struct still *s;
	size_t first;

	for (size_t k = 0; k < r->nr_still && r->began; k++) {
		s = &r->still[k];
		first = first_since(r, entry_cpu(&s->entry), 0);
		if ((first < r->nr && entry_cpu(r->entry[first]) == entry_cpu(&s->entry)) ||
		    (k && entry_cpu(&s[-1].entry) == entry_cpu(&s->entry)) ||
		    !entry_prev_pid(&s->entry) || be64toh(s->entry.timebase) <= r->began)
			continue;
		grow(r->still, r->nr_still + r->nr_begins);
		r->still[r->nr_still + r->nr_begins++] = begin_of(r, &r->still[k]);
	}
}

/**
 * struct put - makes the array of a recording's entries anew
 * @r: the recording
 * @entry: the new array
 * @nr: their number
 * @before: the last entry that is no wait
 * @still: the next wait that is not over
 * @begin: the next CPU's begin
 */
struct put {
	struct recording	*r;
	const struct kdtl_entry	**entry;
	size_t			nr;
	const struct kdtl_entry	*before;
	struct still		*still;
	struct still		*begin;
};

/* Put the wait.  It changes nothing for the CPU's task at that moment, which goes on. */
static void put_still(struct put *p)
{
	struct kdtl_entry *e = &p->still->entry;
	const struct recording *r = p->r;

	if (p->begin < r->still + r->nr_still + r->nr_begins &&
	    p->begin->entry.processor_id == e->processor_id)
		p->entry[p->nr++] = &p->begin++->entry;
	/* The task left this CPU with an entry. */
	if (!p->still->told)
		e->fault_addr |= htobe64((uint32_t)entry_pid(p->before));
	p->entry[p->nr++] = e;
	p->still++;
}

static bool comes_before(const struct still *s, const struct kdtl_entry *e)
{
	if (entry_cpu(&s->entry) != entry_cpu(e))
		return entry_cpu(&s->entry) < entry_cpu(e);
	return be64toh(s->entry.timebase) < be64toh(e->timebase);
}

static void put_stills(struct recording *r)
{
	const struct still *end = r->still + r->nr_still;
	struct put p = {
		.r = r, .still = r->still, .begin = r->still + r->nr_still,
		.entry = resized(NULL, (r->nr + r->nr_still + r->nr_begins) * sizeof(*p.entry)),
	};

	for (size_t i = 0; i < r->nr; i++) {
		while (p.still < end && comes_before(p.still, r->entry[i]))
			put_still(&p);
		p.entry[p.nr++] = p.before = r->entry[i];
	}
	while (p.still < end)
		put_still(&p);
	free(r->entry);
	r->entry = p.entry;
	r->nr = p.nr;
}

/* Does the kernel report the task's wait in another CPU's queue, to which it has moved since? */
static bool told_elsewhere(const struct recording *r, const struct last *last)
{
	for (size_t i = 0; i < r->nr_waits; i++) {
		if (r->wait[i].pid == (uint32_t)last->pid)
			return r->wait[i].cpu != last->left_cpu;
	}
	return false;
}

/* The wait at @until, in ticks, that @last proves; all dispatches from @since on are known. */
static bool proves(const struct recording *r, const struct last *last, uint64_t since,
		   uint64_t before)
{
	return last->left < before && since_boot(r, last->left) >= since && still_waits(r, last) &&
	       !told_elsewhere(r, last);
}

/*
 * Add the waits that the kernel reported, unless the log tells of them, or has a later dispatch of
 * the task: that would tell of the wait, which began before @before.
 */
static void add_told(struct recording *r, const struct lasts *l, uint64_t since, uint64_t before)
{
	const struct kdtl_stream_wait *w;
	const struct last *last;

	for (w = r->wait; w < r->wait + r->nr_waits; w++) {
		last = last_find(l, w->pid);
		if (w->since >= before || w->until <= w->since || w->pid > INT32_MAX ||
		    w->cpu >= MAX_CPUS ||
		    since_boot(r, w->until) - since_boot(r, w->since) < r->min_wait ||
		    (last && (last->ran > w->since || proves(r, last, since, before))))
			continue;
		grow(r->still, r->nr_still);
		r->still[r->nr_still++] = still_told(r, w);
	}
}

/*
 * Add entries for the tasks that wait at @until, in ticks, and left their CPUs before @before, but
 * not before @since, in ns since boot: all dispatches from @since on are known.  The entries must
 * be sorted by CPU.
 */
void stills_add(struct recording *r, const struct lasts *l, uint64_t since, uint64_t before,
		uint64_t until)
{
	r->nr_still = 0;
	r->nr_begins = 0;
	for (const struct last *last = l->first; last; last = last->next) {
		if (!proves(r, last, since, before))
			continue;
		grow(r->still, r->nr_still);
		r->still[r->nr_still++] = still_of(r, last, until);
	}
	add_told(r, l, since, before);
	if (!r->nr_still)
		return;
	qsort(r->still, r->nr_still, sizeof(*r->still), by_cpu_time_and_pid);
	add_begins(r);
	put_stills(r);
}

/*
 * Returns the moment up to which the recording has all entries, in ticks, or 0 if that is not
 * known. A file whose end is missing may have the last entries of one CPU but not those of
 * another.
 */
uint64_t recording_until(const struct recording *r)
{
	if (r->until)
		return r->until;
	if (r->head.complete != KDTL_COMPLETE || r->nr != r->head.entries)
		return 0;
	return recording_span(r).to;
}

/* Up to when the entries prove that a task waits; 0: they prove nothing. */
static uint64_t proof_until(const struct recording *r)
{
	/* Recordings of older versions do not say when entries were lost. */
	if (r->min_wait || (r->head.lost && !r->nr_losses))
		return 0;
	return recording_until(r);
}

/* The recording's entries must be sorted by CPU. */
void stills_find(struct recording *r)
{
	const uint64_t until = proof_until(r);
	struct lasts l = { 0 };
	uint64_t since = 0;

	if (!r->sched || (!until && !r->nr_waits))
		return;
	for (size_t i = 0; i < r->nr_losses; i++)
		since = r->loss[i].to > since ? r->loss[i].to : since;
	for (size_t i = 0; i < r->nr; i++)
		lasts_note(&l, r->entry[i]);
	if (!until)
		since = UINT64_MAX;
	stills_add(r, &l, since, until ?: UINT64_MAX, until);
	lasts_free(&l);
}
