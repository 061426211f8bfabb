// SPDX-License-Identifier: GPL-2.0
/* Reading recordings. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "kdtl.h"

struct recording recording_open(const char *path)
{
	struct kdtl_file head;
	struct recording r;
	struct stat st;
	const char *p;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		die("%s", path);
	errno = 0;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(head))
		die("%s: not a recording of kdtl", path);
	p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		die("%s", path);

	memcpy(&head, p, sizeof(head));
	r.head = head;
	r.head.size = be32toh(head.size);
	r.head.complete = be32toh(head.complete);
	r.head.tb_freq = be64toh(head.tb_freq);
	r.head.tb_boot = be64toh(head.tb_boot);
	r.head.boot_time = be64toh(head.boot_time);
	r.head.lost = be64toh(head.lost);
	r.head.entries = be64toh(head.entries);
	if (memcmp(head.magic, KDTL_FILE_MAGIC, sizeof(head.magic)) ||
	    r.head.size < sizeof(head) || r.head.size > st.st_size || !r.head.tb_freq)
		die("%s: not a recording of kdtl", path);
	r.head.source[sizeof(r.head.source) - 1] = '\0';
	r.head.host[sizeof(r.head.host) - 1] = '\0';
	r.head.release[sizeof(r.head.release) - 1] = '\0';

	r.entry = (const struct kdtl_entry *)(p + r.head.size);
	r.nr = (st.st_size - r.head.size) / sizeof(struct kdtl_entry);
	r.sched = !strcmp(r.head.source, "kdtl_sched");
	if (!r.head.complete)
		fprintf(stderr, "kdtl: %s: the recording was killed, its end is missing\n", path);
	else if (r.nr != r.head.entries)
		fprintf(stderr, "kdtl: %s: has %zu entries, %llu were recorded\n", path, r.nr,
			(unsigned long long)r.head.entries);
	return r;
}

uint64_t ticks_at_to_ns(uint64_t freq, uint64_t ticks)
{
	return ticks / freq * 1000000000 + ticks % freq * 1000000000 / freq;
}

uint64_t ticks_to_ns(const struct recording *r, uint64_t ticks)
{
	return ticks_at_to_ns(r->head.tb_freq, ticks);
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

const struct kdtl_entry **recording_sorted(const struct recording *r)
{
	const struct kdtl_entry **sorted = calloc(r->nr + 1, sizeof(*sorted));

	if (!sorted)
		die("%zu entries", r->nr);
	for (size_t i = 0; i < r->nr; i++)
		sorted[i] = &r->entry[i];
	qsort(sorted, r->nr, sizeof(*sorted), by_time);
	return sorted;
}
