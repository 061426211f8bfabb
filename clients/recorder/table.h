/* SPDX-License-Identifier: GPL-2.0 */
/* The newest dispatches of all CPUs as one table in the kernel's log. */
#ifndef _KDTL_RECORDER_TABLE_H
#define _KDTL_RECORDER_TABLE_H

#include <linux/kdtl_answers.h>

struct last;

/* How many tasks a line about a CPU names. */
#define TABLE_NAMED	4

/* Enough rows to include the tasks that had most: see struct kdtl_who. */
#define TABLE_RAN	16

/* A line of the log, with the names and cgroups of TABLE_NAMED tasks. */
#define TABLE_LINE	880

/**
 * struct table_cpu - one CPU's part of a table
 * @start: the copied entries, oldest first
 * @from: the first one to print
 * @end: the end of the entries, after the newest one
 */
struct table_cpu {
	struct kdtl_entry	*start;
	struct kdtl_entry	*from;
	struct kdtl_entry	*end;
};

/**
 * struct table - a table, allocated before it is needed
 * @lines: most rows that it may have
 * @tasks: the table of tasks; NULL: the source names none
 * @entries: twice @lines for each CPU, as every other one may be idle time, which is no row
 * @cpus: struct table_cpu of each CPU
 * @area: for all entries of one CPU
 * @area_size: size of @area in bytes
 * @info: how to convert the times
 * @now: when the copies were taken, in ns since boot
 * @real: the wall clock minus the time since boot, in ns
 * @ran: the tasks that had the CPU
 * @line: the line about who had the CPU
 */
struct table {
	unsigned int		lines;
	struct kdtl_tasks	*tasks;
	struct kdtl_entry	*entries;
	struct table_cpu	*cpus;
	struct kdtl_entry	*area;
	size_t			area_size;
	struct kdtl_aux_info	info;
	u64			now;
	u64			real;
	struct kdtl_ran		ran[TABLE_RAN];
	char			line[TABLE_LINE];
};

int table_alloc(struct table *t, unsigned int lines, unsigned int pages);
void table_free(struct table *t);
void table_print(struct table *t, struct kdtl_session *s, unsigned int ms,
		 const struct kdtl_alarm *about, bool rests);
void table_print_last(const struct last *l, const struct kdtl_entry **entries,
		      const unsigned int *nr, unsigned int lines, unsigned int ms);
void table_rest(u64 since);

#endif /* _KDTL_RECORDER_TABLE_H */
