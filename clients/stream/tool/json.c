// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl export: JSON lines, and Chrome's trace format
 *
 * Chrome's format: a "process" has a track for each CPU, and each task has a track in its
 * process.  Times are us from the first entry on, exact to the ns and never set back as
 * a clock is; the time of day is an argument of each slice.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>

#include "export.h"

#if HAVE_JSON
#include <json-c/json.h>

#define FLAGS	(JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)

/* No process has a larger PID than 2^22, so this one is nobody's. */
#define CPUS_PID	(1 << 23)

/* An array with the tasks that had the CPU, longest first. */
static struct json_object *json_behind(const struct who *w)
{
	struct json_object *array = json_object_new_array(), *o;
	char text[PRINTABLE(COMM_LEN)];
	const char *comm;

	for (const struct ran *ran = w->ran; ran < w->ran + w->nr; ran++) {
		o = json_object_new_object();
		comm = ran->pid ? utf8_text(text, ran->comm, COMM_LEN) : "idle";
		json_object_object_add(o, "comm", json_object_new_string(comm));
		json_object_object_add(o, "pid", ran->pid < 0 ? NULL : json_object_new_int(ran->pid));
		if (ran->pid < 0)
			json_object_object_add(o, "irq", json_object_new_string(kdtl_irq_word(ran->pid)));
		json_object_object_add(o, "ns", json_object_new_uint64(ran->ns));
		json_object_array_add(array, o);
	}
	return array;
}

static struct json_object *json_field(const struct field *f, const struct who *w)
{
	char text[PRINTABLE(KDTL_CGROUP_LEN)];

	switch (f->kind) {
	case FIELD_NUMBER:
		return json_object_new_int64(f->number);
	case FIELD_TIME:
		return json_object_new_uint64(f->number);
	case FIELD_BOOL:
		return json_object_new_boolean(f->number);
	case FIELD_TEXT:
		return json_object_new_string(utf8_text(text, f->text ?: f->digits, f->len));
	case FIELD_BEHIND:
		return json_behind(w);
	case FIELD_UNKNOWN:
		break;
	}
	return NULL;
}

static struct json_object *json_fields(const struct fields *f)
{
	struct json_object *o = json_object_new_object();

	for (size_t i = 0; i < f->nr; i++)
		json_object_object_add(o, f->field[i].name, json_field(&f->field[i], &f->who));
	return o;
}

/* Print the object, and free it. */
static void put(FILE *out, struct json_object *o)
{
	const char *text = o ? json_object_to_json_string_ext(o, FLAGS) : NULL;

	if (!text)
		die("no memory");
	fputs(text, out);
	json_object_put(o);
}

void export_jsonl(FILE *out, struct recording *r, const struct sleeps *s,
		  const struct line *line, size_t nr)
{
	struct fields f = { 0 };

	(void)s;
	for (size_t k = 0; k < nr; k++) {
		entry_fields(&f, r, &line[k]);
		put(out, json_fields(&f));
		putc('\n', out);
	}
}

/* ------------------------------------------------------------ Chrome's format */

/**
 * struct track - the track of a task
 * @pid: its PID, the first field of trees
 * @tgid: the process in which its track is; its own PID if it is not known
 * @entry: its last entry, which has its name
 * @until: where its last slice ends, in ns of the time base
 */
struct track {
	int				pid;
	int				tgid;
	const struct kdtl_entry		*entry;
	uint64_t			until;
};

/**
 * struct chrome - a trace that is written
 * @out: where it is written to
 * @r: the recording
 * @begin: ns of the time base that are 0 in the trace
 * @tracks: of the tasks, a tree of tsearch(3)
 * @events: their number so far
 */
struct chrome {
	FILE				*out;
	const struct recording		*r;
	uint64_t			begin;
	void				*tracks;
	size_t				events;
};

static struct chrome *writing;	/* for twalk(3) */

static int by_pid(const void *a, const void *b)
{
	const struct track *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

static struct track *track_of(struct chrome *c, const struct kdtl_entry *e)
{
	const struct kdtl_task *t = entry_task(c->r, e);
	const struct track key = { .pid = entry_pid(e), .tgid = t ? (int)t->tgid : entry_pid(e) };
	struct track **found = tsearch(&key, &c->tracks, by_pid);
	struct track *track;

	if (!found)
		die("no memory");
	if (*found == &key) {
		track = resized(NULL, sizeof(*track));
		*track = key;
		track->until = c->begin;
		*found = track;
	}
	(*found)->entry = e;
	return *found;
}

/* ns as us with all their digits, which a double would not keep. */
static struct json_object *us(uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned int)(ns % 1000));
	return json_object_new_double_s(ns / 1e3, text);
}

static struct json_object *event(const char *name, const char *phase, int pid, int tid)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "name", json_object_new_string(name));
	json_object_object_add(o, "ph", json_object_new_string(phase));
	json_object_object_add(o, "pid", json_object_new_int(pid));
	json_object_object_add(o, "tid", json_object_new_int(tid));
	return o;
}

static void put_event(struct chrome *c, struct json_object *o, struct json_object *args)
{
	if (args)
		json_object_object_add(o, "args", args);
	fputs(c->events++ ? ",\n" : "\n", c->out);
	put(c->out, o);
}

/*
 * From @from to @to, ns of the time base.  An event for each of them, and not one with a
 * duration: readers that use floating point would not see that one slice ends when the
 * next one begins.
 */
static void put_edge(struct chrome *c, const char *name, const char *phase, int pid, int tid,
		     uint64_t ns, struct json_object *args)
{
	struct json_object *o = event(name, phase, pid, tid);

	json_object_object_add(o, "ts", us(ns - c->begin));
	put_event(c, o, args);
}

static void put_slice(struct chrome *c, const char *name, int pid, int tid, uint64_t from,
		      uint64_t to, struct json_object *args)
{
	put_edge(c, name, "B", pid, tid, from, args);
	put_edge(c, name, "E", pid, tid, to, NULL);
}

static void put_name(struct chrome *c, const char *what, int pid, int tid, const char *name)
{
	struct json_object *args = json_object_new_object();

	json_object_object_add(args, "name", json_object_new_string(name));
	put_event(c, event(what, "M", pid, tid), args);
}

static void put_order(struct chrome *c, const char *what, int pid, int tid, int order)
{
	struct json_object *args = json_object_new_object();

	json_object_object_add(args, "sort_index", json_object_new_int(order));
	put_event(c, event(what, "M", pid, tid), args);
}

static int cpu_tid(unsigned int cpu)
{
	return CPUS_PID + 1 + (int)cpu;
}

static struct json_object *time_text_of(const struct recording *r, uint64_t ticks)
{
	char time[TIME_TEXT];

	return json_object_new_string(time_text(time, time_of_day(r, ticks),
						"%Y-%m-%dT%H:%M:%S", 9));
}

static struct json_object *slice_args(const struct chrome *c, const struct fields *f, size_t i)
{
	struct json_object *args = json_fields(f);

	json_object_object_add(args, "time",
			       time_text_of(c->r, be64toh(c->r->entry[i]->timebase)));
	return args;
}

/* What the hypervisor and interrupts had of a CPU, as slices within the task's. */
static void put_taken(struct chrome *c, unsigned int cpu, uint64_t from, uint64_t to)
{
	const struct recording *r = c->r;
	const struct gap *g = gap_after(r->taken, r->nr_taken, cpu, from);
	char comm[PRINTABLE(COMM_LEN)], name[sizeof(comm) + 16];

	for (; g < r->taken + r->nr_taken && g->cpu == cpu && g->from < to; g++) {
		if (g->entry)
			snprintf(name, sizeof(name), "%s %s", kdtl_irq_word(entry_pid(g->entry)),
				 utf8_text(comm, entry_comm(g->entry), COMM_LEN));
		put_slice(c, g->entry ? name : "the hypervisor", CPUS_PID, cpu_tid(cpu),
			  g->from > from ? g->from : from, g->to < to ? g->to : to, NULL);
	}
}

/* Who had the CPU from an entry to the next one; the next one must agree. */
static void put_ran(struct chrome *c, const struct fields *f, size_t i)
{
	const struct recording *r = c->r;
	const struct kdtl_entry *e = r->entry[i], *next = i + 1 < r->nr ? r->entry[i + 1] : e;
	const bool known = ran_between(r, e, next);
	const uint64_t from = entry_time(r, e), to = entry_time(r, next);
	const int tid = cpu_tid(entry_cpu(e));
	const bool idle = known && !entry_pid(e);
	char comm[PRINTABLE(COMM_LEN)];
	const char *name;

	if (next == e || entry_cpu(next) != entry_cpu(e) || to == from)
		return;
	name = known ? utf8_text(comm, entry_comm(e), COMM_LEN) : "not known";
	if (!idle)
		put_edge(c, name, "B", CPUS_PID, tid, from, slice_args(c, f, i));
	put_taken(c, entry_cpu(e), from, to);
	if (!idle)
		put_edge(c, name, "E", CPUS_PID, tid, to, NULL);
}

/*
 * Draw an arrow from the task that woke the task of entry @i to that task, on the tracks of their
 * CPUs: readers bind each end to the slice that it lies in.  An interrupt has no slice to come
 * from.
 */
static void put_arrow(struct chrome *c, const struct sleeps *s, size_t note, size_t i)
{
	const struct chain_note *n = &s->note[note];
	const struct kdtl_entry *e = c->r->entry[i];
	const unsigned int cpu = sleeps_cpu(s, n->by, n->time);
	struct json_object *from, *to;

	if (cpu == UINT_MAX || n->time < c->begin || n->time > entry_time(c->r, e))
		return;
	from = event("woke", "s", CPUS_PID, cpu_tid(cpu));
	json_object_object_add(from, "cat", json_object_new_string("wake"));
	json_object_object_add(from, "id", json_object_new_uint64(i));
	json_object_object_add(from, "ts", us(n->time - c->begin));
	put_event(c, from, NULL);
	to = event("woke", "f", CPUS_PID, cpu_tid(entry_cpu(e)));
	json_object_object_add(to, "cat", json_object_new_string("wake"));
	json_object_object_add(to, "id", json_object_new_uint64(i));
	json_object_object_add(to, "bp", json_object_new_string("e"));
	json_object_object_add(to, "ts", us(entry_time(c->r, e) - c->begin));
	put_event(c, to, NULL);
}

/*
 * How long the task waited, or was held back, before its dispatch. Slices of a track must
 * not overlap; those of a kernel do not.
 */
static void put_wait(struct chrome *c, const struct fields *f, size_t i)
{
	const struct recording *r = c->r;
	const struct kdtl_entry *e = r->entry[i];
	const uint64_t wait = entry_wait(r, e), ns = wait + entry_throttled(r, e);
	const uint64_t end = entry_time(r, e);
	struct track vcpu = { .tgid = CPUS_PID, .pid = cpu_tid(entry_cpu(e)), .until = c->begin };
	struct track *track = r->sched ? track_of(c, e) : &vcpu;
	uint64_t from;

	/* A virtual processor's last dispatch is before its next wait. */
	if (!r->sched && i && entry_cpu(r->entry[i - 1]) == entry_cpu(e))
		vcpu.until = entry_time(r, r->entry[i - 1]);
	from = end > ns && end - ns > track->until ? end - ns : track->until;
	if (!ns || from >= end)
		return;
	track->until = end;
	if (entry_is_throttled(e) && end - from > wait) {
		put_slice(c, "throttled", track->tgid, track->pid, from, end - wait,
			  slice_args(c, f, i));
		from = end - wait;
	}
	if (from < end)
		put_slice(c, "waits", track->tgid, track->pid, from, end, slice_args(c, f, i));
}

/* The thread's name; the process has the name of the thread that has its PID, if there is one. */
static void put_names(const void *node, VISIT which, int depth)
{
	const struct track *t = *(struct track *const *)node, key = { .pid = t->tgid,
								      .tgid = t->tgid };
	char comm[PRINTABLE(COMM_LEN)];

	(void)depth;
	if (which != postorder && which != leaf)
		return;
	utf8_text(comm, entry_comm(t->entry), COMM_LEN);
	put_name(writing, "thread_name", t->tgid, t->pid, comm);
	if (t->pid == t->tgid || !tfind(&key, &writing->tracks, by_pid))
		put_name(writing, "process_name", t->tgid, t->tgid, comm);
}

static void put_cpu_name(struct chrome *c, unsigned int cpu)
{
	char name[16];

	snprintf(name, sizeof(name), "CPU %u", cpu);
	put_name(c, "thread_name", CPUS_PID, cpu_tid(cpu), name);
	put_order(c, "thread_sort_index", CPUS_PID, cpu_tid(cpu), cpu);
}

/* Of CPUs that have entries, and of those that were offline. */
static void put_cpu_names(struct chrome *c)
{
	const struct recording *r = c->r;
	unsigned int cpu;
	size_t first;

	put_name(c, "process_name", CPUS_PID, CPUS_PID, "CPUs");
	put_order(c, "process_sort_index", CPUS_PID, CPUS_PID, -1);
	for (size_t i = 0; i < r->nr; i++) {
		if (!i || entry_cpu(r->entry[i - 1]) != entry_cpu(r->entry[i]))
			put_cpu_name(c, entry_cpu(r->entry[i]));
	}
	for (size_t i = 0; i < r->nr_moves; i++) {
		cpu = r->move[i].cpu;
		first = first_since(r, cpu, 0);
		if ((!i || r->move[i - 1].cpu != cpu) &&
		    (first == r->nr || entry_cpu(r->entry[first]) != cpu))
			put_cpu_name(c, cpu);
	}
}

/*
 * When CPUs were offline, as slices on their tracks, even of CPUs without any entry.  Edges of a
 * track must be in the order of time, and those of entries come one after the other, so these have
 * a duration.
 */
static void put_offline(struct chrome *c)
{
	const struct recording *r = c->r;
	const struct move *end = r->move + r->nr_moves;
	uint64_t from, to;
	struct json_object *o;

	for (const struct move *m = r->move, *next; m < end; m++) {
		/* Its slice began when it went, unless that was before the recording. */
		if (m->online && m > r->move && m[-1].cpu == m->cpu)
			continue;
		next = m->online ? m : move_next(r, m);
		from = m->online ? 0 : since_boot(r, m->ticks);
		from = from > c->begin ? from : c->begin;
		to = since_boot(r, next ? next->ticks : recording_span(r).to);
		if (from >= to)
			continue;
		o = event("offline", "X", CPUS_PID, cpu_tid(m->cpu));
		json_object_object_add(o, "ts", us(from - c->begin));
		json_object_object_add(o, "dur", us(to - from));
		put_event(c, o, NULL);
	}
}

static void add_name(struct json_object *o, const char *key, const char *name, size_t len)
{
	char text[PRINTABLE(64)];

	json_object_object_add(o, key, json_object_new_string(utf8_text(text, name, len)));
}

/* A number as text, which a reader that keeps numbers as doubles does not round. */
static struct json_object *digits(uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	return json_object_new_string(text);
}

static struct json_object *about(const struct recording *r, uint64_t ticks)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "begin", time_text_of(r, ticks));
	json_object_object_add(o, "begin_ns", json_object_new_uint64(time_of_day(r, ticks)));
	json_object_object_add(o, "begin_ns_text", digits(time_of_day(r, ticks)));
	json_object_object_add(o, "begin_approximate", json_object_new_boolean(!r->nr_clocks));
	add_name(o, "host", r->head.host, sizeof(r->head.host));
	add_name(o, "release", r->head.release, sizeof(r->head.release));
	add_name(o, "source", r->head.source, sizeof(r->head.source));
	json_object_object_add(o, "lost", json_object_new_uint64(r->head.lost));
	return o;
}

void export_chrome(FILE *out, struct recording *r, const struct sleeps *s,
		   const struct line *line, size_t nr)
{
	struct chrome c = { .out = out, .r = r };
	size_t *wake = s ? sleeps_wakes(s, r->nr) : NULL;
	uint64_t first = r->head.tb_boot;
	struct fields f = { 0 };

	for (size_t i = 0; i < r->nr; i++)
		if (!i || be64toh(r->entry[i]->timebase) < first)
			first = be64toh(r->entry[i]->timebase);
	c.begin = first > r->head.tb_boot ? ticks_to_ns(r, first - r->head.tb_boot) : 0;
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":", out);
	put(out, about(r, first));
	fputs(",\"traceEvents\":[", out);
	put_cpu_names(&c);
	for (size_t k = 0; k < nr; k++) {
		entry_fields(&f, r, &line[k]);
		if (r->sched)
			put_ran(&c, &f, line[k].i);
		if (wake && wake[line[k].i] != CHAIN_NONE)
			put_arrow(&c, s, wake[line[k].i], line[k].i);
		if (!entry_is_idle(r->entry[line[k].i]))
			put_wait(&c, &f, line[k].i);
	}
	put_offline(&c);
	writing = &c;
	twalk(c.tracks, put_names);
	tdestroy(c.tracks, free);
	free(wake);
	fputs("\n]}\n", out);
}

#else

void export_jsonl(FILE *out, struct recording *r, const struct sleeps *s,
		  const struct line *line, size_t nr)
{
	(void)out, (void)r, (void)s, (void)line, (void)nr;
}

void export_chrome(FILE *out, struct recording *r, const struct sleeps *s,
		   const struct line *line, size_t nr)
{
	(void)out, (void)r, (void)s, (void)line, (void)nr;
}

#endif
