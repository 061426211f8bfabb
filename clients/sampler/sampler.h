/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KDTL_SAMPLER_H
#define _KDTL_SAMPLER_H

#include <linux/kdtl_answers.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "stats.h"

/**
 * struct sampler - a session and the counts of its entries
 * @session: where the entries come from; NULL before it is opened
 * @lock: protects @stats and @since: the session's reader counts, debugfs shows
 * @share: per cent of the time in which dispatches are logged
 * @stats: struct sampler_stats of each CPU
 * @since: when counting began, CLOCK_BOOTTIME in ns
 */
struct sampler {
	struct kdtl_session		*session;
	struct mutex			lock;
	unsigned int			share;
	struct sampler_stats __percpu	*stats;
	u64				since;
};

/**
 * struct sampler_row - one CPU at one moment
 * @stats: counts since counting began, including @stats.lost and @stats.steal
 * @info: about the CPU's area
 */
struct sampler_row {
	struct sampler_stats	stats;
	struct kdtl_aux_info	info;
};

/**
 * struct sampler_rows - working memory of a view
 * @row: the CPU that is being printed
 * @all: sum of the CPUs so far
 * @recent: what was counted in a window
 */
struct sampler_rows {
	struct sampler_row	row;
	struct sampler_stats	all;
	struct sampler_stats	recent;
};

/* stats.c */
void stats_reset(struct sampler *s);
bool stats_look(struct sampler *s, int cpu, struct sampler_row *row);

/* windows.c */
extern const unsigned int windows_seconds[WINDOWS];
u64 windows_now(struct sampler *s);
struct sampler_windows *windows_cpu(int cpu);
void windows_add_to(struct sampler_windows **w, int node, const struct sampler_wait *wait);
void windows_add_cpu(int cpu, const struct sampler_wait *wait);
void windows_sum(const struct sampler_windows *w, unsigned int i, u64 now,
		 struct sampler_stats *sum);
u64 windows_ms(const struct sampler *s, unsigned int i, u64 now);
bool windows_are_over(u64 seen, u64 now);
void windows_free(struct sampler_windows **w);
void windows_reset(void);

/* show.c, show_pressure.c, metrics.c: the views. Under sampler.lock, with rows that are zero. */
void show_table(struct seq_file *m, struct sampler *s, struct sampler_rows *r);
void show_windows(struct seq_file *m, struct sampler *s, struct sampler_rows *r);
void show_cgroups(struct seq_file *m, struct sampler *s, struct sampler_rows *r);
void show_pressure(struct seq_file *m, struct sampler *s, struct sampler_rows *r);
void show_lines(struct seq_file *m, struct sampler *s, struct sampler_rows *r);
void show_histogram(struct seq_file *m, struct sampler *s, struct sampler_rows *r);
void show_metrics(struct seq_file *m, struct sampler *s, struct sampler_rows *r);

#endif /* _KDTL_SAMPLER_H */
