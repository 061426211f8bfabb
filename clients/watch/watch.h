/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KDTL_WATCH_H
#define _KDTL_WATCH_H

#include <linux/kdtl.h>
#include <linux/workqueue.h>

/**
 * struct watch_cpu - what is watched for on one CPU, and what was seen
 * @threshold_ms: longest wait that is all right; 0: any. Written from debugfs
 * @late: dispatches that had waited for longer
 * @stuck: times that nobody could be dispatched for longer
 * @longest: of the waits of @late and @stuck, in ms
 * @probe: is queued to see whether the CPU dispatches anyone
 * @asked: local_clock() when @probe was queued; 0: it has run
 * @told: its delay has been reported
 * @idle: time that the CPU had been idle at the last look, in us
 *
 * Only the watching thread writes, but for @threshold_ms and what @probe clears.
 */
struct watch_cpu {
	unsigned int		threshold_ms;
	unsigned long		late;
	unsigned long		stuck;
	unsigned long		longest;
	struct work_struct	probe;
	atomic64_t		asked;
	bool			told;
	u64			idle;
};

DECLARE_PER_CPU(struct watch_cpu, watch_cpus);

static inline u64 watch_threshold(const struct watch_cpu *w)
{
	return (u64)READ_ONCE(w->threshold_ms) * NSEC_PER_MSEC;
}

/* watch.c */
extern struct kdtl_session *watch_session;

/* probe.c */
void watch_probe_init(void);
void watch_probe_exit(void);
void watch_probe(int cpu);

/* report.c */
int watch_report_init(void);
void watch_report_exit(void);
void watch_report_late(int cpu, const struct kdtl_entry *e, bool tasks, u64 wait);
void watch_report_stuck(int cpu, u64 wait);

/* show.c */
void watch_show_init(void);
void watch_show_exit(void);

#endif /* _KDTL_WATCH_H */
