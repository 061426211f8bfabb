/* SPDX-License-Identifier: GPL-2.0 */
/* Event sets: what is logged and counted while one is a CPU's active set. */
#ifndef _KDTL_SET_H
#define _KDTL_SET_H

#include <linux/list.h>

#include "sink.h"

struct kdtl_aux;

/**
 * struct kdtl_set_cpu - a set's state on one CPU
 * @counts: what came while the set was active
 * @base: a counter's value is this plus what was counted
 * @last: a watched counter's value when it was looked at last
 * @wakeups: of the reader
 * @runs: times that the set became active
 * @active: ns that it was active and not paused
 * @remaining: ns until the timeout, while the timer does not run
 * @overflows: counters that overflowed since it became active
 * @overflowed: counters of the last overflow
 *
 * Belongs to the CPU (interrupts off); when no event is active there, to who
 * holds kdtl_session::lock.
 */
struct kdtl_set_cpu {
	struct kdtl_counts	counts;
	u64			base[KDTL_NR_COUNTERS];
	u64			last[KDTL_NR_COUNTERS];
	aligned_u64		wakeups;
	aligned_u64		runs;
	u64			active;
	aligned_u64		remaining;
	u32			overflows;
	u32			overflowed;
};

/**
 * struct kdtl_counter_setup - how a set's counter starts and goes on
 * @value: at kdtl_load()
 * @long_reset: after kdtl_restart()
 * @short_reset: after any other overflow
 * @random_mask: what resets may be lengthened by
 * @resets: further counters that an overflow resets
 */
struct kdtl_counter_setup {
	u64	value;
	u64	long_reset;
	u64	short_reset;
	u64	random_mask;
	u32	resets;
};

/**
 * struct kdtl_set - an event set
 * @node: in kdtl_session::sets, by id
 * @id: 0 always exists
 * @mask: KDTL_MASK_*
 * @period: see struct kdtl_config
 * @timeout: ns, 0: none
 * @switch_overflows: overflows after which the next set takes over, 0: none
 * @watched: counters whose overflow means something
 * @notify: of these, which post a message
 * @setup: by counter
 * @cpu: state by CPU
 *
 * Changed under kdtl_session::lock, and only while the session is not started.
 */
struct kdtl_set {
	struct list_head		node;
	u16				id;
	u32				mask;
	u64				period;
	u64				timeout;
	u32				switch_overflows;
	u32				watched;
	u32				notify;
	struct kdtl_counter_setup	setup[KDTL_NR_COUNTERS];
	struct kdtl_set_cpu __percpu	*cpu;
};

struct kdtl_set *kdtl_set_alloc(u16 id);
void kdtl_set_free(struct kdtl_set *set);
void kdtl_set_config(struct kdtl_set *set, u32 mask, u64 period);
u64 kdtl_set_remaining(struct kdtl_aux *aux, struct kdtl_set *set);
u64 kdtl_set_active(struct kdtl_aux *aux, struct kdtl_set *set);

void kdtl_sets_load(struct kdtl_aux *aux);
void kdtl_sets_rewind(struct kdtl_aux *aux);
void kdtl_set_on(struct kdtl_aux *aux);
void kdtl_set_off(struct kdtl_aux *aux);
int kdtl_set_switch(struct kdtl_aux *aux);
void kdtl_set_check(struct kdtl_aux *aux);
int kdtl_set_restart(struct kdtl_aux *aux);
u64 kdtl_counter_read(struct kdtl_aux *aux, struct kdtl_set *set,
		      enum kdtl_counter c);
void kdtl_counter_write(struct kdtl_aux *aux, struct kdtl_set *set,
			enum kdtl_counter c, u64 value);

#endif /* _KDTL_SET_H */
