/* SPDX-License-Identifier: GPL-2.0 */
/* The record with which all other ways to trace a switch are measured. */
#ifndef _KDTL_BENCH_RECORD_H
#define _KDTL_BENCH_RECORD_H

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/smp.h>

#ifdef CONFIG_UML
#include <linux/timex.h>
#endif

/* It is as large as an entry of kdtl, and has what sched_switch itself knows. */
struct bench_record {
	u64		time;
	pid_t		prev_pid;
	pid_t		next_pid;
	u32		cpu;
	int		next_prio;
	u64		prev_state;
	char		next_comm[TASK_COMM_LEN];
};

static_assert(sizeof(struct bench_record) == 48);

/* In User-Mode Linux cycles are measured, so the stamp is the cheapest that the CPU has. */
static __always_inline u64 bench_now(void)
{
#ifdef CONFIG_UML
	return get_cycles();
#else
	return local_clock();
#endif
}

static __always_inline void bench_record_fill(struct bench_record *r,
					      const struct task_struct *prev,
					      const struct task_struct *next,
					      unsigned int prev_state)
{
	r->time = bench_now();
	r->prev_pid = prev->pid;
	r->next_pid = next->pid;
	r->cpu = raw_smp_processor_id();
	r->next_prio = next->prio;
	r->prev_state = prev_state;
	memcpy(r->next_comm, next->comm, sizeof(r->next_comm));
}

#endif /* _KDTL_BENCH_RECORD_H */
