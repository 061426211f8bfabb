/* SPDX-License-Identifier: GPL-2.0 */
/* The newest dispatches of all CPUs as one table in the kernel's log. */
#ifndef _KDTL_RECORDER_TABLE_H
#define _KDTL_RECORDER_TABLE_H

#include <linux/kdtl.h>

/**
 * struct table_cpu - one CPU's part of a table
 * @start: the copied entries, oldest first
 * @from: the first one to print
 * @end: behind the newest one
 */
struct table_cpu {
	struct kdtl_entry	*start;
	struct kdtl_entry	*from;
	struct kdtl_entry	*end;
};

/**
 * struct table - a table, allocated before it is needed
 * @lines: most rows that it may have
 * @entries: @lines for each CPU
 * @cpus: struct table_cpu of each CPU
 * @info: how to convert the times
 * @now: when the copies were taken, in ns since boot
 */
struct table {
	unsigned int		lines;
	struct kdtl_entry	*entries;
	struct table_cpu	*cpus;
	struct kdtl_aux_info	info;
	u64			now;
};

int table_alloc(struct table *t, unsigned int lines);
void table_free(struct table *t);
void table_print(struct table *t, struct kdtl_session *s, bool tasks,
		 unsigned int ms, const char *why);

#endif /* _KDTL_RECORDER_TABLE_H */
