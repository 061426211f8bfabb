/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The steal clocks: for how long the hypervisor kept a CPU that had something to run
 *
 * KVM on x86 shares with each CPU an area with the time in ns, and a version that changes
 * each time the hypervisor lets the virtual CPU run.  The kernel has registered the area,
 * and keeps its address to itself, but the MSR returns it.
 *
 * On arm64 (Arm DEN 0057, "Paravirtualized Time") a hypercall returns where the CPU's area
 * is, and can be repeated.  The area is no ordinary memory of the guest, so it has to be
 * mapped, and it has no version.
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

static void kdtl_steal_counted(struct kdtl_steal_clock *clock)
{
	clock->ns = &kcpustat_this_cpu->cpustat[CPUTIME_STEAL];
	clock->mark = clock->ns;
}

#if defined(CONFIG_X86) && defined(CONFIG_KVM_GUEST)

#include <asm/io.h>
#include <asm/kvm_para.h>
#include <asm/msr.h>

#define KDTL_STEAL_TIMER	"local_timer_entry"

static void kdtl_steal_map(void)
{
}

static void kdtl_steal_unmap(void)
{
}

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

#elif defined(CONFIG_ARM64) && defined(CONFIG_CPU_LITTLE_ENDIAN)

#include <linux/arm-smccc.h>
#include <linux/io.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include <asm/pvclock-abi.h>

#define KDTL_STEAL_TIMER	"hrtimer_expire_entry"

/**
 * struct kdtl_steal_area - where a CPU's area is
 * @address: the guest's physical address; 0: not known
 * @area: where it is mapped, or NULL
 */
struct kdtl_steal_area {
	phys_addr_t				address;
	struct pvclock_vcpu_stolen_time		*area;
};

static DEFINE_PER_CPU(struct kdtl_steal_area, kdtl_steal_areas);

/* Set by kdtl_steal_map(): each CPU has an area. */
static bool kdtl_steal_areas_exist;

/* Ask whether there are areas, as Linux does at boot. */
static bool kdtl_steal_find_areas(void)
{
	struct arm_smccc_res res;

	arm_smccc_1_1_invoke(ARM_SMCCC_ARCH_FEATURES_FUNC_ID, ARM_SMCCC_HV_PV_TIME_FEATURES,
			     &res);
	if ((int)res.a0 != SMCCC_RET_SUCCESS)
		return false;
	arm_smccc_1_1_invoke(ARM_SMCCC_HV_PV_TIME_FEATURES, ARM_SMCCC_HV_PV_TIME_ST, &res);
	return (int)res.a0 == SMCCC_RET_SUCCESS;
}

/* A CPU is told only of its own area. */
static void kdtl_steal_ask(void *unused)
{
	struct arm_smccc_res res;

	arm_smccc_1_1_invoke(ARM_SMCCC_HV_PV_TIME_ST, &res);
	if ((long)res.a0 != SMCCC_RET_NOT_SUPPORTED)
		this_cpu_write(kdtl_steal_areas.address, res.a0);
}

/* Mapping may sleep, so it is done once, for the CPUs that are online. */
static void kdtl_steal_map(void)
{
	struct kdtl_steal_area *a;
	int cpu;

	kdtl_steal_areas_exist = kdtl_steal_find_areas();
	if (!kdtl_steal_areas_exist)
		return;
	on_each_cpu(kdtl_steal_ask, NULL, true);
	for_each_possible_cpu(cpu) {
		a = per_cpu_ptr(&kdtl_steal_areas, cpu);
		if (a->address)
			a->area = memremap(a->address, sizeof(*a->area), MEMREMAP_WB);
		if (!a->area)
			pr_info("CPU %d: cannot map its steal clock, so the kernel's own count is used\n",
				cpu);
	}
}

static void kdtl_steal_unmap(void)
{
	struct kdtl_steal_area *a;
	int cpu;

	for_each_possible_cpu(cpu) {
		a = per_cpu_ptr(&kdtl_steal_areas, cpu);
		if (a->area)
			memunmap(a->area);
	}
}

/* On the CPU, with interrupts off. */
static bool kdtl_steal_shared(struct kdtl_steal_clock *clock)
{
	struct pvclock_vcpu_stolen_time *area = this_cpu_read(kdtl_steal_areas.area);

	if (!kdtl_steal_areas_exist)
		return false;
	if (area) {
		clock->ns = (__force const u64 *)&area->stolen_time;
		clock->mark = clock->ns;
	} else {
		/* The CPU was offline in kdtl_steal_map(), but the kernel reads its clock. */
		kdtl_steal_counted(clock);
	}
	return true;
}

#else

#define KDTL_STEAL_TIMER	"hrtimer_expire_entry"

static void kdtl_steal_map(void)
{
}

static void kdtl_steal_unmap(void)
{
}

static bool kdtl_steal_shared(struct kdtl_steal_clock *clock)
{
	return false;
}

#endif

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
