// SPDX-License-Identifier: GPL-2.0
/* The sampler's counts as a table, as lines and as a histogram. */
#include <linux/ktime.h>
#include <linux/list_sort.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "causes.h"
#include "sampler.h"

#define SHOW_BAR	50

/* Three digits and a unit, eight columns wide; a + for "or more". */
static void show_ns(struct seq_file *m, u64 ns, bool saturated)
{
	const char * const unit[] = { "ns", "us", "ms", saturated ? "s+" : "s " };
	unsigned int i = 0, frac = 0;

	while (ns >= 1000 && i < ARRAY_SIZE(unit) - 1) {
		frac = do_div(ns, 1000);
		i++;
	}
	if (!i || ns >= 100)
		seq_printf(m, " %5llu %s", ns, unit[i]);
	else if (ns >= 10)
		seq_printf(m, " %3llu.%u %s", ns, frac / 100, unit[i]);
	else
		seq_printf(m, " %2llu.%02u %s", ns, frac / 10, unit[i]);
}

static void show_quantile(struct seq_file *m, const struct sampler_stats *st,
			  unsigned int permille)
{
	bool saturated;
	const u64 ns = stats_quantile(st, permille, &saturated);

	show_ns(m, ns, saturated);
}

/* With @part, only some dispatches are logged: print the session's counters, which have all. */
static void show_table_row(struct seq_file *m, const struct sampler_stats *st, u64 ms,
			   bool part)
{
	const u64 dispatches = part ? st->counted.dispatches : st->counts.dispatches;

	seq_printf(m, " %11llu %8llu %6llu", dispatches,
		   ms ? div64_u64(dispatches * MSEC_PER_SEC, ms) : 0, st->lost);
	show_ns(m, part ? st->counted.wait : st->counts.waits.sum,
		!part && st->counts.waits.saturated);
	show_quantile(m, st, 500);
	show_quantile(m, st, 990);
	show_quantile(m, st, 999);
	show_ns(m, st->counts.waits.max, st->counts.waits.saturated);
	show_ns(m, st->steal, false);
	seq_putc(m, '\n');
}

/* Say which part was logged.  Nothing is scaled up. */
static void show_part(struct seq_file *m, const char *what, const struct sampler_stats *st)
{
	const u64 permille = st->counted.counting ?
		div64_u64(st->counted.logging * 1000, st->counted.counting) : 0;

	seq_printf(m, "%s of %llu of %llu dispatches: logged for %llu.%llu %% of the time\n",
		   what, st->counts.dispatches, st->counted.dispatches, permille / 10,
		   permille % 10);
}

/**
 * show_table() - a table for people
 * @m: where to
 * @s: the sampler
 * @r: zeroed rows
 *
 * Context: under sampler.lock.
 */
void show_table(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const u64 ms = div_u64(ktime_get_boottime_ns() - s->since, NSEC_PER_MSEC);
	const bool part = s->share < 100;
	int cpu;

	seq_puts(m, " CPU  dispatches   rate/s   lost     wait      p50      p99    p99.9      max   stolen\n");
	for_each_possible_cpu(cpu) {
		if (!stats_look(s, cpu, &r->row))
			continue;
		stats_merge(&r->all, &r->row.stats);
		seq_printf(m, "%4d", cpu);
		show_table_row(m, &r->row.stats, ms, part);
	}
	seq_puts(m, " all");
	show_table_row(m, &r->all, ms, part);
	if (part)
		show_part(m, "p50 to max are", &r->all);
	seq_puts(m, "p50 to p99.9 are at most 6.25 % too high; stolen is /proc/stat's\n");
	if (r->all.counts.throttles) {
		seq_printf(m, "not in the waits: how long tasks were throttled before %llu dispatches,",
			   r->all.counts.throttles);
		show_ns(m, r->all.counts.throttled, r->all.counts.throttled_saturated);
		seq_putc(m, '\n');
	}
	if (r->all.counts.waits.saturated)
		seq_printf(m, "+: or more, as %llu waits were longer than an entry can say\n",
			   r->all.counts.waits.saturated);
}

#define SHOW_WINDOW_HEAD \
	"  dispatches   rate/s     wait      p50      p99    p99.9      max throttled"

static void show_window_row(struct seq_file *m, const struct sampler_stats *st, u64 ms)
{
	seq_printf(m, " %11llu %8llu", st->counts.dispatches,
		   ms ? div64_u64(st->counts.dispatches * MSEC_PER_SEC, ms) : 0);
	show_ns(m, st->counts.waits.sum, st->counts.waits.saturated);
	show_quantile(m, st, 500);
	show_quantile(m, st, 990);
	show_quantile(m, st, 999);
	show_ns(m, st->counts.waits.max, st->counts.waits.saturated);
	seq_putc(m, ' ');
	show_ns(m, st->counts.throttled, st->counts.throttled_saturated);
}

/**
 * show_windows() - a table of each window for people
 * @m: where to
 * @s: the sampler
 * @r: zeroed rows
 *
 * Context: under sampler.lock.
 */
void show_windows(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const u64 now = windows_now(s);
	unsigned int i;
	u64 ms;
	int cpu;

	for (i = 0; i < WINDOWS; i++) {
		ms = windows_ms(s, i, now);
		seq_printf(m, "%slast %u s\n CPU" SHOW_WINDOW_HEAD "\n", i ? "\n" : "",
			   windows_seconds[i]);
		memset(&r->all, 0, sizeof(r->all));
		for_each_possible_cpu(cpu) {
			if (!stats_look(s, cpu, &r->row))
				continue;
			memset(&r->recent, 0, sizeof(r->recent));
			windows_sum(windows_cpu(cpu), i, now, &r->recent);
			stats_merge(&r->all, &r->recent);
			seq_printf(m, "%4d", cpu);
			show_window_row(m, &r->recent, ms);
			seq_putc(m, '\n');
		}
		seq_puts(m, " all");
		show_window_row(m, &r->all, ms);
		seq_putc(m, '\n');
	}
	if (s->share < 100)
		seq_puts(m, "\nonly of the dispatches that were logged, see table\n");
}

static int show_order(void *unused, const struct list_head *a, const struct list_head *b)
{
	return list_entry(a, struct sampler_cgroup, list)->order <
	       list_entry(b, struct sampler_cgroup, list)->order;
}

/* Print the cgroups whose tasks waited most first. */
static void show_window_cgroups(struct seq_file *m, struct sampler *s,
				struct sampler_rows *r, unsigned int i, u64 now)
{
	const u64 ms = windows_ms(s, i, now);
	struct sampler_cgroup *c;

	list_for_each_entry(c, &cgroups, list) {
		memset(&r->recent, 0, sizeof(r->recent));
		windows_sum(c->windows, i, now, &r->recent);
		c->order = r->recent.counts.waits.sum;
	}
	list_sort(NULL, &cgroups, show_order);
	seq_printf(m, "last %u s\n" SHOW_WINDOW_HEAD " cgroup\n", windows_seconds[i]);
	list_for_each_entry(c, &cgroups, list) {
		memset(&r->recent, 0, sizeof(r->recent));
		windows_sum(c->windows, i, now, &r->recent);
		if (!r->recent.counts.dispatches)
			continue;
		show_window_row(m, &r->recent, ms);
		seq_printf(m, " %s\n", c->path);
	}
	seq_putc(m, '\n');
}

/**
 * show_cgroups() - a table of each window, and since counting began, by cgroup
 * @m: where to
 * @s: the sampler
 * @r: zeroed rows
 *
 * Context: under sampler.lock.
 */
void show_cgroups(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const u64 ms = div_u64(ktime_get_boottime_ns() - s->since, NSEC_PER_MSEC);
	const u64 now = windows_now(s);
	struct sampler_cgroup *c;
	unsigned int i;

	cgroups_clean(now);
	for (i = 0; i < WINDOWS; i++)
		show_window_cgroups(m, s, r, i, now);
	seq_puts(m, "since reset\n" SHOW_WINDOW_HEAD "   behind  culprit cgroup\n");
	list_for_each_entry(c, &cgroups, list) {
		if (!c->counts.dispatches)
			continue;
		memset(&r->recent, 0, sizeof(r->recent));
		cgroups_stats(c, &r->recent);
		show_window_row(m, &r->recent, ms);
		show_ns(m, causes_ns(c, PRESSURE_BY_NEIGHBOURS), false);
		show_ns(m, causes_of(c)->culprit, false);
		seq_printf(m, " %s\n", c->path);
	}
	if (s->share < 100)
		seq_puts(m, "\nonly of the dispatches that were logged, see table\n");
}

/**
 * show_lines() - a line of numbers for each CPU, for programs
 * @m: where to
 * @s: the sampler
 * @r: zeroed rows
 *
 * Context: under sampler.lock.
 */
void show_lines(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const struct sampler_stats *st = &r->row.stats;
	const struct kdtl_aux_info *info = &r->row.info;
	bool saturated;
	int cpu;

	seq_puts(m, "#cpu\tproduced\tconsumed\tunread\tlost\tdispatches\twait_ns\tp50_ns\tp99_ns\tp999_ns\tmax_ns\tstolen_ns\tsaturated\tthrottles\tthrottled_ns\tcounted\tcounted_wait_ns\tlogging_ns\tcounting_ns\tthrottled_saturated\n");
	for_each_possible_cpu(cpu) {
		if (!stats_look(s, cpu, &r->row))
			continue;
		seq_printf(m, "%d\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n",
			   cpu, info->produced, info->consumed, info->unread, info->lost,
			   st->counts.dispatches, st->counts.waits.sum,
			   stats_quantile(st, 500, &saturated), stats_quantile(st, 990, &saturated),
			   stats_quantile(st, 999, &saturated), st->counts.waits.max, st->steal,
			   st->counts.waits.saturated, st->counts.throttles, st->counts.throttled,
			   st->counted.dispatches, st->counted.wait,
			   st->counted.logging, st->counted.counting,
			   st->counts.throttled_saturated);
	}
}

static void show_bar(struct seq_file *m, u64 ns, bool saturated, u64 n, u64 most)
{
	unsigned int bar;

	show_ns(m, ns, saturated);
	seq_printf(m, " %11llu |", n);
	for (bar = div64_u64(n * SHOW_BAR + most - 1, most); bar; bar--)
		seq_putc(m, '#');
	seq_putc(m, '\n');
}

static void show_bars(struct seq_file *m, const struct sampler_stats *st)
{
	unsigned int bits, first = KDTL_HIST_MAX_BITS, last = 0;
	bool gap = false;
	u64 most = max(st->counts.waits.saturated, 1ULL), n;

	for (bits = 0; bits <= KDTL_HIST_MAX_BITS; bits++) {
		n = stats_log2(st, bits);
		if (!n)
			continue;
		first = min(first, bits);
		last = bits;
		most = max(most, n);
	}
	seq_puts(m, "  wait below       count\n");
	for (bits = first; bits <= last && st->counts.waits.nr; bits++) {
		n = stats_log2(st, bits);
		if (n)
			show_bar(m, 1ULL << bits, false, n, most);
		else if (!gap)
			seq_puts(m, "  ...\n");
		gap = !n;
	}
	if (st->counts.waits.saturated)
		show_bar(m, st->counts.waits.least, true, st->counts.waits.saturated, most);
}

/**
 * show_histogram() - waits on all CPUs by powers of two
 * @m: where to
 * @s: the sampler
 * @r: zeroed rows
 *
 * Context: under sampler.lock.
 */
void show_histogram(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	int cpu;

	for_each_possible_cpu(cpu)
		if (stats_look(s, cpu, &r->row))
			stats_merge(&r->all, &r->row.stats);
	show_bars(m, &r->all);
	if (s->share < 100)
		show_part(m, "the counts are", &r->all);
}
