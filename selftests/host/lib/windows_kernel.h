/* SPDX-License-Identifier: GPL-2.0 */
/* For windows_model.c: of the kernel's headers, what clients/sampler/windows.c uses. */
#ifndef WINDOWS_KERNEL_H
#define WINDOWS_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#define NSEC_PER_SEC		1000000000L
#define NSEC_PER_MSEC		1000000L

#define DIV_ROUND_UP(n, by)	(((n) + (by) - 1) / (by))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define min_not_zero(a, b)	((a) && ((a) < (b) || !(b)) ? (a) : (b))
#define fls64(n)		(64 - __builtin_clzll(n))

#define GFP_KERNEL		0
#define kzalloc_node(size, flags, node)		calloc(1, size)
#define kcalloc_node(nr, size, flags, node)	calloc(nr, size)
#define kfree(p)				free(p)
#define pr_warn_once(...)			printf(__VA_ARGS__)

#define __percpu
#define DEFINE_PER_CPU(type, name)	__typeof__(type) name
#define per_cpu(var, cpu)		(*((void)(cpu), &(var)))
#define per_cpu_ptr(p, cpu)		((void)(cpu), (p))
#define for_each_possible_cpu(cpu)	for ((cpu) = 0; (cpu) < 1; (cpu)++)
#define cpu_to_node(cpu)		(cpu)

struct mutex {
	int unused;
};

struct kdtl_session;
struct seq_file;

struct kdtl_timebase {
	u64 ticks;
};

struct kdtl_aux_info {
	u64 lost;
};

#define kdtl_timebase_sync(session, tb)		((void)(tb), 0)
#define kdtl_aux_info(session, cpu, info)	((void)(info), 0)
#define kdtl_ticks_to_ns(info, ticks)		(ticks)
#define ktime_get_boottime_ns()			((u64)0)

static inline u64 div_u64(u64 n, u32 by)
{
	return n / by;
}

static inline u64 div64_u64(u64 n, u64 by)
{
	return n / by;
}

static inline u64 div_u64_rem(u64 n, u32 by, u32 *rest)
{
	*rest = n % by;
	return n / by;
}

#endif /* WINDOWS_KERNEL_H */
