// SPDX-License-Identifier: GPL-2.0
/* The file, or the stream, that a recording goes to. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "record.h"

/* Capacity of a pipe. */
#define PIPE_BYTES	(1 << 16)

/* The recordings whose files an error may leave unfinished: the main one, and those beside it. */
static struct record *unfinished[3];

static struct record **unfinished_of(const struct record *r)
{
	if (!r->suffix)
		return &unfinished[0];
	return &unfinished[strcmp(r->suffix, WAKE_SUFFIX) ? 1 : 2];
}

static void save_clock(struct record *r, uint64_t ticks, uint64_t realtime)
{
	const struct kdtl_clock_pair pair = { htobe64(ticks), htobe64(realtime) };

	write_chunk(&r->side, KDTL_CHUNK_CLOCK, &pair, sizeof(pair));
}

/*
 * The clock is slewed, or set, so its time is recorded again and again.  If it was @set just
 * now, a pair says what it would have been otherwise, so that a reader does not take the step for
 * a slew.  The time up to which each CPU's entries are there is recorded as well: before it, a
 * wait may end on another CPU than the one whose entry tells of it.
 */
void output_clock(struct record *r, bool set)
{
	const struct kdtl_stream_clock clock = device_clock(r->dev);
	const uint64_t before = clock.ticks - 1, freq = device_info(r->dev).tb_freq;
	const uint64_t until = htobe64(r->until);

	if (set && r->clock.ticks && before > r->clock.ticks)
		save_clock(r, before, r->clock.realtime +
			   ticks_at_to_ns(freq, before - r->clock.ticks));
	if (until)
		write_chunk(&r->side, KDTL_CHUNK_UNTIL, &until, sizeof(until));
	save_clock(r, clock.ticks, clock.realtime);
	r->clock = (struct clock_pair){ clock.ticks, clock.realtime };
}

/* Save the kind of machine, on which the numbers of system calls in kdtl_wake's entries depend. */
static void save_machine(struct record *r)
{
	char machine[64] = "";
	struct utsname uts;

	uname(&uts);
	snprintf(machine, sizeof(machine), "%.63s", uts.machine);
	write_chunk(&r->side, KDTL_CHUNK_MACHINE, machine, sizeof(machine));
}

static void save_move(struct record *r, int cpu, bool online, uint64_t ticks)
{
	const struct kdtl_move move = { htobe32(cpu), htobe32(online), htobe64(ticks) };

	write_chunk(&r->side, KDTL_CHUNK_MOVES, &move, sizeof(move));
}

/*
 * Save again which CPUs are offline, since a part must be readable alone, and which came after the
 * entries that were read: the ones around that time may be in this part.
 */
static void save_offline(struct record *r)
{
	for (struct log_cpu *c = r->cpu; c < r->cpu + r->nr_cpus; c++) {
		if (c->absent && !c->came)
			save_move(r, c->cpu, false, 0);
		if (c->went && (c->went > c->came || c->went > r->until))
			save_move(r, c->cpu, false, c->went);
		if (c->came > r->until)
			save_move(r, c->cpu, true, c->came);
	}
}

/* Write which dispatches are missing if the session filters.  This comes before all entries. */
void output_filter(struct record *r)
{
	const uint64_t ns = htobe64(r->attr.min_wait);

	if (!strcmp(device_info(r->dev).source, WAKE_SOURCE))
		save_machine(r);
	if (ns)
		write_chunk(&r->side, KDTL_CHUNK_MIN_WAIT, &ns, sizeof(ns));
	if (r->cpus)
		write_chunk(&r->side, KDTL_CHUNK_SOME_CPUS, NULL, 0);
	save_offline(r);
}

static void save_loss(struct record *r, int cpu, uint64_t to, uint64_t lost)
{
	const struct kdtl_loss loss = {
		.cpu = htobe32(cpu), .from = htobe64(r->looked), .to = htobe64(to),
		.lost = htobe64(lost),
	};

	write_chunk(&r->side, KDTL_CHUNK_LOST, &loss, sizeof(loss));
}

static void save_losses(struct record *r)
{
	uint64_t lost;

	log_cpus(r->dev, r->cpus, &r->cpu, &r->nr_cpus);
	for (struct log_cpu *c = r->cpu; c < r->cpu + r->nr_cpus; c++) {
		lost = device_cpu_info(r->dev, c->cpu).lost;
		if (lost == c->lost)
			continue;
		save_loss(r, c->cpu, device_clock(r->dev).ticks, lost - c->lost);
		c->lost = lost;
	}
}

/* Save when a CPU went offline or came online. */
static void save_moves_of(struct record *r, struct log_cpu *c)
{
	const struct kdtl_stream_info info = device_cpu_info(r->dev, c->cpu);
	struct move m[2];
	bool missed;
	const size_t nr = moves_new(c, &info, m, &missed);

	/* Nothing is known of the time until the first of these. */
	if (missed)
		save_loss(r, c->cpu, m[0].ticks, 0);
	for (size_t i = 0; i < nr; i++)
		save_move(r, c->cpu, m[i].online, m[i].ticks);
}

static void save_moves(struct record *r)
{
	log_cpus(r->dev, r->cpus, &r->cpu, &r->nr_cpus);
	for (struct log_cpu *c = r->cpu; c < r->cpu + r->nr_cpus; c++)
		save_moves_of(r, c);
}

/*
 * If entries were lost since the last look, save when, and on which CPUs, so that readers do not
 * take the entries before and after the loss for neighbours; likewise if a CPU went or came.
 */
static void save_lost(struct record *r)
{
	const uint64_t now = device_clock(r->dev).ticks;
	const struct kdtl_stream_info info = device_info(r->dev);

	if (info.lost != r->lost)
		save_losses(r);
	if (info.went != r->went || info.came != r->came)
		save_moves(r);
	r->lost = info.lost;
	r->went = info.went;
	r->came = info.came;
	r->looked = now;
}

/* What the head says of the entries since @first began. */
void output_set_head(struct record *r, const struct part *first, uint64_t entries)
{
	const struct kdtl_stream_info info = device_info(r->dev);
	const struct kdtl_stream_clock clock = device_clock(r->dev);
	struct utsname uts;

	uname(&uts);
	r->head = (struct kdtl_file){
		.magic = KDTL_FILE_MAGIC,
		.size = htobe32(sizeof(r->head)),
		.tb_freq = htobe64(info.tb_freq),
		.tb_boot = htobe64(info.tb_boot),
		/* Of readers that do not know KDTL_CHUNK_CLOCK. */
		.boot_time = htobe64(clock.realtime -
				     ticks_at_to_ns(info.tb_freq, clock.ticks - info.tb_boot)),
		.lost = htobe64(info.lost - first->lost),
		.entries = htobe64(entries),
		.tasks_lost = htobe64(r->side.lost - first->tasks_lost),
	};
	strcpy(r->head.source, info.source);
	snprintf(r->head.host, sizeof(r->head.host), "%.63s", uts.nodename);
	snprintf(r->head.release, sizeof(r->head.release), "%.63s", uts.release);
}

/* Begin a part with all that its entries need, as it must be readable alone. */
void output_begin_part(struct record *r, int fd)
{
	*record_part(r) = (struct part){
		.fd = fd, .since = now_ns(), .lost = device_info(r->dev).lost,
		.tasks_lost = r->side.lost,
	};
	side_begin(&r->side, fd);
}

/* The name under which a file's old contents are kept. */
static void old_name(char *to, size_t size, const struct record *r, unsigned int nr)
{
	const char *suffix = r->suffix ?: "";
	const int len = strlen(r->path) - strlen(suffix);

	if (nr)
		snprintf(to, size, "%.*s.%u%s", len, r->path, nr, suffix);
	else
		snprintf(to, size, "%.*s.old%s", len, r->path, suffix);
}

/* Keep the file's old contents, if it has any. */
static int keep_old(const struct record *r)
{
	char from[4096], to[4096];
	struct stat st;
	unsigned int i = r->rotate;

	if (stat(r->path, &st) || !S_ISREG(st.st_mode) || !st.st_size)
		return 0;
	for (; i > 1; i--) {
		old_name(from, sizeof(from), r, i - 1);
		old_name(to, sizeof(to), r, i);
		if (rename(from, to) && errno != ENOENT)
			return -1;
	}
	old_name(to, sizeof(to), r, r->rotate ? 1 : 0);
	return rename(r->path, to);
}

/* Returns -1 and sets errno if that fails. */
int output_create(const struct record *r)
{
	if (keep_old(r))
		return -1;
	return open(r->path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
}

/* Mark unfinished files as failed, so that a reader knows that it was no SIGKILL. */
static void at_exit(void)
{
	struct record *r;

	for (size_t i = 0; i < ARRAY_SIZE(unfinished); i++) {
		r = unfinished[i];
		if (!r)
			continue;
		r->head.complete = htobe32(KDTL_FAILED);
		r->head.entries = htobe64(record_part(r)->entries);
		pwrite(record_part(r)->fd, &r->head, sizeof(r->head), 0);
	}
}

/* Write the last looks again: successive files beside the recording overlap by them. */
static void write_looks(struct record *r)
{
	if (r->look[1].clock.ticks)
		save_clock(r, r->look[1].clock.ticks, r->look[1].clock.realtime);
	for (size_t i = ARRAY_SIZE(r->look); i--; ) {
		if (!r->look[i].nr)
			continue;
		if (r->nameless)
			write_chunk(&r->side, KDTL_CHUNK_CPUS, NULL, 0);
		write_chunk(&r->side, KDTL_CHUNK_ENTRIES, r->look[i].entry,
			    r->look[i].nr * sizeof(*r->look[i].entry));
		record_part(r)->entries += r->look[i].nr;
	}
}

/*
 * A round of record_loop() is over.  When the file beside this one becomes full in the next
 * one, the entries there that were not read yet were all made since the round before: up to
 * there the new file of stolen time has to reach back.
 */
void output_next_look(struct record *r)
{
	const struct kdtl_stream_clock clock = device_clock(r->dev);
	struct kdtl_entry *entry = r->look[1].entry;

	r->look[1] = r->look[0];
	r->look[0] = (struct look){ { clock.ticks, clock.realtime }, entry, 0 };
}

static void remember(struct record *r, const struct kdtl_entry *e, size_t nr)
{
	struct look *l = &r->look[0];

	l->entry = resized(l->entry, (l->nr + nr) * sizeof(*e));
	memcpy(l->entry + l->nr, e, nr * sizeof(*e));
	l->nr += nr;
}

/* Begin a new file, or a stream. */
void output_begin(struct record *r, int fd)
{
	static bool registered;

	if (fd < 0)
		die("%s", r->path);
	r->nr = 1;
	output_begin_part(r, fd);
	r->side.path = record_is_stream(r) ? "standard output" : r->path;
	r->side.dev = r->dev;
	if (record_is_stream(r))
		stream_begin(r);
	output_set_head(r, record_part(r), 0);
	side_write(&r->side, &r->head, sizeof(r->head));
	if (!record_is_stream(r) && lseek(fd, sizeof(r->head), SEEK_SET) < 0)
		die("%s: must be a file, or -o -", r->path);
	output_filter(r);
	write_looks(r);
	output_clock(r, false);
	if (record_is_stream(r))
		return;
	*unfinished_of(r) = r;
	if (!registered)
		registered = !atexit(at_exit);
}

/* Move entries to the file without copying them. */
static ssize_t splice_entries(struct record *r)
{
	ssize_t n, left, done;

	n = splice(r->dev, NULL, r->pipe[1], NULL, PIPE_BYTES, SPLICE_F_NONBLOCK);
	if (n <= 0)
		return n;
	/* These entries are not newer than the tasks that are saved here. */
	side_save(&r->side);
	write_chunk(&r->side, KDTL_CHUNK_ENTRIES, NULL, n);
	for (left = n; left; left -= done) {
		done = splice(r->pipe[0], NULL, r->side.out, NULL, left, 0);
		if (done <= 0)
			die("%s", r->side.path);
	}
	r->side.size += n;
	return n;
}

/*
 * Number the CPUs as Linux does.  A read has the entries of a CPU, and then those of the next
 * one; the session says how many of each were read.
 */
static void number_cpus(struct record *r, struct kdtl_entry *e, size_t nr, bool full)
{
	size_t at = r->next_cpu;

	log_cpus(r->dev, r->cpus, &r->cpu, &r->nr_cpus);
	for (size_t i = 0; i < r->nr_cpus && nr; i++) {
		struct log_cpu *c = &r->cpu[at];
		const uint64_t consumed = device_cpu_info(r->dev, c->cpu).consumed;

		for (; c->consumed < consumed && nr; c->consumed++, nr--)
			(e++)->processor_id = htobe16(c->cpu);
		/* The next read goes on with the CPU with which this one was full. */
		if (!nr && full)
			r->next_cpu = at;
		at = (at + 1) % r->nr_cpus;
	}
	write_chunk(&r->side, KDTL_CHUNK_CPUS, NULL, 0);
}

/*
 * Whoever reads a stream might keep the log's pages, or might be a socket.  Appending to a
 * file is no splice either, and the next one of what is beside begins with the last entries.
 */
static ssize_t copy_entries(struct record *r)
{
	static struct kdtl_entry entries[PIPE_BYTES / sizeof(struct kdtl_entry)];
	const ssize_t n = read(r->dev, entries, sizeof(entries));

	if (n <= 0)
		return n;
	if (r->nameless)
		number_cpus(r, entries, n / sizeof(*entries), n == sizeof(entries));
	side_save(&r->side);
	write_chunk(&r->side, KDTL_CHUNK_ENTRIES, entries, n);
	if (r->suffix && r->rotate)
		remember(r, entries, n / sizeof(*entries));
	return n;
}

/* Go on in new files, also of the recordings beside it, so that their spans stay equal. */
static void next_file(struct record *r)
{
	if (r->beside) {
		output_drain(r->beside);
		next_file(r->beside);
	}
	output_end(r);
	output_begin(r, output_create(r));
}

/* Move what one read gives.  Returns its size; -1: nothing now, 0: nor later. */
static ssize_t take(struct record *r)
{
	const bool copy = record_is_stream(r) || r->nameless || (r->suffix && r->rotate);
	const ssize_t n = copy ? copy_entries(r) : splice_entries(r);

	if (n < 0 && errno != EAGAIN)
		die("/dev/kdtl");
	if (n > 0) {
		r->entries += n / sizeof(struct kdtl_entry);
		record_part(r)->entries += n / sizeof(struct kdtl_entry);
	}
	return n;
}

/*
 * The file has reached its size.  Add to it who waits now, which needs all entries that were logged
 * until now: that may be a quarter more.
 */
static void reach_limit(struct record *r)
{
	const uint64_t most = r->side.size + r->max_size / 4;
	ssize_t n;

	output_ask(r);
	do {
		n = take(r);
	} while (n > 0 && r->side.size < most);
	if (n <= 0)
		r->until = r->asked;
	if (r->rotate)
		next_file(r);
	else
		r->full = true;
}

/*
 * Move what there is.  The number of rounds is limited, since new entries may come as fast
 * as they go.  Returns false when the session has been stopped and all was moved, or when
 * the file is full.
 */
bool output_drain(struct record *r)
{
	ssize_t n = 0;
	int rounds = 256;

	while (rounds-- && !r->full && (n = take(r)) > 0) {
		if (r->turn)
			r->turn(r);
		else if (r->max_size && r->side.size >= r->max_size)
			reach_limit(r);
	}
	/* Entries since the last look may be there for one CPU, but not for the next. */
	if (n <= 0 && !r->full)
		r->until = r->looked;
	save_lost(r);
	return n && !r->full;
}

/* Ask who waits now.  The session runs, and what it has logged up to then must still be drained. */
void output_ask(struct record *r)
{
	if (!r->wait)
		r->wait = resized(NULL, WAITS * sizeof(*r->wait));
	r->nr_waits = device_waits(r->dev, r->wait);
	save_lost(r);
	r->asked = r->looked;
}

/* Write who waited, once all older entries have been read. */
void output_waits(struct record *r)
{
	const uint64_t began = htobe64(r->began);

	if (!r->asked || r->until < r->asked)
		return;
	/* A task that has never run has no entry, so its record has not been saved yet. */
	side_save(&r->side);
	for (size_t i = 0; i < r->nr_waits; i++)
		r->wait[i] = wait_in_file(r->wait[i]);
	write_chunk(&r->side, KDTL_CHUNK_WAITS, NULL, sizeof(began) + r->nr_waits * sizeof(*r->wait));
	side_write(&r->side, &began, sizeof(began));
	side_write(&r->side, r->wait, r->nr_waits * sizeof(*r->wait));
	r->asked = 0;
}

/* Make the file or the stream complete. */
void output_end(struct record *r)
{
	struct part *part = record_part(r);
	struct kdtl_end end;

	output_waits(r);
	save_lost(r);
	output_clock(r, false);
	output_set_head(r, part, part->entries);
	r->head.complete = htobe32(KDTL_COMPLETE);
	if (record_is_stream(r)) {
		end = (struct kdtl_end){
			r->head.boot_time, r->head.lost, r->head.entries, r->head.tasks_lost,
		};
		write_chunk(&r->side, KDTL_CHUNK_END, &end, sizeof(end));
		return;
	}
	if (pwrite(part->fd, &r->head, sizeof(r->head), 0) != sizeof(r->head))
		die("%s", r->path);
	*unfinished_of(r) = NULL;
	if (fsync(part->fd) && errno != EINVAL)
		die("%s", r->path);
	if (r->rotate)
		close(part->fd);
}
