// SPDX-License-Identifier: GPL-2.0
/*
 * The frame of the pieces of kernel code in Documentation/: tutorial.sh replaces
 * each comment @name@ with the block of that name.
 */
/* @client-module@ */
#include <linux/kdtl_answers.h>
#include <linux/kdtl_counters.h>
#include <linux/kdtl_pmu.h>
#include <linux/kdtl_verbs.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/string.h>
#include <uapi/linux/kdtl_wake.h>

static void look_at(const struct kdtl_entry *e)
{
	pr_info("%llu\n", kdtl_entry_wait(e));
}

static void my_span(const struct kdtl_span *span, void *data)
{
	const struct kdtl_entry *e;

	kdtl_span_for_each_entry(e, span)
		look_at(e);
}

static unsigned int my_round(struct kdtl_session *s, void *data)
{
	return 0;
}

static int __maybe_unused client_open(void *my_data)
{
	struct kdtl_session *s;
	/* @client-open@ */
}

static int __maybe_unused client_start(void)
{
	struct kdtl_session *s;
	int err;
	/* @client-start@ */
	return 0;
}

static void __maybe_unused client_read(struct kdtl_session *s, const struct cpumask *cpus)
{
	const struct kdtl_entry *e;
	const void *span;
	ssize_t len;
	int cpu;
	/* @client-read@ */
}

static u64 __maybe_unused client_info(struct kdtl_session *s, int cpu)
{
	struct kdtl_aux_info info;
	/* @client-info@ */
	return info.produced - info.consumed - info.lost - info.unread;
}

static void __maybe_unused client_gap(struct kdtl_session *s, int cpu)
{
	ssize_t __maybe_unused len;
	const void *span;
	u64 missing;
	size_t at;
	/* @client-gap@ */
}

static u64 __maybe_unused client_who(const struct kdtl_entry *late, const void *span,
				     ssize_t len)
{
	const struct kdtl_entry *e;
	/* @client-who@ */
	return who.nr ? who.ran[0].ticks : who.unknown;
}

static u64 __maybe_unused client_stolen(u64 from, u64 to, const void *span, ssize_t len,
					const struct kdtl_entry *gaps, ssize_t gaps_len)
{
	const struct kdtl_aux_info hv_info = { .tb_freq = NSEC_PER_SEC };
	struct kdtl_who who = { };
	const struct kdtl_entry *e;
	/* @client-stolen@ */
	return who.stolen;
}

static void __maybe_unused client_woke(struct kdtl_session *wakes, const struct kdtl_entry *e,
				       struct kdtl_entry *entries, size_t size)
{
	ssize_t len;
	int cpu;
	/* @client-woke@ */
}

static void __maybe_unused client_task(struct kdtl_session *s, const struct kdtl_entry *e)
{
	/* @client-task@ */
}

static __maybe_unused struct kdtl_session *client_filter(void)
{
	/* @client-filter@ */
	return kdtl_session_create(&attr);
}

static __maybe_unused struct kdtl_session *client_raw(void)
{
	/* @client-raw@ */
	return kdtl_session_create(&attr);
}

static int __maybe_unused client_merge(struct kdtl_session *s)
{
	const struct kdtl_entry *e;
	struct kdtl_merge *m;
	/* @client-merge@ */
	return 0;
}

static int __maybe_unused client_overflow(struct kdtl_session *s)
{
	int err;
	/* @client-overflow@ */
	return 0;
}

static void __maybe_unused client_end(struct kdtl_session *s, struct task_struct *thread)
{
	/* @client-end@ */
}

/* @pmu-structure@ */

static int __maybe_unused pmu_register(void)
{
	int err;
	/* @pmu-register@ */
	return err;
}

static void __maybe_unused pmu_output(u32 waited)
{
	/* @pmu-output@ */
}

static void __maybe_unused pmu_aux(struct perf_event *event, const void *data, u64 len)
{
	struct perf_output_handle handle;
	/* @pmu-aux@ */
}

MODULE_DESCRIPTION("The examples in the documentation: they build");
