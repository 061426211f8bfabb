/* SPDX-License-Identifier: GPL-2.0 */
/* The time base of an emulated POWER: with -icount, 512 ticks are 1,000 instructions. */
#ifndef _KDTL_BENCH_PPC_TIME_H
#define _KDTL_BENCH_PPC_TIME_H

#include <stdint.h>

static inline uint64_t ticks(void)
{
	uint64_t tb;

	asm volatile("mftb %0" : "=r" (tb) : : "memory");
	return tb;
}

static inline double instructions(uint64_t tb)
{
	return tb * 1000.0 / 512;
}

#endif /* _KDTL_BENCH_PPC_TIME_H */
