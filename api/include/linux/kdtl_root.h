/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where a debugger begins to read kdtl from an image of a machine's memory
 *
 * Clients have no use for this.  Documentation/vmcore.rst describes it.
 */
#ifndef _LINUX_KDTL_ROOT_H
#define _LINUX_KDTL_ROOT_H

#include <linux/types.h>

struct new_utsname;

#define KDTL_ROOT_MAGIC		"kdtl_root"
#define KDTL_TABLES_MAGIC	"kdtl_tables"

/* Changes with the layouts below, and with the parts of a session that readers of images use. */
#define KDTL_ROOT_VERSION	1

/**
 * struct kdtl_root_table - an array whose elements a reader knows only in part
 * @first: the array; NULL: nobody keeps it now
 * @nr: number of elements
 * @size: bytes of an element
 * @text: offset in an element of a text that ends in a NUL
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
 * struct kdtl_tables - the tables of kdtl_answers.ko, which works without kdtl.ko
 * @magic: KDTL_TABLES_MAGIC
 * @version: KDTL_ROOT_VERSION
 * @size: size of this structure
 * @tasks: records of tasks.  Each begins with a struct kdtl_task, whose seq is 0 if the record
 *	was never used.  The text is the name of the task
 * @cgroups: paths of cgroups.  Each begins with the cgroup's id (u64; 0: not used).  The text
 *	is the path
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
 * @size: size of this structure
 * @entry_size: KDTL_ENTRY_SIZE
 * @task_size: size of struct kdtl_task
 * @session_size: size of struct kdtl_session
 * @aux_size: size of struct kdtl_aux
 * @nr_cpus: CPUs have numbers below this
 * @last: the element of @clock that was filled in last
 * @cpu_offset: for each CPU, what to add to the address of per-CPU data; NULL: nothing
 * @host: names of the machine and of its kernel
 * @sessions: all sessions, linked by kdtl_session::node
 * @clock: the first element is filled in when the first session comes, and again after the
 *	clock was set.  While there are sessions, the other two are filled in by turns, one a
 *	second, so that @last names a complete one whenever the machine stops
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
