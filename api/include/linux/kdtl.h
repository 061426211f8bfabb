/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl - a kernel-internal API for dispatch trace logs
 *
 * A dispatch trace log (DTL) entry says: this processor was given to that
 * runner at this time, after waiting this long, for this reason.  Kernel
 * threads and modules read the entries of every CPU in place.  kdtl runs the thread, and
 * calls the client with each span of entries:
 *
 *	s = kdtl_session_open(&attr, &reader);	choose what to log, and begin
 *	...					kdtl calls reader.span()
 *	kdtl_session_close(s);
 *
 * clients/examples/late.c, which make install puts into share/doc/kdtl/examples, is a
 * complete client, and clients/sampler in the sources a large one.  Most clients need
 * only this header.  For more, include
 *
 *	<linux/kdtl_verbs.h>	to read in your own thread: create, load, start, wait, peek, merge
 *	<linux/kdtl_counters.h>	to count, to switch event sets, and for messages
 *	<linux/kdtl_answers.h>	to find out who the tasks of entries were, and who had a CPU
 *	<linux/kdtl_hist.h>	for histograms of waits, and quantiles
 *	<linux/kdtl_pmu.h>	for a driver that makes entries
 *	<linux/kdtl_probes.h>	to look at tracepoints that are not exported
 *
 * The functions have manual pages, which "man 9 kdtl" lists, with the text above their
 * definitions in api/.  A module that uses them needs MODULE_IMPORT_NS(KDTL_NS).
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

/* struct kdtl_entry with its accessors kdtl_entry_*(), the reasons, and KDTL_MASK_*. */
#include <uapi/linux/kdtl.h>

struct workqueue_struct;

/* The symbol namespace of kdtl's exports. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* v6.13, "module: Convert symbol namespace to string literal" */
#define KDTL_NS		KDTL
#else
#define KDTL_NS		"KDTL"
#endif

struct kdtl_session;	/* opaque */
struct kdtl_place;	/* <linux/kdtl_verbs.h> */

/* AUX pages per CPU of a session that names no number: 256 KiB. */
#define KDTL_DEFAULT_AUX_PAGES	(SZ_256K / PAGE_SIZE)

/* 4 GiB with pages of 4 KiB, about as far as a watermark of 32 bits reaches. */
#define KDTL_MAX_PAGES		1048576U

/* kdtl_session_attr::flags */
#define KDTL_SESSION_OVERWRITE	0x1	/* keep the newest entries, see kdtl_aux_snapshot() */
#define KDTL_SESSION_PAUSE	0x2	/* an overflow that notifies pauses the CPU */
#define KDTL_SESSION_NO_AUX	0x4	/* only count: no area, no entries to read */
#define KDTL_SESSION_RAW	0x8	/* the bytes of any of perf's PMUs, no entries */

/**
 * struct kdtl_session_attr - attributes of a session
 * @pmu: name of the source ("kdtl_sched", "kdtl_vpa"), or of the PMU whose entries it
 *	has ("vpa_dtl"); NULL: the source of dispatches with the highest rating.  With
 *	KDTL_SESSION_RAW, perf's name of a PMU ("intel_pt")
 * @cpus: CPUs on which the session may be loaded; NULL: all.  Isolated CPUs
 *	(isolcpus=, nohz_full=, isolated cpusets) are loaded only if this mask, or the
 *	mask of kdtl_load(), names them
 * @aux_pages: AUX pages per CPU, a power of two, at most 2^20; 0: KDTL_DEFAULT_AUX_PAGES,
 *	or none with KDTL_SESSION_NO_AUX
 * @msg_pages: pages for messages, a power of two, at most 2^20; 0: no messages
 * @msg_types: the types of messages to post, 1 << &enum kdtl_msg_type; 0: all.
 *	KDTL_MSG_END is always posted
 * @watermark: unread bytes of a CPU that wake the reader; 0: half the area.  If the area
 *	never holds that many bytes in whole entries, the first loss wakes the reader
 * @mask: KDTL_MASK_*, the dispatches to log; 0: KDTL_MASK_ALL.
 *	KDTL_MASK_IDLE adds an entry each time a CPU becomes idle, if the source has them,
 *	see kdtl_aux_info::idle
 * @flags: KDTL_SESSION_*
 * @period: longest time in ns until entries below the watermark wake the reader;
 *	a source that has to be polled is polled at least this often.  0: no
 *	bound.  Values below 50000 become 50000.  Dispatches of the task that last consumed
 *	the CPU's entries do not wake it until another entry does, or it would never sleep.
 *	With KDTL_SESSION_RAW, perf_event_attr::sample_period of the events, which some PMUs
 *	need
 * @min_wait: in ns; a dispatch whose runner waited less is counted
 *	(kdtl_aux_info::filtered) but not stored, so it takes no room.  0: all are stored,
 *	U64_MAX: none.  The wait of a throttled runner is kdtl_entry_throttled(); that of
 *	an idle CPU is 0.  An entry whose wait is longer than an entry can say is stored,
 *	unless @min_wait is U64_MAX
 * @config: perf_event_attr::config of a KDTL_SESSION_RAW session's events
 * @place: the caller's memory for the areas, for a client that keeps them across a
 *	reset; NULL: kdtl allocates them. Only with KDTL_SESSION_OVERWRITE, without
 *	KDTL_SESSION_RAW, and for sources that leave setup_aux() to kdtl. Such areas cannot
 *	be mapped by kdtl_aux_mmap()
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
 * that the PMU writes to its AUX area.  Masks, counters, event sets, merges, gaps and
 * kdtl_session_open() need entries, so they are refused.  Each session has events of its own;
 * many PMUs allow only one on a CPU, and then kdtl_load() of a second session returns -EBUSY.
 * If there is no room, the PMU is off until the reader has consumed, and the next KDTL_MSG_AUX
 * has PERF_AUX_FLAG_TRUNCATED; how much was lost is not known.
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
	const struct kdtl_place	*place;
	struct completion	*done;
	void			(*wake)(void *data);
	void			*wake_data;
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
 *	the PMU reported missing data
 * @unread: entries that can be read
 * @filtered: entries that were counted but not stored, see kdtl_session_attr::min_wait.
 *	They are not part of @produced, as if the session's mask had left them out
 * @tb_freq: ticks per second of the entries' time base
 * @tb_boot: the time base's value at boot
 * @online: the CPU is logged, or will be when the session is started; also false for
 *	an online CPU that cannot be logged, see KDTL_MSG_CPU
 * @moves: how often the CPU went offline or came online, since the session was created, while
 *	it was loaded there
 * @went: when it last went offline, in ticks of the time base; no entry from before is newer.
 *	0: never
 * @came: when it last came online; no entry from after that is older.  0: never
 * @tasks: the entries name Linux tasks: kdtl_entry_pid(), kdtl_entry_comm() and
 *	kdtl_task_at() are meaningful
 * @stolen: an entry's wait is time in which a hypervisor had the CPU
 * @interrupts: an entry's wait is time in which an interrupt or a softirq had the CPU
 * @idle: the source logs when a CPU becomes idle, for sessions whose mask has KDTL_MASK_IDLE
 *
 * @produced is always the sum of @consumed, @lost and @unread.  A session with
 * KDTL_SESSION_RAW has no entries, so its @produced, @consumed, @unread and @tb_freq
 * are 0.
 *
 * For all CPUs, the counts of entries and the positions are sums (so @head minus @tail is
 * still the number of unread bytes), and so is @moves; @went and @came are the latest times;
 * @online is true if it is true for any CPU, and the other fields are the same for each CPU.
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
	u64	moves;
	u64	went;
	u64	came;
	bool	online;
	bool	tasks;
	bool	stolen;
	bool	interrupts;
	bool	idle;
};

/**
 * struct kdtl_span - entries of a CPU, for kdtl_reader::span()
 * @session: the session
 * @cpu: the CPU in whose area the entries lie
 * @entries: the first entry; the entries are one array, in the area itself
 * @nr: number of entries
 * @lost: number of entries that were lost just before the first one
 * @info: the CPU's positions and numbers, in which these entries still count as unread;
 *	and the time base, for kdtl_ticks_to_ns()
 *
 * The span and its entries are valid until span() returns.  A loss ends a span, so @lost
 * is exact: no entry is missing inside.  A loss after a CPU's last entry is in no span, but
 * kdtl_aux_info() and a later span's @info->lost count it.
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

/* The default of kdtl_reader::interval_ms. */
#define KDTL_DEFAULT_INTERVAL_MS	100

/**
 * struct kdtl_reader - a reader that kdtl runs, for kdtl_session_open()
 * @span: called for each span of unread entries, which are given back to the writer
 *	when it returns
 * @round: called after the spans of all CPUs, also if there were none; may be NULL.
 *	Returns the longest time until the next look, in ms; 0: @interval_ms
 * @data: argument of @span and @round
 * @interval_ms: longest time between two looks; 0: KDTL_DEFAULT_INTERVAL_MS.  A
 *	watermark of unread entries, or a loss, makes kdtl look at once
 * @name: name of the thread; NULL: "kdtl_reader"
 * @fifo: make it a real-time thread, see sched_set_fifo()
 * @nice: nice value of the thread, without @fifo
 * @wq: run on this workqueue instead of in a thread of its own; destroy it only after
 *	kdtl_session_close()
 *
 * @span and @round are called in task context, may sleep, and are never called at the
 * same time.  They may call other verbs, except kdtl_session_close() and kdtl_flush() on
 * their own session, or on that of another reader which waits for this one.  They may be
 * called before kdtl_session_open() has returned, so they must use the session that they
 * are given.
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
 * @reader: what to call; kdtl copies it.  NULL: call nothing; only for a session with
 *	KDTL_SESSION_OVERWRITE, for kdtl_aux_snapshot(), or with KDTL_SESSION_NO_AUX, which
 *	only counts
 *
 * Does what kdtl_session_create(), kdtl_load() and kdtl_start() do, and gives the session
 * a reader: a thread that kdtl runs, or a work item.  The reader looks at all CPUs when
 * one of them has a watermark of unread entries or has lost some, and at least every
 * @reader->interval_ms.  It is the session's only reader, so kdtl_aux_peek(),
 * kdtl_aux_consume() and kdtl_merge_create() are refused with -EBUSY.  All other verbs,
 * @attr->done and @attr->wake work as usual.  kdtl_session_close() ends the reader.
 *
 * If it fails, @reader was not called, and nothing is left.
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * the session, or ERR_PTR
 * * -EINVAL: @reader has no span(), its nice value is out of range or comes with fifo, or
 *   it has both a workqueue and properties of a thread; or it is NULL although the session
 *   keeps unread entries, or not NULL although the session is in overwrite mode or only
 *   counts (a line in the log says which)
 * * -EOPNOTSUPP: the session is raw
 * * -EINTR: the caller was killed
 * * the errors of kdtl_session_create(), kdtl_load() and kdtl_start()
 */
static __always_inline struct kdtl_session *
kdtl_session_open(const struct kdtl_session_attr *attr, const struct kdtl_reader *reader)
{
	return __kdtl_session_open(attr, reader, THIS_MODULE);
}

void kdtl_session_close(struct kdtl_session *s);
int kdtl_flush(struct kdtl_session *s);
int kdtl_aux_info(struct kdtl_session *s, int cpu, struct kdtl_aux_info *info);
void *kdtl_snapshot_alloc(size_t size);
ssize_t kdtl_aux_snapshot(struct kdtl_session *s, int cpu, void *buf, size_t len,
			  u64 *missed);

/**
 * kdtl_for_each_entry() - iterate over the whole entries of a span
 * @e: cursor, ``const struct kdtl_entry *``
 * @span: the span of kdtl_aux_peek(), or the buffer that kdtl_aux_snapshot() has filled
 * @len: its length in bytes
 *
 * Context: any.
 */
#define kdtl_for_each_entry(e, span, len)				\
	for ((e) = (const struct kdtl_entry *)(span);			\
	     (const char *)((e) + 1) <= (const char *)(span) + (len);	\
	     (e)++)

const struct cpumask *kdtl_session_cpus(const struct kdtl_session *s);

/**
 * kdtl_for_each_cpu() - iterate over the CPUs on which a session may be loaded
 * @cpu: cursor, ``int``
 * @s: the session
 *
 * Context: any.
 */
#define kdtl_for_each_cpu(cpu, s)	for_each_cpu(cpu, kdtl_session_cpus(s))

void kdtl_isolated_cpus(struct cpumask *cpus);

/**
 * kdtl_ticks_to_ns() - convert a length of time
 * @info: from kdtl_aux_info(), for any CPU of the session
 * @ticks: ticks of the entries' time base
 *
 * Context: any.
 * Return: nanoseconds; U64_MAX if they need more than 64 bits, as does a difference of
 * two times that wrapped below 0; 0 for a session with KDTL_SESSION_RAW, which has no
 * time base.
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

const char *kdtl_dispatch_reason_name(unsigned int reason);
const char *kdtl_preempt_reason_name(unsigned int reason);
const char *kdtl_task_reason_name(unsigned int reason);
const char *kdtl_task_preempt_name(unsigned int reason);

#endif /* _LINUX_KDTL_H */
