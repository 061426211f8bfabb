// SPDX-License-Identifier: GPL-2.0
/*
 * The source of the fuzzed sessions, which refuses on demand and checks that
 * all that was taken from it is given back; and the verbs of drivers
 */
#define pr_fmt(fmt) "kdtl_fuzz: " fmt

#include <linux/kdtl_answers.h>
#include <linux/module.h>
#include <linux/sched/clock.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "../fake/kdtl_fake_pmu.h"
#include "fuzz.h"

bool fuzz_refuse_attach, fuzz_refuse_source;

static atomic_t fuzz_refusals;
static atomic_t fuzz_areas;
static bool fuzz_attached;
static DEFINE_PER_CPU(u32, fuzz_on);

static int fuzz_attach(struct kdtl_pmu *p)
{
	if (READ_ONCE(fuzz_refuse_attach)) {
		atomic_inc(&fuzz_refusals);
		return FUZZ_REFUSED;
	}
	fuzz_attached = true;
	return 0;
}

static void fuzz_detach(struct kdtl_pmu *p)
{
	fuzz_attached = false;
}

/* Does not refuse on a CPU that already logs: no driver may do that. */
static int fuzz_source(struct kdtl_pmu *p, u32 mask, u64 period)
{
	if (READ_ONCE(fuzz_refuse_source) && mask && !this_cpu_read(fuzz_on)) {
		atomic_inc(&fuzz_refusals);
		return FUZZ_REFUSED;
	}
	this_cpu_write(fuzz_on, mask);
	return 0;
}

static u64 fuzz_sync(struct kdtl_pmu *p)
{
	return local_clock();
}

/* Counts the areas: each one is set up once, and freed once. */
static void *fuzz_setup_aux(struct perf_event *event, void **pages, int nr_pages,
			    bool overwrite)
{
	atomic_inc(&fuzz_areas);
	return &fuzz_areas;
}

static void fuzz_free_aux(void *priv)
{
	atomic_dec(&fuzz_areas);
}

static struct kdtl_pmu fuzz_pmu = {
	.pmu.module	= THIS_MODULE,
	.pmu.setup_aux	= fuzz_setup_aux,
	.pmu.free_aux	= fuzz_free_aux,
	.name		= FUZZ_PMU,
	.mask		= FUZZ_MASKS,
	.tb_freq	= NSEC_PER_SEC,
	.attach		= fuzz_attach,
	.detach		= fuzz_detach,
	.source		= fuzz_source,
	.sync		= fuzz_sync,
};

int fuzz_source_init(void)
{
	return kdtl_pmu_register(&fuzz_pmu);
}

void fuzz_source_exit(void)
{
	kdtl_pmu_unregister(&fuzz_pmu);
}

/* How many requests were refused. */
unsigned int fuzz_source_refusals(void)
{
	return atomic_read(&fuzz_refusals);
}

/* Whether nothing uses the source: no session, no CPU, no area. */
bool fuzz_source_clean(void)
{
	bool clean = true;
	int cpu;

	if (fuzz_attached || atomic_read(&fuzz_areas)) {
		pr_err("source: %sattached, %d areas\n", fuzz_attached ? "" : "not ",
		       atomic_read(&fuzz_areas));
		clean = false;
	}
	for_each_possible_cpu(cpu) {
		if (!per_cpu(fuzz_on, cpu))
			continue;
		pr_err("source: CPU %d is on, for %#x\n", cpu, per_cpu(fuzz_on, cpu));
		clean = false;
	}
	return clean;
}

/* ------------------------------------------------------------------- entries */

struct fuzz_job {
	enum kdtl_kind	kind;
	unsigned int	nr;
	u32		time;
	u64		lost;
};

static void fuzz_do(void *arg)
{
	const struct fuzz_job *job = arg;
	struct kdtl_entry e;
	unsigned int i;

	for (i = 0; i < job->nr; i++) {
		kdtl_fake_entry_fill(&e, job->kind, job->time, job->time, job->time);
		kdtl_pmu_output(&fuzz_pmu, &e, job->kind);
	}
	if (job->lost)
		kdtl_pmu_lost(&fuzz_pmu, job->lost);
}

/* Makes @nr entries on a CPU that is online, and none on others. */
void fuzz_emit(int cpu, enum kdtl_kind kind, unsigned int nr, u32 time)
{
	struct fuzz_job job = { .kind = kind, .nr = nr, .time = time };

	smp_call_function_single(cpu, fuzz_do, &job, 1);
}

void fuzz_lose(int cpu, u64 nr)
{
	struct fuzz_job job = { .lost = nr };

	smp_call_function_single(cpu, fuzz_do, &job, 1);
}

static long fuzz_kdtl_pmu_output(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const enum kdtl_kind kind = fuzz_below(t, KDTL_NR_KINDS);
	const unsigned int nr = fuzz_one_in(t, 8) ? 200 : fuzz_below(t, 20);
	int cpu = cpumask_first(cpu_online_mask);

	if (!fuzz_one_in(t, 2))
		cpu = fuzz_below(t, num_online_cpus());
	fuzz_emit(cpu, kind, nr, FUZZ_PICK(t, u32, 0, 1, 1000, U32_MAX));
	*want = 0;
	return 0;
}

static long fuzz_kdtl_pmu_lost(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	fuzz_lose(fuzz_below(t, num_online_cpus()), FUZZ_PICK(t, u64, 1, 1, 5, U32_MAX));
	*want = 0;
	return 0;
}

/* Decides anew whether the source refuses. */
static long fuzz_refuse(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	WRITE_ONCE(fuzz_refuse_attach, fuzz_one_in(t, 8));
	WRITE_ONCE(fuzz_refuse_source, fuzz_one_in(t, 8));
	*want = 0;
	return 0;
}

/* ------------------------------------------------------------------ registry */

/* Registers a second source, mostly one that is not complete. */
static long fuzz_kdtl_pmu_register(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	struct kdtl_pmu *p = kzalloc(sizeof(*p), GFP_KERNEL);
	char name[16];
	long ret;

	if (!p)
		return FUZZ_NONE;
	snprintf(name, sizeof(name), "kdtl_fuzz%u", t->id);
	p->name = name;
	p->pmu.module = THIS_MODULE;
	p->tb_freq = U32_MAX;
	*want = -EINVAL;
	switch (fuzz_below(t, 8)) {
	case 0:
		p->name = NULL;
		break;
	case 1:
		p->pmu.module = NULL;
		break;
	case 2:
		p->tb_freq = 0;
		break;
	case 3:
		p->tb_freq = U32_MAX + 1ULL;
		break;
	case 4:
		p->pmu.setup_aux = fuzz_setup_aux;
		break;
	case 5:
		p->pmu.capabilities = PERF_PMU_CAP_EXCLUSIVE;
		break;
	case 6:
		p->name = FUZZ_PMU;
		*want = -EEXIST;
		break;
	default:
		*want = 0;
	}
	ret = kdtl_pmu_register(p);
	if (!ret)
		kdtl_pmu_unregister(p);
	kfree(p);
	return ret;
}

/* -------------------------------------------------------------------- alarms */

static atomic_t fuzz_alarms;

static int fuzz_alarmed(struct notifier_block *nb, unsigned long unused, void *what)
{
	atomic_inc(&fuzz_alarms);
	return NOTIFY_OK;
}

/* Registers a notifier, raises an alarm, and unregisters the notifier. */
static long fuzz_kdtl_alarm(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	struct notifier_block nb = {
		.notifier_call	= fuzz_alarmed,
		.priority	= fuzz_below(t, 3),
	};
	const int before = atomic_read(&fuzz_alarms);
	const struct kdtl_alarm alarm = {
		.what	= fuzz_one_in(t, 4) ? NULL : "fuzz",
		.cpu	= fuzz_one_in(t, 4) ? (int)fuzz_u64(t) : -1,
		.to	= fuzz_u64(t),
	};
	const bool wrong = !alarm.what || alarm.cpu < -1 || alarm.cpu >= (int)nr_cpu_ids;
	long ret;

	*want = 0;
	if (fuzz_one_in(t, 4)) {
		*want = -ENOENT;
		return kdtl_alarm_unregister(&nb);
	}
	ret = kdtl_alarm_register(&nb);
	if (ret)
		return ret;
	if (kdtl_alarm(&alarm) != (wrong ? -EINVAL : 0))
		fuzz_fail(t, "an alarm that is wrong was taken, or one that is not refused");
	ret = kdtl_alarm_unregister(&nb);
	if (!wrong && atomic_read(&fuzz_alarms) == before)
		fuzz_fail(t, "no notifier was called");
	return ret;
}

static long fuzz_kdtl_reason_name(struct fuzz_thread *t, struct fuzz_slot *slot, long *want)
{
	const unsigned int reason = fuzz_one_in(t, 4) ? (u32)fuzz_u64(t) : fuzz_below(t, 16);

	if (!strlen(kdtl_dispatch_reason_name(reason)) ||
	    !strlen(kdtl_preempt_reason_name(reason)) ||
	    !strlen(kdtl_task_reason_name(reason)) ||
	    !strlen(kdtl_task_preempt_name(reason)))
		fuzz_fail(t, "reason %u has no name", reason);
	*want = 0;
	return 0;
}

const struct fuzz_verb fuzz_source_verbs[] = {
	{ "kdtl_pmu_output", 24, fuzz_kdtl_pmu_output, true },
	{ "kdtl_pmu_lost", 4, fuzz_kdtl_pmu_lost, true },
	{ "(refuse)", 2, fuzz_refuse, true },
	{ "kdtl_pmu_register", 1, fuzz_kdtl_pmu_register, true, { -EINVAL, -EEXIST } },
	{ "kdtl_alarm", 1, fuzz_kdtl_alarm, true, { -ENOENT } },
	{ "kdtl_*_reason_name", 1, fuzz_kdtl_reason_name, true },
	{ }
};
