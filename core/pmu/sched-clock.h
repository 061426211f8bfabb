/* SPDX-License-Identifier: GPL-2.0 */
/*
 * local_clock() in a third of the instructions, because each task switch reads it
 *
 * While the kernel trusts the TSC, a reading of local_clock() serves as an anchor
 * for the next 2^24 cycles (5.6 ms at 3 GHz).  Within that reach, the time is the
 * anchor's plus the TSC cycles since then, converted to ns.
 *
 * local_clock() itself need not be based on the TSC: if the rates differ by 1 ppm
 * (a guest's paravirtual clock), the error is at most 5.6 ns when the next anchor
 * is taken.  After a jump of the TSC, forwards or backwards, the anchor is out of
 * reach.  If a hypervisor took the CPU away between the readings of the two
 * clocks, they do not become an anchor.  Other architectures, and kernels that do
 * not trust the TSC, use local_clock().
 */
#ifndef _KDTL_SCHED_CLOCK_H
#define _KDTL_SCHED_CLOCK_H

#include <linux/sched/clock.h>

#ifdef CONFIG_X86_TSC

#include <asm/tsc.h>

#define KDTL_CLOCK_REACH	BIT_ULL(24)
#define KDTL_CLOCK_SHIFT	28
/* Most cycles between the TSC's readings around local_clock(): 1.4 us at 3 GHz. */
#define KDTL_CLOCK_GAP		BIT_ULL(12)
/* At this rate or above, KDTL_CLOCK_REACH * mult fits in 64 bits. */
#define KDTL_CLOCK_MIN_KHZ	1000

/**
 * struct kdtl_clock - a CPU's anchor
 * @cycles: TSC at the anchor; without an anchor, a value that no TSC comes near
 * @ns: local_clock() at the anchor
 * @mult: ns per cycle, << KDTL_CLOCK_SHIFT
 */
struct kdtl_clock {
	u64	cycles;
	u64	ns;
	u64	mult;
};

/* Take a new anchor @c of this CPU.  Its time is not before any that the last one gave. */
static noinline u64 kdtl_clock_anchor(struct kdtl_clock *c)
{
	const u64 last = c->ns + ((KDTL_CLOCK_REACH * c->mult) >> KDTL_CLOCK_SHIFT);
	const u64 cycles = rdtsc(), ns = max(local_clock(), last);

	if (check_tsc_unstable() || tsc_khz < KDTL_CLOCK_MIN_KHZ ||
	    rdtsc() - cycles > KDTL_CLOCK_GAP) {
		c->cycles = U64_MAX / 2;
		c->mult = 0;
	} else {
		c->cycles = cycles;
		c->mult = div_u64((u64)NSEC_PER_MSEC << KDTL_CLOCK_SHIFT, tsc_khz);
	}
	c->ns = ns;
	return ns;
}

/* With interrupts off.  If this returns false, kdtl_clock_anchor() has the time. */
static __always_inline bool kdtl_clock_read(const struct kdtl_clock *c, u64 *now)
{
	const u64 delta = rdtsc() - c->cycles;

	*now = c->ns + ((delta * c->mult) >> KDTL_CLOCK_SHIFT);
	return delta < KDTL_CLOCK_REACH;
}

#else

struct kdtl_clock {
};

static inline u64 kdtl_clock_anchor(struct kdtl_clock *c)
{
	return local_clock();
}

static __always_inline bool kdtl_clock_read(const struct kdtl_clock *c, u64 *now)
{
	*now = local_clock();
	return true;
}

#endif /* CONFIG_X86_TSC */

#endif /* _KDTL_SCHED_CLOCK_H */
