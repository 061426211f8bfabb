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
 * Of a task that went to sleep, no entry tells whether it woke up.
 */
#include <search.h>
#include <stdlib.h>

#include "kdtl.h"

/* If the clocks of CPUs differ, a dispatch may seem so much older than what it follows. */
#define SKEW_NS		20000000

/**
 * struct last - when a task left a CPU last, and when it got one
 * @pid: its PID, the first field of trees
 * @left: when it left a CPU, in ticks; 0: never
 * @ran: when it got one
 * @left_cpu: the CPU that it left
 * @ran_cpu: the one that it got
 * @why: it left for this reason
 * @again: it got the CPU that it left once more
 * @comm: its name when it got the CPU
 * @next: another one
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
			last->again |= last->ran_cpu == last->left_cpu && ticks >= last->left;
			memcpy(last->comm, entry_comm(e), COMM_LEN);
		}
	}
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

/* Forget the tasks that have done nothing since @ticks, but for those that wait. */
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

/* What its dispatch would have been at @until, if it had come then. */
static struct still still_of(const struct recording *r, const struct last *last, uint64_t until)
{
	const struct kdtl_task *t = task_at(r, NULL, last->pid, until);
	const bool throttled = last->why == KDTL_PREEMPT_THROTTLED;
	struct still s = {
		.entry = {
			.dispatch_reason = throttled ? KDTL_DISPATCH_THROTTLED :
						       KDTL_DISPATCH_TIME_SLICE,
			.processor_id = htobe16(last->left_cpu),
			.timebase = htobe64(until),
			.fault_addr = htobe64((uint64_t)last->pid << 32),
		},
		.ns = since_boot(r, until) - since_boot(r, last->left),
	};
	const char *comm = t ? t->comm : last->ran ? last->comm : "?";

	if (throttled)
		s.entry.ready_to_enqueue_time = htobe32(KDTL_TIME_MAX);
	else
		s.entry.enqueue_to_dispatch_time = htobe32(KDTL_TIME_MAX);
	memcpy((char *)&s.entry + offsetof(struct kdtl_entry, srr0), comm, strnlen(comm, COMM_LEN));
	return s;
}

static int by_cpu_and_pid(const void *a, const void *b)
{
	const struct kdtl_entry *x = &((const struct still *)a)->entry;
	const struct kdtl_entry *y = &((const struct still *)b)->entry;

	if (entry_cpu(x) != entry_cpu(y))
		return entry_cpu(x) < entry_cpu(y) ? -1 : 1;
	return entry_pid(x) < entry_pid(y) ? -1 : entry_pid(x) > entry_pid(y);
}

/* The CPU's task at that moment goes on. */
static void put_still(struct still *s, const struct kdtl_entry *before)
{
	s->entry.fault_addr |= htobe64((uint32_t)entry_pid(before));
}

/* Each CPU has an entry before its waits: that with which the task left. */
static void put_stills(struct recording *r, uint64_t until)
{
	const struct kdtl_entry **entry = resized(NULL, (r->nr + r->nr_still) * sizeof(*entry));
	const struct kdtl_entry *e, *before = NULL;
	size_t nr = 0, k = 0;

	for (size_t i = 0; i < r->nr; i++) {
		e = r->entry[i];
		for (; before && k < r->nr_still && entry_cpu(&r->still[k].entry) == entry_cpu(before) &&
		     (entry_cpu(e) != entry_cpu(before) || be64toh(e->timebase) > until); k++) {
			put_still(&r->still[k], before);
			entry[nr++] = &r->still[k].entry;
		}
		entry[nr++] = before = e;
	}
	for (; k < r->nr_still; k++) {
		put_still(&r->still[k], before);
		entry[nr++] = &r->still[k].entry;
	}
	free(r->entry);
	r->entry = entry;
	r->nr = nr;
}

/*
 * Add entries for the tasks that wait at @until, in ticks, and left their CPUs before @before, but not
 * before @since, in ns since boot: all dispatches from there on are known.  The entries must be sorted
 * by CPU.
 */
void stills_add(struct recording *r, const struct lasts *l, uint64_t since, uint64_t before,
		uint64_t until)
{
	r->nr_still = 0;
	for (const struct last *last = l->first; last; last = last->next) {
		if (last->left >= before || since_boot(r, last->left) < since || !still_waits(r, last))
			continue;
		grow(r->still, r->nr_still);
		r->still[r->nr_still++] = still_of(r, last, until);
	}
	if (!r->nr_still)
		return;
	qsort(r->still, r->nr_still, sizeof(*r->still), by_cpu_and_pid);
	put_stills(r, until);
}

/*
 * The moment up to which the recording has all entries, in ticks; 0: not known.  A file whose end is
 * missing may have those of one CPU, and not those of the next.
 */
uint64_t recording_until(const struct recording *r)
{
	if (r->until)
		return r->until;
	if (r->head.complete != KDTL_COMPLETE || r->nr != r->head.entries)
		return 0;
	return recording_span(r).to;
}

/* Of a recording whose entries are sorted by CPU. */
void stills_find(struct recording *r)
{
	const uint64_t until = recording_until(r);
	struct lasts l = { 0 };
	uint64_t since = 0;

	/* Of older versions it is not known when entries were lost. */
	if (!r->sched || r->min_wait || !until || (r->head.lost && !r->nr_losses))
		return;
	for (size_t i = 0; i < r->nr_losses; i++)
		since = r->loss[i].to > since ? r->loss[i].to : since;
	for (size_t i = 0; i < r->nr; i++)
		lasts_note(&l, r->entry[i]);
	stills_add(r, &l, since, until, until);
	lasts_free(&l);
}
