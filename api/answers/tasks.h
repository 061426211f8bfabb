/* SPDX-License-Identifier: GPL-2.0 */
/* The table of tasks: what each task was, and since when. */
#ifndef _KDTL_TASKS_H
#define _KDTL_TASKS_H

#include <linux/errno.h>
#include <linux/kdtl_answers.h>

struct seq_file;

/**
 * struct kdtl_tasks_cursor - where a reader of the records is
 * @from: number of the last change before the reader came
 * @at: index of the record that it read last.  Only a hint: the record may have been reused
 */
struct kdtl_tasks_cursor {
	u64	from;
	u32	at;
};

bool kdtl_task_was(void *tasks, s32 pid, u64 time, s32 *tgid, u64 *since);

#ifdef CONFIG_TRACEPOINTS
int kdtl_table_begin(void);
void kdtl_table_end(void);
void kdtl_table_renew(void);
void kdtl_table_cursor(struct kdtl_tasks_cursor *c);
void kdtl_tasks_show(struct seq_file *m);
int kdtl_table_at(pid_t pid, u64 time, struct kdtl_task *task);
bool kdtl_table_gone(pid_t pid);
unsigned int kdtl_table_after(struct kdtl_tasks_cursor *c, u64 *seq, struct kdtl_task *to,
			      unsigned int nr, u64 *lost);
#else
/* No source names tasks without tracepoints. */
static inline int kdtl_table_begin(void) { return -EOPNOTSUPP; }
static inline void kdtl_table_end(void) { }
static inline void kdtl_table_renew(void) { }
static inline void kdtl_table_cursor(struct kdtl_tasks_cursor *c) { }
static inline void kdtl_tasks_show(struct seq_file *m) { }

static inline int kdtl_table_at(pid_t pid, u64 time, struct kdtl_task *task)
{
	return -ENOENT;
}

static inline bool kdtl_table_gone(pid_t pid) { return false; }

static inline unsigned int kdtl_table_after(struct kdtl_tasks_cursor *c, u64 *seq,
					    struct kdtl_task *to, unsigned int nr, u64 *lost)
{
	return 0;
}
#endif

#endif /* _KDTL_TASKS_H */
