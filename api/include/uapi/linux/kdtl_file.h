/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * A recording of dispatches: what kdtl(1) writes and reads, and kdtl_recorder after a reset
 *
 * A recording is a head, followed by chunks.  All its numbers are big-endian, like those of
 * entries, so that any machine can read it.
 */
#ifndef _UAPI_LINUX_KDTL_FILE_H
#define _UAPI_LINUX_KDTL_FILE_H

#include <linux/kdtl.h>

#define KDTL_FILE_MAGIC		"KDTLDAT2"

/**
 * struct kdtl_file - the head
 * @magic: KDTL_FILE_MAGIC
 * @size: size of this head, in bytes; a multiple of 8
 * @complete: KDTL_COMPLETE; KDTL_FAILED: an error ended the recording; 0: it has no end
 * @tb_freq: ticks per second
 * @tb_boot: ticks at boot
 * @boot_time: the time of day at boot, in ns since 1970
 * @lost: entries that are missing, of all CPUs
 * @source: name of the source
 * @host: name of the machine, may be empty
 * @release: release of the machine's kernel
 * @entries: number of entries that follow, if complete
 * @tasks_lost: records of tasks that are missing
 */
struct kdtl_file {
	char	magic[8];
	__be32	size;
	__be32	complete;
	__be64	tb_freq;
	__be64	tb_boot;
	__be64	boot_time;
	__be64	lost;
	char	source[KDTL_SOURCE_LEN];
	char	host[64];
	char	release[64];
	__be64	entries;
	__be64	tasks_lost;
};

/* kdtl_file::complete */
#define KDTL_COMPLETE		1
#define KDTL_FAILED		2

/**
 * struct kdtl_chunk - the head of a chunk
 * @type: enum kdtl_chunk_type; readers skip chunks that they do not know
 * @size: size of what follows, in bytes; a multiple of 8
 *
 * An entry comes after the records that it needs, so that a recording which was cut off has
 * them too.
 */
struct kdtl_chunk {
	__be32	type;
	__be32	size;
};

/**
 * enum kdtl_chunk_type - what a chunk holds
 * @KDTL_CHUNK_ENTRIES: entries; those of one CPU are in the order of time
 * @KDTL_CHUNK_TASKS: struct kdtl_task, in the order of their numbers
 * @KDTL_CHUNK_CGROUP: id (64 bits) and path, padded with NULs
 * @KDTL_CHUNK_RESET: records were lost; all that are still valid come again
 * @KDTL_CHUNK_CLOCK: struct kdtl_clock_pair, in the order of time
 * @KDTL_CHUNK_END: struct kdtl_end, in a stream, whose head lacks these numbers
 * @KDTL_CHUNK_CPUS: empty: processor_id is Linux's number of the CPU
 * @KDTL_CHUNK_MIN_WAIT: ns (64 bits): shorter waits were not recorded
 * @KDTL_CHUNK_LOST: struct kdtl_loss; those of one CPU are in the order of time
 * @KDTL_CHUNK_UNTIL: ticks (64 bits): all entries up to then come before this chunk
 * @KDTL_CHUNK_SOME_CPUS: empty: only some CPUs were recorded
 * @KDTL_CHUNK_MACHINE: machine of uname(2), padded with NULs: tells what system calls mean
 * @KDTL_CHUNK_WAITS: ticks (64 bits) since which each CPU's entries were recorded, then struct
 *	kdtl_stream_wait for each task that waited; all entries up to its
 *	kdtl_stream_wait::until come before this chunk. Only the last such chunk is valid
 * @KDTL_CHUNK_MOVES: struct kdtl_move
 */
enum kdtl_chunk_type {
	KDTL_CHUNK_ENTRIES	= 1,
	KDTL_CHUNK_TASKS	= 2,
	KDTL_CHUNK_CGROUP	= 3,
	KDTL_CHUNK_RESET	= 4,
	KDTL_CHUNK_CLOCK	= 5,
	KDTL_CHUNK_END		= 6,
	KDTL_CHUNK_CPUS		= 7,
	KDTL_CHUNK_MIN_WAIT	= 8,
	KDTL_CHUNK_LOST		= 9,
	KDTL_CHUNK_UNTIL	= 10,
	KDTL_CHUNK_SOME_CPUS	= 11,
	KDTL_CHUNK_MACHINE	= 12,
	KDTL_CHUNK_WAITS	= 13,
	KDTL_CHUNK_MOVES	= 14,
};

/**
 * struct kdtl_clock_pair - the time base and the time of day at one moment
 * @ticks: the time base
 * @realtime: ns since 1970
 */
struct kdtl_clock_pair {
	__be64	ticks;
	__be64	realtime;
};

/**
 * struct kdtl_end - the numbers that a file's head has once the recording is complete
 * @boot_time: kdtl_file::boot_time
 * @lost: kdtl_file::lost
 * @entries: kdtl_file::entries
 * @tasks_lost: kdtl_file::tasks_lost
 */
struct kdtl_end {
	__be64	boot_time;
	__be64	lost;
	__be64	entries;
	__be64	tasks_lost;
};

/**
 * struct kdtl_loss - entries of a CPU that were lost between two readings of the time base
 * @cpu: the CPU
 * @reserved: 0
 * @from: the reading before the loss
 * @to: the reading after it
 * @lost: number of lost entries
 */
struct kdtl_loss {
	__be32	cpu;
	__be32	reserved;
	__be64	from;
	__be64	to;
	__be64	lost;
};

/**
 * struct kdtl_move - a CPU went offline, or came online
 * @cpu: the CPU
 * @online: 1: it came; 0: it went
 * @ticks: when, on the time base: it has no entries from then until it comes. 0: it was offline
 *	already when the recorder's session was set up, so it is not known when it went
 *
 * If the first one of a CPU in a file is that it came, it was offline before. If the recorder
 * misses some, because it gets no CPU, a struct kdtl_loss of 0 entries has the time meanwhile.
 * The same one may come again in a file, for who reads only a part.
 */
struct kdtl_move {
	__be32	cpu;
	__be32	online;
	__be64	ticks;
};

#endif /* _UAPI_LINUX_KDTL_FILE_H */
