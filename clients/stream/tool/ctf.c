// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl ctf: a trace in the Common Trace Format 1.8
 *
 * Each CPU has a stream, in packets; big-endian, nothing aligned to more than a
 * byte.  Times are ns since 1970.  Beside our own events are the scheduler's, with the
 * names and fields of LTTng, for tools that know those.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sleeps.h"

#define CTF_MAGIC	0xc1fc1fc1
#define PACKET		(256 * 1024)
#define HEAD		(4 + 8 * 5 + 4)	/* magic, context */

enum { EVENT_DISPATCH, EVENT_SWITCH, EVENT_WAKEUP, EVENT_WAKING, EVENT_HOTPLUG };

/**
 * struct event - something that the trace says
 * @ticks: when
 * @i: the number of the entry that tells
 * @cpu: in the stream of that CPU
 * @id: EVENT_DISPATCH, with the switch if there is one, or for an entry of moves_put() the
 *	EVENT_HOTPLUG that it stands for; EVENT_WAKEUP: its task is ready;
 *	EVENT_WAKING: another one wakes it
 */
struct event {
	uint64_t	ticks;
	size_t		i;
	unsigned int	cpu;
	int		id;
};

/**
 * struct stream - the stream of one CPU
 * @file: open, or NULL
 * @cpu: its number
 * @len: bytes in @buf
 * @begin: time of the first event in @buf
 * @end: time of the last one
 * @lost: entries that were lost before @end
 * @loss: the next loss; the CPU's earlier losses are in the stream
 * @in_loss: this loss may have begun
 * @buf: a packet
 */
struct stream {
	FILE		*file;
	unsigned int	cpu;
	size_t		len;
	uint64_t	begin;
	uint64_t	end;
	uint64_t	lost;
	const struct gap *loss;
	bool		in_loss;
	unsigned char	buf[PACKET];
};

/* Name of a trace that is not complete yet; "": there is none. */
static char unfinished[PATH_MAX];

static void put(struct stream *s, uint64_t v, unsigned int bytes)
{
	while (bytes--)
		s->buf[s->len++] = v >> 8 * bytes;
}

static void put_packet(struct stream *s)
{
	const size_t len = s->len;

	s->len = 0;
	put(s, CTF_MAGIC, 4);
	put(s, s->begin, 8);
	put(s, s->end, 8);
	put(s, len * 8, 8);	/* content_size and packet_size, in bits */
	put(s, len * 8, 8);
	put(s, s->lost, 8);
	put(s, s->cpu, 4);
	if (fwrite(s->buf, 1, len, s->file) != len)
		die("%s: CPU %u", unfinished, s->cpu);
	s->len = HEAD;
}

static void flush_packet(struct stream *s)
{
	if (s->len != HEAD)
		put_packet(s);
}

/* Without an event before it, it begins where the last one ended. */
static void end_packet(struct stream *s, uint64_t end)
{
	const uint64_t begin = s->end;

	if (end > s->end)
		s->end = end;
	if (s->len == HEAD)
		s->begin = begin ?: s->end;
	put_packet(s);
}

/*
 * Readers say that events were discarded between the ends of two packets if the second one has more
 * of them.  So one packet ends when a loss may have begun, and the next one when it was over.  Put
 * those that begin before @ticks: there is a next event then.
 */
static void put_losses(struct stream *s, const struct recording *r, uint64_t ticks)
{
	const uint64_t ns = since_boot(r, ticks);
	const struct gap *l;

	for (; s->loss < r->loss + r->nr_losses && s->loss->cpu == s->cpu; s->loss++) {
		l = s->loss;
		if (l->from < ns && !s->in_loss) {
			end_packet(s, day_of(r, l->from));
			s->in_loss = true;
		}
		if (l->to > ns)
			return;
		s->lost += l->lost;
		s->in_loss = false;
		end_packet(s, day_of(r, l->to));
	}
}

static FILE *create(const char *name)
{
	char path[PATH_MAX + 32];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", unfinished, name);
	f = fopen(path, "wxe");
	if (!f)
		die("%s", path);
	return f;
}

static void begin_stream(struct stream *s, const struct recording *r, unsigned int cpu)
{
	char name[16];

	snprintf(name, sizeof(name), "cpu_%u", cpu);
	s->file = create(name);
	s->cpu = cpu;
	s->len = HEAD;
	s->end = 0;
	s->lost = 0;
	s->loss = gap_after(r->loss, r->nr_losses, cpu, 0);
	s->in_loss = false;
}

static void end_stream(struct stream *s, const struct recording *r)
{
	if (!s->file)
		return;
	put_losses(s, r, UINT64_MAX);
	flush_packet(s);
	if (fclose(s->file))
		die("%s: CPU %u", unfinished, s->cpu);
}

/* If the clock was set back, time stands still, since a stream must not go back. */
static void put_head(struct stream *s, const struct recording *r, uint64_t ticks, int id)
{
	const uint64_t t = time_of_day(r, ticks);

	if (t > s->end)
		s->end = t;
	if (s->len == HEAD)
		s->begin = s->end;
	put(s, id, 1);
	put(s, s->end, 8);
}

static void put_string(struct stream *s, const char *text)
{
	const size_t len = strnlen(text, KDTL_CGROUP_LEN - 1);

	memcpy(s->buf + s->len, text, len);
	s->len += len;
	s->buf[s->len++] = '\0';
}

/* A task that is not known has the tgid -1. */
static void put_task(struct stream *s, const struct recording *r, const struct kdtl_entry *e)
{
	static const struct kdtl_task unknown = { .tgid = -1 };
	const struct kdtl_task *t = entry_task(r, e) ?: &unknown;

	put(s, t->tgid, 4);
	put(s, t->policy, 4);
	put(s, t->nice, 4);
	put(s, t->rt_priority, 4);
	put(s, t->cgroup, 8);
	put_string(s, cgroup_path(r, t->cgroup) ?: "");
}

static void put_comm(struct stream *s, const char *comm)
{
	char text[COMM_LEN] = "";

	memcpy(text, comm, strnlen(comm, COMM_LEN));
	memcpy(s->buf + s->len, text, COMM_LEN);
	s->len += COMM_LEN;
}

/* As in LTTng: 20 is nice 0, and negative is real-time.  A task that is not known has 20. */
static int priority(const struct kdtl_task *t)
{
	if (!t)
		return 20;
	/* Unsigned: a damaged recording may have any nice value. */
	return t->rt_priority ? -1 - (int)t->rt_priority : (int)(20U + t->nice);
}

/*
 * How the task before left, as LTTng numbers it: 0 could go on, 1 sleeps, 2 sleeps
 * uninterruptibly, 4 was stopped, 16 has exited.  A recording of an older version, which has
 * H_CEDE for all of these, says 1.
 */
static unsigned int prev_state(const struct kdtl_entry *e)
{
	if (!entry_prev_pid(e))
		return 0;
	switch (e->preempt_reason) {
	case KDTL_PREEMPT_CEDE:
		return 1;
	case KDTL_PREEMPT_PAGE_FAULT:
	case KDTL_PREEMPT_DISK_SLEEP:
		return 2;
	case KDTL_PREEMPT_STOPPED:
		return 4;
	case KDTL_PREEMPT_EXITED:
		return 16;
	}
	return 0;
}

static void put_switch(struct stream *s, const struct recording *r, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];
	const struct kdtl_task *prev = task_at(r, e, entry_prev_pid(e),
					       be64toh(e->timebase));
	char comm[COMM_LEN + 8];

	put_head(s, r, be64toh(e->timebase), EVENT_SWITCH);
	put_comm(s, entry_prev_comm(comm, r, i, prev));
	put(s, entry_prev_pid(e), 4);
	put(s, priority(prev), 4);
	put(s, prev_state(e), 8);
	put_comm(s, entry_comm(e));
	put(s, entry_pid(e), 4);
	put(s, priority(entry_task(r, e)), 4);
}

/* Put the event that the entry's task woke up, or is woken. */
static void put_wakeup(struct stream *s, const struct recording *r, const struct event *event)
{
	const struct kdtl_entry *e = r->entry[event->i];

	put_head(s, r, event->ticks, event->id);
	put_comm(s, entry_comm(e));
	put(s, entry_pid(e), 4);
	put(s, priority(entry_task(r, e)), 4);
	put(s, entry_cpu(e), 4);
}

static void put_dispatch(struct stream *s, const struct recording *r, size_t i)
{
	const struct kdtl_entry *e = r->entry[i];

	put_head(s, r, be64toh(e->timebase), EVENT_DISPATCH);
	put(s, entry_time(r, e), 8);
	put(s, e->dispatch_reason, 1);
	put(s, e->preempt_reason, 1);
	put(s, ticks_to_ns(r, be32toh(e->enqueue_to_dispatch_time)), 8);
	put(s, ticks_to_ns(r, be32toh(e->ready_to_enqueue_time)), 8);
	put(s, entry_slept(r, e), 8);
	put(s, be32toh(e->enqueue_to_dispatch_time) == KDTL_TIME_MAX, 1);
	put(s, be32toh(e->ready_to_enqueue_time) == KDTL_TIME_MAX, 1);
	put(s, be32toh(e->waiting_to_ready_time) == KDTL_TIME_MAX, 1);
	if (r->nr_tasks)
		put_task(s, r, e);
	if (r->sched) {
		put(s, entry_pid(e), 4);
		put(s, entry_prev_pid(e), 4);
		memcpy(s->buf + s->len, entry_comm(e), COMM_LEN);
		s->len += COMM_LEN;
	} else {
		put(s, be64toh(e->fault_addr), 8);
		put(s, be64toh(e->srr0), 8);
		put(s, be64toh(e->srr1), 8);
	}
}

static void put_move(struct stream *s, const struct recording *r, const struct kdtl_entry *e,
		     const struct move *m)
{
	put_head(s, r, be64toh(e->timebase), EVENT_HOTPLUG);
	put(s, m->cpu, 4);
	put(s, 0, 4);
	put(s, m->online, 4);
}

/*
 * A CPU that is offline is idle, for readers that know of switches only, and there is an event that
 * says more: when it has gone, or before it comes.
 */
static void put_moved(struct stream *s, const struct recording *r, size_t i, const struct move *m)
{
	const struct kdtl_entry *e = r->entry[i];

	if (m->online)
		put_move(s, r, e, m);
	if (r->sched && entry_pid(e) != entry_prev_pid(e))
		put_switch(s, r, i);
	if (!m->online)
		put_move(s, r, e, m);
}

/* More than the events of an entry need: each is smaller than 128 bytes and a path. */
#define EVENTS_MAX	(2 * 128 + KDTL_CGROUP_LEN)

static void put_event(struct stream *s, const struct recording *r, const struct event *e)
{
	const struct move *m = entry_move(r, r->entry[e->i]);

	if (e->id != EVENT_DISPATCH) {
		put_wakeup(s, r, e);
	} else if (m) {
		put_moved(s, r, e->i, m);
	} else {
		put_dispatch(s, r, e->i);
		if (r->sched)
			put_switch(s, r, e->i);
	}
	if (s->len + EVENTS_MAX > sizeof(s->buf))
		flush_packet(s);
}

/*
 * When the wait after a sleep began; 0: there was none, or it was longer than the entry
 * can tell.
 */
static uint64_t woke_up(const struct recording *r, const struct kdtl_entry *e)
{
	const uint64_t wait = (uint64_t)be32toh(e->enqueue_to_dispatch_time) +
			      be32toh(e->ready_to_enqueue_time);
	const uint64_t ticks = be64toh(e->timebase);

	if (!r->sched || entry_is_idle(e) || entry_is_throttled(e) || entry_wait_saturated(e) ||
	    !e->waiting_to_ready_time || wait > ticks)
		return 0;
	return ticks - wait;
}

/* Sort by CPU and time, like the entries; a task is woken, then wakes up, then is dispatched. */
static int by_cpu_and_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	if (x->i != y->i)
		return x->i < y->i ? -1 : 1;
	return y->id - x->id;
}

static void add_event(struct event **events, size_t *nr, struct event event)
{
	grow(*events, *nr);
	(*events)[(*nr)++] = event;
}

/*
 * Add the event that a task woke the task of entry @i, on the waker's CPU.  Readers take the task
 * that has the stream's CPU for the waker, so wake-ups by interrupts are left out.
 */
static void add_waking(struct event **events, size_t *nr, const struct recording *r,
		       const struct sleeps *s, size_t note, size_t i)
{
	const struct chain_note *n = &s->note[note];
	const unsigned int cpu = sleeps_cpu(s, n->by, n->time);

	if (n->event == CHAIN_WAKE && cpu != UINT_MAX)
		add_event(events, nr, (struct event){
			.ticks = boot_ticks(r, n->time), .i = i, .cpu = cpu, .id = EVENT_WAKING,
		});
}

static struct event *find_events(struct recording *r, const char *path, size_t *nr)
{
	struct event *events = NULL;
	size_t *wake = NULL;
	struct sleeps s;
	unsigned int cpu;
	uint64_t ticks;

	*nr = 0;
	recording_sort_by_cpu(r);
	moves_put(r);
	if (sleeps_beside(&s, r, path))
		wake = sleeps_wakes(&s, r->nr);
	for (size_t i = 0; i < r->nr; i++) {
		cpu = entry_cpu(r->entry[i]);
		ticks = woke_up(r, r->entry[i]);
		if (ticks)
			add_event(&events, nr, (struct event){
				.ticks = ticks, .i = i, .cpu = cpu, .id = EVENT_WAKEUP,
			});
		if (wake && wake[i] != CHAIN_NONE)
			add_waking(&events, nr, r, &s, wake[i], i);
		add_event(&events, nr, (struct event){
			.ticks = be64toh(r->entry[i]->timebase), .i = i, .cpu = cpu,
			.id = EVENT_DISPATCH,
		});
	}
	if (*nr)
		qsort(events, *nr, sizeof(*events), by_cpu_and_time);
	free(wake);
	return events;
}

static void put_enum(FILE *f, const struct recording *r, const char *field,
		     const char *(*name_of)(const struct recording *r, unsigned int code))
{
	const char *name, *comma = "";

	fputs("\t\tenum : uint8_t {", f);
	for (unsigned int code = 0; code <= UINT8_MAX; code++) {
		name = name_of(r, code);
		if (!name)
			continue;
		fprintf(f, "%s \"%s\" = %u", comma, name, code);
		comma = ",";
	}
	fprintf(f, " } %s;\n", field);
}

/* Host and kernel names become strings: replace what would end a string. */
static void put_env(FILE *f, const char *name, const char *value)
{
	fprintf(f, "\t%s = \"", name);
	for (; *value; value++)
		fputc(*value == '"' || *value == '\\' || (unsigned char)*value < ' ' ?
		      '_' : *value, f);
	fputs("\";\n", f);
}

/* Names and fields are LTTng's. */
#define SCHED_EVENTS								\
	"\nevent {\n\tname = \"sched_switch\";\n\tid = 1;\n\tfields := struct {\n"	\
	"\t\tchar_t _prev_comm[16];\n\t\tint32_t _prev_tid;\n\t\tint32_t _prev_prio;\n"	\
	"\t\tint64_t _prev_state;\n\t\tchar_t _next_comm[16];\n\t\tint32_t _next_tid;\n"	\
	"\t\tint32_t _next_prio;\n\t};\n};\n"					\
	WAKEUP_EVENT("sched_wakeup", "2") WAKEUP_EVENT("sched_waking", "3")

#define WAKEUP_EVENT(name, id)							\
	"\nevent {\n\tname = \"" name "\";\n\tid = " id ";\n\tfields := struct {\n"	\
	"\t\tchar_t _comm[16];\n\t\tint32_t _tid;\n\t\tint32_t _prio;\n"		\
	"\t\tint32_t _target_cpu;\n\t};\n};\n"

/* Neither Linux nor LTTng has an event that says just this: these are the fields of Android's. */
#define HOTPLUG_EVENT								\
	"\nevent {\n\tname = \"sched_cpu_hotplug\";\n\tid = 4;\n\tfields := struct {\n"	\
	"\t\tint32_t _affected_cpu;\n\t\tint32_t _error;\n\t\tint32_t _status;\n\t};\n};\n"

static void put_metadata(FILE *f, const struct recording *r)
{
	fputs("/* CTF 1.8 */\n\n"
	      "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	      "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	      "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	      "typealias integer { size = 64; align = 8; signed = true; } := int64_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64_t;\n"
	      "typealias integer { size = 8; align = 8; signed = true; encoding = UTF8; } := char_t;\n\n"
	      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = be;\n"
	      "\tpacket.header := struct { uint32_t magic; };\n};\n\n"
	      "env {\n\tdomain = \"kernel\";\n\ttracer_name = \"kdtl\";\n", f);
	put_env(f, "hostname", r->head.host);
	put_env(f, "kernel_release", r->head.release);
	put_env(f, "source", r->head.source);
	fprintf(f, "\tlost = %llu;\n};\n\n", (unsigned long long)r->head.lost);
	fprintf(f, "clock {\n\tname = realtime;\n\tdescription = \"ns since 1970%s\";\n"
		"\tfreq = 1000000000;\n};\n\n", r->nr_clocks ? "" : ", approximate");
	fputs("typealias integer { size = 64; align = 8; signed = false; "
	      "map = clock.realtime.value; } := time_t;\n\n"
	      "stream {\n\tpacket.context := struct {\n\t\ttime_t timestamp_begin;\n"
	      "\t\ttime_t timestamp_end;\n\t\tuint64_t content_size;\n"
	      "\t\tuint64_t packet_size;\n\t\tuint64_t events_discarded;\n"
	      "\t\tuint32_t cpu_id;\n\t};\n"
	      "\tevent.header := struct { uint8_t id; time_t timestamp; };\n};\n\n"
	      "event {\n\tname = \"kdtl:dispatch\";\n\tid = 0;\n\tfields := struct {\n"
	      "\t\tuint64_t _since_boot_ns;\n", f);
	put_enum(f, r, "_dispatch_reason", dispatch_name);
	put_enum(f, r, "_preempt_reason", preempt_name);
	fputs("\t\tuint64_t _queued_ns;\n\t\tuint64_t _ready_ns;\n\t\tuint64_t _slept_ns;\n"
	      "\t\tuint8_t _queued_saturated;\n\t\tuint8_t _ready_saturated;\n"
	      "\t\tuint8_t _slept_saturated;\n", f);
	if (r->nr_tasks)
		fputs("\t\tint32_t _tgid;\n\t\tuint32_t _policy;\n\t\tint32_t _nice;\n"
		      "\t\tuint32_t _rt_priority;\n\t\tuint64_t _cgroup_id;\n"
		      "\t\tstring { encoding = UTF8; } _cgroup;\n", f);
	if (r->sched)
		fputs("\t\tint32_t _pid;\n\t\tint32_t _prev_pid;\n\t\tchar_t _comm[16];\n", f);
	else
		fputs("\t\thex64_t _fault_addr;\n\t\thex64_t _srr0;\n\t\thex64_t _srr1;\n", f);
	fputs("\t};\n};\n", f);
	if (r->sched)
		fputs(SCHED_EVENTS, f);
	fputs(HOTPLUG_EVENT, f);
}

/* Called at exit: nobody can use an incomplete trace. */
static void remove_unfinished(void)
{
	DIR *dir = *unfinished ? opendir(unfinished) : NULL;
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		unlinkat(dirfd(dir), d->d_name, 0);
	if (dir) {
		closedir(dir);
		rmdir(unfinished);
	}
}

/* Begin the trace under another name, beside @out. */
static void begin_trace(const char *out)
{
	size_t len = strlen(out);
	struct stat st;

	while (len > 1 && out[len - 1] == '/')
		len--;
	errno = EEXIST;
	if (!lstat(out, &st))
		die("%s", out);
	errno = ENAMETOOLONG;
	if (len + 8 > sizeof(unfinished))
		die("%s", out);
	atexit(remove_unfinished);
	snprintf(unfinished, sizeof(unfinished), "%.*s.XXXXXX", (int)len, out);
	if (!mkdtemp(unfinished)) {
		unfinished[0] = '\0';
		die("%s", out);
	}
}

static void end_trace(const char *out)
{
	if (rename(unfinished, out))
		die("%s", out);
	unfinished[0] = '\0';
}

/* All entries of a CPU may be lost.  These CPUs have no others. */
static void put_lost_cpus(struct stream *s, const struct recording *r, unsigned int from,
			  unsigned int to)
{
	const struct gap *l = gap_after(r->loss, r->nr_losses, from, 0);

	while (l < r->loss + r->nr_losses && l->cpu < to) {
		begin_stream(s, r, l->cpu);
		end_stream(s, r);
		l = s->loss;
	}
}

static int ctf(int argc, char **argv)
{
	const char *path = "kdtl.data", *out;
	static struct stream s;
	struct recording r;
	struct event *events;
	unsigned int cpu;
	size_t nr;
	FILE *f;

	no_options(argc, argv);
	if (argc - optind == 2)
		path = argv[optind++];
	out = argv[optind];
	if (argc - optind != 1 || !*out)
		usage_error("ctf: expected [FILE] DIRECTORY");
	r = recording_open(path);
	losses_tell(&r, path);
	losses_place(&r);
	begin_trace(out);
	/* One CPU after the other, since there may be more than files that can be open. */
	events = find_events(&r, path, &nr);
	for (size_t i = 0; i < nr; i++) {
		cpu = events[i].cpu;
		if (!s.file || cpu != s.cpu) {
			end_stream(&s, &r);
			put_lost_cpus(&s, &r, s.file ? s.cpu + 1 : 0, cpu);
			begin_stream(&s, &r, cpu);
		}
		put_losses(&s, &r, events[i].ticks);
		put_event(&s, &r, &events[i]);
	}
	end_stream(&s, &r);
	put_lost_cpus(&s, &r, s.file ? s.cpu + 1 : 0, MAX_CPUS);
	f = create("metadata");
	put_metadata(f, &r);
	if (ferror(f) || fclose(f))
		die("%s/metadata", out);
	end_trace(out);
	return 0;
}

const struct verb verb_ctf = {
	.name = "ctf",
	.brief = "convert for babeltrace2 and Trace Compass",
	.usage = "ctf [FILE] DIRECTORY",
	.run = ctf,
};
