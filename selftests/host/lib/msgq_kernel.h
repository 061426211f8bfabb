/* SPDX-License-Identifier: GPL-2.0 */
/* For msgq.c: of the kernel's headers, what core/counters/msgq.c uses. */
#ifndef MSGQ_KERNEL_H
#define MSGQ_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef struct { s64 counter; } atomic64_t;
typedef struct { int nr; } raw_spinlock_t;

#define aligned_u64		u64 __attribute__((aligned(8)))

#define PAGE_SHIFT		12
#define BIT(n)			(1UL << (n))
#define GFP_KERNEL		0
#define __GFP_ZERO		0
#define __GFP_NOWARN		0
#define IS_ENABLED(option)	0
#define ALLOW_ERROR_INJECTION(fn, type)	_Static_assert(sizeof(&fn), "")

#define data_race(x)		(x)
#define WRITE_ONCE(x, v)	((x) = (v))
#define smp_store_release(p, v)	(*(p) = (v))
#define smp_cond_load_acquire(p, condition)	((void)*(p))

#define atomic64_read(v)			((v)->counter)
#define atomic64_read_acquire(v)		((v)->counter)
#define atomic64_set(v, n)			((v)->counter = (n))
#define atomic64_set_release(v, n)		((v)->counter = (n))
#define atomic64_fetch_inc_release(v)		((v)->counter++)
#define atomic64_cmpxchg_release(v, o, n)	((v)->counter == (s64)(o) ? (v)->counter = (n), (o) : \
						 (v)->counter)
#define atomic64_try_cmpxchg_release(v, o, n)	((v)->counter = (n), (void)(o), true)

#define local_clock()			0
#define local_irq_save(flags)		((flags) = 0)
#define local_irq_restore(flags)	((void)(flags))
#define lockdep_assert_held(lock)	((void)(lock))
#define raw_spin_lock_init(lock)	((lock)->nr = 0)
#define raw_spin_lock_irqsave(lock, flags)	((lock)->nr++, (flags) = 0)
#define raw_spin_unlock_irqrestore(lock, flags)	((lock)->nr--, (void)(flags))

/* In pages; the test sets it. */
static long available = __LONG_MAX__;

static inline long si_mem_available(void)
{
	return available;
}

static inline u64 div_u64(u64 n, u32 by)
{
	return n / by;
}

static inline u64 div_u64_rem(u64 n, u32 by, u32 *rest)
{
	*rest = n % by;
	return n / by;
}

#endif /* MSGQ_KERNEL_H */
