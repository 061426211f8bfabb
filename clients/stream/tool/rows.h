/* SPDX-License-Identifier: GPL-2.0 */
/* Tables with a row for each task, process, command, cgroup or CPU. */
#ifndef KDTL_TOOL_ROWS_H
#define KDTL_TOOL_ROWS_H

#include "kdtl.h"

/* What the rows of a table are for. */
enum by { BY_TASK, BY_COMM, BY_CGROUP, BY_CPU, BY_PROCESS };

/**
 * struct key - what a row is for
 * @id: the PID of a task; the PID of a process, or 0 if it is not known; the CPU; UINT64_MAX: the
 *	row is for idle CPUs
 * @name: name of the task, the command or the cgroup
 * @nr: counts keys from 0
 * @behind: of find_culprit()
 * @next: of find_culprit()
 */
struct key {
	uint64_t	id;
	const char	*name;
	size_t		nr;
	uint64_t	behind;
	struct key	*next;
};

/**
 * struct keys - the keys of all rows
 * @by: what the rows are for
 * @tree: the keys, a tree of tsearch(3)
 * @nr: their number
 */
struct keys {
	enum by	by;
	void	*tree;
	size_t	nr;
};

/**
 * struct dispatch - a dispatch that counts
 * @key: what its row is for
 * @i: the number of its entry
 * @interval: number of the interval in which it was
 */
struct dispatch {
	struct key	*key;
	size_t		i;
	uint64_t	interval;
};

/**
 * struct execd - a thread that became its process by exec() while it had a CPU
 * @was: what its row was for before; NULL: that is not asked for
 * @is: what its row is for then; NULL: that is not asked for
 * @interval: number of the interval in which it was dispatched
 * @ns: for how long it had the CPU from then on
 */
struct execd {
	const struct key	*was;
	const struct key	*is;
	uint64_t		interval;
	uint64_t		ns;
};

/**
 * struct row - the sums of dispatches that have the same key
 * @key: what it is for
 * @first: its first dispatch; the others follow, in the order of the entries
 * @nr: number of dispatches, and of waits that are not over
 * @still: number of those
 * @waits: those of @nr whose waits are known: no limit on CPU time held their tasks back
 * @ran: ns for which its tasks ran; more if @unknown is not 0
 * @unknown: ns in which its tasks, or others, or none had the CPU
 * @waited: the sum of the waits
 * @elsewhere: the part of it that tasks spent in the queues of other CPUs than they got
 * @throttled: the time for which a limit on CPU time held the tasks back
 * @throttled_more: that time may have been longer
 * @p50: half of the waits were no longer than this
 * @p99: 99% of the waits were no longer than this
 * @max: the longest wait
 * @least: waits of at least so many ns may have been longer; UINT64_MAX: none
 * @culprit: whose tasks had the CPUs longest in these waits; NULL: not known
 * @behind: for how long
 * @known: for how long of these waits the recording says who had the CPU
 */
struct row {
	const struct key	*key;
	const struct dispatch	*first;
	size_t			nr;
	size_t			still;
	size_t			waits;
	uint64_t		ran;
	uint64_t		unknown;
	uint64_t		waited;
	uint64_t		elsewhere;
	uint64_t		throttled;
	bool			throttled_more;
	uint64_t		p50;
	uint64_t		p99;
	uint64_t		max;
	uint64_t		least;
	const struct key	*culprit;
	uint64_t		behind;
	uint64_t		known;
};

/**
 * struct sort - an order of rows
 * @key: on the keyboard; 0: none
 * @name: as the column's head
 * @value: the rows with the highest values come first
 */
struct sort {
	char		key;
	const char	*name;
	uint64_t	(*value)(const struct row *row);
};

/* Room for the text of a cell. */
#define CELL_TEXT	(PRINTABLE(KDTL_CGROUP_LEN) + 32)

/* rows.c */
extern const char *const row_heads[];
extern const char *const row_names[];
uint64_t percentile(const uint64_t *wait, size_t nr, unsigned int permille);
int by_value(const void *a, const void *b);
size_t default_rows(unsigned int others);
enum by parse_by(const char *option, const char *text);
enum by rows_by(const struct recording *r, enum by by, bool asked);
struct key *key_of(struct keys *k, const struct recording *r, const struct kdtl_entry *e);
void keys_free(struct keys *k);
const char *key_text(char to[CELL_TEXT], const struct keys *k, const struct key *key);
struct dispatch *find_dispatches(const struct recording *r, const struct filter *f,
				 struct keys *k, uint64_t interval, size_t *nr);
void sort_dispatches(struct dispatch *d, size_t nr);
struct key *key_of_execd(struct keys *k, const struct recording *r, const struct kdtl_task *t);
struct execd *find_execd(const struct recording *r, const struct filter *f, struct keys *k,
			 uint64_t interval, size_t *nr);
struct row *move_execd(const struct execd *x, size_t nr, uint64_t interval, struct row *row,
		       size_t *nr_rows);
uint64_t recording_end(const struct recording *r);
struct row *rows_of(const struct recording *r, const struct dispatch *d, size_t nr,
		    uint64_t end, size_t *nr_rows);
extern const struct sort sorts[];
#define NR_SORTS	7
const struct sort *parse_sort(const char *text);
void sort_rows(struct row *row, size_t nr, const struct sort *sort);
struct key **culprits_of(const struct recording *r, struct keys *k);
void find_culprit(const struct recording *r, struct key **who, struct row *row);

/**
 * struct column - a column of a table
 * @head: its title
 * @what: tells struct table::text which column it is
 * @is_name: aligned to the left, and shortened if the table is too wide
 * @group: a title above this column and those that follow; NULL: none
 */
struct column {
	const char	*head;
	int		what;
	bool		is_name;
	const char	*group;
};

#define MAX_COLUMNS	13

/**
 * struct table - what print_table() prints
 * @column: its columns
 * @nr: number of columns
 * @text: writes what is in a column of a row
 * @size: of a row's structure
 * @width: of the terminal
 */
struct table {
	struct column	column[MAX_COLUMNS];
	size_t		nr;
	const char	*(*text)(char to[CELL_TEXT], const void *row, int what);
	size_t		size;
	int		width;
};

/* table.c */
void print_table(const struct table *t, const void *rows, size_t nr);

#endif /* KDTL_TOOL_ROWS_H */
