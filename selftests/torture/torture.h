/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_torture: many sessions, random verbs, and entries that prove themselves
 *
 *	source.c	makes the entries, in both modules
 *	pmu.c		kdtl_torture_pmu.ko: a source that is loaded and unloaded
 *	slot.c		opens and closes sessions, and checks that their numbers add up
 *	read.c		readers, and what they check
 *	ops.c		random verbs
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

/* Sessions that check ask for all kinds, because only then their entries' numbers have no gaps. */
#define TORTURE_MASKS	(KDTL_MASK_ALL | KDTL_MASK_IDLE)

/* The number of a dispatch among all of the source on that CPU, including those that it lost. */
static inline u64 torture_entry_seq(const struct kdtl_entry *e)
{
	return be64_to_cpu(e->srr0);
}

/* The number of an entry among those that the source made on that CPU. */
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
 * @seq: number of the last dispatch
 * @nr: number of the last entry
 * @mask: the kinds that any active event wants
 * @wanted: how many dispatches of these kinds there were
 *
 * It belongs to the CPU, with interrupts off; others only read @seq and @wanted.
 */
struct torture_source_cpu {
	u64	seq;
	u64	nr;
	u32	mask;
	u64	wanted;
};

/**
 * struct torture_source - a source of entries
 * @p: the PMU that is registered
 * @cpu: the source on each CPU
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
 * @lock: allows one reader at a time; snapshots do not take it
 * @seen: number of entries consumed
 * @last: number of the last dispatch read, or the time of kdtl_sched's last entry; 0: none yet
 * @gaps: number of dispatches missing between the first and the last one
 * @mark: once @last is past this number, @gaps must have reached @mark_lost; 0: no mark
 * @mark_lost: number of dispatches lost before the source had reached @mark
 * @base: number of the entry before the first one; 0: not known yet
 * @wanted: the source's torture_source_cpu::wanted at kdtl_load()
 * @announced: where the data of the last KDTL_MSG_AUX ended, or TORTURE_NEVER
 * @told: torture_slot::msgs_dropped when @announced was set
 * @reported: how many of the lost dispatches were passed to torture_count()
 */
struct torture_reader {
	struct mutex	lock;		/* one reader at a time */
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
#define TORTURE_STEADY		0x01	/* always started: only losses make gaps */
#define TORTURE_OVERWRITE	0x02
#define TORTURE_EXACT		0x04	/* its source has no other session */
#define TORTURE_SCHED		0x08	/* its source is kdtl_sched */
#define TORTURE_GUEST		0x10	/* its source comes and goes */
#define TORTURE_ROOMY		0x20	/* the reader is woken long before it is full */

/* How many event sets a slot may have; set 0 is always there. */
#define TORTURE_SETS		4

struct torture_thread;

/**
 * struct torture_slot - a place for one session after another
 * @id: its number
 * @flags: TORTURE_*
 * @pmu: the name of the source
 * @source: the source, unless another module has it
 * @life: held while a session is created or closed
 * @verbs: held for reading by verbs; for writing while numbers are compared, or a load is made
 * @s: the session, or NULL; see torture_enter()
 * @watermark: its watermark
 * @readers: what has been read of each CPU
 * @sets_lock: protects @sets; held across verbs that name a set
 * @sets: the event sets that exist, as bits 1 << id
 * @sets_gone: a set was deleted since kdtl_load(), and its counts with it
 * @msgs_lost: the losses that all KDTL_MSG_LOST told of
 * @msgs_dropped: number of messages that found the queue full
 * @msgs_room: how many messages the queue holds
 * @msgs_full: the queue was full, so messages may have been dropped that are not counted yet
 * @sleeper: the thread that sleeps in kdtl_wait(); NULL: this slot has none
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
	struct mutex			sets_lock;	/* protects sets */
	unsigned long			sets;
	bool				sets_gone;
	u64				msgs_lost;
	u64				msgs_dropped;
	unsigned int			msgs_room;
	bool				msgs_full;
	struct torture_thread		*sleeper;
};

/**
 * struct torture_thread - a thread that works on sessions
 * @task: the thread, for kthread_stop()
 * @self: the thread, once it runs
 * @at: the slot whose session it uses
 * @in_verb: it is inside one verb, which holds the session while it sleeps
 * @rnd: the state of its random numbers
 * @buf: a buffer for snapshots
 * @slot: the slot of a sleeper
 * @wait: how often kdtl_wait() began or ended: odd while the thread is in it
 * @heads: the head of each CPU's area before that
 * @late_wait: the kdtl_wait() that should have ended
 * @late_cpu: the CPU whose data should have ended it
 * @late_tick: the ticks of that CPU when this was noticed
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

/* The largest area that is not roomy, and so the largest snapshot. */
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
 * @TORTURE_DAWDLE: it reads a random amount, and sometimes sleeps before it gives that back
 * @TORTURE_ALL: it reads all that is there
 * @TORTURE_CHASE: if nothing is there, it spins until the next entry, so that it reads that
 *	while it is written
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
