// SPDX-License-Identifier: GPL-2.0
/*
 * bpf_switch OBJECT COMMAND... - run COMMAND with the BPF program attached
 *
 * Nothing is read while COMMAND runs.  Says on stderr how many records there
 * are, and fails if some are missing.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>

#include "spawn.h"

static int count_one(void *records, void *data, size_t size)
{
	(void)data;
	(void)size;
	++*(unsigned long *)records;
	return 0;
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
	unsigned long records = 0, lost;
	struct bpf_object *obj;
	struct bpf_program *prog;
	struct ring_buffer *ring;
	struct bpf_link *link;
	int status;

	if (argc < 3)
		errx(2, "usage: bpf_switch OBJECT COMMAND...");
	obj = bpf_object__open_file(argv[1], NULL);
	if (!obj || bpf_object__load(obj))
		err(1, "%s", argv[1]);
	prog = bpf_object__next_program(obj, NULL);
	ring = ring_buffer__new(bpf_object__find_map_fd_by_name(obj, "records"),
				count_one, &records, NULL);
	if (!ring)
		err(1, "ring buffer");
	link = bpf_program__attach(prog);
	if (!link)
		err(1, "attach");

	status = spawn(argv + 2);

	bpf_link__destroy(link);
	ring_buffer__consume(ring);
	lost = lost_records(obj);
	fprintf(stderr, "bpf_switch: records %lu lost %lu\n", records, lost);
	ring_buffer__free(ring);
	bpf_object__close(obj);
	if (!records || lost)
		errx(1, "records are missing");
	return status;
}
