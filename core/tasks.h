/* SPDX-License-Identifier: GPL-2.0 */
/* The table of tasks: what each one was, from when on. */
#ifndef _KDTL_TASKS_H
#define _KDTL_TASKS_H

#include <linux/errno.h>
#include <linux/kdtl.h>

struct seq_file;

/* The most records that are copied under the lock. */
#define KDTL_TASKS_BATCH	64u

#ifdef CONFIG_TRACEPOINTS
int kdtl_tasks_begin(void);
void kdtl_tasks_end(void);
u64 kdtl_tasks_seq(void);
void kdtl_tasks_show(struct seq_file *m);
int kdtl_tasks_at(pid_t pid, u64 time, struct kdtl_task *task);
unsigned int kdtl_tasks_after(u64 from, u64 *seq, struct kdtl_task *to, unsigned int nr,
			      u64 *lost);
#else
/* No source names tasks without tracepoints. */
static inline int kdtl_tasks_begin(void) { return -EOPNOTSUPP; }
static inline void kdtl_tasks_end(void) { }
static inline u64 kdtl_tasks_seq(void) { return 0; }
static inline void kdtl_tasks_show(struct seq_file *m) { }

static inline int kdtl_tasks_at(pid_t pid, u64 time, struct kdtl_task *task)
{
	return -EOPNOTSUPP;
}

static inline unsigned int kdtl_tasks_after(u64 from, u64 *seq, struct kdtl_task *to,
					    unsigned int nr, u64 *lost)
{
	return 0;
}
#endif

#endif /* _KDTL_TASKS_H */
