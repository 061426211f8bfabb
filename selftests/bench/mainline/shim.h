/* SPDX-License-Identifier: GPL-2.0 */
/* vpa-dtl.c and dtl.c are built into the kernel; this is what they use and a module lacks. */
#ifndef _KDTL_BENCH_SHIM_H
#define _KDTL_BENCH_SHIM_H

#include <linux/cleanup.h>
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <asm/kvm_guest.h>
#include <asm/machdep.h>

#include "compat.h"

#ifndef kzalloc_objs
#define kzalloc_objs(obj, count)	kcalloc(count, sizeof(obj), GFP_KERNEL)
#endif

/* Its key is not exported.  An emulated machine is no guest of KVM's. */
#define is_kvm_guest()	false

u64 get_boot_tb(void);

/* A module has one init function, so shim.c calls both. */
#undef device_initcall
#define device_initcall(fn)		int (*const shim_vpa_dtl_init)(void) = fn
#undef machine_arch_initcall
#define machine_arch_initcall(mach, fn)	int (*const shim_dtl_init)(void) = fn

extern int (*const shim_vpa_dtl_init)(void);
extern int (*const shim_dtl_init)(void);

#endif /* _KDTL_BENCH_SHIM_H */
