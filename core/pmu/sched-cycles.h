/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The counter that local_clock() is made of, where a module can read it at less cost
 *
 * kdtl_cycles()	the counter.  On a CPU it never goes back, unless somebody writes it
 * kdtl_cycles_hz()	its rate, read with interrupts off; 0: the rate is not known, or the
 *			counter is not to be trusted on this CPU
 * KDTL_CYCLES_REACH	for how many cycles that rate is relied upon: some milliseconds
 *
 * Other architectures have only local_clock().
 */
#ifndef _KDTL_SCHED_CYCLES_H
#define _KDTL_SCHED_CYCLES_H

#include <linux/bits.h>
#include <linux/types.h>

#if defined(CONFIG_X86_TSC)

#include <asm/tsc.h>

#define KDTL_CYCLES_REACH	BIT_ULL(24)	/* 5.6 ms at 3 GHz */

static __always_inline u64 kdtl_cycles(void)
{
	return rdtsc();
}

static inline u64 kdtl_cycles_hz(void)
{
	return check_tsc_unstable() ? 0 : tsc_khz * 1000ULL;
}

#elif defined(CONFIG_ARM64)

#include <linux/delay.h>

#include <asm/arch_timer.h>

#define KDTL_CYCLES_REACH	BIT_ULL(20)	/* 42 ms at 25 MHz, 1 ms at 1 GHz */

/* Without the barrier, a reading could be done before an earlier one. */
static __always_inline u64 kdtl_cycles(void)
{
	isb();
	return read_sysreg(cntvct_el0);
}

/*
 * Some CPUs need a workaround to read the counter.  The rate is that of udelay(): the
 * register that should have it is wrong on some boards.
 */
static inline u64 kdtl_cycles_hz(void)
{
	return has_erratum_handler(read_cntvct_el0) ? 0 : (u64)loops_per_jiffy * HZ;
}

#elif defined(CONFIG_PPC64)

#include <asm/time.h>

#define KDTL_CYCLES_REACH	BIT_ULL(21)	/* 4.1 ms at 512 MHz */

static __always_inline u64 kdtl_cycles(void)
{
	return get_tb();
}

static inline u64 kdtl_cycles_hz(void)
{
	return tb_ticks_per_sec;
}

#elif defined(CONFIG_S390)

#include <asm/timex.h>

#define KDTL_CYCLES_REACH	BIT_ULL(24)	/* 4.1 ms */

static __always_inline u64 kdtl_cycles(void)
{
	return get_tod_clock_fast();
}

/* The architecture defines the rate. */
static inline u64 kdtl_cycles_hz(void)
{
	return 4096 * USEC_PER_SEC;
}

#endif

#endif /* _KDTL_SCHED_CYCLES_H */
