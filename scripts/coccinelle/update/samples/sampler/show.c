// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler's numbers in debugfs, under kdtl_sampler/
 *
 * table for people, lines for programs, histogram for the eye, metrics for
 * Prometheus; reset and running take a write.
 */
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/kernel_stat.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "sampler.h"

#define SHOW_BAR	50

static struct dentry *show_dir;

/* Three digits and a unit, eight columns wide. */
static void show_ns(struct seq_file *m, u64 ns)
{
	static const char * const unit[] = { "ns", "us", "ms", "s " };
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

static void show_table_row(struct seq_file *m, const struct sampler_stats *st,
			   u64 elapsed_ns)
{
	const u64 ms = div_u64(elapsed_ns, NSEC_PER_MSEC);

	seq_printf(m, " %11llu %8llu %6llu", st->dispatches,
		   ms ? div64_u64(st->dispatches * MSEC_PER_SEC, ms) : 0, st->lost);
	show_ns(m, st->wait);
	show_ns(m, stats_quantile(st, 500));
	show_ns(m, stats_quantile(st, 990));
	show_ns(m, stats_quantile(st, 999));
	show_ns(m, st->max);
	show_ns(m, st->steal);
	seq_putc(m, '\n');
}

/* Calls @fn for every CPU of the sampler, and returns the sum in @all. */
static void show_each(struct seq_file *m, struct sampler_row *row,
		      struct sampler_stats *all,
		      void (*fn)(struct seq_file *m, int cpu, struct sampler_row *row,
				 u64 elapsed), u64 elapsed)
{
	int cpu;

	for_each_cpu(cpu, sampler.cpus) {
		if (!sampler_look(cpu, row))
			continue;
		stats_merge(all, &row->stats);
		if (fn)
			fn(m, cpu, row, elapsed);
	}
}

static void show_table_cpu(struct seq_file *m, int cpu, struct sampler_row *row,
			   u64 elapsed)
{
	seq_printf(m, "%4d", cpu);
	show_table_row(m, &row->stats, elapsed);
}

static void show_lines_cpu(struct seq_file *m, int cpu, struct sampler_row *row,
			   u64 elapsed)
{
	const struct sampler_stats *st = &row->stats;

	seq_printf(m, "%d\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\t%llu\n",
		   cpu, row->info.produced, row->info.consumed, row->info.unread,
		   row->info.lost, st->dispatches, st->wait,
		   stats_quantile(st, 500), stats_quantile(st, 990),
		   stats_quantile(st, 999), st->max, st->steal);
}

static void show_bar(struct seq_file *m, unsigned int bits, u64 n, u64 most)
{
	unsigned int bar;

	show_ns(m, 1ULL << bits);
	seq_printf(m, " %11llu |", n);
	for (bar = div64_u64(n * SHOW_BAR + most - 1, most); bar; bar--)
		seq_putc(m, '#');
	seq_putc(m, '\n');
}

static void show_bars(struct seq_file *m, const struct sampler_stats *st)
{
	unsigned int bits, first = STATS_MAX_BITS, last = 0;
	bool gap = false;
	u64 most = 1, n;

	for (bits = 0; bits <= STATS_MAX_BITS; bits++) {
		n = stats_log2(st, bits);
		if (!n)
			continue;
		first = min(first, bits);
		last = bits;
		most = max(most, n);
	}
	seq_puts(m, "  wait below       count\n");
	for (bits = first; bits <= last && st->dispatches; bits++) {
		n = stats_log2(st, bits);
		if (n)
			show_bar(m, bits, n, most);
		else if (!gap)
			seq_puts(m, "  ...\n");
		gap = !n;
	}
}

/* The ways to look at the same numbers. */
enum show_view { SHOW_TABLE, SHOW_LINES, SHOW_HISTOGRAM, SHOW_METRICS };

static int show_view(struct seq_file *m, enum show_view view)
{
	struct sampler_stats *all;
	struct sampler_row *row;
	u64 elapsed;

	row = kvzalloc(sizeof(*row), GFP_KERNEL);
	all = kvzalloc(sizeof(*all), GFP_KERNEL);
	if (!row || !all) {
		kvfree(all);
		kvfree(row);
		return -ENOMEM;
	}

	sampler_drain();
	mutex_lock(&sampler.lock);
	elapsed = ktime_get_boottime_ns() - sampler.since;
	switch (view) {
	case SHOW_TABLE:
		seq_puts(m, " CPU  dispatches   rate/s   lost     wait      p50      p99    p99.9      max   stolen\n");
		show_each(m, row, all, show_table_cpu, elapsed);
		seq_puts(m, " all");
		show_table_row(m, all, elapsed);
		seq_puts(m, "p50 to p99.9 are at most 6.25 % too high; stolen is /proc/stat's\n");
		break;
	case SHOW_LINES:
		seq_puts(m, "#cpu\tproduced\tconsumed\tunread\tlost\tdispatches\twait_ns\tp50_ns\tp99_ns\tp999_ns\tmax_ns\tstolen_ns\n");
		show_each(m, row, all, show_lines_cpu, elapsed);
		break;
	case SHOW_HISTOGRAM:
		show_each(m, row, all, NULL, elapsed);
		show_bars(m, all);
		break;
	case SHOW_METRICS:
		metrics_show(m, row, all);
		break;
	}
	mutex_unlock(&sampler.lock);

	kvfree(all);
	kvfree(row);
	return 0;
}

static int table_show(struct seq_file *m, void *unused)
{
	return show_view(m, SHOW_TABLE);
}
DEFINE_SHOW_ATTRIBUTE(table);

static int lines_show(struct seq_file *m, void *unused)
{
	return show_view(m, SHOW_LINES);
}
DEFINE_SHOW_ATTRIBUTE(lines);

static int histogram_show(struct seq_file *m, void *unused)
{
	return show_view(m, SHOW_HISTOGRAM);
}
DEFINE_SHOW_ATTRIBUTE(histogram);

static int metrics_file_show(struct seq_file *m, void *unused)
{
	return show_view(m, SHOW_METRICS);
}
DEFINE_SHOW_ATTRIBUTE(metrics_file);

static int reset_set(void *unused, u64 val)
{
	sampler_reset();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(reset_fops, NULL, reset_set, "%llu\n");

static int running_get(void *unused, u64 *val)
{
	*val = READ_ONCE(sampler.running);
	return 0;
}

static int running_set(void *unused, u64 val)
{
	return sampler_set_running(val);
}
DEFINE_DEBUGFS_ATTRIBUTE(running_fops, running_get, running_set, "%llu\n");

/**
 * sampler_show_init() - make the files
 */
void sampler_show_init(void)
{
	show_dir = debugfs_create_dir("kdtl_sampler", NULL);
	debugfs_create_file("table", 0400, show_dir, NULL, &table_fops);
	debugfs_create_file("lines", 0400, show_dir, NULL, &lines_fops);
	debugfs_create_file("histogram", 0400, show_dir, NULL, &histogram_fops);
	debugfs_create_file("metrics", 0400, show_dir, NULL, &metrics_file_fops);
	debugfs_create_file("reset", 0200, show_dir, NULL, &reset_fops);
	debugfs_create_file("running", 0600, show_dir, NULL, &running_fops);
}

/**
 * sampler_show_exit() - remove them; nobody reads them afterwards
 */
void sampler_show_exit(void)
{
	debugfs_remove(show_dir);
}
