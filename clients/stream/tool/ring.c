// SPDX-License-Identifier: GPL-2.0
/*
 * The last seconds in memory, written when somebody wants to have them
 *
 * A kernel session with KDTL_STREAM_OVERWRITE would need no reader.  But it keeps a number of
 * bytes, not of seconds, each CPU needs its own, and nobody would read the records of tasks
 * meanwhile, of which the kernel keeps a limited number.  The reader of this ring wakes once
 * a second, or when half of a CPU's log is full, and copies 48 bytes per entry.
 *
 * Each part of the ring can be read without the parts before it, like the files that --rotate
 * makes.  So old parts are simply closed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "record.h"

static void begin_part(struct record *r)
{
	const int fd = memfd_create("kdtl", MFD_CLOEXEC);

	if (fd < 0)
		die("memfd_create");
	output_begin_part(r, fd);
	output_filter(r);
	output_clock(r, false);
	side_save(&r->side);
}

/* Begin a new part when this one has its share, and drop the oldest one. */
static void turn(struct record *r)
{
	const double age = (now_ns() - record_part(r)->since) / 1e9;

	if (age < r->ring / (RING_PARTS - 1) && r->side.size < r->max_size / RING_PARTS)
		return;
	/* The records of tasks up to now belong to this part's entries. */
	side_save(&r->side);
	if (r->nr == RING_PARTS) {
		close(r->part[0].fd);
		memmove(r->part, r->part + 1, sizeof(r->part) - sizeof(r->part[0]));
		r->nr--;
	}
	r->nr++;
	begin_part(r);
}

void ring_begin(struct record *r)
{
	r->nr = 1;
	r->turn = turn;
	r->side.dev = r->dev;
	r->side.path = "the ring in memory";
	begin_part(r);
}

/* Returns the number of bytes, or -1. */
static off_t copy(int from, int to)
{
	off_t at = 0;
	ssize_t n;

	do {
		n = sendfile(to, from, &at, 1 << 30);
	} while (n > 0);
	return n ? -1 : at;
}

static off_t write_all(struct record *r, int fd)
{
	off_t size = sizeof(r->head), n;
	uint64_t entries = 0;

	for (unsigned int i = 0; i < r->nr; i++)
		entries += r->part[i].entries;
	output_set_head(r, &r->part[0], entries);
	if (write(fd, &r->head, sizeof(r->head)) != sizeof(r->head))
		return -1;
	for (unsigned int i = 0; i < r->nr; i++) {
		n = copy(r->part[i].fd, fd);
		if (n < 0)
			return -1;
		size += n;
	}
	r->head.complete = htobe32(KDTL_COMPLETE);
	if (pwrite(fd, &r->head, sizeof(r->head), 0) != sizeof(r->head) || fsync(fd))
		return -1;
	return size;
}

/* The ring goes on even if it cannot be written now: later there may be room. */
void ring_write(struct record *r)
{
	const uint64_t since = r->part[0].since;
	off_t size;
	int fd;

	output_waits(r);
	output_clock(r, false);
	fd = output_create(r);
	size = fd < 0 ? -1 : write_all(r, fd);
	if (size < 0) {
		fprintf(stderr, "kdtl: %s: the ring could not be written: %m\n", r->path);
		r->failed = true;
		if (fd >= 0) {
			r->head.complete = htobe32(KDTL_FAILED);
			pwrite(fd, &r->head, sizeof(r->head), 0);
		}
	} else if (!r->quiet) {
		fprintf(stderr, "%s: the last %.1f s, %llu %s, %llu lost, %.1f MB\n", r->path,
			(now_ns() - since) / 1e9,
			(unsigned long long)be64toh(r->head.entries),
			record_unit(r),
			(unsigned long long)be64toh(r->head.lost), size / 1e6);
	}
	if (fd >= 0)
		close(fd);
}

/* kdtl_watch has a line in the kernel's log for each alarm, at a limited rate. */
int ring_open_alarms(void)
{
	const int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || lseek(fd, 0, SEEK_END) < 0)
		die("--on-alarm: /dev/kmsg");
	return fd;
}

/*
 * User space may write lines into the log, and words into lines of the kernel.  Only the kernel's
 * own lines have the facility 0, and only those of the watch begin like that.
 */
static bool is_alarm(const char *line)
{
	static const char begin[] = ";kdtl_watch: CPU ";
	const char *text = strchr(line, ';');

	return strtoul(line, NULL, 10) < 8 && text && !strncmp(text, begin, strlen(begin));
}

bool ring_alarm_came(int fd)
{
	bool came = false;
	char line[8192];
	ssize_t n;

	/* EPIPE: some were overwritten before they were read. */
	while ((n = read(fd, line, sizeof(line) - 1)) > 0 || (n < 0 && errno == EPIPE)) {
		if (n < 0)
			continue;
		line[n] = '\0';
		came |= is_alarm(line);
	}
	return came;
}
