/* SPDX-License-Identifier: GPL-2.0 */
/* Shared by the parts of bench_reader. */
#ifndef _KDTL_BENCH_READER_H
#define _KDTL_BENCH_READER_H

#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/timex.h>

extern struct kdtl_pmu bench_source;

/* Only one CPU is measured: with -icount there is no other. */
#define BENCH_CPU	0

struct kdtl_session *bench_reader_open(const struct cpumask *cpus, unsigned int aux_pages,
				       unsigned int watermark, struct completion *done);

/* Log "name value", where value is how many ticks one of @nr took, to a tenth. */
void bench_result(const char *name, u64 ticks, u64 nr);

int bench_consume(void);
int bench_wakeup(void);
int bench_wait(void);

#endif /* _KDTL_BENCH_READER_H */
