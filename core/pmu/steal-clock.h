/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steal clocks: for how long the hypervisor kept a CPU that had something to run
 *
 * KVM on x86 shares with each CPU an area with the time in ns, and a version that changes
 * each time the hypervisor lets the virtual CPU run.  The kernel has registered the area,
 * and keeps its address to itself, but the MSR returns it.
 *
 * Elsewhere there is the kernel's own count, which it brings up to date with the tick.
 */
#ifndef _KDTL_STEAL_CLOCK_H
#define _KDTL_STEAL_CLOCK_H

#include <linux/build_bug.h>
#include <linux/cpumask.h>
#include <linux/kernel_stat.h>

/**
 * struct kdtl_steal_clock - where a CPU's steal clock is
 * @mark: changes whenever @ns does
 * @ns: the time that was stolen; the same as @mark if there is no version
 */
struct kdtl_steal_clock {
	const u64	*mark;
	const u64	*ns;
};

#if defined(CONFIG_X86) && defined(CONFIG_KVM_GUEST)

#include <asm/io.h>
#include <asm/kvm_para.h>
#include <asm/msr.h>

#define KDTL_STEAL_TIMER	"local_timer_entry"

/* On the CPU, with interrupts off. */
static bool kdtl_steal_shared(struct kdtl_steal_clock *clock)
{
	const struct kvm_steal_time *area;
	u64 msr;

	/* The version and the flags, which are always 0, are compared as one word. */
	static_assert(offsetof(struct kvm_steal_time, version) == sizeof(u64));
	static_assert(offsetof(struct kvm_steal_time, flags) == sizeof(u64) + sizeof(u32));

	if (!kvm_para_available() || rdmsrq_safe(MSR_KVM_STEAL_TIME, &msr) ||
	    !(msr & KVM_MSR_ENABLED))
		return false;
	area = phys_to_virt(msr & KVM_STEAL_VALID_BITS);
	clock->mark = (const u64 *)&area->version;
	clock->ns = &area->steal;
	return true;
}

#else

#define KDTL_STEAL_TIMER	"hrtimer_expire_entry"

static bool kdtl_steal_shared(struct kdtl_steal_clock *clock)
{
	return false;
}

#endif

static void kdtl_steal_counted(struct kdtl_steal_clock *clock)
{
	clock->ns = &kcpustat_this_cpu->cpustat[CPUTIME_STEAL];
	clock->mark = clock->ns;
}

/* Has the kernel ever counted stolen time? */
static bool kdtl_steal_ever_counted(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		if (kcpustat_cpu(cpu).cpustat[CPUTIME_STEAL])
			return true;
	}
	return false;
}

#endif /* _KDTL_STEAL_CLOCK_H */
