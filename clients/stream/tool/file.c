// SPDX-License-Identifier: GPL-2.0
/* Reading recordings. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kdtl.h"

#define HEAD_ALIGN	8

void *resized(void *array, size_t size)
{
	array = realloc(array, size);
	if (!array)
		die("no memory");
	return array;
}

static const char not_a_recording[] = ": not a recording of kdtl";

/* Returns false if it is not the head of a recording. */
static bool read_head(struct kdtl_file *to, const char *p, size_t size)
{
	struct kdtl_file head = { 0 };
	bool known;

	if (size < KDTL_FILE_SIZE_1)
		return false;

	memcpy(&head, p, KDTL_FILE_SIZE_1);
	head.size = be32toh(head.size);
	known = !memcmp(head.magic, KDTL_FILE_MAGIC, sizeof(head.magic)) ||
		!memcmp(head.magic, KDTL_FILE_MAGIC_1, sizeof(head.magic));
	if (!known || head.size < KDTL_FILE_SIZE_1 || head.size > size ||
	    head.size % HEAD_ALIGN || !head.tb_freq)
		return false;
	if (head.size >= sizeof(head))
		memcpy(&head.tasks_lost, p + KDTL_FILE_SIZE_1, sizeof(head.tasks_lost));
	head.complete = be32toh(head.complete);
	head.tb_freq = be64toh(head.tb_freq);
	head.tb_boot = be64toh(head.tb_boot);
	head.boot_time = be64toh(head.boot_time);
	head.lost = be64toh(head.lost);
	head.entries = be64toh(head.entries);
	head.tasks_lost = be64toh(head.tasks_lost);
	head.source[sizeof(head.source) - 1] = '\0';
	head.host[sizeof(head.host) - 1] = '\0';
	head.release[sizeof(head.release) - 1] = '\0';
	*to = head;
	return true;
}

static void add_entries(struct recording *r, const char *p, size_t size)
{
	for (; size >= sizeof(struct kdtl_entry); size -= sizeof(struct kdtl_entry)) {
		grow(r->entry, r->nr);
		r->entry[r->nr++] = (const struct kdtl_entry *)p;
		p += sizeof(struct kdtl_entry);
	}
}

static void add_tasks(struct recording *r, const char *p, size_t size)
{
	struct kdtl_task t;

	for (; size >= sizeof(t); size -= sizeof(t), p += sizeof(t)) {
		memcpy(&t, p, sizeof(t));
		t = task_in_file(t);
		t.comm[sizeof(t.comm) - 1] = '\0';
		grow(r->task, r->nr_tasks);
		r->task[r->nr_tasks++] = (struct task){ t, r->nr_resets };
	}
}

static void add_cgroup(struct recording *r, const char *p, size_t size)
{
	struct cgroup c;

	if (size <= sizeof(c.id) || p[size - 1])
		return;
	memcpy(&c.id, p, sizeof(c.id));
	c.id = be64toh(c.id);
	c.path = p + sizeof(c.id);
	grow(r->cgroup, r->nr_cgroups);
	r->cgroup[r->nr_cgroups++] = c;
}

static void add_clocks(struct recording *r, const char *p, size_t size)
{
	struct clock_pair c;

	for (; size >= sizeof(c); size -= sizeof(c), p += sizeof(c)) {
		memcpy(&c, p, sizeof(c));
		c.ticks = be64toh(c.ticks);
		c.realtime = be64toh(c.realtime);
		/* Others would make no sense, and come from no kernel. */
		if (r->nr_clocks && c.ticks <= r->clock[r->nr_clocks - 1].ticks)
			continue;
		grow(r->clock, r->nr_clocks);
		r->clock[r->nr_clocks++] = c;
	}
}

static void set_number(uint64_t *to, const char *p, size_t size)
{
	uint64_t number;

	if (size < sizeof(number))
		return;
	memcpy(&number, p, sizeof(number));
	*to = be64toh(number);
}

static void add_losses(struct recording *r, const char *p, size_t size)
{
	struct kdtl_loss l;

	for (; size >= sizeof(l); size -= sizeof(l), p += sizeof(l)) {
		memcpy(&l, p, sizeof(l));
		grow(r->loss, r->nr_losses);
		r->loss[r->nr_losses++] = (struct gap){
			.cpu = be32toh(l.cpu), .from = since_boot(r, be64toh(l.from)),
			.to = since_boot(r, be64toh(l.to)), .lost = be64toh(l.lost),
		};
	}
}

static void set_waits(struct recording *r, const char *p, size_t size)
{
	struct kdtl_stream_wait w;

	r->nr_waits = 0;
	set_number(&r->began, p, size);
	for (p += sizeof(r->began); size >= sizeof(r->began) + sizeof(w); size -= sizeof(w)) {
		memcpy(&w, p, sizeof(w));
		p += sizeof(w);
		w = wait_in_file(w);
		w.comm[sizeof(w.comm) - 1] = '\0';
		grow(r->wait, r->nr_waits);
		r->wait[r->nr_waits++] = w;
	}
}

/* The head of a stream was written before all this was known. */
static void set_end(struct recording *r, const char *p, size_t size)
{
	struct kdtl_end end;

	if (size < sizeof(end) || r->head.complete)
		return;
	memcpy(&end, p, sizeof(end));
	r->head.complete = KDTL_COMPLETE;
	r->head.boot_time = be64toh(end.boot_time);
	r->head.lost = be64toh(end.lost);
	r->head.entries = be64toh(end.entries);
	r->head.tasks_lost = be64toh(end.tasks_lost);
}

/* The last chunk may be cut off. */
static void add_chunks(struct recording *r, const char *p, size_t left)
{
	struct kdtl_chunk head;
	size_t size;

	while (left >= sizeof(head)) {
		memcpy(&head, p, sizeof(head));
		p += sizeof(head);
		left -= sizeof(head);
		size = be32toh(head.size) & ~(HEAD_ALIGN - 1U);
		if (size > left)
			size = left;
		switch (be32toh(head.type)) {
		case KDTL_CHUNK_ENTRIES:
			add_entries(r, p, size);
			break;
		case KDTL_CHUNK_TASKS:
			add_tasks(r, p, size);
			break;
		case KDTL_CHUNK_CGROUP:
			add_cgroup(r, p, size);
			break;
		case KDTL_CHUNK_RESET:
			grow(r->reset, r->nr_resets);
			r->reset[r->nr_resets++] = p;
			break;
		case KDTL_CHUNK_CLOCK:
			add_clocks(r, p, size);
			break;
		case KDTL_CHUNK_END:
			set_end(r, p, size);
			break;
		case KDTL_CHUNK_CPUS:
			r->linux_cpus = true;
			break;
		case KDTL_CHUNK_MIN_WAIT:
			set_number(&r->min_wait, p, size);
			break;
		case KDTL_CHUNK_LOST:
			add_losses(r, p, size);
			break;
		case KDTL_CHUNK_MOVES:
			moves_add(r, p, size);
			break;
		case KDTL_CHUNK_UNTIL:
			set_number(&r->until, p, size);
			break;
		case KDTL_CHUNK_SOME_CPUS:
			r->some_cpus = true;
			break;
		case KDTL_CHUNK_WAITS:
			set_waits(r, p, size);
			break;
		case KDTL_CHUNK_MACHINE:
			if (size && !p[size - 1])
				r->machine = p;
			break;
		}
		p += size;
		left -= size;
	}
}

/* Read a file that cannot be mapped.  Returns NULL and sets errno if that fails. */
static const char *read_all(int fd, size_t *size)
{
	size_t room = 1 << 20;
	char *p = resized(NULL, room);
	ssize_t n;

	for (*size = 0; (n = read(fd, p + *size, room - *size)) > 0; *size += n) {
		if (*size + n == room) {
			room *= 2;
			p = resized(p, room);
		}
	}
	return n ? NULL : p;
}

/* The end of a mapped file is gone. */
static void on_cut(int sig)
{
	static const char text[] =
		"kdtl: the recording became shorter while it was read; was it recorded anew?\n";
	const ssize_t said = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)sig;
	(void)said;
	_exit(1);
}

static const char *map(int fd, size_t *size)
{
	const struct sigaction act = { .sa_handler = on_cut };
	struct stat st;
	const char *p;

	if (fstat(fd, &st))
		return NULL;
	if (S_ISFIFO(st.st_mode) || (fd == STDIN_FILENO && !S_ISREG(st.st_mode)))
		return read_all(fd, size);
	*size = 0;
	if (!S_ISREG(st.st_mode) || !st.st_size)
		return "";
	/* More than there are addresses. */
	errno = EFBIG;
	if ((uint64_t)st.st_size > SIZE_MAX)
		return NULL;
	*size = st.st_size;
	sigaction(SIGBUS, &act, NULL);
	p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

static int by_cpu_and_end(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Sort gaps as gap_after() needs them. */
void gaps_sort(struct gap *gap, size_t nr)
{
	if (nr)
		qsort(gap, nr, sizeof(*gap), by_cpu_and_end);
}

/*
 * Read a recording; "-" is standard input.  Returns NULL, or why that cannot be done, to be
 * put behind @path: "" if errno says it.
 */
const char *recording_read(struct recording *r, const char *path)
{
	const bool in = !strcmp(path, "-");
	const char *p;
	size_t size;
	int fd;

	*r = (struct recording){ 0 };
	fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return "";
	p = map(fd, &size);
	if (!in)
		close(fd);
	if (!p)
		return "";
	errno = 0;
	if (!read_head(&r->head, p, size))
		return not_a_recording;

	r->sched = !strcmp(r->head.source, "kdtl_sched");
	if (!memcmp(r->head.magic, KDTL_FILE_MAGIC, sizeof(r->head.magic)))
		add_chunks(r, p + r->head.size, size - r->head.size);
	else
		add_entries(r, p + r->head.size, size - r->head.size);
	/* Of several files, each begins when its first pair was read. */
	if (r->began && r->nr_clocks && r->clock[0].ticks > r->began)
		r->began = r->clock[0].ticks;
	gaps_sort(r->loss, r->nr_losses);
	moves_sort(r);
	tasks_sort(r);
	return NULL;
}

/* Say if the recording is incomplete, or was never meant to have all dispatches. */
void recording_check(const struct recording *r, const char *path)
{
	char ns[NS_TEXT];

	if (r->min_wait)
		fprintf(stderr, "kdtl: %s: has no waits shorter than %s (-w), so it does not say who had a CPU\n",
			path, short_ns(ns, r->min_wait));
	if (!r->head.complete)
		fprintf(stderr, "kdtl: %s: is still being written or was killed, its end is missing\n",
			path);
	else if (r->head.complete == KDTL_FAILED)
		fprintf(stderr, "kdtl: %s: an error ended the recording, its end is missing\n",
			path);
	else if (r->nr != r->head.entries)
		fprintf(stderr, "kdtl: %s: has %zu entries, %llu were recorded\n", path, r->nr,
			(unsigned long long)r->head.entries);
}

/* Open a recording of any kind, even of wake-ups, which are no dispatches. */
struct recording recording_open_any(const char *path)
{
	struct recording r;
	const char *error = recording_read(&r, path);

	if (error)
		die("%s%s", path, error);
	repeats_check(&r);
	clock_check(&r, path);
	recording_check(&r, path);
	moves_tell(&r, path);
	return r;
}

struct recording recording_open(const char *path)
{
	struct recording r = recording_open_any(path);

	if (recording_is_wake(&r))
		die("%s: has wake-ups, which are no dispatches: kdtl print shows them", path);
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct kdtl_entry *x = *(const struct kdtl_entry **)a;
	const struct kdtl_entry *y = *(const struct kdtl_entry **)b;
	const uint64_t s = be64toh(x->timebase), t = be64toh(y->timebase);

	if (s != t)
		return s < t ? -1 : 1;
	/* Entries of a CPU are in order already: keep it. */
	return x < y ? -1 : x > y;
}

void recording_sort(struct recording *r)
{
	if (r->nr)
		qsort(r->entry, r->nr, sizeof(*r->entry), by_time);
}

static int by_cpu_and_time(const void *a, const void *b)
{
	const unsigned int x = entry_cpu(*(const struct kdtl_entry **)a);
	const unsigned int y = entry_cpu(*(const struct kdtl_entry **)b);

	return x != y ? (x < y ? -1 : 1) : by_time(a, b);
}

/* Sort by CPU, so that what a CPU did between two of its entries is easily found. */
void recording_sort_by_cpu(struct recording *r)
{
	if (r->nr)
		qsort(r->entry, r->nr, sizeof(*r->entry), by_cpu_and_time);
}
