/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vpa-dtl.c is built into the kernel; this is what it uses and a module lacks. The module's PMU is
 * registered under another name, beside the kernel's own.
 */
#ifndef _KDTL_VPA_FIXES_SHIM_H
#define _KDTL_VPA_FIXES_SHIM_H

#include <linux/cleanup.h>
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

/* The driver defines it after these headers. */
#undef pr_fmt

u64 get_boot_tb(void);

/* Patch 14 adds it to a header, but the module is built with the kernel's. */
extern atomic_t dtl_users;

static inline bool dtl_users_add_only(void)
{
	return atomic_cmpxchg(&dtl_users, 0, -1) == 0;
}

static inline void dtl_users_remove_only(void)
{
	atomic_set_release(&dtl_users, 0);
}

/* Reports an allocation that may sleep where it must not, and fails on demand. */
void *shim_cache_alloc(struct kmem_cache *cache, gfp_t gfp, int node);
void *shim_alloc(size_t size, gfp_t gfp, int node);
#undef kmem_cache_alloc_node
#define kmem_cache_alloc_node(cache, gfp, node)	shim_cache_alloc(cache, gfp, node)
#undef kzalloc_node
#define kzalloc_node(size, gfp, node)		shim_alloc(size, (gfp) | __GFP_ZERO, node)

/* Writes over the memory before it is freed. */
void shim_free(const void *p);
#undef kmem_cache_free
#define kmem_cache_free(cache, p)		shim_free(p)
#define kfree(p)				shim_free(p)

#define perf_pmu_register(pmu, name, type)	perf_pmu_register(pmu, VPA_DTL, type)

#undef device_initcall
#define device_initcall(fn)		int (*const shim_vpa_dtl_init)(void) = fn
extern int (*const shim_vpa_dtl_init)(void);

#endif /* _KDTL_VPA_FIXES_SHIM_H */
