/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a debugger begins that reads kdtl from an image of a machine's memory
 *
 * Clients have no use for this.  Documentation/vmcore.rst describes it.
 */
#ifndef _LINUX_KDTL_ROOT_H
#define _LINUX_KDTL_ROOT_H

#include <linux/types.h>

struct new_utsname;

#define KDTL_ROOT_MAGIC		"kdtl_root"
#define KDTL_TABLES_MAGIC	"kdtl_tables"

/* It changes with the layouts below, and with what a reader of an image takes from a session. */
#define KDTL_ROOT_VERSION	1

/**
 * struct kdtl_root_table - an array whose elements a reader knows only in part
 * @first: the array; NULL: nobody keeps it now
 * @nr: number of elements
 * @size: bytes of an element
 * @text: offset in it of a text that ends in a NUL
 * @text_len: room for the text in bytes, with the NUL
 */
struct kdtl_root_table {
	const void	*first;
	u32		nr;
	u32		size;
	u32		text;
	u32		text_len;
};

/**
 * struct kdtl_root_clock - local_clock() and the clocks of the kernel at one moment
 * @ticks: local_clock(); 0: this was never filled in
 * @mono: CLOCK_MONOTONIC, in ns
 * @real: CLOCK_REALTIME, in ns
 */
struct kdtl_root_clock {
	aligned_u64	ticks;
	aligned_u64	mono;
	aligned_u64	real;
};

/**
 * struct kdtl_tables - what kdtl_answers.ko knows, which does not need kdtl.ko
 * @magic: KDTL_TABLES_MAGIC
 * @version: KDTL_ROOT_VERSION
 * @size: of this structure
 * @tasks: records of tasks, each of which begins with a struct kdtl_task.  One whose seq is 0
 *	was never used.  Its text is the name of the task
 * @cgroups: paths of cgroups, each of which begins with the cgroup's id (u64; 0: not used).
 *	Its text is the path
 */
struct kdtl_tables {
	char			magic[16];
	u32			version;
	u32			size;
	struct kdtl_root_table	tasks;
	struct kdtl_root_table	cgroups;
};

/**
 * struct kdtl_root - the sessions
 * @magic: KDTL_ROOT_MAGIC
 * @version: KDTL_ROOT_VERSION
 * @size: of this structure
 * @entry_size: KDTL_ENTRY_SIZE
 * @task_size: of struct kdtl_task
 * @session_size: of struct kdtl_session
 * @aux_size: of struct kdtl_aux
 * @nr_cpus: CPUs have numbers below this
 * @last: the element of @clock that was filled in last
 * @cpu_offset: by CPU, what is added to the address of per-CPU data; NULL: nothing is
 * @host: names of the machine and of its kernel
 * @sessions: all sessions, by kdtl_session::node
 * @clock: the first one is from when the first session came, or from when the clock was set
 *	later.  The others take turns each second while there are sessions, so that @last is
 *	whole whenever the machine stops
 */
struct kdtl_root {
	char				magic[16];
	u32				version;
	u32				size;
	u32				entry_size;
	u32				task_size;
	u32				session_size;
	u32				aux_size;
	u32				nr_cpus;
	u32				last;
	const unsigned long		*cpu_offset;
	const struct new_utsname	*host;
	struct list_head		sessions;
	struct kdtl_root_clock		clock[3];
};

extern struct kdtl_root kdtl_root;
extern struct kdtl_tables kdtl_tables;

#endif /* _LINUX_KDTL_ROOT_H */
