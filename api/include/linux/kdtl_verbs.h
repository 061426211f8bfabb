/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kdtl_verbs.h - the steps of kdtl_session_open(), for a client that reads in its own thread
 *
 *	s = kdtl_session_create(&attr);
 *	kdtl_load(s, NULL);			bind to the CPUs, allocate memory
 *	kdtl_start(s);
 *	while (kdtl_wait(s, timeout) ...)	sleep until there is enough to read
 *		kdtl_for_each_cpu(cpu, s) {
 *			len = kdtl_aux_peek(s, cpu, &span);
 *			kdtl_for_each_entry(e, span, len)
 *				...
 *			kdtl_aux_consume(s, cpu, len);
 *		}
 *	kdtl_session_close(s);
 *
 * Most verbs work on a session of kdtl_session_open() as well.
 */
#ifndef _LINUX_KDTL_VERBS_H
#define _LINUX_KDTL_VERBS_H

#include <linux/kdtl.h>
#include <linux/minmax.h>
#include <linux/workqueue.h>

struct vm_area_struct;

/**
 * struct kdtl_place - the caller's memory for the areas of a session
 * @pages: the pages: CPU n has &kdtl_session_attr.aux_pages of them, from index
 *	n * &kdtl_session_attr.aux_pages
 * @nr: number of @pages
 * @write_combine: map them write-combined instead of cached, for a machine whose reset drops
 *	what the caches hold; entries then cost more, and the newest ones may be torn
 *
 * The array and the pages belong to the caller, and are in use until kdtl_session_close()
 * has returned. The pages need not be in the kernel's direct mapping, but each needs a
 * &struct page. kdtl does not clear them, and writes nothing but entries.
 */
struct kdtl_place {
	struct page	**pages;
	unsigned int	nr;
	bool		write_combine;
};

struct kdtl_session *__kdtl_session_create(const struct kdtl_session_attr *attr,
					   struct module *owner);

/**
 * kdtl_session_create() - create a session
 * @attr: its attributes
 *
 * The session holds the source's module.  If the source is not registered, modprobe is
 * asked for the alias "kdtl-pmu-" with its name, or for "kdtl-pmu" if @attr names none.
 * AUX areas are not allocated yet, but the memory that they will take on the CPUs that
 * are online now is checked against the module parameter max_session_mb.
 *
 * The session belongs to the module that calls this, and must be closed before the
 * module goes.  kdtl closes one that was forgotten, see kdtl_session_close().
 *
 * The caller's completion (@attr->done) is completed on every wake-up, even if
 * nobody waits, until kdtl_session_close() returns, and never after that.  A session
 * adds at most one to the completion's count: if the previous wake-up has not been
 * consumed, a new one adds nothing.  kdtl_session_close() takes that count back, so that
 * the completion can be used for the next session, unless somebody slept in
 * wait_for_completion() when the wake-up came.
 *
 * perfmon2: pfmk_create_context().
 *
 * Context: task, may sleep.  Takes the CPU hotplug lock, so in a CPU hotplug callback it
 * would wait for ever.
 * Return:
 * * the session, or ERR_PTR
 * * -EINVAL: @attr is NULL, pages are not a power of two or above KDTL_MAX_PAGES, the mask, the
 *   flags or the message types have unknown bits, there is a config without KDTL_SESSION_RAW,
 *   the watermark is above the area's size, the CPU set has no possible CPU, @attr->done was
 *   not initialised (this is noticed only if it is all zeros), KDTL_SESSION_NO_AUX comes with
 *   what needs an area: pages, a watermark, a min_wait or KDTL_SESSION_OVERWRITE,
 *   KDTL_SESSION_RAW comes with what needs entries, or without a name, there is a min_wait
 *   although the source's entries have no waits, kdtl was built without what counts
 *   (CONFIG_KDTL_COUNTERS), or @attr->place does not fit (a line in the log says which)
 * * -ENODEV: there is no such source, or none at all, even after modprobe was asked for
 *   one
 * * -EOPNOTSUPP: the source distinguishes none of the mask's kinds; or, with
 *   KDTL_SESSION_RAW, the PMU has no AUX area, or this kernel's perf gives none to kernel
 *   events, whatever the PMU (a line in the log)
 * * -ENOMEM: memory is short, or max_session_mb is exceeded (a line in the log)
 * * the error of the source's attach(), for instance -EBUSY if somebody else owns
 *   the hypervisor's log
 */
static __always_inline struct kdtl_session *
kdtl_session_create(const struct kdtl_session_attr *attr)
{
	return __kdtl_session_create(attr, THIS_MODULE);
}

int kdtl_load(struct kdtl_session *s, const struct cpumask *cpus);
int kdtl_unload(struct kdtl_session *s);
int kdtl_start(struct kdtl_session *s);
int kdtl_stop(struct kdtl_session *s);
int kdtl_wait(struct kdtl_session *s, long timeout);

ssize_t kdtl_aux_peek(struct kdtl_session *s, int cpu, const void **span);
int kdtl_aux_gap(struct kdtl_session *s, int cpu, size_t *at, u64 *lost);
int kdtl_aux_consume(struct kdtl_session *s, int cpu, size_t bytes);
int kdtl_aux_mmap(struct kdtl_session *s, int cpu, struct vm_area_struct *vma);
void kdtl_mmap_flags(struct vm_area_struct *vma);

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

void kdtl_rcu_await(const char *owner);

/**
 * struct kdtl_late - a wait that the log tells of if it takes more than a second
 */
struct kdtl_late {
	/* private: */
	struct delayed_work	work;
	const char		*owner;
	const char		*what;
};

void kdtl_late_begin(struct kdtl_late *late, const char *owner, const char *what);
void kdtl_late_end(struct kdtl_late *late);

/**
 * struct kdtl_waiting - a task that waits for a CPU
 * @pid: the task, in the initial namespace
 * @cpu: the CPU in whose queue it is
 * @running: pid of the task that has that CPU; 0: it is idle
 * @comm: the task's name
 * @since: the time since which it has been runnable and in this queue, in ticks
 * @held: how long after @since a limit on CPU time held it back, in ticks.  If @since + @held
 *	is @until, the limit still holds, or it is not known when it ended
 * @until: the time at which all this was so, in ticks
 * @left: when it left its CPU to sleep, in ticks, so that its wake-up came later, see
 *	kdtl_who_woke().  0: it is new; U64_MAX: it was preempted, or that is not known
 */
struct kdtl_waiting {
	pid_t	pid;
	int	cpu;
	pid_t	running;
	char	comm[TASK_COMM_LEN];
	u64	since;
	u64	held;
	u64	until;
	u64	left;
};

int kdtl_waiting(struct kdtl_session *s, void (*fn)(const struct kdtl_waiting *w, void *data),
		 void *data);

#define KDTL_PACE_REST	200	/* times as long as a look took, until the next one */

/**
 * struct kdtl_pace - when to ask kdtl_waiting() again; zeros before the first time
 * @next: earliest time of the next look, by ktime_get_ns()
 * @cost: time that a look takes, in ns
 *
 * A look takes long if the machine has many tasks.  A caller that waits until @next spends half
 * a per cent of its time on looks.
 */
struct kdtl_pace {
	u64	next;
	u64	cost;
};

/**
 * kdtl_pace_set() - decide when to look again, after a look
 * @p: updated
 * @began: ktime_get_ns() when the look began
 * @now: ktime_get_ns() when it ended
 *
 * A single look may take long because a virtual machine stood still or a CPU did not answer.  So
 * kdtl_pace::cost at most doubles from one look to the next.
 *
 * Context: any.
 */
static inline void kdtl_pace_set(struct kdtl_pace *p, u64 began, u64 now)
{
	p->cost = min(now - began, 2 * (p->cost ?: NSEC_PER_MSEC));
	p->next = now + KDTL_PACE_REST * p->cost;
}

/**
 * struct kdtl_timebase - a session's time base beside the kernel's clocks
 * @ticks: the time base at the last kdtl_timebase_sync()
 * @mono: CLOCK_MONOTONIC at that moment, in ns
 * @boot: CLOCK_BOOTTIME minus CLOCK_MONOTONIC, in ns
 * @real: CLOCK_REALTIME minus CLOCK_MONOTONIC, in ns
 * @mult: ns of CLOCK_MONOTONIC per tick, times 2^32
 * @error: ns that may lie between the readings of the time base and of the clocks: usually
 *	less than 100, more if a hypervisor took the CPU away each time
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
 * Return: what ktime_get_ns() would have returned at the dispatch.
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
 * Return: what ktime_get_boottime_ns() would have returned at the dispatch.
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
 * Return: what ktime_get_real_ns() would have returned at the dispatch.
 */
static inline u64 kdtl_entry_real_ns(const struct kdtl_entry *e,
				     const struct kdtl_timebase *tb)
{
	return kdtl_entry_mono_ns(e, tb) + tb->real;
}

#endif /* _LINUX_KDTL_VERBS_H */
