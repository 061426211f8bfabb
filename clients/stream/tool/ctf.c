// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl ctf: a trace in the Common Trace Format 1.8
 *
 * Each CPU has a stream, in packets; big-endian, nothing aligned to more than a
 * byte.  Times are ns since boot; the clock's offset makes them times of day.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kdtl.h"

#define CTF_MAGIC	0xc1fc1fc1
#define PACKET		(256 * 1024)
#define HEAD		(4 + 8 * 4 + 4)	/* magic, context */

struct stream {
	int		fd;
	size_t		len;
	uint64_t	begin;
	uint64_t	end;
	unsigned char	buf[PACKET];
};

static struct stream *streams[MAX_CPUS];

static void put(struct stream *s, uint64_t v, unsigned int bytes)
{
	while (bytes--)
		s->buf[s->len++] = v >> 8 * bytes;
}

static void flush_packet(struct stream *s, unsigned int cpu)
{
	const size_t len = s->len;

	s->len = 0;
	put(s, CTF_MAGIC, 4);
	put(s, s->begin, 8);
	put(s, s->end, 8);
	put(s, len * 8, 8);	/* content_size and packet_size, in bits */
	put(s, len * 8, 8);
	put(s, cpu, 4);
	if (write(s->fd, s->buf, len) != (ssize_t)len)
		die("cpu_%u", cpu);
	s->len = HEAD;
}

static struct stream *stream_of(int dir, unsigned int cpu)
{
	char name[16];
	struct stream *s = streams[cpu];

	if (s)
		return s;
	s = streams[cpu] = malloc(sizeof(*s));
	if (!s)
		die("CPU %u", cpu);
	snprintf(name, sizeof(name), "cpu_%u", cpu);
	s->fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (s->fd < 0)
		die("%s", name);
	s->len = HEAD;
	return s;
}

static void put_string(struct stream *s, const char *text)
{
	const size_t len = strnlen(text, KDTL_CGROUP_LEN - 1);

	memcpy(s->buf + s->len, text, len);
	s->len += len;
	s->buf[s->len++] = '\0';
}

/* What is not known has the tgid -1. */
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

static void put_entry(struct stream *s, const struct recording *r, const struct kdtl_entry *e)
{
	s->end = entry_time(r, e);
	if (s->len == HEAD)
		s->begin = s->end;
	put(s, s->end, 8);
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
		memcpy(s->buf + s->len, &e->srr0, 16);
		s->len += 16;
	} else {
		put(s, be64toh(e->fault_addr), 8);
		put(s, be64toh(e->srr0), 8);
		put(s, be64toh(e->srr1), 8);
	}
}

/* The largest event. */
#define EVENT_MAX	(8 + 2 + 3 * 8 + 3 + 24 + 4 * 4 + 8 + KDTL_CGROUP_LEN)

static void put_enum(FILE *f, const char *field, const char *const *names, unsigned int nr,
		     bool idle)
{
	fputs("\t\tenum : uint8_t {", f);
	for (unsigned int i = 0; i < nr; i++)
		fprintf(f, " %s = %u,", names[i], i);
	if (idle)
		fprintf(f, " idle = %u,", KDTL_DISPATCH_IDLE);
	fprintf(f, " throttled = %u } %s;\n", KDTL_DISPATCH_THROTTLED, field);
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

static void put_metadata(FILE *f, const struct recording *r)
{
	fputs("/* CTF 1.8 */\n\n"
	      "typealias integer { size = 8; align = 8; signed = false; } := uint8_t;\n"
	      "typealias integer { size = 32; align = 8; signed = false; } := uint32_t;\n"
	      "typealias integer { size = 32; align = 8; signed = true; } := int32_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; } := uint64_t;\n"
	      "typealias integer { size = 64; align = 8; signed = false; base = 16; } := hex64_t;\n"
	      "typealias integer { size = 8; align = 8; signed = true; encoding = UTF8; } := char_t;\n\n"
	      "trace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = be;\n"
	      "\tpacket.header := struct { uint32_t magic; };\n};\n\n"
	      "env {\n\tdomain = \"kernel\";\n\ttracer_name = \"kdtl\";\n", f);
	put_env(f, "hostname", r->head.host);
	put_env(f, "kernel_release", r->head.release);
	put_env(f, "source", r->head.source);
	fprintf(f, "\tlost = %llu;\n};\n\n", (unsigned long long)r->head.lost);
	fprintf(f, "clock {\n\tname = boot;\n\tdescription = \"ns since boot\";\n"
		"\tfreq = 1000000000;\n\toffset_s = %llu;\n\toffset = %llu;\n};\n\n",
		(unsigned long long)(r->head.boot_time / 1000000000),
		(unsigned long long)(r->head.boot_time % 1000000000));
	fputs("typealias integer { size = 64; align = 8; signed = false; "
	      "map = clock.boot.value; } := time_t;\n\n"
	      "stream {\n\tpacket.context := struct {\n\t\ttime_t timestamp_begin;\n"
	      "\t\ttime_t timestamp_end;\n\t\tuint64_t content_size;\n"
	      "\t\tuint64_t packet_size;\n\t\tuint32_t cpu_id;\n\t};\n"
	      "\tevent.header := struct { time_t timestamp; };\n};\n\n"
	      "event {\n\tname = \"kdtl:dispatch\";\n\tfields := struct {\n", f);
	put_enum(f, "_dispatch_reason", dispatch_names, NR_DISPATCH_NAMES, true);
	put_enum(f, "_preempt_reason", preempt_names, NR_PREEMPT_NAMES, false);
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
}

static int ctf(int argc, char **argv)
{
	const char *path = argc == 3 ? argv[1] : "kdtl.data", *out = argv[argc - 1];
	struct recording r;
	struct stream *s;
	unsigned int cpu;
	FILE *f;
	int dir, fd;

	if (argc != 2 && argc != 3)
		usage_error("ctf: expected [FILE] DIRECTORY");
	r = recording_open(path);
	dir = mkdir(out, 0700) ? -1 : open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		die("%s", out);

	/* A hypervisor's log may go back in time; a CTF stream must not. */
	recording_sort(&r);
	for (size_t i = 0; i < r.nr; i++) {
		cpu = be16toh(r.entry[i]->processor_id);
		s = stream_of(dir, cpu);
		put_entry(s, &r, r.entry[i]);
		if (s->len + EVENT_MAX > sizeof(s->buf))
			flush_packet(s, cpu);
	}
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		s = streams[cpu];
		if (!s)
			continue;
		if (s->len > HEAD)
			flush_packet(s, cpu);
		if (close(s->fd))
			die("cpu_%u", cpu);
		free(s);
	}

	fd = openat(dir, "metadata", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f)
		die("%s/metadata", out);
	put_metadata(f, &r);
	if (fclose(f))
		die("%s/metadata", out);
	close(dir);
	return 0;
}

const struct verb verb_ctf = {
	.name = "ctf",
	.brief = "convert for babeltrace2 and Trace Compass",
	.usage = "ctf [FILE] DIRECTORY",
	.run = ctf,
};
