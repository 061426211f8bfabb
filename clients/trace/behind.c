// SPDX-License-Identifier: GPL-2.0
/*
 * Behind whom a task waited
 *
 * A second session keeps each CPU's newest dispatches and idle times, even those that are
 * not traced.  When a task has waited on a CPU, the thread copies that CPU's entries, at
 * most once in a round, and searches the copy for each traced entry.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "client.h"

/* Tasks whose time is added up while another one waits; more share the rest. */
#define BEHIND_TASKS	16

/**
 * struct past - a CPU's newest entries
 * @entries: a copy of them, the oldest first; NULL: never needed
 * @nr: their number
 * @round: the round in which the copy was made
 */
struct past {
	struct kdtl_entry	*entries;
	size_t			nr;
	unsigned int		round;
};

static struct kdtl_session *session;	/* NULL if the source knows no tasks */
static struct past *pasts;		/* by CPU */
static size_t past_size;
static unsigned int round;

/**
 * kdtl_trace_behind_begin() - begin to keep the newest entries
 * @pmu: the source; its entries name tasks
 * @pages: pages per CPU, a power of two
 *
 * Context: may sleep.
 * Return: 0 or an errno; call kdtl_trace_behind_end() in both cases.
 */
int kdtl_trace_behind_begin(const char *pmu, unsigned int pages)
{
	const struct kdtl_session_attr attr = {
		.pmu		= pmu,
		.aux_pages	= pages,
		.mask		= KDTL_MASK_ALL | KDTL_MASK_IDLE,
		.flags		= KDTL_SESSION_OVERWRITE,
	};
	struct kdtl_session *s;

	past_size = (size_t)(pages ?: KDTL_DEFAULT_AUX_PAGES) << PAGE_SHIFT;
	pasts = kcalloc(nr_cpu_ids, sizeof(*pasts), GFP_KERNEL);
	if (!pasts)
		return -ENOMEM;
	s = kdtl_session_open(&attr, NULL);
	if (IS_ERR(s))
		return PTR_ERR(s);
	session = s;
	return 0;
}

/**
 * kdtl_trace_behind_end() - undo kdtl_trace_behind_begin()
 *
 * Context: may sleep.
 */
void kdtl_trace_behind_end(void)
{
	unsigned int cpu;

	kdtl_session_close(session);
	session = NULL;
	for (cpu = 0; pasts && cpu < nr_cpu_ids; cpu++)
		kvfree(pasts[cpu].entries);
	kfree(pasts);
	pasts = NULL;
}

/**
 * kdtl_trace_behind_round() - begin a round, in which old copies lack the newest entries
 *
 * Context: the thread, after kdtl_merge_sync().
 */
void kdtl_trace_behind_round(void)
{
	round++;
}

/* A copy of the CPU's entries, at least up to the last kdtl_merge_sync(). */
static const struct past *past_of(int cpu)
{
	struct past *p = &pasts[cpu];
	ssize_t len;

	if (p->round == round)
		return p;
	p->round = round;
	p->nr = 0;
	if (!p->entries)
		p->entries = kdtl_snapshot_alloc(past_size);
	if (!p->entries)
		return p;
	len = kdtl_aux_snapshot(session, cpu, p->entries, past_size, NULL);
	if (len > 0)
		p->nr = len / sizeof(*p->entries);
	return p;
}

static bool is_later(const struct kdtl_entry *e, u64 time)
{
	return (s64)(kdtl_entry_time(e) - time) > 0;
}

/* The first entry to look at: the last one that is not later than @time. */
static size_t past_find(const struct past *p, u64 time)
{
	size_t low = 0, high = p->nr, mid;

	while (low < high) {
		mid = (low + high) / 2;
		if (is_later(&p->entries[mid], time))
			high = mid;
		else
			low = mid + 1;
	}
	return low ? low - 1 : 0;
}

/**
 * kdtl_trace_behind() - who had the CPU longest while a task waited in its queue
 * @tasks: the table of tasks
 * @cpu: the CPU that the task got
 * @e: the task's entry
 *
 * Context: the thread only, as a static array is used, which is too large for the stack.
 * Return: the task that had the CPU longest, and for how long; zeroes if no task had it, or
 * the entries that say so are gone.
 */
struct kdtl_ran kdtl_trace_behind(struct kdtl_tasks *tasks, int cpu, const struct kdtl_entry *e)
{
	static struct kdtl_ran ran[BEHIND_TASKS];
	struct kdtl_who who = { .tasks = tasks, .ran = ran, .size = ARRAY_SIZE(ran) };
	const u64 to = kdtl_entry_time(e), from = to - kdtl_entry_queued(e);
	const struct past *p;
	size_t i;

	if (!session || from == to)
		return (struct kdtl_ran) { };
	p = past_of(cpu);
	kdtl_who_begin(&who, from, to);
	for (i = past_find(p, from); i < p->nr; i++) {
		kdtl_who_entry(&who, &p->entries[i]);
		if (!is_later(e, kdtl_entry_time(&p->entries[i])))
			break;
	}
	kdtl_who_end(&who, false);
	return who.nr ? ran[0] : (struct kdtl_ran) { };
}
