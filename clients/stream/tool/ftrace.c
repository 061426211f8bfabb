// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl export: the text of ftrace, with the scheduler's events
 *
 * Perfetto makes scheduling tracks, states of threads and wakers of it, which no event of Chrome's
 * JSON can ask for.  A line is as /sys/kernel/tracing/trace has it with record-tgid, but for the
 * digits of its time, which is since boot.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

#include "export.h"
#include "sleeps.h"

/**
 * struct event - a line of the text
 * @ns: when, in ns since boot
 * @i: the number of an entry: its sched_switch
 * @wake: or what woke its task: its sched_waking; NULL: none
 */
struct event {
	uint64_t			ns;
	size_t				i;
	const struct kdtl_wake_entry	*wake;
};

/* A task is woken before it gets the CPU. */
static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (!x->wake != !y->wake)
		return x->wake ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

/* As in the kernel: nice 0, or not known, is 120, and real-time priorities are below 100. */
static int priority(const struct kdtl_task *t)
{
	if (!t)
		return 120;
	return t->rt_priority ? 99 - (int)t->rt_priority : (int)(120U + t->nice);
}

/* How the task before left; a recording of an older version says S of all that did not go on. */
static const char *state(const struct kdtl_entry *e)
{
	if (!entry_prev_pid(e))
		return "R";
	switch (e->preempt_reason) {
	case KDTL_PREEMPT_CEDE:
		return "S";
	case KDTL_PREEMPT_PAGE_FAULT:
	case KDTL_PREEMPT_DISK_SLEEP:
		return "D";
	case KDTL_PREEMPT_STOPPED:
		return "T";
	case KDTL_PREEMPT_EXITED:
		return "X";
	}
	return "R+";
}

/* Readers find the end of a name by the [ behind it, so one that has that is left to the event. */
static void put_head(FILE *out, const char *name, int pid, unsigned int cpu, uint64_t ns,
		     const struct kdtl_task *t, char context)
{
	fprintf(out, "%16s-%-7d ", !pid ? "<idle>" : *name && !strchr(name, '[') ? name : "<...>",
		pid);
	if (t && pid)
		fprintf(out, "(%7u)", t->tgid);
	else
		fputs("(-------)", out);
	fprintf(out, " [%03u] ..%c. %5llu.%09llu: ", cpu, context, ns / NS_PER_S,
		ns % NS_PER_S);
}

/* The event of Android's kernels, since Linux has none that says just this. */
static void put_move(FILE *out, const struct recording *r, const struct kdtl_entry *e,
		     const struct move *m)
{
	put_head(out, "", 0, m->cpu, entry_time(r, e), NULL, '.');
	fprintf(out, "sched_cpu_hotplug: cpu %u %s error=0\n", m->cpu,
		m->online ? "online" : "offline");
}

static void put_switch(FILE *out, const struct recording *r, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];
	const int prev_pid = entry_prev_pid(e);
	const struct kdtl_task *prev = task_at(r, e, prev_pid, be64toh(e->timebase));
	char was[COMM_LEN + 8], before[PRINTABLE(COMM_LEN + 8)], comm[PRINTABLE(COMM_LEN)];

	printable(before, entry_prev_comm(was, r, i, prev), sizeof(was));
	printable(comm, entry_comm(e), COMM_LEN);
	put_head(out, before, prev_pid, entry_cpu(e), entry_time(r, e), prev, '.');
	fprintf(out, "sched_switch: prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d\n",
		*before ? before : "<...>", prev_pid, priority(prev_pid ? prev : NULL), state(e),
		comm, entry_pid(e), priority(entry_pid(e) ? entry_task(r, e) : NULL));
}

/* While a CPU is offline it is idle, as in the kernel's own text. */
static void put_entry(FILE *out, const struct recording *r, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];
	const struct move *m = entry_move(r, e);

	if (m && m->online)
		put_move(out, r, e, m);
	if (!m || entry_pid(e) != entry_prev_pid(e))
		put_switch(out, r, i);
	if (m && !m->online)
		put_move(out, r, e, m);
}

/* Of an interrupt, the context is the task that it came upon, as in the kernel's own text. */
static void put_waking(FILE *out, const struct recording *r, const struct sleeps *s,
		       const struct event *event)
{
	const struct kdtl_wake_entry *w = event->wake;
	const struct kdtl_entry *e = r->entry[event->i];
	const int by = kdtl_wake_by(w);
	const unsigned int cpu = sleeps_cpu(s, by, event->ns);
	char comm[PRINTABLE(COMM_LEN)];

	put_head(out, "", by, cpu != UINT_MAX ? cpu : kdtl_wake_cpu(w), event->ns, NULL,
		 w->flags & KDTL_WAKE_HARDIRQ ? 'h' : w->flags & KDTL_WAKE_SOFTIRQ ? 's' : '.');
	fprintf(out, "sched_waking: comm=%s pid=%d prio=%d target_cpu=%03u\n",
		printable(comm, kdtl_wake_comm(w), COMM_LEN), kdtl_wake_pid(w),
		priority(entry_task(r, e)), entry_cpu(e));
}

void export_ftrace(FILE *out, struct recording *r, const struct sleeps *s, const struct line *line,
		   size_t nr)
{
	struct event *event = resized(NULL, (2 * nr + 1) * sizeof(*event));
	size_t *wake = s ? sleeps_wakes(s, r->nr) : NULL, i, n = 0;

	for (size_t k = 0; k < nr; k++) {
		i = line[k].i;
		event[n++] = (struct event){ .ns = entry_time(r, r->entry[i]), .i = i };
		if (wake && wake[i] != CHAIN_NONE && s->note[wake[i]].event == CHAIN_WAKE)
			event[n++] = (struct event){
				.ns = s->note[wake[i]].time, .i = i, .wake = s->entry[wake[i]],
			};
	}
	if (n)
		qsort(event, n, sizeof(*event), by_time);
	fputs("# tracer: nop\n#\n", out);
	for (size_t k = 0; k < n; k++) {
		if (event[k].wake)
			put_waking(out, r, s, &event[k]);
		else
			put_entry(out, r, event[k].i);
	}
	free(wake);
	free(event);
}
