/* SPDX-License-Identifier: GPL-2.0 */
/* Entries that name a task: they are made in the area of each sink, not made and then copied. */
#ifndef _KDTL_SCHED_ENTRY_H
#define _KDTL_SCHED_ENTRY_H

#include <linux/kdtl_pmu.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "../fanout.h"

/* A task's name is where srr0 and srr1 are; kdtl_fill() relies on their offset. */
static_assert(TASK_COMM_LEN == 2 * sizeof(__be64));
static_assert(offsetof(struct kdtl_entry, srr0) == 4 * sizeof(__be64));

/* Write an entry by six stores.  @w2 is its time. */
static __always_inline void kdtl_fill(void *to, const struct task_struct *t,
				      __be64 w0, __be64 w1, __be64 w2, __be64 w3)
{
	__be64 *e = to;

	e[0] = w0;
	e[1] = w1;
	e[3] = w3;
	memcpy(&e[4], t->comm, TASK_COMM_LEN);
	kdtl_ring_time(to, w2);
}

/* The sink at @place needs more than a plain store: serve it and those after it. */
static noinline void kdtl_fill_slow(struct kdtl_pmu *p, unsigned int place, unsigned long kind,
				    const struct task_struct *t,
				    __be64 w0, __be64 w1, __be64 w2, __be64 w3)
{
	struct kdtl_entry e;

	kdtl_fill(&e, t, w0, w1, w2, w3);
	kdtl_hand_out(this_cpu_ptr(p->cpu), place, &e, kind);
}

/*
 * Write an entry that has been counted for each sink that wants its kind.  @c is the state of the
 * source @p on this CPU, and @wanted its kdtl_pmu_cpu::wanted of the kind.
 */
static __always_inline void kdtl_fill_out(struct kdtl_pmu *p, struct kdtl_pmu_cpu *c,
					  unsigned int wanted, unsigned long kind,
					  const struct task_struct *t,
					  __be64 w0, __be64 w1, __be64 w2, __be64 w3)
{
	struct kdtl_ring *at;
	u64 head;

	/*
	 * Go from place to place, rather than from bit to bit, so that the CPU can fetch the
	 * rings before it knows the bits.
	 */
	for (at = c->near; wanted; wanted >>= 1, at++) {
		if (!(wanted & 1))
			continue;
		head = at->head;
		if (unlikely(kdtl_ring_is_slow(at, head))) {
			kdtl_fill_slow(p, at - c->near, kind, t, w0, w1, w2, w3);
			return;
		}
		kdtl_fill(kdtl_ring_slot(at, head), t, w0, w1, w2, w3);
		kdtl_ring_publish(at, head);
	}
	if (unlikely(c->far))
		kdtl_fill_slow(p, KDTL_NEAR_SINKS, kind, t, w0, w1, w2, w3);
}

#endif /* _KDTL_SCHED_ENTRY_H */
