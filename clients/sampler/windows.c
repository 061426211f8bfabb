// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of the last 1, 10 and 60 s
 *
 * A window is made of parts, each of which counts one stretch of time. A sum leaves out
 * the parts that are too old, so counts fall without any work.
 */
#define pr_fmt(fmt) "kdtl_sampler: " fmt

#include <linux/kdtl_verbs.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/percpu.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/topology.h>

#include "sampler.h"

const unsigned int windows_seconds[WINDOWS] = { 1, 10, 60 };

static DEFINE_PER_CPU(struct sampler_windows *, windows_of_cpu);

static u64 windows_part_ns(unsigned int i)
{
	return windows_seconds[i] * (u64)(NSEC_PER_SEC / WINDOW_PARTS);
}

/* The oldest part that is in the sum at @now. */
static u64 windows_oldest(unsigned int i, u64 now)
{
	const u64 nr = div64_u64(now, windows_part_ns(i));

	return nr - min_t(u64, nr, WINDOW_PARTS);
}

/**
 * windows_now() - the time by which dispatches are counted
 * @s: the sampler
 *
 * Context: may sleep.
 * Return: the session's time base, in ns.
 */
u64 windows_now(struct sampler *s)
{
	struct kdtl_timebase tb = {};
	struct kdtl_aux_info info;

	if (kdtl_timebase_sync(s->session, &tb) || kdtl_aux_info(s->session, -1, &info))
		return 0;
	return kdtl_ticks_to_ns(&info, tb.ticks);
}

/**
 * windows_cpu() - the windows of a CPU
 * @cpu: the CPU
 *
 * Context: under sampler.lock.
 * Return: the windows, or NULL if nothing was counted.
 */
struct sampler_windows *windows_cpu(int cpu)
{
	return per_cpu(windows_of_cpu, cpu);
}

static u32 *windows_row(const struct sampler_windows *w, unsigned int row)
{
	row--;
	return w->chunks[row / WINDOWS_CHUNK][row % WINDOWS_CHUNK].hist;
}

/* Allocate a row of zeros; 0: there is no memory. */
static unsigned int windows_take(struct sampler_windows *w)
{
	struct sampler_octave **chunk = &w->chunks[w->rows / WINDOWS_CHUNK];
	const unsigned int row = w->free;

	if (row) {
		w->free = *windows_row(w, row);
		*windows_row(w, row) = 0;
		return row;
	}
	if (!*chunk)
		*chunk = kcalloc_node(WINDOWS_CHUNK, sizeof(**chunk), GFP_KERNEL, w->node);
	return *chunk ? ++w->rows : 0;
}

/* Empty a part, and reuse it for the stretch of time @nr. */
static void windows_begin(struct sampler_windows *w, struct sampler_part *part, u64 nr)
{
	unsigned int i, row;

	for (i = 0; i < KDTL_HIST_OCTAVES; i++) {
		row = part->octave[i];
		if (!row)
			continue;
		memset(windows_row(w, row), 0, sizeof(struct sampler_octave));
		*windows_row(w, row) = w->free;
		w->free = row;
	}
	memset(part, 0, sizeof(*part));
	part->nr = nr;
}

/* Without memory for the wait in the histogram, the sums do not get it either. */
static bool windows_count(struct sampler_windows *w, struct sampler_part *part,
			  const struct sampler_wait *wait)
{
	const unsigned int bucket = wait->bucket;
	u16 *row = &part->octave[bucket / KDTL_HIST_STEPS];

	if (stats_in_hist(wait)) {
		if (!*row)
			*row = windows_take(w);
		if (!*row)
			return false;
		windows_row(w, *row)[bucket % KDTL_HIST_STEPS]++;
	}
	stats_count(&part->counts, wait);
	return true;
}

/* The part of a window in which a dispatch is. */
static struct sampler_part *windows_part(struct sampler_windows *w, unsigned int i, u64 time,
					 u64 *nr)
{
	struct sampler_part *part = &w->parts[i][w->at[i]];

	/* Usually it is the part of the last dispatch, which saves the division. */
	*nr = part->nr;
	if (time - part->nr * windows_part_ns(i) < windows_part_ns(i))
		return part;
	*nr = div64_u64(time, windows_part_ns(i));
	div_u64_rem(*nr, WINDOW_PARTS + 1, &w->at[i]);
	return &w->parts[i][w->at[i]];
}

static bool windows_add(struct sampler_windows *w, const struct sampler_wait *wait)
{
	struct sampler_part *part;
	bool counted = true;
	unsigned int i;
	u64 nr;

	for (i = 0; i < WINDOWS; i++) {
		part = windows_part(w, i, wait->time, &nr);
		if (part->nr < nr)
			windows_begin(w, part, nr);
		/* Entries of several CPUs come out of order, but hardly ever this late. */
		if (part->nr == nr && !windows_count(w, part, wait))
			counted = false;
	}
	return counted;
}

/**
 * windows_add_to() - count a dispatch in windows that may not be there yet
 * @w: the windows; NULL: they are allocated
 * @node: on this NUMA node
 * @wait: what its entry says
 *
 * Context: under sampler.lock, may sleep.
 */
void windows_add_to(struct sampler_windows **w, int node, const struct sampler_wait *wait)
{
	if (!*w) {
		*w = kzalloc_node(sizeof(**w), GFP_KERNEL, node);
		if (*w)
			(*w)->node = node;
	}
	if (!*w || !windows_add(*w, wait))
		pr_warn_once("no memory for the windows of a CPU or a cgroup\n");
}

/**
 * windows_add_cpu() - count a dispatch in the windows of its CPU
 * @cpu: the CPU
 * @wait: what its entry says
 *
 * Context: under sampler.lock, may sleep.
 */
void windows_add_cpu(int cpu, const struct sampler_wait *wait)
{
	/* Many possible CPUs never come online. */
	windows_add_to(per_cpu_ptr(&windows_of_cpu, cpu), cpu_to_node(cpu), wait);
}

static void windows_sum_part(const struct sampler_windows *w, const struct sampler_part *part,
			     struct sampler_stats *sum)
{
	unsigned int i, step;
	u64 *row;

	stats_merge_counts(&sum->counts, &part->counts);
	for (i = 0; i < KDTL_HIST_OCTAVES; i++) {
		row = &sum->hist[i * KDTL_HIST_STEPS];
		for (step = 0; part->octave[i] && step < KDTL_HIST_STEPS; step++)
			row[step] += windows_row(w, part->octave[i])[step];
	}
}

/**
 * windows_sum() - what was counted in a window
 * @w: the windows, or NULL
 * @i: which one, as in windows_seconds[]
 * @now: windows_now()
 * @sum: is added to
 */
void windows_sum(const struct sampler_windows *w, unsigned int i, u64 now,
		 struct sampler_stats *sum)
{
	const u64 oldest = windows_oldest(i, now);
	unsigned int at;

	for (at = 0; w && at <= WINDOW_PARTS; at++) {
		if (w->parts[i][at].nr >= oldest)
			windows_sum_part(w, &w->parts[i][at], sum);
	}
}

/**
 * windows_ms() - how much time windows_sum() covers
 * @s: the sampler
 * @i: which window, as in windows_seconds[]
 * @now: windows_now()
 *
 * Return: ms; less than the window's length if counting began later.
 */
u64 windows_ms(const struct sampler *s, unsigned int i, u64 now)
{
	return div_u64(min(now - windows_oldest(i, now) * windows_part_ns(i),
			   ktime_get_boottime_ns() - s->since), NSEC_PER_MSEC);
}

/**
 * windows_are_over() - is nothing left in any window?
 * @seen: time of the latest dispatch that was counted
 * @now: windows_now()
 *
 * Return: true if so.
 */
bool windows_are_over(u64 seen, u64 now)
{
	return div64_u64(seen, windows_part_ns(WINDOWS - 1)) < windows_oldest(WINDOWS - 1, now);
}

/**
 * windows_free() - free windows and their counts
 * @w: the windows, or NULL; the next dispatch allocates them again
 *
 * Context: under sampler.lock, or there is no session any more.
 */
void windows_free(struct sampler_windows **w)
{
	unsigned int i;

	for (i = 0; *w && i < WINDOWS_CHUNKS; i++)
		kfree((*w)->chunks[i]);
	kfree(*w);
	*w = NULL;
}

/**
 * windows_reset() - free the windows of all CPUs
 *
 * Context: under sampler.lock, or there is no session any more.
 */
void windows_reset(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		windows_free(per_cpu_ptr(&windows_of_cpu, cpu));
}
