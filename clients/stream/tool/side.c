// SPDX-License-Identifier: GPL-2.0
/* What the tasks of the entries are: from /dev/kdtl to the file. */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kdtl.h"

#define RECORDS		64	/* as many as the kernel copies at once */

/* How often one call begins anew if records are lost faster than they are read. */
#define TRIES		4

/* A pipe may take less than all at once. */
void side_write(struct side *s, const void *data, size_t size)
{
	ssize_t n;

	for (s->size += size; size; size -= n, data += n) {
		n = s->write(s->out, data, size);
		if (n <= 0)
			die("%s", s->path);
	}
}

/* Write a chunk, whose data may also follow later. */
void write_chunk(struct side *s, enum kdtl_chunk_type type, const void *data, size_t size)
{
	const struct kdtl_chunk head = { htobe32(type), htobe32(size) };

	side_write(s, &head, sizeof(head));
	if (data)
		side_write(s, data, size);
}

static int by_id(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_new(struct side *s, uint64_t id)
{
	uint64_t *key = malloc(sizeof(*key)), **found;

	if (!key)
		die("no memory");
	*key = id;
	found = tsearch(key, &s->cgroups, by_id);
	if (!found)
		die("no memory");
	if (*found == key)
		return true;
	free(key);
	return false;
}

static void save_cgroup(struct side *s, uint64_t id)
{
	struct {
		uint64_t	id;
		char		path[KDTL_CGROUP_LEN];
	} chunk = { .id = htobe64(id) };
	struct kdtl_stream_cgroup req = {
		.id = id, .path = (uintptr_t)chunk.path, .len = sizeof(chunk.path),
	};
	int err;

	if (!is_new(s, id))
		return;
	do {
		err = ioctl(s->dev, KDTL_IOC_CGROUP, &req);
	} while (err && errno == EAGAIN);
	if (!err)
		write_chunk(s, KDTL_CHUNK_CGROUP, &chunk,
			    sizeof(chunk.id) + (req.len + 8) / 8 * 8);
	else if (errno != ENOENT)
		die("/dev/kdtl");
}

static void save(struct side *s, struct kdtl_task *task, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		save_cgroup(s, task[i].cgroup);
		task[i] = task_in_file(task[i]);
	}
	if (nr)
		write_chunk(s, KDTL_CHUNK_TASKS, task, nr * sizeof(*task));
}

static struct kdtl_stream_tasks next(struct side *s, uint64_t seq, struct kdtl_task *task)
{
	struct kdtl_stream_tasks req = {
		.seq = seq, .tasks = (uintptr_t)task, .nr = RECORDS,
	};

	if (!ioctl(s->dev, KDTL_IOC_TASKS, &req))
		return req;
	if (errno != EOPNOTSUPP)
		die("/dev/kdtl");
	s->off = true;
	return (struct kdtl_stream_tasks){ 0 };
}

/*
 * Records up to @seq were lost, so saved records may be outdated.  The current ones are still in
 * the kernel's table: save them once more.
 */
static void begin_anew(struct side *s, uint64_t seq)
{
	struct kdtl_stream_tasks req = { 0 };
	struct kdtl_task task[RECORDS];
	unsigned int n;

	write_chunk(s, KDTL_CHUNK_RESET, NULL, 0);
	do {
		req = next(s, req.seq, task);
		for (n = 0; n < req.nr && task[n].seq <= seq; n++)
			;
		save(s, task, n);
	} while (n && n == req.nr);
	s->seq = seq;
}

/*
 * Save the records that are new.  Entries that are saved after this are not newer than
 * the records, if they were read before it.
 */
void side_save(struct side *s)
{
	unsigned int tries = TRIES;
	struct kdtl_stream_tasks req;
	struct kdtl_task task[RECORDS];

	while (!s->off && tries) {
		req = next(s, s->seq, task);
		s->saved += req.nr;
		s->lost += req.lost;
		if (req.lost) {
			tries--;
			begin_anew(s, req.seq);
			continue;
		}
		s->seq = req.seq ?: s->seq;
		save(s, task, req.nr);
		if (!req.nr)
			return;
	}
}

/* Begin a new file, which needs all current records. */
void side_begin(struct side *s, int out)
{
	s->out = out;
	s->write = write;
	s->size = 0;
	s->seq = 0;
	tdestroy(s->cgroups, free);
	s->cgroups = NULL;
}
