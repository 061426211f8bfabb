/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * kdtl - dispatch trace logs: the entries, and /dev/kdtl
 *
 * A file of /dev/kdtl is a session on the CPUs that it asks for:
 *
 *	fd = open("/dev/kdtl", O_RDWR);
 *	ioctl(fd, KDTL_IOC_SETUP, &attr);	what to log
 *	ioctl(fd, KDTL_IOC_START);
 *	read(fd, entries, sizeof(entries));	whole entries
 *	ioctl(fd, KDTL_IOC_STOP);		read then returns the rest, then 0
 *	close(fd);
 *
 * Without SETUP and START the first read() or poll() starts to log everything.
 *
 * read() and splice() return a CPU's entries in the order of time, one CPU's
 * after another's.  They wait until there is a watermark of entries on any CPU,
 * or any entry older than the period; with O_NONBLOCK they take what there is.
 * poll() says POLLIN when read() would not wait.
 *
 * Who opens it needs CAP_PERFMON, whatever perf_event_paranoid says.  Memory is
 * charged to who opened it, as pinned: RLIMIT_MEMLOCK is the limit, but not for
 * CAP_IPC_LOCK.
 *
 * A file whose session is for one CPU can be mapped, exactly as a perf event:
 * first, at offset 0, a struct perf_event_mmap_page and 2^n pages of records,
 * or none; then, when aux_offset and aux_size have been written there, the AUX
 * area of kdtl_stream_attr::aux_pages pages.  The records are
 *
 *	PERF_RECORD_AUX			there is data
 *	PERF_RECORD_LOST_SAMPLES	so many entries found no room
 *	PERF_RECORD_LOST		so many records found no room
 *
 * without sample_id.  aux_head is published at each wake-up and by poll(),
 * which is also when the kernel looks at aux_tail; so is both by KDTL_IOC_INFO.
 * A session with KDTL_STREAM_OVERWRITE is for a read-only mapping of the AUX
 * area and needs no reader; all others for a writable one.
 */
#ifndef _UAPI_LINUX_KDTL_H
#define _UAPI_LINUX_KDTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* ------------------------------------------------------------------ entries */

/**
 * struct kdtl_entry - one dispatch, as PAPR lays it out (48 bytes, big-endian)
 * @dispatch_reason: why the runner was put on, &enum kdtl_dispatch_reason
 * @preempt_reason: why a runner was taken off, &enum kdtl_preempt_reason
 * @processor_id: CPU that was given away, as the source numbers it
 * @enqueue_to_dispatch_time: ticks that the runner waited in this CPU's queue
 * @ready_to_enqueue_time: ticks between being ready and entering that queue
 * @waiting_to_ready_time: ticks that the runner had slept before it was ready
 * @timebase: when, in ticks
 * @fault_addr: see Documentation/, differs between sources
 * @srr0: see Documentation/, differs between sources
 * @srr1: see Documentation/, differs between sources
 *
 * The same layout on every source (PAPR, "Dispatch Trace Log Buffer"), so that
 * one decoder reads them all.  In the kernel <linux/kdtl.h> has accessors.
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

/**
 * enum kdtl_dispatch_reason - why the runner was put on, PAPR's codes
 * @KDTL_DISPATCH_EXTERNAL_INTERRUPT: for an interrupt from outside
 * @KDTL_DISPATCH_FIRMWARE: for the firmware's own purposes
 * @KDTL_DISPATCH_PROD: it was woken. kdtl_sched: it had slept, or is new
 * @KDTL_DISPATCH_DECREMENTER: its timer expired
 * @KDTL_DISPATCH_SYSTEM_RESET: for a system reset
 * @KDTL_DISPATCH_FIRMWARE_2: for the firmware's own purposes
 * @KDTL_DISPATCH_CONFERRED: another one gave it its processor
 * @KDTL_DISPATCH_TIME_SLICE: its turn. kdtl_sched: it had been preempted
 * @KDTL_DISPATCH_PAGE_FAULT: the page is there. kdtl_sched: it had slept in a
 *	page fault
 * @KDTL_DISPATCH_EXPROPRIATED: its processor had been given to an adjunct
 * @KDTL_DISPATCH_PRIV_DOORBELL: for a privileged doorbell
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
};

/**
 * enum kdtl_preempt_reason - why a runner was taken off, PAPR's codes
 * @KDTL_PREEMPT_UNUSED: the hypervisor does not tell
 * @KDTL_PREEMPT_FIRMWARE: for the firmware's own purposes
 * @KDTL_PREEMPT_CEDE: it gave its processor up. kdtl_sched: it went to sleep
 * @KDTL_PREEMPT_CONFER: it gave its processor to another one
 * @KDTL_PREEMPT_TIME_SLICE: its time was up. kdtl_sched: it could have gone on
 * @KDTL_PREEMPT_MIGRATION: it waits for a page: the partition migrates
 * @KDTL_PREEMPT_PAGE_FAULT: it waits for a page. kdtl_sched: it sleeps in a
 *	page fault
 * @KDTL_PREEMPT_CONFER_ADJUNCT: as CONFER, by an adjunct
 * @KDTL_PREEMPT_HCALL_ADJUNCT: a hypervisor call, by an adjunct
 * @KDTL_PREEMPT_HDEC_ADJUNCT: the hypervisor's timer, in an adjunct
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
};

/* Which dispatches to log: the runner had ... before. PAPR's enable mask. */
#define KDTL_MASK_CEDE		0x1	/* ... given its processor up */
#define KDTL_MASK_PREEMPT	0x2	/* ... been preempted */
#define KDTL_MASK_FAULT		0x4	/* ... waited for a page */
#define KDTL_MASK_ALL		0x7

/* ---------------------------------------------------------------- /dev/kdtl */

#define KDTL_SOURCE_LEN		32

/* kdtl_stream_attr::flags */
#define KDTL_STREAM_OVERWRITE	0x1	/* keep the newest: only for mmap */

/**
 * struct kdtl_stream_attr - what a file's session is to be
 * @flags: KDTL_STREAM_*
 * @aux_pages: pages of log per CPU, a power of two; 0: the module's default
 * @watermark: unread bytes of a CPU that wake the reader; 0: half its log
 * @mask: KDTL_MASK_*, which dispatches; 0: all
 * @period: longest time in ns that entries wait for the watermark; 0: 100 ms
 * @cpus: address of a CPU mask as for sched_setaffinity(2); 0: all CPUs
 * @cpus_len: its size in bytes
 * @reserved: 0
 * @source: by name; empty: the module's default
 *
 * Zero is the default of everything.  Fields may be added at the end: the
 * kernel knows the size from the ioctl's number.
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
};

/* kdtl_stream_info::state */
#define KDTL_STREAM_ONLINE	0x1	/* of the CPU, or of any */
#define KDTL_STREAM_RUNNING	0x2	/* started, not stopped */

/**
 * struct kdtl_stream_info - what a file's session is
 * @cpu: in: whose numbers; -1: the sum of all
 * @state: KDTL_STREAM_*
 * @tb_freq: ticks per second of the entries' time base
 * @tb_boot: the time base's value at boot
 * @aux_size: bytes of a CPU's log
 * @watermark: in bytes
 * @produced: entries that the source had
 * @consumed: of these, read
 * @lost: found no room, or were overwritten
 * @unread: can be read
 * @source: by name
 *
 * produced = consumed + lost + unread.
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
};

/*
 * SETUP	EBUSY: it has been set up, or was read without; EINVAL: something
 *		that makes no sense (the log says what); ENOENT: no such source;
 *		EPERM: over RLIMIT_MEMLOCK; ENOMEM
 * START, STOP	may be repeated
 * INFO		EINVAL: the CPU is not one of the session's
 *
 * All but SETUP set up the module's defaults first if nothing is set up.
 */
#define KDTL_IOC_SETUP	_IOW(0xdc, 0, struct kdtl_stream_attr)
#define KDTL_IOC_START	_IO(0xdc, 1)
#define KDTL_IOC_STOP	_IO(0xdc, 2)
#define KDTL_IOC_INFO	_IOWR(0xdc, 3, struct kdtl_stream_info)

#endif /* _UAPI_LINUX_KDTL_H */
