// SPDX-License-Identifier: GPL-2.0
/*
 * vpa_data FILE - which of kdtl_fake_hv's entries a perf.data has
 *
 * Prints a line of key=value:
 *
 *	right		entries as the hypervisor wrote them, each newer than all before
 *	again		entries that came before
 *	older		entries as it wrote them, not newer than one before
 *	false		entries not as it wrote them: in pieces, or never written
 *	timed		those of all these that perf report -D shows, with a time base
 *	gaps		AUX records that say that something is missing (PARTIAL)
 *	truncated	AUX records that say that there was no room
 *	perf_lost	records that perf itself has lost
 *
 * The perf tool's decoder does not show all of an entry, and crashes on some of what a
 * false entry holds.
 */
#include <endian.h>
#include <linux/perf_event.h>
#include <stdbool.h>

#include "../../../api/include/uapi/linux/kdtl.h"
#include "../../guest/must.h"

#define PERF_RECORD_AUXTRACE	71
#define MAGIC			"PERFILE2"

struct file_section {
	__u64 offset, size;
};

struct file_header {
	char		magic[8];
	__u64		size;
	__u64		attr_size;
	struct file_section attrs, data;
};

struct auxtrace {
	struct perf_event_header header;
	__u64		size;
	__u64		offset;
	__u64		reference;
	__u32		idx;
	__u32		tid;
	__u32		cpu;
	__u32		reserved;
};

struct seen {
	__u64		timebase;
	__u64		seq;
};

static unsigned long right, again, older, wrong, timed, gaps, truncated, lost;
static struct seen *seen;
static size_t nr_seen, max_seen;

/* As fakehv_sum() computes it. */
static __u64 entry_sum(const struct kdtl_entry *e)
{
	__u64 sum = 0x6b64746c, word;
	int i;

	for (i = 0; i < 5; i++) {
		memcpy(&word, (const char *)e + 8 * i, 8);
		sum = (sum ^ word) * 0xff51afd7ed558ccdULL;
		sum = sum << 31 | sum >> 33;
	}
	return sum;
}

/* Only a few entries are not newer, so each may be searched for among all before. */
static bool seen_before(const struct seen *s)
{
	size_t i;

	for (i = 0; i < nr_seen; i++)
		if (seen[i].timebase == s->timebase && seen[i].seq == s->seq)
			return true;
	return false;
}

static void note_seen(struct seen s)
{
	if (nr_seen == max_seen) {
		max_seen = max_seen ? 2 * max_seen : 1024;
		seen = realloc(seen, max_seen * sizeof(*seen));
		must(seen);
	}
	seen[nr_seen++] = s;
}

static void look_at(const struct kdtl_entry *e)
{
	static __u64 newest;
	const struct seen s = { be64toh(e->timebase), be64toh(e->srr0) };

	timed += !!e->timebase;
	if (be64toh(e->srr1) != entry_sum(e)) {
		wrong++;
		return;
	}
	if (s.timebase <= newest && seen_before(&s)) {
		again++;
		return;
	}
	if (s.timebase > newest) {
		right++;
		newest = s.timebase;
	} else {
		older++;
	}
	note_seen(s);
}

/* The very first entry carries the time base, and is no dispatch. */
static void look_into(const char *data, __u64 size)
{
	static bool begun;
	struct kdtl_entry e;

	for (; size >= sizeof(e); size -= sizeof(e), data += sizeof(e)) {
		memcpy(&e, data, sizeof(e));
		if (begun || e.timebase)
			look_at(&e);
		begun = true;
	}
	/* What is left is a piece of an entry. */
	wrong += !!size;
}

static char *read_all(const char *path, size_t *size)
{
	FILE *f = fopen(path, "r");
	char *data;

	if (!f)
		die("%s", path);
	must(!fseek(f, 0, SEEK_END));
	*size = ftell(f);
	rewind(f);
	data = malloc(*size + 1);
	must(data && fread(data, 1, *size, f) == *size);
	fclose(f);
	return data;
}

int main(int argc, char **argv)
{
	struct perf_event_header header;
	struct file_header file;
	struct auxtrace auxtrace;
	__u64 pos, end, word;
	size_t size;
	char *data;

	if (argc != 2) {
		fprintf(stderr, "usage: vpa_data FILE\n");
		return 2;
	}
	data = read_all(argv[1], &size);
	must(size >= sizeof(file));
	memcpy(&file, data, sizeof(file));
	must(!memcmp(file.magic, MAGIC, 8));
	pos = file.data.offset;
	end = pos + file.data.size;
	must(end <= size);

	for (; pos < end; pos += header.size) {
		must(end - pos >= sizeof(header));
		memcpy(&header, data + pos, sizeof(header));
		must(header.size >= sizeof(header) && header.size <= end - pos);
		switch (header.type) {
		case PERF_RECORD_AUX:
			/* fields: offset, size, flags */
			must(header.size >= sizeof(header) + 24);
			memcpy(&word, data + pos + sizeof(header) + 16, 8);
			gaps += !!(word & PERF_AUX_FLAG_PARTIAL);
			truncated += !!(word & PERF_AUX_FLAG_TRUNCATED);
			break;
		case PERF_RECORD_LOST:
			/* fields: id, number */
			must(header.size >= sizeof(header) + 16);
			memcpy(&word, data + pos + sizeof(header) + 8, 8);
			lost += word;
			break;
		case PERF_RECORD_AUXTRACE:
			must(header.size >= sizeof(auxtrace));
			memcpy(&auxtrace, data + pos, sizeof(auxtrace));
			must(auxtrace.size <= end - pos - header.size);
			look_into(data + pos + header.size, auxtrace.size);
			pos += auxtrace.size;
			break;
		}
	}
	printf("right=%lu again=%lu older=%lu false=%lu timed=%lu ", right, again, older,
	       wrong, timed);
	printf("gaps=%lu truncated=%lu perf_lost=%lu\n", gaps, truncated, lost);
	return 0;
}
