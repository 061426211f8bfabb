// SPDX-License-Identifier: GPL-2.0
/* Chains as text: like parts of a span become a row, and a sleep has its waker's rows below it. */
#include <stdio.h>
#include <stdlib.h>

#include "sleeps.h"

#define INDENT		2
#define MOST_ROWS	5	/* at a level, unless all are wanted */
#define LEAST		100	/* nor rows below this part of the span */

/* The state of a task that a lock, or a disk, keeps asleep: no signal interrupts it. */
#define STATE_DISK	2

#define ROW_TEXT	(2 * TASK_TEXT + 128)

/**
 * struct rows - the rows of a task
 * @row: the rows
 * @nr: their number
 */
struct rows {
	struct row	*row;
	size_t		nr;
};

/**
 * struct row - parts of a span that are alike
 * @p: the first one; of waits, the longest one
 * @ns: the sum
 * @waker: what the waker did meanwhile
 * @kept: how late the task in front left the CPU because it could not be preempted; NULL: it
 *	left at once
 */
struct row {
	struct chain_part	p;
	uint64_t		ns;
	struct rows		waker;
	const struct kdtl_wake_entry	*kept;
};

static const struct kdtl_wake_entry *entry_of(const struct sleeps *s, size_t i)
{
	return i == CHAIN_NONE ? NULL : s->entry[i];
}

/*
 * Which interrupt woke a task?  A wake-up does not name the CPU that it is from, but it names the
 * task that the interrupt came upon, and so does the interrupt.  Returns 0 if that is not known, or
 * if interrupts of several idle CPUs might have done it.
 */
static int wake_irq(const struct sleeps *s, const struct recording *r, size_t wake)
{
	const unsigned int cpus = r->irqs && r->nr_taken ? r->taken[r->nr_taken - 1].cpu + 1 : 0;
	const struct kdtl_wake_entry *w = s->entry[wake];
	const uint64_t ns = s->note[wake].time;
	const struct gap *g;
	int irq = 0, pid;

	for (unsigned int cpu = 0; cpu < cpus; cpu++) {
		g = gap_after(r->taken, r->nr_taken, cpu, ns);
		if (g == r->taken + r->nr_taken || g->cpu != cpu || g->from > ns || !g->entry)
			continue;
		pid = entry_pid(g->entry);
		if (entry_prev_pid(g->entry) != kdtl_wake_by(w) ||
		    (kdtl_irq_kind_of(pid) == KDTL_IRQ_SOFT) == !!(w->flags & KDTL_WAKE_HARDIRQ))
			continue;
		if (irq)
			return 0;
		irq = pid;
	}
	return irq;
}

static bool is_alike(const struct sleeps *s, const struct recording *r, const struct chain_part *a,
		     const struct chain_part *b)
{
	const struct kdtl_wake_entry *v, *w;

	if (a->kind != b->kind || a->by != b->by)
		return false;
	if (a->kind == CHAIN_WAITED || a->kind == CHAIN_STOLEN || a->kind == CHAIN_INTERRUPTED)
		return a->cpu == b->cpu;
	if (a->kind != CHAIN_ASLEEP)
		return a->wake == b->wake;
	v = entry_of(s, a->wake);
	w = entry_of(s, b->wake);
	if (a->left != b->left || !v != !w)
		return false;
	if (v && v->flags & w->flags & KDTL_WAKE_IRQ &&
	    wake_irq(s, r, a->wake) != wake_irq(s, r, b->wake))
		return false;
	if (v && (v->by != w->by || v->syscall != w->syscall || v->state != w->state ||
		  (v->flags & (KDTL_WAKE_IRQ | KDTL_WAKE_IOWAIT)) !=
		  (w->flags & (KDTL_WAKE_IRQ | KDTL_WAKE_IOWAIT))))
		return false;
	v = entry_of(s, a->lock);
	w = entry_of(s, b->lock);
	return !v == !w && (!v || (v->by == w->by && v->state == w->state && v->arg == w->arg));
}

static int by_ns(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->p.from < y->p.from ? -1 : x->p.from > y->p.from;
}

/* Note that the task waited behind one, or the idle task, that could not be preempted. */
static void add_kept(const struct sleeps *s, struct row *row, const struct chain_part *p)
{
	const struct kdtl_wake_entry *kept = NULL;

	if (p->kind == CHAIN_WAITED && p->by != CHAIN_NOBODY)
		kept = kept_longest(&s->kepts, p->cpu, p->by, p->from, p->to);
	if (kept && (!row->kept || kdtl_wake_arg(kept) > kdtl_wake_arg(row->kept)))
		row->kept = kept;
}

/* Add parts @i to @end, which have one depth, except those of wakers. */
static void add_rows(const struct sleeps *s, const struct recording *r, const struct chain *c,
		     size_t i, size_t end, struct rows *rows)
{
	const struct chain_part *p;
	struct row *row;
	size_t next;

	for (; i < end; i = next) {
		p = &c->part[i];
		next = chain_next(c, i);
		for (row = rows->row; row < rows->row + rows->nr && !is_alike(s, r, &row->p, p); row++)
			;
		if (row == rows->row + rows->nr) {
			grow(rows->row, rows->nr);
			row = &rows->row[rows->nr++];
			*row = (struct row){ .p = *p };
		}
		row->ns += p->to - p->from;
		if (p->kind == CHAIN_WAITED && p->to - p->from > row->p.to - row->p.from)
			row->p = *p;
		add_kept(s, row, p);
		add_rows(s, r, c, i + 1, next, &row->waker);
	}
}

/* Sort the rows, and those of wakers, longest first. */
static void sort_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		sort_rows(&rows->row[i].waker);
	if (rows->nr)
		qsort(rows->row, rows->nr, sizeof(*rows->row), by_ns);
}

static void free_rows(struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++)
		free_rows(&rows->row[i].waker);
	free(rows->row);
}

static const char *name_text(char to[TASK_TEXT], const struct sleeps *s, const struct recording *r,
			     int pid, uint64_t ns)
{
	return listed_text(to, sleeps_comm(s, r, pid, ns), pid);
}

static const char *lock_text(unsigned int kind)
{
	static const char *const names[] = {
		[KDTL_WAKE_LOCK_OTHER] = "a lock", [KDTL_WAKE_LOCK_MUTEX] = "a mutex",
		[KDTL_WAKE_LOCK_READ] = "a rwsem to read",
		[KDTL_WAKE_LOCK_WRITE] = "a rwsem to write",
		[KDTL_WAKE_LOCK_RT] = "a lock with priority inheritance",
	};

	return kind < ARRAY_SIZE(names) ? names[kind] : names[KDTL_WAKE_LOCK_OTHER];
}

/* The call that it slept in, or what says as much; "": nothing is known. */
static const char *call_text(char to[32], const struct sleeps *s, const struct chain_part *p)
{
	const struct kdtl_wake_entry *w = entry_of(s, p->wake) ?: entry_of(s, p->lock);
	const char *name;

	if (!w || kdtl_wake_syscall(w) == KDTL_WAKE_NO_SYSCALL)
		return p->left == KDTL_PREEMPT_PAGE_FAULT ? "a page fault" : "";
	name = syscall_name(s->machine, kdtl_wake_syscall(w));
	if (name)
		return name;
	snprintf(to, 32, "syscall %u", kdtl_wake_syscall(w));
	return to;
}

/* No signal can interrupt this sleep, so somebody means to end it soon. */
static bool is_blocked(const struct sleeps *s, const struct chain_part *p)
{
	const struct kdtl_wake_entry *w = entry_of(s, p->wake);

	if (p->lock != CHAIN_NONE || p->left == KDTL_PREEMPT_DISK_SLEEP)
		return true;
	return w && kdtl_wake_state(w) == STATE_DISK;
}

/* Who ended a sleep, or made a task. */
const char *waker_text(char to[TASK_TEXT], const struct sleeps *s, const struct recording *r,
		       const struct chain_part *p)
{
	const struct kdtl_wake_entry *wake = entry_of(s, p->wake);
	char comm[PRINTABLE(COMM_LEN)];
	int irq;

	if (!wake)
		return "not known";
	if (wake->flags & KDTL_WAKE_IRQ) {
		irq = wake_irq(s, r, p->wake);
		if (!irq)
			return wake->flags & KDTL_WAKE_HARDIRQ ? "an interrupt" : "a softirq";
		snprintf(to, TASK_TEXT, "%s %s", kdtl_irq_word(irq),
			 printable(comm, irq_comm(r, irq), COMM_LEN));
		return to;
	}
	return kdtl_wake_by(wake) ? name_text(to, s, r, kdtl_wake_by(wake), p->to) : "the idle task";
}

/* In which call a task slept, and for what; returns the length. */
int sleep_text(char *to, size_t size, const struct sleeps *s, const struct chain_part *p)
{
	const struct kdtl_wake_entry *wake = entry_of(s, p->wake), *lock = entry_of(s, p->lock);
	char call[32];
	const char *in = call_text(call, s, p);

	return snprintf(to, size, "%s%s%s%s%s",
			p->left == KDTL_PREEMPT_STOPPED ? "stopped" : "asleep", *in ? " in " : "", in,
			lock ? ", for " : wake && wake->flags & KDTL_WAKE_IOWAIT ? ", for a disk" :
			is_blocked(s, p) ? ", uninterruptible" : "",
			lock ? lock_text(kdtl_wake_state(lock)) : "");
}

static void asleep_text(char *to, size_t size, const struct sleeps *s, const struct recording *r,
			const struct row *row)
{
	const struct chain_part *p = &row->p;
	const struct kdtl_wake_entry *wake = entry_of(s, p->wake), *lock = entry_of(s, p->lock);
	char task[TASK_TEXT];
	int n = sleep_text(to, size, s, p);

	if (lock && kdtl_wake_by(lock))
		n += snprintf(to + n, size - n, " that %s had",
			      name_text(task, s, r, kdtl_wake_by(lock), p->from));
	if (wake)
		snprintf(to + n, size - n, ", woken by %s%s", waker_text(task, s, r, p),
			 row->waker.nr ? ", which meanwhile" : "");
	else
		snprintf(to + n, size - n, ", and it is not known what woke it");
}

/* What the task behind which others waited was called for most of that time, as in who_ran(). */
static const char *behind_comm(const struct sleeps *s, const struct recording *r,
			       const struct chain_part *p)
{
	return sleeps_comm(s, r, p->by, p->from + (p->to - p->from) / 2);
}

static void waited_text(char *to, size_t size, const struct sleeps *s, const struct recording *r,
			const struct row *row)
{
	const struct chain_part *p = &row->p;
	char task[TASK_TEXT], ns[NS_TEXT];
	int n;

	if (p->by > 0)
		n = snprintf(to, size, "waited for CPU %u behind %s", p->cpu,
			     listed_text(task, behind_comm(s, r, p), p->by));
	else
		n = snprintf(to, size, "waited for CPU %u, %s", p->cpu,
			     p->by ? "and it is not known behind whom" : "which was idle");
	if (row->kept)
		snprintf(to + n, size - n, ", %s could not be preempted for %s",
			 p->by ? "which" : "and", short_ns(ns, kdtl_wake_arg(row->kept)));
}

static void row_text(char *to, size_t size, const struct sleeps *s, const struct recording *r,
		     const struct row *row)
{
	const struct chain_part *p = &row->p;
	char task[TASK_TEXT];

	switch (p->kind) {
	case CHAIN_RAN:
		snprintf(to, size, "ran");
		break;
	case CHAIN_WAITED:
		waited_text(to, size, s, r, row);
		break;
	case CHAIN_THROTTLED:
		snprintf(to, size, "held back by a limit on CPU time");
		break;
	case CHAIN_STOLEN:
		snprintf(to, size, "the hypervisor had CPU %u", p->cpu);
		break;
	case CHAIN_INTERRUPTED:
		snprintf(to, size, "%s %s had CPU %u", kdtl_irq_word(p->by),
			 printable(task, irq_comm(r, p->by), COMM_LEN), p->cpu);
		break;
	case CHAIN_WOKEN:
		snprintf(to, size, "woken, but in no queue yet");
		break;
	case CHAIN_ASLEEP:
		asleep_text(to, size, s, r, row);
		break;
	case CHAIN_GONE:
		snprintf(to, size, "did not exist%s%s", p->wake == CHAIN_NONE ? "" : ", made by ",
			 p->wake == CHAIN_NONE ? "" : waker_text(task, s, r, p));
		break;
	case CHAIN_UNKNOWN:
		snprintf(to, size, "not known");
		break;
	case CHAIN_CUT:
		snprintf(to, size, "not told: a chain of too many parts");
		break;
	}
}

/* The number of rows that are shown; a single one that is left is shown as well. */
static size_t shown_rows(const struct rows *rows, uint64_t least, bool all)
{
	size_t n = 0;

	if (all)
		return rows->nr;
	while (n < rows->nr && n < MOST_ROWS && (!n || rows->row[n].ns >= least))
		n++;
	return n + 1 == rows->nr ? rows->nr : n;
}

static void print_rows(const struct sleeps *s, const struct recording *r, const struct rows *rows,
		       int indent, uint64_t least, bool all)
{
	const size_t shown = shown_rows(rows, least, all);
	char text[ROW_TEXT], ns[NS_TEXT];
	uint64_t others = 0;
	int width = 0, len;

	for (size_t i = shown; i < rows->nr; i++)
		others += rows->row[i].ns;
	for (size_t i = 0; i <= shown; i++) {
		len = strlen(short_ns(ns, i < shown ? rows->row[i].ns : others));
		width = len > width && (i < shown || others) ? len : width;
	}
	for (size_t i = 0; i < shown; i++) {
		row_text(text, sizeof(text), s, r, &rows->row[i]);
		printf("%*s%-*s  %s\n", indent, "", width, short_ns(ns, rows->row[i].ns), text);
		print_rows(s, r, &rows->row[i].waker, indent + width + 2, least, all);
	}
	if (others)
		printf("%*s%-*s  %zu others\n", indent, "", width, short_ns(ns, others),
		       rows->nr - shown);
}

/* What a chain says, a row for each kind of part. */
void print_chain(const struct sleeps *s, const struct recording *r, const struct chain *c, bool all)
{
	struct rows rows = { 0 };

	add_rows(s, r, c, 0, c->nr, &rows);
	sort_rows(&rows);
	print_rows(s, r, &rows, INDENT, (c->part[c->nr - 1].to - c->part[0].from) / LEAST, all);
	free_rows(&rows);
}

static uint64_t late_in(const struct sleeps *s, const struct chain *c, size_t i, size_t end);

/*
 * A sleep that a signal could have ended may be that of a server which had nothing to do.  It
 * counts as late by as much as its waker was late, times that lateness's share of the sleep.
 */
static uint64_t late_asleep(const struct sleeps *s, const struct chain *c, size_t i, size_t end)
{
	const struct chain_part *p = &c->part[i];
	double late;

	if (is_blocked(s, p))
		return part_ns(p);
	late = late_in(s, c, i + 1, end);
	return late * late / part_ns(p);
}

/* For how much of part @i somebody was late, rather than waited for work. */
uint64_t part_late(const struct sleeps *s, const struct chain *c, size_t i)
{
	switch (c->part[i].kind) {
	case CHAIN_WAITED:
	case CHAIN_THROTTLED:
	case CHAIN_STOLEN:
	case CHAIN_INTERRUPTED:
	case CHAIN_WOKEN:
		return part_ns(&c->part[i]);
	case CHAIN_ASLEEP:
		return late_asleep(s, c, i, chain_next(c, i));
	default:
		return 0;
	}
}

/* part_late() of parts @i to @end. */
static uint64_t late_in(const struct sleeps *s, const struct chain *c, size_t i, size_t end)
{
	uint64_t ns = 0;

	for (; i < end; i = chain_next(c, i))
		ns += part_late(s, c, i);
	return ns;
}

/* Never more than the length of the chain. */
uint64_t chain_late(const struct sleeps *s, const struct chain *c)
{
	return late_in(s, c, 0, c->nr);
}

/* The task's longest sleep; NULL: it did not sleep. */
static const struct row *longest_sleep(const struct rows *rows)
{
	for (size_t i = 0; i < rows->nr; i++) {
		if (rows->row[i].p.kind == CHAIN_ASLEEP)
			return &rows->row[i];
	}
	return NULL;
}

static uint64_t sum_of(const struct rows *rows, enum chain_kind kind)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		if (rows->row[i].p.kind == kind)
			ns += rows->row[i].ns;
	}
	return ns;
}

static void print_sum(const char *name, const struct rows *rows, enum chain_kind kind)
{
	printf(" %s=%.3f", name, (double)sum_of(rows, kind) / NS_PER_MS);
}

/* The task behind which somebody waited longest; NULL: behind none. */
static const struct row *longest_wait(const struct rows *rows, const struct row *longest)
{
	const struct row *row;

	for (size_t i = 0; i < rows->nr; i++) {
		row = &rows->row[i];
		if (row->p.kind == CHAIN_WAITED && row->p.by > 0 &&
		    (!longest || row->ns > longest->ns))
			longest = row;
		longest = longest_wait(&row->waker, longest);
	}
	return longest;
}

/* What the sleep was for, in a word. */
static const char *on_word(char to[32], const struct sleeps *s, const struct row *sleep)
{
	const struct kdtl_wake_entry *lock = sleep ? entry_of(s, sleep->p.lock) : NULL;
	const char *call;

	if (!sleep)
		return "-";
	if (lock)
		return kdtl_wake_state(lock) == KDTL_WAKE_LOCK_MUTEX ? "mutex" :
		       kdtl_wake_state(lock) == KDTL_WAKE_LOCK_RT ? "rt_mutex" :
		       kdtl_wake_state(lock) == KDTL_WAKE_LOCK_OTHER ? "lock" : "rwsem";
	if (sleep->p.left == KDTL_PREEMPT_PAGE_FAULT)
		return "page_fault";
	call = call_text(to, s, &sleep->p);
	for (char *p = to; call == to && *p; p++)
		*p = *p == ' ' ? '_' : *p;
	return *call ? call : "?";
}

static const char *by_word(char to[PRINTABLE(KDTL_CGROUP_LEN)], const struct sleeps *s,
			   const struct recording *r, const struct row *sleep)
{
	const struct kdtl_wake_entry *wake = sleep ? entry_of(s, sleep->p.wake) : NULL;

	if (!wake)
		return sleep ? "?" : "-";
	if (wake->flags & KDTL_WAKE_IRQ)
		return wake->flags & KDTL_WAKE_HARDIRQ ? "irq" : "softirq";
	if (!kdtl_wake_by(wake))
		return "idle";
	return word_text(to, sleeps_comm(s, r, kdtl_wake_by(wake), sleep->p.to), COMM_LEN);
}

/* A line of NAME=VALUE, for scripts. */
void print_chain_brief(const struct sleeps *s, const struct recording *r, const struct chain *c)
{
	const struct chain_part *first = c->part;
	char word[PRINTABLE(KDTL_CGROUP_LEN)], on[32], time[TIME_TEXT];
	const uint64_t end = c->part[c->nr - 1].to;
	const struct rows none = { 0 };
	const struct row *sleep, *behind;
	const struct kdtl_wake_entry *wake;
	struct rows rows = { 0 };

	add_rows(s, r, c, 0, c->nr, &rows);
	sort_rows(&rows);
	sleep = longest_sleep(&rows);
	behind = longest_wait(&rows, NULL);
	wake = sleep ? entry_of(s, sleep->p.wake) : NULL;
	printf("chain: task=%s pid=%d late_ms=%.3f",
	       word_text(word, sleeps_comm(s, r, first->pid, end), COMM_LEN), first->pid,
	       (double)(end - first->from) / NS_PER_MS);
	print_sum("ran_ms", &rows, CHAIN_RAN);
	print_sum("waited_ms", &rows, CHAIN_WAITED);
	print_sum("blocked_ms", &rows, CHAIN_ASLEEP);
	printf(" on=%s by=%s by_pid=%d", on_word(on, s, sleep), by_word(word, s, r, sleep),
	       wake && !(wake->flags & KDTL_WAKE_IRQ) ? kdtl_wake_by(wake) : 0);
	print_sum("its_wait_ms", sleep ? &sleep->waker : &none, CHAIN_WAITED);
	if (behind)
		word_text(word, behind_comm(s, r, &behind->p), COMM_LEN);
	printf(" behind=%s behind_pid=%d behind_ms=%.3f", behind ? word : "-",
	       behind ? behind->p.by : 0, (double)(behind ? behind->ns : 0) / NS_PER_MS);
	print_sum("throttled_ms", &rows, CHAIN_THROTTLED);
	print_sum("stolen_ms", &rows, CHAIN_STOLEN);
	print_sum("woken_ms", &rows, CHAIN_WOKEN);
	printf(" unknown_ms=%.3f time=%s",
	       (double)(sum_of(&rows, CHAIN_UNKNOWN) + sum_of(&rows, CHAIN_CUT)) / NS_PER_MS,
	       time_text(time, day_of(r, end), "%Y-%m-%dT%H:%M:%S", 6));
	if (r->irqs)
		print_sum("interrupted_ms", &rows, CHAIN_INTERRUPTED);
	/* Before Linux 7.2 no recording says so of any task. */
	if (s->kepts.nr)
		printf(" kept_ms=%.3f", behind && behind->kept ?
		       (double)kdtl_wake_arg(behind->kept) / NS_PER_MS : 0);
	putchar('\n');
	free_rows(&rows);
}
