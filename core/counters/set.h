/* SPDX-License-Identifier: GPL-2.0 */
/* Event sets: the entries that are logged and counted while a set is active. */
#ifndef _KDTL_SET_H
#define _KDTL_SET_H

#include <linux/hrtimer.h>
#include <linux/kdtl_counters.h>
#include <linux/list.h>

#include "../fanout.h"
#include "../log.h"

struct kdtl_aux;
struct kdtl_session;
struct kdtl_session_attr;

/**
 * struct kdtl_counts - counts of the entries that a set was offered on a CPU
 * @tally: by &enum kdtl_kind, including entries that were lost.  While the set counts
 *	(kdtl_set_counts()), the source's counts (struct kdtl_pmu_cpu) of the kinds that
 *	the sink wants are still to be added
 * @lost: entries that found no room, or that the source itself lost
 * @filtered: entries that were only counted
 * @bytes: bytes written to the area while the set was active.  While the set counts, the
 *	area's head is still to be added
 */
struct kdtl_counts {
	struct kdtl_tally	tally[KDTL_NR_KINDS];
	aligned_u64		lost;
	aligned_u64		filtered;
	aligned_u64		bytes;
};

/**
 * struct kdtl_set_cpu - a set's state on one CPU
 * @counts: counts of the entries that came while the set was active
 * @base: a counter's value is its base plus its count
 * @last: the value of a watched counter when it was checked last
 * @wakeups: wake-ups of the reader
 * @runs: times that the set became active
 * @active: ns that it was active and not paused
 * @remaining: ns until the timeout, while the timer does not run
 * @overflows: counters that overflowed since the set became active
 * @overflowed: counters of the last overflow
 *
 * All of it belongs to the CPU (interrupts off); while no event is active there,
 * to the holder of kdtl_session::lock.
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
 * struct kdtl_counter_setup - the values that a set's counter starts from
 * @value: loaded by kdtl_load()
 * @long_reset: loaded by kdtl_restart()
 * @short_reset: loaded after an overflow that does not pause
 * @random_mask: a random number of these bits is subtracted from a reset value
 * @resets: further counters that an overflow resets, 1 << counter
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
 * @log: what it logs
 * @timeout: ns, 0: none
 * @switch_overflows: overflows after which the next set takes over, 0: none
 * @watched: counters whose overflow means something
 * @notify: those of @watched whose overflow posts a message
 * @setup: by counter
 * @cpu: state by CPU
 *
 * Changed under kdtl_session::lock, and only while the session is not started.
 */
struct kdtl_set {
	struct list_head		node;
	u16				id;
	struct kdtl_log			log;
	u64				timeout;
	u32				switch_overflows;
	u32				watched;
	u32				notify;
	struct kdtl_counter_setup	setup[KDTL_NR_COUNTERS];
	struct kdtl_set_cpu __percpu	*cpu;
};

struct kdtl_set *kdtl_set_alloc(u16 id);
void kdtl_set_free(struct kdtl_set *set);
u64 kdtl_set_remaining(struct kdtl_aux *aux, struct kdtl_set *set);

struct kdtl_set *kdtl_session_set(struct kdtl_session *s, u16 id);
int kdtl_sets_alloc(struct kdtl_session *s, const struct kdtl_session_attr *attr);
void kdtl_sets_free(struct kdtl_session *s);
void kdtl_sets_load(struct kdtl_aux *aux);
void kdtl_sets_rewind(struct kdtl_aux *aux);
void kdtl_counts_init(struct kdtl_aux *aux);
void kdtl_counts_on(struct kdtl_aux *aux);
void kdtl_counts_off(struct kdtl_aux *aux);
void kdtl_set_check(struct kdtl_aux *aux);
int kdtl_set_restart(struct kdtl_aux *aux);

#endif /* _KDTL_SET_H */
