// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_switch [-r KIB] OBJECT COMMAND... - run COMMAND with the BPF program attached
 *
 * Nothing is read while COMMAND runs.  Prints to stderr how many records there are, and fails if
 * some are missing.  With -r the buffer has KIB, and is read meanwhile; records may be lost.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spawn.h"

static uint64_t sum;	/* makes use of what is read */

static int count_one(void *records, void *data, size_t size)
{
	const uint64_t *word = data;

	for (size_t i = 0; i < size / sizeof(*word); i++)
		sum += word[i];
	++*(unsigned long *)records;
	return 0;
}

/*
 * Set the program's watermark, which is the only variable in its .rodata, and the size of the
 * buffer.
 */
static void set_size(struct bpf_object *obj, unsigned long kib)
{
	const uint64_t watermark = kib << 9;
	struct bpf_map *rodata = bpf_object__find_map_by_name(obj, ".rodata");

	if (!rodata || bpf_map__set_initial_value(rodata, &watermark,
						  sizeof(watermark)) ||
	    bpf_map__set_max_entries(bpf_object__find_map_by_name(obj, "records"),
				     kib << 10))
		errx(1, "the buffer's size cannot be set");
}

static int read_meanwhile(struct ring_buffer *ring, char **argv)
{
	pid_t pid = spawn_only(argv);
	int status;

	while (!ended(pid, &status))
		ring_buffer__poll(ring, 1000);
	return status;
}

static unsigned long lost_records(struct bpf_object *obj)
{
	struct bpf_map *map = bpf_object__find_map_by_name(obj, ".bss");
	unsigned long lost = 0;
	int zero = 0;

	if (!map || bpf_map__lookup_elem(map, &zero, sizeof(zero), &lost,
					 sizeof(lost), 0))
		errx(1, "the program's variables cannot be read");
	return lost;
}

int main(int argc, char **argv)
{
	unsigned long records = 0, lost, kib;
	struct bpf_object *obj;
	struct bpf_program *prog;
	struct ring_buffer *ring;
	struct bpf_link *link;
	bool reading;
	int status;

	reading = argc > 2 && !strcmp(argv[1], "-r");
	if (argc < 3 + 2 * reading)
		errx(2, "usage: bpf_switch [-r KIB] OBJECT COMMAND...");
	kib = reading ? strtoul(argv[2], NULL, 0) : 0;
	argv += 2 * reading;
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj)
		err(1, "%s", argv[1]);
	if (reading)
		set_size(obj, kib);
	if (bpf_object__load(obj))
		err(1, "%s", argv[1]);
	prog = bpf_object__next_program(obj, NULL);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "records"),
				count_one, &records, NULL);
	if (!ring)
		err(1, "ring buffer");
	link = bpf_program__attach(prog);
	if (!link)
		err(1, "attach");

	status = reading ? read_meanwhile(ring, argv + 2) : spawn(argv + 2);

	bpf_link__destroy(link);
	ring_buffer__consume(ring);
	lost = lost_records(obj);
	fprintf(stderr, "bpf_switch: records %lu lost %lu\n", records, lost);
	ring_buffer__free(ring);
	bpf_object__close(obj);
	if (!records || (lost && !reading))
		errx(1, "records are missing");
	return status;
}
