// SPDX-License-Identifier: GPL-2.0
/*
 * What a task did in a span of time, and what it waited for
 *
 * A task runs, or it waits, or it sleeps.  A sleep was ended by the last wake-up before the task's
 * next dispatch, because a task that was woken is not woken again until it runs.  So the order
 * decides, and times of different CPUs need not be compared.  If the waker is a task, what it did
 * during the sleep is taken apart in the same way.
 *
 * Parts follow each other without a gap, so that they add up to the span.
 */
#include "chain.h"

/* CPUs' clocks may differ by this much, which matters if only a wake-up's time is known. */
#define SLACK_NS	100000

/**
 * struct walk - takes a span of one task apart
 * @l: what is known
 * @c: where the parts go
 * @pid: the task
 * @depth: number of wakers between it and the task that was asked for
 * @at: the end of its parts so far
 * @to: the end of the parts that are wanted
 */
struct walk {
	const struct chain_log	*l;
	struct chain		*c;
	int			pid;
	unsigned int		depth;
	__u64			at;
	__u64			to;
};

/**
 * struct gap - the time between two turns of a task
 * @before: the turn before it; NULL: none
 * @after: the turn after it; NULL: none
 * @off: when the task left its CPU; CHAIN_NEVER: not known
 * @left: why it did
 * @wake: the note of what ended its sleep, or of how it was made; CHAIN_NONE: not known
 */
struct gap {
	const struct chain_turn	*before;
	const struct chain_turn	*after;
	__u64			off;
	__u8			left;
	size_t			wake;
};

static __u64 least(__u64 a, __u64 b)
{
	if (b < a)
		a = b;
	return a;
}

static __u64 most(__u64 a, __u64 b)
{
	if (b > a)
		a = b;
	return a;
}

/* Leave room for one more part of each walk under way, to say that there was no room. */
static bool is_full(const struct chain *c)
{
	return c->nr + CHAIN_DEPTH + 1 >= c->room;
}

/* Add what the task did until @to.  Returns NULL if that is not wanted, or there is no room. */
static struct chain_part *add(struct walk *w, enum chain_kind kind, __u64 to)
{
	struct chain_part *p;

	to = least(to, w->to);
	if (to <= w->at || (is_full(w->c) && kind != CHAIN_CUT))
		return NULL;
	p = &w->c->part[w->c->nr++];
	*p = (struct chain_part){
		.kind = kind, .depth = w->depth, .pid = w->pid, .from = w->at, .to = to,
		.by = CHAIN_NOBODY, .wake = CHAIN_NONE, .lock = CHAIN_NONE,
	};
	w->at = to;
	return p;
}

/* The first turn of @pid or of a later one. */
size_t chain_first_turn(const struct chain_log *l, int pid)
{
	size_t from = 0, to = l->nr_turns, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (l->turn[i].pid < pid)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/* The last moment of a turn that is known. */
static __u64 turn_end(const struct chain_turn *t)
{
	return t->off != CHAIN_NEVER ? t->off : t->on;
}

static __u64 turn_begin(const struct chain_turn *t)
{
	return t->on != CHAIN_NEVER ? t->on : t->off;
}

/* The first turn of @pid that ends after @time, or what comes behind its last one. */
static size_t turn_after(const struct chain_log *l, int pid, __u64 time)
{
	size_t from = chain_first_turn(l, pid), to = l->nr_turns, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (l->turn[i].pid == pid && turn_end(&l->turn[i]) <= time)
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/* The first of the @nr times of CPUs that is of @cpu and ends after @time. */
static const struct chain_had *had_after(const struct chain_had *had, size_t nr, unsigned int cpu,
					 __u64 time)
{
	size_t from = 0, to = nr, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (had[i].cpu < cpu || (had[i].cpu == cpu && had[i].to <= time))
			from = i + 1;
		else
			to = i;
	}
	return from < nr && had[from].cpu == cpu ? &had[from] : NULL;
}

/* Until @to the task had @cpu, or waited for it, unless the hypervisor or an interrupt had it. */
static void on_cpu(struct walk *w, enum chain_kind kind, unsigned int cpu, int by, __u64 to)
{
	const struct chain_had *g;
	struct chain_part *p;

	to = least(to, w->to);
	while (w->at < to && !is_full(w->c)) {
		g = had_after(w->l->taken, w->l->nr_taken, cpu, w->at);
		if (g && g->from <= w->at)
			p = add(w, g->pid ? CHAIN_INTERRUPTED : CHAIN_STOLEN, least(g->to, to));
		else
			p = add(w, kind, g ? least(g->from, to) : to);
		if (!p)
			continue;
		p->cpu = cpu;
		if (p->kind == kind)
			p->by = by;
		else if (p->kind == CHAIN_INTERRUPTED)
			p->by = g->pid;
	}
}

/* The task waited for @cpu until @to. */
static void wait_for_cpu(struct walk *w, unsigned int cpu, __u64 to)
{
	const struct chain_had *h, *end = w->l->had + w->l->nr_had;

	to = least(to, w->to);
	h = had_after(w->l->had, w->l->nr_had, cpu, w->at);
	for (; h && h < end && w->at < to && h->cpu == cpu && !is_full(w->c); h++) {
		on_cpu(w, CHAIN_WAITED, cpu, CHAIN_NOBODY, least(h->from, to));
		on_cpu(w, CHAIN_WAITED, cpu, h->pid, least(h->to, to));
	}
	on_cpu(w, CHAIN_WAITED, cpu, CHAIN_NOBODY, to);
}

/* The first note of @pid that is later than @time, or what comes behind its last one. */
static size_t note_after(const struct chain_log *l, int pid, __u64 time)
{
	size_t from = 0, to = l->nr_notes, i;

	while (from < to) {
		i = from + (to - from) / 2;
		if (l->note[i].pid < pid || (l->note[i].pid == pid && l->note[i].time <= time))
			from = i + 1;
		else
			to = i;
	}
	return from;
}

/* The CPU in whose queue the task is before note @i. */
static unsigned int first_queue(const struct chain_log *l, const struct gap *g, size_t i, int pid)
{
	for (; i < l->nr_notes && l->note[i].pid == pid &&
	     !(g->after && l->note[i].time > g->after->on); i++) {
		if (l->note[i].event == CHAIN_MOVE)
			return l->note[i].from;
	}
	if (g->after)
		return g->after->cpu;
	return g->wake != CHAIN_NONE ? l->note[g->wake].cpu : g->before->cpu;
}

/*
 * The task waits until @to, and then gets a CPU if there is a turn after the gap.  Note @i is the
 * first one of the wait.  The time before a move is charged to the CPU whose queue the task was in;
 * the last queue is that of the CPU that dispatched it.
 */
static void wait_until(struct walk *w, const struct gap *g, size_t i, __u64 to)
{
	const struct chain_turn *after = g->after;
	const __u64 last = after && !after->more ? to - least(after->queued, to) : to;
	const struct chain_log *l = w->l;
	unsigned int cpu = first_queue(l, g, i, w->pid);

	for (; i < l->nr_notes && l->note[i].pid == w->pid &&
	     l->note[i].time < last; i++) {
		if (l->note[i].event != CHAIN_MOVE)
			continue;
		wait_for_cpu(w, cpu, l->note[i].time);
		cpu = l->note[i].cpu;
	}
	wait_for_cpu(w, cpu, last);
	if (after)
		wait_for_cpu(w, after->cpu, to);
}

static bool is_runnable(__u8 left)
{
	return left == KDTL_PREEMPT_TIME_SLICE || left == KDTL_PREEMPT_THROTTLED;
}

/* A dispatch shows why the task had left its last CPU, but not how it slept. */
static __u8 left_before(const struct chain_turn *t)
{
	switch (t->reason) {
	case KDTL_DISPATCH_TIME_SLICE:
		return KDTL_PREEMPT_TIME_SLICE;
	case KDTL_DISPATCH_PAGE_FAULT:
		return KDTL_PREEMPT_PAGE_FAULT;
	case KDTL_DISPATCH_THROTTLED:
		return t->slept ? KDTL_PREEMPT_CEDE : KDTL_PREEMPT_THROTTLED;
	}
	return KDTL_PREEMPT_CEDE;
}

/*
 * Find when the task left its CPU, and why.  If dispatches may be missing, it may have run in
 * between, and then its next dispatch covers less time than has passed since the last known turn.
 */
static void find_off(const struct chain_log *l, struct gap *g)
{
	const struct chain_turn *a = g->before, *b = g->after;
	__u64 told;

	g->off = a ? a->off : CHAIN_NEVER;
	g->left = a ? a->left : 0;
	if (!b || b->on == CHAIN_NEVER)
		return;
	told = b->wait + b->held + b->slept;
	told = told < b->on ? b->on - told : 0;
	if (g->off != CHAIN_NEVER && (!l->lossy || told <= g->off + SLACK_NS))
		return;
	g->before = NULL;
	g->off = told;
	g->left = left_before(b);
}

/*
 * Find the last wake-up before the dispatch, if it comes after the turn before.  If it found the
 * task still queued, long before the task left, it did not end the sleep: that wake-up is lost.
 */
static void find_wake(const struct chain_log *l, int pid, struct gap *g)
{
	const __u64 until = g->after ? g->after->on : l->end;
	size_t i = note_after(l, pid, until);
	__u64 since = 0;

	g->wake = CHAIN_NONE;
	if (g->before && g->before->on != CHAIN_NEVER)
		since = g->before->on;
	else if (g->off != CHAIN_NEVER)
		since = g->off > SLACK_NS ? g->off - SLACK_NS : 0;
	while (i-- && l->note[i].pid == pid && l->note[i].time > since) {
		if (l->note[i].event != CHAIN_WAKE && l->note[i].event != CHAIN_NEW)
			continue;
		if (!l->note[i].queued || l->note[i].time + SLACK_NS >= g->off)
			g->wake = i;
		return;
	}
}

/* The lock for which the task left its CPU. */
static size_t find_lock(const struct chain_log *l, int pid, const struct gap *g)
{
	size_t i;

	if (!g->before || g->before->on == CHAIN_NEVER)
		return CHAIN_NONE;
	i = note_after(l, pid, g->off);
	if (i-- && l->note[i].pid == pid && l->note[i].event == CHAIN_LOCK &&
	    l->note[i].time > g->before->on)
		return i;
	return CHAIN_NONE;
}

static void walk(const struct chain_log *l, struct chain *c, int pid, unsigned int depth,
		 __u64 from, __u64 to);

/* The task slept until @to: add that, and what its waker did meanwhile. */
static void sleep_until(struct walk *w, const struct gap *g, __u64 to)
{
	const struct chain_note *wake;
	struct chain_part *p = add(w, CHAIN_ASLEEP, to);

	if (!p)
		return;
	p->left = g->left;
	p->lock = find_lock(w->l, w->pid, g);
	if (g->wake == CHAIN_NONE)
		return;
	p->wake = g->wake;
	wake = &w->l->note[g->wake];
	if (wake->by && wake->by != w->pid && w->depth < CHAIN_DEPTH)
		walk(w->l, w->c, wake->by, w->depth + 1, p->from, p->to);
}

/* The task left its CPU although it could have gone on. */
static void preempted(struct walk *w, const struct gap *g)
{
	const __u64 to = g->after ? g->after->on : w->l->end;

	if (g->after && g->after->reason == KDTL_DISPATCH_THROTTLED)
		add(w, CHAIN_THROTTLED, to - least(g->after->wait, to));
	else if (!g->after && g->left == KDTL_PREEMPT_THROTTLED)
		add(w, CHAIN_THROTTLED, to);
	wait_until(w, g, note_after(w->l, w->pid, g->off), to);
}

/*
 * The task left its CPU and slept until it was woken.  A dispatch that does not know when its task
 * was queued has a wait of 0: then all the time since the wake-up was a wait.
 */
static void slept(struct walk *w, const struct gap *g)
{
	const struct chain_turn *b = g->after;
	const __u64 to = b ? b->on : w->l->end;
	const __u64 ready = b ? to - least(b->wait, to) : to;
	const bool throttled = b && b->reason == KDTL_DISPATCH_THROTTLED;
	__u64 woken, queued;

	if (g->wake == CHAIN_NONE) {
		if (b || !w->l->notes_lossy)
			sleep_until(w, g, throttled ? ready - least(b->held, ready) : ready);
		if (throttled)
			add(w, CHAIN_THROTTLED, ready);
		if (b)
			wait_until(w, g, note_after(w->l, w->pid, ready), to);
		return;
	}
	woken = least(w->l->note[g->wake].time, to);
	sleep_until(w, g, woken);
	queued = most(ready, woken);
	if (throttled)
		add(w, CHAIN_THROTTLED, queued);
	else if (b && b->wait && !b->more)
		add(w, CHAIN_WOKEN, queued);
	wait_until(w, g, g->wake + 1, to);
}

/* Add the time between two turns, or before the first one, or after the last one. */
static void between(struct walk *w, const struct chain_turn *before, const struct chain_turn *after)
{
	struct gap g = { before, after, CHAIN_NEVER, 0, CHAIN_NONE };
	struct chain_part *p;

	find_off(w->l, &g);
	/* When the task got that CPU is not known, so what it did before is not, either. */
	if ((after && after->on == CHAIN_NEVER) || g.off == CHAIN_NEVER) {
		add(w, CHAIN_UNKNOWN, after ? turn_begin(after) : w->to);
		return;
	}
	if (!after && (w->l->lossy || g.off >= w->l->end)) {
		add(w, CHAIN_UNKNOWN, w->to);
		return;
	}
	find_wake(w->l, w->pid, &g);
	if (!before && g.wake != CHAIN_NONE && w->l->note[g.wake].event == CHAIN_NEW) {
		/* The new task may be noted a little later than it was queued. */
		p = add(w, CHAIN_GONE, least(w->l->note[g.wake].time,
					     after->on - least(after->wait, after->on)));
		if (p)
			p->wake = g.wake;
		wait_until(w, &g, g.wake + 1, after->on);
		return;
	}
	add(w, CHAIN_UNKNOWN, g.off);
	if (!after && g.left == KDTL_PREEMPT_EXITED)
		add(w, CHAIN_GONE, w->to);
	else if (is_runnable(g.left))
		preempted(w, &g);
	else
		slept(w, &g);
	/* Behind the end, or the recording lacks what followed. */
	add(w, CHAIN_UNKNOWN, after ? after->on : w->to);
}

static void walk(const struct chain_log *l, struct chain *c, int pid, unsigned int depth,
		 __u64 from, __u64 to)
{
	struct walk w = { l, c, pid, depth, from, to };
	const struct chain_turn *t, *before;
	size_t i = turn_after(l, pid, from);

	before = i && i <= l->nr_turns && l->turn[i - 1].pid == pid ? &l->turn[i - 1] : NULL;
	for (; w.at < to && !is_full(c) && i < l->nr_turns && l->turn[i].pid == pid; i++) {
		t = &l->turn[i];
		if (turn_begin(t) > w.at || t->on == CHAIN_NEVER)
			between(&w, before, t);
		if (t->on != CHAIN_NEVER && t->off != CHAIN_NEVER)
			on_cpu(&w, CHAIN_RAN, t->cpu, CHAIN_NOBODY, t->off);
		before = t;
	}
	if (w.at < to && !is_full(c) && before)
		between(&w, before, NULL);
	add(&w, is_full(c) ? CHAIN_CUT : CHAIN_UNKNOWN, to);
}

/**
 * chain_walk() - take a span of a task apart
 * @l: what is known
 * @c: its parts; what was in it before is gone
 * @pid: the task
 * @from: begin of the span
 * @to: its end, not before @from
 *
 * Each part of depth 0 begins where the one before it ended, the first one at @from, and the last
 * one ends at @to; a waker's parts likewise fill the part of the sleep that it ended.
 */
void chain_walk(const struct chain_log *l, struct chain *c, int pid, __u64 from, __u64 to)
{
	c->nr = 0;
	walk(l, c, pid, 0, from, to);
}

/**
 * chain_woken() - what ended the sleep before a turn
 * @l: what is known
 * @i: the number of the turn
 *
 * Return: the number in @l->note of the wake-up, or of how the task was made; CHAIN_NONE if the
 * task did not sleep, or if that is not known.
 */
size_t chain_woken(const struct chain_log *l, size_t i)
{
	const struct chain_turn *t = &l->turn[i];
	struct gap g = {
		.before = i && t[-1].pid == t->pid ? t - 1 : NULL, .after = t, .off = CHAIN_NEVER,
		.wake = CHAIN_NONE,
	};

	if (t->on == CHAIN_NEVER)
		return CHAIN_NONE;
	find_off(l, &g);
	if (g.off != CHAIN_NEVER && !is_runnable(g.left))
		find_wake(l, t->pid, &g);
	return g.wake;
}
