/* SPDX-License-Identifier: GPL-2.0 */
/* What the sources of the POWER hypervisor's entries share. */
#ifndef _KDTL_PMU_PAPR_H
#define _KDTL_PMU_PAPR_H

#include <linux/init.h>
#include <linux/kdtl_pmu.h>
#include <linux/math64.h>
#include <linux/sched/clock.h>
#include <asm/time.h>

/*
 * Kinds by preempt reason, for any value of the byte.  Reasons of adjuncts and of the
 * firmware are in none of PAPR's three classes, and KVM leaves the field 0.
 */
static const u8 kdtl_papr_kinds[] = {
	[KDTL_PREEMPT_UNUSED]		= KDTL_KIND_UNKNOWN,
	[KDTL_PREEMPT_FIRMWARE]		= KDTL_KIND_UNKNOWN,
	[KDTL_PREEMPT_CEDE]		= KDTL_KIND_CEDE,
	[KDTL_PREEMPT_CONFER]		= KDTL_KIND_CEDE,
	[KDTL_PREEMPT_TIME_SLICE]	= KDTL_KIND_PREEMPT,
	[KDTL_PREEMPT_MIGRATION]	= KDTL_KIND_FAULT,
	[KDTL_PREEMPT_PAGE_FAULT]	= KDTL_KIND_FAULT,
	[KDTL_PREEMPT_CONFER_ADJUNCT ... U8_MAX] = KDTL_KIND_UNKNOWN,
};

static inline enum kdtl_kind kdtl_papr_kind(const struct kdtl_entry *e)
{
	return kdtl_papr_kinds[e->preempt_reason];
}

static u64 kdtl_papr_clock(struct kdtl_pmu *p)
{
	return get_tb();
}

/*
 * The time base at which sched_clock() was 0; the kernel's own boot_tb is not
 * exported.  The hypervisor may take the processor away for milliseconds between
 * the reads, so try several times and use the closest ones.
 */
static inline u64 __init kdtl_papr_boot_tb(void)
{
	u64 before, ns, took, best = U64_MAX, boot_tb = 0;
	int i;

	for (i = 0; i < 16; i++) {
		before = get_tb();
		ns = sched_clock();
		took = get_tb() - before;
		if (took >= best)
			continue;
		best = took;
		boot_tb = before + took / 2 -
			  mul_u64_u64_div_u64(ns, tb_ticks_per_sec, NSEC_PER_SEC);
	}
	return boot_tb;
}

#endif /* _KDTL_PMU_PAPR_H */
