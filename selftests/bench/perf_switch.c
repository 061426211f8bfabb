// SPDX-License-Identifier: GPL-2.0
/*
 * perf_switch [-m | -r KIB] COMMAND... - run COMMAND under what perf record -a -e
 * sched:sched_switch opens
 *
 * The attributes and the kind of buffer are the same, but the buffers are so large that nothing is
 * read, and nobody woken, while COMMAND runs.  Then the buffers are walked and each word is read.
 * Prints to stderr how many records there are, and how many ticks of the time-stamp counter the
 * walk took for each; fails if records are missing.  With -m the records have the fewest fields
 * that still say what happened.  With -r there are KIB for each CPU, which are read meanwhile;
 * records may be lost.
 */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <x86intrin.h>

#include "spawn.h"

#define EVENT_ID	"/sys/kernel/tracing/events/sched/sched_switch/id"
#define MAX_CPUS	64

static unsigned long data_size = 16UL << 20;

struct area {
	int				fd;
	struct perf_event_mmap_page	*meta;
};

static unsigned long event_id(void)
{
	unsigned long id;
	FILE *f = fopen(EVENT_ID, "r");

	if (!f || fscanf(f, "%lu", &id) != 1)
		err(1, "%s", EVENT_ID);
	fclose(f);
	return id;
}

static void area_open(struct area *a, int cpu, bool fewest)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(attr),
		.config = event_id(),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
		.read_format = PERF_FORMAT_LOST,
		.disabled = 1,
		.watermark = 1,
		.wakeup_watermark = data_size / 2,
	};

	if (!fewest) {
		attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				    PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
		attr.sample_id_all = 1;
	}
	a->fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1,
			PERF_FLAG_FD_CLOEXEC);
	if (a->fd < 0)
		err(1, "perf_event_open on CPU %d", cpu);
	a->meta = mmap(NULL, sysconf(_SC_PAGESIZE) + data_size,
		       PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	if (a->meta == MAP_FAILED)
		err(1, "mmap");
}

struct sums {
	unsigned long	records;
	unsigned long	lost;
	unsigned long	bytes;
	uint64_t	words;
};

static uint64_t word_at(const char *data, uint64_t at)
{
	return *(const uint64_t *)(data + (at & (data_size - 1)));
}

/* This works for any size: a record may straddle the end, at a word. */
static void read_some(const struct area *a, struct sums *s)
{
	const char *data = (const char *)a->meta + a->meta->data_offset;
	const uint64_t head = __atomic_load_n(&a->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = a->meta->data_tail;
	struct perf_event_header h;
	unsigned int i;
	uint64_t word;

	while (tail != head) {
		word = word_at(data, tail);
		memcpy(&h, &word, sizeof(h));
		for (i = 0; i < h.size; i += sizeof(word))
			s->words += word_at(data, tail + i);
		if (h.type == PERF_RECORD_SAMPLE)
			s->records++;
		tail += h.size;
	}
	__atomic_store_n(&a->meta->data_tail, tail, __ATOMIC_RELEASE);
}

/* This includes records that were lost after the last record that found room. */
static uint64_t lost_records(const struct area *a)
{
	struct {
		uint64_t	value;
		uint64_t	lost;
	} count;

	if (read(a->fd, &count, sizeof(count)) != sizeof(count))
		err(1, "read");
	return count.lost;
}

/* Read whenever half of a buffer is full, as perf record does. */
static int read_meanwhile(const struct area *areas, int cpus, char **argv)
{
	struct pollfd fds[MAX_CPUS];
	struct sums s = { 0 };
	int cpu, status;
	pid_t pid;

	for (cpu = 0; cpu < cpus; cpu++)
		fds[cpu] = (struct pollfd){ .fd = areas[cpu].fd, .events = POLLIN };
	pid = spawn_only(argv);
	while (!ended(pid, &status)) {
		/* The timeout is needed because the signal may come just before the call. */
		poll(fds, cpus, 1000);
		for (cpu = 0; cpu < cpus; cpu++)
			read_some(&areas[cpu], &s);
	}
	for (cpu = 0; cpu < cpus; cpu++) {
		ioctl(areas[cpu].fd, PERF_EVENT_IOC_DISABLE, 0);
		read_some(&areas[cpu], &s);
		s.lost += lost_records(&areas[cpu]);
	}
	fprintf(stderr, "perf_switch: records %lu lost %lu\n", s.records, s.lost);
	return status;
}

/* No record straddles the end, because the buffer holds everything. */
static void walk(const struct area *a, struct sums *s)
{
	const char *data = (const char *)a->meta + a->meta->data_offset;
	const uint64_t head = __atomic_load_n(&a->meta->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = a->meta->data_tail;

	while (tail != head) {
		const struct perf_event_header *h =
			(const void *)(data + (tail & (data_size - 1)));
		const uint64_t *word = (const void *)h;
		unsigned int i;

		for (i = 0; i < h->size / sizeof(*word); i++)
			s->words += word[i];
		if (h->type == PERF_RECORD_SAMPLE)
			s->records++;
		else if (h->type == PERF_RECORD_LOST)
			s->lost++;
		s->bytes += h->size;
		tail += h->size;
	}
	__atomic_store_n(&a->meta->data_tail, tail, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
	const int cpus = sysconf(_SC_NPROCESSORS_ONLN);
	const bool fewest = argc > 1 && !strcmp(argv[1], "-m");
	const bool reading = argc > 2 && !strcmp(argv[1], "-r");
	struct area areas[MAX_CPUS];
	struct sums cold = { 0 }, sums = { 0 };
	unsigned long long ticks;
	int cpu, status;

	if (argc < 2 + fewest + 2 * reading || cpus > MAX_CPUS)
		errx(2, "usage: perf_switch [-m | -r KIB] COMMAND...");
	if (reading)
		data_size = strtoul(argv[2], NULL, 0) << 10;
	for (cpu = 0; cpu < cpus; cpu++)
		area_open(&areas[cpu], cpu, fewest);
	for (cpu = 0; cpu < cpus; cpu++)
		ioctl(areas[cpu].fd, PERF_EVENT_IOC_ENABLE, 0);

	if (reading)
		return read_meanwhile(areas, cpus, argv + 3);

	status = spawn(argv + 1 + fewest);

	for (cpu = 0; cpu < cpus; cpu++)
		ioctl(areas[cpu].fd, PERF_EVENT_IOC_DISABLE, 0);
	/* The first walk is not timed: the first touch of a page is a fault. */
	for (cpu = 0; cpu < cpus; cpu++) {
		walk(&areas[cpu], &cold);
		areas[cpu].meta->data_tail = 0;
	}
	ticks = __rdtsc();
	for (cpu = 0; cpu < cpus; cpu++)
		walk(&areas[cpu], &sums);
	ticks = __rdtsc() - ticks;
	if (!sums.records || sums.lost || sums.words != cold.words)
		errx(1, "records are missing: %lu there, %lu gaps", sums.records,
		     sums.lost);
	fprintf(stderr, "perf_switch: records %lu bytes %.1f ticks %.1f\n",
		sums.records, (double)sums.bytes / sums.records,
		(double)ticks / sums.records);
	return status;
}
