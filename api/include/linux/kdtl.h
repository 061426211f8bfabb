/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl - a kernel-internal API for dispatch trace logs
 *
 * A dispatch trace log (DTL) entry says: this processor was given to that
 * runner at this time, after waiting this long, for this reason.  Kernel
 * threads and modules read the entries of every CPU in place.  In the simple form
 * kdtl runs the thread, and calls the client with each span of entries:
 *
 *	s = kdtl_session_open(&attr, &reader);	choose what to log, and begin
 *	...					kdtl calls reader.span()
 *	kdtl_session_close(s);
 *
 * A client with a thread of its own uses the verbs of which this is made:
 *
 *	s = kdtl_session_create(&attr);
 *	kdtl_load(s, NULL);			bind to the CPUs, allocate memory
 *	kdtl_start(s);
 *	while (kdtl_wait(s, timeout) ...)	sleep until there is enough to read
 *		for_each_cpu(cpu, mask) {
 *			len = kdtl_aux_peek(s, cpu, &span);
 *			kdtl_for_each_entry(e, span, len)
 *				...
 *			kdtl_aux_consume(s, cpu, len);
 *		}
 *	kdtl_session_close(s);
 *
 * clients/examples/late.c is a complete client of the simple form, and clients/sampler a
 * large one.  The functions have manual pages, which "man 9 kdtl" lists, with the text above
 * their definitions in api/.
 *
 * A module that uses them needs MODULE_IMPORT_NS(KDTL_NS).  <linux/kdtl_answers.h> says who
 * the tasks of the entries were, and who had a CPU.  PMU drivers include <linux/kdtl_pmu.h>.
 */
#ifndef _LINUX_KDTL_H
#define _LINUX_KDTL_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <linux/version.h>

#include <uapi/linux/kdtl.h>
#include <uapi/linux/perf_event.h>

struct vm_area_struct;
struct workqueue_struct;

/* The symbol namespace of kdtl's exports. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* v6.13, "module: Convert symbol namespace to string literal" */
#define KDTL_NS		KDTL
#else
#define KDTL_NS		"KDTL"
#endif

/* ------------------------------------------------------------------ entries */

/*
 * struct kdtl_entry, the reasons and KDTL_MASK_* are in <uapi/linux/kdtl.h>.
 * The accessors here return values in host byte order, and times in ticks of the
 * source's time base.
 */

/**
 * kdtl_entry_cpu() - the CPU that was given to the runner
 * @e: entry
 *
 * For kdtl_vpa this is the hypervisor's number of a physical processor.  The
 * kernel's own CPU is the one in whose area the entry lies; kdtl_merge_cpu()
 * returns it for merged entries.
 *
 * Context: any.
 * Return: the CPU, as the source numbers it.
 */
static inline unsigned int kdtl_entry_cpu(const struct kdtl_entry *e)
{
	return be16_to_cpu(e->processor_id);
}

/**
 * kdtl_entry_time() - the time of the dispatch
 * @e: entry
 *
 * Context: any.
 * Return: ticks of the time base.
 */
static inline u64 kdtl_entry_time(const struct kdtl_entry *e)
{
	return be64_to_cpu(e->timebase);
}

/**
 * kdtl_entry_queued() - how long the runner waited in this CPU's queue
 * @e: entry
 *
 * Context: any.
 * Return: ticks.
 */
static inline u32 kdtl_entry_queued(const struct kdtl_entry *e)
{
	return be32_to_cpu(e->enqueue_to_dispatch_time);
}

/**
 * kdtl_entry_ready() - how long the runner was ready before it entered that queue
 * @e: entry
 *
 * For a runner that was throttled, this is kdtl_entry_throttled().
 *
 * Context: any.
 * Return: ticks.
 */
static inline u32 kdtl_entry_ready(const struct kdtl_entry *e)
{
	return be32_to_cpu(e->ready_to_enqueue_time);
}

/**
 * kdtl_entry_slept() - how long the runner had slept before it was ready
 * @e: entry
 *
 * Context: any.
 * Return: ticks.
 */
static inline u32 kdtl_entry_slept(const struct kdtl_entry *e)
{
	return be32_to_cpu(e->waiting_to_ready_time);
}

/**
 * kdtl_entry_is_throttled() - did a limit on CPU time hold the runner back?
 * @e: entry
 *
 * Context: any.
 * Return: true if so, and then kdtl_entry_wait() is what the runner waited since the
 * limit ended, or 0 if that is not known.
 */
static inline bool kdtl_entry_is_throttled(const struct kdtl_entry *e)
{
	return e->dispatch_reason == KDTL_DISPATCH_THROTTLED;
}

/**
 * kdtl_entry_throttled() - how long a limit on CPU time held the runner back
 * @e: entry
 *
 * Where the kernel does not tell when the limit ended, the time includes the
 * runner's wait in the queue after that, see Documentation/pmu-sched.rst.
 *
 * Context: any.
 * Return: ticks; 0 if the runner was not throttled.
 */
static inline u32 kdtl_entry_throttled(const struct kdtl_entry *e)
{
	return kdtl_entry_is_throttled(e) ? kdtl_entry_ready(e) : 0;
}

/**
 * kdtl_entry_is_idle() - does the entry say that the CPU became idle?
 * @e: entry
 *
 * Such an entry is no dispatch of a task: kdtl_entry_pid() is 0, kdtl_entry_comm() the
 * name of the CPU's idle task ("swapper/3"), and its times are 0.  Only sessions that
 * ask for KDTL_MASK_IDLE have such entries.
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool kdtl_entry_is_idle(const struct kdtl_entry *e)
{
	return e->dispatch_reason == KDTL_DISPATCH_IDLE;
}

/**
 * kdtl_entry_wait() - how long the runner could have run but had no CPU
 * @e: entry
 *
 * Context: any.
 * Return: ticks: kdtl_entry_ready() plus kdtl_entry_queued(), without sleep. If the runner
 * was throttled, at least so long: kdtl_entry_queued() alone, see kdtl_entry_is_throttled().
 */
static inline u64 kdtl_entry_wait(const struct kdtl_entry *e)
{
	return (u64)kdtl_entry_queued(e) + kdtl_entry_ready(e) - kdtl_entry_throttled(e);
}

/**
 * kdtl_entry_wait_saturated() - was the wait longer than the entry can say?
 * @e: entry
 *
 * Print and add up such a wait only with a mark that says so.  Other times of an
 * entry are saturated if they are KDTL_TIME_MAX.
 *
 * Context: any.
 * Return: true if kdtl_entry_wait() may be too low, because one of the times that
 * it adds up is KDTL_TIME_MAX.
 */
static inline bool kdtl_entry_wait_saturated(const struct kdtl_entry *e)
{
	return kdtl_entry_queued(e) == KDTL_TIME_MAX ||
	       (kdtl_entry_ready(e) == KDTL_TIME_MAX && !kdtl_entry_is_throttled(e));
}

/**
 * kdtl_entry_dispatch_reason() - why the runner was dispatched
 * @e: entry
 *
 * Context: any.
 * Return: enum kdtl_dispatch_reason, or a code that a later PAPR defines.
 */
static inline unsigned int kdtl_entry_dispatch_reason(const struct kdtl_entry *e)
{
	return e->dispatch_reason;
}

/**
 * kdtl_entry_preempt_reason() - why the CPU's last runner was preempted
 * @e: entry
 *
 * Context: any.
 * Return: enum kdtl_preempt_reason, or a code that a later PAPR defines.
 */
static inline unsigned int kdtl_entry_preempt_reason(const struct kdtl_entry *e)
{
	return e->preempt_reason;
}

/**
 * kdtl_entry_pid() - the task that was dispatched; kdtl_sched only
 * @e: entry
 *
 * Context: any.
 * Return: its pid in the initial namespace; 0: see kdtl_entry_is_idle().
 */
static inline pid_t kdtl_entry_pid(const struct kdtl_entry *e)
{
	return (pid_t)(be64_to_cpu(e->fault_addr) >> 32);
}

/**
 * kdtl_entry_prev_pid() - the task that had the CPU before; kdtl_sched only
 * @e: entry
 *
 * Context: any.
 * Return: its pid in the initial namespace; 0: the idle task.
 */
static inline pid_t kdtl_entry_prev_pid(const struct kdtl_entry *e)
{
	return (pid_t)(u32)be64_to_cpu(e->fault_addr);
}

/**
 * kdtl_entry_comm() - the name of the task that was dispatched; kdtl_sched only
 * @e: entry
 *
 * Context: any.
 * Return: a string inside @e, of at most TASK_COMM_LEN bytes, always terminated.
 */
static inline const char *kdtl_entry_comm(const struct kdtl_entry *e)
{
	/* FORTIFY_SOURCE would allow a copy of only 8 bytes from &e->srr0. */
	return (const char *)e + offsetof(struct kdtl_entry, srr0);
}

const char *kdtl_dispatch_reason_name(unsigned int reason);
const char *kdtl_preempt_reason_name(unsigned int reason);
const char *kdtl_task_reason_name(unsigned int reason);
const char *kdtl_task_preempt_name(unsigned int reason);

/**
 * kdtl_for_each_entry() - iterate over the whole entries of a span
 * @e: cursor, ``const struct kdtl_entry *``
 * @span: the span of kdtl_aux_peek()
 * @len: the length of the span in bytes
 *
 * Context: any.
 */
#define kdtl_for_each_entry(e, span, len)				\
	for ((e) = (const struct kdtl_entry *)(span);			\
	     (const char *)((e) + 1) <= (const char *)(span) + (len);	\
	     (e)++)

/* ----------------------------------------------------------------- sessions */

struct kdtl_session;	/* opaque */

/* AUX pages per CPU of a session that names no number: 256 KiB. */
#define KDTL_DEFAULT_AUX_PAGES	(SZ_256K / PAGE_SIZE)

/* kdtl_session_attr::flags */
#define KDTL_SESSION_OVERWRITE	0x1	/* keep the newest entries, see kdtl_aux_snapshot() */
#define KDTL_SESSION_PAUSE	0x2	/* an overflow that notifies pauses the CPU */
#define KDTL_SESSION_NO_AUX	0x4	/* only count: no area, no entries to read */
#define KDTL_SESSION_RAW	0x8	/* the bytes of any of perf's PMUs, no entries */

/**
 * struct kdtl_session_attr - attributes of a session
 * @pmu: name of the source ("kdtl_sched", "kdtl_vpa"), or of the PMU whose entries it
 *	has ("vpa_dtl"); NULL: the one with the highest rating.  With KDTL_SESSION_RAW,
 *	perf's name of a PMU ("intel_pt")
 * @cpus: CPUs on which the session may be loaded; NULL: all.  Isolated CPUs
 *	(isolcpus=, nohz_full=, isolated cpusets) are only loaded if they are asked
 *	for: by this mask or by that of kdtl_load()
 * @aux_pages: AUX pages per CPU, a power of two, at most 2^20; 0: KDTL_DEFAULT_AUX_PAGES,
 *	or none with KDTL_SESSION_NO_AUX
 * @msg_pages: pages for messages, a power of two, at most 2^20; 0: no messages
 * @msg_types: the types of messages to post, 1 << &enum kdtl_msg_type; 0: all.
 *	KDTL_MSG_END is always posted
 * @watermark: unread bytes of a CPU that wake the reader; 0: half the area.  If it
 *	exceeds the whole entries that fit, the first loss wakes the reader
 * @mask: KDTL_MASK_*, the dispatches that set 0 logs; 0: KDTL_MASK_ALL.  KDTL_MASK_IDLE adds
 *	idle times, if the source tells them: kdtl_aux_info::idle says whether it does
 * @flags: KDTL_SESSION_*
 * @period: of set 0, see struct kdtl_config.  With KDTL_SESSION_RAW,
 *	perf_event_attr::sample_period of the events, which some PMUs need
 * @min_wait: of set 0, see struct kdtl_config
 * @config: perf_event_attr::config of a KDTL_SESSION_RAW session's events
 * @done: the caller's completion, initialised with init_completion(), and completed on every
 *	wake-up until kdtl_session_close() returns; NULL: the session uses one of its own
 * @wake: called on every wake-up until kdtl_session_close() returns, with
 *	interrupts off and a raw spinlock held; may be NULL.  It is for clients
 *	that cannot sleep in kdtl_wait(), and can queue an irq_work for instance
 * @wake_data: argument of @wake
 *
 * @done and @wake are two forms of one notification.  A field that is zero has its
 * default, so the attribute {} is valid: it logs all dispatches of the best source on
 * all CPUs.
 *
 * KDTL_SESSION_RAW is for PMUs whose drivers do not know kdtl: the session has the bytes
 * that the PMU writes to its AUX area.  What needs entries is refused: masks, counters,
 * event sets, merges, gaps and kdtl_session_open().  All raw sessions on a PMU share one
 * area on each CPU, so @config, @period, @aux_pages, @watermark and KDTL_SESSION_OVERWRITE
 * must be the same, and the slowest reader decides what may be overwritten.  If there is no
 * room, the PMU is off until a reader has consumed, and the next KDTL_MSG_AUX has
 * PERF_AUX_FLAG_TRUNCATED; how much was lost is not known.
 */
struct kdtl_session_attr {
	const char		*pmu;
	const struct cpumask	*cpus;
	unsigned int		aux_pages;
	unsigned int		msg_pages;
	u32			msg_types;
	unsigned int		watermark;
	u32			mask;
	u32			flags;
	u64			period;
	u64			min_wait;
	u64			config;
	struct completion	*done;
	void			(*wake)(void *data);
	void			*wake_data;
};

/**
 * enum kdtl_counter - the counters of each CPU and event set
 * @KDTL_CTR_ENTRIES: entries that the source produced, including lost and filtered ones
 * @KDTL_CTR_CEDE: those of dispatches after sleep
 * @KDTL_CTR_PREEMPT: those of dispatches after preemption
 * @KDTL_CTR_FAULT: those of dispatches after a page fault
 * @KDTL_CTR_THROTTLE: those of dispatches after a limit on CPU time had held the
 *	runner back
 * @KDTL_CTR_IDLE: those that say that the CPU became idle
 * @KDTL_CTR_UNKNOWN: those of unknown kind, or that the source itself lost
 * @KDTL_CTR_QUEUED: sum of enqueue_to_dispatch_time, in ticks
 * @KDTL_CTR_READY: sum of ready_to_enqueue_time of runners that were not
 *	throttled, in ticks
 * @KDTL_CTR_SLEPT: sum of waiting_to_ready_time, in ticks
 * @KDTL_CTR_THROTTLED: sum of kdtl_entry_throttled(), in ticks
 * @KDTL_CTR_BYTES: bytes written to the AUX area
 * @KDTL_CTR_LOST: entries that found no room, or that the source lost
 * @KDTL_CTR_FILTERED: entries that were only counted, see struct kdtl_config::min_wait
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
 * @period: longest time in ns until entries below the watermark wake the reader;
 *	a source that has to be polled is polled at least this often.  0: no
 *	bound.  Values below 50000 become 50000
 * @min_wait: in ns; a dispatch whose runner waited less is counted (&KDTL_CTR_FILTERED
 *	and the other counters) but not stored, so it takes no room.  0: all are stored,
 *	U64_MAX: none.  The wait of a throttled runner is kdtl_entry_throttled(); that of
 *	an idle CPU is 0.  A wait that is longer than an entry can say is stored, unless
 *	@min_wait is U64_MAX
 * @error: set to the errno if the call failed because of this element
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
 *	there it is -1, or 0 as in a request of zeroes
 * @value: the counter's value.  A counter overflows when it wraps past 2^64, on
 *	each CPU separately, so set it to minus the threshold
 * @long_reset: value that kdtl_restart() loads after an overflow that paused
 * @short_reset: value that is loaded at once after any other overflow
 * @random_mask: with KDTL_COUNTER_RANDOM, a random number of these bits is taken
 *	off a reset value; ignored without
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
 * @id: the sets become active in the order of their ids, and around
 * @timeout: ns after which the next set takes over; 0: never.  It is rounded up to
 *	the timer's resolution, and is at least 100 us and at most half of KTIME_MAX; the
 *	value that it has then is returned here
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
 * @active_now: the set is active on the CPU, or on any CPU
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
 * @KDTL_MSG_AUX: there is new data: aux.offset, .size and .flags
 *	(PERF_AUX_FLAG_*)
 * @KDTL_MSG_LOST: lost.count entries were lost before position lost.offset
 * @KDTL_MSG_OVERFLOW: the counters overflow.counters of the set overflowed at once
 * @KDTL_MSG_SET_SWITCH: the set kdtl_msg.set took over from set_switch.from
 * @KDTL_MSG_CPU: the CPU is logged from now on, or not any more: cpu_state.online;
 *	cpu_state.error is 0, or why a CPU that is online is not logged
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

/**
 * struct kdtl_aux_info - a CPU's AUX area at a glance
 * @source: name of the session's source; valid until the session is closed
 * @head: position of the writer in bytes, free running
 * @tail: position of the reader in bytes, free running
 * @size: size of the area in bytes
 * @watermark: unread bytes that wake the reader
 * @produced: entries that the source produced for this session since kdtl_load()
 * @consumed: entries given back with kdtl_aux_consume()
 * @lost: entries that found no room, or were overwritten; with KDTL_SESSION_RAW, how often
 *	the PMU told that data is missing
 * @unread: entries that can be read
 * @filtered: entries that were counted but not stored, see struct kdtl_config::min_wait.
 *	They are not part of @produced, as if the session's mask had left them out
 * @tb_freq: ticks per second of the entries' time base
 * @tb_boot: the time base's value at boot
 * @online: the CPU is logged, or will be when the session is started; false as well
 *	if it is online and cannot be logged, see KDTL_MSG_CPU
 * @tasks: the entries name Linux tasks: kdtl_entry_pid(), kdtl_entry_comm() and
 *	kdtl_task_at() are meaningful
 * @stolen: an entry's wait is time in which a hypervisor had the CPU
 * @idle: the source tells when a CPU becomes idle, to sessions whose mask has KDTL_MASK_IDLE
 *
 * @produced is the sum of @consumed, @lost and @unread, in every answer.  In a session
 * with KDTL_SESSION_RAW there are no entries, so @produced, @consumed and @unread are 0,
 * and so is @tb_freq.
 *
 * For all CPUs, the counts of entries and the positions are sums (so @head minus @tail is
 * still the number of unread bytes), @online holds if it does for any of them, and the
 * others are the same for each CPU.
 */
struct kdtl_aux_info {
	const char *source;
	u64	head;
	u64	tail;
	u64	size;
	u64	watermark;
	u64	produced;
	u64	consumed;
	u64	lost;
	u64	unread;
	u64	filtered;
	u64	tb_freq;
	u64	tb_boot;
	bool	online;
	bool	tasks;
	bool	stolen;
	bool	idle;
};

struct kdtl_session *__kdtl_session_create(const struct kdtl_session_attr *attr,
					   struct module *owner);

/**
 * kdtl_session_create() - create a session
 * @attr: its attributes
 *
 * The session holds the source's module.  If the source is not there, its module is
 * loaded by the alias "kdtl-pmu-" and its name, or any source's by the alias "kdtl-pmu",
 * if modprobe finds it.  AUX areas are not allocated yet, but
 * the memory that they will take on the CPUs that are online now is checked
 * against the module parameter max_session_mb.
 *
 * The session belongs to the module that calls this, and must be closed before the
 * module goes.  kdtl closes one that was forgotten, see kdtl_session_close().
 *
 * The caller's completion (@attr->done) is completed on every wake-up, even if
 * nobody waits, until kdtl_session_close() returns, and never after that.  At
 * most one count of it is the session's: a wake-up replaces the count of the last
 * one if it is still there.  kdtl_session_close() takes it back, so that the completion
 * can be used for the next session, unless somebody slept in wait_for_completion()
 * when the wake-up came.
 *
 * perfmon2: pfmk_create_context().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * the session, or ERR_PTR
 * * -EINVAL: pages are not a power of two or above 2^20, the mask, the flags or the message
 *   types have unknown bits, there is a config without KDTL_SESSION_RAW, the watermark is
 *   above the area's size, the CPU set has no possible CPU, @attr->done was not initialised, as
 *   far as that can be told (it is all zeros), KDTL_SESSION_NO_AUX comes with what needs an
 *   area: pages, a watermark, a min_wait or KDTL_SESSION_OVERWRITE, or KDTL_SESSION_RAW with
 *   what needs entries, or without a name (a line in the log says which)
 * * -ENODEV: there is no such source, or none at all, also after modprobe was asked for
 *   one
 * * -EOPNOTSUPP: the source distinguishes none of the mask's kinds; or, with
 *   KDTL_SESSION_RAW, the PMU has no AUX area, or this kernel's perf gives none to kernel
 *   events (a line in the log)
 * * -EBUSY: a KDTL_SESSION_RAW session on the PMU has another area or config
 * * -ENOMEM: memory is short, or max_session_mb is exceeded (a line in the log)
 * * the error of the source's attach(), for instance -EBUSY if somebody else owns
 *   the hypervisor's log
 */
static __always_inline struct kdtl_session *
kdtl_session_create(const struct kdtl_session_attr *attr)
{
	return __kdtl_session_create(attr, THIS_MODULE);
}

void kdtl_session_close(struct kdtl_session *s);

const struct cpumask *kdtl_session_cpus(const struct kdtl_session *s);

/**
 * kdtl_for_each_cpu() - iterate over the CPUs on which a session may be loaded
 * @cpu: cursor, ``int``
 * @s: the session
 *
 * Context: any.
 */
#define kdtl_for_each_cpu(cpu, s)	for_each_cpu(cpu, kdtl_session_cpus(s))

int kdtl_load(struct kdtl_session *s, const struct cpumask *cpus);
int kdtl_unload(struct kdtl_session *s);
int kdtl_start(struct kdtl_session *s);
int kdtl_stop(struct kdtl_session *s);
int kdtl_restart(struct kdtl_session *s);

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

ssize_t kdtl_read(struct kdtl_session *s, struct kdtl_msg *msg, size_t size,
		  bool noblock);
int kdtl_wait(struct kdtl_session *s, long timeout);

ssize_t kdtl_aux_peek(struct kdtl_session *s, int cpu, const void **span);
int kdtl_aux_gap(struct kdtl_session *s, int cpu, size_t *at, u64 *lost);
int kdtl_aux_consume(struct kdtl_session *s, int cpu, size_t bytes);
ssize_t kdtl_aux_snapshot(struct kdtl_session *s, int cpu, void *buf, size_t len,
			  u64 *missed);
int kdtl_aux_info(struct kdtl_session *s, int cpu, struct kdtl_aux_info *info);
int kdtl_aux_mmap(struct kdtl_session *s, int cpu, struct vm_area_struct *vma);
void kdtl_mmap_flags(struct vm_area_struct *vma);

/* The simple form: kdtl runs the reader. */

/**
 * struct kdtl_span - entries of a CPU, for kdtl_reader::span()
 * @session: the session
 * @cpu: the CPU in whose area the entries lie
 * @entries: the first entry; the entries are one array, in the area itself
 * @nr: number of entries
 * @lost: number of entries that were lost just before the first one
 * @info: the CPU's positions and numbers, with the entries still unread; and the time
 *	base, for kdtl_ticks_to_ns()
 *
 * The span and its entries are valid until span() returns.  A loss ends a span, so @lost
 * is exact: no entry is missing inside.  Losses after a CPU's last entry are in no span,
 * but in @info->lost of a later one and in kdtl_aux_info().
 */
struct kdtl_span {
	struct kdtl_session		*session;
	int				cpu;
	const struct kdtl_entry		*entries;
	size_t				nr;
	u64				lost;
	const struct kdtl_aux_info	*info;
};

/**
 * kdtl_span_for_each_entry() - iterate over the entries of a span
 * @e: cursor, ``const struct kdtl_entry *``
 * @span: ``const struct kdtl_span *``
 *
 * Context: any.
 */
#define kdtl_span_for_each_entry(e, span)				\
	for ((e) = (span)->entries; (e) < (span)->entries + (span)->nr; (e)++)

/* kdtl_reader::interval_ms if it is 0. */
#define KDTL_DEFAULT_INTERVAL_MS	100

/**
 * struct kdtl_reader - a reader that kdtl runs, for kdtl_session_open()
 * @span: called for each span of unread entries, which go back to the writer
 *	afterwards
 * @round: called after the spans of all CPUs, also if there were none; may be NULL.
 *	Returns the longest time until the next look, in ms; 0: @interval_ms
 * @data: argument of @span and @round
 * @interval_ms: longest time between two looks; 0: KDTL_DEFAULT_INTERVAL_MS.  A
 *	watermark of unread entries, or a loss, makes kdtl look at once
 * @name: of the thread; NULL: "kdtl_reader"
 * @fifo: the thread is a real-time one, see sched_set_fifo()
 * @nice: the nice value of the thread without @fifo
 * @wq: run on this workqueue, not in a thread of its own; the caller destroys it only
 *	after kdtl_session_close()
 *
 * @span and @round are called in task context, may sleep, and are never called at the
 * same time.  They may call other verbs, but neither kdtl_session_close() nor
 * kdtl_flush() for their own session, nor for that of another reader if it waits for this
 * one.  They may be called before kdtl_session_open()
 * has returned, so they use the session that they are given.
 */
struct kdtl_reader {
	void			(*span)(const struct kdtl_span *span, void *data);
	unsigned int		(*round)(struct kdtl_session *s, void *data);
	void			*data;
	unsigned int		interval_ms;
	const char		*name;
	bool			fifo;
	int			nice;
	struct workqueue_struct	*wq;
};

struct kdtl_session *__kdtl_session_open(const struct kdtl_session_attr *attr,
					 const struct kdtl_reader *reader,
					 struct module *owner);

/**
 * kdtl_session_open() - create, load and start a session, and run its reader
 * @attr: its attributes
 * @reader: what to call; kdtl copies it
 *
 * As kdtl_session_create(), kdtl_load() and kdtl_start(), but the session comes with a
 * reader: a thread that kdtl runs, or a work item.  It looks at all CPUs when one of them
 * has a watermark of unread entries or has lost some, and at least every
 * @reader->interval_ms.  It is the session's only reader, so kdtl_aux_peek(),
 * kdtl_aux_consume() and kdtl_merge_create() are refused with -EBUSY.  All other verbs
 * work as usual, also @attr->done and @attr->wake.  kdtl_session_close() ends the
 * reader.
 *
 * If it fails, @reader was not called, and nothing is left.
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * the session, or ERR_PTR
 * * -EINVAL: @reader is NULL or has no span(), its nice value is out of range or comes
 *   with fifo, or it has both a workqueue and properties of a thread; or the session is
 *   in overwrite mode or only counts (a line in the log says which)
 * * -EOPNOTSUPP: the session is raw
 * * -EINTR: the caller was killed
 * * the errors of kdtl_session_create(), kdtl_load() and kdtl_start()
 */
static __always_inline struct kdtl_session *
kdtl_session_open(const struct kdtl_session_attr *attr, const struct kdtl_reader *reader)
{
	return __kdtl_session_open(attr, reader, THIS_MODULE);
}

int kdtl_flush(struct kdtl_session *s);

/*
 * Reading the entries of all CPUs in the order of time, while logging goes on:
 *
 *	kdtl_merge_sync(m);			take all entries up to now
 *	while ((e = kdtl_merge_next(m)))	times never go back
 *		...			until the next sync, e is valid
 */
struct kdtl_merge;	/* opaque */

struct kdtl_merge *kdtl_merge_create(struct kdtl_session *s);
void kdtl_merge_destroy(struct kdtl_merge *m);
int kdtl_merge_sync(struct kdtl_merge *m);
const struct kdtl_entry *kdtl_merge_next(struct kdtl_merge *m);
int kdtl_merge_cpu(const struct kdtl_merge *m);
u64 kdtl_merge_lost(const struct kdtl_merge *m);
u64 kdtl_merge_late(const struct kdtl_merge *m);

/**
 * kdtl_ticks_to_ns() - convert a length of time
 * @info: from kdtl_aux_info(), for any CPU of the session
 * @ticks: ticks of the entries' time base
 *
 * Context: any.
 * Return: nanoseconds; U64_MAX if they take more than 64 bits, as for a difference of
 * two times that went below 0; 0 for a session with KDTL_SESSION_RAW, which has no time
 * base.
 */
static inline u64 kdtl_ticks_to_ns(const struct kdtl_aux_info *info, u64 ticks)
{
	u64 sec;
	u32 rest;

	if (info->tb_freq == NSEC_PER_SEC)
		return ticks;
	if (!info->tb_freq)
		return 0;
	/* mul_u64_u32_div() of x86 traps where the result has more than 64 bits. */
	sec = div_u64_rem(ticks, (u32)info->tb_freq, &rest);
	if (sec >= U64_MAX / NSEC_PER_SEC)
		return U64_MAX;
	return sec * NSEC_PER_SEC + div_u64((u64)rest * NSEC_PER_SEC, (u32)info->tb_freq);
}

/**
 * struct kdtl_timebase - a session's time base beside the kernel's clocks
 * @ticks: the time base at the last kdtl_timebase_sync()
 * @mono: CLOCK_MONOTONIC at that moment, in ns
 * @boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in ns
 * @real: CLOCK_REALTIME minus CLOCK_MONOTONIC, in ns
 * @mult: ns of CLOCK_MONOTONIC per tick, times 2^32
 * @error: ns by which the clocks and the time base may have been read apart: less than
 *	100 usually, more if a hypervisor took the CPU away each time
 */
struct kdtl_timebase {
	u64	ticks;
	u64	mono;
	s64	boot;
	s64	real;
	u64	mult;
	u64	error;
	/* private: */
	struct kdtl_timebase_point {
		u64	ticks;
		u64	mono;
		u64	error;
	} from, mid;
};

int kdtl_timebase_sync(struct kdtl_session *s, struct kdtl_timebase *tb);

/**
 * kdtl_entry_mono_ns() - the time of the dispatch by CLOCK_MONOTONIC
 * @e: entry
 * @tb: from kdtl_timebase_sync(), which says how exact it is
 *
 * Context: any.
 * Return: as ktime_get_ns() would have at the dispatch.
 */
static inline u64 kdtl_entry_mono_ns(const struct kdtl_entry *e,
				     const struct kdtl_timebase *tb)
{
	const s64 after = kdtl_entry_time(e) - tb->ticks;

	if (after < 0)
		return tb->mono - mul_u64_u64_shr(-after, tb->mult, 32);
	return tb->mono + mul_u64_u64_shr(after, tb->mult, 32);
}

/**
 * kdtl_entry_boot_ns() - the time of the dispatch by CLOCK_BOOTTIME
 * @e: entry
 * @tb: from kdtl_timebase_sync()
 *
 * Context: any.
 * Return: as ktime_get_boottime_ns() would have at the dispatch.
 */
static inline u64 kdtl_entry_boot_ns(const struct kdtl_entry *e,
				     const struct kdtl_timebase *tb)
{
	return kdtl_entry_mono_ns(e, tb) + tb->boot;
}

/**
 * kdtl_entry_real_ns() - the time of the dispatch by the wall clock
 * @e: entry
 * @tb: from kdtl_timebase_sync()
 *
 * Context: any.
 * Return: as ktime_get_real_ns() would have at the dispatch.
 */
static inline u64 kdtl_entry_real_ns(const struct kdtl_entry *e,
				     const struct kdtl_timebase *tb)
{
	return kdtl_entry_mono_ns(e, tb) + tb->real;
}

#endif /* _LINUX_KDTL_H */
