// SPDX-License-Identifier: GPL-2.0
/* Counting waits, and what the counts say. */
#include <linux/bitops.h>
#include <linux/kdtl_counters.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "sampler.h"

/**
 * stats_count() - count a dispatch, but not in a histogram
 * @c: counts of its CPU or cgroup
 * @wait: what its entry says
 */
void stats_count(struct sampler_counts *c, const struct sampler_wait *wait)
{
	c->dispatches++;
	if (wait->throttled) {
		c->throttles++;
		c->throttled += wait->held;
		c->throttled_saturated += wait->held_saturated;
	}
	if (wait->known)
		kdtl_waits_add(&c->waits, wait->ns, wait->saturated);
}

/**
 * stats_add() - count a dispatch
 * @st: counts of its CPU
 * @wait: what its entry says
 */
void stats_add(struct sampler_stats *st, const struct sampler_wait *wait)
{
	stats_count(&st->counts, wait);
	if (stats_in_hist(wait))
		st->hist[wait->bucket]++;
}

/**
 * stats_merge_counts() - add counts to a sum, without a histogram
 * @to: the sum
 * @from: the counts
 */
void stats_merge_counts(struct sampler_counts *to, const struct sampler_counts *from)
{
	to->dispatches += from->dispatches;
	to->throttles += from->throttles;
	to->throttled += from->throttled;
	to->throttled_saturated += from->throttled_saturated;
	kdtl_waits_merge(&to->waits, &from->waits);
}

/**
 * stats_merge() - add a CPU's counts to a sum
 * @to: the sum
 * @from: counts of the CPU
 */
void stats_merge(struct sampler_stats *to, const struct sampler_stats *from)
{
	unsigned int i;

	stats_merge_counts(&to->counts, &from->counts);
	to->lost += from->lost;
	to->steal += from->steal;
	to->counted.dispatches += from->counted.dispatches;
	to->counted.wait += from->counted.wait;
	to->counted.logging += from->counted.logging;
	to->counted.counting += from->counted.counting;
	for (i = 0; i < KDTL_HIST_BUCKETS; i++)
		to->hist[i] += from->hist[i];
}

/**
 * stats_log2() - count waits in a power of two
 * @st: the counts
 * @bits: 0: waits of 0 ns; n: from 2^(n-1) to 2^n - 1 ns
 *
 * Return: number of waits, without those that are saturated.
 */
u64 stats_log2(const struct sampler_stats *st, unsigned int bits)
{
	unsigned int i, first, last;
	u64 sum = 0;

	if (!bits)
		return st->hist[0];
	first = kdtl_hist_bucket(1ULL << (bits - 1));
	last = kdtl_hist_bucket((1ULL << bits) - 1);
	for (i = first; i <= last; i++)
		sum += st->hist[i];
	return sum;
}

static u64 sampler_steal(int cpu)
{
	return kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL];
}

/* Set 0 logs; set 1, if there is one, only counts. */
static struct sampler_counted sampler_counted(struct sampler *s, int cpu,
					      const struct kdtl_aux_info *info)
{
	enum { ENTRIES, IDLE, QUEUED, READY, RUNNING, NR };
	struct kdtl_counter_req req[2 * NR] = {
		[ENTRIES] = { .counter = KDTL_CTR_ENTRIES },
		[IDLE] = { .counter = KDTL_CTR_IDLE },
		[QUEUED] = { .counter = KDTL_CTR_QUEUED },
		[READY] = { .counter = KDTL_CTR_READY },
		[RUNNING] = { .counter = KDTL_CTR_RUNNING },
	};
	struct sampler_counted c = {};
	unsigned int i;
	u64 ticks = 0;

	for (i = 0; i < ARRAY_SIZE(req); i++) {
		req[i] = req[i % NR];
		req[i].set = i / NR;
		req[i].cpu = cpu;
	}
	if (kdtl_read_counters(s->session, req, s->share < 100 ? 2 * NR : NR))
		return c;
	for (i = 0; i < 2 * NR; i += NR) {
		c.dispatches += req[i + ENTRIES].value - req[i + IDLE].value;
		ticks += req[i + QUEUED].value + req[i + READY].value;
		c.counting += req[i + RUNNING].value;
	}
	c.wait = kdtl_ticks_to_ns(info, ticks);
	c.logging = req[RUNNING].value;
	return c;
}

/**
 * stats_reset() - count from now on
 * @s: the sampler
 *
 * Context: under sampler.lock, may sleep.
 */
void stats_reset(struct sampler *s)
{
	struct kdtl_aux_info info;
	struct sampler_stats *st;
	int cpu;

	for_each_possible_cpu(cpu) {
		st = per_cpu_ptr(s->stats, cpu);
		memset(st, 0, sizeof(*st));
		/* Before the session is opened, nothing has been lost or counted. */
		if (s->session && !kdtl_aux_info(s->session, cpu, &info)) {
			st->lost = info.lost;
			st->counted = sampler_counted(s, cpu, &info);
		}
		st->steal = sampler_steal(cpu);
	}
	s->since = ktime_get_boottime_ns();
}

/**
 * stats_look() - get the counts of a CPU up to this moment
 * @s: the sampler
 * @cpu: the CPU
 * @row: filled in
 *
 * Context: under sampler.lock.
 * Return: false if the CPU is offline and always was.
 */
bool stats_look(struct sampler *s, int cpu, struct sampler_row *row)
{
	struct sampler_counted *c = &row->stats.counted, now;

	lockdep_assert_held(&s->lock);
	kdtl_aux_info(s->session, cpu, &row->info);
	now = sampler_counted(s, cpu, &row->info);
	row->stats = *per_cpu_ptr(s->stats, cpu);
	c->dispatches = now.dispatches - c->dispatches;
	c->wait = now.wait - c->wait;
	c->logging = now.logging - c->logging;
	c->counting = now.counting - c->counting;
	row->stats.lost = row->info.lost - row->stats.lost;
	row->stats.steal = sampler_steal(cpu) - row->stats.steal;
	return row->info.online || row->info.produced;
}
