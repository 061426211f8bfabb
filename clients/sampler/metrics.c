// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler's counts for Prometheus, in its text format 0.0.4
 *
 * node_exporter's textfile collector reads it. A histogram for each CPU would
 * make some thirty time series per CPU, so there is one histogram of all CPUs,
 * which can be added up over a fleet, and a summary for each CPU.
 */
#include <linux/math64.h>
#include <linux/time64.h>

#include "causes.h"
#include "sampler.h"

/* The histogram's bounds: powers of two from about 1 us to about 17 s. */
#define METRICS_MIN_BITS	10
#define METRICS_MAX_BITS	34

static const struct {
	unsigned int	permille;
	const char	*label;
} metrics_quantiles[] = { { 500, "0.5" }, { 990, "0.99" }, { 999, "0.999" } };

static void metrics_head(struct seq_file *m, const char *name, const char *type,
			 const char *help)
{
	seq_printf(m, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void metrics_seconds(struct seq_file *m, u64 ns)
{
	u32 frac;

	ns = div_u64_rem(ns, NSEC_PER_SEC, &frac);
	seq_printf(m, "%llu.%09u", ns, frac);
}

/* Without a wait this prints NaN, as Prometheus' clients do: 0 would be a very short wait. */
static void metrics_quantile(struct seq_file *m, const struct sampler_stats *recent,
			     unsigned int permille)
{
	bool saturated;

	if (recent->counts.waits.nr)
		metrics_seconds(m, stats_quantile(recent, permille, &saturated));
	else
		seq_puts(m, "NaN");
	seq_putc(m, '\n');
}

static void metrics_histogram(struct seq_file *m, const struct sampler_stats *st)
{
	unsigned int bits;
	u64 below = 0;

	metrics_head(m, "kdtl_wait_seconds", "histogram",
		     "Time that a runner waited for a CPU before it was dispatched.");
	for (bits = 0; bits <= METRICS_MAX_BITS; bits++) {
		below += stats_log2(st, bits);
		if (bits < METRICS_MIN_BITS)
			continue;
		/* Waits are whole ns: below 2^bits means at most 2^bits - 1. */
		seq_puts(m, "kdtl_wait_seconds_bucket{le=\"");
		metrics_seconds(m, (1ULL << bits) - 1);
		seq_printf(m, "\"} %llu\n", below);
	}
	seq_printf(m, "kdtl_wait_seconds_bucket{le=\"+Inf\"} %llu\n", st->counts.waits.nr);
	seq_puts(m, "kdtl_wait_seconds_sum ");
	metrics_seconds(m, st->counts.waits.sum);
	seq_printf(m, "\nkdtl_wait_seconds_count %llu\n", st->counts.waits.nr);
}

/* @recent has the last minute, @st all since counting began. */
static void metrics_summary_cpu(struct seq_file *m, int cpu,
				const struct sampler_stats *recent,
				const struct sampler_stats *st)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(metrics_quantiles); i++) {
		seq_printf(m, "kdtl_cpu_wait_seconds{cpu=\"%d\",quantile=\"%s\"} ",
			   cpu, metrics_quantiles[i].label);
		metrics_quantile(m, recent, metrics_quantiles[i].permille);
	}
	seq_printf(m, "kdtl_cpu_wait_seconds_sum{cpu=\"%d\"} ", cpu);
	metrics_seconds(m, st->counts.waits.sum);
	seq_printf(m, "\nkdtl_cpu_wait_seconds_count{cpu=\"%d\"} %llu\n", cpu,
		   st->counts.waits.nr);
}

static void metrics_summary(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const u64 now = windows_now(s);
	int cpu;

	metrics_head(m, "kdtl_cpu_wait_seconds", "summary",
		     "Time that a runner waited for the CPU. Quantiles: of the last minute, at most 6.25 % too high.");
	for_each_possible_cpu(cpu) {
		if (!stats_look(s, cpu, &r->row))
			continue;
		memset(&r->recent, 0, sizeof(r->recent));
		windows_sum(windows_cpu(cpu), WINDOW_MINUTE, now, &r->recent);
		metrics_summary_cpu(m, cpu, &r->recent, &r->row.stats);
		stats_merge(&r->all, &r->row.stats);
	}
}

static void metrics_max(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const u64 now = windows_now(s);
	int cpu;

	metrics_head(m, "kdtl_wait_max_seconds", "gauge", "Longest wait of the last minute.");
	for_each_possible_cpu(cpu) {
		if (!stats_look(s, cpu, &r->row))
			continue;
		memset(&r->recent, 0, sizeof(r->recent));
		windows_sum(windows_cpu(cpu), WINDOW_MINUTE, now, &r->recent);
		seq_printf(m, "kdtl_wait_max_seconds{cpu=\"%d\"} ", cpu);
		metrics_seconds(m, r->recent.counts.waits.max);
		seq_putc(m, '\n');
	}
}

/* Counters with one value per CPU, which is at offset @field of its struct sampler_stats. */
static const struct {
	const char	*name;
	const char	*help;
	size_t		field;
	bool		seconds;
} metrics_by_cpu[] = {
	{ "kdtl_wait_saturated_total",
	  "Waits longer than an entry can say: sum, quantiles and maximum may be too low.",
	  offsetof(struct sampler_stats, counts.waits.saturated) },
	{ "kdtl_throttled_total",
	  "Dispatches of runners that a limit on CPU time had held back.",
	  offsetof(struct sampler_stats, counts.throttles) },
	{ "kdtl_throttled_seconds_total",
	  "Time that these runners were held back or, after that, waited.",
	  offsetof(struct sampler_stats, counts.throttled), true },
	{ "kdtl_throttled_saturated_total",
	  "Times held back that were longer than an entry can say: the sum of them may be too low.",
	  offsetof(struct sampler_stats, counts.throttled_saturated) },
	{ "kdtl_stolen_seconds_total",
	  "Time that the hypervisor gave to others, as in /proc/stat.",
	  offsetof(struct sampler_stats, steal), true },
	{ "kdtl_lost_total",
	  "Entries that found no room in the log.",
	  offsetof(struct sampler_stats, lost) },
	{ "kdtl_dispatches_total",
	  "Dispatches, logged or not.",
	  offsetof(struct sampler_stats, counted.dispatches) },
	{ "kdtl_waited_seconds_total",
	  "Time that the runners of these dispatches waited for the CPU.",
	  offsetof(struct sampler_stats, counted.wait), true },
	{ "kdtl_logging_seconds_total",
	  "Time in which dispatches were logged: the histogram, summary and maximum are of it.",
	  offsetof(struct sampler_stats, counted.logging), true },
	{ "kdtl_counting_seconds_total",
	  "Time in which dispatches were logged or only counted.",
	  offsetof(struct sampler_stats, counted.counting), true },
};

static void metrics_one_by_cpu(struct seq_file *m, struct sampler *s,
			       struct sampler_row *row, unsigned int i)
{
	u64 value;
	int cpu;

	metrics_head(m, metrics_by_cpu[i].name, "counter", metrics_by_cpu[i].help);
	for_each_possible_cpu(cpu) {
		if (!stats_look(s, cpu, row))
			continue;
		value = *(u64 *)((void *)&row->stats + metrics_by_cpu[i].field);
		seq_printf(m, "%s{cpu=\"%d\"} ", metrics_by_cpu[i].name, cpu);
		if (metrics_by_cpu[i].seconds)
			metrics_seconds(m, value);
		else
			seq_printf(m, "%llu", value);
		seq_putc(m, '\n');
	}
}

/* In Prometheus' label values, backslashes and quotes must be escaped. */
static void metrics_path(struct seq_file *m, const char *path)
{
	for (; *path; path++) {
		if (*path == '\\' || *path == '"')
			seq_putc(m, '\\');
		seq_putc(m, *path);
	}
}

/* NAME{cgroup="PATH" REST} */
static void metrics_cgroup(struct seq_file *m, const char *name,
			   const struct sampler_cgroup *c, const char *rest)
{
	seq_printf(m, "%s{cgroup=\"", name);
	metrics_path(m, c->path);
	seq_printf(m, "\"%s} ", rest);
}

static void metrics_summary_cgroup(struct seq_file *m, const struct sampler_cgroup *c,
				   const struct sampler_stats *recent)
{
	char quantile[24];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(metrics_quantiles); i++) {
		snprintf(quantile, sizeof(quantile), ",quantile=\"%s\"",
			 metrics_quantiles[i].label);
		metrics_cgroup(m, "kdtl_cgroup_wait_seconds", c, quantile);
		metrics_quantile(m, recent, metrics_quantiles[i].permille);
	}
	metrics_cgroup(m, "kdtl_cgroup_wait_seconds_sum", c, "");
	metrics_seconds(m, c->counts.waits.sum);
	seq_putc(m, '\n');
	metrics_cgroup(m, "kdtl_cgroup_wait_seconds_count", c, "");
	seq_printf(m, "%llu\n", c->counts.waits.nr);
}

/* Metrics with one value per cgroup, which is at offset @field of its struct sampler_cgroup. */
static const struct {
	const char	*name;
	const char	*type;
	const char	*help;
	size_t		field;
	bool		seconds;
} metrics_by_cgroup[] = {
	{ "kdtl_cgroup_wait_max_seconds", "gauge",
	  "Longest wait of the cgroup's tasks in the last minute.",
	  offsetof(struct sampler_cgroup, order), true },
	{ "kdtl_cgroup_throttled_total", "counter",
	  "Dispatches of the cgroup's tasks that a limit on CPU time had held back.",
	  offsetof(struct sampler_cgroup, counts.throttles) },
	{ "kdtl_cgroup_throttled_seconds_total", "counter",
	  "Time that these tasks were held back or, after that, waited.",
	  offsetof(struct sampler_cgroup, counts.throttled), true },
};

static void metrics_one_by_cgroup(struct seq_file *m, unsigned int i)
{
	const struct sampler_cgroup *c;
	u64 value;

	metrics_head(m, metrics_by_cgroup[i].name, metrics_by_cgroup[i].type,
		     metrics_by_cgroup[i].help);
	list_for_each_entry(c, &cgroups, list) {
		if (!c->counts.dispatches)
			continue;
		metrics_cgroup(m, metrics_by_cgroup[i].name, c, "");
		value = *(u64 *)((void *)c + metrics_by_cgroup[i].field);
		if (metrics_by_cgroup[i].seconds)
			metrics_seconds(m, value);
		else
			seq_printf(m, "%llu", value);
		seq_putc(m, '\n');
	}
}

static void metrics_cause(struct seq_file *m, const char *name, const struct sampler_cgroup *c,
			  unsigned int cause, u64 ns)
{
	char rest[32];

	snprintf(rest, sizeof(rest), ",cause=\"%s\"", causes_names[cause]);
	metrics_cgroup(m, name, c, rest);
	metrics_seconds(m, ns);
	seq_putc(m, '\n');
}

/* Who had the CPUs for which a cgroup waited. */
static void metrics_neighbours(struct seq_file *m, const struct sampler_cgroup *c)
{
	const struct pressure_by *by = causes_of(c)->by;
	unsigned int i;

	for (i = 0; i < PRESSURE_BY; i++) {
		if (!by[i].ticks || by[i].group < 0)
			continue;
		seq_puts(m, "kdtl_cgroup_neighbour_seconds_total{cgroup=\"");
		metrics_path(m, c->path);
		seq_puts(m, "\",neighbour=\"");
		metrics_path(m, cgroups_by_slot[by[i].group]->path);
		seq_puts(m, "\"} ");
		metrics_seconds(m, by[i].ticks);
		seq_putc(m, '\n');
	}
}

/* These metrics include cgroups without tasks of their own. */
static void metrics_pressure(struct seq_file *m)
{
	struct sampler_cgroup *c;
	unsigned int i;

	metrics_head(m, "kdtl_cgroup_pressure_seconds_total", "counter",
		     "Time that at least one task of the cgroup, or of one in it, waited on a CPU, by cause.");
	list_for_each_entry(c, &cgroups, list) {
		for (i = 0; i < PRESSURE_CAUSES; i++)
			metrics_cause(m, "kdtl_cgroup_pressure_seconds_total", c, i,
				      causes_ns(c, i));
	}
	metrics_head(m, "kdtl_cgroup_tasks_seconds_total", "counter",
		     "Time that tasks of the cgroup, or of one in it, waited, by cause; it counts for each task.");
	list_for_each_entry(c, &cgroups, list) {
		for (i = 0; i < PRESSURE_CAUSES; i++)
			metrics_cause(m, "kdtl_cgroup_tasks_seconds_total", c, i,
				      causes_of(c)->tasks[i]);
	}
	metrics_head(m, "kdtl_cgroup_neighbour_seconds_total", "counter",
		     "Time that the neighbour had CPUs for which the cgroup waited; up to four neighbours.");
	list_for_each_entry(c, &cgroups, list)
		metrics_neighbours(m, c);
	metrics_head(m, "kdtl_cgroup_culprit_seconds_total", "counter",
		     "Time that the cgroup had CPUs for which others waited; once for each of them.");
	list_for_each_entry(c, &cgroups, list) {
		metrics_cgroup(m, "kdtl_cgroup_culprit_seconds_total", c, "");
		metrics_seconds(m, causes_of(c)->culprit);
		seq_putc(m, '\n');
	}
}

static void metrics_cgroups(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	const u64 now = windows_now(s);
	struct sampler_cgroup *c;
	unsigned int i;

	cgroups_clean(now);
	if (list_empty(&cgroups))
		return;
	metrics_head(m, "kdtl_cgroup_wait_seconds", "summary",
		     "Time that the cgroup's tasks waited for a CPU. Quantiles: of the last minute, at most 6.25 % too high.");
	list_for_each_entry(c, &cgroups, list) {
		memset(&r->recent, 0, sizeof(r->recent));
		windows_sum(c->windows, WINDOW_MINUTE, now, &r->recent);
		if (c->counts.dispatches)
			metrics_summary_cgroup(m, c, &r->recent);
		c->order = r->recent.counts.waits.max;
	}
	for (i = 0; i < ARRAY_SIZE(metrics_by_cgroup); i++)
		metrics_one_by_cgroup(m, i);
	metrics_pressure(m);
}

/**
 * show_metrics() - all numbers since counting began, and some of the last minute
 * @m: where to
 * @s: the sampler
 * @r: zeroed rows
 *
 * A reset looks like a restart to Prometheus, whose rate() copes with restarts.
 *
 * Context: under sampler.lock.
 */
void show_metrics(struct seq_file *m, struct sampler *s, struct sampler_rows *r)
{
	unsigned int i;

	metrics_summary(m, s, r);
	metrics_histogram(m, &r->all);
	metrics_max(m, s, r);
	for (i = 0; i < ARRAY_SIZE(metrics_by_cpu); i++)
		metrics_one_by_cpu(m, s, &r->row, i);
	metrics_cgroups(m, s, r);
}
