/* SPDX-License-Identifier: GPL-2.0 */
/*
 * local_clock() in a third to a half of the instructions, because each task switch reads it
 *
 * While a counter can be trusted (sched-cycles.h), a reading of local_clock() serves
 * as an anchor for the next KDTL_CYCLES_REACH cycles, some milliseconds.  Within that
 * reach, the time is the anchor's plus the cycles since then, converted to ns.
 *
 * local_clock() itself need not be based on that counter: if the rates differ by 1 ppm
 * (a guest's paravirtual clock), the error is at most 5.6 ns when the next anchor
 * is taken after 5.6 ms.  After a jump of the counter, forwards or backwards, the anchor
 * is out of reach.  If a hypervisor took the CPU away between the readings of the two
 * clocks, they do not become an anchor.  Nor do they if the last anchor may have given a
 * later time than local_clock() has now: then the time stands still until local_clock() has
 * reached it.
 */
#ifndef _KDTL_SCHED_CLOCK_H
#define _KDTL_SCHED_CLOCK_H

#include <linux/math64.h>
#include <linux/sched/clock.h>

#include "sched-cycles.h"

#ifdef KDTL_CYCLES_REACH

#define KDTL_CLOCK_SHIFT	28
/* The most that may pass between the counter's readings around local_clock(). */
#define KDTL_CLOCK_GAP_NS	1500
/* At this rate or above, KDTL_CYCLES_REACH * mult fits in 64 bits. */
#define KDTL_CLOCK_MIN_HZ	1000000
static_assert(KDTL_CYCLES_REACH <= 1ULL << 24);

/**
 * struct kdtl_clock - a CPU's anchor
 * @cycles: the counter at the anchor; without one, a value that the counter does not come near
 * @ns: local_clock() at the anchor
 * @mult: ns per cycle, << KDTL_CLOCK_SHIFT
 */
struct kdtl_clock {
	u64	cycles;
	u64	ns;
	u64	mult;
};

/* Was the counter at @cycles just now? */
static bool kdtl_clock_just_now(u64 cycles, u64 mult)
{
	const u64 delta = kdtl_cycles() - cycles;

	return delta < KDTL_CYCLES_REACH &&
	       (delta * mult) >> KDTL_CLOCK_SHIFT <= KDTL_CLOCK_GAP_NS;
}

/* Take a new anchor @c of this CPU.  Its time is not before any that the last one gave. */
static noinline u64 kdtl_clock_anchor(struct kdtl_clock *c)
{
	const u64 last = c->ns + ((KDTL_CYCLES_REACH * c->mult) >> KDTL_CLOCK_SHIFT);
	const u64 hz = kdtl_cycles_hz(), cycles = kdtl_cycles(), ns = local_clock();
	const u64 mult = hz < KDTL_CLOCK_MIN_HZ ? 0 :
			 div64_u64((u64)NSEC_PER_SEC << KDTL_CLOCK_SHIFT, hz);

	if (mult && ns >= last && kdtl_clock_just_now(cycles, mult)) {
		c->cycles = cycles;
		c->mult = mult;
	} else {
		c->cycles = U64_MAX / 2;
		c->mult = 0;
	}
	c->ns = max(ns, last);
	return c->ns;
}

/* With interrupts off.  If this returns false, kdtl_clock_anchor() has the time. */
static __always_inline bool kdtl_clock_read(const struct kdtl_clock *c, u64 *now)
{
	const u64 delta = kdtl_cycles() - c->cycles;

	*now = c->ns + ((delta * c->mult) >> KDTL_CLOCK_SHIFT);
	return delta < KDTL_CYCLES_REACH;
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

#endif /* KDTL_CYCLES_REACH */

#endif /* _KDTL_SCHED_CLOCK_H */
