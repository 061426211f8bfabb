/* SPDX-License-Identifier: GPL-2.0 */
/* A header of a driver of kdtl 0.1: it names a structure that has moved. */
#ifndef DRIVER_H
#define DRIVER_H

#include <linux/kdtl.h>

void sample_own_format(struct kdtl_pmu *p, struct perf_event *event, u64 value);

#endif /* DRIVER_H */
