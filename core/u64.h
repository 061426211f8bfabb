/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Positions and counts that one CPU writes while others read them
 *
 * They are u64, and must not tear.  On a 32-bit CPU only 64-bit atomics ensure
 * that, and take a lock if the CPU has none (CONFIG_GENERIC_ATOMIC64); on a 64-bit
 * CPU these functions are READ_ONCE(), smp_load_acquire() and the like.
 */
#ifndef _KDTL_U64_H
#define _KDTL_U64_H

#include <linux/atomic.h>

static __always_inline u64 kdtl_u64_read(const u64 *p)
{
	return atomic64_read((const atomic64_t *)p);
}

static __always_inline void kdtl_u64_set(u64 *p, u64 value)
{
	atomic64_set((atomic64_t *)p, value);
}

/* Only for a value that has a single writer. */
static __always_inline void kdtl_u64_add(u64 *p, u64 value)
{
	if (IS_ENABLED(CONFIG_64BIT))
		data_race(*p += value);
	else
		kdtl_u64_set(p, *p + value);
}

static __always_inline u64 kdtl_u64_acquire(const u64 *p)
{
	return atomic64_read_acquire((const atomic64_t *)p);
}

static __always_inline void kdtl_u64_release(u64 *p, u64 value)
{
	atomic64_set_release((atomic64_t *)p, value);
}

/* Returns the value that it found, as atomic64_cmpxchg_release() does. */
static __always_inline u64 kdtl_u64_cmpxchg_release(u64 *p, u64 old, u64 new)
{
	return atomic64_cmpxchg_release((atomic64_t *)p, old, new);
}

#endif /* _KDTL_U64_H */
