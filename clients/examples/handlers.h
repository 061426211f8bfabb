/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KDTL_EXAMPLE_HANDLERS_H
#define _KDTL_EXAMPLE_HANDLERS_H

#include <linux/types.h>

/* Not an interrupt: @ns is the number of records that were lost before this one. */
#define IRQ_LOST	U32_MAX

/**
 * struct irq_record - a run of an interrupt handler
 * @time: local_clock() at its end
 * @irq: number of the interrupt, or IRQ_LOST
 * @ns: how long the handler ran
 */
struct irq_record {
	u64	time;
	u32	irq;
	u32	ns;
};

#endif /* _KDTL_EXAMPLE_HANDLERS_H */
