// SPDX-License-Identifier: GPL-2.0
/*
 * Compare the engine of chains with a machine that is made up: chain_random SEED...
 *
 * For each tick it is known what each task does.  Each part of each span must say the same, also
 * those of wakers, and parts must add up.  Then entries are lost: parts must still say the truth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../clients/stream/tool/chain.c"

#define CPUS	3
#define TASKS	9	/* PIDs 1 to TASKS; 0 is idle */
#define TICKS	4000
#define TICK	1000000ULL
#define ROOM	4096

enum state { UNBORN, RUNS, WAITS, SLEEPS, WOKEN, HELD, DEAD };

/* What a task does, and what its next dispatch will say. */
static struct task {
	enum state	state;
	unsigned int	cpu;	/* that it has, waits for, or had last */
	int		off, ready, queued, lifted, woken;	/* ticks */
	__u8		left;
	bool		held;
} task[TASKS + 1];

/* What each task did in each tick. */
static struct {
	enum chain_kind	kind;
	unsigned int	cpu;
	int		by;
	int		wake;	/* tick at which its sleep ended; 0: never */
} truth[TASKS + 1][TICKS];

static struct entry {
	int		tick, pid, prev;
	unsigned int	cpu;
	__u8		left;
	struct chain_turn turn;
} entry[TICKS];

static struct chain_turn turn[2 * TICKS];
static struct chain_had had[TICKS];
static struct chain_note note[TICKS];
static struct chain_had taken[CPUS * 4];
static struct chain_part part[ROOM];
static size_t nr_entries, nr_turns, nr_had, nr_notes, nr_taken;
static int has[CPUS];
static unsigned int failed, checked;

static int below(int n)
{
	return rand() % n;
}

static void put_note(int pid, enum chain_event event, int tick, unsigned int cpu, int from,
		     int by)
{
	note[nr_notes++] = (struct chain_note){ pid, event, tick * TICK, cpu, from, by, false };
}

/* The CPU takes a task from its queue, or idles. */
static void switch_on(unsigned int cpu, int tick)
{
	static const __u8 why[] = {
		KDTL_PREEMPT_CEDE, KDTL_PREEMPT_DISK_SLEEP, KDTL_PREEMPT_TIME_SLICE,
		KDTL_PREEMPT_TIME_SLICE, KDTL_PREEMPT_THROTTLED, KDTL_PREEMPT_EXITED,
	};
	int prev = has[cpu], next = 0;
	struct entry *e = &entry[nr_entries];
	struct task *t;

	for (int pid = 1 + below(TASKS), n = 0; n < TASKS && !next; n++, pid = pid % TASKS + 1) {
		if (task[pid].state == WAITS && task[pid].cpu == cpu)
			next = pid;
	}
	if (prev == next)
		return;
	*e = (struct entry){ .tick = tick, .pid = next, .prev = prev, .cpu = cpu };
	if (prev) {
		t = &task[prev];
		t->left = why[below(below(40) ? 5 : 6)];
		t->off = tick;
		t->ready = tick;
		t->queued = tick;
		t->woken = 0;
		t->held = t->left == KDTL_PREEMPT_THROTTLED;
		t->state = t->held ? HELD : t->left == KDTL_PREEMPT_TIME_SLICE ? WAITS :
			   t->left == KDTL_PREEMPT_EXITED ? DEAD : SLEEPS;
		e->left = t->left;
	}
	if (next) {
		t = &task[next];
		e->turn = (struct chain_turn){
			.pid = next, .cpu = cpu, .on = tick * TICK,
			.wait = (tick - t->ready) * TICK,
			.queued = (tick - t->queued) * TICK, .reason = KDTL_DISPATCH_PROD,
		};
		if (t->held) {
			e->turn.reason = KDTL_DISPATCH_THROTTLED;
			e->turn.held = (t->ready - (t->woken ?: t->off)) * TICK;
			e->turn.slept = t->woken ? (t->woken - t->off) * TICK : 0;
		} else if (t->left == KDTL_PREEMPT_TIME_SLICE) {
			e->turn.reason = KDTL_DISPATCH_TIME_SLICE;
		} else if (t->left) {
			e->turn.slept = (t->ready - t->off) * TICK;
		}
		t->state = RUNS;
	}
	has[cpu] = next;
	nr_entries++;
}

/* Something happens to @pid, which has no CPU. */
static void happen_to(int pid, int tick)
{
	struct task *t = &task[pid];
	unsigned int cpu = below(CPUS);
	int by = below(3) ? has[cpu] : 0;

	switch (t->state) {
	case UNBORN:
	case SLEEPS:
		put_note(pid, t->state == UNBORN ? CHAIN_NEW : CHAIN_WAKE, tick, t->cpu, 0, by);
		if (t->state == SLEEPS) {
			for (int i = t->off; i < tick; i++)
				truth[pid][i].wake = tick;
		}
		t->woken = tick;
		t->held = t->state == SLEEPS && !below(8);
		t->ready = tick;
		t->queued = tick;
		t->state = t->held ? HELD : t->state == SLEEPS && !below(2) ? WOKEN : WAITS;
		break;
	case WOKEN:
	case HELD:
		t->ready = tick;
		t->queued = tick;
		t->state = WAITS;
		break;
	case WAITS:
		if (t->cpu == cpu)
			break;
		put_note(pid, CHAIN_MOVE, tick, cpu, t->cpu, 0);
		t->cpu = cpu;
		t->queued = tick;
		break;
	default:
		break;
	}
}

/* The time of the hypervisor or an interrupt that has this tick; NULL: none has it. */
static const struct chain_had *taken_at(unsigned int cpu, int tick)
{
	for (size_t i = 0; i < nr_taken; i++) {
		if (taken[i].cpu == cpu && taken[i].from <= tick * TICK &&
		    taken[i].to > tick * TICK)
			return &taken[i];
	}
	return NULL;
}

static void note_truth(int pid, int tick)
{
	static const enum chain_kind kind[] = {
		[UNBORN] = CHAIN_GONE, [RUNS] = CHAIN_RAN, [WAITS] = CHAIN_WAITED,
		[SLEEPS] = CHAIN_ASLEEP, [WOKEN] = CHAIN_WOKEN, [HELD] = CHAIN_THROTTLED,
		[DEAD] = CHAIN_GONE,
	};
	const struct task *t = &task[pid];
	const struct chain_had *g = taken_at(t->cpu, tick);

	truth[pid][tick].kind = kind[t->state];
	truth[pid][tick].cpu = t->cpu;
	truth[pid][tick].by = t->state == WAITS ? has[t->cpu] : CHAIN_NOBODY;
	if ((t->state != RUNS && t->state != WAITS) || !g)
		return;
	truth[pid][tick].kind = g->pid ? CHAIN_INTERRUPTED : CHAIN_STOLEN;
	truth[pid][tick].by = g->pid ?: CHAIN_NOBODY;
}

static void make(void)
{
	memset(task, 0, sizeof(task));
	memset(truth, 0, sizeof(truth));
	memset(has, 0, sizeof(has));
	nr_entries = 0;
	nr_notes = 0;
	nr_taken = 0;
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		for (int n = 0, from = 0; n < 4; n++) {
			from += 1 + below(TICKS / 4);
			taken[nr_taken++] = (struct chain_had){
				.cpu = cpu, .from = from * TICK, .to = (from + 30) * TICK,
				.pid = below(2) ? 0 : -2 - below(3),
			};
			from += 30;
		}
	}
	for (int tick = 1; tick < TICKS; tick++) {
		if (below(2))
			switch_on(below(CPUS), tick);
		else
			happen_to(1 + below(TASKS), tick);
		for (int pid = 1; pid <= TASKS; pid++)
			note_truth(pid, tick);
	}
}

static int by_cpu(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->cpu != y->cpu ? (int)x->cpu - (int)y->cpu : x->tick - y->tick;
}

static int by_turn(const void *a, const void *b)
{
	const struct chain_turn *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid - y->pid;
	return turn_begin(x) < turn_begin(y) ? -1 : turn_begin(x) > turn_begin(y);
}

static int by_note(const void *a, const void *b)
{
	const struct chain_note *x = a, *y = b;

	return x->pid != y->pid ? x->pid - y->pid : x->time < y->time ? -1 : x->time > y->time;
}

/* Makes turns of the entries, without those of CPU @lost from tick @from to @to. */
static void build(int lost, int from, int to)
{
	const struct entry *e, *next;
	struct chain_turn t;
	size_t n = 0;
	bool known;

	qsort(entry, nr_entries, sizeof(*entry), by_cpu);
	for (size_t i = 0; i < nr_entries; i++) {
		if ((int)entry[i].cpu != lost || entry[i].tick < from || entry[i].tick >= to)
			entry[n++] = entry[i];
	}
	nr_entries = n;
	nr_turns = 0;
	nr_had = 0;
	for (size_t i = 0; i < nr_entries; i++) {
		e = &entry[i];
		next = i + 1 < nr_entries && entry[i + 1].cpu == e->cpu ? &entry[i + 1] : NULL;
		known = next && next->prev == e->pid &&
			((int)e->cpu != lost || next->tick < from || e->tick >= to);
		t = e->turn;
		t.off = known ? next->tick * TICK : CHAIN_NEVER;
		t.left = known ? next->left : 0;
		if (e->pid)
			turn[nr_turns++] = t;
		if (known)
			had[nr_had++] = (struct chain_had){ e->cpu, e->pid, e->tick * TICK, t.off };
		if (next && !known && next->prev)
			turn[nr_turns++] = (struct chain_turn){
				.pid = next->prev, .cpu = e->cpu, .on = CHAIN_NEVER,
				.off = next->tick * TICK, .left = next->left,
			};
	}
	qsort(turn, nr_turns, sizeof(*turn), by_turn);
	qsort(note, nr_notes, sizeof(*note), by_note);
}

static void fail(const struct chain_part *p, int tick, const char *what)
{
	if (failed++ >= 10)
		return;
	printf("# %s: task %d, depth %u, kind %d from %llu to %llu, CPU %u by %d; ", what, p->pid,
	       p->depth, p->kind, p->from / TICK, p->to / TICK, p->cpu, p->by);
	printf("at %d truly %d, CPU %u by %d\n", tick, truth[p->pid][tick].kind,
	       truth[p->pid][tick].cpu, truth[p->pid][tick].by);
}

/* Whether such a task was woken, or did not sleep. */
static bool is_runnable_kind(enum chain_kind kind)
{
	return kind == CHAIN_WAITED || kind == CHAIN_WOKEN || kind == CHAIN_THROTTLED ||
	       kind == CHAIN_STOLEN || kind == CHAIN_INTERRUPTED;
}

static bool is_taken(enum chain_kind kind)
{
	return kind == CHAIN_STOLEN || kind == CHAIN_INTERRUPTED;
}

/* Checks what a part says; @moves: all moves to other CPUs are known. */
static void check_part(const struct chain_log *l, const struct chain_part *p, bool lossy,
		       bool moves)
{
	if (p->depth > CHAIN_DEPTH)
		fail(p, p->from / TICK, "too deep");
	for (int tick = p->from / TICK; tick < (int)(p->to / TICK); tick++) {
		/* Near an end, a CPU has no entries yet, or one that tells more comes later. */
		const bool edge = tick <= 300 || tick >= TICKS - 300;

		checked++;
		if (p->kind == CHAIN_UNKNOWN || p->kind == CHAIN_CUT) {
			if (!lossy && !edge)
				fail(p, tick, "not known");
			continue;
		}
		if (!moves && (is_taken(truth[p->pid][tick].kind) || is_taken(p->kind)))
			continue;
		/* Without its wake-up, a sleep seems to last until the task is queued. */
		if (p->kind == CHAIN_ASLEEP && p->wake == CHAIN_NONE && lossy &&
		    truth[p->pid][tick].kind == CHAIN_WOKEN)
			continue;
		if (edge && p->kind == CHAIN_WAITED && p->by == CHAIN_NOBODY)
			continue;
		if (edge && is_runnable_kind(p->kind) && is_runnable_kind(truth[p->pid][tick].kind))
			continue;
		if (p->kind != truth[p->pid][tick].kind)
			fail(p, tick, "another kind");
		else if (p->kind == CHAIN_WAITED && moves && p->cpu != truth[p->pid][tick].cpu)
			fail(p, tick, "another CPU");
		else if (p->kind == CHAIN_WAITED && moves && p->by != truth[p->pid][tick].by &&
			 !(lossy && p->by == CHAIN_NOBODY))
			fail(p, tick, "behind another one");
		else if (p->kind == CHAIN_ASLEEP && p->wake != CHAIN_NONE &&
			 (int)(l->note[p->wake].time / TICK) != truth[p->pid][tick].wake)
			fail(p, tick, "another waker");
		else if (p->kind == CHAIN_ASLEEP && p->wake == CHAIN_NONE && !lossy &&
			 truth[p->pid][tick].wake)
			fail(p, tick, "no waker");
	}
}

/* From part @i on, the parts of @depth must follow each other, from @from to @to. */
static size_t check_sum(const struct chain *c, size_t i, unsigned int depth, __u64 from, __u64 to)
{
	const struct chain_part *p;

	for (; i < c->nr && c->part[i].depth >= depth; ) {
		p = &c->part[i];
		if (p->depth != depth || p->from != from || p->to <= p->from || p->to > to) {
			fail(p, p->from / TICK, "does not follow");
			return c->nr;
		}
		from = p->to;
		i++;
		if (i < c->nr && c->part[i].depth > depth)
			i = check_sum(c, i, depth + 1, p->from, p->to);
	}
	if (from != to)
		fail(&c->part[i - 1], to / TICK - 1, "does not add up");
	return i;
}

static void check(struct chain_log *l, unsigned int spans, size_t room, bool moves)
{
	struct chain c = { part, room, 0 };
	const bool lossy = l->lossy || l->notes_lossy || room < ROOM;

	for (unsigned int n = 0; n < spans; n++) {
		int from = 1 + below(TICKS - 2), to = from + 1 + below(TICKS - 1 - from);

		/* Take a short span now and then. */
		if (!below(3))
			to = from + 1 + below(to - from);
		chain_walk(l, &c, 1 + below(TASKS), from * TICK, to * TICK);
		if (c.nr > room)
			fail(&c.part[room], from, "no room");
		check_sum(&c, 0, 0, from * TICK, to * TICK);
		for (size_t i = 0; i < c.nr; i++)
			check_part(l, &c.part[i], lossy, moves);
	}
}

static struct chain_log log_now(bool lossy, bool notes_lossy)
{
	return (struct chain_log){
		turn, nr_turns, had, nr_had, taken, nr_taken, note, nr_notes, (TICKS - 1) * TICK,
		lossy, notes_lossy,
	};
}

int main(int argc, char **argv)
{
	struct chain_log l;
	size_t n = 0;

	for (int i = 1; i < argc; i++) {
		srand(atoi(argv[i]));
		make();
		build(-1, 0, 0);
		l = log_now(false, false);
		check(&l, 300, ROOM, true);
		check(&l, 100, CHAIN_ROOM_MIN + below(40), true);
		/* Entries of a CPU are lost, and then notes. */
		build(below(CPUS), TICKS / 4, TICKS / 4 + below(TICKS / 3));
		l = log_now(true, false);
		check(&l, 300, ROOM, true);
		n = 0;
		for (size_t k = 0; k < nr_notes; k++) {
			if (below(5))
				note[n++] = note[k];
		}
		nr_notes = n;
		l = log_now(true, true);
		check(&l, 300, ROOM, false);
	}
	printf("%u ticks of parts, %u wrong\n", checked, failed);
	return !checked || failed;
}
