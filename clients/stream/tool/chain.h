/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a task did in a span of time, and what it waited for
 *
 * Nothing here reads, prints or allocates, so that a kernel could compile it as well.  Times are
 * in ns since boot.
 */
#ifndef KDTL_TOOL_CHAIN_H
#define KDTL_TOOL_CHAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <linux/kdtl.h>

/* A time that is not known. */
#define CHAIN_NEVER	(~0ULL)

/* It is not known who had a CPU. */
#define CHAIN_NOBODY	(-1)

/* The value of @wake and @lock of a part if there is none. */
#define CHAIN_NONE	((size_t)-1)

/* How many wakers deep a chain goes: a waker's waker's waker, and so on. */
#define CHAIN_DEPTH	8

/* A walk needs room for more parts than these. */
#define CHAIN_ROOM_MIN	(2 * (CHAIN_DEPTH + 1))

/**
 * struct chain_turn - a time in which a task had a CPU
 * @pid: the task
 * @cpu: the CPU
 * @on: when it got the CPU; CHAIN_NEVER: not known, and neither are the next four
 * @wait: how long it waited before that
 * @queued: how long of @wait it was in this CPU's queue
 * @held: how long a limit on CPU time held it back before it waited
 * @slept: how long it slept before that; @on less these times is when it left its last CPU
 * @more: one of these times was longer
 * @reason: enum kdtl_dispatch_reason
 * @off: when it left the CPU; CHAIN_NEVER: not known
 * @left: why it did: enum kdtl_preempt_reason
 * @i: the caller's number for this turn
 */
struct chain_turn {
	int		pid;
	unsigned int	cpu;
	__u64		on;
	__u64		wait;
	__u64		queued;
	__u64		held;
	__u64		slept;
	bool		more;
	__u8		reason;
	__u64		off;
	__u8		left;
	size_t		i;
};

/**
 * struct chain_had - a task, none, an interrupt or the hypervisor had a CPU
 * @cpu: the CPU
 * @pid: the task; 0: the CPU was idle, or the hypervisor had it; below 0: an interrupt
 * @from: since then
 * @to: until then
 */
struct chain_had {
	unsigned int	cpu;
	int		pid;
	__u64		from;
	__u64		to;
};

/**
 * enum chain_event - what happened to a task that had no CPU, or was about to give it up
 * @CHAIN_WAKE: it was woken
 * @CHAIN_MOVE: it was moved to the queue of another CPU
 * @CHAIN_LOCK: it has to wait for a lock of the kernel
 * @CHAIN_NEW: it was made, and is queued
 */
enum chain_event { CHAIN_WAKE, CHAIN_MOVE, CHAIN_LOCK, CHAIN_NEW };

/**
 * struct chain_note - one such event
 * @pid: the task
 * @event: what happened
 * @time: when
 * @cpu: the CPU in whose queue the task is after it, unless it is moved on at once
 * @from: of a move: the CPU in whose queue it was
 * @by: the task that woke it. 0: none; an interrupt, or the idle task, did
 * @queued: of a wake-up: the task had not left its queue yet
 */
struct chain_note {
	int			pid;
	enum chain_event	event;
	__u64			time;
	unsigned int		cpu;
	unsigned int		from;
	int			by;
	bool			queued;
};

/**
 * struct chain_log - what is known
 * @turn: turns, by task and time
 * @had: when tasks, or none, had CPUs, by CPU and time
 * @taken: when the hypervisor and interrupts had CPUs, by CPU and time, without overlap
 * @note: notes, by task and time
 * @end: up to this time everything is known that is not lost
 * @lossy: dispatches may be missing
 * @notes_lossy: wake-ups may be missing
 */
struct chain_log {
	const struct chain_turn	*turn;
	size_t			nr_turns;
	const struct chain_had	*had;
	size_t			nr_had;
	const struct chain_had	*taken;
	size_t			nr_taken;
	const struct chain_note	*note;
	size_t			nr_notes;
	__u64			end;
	bool			lossy;
	bool			notes_lossy;
};

/**
 * enum chain_kind - what a task did
 * @CHAIN_RAN: it ran
 * @CHAIN_WAITED: it waited for a CPU
 * @CHAIN_THROTTLED: a limit on CPU time held it back
 * @CHAIN_STOLEN: the hypervisor had the CPU that it had, or waited for
 * @CHAIN_INTERRUPTED: an interrupt had that CPU
 * @CHAIN_WOKEN: it was woken, and was in no queue yet
 * @CHAIN_ASLEEP: it slept
 * @CHAIN_GONE: it did not exist yet, or had exited
 * @CHAIN_UNKNOWN: the log does not say
 * @CHAIN_CUT: there was no room for more parts
 */
enum chain_kind {
	CHAIN_RAN, CHAIN_WAITED, CHAIN_THROTTLED, CHAIN_STOLEN, CHAIN_INTERRUPTED, CHAIN_WOKEN,
	CHAIN_ASLEEP, CHAIN_GONE, CHAIN_UNKNOWN, CHAIN_CUT,
};

/**
 * struct chain_part - a part of a span
 * @kind: what the task did
 * @depth: 0: the task that was asked for. Parts that follow one of CHAIN_ASLEEP with the next depth
 *	say what its waker did meanwhile, and add up to it
 * @pid: the task
 * @from: since then
 * @to: until then
 * @cpu: that it had, or waited for
 * @by: of CHAIN_WAITED: the task that had the CPU; 0: it was idle; CHAIN_NOBODY: not known. Of
 *	CHAIN_INTERRUPTED: what had it, as in struct chain_had
 * @left: of CHAIN_ASLEEP: why it left its CPU, enum kdtl_preempt_reason
 * @wake: a number in @note; CHAIN_NONE: not known. For CHAIN_ASLEEP, what ended the sleep; for
 *	CHAIN_GONE, how the task was made
 * @lock: of CHAIN_ASLEEP: the lock that it had to wait for just before; CHAIN_NONE: none
 */
struct chain_part {
	enum chain_kind	kind;
	unsigned int	depth;
	int		pid;
	__u64		from;
	__u64		to;
	unsigned int	cpu;
	int		by;
	__u8		left;
	size_t		wake;
	size_t		lock;
};

/**
 * struct chain - a span, taken apart
 * @part: room for the parts
 * @room: how many fit, at least CHAIN_ROOM_MIN
 * @nr: how many there are
 */
struct chain {
	struct chain_part	*part;
	size_t			room;
	size_t			nr;
};

size_t chain_first_turn(const struct chain_log *l, int pid);
size_t chain_woken(const struct chain_log *l, size_t i);
void chain_walk(const struct chain_log *l, struct chain *c, int pid, __u64 from, __u64 to);

/* The part that follows the waker's parts. */
static inline size_t chain_next(const struct chain *c, size_t i)
{
	const unsigned int depth = c->part[i++].depth;

	while (i < c->nr && c->part[i].depth > depth)
		i++;
	return i;
}

#endif /* KDTL_TOOL_CHAIN_H */
