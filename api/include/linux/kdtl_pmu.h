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
	/* private: */
	bool	borrowed;	/* the session's: free_aux() leaves it alone */
};

/**
 * struct kdtl_pmu - a source of dispatch trace log entries
 * @pmu: the perf PMU.  The driver sets module and capabilities, and kdtl fills
 *	in the callbacks that the driver leaves NULL
 * @name: name by which perf and sessions find the source
 * @of: another PMU of perf's, whose entries these are: sessions find the source by this
 *	name, too; optional
 * @rating: a session that names no source gets the one with the highest rating, but none of
 *	@interrupts nor of KDTL_MASK_WAKE
 * @mask: KDTL_MASK_*, the kinds that the source distinguishes; 0: PAPR's three.
 *	An event that wants none of these is refused, and so is a perf user's that wants
 *	KDTL_MASK_IDLE if that is not among them
 * @tb_freq: ticks per second of the entries' time base, below 2^32
 * @tb_boot: the time base's value at boot
 * @tasks: the entries name Linux tasks as those of kdtl_sched do, and the time base is
 *	local_clock(), as kdtl_task_at() wants it
 * @stolen: the entries name no tasks, and the wait of each is time in which a hypervisor had
 *	the CPU: clients say so, and take it for steal=
 * @interrupts: the wait of each entry is time in which what kdtl_entry_pid() says, see
 *	kdtl_irq_pid(), interrupted the task kdtl_entry_prev_pid() of this CPU, which ended at
 *	the entry's time, by the clock that tasks wants
 * @clock: the time base, now.  Called with interrupts off; NULL: local_clock()
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
 * @sync: hand out all entries of this CPU up to now, and return a value that the
 *	time base had before: no later entry of this CPU is older.  It runs on the
 *	CPU with interrupts off, also when perf reads an event, and also while no event wants
 *	entries of this CPU.  Optional, but a source without it has no kdtl_merge_sync()
 * @waits: is a task, which can run and does not, in the queue of this CPU at the time @now, as
 *	@sync returned it?  Sets since when, for how long since then a limit held it back,
 *	and when it left its CPU to sleep, see kdtl_waiting::left.  It runs on the CPU with
 *	interrupts off.  Optional, but a source without it has no kdtl_waiting(); needs
 *	tasks and @sync
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
	struct kdtl_pmu_cpu __percpu	*cpu;	/* a driver of kdtl's may have it in its own */
	bool				cpu_ours;
	atomic_t			users;
	atomic_t			held;	/* by who is about to be a user, or was one */
	struct mutex			attach_lock;
};

/**
 * kdtl_entry_here() - an entry of this CPU, with what each one has
 * @reason: &enum kdtl_dispatch_reason, or the source's own
 * @now: time of the dispatch, in ticks of the source's time base
 * @waited: for how long the runner had waited until then, in ticks; more than an entry can say
 *	becomes KDTL_TIME_MAX, which means so long or longer
 *
 * The caller fills in what its source knows besides.  All fields are big-endian.
 *
 * Context: on the CPU that the entry is of, with preemption off.
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
