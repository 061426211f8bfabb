/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_torture: many sessions, verbs at random, and entries that prove themselves
 *
 *	source.c	makes the entries, in both modules
 *	pmu.c		kdtl_torture_pmu.ko: a source that is loaded and unloaded
 *	slot.c		sessions' lives, and their conservation
 *	read.c		readers, and what they check
 *	ops.c		verbs at random
 *	main.c		threads, CPU hotplug, the report
 */
#ifndef _KDTL_TORTURE_H
#define _KDTL_TORTURE_H

#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>

#include "../fake/hash.h"

/* ------------------------------------------------------------------- entries */

/* All kinds: the sequence has no gaps only for who asks for all of them. */
#define TORTURE_MASKS	(KDTL_MASK_ALL | KDTL_MASK_IDLE)

/* The number among the source's dispatches on that CPU, those that it lost too. */
static inline u64 torture_entry_seq(const struct kdtl_entry *e)
{
	return be64_to_cpu(e->srr0);
}

/* The number among the entries that the source made on that CPU. */
static inline u64 torture_entry_nr(const struct kdtl_entry *e)
{
	return be64_to_cpu(e->fault_addr);
}

static inline bool torture_entry_ok(const struct kdtl_entry *e, int cpu)
{
	return be64_to_cpu(e->srr1) == kdtl_fake_hash(e) && kdtl_entry_cpu(e) == cpu;
}

/* ------------------------------------------------------------------- sources */

/**
 * struct torture_source_cpu - a source on one CPU
 * @seq: of the last dispatch
 * @nr: of the last entry
 * @mask: what the active events want, together
 * @wanted: dispatches that they wanted
 *
 * Belongs to the CPU, interrupts off; others read @seq and @wanted.
 */
struct torture_source_cpu {
	u64	seq;
	u64	nr;
	u32	mask;
	u64	wanted;
};

/**
 * struct torture_source - a source of entries
 * @p: what is registered
 * @cpu: by CPU
 */
struct torture_source {
	struct kdtl_pmu				p;
	struct torture_source_cpu __percpu	*cpu;
};

int torture_sources_start(struct torture_source *sources, unsigned int nr,
			  const char * const *names, struct module *owner,
			  u32 seed, unsigned int period_us);
void torture_sources_stop(void);
void torture_burst(unsigned int nr);
u32 torture_ticks(int cpu);

/* --------------------------------------------------------------------- errors */

/**
 * enum torture_error - what can be wrong
 * @TORTURE_TORN: an entry is not as it was written
 * @TORTURE_ORDER: an entry is not newer than the one before
 * @TORTURE_GAP: entries are missing that were not counted as lost, or the reverse
 * @TORTURE_BALANCE: produced, consumed, lost, unread and the counters do not fit
 * @TORTURE_WAKEUP: a reader sleeps although there is a watermark of new data
 * @TORTURE_SNAPSHOT: a snapshot has a hole, or is wrong about what is missing
 * @TORTURE_MESSAGE: messages do not fit what they are about
 * @TORTURE_VERB: a verb returned what it may not
 * @TORTURE_NR_ERRORS: how many there are
 */
enum torture_error {
	TORTURE_TORN,
	TORTURE_ORDER,
	TORTURE_GAP,
	TORTURE_BALANCE,
	TORTURE_WAKEUP,
	TORTURE_SNAPSHOT,
	TORTURE_MESSAGE,
	TORTURE_VERB,
	TORTURE_NR_ERRORS,
};

__printf(2, 3) void torture_err(enum torture_error what, const char *fmt, ...);

/* ---------------------------------------------------------------------- slots */

/**
 * struct torture_reader - what has been read of a CPU since kdtl_load()
 * @lock: one reader at a time; snapshots do without
 * @seen: entries consumed
 * @last: sequence number of the last one; of kdtl_sched: its time. 0: none yet
 * @gaps: dispatches missing between the first and the last one
 * @mark: when @last gets there, @gaps must have reached @mark_lost. 0: no mark
 * @mark_lost: lost, before the source was at @mark
 * @base: number of the entry before the first; 0: not known yet
 * @wanted: the source's torture_source_cpu::wanted at kdtl_load()
 * @announced: end of the last KDTL_MSG_AUX, or TORTURE_NEVER
 * @told: torture_slot::msgs_dropped then
 * @reported: of those lost, how many torture_count() knows
 */
struct torture_reader {
	struct mutex	lock;		/* one reader */
	u64		seen;
	u64		last;
	u64		gaps;
	u64		mark;
	u64		mark_lost;
	u64		base;
	u64		wanted;
	u64		announced;
	u64		told;
	u64		reported;
};

#define TORTURE_NEVER	U64_MAX

/* torture_slot::flags */
#define TORTURE_STEADY		0x01	/* started until it is closed: no gap but by loss */
#define TORTURE_OVERWRITE	0x02
#define TORTURE_EXACT		0x04	/* the only session of its source */
#define TORTURE_SCHED		0x08	/* kdtl_sched's entries */
#define TORTURE_GUEST		0x10	/* of a source that comes and goes */
#define TORTURE_ROOMY		0x20	/* full long after its reader is to be woken */

/* Event sets that a slot may have; 0 always. */
#define TORTURE_SETS		4

struct torture_thread;

/**
 * struct torture_slot - a place for one session after another
 * @id: its number
 * @flags: TORTURE_*
 * @pmu: the source by name
 * @source: the source, if it is ours
 * @life: taken to create and to close
 * @verbs: verbs at work; exclusive: numbers are compared, or loaded anew
 * @s: the session, or NULL; see torture_enter()
 * @watermark: of it
 * @readers: by CPU
 * @sets_lock: protects @sets; held across the verbs that name a set
 * @sets: event sets that exist, 1 << id
 * @sets_gone: one was deleted since kdtl_load(), and what it had counted
 * @msgs_lost: sum of the KDTL_MSG_LOST
 * @msgs_dropped: messages that found the queue full
 * @msgs_room: how many fit
 * @msgs_full: the queue was full: some may have been dropped and not reported
 * @sleeper: sleeps in kdtl_wait(); NULL: not in this slot
 */
struct torture_slot {
	unsigned int			id;
	unsigned int			flags;
	const char			*pmu;
	struct torture_source		*source;
	struct mutex			life;		/* creating and closing */
	struct rw_semaphore		verbs;
	struct kdtl_session		*s;
	u64				watermark;
	struct torture_reader __percpu	*readers;
	struct mutex			sets_lock;	/* sets */
	unsigned long			sets;
	bool				sets_gone;
	u64				msgs_lost;
	u64				msgs_dropped;
	unsigned int			msgs_room;
	bool				msgs_full;
	struct torture_thread		*sleeper;
};

/**
 * struct torture_thread - one that works on sessions
 * @task: the thread, for kthread_stop()
 * @self: the thread, once it runs
 * @at: the slot whose session it uses
 * @in_verb: inside of one verb that holds the session while it sleeps
 * @rnd: its random state
 * @buf: for snapshots
 * @slot: a sleeper's
 * @wait: counts the beginnings and ends of kdtl_wait(): odd inside
 * @heads: by CPU, before it
 * @late_wait: the kdtl_wait() that should have ended
 * @late_cpu: the CPU whose data it does not see
 * @late_tick: of that CPU, when that was noticed
 */
struct torture_thread {
	struct task_struct	*task;
	struct task_struct	*self;
	struct torture_slot	*at;
	bool			in_verb;
	struct rnd_state	rnd;
	void			*buf;

	struct torture_slot	*slot;
	unsigned int		wait;
	u64			*heads;
	unsigned int		late_wait;
	int			late_cpu;
	u32			late_tick;
};

/* The largest area of those that are not roomy, and so the largest snapshot. */
#define TORTURE_PAGES		4
#define TORTURE_ROOMY_PAGES	(SZ_1M >> PAGE_SHIFT)

static inline u32 torture_random(struct torture_thread *t, u32 below)
{
	return prandom_u32_state(&t->rnd) % below;
}

/* main */
bool torture_ending(void);
struct torture_thread *torture_thread_at(unsigned int i);
unsigned int torture_nr_threads(void);
void torture_count(u64 entries, u64 lost);

/* slot */
int torture_slot_init(struct torture_slot *slot);
void torture_slot_exit(struct torture_slot *slot);
struct kdtl_session *torture_enter(struct torture_thread *t, struct torture_slot *slot);
void torture_leave(struct torture_thread *t);
bool torture_asleep(const struct torture_thread *t);
int torture_open(struct torture_thread *t, struct torture_slot *slot);
void torture_close(struct torture_thread *t, struct torture_slot *slot);
int torture_load(struct torture_slot *slot, struct kdtl_session *s);
void torture_check(struct torture_slot *slot, struct kdtl_session *s);

/**
 * enum torture_haste - how a reader reads
 * @TORTURE_DAWDLE: a random amount, with a sleep in between at times
 * @TORTURE_ALL: all there is
 * @TORTURE_CHASE: if there is nothing, spin until the next entry, so that it is
 *	read while it is written
 */
enum torture_haste {
	TORTURE_DAWDLE,
	TORTURE_ALL,
	TORTURE_CHASE,
};

/* read */
void torture_drain(struct torture_thread *t, struct torture_slot *slot,
		   struct kdtl_session *s, int cpu, enum torture_haste haste);
void torture_snapshot(struct torture_thread *t, struct torture_slot *slot,
		      struct kdtl_session *s, int cpu);
void torture_messages(struct torture_slot *slot, struct kdtl_session *s);
void torture_look(struct torture_slot *slot, struct kdtl_session *s, int cpu);
int torture_sleeper(void *thread);
void torture_watch(struct torture_thread *me, struct torture_thread *t);

/* ops */
void torture_op(struct torture_thread *t, struct torture_slot *slot);
void torture_ops_show(char *buf, size_t size);

#endif /* _KDTL_TORTURE_H */
