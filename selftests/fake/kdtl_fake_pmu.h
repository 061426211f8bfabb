/* SPDX-License-Identifier: GPL-2.0 */
/* kdtl_fake: a source of entries that tests make and can check. */
#ifndef _KDTL_FAKE_PMU_H
#define _KDTL_FAKE_PMU_H

#include <linux/cpu.h>
#include <linux/kdtl_pmu.h>
#include <linux/workqueue.h>

#define KDTL_FAKE_PMU	"kdtl_fake"

int kdtl_fake_emit(int cpu, enum kdtl_kind kind, unsigned int nr,
		   u32 queued, u32 ready, u32 slept);
void kdtl_fake_emit_here(enum kdtl_kind kind, u32 queued, u32 ready, u32 slept);
int kdtl_fake_lost(int cpu, u64 nr);
int kdtl_fake_steal(int cpu, unsigned int ms, pid_t *robbed, u64 *ns);
int kdtl_fake_emit_task(int cpu, enum kdtl_kind kind, u32 pid, u32 prev, u32 wait);
void kdtl_fake_later(u64 ns);
void kdtl_fake_stop(bool stop);
int kdtl_fake_emit_torn(int cpu, unsigned int nr);
void kdtl_fake_entry_fill(struct kdtl_entry *e, enum kdtl_kind kind,
			  u32 queued, u32 ready, u32 slept);
u64 kdtl_fake_entry_seq(const struct kdtl_entry *e);

/*
 * Runs @fn on a CPU, in task context, and returns its result, or -ENODEV if the CPU is offline.
 * May sleep.
 */
static inline long kdtl_fake_work_on(int cpu, long (*fn)(void *), void *arg)
{
	long ret = -ENODEV;

	cpus_read_lock();
	if (cpu_online(cpu))
		ret = work_on_cpu(cpu, fn, arg);
	cpus_read_unlock();
	return ret;
}

#endif /* _KDTL_FAKE_PMU_H */
