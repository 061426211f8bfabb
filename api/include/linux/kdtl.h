/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl - a kernel-internal API for dispatch trace logs
 *
 * A dispatch trace log (DTL) entry says: this processor was given to that
 * runner at this time, after waiting this long, for this reason.  Kernel
 * threads and modules read the entries of every CPU in place:
 *
 *	s = kdtl_session_create(&attr);		what to log, how much memory
 *	kdtl_load(s, NULL);			bind to the CPUs
 *	kdtl_start(s);
 *	while (kdtl_wait(s, timeout) ...)	sleep until it is worth reading
 *		for_each_cpu(cpu, mask) {
 *			len = kdtl_aux_peek(s, cpu, &span);
 *			kdtl_for_each_entry(e, span, len)
 *				...
 *			kdtl_aux_consume(s, cpu, len);
 *		}
 *	kdtl_session_close(s);
 *
 * clients/sampler is a complete client, written to be copied.  The verbs are
 * documented where they are defined, in api/; Documentation/ has the reference.
 *
 * A module that uses any of this says MODULE_IMPORT_NS(KDTL_NS).
 */
#ifndef _LINUX_KDTL_H
#define _LINUX_KDTL_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/math64.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/types.h>
#include <linux/version.h>

#include <uapi/linux/kdtl.h>
#include <uapi/linux/perf_event.h>

struct vm_area_struct;

/* The symbol namespace of all that kdtl exports. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* v6.13, "module: Convert symbol namespace to string literal" */
#define KDTL_NS		KDTL
#else
#define KDTL_NS		"KDTL"
#endif

/* ------------------------------------------------------------------ entries */

/*
 * struct kdtl_entry, the reasons and KDTL_MASK_* are in <uapi/linux/kdtl.h>.
 * Accessors: in host byte order, times in ticks of the source's time base.
 */

/**
 * kdtl_entry_cpu() - the CPU that was given away
 * @e: entry
 *
 * Of kdtl_vpa the hypervisor's: a processor of the machine, which may be any
 * number.  Which of this kernel's CPUs it is about says whose area it lies in, see
 * kdtl_merge_cpu() also.
 *
 * Context: any.
 * Return: the CPU.
 */
static inline unsigned int kdtl_entry_cpu(const struct kdtl_entry *e)
{
	return be16_to_cpu(e->processor_id);
}

/**
 * kdtl_entry_time() - when it was
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
 * kdtl_entry_ready() - how long it was ready before it came into that queue
 * @e: entry
 *
 * Context: any.
 * Return: ticks.
 */
static inline u32 kdtl_entry_ready(const struct kdtl_entry *e)
{
	return be32_to_cpu(e->ready_to_enqueue_time);
}

/**
 * kdtl_entry_slept() - how long it had slept before it was ready
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
 * kdtl_entry_wait() - how long the runner wanted a CPU and had none
 * @e: entry
 *
 * Context: any.
 * Return: ticks: the time in the queue and the time before it, without sleep.
 */
static inline u64 kdtl_entry_wait(const struct kdtl_entry *e)
{
	return (u64)kdtl_entry_queued(e) + kdtl_entry_ready(e);
}

/**
 * kdtl_entry_dispatch_reason() - why the runner was put on
 * @e: entry
 *
 * Context: any.
 * Return: enum kdtl_dispatch_reason, or what a later PAPR defines.
 */
static inline unsigned int kdtl_entry_dispatch_reason(const struct kdtl_entry *e)
{
	return e->dispatch_reason;
}

/**
 * kdtl_entry_preempt_reason() - why the CPU's last runner was taken off
 * @e: entry
 *
 * Context: any.
 * Return: enum kdtl_preempt_reason, or what a later PAPR defines.
 */
static inline unsigned int kdtl_entry_preempt_reason(const struct kdtl_entry *e)
{
	return e->preempt_reason;
}

/**
 * kdtl_entry_pid() - who was dispatched; kdtl_sched only
 * @e: entry
 *
 * Context: any.
 * Return: the pid in the initial namespace.
 */
static inline pid_t kdtl_entry_pid(const struct kdtl_entry *e)
{
	return (pid_t)(be64_to_cpu(e->fault_addr) >> 32);
}

/**
 * kdtl_entry_prev_pid() - who had the CPU before; kdtl_sched only
 * @e: entry
 *
 * Context: any.
 * Return: the pid in the initial namespace; 0: the idle task.
 */
static inline pid_t kdtl_entry_prev_pid(const struct kdtl_entry *e)
{
	return (pid_t)(u32)be64_to_cpu(e->fault_addr);
}

/**
 * kdtl_entry_comm() - the name of who was dispatched; kdtl_sched only
 * @e: entry
 *
 * Context: any.
 * Return: TASK_COMM_LEN bytes inside @e, always terminated.
 */
static inline const char *kdtl_entry_comm(const struct kdtl_entry *e)
{
	/* Not &e->srr0: of that FORTIFY_SOURCE would allow 8 bytes. */
	return (const char *)e + offsetof(struct kdtl_entry, srr0);
}

const char *kdtl_dispatch_reason_name(unsigned int reason);
const char *kdtl_preempt_reason_name(unsigned int reason);

/**
 * kdtl_for_each_entry() - iterate over the whole entries of a span
 * @e: cursor, ``const struct kdtl_entry *``
 * @span: what kdtl_aux_peek() pointed at
 * @len: its length in bytes
 *
 * Context: any.
 */
#define kdtl_for_each_entry(e, span, len)				\
	for ((e) = (const struct kdtl_entry *)(span);			\
	     (const char *)((e) + 1) <= (const char *)(span) + (len);	\
	     (e)++)

/* ----------------------------------------------------------------- sessions */

struct kdtl_session;	/* opaque */

/* kdtl_session_attr::flags */
#define KDTL_SESSION_OVERWRITE	0x1	/* keep the newest, see kdtl_aux_snapshot() */
#define KDTL_SESSION_PAUSE	0x2	/* an overflow that notifies pauses the CPU */

/**
 * struct kdtl_session_attr - what a session is to be
 * @pmu: source by name ("kdtl_sched", "kdtl_vpa"); NULL: the best one there is
 * @cpus: CPUs it may be loaded on; NULL: all
 * @aux_pages: AUX pages per CPU, a power of two
 * @msg_pages: pages for messages, a power of two, or 0: none
 * @watermark: unread bytes of a CPU that wake the reader; 0: half the area; of
 *	more than the whole entries that fit it is the first loss that wakes
 * @mask: KDTL_MASK_*, which dispatches set 0 logs; 0: all
 * @flags: KDTL_SESSION_*
 * @period: of set 0, see struct kdtl_config
 * @done: completed on every wake-up, until kdtl_session_close() returns;
 *	NULL: the session's own, inside
 * @wake: called on every wake-up, until kdtl_session_close() returns, with
 *	interrupts off and a raw spinlock held: for those who cannot sleep in
 *	kdtl_wait(), to queue an irq_work of theirs; NULL: nothing is
 * @wake_data: for @wake
 *
 * Zero what you do not set.
 */
struct kdtl_session_attr {
	const char		*pmu;
	const struct cpumask	*cpus;
	unsigned int		aux_pages;
	unsigned int		msg_pages;
	unsigned int		watermark;
	u32			mask;
	u32			flags;
	u64			period;
	struct completion	*done;
	void			(*wake)(void *data);
	void			*wake_data;
};

/**
 * enum kdtl_counter - what is counted, per CPU and event set
 * @KDTL_CTR_ENTRIES: entries that the source had, lost or not
 * @KDTL_CTR_CEDE: of these, dispatches after sleep
 * @KDTL_CTR_PREEMPT: after preemption
 * @KDTL_CTR_FAULT: after a page fault
 * @KDTL_CTR_UNKNOWN: the source did not tell, or lost them itself
 * @KDTL_CTR_QUEUED: sum of enqueue_to_dispatch_time, in ticks
 * @KDTL_CTR_READY: sum of ready_to_enqueue_time, in ticks
 * @KDTL_CTR_SLEPT: sum of waiting_to_ready_time, in ticks
 * @KDTL_CTR_BYTES: bytes written to the AUX area
 * @KDTL_CTR_LOST: entries that found no room, or that the source lost
 * @KDTL_CTR_WAKEUPS: wake-ups of the reader on this CPU's behalf
 * @KDTL_CTR_ENABLED: ns that the session was started
 * @KDTL_CTR_RUNNING: ns of these that the set was active and not paused
 * @KDTL_NR_COUNTERS: how many there are
 */
enum kdtl_counter {
	KDTL_CTR_ENTRIES,
	KDTL_CTR_CEDE,
	KDTL_CTR_PREEMPT,
	KDTL_CTR_FAULT,
	KDTL_CTR_UNKNOWN,
	KDTL_CTR_QUEUED,
	KDTL_CTR_READY,
	KDTL_CTR_SLEPT,
	KDTL_CTR_BYTES,
	KDTL_CTR_LOST,
	KDTL_CTR_WAKEUPS,
	KDTL_CTR_ENABLED,
	KDTL_CTR_RUNNING,
	KDTL_NR_COUNTERS,
};

/* A vector of requests has at most so many elements, else -E2BIG. */
#define KDTL_MAX_REQUESTS	256

/**
 * struct kdtl_config - what an event set logs, for kdtl_write_config()
 * @set: id
 * @mask: KDTL_MASK_*; 0: all
 * @period: longest time in ns that entries wait for the watermark: then the
 *	reader is woken for what there is, and a source that has to be polled
 *	is polled at least as often; 0: no bound. Below 50000 it becomes 50000
 * @error: set if this element is why the call failed
 */
struct kdtl_config {
	u16	set;
	u32	mask;
	u64	period;
	int	error;
};

/* kdtl_counter_req::flags */
#define KDTL_COUNTER_NOTIFY	0x1	/* an overflow posts a message */
#define KDTL_COUNTER_RANDOM	0x2	/* resets are lengthened by chance */

/**
 * struct kdtl_counter_req - one counter, for kdtl_{read,write}_counters()
 * @set: id of the event set
 * @counter: &enum kdtl_counter
 * @flags: KDTL_COUNTER_*
 * @cpu: read only: whose; -1: the sum of all
 * @value: 64 bits. A counter that is set to minus a threshold overflows, on
 *	each CPU by itself, when it wraps past 2^64
 * @long_reset: loaded at kdtl_restart() after an overflow that paused
 * @short_reset: loaded at once after any other overflow
 * @random_mask: with KDTL_COUNTER_RANDOM: up to so much is taken off a reset
 * @resets: further counters that this one's overflow resets, 1 << counter
 * @error: set if this element is why the call failed
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
 * @id: sets run in the order of their ids, and around
 * @timeout: ns after which the next set takes over; rounded up to what the
 *	timer can do, the real value comes back; 0: none
 * @overflows: counter overflows after which it does; 0: none. Not both
 * @error: set if this element is why the call failed
 */
struct kdtl_evtset {
	u16	id;
	u64	timeout;
	u32	overflows;
	int	error;
};

/**
 * struct kdtl_evtset_info - what became of a set, for kdtl_getinfo_evtsets()
 * @id: which
 * @cpu: where, each CPU switches by itself; -1: all. Then @runs is the most
 *	of any CPU, @active the sum, @remaining the least
 * @active_now: the set is the CPU's (any CPU's) active one
 * @runs: times that it became active since kdtl_load()
 * @active: ns that it was active and not paused
 * @timeout: the real value
 * @remaining: ns until the next set takes over
 * @overflowed: counters of the last overflow, 1 << counter
 * @error: set if this element is why the call failed
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
 * enum kdtl_msg_type - what a message is about
 * @KDTL_MSG_AUX: there is data: aux.offset, .size and .flags (PERF_AUX_FLAG_*)
 * @KDTL_MSG_LOST: there is a gap: lost.count entries, before position .offset
 * @KDTL_MSG_OVERFLOW: overflow.counters of the set have overflowed, all at once
 * @KDTL_MSG_SET_SWITCH: set_switch.from was followed by kdtl_msg.set
 * @KDTL_MSG_CPU: cpu_state.online: it came or went
 * @KDTL_MSG_END: the session was unloaded: nothing more will come
 */
enum kdtl_msg_type {
	KDTL_MSG_AUX = 1,
	KDTL_MSG_LOST,
	KDTL_MSG_OVERFLOW,
	KDTL_MSG_SET_SWITCH,
	KDTL_MSG_CPU,
	KDTL_MSG_END,
};

/**
 * struct kdtl_msg - a message
 * @type: &enum kdtl_msg_type
 * @size: of the message in bytes
 * @cpu: where; -1 for KDTL_MSG_END
 * @time: local_clock() when it was posted, in ns
 * @dropped: messages before this one that found the queue full
 * @set: the CPU's active set
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
		} cpu_state;
	};
};

/**
 * struct kdtl_aux_info - a CPU's AUX area at a glance
 * @source: the session's, by name; valid until it is closed
 * @head: where the writer is: free running, in bytes
 * @tail: where the reader is: free running, in bytes
 * @size: of the area, in bytes
 * @watermark: in bytes
 * @produced: entries that the source had for this session since kdtl_load()
 * @consumed: entries given back with kdtl_aux_consume()
 * @lost: entries that found no room, or were overwritten
 * @unread: entries that can be read, or of which a part was consumed
 * @tb_freq: ticks per second of the entries' time base
 * @tb_boot: the time base's value at boot
 * @online: the CPU is being logged, or would be if the session were started
 *
 * @produced = @consumed + @lost + @unread, whenever it is looked at.
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
	u64	tb_freq;
	u64	tb_boot;
	bool	online;
};

struct kdtl_session *kdtl_session_create(const struct kdtl_session_attr *attr);
void kdtl_session_close(struct kdtl_session *s);

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
int kdtl_aux_consume(struct kdtl_session *s, int cpu, size_t bytes);
ssize_t kdtl_aux_snapshot(struct kdtl_session *s, int cpu, void *buf, size_t len,
			  u64 *missed);
int kdtl_aux_info(struct kdtl_session *s, int cpu, struct kdtl_aux_info *info);
int kdtl_aux_mmap(struct kdtl_session *s, int cpu, struct vm_area_struct *vma);

/*
 * All CPUs' entries in one order of time, while logging goes on:
 *
 *	kdtl_merge_sync(m);			up to now
 *	while ((e = kdtl_merge_next(m)))	never goes back in time
 *		...
 */
struct kdtl_merge;	/* opaque */

struct kdtl_merge *kdtl_merge_create(struct kdtl_session *s);
void kdtl_merge_destroy(struct kdtl_merge *m);
void kdtl_merge_sync(struct kdtl_merge *m);
const struct kdtl_entry *kdtl_merge_next(struct kdtl_merge *m);
int kdtl_merge_cpu(const struct kdtl_merge *m);

/* Between clients: who notices that something is wrong tells who wants to know. */
int kdtl_alarm_register(struct notifier_block *nb);
int kdtl_alarm_unregister(struct notifier_block *nb);
void kdtl_alarm(const char *what);

/**
 * kdtl_ticks_to_ns() - convert a time span of a session's entries
 * @info: from kdtl_aux_info(), any CPU of the session
 * @ticks: of the entries' time base
 *
 * Context: any.
 * Return: nanoseconds.
 */
static inline u64 kdtl_ticks_to_ns(const struct kdtl_aux_info *info, u64 ticks)
{
	if (info->tb_freq == NSEC_PER_SEC)
		return ticks;
	return mul_u64_u32_div(ticks, NSEC_PER_SEC, (u32)info->tb_freq);
}

#endif /* _LINUX_KDTL_H */
