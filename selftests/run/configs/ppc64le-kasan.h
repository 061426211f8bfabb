/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What every assembly file of ppc64le-*-kasan begins with.
 *
 * asm/kasan.h of 7.2 lays memcpy()'s and __memcpy()'s entries one behind the other
 * if the compiler has no asan-kernel-mem-intrinsic-prefix (gcc 12 has not). Who
 * enters memcpy() behind its first two instructions, as the kernel's own calls do,
 * runs into __memcpy()'s, which make a wrong TOC pointer of what is in r12: such a
 * kernel dies in early_init_devtree().
 */
#include <asm/kasan.h>

#undef _GLOBAL_TOC_KASAN
#define _GLOBAL_TOC_KASAN(fn)	\
	_GLOBAL_TOC(fn);	\
	b	77f;		\
	_GLOBAL_TOC(__##fn);	\
77:
