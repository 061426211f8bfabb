// SPDX-License-Identifier: GPL-2.0
/*
 * kdtl_sched - the scheduler as a source of dispatch trace log entries
 *
 * One entry for each time that a task other than the idle task gets a CPU, from
 * the sched_switch tracepoint; and, for events that ask for KDTL_MASK_IDLE, one when
 * the CPU becomes idle.  The times and reasons in an entry come from two
 * places:
 *
 * - task_struct::sched_info, which the scheduler keeps anyway: since when the
 *   task has been in this CPU's queue, and how long it waited in others.
 * - A small table of when and why each task last left a CPU.  The table is a
 *   cache with one slot for each lower half of a pid; a new record replaces the
 *   old one.  A task whose record was replaced looks like one that has never
 *   run, so its sleep is given as 0.  So does a task that has run since, on a CPU
 *   that has no sinks and makes no records.
 *
 * From Linux 6.12 on, a task that goes to sleep may stay in its queue for a
 * while.  If it is moved to another queue meanwhile (sched_migrate_task), the
 * scheduler counts it as queued from then on, although it sleeps.  A mark in the
 * task's record says so: the time that it was queued is then not known.
 *
 * With proxy execution, a task that waits for a mutex may also stay in a queue, and
 * be moved to others.  When it wakes up, the scheduler counts it as queued since it was
 * moved, or not at all.  Its record is marked when it leaves its CPU, and at sched_wakeup
 * the length of the sleep is added to the marked record.
 *
 * A task that was throttled has a record of the kind THROTTLE, see sched-throttle.h.
 *
 * Documentation/pmu-sched.rst describes each field of an entry.
 */
#define pr_fmt(fmt) "kdtl_sched: " fmt

#include <linux/kdtl_pmu.h>
#include <linux/kdtl_probes.h>
#include <linux/kdtl_verbs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <trace/events/sched.h>

#include "../compat.h"
#include "../fanout.h"
#include "sched-clock.h"
#include "sched-entry.h"

struct kdtl_departure;

/**
 * struct kdtl_sched_cpu - what a dispatch needs of its CPU
 * @clock: see sched-clock.h
 * @held_seen: when any group was last seen to be throttled, see sched-throttle.h
 * @departures: the table of departures
 * @fan: the sinks
 *
 * A dispatch of a task that had slept needs two cache lines of it, if there is one session.
 */
struct kdtl_sched_cpu {
	struct kdtl_clock	clock;
	u64			held_seen;
	struct kdtl_departure	*departures;
	struct kdtl_pmu_cpu	fan;
};

#ifdef CONFIG_X86_64
static_assert(offsetofend(struct kdtl_sched_cpu, fan.far) == L1_CACHE_BYTES);
static_assert(offsetof(struct kdtl_sched_cpu, fan.tally[KDTL_NR_KINDS - 1]) %
	      L1_CACHE_BYTES == 0);
static_assert(offsetofend(struct kdtl_sched_cpu, fan.near[0]) % L1_CACHE_BYTES == 0);
#endif

static DEFINE_PER_CPU_ALIGNED(struct kdtl_sched_cpu, kdtl_sched_cpu);
static struct kdtl_pmu kdtl_sched_pmu;

/* Call @each for each task.  There may be millions, so each has an RCU section of its own. */
static void kdtl_each_task(void (*each)(struct task_struct *t))
{
	struct task_struct *t;
	struct pid *pid;
	int nr = 1;

	do {
		rcu_read_lock();
		pid = find_ge_pid(nr, &init_pid_ns);
		if (pid) {
			nr = pid_nr(pid) + 1;
			t = pid_task(pid, PIDTYPE_PID);
			if (t)
				each(t);
		}
		rcu_read_unlock();
		cond_resched();
	} while (pid);
}

#include "sched-throttle.h"

/**
 * struct kdtl_departure - when and why a task left its CPU
 * @when: time << 2 | enum kdtl_kind
 * @check: @when ^ kdtl_record_id()
 *
 * A record is a task's own, and not older than its last run, if the lower 22 bits of its id
 * are those of kdtl_run_id(): the task's address plus the number of times that it ran.  One
 * of 4 million other records has them by accident: if the task ran a multiple of 2^22 times
 * since; if the record is of another task with the same slot, whose number of runs differs as
 * much as the addresses do, modulo 2^22; or if the slot is empty.
 *
 * The scheduler hands a task from CPU to CPU, which orders the accesses to the
 * task's own record.  Another task with the same slot may write at the same
 * time.  Then the two words need not match.  The task that wrote @check finds a wrong id,
 * as racing times differ in the lower 20 bits; that the other task finds its id is as
 * unlikely as above.  A 32-bit CPU would tear the words, but it has no more pids than slots.
 *
 * In a marked record, @check is complemented, so no task takes its own for an unmarked
 * one.  Above the run's id it has how long the task slept; 0: not known.
 */
struct kdtl_departure {
	u64	when;
	u64	check;
};

/* kdtl_mark_throttled() sets the kind with an OR. */
static_assert(KDTL_KIND_THROTTLE == 3);

/* Keep the run's id in the low bits, where racing timestamps differ. */
#define KDTL_RUN_BITS		22
#define KDTL_RUN_MASK		(BIT(KDTL_RUN_BITS) - 1)

/*
 * One slot for each lower half of a pid: 1 MiB in all.  Tasks of neighbouring pids often
 * run on different CPUs, so their slots are 23 apart: no cache line is as long.
 */
#define KDTL_SLOTS		(U16_MAX + 1UL)
#define KDTL_SLOT_STEP		23
static_assert(IS_ENABLED(CONFIG_64BIT) || PID_MAX_LIMIT <= KDTL_SLOTS);

static struct kdtl_departure *departures __read_mostly;

static __always_inline struct kdtl_departure *kdtl_slot(struct kdtl_departure *table,
							unsigned long pid)
{
	const unsigned long offset = pid * KDTL_SLOT_STEP * sizeof(*table);

	return (void *)table + (offset & (KDTL_SLOTS - 1) * sizeof(*table));
}

/*
 * Identifies one run of one task.  Stable from when the task leaves a CPU until it leaves the
 * next one, because the scheduler counts a run after sched_switch.  It does not count the run of
 * a task that stayed in its queue (kdtl_stays_queued()), but it counts each departure.
 *
 * Everybody can read a task's number of runs in /proc/PID/schedstat, and a task can run until its
 * number is what it likes.  So the rest of the id is what no user knows: the address of the task's
 * structure.  If it were the pid, a user could run a task whose records another task takes for its
 * own.
 */
static __always_inline unsigned long kdtl_run_id(const struct task_struct *t)
{
	return ((unsigned long)t >> L1_CACHE_SHIFT) +
	       (KDTL_HAVE_PROXY_EXEC ? t->nvcsw + t->nivcsw : t->sched_info.pcount);
}

/* The run's id, and above it the task's whole wait so far, modulo 2^42 ns (73 minutes). */
static __always_inline u64 kdtl_record_id(const struct task_struct *t)
{
	return ((u64)t->sched_info.run_delay << KDTL_RUN_BITS) + kdtl_run_id(t);
}

static __always_inline void kdtl_depart(const struct kdtl_sched_cpu *c,
					const struct task_struct *t, unsigned long pid,
					u64 now, unsigned long kind)
{
	struct kdtl_departure *slot = kdtl_slot(c->departures, pid);
	const u64 when = now << 2 | kind;

	WRITE_ONCE(slot->when, when);
	WRITE_ONCE(slot->check, when ^ kdtl_record_id(t));
}

/*
 * Is this a marked record of @run, with @id = when ^ check?  An empty slot would
 * look like that for the largest possible run, so @when must not be 0.
 */
static bool kdtl_is_marked(u64 when, u64 id, unsigned long run)
{
	return when && !((~id ^ run) & KDTL_RUN_MASK);
}

/*
 * Mark the record of @t, which sleeps although the scheduler may count it as queued.  The
 * lock of its queue orders the accesses to its record.  If the record was replaced, the
 * sleep begins now in the new one.
 */
static void kdtl_mark(const struct task_struct *t)
{
	const unsigned long pid = (u32)t->pid, run = kdtl_run_id(t);
	struct kdtl_departure *slot = kdtl_slot(departures, pid);
	u64 when = READ_ONCE(slot->when);
	const u64 id = when ^ READ_ONCE(slot->check);

	if ((id ^ run) & KDTL_RUN_MASK && !kdtl_is_marked(when, id, run)) {
		when = local_clock() << 2 | KDTL_KIND_CEDE;
		WRITE_ONCE(slot->when, when);
	}
	WRITE_ONCE(slot->check, ~(when ^ (run & KDTL_RUN_MASK)));
}

/* Does @t, which goes to sleep, stay in its queue?  See KDTL_HAVE_PROXY_EXEC. */
static __always_inline bool kdtl_stays_queued(const struct task_struct *t)
{
	return KDTL_HAVE_PROXY_EXEC && t->on_rq && !kdtl_task_dequeue_delayed(t);
}

/*
 * Why @prev leaves its CPU.  A task that was going to sleep but has a signal
 * pending stays runnable: the scheduler has reset its state already.
 */
static __always_inline unsigned long kdtl_departure_kind(bool preempt,
							 const struct task_struct *prev)
{
	if (preempt || READ_ONCE(prev->__state) == TASK_RUNNING)
		return KDTL_KIND_PREEMPT;
	return kdtl_task_in_user_fault(prev) ? KDTL_KIND_FAULT : KDTL_KIND_CEDE;
}

/* Reason codes, a byte for each kind: constants, as a table would take one more cache line. */
#define KDTL_CODE(kind, code)	((u64)(code) << ((kind) * 8))
#define KDTL_DISPATCH_CODES	(KDTL_CODE(KDTL_KIND_CEDE, KDTL_DISPATCH_PROD) |		\
				 KDTL_CODE(KDTL_KIND_PREEMPT, KDTL_DISPATCH_TIME_SLICE) |	\
				 KDTL_CODE(KDTL_KIND_FAULT, KDTL_DISPATCH_PAGE_FAULT) |		\
				 KDTL_CODE(KDTL_KIND_THROTTLE, KDTL_DISPATCH_THROTTLED) |	\
				 KDTL_CODE(KDTL_KIND_IDLE, KDTL_DISPATCH_IDLE))

/*
 * How a task sleeps that left its CPU with @state and cannot be interrupted.  A kernel thread
 * that waits for work (TASK_IDLE) sleeps like any other task.
 */
static __always_inline unsigned long kdtl_sleep_code(unsigned int state)
{
	if (state & (__TASK_STOPPED | __TASK_TRACED))
		return KDTL_PREEMPT_STOPPED;
	if (state & TASK_DEAD)
		return KDTL_PREEMPT_EXITED;
	if ((state & (TASK_UNINTERRUPTIBLE | TASK_NOLOAD)) == TASK_UNINTERRUPTIBLE)
		return KDTL_PREEMPT_DISK_SLEEP;
	return KDTL_PREEMPT_CEDE;
}

/*
 * Why a task left, in an entry.  Its present state may be TASK_WAKING already, so @state, as
 * the scheduler read it, says how the task sleeps.
 */
static __always_inline unsigned long kdtl_departure_code(unsigned long kind, unsigned int state)
{
	if (unlikely(kind == KDTL_KIND_PREEMPT))
		return KDTL_PREEMPT_TIME_SLICE;
	if (unlikely(kind == KDTL_KIND_FAULT))
		return KDTL_PREEMPT_PAGE_FAULT;
	if (likely(state & TASK_INTERRUPTIBLE))
		return KDTL_PREEMPT_CEDE;
	return kdtl_sleep_code(state);
}

/* The entry has 16 bits for the CPU's number. */
static_assert(CONFIG_NR_CPUS <= 1 << 16);

/*
 * An entry whose runner was throttled, or with a time that has more than 32 bits: the
 * entry holds the maximum, 4.29 s, and the counts get all of it.
 */
static noinline void kdtl_sched_rare(unsigned long kind,
				     const struct task_struct *next, u64 reasons,
				     u64 queued, u64 ready, u64 slept, u64 now, u64 pids)
{
	const u64 max = U32_MAX, q = min(queued, max), r = min(ready, max),
		  s = min(slept, max);
	struct kdtl_pmu_cpu *c = this_cpu_ptr(&kdtl_sched_cpu.fan);
	struct kdtl_entry e;

	kdtl_pmu_count(c, kind, queued, ready, slept);
	kdtl_fill(&e, next, cpu_to_be64(reasons << 32 | q), cpu_to_be64(r << 32 | s),
		  cpu_to_be64(now), cpu_to_be64(pids));
	kdtl_hand_out(c, 0, &e, kind);
}

static __always_inline u64 kdtl_reasons(unsigned long kind, unsigned long prev_code)
{
	const u64 dispatch = KDTL_DISPATCH_CODES >> (kind * 8) & 0xff;

	return dispatch << 24 | (u64)prev_code << 16 | raw_smp_processor_id();
}

/* The CPU becomes idle: its idle task @next has not waited. */
static void kdtl_sched_idle(const struct task_struct *next, u64 now,
			    unsigned long prev_code, u64 pids)
{
	struct kdtl_entry e;

	kdtl_fill(&e, next, cpu_to_be64(kdtl_reasons(KDTL_KIND_IDLE, prev_code) << 32), 0,
		  cpu_to_be64(now), cpu_to_be64(pids));
	kdtl_fan_out(this_cpu_ptr(&kdtl_sched_cpu.fan), &e, KDTL_KIND_IDLE);
}

/*
 * If a deadline task got its runtime only after it was queued, it was held back until then, and
 * its record is changed to say so.  Or it had yielded and slept until then: the one preempted
 * task that does not wait for a CPU.
 */
static u64 kdtl_dl_queued_at(const struct kdtl_sched_cpu *c, const struct task_struct *next,
			     u64 queued_at, u64 now)
{
	struct kdtl_departure *slot = kdtl_slot(c->departures, (u32)next->pid);
	const u64 lifted = kdtl_dl_lifted(next);
	u64 when = READ_ONCE(slot->when), id = when ^ READ_ONCE(slot->check);
	const u64 waited = kdtl_record_id(next) - id;
	const bool known = !(waited & KDTL_RUN_MASK);

	/* The scheduler often moves the task to another queue just then. */
	if (lifted <= queued_at - (known ? waited >> KDTL_RUN_BITS : 0) || lifted >= now)
		return queued_at;
	if (known && (when & 3) == KDTL_KIND_PREEMPT) {
		when = (when & ~3ULL) | KDTL_KIND_CEDE;
		id = kdtl_record_id(next) - (max_t(s64, queued_at - lifted, 0) << KDTL_RUN_BITS);
		WRITE_ONCE(slot->when, when);
		WRITE_ONCE(slot->check, when ^ id);
		return max(queued_at, lifted);
	}
	kdtl_mark_throttled(next);
	return queued_at;
}

/*
 * Since when @next has been queued here; @now if the scheduler did not queue it.  If it was
 * throttled since it was queued, its record is changed to say so.
 */
static u64 kdtl_queued_at(const struct kdtl_sched_cpu *c, const struct task_struct *next, u64 now)
{
	const u64 queued_at = next->sched_info.last_queued;

	if (!queued_at)
		return now;
	if (dl_prio(next->prio))
		return kdtl_dl_queued_at(c, next, queued_at, now);
	if (kdtl_was_held(c, next, queued_at))
		kdtl_mark_throttled(next);
	return queued_at;
}

/*
 * Both halves of a task switch have a usual form and a full one, by the constant
 * @full.  The usual form leaves rare cases to the full one, which begins again: so the
 * usual form makes no function call across which it would have to keep anything.  It
 * returns false if the full form is to be called.
 */

/* @prev leaves its CPU for @next.  Sets @prev_code to the reason, as in entries. */
static __always_inline bool kdtl_sched_leave(const bool full, struct kdtl_sched_cpu *c,
					     bool preempt,
					     const struct task_struct *prev,
					     const struct task_struct *next,
					     unsigned int prev_state, u64 now,
					     unsigned long *prev_code)
{
	const unsigned long pid = (u32)prev->pid;
	unsigned long kind, code = KDTL_PREEMPT_CEDE;
	bool rare;

	if (likely(pid)) {
		kind = kdtl_departure_kind(preempt, prev);
		code = kdtl_departure_code(kind, prev_state);
		rare = kind == KDTL_KIND_PREEMPT ? kdtl_may_be_throttled(prev) :
						   kdtl_stays_queued(prev);
		if (unlikely(rare)) {
			if (!full)
				return false;
			if (kind == KDTL_KIND_PREEMPT && kdtl_is_throttled(prev, next, now)) {
				kind = KDTL_KIND_THROTTLE;
				code = KDTL_PREEMPT_THROTTLED;
			} else if (kind == KDTL_KIND_PREEMPT && kdtl_dl_yielded(prev)) {
				/* See kdtl_dl_queued_at(). */
				code = KDTL_PREEMPT_CEDE;
			}
		}
		kdtl_depart(c, prev, pid, now, kind);
		if (full && rare && !(kind & KDTL_KIND_PREEMPT))
			kdtl_mark(prev);
	}
	*prev_code = code;
	return true;
}

/* @next, which has a wanted kind, gets the CPU.  In the usual form @kind is a constant. */
static __always_inline bool kdtl_sched_log(const bool full, struct kdtl_sched_cpu *c,
					   const struct task_struct *next,
					   unsigned long kind, unsigned long prev_code,
					   s64 queued, s64 ready, s64 slept, u64 now, u64 pids)
{
	const unsigned int wanted = c->fan.wanted[kind];
	u64 reasons;

	if (unlikely((u64)(queued | ready | slept) > U32_MAX)) {
		/*
		 * The scheduler read its clock before the tracepoint, or on another CPU.  So a
		 * task may seem to have been queued before it left: it did not wait then.
		 */
		queued = max(queued + min(ready, 0LL) + min(slept, 0LL), 0LL);
		ready = max(ready, 0LL);
		slept = max(slept, 0LL);
		if ((u64)(queued | ready | slept) > U32_MAX) {
			if (!full)
				return false;
			kdtl_sched_rare(kind, next, kdtl_reasons(kind, prev_code),
					queued, ready, slept, now, pids);
			return true;
		}
	}
	kdtl_pmu_count(&c->fan, kind, queued, ready, slept);
	reasons = kdtl_reasons(kind, prev_code);
	kdtl_fill_out(&kdtl_sched_pmu, &c->fan, wanted, kind, next,
		      cpu_to_be64(reasons << 32 | queued), cpu_to_be64((u64)ready << 32 | slept),
		      cpu_to_be64(now), cpu_to_be64(pids));
	return true;
}

/* @next gets the CPU. */
static __always_inline bool kdtl_sched_arrive(const bool full, struct kdtl_sched_cpu *c,
					      const struct task_struct *next,
					      unsigned long prev_pid,
					      unsigned long prev_code, u64 now)
{
	const unsigned long next_pid = (u32)next->pid;
	const u64 pids = (u64)next_pid << 32 | prev_pid;
	unsigned long kind = KDTL_KIND_CEDE;	/* unsigned long as it is an index */
	struct kdtl_departure *slot;
	s64 ready = 0, slept = 0;
	u64 when, id, waited, queued_at;

	if (unlikely(!next_pid)) {
		if (full)
			kdtl_sched_idle(next, now, prev_code, pids);
		return full || !(c->fan.mask & KDTL_MASK_IDLE);
	}

	queued_at = full ? kdtl_queued_at(c, next, now) : next->sched_info.last_queued;
	slot = kdtl_slot(c->departures, next_pid);
	when = READ_ONCE(slot->when);
	id = when ^ READ_ONCE(slot->check);
	/*
	 * The scheduler counts no run of a task that was preempted on its way to sleep, so the
	 * record would seem to be of this run as well.  The usual form does not get here then.
	 */
	if (full && !next->sched_info.last_queued) {
		WRITE_ONCE(slot->when, 0);
		WRITE_ONCE(slot->check, 0);
	}
	waited = kdtl_record_id(next) - id;
	if (likely(!(waited & KDTL_RUN_MASK))) {
		slept = queued_at - (when >> 2);
		ready = waited >> KDTL_RUN_BITS;
		if (!full && unlikely(kdtl_throttle_doubt(queued_at - ready, now)))
			return false;
		if (unlikely(when & 3)) {
			kind = when & 3;
			/* Page faults and limits are rare. */
			if (!full && kind != KDTL_KIND_PREEMPT)
				return false;
			if (!full)
				return !(c->fan.mask & KDTL_MASK_PREEMPT) ||
				       kdtl_sched_log(false, c, next, KDTL_KIND_PREEMPT, prev_code,
						      now - queued_at, slept, 0, now, pids);
			if (kind == KDTL_KIND_THROTTLE) {
				/* It was held back until the limit ended, and then waited. */
				slept = max(slept - ready, 0LL);
				when = (when >> 2) + slept;
				ready = max_t(s64, kdtl_lifted_at(next, when, now) - when, 0);
				kdtl_sched_rare(kind, next, kdtl_reasons(kind, prev_code),
						max_t(s64, now - when - ready, 0), ready, slept,
						now, pids);
				return true;
			}
			if (kind == KDTL_KIND_PREEMPT)
				ready = slept;
		}
		slept -= ready;
	} else if (!full && unlikely(kdtl_throttle_doubt(queued_at, now))) {
		return false;
	} else if (unlikely(!next->sched_info.pcount)) {
		/* All that a new task ever waited was before its first run. */
		if (!full)
			return false;
		ready = next->sched_info.run_delay;
	} else if (KDTL_HAVE_DELAYED_DEQUEUE) {
		if (!full)
			return false;
		if (kdtl_is_marked(when, id, kdtl_run_id(next))) {
			kind = when & 3;
			when >>= 2;
			slept = ~id >> KDTL_RUN_BITS;
			if (KDTL_HAVE_PROXY_EXEC && slept) {
				/* If it was moved after it woke up, it was queued again then. */
				queued_at = max_t(u64, next->sched_info.last_queued, when + slept);
				ready = queued_at - when - slept;
			} else {
				/* Nobody knows when the task woke up and was queued. */
				queued_at = now;
				slept = now - when;
			}
		}
	}

	/* The usual form runs only if tasks that had slept are wanted. */
	if (full && !(c->fan.mask >> kind & 1))
		return true;

	return kdtl_sched_log(full, c, next, full ? kind : KDTL_KIND_CEDE, prev_code,
			      now - queued_at, ready, slept, now, pids);
}

/* With interrupts off. */
static u64 kdtl_sched_now(void)
{
	struct kdtl_clock *c = this_cpu_ptr(&kdtl_sched_cpu.clock);
	u64 now;

	return likely(kdtl_clock_read(c, &now)) ? now : kdtl_clock_anchor(c);
}

static noinline void kdtl_sched_arrive_full(const struct task_struct *next,
					    unsigned long prev_pid,
					    unsigned long prev_code, u64 now)
{
	kdtl_sched_arrive(true, this_cpu_ptr(&kdtl_sched_cpu), next, prev_pid, prev_code, now);
}

static noinline void kdtl_sched_full(bool preempt, const struct task_struct *prev,
				     const struct task_struct *next, unsigned int prev_state)
{
	const u64 now = kdtl_sched_now();
	unsigned long prev_code;

	kdtl_sched_leave(true, this_cpu_ptr(&kdtl_sched_cpu), preempt, prev, next, prev_state, now,
			 &prev_code);
	kdtl_sched_arrive_full(next, (u32)prev->pid, prev_code, now);
}

/*
 * No sink of this CPU wants tasks that had slept.  A task without a record counts as one that
 * had slept, so only departures of wanted kinds need records, and none do without sinks.
 */
static noinline void kdtl_sched_seldom(u32 mask, bool preempt,
				       const struct task_struct *prev,
				       const struct task_struct *next, unsigned int prev_state)
{
	const struct kdtl_sched_cpu *c = this_cpu_ptr(&kdtl_sched_cpu);
	const unsigned long pid = (u32)next->pid;
	const struct kdtl_departure *slot;
	unsigned long kind;
	u64 when, id;

	if (prev->pid) {
		kind = kdtl_departure_kind(preempt, prev);
		if (mask >> kind & 1 ||
		    (kind == KDTL_KIND_PREEMPT ? kdtl_may_be_throttled(prev) :
						 kdtl_stays_queued(prev)))
			goto full;
	}
	if (!pid) {
		if (mask & KDTL_MASK_IDLE)
			goto full;
		return;
	}
	if (mask & KDTL_MASK_THROTTLE &&
	    kdtl_throttle_doubt(next->sched_info.last_queued, kdtl_sched_now()))
		goto full;
	slot = kdtl_slot(c->departures, pid);
	when = READ_ONCE(slot->when);
	id = when ^ READ_ONCE(slot->check);
	if (!(mask >> (when & 3) & 1))
		return;
	if (!((id ^ kdtl_run_id(next)) & KDTL_RUN_MASK) ||
	    (KDTL_HAVE_DELAYED_DEQUEUE && kdtl_is_marked(when, id, kdtl_run_id(next))))
		goto full;
	return;
full:
	kdtl_sched_full(preempt, prev, next, prev_state);
}

/*
 * This CPU has no sinks.  But while a task that sleeps is in a queue, the scheduler may count it
 * as queued.  Only a marked record tells another CPU that it sleeps.
 */
static __always_inline void kdtl_sched_nobody(bool preempt, const struct task_struct *prev)
{
	if (KDTL_HAVE_PROXY_EXEC && unlikely(kdtl_stays_queued(prev)) && prev->pid &&
	    kdtl_departure_kind(preempt, prev) != KDTL_KIND_PREEMPT) {
		kdtl_depart(this_cpu_ptr(&kdtl_sched_cpu), prev, (u32)prev->pid, local_clock(),
			    KDTL_KIND_CEDE);
		kdtl_mark(prev);
	}
}

/* Runs on the CPU that switches, with interrupts off and the runqueue lock held. */
static void kdtl_sched_switch(void *data, bool preempt, struct task_struct *prev,
			      struct task_struct *next, unsigned int prev_state)
{
	const u32 mask = this_cpu_read(kdtl_sched_cpu.fan.mask);
	unsigned long prev_pid, prev_code;
	struct kdtl_sched_cpu *c;
	u64 now;

	if (unlikely(!(mask & KDTL_MASK_CEDE))) {
		if (mask)
			kdtl_sched_seldom(mask, preempt, prev, next, prev_state);
		else
			kdtl_sched_nobody(preempt, prev);
		return;
	}
	c = this_cpu_ptr(&kdtl_sched_cpu);
	prev_pid = (u32)prev->pid;
	if (unlikely(!kdtl_clock_read(&c->clock, &now)) ||
	    unlikely(!kdtl_sched_leave(false, c, preempt, prev, next, prev_state, now,
				       &prev_code)))
		kdtl_sched_full(preempt, prev, next, prev_state);
	else if (unlikely(!kdtl_sched_arrive(false, c, next, prev_pid, prev_code, now)))
		kdtl_sched_arrive_full(next, prev_pid, prev_code, now);
}

/*
 * Record that @t, which is queued, waits for its limit rather than for a CPU.  The lock of
 * its queue is held.  If its record was replaced, the new one says that it has not slept.
 */
static void kdtl_mark_throttled(const struct task_struct *t)
{
	const unsigned long pid = (u32)t->pid;
	struct kdtl_departure *slot = kdtl_slot(departures, pid);
	u64 when = READ_ONCE(slot->when), id = when ^ READ_ONCE(slot->check);

	if ((id ^ kdtl_run_id(t)) & KDTL_RUN_MASK) {
		/* The wait of a marked record is not known anyway. */
		if (kdtl_is_marked(when, id, kdtl_run_id(t)))
			return;
		when = t->sched_info.last_queued << 2;
		id = kdtl_record_id(t);
	}
	when |= KDTL_KIND_THROTTLE;
	WRITE_ONCE(slot->when, when);
	WRITE_ONCE(slot->check, when ^ id);
}

static void kdtl_sched_migrate(void *data, struct task_struct *t, int cpu)
{
	if (unlikely(kdtl_task_dequeue_delayed(t)))
		kdtl_mark(t);
}

/* @t wakes up.  The lock of its queue is held.  A sleep above 73 minutes is not recorded. */
static void kdtl_sched_wakeup(void *data, struct task_struct *t)
{
	const unsigned long pid = (u32)t->pid, run = kdtl_run_id(t);
	struct kdtl_departure *slot = kdtl_slot(departures, pid);
	const u64 when = READ_ONCE(slot->when);
	s64 slept;

	if (likely(!kdtl_is_marked(when, when ^ READ_ONCE(slot->check), run)))
		return;
	slept = max_t(s64, local_clock() - (when >> 2), 1);
	if (!(slept >> (64 - KDTL_RUN_BITS)))
		WRITE_ONCE(slot->check, ~(when ^ ((u64)slept << KDTL_RUN_BITS |
						  (run & KDTL_RUN_MASK))));
}

/* Does @t sleep, although the scheduler may count it as queued? */
static bool kdtl_looks_queued(const struct task_struct *t)
{
	if (!t->on_rq || kdtl_task_dequeue_delayed(t))
		return t->sched_info.last_queued;
	return kdtl_stays_queued(t) && READ_ONCE(t->__state) != TASK_RUNNING;
}

/*
 * Mark a task that was moved asleep before the probe was there.  A task that wakes up
 * meanwhile may be marked too; then one of its waits is not known.
 */
static void kdtl_mark_sleeper(struct task_struct *t)
{
	if (data_race(kdtl_looks_queued(t)))
		kdtl_mark(t);
}

static struct kdtl_probe kdtl_sched_probes[] = {
	{ "sched_switch", kdtl_sched_switch },
	{ "sched_migrate_task", kdtl_sched_migrate },
	{ "sched_wakeup", kdtl_sched_wakeup },
};

/* The probes that this kernel needs: one more for each of two changes of the scheduler. */
#define KDTL_SCHED_PROBES	(1 + KDTL_HAVE_DELAYED_DEQUEUE + KDTL_HAVE_PROXY_EXEC)
static_assert(KDTL_HAVE_DELAYED_DEQUEUE || !KDTL_HAVE_PROXY_EXEC);

static int kdtl_sched_probe(void)
{
	int err;

	kdtl_throttle_attach();
	err = kdtl_probes_register(kdtl_sched_probes, KDTL_SCHED_PROBES);
	if (err)
		kdtl_throttle_detach();
	else if (KDTL_HAVE_DELAYED_DEQUEUE)
		kdtl_each_task(kdtl_mark_sleeper);
	return err;
}

static void kdtl_sched_unprobe(void)
{
	kdtl_probes_unregister(kdtl_sched_probes, KDTL_SCHED_PROBES);
	kdtl_throttle_detach();
}

/*
 * Protects the two below, and is held while the probes come and go.  It is taken inside
 * kdtl_pmu::attach_lock.
 */
static DEFINE_MUTEX(kdtl_probes_lock);
static bool kdtl_sched_wanted;	/* there are users */
static bool kdtl_sched_probed;

/*
 * To remove a probe takes an RCU grace period, and so does adding it again.  There may be
 * none as long as a real-time task holds a CPU (before v6.4, if its ksoftirqd has to
 * run), but sessions must begin and end even then.  So after the last user the probes stay
 * for a while, and until a grace period shows that RCU makes progress.
 */
#define KDTL_UNPROBE_DELAY	(5 * HZ)

static void kdtl_sched_unprobe_work(struct work_struct *work)
{
	synchronize_rcu();
	mutex_lock(&kdtl_probes_lock);
	if (!kdtl_sched_wanted && kdtl_sched_probed) {
		kdtl_sched_unprobe();
		kdtl_sched_probed = false;
	}
	mutex_unlock(&kdtl_probes_lock);
}

static DECLARE_DELAYED_WORK(kdtl_unprobe_work, kdtl_sched_unprobe_work);

static int kdtl_sched_attach(struct kdtl_pmu *p)
{
	int err = 0;

	cancel_delayed_work(&kdtl_unprobe_work);
	mutex_lock(&kdtl_probes_lock);
	if (!kdtl_sched_probed)
		err = kdtl_sched_probe();
	kdtl_sched_probed = !err;
	kdtl_sched_wanted = !err;
	mutex_unlock(&kdtl_probes_lock);
	return err;
}

static void kdtl_sched_detach(struct kdtl_pmu *p)
{
	mutex_lock(&kdtl_probes_lock);
	kdtl_sched_wanted = false;
	mutex_unlock(&kdtl_probes_lock);
	queue_delayed_work(system_dfl_wq, &kdtl_unprobe_work, KDTL_UNPROBE_DELAY);
}

/* Interrupts are off, so this CPU is not in the middle of a task switch. */
static u64 kdtl_sched_sync(struct kdtl_pmu *p)
{
	return kdtl_sched_now();
}

/* The waits that kdtl_sched_arrive() would find if @t were dispatched now. */
static bool kdtl_sched_waits(struct kdtl_pmu *p, const struct task_struct *t, u64 now,
			     u64 *since, u64 *held, u64 *left)
{
	const struct kdtl_sched_cpu *c = this_cpu_ptr(&kdtl_sched_cpu);
	const struct kdtl_departure *slot = kdtl_slot(c->departures, (u32)t->pid);
	const u64 when = READ_ONCE(slot->when), id = when ^ READ_ONCE(slot->check);
	const bool known = !((id ^ kdtl_run_id(t)) & KDTL_RUN_MASK);
	const bool throttled = known && (when & 3) == KDTL_KIND_THROTTLE;
	/* A CPU that takes the task away may write to last_queued. */
	u64 queued_at = data_race(t->sched_info.last_queued);

	if (!queued_at || dl_prio(t->prio) || kdtl_task_dequeue_delayed(t) ||
	    kdtl_is_marked(when, id, kdtl_run_id(t)))
		return false;
	/* The scheduler read its clock before the tracepoint. */
	if (known)
		queued_at = max(queued_at, when >> 2);
	if (queued_at >= now)
		return false;
	*since = queued_at;
	*left = t->sched_info.pcount ? U64_MAX : 0;
	if (known && (when & 3) != KDTL_KIND_PREEMPT)
		*left = when >> 2;
	if (kdtl_holds(t))
		*held = now - queued_at;
	else if (throttled || kdtl_was_held(c, t, queued_at))
		*held = kdtl_lifted_at(t, queued_at, now) - queued_at;
	else
		*held = 0;
	return true;
}

static struct kdtl_pmu kdtl_sched_pmu = {
	.pmu.module	= THIS_MODULE,
	.name		= "kdtl_sched",
	.rating		= 100,
	.mask		= KDTL_MASK_ALL | KDTL_MASK_IDLE,
	.tb_freq	= NSEC_PER_SEC,
	.tasks		= true,
	.attach		= kdtl_sched_attach,
	.detach		= kdtl_sched_detach,
	.sync		= kdtl_sched_sync,
	.waits		= kdtl_sched_waits,
	.cpu		= &kdtl_sched_cpu.fan,
};

static int __init kdtl_sched_init(void)
{
	int cpu, err;

	err = kdtl_probes_find(kdtl_sched_probes, KDTL_SCHED_PROBES);
	if (err)
		return err;

	/* Outside of the vmalloc area, if possible: there the kernel has larger pages. */
	departures = kvzalloc(KDTL_SLOTS * sizeof(*departures), GFP_KERNEL);
	if (!departures)
		return -ENOMEM;
	for_each_possible_cpu(cpu)
		per_cpu(kdtl_sched_cpu, cpu).departures = departures;
	err = kdtl_pmu_register(&kdtl_sched_pmu);
	if (err)
		kvfree(departures);
	return err;
}

static void __exit kdtl_sched_exit(void)
{
	struct kdtl_late late;

	kdtl_pmu_unregister(&kdtl_sched_pmu);
	kdtl_late_begin(&late, KBUILD_MODNAME, "waits for RCU, which waits for each CPU");
	/* Nobody attaches any more, so the probes are ours to remove. */
	cancel_delayed_work_sync(&kdtl_unprobe_work);
	if (kdtl_sched_probed)
		kdtl_sched_unprobe();
	kdtl_late_end(&late);
	kvfree(departures);
}

module_init(kdtl_sched_init);
module_exit(kdtl_sched_exit);

MODULE_DESCRIPTION("Dispatch trace log entries from the Linux scheduler");
MODULE_LICENSE("GPL");
MODULE_ALIAS("kdtl-pmu");
MODULE_ALIAS("kdtl-pmu-kdtl_sched");
MODULE_IMPORT_NS(KDTL_NS);
