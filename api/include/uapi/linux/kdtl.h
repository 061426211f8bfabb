/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * kdtl - dispatch trace logs: the entries, and /dev/kdtl
 *
 * Each open file of /dev/kdtl is a session on the CPUs that the program asks for:
 *
 *	fd = open("/dev/kdtl", O_RDWR);
 *	ioctl(fd, KDTL_IOC_SETUP, &attr);	choose what to log
 *	ioctl(fd, KDTL_IOC_START);
 *	read(fd, entries, sizeof(entries));	whole entries
 *	ioctl(fd, KDTL_IOC_STOP);		read() then returns the rest, then 0
 *	close(fd);
 *
 * Without SETUP, START and STOP the first read() or poll() starts to log everything.
 *
 * read() and splice() return the entries of one CPU after the other, each CPU's
 * in the order of time.  They wait until a CPU has a watermark of unread bytes
 * or an entry that is older than the period; with O_NONBLOCK they return the
 * entries that there are.  poll() reports POLLIN when read() would not wait.
 *
 * Opening the device needs CAP_PERFMON, whatever perf_event_paranoid says.  The
 * session's memory is charged to the user who opened it, as pinned memory:
 * RLIMIT_MEMLOCK limits it, unless the user has CAP_IPC_LOCK.
 *
 * A file whose session is for one CPU can be mapped exactly as a perf event can.
 * First the program maps, at offset 0, a struct perf_event_mmap_page and 2^n or
 * no pages of records.  Then it writes aux_offset and aux_size there, and maps
 * the AUX area of kdtl_stream_attr::aux_pages pages.  The records are
 *
 *	PERF_RECORD_AUX			there is new data
 *	PERF_RECORD_LOST_SAMPLES	number of entries that found no room
 *	PERF_RECORD_LOST		number of records that found no room
 *
 * without sample_id.  The kernel publishes aux_head and reads aux_tail at each
 * wake-up, in poll() and in KDTL_IOC_INFO.  With KDTL_STREAM_OVERWRITE the AUX
 * area is mapped read-only and needs no reader; otherwise it is mapped writable.
 */
#ifndef _UAPI_LINUX_KDTL_H
#define _UAPI_LINUX_KDTL_H

#include <asm/byteorder.h>
#include <linux/ioctl.h>
#include <linux/types.h>

/* ------------------------------------------------------------------ entries */

/**
 * struct kdtl_entry - one dispatch, as PAPR lays it out (48 bytes, big-endian)
 * @dispatch_reason: why the runner was dispatched, &enum kdtl_dispatch_reason
 * @preempt_reason: why a runner was preempted, &enum kdtl_preempt_reason
 * @processor_id: the CPU that was given to the runner, as the source numbers it
 * @enqueue_to_dispatch_time: ticks that the runner waited in this CPU's queue; if the runner
 *	was throttled, the ticks that it waited since that ended, or 0 if that is not known
 * @ready_to_enqueue_time: ticks from becoming ready to entering that queue; if the
 *	runner was throttled, the ticks that it was held back
 * @waiting_to_ready_time: ticks that the runner had slept before it became ready
 * @timebase: time of the dispatch, in ticks
 * @fault_addr: depends on the source, see Documentation/
 * @srr0: depends on the source, see Documentation/
 * @srr1: depends on the source, see Documentation/
 *
 * All sources use this layout (PAPR, "Dispatch Trace Log Buffer"), so that one
 * decoder reads them all.  The accessors below return values in the byte order of the
 * machine, and times in ticks of the source's time base.
 */
struct kdtl_entry {
	__u8	dispatch_reason;
	__u8	preempt_reason;
	__be16	processor_id;
	__be32	enqueue_to_dispatch_time;
	__be32	ready_to_enqueue_time;
	__be32	waiting_to_ready_time;
	__be64	timebase;
	__be64	fault_addr;
	__be64	srr0;
	__be64	srr1;
};

#define KDTL_ENTRY_SIZE		48

/* One of an entry's three times with this value may have been longer. */
#define KDTL_TIME_MAX		0xffffffffU

/**
 * enum kdtl_dispatch_reason - why the runner was dispatched; below 128, PAPR's codes
 * @KDTL_DISPATCH_EXTERNAL_INTERRUPT: an external interrupt
 * @KDTL_DISPATCH_FIRMWARE: internal to the firmware
 * @KDTL_DISPATCH_PROD: it was woken. kdtl_sched: it had slept, or is new
 * @KDTL_DISPATCH_DECREMENTER: its timer expired
 * @KDTL_DISPATCH_SYSTEM_RESET: a system reset
 * @KDTL_DISPATCH_FIRMWARE_2: internal to the firmware
 * @KDTL_DISPATCH_CONFERRED: another runner gave it its processor
 * @KDTL_DISPATCH_TIME_SLICE: a new time slice. kdtl_sched: it had been preempted
 * @KDTL_DISPATCH_PAGE_FAULT: its page is present. kdtl_sched: it had slept in a
 *	page fault
 * @KDTL_DISPATCH_EXPROPRIATED: its processor comes back from an adjunct
 * @KDTL_DISPATCH_PRIV_DOORBELL: a privileged doorbell
 * @KDTL_DISPATCH_THROTTLED: kdtl_sched: a limit on CPU time had held it back
 * @KDTL_DISPATCH_IDLE: kdtl_sched: the CPU became idle, see KDTL_MASK_IDLE
 */
enum kdtl_dispatch_reason {
	KDTL_DISPATCH_EXTERNAL_INTERRUPT	= 0,
	KDTL_DISPATCH_FIRMWARE			= 1,
	KDTL_DISPATCH_PROD			= 2,
	KDTL_DISPATCH_DECREMENTER		= 3,
	KDTL_DISPATCH_SYSTEM_RESET		= 4,
	KDTL_DISPATCH_FIRMWARE_2		= 5,
	KDTL_DISPATCH_CONFERRED			= 6,
	KDTL_DISPATCH_TIME_SLICE		= 7,
	KDTL_DISPATCH_PAGE_FAULT		= 8,
	KDTL_DISPATCH_EXPROPRIATED		= 9,
	KDTL_DISPATCH_PRIV_DOORBELL		= 10,
	KDTL_DISPATCH_THROTTLED			= 128,
	KDTL_DISPATCH_IDLE			= 129,
};

/**
 * enum kdtl_preempt_reason - why a runner was preempted; below 128, PAPR's codes
 * @KDTL_PREEMPT_UNUSED: the hypervisor does not report a reason
 * @KDTL_PREEMPT_FIRMWARE: internal to the firmware
 * @KDTL_PREEMPT_CEDE: it gave its processor up. kdtl_sched: it went to sleep, or it was the
 *	idle task
 * @KDTL_PREEMPT_CONFER: it gave its processor to another runner
 * @KDTL_PREEMPT_TIME_SLICE: its time slice ended. kdtl_sched: it was still runnable
 * @KDTL_PREEMPT_MIGRATION: it waits for a page while the partition migrates
 * @KDTL_PREEMPT_PAGE_FAULT: it waits for a page. kdtl_sched: it sleeps in a
 *	page fault
 * @KDTL_PREEMPT_CONFER_ADJUNCT: as CONFER, by an adjunct
 * @KDTL_PREEMPT_HCALL_ADJUNCT: a hypervisor call, by an adjunct
 * @KDTL_PREEMPT_HDEC_ADJUNCT: the hypervisor's timer expired in an adjunct
 * @KDTL_PREEMPT_THROTTLED: kdtl_sched: a limit on CPU time took effect
 * @KDTL_PREEMPT_DISK_SLEEP: kdtl_sched: it sleeps uninterruptibly, as when it waits for a
 *	disk or a lock. Older versions say CEDE for this and for the two below
 * @KDTL_PREEMPT_STOPPED: kdtl_sched: it was stopped, by a signal or a debugger
 * @KDTL_PREEMPT_EXITED: kdtl_sched: it has exited
 */
enum kdtl_preempt_reason {
	KDTL_PREEMPT_UNUSED			= 0,
	KDTL_PREEMPT_FIRMWARE			= 1,
	KDTL_PREEMPT_CEDE			= 2,
	KDTL_PREEMPT_CONFER			= 3,
	KDTL_PREEMPT_TIME_SLICE			= 4,
	KDTL_PREEMPT_MIGRATION			= 5,
	KDTL_PREEMPT_PAGE_FAULT			= 6,
	KDTL_PREEMPT_CONFER_ADJUNCT		= 7,
	KDTL_PREEMPT_HCALL_ADJUNCT		= 8,
	KDTL_PREEMPT_HDEC_ADJUNCT		= 9,
	KDTL_PREEMPT_THROTTLED			= 128,
	KDTL_PREEMPT_DISK_SLEEP			= 130,
	KDTL_PREEMPT_STOPPED			= 131,
	KDTL_PREEMPT_EXITED			= 132,
};

/* Log dispatches of runners that had ... before.  The first three are PAPR's. */
#define KDTL_MASK_CEDE		0x1	/* ... given their processor up */
#define KDTL_MASK_PREEMPT	0x2	/* ... been preempted */
#define KDTL_MASK_FAULT		0x4	/* ... waited for a page */
#define KDTL_MASK_THROTTLE	0x8	/* ... been held back by a limit on CPU time */
#define KDTL_MASK_ALL		0xf

/*
 * Log also when a CPU becomes idle; kdtl_sched only.  It is not part of KDTL_MASK_ALL,
 * so a program that does not ask for such entries never sees one.
 */
#define KDTL_MASK_IDLE		0x10

/*
 * Log entries that are no dispatches: kdtl_wake only, see <linux/kdtl_wake.h>.  That source
 * refuses a mask without this bit, so a program that knows only dispatches never sees one.
 */
#define KDTL_MASK_WAKE		0x40

/*
 * Flags of kdtl_steal in srr1, above a count of 32 bits: how often the hypervisor let the
 * virtual CPU run since the last look at the steal clock; 0: not known.
 */
#define KDTL_STEAL_MERGED	0x100000000ULL	/* maybe several gaps: their sum */
#define KDTL_STEAL_CUT		0x200000000ULL	/* the clock said more than has passed */

/**
 * enum kdtl_irq_kind - what interrupted a task; kdtl_irq only
 * @KDTL_IRQ_SOFT: a softirq; its number is that of the kernel's enum
 * @KDTL_IRQ_HARD: the handler of an interrupt that has a number in /proc/interrupts
 * @KDTL_IRQ_OTHER: another interrupt, such as that of the local timer
 */
enum kdtl_irq_kind {
	KDTL_IRQ_SOFT,
	KDTL_IRQ_HARD,
	KDTL_IRQ_OTHER,
};

/**
 * kdtl_irq_pid() - the number that stands for an interrupt in place of a task's pid
 * @kind: kind of the interrupt
 * @nr: its number, below 2^28
 *
 * Context: any.
 * Return: a number below 0.
 */
static inline __s32 kdtl_irq_pid(enum kdtl_irq_kind kind, unsigned int nr)
{
	return ~(__s32)((unsigned int)kind << 28 | (nr & 0xfffffff));
}

/**
 * kdtl_irq_kind_of() - the kind that was given to kdtl_irq_pid()
 * @pid: its result, or any number below 0
 *
 * Context: any.
 * Return: the kind, or a number that a later version defines.
 */
static inline unsigned int kdtl_irq_kind_of(__s32 pid)
{
	return (unsigned int)~pid >> 28;
}

/**
 * kdtl_irq_nr() - the number that was given to kdtl_irq_pid()
 * @pid: its result, or any number below 0
 *
 * Context: any.
 * Return: the number.
 */
static inline unsigned int kdtl_irq_nr(__s32 pid)
{
	return (unsigned int)~pid & 0xfffffff;
}

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
	return __be16_to_cpu(e->processor_id);
}

/**
 * kdtl_entry_time() - the time of the dispatch
 * @e: entry
 *
 * Context: any.
 * Return: ticks of the time base.
 */
static inline __u64 kdtl_entry_time(const struct kdtl_entry *e)
{
	return __be64_to_cpu(e->timebase);
}

/**
 * kdtl_entry_queued() - how long the runner waited in this CPU's queue
 * @e: entry
 *
 * Context: any.
 * Return: ticks.
 */
static inline __u32 kdtl_entry_queued(const struct kdtl_entry *e)
{
	return __be32_to_cpu(e->enqueue_to_dispatch_time);
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
static inline __u32 kdtl_entry_ready(const struct kdtl_entry *e)
{
	return __be32_to_cpu(e->ready_to_enqueue_time);
}

/**
 * kdtl_entry_slept() - how long the runner had slept before it was ready
 * @e: entry
 *
 * Context: any.
 * Return: ticks.
 */
static inline __u32 kdtl_entry_slept(const struct kdtl_entry *e)
{
	return __be32_to_cpu(e->waiting_to_ready_time);
}

/**
 * kdtl_entry_is_throttled() - did a limit on CPU time hold the runner back?
 * @e: entry
 *
 * Context: any.
 * Return: true if so; kdtl_entry_wait() is then how long the runner waited since the
 * limit ended, or 0 if that is not known.
 */
static inline int kdtl_entry_is_throttled(const struct kdtl_entry *e)
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
static inline __u32 kdtl_entry_throttled(const struct kdtl_entry *e)
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
static inline int kdtl_entry_is_idle(const struct kdtl_entry *e)
{
	return e->dispatch_reason == KDTL_DISPATCH_IDLE;
}

/**
 * kdtl_entry_wait() - how long the runner could have run but had no CPU
 * @e: entry
 *
 * Context: any.
 * Return: ticks: kdtl_entry_ready() plus kdtl_entry_queued(), without sleep. For a runner that
 * was throttled it is a lower bound, kdtl_entry_queued(), see kdtl_entry_is_throttled().
 */
static inline __u64 kdtl_entry_wait(const struct kdtl_entry *e)
{
	return (__u64)kdtl_entry_queued(e) + kdtl_entry_ready(e) - kdtl_entry_throttled(e);
}

/**
 * kdtl_entry_has_wait() - is it known how long the runner waited?
 * @e: entry
 *
 * Sum up, count and show the waits of these entries only: how long a throttled runner waited
 * after the limit ended may not be known.
 *
 * Context: any.
 * Return: true if kdtl_entry_wait() is how long the runner waited, which may be 0.
 */
static inline int kdtl_entry_has_wait(const struct kdtl_entry *e)
{
	return !kdtl_entry_is_throttled(e) || kdtl_entry_queued(e);
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
static inline int kdtl_entry_wait_saturated(const struct kdtl_entry *e)
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
static inline __s32 kdtl_entry_pid(const struct kdtl_entry *e)
{
	return (__s32)(__be64_to_cpu(e->fault_addr) >> 32);
}

/**
 * kdtl_entry_prev_pid() - the task that had the CPU before; kdtl_sched only
 * @e: entry
 *
 * Context: any.
 * Return: its pid in the initial namespace; 0: the idle task.
 */
static inline __s32 kdtl_entry_prev_pid(const struct kdtl_entry *e)
{
	return (__s32)(__u32)__be64_to_cpu(e->fault_addr);
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
	return (const char *)e + __builtin_offsetof(struct kdtl_entry, srr0);
}

/**
 * kdtl_irq_word() - the word to put before an interrupt's name
 * @pid: below 0
 *
 * Context: any.
 * Return: "softirq" or "interrupt".
 */
static inline const char *kdtl_irq_word(__s32 pid)
{
	return kdtl_irq_kind_of(pid) == KDTL_IRQ_SOFT ? "softirq" : "interrupt";
}

/* -------------------------------------------------------------------- tasks */

/**
 * struct kdtl_task - what a task was from a moment on; kdtl_sched only
 * @seq: number of this record; a later one has a higher number
 * @since: time from which the record is valid, in ticks, until the next one of the same pid;
 *	0: it was valid already when the table began
 * @cgroup: id of the task's cgroup, in the hierarchy that has the cpu controller: the inode
 *	number of its folder, as bpftrace has it
 * @pid: in the initial namespace
 * @tgid: pid of its thread group's leader, in the initial namespace
 * @policy: SCHED_*, see sched(7)
 * @nice: -20 to 19
 * @rt_priority: 1 to 99 for SCHED_FIFO and SCHED_RR, else 0
 * @ns_pid: its pid in its own namespace; 0: not known, as always in older versions
 * @comm: its name
 */
struct kdtl_task {
	__aligned_u64	seq;
	__aligned_u64	since;
	__aligned_u64	cgroup;
	__u32		pid;
	__u32		tgid;
	__u32		policy;
	__s32		nice;
	__u32		rt_priority;
	__u32		ns_pid;
	char		comm[16];
};

/* ---------------------------------------------------------------- /dev/kdtl */

#define KDTL_SOURCE_LEN		32

/* kdtl_stream_attr::flags */
#define KDTL_STREAM_OVERWRITE	0x1	/* keep the newest entries; only for mmap */

/**
 * struct kdtl_stream_attr - attributes of a file's session
 * @flags: KDTL_STREAM_*
 * @aux_pages: pages of log per CPU, a power of two; 0: the module's default
 * @watermark: unread bytes of a CPU that wake the reader; 0: half its log.  Without
 *	CAP_SYS_ADMIN at least 2 KiB
 * @mask: KDTL_MASK_*, the dispatches to log; 0: KDTL_MASK_ALL
 * @period: longest time in ns until entries below the watermark wake the reader;
 *	0: 100 ms.  Without CAP_SYS_ADMIN at least 10 ms.  The reader's own dispatches do not
 *	wake it until another entry does, or it would never sleep
 * @cpus: address of a CPU mask as for sched_setaffinity(2); 0: all CPUs that are
 *	not isolated
 * @cpus_len: size of that mask in bytes
 * @reserved: 0
 * @source: name of the source; empty: the module's default
 * @min_wait: in ns; dispatches whose runners waited less are counted, but not logged.
 *	The wait of a throttled runner is the time that it was held back
 *
 * Each field may be 0 for its default.  Later versions may add fields at the end;
 * the kernel sees the size in the ioctl's number.
 */
struct kdtl_stream_attr {
	__u32		flags;
	__u32		aux_pages;
	__u32		watermark;
	__u32		mask;
	__aligned_u64	period;
	__aligned_u64	cpus;
	__u32		cpus_len;
	__u32		reserved;
	char		source[KDTL_SOURCE_LEN];
	__aligned_u64	min_wait;
};

/* kdtl_stream_info::state */
#define KDTL_STREAM_ONLINE	0x1	/* the CPU, or any CPU, is online */
#define KDTL_STREAM_RUNNING	0x2	/* the session is started */

/**
 * struct kdtl_stream_info - the state and the numbers of a file's session
 * @cpu: set by the program: the CPU; -1: the sum of all
 * @state: KDTL_STREAM_*
 * @tb_freq: ticks per second of the entries' time base
 * @tb_boot: the time base's value at boot
 * @aux_size: size of a CPU's log, in bytes
 * @watermark: unread bytes of a CPU that wake the reader
 * @produced: entries that the source produced
 * @consumed: entries of @produced that were read
 * @lost: entries of @produced that found no room or were overwritten
 * @unread: entries of @produced that can be read
 * @source: name of the source
 * @filtered: dispatches that waited less than kdtl_stream_attr::min_wait; they are not
 *	part of @produced
 * @moves: how often the CPU went offline or came online since SETUP; or the sum
 * @went: when it last went offline, in ticks; 0: never. Of all CPUs, the latest time
 * @came: when it last came online, likewise
 *
 * While a CPU goes or comes, @moves may be one ahead of the times.
 *
 * produced = consumed + lost + unread.  Later versions may add fields at the end.
 */
struct kdtl_stream_info {
	__s32		cpu;
	__u32		state;
	__aligned_u64	tb_freq;
	__aligned_u64	tb_boot;
	__aligned_u64	aux_size;
	__aligned_u64	watermark;
	__aligned_u64	produced;
	__aligned_u64	consumed;
	__aligned_u64	lost;
	__aligned_u64	unread;
	char		source[KDTL_SOURCE_LEN];
	__aligned_u64	filtered;
	__aligned_u64	moves;
	__aligned_u64	went;
	__aligned_u64	came;
};

/**
 * struct kdtl_stream_clock - the entries' time base and the clocks at one moment
 * @ticks: the time base
 * @monotonic: CLOCK_MONOTONIC, in ns
 * @boottime: CLOCK_BOOTTIME, in ns
 * @realtime: CLOCK_REALTIME, in ns
 *
 * The kernel slews the clocks, but not the time base.  So read the clocks whenever entries
 * are read, and convert only times that are near.
 */
struct kdtl_stream_clock {
	__aligned_u64	ticks;
	__aligned_u64	monotonic;
	__aligned_u64	boottime;
	__aligned_u64	realtime;
};

/**
 * struct kdtl_stream_tasks - what the tasks of the entries are, for sources that name tasks
 * @seq: set by the program: the kdtl_task::seq after which to go on; 0: from the first
 *	record. Becomes the kdtl_task::seq of the last record
 * @tasks: address of an array of &struct kdtl_task
 * @nr: set by the program: elements of the array. Becomes the number of records, which may
 *	be less than there are; 0: there are no more now
 * @reserved: 0
 * @lost: records after @seq that were dropped before they were read
 *
 * The records come in the order of kdtl_task::seq. A program that asks after it has read
 * entries gets all records that the entries need. Later versions may add fields at the end.
 */
struct kdtl_stream_tasks {
	__aligned_u64	seq;
	__aligned_u64	tasks;
	__u32		nr;
	__u32		reserved;
	__aligned_u64	lost;
};

#define KDTL_CGROUP_LEN		256

/**
 * struct kdtl_stream_cgroup - the path of a cgroup
 * @id: set by the program: kdtl_task::cgroup
 * @path: address of room for the path and a NUL; KDTL_CGROUP_LEN bytes are enough
 * @len: set by the program: the room at @path, in bytes. Becomes the length of the path
 * @reserved: 0
 *
 * A very long path is cut to its end, after "...". Later versions may add fields at the
 * end.
 */
struct kdtl_stream_cgroup {
	__aligned_u64	id;
	__aligned_u64	path;
	__u32		len;
	__u32		reserved;
};

/**
 * struct kdtl_stream_wait - a task that waits for a CPU; kdtl_sched only
 * @since: the time since which it has been runnable and in this queue, in ticks
 * @held: how long after @since a limit on CPU time held it back, in ticks. If @since + @held is
 *	@until, the limit still holds, or it is not known when it ended
 * @until: the time at which all this was so, in ticks. Each older entry of that CPU was read, or
 *	will be, or was lost; so @running has had the CPU since the newest of them
 * @pid: the task, in the initial namespace
 * @running: pid of the task that has the CPU; 0: it is idle
 * @cpu: the CPU in whose queue it is
 * @reserved: 0
 * @comm: its name
 */
struct kdtl_stream_wait {
	__aligned_u64	since;
	__aligned_u64	held;
	__aligned_u64	until;
	__u32		pid;
	__u32		running;
	__u32		cpu;
	__u32		reserved;
	char		comm[16];
};

/* kdtl_stream_waits::flags */
#define KDTL_WAITS_LATE		0x1	/* a CPU whose interrupts are off was left out */

/**
 * struct kdtl_stream_waits - who waits for a CPU now
 * @waits: address of an array of &struct kdtl_stream_wait
 * @nr: set by the program: elements of the array. Becomes the number of tasks that wait; if
 *	there is no room for all, the array has those with the lowest pids
 * @flags: set by the program: 0. Becomes KDTL_WAITS_*
 *
 * Only the session's CPUs are looked at, and only while it is started: otherwise @nr becomes 0.
 * Each CPU with a queue is interrupted. Later versions may add fields at the end.
 */
struct kdtl_stream_waits {
	__aligned_u64	waits;
	__u32		nr;
	__u32		flags;
};

/*
 * SETUP	EBUSY: the file has a session already; EINVAL: an attribute is not
 *		allowed (the kernel log says which); ENODEV: no such source;
 *		EPERM: over RLIMIT_MEMLOCK; EUSERS: users without CAP_SYS_ADMIN can have
 *		no more sessions on a CPU; ENOMEM
 * START, STOP	may be repeated
 * INFO		EINVAL: the CPU is not one of the session's
 * CLOCK	no errors of its own
 * TASKS	EOPNOTSUPP: the source's entries name no tasks; EINVAL: no room for
 *		a record, or @reserved is not 0; EAGAIN: the records changed all the
 *		time; ENOMEM
 * CGROUP	ENOENT: the id is not known; ERANGE: the path needs more room;
 *		EOPNOTSUPP, EINVAL, EAGAIN: as with TASKS
 * WAITS	EOPNOTSUPP: the source knows no tasks; EINVAL: @flags is not 0;
 *		EAGAIN: a user without CAP_SYS_ADMIN asked less than 10 ms ago; ENOMEM
 *
 * All: E2BIG: the structure is longer than the kernel's, and the rest is not 0.
 * If the file has no session yet, every ioctl but SETUP first makes one with the
 * module's defaults.
 */
#define KDTL_IOC_SETUP	_IOW(0xdc, 0, struct kdtl_stream_attr)
#define KDTL_IOC_START	_IO(0xdc, 1)
#define KDTL_IOC_STOP	_IO(0xdc, 2)
#define KDTL_IOC_INFO	_IOWR(0xdc, 3, struct kdtl_stream_info)
#define KDTL_IOC_CLOCK	_IOR(0xdc, 4, struct kdtl_stream_clock)
#define KDTL_IOC_TASKS	_IOWR(0xdc, 5, struct kdtl_stream_tasks)
#define KDTL_IOC_CGROUP	_IOWR(0xdc, 6, struct kdtl_stream_cgroup)
#define KDTL_IOC_WAITS	_IOWR(0xdc, 7, struct kdtl_stream_waits)

#endif /* _UAPI_LINUX_KDTL_H */
