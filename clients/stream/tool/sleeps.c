// SPDX-License-Identifier: GPL-2.0
/*
 * Who had a CPU when, and what ended each sleep, for the engine of chains: taken from a recording,
 * and from the recording of kdtl_wake beside it
 *
 * The entries of both have the time since boot by the same clock.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "sleeps.h"

/* A note, and the entry that it is from. */
struct noted {
	struct chain_note		note;
	const struct kdtl_wake_entry	*entry;
};

static int by_task_and_time(const void *a, const void *b)
{
	const struct noted *x = a, *y = b;

	if (x->note.pid != y->note.pid)
		return x->note.pid < y->note.pid ? -1 : 1;
	if (x->note.time != y->note.time)
		return x->note.time < y->note.time ? -1 : 1;
	/* The entries of a CPU are in order. */
	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

static bool note_of(const struct recording *r, const struct kdtl_entry *e, struct noted *to)
{
	const struct kdtl_wake_entry *w = kdtl_wake_of(e);

	if (!w)
		return false;
	*to = (struct noted){
		.note = {
			.pid = kdtl_wake_pid(w), .time = entry_time(r, e), .cpu = kdtl_wake_cpu(w),
			.by = kdtl_wake_by(w),
		},
		.entry = w,
	};
	switch (w->kind) {
	case KDTL_WAKE_WOKEN:
	case KDTL_WAKE_NEW:
		to->note.event = w->kind == KDTL_WAKE_NEW ? CHAIN_NEW : CHAIN_WAKE;
		if (w->flags & KDTL_WAKE_IRQ)
			to->note.by = 0;
		to->note.queued = w->flags & KDTL_WAKE_QUEUED;
		return true;
	case KDTL_WAKE_MOVED:
		to->note.event = CHAIN_MOVE;
		to->note.from = to->note.cpu;
		to->note.cpu = kdtl_wake_arg(w);
		return true;
	case KDTL_WAKE_CONTENDED:
		to->note.event = CHAIN_LOCK;
		return true;
	}
	return false;
}

static void add_notes(struct sleeps *s, const struct recording *wake)
{
	struct noted *noted = resized(NULL, (wake->nr + 1) * sizeof(*noted));
	size_t nr = 0;

	for (size_t i = 0; i < wake->nr; i++)
		nr += note_of(wake, wake->entry[i], &noted[nr]);
	qsort(noted, nr, sizeof(*noted), by_task_and_time);
	s->note = resized(NULL, (nr + 1) * sizeof(*s->note));
	s->entry = resized(NULL, (nr + 1) * sizeof(*s->entry));
	for (size_t i = 0; i < nr; i++) {
		s->note[i] = noted[i].note;
		s->entry[i] = noted[i].entry;
	}
	free(noted);
	s->log.note = s->note;
	s->log.nr_notes = nr;
	s->log.notes_lossy = wake->head.lost || wake->some_cpus || !recording_until(wake);
}

static struct chain_turn turn_of(const struct recording *r, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];

	return (struct chain_turn){
		.pid = entry_pid(e), .cpu = entry_cpu(e), .on = entry_time(r, e),
		.wait = entry_wait(r, e), .queued = entry_queued(r, e),
		.held = entry_throttled(r, e), .slept = entry_slept(r, e),
		.reason = e->dispatch_reason, .off = CHAIN_NEVER, .i = i,
		.more = entry_wait_saturated(e) || entry_throttled_saturated(e) ||
			entry_slept_saturated(e),
	};
}

static int by_task_and_turn(const void *a, const void *b)
{
	const struct chain_turn *x = a, *y = b;
	const uint64_t s = x->on != CHAIN_NEVER ? x->on : x->off;
	const uint64_t t = y->on != CHAIN_NEVER ? y->on : y->off;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return s < t ? -1 : s > t;
}

static void add_had(struct sleeps *s, unsigned int cpu, int pid, uint64_t from, uint64_t to)
{
	s->had[s->log.nr_had++] = (struct chain_had){ cpu, pid, from, to };
}

/* Add the turns that entry @i and the CPU's next one, if any, tell of. */
static void add_turns(struct sleeps *s, const struct recording *r, size_t i, bool idle)
{
	const struct kdtl_entry *e = r->entry[i], *next;
	struct chain_turn t = turn_of(r, i);
	const size_t k = next_of_cpu(r, i);
	bool known;

	if (k == SIZE_MAX) {
		/* Without entries of idle time, the CPU may have become idle. */
		if (idle && !s->log.lossy && t.on < s->log.end) {
			t.off = s->log.end;
			add_had(s, t.cpu, t.pid, t.on, t.off);
		}
		s->turn[s->log.nr_turns++] = t;
		return;
	}
	next = r->entry[k];
	known = ran_between(r, e, next);
	if (known)
		add_had(s, t.cpu, entry_prev_pid(next), t.on, entry_time(r, next));
	/* A thread that calls exec() gets another PID. */
	known &= entry_pid(e) == entry_prev_pid(next);
	if (known) {
		t.off = entry_time(r, next);
		t.left = next->preempt_reason;
	}
	if (!entry_is_idle(e))
		s->turn[s->log.nr_turns++] = t;
	if (!known && entry_prev_pid(next))
		s->turn[s->log.nr_turns++] = (struct chain_turn){
			.pid = entry_prev_pid(next), .cpu = entry_cpu(next), .on = CHAIN_NEVER,
			.off = entry_time(r, next), .left = next->preempt_reason, .i = SIZE_MAX,
		};
}

/* Add when the hypervisor and interrupts had CPUs. */
static void add_taken(struct sleeps *s, const struct recording *r)
{
	const struct gap *g = r->taken;

	s->taken = resized(NULL, (r->nr_taken + 1) * sizeof(*s->taken));
	for (; s->log.nr_taken < r->nr_taken; g++)
		s->taken[s->log.nr_taken++] = (struct chain_had){
			.cpu = g->cpu, .from = g->from, .to = g->to,
			.pid = g->entry ? entry_pid(g->entry) : 0,
		};
}

static void add_dispatches(struct sleeps *s, const struct recording *r)
{
	const bool idle = has_idle(r);

	s->turn = resized(NULL, (2 * r->nr + 1) * sizeof(*s->turn));
	s->had = resized(NULL, (r->nr + 1) * sizeof(*s->had));
	for (size_t i = 0; i < r->nr; i++)
		add_turns(s, r, i, idle);
	add_taken(s, r);
	if (s->log.nr_turns)
		qsort(s->turn, s->log.nr_turns, sizeof(*s->turn), by_task_and_turn);
	s->log.turn = s->turn;
	s->log.had = s->had;
	s->log.taken = s->taken;
}

/* Why @wake does not tell of the wake-ups during @r; NULL: it does. */
static const char *unlike_wake(const struct recording *r, const struct recording *wake)
{
	return recording_is_wake(wake) ? recording_unlike(r, wake) :
					 "is no recording of " WAKE_SOURCE;
}

static void take(struct sleeps *s, const struct recording *r, const struct recording *wake,
		 const char *beside)
{
	losses_tell(wake, beside);
	s->log.end = since_boot(r, recording_until(r) ?: recording_span(r).to);
	s->log.lossy = r->head.lost || r->some_cpus || !recording_until(r);
	s->machine = wake->machine ?: "";
	add_dispatches(s, r);
	add_notes(s, wake);
	kepts_take(&s->kepts, wake);
}

/*
 * Take the recording @r, which @path has and which is sorted by CPU, and the wake-ups in
 * @wake_path; NULL: in the recording beside it.
 */
void sleeps_open(struct sleeps *s, const struct recording *r, const char *path,
		 const char *wake_path)
{
	const char *beside = wake_path ?: name_beside(path, WAKE_SUFFIX);
	static struct recording wake;

	*s = (struct sleeps){ 0 };
	errno = 0;
	if (!r->sched)
		usage_error("the entries of %s name no tasks", source_text(r));
	if (r->min_wait)
		die("%s: chains need all dispatches: record without -w", path);
	if (!beside) {
		errno = 0;
		die("%s: has no wake-ups beside it, in %s%s: record them with kdtl record --wake",
		    path, path, WAKE_SUFFIX);
	}
	read_beside(r, &wake, beside, true, unlike_wake);
	take(s, r, &wake, beside);
}

/* The recording of wake-ups in @beside, or NULL if that is NULL or does not fit. */
static const struct recording *wakes_in(const struct recording *r, const char *beside)
{
	static struct recording wake;

	return beside && r->sched && read_beside(r, &wake, beside, false, unlike_wake) ? &wake : NULL;
}

/* sleeps_open(), if there is a recording beside it that fits.  Returns whether there is. */
bool sleeps_beside(struct sleeps *s, const struct recording *r, const char *path)
{
	const char *beside = name_beside(path, WAKE_SUFFIX);
	const struct recording *wake = r->min_wait ? NULL : wakes_in(r, beside);

	*s = (struct sleeps){ 0 };
	if (wake)
		take(s, r, wake, beside);
	return wake;
}

/*
 * Take only who could not be preempted, if a recording says so: @wake_path; NULL: the one beside
 * @path, if there is one.
 */
void kepts_open(struct kepts *k, const struct recording *r, const char *path, const char *wake_path)
{
	const struct recording *wake = wakes_in(r, wake_path ?: name_beside(path, WAKE_SUFFIX));

	if (wake)
		kepts_take(k, wake);
}

/* The CPU that @pid had at a time; UINT_MAX: not known, or no task, as an interrupt has PID 0. */
unsigned int sleeps_cpu(const struct sleeps *s, int pid, uint64_t ns)
{
	size_t from = chain_first_turn(&s->log, pid), to = s->log.nr_turns, i;
	const struct chain_turn *t;

	if (!pid)
		return UINT_MAX;
	/* The first one that begins later. */
	while (from < to) {
		i = from + (to - from) / 2;
		t = &s->turn[i];
		if (t->pid == pid && (t->on == CHAIN_NEVER || t->on <= ns))
			from = i + 1;
		else
			to = i;
	}
	t = from ? &s->turn[from - 1] : NULL;
	if (!t || t->pid != pid || t->on == CHAIN_NEVER || (t->off != CHAIN_NEVER && t->off < ns))
		return UINT_MAX;
	return t->cpu;
}

/*
 * For each of the recording's @nr entries the number of the note that tells what ended the sleep
 * before it; CHAIN_NONE: none does.
 */
size_t *sleeps_wakes(const struct sleeps *s, size_t nr)
{
	size_t *wake = resized(NULL, (nr + 1) * sizeof(*wake));

	for (size_t i = 0; i < nr; i++)
		wake[i] = CHAIN_NONE;
	for (size_t i = 0; i < s->log.nr_turns; i++) {
		if (s->turn[i].i < nr)
			wake[s->turn[i].i] = chain_woken(&s->log, i);
	}
	return wake;
}

/* The name that @pid had at a time, even if it got it after its dispatch; "?": nobody knows. */
const char *sleeps_comm(const struct sleeps *s, const struct recording *r, int pid, uint64_t ns)
{
	const struct kdtl_entry *e = NULL;
	const struct kdtl_task *t;
	size_t i = chain_first_turn(&s->log, pid);
	const char *comm;

	for (; i < s->log.nr_turns && s->turn[i].pid == pid; i++) {
		if (s->turn[i].i == SIZE_MAX)
			continue;
		if (e && s->turn[i].on > ns)
			break;
		e = r->entry[s->turn[i].i];
	}
	if (e) {
		ran_task(r, e, pid, ns, ns, &comm);
		return comm;
	}
	/* It got this PID with exec(), and has had the CPU since. */
	t = r->head.tb_freq == 1000000000 ? task_at(r, NULL, pid, r->head.tb_boot + ns) : NULL;
	return t ? t->comm : "?";
}
