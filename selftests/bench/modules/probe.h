/* SPDX-License-Identifier: GPL-2.0 */
/* What bench_probe attaches, and bench_native calls. */
#ifndef _KDTL_BENCH_PROBE_H
#define _KDTL_BENCH_PROBE_H

#include <linux/types.h>

struct task_struct;

/* A probe of sched_switch. */
typedef void bench_probe_t(void *data, bool preempt, struct task_struct *prev,
			   struct task_struct *next, unsigned int prev_state);

struct bench_kind {
	const char	*name;
	bench_probe_t	*probe;
	int		(*init)(void);
	void		(*reset)(void);		/* empties the buffer */
	void		(*exit)(void);
};

const struct bench_kind *bench_kind_find(const char *name);

#endif /* _KDTL_BENCH_PROBE_H */
