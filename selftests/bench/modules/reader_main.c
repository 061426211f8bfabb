// SPDX-License-Identifier: GPL-2.0
/*
 * bench_reader - what it costs to read, and to be woken for it
 *
 * Loading the module measures, and logs the results, in ticks of the time-stamp counter:
 * instructions under -icount.
 */
#define pr_fmt(fmt) "bench_reader: " fmt

#include <linux/math64.h>
#include <linux/module.h>

#include "reader.h"

/* This source hands out the benchmark's own entries. */
struct kdtl_pmu bench_source = {
	.pmu.module	= THIS_MODULE,
	.name		= "bench_source",
	.tb_freq	= NSEC_PER_SEC,
};

struct kdtl_session *bench_reader_open(const struct cpumask *cpus, unsigned int aux_pages,
				       unsigned int watermark, struct completion *done)
{
	const struct kdtl_session_attr attr = {
		.pmu		= bench_source.name,
		.cpus		= cpus,
		.aux_pages	= aux_pages,
		.watermark	= watermark,
		.done		= done,
	};
	struct kdtl_session *s = kdtl_session_create(&attr);
	int err;

	if (IS_ERR(s))
		return s;
	err = kdtl_load(s, NULL);
	if (!err)
		err = kdtl_start(s);
	if (!err)
		return s;
	kdtl_session_close(s);
	return ERR_PTR(err);
}

void bench_result(const char *name, u64 ticks, u64 nr)
{
	u32 tenths;
	u64 whole;

	whole = div_u64_rem(div64_u64(10 * ticks + nr / 2, nr), 10, &tenths);
	pr_info("%s %llu.%u\n", name, whole, tenths);
}

static int __init bench_reader_init(void)
{
	int err;

	err = kdtl_pmu_register(&bench_source);
	if (err)
		return err;
	err = bench_consume();
	if (!err)
		err = bench_wakeup();
	if (!err)
		err = bench_wait();
	if (err) {
		pr_err("error %d\n", err);
		kdtl_pmu_unregister(&bench_source);
	}
	return err;
}

static void __exit bench_reader_exit(void)
{
	kdtl_pmu_unregister(&bench_source);
}

module_init(bench_reader_init);
module_exit(bench_reader_exit);

MODULE_DESCRIPTION("Benchmark: reading, and being woken");
MODULE_LICENSE("GPL");
MODULE_IMPORT_NS(KDTL_NS);
