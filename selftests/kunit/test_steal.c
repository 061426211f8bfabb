// SPDX-License-Identifier: GPL-2.0
/*
 * The suite of kdtl_kunit_steal.ko: core/pmu/kdtl_steal.c, with a hypervisor that the suite plays
 *
 * The driver is compiled into this module, and gets the suite's areas instead of those that KVM
 * fills.  All else is real: its probes run at the kernel's own timers and task switches.
 */
#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <asm/kvm_para.h>
#include <asm/msr.h>

#include "../../core/compat.h"
#include "kapi.h"
#include "steal.h"

static bool fake_kvm;
static unsigned int fake_reads;
static struct kvm_steal_time *fake_areas[NR_CPUS];

static int fake_rdmsr(u64 *val)
{
	fake_reads++;
	*val = virt_to_phys(fake_areas[raw_smp_processor_id()]) | KVM_MSR_ENABLED;
	return 0;
}

#define kvm_para_available()	fake_kvm
#undef rdmsrq_safe
#define rdmsrq_safe(msr, p)	fake_rdmsr(p)

#include "driver.h"
#include "../../core/pmu/kdtl_steal.c"

#define GAP		(7 * NSEC_PER_MSEC + 123)
#define CPU		0

/**
 * struct gap - what the hypervisor does to a CPU
 * @ns: by how much the area's stolen time grows
 * @loads: how many times it lets the CPU run again
 * @lasts: how many ns really pass meanwhile
 * @half: it does not finish writing the area
 */
struct gap {
	s64		ns;
	unsigned int	loads;
	unsigned int	lasts;
	bool		half;
};

/* Interrupts are off meanwhile, as on a CPU that does not run. */
static void fake_gap_here(void *data)
{
	struct kvm_steal_time *area = fake_areas[raw_smp_processor_id()];
	const struct gap *gap = data;
	const u64 end = ktime_get_mono_fast_ns() + gap->lasts;

	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
	area->version += 1;
	barrier();
	area->steal += gap->ns;
	barrier();
	if (!gap->half)
		area->version += 2 * gap->loads - 1;
}

static void fake_gap(int cpu, const struct gap *gap)
{
	smp_call_function_single(cpu, fake_gap_here, (void *)gap, 1);
}

/* Make one whole gap, in which as much time passes as is stolen. */
static void steal(int cpu, unsigned int ns)
{
	fake_gap(cpu, &(struct gap){ .ns = ns, .loads = 1, .lasts = ns });
}

static struct kdtl_session *steal_session(struct kunit *test, u32 mask, u64 period)
{
	const struct kdtl_session_attr attr = {
		.pmu		= "kdtl_steal",
		.aux_pages	= KAPI_AUX_PAGES,
		.mask		= mask,
		.period		= period,
	};

	return kapi_started(test, &attr);
}

static u64 unread(struct kdtl_session *s, int cpu)
{
	struct kdtl_aux_info info = {};

	return kdtl_aux_info(s, cpu, &info) ? 0 : info.unread;
}

static u64 lost(struct kdtl_session *s, int cpu)
{
	struct kdtl_aux_info info = {};

	return kdtl_aux_info(s, cpu, &info) ? 0 : info.lost;
}

/*
 * Read the next entry of a CPU.  Timer and task switches look for it soon, whatever the CPU does.
 */
static struct kdtl_entry next_entry(struct kunit *test, struct kdtl_session *s, int cpu)
{
	struct kdtl_entry e = {};
	const void *span;

	KUNIT_EXPECT_TRUE(test, kapi_until(unread(s, cpu)));
	if (kdtl_aux_peek(s, cpu, &span) >= (ssize_t)sizeof(e)) {
		e = *(const struct kdtl_entry *)span;
		kdtl_aux_consume(s, cpu, sizeof(e));
	}
	return e;
}

/* The timer and task switches have had time to look, and there is no further entry. */
static void expect_no_entry(struct kunit *test, struct kdtl_session *s, int cpu)
{
	const unsigned long end = jiffies + 3;

	KUNIT_EXPECT_TRUE(test, kapi_until(time_after(jiffies, end)));
	KUNIT_EXPECT_EQ(test, unread(s, cpu), 0ULL);
}

static u64 counted_steal(struct kunit *test, struct kdtl_session *s, int cpu)
{
	return kapi_counter(test, s, 0, KDTL_CTR_QUEUED, cpu);
}

/* -------------------------------------------------------------------- cases */

static void steal_one_gap(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	struct kdtl_entry e;
	u64 before, after;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	before = local_clock();
	steal(CPU, GAP);
	e = next_entry(test, s, CPU);
	after = local_clock();
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
	KUNIT_EXPECT_EQ(test, kdtl_entry_ready(&e), 0U);
	KUNIT_EXPECT_EQ(test, kdtl_entry_slept(&e), 0U);
	KUNIT_EXPECT_EQ(test, kdtl_entry_cpu(&e), (unsigned int)CPU);
	KUNIT_EXPECT_EQ(test, (int)e.dispatch_reason, (int)KDTL_DISPATCH_TIME_SLICE);
	KUNIT_EXPECT_EQ(test, (int)e.preempt_reason, (int)KDTL_PREEMPT_UNUSED);
	KUNIT_EXPECT_GE(test, kdtl_entry_time(&e), before);
	KUNIT_EXPECT_LE(test, kdtl_entry_time(&e), after);
	/* The look before this one was before the gap. */
	KUNIT_EXPECT_LE(test, be64_to_cpu(e.fault_addr), kdtl_entry_time(&e) - GAP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr0), fake_areas[CPU]->steal);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), 1ULL);
	expect_no_entry(test, s, CPU);
}

static long nothing(void *unused)
{
	return 0;
}

/* On each CPU, gap by gap, no entry is missing and none comes twice. */
static void steal_each_cpu(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	struct kdtl_entry e;
	unsigned int ns;
	int cpu, i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 1; i <= 20; i++) {
		for_each_online_cpu(cpu) {
			ns = i * 100000 + cpu;
			steal(cpu, ns);
			/*
			 * On an idle CPU the next timer may come in a second; a task switch comes
			 * now.
			 */
			work_on_cpu(cpu, nothing, NULL);
			e = next_entry(test, s, cpu);
			KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), ns);
			KUNIT_EXPECT_EQ(test, kdtl_entry_cpu(&e), (unsigned int)cpu);
			KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr0), fake_areas[cpu]->steal);
		}
	}
	KUNIT_EXPECT_EQ(test, kapi_conserved(test, s), 20ULL * num_online_cpus());
}

static void steal_merged(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	const struct gap three = { .ns = GAP, .loads = 3, .lasts = GAP };
	struct kdtl_entry e;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	fake_gap(CPU, &three);
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), KDTL_STEAL_MERGED | 3);
}

/* The hypervisor lets the CPU run again, but has not kept it from running. */
static void steal_no_time(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	const struct gap none = { .loads = 5 };
	struct kdtl_entry e;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	fake_gap(CPU, &none);
	expect_no_entry(test, s, CPU);
	/* Those five were told at an earlier look, so they do not count here. */
	steal(CPU, GAP);
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), 1ULL);
}

/* An odd version means that the hypervisor is writing the area. */
static void steal_half_written(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	const struct gap half = { .ns = GAP, .lasts = GAP, .half = true };
	struct kdtl_entry e;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	fake_gap(CPU, &half);
	expect_no_entry(test, s, CPU);
	fake_areas[CPU]->version++;
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), 1ULL);
}

static void steal_backwards(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	const struct gap back = { .ns = -1000, .loads = 1 };
	struct kdtl_entry e;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	fake_gap(CPU, &back);
	KUNIT_EXPECT_TRUE(test, kapi_until(lost(s, CPU)));
	KUNIT_EXPECT_EQ(test, lost(s, CPU), 1ULL);
	KUNIT_EXPECT_EQ(test, unread(s, CPU), 0ULL);
	/* From that value on, stolen time counts again. */
	steal(CPU, GAP);
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
	KUNIT_EXPECT_EQ(test, lost(s, CPU), 1ULL);
}

/* The stolen time grows by an hour within a few ms: the entry has only the time that passed. */
static void steal_jump(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	const struct gap jump = { .ns = 3600LL * NSEC_PER_SEC, .loads = 1, .lasts = GAP };
	struct kdtl_entry e;
	u64 since, passed;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	since = local_clock();
	/* The switches of this are looks. */
	expect_no_entry(test, s, CPU);
	fake_gap(CPU, &jump);
	e = next_entry(test, s, CPU);
	passed = kdtl_entry_time(&e) - be64_to_cpu(e.fault_addr);
	KUNIT_EXPECT_EQ(test, (u64)kdtl_entry_queued(&e), passed);
	KUNIT_EXPECT_GE(test, passed, (u64)GAP);
	/* That time is since the last look, not since the session began. */
	KUNIT_EXPECT_GE(test, be64_to_cpu(e.fault_addr), since);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), KDTL_STEAL_CUT | 1);
	KUNIT_EXPECT_EQ(test, counted_steal(test, s, CPU), passed);
	/* The time that was cut off does not come later. */
	steal(CPU, GAP);
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), 1ULL);
}

static void steal_wrap(struct kunit *test)
{
	struct kdtl_session *s;
	struct kdtl_entry e;

	fake_areas[CPU]->version = -2;
	fake_areas[CPU]->steal = -1000ULL;
	s = steal_session(test, 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	steal(CPU, GAP);
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, fake_areas[CPU]->version, 0U);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), 1ULL);
}

/* The hypervisor does not say why it took the CPU, so each mask gets each entry. */
static void steal_masks(struct kunit *test)
{
	const u32 masks[] = { KDTL_MASK_CEDE, KDTL_MASK_PREEMPT, KDTL_MASK_FAULT, KDTL_MASK_ALL };
	struct kdtl_session *s, *all[ARRAY_SIZE(masks)] = {};
	struct kdtl_session_attr attr = { .pmu = "kdtl_steal" };
	struct kdtl_entry e;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		attr.mask = masks[i];
		s = kdtl_session_create(&attr);
		KUNIT_EXPECT_FALSE(test, IS_ERR(s));
		if (IS_ERR(s))
			continue;
		all[i] = s;
		KUNIT_EXPECT_EQ(test, kapi_go(s), 0);
	}
	steal(CPU, GAP);
	for (i = 0; i < ARRAY_SIZE(masks); i++) {
		if (!all[i])
			continue;
		e = next_entry(test, all[i], CPU);
		KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
		KUNIT_EXPECT_EQ(test, kapi_counter(test, all[i], 0, KDTL_CTR_UNKNOWN, CPU), 1ULL);
		kdtl_session_close(all[i]);
	}
	/* This source knows nothing of throttling, or of idle time. */
	attr.mask = KDTL_MASK_THROTTLE;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EOPNOTSUPP);
	attr.mask = KDTL_MASK_IDLE;
	KUNIT_EXPECT_EQ(test, PTR_ERR(kdtl_session_create(&attr)), (long)-EOPNOTSUPP);
}

/* Time stolen before a session was started, or between two starts, is not told. */
static void steal_before(struct kunit *test)
{
	struct kdtl_session *s;

	steal(CPU, GAP);
	s = steal_session(test, 0, 0);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
	steal(CPU, GAP);
	KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	expect_no_entry(test, s, CPU);
}

/* A stop looks once more. */
static void steal_at_the_end(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	unsigned int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for (i = 0; i < 20; i++) {
		steal(CPU, 10000);
		KUNIT_EXPECT_EQ(test, kdtl_stop(s), 0);
		KUNIT_EXPECT_EQ(test, counted_steal(test, s, CPU), (i + 1) * 10000ULL);
		KUNIT_EXPECT_EQ(test, kdtl_start(s), 0);
	}
}

static bool timer_runs(int cpu)
{
	return hrtimer_active(&per_cpu(kdtl_steal_cpus, cpu).timer);
}

/*
 * Only for a period below the tick there is a timer, which also looks where no tick comes.  It
 * stops with the last session that wants it.
 */
static void steal_finer(struct kunit *test)
{
	const struct kdtl_session_attr fine = { .pmu = "kdtl_steal", .period = NSEC_PER_MSEC };
	struct kdtl_session *s = steal_session(test, 0, 100 * NSEC_PER_MSEC), *f;
	int cpu;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_FALSE(test, timer_runs(cpu));
	f = kdtl_session_create(&fine);
	KUNIT_EXPECT_FALSE(test, IS_ERR(f));
	if (IS_ERR(f))
		return;
	KUNIT_EXPECT_EQ(test, kapi_go(f), 0);
	for_each_online_cpu(cpu) {
		KUNIT_EXPECT_TRUE(test, timer_runs(cpu));
		KUNIT_EXPECT_EQ(test, per_cpu(kdtl_steal_cpus, cpu).period, (u64)NSEC_PER_MSEC);
	}
	kdtl_session_close(f);
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_FALSE(test, timer_runs(cpu));
}

static void look_by_timer(void *data)
{
	struct kdtl_steal_cpu *c = this_cpu_ptr(&kdtl_steal_cpus);

	*(enum hrtimer_restart *)data = kdtl_steal_timer(&c->timer);
}

/* A look by the timer finds a gap as the other looks do.  Without a period the timer then stops. */
static void steal_by_timer(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	enum hrtimer_restart restart = HRTIMER_RESTART;
	struct kdtl_entry e;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	steal(CPU, GAP);
	smp_call_function_single(CPU, look_by_timer, &restart, 1);
	KUNIT_EXPECT_EQ(test, (int)restart, (int)HRTIMER_NORESTART);
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
}

/* Nothing wakes up an idle CPU for this; its next switch sees all gaps at once. */
static void steal_idle(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	const int cpu = kapi_other_cpu(CPU);
	struct kdtl_entry e;
	u64 sum = 0, gaps = 0;

	if (cpu < 0)
		return;
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	while (gaps < 10) {
		steal(cpu, 50000);
		gaps++;
	}
	while (sum < 10 * 50000) {
		e = next_entry(test, s, cpu);
		if (!kdtl_entry_queued(&e))
			break;
		sum += kdtl_entry_queued(&e);
		gaps -= (u32)be64_to_cpu(e.srr1);
	}
	KUNIT_EXPECT_EQ(test, sum, 10 * 50000ULL);
	KUNIT_EXPECT_EQ(test, gaps, 0ULL);
	KUNIT_EXPECT_FALSE(test, timer_runs(cpu));
}

/*
 * If more is stolen than an entry can hold, the entry has the maximum and the counter has all of
 * it.
 */
static void steal_long(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	struct kdtl_steal_cpu *c = per_cpu_ptr(&kdtl_steal_cpus, CPU);
	const struct gap gap = { .ns = 5LL * NSEC_PER_SEC, .loads = 1 };
	struct kdtl_entry e;
	unsigned long flags;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	/* Pretend that the last look was ten seconds ago; this thread is on that CPU. */
	local_irq_save(flags);
	c->seen.mono -= 10LL * NSEC_PER_SEC;
	c->seen.mono_cycles = get_cycles();
	c->seen.cycles = c->seen.mono_cycles;
	fake_gap_here((void *)&gap);
	local_irq_restore(flags);
	e = next_entry(test, s, CPU);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), KDTL_TIME_MAX);
	KUNIT_EXPECT_EQ(test, counted_steal(test, s, CPU), 5ULL * NSEC_PER_SEC);
}

#ifdef CONFIG_HOTPLUG_CPU
/* The CPU comes back with another area: the driver reads the MSR again. */
static void steal_hotplug(struct kunit *test)
{
	struct kdtl_session *s = steal_session(test, 0, 0);
	struct kvm_steal_time *area, *old;
	const int cpu = kapi_other_cpu(CPU);
	struct kdtl_entry e;
	unsigned int reads;

	if (cpu < 0)
		return;
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	area = kzalloc(sizeof(*area), GFP_KERNEL);
	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, area);
	KUNIT_EXPECT_EQ(test, remove_cpu(cpu), 0);
	old = fake_areas[cpu];
	fake_areas[cpu] = area;
	area->steal = 5;
	area->version = 1000;
	reads = fake_reads;
	KUNIT_EXPECT_EQ(test, add_cpu(cpu), 0);
	KUNIT_EXPECT_EQ(test, fake_reads, reads + 1);
	steal(cpu, GAP);
	e = next_entry(test, s, cpu);
	KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), (u32)GAP);
	KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), 1ULL);
	kapi_close(test);
	fake_areas[cpu] = old;
	kfree(area);
}
#endif

/* ------------------------------------------------------------ other machines */

static void steal_nothing(struct kunit *test)
{
	kdtl_steal_exit();
	fake_kvm = false;
	KUNIT_EXPECT_EQ(test, kdtl_steal_init(), -ENODEV);
	fake_kvm = true;
	KUNIT_ASSERT_EQ(test, kdtl_steal_init(), 0);
}

static void count_stolen(void *data)
{
	kcpustat_this_cpu->cpustat[CPUTIME_STEAL] += *(unsigned int *)data;
}

/*
 * Without such areas there is the kernel's own count, which does not tell how often the CPU was
 * taken.
 */
static void steal_counted(struct kunit *test)
{
	struct kdtl_session *s;
	struct kdtl_entry e;
	unsigned int ns = 1000;

	kdtl_steal_exit();
	fake_kvm = false;
	smp_call_function_single(CPU, count_stolen, &ns, 1);
	KUNIT_EXPECT_EQ(test, kdtl_steal_init(), 0);
	KUNIT_EXPECT_TRUE(test, kdtl_steal_coarse);
	s = steal_session(test, 0, 0);
	if (s) {
		smp_call_function_single(CPU, count_stolen, &ns, 1);
		e = next_entry(test, s, CPU);
		KUNIT_EXPECT_EQ(test, kdtl_entry_queued(&e), ns);
		KUNIT_EXPECT_EQ(test, be64_to_cpu(e.srr1), 0ULL);
	}
	kapi_close(test);
	/* Reset the count, which others read too. */
	kcpustat_cpu(CPU).cpustat[CPUTIME_STEAL] = 0;
	kdtl_steal_exit();
	fake_kvm = true;
	KUNIT_ASSERT_EQ(test, kdtl_steal_init(), 0);
}

/*
 * What a tick costs at which nothing is found.  It is called through a pointer, as tracepoints do.
 * Only an emulator whose clock counts instructions can tell; host/cost.sh looks at it.
 */
#define LOOKS		1000

static void steal_cost(struct kunit *test)
{
	void (*probe)(void *data, int vector) = kdtl_steal_local_timer;
	struct kdtl_session *s = steal_session(test, 0, 0);
	u64 empty, looks;
	unsigned long flags;
	int i;

	KUNIT_ASSERT_NOT_ERR_OR_NULL(test, s);
	OPTIMIZER_HIDE_VAR(probe);
	local_irq_save(flags);
	empty = get_cycles();
	for (i = 0; i < LOOKS; i++)
		barrier();
	empty = get_cycles() - empty;
	looks = get_cycles();
	for (i = 0; i < LOOKS; i++)
		probe(NULL, 0);
	looks = get_cycles() - looks;
	local_irq_restore(flags);
	kunit_info(test, "look cycles=%lld", div_s64(looks - empty, LOOKS));
	KUNIT_EXPECT_EQ(test, unread(s, CPU), 0ULL);
}

static int steal_suite_init(struct kunit_suite *suite)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		/* The area is as large as its alignment, so kzalloc() aligns it. */
		fake_areas[cpu] = kzalloc(sizeof(*fake_areas[cpu]), GFP_KERNEL);
		if (!fake_areas[cpu])
			return -ENOMEM;
	}
	fake_kvm = true;
	return kdtl_steal_init();
}

static void steal_suite_exit(struct kunit_suite *suite)
{
	int cpu;

	kdtl_steal_exit();
	for_each_possible_cpu(cpu)
		kfree(fake_areas[cpu]);
}

static struct kunit_case steal_cases[] = {
	KUNIT_CASE(steal_one_gap),
	KUNIT_CASE(steal_each_cpu),
	KUNIT_CASE(steal_merged),
	KUNIT_CASE(steal_no_time),
	KUNIT_CASE(steal_half_written),
	KUNIT_CASE(steal_backwards),
	KUNIT_CASE(steal_jump),
	KUNIT_CASE(steal_wrap),
	KUNIT_CASE(steal_masks),
	KUNIT_CASE(steal_before),
	KUNIT_CASE(steal_at_the_end),
	KUNIT_CASE(steal_finer),
	KUNIT_CASE(steal_by_timer),
	KUNIT_CASE(steal_idle),
	KUNIT_CASE(steal_long),
#ifdef CONFIG_HOTPLUG_CPU
	KUNIT_CASE(steal_hotplug),
#endif
	KUNIT_CASE(steal_nothing),
	KUNIT_CASE(steal_counted),
	KUNIT_CASE(steal_cost),
	{ }
};

struct kunit_suite kdtl_steal_suite = {
	.name		= "kdtl_steal",
	.suite_init	= steal_suite_init,
	.suite_exit	= steal_suite_exit,
	.init		= kapi_init,
	.exit		= kapi_exit,
	.test_cases	= steal_cases,
};
