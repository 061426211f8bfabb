/* SPDX-License-Identifier: GPL-2.0 */
/*
 * In a tree that compile.py has changed this comes before all else; kdtl(1)'s kdtl.h includes it.
 */
#ifndef _KDTL_MUTANT_H
#define _KDTL_MUTANT_H

#ifdef __KERNEL__
/*
 * This does without the kernel's headers, because a source defines pr_fmt() before it includes
 * them.
 */
extern unsigned int mutant_nr;
void mutant_delay(void);

#define kdtl_mutant(nr)		unlikely(READ_ONCE(mutant_nr) == (nr))
#define kdtl_mutant_delay()	mutant_delay()
#else
#include <stdbool.h>
#include <stdlib.h>

static inline int kdtl_mutant(int nr)
{
	static int chosen = -1;

	if (chosen < 0)
		chosen = getenv("KDTL_MUTANT") ? atoi(getenv("KDTL_MUTANT")) : 0;
	return chosen == nr;
}

/* What mutants of code call that also runs in the kernel, where these are mistakes. */
#define kdtl_mutant_delay()		do { } while (0)
#ifndef local_irq_save
#define local_irq_save(flags)		((void)(flags))
#define local_irq_restore(flags)	((void)(flags))
#endif
#endif

#endif
