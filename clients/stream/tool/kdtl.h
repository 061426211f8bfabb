/* SPDX-License-Identifier: GPL-2.0 */
/* kdtl(1): declarations shared by its files. */
#ifndef KDTL_TOOL_H
#define KDTL_TOOL_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <linux/kdtl.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/*
 * A recording: this head, then the entries as the kernel wrote them, up to the
 * end of the file; those of one CPU are in the order of time.  The head is
 * big-endian like the entries, so that any machine can read it.
 */
#define KDTL_FILE_MAGIC		"KDTLDATA"

struct kdtl_file {
	char		magic[8];
	uint32_t	size;		/* of this head */
	uint32_t	complete;	/* the recording was not killed */
	uint64_t	tb_freq;	/* ticks per second */
	uint64_t	tb_boot;	/* ticks at boot */
	uint64_t	boot_time;	/* ns since 1970 */
	uint64_t	lost;		/* entries, of all CPUs */
	char		source[KDTL_SOURCE_LEN];
	char		host[64];
	char		release[64];
	uint64_t	entries;	/* number that follows, if complete */
};

/**
 * struct recording - a file in memory
 * @head: its head, in the machine's byte order
 * @entry: the entries, as in the file
 * @nr: number of entries
 * @sched: they are from kdtl_sched, so they name tasks
 */
struct recording {
	struct kdtl_file	head;
	const struct kdtl_entry	*entry;
	size_t			nr;
	bool			sched;
};

extern const char *const dispatch_names[];
extern const char *const preempt_names[];
#define NR_DISPATCH_NAMES	11
#define NR_PREEMPT_NAMES	10

/* Print "kdtl: MESSAGE: ERROR", ERROR being that of errno, and exit with 1. */
void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* The command line is wrong: print why and the usage, and exit with 2. */
void usage_error(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));

/* kdtl.c */
int open_device(void);
void print_ns(uint64_t ns, bool saturated);

/* file.c */
struct recording recording_open(const char *path);
const struct kdtl_entry **recording_sorted(const struct recording *r);
uint64_t ticks_at_to_ns(uint64_t freq, uint64_t ticks);
uint64_t ticks_to_ns(const struct recording *r, uint64_t ticks);

static inline uint64_t entry_time(const struct recording *r, const struct kdtl_entry *e)
{
	return ticks_to_ns(r, be64toh(e->timebase) - r->head.tb_boot);
}

/* A limit on CPU time held the runner back, so its wait for a CPU is not known. */
static inline bool entry_is_throttled(const struct kdtl_entry *e)
{
	return e->dispatch_reason == KDTL_DISPATCH_THROTTLED;
}

/* For how long. */
static inline uint64_t entry_throttled(const struct recording *r, const struct kdtl_entry *e)
{
	return entry_is_throttled(e) ? ticks_to_ns(r, be32toh(e->ready_to_enqueue_time)) : 0;
}

/* 0 if the runner was throttled. */
static inline uint64_t entry_wait(const struct recording *r, const struct kdtl_entry *e)
{
	return entry_is_throttled(e) ? 0 :
		ticks_to_ns(r, (uint64_t)be32toh(e->enqueue_to_dispatch_time) +
			       be32toh(e->ready_to_enqueue_time));
}

/* The wait was as long as entry_wait(), or longer. */
static inline bool entry_wait_saturated(const struct kdtl_entry *e)
{
	return !entry_is_throttled(e) &&
	       (be32toh(e->enqueue_to_dispatch_time) == KDTL_TIME_MAX ||
		be32toh(e->ready_to_enqueue_time) == KDTL_TIME_MAX);
}

static inline bool entry_slept_saturated(const struct kdtl_entry *e)
{
	return be32toh(e->waiting_to_ready_time) == KDTL_TIME_MAX;
}

static inline uint64_t entry_slept(const struct recording *r, const struct kdtl_entry *e)
{
	return ticks_to_ns(r, be32toh(e->waiting_to_ready_time));
}

static inline int entry_pid(const struct kdtl_entry *e)
{
	return be64toh(e->fault_addr) >> 32;
}

static inline int entry_prev_pid(const struct kdtl_entry *e)
{
	return (int32_t)be64toh(e->fault_addr);
}

/* The name is 16 bytes of any value; add a NUL. */
static inline void entry_comm(const struct kdtl_entry *e, char comm[17])
{
	memcpy(comm, &e->srr0, 16);
	comm[16] = '\0';
}

int cmd_list(int argc, char **argv);
int cmd_record(int argc, char **argv);
int cmd_print(int argc, char **argv);
int cmd_histogram(int argc, char **argv);
int cmd_ctf(int argc, char **argv);

#endif /* KDTL_TOOL_H */
