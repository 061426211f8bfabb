// SPDX-License-Identifier: GPL-2.0
/* A driver of kdtl 0.1: all that has moved to <linux/kdtl_pmu.h>. */
#include <linux/cpu.h>
#include <linux/kdtl.h>
#include <linux/module.h>
#include <linux/sched/clock.h>

#include "driver.h"

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A driver of kdtl 0.1");
MODULE_IMPORT_NS(KDTL_NS);

static const char * const kinds[KDTL_NR_KINDS] = {
	[KDTL_KIND_CEDE]	= "cede",
	[KDTL_KIND_PREEMPT]	= "preempt",
	[KDTL_KIND_FAULT]	= "fault",
	[KDTL_KIND_UNKNOWN]	= "unknown",
};

static int sample_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	return 0;
}

static struct kdtl_pmu driver = {
	.pmu.module	= THIS_MODULE,
	.name		= "sample_driver",
	.tb_freq	= NSEC_PER_SEC,
	.source		= sample_source,
};

static void sample_entry(enum kdtl_kind kind)
{
	const struct kdtl_entry e = {
		.processor_id	= cpu_to_be16(raw_smp_processor_id()),
		.timebase	= cpu_to_be64(local_clock()),
	};

	pr_debug("%s\n", kinds[kind]);
	kdtl_pmu_output(&driver, &e, kind);
	kdtl_pmu_lost(&driver, 1);
}

/* For an entry point of its own: writes to the area, in its own format. */
void sample_own_format(struct kdtl_pmu *p, struct perf_event *event, u64 value)
{
	struct perf_output_handle handle;
	struct kdtl_area *area;
	u64 *to;

	area = kdtl_aux_output_begin(&handle, event);
	if (!area)
		return;
	if (WARN_ON_ONCE(area != kdtl_get_aux(&handle))) {
		kdtl_aux_output_end(&handle, 0);
		return;
	}
	to = area->base + (handle.head & (area->size - 1));
	*to = value;
	if (kdtl_aux_output_skip(&handle, sizeof(*to)))
		kdtl_aux_output_flag(&handle, PERF_AUX_FLAG_TRUNCATED);
	kdtl_aux_output_end(&handle, sizeof(*to));
}

static void sample_try(void *unused)
{
	sample_entry(KDTL_KIND_UNKNOWN);
}

static int __init sample_init(void)
{
	int err;

	err = kdtl_pmu_register(&driver);
	if (!err)
		on_each_cpu(sample_try, NULL, 1);
	return err;
}
module_init(sample_init);

static void __exit sample_exit(void)
{
	kdtl_pmu_unregister(&driver);
}
module_exit(sample_exit);
