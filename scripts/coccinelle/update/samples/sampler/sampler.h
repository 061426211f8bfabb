/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KDTL_SAMPLER_H
#define _KDTL_SAMPLER_H

#include <linux/kdtl.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "stats.h"

/**
 * struct sampler - the one sampler
 * @session: where the entries come from
 * @cpus: that it reads
 * @running: not stopped by a write to debugfs
 * @lock: protects @stats and @since, between the thread and debugfs
 * @stats: by CPU, struct sampler_stats
 * @since: when counting began, CLOCK_BOOTTIME in ns
 */
struct sampler {
	struct kdtl_session		*session;
	const struct cpumask		*cpus;
	bool				running;
	struct mutex			lock;
	struct sampler_stats __percpu	*stats;
	u64				since;
};

extern struct sampler sampler;

/**
 * struct sampler_row - what is known of one CPU at a moment
 * @stats: since counting began, @stats.lost and @stats.steal too
 * @info: of the CPU's area
 */
struct sampler_row {
	struct sampler_stats	stats;
	struct kdtl_aux_info	info;
};

/* sampler.c */
bool sampler_look(int cpu, struct sampler_row *row);
void sampler_drain(void);
void sampler_reset(void);
int sampler_set_running(bool on);

/* show.c */
void sampler_show_init(void);
void sampler_show_exit(void);

/* metrics.c */
void metrics_show(struct seq_file *m, struct sampler_row *row,
		  struct sampler_stats *all);

#endif /* _KDTL_SAMPLER_H */
