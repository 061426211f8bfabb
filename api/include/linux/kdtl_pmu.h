/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_pmu.h - the PMU drivers' half of kdtl: sources of entries
 *
 * A driver fills in a struct kdtl_pmu and registers it.  For each entry it then
 * calls kdtl_pmu_output(), and kdtl hands the entry to every session and every
 * perf event that asked for it.  A driver that has its own format of data
 * writes to AUX areas itself, with kdtl_aux_output_begin() and
 * kdtl_aux_output_end(), which follow perf's functions of the same names.
 *
 * Clients of kdtl do not need this header: theirs is <linux/kdtl.h>.
 * Documentation/writing-a-pmu-driver.rst shows a whole driver.
 */
#ifndef _LINUX_KDTL_PMU_H
#define _LINUX_KDTL_PMU_H

#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/perf_event.h>
#include <linux/smp.h>
#include <linux/types.h>

#include <linux/kdtl.h>

/**
 * enum kdtl_kind - why the runner had been off its CPU, for masks and counts
 * @KDTL_KIND_CEDE: the runner had slept
 * @KDTL_KIND_PREEMPT: the runner had been preempted
 * @KDTL_KIND_FAULT: the runner had waited for a page
 * @KDTL_KIND_THROTTLE: a limit on CPU time had held the runner back
 * @KDTL_KIND_IDLE: there is no runner: the CPU became idle
 * @KDTL_KIND_UNKNOWN: the source does not know, so the entry passes every mask
 * @KDTL_NR_KINDS: number of kinds
 */
enum kdtl_kind {
	KDTL_KIND_CEDE,
	KDTL_KIND_PREEMPT,
	KDTL_KIND_FAULT,
	KDTL_KIND_THROTTLE,
	KDTL_KIND_IDLE,
	KDTL_KIND_UNKNOWN,
	KDTL_NR_KINDS,
};

/**
 * struct kdtl_area - AUX pages in one piece
 * @base: the pages, mapped twice in a row, so that a span of up to @size bytes
 *	that starts in the first copy is contiguous
 * @size: in bytes, a power of two
 *
 * kdtl_aux_output_begin() returns this to a driver that leaves setup_aux to
 * kdtl.  The driver writes at @base + (handle->head & (@size - 1)).
 */
struct kdtl_area {
	void	*base;
	u64	size;
};

/**
 * struct kdtl_pmu - a source of dispatch trace log entries
 * @pmu: the perf PMU.  The driver sets module and capabilities, and kdtl fills
 *	in the callbacks that the driver leaves NULL
 * @name: name by which perf and sessions find the source
 * @of: name of the perf PMU that the entries come from, by which sessions find the source
 *	as well; optional
 * @rating: a session that names no source gets the one with the highest rating among those
 *	without @interrupts and without KDTL_MASK_WAKE
 * @mask: KDTL_MASK_*, the kinds that the source distinguishes; 0: PAPR's three.
 *	An event that wants none of these is refused, and so is a perf user's event that
 *	wants KDTL_MASK_IDLE from a source without it
 * @tb_freq: ticks per second of the entries' time base, below 2^32
 * @tb_boot: the time base's value at boot
 * @tasks: the entries name Linux tasks as those of kdtl_sched do, and the time base is
 *	local_clock(), which kdtl_task_at() needs
 * @stolen: the entries name no tasks, and the wait of each is time in which a hypervisor had
 *	the CPU: clients say so, and accept the source for their parameter steal=
 * @interrupts: each entry is an interruption: of the task kdtl_entry_prev_pid() by the
 *	interrupt kdtl_entry_pid(), see kdtl_irq_pid(), for the entry's wait until the entry's
 *	time; the time base is local_clock()
 * @clock: read the time base.  Called with interrupts off; NULL: local_clock()
 * @attach: called when the first user comes; 0 or a negative error.  May sleep; optional
 * @detach: called when the last user has gone.  May sleep; optional
 * @source: make this CPU's source deliver entries of the kinds in @mask.  A
 *	source that has to be polled is polled every @period ns or more often; 0
 *	leaves that to the driver.  Mask 0 switches the source off and must not
 *	fail.  The callback runs before an event joins, leaves, or wants something
 *	else, so a polled source first hands out the entries that it has; if a
 *	counter overflows meanwhile, the callback is called again from within
 *	itself.  It runs on the CPU with interrupts off, maybe inside the scheduler.
 *	An error refuses the event that asked, and leaves the source as it was
 * @sync: hand out all entries of this CPU up to now, and return a reading of the time
 *	base that no later entry of this CPU is older than.  It runs on the CPU with
 *	interrupts off, also when perf reads an event, and also while no event wants entries
 *	of this CPU.  Optional; kdtl_merge_create() refuses a source without it
 * @waits: is a runnable task that does not run in the queue of this CPU at the time @now,
 *	which @sync has returned?  If so, sets since, held and left as in &struct
 *	kdtl_waiting.  It runs on the CPU with interrupts off.  Needs @tasks and @sync.
 *	Optional; kdtl_waiting() refuses a source without it
 */
struct kdtl_pmu {
	struct pmu	pmu;
	const char	*name;
	const char	*of;
	unsigned int	rating;
	u32		mask;
	u64		tb_freq;
	u64		tb_boot;
	bool		tasks;
	bool		stolen;
	bool		interrupts;
	u64		(*clock)(struct kdtl_pmu *p);
	int		(*attach)(struct kdtl_pmu *p);
	void		(*detach)(struct kdtl_pmu *p);
	int		(*source)(struct kdtl_pmu *p, u32 mask, u64 period);
	u64		(*sync)(struct kdtl_pmu *p);
	bool		(*waits)(struct kdtl_pmu *p, const struct task_struct *t, u64 now,
				 u64 *since, u64 *held, u64 *left);
	/* private: */
	int		(*add)(struct perf_event *event, int flags);
	int		(*event_init)(struct perf_event *event);
	struct list_head		node;
	struct kdtl_pmu_cpu __percpu	*cpu;	/* kdtl's own drivers may embed it in theirs */
	bool				cpu_ours;
	atomic_t			users;
	atomic_t			held;	/* users, also those to come and those leaving */
	struct mutex			attach_lock;
};

/**
 * kdtl_entry_here() - make an entry of this CPU, with the fields that all entries have
 * @reason: &enum kdtl_dispatch_reason, or the source's own
 * @now: time of the dispatch, in ticks of the source's time base
 * @waited: how long the runner had waited until then, in ticks; more than an entry can say
 *	becomes KDTL_TIME_MAX, which means that long or longer
 *
 * The caller fills in whatever else its source knows.  All fields are big-endian.
 *
 * Context: on the entry's CPU, with preemption off.
 * Return: the entry, for kdtl_pmu_output().
 */
static inline struct kdtl_entry kdtl_entry_here(u8 reason, u64 now, u64 waited)
{
	return (struct kdtl_entry) {
		.dispatch_reason		= reason,
		.processor_id			= cpu_to_be16(raw_smp_processor_id()),
		.enqueue_to_dispatch_time	= cpu_to_be32(min_t(u64, waited, KDTL_TIME_MAX)),
		.timebase			= cpu_to_be64(now),
	};
}

int kdtl_pmu_register(struct kdtl_pmu *p);
void kdtl_pmu_unregister(struct kdtl_pmu *p);

void kdtl_pmu_output(struct kdtl_pmu *p, const struct kdtl_entry *e,
		     enum kdtl_kind kind);
void kdtl_pmu_lost(struct kdtl_pmu *p, u64 nr);

void *kdtl_aux_output_begin(struct perf_output_handle *handle,
			    struct perf_event *event);
void kdtl_aux_output_end(struct perf_output_handle *handle, unsigned long size);
int kdtl_aux_output_skip(struct perf_output_handle *handle, unsigned long size);
void kdtl_aux_output_flag(struct perf_output_handle *handle, u64 flags);

#endif /* _LINUX_KDTL_PMU_H */
