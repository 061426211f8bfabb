/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_counters.h - counters, event sets and messages, after perfmon2
 *
 * A session counts on each CPU what its source produces, logged or not.  It may have several
 * event sets, which take turns, each with a mask and with counters of its own; a counter that
 * overflows posts a message, switches the set, or pauses the CPU until kdtl_restart().
 */
#ifndef _LINUX_KDTL_COUNTERS_H
#define _LINUX_KDTL_COUNTERS_H

#include <linux/kdtl.h>
#include <uapi/linux/perf_event.h>

/**
 * enum kdtl_counter - the counters of each CPU and event set
 * @KDTL_CTR_ENTRIES: entries that the source produced, including lost and filtered ones
 * @KDTL_CTR_CEDE: entries of dispatches after sleep
 * @KDTL_CTR_PREEMPT: entries of dispatches after preemption
 * @KDTL_CTR_FAULT: entries of dispatches after a page fault
 * @KDTL_CTR_THROTTLE: entries of dispatches after a limit on CPU time had held the
 *	runner back
 * @KDTL_CTR_IDLE: entries that say that the CPU became idle
 * @KDTL_CTR_UNKNOWN: entries of unknown kind, and entries that the source itself lost
 * @KDTL_CTR_QUEUED: sum of enqueue_to_dispatch_time, in ticks
 * @KDTL_CTR_READY: sum of ready_to_enqueue_time of runners that were not
 *	throttled, in ticks
 * @KDTL_CTR_SLEPT: sum of waiting_to_ready_time, in ticks
 * @KDTL_CTR_THROTTLED: sum of kdtl_entry_throttled(), in ticks
 * @KDTL_CTR_BYTES: bytes written to the AUX area
 * @KDTL_CTR_LOST: entries that found no room, or that the source lost
 * @KDTL_CTR_FILTERED: entries that were only counted, see kdtl_session_attr::min_wait
 * @KDTL_CTR_WAKEUPS: wake-ups of the reader that this CPU caused
 * @KDTL_CTR_ENABLED: ns that the session was started
 * @KDTL_CTR_RUNNING: ns that the session was started with this set active and the
 *	CPU not paused
 * @KDTL_NR_COUNTERS: number of counters
 */
enum kdtl_counter {
	KDTL_CTR_ENTRIES,
	KDTL_CTR_CEDE,
	KDTL_CTR_PREEMPT,
	KDTL_CTR_FAULT,
	KDTL_CTR_THROTTLE,
	KDTL_CTR_IDLE,
	KDTL_CTR_UNKNOWN,
	KDTL_CTR_QUEUED,
	KDTL_CTR_READY,
	KDTL_CTR_SLEPT,
	KDTL_CTR_THROTTLED,
	KDTL_CTR_BYTES,
	KDTL_CTR_LOST,
	KDTL_CTR_FILTERED,
	KDTL_CTR_WAKEUPS,
	KDTL_CTR_ENABLED,
	KDTL_CTR_RUNNING,
	KDTL_NR_COUNTERS,
};

/* The most elements that a vector of requests may have, else -E2BIG. */
#define KDTL_MAX_REQUESTS	256

/**
 * struct kdtl_config - configuration of an event set, for kdtl_write_config()
 * @set: id of the event set
 * @mask: KDTL_MASK_*, the dispatches to log; 0: KDTL_MASK_ALL.  See kdtl_session_attr::mask
 * @period: see kdtl_session_attr::period
 * @min_wait: see kdtl_session_attr::min_wait.  A dispatch that is not stored is counted:
 *	&KDTL_CTR_FILTERED and the other counters
 * @error: set to the errno if the call failed because of this element
 *
 * Event set 0 begins with the configuration in &struct kdtl_session_attr.
 */
struct kdtl_config {
	u16	set;
	u32	mask;
	u64	period;
	u64	min_wait;
	int	error;
};

/* kdtl_counter_req::flags */
#define KDTL_COUNTER_NOTIFY	0x1	/* an overflow posts a message */
#define KDTL_COUNTER_RANDOM	0x2	/* resets are lengthened at random */

/**
 * struct kdtl_counter_req - one counter, for kdtl_{read,write}_counters()
 * @set: id of the event set
 * @counter: &enum kdtl_counter
 * @flags: KDTL_COUNTER_*
 * @cpu: the CPU to read; -1: the sum of all.  kdtl_write_counters() sets all CPUs, so
 *	for that it must be -1, or 0 as in a zeroed request
 * @value: the counter's value.  A counter overflows when it wraps past 2^64, on
 *	each CPU separately, so set it to minus the threshold
 * @long_reset: value that kdtl_restart() loads after an overflow that paused
 * @short_reset: value that is loaded at once after any other overflow
 * @random_mask: with KDTL_COUNTER_RANDOM, a random number made of these bits is
 *	subtracted from each reset value; otherwise ignored
 * @resets: further counters that an overflow of this one resets, 1 << counter
 * @error: set to the errno if the call failed because of this element
 */
struct kdtl_counter_req {
	u16	set;
	u16	counter;
	u32	flags;
	int	cpu;
	u64	value;
	u64	long_reset;
	u64	short_reset;
	u64	random_mask;
	u32	resets;
	int	error;
};

/**
 * struct kdtl_evtset - an event set, for kdtl_{create,delete}_evtsets()
 * @id: the sets become active in the order of their ids, then from the first again
 * @timeout: ns after which the next set takes over; 0: never.  It is rounded up to
 *	the timer's resolution, and is at least 100 us and at most half of KTIME_MAX; the
 *	resulting value is returned here
 * @overflows: counter overflows after which the next set takes over; 0: never.
 *	Only one of @timeout and @overflows may be set
 * @error: set to the errno if the call failed because of this element
 */
struct kdtl_evtset {
	u16	id;
	u64	timeout;
	u32	overflows;
	int	error;
};

/**
 * struct kdtl_evtset_info - state of an event set, for kdtl_getinfo_evtsets()
 * @id: id of the event set
 * @cpu: the CPU, because each CPU switches separately; -1: all CPUs, and then
 *	@runs is the maximum, @active the sum and @remaining the minimum
 * @active_now: the set is active on @cpu; for -1, on any CPU
 * @runs: times that the set became active since kdtl_load()
 * @active: ns that the set was active and not paused
 * @timeout: the timeout as it was rounded, in ns
 * @remaining: ns until the next set takes over
 * @overflowed: counters of the last overflow, 1 << counter
 * @error: set to the errno if the call failed because of this element
 */
struct kdtl_evtset_info {
	u16	id;
	int	cpu;
	bool	active_now;
	u64	runs;
	u64	active;
	u64	timeout;
	u64	remaining;
	u32	overflowed;
	int	error;
};

/**
 * enum kdtl_msg_type - the types of messages
 * @KDTL_MSG_AUX: there is new data, see aux.offset, aux.size and aux.flags
 *	(PERF_AUX_FLAG_*)
 * @KDTL_MSG_LOST: lost.count entries were lost before position lost.offset
 * @KDTL_MSG_OVERFLOW: the counters overflow.counters of the set overflowed at once
 * @KDTL_MSG_SET_SWITCH: the set kdtl_msg.set took over from set_switch.from
 * @KDTL_MSG_CPU: cpu_state.online says whether the CPU is logged from now on, and
 *	cpu_state.error is 0, or the errno for which an online CPU is not logged
 * @KDTL_MSG_END: the session was unloaded, so nothing more will come
 * @KDTL_NR_MSG_TYPES: one more than the last type
 */
enum kdtl_msg_type {
	KDTL_MSG_AUX = 1,
	KDTL_MSG_LOST,
	KDTL_MSG_OVERFLOW,
	KDTL_MSG_SET_SWITCH,
	KDTL_MSG_CPU,
	KDTL_MSG_END,
	KDTL_NR_MSG_TYPES,
};

/**
 * struct kdtl_msg - a message
 * @type: &enum kdtl_msg_type
 * @size: size of the message in bytes
 * @cpu: the CPU that posted it; -1 for KDTL_MSG_END
 * @time: local_clock() when it was posted, in ns
 * @dropped: messages before this one that were dropped because the queue was full
 * @set: the CPU's active event set
 * @aux: for KDTL_MSG_AUX
 * @lost: for KDTL_MSG_LOST
 * @overflow: for KDTL_MSG_OVERFLOW
 * @set_switch: for KDTL_MSG_SET_SWITCH
 * @cpu_state: for KDTL_MSG_CPU
 */
struct kdtl_msg {
	u16	type;
	u16	size;
	s32	cpu;
	u64	time;
	u64	dropped;
	u16	set;
	union {
		struct {
			u64	offset;
			u64	size;
			u64	flags;
		} aux;
		struct {
			u64	count;
			u64	offset;
		} lost;
		struct {
			u32	counters;
		} overflow;
		struct {
			u16	from;
		} set_switch;
		struct {
			bool	online;
			int	error;
		} cpu_state;
	};
};

int kdtl_write_config(struct kdtl_session *s, struct kdtl_config *req,
		      unsigned int nr);
int kdtl_write_counters(struct kdtl_session *s, struct kdtl_counter_req *req,
			unsigned int nr);
int kdtl_read_counters(struct kdtl_session *s, struct kdtl_counter_req *req,
		       unsigned int nr);

int kdtl_create_evtsets(struct kdtl_session *s, struct kdtl_evtset *req,
			unsigned int nr);
int kdtl_delete_evtsets(struct kdtl_session *s, struct kdtl_evtset *req,
			unsigned int nr);
int kdtl_getinfo_evtsets(struct kdtl_session *s, struct kdtl_evtset_info *req,
			 unsigned int nr);
int kdtl_restart(struct kdtl_session *s);

ssize_t kdtl_read(struct kdtl_session *s, struct kdtl_msg *msg, size_t size,
		  bool noblock);

#endif /* _LINUX_KDTL_COUNTERS_H */
