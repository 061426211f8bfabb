// SPDX-License-Identifier: GPL-2.0
/*
 * Finding tasks that wait and are never dispatched
 *
 * They leave no entry in the log. So a CPU that has not been idle between two
 * looks gets a work item: if that has not run when the threshold has passed, and
 * no other task of normal priority was dispatched meanwhile, then none gets the
 * CPU. Idle CPUs are left alone.
 */
#include <linux/cpu.h>
#include <linux/kernel_stat.h>
#include <linux/sched/clock.h>
#include <linux/tick.h>

#include "watch.h"

static void probe_run(struct work_struct *work)
{
	struct watch_cpu *w = container_of(work, struct watch_cpu, probe);

	atomic64_set(&w->queued, 0);
}

static bool probe_was_idle(int cpu, struct watch_cpu *w)
{
	const u64 idle = get_cpu_idle_time_us(cpu, NULL) +
			 get_cpu_iowait_time_us(cpu, NULL);
	const bool was = idle != w->idle;

	w->idle = idle;
	return was;
}

/*
 * For how long no task of normal priority was dispatched, in ns. The kworker of the probe may have
 * to wait while other tasks run: behind another work item, for instance.
 */
static u64 probe_without(int cpu, struct watch_cpu *w, u64 queued, u64 now)
{
	const u64 since = max(queued, w->normal), normal = watch_dispatched(cpu, since);

	if (normal) {
		w->normal = normal;
		w->reported = 0;
	}
	return now - min(normal ?: since, now);
}

/**
 * watch_probe() - check whether a CPU still dispatches
 * @cpu: the CPU
 *
 * Context: the watching thread.
 * Return: true if the CPU has never been idle since the last look.
 */
bool watch_probe(int cpu)
{
	struct watch_cpu *w = per_cpu_ptr(&watch_cpus, cpu);
	const u64 queued = atomic64_read(&w->queued), now = local_clock();
	const bool idle = probe_was_idle(cpu, w);
	/* Read once: it may become 0, for no reports, at any time. */
	const u64 threshold = watch_threshold(w);
	u64 without;

	w->pending = queued ? now - min(queued, now) : 0;
	if (!threshold)
		return !idle;
	if (!queued) {
		w->reported = 0;
		if (idle)
			return false;
		cpus_read_lock();
		if (cpu_online(cpu)) {
			atomic64_set(&w->queued, now);
			schedule_work_on(cpu, &w->probe);
		}
		cpus_read_unlock();
	} else if (cpu_online(cpu) && (s64)(now - max(queued, w->normal)) >
				      (s64)max(threshold, 2 * w->reported)) {
		without = probe_without(cpu, w, queued, now);
		if (without <= threshold)
			return !idle;
		/* Report again when it is twice as long, lest it seem to be over. */
		watch_report_stuck(cpu, without, threshold);
		w->reported = without;
	}
	return !idle;
}

/**
 * watch_probe_init() - prepare for watch_probe()
 */
void watch_probe_init(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		INIT_WORK(&per_cpu_ptr(&watch_cpus, cpu)->probe, probe_run);
}

/**
 * watch_probe_exit() - undo watch_probe_init(); the thread has ended
 */
void watch_probe_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
		cancel_work_sync(&per_cpu_ptr(&watch_cpus, cpu)->probe);
}
