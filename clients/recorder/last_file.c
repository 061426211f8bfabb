// SPDX-License-Identifier: GPL-2.0
/* What the last boot left in reserved memory, as a recording that kdtl(1) reads. */
#include <linux/minmax.h>
#include <linux/string.h>

#include "../../api/include/uapi/linux/kdtl_file.h"
#include "last.h"

/* A chunk of some numbers. */
struct last_numbers {
	struct kdtl_chunk	head;
	__be64			number[2];
};

static void *last_put_chunk(void *to, u32 type, u32 size)
{
	const struct kdtl_chunk chunk = { cpu_to_be32(type), cpu_to_be32(size) };

	memcpy(to, &chunk, sizeof(chunk));
	return to + sizeof(chunk);
}

/**
 * last_file_size() - compute how large a recording may be
 * @l: from last_open()
 *
 * Context: any.
 * Return: its size in bytes, at most.
 */
size_t last_file_size(const struct last *l)
{
	/* An area has room for one entry more than last_most(), and a chunk's header fits there. */
	static_assert(sizeof(struct kdtl_chunk) <= KDTL_ENTRY_SIZE);
	return sizeof(struct kdtl_file) + sizeof(struct kdtl_chunk) +
	       2 * sizeof(struct last_numbers) + l->head.nr_cpus * l->area;
}

/**
 * last_file() - write a recording of all entries
 * @l: from last_open()
 * @file: room for last_file_size() bytes
 * @entries: by CPU; filled in with where its entries are in @file
 * @nr: by CPU; filled in with their number
 *
 * Context: any; takes about a millisecond for each 64 KiB.
 * Return: its size in bytes.
 */
size_t last_file(const struct last *l, void *file, const struct kdtl_entry **entries,
		 unsigned int *nr)
{
	const struct kdtl_clock_pair clock = {
		cpu_to_be64(l->clock.ticks), cpu_to_be64(l->clock.real),
	};
	struct kdtl_file head = {
		.magic		= KDTL_FILE_MAGIC,
		.size		= cpu_to_be32(sizeof(head)),
		.complete	= cpu_to_be32(KDTL_COMPLETE),
		.tb_freq	= cpu_to_be64(l->head.tb_freq),
		.tb_boot	= cpu_to_be64(l->head.tb_boot),
		.boot_time	= cpu_to_be64(l->clock.real - last_ns(l, l->clock.ticks)),
	};
	u64 until = l->clock.ticks, all = 0;
	void *to = file + sizeof(head);
	unsigned int cpu;
	__be64 number;

	to = last_put_chunk(to, KDTL_CHUNK_CPUS, 0);
	to = last_put_chunk(to, KDTL_CHUNK_CLOCK, sizeof(clock));
	memcpy(to, &clock, sizeof(clock));
	to += sizeof(clock);
	for (cpu = 0; cpu < l->head.nr_cpus; cpu++) {
		struct kdtl_entry *e = to + sizeof(struct kdtl_chunk);

		entries[cpu] = e;
		nr[cpu] = last_scan(l, cpu, e);
		if (!nr[cpu])
			continue;
		to = last_put_chunk(to, KDTL_CHUNK_ENTRIES, nr[cpu] * sizeof(*e));
		to += nr[cpu] * sizeof(*e);
		until = max(until, kdtl_entry_time(&e[nr[cpu] - 1]));
		all += nr[cpu];
	}
	to = last_put_chunk(to, KDTL_CHUNK_UNTIL, sizeof(number));
	number = cpu_to_be64(until);
	memcpy(to, &number, sizeof(number));
	to += sizeof(number);
	head.entries = cpu_to_be64(all);
	strscpy(head.source, l->head.source, sizeof(head.source));
	strscpy(head.host, l->clock.host, sizeof(head.host));
	strscpy(head.release, l->head.release, sizeof(head.release));
	memcpy(file, &head, sizeof(head));
	return to - file;
}
